// Printing of scalar expressions. Index arithmetic is exact: int where a proof says that it fits, 64 bits elsewhere.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "codegen/c_text.h"

namespace tilert::codegen {

using namespace ir;

std::string CText::literal(Expr e) const {
  switch (e->dtype) {
    case DType::boolean: return e->bits ? "true" : "false";
    case DType::f16:
    case DType::bf16: return fmt::format("{}{{{:#06x}}}", c_type(e->dtype), e->bits);
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
    case DType::int8: return fmt::format("tl_i8({})", e->as_int());
    case DType::uint32: return fmt::format("{}u", e->bits);
    case DType::uint64: return fmt::format("{}ull", e->bits);
    default: break;
  }
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
      if (e->operand[1]->is_constant() && std::has_single_bit(static_cast<uint64_t>(e->operand[1]->as_int()))) {
        const int64_t divisor = e->operand[1]->as_int();
        if (e->op == Op::div) return fmt::format("({} >> {})", operand(0), std::countr_zero(static_cast<uint64_t>(divisor)));
        return fmt::format("({} & {})", operand(0), divisor - 1);
      }
      break;
    case Op::neg: return fmt::format("(-{})", operand(0));
    case Op::select: return fmt::format("({} ? {} : {})", operand(0), operand(1), operand(2));
    case Op::cast: return fmt::format("tl_cast<{}>({})", type, expr(e->operand[0]));
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
  const bool plain = from == DType::f32 || from == DType::boolean || from == DType::uint32 || from == DType::uint64;
  // Comparisons of index values may mix widths: C++ converts exactly.
  switch (e->op) {
    case Op::select: return fmt::format("({} ? {} : {})", operand(0), operand(1), operand(2));
    case Op::cast: return fmt::format("tl_cast<{}>({})", c_type(e->dtype), operand(0));
    case Op::reinterpret: return fmt::format("tl_bits<{}>({})", c_type(e->dtype), operand(0));
    case Op::logical_not: return fmt::format("(!{})", operand(0));
    case Op::logical_and: case Op::logical_or:
      return fmt::format("({} {} {})", operand(0), op_row(e->op).c, operand(1));
    case Op::eq: case Op::ne: case Op::lt: case Op::le:
      if (dtype_is_float(from) && from != DType::f32)
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
    default: break;
  }
  std::string arguments;
  for (int i = 0; i < e->arity; ++i) arguments += (i ? ", " : "") + operand(i);
  return fmt::format("{}<{}>({})", op_row(e->op).c, c_type(from), arguments);
}

}  // namespace tilert::codegen
