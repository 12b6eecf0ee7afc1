// Cases 17, 20 and 21: integer division, shifts, casts and rounding, elementary functions.
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

using Binary = tl::Expr (*)(const tl::Expr&, const tl::Expr&);

// y = f(a, b) for each pair, in blocks of 64.
void binary_program(Scenario& s, tl::DType dtype, tl::DType out, int64_t n, Binary f) {
  s.program([&](tl::Builder& b) {
    auto x = b.input("a", dtype, {n}), z = b.input("b", dtype, {n}), y = b.output("y", out, {n});
    b.grid({tl::ceildiv(n, 64)}, [&](tl::Index block) {
      auto t = b.fragment(dtype, {64}), u = b.fragment(dtype, {64}), r = b.fragment(out, {64});
      b.copy(x(block * 64), t);
      b.copy(z(block * 64), u);
      b.parallel({64}, [&](tl::Index i) { r(i) = f(t(i), u(i)); });
      b.copy(r, y(block * 64));
    });
  });
}

Real floor_div(Real a, Real b) {
  if (b == 0) return 0;
  const Real q = std::trunc(a / b);  // exact enough: both are integers below 2^63 in 64 bits of mantissa
  const Real r = a - q * b;
  return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;
}

Real shift_left(Real a, Real b, int bits) { return b >= bits ? 0 : a * std::ldexp(Real{1}, static_cast<int>(b)); }
Real shift_right(Real a, Real b, int bits) {
  return b >= bits ? (a < 0 ? -1 : 0) : std::floor(a / std::ldexp(Real{1}, static_cast<int>(b)));
}

Real integer_result(int64_t operation, Real a, Real b, int bits) {
  switch (operation) {
    case 0: return floor_div(a, b);
    case 1: return b == 0 ? a : a - floor_div(a, b) * b;
    case 2: return b == 0 ? 0 : std::trunc(a / b);
    case 3: return b == 0 ? a : a - std::trunc(a / b) * b;
    case 4: return shift_left(a, b, bits);
    default: return shift_right(a, b, bits);
  }
}

Binary integer_operation(int64_t operation) {
  static const Binary list[] = {
      [](const tl::Expr& a, const tl::Expr& b) { return a / b; },
      [](const tl::Expr& a, const tl::Expr& b) { return a % b; },
      tl::trunc_div,
      tl::trunc_mod,
      [](const tl::Expr& a, const tl::Expr& b) { return a << b; },
      [](const tl::Expr& a, const tl::Expr& b) { return a >> b; },
  };
  return list[operation];
}

// 17. Division, remainder and shifts of every sign, by zero, by the least value, by 0, width - 1 and beyond.
Scenario integers(const Values& v) {
  const tl::DType dtype = v.dtype();
  const int bits = 8 * static_cast<int>(bytes_of(dtype));
  const bool natural = is_unsigned(dtype);
  const Real least = natural ? 0 : -std::ldexp(Real{1}, bits - 1);
  const Real most = natural ? std::ldexp(Real{1}, bits) - 1 : -(least + 1);
  const bool shift = v["operation"] >= 4;
  Reals left = {0, 1, -1, 7, -7, 8, 48, 100, -100, least, most, least + 1};
  Reals right = shift ? Reals{0, 1, 4, Real(bits - 1), Real(bits)} : Reals{1, -1, 2, -2, 3, -3, 7, 0, least, most};
  for (Reals* side : {&left, &right})
    if (natural)
      for (Real& x : *side) x = std::fabs(x);
  Reals a, b, want;
  const size_t pairs = left.size() * right.size();
  for (size_t i = 0; i < pairs; ++i) {  // both change from element to element
    const size_t pair = i * 7 % pairs;
    a.push_back(left[pair / right.size()]), b.push_back(right[pair % right.size()]);
    want.push_back(wrapped(dtype, integer_result(v["operation"], a.back(), b.back(), bits)));
  }
  Scenario s;
  binary_program(s, dtype, dtype, static_cast<int64_t>(a.size()), integer_operation(v["operation"]));
  s.launch().input(dtype, a).input(dtype, b).output(dtype, exactly(want));
  return s;
}

// 17. A value shifted out and back in its own width: int8 8 << 4 >> 4 is -8.
Scenario shift_back(const Values&) {
  Scenario s;
  binary_program(s, tl::i8, tl::i8, 4, [](const tl::Expr& a, const tl::Expr& b) { return (a << b) >> b; });
  s.launch().input(tl::i8, {8, 48, 7, -1}).input(tl::i8, {4, 4, 4, 4}).output(tl::i8, exactly({-8, 0, 7, -1}));
  return s;
}

// 20. Casts between all types, special values included.
Scenario casts(const Values& v) {
  const tl::DType from = v.dtype(), to = v.dtype("to");
  const Real inf = INFINITY;
  Reals values = {0, 1, -1, 2.5L, -2.5L, 3.5L, 0.5L, -0.5L, 1.5L, 127, 128, -128, -129, 255, 65504, 65520, 1e6L, -1e6L, 2147483647.0L,
                  -2147483648.0L, 3e9L, -3e9L, 1e19L, -1e19L, 3.3895e38L, 6e-8L, 1e-40L, 1.00390625L, 1.01171875L, 1.0009765625L};
  if (is_float(from)) values.insert(values.end(), {inf, -inf, NAN});
  Reals in, want;
  for (Real x : values) {
    if (!is_float(from)) x = saturated(from, x);
    if (from == tl::boolean) x = x != 0;
    const Real y = rounded(from, x);
    in.push_back(y);
    if (to == tl::boolean) want.push_back(y != 0 || std::isnan(y));
    else if (is_float(to)) want.push_back(rounded(to, y));
    else want.push_back(is_float(from) ? saturated(to, y) : wrapped(to, y));
  }
  const int64_t n = static_cast<int64_t>(in.size());
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", from, {n}), y = b.output("y", to, {n});
    b.grid({1}, [&](tl::Index) {
      auto t = b.fragment(from, {n}), u = b.fragment(to, {n});
      b.copy(x, t);
      if (v["copy"]) b.copy(t, u);
      else b.parallel({n}, [&](tl::Index i) { u(i) = tl::cast(to, t(i)); });
      b.copy(u, y);
    });
  });
  s.launch().input(from, in).output(to, exactly(want));
  return s;
}

using Unary = tl::Expr (*)(const tl::Expr&);
struct Function {
  Unary make;
  Real (*exact)(Real);
  Real ulps;      // in f32
  bool positive;  // only for arguments above 0
};
const Function kFunctions[] = {
    {tl::exp, [](Real x) { return std::exp(x); }, 2, false},
    {tl::exp2, [](Real x) { return std::exp2(x); }, 2, false},
    {tl::log, [](Real x) { return std::log(x); }, 2, true},
    {tl::log2, [](Real x) { return std::log2(x); }, 3, true},
    {tl::rsqrt, [](Real x) { return 1 / std::sqrt(x); }, 2, true},
    {tl::sqrt, [](Real x) { return std::sqrt(x); }, 0.5L, true},
    {tl::tanh, [](Real x) { return std::tanh(x); }, 3, false},
    {tl::erf, [](Real x) { return std::erf(x); }, 2, false},
    {tl::sigmoid, [](Real x) { return 1 / (1 + std::exp(-x)); }, 3, false},
    {tl::sin, [](Real x) { return std::sin(x); }, 2, false},
    {tl::cos, [](Real x) { return std::cos(x); }, 2, false},
    {tl::floor, [](Real x) { return std::floor(x); }, 0, false},
    {tl::ceil, [](Real x) { return std::ceil(x); }, 0, false},
    {tl::trunc, [](Real x) { return std::trunc(x); }, 0, false},
    {tl::round, [](Real x) { return std::nearbyint(x); }, 0, false},
    {tl::abs, [](Real x) { return std::fabs(x); }, 0, false},
};

// 21. Elementary functions over their range, special values included; 20: round goes half to even.
Scenario functions(const Values& v) {
  const tl::DType dtype = v.dtype();
  const Function& f = kFunctions[v["function"]];
  Reals in = {0.5L, 1.5L, 2.5L, 1, 2, 0.25L, 1e-3L, 10, 30, 60, 1e-6L, 0.75L, 3.5L, 4.5L};
  if (f.positive) in.insert(in.end(), {1e-30L, 1e30L, 5e4L, 0.999L, 1.001L, INFINITY, 0});
  else in.insert(in.end(), {-0.5L, -1.5L, -2.5L, -1, -10, -30, -60, 100, -100, 0, INFINITY, -INFINITY});
  for (Real x : uniform(tl::f32, 200, 11)) in.push_back(f.positive ? std::fabs(x) * 8 + 1e-4L : x * 8);
  in.push_back(NAN);
  std::vector<Want> want;
  for (Real& x : in) {
    x = rounded(dtype, x);
    const Real y = f.exact(x);
    // 16-bit results are f32 results rounded once more. What overflows or underflows may land on either neighbour.
    const Real out = rounded(dtype, y);
    const Real tolerance = dtype == tl::f32 || dtype == tl::f64 ? f.ulps * ulp(dtype, y) : f.ulps == 0 ? 0 : 0.5L * ulp(dtype, y) + f.ulps * ulp(tl::f32, y);
    want.push_back({std::isinf(out) || f.ulps == 0 ? out : y, tolerance, false});
  }
  Scenario s;
  const int64_t n = static_cast<int64_t>(in.size());
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", dtype, {n}), y = b.output("y", dtype, {n});
    b.grid({1}, [&](tl::Index) {
      auto t = b.fragment(dtype, {n});
      b.copy(x, t);
      b.parallel({n}, [&](tl::Index i) { t(i) = f.make(t(i)); });
      b.copy(t, y);
    });
  });
  s.launch().input(dtype, in).output(dtype, want);
  return s;
}

// 32. The number wins over NaN, or NaN propagates; zeros keep their order.
Scenario extrema(const Values& v) {
  static const Binary list[] = {
      [](const tl::Expr& a, const tl::Expr& b) { return tl::max(a, b); },
      [](const tl::Expr& a, const tl::Expr& b) { return tl::min(a, b); },
      [](const tl::Expr& a, const tl::Expr& b) { return tl::max_nan(a, b); },
      [](const tl::Expr& a, const tl::Expr& b) { return tl::min_nan(a, b); },
  };
  const bool propagate = v["operation"] >= 2, least = v["operation"] % 2;
  const auto wanted = [least](Real x, Real y) {
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) ? y : x;
    if (x == y) return std::signbit(x) == least ? x : y;  // -0 < +0
    return (x < y) == least ? x : y;
  };
  const Reals some = {1, -1, 0, -Real{0}, INFINITY, -INFINITY, NAN, 3};
  Reals a, b, want;
  for (Real x : some)
    for (Real y : some) {
      a.push_back(x), b.push_back(y);
      const bool either = std::isnan(x) || std::isnan(y);
      want.push_back(either && propagate ? Real(NAN) : wanted(x, y));
    }
  Scenario s;
  binary_program(s, v.dtype(), v.dtype(), static_cast<int64_t>(a.size()), list[v["operation"]]);
  s.launch().input(v.dtype(), a).input(v.dtype(), b).output(v.dtype(), exactly_signed(want));
  return s;
}

// 20. The magnitude of -0 is +0, also where a compiler knows that the value is 2 or -0 and takes that for not negative.
Scenario magnitude_of_zero(const Values& v) {
  Scenario s;
  s.program([](tl::Builder& b) {
    auto chosen = b.scalar("chosen", tl::boolean);
    auto y = b.output("y", tl::i32, {1});
    b.grid({1}, [&](tl::Index) {
      const tl::Expr two_or_minus_zero = tl::select(chosen, b.constant(tl::f32, -2.0), b.constant(tl::f32, 0.0)) * -1.f;
      y(0) = tl::reinterpret(tl::i32, tl::abs(two_or_minus_zero));
    });
  });
  s.launch().scalar(tl::boolean, v["chosen"]).output(tl::i32, exactly({v["chosen"] ? Real(0x40000000) : Real(0)}));
  return s;
}

}  // namespace

void add_scalar_cases(std::vector<Case>& to) {
  const Axis whole_types = dtypes({tl::i8, tl::i32, tl::i64});
  const Axis floats = dtypes({tl::f32, tl::f16, tl::bf16});
  Axis all = dtypes({tl::f32, tl::f16, tl::bf16, tl::i8, tl::i32, tl::i64, tl::boolean});
  Axis target = all;
  target.name = "to";
  Axis each{"function", {}};
  for (size_t i = 0; i < std::size(kFunctions); ++i) each.values.push_back(static_cast<int64_t>(i));
  to.push_back({"17", "division_and_shifts", {{"operation", {0, 1, 2, 3, 4, 5}}, whole_types}, integers});
  to.push_back({"17", "division_and_shifts_of_more_types", {{"operation", {0, 1, 2, 3, 4, 5}}, dtypes({tl::u8, tl::i16, tl::u16, tl::u32, tl::u64})}, integers});
  to.push_back({"17", "shifted_out_and_back", {}, shift_back});
  to.push_back({"20", "casts", {all, target, {"copy", {0, 1}}}, casts});
  to.push_back({"20", "the_magnitude_of_zero", {{"chosen", {0, 1}}}, magnitude_of_zero});
  to.push_back({"21", "elementary_functions", {each, floats}, functions});
  to.push_back({"21", "elementary_functions_in_f64", {each, dtypes({tl::f64})}, functions});
  to.push_back({"32", "extrema_and_nan_of_f64", {{"operation", {0, 1, 2, 3}}, dtypes({tl::f64})}, extrema});
  to.push_back({"32", "extrema_and_nan", {{"operation", {0, 1, 2, 3}}, floats}, extrema});
}

}  // namespace tilert::conformance
