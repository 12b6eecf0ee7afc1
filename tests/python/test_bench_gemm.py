"""The parts of bench/gpu/bench_gemm.py that need neither a GPU nor PyTorch: shapes, programs, choices, verdicts."""

import ctypes
import json
import os
import struct
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "gpu"))

import gemm_cases  # noqa: E402
import gemm_choice  # noqa: E402
import gemm_report  # noqa: E402
from gemm_programs import KINDS, Choice, product  # noqa: E402

import tilert_jit  # noqa: E402

E4M3 = {0: 0x00, 1: 0x38, -1: 0xB8, 2: 0x40, -2: 0xC0, 3: 0x44, -3: 0xC4}


def packed(dtype, values):
    """Small integers as elements of a dtype."""
    if dtype == "bf16":
        return b"".join(struct.pack("<f", v)[2:] for v in values)
    if dtype == "e4m3":
        return bytes(E4M3[v] for v in values)
    return struct.pack(f"<{len(values)}{ {'f16': 'e', 'f32': 'f', 'i8': 'b', 'i32': 'i'}[dtype]}", *values)


def unpacked(dtype, data):
    if dtype == "bf16":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    return [v for v, in struct.iter_unpack("<" + {"f16": "e", "f32": "f", "i32": "i"}[dtype], data)]


def options(**changed):
    given = {"kinds": "bf16", "shapes": "", "skip": "", "tokens": "", "shard": "0/1", **changed}
    return types.SimpleNamespace(**given)


def row(us, peer, run=0, m=256, n=4096, k=4096, **more):
    return {"run": run, "kind": "bf16", "name": "some", "m": m, "n": n, "k": k, "odd": False, "lead": 0, "tile": "128x128x64/4", "us": us,
            "peer_us": peer, "best_us": peer, "tflops": 1, "tb_s": 1, "copy_tb_s": 4, "weight_bytes": 2 * n * k, "roles": {"stages": 4},
            "tiles": 64, "multiprocessors": 132, **more}


def interpreted(kind, choice, m, n, k, lead):
    """The program's result on small integers, and the product itself, with what lies between rows as it was."""
    types_, ldx, ldy = KINDS[kind], k + lead, n + lead
    x = [(i * 5 + i // 7) % 7 - 3 for i in range(m * ldx)]
    w = [(i * 3 + i // 5) % 5 - 2 for i in range(n * ldx)]
    scale = 2.0 * 0.5 if types_.scaled else 1
    wanted = [77.0] * (m * ldy)
    for i in range(m):
        for j in range(n):
            wanted[i * ldy + j] = scale * sum(x[i * ldx + c] * w[j * ldx + c] for c in range(k))
    memory = [ctypes.create_string_buffer(packed(d, v)) for d, v in ((types_.operand, x), (types_.operand, w), (types_.out, [77] * (m * ldy)))]
    address = [ctypes.addressof(part) for part in memory]
    shape, strides = ((n, m), (1, ldy)) if choice.swap else ((m, n), (ldy, 1))
    arguments = [tilert_jit.Buffer(address[0], types_.operand, (m, k), (ldx, 1)), tilert_jit.Buffer(address[1], types_.operand, (n, k), (ldx, 1)),
                 tilert_jit.Buffer(address[2], types_.out, shape, strides)]
    factors = [ctypes.create_string_buffer(struct.pack("<f", s)) for s in (2.0, 0.5)]
    if types_.scaled:
        arguments += [tilert_jit.Buffer(ctypes.addressof(f), "f32", (1,)) for f in factors]
    dims = {"M": m, "N": n, "K": k, **({"LX": ldx, "LW": ldx, "LY": ldy} if lead else {})}
    tilert_jit.Program.parse(product(choice, kind, lead != 0)).interpret(arguments, dims)
    return unpacked(types_.out, memory[2].raw[:-1]), wanted


class Programs(unittest.TestCase):
    def test_each_program_is_the_product_in_any_arrangement(self):
        for kind in KINDS:
            for swap in (False, True):
                for persistent in (False, True):
                    for lead in (0, 3):
                        with self.subTest(kind=kind, swap=swap, persistent=persistent, lead=lead):
                            got, wanted = interpreted(kind, Choice(16, 8, 16, 2, swap=swap, persistent=persistent), 9, 21, 35, lead)
                            self.assertEqual(got, wanted)

    def test_every_recommended_program_is_well_formed(self):
        for case in gemm_cases.cases(options(kinds=",".join(KINDS))):
            tilert_jit.Program.parse(gemm_cases.text_of(case, gemm_cases.chosen(case)))


class Shapes(unittest.TestCase):
    def test_a_shard_of_each_gives_all_shapes_once(self):
        whole = [str(c) for c in gemm_cases.cases(options())]
        parts = [str(c) for i in range(3) for c in gemm_cases.cases(options(shard=f"{i}/3"))]
        self.assertEqual(len(whole), 94)
        self.assertEqual(sorted(whole), sorted(parts))

    def test_texts_and_tokens_pick_shapes(self):
        self.assertEqual([(c.m, c.n, c.k) for c in gemm_cases.cases(options(shapes="4097x4095x4104"))], [(4097, 4095, 4104)])
        self.assertTrue(all(c.m == 16 and "deepseek" in c.name for c in gemm_cases.cases(options(shapes="deepseek", tokens="16"))))
        self.assertFalse(any(c.odd for c in gemm_cases.cases(options(skip="odd"))))


class Choices(unittest.TestCase):
    def test_no_weight_matrix_needs_more_kernels_than_allowed(self):
        for case in gemm_cases.cases(options(kinds=",".join(KINDS))):
            self.assertLessEqual(len(gemm_choice.variants(case.n, case.k, case.kind, case.lead)), gemm_choice.MOST_VARIANTS)

    def test_a_sweep_tries_nothing_twice_and_nothing_that_does_not_fit(self):
        for m in (1, 16, 64, 256, 4096):
            some = gemm_choice.candidates(m, 4096, "bf16")
            self.assertEqual(len(some), len(set(some)))
            for c in some:
                self.assertLessEqual((c.rows + c.columns) * c.depth * 2 * c.stages, gemm_choice.SHARED)
                self.assertGreaterEqual(c.stages, 2)


class Verdicts(unittest.TestCase):
    def test_a_floor_is_met_in_the_runs_that_reach_it(self):
        rows = [row(100, 104, run) for run in (0, 1)] + [row(100, 90, 2)]
        mean, least = (gemm_report.judged(f, "bf16", rows) for f in gemm_report.FLOORS[:2])
        self.assertIn("met in 2 of 3", mean)
        self.assertIn("met in 2 of 3", least)
        self.assertIn("least of the shapes' medians 1.040", least)

    def test_large_weights_are_held_to_the_copy_rate(self):
        fast, slow = (row(us, us, m=1, n=28672, k=8192) for us in (100, 200))  # 4.7 and 2.3 of 4 TB/s
        floor = gemm_report.FLOORS[3]
        self.assertIn("met in 1 of 1", gemm_report.judged(floor, "bf16", [fast]))
        self.assertIn("met in 0 of 1", gemm_report.judged(floor, "bf16", [slow]))

    def test_what_is_refused_is_named_and_left_out_of_the_means(self):
        bad = {"run": 0, "kind": "bf16", "name": "some", "m": 512, "n": 8, "k": 8, "odd": False, "tile": "t", "refused": "no such tile"}
        text = "\n".join(gemm_report.summary([row(100, 110), bad]))
        self.assertIn("geometric mean 1.100", text)
        self.assertIn("refused in 1 rows, left out of the means: no such tile", text)

    def test_joined_files_are_runs_one_after_another(self):
        with tempfile.TemporaryDirectory() as folder:
            names = [os.path.join(folder, name) for name in "ab"]
            for name in names:
                with open(name, "w") as file:
                    json.dump({"meta": {}, "rows": [row(100, 100, 0), row(100, 100, 1)]}, file)
            self.assertEqual([r["run"] for r in gemm_report.joined(names)["rows"]], [0, 1, 2, 3])


if __name__ == "__main__":
    unittest.main()
