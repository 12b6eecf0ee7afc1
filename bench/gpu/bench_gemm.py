"""Products beside cuBLASLt on one GPU, in one run: the shapes of gemm_shapes.json.

    bench_gemm.py [--kinds bf16,e4m3] [--shapes TEXT] [--tokens 1,16] [--shard I/N] [--runs 3] [--seconds S] [--json FILE]
    bench_gemm.py --sweep ...         every tile that fits, best against recommended; all times go into the JSON
    bench_gemm.py --compile ...       only compiles the kernels for sm_90a: no GPU
    bench_gemm.py --join FILE...      the tables and verdicts of earlier runs

One set of rules for all figures: recommended settings, M dynamic, normal random data, compared with float64 before it is
timed, L2 flushed before each launch, ours and the peer's alternating, medians of 30. The peer is cuBLASLt with 64 MiB of workspace
and its heuristic's first algorithm, the best of its first eight beside it, both also on padded copies of odd shapes.
TILERT_LIBRARY names libtilert.so.0, CUBLASLT_LIBRARY another cuBLASLt than PyTorch's.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from types import SimpleNamespace

import gemm_report
from gemm_cases import cases
from gemm_choice import MOST_VARIANTS, Recommender, label
from gemm_compile import BINDING, command
from gemm_kinds import KINDS, PER_TENSOR
from gemm_workers import Workers

TARGET = "sm_90a"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default="bf16", help="some of " + ",".join(KINDS))
    parser.add_argument("--shapes", default="", help="those whose 'name MxNxK' holds one of these texts, separated by commas")
    parser.add_argument("--skip", default="", help="the same: left out")
    parser.add_argument("--tokens", default="", help="these M only")
    parser.add_argument("--shard", default="0/1", help="I/N: every Nth weight matrix")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=30, help="launches of each, of which the median counts")
    parser.add_argument("--seconds", type=float, default=230, help="after which no further shape is begun")
    parser.add_argument("--shape-seconds", type=float, default=1.5, help="that timing one shape may take; fewer rounds then")
    parser.add_argument("--json", default=os.path.join(os.environ["OUT"], "bench_gemm.json") if "OUT" in os.environ else None)
    parser.add_argument("--cache", help="a folder that keeps compiled kernels")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 4), help="processes that compile")
    parser.add_argument("--specialized", action="store_true", help="also with M constant")
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--most", type=int, default=400, help="kernels that a sweep tries for one shape")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--join", nargs="+", metavar="FILE")
    return parser.parse_args()


class Kernels:
    """Programs that tilert recommends, and compiled kernels of programs, made in processes ahead of what is asked for."""

    def __init__(self, options, target, device_class):
        self.cache = options.cache or tempfile.mkdtemp(prefix="bench_gemm")
        self.recommender = Recommender(target, device_class, options.jobs)
        self.compilers = Workers(command(self.cache), options.jobs)
        self.target, self.device_class, self.all = target, device_class, {}

    def close(self):
        self.recommender.close()
        self.compilers.close()

    def plan(self, case):
        return self.recommender.plan(case)

    def want(self, text, m=None):
        """A future of what compiling a program gave; M is dynamic unless it is given."""
        if (text, m) not in self.all:
            job = {"text": text, "dims": {} if m is None else {"M": m}, "target": self.target, "device_class": self.device_class}
            self.all[text, m] = self.compilers.submit(job)
        return self.all[text, m]

    def want_case(self, case, specialized):
        """Futures of what a shape needs."""
        plan = self.plan(case)
        if plan.refused:
            return []
        text = plan.program(case.m)["text"]
        others = self.want_case(self.with_one_scale(case), False) if case.kind in PER_TENSOR else []
        return [self.want(text), *([self.want(text, case.m)] if specialized else []), *others]

    @staticmethod
    def with_one_scale(case):
        """The same product with a scale for each operand instead of many."""
        return SimpleNamespace(**{**vars(case), "kind": PER_TENSOR[case.kind]})

    def want_all(self, all_cases, specialized):
        for case in all_cases:
            self.recommender.want(case)
            if case.kind in PER_TENSOR:
                self.recommender.want(self.with_one_scale(case))
        for case in all_cases:
            self.want_case(case, specialized)

    def wait(self, case, specialized):
        for future in self.want_case(case, specialized):
            future.result()

    def say_variants(self, all_cases):
        """How many kernels one weight matrix needs for any M."""
        for case in all_cases:
            self.recommender.want(case)
        counts = [len(plan.programs) for plan in map(self.plan, all_cases) if not plan.refused]
        if counts:
            print(f"kernels of a weight matrix for all M: {min(counts)} to {max(counts)} of {MOST_VARIANTS} allowed", flush=True)
        return max(counts, default=0)


def compile_only(options, all_cases):
    kernels, refused = Kernels(options, TARGET, None), 0
    kernels.say_variants(all_cases)
    kernels.want_all(all_cases, options.specialized)
    for case in all_cases:
        plan = kernels.plan(case)
        found, name = {"refused": plan.refused}, ""
        if not plan.refused:
            found, name = kernels.want(plan.program(case.m)["text"]).result(), label(plan.program(case.m)["choice"])
        refused += "refused" in found
        print(f"{case.kind:5s} {case.m:5d} {case.n:6d} {case.k:6d} {name:27s} "
              + (found.get("refused") or f"{found['seconds']:.2f} s, {found['registers']} registers, {found['spill_bytes']} spilled, "
                 + ("roles" if found["roles"] else f"general: {found['no_roles']}")
                 + "".join(f"; {h['hint']} not taken: {h.get('reason')}" for h in found["not_taken"])), flush=True)
    kernels.close()
    return refused


class Record:
    """Rows and what they were measured with; on disk after each row, so that a run that is cut keeps what it has."""

    def __init__(self, path, meta):
        self.path, self.meta, self.rows = path, meta, []

    def add(self, row):
        self.rows.append(row)
        self.write()

    def write(self):
        if self.path:
            with open(self.path + ".part", "w") as file:
                json.dump({"meta": self.meta, "rows": self.rows}, file, indent=0)
            os.replace(self.path + ".part", self.path)


def main():
    options = arguments()
    if options.join:
        rows = gemm_report.joined(options.join)["rows"]
        print("\n".join([gemm_report.HEAD, *map(gemm_report.line, rows), *gemm_report.summary(rows)]))
        return 0
    all_cases = cases(options)
    if not all_cases:
        sys.exit("no shape is of that name")
    if options.compile:
        return 1 if compile_only(options, all_cases) else 0
    sys.path.append(BINDING)
    from gemm_measure import Bench

    begin = time.monotonic()
    bench = Bench(options)
    record = Record(options.json, bench.meta)
    kernels = Kernels(options, bench.target, bench.device_class)
    try:
        bench.meta["variants"] = kernels.say_variants(all_cases)
        if options.sweep:
            from gemm_sweep import sweep

            return 1 if sweep(bench, all_cases, kernels, record, begin + options.seconds) else 0
        bench.cold_compiles(all_cases, kernels)
        kernels.want_all(all_cases, options.specialized)
        wrong = bench.runs(all_cases, kernels, record, begin + options.seconds)
    finally:
        kernels.close()
    print("\n".join(gemm_report.summary(record.rows)))
    print(f"an empty kernel {bench.meta['empty_us']:.2f} us; {time.monotonic() - begin:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
