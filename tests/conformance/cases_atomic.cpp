// Cases 26, 42 and 46: atomic operations on elements and regions, in order with what stands around them; flags between blocks.
#include <algorithm>
#include <cmath>
#include <limits>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

enum { kAdd = 0, kMax = 1, kMin = 2 };

Real combined(int64_t op, Real a, Real b) { return op == kAdd ? a + b : op == kMax ? std::max(a, b) : std::min(a, b); }

void apply(tl::Builder& b, int64_t op, const tl::Region& place, const tl::Expr& value) {
  if (op == kAdd) b.atomic_add(place, value);
  else if (op == kMax) b.atomic_max(place, value);
  else b.atomic_min(place, value);
}

// 46. Points of several blocks meet in few elements; small integers, whose sums are exact in any order.
Scenario contended(const Values& v) {
  const int64_t op = v["op"], blocks = 2, points = 400, cells = 4;
  const tl::DType dtype = v.dtype();
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", dtype, {blocks, points});
    auto y = b.inout("y", dtype, {blocks, cells});
    b.grid({blocks}, [&](tl::Index block) {
      if (v["shared"]) {
        auto t = b.shared(dtype, {cells});
        b.copy(y(block, 0), t);
        b.parallel({points}, [&](tl::Index i) { apply(b, op, t(i % cells), x(block, i)); });
        b.copy(t, y(block, 0));
      } else {
        b.parallel({points}, [&](tl::Index i) { apply(b, op, y(0, i % cells), x(block, i)); });
      }
    });
  });
  const Reals x = whole(blocks * points, -1, 1, 3), start = {1, 2, -3, 0, 3, -1, 2, 4};
  Reals y = start;
  for (int64_t k = 0; k < blocks * points; ++k) {
    Real& cell = y[static_cast<size_t>((v["shared"] ? k / points * cells : 0) + k % points % cells)];
    cell = combined(op, cell, x[static_cast<size_t>(k)]);
  }
  s.launch().input(dtype, x).inout(dtype, start, exactly(y));
  return s;
}

// 46. Outside parallel each happens once a block; the old value is the same for all of it; plain reads see what was done.
Scenario in_sequence(const Values& v) {
  const tl::DType dtype = v.dtype();
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto c = b.inout("c", dtype, {4}), y = b.output("y", dtype, {12}), z = b.output("z", dtype, {128});
    b.grid({1}, [&](tl::Index) {
      auto t = b.shared(dtype, {4});
      b.copy(c, t);
      const auto place = [&] { return v["shared"] ? t(2) : c(2); };
      int k = 0;
      const auto note = [&](const tl::Expr& old) {
        y(k++) = old;
        y(k++) = tl::Expr(place());
      };
      note(b.fetch_max(place(), 7));
      note(b.fetch_min(place(), 2));
      note(b.fetch_add(place(), 10));
      note(b.exchange(place(), 1));
      note(b.cas(place(), 1, 9));
      const tl::Expr last = b.cas(place(), 1, 3);
      note(last);
      b.parallel({128}, [&](tl::Index i) { z(i) = last + tl::cast(dtype, i % 2); });
      b.copy(t, c);
    });
  });
  Reals z;
  for (int i = 0; i < 128; ++i) z.push_back(9 + i % 2);
  const Real left = v["shared"] ? 9 : 5;  // the copy of the tile is the last word
  s.launch().inout(dtype, {3, 4, 5, 6}, exactly({3, 4, left, 6})).output(dtype, exactly({5, 7, 7, 2, 2, 12, 12, 1, 1, 9, 9, 9})).output(dtype, exactly(z));
  return s;
}

// 46. Each point draws a number of its own.
Scenario tickets(const Values& v) {
  const tl::DType dtype = v.dtype();
  const int64_t n = 200;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto c = b.inout("c", dtype, {1}), y = b.output("y", tl::i32, {n}), all = b.output("all", tl::i32, {n});
    b.grid({1}, [&](tl::Index) {
      auto seen = b.fragment(tl::i32, {n});
      const tl::Tile t = v["shared"] ? b.shared(dtype, {1}) : c;
      if (v["shared"]) b.copy(c, t);
      b.parallel({n}, [&](tl::Index i) {
        const tl::Expr old = b.fetch_add(t(0), 1);
        y(tl::cast(tl::index, tl::cast(tl::i32, old))) = 1;
        if (v["fragment"]) seen(i) = tl::select(old < tl::cast(dtype, n), tl::cast(tl::i32, 5), tl::cast(tl::i32, 0));
      });
      if (!v["fragment"]) b.fill(seen, 5);
      b.copy(seen, all);
      if (v["shared"]) b.copy(t, c);
    });
  });
  s.launch().inout(dtype, {0}, exactly({static_cast<Real>(n)})).output(tl::i32, exactly(Reals(n, 1))).output(tl::i32, exactly(Reals(n, 5)));
  return s;
}

// 46. Bits.
Scenario bits(const Values& v) {
  const tl::DType dtype = v.dtype();
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", dtype, {96}), y = b.inout("y", dtype, {3});
    b.grid({3}, [&](tl::Index block) {
      b.parallel({32}, [&](tl::Index i) {
        b.atomic_and(y(0), x(block * 32 + i));
        b.atomic_or(y(1), x(block * 32 + i));
        b.atomic_xor(y(2), x(block * 32 + i));
      });
    });
  });
  const Reals x = whole(96, 1, 1000000, 5);
  int64_t all = -1, any = 64, odd = 7;
  for (Real r : x) {
    const auto n = static_cast<int64_t>(r);
    all &= n, any |= n, odd ^= n;
  }
  s.launch().input(dtype, x).inout(dtype, {-1, 64, 7}, exactly({static_cast<Real>(all), static_cast<Real>(any), static_cast<Real>(odd)}));
  return s;
}

// 46. The number wins over NaN on either side, +0 over -0.
Scenario numbers_win(const Values& v) {
  const tl::DType dtype = v.dtype();
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", dtype, {64}), y = b.inout("y", dtype, {64});
    b.grid({1}, [&](tl::Index) {
      b.parallel({64}, [&](tl::Index i) { apply(b, v["op"], y(i), x(i)); });
    });
  });
  const Reals from = {nan, 3, nan, -Real{0}, 0, -5, 2, -INFINITY}, with = {2, nan, nan, 0, -Real{0}, -7, INFINITY, 1};
  const Reals most = {2, 3, nan, 0, 0, -5, INFINITY, 1}, least = {2, 3, nan, -Real{0}, -Real{0}, -7, 2, -INFINITY};
  Reals a, x, y;
  for (int i = 0; i < 64; ++i) a.push_back(from[i % 8]), x.push_back(with[i % 8]), y.push_back((v["op"] == kMax ? most : least)[i % 8]);
  s.launch().input(dtype, x).inout(dtype, a, exactly_signed(y));
  return s;
}

// 46. Outside the tensor nothing happens, and the old value is 0.
Scenario out_of_range(const Values& v) {
  const tl::DType dtype = v.dtype();
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N");
    auto y = b.inout("y", dtype, {N}), old = b.output("old", dtype, {64}), one = b.output("one", dtype, {2});
    b.grid({1}, [&](tl::Index) {
      b.parallel({64}, [&](tl::Index i) { old(i) = b.fetch_add(y(i - 7), 1); });
      b.parallel({64}, [&](tl::Index i) { b.atomic_add(y(i - 7), 2); });
      one(0) = b.fetch_add(y(N), 5);
      b.atomic_add(y(N + 3), 5);
      one(1) = b.fetch_add(y(N - 1), 5);
    });
  });
  Reals start = counting(50, 1), old(64, 0), y = start;
  for (int i = 0; i < 64; ++i)
    if (i >= 7 && i < 57) old[i] = start[i - 7], y[i - 7] += 3;
  const Real last = y[49];
  y[49] += 5;
  s.launch({50}).inout(dtype, start, exactly(y)).output(dtype, exactly(old)).output(dtype, exactly({0, last}));
  return s;
}

// 46. A region += a region: several accesses at once where rows allow it; edges are dropped.
Scenario regions(const Values& v) {
  const tl::DType dtype = v.dtype();
  const int64_t rows = v["rows"], columns = v["columns"], blocks = 2;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto M = b.dim("M"), N = b.dim("N", tl::DimOptions().multiple(8).multiple(1));
    auto x = b.input("x", tl::f32, {blocks, M, N}), y = b.inout("y", dtype, {M, N});
    b.grid({blocks}, [&](tl::Index block) {
      auto t = v["scope"] ? b.shared(tl::f32, {64, 64}) : b.fragment(tl::f32, {64, 64});
      b.copy(x(block, 0, 0), t);
      b.atomic_add(y(0, 0), t);
    });
  });
  // Once more with rows of the other kind: that start on 16 bytes, or do not.
  for (int64_t wide : {columns, columns == 50 ? int64_t{64} : int64_t{50}, int64_t{56}}) {
    const Reals x = whole(static_cast<size_t>(blocks * rows * wide), -3, 3, 1), start = whole(static_cast<size_t>(rows * wide), -3, 3, 2);
    Reals y = start;
    for (int64_t k = 0; k < blocks * rows * wide; ++k) y[static_cast<size_t>(k % (rows * wide))] += x[static_cast<size_t>(k)];
    s.launch({rows, wide}).input(tl::f32, x).inout(dtype, start, exactly(y));
  }
  return s;
}

// 26. Rows of 448 add into 14 elements each.
Scenario scatter_accumulate(const Values& v) {
  const tl::DType dtype = v.dtype();
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto B = b.input("B", dtype, {16, 448}), A = b.inout("A", dtype, {16, 14});
    b.grid({1}, [&](tl::Index) {
      b.parallel({16, 448}, [&](tl::Index i, tl::Index j) { b.atomic_add(A(i, j / 32), B(i, j)); });
    });
  });
  const Reals x = whole(16 * 448, -2, 2, 3), start = whole(16 * 14, -9, 9, 4);
  Reals y = start;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 448; ++j) y[i * 14 + j / 32] += x[i * 448 + j];
  s.launch().input(dtype, x).inout(dtype, start, exactly(y));
  return s;
}

// 42. A body that reads what an earlier statement updated atomically; with `source`, the update is of what the next trip copies.
Scenario read_after_update(const Values& v) {
  Scenario s;
  s.same_bits = true;
  for (uint32_t stages = 0; stages <= 4; ++stages)
    s.program([&](tl::Builder& b) {
      auto T = b.dim("T");
      auto x = b.inout("x", tl::f32, {T, 128}), sums = b.inout("sums", tl::f32, {128}), y = b.output("y", tl::f32, {T, 128});
      b.grid({1}, [&](tl::Index) {
        auto a = b.shared(tl::f32, {128});
        const tl::Tile total = v["shared"] ? b.shared(tl::f32, {128}) : sums;
        if (v["shared"]) b.copy(sums, total);
        const auto body = [&](tl::Index t) {
          b.copy(x(t, 0), a);
          if (v["source"]) b.parallel({128}, [&](tl::Index i) { b.atomic_add(x(t + 1, 127 - i), a(i)); });
          b.parallel({256}, [&](tl::Index i) { b.atomic_add(total(i % 128), a(i % 128)); });
          b.parallel({128}, [&](tl::Index i) { y(t, i) = total(127 - i); });
        };
        if (stages == 0) b.serial(T, body);
        else b.pipelined(T, tl::stages(stages), body);
        if (v["shared"]) b.copy(total, sums);
      });
    });
  for (int64_t trips : {0, 1, 7}) {
    const Reals first = whole(trips * 128, -3, 3, 5);
    Reals x = first, sums(128, 2), y(trips * 128);
    for (int64_t t = 0; t < trips; ++t) {
      for (int i = 0; i < 128 && v["source"] && t + 1 < trips; ++i) x[(t + 1) * 128 + 127 - i] += x[t * 128 + i];
      for (int i = 0; i < 128; ++i) sums[i] += 2 * x[t * 128 + i];
      for (int i = 0; i < 128; ++i) y[t * 128 + i] = sums[127 - i];
    }
    s.launch({trips}).inout(tl::f32, first, exactly(x)).inout(tl::f32, Reals(128, 2), exactly(sums)).output(tl::f32, exactly(y));
  }
  return s;
}

// 46. Statements of one block have an order, whatever their kinds.
Scenario kinds_in_order(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto y = b.inout("y", tl::i32, {64}), z = b.output("z", tl::i32, {64});
    b.grid({1}, [&](tl::Index) {
      auto t = b.shared(tl::i32, {64});
      b.copy(y, t);
      const auto at = [&](const tl::Expr& i) { return v["shared"] ? t(i) : y(i); };
      b.parallel({256}, [&](tl::Index i) { b.atomic_add(at(i % 64), 1); });
      b.parallel({256}, [&](tl::Index i) { b.atomic_max(at(63 - i % 64), 6); });
      b.parallel({64}, [&](tl::Index i) { at(i) = at(i) + 1; });
      b.parallel({256}, [&](tl::Index i) { b.atomic_xor(at((i * 7) % 64), 1); });
      b.parallel({64}, [&](tl::Index i) { z(63 - i) = at(i); });
      b.copy(t, y);
    });
  });
  const Reals start = whole(64, -9, 9, 2);
  Reals y, z(64);
  for (Real r : start) y.push_back(std::max<Real>(r + 4, 6) + 1);
  for (int i = 0; i < 64; ++i) z[63 - i] = y[i];
  s.launch().inout(tl::i32, start, exactly(v["shared"] ? y : start)).output(tl::i32, exactly(z));
  return s;
}

// Blocks hand on a sum in order: each waits for the flag of the one before, its number from 1 on.
Scenario baton(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N");
    auto x = b.input("x", tl::i32, {N, 64}), flags = b.inout("flags", tl::i32, {N}), sums = b.inout("sums", tl::i32, {N, 64});
    b.grid({N}, [&](tl::Index block) {
      auto t = b.shared(tl::i32, {64});
      b.copy(x(block, 0), t);
      b.if_(block > 0, [&] {
        b.while_([&] { return b.load_acquire(flags(block - 1)) != tl::cast(tl::i32, block); }, [&] {});
        b.parallel({64}, [&](tl::Index i) { t(i) += sums(block - 1, i); });
      });
      b.copy(t, sums(block, 0));
      const tl::Expr number = tl::cast(tl::i32, block + 1);
      if (v["add"]) b.atomic_add(flags(block), number, tl::release);
      else b.store_release(flags(block), number);
    });
  });
  const int64_t n = 9;
  const Reals x = whole(n * 64, -9, 9, 3);
  Reals sums = x;
  for (int64_t k = 64; k < n * 64; ++k) sums[static_cast<size_t>(k)] += sums[static_cast<size_t>(k - 64)];
  s.launch({n}).input(tl::i32, x).inout(tl::i32, Reals(n, 0), exactly(counting(n, 1))).inout(tl::i32, Reals(n * 64, 0), exactly(sums));
  return s;
}

// What atomics do not take is refused with the way out.
Scenario refused_atomics(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.inout("x", v["of"] == 0 ? tl::i8 : tl::f32, {64});
    b.grid({1}, [&](tl::Index) {
      auto f = b.fragment(tl::f32, {64});
      b.clear(f);
      if (v["of"] == 0) b.atomic_add(x(0), 1);
      if (v["of"] == 1) b.parallel({64}, [&](tl::Index i) { b.atomic_add(f(i), 1); });
      if (v["of"] == 2) b.atomic_or(x(0), 1);
    });
  });
  const std::vector<std::vector<std::string>> words = {{"x", "i8", "32"}, {"load and store"}, {"x", "f32", "integers"}};
  s.refused = words[static_cast<size_t>(v["of"])];
  return s;
}

}  // namespace

void add_atomic_cases(std::vector<Case>& to) {
  const Axis every = dtypes({tl::f16, tl::bf16, tl::f32, tl::i32, tl::i64});
  to.push_back({"46", "contended_elements", {every, {"op", {kAdd, kMax, kMin}}, {"shared", {0, 1}}}, contended});
  to.push_back({"46", "old_values_in_sequence", {every, {"shared", {0, 1}}}, in_sequence});
  to.push_back({"46", "tickets", {every, {"shared", {0, 1}}, {"fragment", {0, 1}}}, tickets});
  to.push_back({"46", "bits", {dtypes({tl::i32, tl::i64})}, bits});
  to.push_back({"46", "numbers_win_over_nan", {dtypes({tl::f16, tl::bf16, tl::f32}), {"op", {kMax, kMin}}}, numbers_win});
  to.push_back({"46", "outside_the_tensor", {dtypes({tl::f32, tl::i32, tl::bf16})}, out_of_range});
  to.push_back({"46", "regions", {dtypes({tl::f32, tl::f16, tl::bf16}), {"rows", {64, 61}}, {"columns", {64, 56, 50}}, {"scope", {0, 1}}}, regions});
  to.push_back({"46", "kinds_in_order", {{"shared", {0, 1}}}, kinds_in_order});
  to.push_back({"46", "a_baton_between_blocks", {{"add", {0, 1}}}, baton});
  to.push_back({"46", "refused", {{"of", {0, 1, 2}}}, refused_atomics});
  to.push_back({"26", "scatter_accumulate", {every}, scatter_accumulate});
  to.push_back({"42", "reads_what_was_updated", {{"shared", {0, 1}}, {"source", {0, 1}}}, read_after_update});
}

}  // namespace tilert::conformance
