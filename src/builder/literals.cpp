// Numbers without a dtype of their own: what operations of literals among themselves give. Integers are exact, floats are
// computed in f64, and only by operations that IEEE 754 rounds correctly, so that every machine folds to the same bits.
// How a literal adopts a dtype is in values.cpp.
#include <optional>

#include "builder/builder.h"
#include "ir/evaluate.h"

namespace tilert::builder {
namespace {

using Wide = __int128;

// Whether x < y, x == y or x > y (order -1, 0, 1) satisfies the comparison; nothing where `op` is none.
std::optional<bool> compared(tilert_op op, int order) {
  switch (op) {
    case TILERT_OP_EQ: return order == 0;
    case TILERT_OP_NE: return order != 0;
    case TILERT_OP_LT: return order < 0;
    case TILERT_OP_LE: return order <= 0;
    case TILERT_OP_GT: return order > 0;
    case TILERT_OP_GE: return order >= 0;
    default: return std::nullopt;
  }
}

Wide floor_div(Wide a, Wide b) {
  const Wide quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

// Divisions; the divisor is not 0.
std::optional<Wide> divided(tilert_op op, Wide a, Wide b) {
  switch (op) {
    case TILERT_OP_DIV: return floor_div(a, b);
    case TILERT_OP_MOD: return a - floor_div(a, b) * b;
    case TILERT_OP_TRUNC_DIV: return a / b;
    case TILERT_OP_TRUNC_MOD: return a % b;
    case TILERT_OP_CEILDIV: return -floor_div(-a, b);
    default: return std::nullopt;
  }
}

// The exact value; nothing where the operation is none of integers. Shift counts are 0 to 63.
std::optional<Wide> exactly(tilert_op op, Wide a, Wide b) {
  switch (op) {
    case TILERT_OP_NEG: return -a;
    case TILERT_OP_NOT: return ~a;
    case TILERT_OP_ABS: return a < 0 ? -a : a;
    case TILERT_OP_ADD: return a + b;
    case TILERT_OP_SUB: return a - b;
    case TILERT_OP_MUL: return a * b;
    case TILERT_OP_MIN:
    case TILERT_OP_MIN_NAN: return a < b ? a : b;
    case TILERT_OP_MAX:
    case TILERT_OP_MAX_NAN: return a > b ? a : b;
    case TILERT_OP_AND: return a & b;
    case TILERT_OP_OR: return a | b;
    case TILERT_OP_XOR: return a ^ b;
    case TILERT_OP_SHL: return a * (Wide{1} << static_cast<int>(b));
    case TILERT_OP_SHR: return a >> static_cast<int>(b);
    default: return divided(op, a, b);
  }
}

bool is_division(tilert_op op) {
  return (op >= TILERT_OP_DIV && op <= TILERT_OP_TRUNC_MOD) || op == TILERT_OP_CEILDIV;
}

// The operations of floats that are rounded correctly everywhere.
bool is_exact_in_f64(tilert_op op) {
  switch (op) {
    case TILERT_OP_ADD:
    case TILERT_OP_SUB:
    case TILERT_OP_MUL:
    case TILERT_OP_DIV:
    case TILERT_OP_MIN:
    case TILERT_OP_MAX:
    case TILERT_OP_MIN_NAN:
    case TILERT_OP_MAX_NAN:
    case TILERT_OP_NEG:
    case TILERT_OP_ABS:
    case TILERT_OP_SQRT:
    case TILERT_OP_FLOOR:
    case TILERT_OP_CEIL:
    case TILERT_OP_ROUND:
    case TILERT_OP_TRUNC:
    case TILERT_OP_FMA:
    case TILERT_OP_ISNAN:
    case TILERT_OP_ISINF:
    case TILERT_OP_ISFINITE: return true;
    default: return op >= TILERT_OP_EQ && op <= TILERT_OP_GE;
  }
}

// The bits of an expression of constants only.
std::optional<uint64_t> evaluated(ir::Expr expr) {
  if (expr->is_constant()) return expr->bits;
  std::vector<uint64_t> bits;
  for (uint8_t i = 0; i < expr->arity; ++i) {
    const auto found = evaluated(expr->operand[i]);
    if (!found) return std::nullopt;
    bits.push_back(*found);
  }
  return ir::evaluate(*expr, bits);
}

Error no_dtype(std::string_view name) {
  return make_error(Code::kInvalidProgram, "{} of literals only: give one of them a dtype (a constant, or a cast)",
                    name);
}

}  // namespace

Result<Builder::Value> Builder::fold_integers(tilert_op op, int64_t a, int64_t b, std::string_view name) const {
  if (const auto truth = compared(op, a < b ? -1 : a > b)) return Value{program_->arena->boolean(*truth)};
  if (is_division(op) && (b == 0 || (op == TILERT_OP_CEILDIV && b < 0)))
    return make_error(Code::kInvalidProgram, "{} of the literals {} and {}: the divisor is {}", name, a, b,
                      b == 0 ? "0" : "negative");
  if ((op == TILERT_OP_SHL || op == TILERT_OP_SHR) && (b < 0 || b > 63))
    return make_error(Code::kInvalidProgram, "{} of the literal {} by {}: shift by 0 to 63", name, a, b);
  const auto exact = exactly(op, a, b);
  if (!exact) return no_dtype(name);
  const auto narrow = static_cast<int64_t>(*exact);
  if (narrow != *exact) return make_error(Code::kInvalidProgram, "{} of {} and {} leaves int64", name, a, b);
  return Value{nullptr, DType::int64, static_cast<uint64_t>(narrow), {}};
}

Result<Builder::Value> Builder::fold_floats(tilert_op op, const std::vector<Value>& values,
                                            std::string_view name) {
  if (!is_exact_in_f64(op)) return no_dtype(name);
  std::vector<ir::Expr> operands;
  for (size_t i = 0; i < values.size(); ++i) {
    TILERT_ASSIGN(const ir::Expr operand, adopt(values[i], DType::f64, fmt::format("operand {} of {}", i, name)));
    operands.push_back(operand);
  }
  TILERT_ASSIGN(const ir::Expr made, apply(op, operands));
  const auto bits = evaluated(made);
  if (!bits) return no_dtype(name);
  if (made->dtype == DType::boolean) return Value{program_->arena->boolean(*bits != 0)};
  return Value{nullptr, DType::f64, *bits, {}};
}

// What is exact, and floats in f64, stays a literal; a comparison is a bool.
Result<Builder::Value> Builder::fold_literals(tilert_op op, const std::vector<Value>& values, std::string_view name) {
  bool floats = op == TILERT_OP_FMA;
  for (const Value& v : values) floats = floats || v.literal == DType::f64;
  if (floats) return fold_floats(op, values, name);
  if (values.size() > 2) return no_dtype(name);
  return fold_integers(op, static_cast<int64_t>(values[0].bits),
                       values.size() > 1 ? static_cast<int64_t>(values[1].bits) : 0, name);
}

tilert_expr Builder::of_number(const tilert_number& number) {
  return number.typed ? constant(number.dtype, number.bits) : literal(number.dtype, number.bits);
}

Result<tilert_number> Builder::number_of(tilert_expr id) const {
  if (error_) return *error_;
  TILERT_ASSIGN(const Value found, value(id, "the result"));
  if (!found.expr) return tilert_number{static_cast<tilert_dtype>(found.literal), 0, found.bits};
  const auto bits = evaluated(found.expr);
  if (!bits) return make_error(Code::kInvalidProgram, "the result is not a constant");
  const int width = dtype_bits(found.expr->dtype);
  const uint64_t kept = width < 64 ? *bits & ((uint64_t{1} << width) - 1) : *bits;
  return tilert_number{static_cast<tilert_dtype>(found.expr->dtype), 1, kept};
}

}  // namespace tilert::builder
