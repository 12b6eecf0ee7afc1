"""The builder: what operators, scopes and statements make, and what it says of mistakes. No numpy, no torch, no pytest."""

import gc
import unittest

import tilert_jit as tj
from tilert_jit import ceildiv, f32, i32


def run(build, *tensors, dims=None):
    program = build()
    program.interpret(tensors, dims)
    return [t.tolist() for t in tensors]


def on_points(body, count=8, dtype=f32, source=None):
    """y[i] = body(b, i, x[i]) over a parallel loop; what y is."""
    b = tj.Builder("points")
    x, y = b.input("x", source or dtype, [count]), b.output("y", dtype, [count])
    with b.grid(1), b.parallel(count) as i:
        y[i] = body(b, i, x[i].value)
    given, out = tj.tensor(range(count), source or dtype), tj.zeros(count, dtype)
    b.finish().interpret([given, out])
    return out.tolist()


class Operators(unittest.TestCase):
    def test_arithmetic_is_that_of_the_element_type(self):
        self.assertEqual(on_points(lambda b, i, x: 2 * x + 1 - x / 2), [2 * v + 1 - v / 2 for v in range(8)])
        self.assertEqual(on_points(lambda b, i, x: -x // 3, dtype=i32), [-v // 3 for v in range(8)])
        self.assertEqual(on_points(lambda b, i, x: (10 - x) % 3, dtype=i32), [(10 - v) % 3 for v in range(8)])
        self.assertEqual(on_points(lambda b, i, x: (x << 2 | 1) ^ (x >> 1) & 3, dtype=i32), [(v << 2 | 1) ^ (v >> 1) & 3 for v in range(8)])
        self.assertEqual(on_points(lambda b, i, x: abs(x - 4) ** 2.0), [(v - 4.0) ** 2 for v in range(8)])
        self.assertEqual(on_points(lambda b, i, x: ~x, dtype=i32), [~v for v in range(8)])
        self.assertEqual(on_points(lambda b, i, x: (x / 2) // 1), [v // 2 for v in range(8)])

    def test_comparisons_give_what_select_takes(self):
        self.assertEqual(on_points(lambda b, i, x: tj.select((x > 2) & (x != 5) | (x <= 0), x, -1)), [0, -1, -1, 3, 4, -1, 6, 7])
        self.assertEqual(on_points(lambda b, i, x: tj.maximum(tj.minimum(x, 5), 2)), [2, 2, 2, 3, 4, 5, 5, 5])

    def test_numbers_among_themselves_stay_numbers(self):
        self.assertEqual(tj.ceildiv(100, 64), 2)
        self.assertEqual(tj.maximum(2, 3), 3)
        self.assertEqual(tj.fma(2.0, 3.0, 1.0), 7.0)
        self.assertEqual(tj.trunc_div(-7, 2), -3)
        self.assertEqual(repr(tj.cast(f32, 1)), "f32(1.0)")
        self.assertEqual(on_points(lambda b, i, x: x + tj.cast(f32, 0.25)), [v + 0.25 for v in range(8)])
        with self.assertRaises(OverflowError):
            on_points(lambda b, i, x: x + (1 << 64), dtype=i32)

    def test_dtypes_are_those_of_the_library_and_their_names(self):
        b = tj.Builder()
        self.assertEqual(b.scalar("s", "bf16").dtype, tj.bf16)
        self.assertEqual(b.dim("N").dtype, "index")
        self.assertEqual([d.bits for d in (tj.i4, tj.e2m3, tj.bf16, tj.f64)], [4, 6, 16, 64])
        for name in tj.DTYPES:
            self.assertEqual(tj.named(name).number, tj.DTYPES[name])
            self.assertEqual(tj.named(name).bits, tj._abi.lib().tilert_dtype_bits(tj.DTYPES[name]), name)
        with self.assertRaises(ValueError):
            b.scalar("t", "float")

    def test_what_python_would_decide_while_building_is_refused(self):
        with self.assertRaisesRegex(TypeError, "if_"):
            on_points(lambda b, i, x: 1 if x > 2 else 0)
        with self.assertRaisesRegex(TypeError, "chained"):
            on_points(lambda b, i, x: tj.select(0 < x < 3, x, 0))
        with self.assertRaisesRegex(TypeError, "//"):
            on_points(lambda b, i, x: x / 2, dtype=i32)
        with self.assertRaisesRegex(TypeError, "looped over"):
            on_points(lambda b, i, x: list(x))
        with self.assertRaises(TypeError):
            on_points(lambda b, i, x: x + "1")


class Scopes(unittest.TestCase):
    def test_branches_take_one_side(self):
        def body(b, i, x):
            v = b.var(f32, 0)
            with b.if_(x < 3):
                v.value = 1
                with b.if_(x < 1):
                    v.value = 2
            with b.else_():
                with b.if_(x > 5):
                    v.value = 3
                with b.else_():
                    v.value = 4
            return v
        self.assertEqual(on_points(body), [2, 1, 1, 4, 4, 4, 3, 3])

    def test_an_else_stands_behind_its_if(self):
        def body(b, i, x):
            with b.if_(x < 3):
                pass
            b.var(f32, 0)
            with b.else_():
                pass
        with self.assertRaisesRegex(TypeError, "else_"):
            on_points(body)

    def test_loops_have_the_bounds_of_range(self):
        for bounds in ((5,), (2, 6), (7, -1, -3)):
            def body(b, i, x, bounds=bounds):
                total = b.var(f32, 0)
                with b.serial(*bounds) as k:
                    total.value += tj.cast(f32, k)
                return total
            self.assertEqual(on_points(body, 1), [sum(range(*bounds))])

    def test_a_while_reads_its_condition_before_each_trip(self):
        def body(b, i, x):
            left = b.var(f32, x)
            with b.while_(lambda: left > 2):
                left.value -= 3
            return left
        self.assertEqual(on_points(body), [0, 1, 2, 0, 1, 2, 0, 1])

    def test_one_index_comes_by_itself_and_several_as_a_tuple(self):
        b = tj.Builder()
        y = b.output("y", f32, [2, 3])
        with b.grid(1) as one:
            self.assertIsInstance(one, tj.Expr)
            with b.parallel(2, 3) as (i, j):
                y[i, j] = tj.cast(f32, i * 10 + j)
        out = tj.zeros((2, 3), f32)
        b.finish().interpret([out])
        self.assertEqual(out.tolist(), [[0, 1, 2], [10, 11, 12]])

    def test_an_exception_leaves_a_scope_as_itself(self):
        b = tj.Builder()
        with self.assertRaises(KeyError):
            with b.grid(1), b.serial(3):
                raise KeyError("mine")

    def test_a_slice_is_a_region_with_constant_bounds(self):
        b = tj.Builder()
        x, y = b.input("x", f32, [8]), b.output("y", f32, [8])
        with b.grid(1) as block:
            t = b.shared(f32, [8])
            b.copy(x[0:8], t)
            b.copy(t[2:6], y[1:5])
            with self.assertRaisesRegex(TypeError, "size"):
                t[block:4]
            with self.assertRaisesRegex(TypeError, "one element"):
                t[0:4] = 1
        out = tj.zeros(8, f32)
        b.finish().interpret([tj.tensor(range(8), f32), out])
        self.assertEqual(out.tolist(), [0, 2, 3, 4, 5, 0, 0, 0])


class Mistakes(unittest.TestCase):
    def complaint(self, body):
        b = tj.Builder("wrong")
        x, y = b.input("x", f32, [8]), b.output("y", f32, [8])
        with b.grid(1):
            body(b, x, y)
        with self.assertRaises(tj.Error) as caught:
            b.finish()
        return caught.exception

    def test_the_first_error_comes_at_the_end_with_its_place(self):
        line = None

        def body(b, x, y):
            nonlocal line
            line = body.__code__.co_firstlineno + 3
            y[0] = tj.cast(tj.f16, x[0]) + x[1]
            b.break_()
        error = self.complaint(body)
        self.assertEqual((error.file, error.line), (__file__, line))
        self.assertEqual(error.status, tj.Status.INVALID_PROGRAM)
        self.assertIn("f16", error.message)

    def test_a_label_is_named(self):
        def body(b, x, y):
            t = b.shared(f32, [4])
            b.label("the odd copy").copy(x, t)
        self.assertIn("the odd copy", self.complaint(body).message)

    def test_an_unknown_hint_is_a_type_error(self):
        b = tj.Builder()
        with self.assertRaisesRegex(TypeError, "thread.*threads_fixed"):
            with b.grid(1, thread=128):
                pass

    def test_values_of_another_builder_are_an_error(self):
        other = tj.Builder()
        n = other.dim("N")

        def body(b, x, y):
            y[n] = 1
        self.assertNotEqual(self.complaint(body).status, tj.Status.OK)


class Programs(unittest.TestCase):
    def test_a_decorated_function_is_built_by_calling_it(self):
        @tj.program
        def plus(b, n, more=1):
            """Adds."""
            x, y = b.input("x", f32, [n]), b.output("y", f32, [n])
            with b.grid(ceildiv(n, 4)) as block, b.parallel(4) as i:
                y[block * 4 + i] = x[block * 4 + i] + more
        self.assertEqual(plus.__doc__, "Adds.")
        self.assertEqual(run(lambda: plus(3, more=2), tj.tensor([1, 2, 3], f32), tj.zeros(3, f32))[1], [3, 4, 5])
        self.assertEqual(plus(3).hash, plus(3).hash)
        self.assertNotEqual(plus(3).hash, plus(4).hash)
        self.assertIn('program "plus"', plus(3).text)

    def test_diagnostics_come_with_values_place_and_verdict(self):
        b = tj.Builder("told")
        x = b.input("x", f32, [4])
        with b.grid(1) as block:
            b.print("block {", block, "} has ", x[1])
            with b.parallel(4) as i:
                v = x[i].value
                b.assert_(v < 2.5, "x[", i, "] is ", v)
        entries = b.finish().interpret([tj.tensor([0, 1, 2, 3], f32)])
        self.assertEqual([e.values for e in entries], [(0, 1.0), (3, 3.0)])
        self.assertEqual([e.failed for e in entries], [False, True])
        self.assertIn("block {0} has 1", entries[0].message)
        self.assertEqual(entries[0].file, __file__)

    def test_values_outlive_the_name_of_their_builder(self):
        b = tj.Builder()
        n = b.dim("N")
        del b
        gc.collect()
        self.assertEqual((n + 1).dtype, "index")

    def test_a_feature_that_is_none_raises(self):
        self.assertTrue(tj.feature("scan"))
        with self.assertRaises(tj.Error):
            tj.feature("no such thing")


if __name__ == "__main__":
    unittest.main()
