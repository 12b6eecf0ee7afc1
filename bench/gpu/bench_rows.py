"""Row operations and whole reductions on a GPU beside PyTorch and beside a plain copy of as many bytes, in one run.

bench_rows.py [--json FILE]: peers alternate, L2 is flushed before each launch, medians of 20, random data; everything timed is
compared with float64 first. TILERT_LIBRARY names libtilert.so.0.
"""

import argparse
import json
import math
import sys

import torch
import row_programs
from measure import EPS, medians, prepared

import tilert_jit

GIB = 2**30


def right(name, out, wanted, bound):
    """Ends the run where an element is farther from the float64 result than its bound."""
    excess = ((out.double() - wanted).abs() - bound).max().item()
    if not excess <= 0:
        sys.exit(f"{name}: beyond its bound by {excess}")


def copying(count):
    """A copy that reads and writes `count` bytes altogether."""
    source = torch.empty(count // 2, dtype=torch.uint8, device="cuda").random_(0, 255)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


class Bench:
    def __init__(self, context, device, report):
        self.context, self.device, self.report = context, device, report

    def program(self, text, dims):
        return prepared(self.context, self.device, text, dims)

    def rows(self, what, bytes_moved, ours, peer):
        """A copy, the peer and tilert in turns."""
        copy, theirs, mine = medians([copying(bytes_moved), peer, ours])
        self.report(what, mine, bytes_moved / mine / 1e9, copy / mine, theirs / mine)

    def softmax(self, rows, columns):
        x = torch.randn(rows, columns, device="cuda").mul_(4).bfloat16()
        y = torch.full_like(x, float("nan"))
        loaded, _ = self.program(row_programs.softmax(columns), {"R": rows})
        bound = loaded.bind([x, y])
        bound(0)
        torch.cuda.synchronize()
        wanted = x[:64].double().softmax(-1)
        right("softmax", y[:64], wanted, 1.01 * EPS[torch.bfloat16] / 2 * wanted + 1e-30)
        self.rows(f"softmax bf16 {rows}x{columns}", 4 * rows * columns, lambda: bound(0), lambda: torch.softmax(x, -1))

    def rmsnorm(self, rows, columns):
        x, residual = (torch.randn(rows, columns, device="cuda").bfloat16() for _ in range(2))
        weight, eps = torch.randn(columns, device="cuda").bfloat16(), 1e-5
        y, kept = torch.full_like(x, float("nan")), residual.clone()
        loaded, _ = self.program(row_programs.rmsnorm(columns), {"R": rows})
        bound = loaded.bind([x, weight, kept, y, eps])
        bound(0)
        torch.cuda.synchronize()
        total = x[:64].double() + residual[:64].double()
        right("rmsnorm, residual", kept[:64], total, 1.01 * EPS[torch.bfloat16] / 2 * total.abs())
        wanted = total * (total.square().mean(-1, keepdim=True) + eps).rsqrt() * weight.double()
        right("rmsnorm", y[:64], wanted, 1.01 * EPS[torch.bfloat16] / 2 * wanted.abs() + 1e-30)

        def peer():
            kept.add_(x)
            torch.nn.functional.rms_norm(kept, (columns,), weight, eps)

        self.rows(f"rmsnorm with residual bf16 {rows}x{columns}", 8 * rows * columns, lambda: bound(0), peer)

    def quantize(self, rows, columns):
        x = torch.randn(rows, columns, device="cuda").bfloat16()
        y = torch.full((rows, columns), 1.0, device="cuda").to(torch.float8_e4m3fn)
        scale = torch.full((rows,), float("nan"), device="cuda")
        loaded, _ = self.program(row_programs.quantize(columns), {"R": rows})
        bound = loaded.bind([x, y, scale])
        bound(0)
        torch.cuda.synchronize()
        wanted = x[:64].double().abs().amax(-1) / 448
        right("quantize, scale", scale[:64], wanted, 2.0**-23 * wanted)
        exact = x[:64].double() / wanted[:, None]
        right("quantize", y[:64].double(), exact, 2.0**-4 * 1.001 * exact.abs() + 2.0**-10)

        def peer():
            s = x.abs().amax(-1, keepdim=True).float() / 448
            return (x / s).to(torch.float8_e4m3fn)

        self.rows(f"fp8 quantization per row {rows}x{columns}", 3 * rows * columns + 4 * rows, lambda: bound(0), peer)

    def silu(self, rows, columns):
        x = torch.randn(rows, 2 * columns, device="cuda").bfloat16()
        y = torch.full((rows, columns), float("nan"), device="cuda", dtype=torch.bfloat16)
        loaded, _ = self.program(row_programs.silu_mul(columns), {"R": rows})
        bound = loaded.bind([x, y])
        bound(0)
        torch.cuda.synchronize()
        gate, up = x[:64, :columns].double(), x[:64, columns:].double()
        wanted = gate * gate.sigmoid() * up
        right("silu", y[:64], wanted, 1.01 * EPS[torch.bfloat16] / 2 * wanted.abs() + 1e-30)
        self.rows(f"silu and product bf16 {rows}x{columns}", 6 * rows * columns, lambda: bound(0),
                  lambda: torch.nn.functional.silu(x[:, :columns]) * x[:, columns:])

    def total(self, size):
        width = 4096
        x = torch.randn(size // 4 // width, width, device="cuda")
        blocks = 4 * torch.cuda.get_device_properties(0).multi_processor_count
        part, out = torch.empty(blocks, device="cuda"), torch.empty(1, device="cuda")
        loaded, _ = self.program(row_programs.total(blocks, width), {})
        bound = loaded.bind([x, part, out])
        bound(0)
        torch.cuda.synchronize()
        wanted, sizes = x.double().sum(), x.double().abs().sum()
        right("sum", out, wanted, 2.0**-23 * wanted.abs() + 4 * 2.0**-23 * math.sqrt(x.numel()) * sizes / x.numel())
        self.rows(f"sum of {size // 2**20} MiB of f32", size, lambda: bound(0), lambda: x.sum())

    def top_k(self, rows, columns, k):
        x = torch.randn(rows, columns, device="cuda")
        value, place = torch.empty(rows, k, device="cuda"), torch.full((rows, k), -1, device="cuda", dtype=torch.int32)
        loaded, _ = self.program(row_programs.top_k(columns, k, 8), {"R": rows})
        reading, _ = self.program(row_programs.greatest(columns, 8), {"R": rows})
        bound, read = loaded.bind([x, value, place]), reading.bind([x, torch.empty(rows, device="cuda")])
        bound(0)
        torch.cuda.synchronize()
        wanted = x.topk(k, -1)
        if not torch.equal(value, wanted.values) or not torch.equal(x.gather(1, place.long()), wanted.values):
            sys.exit("top_k: wrong")
        mine, once, theirs = medians([lambda: bound(0), lambda: read(0), lambda: x.topk(k, -1)])
        size = 4 * rows * columns
        self.report(f"top {k} of {columns}, {rows} rows, over reading them", mine, size / mine / 1e9, once / mine, theirs / mine)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    context = tilert_jit.Context(cache="off")
    device = context.cuda()
    table = []

    def report(what, milliseconds, rate, of_copy, of_peer):
        table.append({"what": what, "us": milliseconds * 1e3, "tb_per_s": rate, "of_copy": of_copy, "of_peer": of_peer})
        print(f"{what:44s} {milliseconds * 1e3:9.1f} us {rate:6.2f} TB/s, of a copy {of_copy:.3f}, of PyTorch {of_peer:.2f}", flush=True)

    print(f"{device.info['name']}, PyTorch {torch.__version__}")
    bench = Bench(context, device, report)
    for rows, columns in ((4096, 8192), (8192, 8192), (16384, 8192)):
        bench.softmax(rows, columns)
        bench.rmsnorm(rows, columns)
        bench.quantize(rows, columns)
        bench.silu(rows, columns)
    bench.total(GIB)
    bench.top_k(4096, 256, 8)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(table, file, indent=1)


if __name__ == "__main__":
    main()
