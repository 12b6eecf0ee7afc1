"""Products and attention on a GPU beside the vendor's libraries through PyTorch, in one run.

bench_peers.py [--json FILE]: peers alternate, L2 is flushed before each launch, medians of 20, random data; everything timed is
checked against float64 first. TILERT_LIBRARY names libtilert.so.0.
"""

import argparse
import json
import math
import os
import sys

import torch
from measure import EPS, ROOT, medians, prepared
from programs import gemm

import tilert_jit

def product_errors(out, a, b):
    """Largest excess of the error over the bound of the error rule; at most 0 is right. In slices of rows."""
    worst = -math.inf
    for rows in torch.arange(a.shape[0]).split(1024):
        x = a[rows].double()
        wanted, size = x @ b.double(), x.abs() @ b.double().abs()
        bound = EPS[out.dtype] * wanted.abs() + 4 * 2.0**-23 * math.sqrt(a.shape[1]) * size
        worst = max(worst, ((out[rows].double() - wanted).abs() - bound).max().item())
    return worst


def products(context, device, size, report):
    a = torch.randn(size, size, device="cuda").bfloat16()
    bt = torch.randn(size, size, device="cuda").bfloat16()
    b = bt.T.contiguous()
    out = torch.empty(size, size, device="cuda", dtype=torch.bfloat16)
    cases = [("roles 128x256x64", gemm(128, 256, 64, 3), bt), ("roles 128x128x64", gemm(128, 128, 64, 4), bt),
             ("general 128x128x64", gemm(128, 128, 64, 3, hints=" hint roles 1"), bt),
             ("general 128x128x32, B row-major", gemm(128, 128, 32, 4, trans_b=False), b)]
    names, launches = ["cuBLAS"], [lambda: torch.matmul(a, bt.T, out=out)]
    for name, text, right in cases:
        loaded, info = prepared(context, device, text, {"M": size, "N": size, "K": size})
        out.fill_(float("nan"))
        bound = loaded.bind([a, right, out])
        bound(0)
        torch.cuda.synchronize()
        excess = product_errors(out, a, bt.T)
        if not excess <= 0:
            sys.exit(f"{name}, {size}: beyond the error rule by {excess}")
        names.append(f"{name} ({info['registers']} registers, {info['spill_bytes']} spilled)")
        launches.append(lambda bound=bound: bound(0))
    times = medians(launches)
    for name, time in zip(names, times):
        report(f"bf16 {size}^3", name, time, 2 * size**3 / time / 1e9, times[0] / time)


def attention(context, device, batch, heads, length, report):
    depth = 128
    q, k, v = (torch.randn(batch, heads, length, depth, device="cuda").bfloat16() for _ in range(3))
    out = torch.full_like(q, float("nan"))
    with open(os.path.join(ROOT, "tests", "e2e", "programs", "attention.tir")) as file:
        text = file.read()
    loaded, info = prepared(context, device, text, {"S": length, "H": batch * heads})
    flat = [x.view(batch * heads, length, depth) for x in (q, k, v, out)]
    bound = loaded.bind([*flat, 1 / math.sqrt(depth) / math.log(2)])
    bound(0)
    torch.cuda.synchronize()
    mask = torch.ones(length, length, device="cuda", dtype=torch.bool).triu(1)
    for h in range(2):
        x, y, z = (t[h].double() for t in flat[:3])
        p = (x @ y.T / math.sqrt(depth)).masked_fill(mask, -math.inf).softmax(-1)
        wanted = p @ z
        # The probabilities enter the second product rounded to bf16.
        excess = ((flat[3][h].double() - wanted).abs() - EPS[torch.bfloat16] * (wanted.abs() + p @ z.abs())).max().item()
        if not excess <= 0:
            sys.exit(f"attention of length {length}: beyond its bound by {excess}")
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def cudnn():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    times = medians([cudnn, lambda: bound(0)])
    work = 2 * batch * heads * length**2 * depth
    for name, time in zip(["cuDNN", f"attention.tir ({info['registers']} registers, {info['spill_bytes']} spilled)"], times):
        report(f"causal attention {batch}x{heads}x{length}x{depth}", name, time, work / time / 1e9, times[0] / time)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    context = tilert_jit.Context(cache="off")
    device = context.cuda()
    rows = []

    def report(what, name, milliseconds, tflops, ratio):
        rows.append({"what": what, "name": name, "us": milliseconds * 1e3, "tflops": tflops, "ratio": ratio})
        print(f"{what:36s} {name:58s} {milliseconds * 1e3:9.1f} us {tflops:6.0f} TFLOP/s ratio {ratio:.3f}", flush=True)

    print(f"{device.info['name']}, PyTorch {torch.__version__}")
    for size in (4096, 8192):
        products(context, device, size, report)
    for batch, heads, length in ((4, 16, 4096), (8, 16, 2048), (1, 16, 16384)):
        attention(context, device, batch, heads, length, report)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
