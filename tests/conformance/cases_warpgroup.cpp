// Cases 36, 39 and 40: products whose copies and multiplications overlap in warps of their own where the chip has warpgroup
// products: every type, major, span, width and height of them, and what the results go through on their way out.
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

struct Shape {
  int64_t m, n, k, bm, bn, bk;
};

struct Types {
  tl::DType a, b, sum;
};
constexpr Types kTypes[] = {{tl::bf16, tl::bf16, tl::f32}, {tl::f16, tl::f16, tl::f32},   {tl::f32, tl::f32, tl::f32},
                            {tl::e4m3, tl::e4m3, tl::f32}, {tl::e5m2, tl::e4m3, tl::f32}, {tl::e4m3, tl::e5m2, tl::f32},
                            {tl::i8, tl::i8, tl::i32},     {tl::u8, tl::u8, tl::i32},     {tl::i8, tl::u8, tl::i32},
                            {tl::u8, tl::i8, tl::i32}};

int64_t bytes_of_type(tl::DType dtype) { return dtype == tl::f32 ? 4 : dtype == tl::bf16 || dtype == tl::f16 ? 2 : 1; }

struct Request {
  Shape shape;
  Types types;
  tl::DType out;
  bool trans_a = false, trans_b = true;
  tl::Hints hints = {};
};

// What is between the loop and the end of a tile: it gets the sums, and where the tile starts.
using Ending = std::function<void(tl::Tile, tl::Index row, tl::Index column)>;

struct Inputs {
  Reals a, b, c;
};

Inputs inputs_of(const Request& r, int64_t low, int64_t high) {
  const Shape& s = r.shape;
  Inputs in;
  in.a = whole(s.m * s.k, is_unsigned(r.types.a) ? 0 : low, high, 1);
  in.b = whole(s.k * s.n, is_unsigned(r.types.b) ? 0 : low, high, 2);
  in.c.assign(static_cast<size_t>(s.m * s.n), 0);
  for (int64_t k = 0; k < s.k; ++k)
    for (int64_t i = 0; i < s.m; ++i) {
      const Real x = in.a[static_cast<size_t>(r.trans_a ? k * s.m + i : i * s.k + k)];
      for (int64_t j = 0; j < s.n; ++j) in.c[static_cast<size_t>(i * s.n + j)] += x * in.b[static_cast<size_t>(r.trans_b ? j * s.k + k : k * s.n + j)];
    }
  return in;
}

void build(tl::Builder& b, const Request& r, const std::function<Ending(tl::Builder&, tl::Tile)>& declare = {}) {
  const auto [m, n, k, bm, bn, bk] = r.shape;
  auto A = r.trans_a ? b.input("A", r.types.a, {k, m}) : b.input("A", r.types.a, {m, k});
  auto B = r.trans_b ? b.input("B", r.types.b, {n, k}) : b.input("B", r.types.b, {k, n});
  auto C = b.output("C", r.out, {m, n});
  const Ending ending = declare ? declare(b, C) : Ending();
  b.grid({(n + bn - 1) / bn, (m + bm - 1) / bm}, r.hints, [&, bm = bm, bn = bn, bk = bk, k = k](tl::Index x, tl::Index y) {
    auto a = r.trans_a ? b.shared(r.types.a, {bk, bm}) : b.shared(r.types.a, {bm, bk});
    auto w = r.trans_b ? b.shared(r.types.b, {bn, bk}) : b.shared(r.types.b, {bk, bn});
    auto acc = b.fragment(r.types.sum, {bm, bn});
    b.clear(acc);
    b.pipelined((k + bk - 1) / bk, tl::stages(2), [&](tl::Index step) {
      if (r.trans_a) b.copy(A(step * bk, y * bm), a);
      else b.copy(A(y * bm, step * bk), a);
      if (r.trans_b) b.copy(B(x * bn, step * bk), w);
      else b.copy(B(step * bk, x * bn), w);
      tl::GemmFlag flags{};
      if (r.trans_a) flags = flags | tl::trans_a;
      if (r.trans_b) flags = flags | tl::trans_b;
      if (r.types.a == tl::f32) flags = flags | tl::tf32;
      b.gemm(a, w, acc, flags);
    });
    if (ending) ending(acc, y * bm, x * bn);
    else b.copy(acc, C(y * bm, x * bn));
  });
}

Scenario plain(const Request& r, int64_t low = -3, int64_t high = 3) {
  Scenario s;
  s.program([&](tl::Builder& b) { build(b, r); });
  const Inputs in = inputs_of(r, low, high);
  s.launch().input(r.types.a, in.a).input(r.types.b, in.b).output(r.out, exactly(in.c));
  return s;
}

// 40. Each pair of types, in K tiles whose rows have 128, 64, 32 and 96 bytes; edges along all three dims.
Scenario types(const Values& v) {
  Request r;
  r.types = kTypes[v["types"]];
  const int64_t bk = v["row_bytes"] / bytes_of_type(r.types.a);
  r.shape = {v["M"] - 22, 48, 2 * bk + 16, v["M"], 64, bk};
  r.out = r.types.sum;
  return plain(r);
}

// 36. 16-bit operands, each along either of its dims.
Scenario majors(const Values& v) {
  Request r;
  const tl::DType dtype = v.dtype();
  r.types = {dtype, dtype, tl::f32};
  r.trans_a = v["trans"] % 2 == 1, r.trans_b = v["trans"] / 2 == 1;
  r.shape = {v["M"] + 8, 2 * v["N"] - 16, 3 * v["K"] + 8, v["M"], v["N"], v["K"]};
  r.out = v["out"] ? dtype : tl::f32;
  return plain(r, -1, 1);
}

// 36. Widths and heights that instructions cover, or cover with a part that nobody needs, and numbers of warpgroups.
Scenario widths(const Values& v) {
  Request r;
  r.types = kTypes[v["types"]];
  const int64_t bk = 64 / bytes_of_type(r.types.a);
  r.shape = {v["M"] - 8, v["N"], 3 * bk, v["M"], v["N"], bk};
  r.out = r.types.sum;
  return plain(r);
}

// 40. What tf32 rounds: halves between two of its values, above and below them, carries into the exponent.
Scenario tf32_rounds(const Values& v) {
  Request r;
  r.types = kTypes[2];
  r.shape = {64, 32, 64, 64, 32, 16};  // the ring goes round
  r.out = tl::f32;
  Scenario s;
  s.program([&](tl::Builder& b) { build(b, r); });
  Inputs in = inputs_of(r, 0, 0);
  const auto ten_bits = [](Real x) {
    const Real step = x == 0 ? Real{1} : std::ldexp(Real{1}, std::ilogb(x) - 10);
    return std::nearbyint(x / step) * step;
  };
  // One value of a row meets one of b, 1 to 3: each sum is one rounded value.
  for (int64_t i = 0; i < 64; ++i) in.a[static_cast<size_t>(i * 64 + i)] = static_cast<Real>(v["base"] + i);
  for (int64_t j = 0; j < 32; ++j)
    for (int64_t k = 0; k < 64; ++k) in.b[static_cast<size_t>(j * 64 + k)] = 1 + (j + k) % 3;
  for (int64_t i = 0; i < 64; ++i)
    for (int64_t j = 0; j < 32; ++j) in.c[static_cast<size_t>(i * 32 + j)] = ten_bits(static_cast<Real>(v["base"] + i)) * static_cast<Real>(1 + (j + i) % 3);
  s.launch().input(tl::f32, in.a).input(tl::f32, in.b).output(tl::f32, exactly(in.c));
  return s;
}

// 40. Results of every type that leaves through the copy engine, and of widths that it takes in boxes or not at all.
Scenario results(const Values& v) {
  static constexpr tl::DType kOut[] = {tl::f32, tl::f16, tl::bf16, tl::e4m3, tl::e5m2, tl::i32, tl::i8, tl::u8};
  Request r;
  r.out = kOut[v["out"]];
  r.types = is_float(r.out) ? kTypes[0] : kTypes[6];
  const int64_t bk = 64 / bytes_of_type(r.types.a), past = v["tiles"] * v["M"];
  r.shape = {v["M"] + past - 3, v["N"] + 16, 5 * bk, v["M"], v["N"], bk};  // the ring goes round
  if (v["tiles"]) r.hints.persistent();
  Scenario s;
  s.program([&](tl::Builder& b) { build(b, r); });
  Inputs in = inputs_of(r, is_unsigned(r.out) ? 0 : -1, 1);
  for (Real& c : in.c) c = decode(r.out, encode(r.out, c));
  Launch& launch = s.launch();
  launch.input(r.types.a, in.a).input(r.types.b, in.b).output(r.out, exactly(in.c));
  if (v["tiles"]) launch.max_blocks = 2;
  return s;
}

// 39. What is done to the sums on their way out, element by element, along rows and along columns.
enum Kind { bias_and_relu, residual_tile, two_loops, rows_scaled, row_maxima, column_sums, narrow_sums, by_elements, kinds };

Ending ending_of(tl::Builder& b, tl::Tile C, const Request& r, Kind kind) {
  const auto [m, n, k, bm, bn, bk] = r.shape;
  auto bias = b.input("bias", tl::f32, {n}), scale = b.input("scale", tl::f32, {m});
  auto R = b.input("R", r.out, {m, n});
  return [=, &b, bm = bm, bn = bn](tl::Tile acc, tl::Index row, tl::Index column) {
    const auto each = [&](const auto& f) { b.parallel({bm, bn}, [&](tl::Index i, tl::Index j) { f(i, j); }); };
    switch (kind) {
      case bias_and_relu: each([&](tl::Index i, tl::Index j) { acc(i, j) = tl::max(acc(i, j) + bias(column + j), 0.f); }); break;
      case residual_tile: {
        auto tile = b.fragment(r.out, {bm, bn});
        b.copy(R(row, column), tile);
        each([&](tl::Index i, tl::Index j) { acc(i, j) = acc(i, j) + tl::cast(tl::f32, tile(i, j)); });
        break;
      }
      case two_loops:
        each([&](tl::Index i, tl::Index j) { acc(i, j) = acc(i, j) + bias(column + j); });
        each([&](tl::Index i, tl::Index j) { acc(i, j) = acc(i, j) * 2 + tl::cast(tl::f32, R(row + i, column + j)); });
        break;
      case rows_scaled: each([&](tl::Index i, tl::Index j) { acc(i, j) = acc(i, j) * scale(row + i) + bias(column + j); }); break;
      case row_maxima: {
        auto most = b.fragment(tl::f32, {bm});
        b.reduce(tl::max, acc, most, 1);
        each([&](tl::Index i, tl::Index j) { acc(i, j) = acc(i, j) - most(i); });
        break;
      }
      case column_sums: {
        auto sums = b.fragment(tl::f32, {bn});
        b.reduce(tl::sum, acc, sums, 0);
        each([&](tl::Index i, tl::Index j) { acc(i, j) = acc(i, j) - sums(j); });
        break;
      }
      case narrow_sums: {
        auto out = b.fragment(r.out, {bm, bn});
        b.copy(acc, out);
        each([&](tl::Index i, tl::Index j) { out(i, j) = out(i, j) + R(row + i, column + j); });
        b.copy(out, C(row, column));
        return;
      }
      default: each([&](tl::Index i, tl::Index j) { C(row + i, column + j) = tl::cast(r.out, acc(i, j) + tl::cast(tl::f32, R(row + i, column + j))); }); return;
    }
    b.copy(acc, C(row, column));
  };
}

Scenario endings(const Values& v) {
  const Kind kind = static_cast<Kind>(v["kind"]);
  Request r;
  r.types = kTypes[0];
  r.out = v.dtype("out");
  // Reductions see whole tiles: rows and columns outside of the tensors are zeros there.
  const int64_t tiles = 1 + v["persistent"];
  r.shape = {v["M"] * tiles - 5, v["N"] - 8, 160, v["M"], v["N"], 32};
  if (v["persistent"]) r.hints.persistent();
  Scenario s;
  s.program([&](tl::Builder& b) { build(b, r, [&](tl::Builder& builder, tl::Tile C) { return ending_of(builder, C, r, kind); }); });
  Inputs in = inputs_of(r, -1, 1);
  const int64_t m = r.shape.m, n = r.shape.n;
  const Reals bias = whole(n, -4, 4, 3), scale = whole(m, 1, 2, 4), rest = whole(m * n, -4, 4, 5);
  Reals c = in.c;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Real& x = c[static_cast<size_t>(i * n + j)];
      const Real add = bias[static_cast<size_t>(j)], other = rest[static_cast<size_t>(i * n + j)];
      Real most = r.shape.bn > n ? Real{0} : x, sum = 0;
      for (int64_t q = 0; q < n; ++q) most = std::fmax(most, in.c[static_cast<size_t>(i * n + q)]);
      for (int64_t p = i / v["M"] * v["M"]; p < std::min(m, (i / v["M"] + 1) * v["M"]); ++p) sum += in.c[static_cast<size_t>(p * n + j)];
      switch (kind) {
        case bias_and_relu: x = std::fmax(x + add, 0); break;
        case two_loops: x = (x + add) * 2 + other; break;
        case rows_scaled: x = x * scale[static_cast<size_t>(i)] + add; break;
        case row_maxima: x -= most; break;
        case column_sums: x -= sum; break;
        default: x += other;
      }
      x = decode(r.out, encode(r.out, x));
    }
  Launch& launch = s.launch();
  launch.input(tl::bf16, in.a).input(tl::bf16, in.b).output(r.out, exactly(c));
  launch.input(tl::f32, bias).input(tl::f32, scale).input(r.out, rest);
  if (v["persistent"]) launch.max_blocks = 1;
  return s;
}

// 39. A scale for each row and block of K, whose products are added up in another fragment, trip by trip. Tiles of 40 columns have
// a trip's products declared in the loop.
Scenario block_scales(const Values& v) {
  const Types types = kTypes[v["types"]];
  const int64_t bm = v["M"], bn = v["N"], bk = v["row_bytes"] / bytes_of_type(types.a), m = bm + 24, n = bn - 4, blocks = v["trips"], k = blocks * bk - 16;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", types.a, {m, k}), B = b.input("B", types.b, {n, k});
    auto C = b.output("C", tl::f32, {m, n});
    auto rows = b.input("rows", tl::f32, {blocks, m}), whole_block = b.input("block", tl::f32, {blocks});
    tl::Hints hints;
    if (v["persistent"]) hints.persistent();
    b.grid({1, (m + bm - 1) / bm}, hints, [&](tl::Index x, tl::Index y) {
      auto a = b.shared(types.a, {bm, bk}), w = b.shared(types.b, {bn, bk}), scales = b.shared(tl::f32, {1, bm});
      auto declared_before = b.fragment(tl::f32, {bm, bn}), total = b.fragment(tl::f32, {bm, bn});
      b.clear(total);
      b.pipelined(blocks, tl::stages(3), [&](tl::Index step) {
        auto part = bn == 40 ? b.fragment(tl::f32, {bm, bn}) : declared_before;
        b.copy(A(y * bm, step * bk), a);
        b.copy(B(x * bn, step * bk), w);
        b.copy(rows(step, y * bm), scales);
        b.gemm(a, w, part, tl::trans_b | tl::overwrite);
        b.parallel({bm, bn}, [&](tl::Index i, tl::Index j) { total(i, j) = total(i, j) + part(i, j) * (scales(0, i) * whole_block(step)); });
      });
      b.copy(total, C(y * bm, x * bn));
    });
  });
  const Reals a = whole(m * k, -2, 2, 1), w = whole(n * k, -2, 2, 2), rows = whole(blocks * m, 1, 4, 3), block = whole(blocks, 1, 2, 4);
  Reals c(static_cast<size_t>(m * n), 0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t p = 0; p < k; ++p)
        c[static_cast<size_t>(i * n + j)] += a[static_cast<size_t>(i * k + p)] * w[static_cast<size_t>(j * k + p)] *
                                            rows[static_cast<size_t>(p / bk * m + i)] * block[static_cast<size_t>(p / bk)];
  Launch& launch = s.launch();
  launch.input(types.a, a).input(types.b, w).output(tl::f32, exactly(c)).input(tl::f32, rows).input(tl::f32, block);
  if (v["persistent"]) launch.max_blocks = 1;
  return s;
}

// 39. Two products of a trip share a tile; what comes of them meets behind the loop.
Scenario two_products_worked_on(const Values& v) {
  const tl::DType dtype = v.dtype();
  const int64_t bm = v["M"], bn = v["N"], bk = 32, m = bm - 10, n = bn == 40 ? bn : bn - 8, k = v["trips"] * bk - 8;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto X = b.input("X", dtype, {m, k}), G = b.input("G", dtype, {n, k}), U = b.input("U", dtype, {n, k});
    auto C = b.output("C", dtype, {m, n});
    b.grid({1}, [&](tl::Index) {
      auto x = b.shared(dtype, {bm, bk}), g = b.shared(dtype, {bn, bk}), u = b.shared(dtype, {bn, bk});
      auto gate = b.fragment(tl::f32, {bm, bn}), up = b.fragment(tl::f32, {bm, bn});
      b.clear(gate), b.clear(up);
      b.pipelined(v["trips"], tl::stages(2), [&](tl::Index step) {
        b.copy(X(0, step * bk), x);
        b.copy(G(0, step * bk), g);
        b.copy(U(0, step * bk), u);
        b.gemm(x, g, gate, tl::trans_b);
        b.gemm(x, u, up, tl::trans_b);
      });
      b.parallel({bm, bn}, [&](tl::Index i, tl::Index j) { up(i, j) = tl::max(gate(i, j), 0.f) - up(i, j); });
      b.copy(up, C(0, 0));
    });
  });
  const Reals x = whole(m * k, -1, 1, 1), g = whole(n * k, -1, 1, 2), u = whole(n * k, -1, 1, 3);
  Reals c;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Real gate = 0, up = 0;
      for (int64_t p = 0; p < k; ++p) {
        gate += x[static_cast<size_t>(i * k + p)] * g[static_cast<size_t>(j * k + p)];
        up += x[static_cast<size_t>(i * k + p)] * u[static_cast<size_t>(j * k + p)];
      }
      c.push_back(std::fmax(gate, 0) - up);
    }
  s.launch().input(dtype, x).input(dtype, g).input(dtype, u).output(dtype, exactly(c));
  return s;
}

}  // namespace

void add_warpgroup_cases(std::vector<Case>& to) {
  const Axis pairs{"types", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}};
  to.push_back({"40", "warpgroup_types", {pairs, {"row_bytes", {128, 64, 32, 96}}, {"M", {64, 128}}}, types});
  to.push_back({"36", "warpgroup_majors",
                {{"trans", {0, 1, 2, 3}}, {"M", {64, 128}}, {"N", {16, 48, 96, 128, 64}}, {"K", {16, 48, 64}}, {"out", {0, 1}}, dtypes({tl::f16, tl::bf16})}, majors});
  to.push_back({"36", "warpgroup_widths", {{"N", {8, 16, 24, 40, 72, 100, 144, 256}}, {"M", {16, 64, 100, 128, 192, 256}}, {"types", {0, 3, 6}}}, widths});
  to.push_back({"40", "warpgroup_results", {{"out", {0, 1, 2, 3, 4, 5, 6, 7}}, {"N", {64, 96, 80, 40}}, {"M", {64, 128, 32}}, {"tiles", {0, 1}}}, results});
  to.push_back({"39", "warpgroup_endings", {{"kind", {0, 1, 2, 3, 4, 5, 6, 7}}, {"M", {64, 128}}, {"N", {64, 96}}, {"persistent", {0, 1}}, {"out", {static_cast<int64_t>(tl::f32), static_cast<int64_t>(tl::bf16)}}}, endings});
  to.push_back({"39", "warpgroup_block_scales", {{"types", {0, 3}}, {"M", {64, 128}}, {"N", {64, 40}}, {"row_bytes", {128, 64}}, {"persistent", {0, 1}}, {"trips", {5, 1, 2, 4}}}, block_scales});
  to.push_back({"39", "warpgroup_two_products", {{"M", {64, 128}}, {"N", {64, 40}}, {"trips", {4, 5}}, dtypes({tl::f16, tl::bf16})}, two_products_worked_on});
  to.push_back({"40", "tf32_rounds_half_to_even", {{"base", {4090, 8160}}}, tf32_rounds});
}

}  // namespace tilert::conformance
