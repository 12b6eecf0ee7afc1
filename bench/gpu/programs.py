"""Tile programs of the GPU benchmarks, as .tir text."""


def gemm(bm, bn, bk, stages, dtype="bf16", out="bf16", trans_b=True, hints=""):
    """C[M, N] = A[M, K] times B[N, K] transposed (or B[K, N])."""
    b_shape = "[%N.1, %K.2]" if trans_b else "[%K.2, %N.1]"
    b_tile = f"[{bn}, {bk}]" if trans_b else f"[{bk}, {bn}]"
    b_rows, b_cols = (bn, bk) if trans_b else (bk, bn)
    b_at = f"[mul(%x.3, {bn}):{bn}, mul(%k.5, {bk}):{bk}]" if trans_b else f"[mul(%k.5, {bk}):{bk}, mul(%x.3, {bn}):{bn}]"
    acc = "f32" if dtype != "i8" else "i32"
    zero = "f32(0x0)" if dtype != "i8" else "i32(0)"
    return f"""tir 1
program "gemm"
var %M.0 dim index
var %N.1 dim index
var %K.2 dim index
var %x.3 block index
var %y.4 block index
var %k.5 loop index
dim %M.0
dim %N.1
dim %K.2
buffer @A.0 global {dtype} [%M.0, %K.2] in argument 0
buffer @B.1 global {dtype} {b_shape} in argument 1
buffer @C.2 global {out} [%M.0, %N.1] out argument 2
buffer @as.3 shared {dtype} [{bm}, {bk}]
buffer @bs.4 shared {dtype} {b_tile}
buffer @acc.5 fragment {acc} [{bm}, {bn}]
parameter tensor @A.0 "A"
parameter tensor @B.1 "B"
parameter tensor @C.2 "C"
kernel "gemm" (%x.3, %y.4) grid [div(add(%N.1, {bn - 1}), {bn}), div(add(%M.0, {bm - 1}), {bm})]{hints} {{
  1: alloc @as.3
  2: alloc @bs.4
  3: alloc @acc.5
  4: fill @acc.5[0:{bm}, 0:{bn}] = {zero}
  8: for pipelined %k.5 = 0 to div(add(%K.2, {bk - 1}), {bk}) stages {stages} {{
    5: copy @A.0[mul(%y.4, {bm}):{bm}, mul(%k.5, {bk}):{bk}] -> @as.3[0:{bm}, 0:{bk}]
    6: copy @B.1{b_at} -> @bs.4[0:{b_rows}, 0:{b_cols}]
    7: gemm @as.3[0:{bm}, 0:{bk}], @bs.4[0:{b_rows}, 0:{b_cols}], @acc.5[0:{bm}, 0:{bn}]{" trans_b" if trans_b else ""} accumulate true
  }}
  12: copy @acc.5[0:{bm}, 0:{bn}] -> @C.2[mul(%y.4, {bm}):{bm}, mul(%x.3, {bn}):{bn}]
}}
"""
