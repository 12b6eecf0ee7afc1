"""Tensors and streams of others: DLPack, array interfaces, buffers, NumPy and PyTorch where they are installed."""

import array
import ctypes
import threading
import unittest

import tilert_jit as tj
from tilert_jit import tensors
from tilert_jit.tensors import describe, stream_handle

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None

New = ctypes.pythonapi.PyCapsule_New
New.restype, New.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Foreign:
    """What DLPack asks of a tensor."""

    def __init__(self, values, versioned=False, strides=None, offset=0, code=2, bits=32, device=(1, 0)):
        self.data = (ctypes.c_float * len(values))(*values)
        self.device, self.versioned, self.asked = device, versioned, []
        self.shape = (ctypes.c_int64 * 1)(len(values) - offset)
        self.strides = (ctypes.c_int64 * 1)(strides) if strides else None
        self.raw = tensors._DLVersioned(major=1) if versioned else tensors._DLTensor()
        t = self.raw.tensor if versioned else self.raw
        t.data, t.device_type, t.device_id, t.ndim = ctypes.addressof(self.data), *device, 1
        t.code, t.bits, t.lanes, t.byte_offset = code, bits, 1, 4 * offset
        t.shape = self.shape
        if self.strides:
            t.strides = self.strides

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.asked.append(options)
        if self.versioned and "max_version" not in options:
            raise BufferError("read only")
        return New(ctypes.addressof(self.raw), b"dltensor_versioned" if self.versioned else b"dltensor", None)


class Cuda:
    """What the CUDA array interface asks."""

    __cuda_array_interface__ = {"version": 3, "typestr": "<f2", "shape": (2, 3), "strides": (16, 2), "data": (4096, False)}


class Descriptions(unittest.TestCase):
    def test_dlpack_gives_address_shape_strides_and_device(self):
        f = Foreign([1, 2, 3, 4], offset=1)
        d = describe(f)
        self.assertEqual((d.address, d.dtype, list(d.shape), d.strides), (ctypes.addressof(f.data) + 4, tj.f32.number, [3], None))
        self.assertEqual((d.memory, d.device), (1, 0))
        self.assertEqual(f.asked, [{}])
        d = describe(Foreign([1, 2], versioned=True, strides=2))
        self.assertEqual((list(d.shape), list(d.strides)), ([2], [2]))

    def test_dlpack_on_a_device_orders_no_streams(self):
        f = Foreign([1], device=(2, 3))
        d = describe(f)
        self.assertEqual((d.memory, d.device, f.asked), (2, 3, [{"stream": -1}]))

    def test_dlpack_types_are_told_apart(self):
        for code, bits, name in ((4, 16, "bf16"), (10, 8, "e4m3"), (17, 4, "e2m1"), (6, 8, "bool"), (0, 64, "i64")):
            self.assertEqual(describe(Foreign([0], code=code, bits=bits)).dtype, tj.named(name).number)
        with self.assertRaisesRegex(TypeError, "code 5"):
            describe(Foreign([0], code=5, bits=64))

    def test_the_cuda_array_interface_counts_strides_in_elements(self):
        d = describe(Cuda())
        self.assertEqual((d.address, d.dtype, d.shape, d.strides, d.memory), (4096, tj.f16.number, (2, 3), (8, 1), 2))

    def test_buffers_are_tensors_of_their_items(self):
        values = array.array("d", [1, 2, 3])
        d = describe(values)
        self.assertEqual((d.address, d.dtype, tuple(d.shape)), (values.buffer_info()[0], tj.f64.number, (3,)))
        grid = ((ctypes.c_int16 * 3) * 2)()
        d = describe(grid)
        self.assertEqual((d.address, d.dtype, tuple(d.shape)), (ctypes.addressof(grid), tj.i16.number, (2, 3)))
        with self.assertRaisesRegex(TypeError, "read only"):
            describe(b"abc")

    def test_numbers_and_texts_are_no_tensors(self):
        for value in (1, 2.5, True, None, [1, 2], "text"):
            self.assertIsNone(describe(value), value)

    def test_streams_come_as_numbers_or_objects(self):
        class Torch:
            cuda_stream = 7

        class Protocol:
            def __cuda_stream__(self):
                return 0, 9

        class Cupy:
            ptr = 11
        self.assertEqual([stream_handle(each) for each in (None, 5, Torch(), Protocol(), Cupy())], [None, 5, 7, 9, 11])
        with self.assertRaisesRegex(TypeError, "no stream"):
            stream_handle("default")


class HostTensors(unittest.TestCase):
    def test_they_hold_what_was_put_in(self):
        for dtype in ("f16", "bf16", "f32", "f64", "i8", "i16", "i64", "u8", "u32", "bool"):
            values = [[0, 1, 1], [1, 0, 1]]
            t = tj.tensor(values, dtype)
            self.assertEqual(t.tolist(), values, dtype)
            self.assertEqual((t.shape, t.nbytes, t.address % 256), ((2, 3), 6 * t.dtype.bits // 8, 0))
        self.assertEqual(tj.tensor([-1.5, 2.0**-9], "bf16").tolist(), [-1.5, 2.0**-9])
        with self.assertRaises(ValueError):
            tj.zeros(3, "u8").bytes = b"12"

    def test_rows_of_less_than_a_byte_start_on_one(self):
        self.assertEqual(tj.zeros((3, 5), "i4").nbytes, 9)
        self.assertEqual(tj.zeros((2, 5), "e2m3").nbytes, 12)


@tj.program
def doubled(b, dtype):
    M, N = b.dims("M N")
    S = b.dim("S")
    x, y = b.input("x", dtype, [M, N], strides=[S, 1]), b.output("y", dtype, [M, N])
    with b.grid(M) as row, b.serial(N) as i:
        y[row, i] = x[row, i] + x[row, i]


class Launches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.context = tj.Context(cache="memory")
        cls.device = cls.context.cpu()
        try:
            cls.loaded = cls.context.kernel(doubled("f32")).prepare(cls.device)
        except tj.Error as error:
            if error.name in ("UNAVAILABLE", "UNSUPPORTED"):
                raise unittest.SkipTest(str(error)) from error
            raise

    def test_tensors_of_any_origin_meet_in_one_launch(self):
        y = array.array("f", [0] * 4)
        self.loaded.launch([tj.tensor([[1, 2, 3, 4]], "f32"), memoryview(y).cast("B").cast("f", (1, 4))], {"S": 4})
        self.assertEqual(list(y), [2, 4, 6, 8])

    def test_a_bound_launch_takes_another_argument(self):
        first, second, out = tj.tensor([[1, 2]], "f32"), tj.tensor([[5, 6]], "f32"), tj.zeros((1, 2), "f32")
        bound = self.loaded.bind([first, out], {"S": 2})
        bound()
        self.assertEqual(out.tolist(), [[2, 4]])
        bound.rebind(0, second)()
        self.assertEqual(out.tolist(), [[10, 12]])

    def test_arguments_live_as_long_as_what_is_bound_to_them(self):
        out = tj.zeros((1, 64), "f32")
        bound = self.loaded.bind([tj.tensor([list(range(64))], "f32"), out], {"S": 64})
        for _ in range(100):
            tj.zeros((1, 64), "f32")  # would take the place of one that went
        bound()
        self.assertEqual(out.tolist(), [[2 * i for i in range(64)]])

    def test_a_stream_on_a_cpu_is_refused_by_the_library(self):
        out = tj.zeros((1, 2), "f32")
        bound = self.loaded.bind([out, out], {"S": 2})
        with self.assertRaises(tj.Error) as caught:
            bound(5)
        self.assertEqual(caught.exception.status, tj.Status.INVALID_ARGUMENT)

    def test_handles_close_and_can_be_used_from_threads(self):
        results, program = [], doubled("f32")

        def work(n):
            with tj.Context(cache="memory") as context, context.cpu(threads=1) as device, context.kernel(program) as kernel:
                with kernel.prepare(device) as loaded:
                    out = tj.zeros((1, 2), "f32")
                    loaded.launch([tj.tensor([[n, 1]], "f32"), out], {"S": 2})
                    results.append(out.tolist()[0][0] == 2 * n)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [True] * 8)
        program.close()
        program.close()
        with self.assertRaises(tj.Error):
            self.context.kernel(program)

    def test_events_are_told_and_what_they_raise_stays_there(self):
        told = []

        def on_event(kind, message, fields):
            told.append((kind, fields["program"]))
            raise ValueError("not to be seen by the library")
        from unittest import mock
        with mock.patch("sys.unraisablehook"):
            with tj.Context(cache="off", on_event=on_event) as context:
                context.kernel(doubled("f64"), target=self.device.info["target"]).compile()
        self.assertIn(("compile_end", "doubled"), told)

    def test_diagnostics_are_read_from_the_workspace(self):
        b = tj.Builder("told")
        x = b.input("x", "f32", [4])
        with b.grid(1), b.parallel(4) as i:
            b.assert_(x[i] < 3, "x[", i, "] is ", x[i])
        loaded = self.context.kernel(b.finish()).prepare(self.device)
        workspace = tj.zeros(loaded.workspace().bytes, "u8")
        loaded.launch([tj.tensor([1, 2, 3, 4], "f32")], workspace=workspace)
        self.assertEqual(sorted(d.values for d in loaded.diagnostics(workspace)), [(2, 3.0), (3, 4.0)])

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_numpy_s_arrays_with_their_strides(self):
        x = numpy.arange(40, dtype=numpy.float32).reshape(4, 10)[:, :6]
        y = numpy.zeros((4, 6), numpy.float32)
        self.loaded.launch([x, y], {"S": 10})
        numpy.testing.assert_array_equal(y, 2 * x)
        back = numpy.asarray(tj.tensor([[1, 2]], "i32"))
        self.assertEqual((back.dtype, back.tolist()), (numpy.dtype("int32"), [[1, 2]]))
        with self.assertRaisesRegex(tj.Error, "f64"):
            self.loaded.launch([x.astype(numpy.float64), y], {"S": 10})

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_numpy_s_numbers_are_numbers(self):
        b = tj.Builder("numbers")
        y = b.output("y", "f32", [4])
        s = b.scalar("s", "f32")
        with b.grid(1):
            y[0] = numpy.float64(1.5) * s
            y[1] = s + numpy.int32(2)
            y[numpy.int64(2)] = numpy.float32(0.5)
            y[3] = tj.select(numpy.bool_(True) & (s > 0), s - 1, 0)
        out = tj.zeros(4, "f32")
        b.finish().interpret([out, numpy.float32(2)])
        self.assertEqual(out.tolist(), [3, 4, 0.5, 1])

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_pytorch_s_tensors_with_their_strides(self):
        x = torch.arange(40, dtype=torch.float32).reshape(4, 10)[:, :6]
        y = torch.zeros(4, 6)
        self.loaded.launch([x, y], {"S": 10})
        self.assertTrue(torch.equal(y, 2 * x))


if __name__ == "__main__":
    unittest.main()
