//! Programs of single elements: atomics, branches, casts, functions, diagnostics, threads, packed types.

use tilert::prelude::*;
use tilert::{Atomic, Input, Loop, Order, OrderScope, Parameter, Passing, Result};

/// Counts by atomics, in a shared tile first; when all blocks have met, the first one makes shares of them.
pub fn histogram() -> Result<Program> {
    tilert::build("histogram", |b| {
        let n = b.dim("N");
        let x = b.input("x", U8, n);
        let (counts, highest) = (b.inout("counts", I32, 16), b.inout("highest", I32, 1));
        let shares = b.output("shares", F64, 16);
        b.grid(4, |block| {
            let mine = b.shared(I32, 16);
            b.clear(mine);
            b.parallel(256, |i| {
                b.if_((block * 256 + i).lt(n), || {
                    let v = x.at(block * 256 + i).load();
                    b.atomic_add(mine.at(v.cast(Index) % 16), 1);
                    b.atomic(Atomic::Max, highest.at(0), v.cast(I32), Order::RELAXED);
                });
            });
            b.atomic_tile(Atomic::Add, counts.at(0), mine, Order::RELAXED);
            b.grid_sync();
            b.if_(block.eq(0), || {
                b.parallel(16, |i| shares.at(i).set(counts.at(i).cast(F64) / n.cast(F64)));
            });
        });
    })
}

/// Loops that are left and gone on with, branches of blocks and of points, and blocks that wait for the one before.
pub fn branches() -> Result<Program> {
    tilert::build("branches", |b| {
        let blocks = b.dim("B");
        let (x, y) = (b.input("x", F32, (blocks, 64)), b.output("y", F32, (blocks, 64)));
        let (flags, last) = (b.inout("flags", I32, blocks), b.inout("last", I32, 2));
        let seen = b.output("seen", I32, blocks);
        b.grid_with(blocks, Hints::new().no_contract(), |block| {
            let t = b.fragment(F32, 64);
            b.copy(x.at((block, 0)), t);
            b.if_(b.literal(0).lt(block), || {
                b.while_(|| b.atomic_load(flags.at(block - 1), Order::ACQUIRE).eq(0), || {});
            });
            let count = b.var(I32);
            count.set(0);
            b.each(Loop::Serial, 2, 12, 2, |k| {
                b.if_(k.eq(4), || b.continue_());
                b.if_(k.eq(10), || b.break_());
                count.set(count + 1);
            });
            b.parallel(64, |i| {
                let pair = b.local(F32, 2);
                let v = t.at(i).load();
                pair.at(0).set(v * 3);
                pair.at(1).set(-v);
                b.if_else(v.lt(0), || t.at(i).set(pair.at(1)), || t.at(i).set(pair.at(0) + 1));
                let (now, counted) = (t.at(i).load(), count.get());
                t.at(i).set((i % 2).eq(0).select(now, now + counted.cast(F32)));
            });
            b.copy(t, y.at((block, 0)));
            seen.at(block).set(b.exchange(last.at(0), (block + 1).cast(I32), Order::RELAXED));
            b.cas(last.at(1), block.cast(I32), (block + 1).cast(I32), Order::RELAXED);
            b.atomic_store(flags.at(block), count, Order::RELEASE);
            b.if_(block.eq(2), || b.return_());
            b.unroll(2, |k| y.at((block, k)).set((block + k).cast(F32)));
        });
    })
}

pub fn casts() -> Result<Program> {
    tilert::build("casts", |b| {
        let n = b.dim("N");
        let x = b.input("x", F32, n);
        let (h, q, e) = (b.output("h", F16, n), b.output("q", Bf16, n), b.output("e", E4m3, n));
        let (f, i8s, bits) = (b.output("f", E5m2, n), b.output("n", I8, n), b.output("bits", U32, n));
        let (back, r) = (b.output("back", F32, n), b.output("r", Bf16, n));
        let seed = b.scalar("seed", I64);
        b.grid(n.ceildiv(64), |block| {
            b.parallel(64, |i| {
                let at = b.bind(block * 64 + i);
                let v = b.bind(x.at(at) * 300);
                h.at(at).set((v / 7).cast(F16));
                q.at(at).set((v / 7).cast(Bf16));
                e.at(at).set((v * 2).cast(E4m3));
                f.at(at).set((v * 300).cast_nonsat(E5m2));
                i8s.at(at).set(v.cast(I8));
                bits.at(at).set(v.reinterpret(U32));
                back.at(at).set((v / 7).cast(E4m3).cast(F32));
                r.at(at).set((v / 7).cast_stochastic(Bf16, b.random_bits(seed, at, 0)[0]));
            });
        });
    })
}

const LEAKY_CUDA: &str = "__device__ float leaky(float x, float slope, int* negatives) {
  if (x < 0.f) *negatives += 1;
  return x < 0.f ? x * slope : x;
}";
const LEAKY_LLVM: &str = "define float @leaky(float %x, float %slope, ptr %negatives) {
  %negative = fcmp olt float %x, 0.0
  %one = zext i1 %negative to i32
  %old = load i32, ptr %negatives
  %new = add i32 %old, %one
  store i32 %new, ptr %negatives
  %less = fmul float %x, %slope
  %r = select i1 %negative, float %less, float %x
  ret float %r
}";

/// A device function that is called twice, and text in the middle of a kernel.
pub fn leaky() -> Result<Program> {
    tilert::build("leaky", |b| {
        let r = b.dim("R");
        let (x, y, z) = (b.input("x", F32, (r, 16)), b.output("y", F32, (r, 16)), b.output("z", F32, r));
        let negatives = b.output("negatives", I32, r);
        let parameters =
            [Parameter(F32, Passing::Value), Parameter(F32, Passing::Value), Parameter(I32, Passing::Update)];
        let f = b.device_function("leaky", &parameters, Some(F32), &[("cuda", LEAKY_CUDA), ("llvm", LEAKY_LLVM)]);
        b.grid(r, |row| {
            let count = b.var(I32);
            count.set(0);
            b.serial(16, |j| {
                let operands =
                    [Input::Value(x.at((row, j)).load()), Input::Value(b.literal(0.25)), Input::Place(count.region())];
                if let Some(v) = f.call(&operands) {
                    y.at((row, j)).set(v);
                }
            });
            let operands = [Input::Value(-x.at((row, 0))), Input::Value(b.literal(0.5)), Input::Place(count.region())];
            if let Some(v) = f.call(&operands) {
                b.inline_source("llvm", "%twice = fmul float $1, 2.0\nstore float %twice, ptr $0", &[z.at(row)], v);
            }
            negatives.at(row).set(count);
        });
    })
}

pub fn checked() -> Result<Program> {
    tilert::build("checked", |b| {
        let (x, y) = (b.input("x", F32, 64), b.output("y", F32, 64));
        b.grid(1, |block| {
            let t = b.fragment(F32, 64);
            b.label("the whole row").copy(x, t);
            b.print("block {} starts with {}", (block, t.at(0)));
            b.parallel(64, |i| {
                let v = t.at(i).load();
                b.assert(v.ge(0), "x[{}] is {}", (i, v));
                t.at(i).set(v.max(0).sqrt());
            });
            b.print_tile("t", t.at(2).size(4));
            b.copy(t, y);
        });
    })
}

/// Sums of rows by the threads of a block: copies ahead, shuffles, a vote, barriers.
pub fn warp_sums() -> Result<Program> {
    tilert::build("warp_sums", |b| {
        let r = b.dim("R");
        let (x, y) = (b.input("x", F32, (r, 200)), b.output("y", F32, r));
        let positive = b.output("positive", U32, r);
        b.grid_with(r, Hints::new().threads_fixed(64), |r| {
            let (row, parts) = (b.shared(F32, 256), b.shared(F32, 2));
            b.threads(|t| {
                b.copy_async(x.at((r, t * 4)), row.at(t * 4), 4);
                b.commit_copies();
                b.wait_copies(0);
                b.sync_threads();
                let sum = b.var(F32);
                sum.set(0);
                b.serial(4, |i| sum.set(sum + row.at(i * 64 + t)));
                for step in [16, 8, 4, 2, 1] {
                    let before = sum.get();
                    sum.set(before + b.shuffle_down(before, step, 32));
                }
                b.if_((t % 32).eq(0), || parts.at(t / 32).set(sum));
                b.fence(OrderScope::Block);
                b.named_barrier(1, 64);
                let lanes = b.ballot(row.at(t).gt(0));
                b.if_(t.eq(0), || {
                    y.at(r).set(parts.at(0) + parts.at(1));
                    positive.at(r).set(lanes);
                });
            });
        });
    })
}

/// 4-bit weights, unpacked and scaled; the packed bytes; magnitudes through a view of the bits, turned.
pub fn unpacked() -> Result<Program> {
    let (bm, k) = (16, 48);
    tilert::build("unpacked", |b| {
        let m = b.dim("M");
        let (q, scales) = (b.input("q", I4, (m, k)), b.input("scales", F16, m));
        let (w, raw) = (b.output("w", F16, (m, 3, k / 3)), b.output("raw", U8, (m, k / 2)));
        let turned = b.output("turned", F16, (k, m));
        let (rows, magnitudes) = (b.reshape(w, (m, k)), b.transposed(turned, &[]));
        b.grid(m.ceildiv(bm), |block| {
            let t = b.shared(I4, (bm, k));
            let bytes = b.view(t, U8);
            let u = b.fragment(F16, (bm, k));
            let words = b.view(u, U16);
            b.copy(q.at((block * bm, 0)), t);
            b.copy(bytes, raw.at((block * bm, 0)));
            b.copy(t, u);
            b.parallel((bm, k), |(i, j)| u.at((i, j)).set(u.at((i, j)) * scales.at(block * bm + i)));
            b.copy(u, rows.at((block * bm, 0)));
            b.parallel((bm, k), |(i, j)| words.at((i, j)).update(|bits| bits & 0x7fff));
            b.copy(u, magnitudes.at((block * bm, 0)));
        });
    })
}
