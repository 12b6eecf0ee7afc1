"""Programs of single elements: atomics, branches, casts, functions, diagnostics, threads, packed types."""

import tilert_jit as tj
from tilert_jit import bf16, ceildiv, e4m3, e5m2, f16, f32, f64, i4, i8, i32, u8, u16, u32


@tj.program
def histogram(b):
    """Counts by atomics, in a shared tile first; when all blocks have met, the first one makes shares of them."""
    N = b.dim("N")
    x, counts, highest = b.input("x", u8, [N]), b.inout("counts", i32, [16]), b.inout("highest", i32, [1])
    shares = b.output("shares", f64, [16])
    with b.grid(4) as block:
        mine = b.shared(i32, [16])
        b.clear(mine)
        with b.parallel(256) as i:
            with b.if_(block * 256 + i < N):
                v = x[block * 256 + i].value
                b.atomic_add(mine[tj.cast(tj.index, v) % 16], 1)
                b.atomic_max(highest[0], tj.cast(i32, v))
        b.atomic_add(counts[0], mine)
        b.grid_sync()
        with b.if_(block == 0), b.parallel(16) as i:
            shares[i] = tj.cast(f64, counts[i]) / tj.cast(f64, N)


@tj.program
def branches(b):
    """Loops that are left and gone on with, branches of blocks and of points, and blocks that wait for the one before."""
    B = b.dim("B")
    x, y = b.input("x", f32, [B, 64]), b.output("y", f32, [B, 64])
    flags, last, seen = b.inout("flags", i32, [B]), b.inout("last", i32, [2]), b.output("seen", i32, [B])
    with b.grid(B, no_contract=True) as block:
        t = b.fragment(f32, [64])
        b.copy(x[block, 0], t)
        with b.if_(0 < block), b.while_(lambda: b.load_acquire(flags[block - 1]) == 0):
            pass
        count = b.var(i32, 0)
        with b.serial(2, 12, 2) as k:
            with b.if_(k == 4):
                b.continue_()
            with b.if_(k == 10):
                b.break_()
            count.value += 1
        with b.parallel(64) as i:
            pair = b.local(f32, [2])
            v = t[i].value
            pair[0] = v * 3
            pair[1] = -v
            with b.if_(v < 0):
                t[i] = pair[1]
            with b.else_():
                t[i] = pair[0] + 1
            now, counted = t[i].value, count.value
            t[i] = tj.select(i % 2 == 0, now, now + tj.cast(f32, counted))
        b.copy(t, y[block, 0])
        seen[block] = b.exchange(last[0], tj.cast(i32, block + 1))
        b.cas(last[1], tj.cast(i32, block), tj.cast(i32, block + 1))
        b.store_release(flags[block], count)
        with b.if_(block == 2):
            b.return_()
        with b.unroll(2) as k:
            y[block, k] = tj.cast(f32, block + k)


@tj.program
def casts(b):
    N = b.dim("N")
    x, h, q, e = b.input("x", f32, [N]), b.output("h", f16, [N]), b.output("q", bf16, [N]), b.output("e", e4m3, [N])
    f, n, bits = b.output("f", e5m2, [N]), b.output("n", i8, [N]), b.output("bits", u32, [N])
    back, r = b.output("back", f32, [N]), b.output("r", bf16, [N])
    seed = b.scalar("seed", tj.i64)
    with b.grid(ceildiv(N, 64)) as block, b.parallel(64) as i:
        at = b.let(block * 64 + i)
        v = b.let(x[at] * 300)
        h[at] = tj.cast(f16, v / 7)
        q[at] = tj.cast(bf16, v / 7)
        e[at] = tj.cast(e4m3, v * 2)
        f[at] = tj.cast(e5m2, v * 300, nonsat=True)
        n[at] = tj.cast(i8, v)
        bits[at] = tj.reinterpret(u32, v)
        back[at] = tj.cast(f32, tj.cast(e4m3, v / 7))
        r[at] = tj.cast_stochastic(bf16, v / 7, b.random_bits(seed, at)[0])


LEAKY_CUDA = """__device__ float leaky(float x, float slope, int* negatives) {
  if (x < 0.f) *negatives += 1;
  return x < 0.f ? x * slope : x;
}"""
LEAKY_LLVM = """define float @leaky(float %x, float %slope, ptr %negatives) {
  %negative = fcmp olt float %x, 0.0
  %one = zext i1 %negative to i32
  %old = load i32, ptr %negatives
  %new = add i32 %old, %one
  store i32 %new, ptr %negatives
  %less = fmul float %x, %slope
  %r = select i1 %negative, float %less, float %x
  ret float %r
}"""


@tj.program
def leaky(b):
    """A device function that is called twice, and text in the middle of a kernel."""
    R = b.dim("R")
    x, y, z = b.input("x", f32, [R, 16]), b.output("y", f32, [R, 16]), b.output("z", f32, [R])
    negatives = b.output("negatives", i32, [R])
    f = b.device_function("leaky", [f32, f32, tj.pointer_update(i32)], result=f32, cuda=LEAKY_CUDA, llvm=LEAKY_LLVM)
    with b.grid(R) as row:
        count = b.var(i32, 0)
        with b.serial(16) as j:
            y[row, j] = f(x[row, j], 0.25, count)
        v = f(-x[row, 0], 0.5, count)
        b.inline_source("llvm", "%twice = fmul float $1, 2.0\nstore float %twice, ptr $0", [z[row]], [v])
        negatives[row] = count


@tj.program
def checked(b):
    x, y = b.input("x", f32, [64]), b.output("y", f32, [64])
    with b.grid(1) as block:
        t = b.fragment(f32, [64])
        b.label("the whole row").copy(x, t)
        b.print("block ", block, " starts with ", t[0])
        with b.parallel(64) as i:
            v = t[i].value
            b.assert_(v >= 0, "x[", i, "] is ", v)
            t[i] = tj.sqrt(tj.maximum(v, 0))
        b.print("t", t[2:6])
        b.copy(t, y)


@tj.program
def warp_sums(b):
    """Sums of rows by the threads of a block: copies ahead, shuffles, a vote, barriers."""
    R = b.dim("R")
    x, y, positive = b.input("x", f32, [R, 200]), b.output("y", f32, [R]), b.output("positive", u32, [R])
    with b.grid(R, threads_fixed=64) as r:
        row, parts = b.shared(f32, [256]), b.shared(f32, [2])
        with b.threads() as t:
            b.copy_async(x[r, t * 4], row[t * 4], 4)
            b.commit_copies()
            b.wait_copies()
            b.sync_threads()
            total = b.var(f32, 0)
            with b.serial(4) as i:
                total.value += row[i * 64 + t]
            for step in (16, 8, 4, 2, 1):
                before = total.value
                total.value = before + b.shuffle_down(before, step)
            with b.if_(t % 32 == 0):
                parts[t // 32] = total
            b.fence("block")
            b.named_barrier(1, 64)
            lanes = b.ballot(row[t] > 0)
            with b.if_(t == 0):
                y[r] = parts[0] + parts[1]
                positive[r] = lanes


@tj.program
def unpacked(b):
    """4-bit weights, unpacked and scaled; the packed bytes; magnitudes through a view of the bits, turned."""
    bm, k = 16, 48
    M = b.dim("M")
    q, scales = b.input("q", i4, [M, k]), b.input("scales", f16, [M])
    w, raw, turned = b.output("w", f16, [M, 3, k // 3]), b.output("raw", u8, [M, k // 2]), b.output("turned", f16, [k, M])
    rows = b.reshape(w, [M, k])
    magnitudes = b.transposed(turned)
    with b.grid(ceildiv(M, bm)) as block:
        t = b.shared(i4, [bm, k])
        packed = b.view(t, u8)
        u = b.fragment(f16, [bm, k])
        words = b.view(u, u16)
        b.copy(q[block * bm, 0], t)
        b.copy(packed, raw[block * bm, 0])
        b.copy(t, u)
        with b.parallel(bm, k) as (i, j):
            u[i, j] *= scales[block * bm + i]
        b.copy(u, rows[block * bm, 0])
        with b.parallel(bm, k) as (i, j):
            words[i, j] &= 0x7fff
        b.copy(u, magnitudes[block * bm, 0])
