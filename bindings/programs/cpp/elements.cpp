// Programs of single elements: atomics, branches, casts, functions, diagnostics, threads, packed types.
#include "programs.h"

namespace programs {

// Counts by atomics, in a shared tile first; when all blocks have met, the first one makes shares of them.
tl::Program histogram() {
  tl::Builder b("histogram");
  auto N = b.dim("N");
  auto x = b.input("x", tl::u8, {N});
  auto counts = b.inout("counts", tl::i32, {16}), highest = b.inout("highest", tl::i32, {1});
  auto shares = b.output("shares", tl::f64, {16});
  b.grid({4}, [&](tl::Index block) {
    auto mine = b.shared(tl::i32, {16});
    b.clear(mine);
    b.parallel({256}, [&](tl::Index i) {
      b.if_(block * 256 + i < N, [&] {
        const tl::Expr v = x(block * 256 + i);
        b.atomic_add(mine(tl::cast(tl::index, v) % 16), 1);
        b.atomic_max(highest(0), tl::cast(tl::i32, v));
      });
    });
    b.atomic_add(counts(0), mine);
    b.grid_sync();
    b.if_(block == 0, [&] {
      b.parallel({16}, [&](tl::Index i) { shares(i) = tl::cast(tl::f64, counts(i)) / tl::cast(tl::f64, N); });
    });
  });
  return b.finish();
}

// Loops that are left and gone on with, branches of blocks and of points, and blocks that wait for the one before.
tl::Program branches() {
  tl::Builder b("branches");
  auto B = b.dim("B");
  auto x = b.input("x", tl::f32, {B, 64}), y = b.output("y", tl::f32, {B, 64});
  auto flags = b.inout("flags", tl::i32, {B}), last = b.inout("last", tl::i32, {2}), seen = b.output("seen", tl::i32, {B});
  b.grid({B}, tl::Hints().no_contract(), [&](tl::Index block) {
    auto t = b.fragment(tl::f32, {64});
    b.copy(x(block, 0), t);
    b.if_(0 < block, [&] {
      b.while_([&] { return b.load_acquire(flags(block - 1)) == 0; }, [&] {});
    });
    auto count = b.var(tl::i32);
    count = 0;
    b.serial(2, 12, 2, [&](tl::Index k) {
      b.if_(k == 4, [&] { b.continue_(); });
      b.if_(k == 10, [&] { b.break_(); });
      count = count + 1;
    });
    b.parallel({64}, [&](tl::Index i) {
      auto pair = b.local(tl::f32, {2});
      const tl::Expr v = t(i);
      pair(0) = v * 3;
      pair(1) = -v;
      b.if_(
          v < 0, [&] { t(i) = pair(1); }, [&] { t(i) = pair(0) + 1; });
      const tl::Expr now = t(i), counted = count;
      t(i) = tl::select(i % 2 == 0, now, now + tl::cast(tl::f32, counted));
    });
    b.copy(t, y(block, 0));
    seen(block) = b.exchange(last(0), tl::cast(tl::i32, block + 1));
    b.cas(last(1), tl::cast(tl::i32, block), tl::cast(tl::i32, block + 1));
    b.store_release(flags(block), count);
    b.if_(block == 2, [&] { b.return_(); });
    b.unroll(2, [&](tl::Index k) { y(block, k) = tl::cast(tl::f32, block + k); });
  });
  return b.finish();
}

tl::Program casts() {
  tl::Builder b("casts");
  auto N = b.dim("N");
  auto x = b.input("x", tl::f32, {N});
  auto h = b.output("h", tl::f16, {N}), q = b.output("q", tl::bf16, {N}), e = b.output("e", tl::e4m3, {N}), f = b.output("f", tl::e5m2, {N});
  auto n = b.output("n", tl::i8, {N}), bits = b.output("bits", tl::u32, {N}), back = b.output("back", tl::f32, {N});
  auto r = b.output("r", tl::bf16, {N});
  auto seed = b.scalar("seed", tl::i64);
  b.grid({tl::ceildiv(N, 64)}, [&](tl::Index block) {
    b.parallel({64}, [&](tl::Index i) {
      const auto at = b.let(block * 64 + i);
      const auto v = b.let(x(at) * 300);
      h(at) = tl::cast(tl::f16, v / 7);
      q(at) = tl::cast(tl::bf16, v / 7);
      e(at) = tl::cast(tl::e4m3, v * 2);
      f(at) = tl::cast_nonsat(tl::e5m2, v * 300);
      n(at) = tl::cast(tl::i8, v);
      bits(at) = tl::reinterpret(tl::u32, v);
      back(at) = tl::cast(tl::f32, tl::cast(tl::e4m3, v / 7));
      r(at) = tl::cast_stochastic(tl::bf16, v / 7, b.random_bits(seed, at)[0]);
    });
  });
  return b.finish();
}

// A device function that is called twice, and text in the middle of a kernel.
tl::Program leaky() {
  tl::Builder b("leaky");
  auto R = b.dim("R");
  auto x = b.input("x", tl::f32, {R, 16}), y = b.output("y", tl::f32, {R, 16}), z = b.output("z", tl::f32, {R});
  auto negatives = b.output("negatives", tl::i32, {R});
  const auto f = b.device_function("leaky", {tl::f32, tl::f32, tl::pointer_update(tl::i32)}, tl::f32,
                                   {{"cuda",
                                     "__device__ float leaky(float x, float slope, int* negatives) {\n"
                                     "  if (x < 0.f) *negatives += 1;\n"
                                     "  return x < 0.f ? x * slope : x;\n"
                                     "}"},
                                    {"llvm",
                                     "define float @leaky(float %x, float %slope, ptr %negatives) {\n"
                                     "  %negative = fcmp olt float %x, 0.0\n"
                                     "  %one = zext i1 %negative to i32\n"
                                     "  %old = load i32, ptr %negatives\n"
                                     "  %new = add i32 %old, %one\n"
                                     "  store i32 %new, ptr %negatives\n"
                                     "  %less = fmul float %x, %slope\n"
                                     "  %r = select i1 %negative, float %less, float %x\n"
                                     "  ret float %r\n"
                                     "}"}});
  b.grid({R}, [&](tl::Index row) {
    auto count = b.var(tl::i32);
    count = 0;
    b.serial(16, [&](tl::Index j) { y(row, j) = b.call_device(f, x(row, j), 0.25, count); });
    const auto v = b.call_device(f, -x(row, 0), 0.5, count);
    b.inline_source("llvm", "%twice = fmul float $1, 2.0\nstore float %twice, ptr $0", {z(row)}, {v});
    negatives(row) = count;
  });
  return b.finish();
}

tl::Program checked() {
  tl::Builder b("checked");
  auto x = b.input("x", tl::f32, {64}), y = b.output("y", tl::f32, {64});
  b.grid({1}, [&](tl::Index block) {
    auto t = b.fragment(tl::f32, {64});
    b.label("the whole row").copy(x, t);
    b.print("block ", block, " starts with ", t(0));
    b.parallel({64}, [&](tl::Index i) {
      const tl::Expr v = t(i);
      b.assert_(v >= 0, "x[", i, "] is ", v);
      t(i) = tl::sqrt(tl::max(v, 0));
    });
    b.print("t", t(2).size({4}));
    b.copy(t, y);
  });
  return b.finish();
}

// Sums of rows by the threads of a block: copies ahead, shuffles, a vote, barriers.
tl::Program warp_sums() {
  tl::Builder b("warp_sums");
  auto R = b.dim("R");
  auto x = b.input("x", tl::f32, {R, 200}), y = b.output("y", tl::f32, {R});
  auto positive = b.output("positive", tl::u32, {R});
  b.grid({R}, tl::threads_fixed(64), [&](tl::Index r) {
    auto row = b.shared(tl::f32, {256}), parts = b.shared(tl::f32, {2});
    b.threads([&](tl::Index t) {
      b.copy_async(x(r, t * 4), row(t * 4), 4);
      b.commit_copies();
      b.wait_copies();
      b.sync_threads();
      auto sum = b.var(tl::f32);
      sum = 0;
      b.serial(4, [&](tl::Index i) {
        const tl::Expr before = sum, v = row(i * 64 + t);
        sum = before + v;
      });
      for (int step = 16; step > 0; step /= 2) {
        const tl::Expr before = sum;
        sum = before + b.shuffle_down(before, step);
      }
      b.if_(t % 32 == 0, [&] { parts(t / 32) = sum; });
      b.fence(TILERT_ORDER_BLOCK);
      b.named_barrier(1, 64);
      const auto lanes = b.ballot(row(t) > 0);
      b.if_(t == 0, [&] {
        const tl::Expr first = parts(0), second = parts(1);
        y(r) = first + second;
        positive(r) = lanes;
      });
    });
  });
  return b.finish();
}

// 4-bit weights, unpacked and scaled; the packed bytes; magnitudes through a view of the bits, turned.
tl::Program unpacked() {
  const int bm = 16, k = 48;
  tl::Builder b("unpacked");
  auto M = b.dim("M");
  auto q = b.input("q", tl::i4, {M, k}), scales = b.input("scales", tl::f16, {M});
  auto w = b.output("w", tl::f16, {M, 3, k / 3}), raw = b.output("raw", tl::u8, {M, k / 2}), turned = b.output("turned", tl::f16, {k, M});
  auto rows = b.reshape(w, {M, k});
  auto magnitudes = b.transposed(turned);
  b.grid({tl::ceildiv(M, bm)}, [&](tl::Index block) {
    auto t = b.shared(tl::i4, {bm, k});
    auto bytes = b.view(t, tl::u8);
    auto u = b.fragment(tl::f16, {bm, k});
    auto words = b.view(u, tl::u16);
    b.copy(q(block * bm, 0), t);
    b.copy(bytes, raw(block * bm, 0));
    b.copy(t, u);
    b.parallel({bm, k}, [&](tl::Index i, tl::Index j) {
      const tl::Expr v = u(i, j), by = scales(block * bm + i);
      u(i, j) = v * by;
    });
    b.copy(u, rows(block * bm, 0));
    b.parallel({bm, k}, [&](tl::Index i, tl::Index j) { words(i, j) = words(i, j) & 0x7fff; });
    b.copy(u, magnitudes(block * bm, 0));
  });
  return b.finish();
}

}  // namespace programs
