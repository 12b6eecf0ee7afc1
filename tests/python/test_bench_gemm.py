"""The parts of bench/gpu/bench_gemm.py that need neither a GPU nor PyTorch: shapes, choices, processes, verdicts."""

import json
import os
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "gpu"))

import gemm_cases  # noqa: E402
import gemm_choice  # noqa: E402
import gemm_compile  # noqa: E402
import gemm_kinds  # noqa: E402
import gemm_report  # noqa: E402
from gemm_workers import Workers  # noqa: E402

import tilert_jit  # noqa: E402

CHOICE = {"path": 1, "m": 128, "n": 256, "k": 64, "consumers": 2, "threads": 256, "stages": 6, "cluster": 1, "split_k": 1, "raster": 8,
          "swapped": False, "persistent": True, "bound": 1, "predicted": 1000}
ECHO = "import sys, json\nfor line in sys.stdin:\n  n = json.loads(line)\n  {}\n  print(json.dumps({{'twice': 2 * n}}), flush=True)"


def options(**changed):
    given = {"kinds": "bf16", "shapes": "", "skip": "", "tokens": "", "shard": "0/1", **changed}
    return types.SimpleNamespace(**given)


def row(us, peer, run=0, m=256, n=4096, k=4096, **more):
    return {"run": run, "kind": "bf16", "name": "some", "m": m, "n": n, "k": k, "odd": False, "lead": 0, "tile": "128x128x64/4", "us": us,
            "peer_us": peer, "best_us": peer, "tflops": 1, "tb_s": 1, "copy_tb_s": 4, "weight_bytes": 2 * n * k, "roles": {"stages": 4},
            "tiles": 64, "multiprocessors": 132, **more}


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
    def test_a_number_of_tokens_gets_the_program_of_its_range(self):
        plan = gemm_choice.Plan({"ranges": [[0, 16, 1], [17, 64, 0]], "programs": ["few", "many"]})
        self.assertEqual([plan.program(m) for m in (0, 16, 17, 64, 100000)], ["many", "many", "few", "few", "few"])

    def test_variations_are_other_kernels_of_the_same_tile(self):
        others = list(gemm_choice.variations(CHOICE))
        kernels = {gemm_choice.identity(c) for c in [CHOICE, *others]}
        self.assertEqual(len(kernels), len(others) + 1)
        self.assertEqual({(c["m"], c["n"], c["k"]) for c in others}, {(128, 256, 64)})
        self.assertEqual({c["stages"] for c in others}, {6, 5, 4, 3})
        self.assertIn((1, 128), {(c["consumers"], c["threads"]) for c in others})
        self.assertTrue(any(not c["persistent"] for c in others))

    def test_a_label_tells_kernels_apart(self):
        labels = [gemm_choice.label(c) for c in [CHOICE, *gemm_choice.variations(CHOICE)]]
        self.assertEqual(len(labels), len(set(labels)))
        self.assertEqual(labels[0], "128x256x64/6 c2 g8")

    def test_tiles_count_those_that_end_outside_and_parts_of_k(self):
        self.assertEqual(gemm_choice.tiles(CHOICE, 129, 256), 2)
        self.assertEqual(gemm_choice.tiles({**CHOICE, "split_k": 3}, 128, 257), 6)


class Processes(unittest.TestCase):
    def workers(self, statement, seconds):
        workers = Workers([sys.executable, "-c", ECHO.format(statement)], 1, seconds=seconds)
        self.addCleanup(workers.close)
        return workers

    def test_requests_are_answered_in_place(self):
        workers = self.workers("pass", 30)
        self.assertEqual([f.result() for f in [workers.submit(n) for n in range(4)]], [{"twice": 2 * n} for n in range(4)])

    def test_a_process_that_ends_or_hangs_costs_its_request_alone(self):
        for statement in ("n == 1 and sys.exit(3)", "n == 1 and __import__('time').sleep(60)"):
            workers = self.workers(statement, 2)
            answers = [f.result() for f in [workers.submit(n) for n in range(3)]]
            self.assertEqual([answers[0], answers[2]], [{"twice": 0}, {"twice": 4}])
            self.assertIn("without an answer", answers[1]["refused"])

    def test_a_program_that_does_not_compile_is_refused_by_name(self):
        context = tilert_jit.Context(cache="off")
        job = {"text": "tir 1\nnothing", "dims": {}, "target": "sm_90a", "device_class": None}
        self.assertIn("INVALID", gemm_compile.compiled(context, job)["refused"])

    def test_the_empty_program_is_one(self):
        self.assertEqual(tilert_jit.Program.parse(gemm_kinds.EMPTY).parameters, [])


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

    def test_a_run_that_was_cut_short_is_told(self):
        whole = [row(100, 100, 0), row(100, 100, 0, m=512), row(100, 100, 1)]
        self.assertIn("the runs hold 2, 1 shapes", "\n".join(gemm_report.summary(whole)))
        self.assertNotIn("cut short", "\n".join(gemm_report.summary(whole[:2])))

    def test_the_price_of_a_dynamic_m_is_a_mean(self):
        rows = [row(100, 100, specialized_us=80), row(100, 100, m=512, specialized_us=125)]
        self.assertIn("with M constant 1.000 times as fast (geometric mean), at most 1.250", "\n".join(gemm_report.summary(rows)))

    def test_a_sweep_tells_how_predictions_lie_to_times(self):
        some = [{"us": us, "choice": {**CHOICE, "predicted": ns}} for us, ns in ((2.0, 1000), (1.0, 2000), (8.0, 4000))]
        some += [{"refused": "no", "choice": CHOICE}, {"us": 1.0, "choice": {"stages": 3}}]
        text = gemm_report.model_of_sweep({"sweep": some})
        self.assertIn("measured over predicted 1.26", text)  # the cube root of 2 * 0.5 * 2
        self.assertIn("in place 2", text)
        self.assertIsNone(gemm_report.model_of_sweep({"sweep": []}))

    def test_joined_files_are_runs_one_after_another(self):
        with tempfile.TemporaryDirectory() as folder:
            names = [os.path.join(folder, name) for name in "ab"]
            for name in names:
                with open(name, "w") as file:
                    json.dump({"meta": {}, "rows": [row(100, 100, 0), row(100, 100, 1)]}, file)
            self.assertEqual([r["run"] for r in gemm_report.joined(names)["rows"]], [0, 1, 2, 3])


if __name__ == "__main__":
    unittest.main()
