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
  tl::Hints hints;
};

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

void build(tl::Builder& b, const Request& r) {
  const auto [m, n, k, bm, bn, bk] = r.shape;
  auto A = r.trans_a ? b.input("A", r.types.a, {k, m}) : b.input("A", r.types.a, {m, k});
  auto B = r.trans_b ? b.input("B", r.types.b, {n, k}) : b.input("B", r.types.b, {k, n});
  auto C = b.output("C", r.out, {m, n});
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
    b.copy(acc, C(y * bm, x * bn));
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
  r.shape = {64, 32, 64, 64, 32, 32};
  r.out = tl::f32;
  Scenario s;
  s.program([&](tl::Builder& b) { build(b, r); });
  Inputs in = inputs_of(r, 0, 0);
  const auto ten_bits = [](Real x) {
    const Real step = x == 0 ? Real{1} : std::ldexp(Real{1}, std::ilogb(x) - 10);
    return std::nearbyint(x / step) * step;
  };
  // One value of a row meets a one of b: each sum is one rounded value.
  for (int64_t i = 0; i < 64; ++i) in.a[static_cast<size_t>(i * 64 + i)] = static_cast<Real>(v["base"] + i);
  for (int64_t j = 0; j < 32; ++j)
    for (int64_t k = 0; k < 64; ++k) in.b[static_cast<size_t>(j * 64 + k)] = 1 + j % 3;
  for (int64_t i = 0; i < 64; ++i)
    for (int64_t j = 0; j < 32; ++j) in.c[static_cast<size_t>(i * 32 + j)] = ten_bits(static_cast<Real>(v["base"] + i)) * static_cast<Real>(1 + j % 3);
  s.launch().input(tl::f32, in.a).input(tl::f32, in.b).output(tl::f32, exactly(in.c));
  return s;
}

}  // namespace

void add_warpgroup_cases(std::vector<Case>& to) {
  const Axis pairs{"types", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}};
  to.push_back({"40", "warpgroup_types", {pairs, {"row_bytes", {128, 64, 32, 96}}, {"M", {64, 128}}}, types});
  to.push_back({"36", "warpgroup_majors",
                {{"trans", {0, 1, 2, 3}}, {"M", {64, 128}}, {"N", {16, 48, 96, 128, 64}}, {"K", {16, 48, 64}}, {"out", {0, 1}}, dtypes({tl::f16, tl::bf16})}, majors});
  to.push_back({"36", "warpgroup_widths", {{"N", {8, 16, 24, 40, 72, 100, 144, 256}}, {"M", {16, 64, 100, 128, 192, 256}}, {"types", {0, 3, 6}}}, widths});
  to.push_back({"40", "tf32_rounds_half_to_even", {{"base", {4090, 8160}}}, tf32_rounds});
}

}  // namespace tilert::conformance
