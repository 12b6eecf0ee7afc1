"""Programs of matrix products."""

import tilert_jit as tj
from tilert_jit import bf16, ceildiv, e4m3, f16, f32, i8, i32, u8, u16


@tj.program
def gemm_bias_gelu(b):
    """The hello kernel: c = gelu(a b + bias)."""
    bm, bn, bk = 64, 64, 32
    M, N, K = b.dims("M N K")
    A, B, bias = b.input("A", bf16, [M, K]), b.input("B", bf16, [K, N]), b.input("bias", f32, [N])
    C = b.output("C", bf16, [M, N])
    with b.grid(ceildiv(N, bn), ceildiv(M, bm)) as (x, y):
        a, w = b.shared(bf16, [bm, bk]), b.shared(bf16, [bk, bn])
        acc = b.fragment(f32, [bm, bn])
        b.clear(acc)
        with b.pipelined(ceildiv(K, bk), stages=3) as k:
            b.copy(A[y * bm, k * bk], a)
            b.copy(B[k * bk, x * bn], w)
            b.gemm(a, w, acc)
        with b.parallel(bm, bn) as (i, j):
            v = b.let(acc[i, j] + bias[x * bn + j])
            acc[i, j] = 0.5 * v * (tj.erf(v * 0.7071067811865476) + 1)
        b.copy(acc, C[y * bm, x * bn])


@tj.program
def gemm_int8(b):
    """Exact products of 8-bit integers, a scale for each column."""
    bm, bn, bk = 32, 64, 64
    M, N, K = b.dims("M N K")
    A, B, scales = b.input("A", i8, [M, K]), b.input("B", i8, [N, K]), b.input("scales", f32, [N])
    C = b.output("C", f32, [M, N])
    with b.grid(ceildiv(N, bn), ceildiv(M, bm)) as (x, y):
        a, w = b.shared(i8, [bm, bk]), b.shared(i8, [bn, bk])
        acc, out = b.fragment(i32, [bm, bn]), b.fragment(f32, [bm, bn])
        with b.pipelined(ceildiv(K, bk), stages=2) as k:
            b.copy(A[y * bm, k * bk], a)
            b.copy(B[x * bn, k * bk], w)
            b.gemm(a, w, acc, trans_b=True, accumulate=k != 0)
        with b.parallel(bm, bn) as (i, j):
            out[i, j] = tj.cast(f32, acc[i, j]) * scales[x * bn + j]
        b.copy(out, C[y * bm, x * bn])


@tj.program
def gemm_scaled(b):
    """fp8 operands with a scale for each block of 32, then silu by its fast form; hints of all kinds."""
    bm, bn, bk = 64, 32, 32
    M, N, K, NB, KB = b.dims("M N K NB KB")  # and their blocks
    A, W = b.input("A", e4m3, [M, K]), b.input("W", e4m3, [N, K])
    of_a, of_w = b.input("of_a", f32, [M, KB]), b.input("of_w", f32, [NB, KB])
    C = b.output("C", f32, [M, N])
    threads = tj.hint("threads", 128, must=True, target="sm_90a")
    with b.grid(ceildiv(N, bn), ceildiv(M, bm), hints=[threads], min_blocks=1, max_registers=128, raster=4, pdl=1, fixed_order=True) as (x, y):
        a, w = b.shared(e4m3, [bm, bk]), b.shared(e4m3, [bn, bk])
        acc = b.fragment(f32, [bm, bn])
        b.clear(acc)
        with b.pipelined(ceildiv(K, bk)) as k:
            b.copy(A[y * bm, k * bk], a)
            b.copy(W[x * bn, k * bk], w)
            b.gemm(a, w, acc, trans_b=True, a_scale=of_a[y * bm, k].size(bm, 1), b_scale=of_w[x, k].size(1, 1), trans_b_scale=True)
        with b.parallel(bm, bn) as (i, j):
            v = acc[i, j].value
            acc[i, j] = v * tj.fast(tj.sigmoid(v))
        b.copy(acc, C[y * bm, x * bn])


@tj.program
def gemm_sparse(b):
    """Two of each four elements of a are kept; `places` says which."""
    A, B, P = b.input("A", f16, [16, 32]), b.input("B", f16, [64, 8]), b.input("places", u16, [16, 4])
    C = b.output("C", f32, [16, 8])
    with b.grid(1):
        a, w, places = b.shared(f16, [16, 32]), b.shared(f16, [64, 8]), b.shared(u16, [16, 4])
        acc = b.fragment(f32, [16, 8])
        b.copy(A, a)
        b.copy(B, w)
        b.copy(P, places)
        b.gemm(a, w, acc, sparse=places, overwrite=True)
        b.copy(acc, C)


@tj.program
def experts(b):
    """Rows of x, 16 at a time, each for the expert that `expert` names; weights lie apart. Only the first of the tiles are done."""
    rows, columns = 16, 32
    T, R, E, N, K = b.dims("T R E N K")
    x, W = b.input("x", bf16, [T, K]), b.input("W", bf16, [E, N, K], pointer_table=True)
    expert, scales = b.input("expert", u8, [R]), b.input("scales", f32, [E])
    tiles = b.input("tiles", i32, [1])
    y = b.output("y", bf16, [T, N])
    with b.grid(ceildiv(N, columns), R, persistent=tiles) as (column, row):
        b.tile_cost(row + 1, column)
        a, w = b.shared(bf16, [rows, 32]), b.shared(bf16, [columns, 32])
        acc = b.fragment(f32, [rows, columns])
        e = b.let(tj.cast(tj.index, expert[row]) % E)
        b.clear(acc)
        with b.pipelined(ceildiv(K, 32), stages=2) as k:
            b.copy(x[row * rows, k * 32], a)
            b.copy(W[e, column * columns, k * 32], w)
            b.gemm(a, w, acc, trans_b=True)
        with b.parallel(rows, columns) as (i, j):
            acc[i, j] *= scales[e]
        b.copy(acc, y[row * rows, column * columns])


@tj.program
def hand_gemm(b):
    """A ring of tensor copies, one role that fills it and one that multiplies by issued products."""
    bm, bn, bk, slots = 128, 64, 64, 3
    M, N, K = b.dim("M"), b.dim("N", divisible=8), b.dim("K", divisible=8)
    A, B = b.input("A", bf16, [M, K]), b.input("B", bf16, [N, K])
    C = b.output("C", bf16, [M, N])
    with b.grid(ceildiv(N, bn), ceildiv(M, bm), threads=256) as (x, y):
        a, w = b.shared(bf16, [slots, bm, bk]), b.shared(bf16, [slots, bn, bk])
        out = b.shared(bf16, [bm, bn])
        full, free = b.barriers(slots), b.barriers(slots)
        trips = ceildiv(K, bk)
        with b.roles(issuer=40, worker=232):
            with b.role("issue"), b.serial(trips) as k:
                b.wait_barrier(free[k % slots], k // slots - 1)
                b.arrive_expect(full[k % slots], (bm + bn) * bk * 2)
                b.load_tensor(A[y * bm, k * bk], a[k % slots, 0, 0], full[k % slots])
                b.load_tensor(B[x * bn, k * bk], w[k % slots, 0, 0], full[k % slots])
            with b.role("work"):
                acc = b.fragment(f32, [bm, bn])
                b.clear(acc)
                with b.serial(trips) as k:
                    b.wait_barrier(full[k % slots], k // slots)
                    b.gemm(a[k % slots, 0, 0], w[k % slots, 0, 0], acc, trans_b=True, issue=True)
                    b.commit_products()
                    b.wait_products(1)
                    with b.if_(0 < k):
                        b.arrive(free[(k - 1) % slots])
                b.wait_products()
                b.copy(acc, out)
                b.store_tensor(out, C[y * bm, x * bn])
                b.commit_stores()
                b.wait_stores()
