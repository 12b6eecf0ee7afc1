// Types, memory, and integer operations. Floats: llvm_floats.cpp. Casts: llvm_casts.cpp.
#include "codegen/llvm_values.h"

#include <bit>

#include "codegen/llvm_convert.h"
#include "ir/fast.h"

namespace tilert::codegen {

using ir::Op;

namespace {

bool is_16_bit_float(DType d) { return d == DType::f16 || d == DType::bf16; }
std::string suffix(DType d, int lanes) {
  const std::string element = d == DType::f64             ? "f64"
                              : dtype_is_float(d)          ? "f32"
                              : d == DType::boolean        ? "i1"
                                                           : fmt::format("i{}", dtype_bits(d));
  return lanes == 1 ? element : fmt::format("v{}{}", lanes, element);
}

}  // namespace

std::string register_type(DType d) {
  if (d == DType::boolean) return "i1";
  if (d == DType::tf32) return "float";
  if (!dtype_computes(d)) return "i8";
  if (d == DType::f64) return "double";
  if (dtype_is_float(d)) return "float";
  return fmt::format("i{}", dtype_bits(d));
}

std::string memory_type(DType d) {
  if (d == DType::boolean) return "i8";
  if (is_16_bit_float(d)) return "i16";
  return register_type(d);
}

std::string LlvmValues::integer_constant(DType d, int64_t value, int lanes) {
  if (d == DType::boolean) return splat_constant(lanes, "i1", value ? "true" : "false");
  return splat_constant(lanes, register_type(d), std::to_string(value));
}

std::string LlvmValues::constant(DType d, uint64_t bits, int lanes) {
  if (!dtype_computes(d) && d != DType::tf32) return splat_constant(lanes, "i8", std::to_string(static_cast<int8_t>(bits)));
  if (!dtype_is_float(d)) return integer_constant(d, static_cast<int64_t>(bits), lanes);
  if (d == DType::f64) return splat_constant(lanes, "double", fmt::format("0x{:016X}", bits));
  float value = d == DType::f16    ? f16_to_f32(static_cast<uint16_t>(bits))
                : d == DType::bf16 ? bf16_to_f32(static_cast<uint16_t>(bits))
                                   : std::bit_cast<float>(static_cast<uint32_t>(bits));
  return splat_constant(lanes, "float", f32_constant(value));
}

std::string LlvmValues::splat(DType d, int lanes, const std::string& value) {
  return codegen::splat(t_, lanes, register_type(d), value);
}

std::string LlvmValues::call(const std::string& intrinsic, DType d, int lanes, std::span<const std::string> v) {
  std::string arguments;
  for (const std::string& x : v) arguments += fmt::format("{}{} {}", arguments.empty() ? "" : ", ", vec(d, lanes), x);
  return t_.let("call {} @llvm.{}.{}({})", vec(d, lanes), intrinsic, suffix(d, lanes), arguments);
}

std::string LlvmValues::operation(Op op, DType from, DType to, int lanes, std::span<const std::string> v, bool tame) {
  op = ir::exact_op(op);  // CPUs have no approximations worth their error
  switch (op) {
    case Op::select:
      return t_.let("select {} {}, {} {}, {} {}", vector_type(lanes, "i1"), v[0], vec(to, lanes), v[1], vec(to, lanes), v[2]);
    case Op::logical_and: return t_.let("and {} {}, {}", vec(to, lanes), v[0], v[1]);
    case Op::logical_or: return t_.let("or {} {}, {}", vec(to, lanes), v[0], v[1]);
    case Op::logical_not: return t_.let("xor {} {}, {}", vec(to, lanes), v[0], integer_constant(DType::boolean, 1, lanes));
    case Op::eq: case Op::ne: case Op::lt: case Op::le: return compare(op, from, lanes, v);
    case Op::isnan: case Op::isinf: case Op::isfinite: return float_test(op, from, lanes, v[0]);
    case Op::cast: return cast(from, to, lanes, v[0]);
    case Op::cast_nonsat: return cast(from, to, lanes, v[0], false);
    case Op::reinterpret: return reinterpret(from, to, lanes, v[0]);
    default: return dtype_is_float(from) ? float_operation(op, from, lanes, v, tame) : integer_operation(op, from, lanes, v, tame);
  }
}

std::string LlvmValues::compare(Op op, DType d, int lanes, std::span<const std::string> v) {
  const bool is_signed = dtype_is_signed(d);
  const char* name = nullptr;
  switch (op) {
    case Op::eq: name = "eq"; break;
    case Op::ne: name = "ne"; break;
    case Op::lt: name = is_signed ? "slt" : "ult"; break;
    default: name = is_signed ? "sle" : "ule"; break;
  }
  if (!dtype_is_float(d)) return t_.let("icmp {} {} {}, {}", name, vec(d, lanes), v[0], v[1]);
  const char* ordered = op == Op::eq ? "oeq" : op == Op::ne ? "une" : op == Op::lt ? "olt" : "ole";
  return t_.let("fcmp {} {} {}, {}", ordered, vec(d, lanes), v[0], v[1]);
}

std::string LlvmValues::integer_operation(Op op, DType d, int lanes, std::span<const std::string> v, bool tame) {
  const std::string type = vec(d, lanes);
  const bool is_signed = dtype_is_signed(d);
  if (is_philox(op)) return philox(static_cast<int>(op) - static_cast<int>(Op::philox0), lanes, v);
  switch (op) {
    case Op::add: return t_.let("add {} {}, {}", type, v[0], v[1]);
    case Op::sub: return t_.let("sub {} {}, {}", type, v[0], v[1]);
    case Op::mul: return t_.let("mul {} {}, {}", type, v[0], v[1]);
    case Op::neg: return t_.let("sub {} {}, {}", type, integer_constant(d, 0, lanes), v[0]);
    case Op::bit_and: return t_.let("and {} {}, {}", type, v[0], v[1]);
    case Op::bit_or: return t_.let("or {} {}, {}", type, v[0], v[1]);
    case Op::bit_xor: return t_.let("xor {} {}, {}", type, v[0], v[1]);
    case Op::bit_not: return t_.let("xor {} {}, {}", type, v[0], integer_constant(d, -1, lanes));
    case Op::min: return call(is_signed ? "smin" : "umin", d, lanes, v);
    case Op::max: return call(is_signed ? "smax" : "umax", d, lanes, v);
    case Op::abs:
      if (!is_signed) return v[0];
      return t_.let("call {} @llvm.abs.{}({} {}, i1 false)", type, suffix(d, lanes), type, v[0]);
    case Op::shl: case Op::shr: return shift(op, d, lanes, v[0], v[1]);
    default: return division(op, d, lanes, v[0], v[1], tame);
  }
}

// LLVM shifts by less than the width only.
std::string LlvmValues::shift(Op op, DType d, int lanes, const std::string& x, const std::string& by) {
  const std::string type = vec(d, lanes);
  const int bits = dtype_bits(d);
  const std::string last = integer_constant(d, bits - 1, lanes);
  const std::string most = t_.let("call {0} @llvm.umin.{1}({0} {2}, {0} {3})", type, suffix(d, lanes), by, last);
  if (op == Op::shr && dtype_is_signed(d)) return t_.let("ashr {} {}, {}", type, x, most);
  const std::string shifted = t_.let("{} {} {}, {}", op == Op::shl ? "shl" : "lshr", type, x, most);
  const std::string inside = t_.let("icmp ule {} {}, {}", type, by, last);
  return t_.let("select {} {}, {} {}, {} {}", vector_type(lanes, "i1"), inside, type, shifted, type, integer_constant(d, 0, lanes));
}

// One of LLVM's division instructions, lane by lane unless the divisor is a constant (no target has it for vectors of
// integers, so that the machine code is the same): LLVM 19 takes a vector constant with a zero lane, even where a
// select leaves that lane out, for a division that never happens.
std::string LlvmValues::divided(const char* instruction, DType d, int lanes, const std::string& x, const std::string& y) {
  const std::string type = vec(d, lanes);
  if (lanes == 1 || y[0] != '%') return t_.let("{} {} {}, {}", instruction, type, x, y);
  std::string out = "poison";
  for (int lane = 0; lane < lanes; ++lane) {
    const std::string a = t_.let("extractelement {} {}, i64 {}", type, x, lane), b = t_.let("extractelement {} {}, i64 {}", type, y, lane);
    const std::string one = t_.let("{} {} {}, {}", instruction, vec(d, 1), a, b);
    out = t_.let("insertelement {} {}, {} {}, i64 {}", type, out, vec(d, 1), one, lane);
  }
  return out;
}

// LLVM's quotients truncate, and are undefined over 0 and at the least integer over -1.
std::string LlvmValues::division(Op op, DType d, int lanes, const std::string& x, const std::string& y, bool tame) {
  const std::string type = vec(d, lanes), flag = vector_type(lanes, "i1"), zero = integer_constant(d, 0, lanes);
  const bool quotient = op == Op::div || op == Op::div_trunc, floors = op == Op::div || op == Op::mod;
  if (tame) return divided(quotient ? "udiv" : "urem", d, lanes, x, y);
  const bool is_signed = dtype_is_signed(d);
  const std::string over_zero = t_.let("icmp eq {} {}, {}", type, y, zero);
  const auto select = [&](const std::string& c, const std::string& a, const std::string& b) {
    return t_.let("select {} {}, {} {}, {} {}", flag, c, type, a, type, b);
  };
  const std::string one = integer_constant(d, 1, lanes), minus = integer_constant(d, -1, lanes);
  const bool harmless = y[0] != '%' && y != zero && y != minus;  // a constant
  if (!is_signed) {
    const std::string safe = harmless ? y : select(over_zero, one, y);
    return quotient ? select(over_zero, zero, divided("udiv", d, lanes, x, safe))
                    : select(over_zero, x, divided("urem", d, lanes, x, safe));
  }
  const std::string over_minus = t_.let("icmp eq {} {}, {}", type, y, minus);
  const std::string either = t_.let("or {} {}, {}", flag, over_zero, over_minus);
  const std::string safe = harmless ? y : select(either, one, y);
  const std::string rest = divided("srem", d, lanes, x, safe);
  std::string adjust;
  if (floors) {
    const std::string signs = t_.let("xor {} {}, {}", type, rest, safe);
    const std::string differ = t_.let("icmp slt {} {}, {}", type, signs, zero);
    const std::string some = t_.let("icmp ne {} {}, {}", type, rest, zero);
    adjust = t_.let("and {} {}, {}", flag, differ, some);
  }
  if (quotient) {
    std::string q = divided("sdiv", d, lanes, x, safe);
    if (floors) q = select(adjust, t_.let("sub {} {}, {}", type, q, one), q);
    q = select(over_minus, t_.let("sub {} {}, {}", type, zero, x), q);
    return select(over_zero, zero, q);
  }
  const std::string r = floors ? select(adjust, t_.let("add {} {}, {}", type, rest, safe), rest) : rest;
  return select(over_zero, x, r);
}

std::string LlvmValues::to_memory(DType d, int lanes, const std::string& value) {
  if (d == DType::boolean) return t_.let("zext {} {} to {}", vec(d, lanes), value, vector_type(lanes, "i8"));
  if (d == DType::f16) return narrow_f16(t_, isa_, lanes, value);
  if (d == DType::bf16) return narrow_bf16(t_, lanes, value);
  return value;
}

std::string LlvmValues::from_memory(DType d, int lanes, const std::string& value) {
  if (d == DType::boolean) return t_.let("trunc {} {} to {}", vector_type(lanes, "i8"), value, vec(d, lanes));
  if (d == DType::f16) return widen_f16(t_, isa_, lanes, value);
  if (d == DType::bf16) return widen_bf16(t_, lanes, value);
  return value;
}

std::string LlvmValues::load(DType d, int lanes, const std::string& pointer) {
  const std::string type = vector_type(lanes, memory_type(d));
  return from_memory(d, lanes, t_.let("load {}, ptr {}, align {}", type, pointer, dtype_bytes(d)));
}

void LlvmValues::store(DType d, int lanes, const std::string& value, const std::string& pointer) {
  const std::string raw = to_memory(d, lanes, value);
  t_.put("store {} {}, ptr {}, align {}", vector_type(lanes, memory_type(d)), raw, pointer, dtype_bytes(d));
}

}  // namespace tilert::codegen
