"""tilert_jit on buffers made with ctypes: no numpy, no torch, no pytest. Run: python3 -m unittest discover bindings/python/tests"""

import ctypes
import math
import unittest

import tilert_jit as tj

SCALE = """tir 1
program "scale"
var %N.0 dim index
var %factor.1 scalar f32
var %bx.2 block index
var %p0.3 loop index
var %t.4 let f32
dim %N.0
buffer @x.0 global f32 [%N.0] in argument 0
buffer @y.1 global f32 [%N.0] out argument 1
buffer @tile.2 fragment f32 [64]
parameter tensor @x.0 "x"
parameter tensor @y.1 "y"
parameter scalar %factor.1 "factor"
kernel "scale" (%bx.2) grid [div(add(%N.0, 63), 64)] {
  1: alloc @tile.2
  2: copy @x.0[mul(%bx.2, 64):64] -> @tile.2[0:64]
  3: parallel (%p0.3 : 64) {
    4: let %t.4 = load @tile.2[%p0.3]
    5: store @tile.2[%p0.3] = mul(%t.4, %factor.1)
  }
  6: copy @tile.2[0:64] -> @y.1[mul(%bx.2, 64):64]
}
"""


def floats(values):
    data = (ctypes.c_float * max(len(values), 1))(*values)
    return data, tj.Buffer(ctypes.addressof(data), "f32", [len(values)])


class FakeTensor:
    """What the binding asks of a tensor, as PyTorch answers it."""

    class device:
        type, index = "cpu", None

    def __init__(self, data, dtype="torch.float32"):
        self.data, self.dtype, self.shape = data, dtype, (len(data),)

    def data_ptr(self):
        return ctypes.addressof(self.data)

    def stride(self):
        return (1,)


class Recommendations(unittest.TestCase):
    def test_choices_come_fastest_first_with_all_that_a_program_needs(self):
        choices = tj.recommend_product(64, 4096, 4096, trans_b=True, most=5)
        self.assertEqual(len(choices), 5)
        self.assertEqual([c["predicted"] for c in choices], sorted(c["predicted"] for c in choices))
        self.assertEqual(choices[0]["path"], "warpgroup")
        self.assertTrue(all(c["tile_m"] and c["tile_n"] and c["tile_k"] and c["stages"] >= 2 for c in choices))
        self.assertEqual(tj.recommend_product(64, 4096, 4096, trans_b=True)[0], choices[0])

    def test_a_smaller_device_takes_longer_and_a_wrong_question_raises(self):
        half = (66, 227 << 10, 25 << 20)
        one, other = (tj.recommend_product(4096, 4096, 4096, device_class=d)[0]["predicted"] for d in (None, half))
        self.assertLess(one, other)
        with self.assertRaises(tj.Error):
            tj.recommend_product(-1, 16, 16)
        with self.assertRaises(ValueError):
            tj.recommend_product(16, 16, 16, a="float")


class Programs(unittest.TestCase):
    def test_parameters_and_dims_are_those_of_the_text(self):
        program = tj.Program.parse(SCALE)
        self.assertEqual(program.dims, ["N"])
        self.assertEqual([p["name"] for p in program.parameters], ["x", "y", "factor"])
        self.assertEqual([p["access"] for p in program.parameters[:2]], ["in", "out"])
        self.assertFalse(program.parameters[2]["tensor"])

    def test_the_text_reads_back_with_the_same_hash(self):
        program = tj.Program.parse(SCALE)
        self.assertEqual(tj.Program.parse(program.text).hash, program.hash)

    def test_a_bad_text_raises_with_its_place(self):
        with self.assertRaises(tj.Error) as caught:
            tj.Program.parse("tir 1\nnonsense", name="bad.tir")
        self.assertIn("bad.tir", caught.exception.message)
        self.assertEqual(caught.exception.name, "INVALID_PROGRAM")

    def test_interpreting_gives_the_product(self):
        _, x = floats([1.0, 2.0, 3.0])
        out, y = floats([0.0] * 3)
        tj.Program.parse(SCALE).interpret([x, y, 2.5])
        self.assertEqual(list(out), [2.5, 5.0, 7.5])


class Launches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.context = tj.Context(cache="memory")
        cls.device = cls.context.cpu()
        try:
            cls.loaded = cls.context.kernel(tj.Program.parse(SCALE)).prepare(cls.device)
        except tj.Error as error:
            if error.name in ("UNAVAILABLE", "UNSUPPORTED"):  # built without a CPU back end
                raise unittest.SkipTest(str(error)) from error
            raise

    def test_lengths_that_are_no_multiple_of_the_tile(self):
        for n in (0, 1, 63, 64, 65, 1000):
            _, x = floats([float(i) for i in range(n)])
            out, y = floats([-7.0] * (n + 1))
            y.shape = (n,)
            self.loaded.launch([x, y, 3.0])
            self.assertEqual(list(out)[:n], [3.0 * i for i in range(n)])
            if n:
                self.assertEqual(out[n], -7.0)

    def test_a_bound_launch_can_be_repeated(self):
        data, x = floats([1.0] * 100)
        out, y = floats([0.0] * 100)
        bound = self.loaded.bind([x, y, 2.0], dims={"N": 100})
        bound()
        data[5] = 21.0
        bound()
        self.assertEqual(out[5], 42.0)

    def test_tensors_are_taken_by_what_they_answer(self):
        x, y = (ctypes.c_float * 8)(*range(8)), (ctypes.c_float * 8)()
        self.loaded.launch([FakeTensor(x), FakeTensor(y), 0.5])
        self.assertEqual(list(y), [0.5 * i for i in range(8)])

    def test_a_wrong_dtype_names_the_parameter(self):
        x, y = (ctypes.c_float * 8)(), (ctypes.c_float * 8)()
        with self.assertRaises(tj.Error) as caught:
            self.loaded.launch([FakeTensor(x, "torch.int32"), FakeTensor(y), 1.0])
        self.assertIn("'x' is f32, the argument i32", caught.exception.message)

    def test_too_few_arguments_are_counted(self):
        _, x = floats([1.0])
        with self.assertRaises(tj.Error) as caught:
            self.loaded.launch([x])
        self.assertIn("the kernel takes 3", caught.exception.message)

    def test_an_unknown_dim_is_named(self):
        _, x = floats([1.0])
        with self.assertRaises(ValueError):
            self.loaded.bind([x, x, 1.0], dims={"Q": 1})

    def test_the_variant_tells_what_it_is(self):
        kernel = self.context.kernel(tj.Program.parse(SCALE), target=self.device.info["target"])
        kernel.compile()
        info = kernel.variants[0].info
        self.assertEqual(info["compiled"], 1)
        self.assertEqual(len(info["request_key"]), 64)
        self.assertGreater(info["binary_bytes"], 0)


class Scalars(unittest.TestCase):
    def test_bit_patterns(self):
        self.assertEqual(tj._scalar_bits(tj.DTYPES["f32"], 1.0), 0x3F800000)
        self.assertEqual(tj._scalar_bits(tj.DTYPES["bf16"], 1.0), 0x3F80)
        self.assertEqual(tj._scalar_bits(tj.DTYPES["i32"], -1), 0xFFFFFFFF)
        self.assertEqual(tj._scalar_bits(tj.DTYPES["bf16"], math.inf), 0x7F80)


if __name__ == "__main__":
    unittest.main()
