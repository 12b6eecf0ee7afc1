// Case 91: loops of products of which some trips are passed over, or do a part of what others do: masks, lists and limits in memory,
// conditions of indices, copies before and in branches; or that stand in a branch themselves. On sm_90a with roles, whose producer and consumers must agree on every trip.
#include <algorithm>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

tl::Hints agreed(const Values& v) {
  tl::Hints hints = tl::Hints().roles_on().must().for_target("sm_90a");
  if (v["persistent"]) hints.persistent();
  return hints;
}

enum class Passes { mask, mask_behind_copies, index, limit, jump, list, unconditional_list, otherwise };

// The block of K that a trip of a row of tiles multiplies; none: it is passed over.
struct Trips {
  Passes form;
  int64_t count;
  Reals mask, list;
  Real limit;

  std::vector<int64_t> blocks(int64_t row) const {
    std::vector<int64_t> out;
    for (int64_t k = 0; k < count; ++k) {
      const Real marked = mask[static_cast<size_t>(row * count + k)], named = list[static_cast<size_t>(row * count + k)];
      const bool lists = form == Passes::list || form == Passes::unconditional_list;
      bool made = marked > 0;
      if (form == Passes::index) made = (k + row) % 3 != 1;
      if (form == Passes::limit) made = made && k < limit;
      if (form == Passes::list) made = named >= 0;
      if (form == Passes::unconditional_list) made = true;
      if (made) out.push_back(lists ? static_cast<int64_t>(named) : k);
    }
    return out;
  }
};

// 91. c = the sum of a's and b's blocks of K, of those trips that are made.
Scenario passed_over(const Values& v) {
  const tl::DType dtype = v.dtype(), sum_type = dtype == tl::i8 ? tl::i32 : tl::f32;
  const auto form = static_cast<Passes>(v["form"]);
  const int64_t bm = v["tile"], bn = 32, bk = dtype == tl::i8 ? 64 : 32, stages = v["stages"], trips = stages + 4, k = trips * bk - 16, m = 2 * bm + 8, n = bn + 8, rows = 3;
  const int64_t leading = k + (v["unaligned"] ? 1 : 0);
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", dtype, {m, k}, tl::TensorOptions().strides({leading, 1})), B = b.input("B", dtype, {n, k});
    auto mask = b.input("mask", tl::i32, {rows, trips}), list = b.input("list", tl::i32, {rows, trips});
    auto limit = b.scalar("limit", tl::i32);
    auto C = b.output("C", sum_type, {m, n});
    tl::Hints hints = agreed(v);
    if (v["cluster"]) hints.cluster(2);
    b.grid({(n + bn - 1) / bn, rows}, hints, [&](tl::Index x, tl::Index y) {
      auto a = b.shared(dtype, {bm, bk}), w = b.shared(dtype, {bn, bk});
      auto acc = b.fragment(sum_type, {bm, bn});
      b.clear(acc);
      b.pipelined(trips, tl::stages(static_cast<uint32_t>(stages)), [&](tl::Index i) {
        const auto copies = [&](const tl::Expr& block) { b.copy(A(y * bm, block * bk), a), b.copy(B(x * bn, block * bk), w); };
        const auto work = [&] {
          b.gemm(a, w, acc, tl::trans_b);
          if (v["work"]) b.parallel({bm, bn}, [&](tl::Index r, tl::Index c) { acc(r, c) = -acc(r, c); });
        };
        const auto both = [&] { copies(i), work(); };
        switch (form) {
          case Passes::mask: b.if_(mask(y, i) > 0, both); break;
          case Passes::mask_behind_copies: copies(i), b.if_(mask(y, i) > 0, work); break;
          case Passes::index: b.if_((i + y) % 3 != 1, both); break;
          case Passes::limit: b.if_(tl::cast(tl::index, limit) > i, [&] { b.if_(mask(y, i) > 0, both); }); break;
          case Passes::jump: b.if_(mask(y, i) <= 0, [&] { b.continue_(); }), both(); break;
          case Passes::list: {
            const tl::Expr block = b.let(tl::cast(tl::index, list(y, i)));
            b.if_(block >= 0, [&] { copies(block), work(); });
            break;
          }
          case Passes::unconditional_list: copies(b.let(tl::cast(tl::index, list(y, i)))), work(); break;
          case Passes::otherwise: b.if_(mask(y, i) <= 0, [] {}, both); break;
        }
      });
      b.copy(acc, C(y * bm, x * bn));
    });
  });
  const Reals a = whole((m - 1) * leading + k, -3, 3, 1), w = whole(n * k, -3, 3, 2);
  for (int64_t pattern = 0; pattern < 4; ++pattern) {
    Trips all{form, trips, Reals(static_cast<size_t>(rows * trips), 0), whole(rows * trips, -1, trips, 4), static_cast<Real>(pattern == 1 ? trips : trips - 2)};
    for (int64_t i = 0; i < rows * trips; ++i) {
      const int64_t place = i % trips;
      all.mask[static_cast<size_t>(i)] = pattern == 0 ? 0 : pattern == 1 ? 1 : pattern == 2 ? (place == 0 || place == trips - 1) : whole(1, -1, 1, 100 + i)[0];
    }
    all.list[0] = -1;  // rows begin and end with another sign: roles that read another element make another number of trips
    all.list[1] = 1 << 27, all.list[static_cast<size_t>(trips)] = (1 << 30) + 1;  // far behind the tensor, also in 32 bits
    if (form == Passes::unconditional_list) all.list[2] = -(1 << 30), all.list[3] = -1;
    Reals c(static_cast<size_t>(m * n), 0);
    for (int64_t r = 0; r < m; ++r)
      for (const int64_t block : all.blocks(r / bm))
        for (int64_t j = 0; j < n; ++j) {
          Real& sum = c[static_cast<size_t>(r * n + j)];
          for (int64_t e = std::max<int64_t>(block * bk, 0); e < std::min(k, (block + 1) * bk); ++e) sum += a[static_cast<size_t>(r * leading + e)] * w[static_cast<size_t>(j * k + e)];
          if (v["work"]) sum = -sum;
        }
    Launch& launch = s.launch();
    launch.input(dtype, a).placed({m, k}, {leading, 1}).input(dtype, w).input(tl::i32, all.mask).input(tl::i32, all.list).scalar(tl::i32, all.limit);
    launch.output(sum_type, exactly(c));
    if (v["persistent"]) launch.max_blocks = 2;
  }
  return s;
}

enum class Part { scaled, last, second, either, of_sums, of_tile, counted, behind };

// What each trip with product p, of a and w, and q, of a and the other tile, does to an element's sum.
Real after_trip(Part part, Real sum, Real p, Real q, bool marked, bool last, int64_t trip, Real bias, Real first) {
  switch (part) {
    case Part::scaled: return (sum + p) * (marked ? 2 : 1);
    case Part::last: return sum + p + (last ? bias : 0);
    case Part::second: return sum + p + (trip % 2 == 0 ? q : 0);
    case Part::either: return sum + (marked ? p : q);
    case Part::of_sums: return (sum + p) * (first > 0 ? -1 : 1);
    case Part::of_tile:
    case Part::counted: return sum + (marked ? p : 0);
    case Part::behind: return (sum + (marked ? p : 0)) * -1 + 1;
  }
  return 0;
}

struct PartTiles {
  tl::Tile A, B, D, mask, bias;
  tl::Tile a, w, d, flags, acc;
  tl::Var count;
  int64_t bm, bn, bk, trips;
};

void trip_in_parts(tl::Builder& b, Part part, PartTiles& t, const tl::Expr& y, tl::Index i) {
  const auto marked = [&] { return t.mask(y * t.trips + i, 0) > 0; };
  const auto copy_a = [&] { b.copy(t.A(y * t.bm, i * t.bk), t.a); };
  const auto product = [&](const tl::Tile& from, const tl::Tile& tile) { b.copy(from(0, i * t.bk), tile), b.gemm(t.a, tile, t.acc, tl::trans_b); };
  const auto each = [&](const std::function<tl::Expr(tl::Index, tl::Index)>& f) { b.parallel({t.bm, t.bn}, [&](tl::Index r, tl::Index c) { t.acc(r, c) = f(r, c); }); };
  const auto negated = [&](tl::Index r, tl::Index c) { return -t.acc(r, c); };
  if (part == Part::scaled || part == Part::last || part == Part::second || part == Part::of_sums) copy_a(), product(t.B, t.w);
  switch (part) {
    case Part::scaled: b.if_(marked(), [&] { each([&](tl::Index r, tl::Index c) { return t.acc(r, c) * 2; }); }); break;
    case Part::last: b.if_(i == t.trips - 1, [&] { each([&](tl::Index r, tl::Index c) { return t.acc(r, c) + t.bias(y * t.bm + r, c); }); }); break;
    case Part::second: b.if_(i % 2 == 0, [&] { product(t.D, t.d); }); break;
    case Part::of_sums: b.if_(t.acc(0, 0) > 0, [&] { each(negated); }); break;
    case Part::either:
      copy_a();
      b.if_(marked(), [&] { product(t.B, t.w); }, [&] { product(t.D, t.d); });
      break;
    case Part::of_tile:
      copy_a(), b.copy(t.B(0, i * t.bk), t.w), b.copy(t.mask(y * t.trips + i, 0), t.flags);
      b.if_(t.flags(0, 0) > 0, [&] { b.gemm(t.a, t.w, t.acc, tl::trans_b); });
      break;
    case Part::counted: b.if_(marked(), [&] { copy_a(), product(t.B, t.w), t.count = t.count + 1; }); break;
    case Part::behind:
      b.if_(marked(), [&] { copy_a(), product(t.B, t.w); });
      each([&](tl::Index r, tl::Index c) { return -t.acc(r, c) + 1.0f; });
      break;
  }
}

// Rows of tiles of trips of blocks of K; the operands' rows, but for w's, so many elements apart from each other.
struct PartData {
  int64_t bm, bk, trips, m, n, rows, leading;
  Reals a, w, d, mask, bias;

  Reals sums(Part part) const {
    Reals c(static_cast<size_t>(m * n), 0);
    for (int64_t row = 0; row < rows; ++row) {
      bool any = false;
      for (int64_t trip = 0; trip < trips; ++trip) {
        const bool marked = mask[static_cast<size_t>((row * trips + trip) * 16)] > 0;
        any |= marked;
        Real first = 0;
        for (int64_t r = row * bm; r < std::min(m, (row + 1) * bm); ++r)
          for (int64_t j = 0; j < n; ++j) {
            Real p = 0, q = 0;
            for (int64_t e = trip * bk; e < (trip + 1) * bk; ++e) {
              const Real x = a[static_cast<size_t>(r * leading + e)];
              p += x * w[static_cast<size_t>(j * trips * bk + e)], q += x * d[static_cast<size_t>(j * leading + e)];
            }
            Real& sum = c[static_cast<size_t>(r * n + j)];
            if (r == row * bm && j == 0) first = sum + p;
            sum = after_trip(part, sum, p, q, marked, trip == trips - 1, trip, bias[static_cast<size_t>(r * n + j)], first);
          }
      }
      if (part == Part::counted && !any) std::fill(c.begin() + row * bm * n, c.begin() + std::min(m, (row + 1) * bm) * n, Real{-7});
    }
    return c;
  }
};

// 91. A part of what a trip does is for some trips only: work, a product, copies; or stands beside trips that are passed over.
Scenario parts_of_trips(const Values& v) {
  const auto part = static_cast<Part>(v["part"]);
  const int64_t bm = v["tile"], bn = 32, bk = 32, trips = v["stages"] + 3, k = trips * bk, m = bm + 8, n = bn, rows = 2, leading = k + (v["unaligned"] ? 1 : 0);
  const auto strided = tl::TensorOptions().strides({leading, 1});
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", tl::bf16, {m, k}, strided), B = b.input("B", tl::bf16, {n, k}), D = b.input("D", tl::bf16, {n, k}, strided);
    auto mask = b.input("mask", tl::i32, {rows * trips, 16}), bias = b.input("bias", tl::f32, {m, n}), C = b.output("C", tl::f32, {m, n});
    b.grid({1, rows}, agreed(v), [&](tl::Index, tl::Index y) {
      auto a = b.shared(tl::bf16, {bm, bk}), w = b.shared(tl::bf16, {bn, bk}), d = b.shared(tl::bf16, {bn, bk}), flags = b.shared(tl::i32, {1, 16});
      auto acc = b.fragment(tl::f32, {bm, bn});
      PartTiles tiles{A, B, D, mask, bias, a, w, d, flags, acc, b.var(tl::i32), bm, bn, bk, trips};
      tiles.count = 0;
      b.clear(acc);
      b.pipelined(trips, tl::stages(static_cast<uint32_t>(v["stages"])), [&](tl::Index i) { trip_in_parts(b, part, tiles, y, i); });
      if (part == Part::counted) b.if_(tiles.count == 0, [&] { b.fill(acc, -7.0f); });
      b.copy(acc, C(y * bm, 0));
    });
  });
  for (int64_t pattern = 0; pattern < 3; ++pattern) {
    PartData data{bm, bk, trips, m, n, rows, leading, whole((m - 1) * leading + k, -2, 2, 1), whole(n * k, -2, 2, 2), whole((n - 1) * leading + k, -2, 2, 3), Reals(static_cast<size_t>(rows * trips * 16), -1), whole(m * n, -9, 9, 4)};
    for (int64_t i = 0; i < rows * trips; ++i) data.mask[static_cast<size_t>(i * 16)] = pattern == 0 ? 0 : pattern == 1 ? i % 2 : whole(1, 0, 1, 50 + i)[0];
    Launch& launch = s.launch();
    launch.input(tl::bf16, data.a).placed({m, k}, {leading, 1}).input(tl::bf16, data.w).input(tl::bf16, data.d).placed({n, k}, {leading, 1});
    launch.input(tl::i32, data.mask).input(tl::f32, data.bias).output(tl::f32, exactly(data.sums(part)));
    if (v["persistent"]) launch.max_blocks = 1;
  }
  return s;
}

enum class Around { branch, jump, otherwise, levels };

// 91. The loop stands in a branch, or behind a jump to the end of the tile, with what comes of its sums; trips are counted in memory.
Scenario loops_in_branches(const Values& v) {
  const auto form = static_cast<Around>(v["form"]);
  const int64_t bm = v["tile"], bn = 32, bk = 32, stages = v["stages"], most = stages + 2, k = most * bk, m = 3 * bm + 8, n = 2 * bn, rows = 4;
  const tl::DType out = v["narrow"] ? tl::bf16 : tl::f32;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", tl::bf16, {m, k}), B = b.input("B", tl::bf16, {n, k}), trips = b.input("trips", tl::i32, {rows});
    auto from = b.scalar("from", tl::i32);
    auto C = b.output("C", out, {m, n});
    b.grid({2, rows}, agreed(v), [&](tl::Index x, tl::Index y) {
      auto a = b.shared(tl::bf16, {bm, bk}), w = b.shared(tl::bf16, {bn, bk});
      auto acc = b.fragment(tl::f32, {bm, bn});
      const tl::Expr count = b.let(trips(y));
      const auto loop = [&] {
        const tl::Expr row = b.let(y * bm);
        b.fill(acc, 1.0f);
        b.pipelined(tl::cast(tl::index, count), tl::stages(static_cast<uint32_t>(stages)), [&](tl::Index i) {
          b.copy(A(row, i * bk), a);
          b.copy(B(x * bn, i * bk), w);
          b.gemm(a, w, acc, tl::trans_b);
        });
        b.parallel({bm, bn}, [&](tl::Index r, tl::Index c) { acc(r, c) = acc(r, c) + 1.0f; });
        b.copy(acc, C(y * bm, x * bn));
      };
      switch (form) {
        case Around::branch: b.if_(count > 0, loop); break;
        case Around::jump: b.if_(count <= 0, [&] { b.return_(); }), loop(); break;
        case Around::otherwise: b.if_(count <= 0, [&] { b.parallel({bm, bn}, [&](tl::Index r, tl::Index c) { C(y * bm + r, x * bn + c) = b.constant(out, 9); }); }, loop); break;
        case Around::levels: b.if_(tl::cast(tl::index, from) <= y, [&] { b.if_(count > x, loop, [&] {}); }); break;
      }
    });
  });
  for (int64_t from = 0; from < 3; ++from) {
    const Reals a = whole(m * k, -2, 2, 1), w = whole(n * k, -2, 2, 2), trips = from == 0 ? Reals{0, static_cast<Real>(most), 1, 0} : from == 1 ? Reals(rows, most - 1) : whole(rows, 0, most, 7);
    Reals c(static_cast<size_t>(m * n), 0);
    for (int64_t r = 0; r < m; ++r)
      for (int64_t j = 0; j < n; ++j) {
        Real& sum = c[static_cast<size_t>(r * n + j)] = 2;
        for (int64_t e = 0; e < static_cast<int64_t>(trips[static_cast<size_t>(r / bm)]) * bk; ++e) sum += a[static_cast<size_t>(r * k + e)] * w[static_cast<size_t>(j * k + e)];
      }
    std::vector<Want> want = v["narrow"] ? nearly(tl::bf16, c, c, 1) : exactly(c);
    for (int64_t i = 0; i < m * n; ++i) {
      const int64_t row = i / n / bm, column = i % n / bn;
      const Real made = trips[static_cast<size_t>(row)];
      if (form == Around::levels ? row >= from && made > column : made > 0) continue;
      want[static_cast<size_t>(i)] = form == Around::otherwise ? exactly({9})[0] : untouched(1)[0];
    }
    Launch& launch = s.launch();
    launch.input(tl::bf16, a).input(tl::bf16, w).input(tl::i32, trips).scalar(tl::i32, static_cast<Real>(from)).output(out, want);
    if (v["persistent"]) launch.max_blocks = from == 0 ? 3 : 1;  // of one block rings and staging go round
  }
  return s;
}

// 91. Rows that a table or a scalar names, up to where they do not fit 32 bits: beyond a tensor there are zeros, and nothing is written. What
// is added to a scalar of 2^31 would wrap to rows of the tensor, and so would 2^32 and more of a table.
Scenario far_places(const Values& v) {
  const int64_t bm = 64, bn = 32, bk = 32, k = 3 * bk, m = 2 * bm, n = bn, rows = 5, far = int64_t{1} << 32;
  const bool trips = v["where"] == 1, scalar = v["where"] == 2;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", tl::bf16, {m, k}), B = b.input("B", tl::bf16, {n, k});
    auto from = b.input("from", tl::i64, {rows}), to = b.input("to", tl::i64, {rows});
    auto more = b.scalar("more", tl::i64);
    auto C = b.output("C", tl::bf16, {m, n});
    b.grid({1, rows}, agreed(v), [&](tl::Index, tl::Index y) {
      auto a = b.shared(tl::bf16, {bm, bk}), w = b.shared(tl::bf16, {bn, bk});
      auto acc = b.fragment(tl::f32, {bm, bn});
      const tl::Expr first = trips ? tl::Expr(0) : scalar ? tl::Expr(more) : b.let(tl::cast(tl::index, from(y)));
      const tl::Expr out = b.let(tl::max(tl::cast(tl::index, to(y)), 0));
      b.clear(acc);
      b.pipelined(k / bk, tl::stages(2), [&](tl::Index i) {
        b.copy(A(trips ? b.let(tl::cast(tl::index, from(y))) : first, i * bk), a);
        b.copy(B(0, i * bk), w);
        b.gemm(a, w, acc, tl::trans_b);
      });
      b.copy(acc, C(out, 0));
    });
  });
  const Reals a = whole(m * k, -1, 1, 1), w = whole(n * k, -1, 1, 2);
  const std::vector<std::vector<int64_t>> reads = {{0, 0, 0, 0, 0}, {far, 1, -far, far / 2, far + 1}, {3 - far, -far / 2, far * 3 + 7, -1, far - 1}};
  for (size_t i = 0; i < reads.size(); ++i) {
    const std::vector<int64_t> writes = i == 0 ? std::vector<int64_t>{far, bm, far + 1, far * 2, far / 2} : std::vector<int64_t>{0, bm, m, far, far + 3};
    const int64_t added = i == 0 ? far : i == 1 ? 2 : far / 2;
    std::vector<Want> want = untouched(static_cast<size_t>(m * n));
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t r = 0; r < bm; ++r)
        for (int64_t j = 0; j < n; ++j) {
          const int64_t in = (scalar ? added : reads[i][static_cast<size_t>(y)]) + r, out = writes[static_cast<size_t>(y)] + r;
          if (out >= m) continue;
          Real sum = 0;
          for (int64_t e = 0; e < k && in >= 0 && in < m; ++e) sum += a[static_cast<size_t>(in * k + e)] * w[static_cast<size_t>(j * k + e)];
          want[static_cast<size_t>(out * n + j)] = {sum};
        }
    const auto numbers = [](const std::vector<int64_t>& values) { return Reals(values.begin(), values.end()); };
    Launch& launch = s.launch();
    launch.input(tl::bf16, a).input(tl::bf16, w).input(tl::i64, numbers(reads[i])).input(tl::i64, numbers(writes)).scalar(tl::i64, static_cast<Real>(added)).output(tl::bf16, want);
    if (v["persistent"]) launch.max_blocks = 2;
  }
  return s;
}

}  // namespace

void add_conditional_cases(std::vector<Case>& to) {
  to.push_back({"91", "trips_passed_over",
                {{"form", {0, 1, 2, 3, 4, 5, 6, 7}}, {"tile", {64, 128, 192}}, {"stages", {2, 3, 4}}, {"persistent", {0, 1}}, {"cluster", {0, 1}}, {"unaligned", {0, 1}}, {"work", {0, 1}},
                 dtypes({tl::bf16, tl::i8})},
                passed_over});
  to.push_back({"91", "parts_of_trips", {{"part", {0, 1, 2, 3, 4, 5, 6, 7}}, {"tile", {64, 128}}, {"stages", {2, 3}}, {"persistent", {0, 1}}, {"unaligned", {0, 1}}}, parts_of_trips});
  to.push_back({"91", "loops_in_branches", {{"form", {0, 1, 2, 3}}, {"tile", {64, 128}}, {"stages", {2, 3}}, {"persistent", {0, 1}}, {"narrow", {0, 1}}}, loops_in_branches});
  to.push_back({"91", "places_beyond_32_bits", {{"where", {0, 1, 2}}, {"persistent", {0, 1}}}, far_places});
}

}  // namespace tilert::conformance
