// The functions of llvm_math.h. Each reduces its argument to a short interval, evaluates a polynomial of llvm_math.def
// and puts the parts together; ranges are joined by selects. Every constant's origin is tools/minimax.py.
#include "codegen/llvm_math.h"

#include <initializer_list>

namespace tilert::codegen {
namespace {

namespace polynomials {
#define TILERT_POLYNOMIAL(name, ...) constexpr float name[] = {__VA_ARGS__};
#include "codegen/llvm_math.def"
}  // namespace polynomials

constexpr float kRoundToInteger = 0x1.8p23f;  // x + this has the nearest integer of x in its low bits, for |x| < 2^22

class MathWriter {
 public:
  MathWriter(const CpuIsa& isa, int lanes)
      : isa_(isa), lanes_(lanes), f_(vector_type(lanes, "float")), i_(vector_type(lanes, "i32")), b_(vector_type(lanes, "i1")) {}

  std::string write(MathFunction function) {
    const bool two = function == MathFunction::pow;
    t_.begin(fmt::format("define internal {0} @{1}({0} %x{2}) alwaysinline nounwind", f_, math_name(function, lanes_),
                         two ? fmt::format(", {} %y", f_) : ""));
    const std::string result = body(function);
    t_.put("ret {} {}", f_, result);
    t_.end();
    return t_.take();
  }

 private:
  std::string body(MathFunction function) {
    switch (function) {
      case MathFunction::exp: return exp("%x");
      case MathFunction::exp2: return exp2("%x");
      case MathFunction::log: return log("%x");
      case MathFunction::log2: return log2("%x");
      case MathFunction::tanh: return tanh("%x");
      case MathFunction::erf: return erf("%x");
      case MathFunction::sigmoid: return sigmoid("%x");
      case MathFunction::rsqrt: return div(c(1), intrinsic("sqrt", "%x"));
      case MathFunction::sin: return sin_or_cos("%x", false);
      case MathFunction::cos: return sin_or_cos("%x", true);
      case MathFunction::pow: return t_.let("call {0} @llvm.pow.{1}({0} %x, {0} %y)", f_, mangled());
    }
    return "%x";
  }

  // ---- vocabulary

  std::string c(float value) const { return splat_constant(lanes_, "float", f32_constant(value)); }
  std::string k(uint32_t value) const { return splat_constant(lanes_, "i32", std::to_string(static_cast<int32_t>(value))); }
  std::string mangled() const { return lanes_ == 1 ? "f32" : fmt::format("v{}f32", lanes_); }
  std::string intrinsic(const char* name, const std::string& x) { return t_.let("call {0} @llvm.{1}.{2}({0} {3})", f_, name, mangled(), x); }
  std::string add(const std::string& a, const std::string& b) { return t_.let("fadd {} {}, {}", f_, a, b); }
  std::string sub(const std::string& a, const std::string& b) { return t_.let("fsub {} {}, {}", f_, a, b); }
  std::string mul(const std::string& a, const std::string& b) { return t_.let("fmul {} {}, {}", f_, a, b); }
  std::string div(const std::string& a, const std::string& b) { return t_.let("fdiv {} {}, {}", f_, a, b); }
  std::string neg(const std::string& a) { return t_.let("fneg {} {}", f_, a); }
  std::string fma(const std::string& a, const std::string& b, const std::string& s) {
    if (!isa_.fma) return add(mul(a, b), s);
    return t_.let("call {0} @llvm.fma.{1}({0} {2}, {0} {3}, {0} {4})", f_, mangled(), a, b, s);
  }
  std::string integer(const char* op, const std::string& a, const std::string& b) { return t_.let("{} {} {}, {}", op, i_, a, b); }
  std::string bits(const std::string& x) { return t_.let("bitcast {} {} to {}", f_, x, i_); }
  std::string number(const std::string& x) { return t_.let("bitcast {} {} to {}", i_, x, f_); }
  std::string compare(const char* relation, const std::string& a, const std::string& b) { return t_.let("fcmp {} {} {}, {}", relation, f_, a, b); }
  std::string select(const std::string& mask, const std::string& a, const std::string& b) {
    return t_.let("select {0} {1}, {2} {3}, {2} {4}", b_, mask, f_, a, b);
  }
  std::string absolute(const std::string& x) { return number(integer("and", bits(x), k(0x7fffffffu))); }
  // |magnitude| with the sign of x.
  std::string with_sign(const std::string& magnitude, const std::string& x) {
    return number(integer("or", bits(magnitude), integer("and", bits(x), k(0x80000000u))));
  }
  // Into [low, high]; a NaN stays.
  std::string clamp(const std::string& x, float low, float high) {
    const std::string above = select(compare("olt", x, c(low)), c(low), x);
    return select(compare("ogt", above, c(high)), c(high), above);
  }
  template <size_t N>
  std::string polynomial(const float (&coefficients)[N], const std::string& x) {
    std::string sum = c(coefficients[N - 1]);
    for (size_t i = N - 1; i-- > 0;) sum = fma(sum, x, c(coefficients[i]));
    return sum;
  }

  // The nearest integer of x, as a float and in the low bits of an integer.
  struct Rounded {
    std::string number, bits;
  };
  Rounded round_to_integer(const std::string& x) {
    const std::string shifted = add(x, c(kRoundToInteger));
    return {sub(shifted, c(kRoundToInteger)), integer("sub", bits(shifted), bits(c(kRoundToInteger)))};
  }

  // value * 2^n for n in [-252, 254], by two exact steps: only the last product rounds, to a subnormal or to infinity.
  std::string scale(const std::string& value, const std::string& n) {
    const std::string first = integer("ashr", n, k(1));
    const std::string second = integer("sub", n, first);
    const auto power = [&](const std::string& e) { return number(integer("shl", integer("add", e, k(127)), k(23))); };
    return mul(mul(value, power(first)), power(second));
  }

  // ---- exponentials

  std::string exp2(const std::string& x) {
    const std::string inside = clamp(x, -151.0f, 129.0f);
    const Rounded n = round_to_integer(inside);
    return scale(polynomial(polynomials::exp2, sub(inside, n.number)), n.bits);
  }

  // e^x = 2^n e^r, |r| <= ln2 / 2, e^r = 1 + r + r^2 p(r).
  std::string exp(const std::string& x) {
    const std::string inside = clamp(x, -104.0f, 89.0f);
    const Rounded n = round_to_integer(mul(inside, c(0x1.715476p0f)));
    const std::string r1 = fma(n.number, c(-polynomials::ln2_parts[0]), inside);
    const std::string r = fma(n.number, c(-polynomials::ln2_parts[1]), r1);
    const std::string p = polynomial(polynomials::exp, r);
    return scale(add(fma(mul(r, r), p, r), c(1)), n.bits);
  }

  std::string sigmoid(const std::string& x) {  // with e^-|x| nothing overflows, and e / (1 + e) keeps the small results
    const std::string e = exp(neg(absolute(x)));
    const std::string top = select(compare("olt", x, c(0)), e, c(1));
    const std::string result = div(top, add(e, c(1)));
    return select(compare("uno", x, x), x, result);
  }

  std::string tanh(const std::string& x) {
    const std::string a = absolute(x), square = mul(x, x);
    const std::string small = fma(mul(polynomial(polynomials::tanh, square), square), a, a);
    const std::string e = exp(mul(clamp(a, 0.0f, 10.0f), c(2)));
    const std::string large = sub(c(1), div(c(2), add(e, c(1))));
    const std::string joined = with_sign(select(compare("olt", a, c(0.625f)), small, large), x);
    return select(compare("uno", x, x), x, joined);
  }

  std::string erf(const std::string& x) {
    const std::string a = absolute(x), square = mul(x, x);
    const std::string small = fma(polynomial(polynomials::erf_small, square), a, a);
    const std::string shifted = sub(clamp(a, 0.0f, 4.0f), c(2.4375f));
    const std::string large = sub(c(1), exp(polynomial(polynomials::erf_large, shifted)));
    const std::string joined = with_sign(select(compare("olt", a, c(0.9375f)), small, large), x);
    return select(compare("uno", x, x), x, joined);
  }

  // ---- logarithms

  // x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); subnormals are scaled up first.
  struct Parts {
    std::string e, f;
  };
  Parts exponent_and_fraction(const std::string& x) {
    const std::string tiny = compare("olt", x, c(0x1p-126f));
    const std::string normal = select(tiny, mul(x, c(0x1p23f)), x);
    const std::string lowered = integer("sub", bits(normal), k(0x3f3504f3u));  // the bits of sqrt(1/2)
    const std::string e = t_.let("sitofp {} {} to {}", i_, integer("ashr", lowered, k(23)), f_);
    const std::string m = number(integer("add", integer("and", lowered, k(0x7fffffu)), k(0x3f3504f3u)));
    return {select(tiny, sub(e, c(23)), e), sub(m, c(1))};
  }
  // log(1 + f) - f
  std::string log1p_minus(const std::string& f) {
    const std::string square = mul(f, f);
    const std::string cubic = mul(mul(polynomial(polynomials::log, f), f), square);
    return fma(square, c(-0.5f), cubic);
  }
  // What any logarithm is outside the finite positive numbers.
  std::string logarithm_ends(const std::string& x, const std::string& result) {
    const float infinity = __builtin_inff();
    const std::string zero = select(compare("oeq", x, c(0)), c(-infinity), result);
    const std::string high = select(compare("oeq", x, c(infinity)), c(infinity), zero);
    const std::string negative = select(compare("olt", x, c(0)), c(__builtin_nanf("")), high);
    return select(compare("uno", x, x), x, negative);
  }

  std::string log(const std::string& x) {
    const Parts parts = exponent_and_fraction(x);
    const std::string low = fma(parts.e, c(polynomials::ln2_parts[1]), log1p_minus(parts.f));
    const std::string high = fma(parts.e, c(polynomials::ln2_parts[0]), add(low, parts.f));
    return logarithm_ends(x, high);
  }

  // log2(e) is split, so that the leading product loses little.
  std::string log2(const std::string& x) {
    const std::string high = c(polynomials::log2e_parts[0]), low = c(polynomials::log2e_parts[1]);
    const Parts parts = exponent_and_fraction(x);
    const std::string rest = log1p_minus(parts.f);
    const std::string small = fma(rest, low, mul(parts.f, low));
    const std::string sum = add(fma(parts.f, high, fma(rest, high, small)), parts.e);
    return logarithm_ends(x, sum);
  }

  // ---- sine and cosine

  // r = x - q pi/2, |r| <= pi/4: exact enough while q is small enough for the parts of pi/2.
  std::string reduce(const std::string& x, const std::string& q) {
    std::string r = x;
    if (isa_.fma) {
      for (float part : polynomials::half_pi_fma) r = fma(q, c(-part), r);
    } else {
      for (float part : polynomials::half_pi_plain) r = sub(r, mul(q, c(part)));
    }
    return r;
  }

  std::string sin_or_cos(const std::string& x, bool cosine) {
    const Rounded q = round_to_integer(mul(x, c(0x1.45f306p-1f)));
    const std::string r = reduce(x, q.number), square = mul(r, r);
    const std::string sine = fma(mul(polynomial(polynomials::sin, square), square), r, r);
    const std::string tail = mul(polynomial(polynomials::cos, square), mul(square, square));
    const std::string half = mul(square, c(0.5f));
    const std::string top = sub(c(1), half);  // what this subtraction loses comes back through the tail
    const std::string lost = sub(sub(c(1), top), half);
    const std::string cosine_value = add(top, add(lost, tail));
    const std::string quadrant = cosine ? integer("add", q.bits, k(1)) : q.bits;
    const std::string odd = t_.let("icmp ne {} {}, {}", i_, integer("and", quadrant, k(1)), zero_integer());
    const std::string signed_zero = select(compare("oeq", x, c(0)), x, sine);
    const std::string value = select(odd, cosine_value, signed_zero);
    const std::string flip = integer("shl", integer("and", quadrant, k(2)), k(30));
    return beyond(x, number(integer("xor", bits(value), flip)), cosine ? "cos" : "sin");
  }
  std::string zero_integer() const { return lanes_ == 1 ? "0" : "zeroinitializer"; }

  // `inside` where every |x| is within the reduction's range; else libm decides, lane by lane.
  std::string beyond(const std::string& x, const std::string& inside, const char* name) {
    const std::string far = compare("ugt", absolute(x), c(isa_.fma ? 0x1p15f : 0x1p12f));
    const std::string any = lanes_ == 1 ? far : t_.let("call i1 @llvm.vector.reduce.or.v{}i1({} {})", lanes_, b_, far);
    const std::string before = t_.block(), slow = t_.fresh_label("far"), after = t_.fresh_label("near");
    t_.put("br i1 {}, label %{}, label %{}", any, slow, after);
    t_.label(slow);
    const std::string all = intrinsic(name, x);
    const std::string mixed = select(far, all, inside);
    t_.put("br label %{}", after);
    t_.label(after);
    return t_.let("phi {} [ {}, %{} ], [ {}, %{} ]", f_, inside, before, mixed, slow);
  }

  const CpuIsa& isa_;
  const int lanes_;
  const std::string f_, i_, b_;
  LlvmText t_;
};

}  // namespace

const char* math_symbol(MathFunction function) {
  static constexpr const char* kNames[] = {
#define TILERT_ULP(name, f32_bound, f64_bound) #name,
#include "codegen/ulp.def"
  };
  return kNames[static_cast<int>(function)];
}

std::string math_name(MathFunction function, DType dtype, int lanes) {
  return fmt::format("tl_{}_{}{}", math_symbol(function), dtype == DType::f64 ? "d" : "v", lanes);
}
std::string math_name(MathFunction function, int lanes) { return math_name(function, DType::f32, lanes); }

std::string emit_math(const CpuIsa& isa, MathFunction function, int lanes) { return MathWriter(isa, lanes).write(function); }

}  // namespace tilert::codegen
