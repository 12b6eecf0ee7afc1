// Float operations: IEEE, without fast-math flags; 16-bit floats in f32, rounded after each operation.
#include <optional>

#include "codegen/llvm_convert.h"
#include "codegen/llvm_values.h"

namespace tilert::codegen {

using ir::Op;

namespace {

std::optional<MathFunction> math_function(Op op) {
  switch (op) {
    case Op::exp: return MathFunction::exp;
    case Op::exp2: return MathFunction::exp2;
    case Op::log: return MathFunction::log;
    case Op::log2: return MathFunction::log2;
    case Op::rsqrt: return MathFunction::rsqrt;
    case Op::sin: return MathFunction::sin;
    case Op::cos: return MathFunction::cos;
    case Op::tanh: return MathFunction::tanh;
    case Op::erf: return MathFunction::erf;
    case Op::sigmoid: return MathFunction::sigmoid;
    case Op::pow: return MathFunction::pow;
    default: return std::nullopt;
  }
}

}  // namespace

std::string LlvmValues::rounded(DType d, int lanes, const std::string& value) {
  if (d == DType::f16) return widen_f16(t_, isa_, lanes, narrow_f16(t_, isa_, lanes, value));
  if (d == DType::bf16) return widen_bf16(t_, lanes, narrow_bf16(t_, lanes, value));
  return value;
}

std::string LlvmValues::float_operation(Op op, DType d, int lanes, std::span<const std::string> v, bool tame) {
  const std::string type = vec(d, lanes);
  switch (op) {
    case Op::add: return rounded(d, lanes, t_.let("fadd {} {}, {}", type, v[0], v[1]));
    case Op::sub: return rounded(d, lanes, t_.let("fsub {} {}, {}", type, v[0], v[1]));
    case Op::mul: return rounded(d, lanes, t_.let("fmul {} {}, {}", type, v[0], v[1]));
    case Op::div: return rounded(d, lanes, t_.let("fdiv {} {}, {}", type, v[0], v[1]));
    case Op::neg: return t_.let("fneg {} {}", type, v[0]);
    case Op::abs: return call("fabs", d, lanes, v);
    case Op::fma: return rounded(d, lanes, call("fma", d, lanes, v));
    case Op::sqrt: return rounded(d, lanes, call("sqrt", d, lanes, v));
    case Op::floor: return call("floor", d, lanes, v);
    case Op::ceil: return call("ceil", d, lanes, v);
    case Op::round: return call("nearbyint", d, lanes, v);
    case Op::trunc: return call("trunc", d, lanes, v);
    case Op::min: case Op::max: case Op::min_nan: case Op::max_nan: return float_extremum(op, d, lanes, v[0], v[1], tame);
    default: break;
  }
  const auto function = math_function(op);
  if (!function) return v[0];
  math_.insert({*function, d == DType::f64, lanes});
  std::string arguments;
  for (const std::string& x : v) arguments += fmt::format("{}{} {}", arguments.empty() ? "" : ", ", type, x);
  return rounded(d, lanes, t_.let("call {} @{}({})", type, math_name(*function, d, lanes), arguments));
}

// The number wins over NaN (or NaN over the number), and -0 < +0: the plain comparison, then the two exceptions.
std::string LlvmValues::float_extremum(Op op, DType d, int lanes, const std::string& x, const std::string& y, bool tame) {
  const bool is_max = op == Op::max || op == Op::max_nan, nan_wins = op == Op::min_nan || op == Op::max_nan;
  const std::string type = vec(d, lanes), flag = vector_type(lanes, "i1");
  const auto select = [&](const std::string& c, const std::string& a, const std::string& b) {
    return t_.let("select {} {}, {} {}, {} {}", flag, c, type, a, type, b);
  };
  // y where either is NaN or both are equal.
  const std::string better = t_.let("fcmp {} {} {}, {}", is_max ? "ogt" : "olt", type, x, y);
  std::string out = select(better, x, y);
  if (tame && !nan_wins) return out;
  // Of equals only zeros can differ, in their sign: or takes -0 for a minimum, and takes +0 for a maximum.
  const std::string bits = vector_type(lanes, d == DType::f64 ? "i64" : "i32");
  const std::string bx = t_.let("bitcast {} {} to {}", type, x, bits), by = t_.let("bitcast {} {} to {}", type, y, bits);
  const std::string merged = t_.let("{} {} {}, {}", is_max ? "and" : "or", bits, bx, by);
  const std::string zero = t_.let("bitcast {} {} to {}", bits, merged, type);
  out = select(t_.let("fcmp oeq {} {}, {}", type, x, y), zero, out);
  if (nan_wins) return select(t_.let("fcmp uno {} {}, {}", type, x, x), x, out);
  return select(t_.let("fcmp uno {} {}, {}", type, y, y), x, out);
}

std::string LlvmValues::float_test(Op op, DType d, int lanes, const std::string& x) {
  const std::string type = vec(d, lanes);
  if (!dtype_is_float(d)) return constant(DType::boolean, op == Op::isfinite, lanes);
  if (op == Op::isnan) return t_.let("fcmp uno {} {}, {}", type, x, x);
  const std::string magnitude = call("fabs", d, lanes, std::span(&x, 1));
  const std::string infinity = splat_constant(lanes, register_type(d), "0x7FF0000000000000");
  return t_.let("fcmp {} {} {}, {}", op == Op::isinf ? "oeq" : "one", type, magnitude, infinity);
}

}  // namespace tilert::codegen
