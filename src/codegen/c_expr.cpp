// Printing of scalar expressions. Index arithmetic is exact: int where a proof says that it fits, 64 bits elsewhere.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "codegen/c_text.h"

namespace tilert::codegen {

using namespace ir;

namespace {

// Types whose arithmetic and casts are in wide.cuh; those that are stored and converted only are in small.cuh.
bool is_wide(DType d) {
  switch (d) {
    case DType::boolean: case DType::int8: case DType::int32: case DType::int64: case DType::index:
    case DType::f16: case DType::bf16: case DType::f32: return false;
    default: return true;
  }
}

const char* cast_name(DType from, DType to) {
  if (to == DType::tf32) return "tl_round_tf32";
  if (from == DType::tf32) from = DType::f32;
  if (!dtype_computes(from) || !dtype_computes(to)) return "tl_convert_narrow";
  return is_wide(from) || is_wide(to) ? "tl_convert" : "tl_cast";
}

const char* bits_name(DType type) { return dtype_bits(type) < 8 ? "tl_bits_narrow" : "tl_bits"; }

// The primitive of an operation on values of `d`, with its template argument.
std::string primitive_name(Op op, DType d) {
  if (d == DType::f64) return fmt::format("tl_f64_{}", op_row(op).text);
  const std::string type = c_type(d);
  if (dtype_class(d) == DTypeClass::unsigned_integer) {
    if (op == Op::div || op == Op::div_trunc) return fmt::format("tl_u_div<{}>", type);
    if (op == Op::mod || op == Op::mod_trunc) return fmt::format("tl_u_mod<{}>", type);
    if (op == Op::shl) return fmt::format("tl_u_shl<{}>", type);
    if (op == Op::shr) return fmt::format("tl_u_shr<{}>", type);
  }
  return fmt::format("{}<{}>", op_row(op).c, type);
}

std::string f64_literal(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, 8);
  if (std::isinf(value)) return value > 0 ? "tl_f64_inf()" : "-tl_f64_inf()";
  if (std::isnan(value)) return fmt::format("tl_bits<double>({:#018x}ull)", bits);
  std::string text = fmt::format("{:.17g}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return std::signbit(value) ? "(" + text + ")" : text;
}

}  // namespace

std::string CText::literal(Expr e) const {
  switch (e->dtype) {
    case DType::boolean: return e->bits ? "true" : "false";
    case DType::f16:
    case DType::bf16: return fmt::format("{}{{{:#06x}}}", c_type(e->dtype), e->bits);
    case DType::tf32:
    case DType::f32: {
      float value;
      const auto bits = static_cast<uint32_t>(e->bits);
      std::memcpy(&value, &bits, 4);
      if (std::isinf(value)) return value > 0 ? "tl_inf()" : "-tl_inf()";
      if (std::isnan(value)) return fmt::format("tl_bits<float>({:#010x}u)", bits);
      std::string text = fmt::format("{:.9g}", value);
      if (text.find_first_of(".e") == std::string::npos) text += ".0";
      return (std::signbit(value) ? "(" + text + "f)" : text + "f");
    }
    case DType::f64: return f64_literal(e->bits);
    case DType::int8:
    case DType::int16:
    case DType::uint8:
    case DType::uint16: return fmt::format("{}({})", c_type(e->dtype), e->as_int());
    case DType::uint32: return fmt::format("{}u", e->bits);
    case DType::uint64: return fmt::format("{}ull", e->bits);
    default: break;
  }
  if (!dtype_computes(e->dtype)) return fmt::format("{}{{{}}}", c_type(e->dtype), e->as_int());
  const int64_t value = e->as_int();
  const bool wide = e->dtype == DType::int64 || value < -2147483647 || value > 2147483647;
  if (value == INT64_MIN) return "(-9223372036854775807ll - 1)";
  if (e->dtype == DType::int32 && value == INT32_MIN) return "(-2147483647 - 1)";
  const std::string text = fmt::format("{}{}", value, wide ? "ll" : "");
  return value < 0 ? "(" + text + ")" : text;
}

std::string CText::expr(Expr e) const {
  if (e->is_constant()) return literal(e);
  if (e->is_variable()) return var(e->var());
  if (const auto named = shared_.find(e); named != shared_.end()) return named->second;
  if (e->dtype == DType::index) return index_expr(e, !narrow_(e));
  return operation(e);
}

// Index operands that are narrow are widened where the operation is not.
std::string CText::index_expr(Expr e, bool wide) const {
  const auto operand = [&](int i) {
    const Expr o = e->operand[i];
    if (o->dtype != DType::index) return expr(o);
    const std::string text = expr(o);
    return wide && narrow_(o) && !o->is_constant() ? "tl_i64(" + text + ")" : text;
  };
  const char* type = wide ? "tl_i64" : "int";
  switch (e->op) {
    case Op::add: case Op::sub: case Op::mul: case Op::bit_and: case Op::bit_or: case Op::bit_xor:
      if (wide && e->operand[0]->is_constant() && e->operand[1]->is_constant()) break;
      return fmt::format("({} {} {})", operand(0), op_row(e->op).c, operand(1));
    case Op::div: case Op::mod:
      // Floor division by a power of two is a shift, also of negative values.
      if (e->operand[1]->is_constant() && e->operand[1]->as_int() > 0 && std::has_single_bit(static_cast<uint64_t>(e->operand[1]->as_int()))) {
        const int64_t divisor = e->operand[1]->as_int();
        const int bits = std::countr_zero(static_cast<uint64_t>(divisor));
        if (e->op == Op::div) return fmt::format("({} >> {})", operand(0), wide ? bits : std::min(bits, 31));
        return fmt::format("({} & {})", operand(0), divisor - 1);
      }
      if (!e->operand[1]->is_constant() && bounds_(e->operand[0]).low >= 0 && bounds_(e->operand[1]).low > 0) {
        const char* natural = wide ? "tl_u64" : "tl_u32";  // no signs, no zero
        return fmt::format("{}({}({}) {} {}({}))", type, natural, operand(0), e->op == Op::div ? "/" : "%", natural, operand(1));
      }
      break;
    case Op::neg: return fmt::format("(-{})", operand(0));
    case Op::bit_not: return fmt::format("(~{})", operand(0));
    case Op::select: return fmt::format("({} ? {} : {})", operand(0), operand(1), operand(2));
    case Op::cast:
      return fmt::format("{}<{}>({})", cast_name(e->operand[0]->dtype, DType::index), type, expr(e->operand[0]));
    case Op::reinterpret: return fmt::format("tl_bits<tl_i64>({})", expr(e->operand[0]));
    default: break;
  }
  std::string arguments;
  for (int i = 0; i < e->arity; ++i) arguments += (i ? ", " : "") + operand(i);
  return fmt::format("{}<{}>({})", op_row(e->op).c, type, arguments);
}

std::string CText::operation(Expr e) const {
  const auto operand = [&](int i) { return expr(e->operand[i]); };
  const DType from = e->operand[0]->dtype;
  const bool plain = from == DType::f32 || from == DType::f64 || from == DType::boolean || from == DType::uint32 ||
                     from == DType::uint64;
  // Comparisons of index values may mix widths: C++ converts exactly.
  switch (e->op) {
    case Op::select: return fmt::format("({} ? {} : {})", operand(0), operand(1), operand(2));
    case Op::cast:
      if (from == DType::tf32 && e->dtype == DType::f32) return operand(0);
      return fmt::format("{}<{}>({})", cast_name(from, e->dtype), c_type(e->dtype), operand(0));
    case Op::cast_nonsat: return fmt::format("tl_convert_narrow<{}>({}, false)", c_type(e->dtype), operand(0));
    case Op::reinterpret: return fmt::format("{}<{}>({})", bits_name(e->dtype), c_type(e->dtype), operand(0));
    case Op::logical_not: return fmt::format("(!{})", operand(0));
    case Op::logical_and: case Op::logical_or:
      return fmt::format("({} {} {})", operand(0), op_row(e->op).c, operand(1));
    case Op::eq: case Op::ne: case Op::lt: case Op::le:
      if (from == DType::f16 || from == DType::bf16)
        return fmt::format("(tl_float({}) {} tl_float({}))", operand(0), op_row(e->op).c, operand(1));
      return fmt::format("({} {} {})", operand(0), op_row(e->op).c, operand(1));
    case Op::add: case Op::sub: case Op::mul:
      if (plain) return fmt::format("({} {} {})", operand(0), op_row(e->op).c, operand(1));
      return fmt::format("tl_{}<{}>({}, {})", op_row(e->op).text, c_type(from), operand(0), operand(1));
    case Op::neg:
      if (plain) return fmt::format("(-{})", operand(0));
      return fmt::format("tl_neg<{}>({})", c_type(from), operand(0));
    case Op::bit_and: case Op::bit_or: case Op::bit_xor:
      return fmt::format("{}({} {} {})", c_type(e->dtype), operand(0), op_row(e->op).c, operand(1));
    case Op::bit_not: return fmt::format("{}(~{})", c_type(e->dtype), operand(0));
    case Op::abs:
      if (dtype_class(from) == DTypeClass::unsigned_integer) return operand(0);
      break;
    default: break;
  }
  std::string arguments;
  for (int i = 0; i < e->arity; ++i) arguments += (i ? ", " : "") + operand(i);
  return fmt::format("{}({})", primitive_name(e->op, from), arguments);
}

}  // namespace tilert::codegen
