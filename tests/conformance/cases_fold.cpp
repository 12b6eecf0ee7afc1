// Cases 35 and 63 to 65: operations along a dim: scans, places of extremes, operations of the program's own, sorts.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// A box of two dims, and one of its lines along `dim`.
struct Box {
  int64_t rows, columns;
  int dim;
  int64_t lines() const { return dim == 0 ? columns : rows; }
  int64_t extent() const { return dim == 0 ? rows : columns; }
  size_t at(int64_t line, int64_t i) const {
    return static_cast<size_t>(dim == 0 ? i * columns + line : line * columns + i);
  }
};

Box box_of(const Values& v) {
  const int64_t n = v["n"], lines = v["lines"];
  return v["dim"] == 0 ? Box{n, lines, 0} : Box{lines, n, 1};
}

// In percent of an extent: no lane's or register's bit of an index is the same in all.
constexpr int64_t kPlaces[] = {2, 37, 11, 99, 62, 85, 24, 49, 74, 55, 30, 93};

struct ScanCase {
  tl::ReduceOp op;
  Real start;
  Real (*combine)(Real, Real);
};
const ScanCase kScans[] = {
    {tl::sum, 0, [](Real a, Real b) { return a + b; }},
    {tl::max, -std::numeric_limits<Real>::infinity(), [](Real a, Real b) { return std::max(a, b); }},
    {tl::min, std::numeric_limits<Real>::infinity(), [](Real a, Real b) { return std::min(a, b); }}};

// 35. Sums and extremes of all beginnings; in place, from a region with an offset, which leaves the rest of its tile alone.
Scenario scan(const Values& v) {
  const Box box = box_of(v);
  const ScanCase& row = kScans[v["op"]];
  const tl::DType dtype = v.dtype();
  const bool reverse = v["flags"] & 1, exclusive = v["flags"] & 2;
  const int64_t shift = v["shift"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", dtype, {box.rows + shift, box.columns + shift}),
         y = b.output("y", dtype, {box.rows, box.columns}), z = b.output("z", dtype, {box.rows + shift, box.columns + shift});
    b.grid({1}, [&](tl::Index) {
      auto t = b.shared(dtype, {static_cast<int>(box.rows + shift), static_cast<int>(box.columns + shift)});
      b.copy(x(0, 0), t);
      const auto flags = static_cast<tl::ScanFlag>(v["flags"]);
      const auto from = t(shift, shift).size({static_cast<int>(box.rows), static_cast<int>(box.columns)});
      if (v["place"] == 0) {
        b.scan(row.op, from, from, static_cast<uint32_t>(box.dim), flags);
        b.copy(from, y(0, 0));
      } else {
        auto f = v["place"] == 1
                     ? tl::Region(b.fragment(dtype, {static_cast<int>(box.rows), static_cast<int>(box.columns)}))
                     : tl::Region(b.shared(dtype, {static_cast<int>(box.rows), static_cast<int>(box.columns)}));
        b.scan(row.op, from, f, static_cast<uint32_t>(box.dim), flags);
        b.copy(f, y(0, 0));
      }
      if (shift) b.copy(t, z(0, 0));
    });
  });
  const int64_t most = dtype == tl::f16 ? 2 : 99;  // sums stay exact
  for (int64_t seed : {5, 6, 7, 0, 1}) {
    if (seed < 2 && v["op"] == 0) continue;
    Reals x = whole(static_cast<size_t>((box.rows + shift) * (box.columns + shift)), -most, most, static_cast<uint64_t>(seed));
    // Ever greater, and ever less: every extreme hangs on its last element, or on the line's first.
    if (seed < 2)
      for (size_t i = 0; i < x.size(); ++i) {
        const auto place = static_cast<int64_t>(i), c = place % (box.columns + shift), r = place / (box.columns + shift);
        x[i] = static_cast<Real>((box.dim == 0 ? r - c : c - r) * (seed == 0 ? 1 : -1));
      }
    Reals y(static_cast<size_t>(box.rows * box.columns));
    for (int64_t line = 0; line < box.lines(); ++line) {
      Real total = row.start;
      for (int64_t step = 0; step < box.extent(); ++step) {
        const int64_t i = reverse ? box.extent() - 1 - step : step;
        const int64_t r = box.dim == 0 ? i : line, c = box.dim == 0 ? line : i;
        const Real next = row.combine(total, x[static_cast<size_t>((r + shift) * (box.columns + shift) + c + shift)]);
        y[box.at(line, i)] = exclusive ? total : next;
        total = next;
      }
    }
    if (!is_float(dtype))
      for (Real& value : y) {
        const Real least = dtype == tl::i8 ? -128 : -2147483648.0L, greatest = dtype == tl::i8 ? 127 : 2147483647.0L;
        value = std::isinf(value) ? (value < 0 ? least : greatest) : value;
      }
    Reals z = x;
    for (int64_t k = 0; v["place"] == 0 && k < box.rows * box.columns; ++k)
      z[static_cast<size_t>((k / box.columns + shift) * (box.columns + shift) + k % box.columns + shift)] = y[static_cast<size_t>(k)];
    s.launch().input(dtype, x).output(dtype, exactly(y)).output(dtype, shift ? exactly(z) : untouched(z.size()));
  }
  return s;
}

// 63. The first place of the greatest or least; ties, NaN among numbers, nothing but NaN.
Scenario places_of_extremes(const Values& v) {
  const Box box = box_of(v);
  const tl::DType dtype = v.dtype();
  const bool least = v["least"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", dtype, {box.rows, box.columns}), y = b.output("y", tl::i32, {box.lines()});
    b.grid({1}, [&](tl::Index) {
      auto f = b.fragment(dtype, {static_cast<int>(box.rows), static_cast<int>(box.columns)});
      auto places = b.fragment(tl::i32, {static_cast<int>(box.lines())});
      b.copy(x(0, 0), f);
      b.reduce(least ? tl::argmin : tl::argmax, f, places, static_cast<uint32_t>(box.dim));
      b.copy(places, y(0));
    });
  });
  for (int64_t trial = 0; trial < (box.lines() > 5 ? 6 : 12); ++trial) {
    // With ties, and almost without; none is a place.
    const int64_t most = trial == 0 ? 6 : 100, middle = -120;
    Reals x = whole(static_cast<size_t>(box.rows * box.columns), middle - most, middle + most, static_cast<uint64_t>(9 + trial)), y;
    if (is_float(dtype))
      for (int64_t line = 0; line < box.lines(); ++line)
        for (int64_t i = 0; i < box.extent(); ++i)
          if ((line == 1 && trial < 2) || (i * 7 + line) % 5 == 0) x[box.at(line, i)] = std::numeric_limits<Real>::quiet_NaN();
    // One alone is the extreme, in another place for each line and trial.
    if (trial > 0)
      for (int64_t line = 0; line < box.lines(); ++line) {
        const bool anywhere = trial >= 4 && box.lines() > 5;  // many lines: an extreme in every part of some line
        const int64_t place = anywhere ? 211 * trial + 5 * line : box.extent() * kPlaces[(trial + 5 * line) % 12] / 100;
        x[box.at(line, place % box.extent())] = static_cast<Real>(middle + (least ? -101 : 101));
      }
    for (int64_t line = 0; line < box.lines(); ++line) {
      int64_t best = -1;
      for (int64_t i = 0; i < box.extent(); ++i) {
        const Real value = x[box.at(line, i)];
        if (std::isnan(value)) continue;
        if (best < 0 || (least ? value < x[box.at(line, best)] : value > x[box.at(line, best)])) best = i;
      }
      y.push_back(static_cast<Real>(std::max<int64_t>(best, 0)));
    }
    s.launch().input(dtype, x).output(tl::i32, exactly(y));
  }
  return s;
}

// 64. Compositions of x -> a x + b modulo 2^32, which do not commute: folded onto a seed, or all beginnings. What they are
// made of stays as it is.
Scenario compositions(const Values& v) {
  const Box box = box_of(v);
  const bool scans = v["scan"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    const int rows = static_cast<int>(box.rows), columns = static_cast<int>(box.columns),
              lines = static_cast<int>(box.lines());
    auto A = b.input("A", tl::i32, {rows, columns}), B = b.input("B", tl::i32, {rows, columns});
    auto Y = b.output("Y", tl::i32, {2, scans ? rows : 1, scans ? columns : lines}), C = b.output("C", tl::i32, {rows, columns});
    b.grid({1}, [&](tl::Index) {
      auto a = b.fragment(tl::i32, {rows, columns}), c = b.shared(tl::i32, {rows, columns});
      b.copy(A, a);
      b.copy(B, c);
      const auto compose = [](const std::array<tl::Expr, 2>& l, const std::array<tl::Expr, 2>& r) {
        return std::array<tl::Expr, 2>{r[0] * l[0], r[0] * l[1] + r[1]};
      };
      if (scans) {
        auto p = b.shared(tl::i32, {rows, columns}), q = b.fragment(tl::i32, {rows, columns});
        b.combine_scan({a, c}, {p, q}, static_cast<uint32_t>(box.dim), {1, 0}, compose,
                       v["reverse"] ? tl::reverse : tl::ScanFlag::none);
        b.copy(p, Y(0, 0, 0));
        b.copy(q, Y(1, 0, 0));
      } else {
        auto p = b.fragment(tl::i32, {lines}), q = b.shared(tl::i32, {lines});
        b.fill(p, 3);
        b.fill(q, 5);
        b.combine({a, c}, {p, q}, static_cast<uint32_t>(box.dim), {1, 0}, compose, tl::accumulate);
        b.copy(p, Y(0, 0, 0));
        b.copy(q, Y(1, 0, 0));
      }
      b.copy(c, C);
    });
  });
  const auto wrap = [](Real x) { return wrapped(tl::i32, x); };
  Reals a = whole(static_cast<size_t>(box.rows * box.columns), -9, 9, 3);
  const Reals c = whole(a.size(), 1, 9, 4);
  for (Real& factor : a) factor = 2 * factor + 21;  // odd, and not 1: nothing is lost in a product
  Reals p, q;
  if (scans) p.resize(a.size()), q.resize(a.size());
  for (int64_t line = 0; line < box.lines(); ++line) {
    Real x = scans ? 1 : 3, y = scans ? 0 : 5;
    for (int64_t step = 0; step < box.extent(); ++step) {
      const bool backwards = scans && v["reverse"];
      const size_t at = box.at(line, backwards ? box.extent() - 1 - step : step);
      const Real l0 = backwards ? a[at] : x, l1 = backwards ? c[at] : y, r0 = backwards ? x : a[at],
                 r1 = backwards ? y : c[at];
      x = wrap(r0 * l0), y = wrap(wrap(r0 * l1) + r1);
      if (scans) p[at] = x, q[at] = y;
    }
    if (!scans) p.push_back(x), q.push_back(y);
  }
  p.insert(p.end(), q.begin(), q.end());
  s.launch().input(tl::i32, a).input(tl::i32, c).output(tl::i32, exactly(p)).output(tl::i32, exactly(c));
  return s;
}

// 64. The greatest and the sum of exponentials below it, in one pass: the softmax's pair.
Scenario logsumexp(const Values& v) {
  const int64_t rows = 5, n = v["n"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", v.dtype(), {rows, n}), y = b.output("y", tl::f32, {rows});
    b.grid({1}, [&](tl::Index) {
      auto t = b.fragment(v.dtype(), {static_cast<int>(rows), static_cast<int>(n)}),
           ones = b.fragment(v.dtype(), {static_cast<int>(rows), static_cast<int>(n)});
      auto m = b.fragment(tl::f32, {static_cast<int>(rows)}), l = b.fragment(tl::f32, {static_cast<int>(rows)});
      b.copy(x(0, 0), t);
      b.fill(ones, 1);
      b.combine({t, ones}, {m, l}, 1, {-tl::inf, 0},
                [](const std::array<tl::Expr, 2>& p, const std::array<tl::Expr, 2>& q) {
                  const tl::Expr top = tl::max(p[0], q[0]), safe = tl::select(top == -tl::inf, 0, top);
                  return std::array<tl::Expr, 2>{top, p[1] * tl::exp(p[0] - safe) + q[1] * tl::exp(q[0] - safe)};
                });
      b.parallel({static_cast<int>(rows)}, [&](tl::Index i) { y(i) = tl::log(l(i)) + m(i); });
    });
  });
  for (int64_t first : {0, 5}) {
    Reals x = uniform(v.dtype(), static_cast<size_t>(rows * n), 8);
    for (int64_t r = 0; r < rows; ++r) x[static_cast<size_t>(r * n + n * kPlaces[(first + r) % 12] / 100)] = 2;  // the greatest
    Reals y, sizes;
    for (int64_t r = 0; r < rows; ++r) {
      Real total = 0;
      for (int64_t i = 0; i < n; ++i) total += std::exp(x[static_cast<size_t>(r * n + i)]);
      y.push_back(std::log(total));
      sizes.push_back(2 + std::log(total));
    }
    s.launch().input(v.dtype(), x).output(tl::f32, nearly(tl::f32, y, sizes, static_cast<Real>(4 * n)));
  }
  return s;
}

// 65. In order, all or the first k, with the places; equal elements keep theirs, -0 before +0, NaN last.
Scenario sorted(const Values& v) {
  const Box box = box_of(v);
  const tl::DType dtype = v.dtype();
  const int64_t k = std::min(v["k"], box.extent());
  const bool descending = v["descending"];
  const Box kept = box.dim == 0 ? Box{k, box.columns, 0} : Box{box.rows, k, 1};
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", dtype, {box.rows, box.columns});
    auto y = b.output("y", dtype, {kept.rows, kept.columns}),
         places = b.output("places", tl::i32, {kept.rows, kept.columns});
    b.grid({1}, [&](tl::Index) {
      auto f = b.fragment(dtype, {static_cast<int>(box.rows), static_cast<int>(box.columns)});
      auto t = b.shared(dtype, {static_cast<int>(kept.rows), static_cast<int>(kept.columns)});
      auto p = b.fragment(tl::i32, {static_cast<int>(kept.rows), static_cast<int>(kept.columns)});
      b.copy(x(0, 0), f);
      b.sort(f, t, p, static_cast<uint32_t>(box.dim), descending ? tl::descending : tl::SortFlag::none);
      b.copy(t, y(0, 0));
      b.copy(p, places(0, 0));
    });
  });
  const bool some = k < box.extent();
  for (int64_t trial = 0; trial < (some && box.extent() > 2 ? 12 : 3); ++trial) {
    Reals x = whole(static_cast<size_t>(box.rows * box.columns), -20, 20, static_cast<uint64_t>(6 + trial));
    if (box.extent() == 2)
      for (int64_t line = 0; line < box.lines(); ++line)
        x[box.at(line, 0)] = descending ? -30 : 30;  // not in order as they are
    if (is_float(dtype))
      for (size_t i = 0; i < x.size(); ++i) {
        if (i % 11 == 3) x[i] = std::numeric_limits<Real>::quiet_NaN();
        if (i % 7 == 2) x[i] = i % 2 ? -0.0L : 0.0L;
        if (i % 13 == 4) x[i] = i % 2 ? -std::numeric_limits<Real>::infinity() : std::numeric_limits<Real>::infinity();
      }
    // The first of all stands alone, in another place for each line and trial.
    if (trial > 1)
      for (int64_t line = 0; some && line < box.lines(); ++line)
        for (int64_t i = 0; i < box.extent(); ++i) {
          Real& one = x[box.at(line, i)];
          if (i == box.extent() * kPlaces[(trial + 5 * line) % 12] / 100) one = descending ? 100 : -100;
          else if (std::isinf(one)) one = 0;
        }
    Reals y(static_cast<size_t>(kept.rows * kept.columns)), at(y.size());
    const auto less = [](Real a, Real b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); };
    for (int64_t line = 0; line < box.lines(); ++line) {
      std::vector<int64_t> order(static_cast<size_t>(box.extent()));
      std::iota(order.begin(), order.end(), int64_t{0});
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        const Real a = x[box.at(line, i)], c = x[box.at(line, j)];
        if (std::isnan(a) || std::isnan(c)) return !std::isnan(a) && std::isnan(c);
        return descending ? less(c, a) : less(a, c);
      });
      for (int64_t i = 0; i < k; ++i) {
        y[kept.at(line, i)] = x[box.at(line, order[static_cast<size_t>(i)])];
        at[kept.at(line, i)] = static_cast<Real>(order[static_cast<size_t>(i)]);
      }
    }
    s.launch().input(dtype, x).output(dtype, exactly_signed(y)).output(tl::i32, exactly(at));
  }
  return s;
}

}  // namespace

void add_fold_cases(std::vector<Case>& to) {
  to.push_back({"35",
                "scan",
                {{"n", {1, 31, 32, 33, 1000}},
                 {"lines", {1, 3}},
                 {"dim", {0, 1}},
                 {"op", {0, 1, 2}},
                 {"flags", {0, 1, 2, 3}},
                 {"shift", {0, 1}},
                 {"place", {0, 1, 2}},
                 dtypes({tl::f32, tl::i32, tl::f16})},
                scan});
  to.push_back({"63",
                "places_of_extremes",
                {{"n", {1, 31, 32, 33, 96, 576}},
                 {"lines", {1, 5, 64}},
                 {"dim", {0, 1}},
                 {"least", {0, 1}},
                 dtypes({tl::f32, tl::i32, tl::bf16, tl::i64})},
                places_of_extremes});
  to.push_back(
      {"64",
       "compositions",
       {{"n", {1, 7, 33, 100, 300}}, {"lines", {1, 4}}, {"dim", {0, 1}}, {"scan", {0, 1}}, {"reverse", {0, 1}}},
       compositions});
  to.push_back({"64", "logsumexp", {{"n", {1, 33, 128}}, dtypes({tl::f32, tl::bf16})}, logsumexp});
  to.push_back({"65",
                "sorted",
                {{"n", {1, 2, 31, 64, 100}},
                 {"lines", {1, 6}},
                 {"dim", {0, 1}},
                 {"k", {1, 8, 20, 1000}},
                 {"descending", {0, 1}},
                 dtypes({tl::f32, tl::i32, tl::f16, tl::i64, tl::i8})},
                sorted});
}

}  // namespace tilert::conformance
