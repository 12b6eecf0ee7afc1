"""What the GPU benchmarks share: launches timed in turns, programs made ready. Importing it makes tilert_jit importable."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.join(ROOT, "bindings", "python"))

import torch  # noqa: E402

import tilert_jit  # noqa: E402

EPS = {torch.bfloat16: 2.0**-7, torch.float16: 2.0**-10, torch.float32: 2.0**-23}
ROUNDS = 20


def medians(launches, rounds=ROUNDS):
    """Milliseconds of each launch, taken in turns, the L2 cache flushed before each."""
    flush = torch.empty(256 * 2**20, dtype=torch.uint8, device="cuda")
    return [sorted(own)[rounds // 2] for own in turns(launches, rounds, flush.zero_)]


def turns(launches, rounds, flush):
    """Milliseconds of each launch in each of so many rounds, after two that do not count; flush() runs before each launch."""
    times = [[] for _ in launches]
    for _ in range(rounds + 2):
        for launch, own in zip(launches, times):
            flush()
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            launch()
            end.record()
            torch.cuda.synchronize()
            own.append(start.elapsed_time(end))
    return [own[2:] for own in times]


def prepared(context, device, text, dims):
    kernel = context.kernel(tilert_jit.Program.parse(text), dims=dims, target=device.info["target"])
    return kernel.prepare(device), kernel.variants[0].info
