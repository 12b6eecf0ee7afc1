#!/usr/bin/env python3
"""What a launch costs through Python, over C: launch_cost.py LAUNCH_COST, the C program beside. Both time launches of `scale` without
blocks, in batches, one after the other in turns; medians, and the least in parentheses. TILERT_LIBRARY names the library of both."""

import os
import subprocess
import sys
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.append(os.path.join(ROOT, "bindings", "python"))

import tilert_jit as tj  # noqa: E402

TEXT = os.path.join(ROOT, "bindings", "programs", "scale.tir")
ROUNDS, BATCHES, CALLS = 5, 200, 100  # short ones: most are not interrupted


def batches(call):
    times = []
    for _ in range(BATCHES):
        start = time.perf_counter_ns()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter_ns() - start) / CALLS)
    return times


def paths(loaded):
    """{what: a call that launches once}"""
    x, y = tj.zeros(0, "f32"), tj.zeros(0, "f32")
    bound = loaded.bind([x, y, 2.5])
    out = {"nothing, the loop alone": lambda: None, "bound()": bound, "bound.rebind(0, tensor)()": lambda: bound.rebind(0, x)(),
           "loaded.launch([x, y, 2.5])": lambda: loaded.launch([x, y, 2.5])}
    try:
        import numpy
        a, b = numpy.zeros(0, "f4"), numpy.zeros(0, "f4")
        out["loaded.launch of NumPy's arrays"] = lambda: loaded.launch([a, b, 2.5])
    except ImportError:
        pass
    return out


def main():
    context = tj.Context(cache="memory")
    with open(TEXT, encoding="utf-8") as file:
        loaded = context.kernel(tj.Program.parse(file.read())).prepare(context.cpu())
    times = {"C": []}
    for _ in range(ROUNDS):
        done = subprocess.run([sys.argv[1], TEXT], capture_output=True, text=True, check=True)
        times["C"].append(tuple(map(float, done.stdout.split())))
        for name, call in paths(loaded).items():
            times.setdefault(name, []).extend(batches(call))
    base = sorted(median for median, _ in times["C"])[ROUNDS // 2]
    print(f"C: {base:.0f} ns ({min(least for _, least in times['C']):.0f})")
    for name, own in times.items():
        if name != "C":
            median = sorted(own)[len(own) // 2]
            print(f"{name}: {median:.0f} ns ({min(own):.0f}), over C {(median - base) / 1000:.2f} us")


if __name__ == "__main__":
    main()
