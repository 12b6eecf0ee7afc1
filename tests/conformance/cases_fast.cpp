// Case 76: fast math. Each fast form over its whole range, ends and subnormals included, within the bounds of ir/fast.def; what has
// no fast form stays as exact as it is.
#include <cmath>
#include <iterator>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

using Binary = tl::Expr (*)(const tl::Expr&, const tl::Expr&);

// What each form is, of one argument or two.
namespace exact {
Real div(Real x, Real y) { return x / y; }
Real sqrt(Real x, Real) { return std::sqrt(x); }
Real rsqrt(Real x, Real) { return 1 / std::sqrt(x); }
Real exp(Real x, Real) { return std::exp(x); }
Real exp2(Real x, Real) { return std::exp2(x); }
Real log(Real x, Real) { return std::log(x); }
Real log2(Real x, Real) { return std::log2(x); }
Real sin(Real x, Real) { return std::sin(x); }
Real cos(Real x, Real) { return std::cos(x); }
Real tanh(Real x, Real) { return std::tanh(x); }
Real sigmoid(Real x, Real) { return 1 / (1 + std::exp(-x)); }
}  // namespace exact

namespace made {
tl::Expr div(const tl::Expr& x, const tl::Expr& y) { return x / y; }
#define FORM(name) \
  tl::Expr name(const tl::Expr& x, const tl::Expr&) { return tl::name(x); }
FORM(sqrt) FORM(rsqrt) FORM(exp) FORM(exp2) FORM(log) FORM(log2) FORM(sin) FORM(cos) FORM(tanh) FORM(sigmoid)
#undef FORM
}  // namespace made

struct Form {
  Binary make;
  Real (*exact)(Real, Real);
  bool two;  // arguments
  Real ulps, ulps_per_argument, absolute, reach;
};
const Form kForms[] = {
#define TILERT_FAST(name, ulps, ulps_per_argument, absolute, reach) {made::name, exact::name, exact::name == exact::div, ulps, ulps_per_argument, absolute, reach},
#include "ir/fast.def"
};

constexpr Real kLeastNormal = 0x1p-126L;
Real flushed(Real x) { return std::fabs(x) < kLeastNormal ? std::copysign(Real{0}, x) : x; }

// The result `y` for the arguments x and z, of which subnormals may count as zeros.
Want within(const Form& form, tl::DType dtype, Real x, Real z) {
  const Real y = form.exact(x, z);
  if (form.reach > 0 && std::fabs(x) > form.reach && std::isfinite(x)) return {0, 1 + form.absolute + ulp(dtype, 1), false};
  Want want{y, 0, false};
  const Real other = form.exact(flushed(x), flushed(z));
  if (flushed(x) != x || (form.two && flushed(z) != z)) want.either = true, want.other = std::isfinite(other) ? rounded(dtype, other) : other;
  const auto is_end = [](Real v) { return v == 0 || !std::isfinite(v); };
  if (!std::isfinite(y) || (y == 0 && (is_end(x) || (form.two && is_end(z))))) {
    want.sign = y == 0;
    return want;
  }
  const Real nearest = rounded(tl::f32, y);
  Real error = (form.ulps + form.ulps_per_argument * std::fabs(x)) * ulp(tl::f32, std::isinf(nearest) ? y : nearest) + form.absolute;
  if (dtype != tl::f32) error += ulp(dtype, std::fabs(y) + error) / 2;
  want.tolerance = error;
  const Real result = rounded(dtype, y);
  const auto ends = [&](Real to) { want.either = true, want.other = to; };
  if (std::isinf(result)) {
    want.value = result;
    if (std::isfinite(rounded(dtype, std::fabs(y) - error))) ends(y), want.tolerance = error;
  } else if (std::isinf(rounded(dtype, std::fabs(y) + error))) {
    ends(std::copysign(Real{INFINITY}, y));
  }
  if (!want.either && std::fabs(y) - error < kLeastNormal) ends(0);
  return want;
}

// Every exponent with both signs, what models use, and the ends.
Reals sweep(tl::DType dtype, uint64_t seed) {
  Reals out = {0, -Real{0}, INFINITY, -INFINITY, NAN, 1, -1, 0.5L, 2, 4, 0x1p-126L, -0x1p-126L, 0x1p-127L, -0x1p-127L, 0x1p-149L, -0x1p-149L,
               0x1.fffffep127L, -0x1.fffffep127L, 0x1p126L, 0x1p127L, 88.5L, 88.8L, -87.3L, -87.4L, -103, -104, 127.99999L, 128, -126, -126.5L,
               -149, -150, 3.14159274L, -3.14159274L, 6.28318548L, 1048576, 1048577, 1e6L, -1e6L, 65504, 65519, 65520, 11.09L, -17.3L};
  const Reals mantissas = uniform(tl::f32, 2048, seed), plain = uniform(tl::f32, 1024, seed + 1);
  for (int exponent = -149; exponent <= 127; ++exponent)
    for (int i = 0; i < 4; ++i) {
      const Real m = mantissas[static_cast<size_t>((exponent + 149) * 4 + i)];
      out.push_back(std::copysign(std::ldexp(1 + std::fabs(m), exponent), i % 2 ? -1 : 1));
    }
  for (size_t i = 0; i < plain.size(); ++i) out.push_back(plain[i] * (i % 3 == 0 ? 4 : i % 3 == 1 ? 30 : 1000));
  while (out.size() % 64) out.push_back(1);
  for (Real& x : out) x = rounded(dtype, x);
  return out;
}

void fast_program(Scenario& s, const Form& form, tl::DType dtype, int64_t n, bool whole) {
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", dtype, {n}), z = b.input("z", dtype, {n}), y = b.output("y", dtype, {n});
    b.grid({n / 64}, whole ? tl::Hints().fast_math() : tl::Hints(), [&](tl::Index block) {
      auto t = b.fragment(dtype, {64}), u = b.fragment(dtype, {64});
      b.copy(x(block * 64), t);
      b.copy(z(block * 64), u);
      b.parallel({64}, [&](tl::Index i) { t(i) = whole ? form.make(t(i), u(i)) : tl::fast(form.make(t(i), u(i))); });
      b.copy(t, y(block * 64));
    });
  });
}

// Asked for by the operation, and by the kernel: the same bits.
Scenario forms(const Values& v) {
  const tl::DType dtype = v.dtype();
  const Form& form = kForms[v["form"]];
  Reals x = sweep(dtype, 21), z = x;
  for (size_t i = 0; i < z.size(); ++i) z[i] = x[(i * 37 + 5) % x.size()];  // 37 has no divisor in common: each once
  for (Real a : {Real{0}, Real{1}, Real{INFINITY}, -Real{INFINITY}, -Real{0}, 0x1p127L, 0x1p-140L, Real{NAN}})
    for (Real b : {Real{0}, Real{3}, Real{INFINITY}, -Real{0}, 0x1.8p127L, 0x1p-126L, 0x1p-140L, -Real{2}})
      x.push_back(rounded(dtype, a)), z.push_back(rounded(dtype, b));
  std::vector<Want> want;
  for (size_t i = 0; i < x.size(); ++i) want.push_back(within(form, dtype, x[i], z[i]));
  Scenario s;
  for (bool whole : {false, true}) fast_program(s, form, dtype, static_cast<int64_t>(x.size()), whole);
  s.same_bits = true;
  s.launch().input(dtype, x).input(dtype, z).output(dtype, want);
  return s;
}

// In a kernel of fast math: division in f64 and of integers, and functions without a fast form.
Scenario others(const Values&) {
  const Reals a = {1, 7, -7, 100, 3, 1e10L, -22, 5}, c = {3, 2, 2, 7, -5, 3, 7, 9};
  std::vector<Want> quotients, powers, errors;
  Reals whole;
  for (size_t i = 0; i < a.size(); ++i) {
    const Real quotient = static_cast<double>(a[i]) / static_cast<double>(c[i]), x = rounded(tl::f32, a[i]);
    quotients.push_back({quotient, 0, false});
    whole.push_back(std::floor(quotient));
    powers.push_back({std::pow(x, c[i]), 2 * ulp(tl::f32, std::pow(x, c[i])), false});
    if (std::isinf(rounded(tl::f32, powers.back().value))) powers.back() = {INFINITY, 0, false};
    errors.push_back({std::erf(x), 3 * ulp(tl::f32, std::erf(x)), false});
  }
  Scenario s;
  s.program([](tl::Builder& b) {
    auto x = b.input("x", tl::f64, {8}), z = b.input("z", tl::f64, {8}), q = b.output("q", tl::f64, {8});
    auto n = b.output("n", tl::i64, {8});
    auto p = b.output("p", tl::f32, {8}), e = b.output("e", tl::f32, {8});
    b.grid({1}, tl::Hints().fast_math(), [&](tl::Index) {
      b.parallel({8}, [&](tl::Index i) {
        const tl::Expr u = x(i), w = z(i), f = tl::cast(tl::f32, u);
        q(i) = u / w;
        n(i) = tl::cast(tl::i64, u) / tl::cast(tl::i64, w);
        p(i) = tl::pow(f, tl::cast(tl::f32, w));
        e(i) = tl::erf(f);
      });
    });
  });
  s.launch().input(tl::f64, a).input(tl::f64, c).output(tl::f64, quotients).output(tl::i64, exactly(whole)).output(tl::f32, powers).output(tl::f32, errors);
  return s;
}

// Rows that are masked whole, in a softmax of fast math: exp2 of -inf is 0, 0 / 0 is NaN and is selected away.
Scenario masked_softmax(const Values& v) {
  constexpr int64_t kRows = 16, kColumns = 48;
  Reals in = uniform(tl::f32, kRows * kColumns, 5);
  std::vector<Want> want;
  for (int64_t r = 0; r < kRows; ++r) {
    Real sum = 0, most = -INFINITY;
    const auto at = [&](int64_t c) -> Real& { return in[static_cast<size_t>(r * kColumns + c)]; };
    for (int64_t c = 0; c < kColumns; ++c) at(c) = r == v["masked"] || c % 5 == 2 ? -INFINITY : at(c) * 9, most = std::max(most, at(c));
    for (int64_t c = 0; c < kColumns; ++c) sum += std::isinf(at(c)) ? 0 : std::exp2(at(c) - most);
    for (int64_t c = 0; c < kColumns; ++c) {
      const Real p = std::isinf(at(c)) ? 0 : std::exp2(at(c) - most) / sum;
      want.push_back({p, p * 0x1p-19L, false});
    }
  }
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::f32, {kRows, kColumns}), y = b.output("y", tl::f32, {kRows, kColumns});
    b.grid({1}, tl::Hints().fast_math(), [&](tl::Index) {
      auto t = b.fragment(tl::f32, {kRows, kColumns});
      auto most = b.fragment(tl::f32, {kRows}), sum = b.fragment(tl::f32, {kRows});
      b.copy(x, t);
      b.reduce(tl::max, t, most, 1);
      b.parallel({kRows, kColumns}, [&](tl::Index r, tl::Index c) {
        t(r, c) = tl::exp2(t(r, c) - tl::select(most(r) == -tl::inf, 0, most(r)));
      });
      b.reduce(tl::sum, t, sum, 1);
      b.parallel({kRows, kColumns}, [&](tl::Index r, tl::Index c) { t(r, c) = tl::select(sum(r) == 0, 0, t(r, c) / sum(r)); });
      b.copy(t, y);
    });
  });
  s.launch().input(tl::f32, in).output(tl::f32, want);
  return s;
}

}  // namespace

void add_fast_cases(std::vector<Case>& to) {
  Axis each{"form", {}};
  for (size_t i = 0; i < std::size(kForms); ++i) each.values.push_back(static_cast<int64_t>(i));
  to.push_back({"76", "fast_forms", {each, dtypes({tl::f32, tl::f16, tl::bf16})}, forms});
  to.push_back({"76", "fast_math_leaves_other_operations", {}, others});
  to.push_back({"76", "fast_softmax_of_masked_rows", {{"masked", {-1, 3}}}, masked_softmax});
}

}  // namespace tilert::conformance
