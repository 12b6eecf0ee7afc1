"""Products beside cuBLASLt on one GPU, in one run: the shapes of gemm_shapes.json.

    bench_gemm.py [--kinds bf16,e4m3] [--shapes TEXT] [--tokens 1,16] [--shard I/N] [--runs 3] [--seconds S] [--json FILE]
    bench_gemm.py --sweep ...         every tile that fits, best against recommended; all times go into the JSON
    bench_gemm.py --compile ...       only compiles the kernels for sm_90a: no GPU
    bench_gemm.py --join FILE...      the tables and verdicts of earlier runs

One set of rules for all figures: recommended settings, M dynamic, normal random data, compared with float64 before it is
timed, L2 flushed before each launch, ours and the peer's alternating, medians. The peer is cuBLASLt with 64 MiB of workspace
and its heuristic's first algorithm, the best of its first eight beside it, both also on padded copies of odd shapes.
TILERT_LIBRARY names libtilert.so.0, CUBLASLT_LIBRARY another cuBLASLt than PyTorch's.
"""

import argparse
import json
import os
import sys
import tempfile
import time

import gemm_report
from gemm_cases import cases, chosen, dims, text_of
from gemm_choice import MOST_VARIANTS, variants
from gemm_compile import BINDING, Pool
from gemm_programs import KINDS

TARGET = "sm_90a"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default="bf16", help="some of " + ",".join(KINDS))
    parser.add_argument("--shapes", default="", help="those whose 'name MxNxK' holds one of these texts, separated by commas")
    parser.add_argument("--skip", default="", help="the same: left out")
    parser.add_argument("--tokens", default="", help="these M only")
    parser.add_argument("--shard", default="0/1", help="I/N: every Nth weight matrix")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=20, help="launches of each, of which the median counts")
    parser.add_argument("--seconds", type=float, default=230, help="after which no further shape is begun")
    parser.add_argument("--shape-seconds", type=float, default=1.5, help="that timing one shape may take; fewer rounds then")
    parser.add_argument("--json", default=os.path.join(os.environ["OUT"], "bench_gemm.json") if "OUT" in os.environ else None)
    parser.add_argument("--cache", help="a folder that keeps compiled kernels")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 4), help="processes that compile")
    parser.add_argument("--specialized", action="store_true", help="also with M constant")
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--join", nargs="+", metavar="FILE")
    return parser.parse_args()


class Kernels:
    """Compiled kernels by program and dims; compiling happens in the pool, ahead of what is asked for."""

    def __init__(self, options, target, device_class):
        self.cache = options.cache or tempfile.mkdtemp(prefix="bench_gemm")
        self.pool, self.target, self.device_class, self.all = Pool(self.cache, options.jobs), target, device_class, {}

    def want(self, text, bound):
        key = (text, tuple(bound.items()))
        if key not in self.all:
            self.all[key] = self.pool.submit(text, bound, self.target, self.device_class)
        return self.all[key]

    def want_all(self, all_cases, specialized):
        for case in all_cases:
            self.want(text_of(case, chosen(case)), dims(case))
            if specialized:
                self.want(text_of(case, chosen(case)), {"M": case.m, **dims(case)})


def say_variants(all_cases):
    """How many kernels one weight matrix needs for any M."""
    counts = {(c.kind, c.n, c.k, c.lead): len(variants(c.n, c.k, c.kind, c.lead)) for c in all_cases}
    print(f"kernels of a weight matrix for M from 1 to 16384: {min(counts.values())} to {max(counts.values())} of {MOST_VARIANTS} allowed", flush=True)
    return max(counts.values())


def compile_only(options, all_cases):
    kernels, refused = Kernels(options, TARGET, None), 0
    say_variants(all_cases)
    kernels.want_all(all_cases, options.specialized)
    for case in all_cases:
        found = kernels.want(text_of(case, chosen(case)), dims(case)).result()
        refused += "refused" in found
        print(f"{case.kind:5s} {case.m:5d} {case.n:6d} {case.k:6d} {str(chosen(case)):27s} "
              + (found.get("refused") or f"{found['seconds']:.2f} s, {found['registers']} registers, {found['spill_bytes']} spilled, "
                 + ("roles" if found["roles"] else f"general: {found['no_roles']}")), flush=True)
    kernels.pool.close()
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
    bench.meta["variants"] = say_variants(all_cases)
    kernels = Kernels(options, bench.target, bench.device_class)
    try:
        if options.sweep:
            return bench.sweep(all_cases, kernels, record, begin + options.seconds)
        bench.cold_compiles(all_cases)
        kernels.want_all(all_cases, options.specialized)
        wrong = bench.runs(all_cases, kernels, record, begin + options.seconds)
    finally:
        kernels.pool.close()
    print("\n".join(gemm_report.summary(record.rows)))
    print(f"{time.monotonic() - begin:.0f} s")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
