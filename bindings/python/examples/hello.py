"""The hello kernel: c = gelu(a b + bias) in bf16 with f32 sums, for any number of rows; checked against Python's own numbers."""

import math
import random

import tilert_jit as tj
from tilert_jit import bf16, ceildiv, f32


@tj.program
def gemm_bias_gelu(b, bm, bn, bk):
    M, N, K = b.dims("M N K")
    A, B, bias = b.input("A", bf16, [M, K]), b.input("B", bf16, [K, N]), b.input("bias", f32, [N])
    C = b.output("C", bf16, [M, N])
    with b.grid(ceildiv(N, bn), ceildiv(M, bm)) as (x, y):
        a, w = b.shared(bf16, [bm, bk]), b.shared(bf16, [bk, bn])
        acc = b.fragment(f32, [bm, bn])
        b.clear(acc)
        with b.pipelined(ceildiv(K, bk), stages=3) as k:
            b.copy(A[y * bm, k * bk], a)  # beyond the matrix: zeros
            b.copy(B[k * bk, x * bn], w)
            b.gemm(a, w, acc)
        with b.parallel(bm, bn) as (i, j):
            v = b.let(acc[i, j] + bias[x * bn + j])
            acc[i, j] = 0.5 * v * (tj.erf(v * math.sqrt(0.5)) + 1)
        b.copy(acc, C[y * bm, x * bn])


def main():
    m, n, k = 30, 40, 50
    with tj.Context() as context, context.cpu() as device:
        kernel = context.kernel(gemm_bias_gelu(64, 64, 32), dims={"N": n, "K": k})  # M is given at each launch
        loaded = kernel.prepare(device)  # compiles, or fetches from the cache, and loads
        number = random.Random(1).uniform
        a, w = (tj.tensor([[number(-1, 1) for _ in range(c)] for _ in range(r)], bf16) for r, c in ((m, k), (k, n)))
        bias, c = tj.tensor([number(-1, 1) for _ in range(n)], f32), tj.zeros((m, n), bf16)
        loaded.launch([a, w, bias, c])

    rows, columns, more, worst = a.tolist(), list(zip(*w.tolist())), bias.tolist(), 0.0
    for i, row in enumerate(c.tolist()):
        for j, got in enumerate(row):
            v = more[j] + math.fsum(x * y for x, y in zip(rows[i], columns[j]))
            wanted = 0.5 * v * (1 + math.erf(v / math.sqrt(2)))
            worst = max(worst, abs(got - wanted) / (abs(wanted) / 128 + 1e-4))
    print(f"gemm with bias and GELU on {device_name()}: {m * n} values, {'right' if worst <= 1 else 'WRONG'}")
    return 0 if worst <= 1 else 1


def device_name():
    with tj.Context() as context, context.cpu() as device:
        return device.info["name"]


if __name__ == "__main__":
    raise SystemExit(main())
