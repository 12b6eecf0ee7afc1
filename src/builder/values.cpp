// Scalar values: constants, literals that adopt a dtype, operations without promotion.
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>

#include "builder/builder.h"
#include "ir/fast.h"
#include "support/small_float.h"

namespace tilert::builder {
namespace {

struct Row {
  tilert_op abi;
  ir::Op op, bool_op;
  const char* name;
};
constexpr Row kRows[] = {
#define TILERT_BUILDER_OP(abi, op, bool_op) {TILERT_OP_##abi, ir::Op::op, ir::Op::bool_op, #abi},
#include "builder/operations.def"
#undef TILERT_BUILDER_OP
};
constexpr bool rows_are_in_order() {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (kRows[i].abi != static_cast<tilert_op>(i + 1)) return false;
  return true;
}
static_assert(rows_are_in_order());

double as_double(uint64_t bits) { return std::bit_cast<double>(bits); }

// The value of an integer as a float of `dtype`, where it is exact.
bool representable(DType dtype, int64_t value) {
  if (dtype_is_small_float(dtype)) {
    const auto number = static_cast<double>(value);  // exact where the small type has it
    return small_to_f64(dtype, f64_to_small(dtype, number, true)) == number;
  }
  const int digits = dtype == DType::f16 ? 11 : dtype == DType::bf16 ? 8 : dtype == DType::f32 ? 24 : 53;
  const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (magnitude == 0) return true;
  const int width = 64 - std::countl_zero(magnitude);
  return width - std::countr_zero(magnitude) <= digits && (dtype != DType::f16 || magnitude <= 65504);
}

bool in_range(DType dtype, int64_t value) {
  const int width = dtype_bits(dtype);
  if (dtype == DType::boolean) return value == 0 || value == 1;
  if (width >= 64) return dtype_is_signed(dtype) || value >= 0;
  if (!dtype_is_signed(dtype)) return value >= 0 && value < (int64_t{1} << width);
  return value >= -(int64_t{1} << (width - 1)) && value < (int64_t{1} << (width - 1));
}

// The constant of a float literal, rounded once whatever the caller's rounding mode.
uint64_t float_bits(DType dtype, double value) {
  switch (dtype) {
    case DType::f16: return f64_to_f16(value);
    case DType::bf16: return f64_to_bf16(value);
    case DType::f64: return std::bit_cast<uint64_t>(value);
    default: break;
  }
  if (dtype_is_small_float(dtype)) return f64_to_small(dtype, value, false);
  // f32: half to even by hand, since a conversion follows the thread's rounding mode.
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint32_t>(bits >> 32) & 0x80000000u;
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (exponent == 0x7ff) return sign | 0x7f800000u | (fraction ? 0x400000u | static_cast<uint32_t>(fraction >> 29) : 0);
  if (exponent == 0) return sign;
  fraction |= uint64_t{1} << 52;
  int field = exponent - 1023 + 127;
  int shift = 29;
  if (field < 1) {
    shift += 1 - field;
    field = 1;
  }
  if (shift > 54) return sign;
  const uint64_t half = uint64_t{1} << (shift - 1);
  uint64_t kept = fraction >> shift;
  const uint64_t rest = fraction & ((half << 1) - 1);
  kept += rest > half || (rest == half && (kept & 1));
  const uint64_t packed = kept + (static_cast<uint64_t>(field - 1) << 23);  // a carry moves into the exponent
  return sign | static_cast<uint32_t>(packed >= 0x7f800000u ? 0x7f800000u : packed);
}

// Whether a finite literal left the type.
bool overflowed(DType dtype, uint64_t bits, double value) {
  if (dtype_is_small_float(dtype)) {
    const double most = small_to_f64(dtype, f64_to_small(dtype, HUGE_VAL, true));
    return !std::isfinite(small_to_f64(dtype, bits)) || std::fabs(value) > most * 1.25;
  }
  switch (dtype) {
    case DType::f16: return (bits & 0x7fff) == 0x7c00;
    case DType::bf16: return (bits & 0x7fff) == 0x7f80;
    case DType::f32: return (bits & 0x7fffffff) == 0x7f800000;
    default: return false;  // f64: a literal is one already
  }
}

std::string literal_text(DType kind, uint64_t bits) {
  return kind == DType::f64 ? fmt::format("{}", as_double(bits)) : fmt::format("{}", static_cast<int64_t>(bits));
}

}  // namespace

Result<Builder::Value> Builder::value(tilert_expr id, std::string_view what) const {
  TILERT_ASSIGN(const uint32_t at, find(id, values_.size(), what));
  const Value& found = values_[at];
  TILERT_TRY(check_alive(found.life, what, "the loop, branch or kernel that made this value"));
  return found;
}

Result<tilert_expr> Builder::add_value(Value value) {
  if (values_.size() >= kMaxIds) return make_error(Code::kOutOfMemory, "a builder makes at most {} values", kMaxIds);
  values_.push_back(value);
  return make_id<tilert_expr>(serial_, static_cast<uint32_t>(values_.size() - 1));
}

Result<tilert_expr> Builder::add_expr(ir::Expr expr, Lifetime life) {
  if (expr->depth > ir::kMaxExpressionDepth)
    return make_error(Code::kInvalidProgram, "the expression is more than {} operations deep: bind a part of it with let",
                      ir::kMaxExpressionDepth);
  return add_value(Value{expr, DType::none, 0, life});
}

// A literal in the dtype of what it meets; a typed value must have it already, but integers become an index.
Result<ir::Expr> Builder::adopt(const Value& value, DType dtype, std::string_view what) const {
  ir::Arena& arena = *program_->arena;
  if (value.expr) {
    const DType from = value.expr->dtype;
    if (from == dtype) return value.expr;
    if (dtype != DType::index || !dtype_is_integer(from))
      return make_error(Code::kInvalidProgram, "{} is {}, but {} is needed: cast it", what, dtype_text(from),
                        dtype_text(dtype));
    return value.expr->is_constant() ? arena.index(value.expr->as_int()) : arena.cast(value.expr, DType::index);
  }
  const std::string text = literal_text(value.literal, value.bits);
  if (value.literal == DType::f64) {
    if (!dtype_is_float(dtype))
      return make_error(Code::kInvalidProgram, "{}: the float literal {} does not become {}: cast it", what, text,
                        dtype_text(dtype));
    const uint64_t bits = float_bits(dtype, as_double(value.bits));
    if (std::isfinite(as_double(value.bits)) && overflowed(dtype, bits, as_double(value.bits)))
      return make_error(Code::kInvalidProgram, "{}: the literal {} is outside {}", what, text, dtype_text(dtype));
    return arena.constant(dtype, bits);
  }
  const auto number = static_cast<int64_t>(value.bits);
  if (dtype_is_float(dtype)) {
    if (!representable(dtype, number))
      return make_error(Code::kInvalidProgram, "{}: the literal {} is not exact in {}: write it as a float literal",
                        what, text, dtype_text(dtype));
    return arena.constant(dtype, float_bits(dtype, static_cast<double>(number)));
  }
  if (!in_range(dtype, number))
    return make_error(Code::kInvalidProgram, "{}: the literal {} is outside {}", what, text, dtype_text(dtype));
  return arena.constant(dtype, value.bits);
}

Result<ir::Expr> Builder::typed(tilert_expr id, DType dtype, std::string_view what) const {
  TILERT_ASSIGN(const Value found, value(id, what));
  return adopt(found, dtype, what);
}

Result<ir::Expr> Builder::index_value(tilert_expr id, std::string_view what) const {
  return typed(id, DType::index, what);
}

Result<int64_t> Builder::constant_index(tilert_expr id, std::string_view what) const {
  TILERT_ASSIGN(const ir::Expr expr, index_value(id, what));
  const auto number = constant_value(expr);
  if (!number) return refuse(Refusal::symbolic_tile_, what);
  return *number;
}

tilert_expr Builder::index(int64_t value) {
  return make<tilert_expr>("index", [&] { return add_expr(program_->arena->index(value)); });
}

tilert_expr Builder::constant(tilert_dtype dtype, uint64_t bits) {
  return make<tilert_expr>("constant", [&]() -> Result<tilert_expr> {
    DType type = DType::index;
    if (dtype != TILERT_INDEX) {
      TILERT_ASSIGN(type, storage_dtype(dtype, "constant"));
    }
    const int width = dtype_bits(type);
    if ((width < 64 && bits >> width) || (type == DType::boolean && bits > 1))
      return make_error(Code::kInvalidArgument, "the bits {:#x} do not fit {}: bits beyond the width must be zero",
                        bits, dtype_text(type));
    return add_expr(program_->arena->constant(type, bits));
  });
}

tilert_expr Builder::literal(tilert_dtype dtype, uint64_t bits) {
  return make<tilert_expr>("literal", [&]() -> Result<tilert_expr> {
    if (dtype == TILERT_BOOL && bits <= 1) return add_expr(program_->arena->boolean(bits != 0));
    if (dtype == TILERT_UINT64 && bits >> 63)
      return make_error(Code::kInvalidProgram, "the literal {} is beyond int64: make it a constant of dtype u64, or a float literal", bits);
    if (dtype == TILERT_UINT64) return add_value(Value{nullptr, DType::int64, bits, {}});
    if (dtype != TILERT_INT64 && dtype != TILERT_F64)
      return make_error(Code::kInvalidArgument, "a literal is given as int64, uint64, f64 or bool (0 or 1), not as dtype {}",
                        dtype);
    return add_value(Value{nullptr, static_cast<DType>(dtype), bits, {}});
  });
}

tilert_expr Builder::dim_value(tilert_dim dim) {
  return make<tilert_expr>("dim_value", [&]() -> Result<tilert_expr> {
    TILERT_ASSIGN(const uint32_t at, find(dim, program_->dims.size(), "the dim"));
    return add_expr(program_->var(program_->dims[at].var));
  });
}

tilert_expr Builder::scalar_value(tilert_scalar scalar) {
  return make<tilert_expr>("scalar_value", [&]() -> Result<tilert_expr> {
    TILERT_ASSIGN(const uint32_t at, find(scalar, scalars_.size(), "the scalar"));
    return add_expr(program_->var(scalars_[at]));
  });
}

tilert_dtype Builder::dtype_of(tilert_expr x) {
  if (error_) return 0;
  const auto found = value(x, "the value");
  return found && found->expr ? static_cast<tilert_dtype>(found->expr->dtype) : 0;
}

// Brings the operands from `first` on to one dtype: literals adopt, integers become an index on meeting one.
Status Builder::unify(std::vector<Value>& values, size_t first, std::string_view name) const {
  DType dtype = DType::none;
  for (size_t i = first; i < values.size(); ++i) {
    if (!values[i].expr) continue;
    const DType mine = values[i].expr->dtype;
    if (dtype == DType::none || (mine == DType::index && dtype_is_integer(dtype))) {
      dtype = mine;
    } else if (mine != dtype && !(dtype == DType::index && dtype_is_integer(mine))) {
      return make_error(Code::kInvalidProgram, "{} of {} and {}: there is no promotion, cast one of them", name,
                        dtype_text(dtype), dtype_text(mine));
    }
  }
  if (dtype == DType::none)
    return make_error(Code::kInvalidProgram, "{} of literals only: give one of them a dtype (a constant, or a cast)",
                      name);
  for (size_t i = first; i < values.size(); ++i) {
    TILERT_ASSIGN(values[i].expr, adopt(values[i], dtype, fmt::format("operand {} of {}", i, name)));
  }
  return {};
}

Result<ir::Expr> Builder::apply(tilert_op op, const std::vector<ir::Expr>& operands) {
  const Row& row = kRows[op - 1];
  ir::Arena& arena = *program_->arena;
  std::vector<ir::Expr> x = operands;
  const DType dtype = x.back()->dtype;
  const ir::Op made = dtype == DType::boolean ? row.bool_op : row.op;
  if (op == TILERT_OP_CEILDIV) {
    if (dtype != DType::index && !dtype_is_integer(dtype))
      return make_error(Code::kInvalidProgram, "CEILDIV of {}: it takes integers", dtype_text(dtype));
    if (x[1]->is_constant() && x[1]->as_int() < 1)
      return make_error(Code::kInvalidProgram, "CEILDIV by {}: the divisor is positive", x[1]->as_int());
    const ir::Expr one = arena.constant(dtype, 1);
    const ir::Expr less = x[1]->is_constant() ? arena.constant(dtype, static_cast<uint64_t>(x[1]->as_int() - 1))
                                              : arena.make(ir::Op::sub, {x[1], one});
    return arena.make(ir::Op::div, {arena.make(ir::Op::add, {x[0], less}), x[1]});
  }
  if (op == TILERT_OP_GT || op == TILERT_OP_GE) std::swap(x[0], x[1]);
  if (!ir::well_typed(made, x) && !dtype_computes(x[0]->dtype))
    return make_error(Code::kInvalidProgram, "{} of {}: the type is stored and converted only, cast to {} first", row.name,
                      dtype_text(x[0]->dtype), dtype_is_float(x[0]->dtype) ? "f32 or f16" : "int8 or int32");
  if (!ir::well_typed(made, x))
    return make_error(Code::kInvalidProgram, "{} of {}: it takes no such operand, cast it first", row.name,
                      dtype_text(x[0]->dtype));
  return arena.make(made, x);
}

Result<tilert_expr> Builder::do_op(tilert_op op, const tilert_expr* operands, uint32_t count) {
  if (op < 1 || op > static_cast<tilert_op>(std::size(kRows)))
    return make_error(Code::kInvalidArgument, "{} is not an operation", op);
  const Row& row = kRows[op - 1];
  const auto arity = op == TILERT_OP_CEILDIV ? 2u : static_cast<uint32_t>(ir::op_row(row.op).arity);
  if (count != arity || !operands)
    return make_error(Code::kInvalidArgument, "{} takes {} operand{}, not {}", row.name, arity, arity == 1 ? "" : "s",
                      count);
  std::vector<Value> values(count);
  Lifetime life;
  bool literals_only = true;
  for (uint32_t i = 0; i < count; ++i) {
    TILERT_ASSIGN(values[i], value(operands[i], fmt::format("operand {} of {}", i, row.name)));
    life = shorter(life, values[i].life);
    literals_only = literals_only && !values[i].expr;
  }
  if (op == TILERT_OP_SELECT) {
    const ir::Expr test = values[0].expr;
    const bool literals = !values[1].expr && !values[2].expr;
    if (literals && test && test->is_constant() && test->dtype == DType::boolean)
      return add_value(test->bits ? values[1] : values[2]);
  }
  if (literals_only) {
    TILERT_ASSIGN(const Value folded, fold_literals(op, values, row.name));
    return add_value(folded);
  }
  size_t first = 0;
  if (op == TILERT_OP_SELECT) {
    if (!values[0].expr || values[0].expr->dtype != DType::boolean)
      return make_error(Code::kInvalidProgram, "the condition of SELECT is {}, not bool: compare it",
                        values[0].expr ? dtype_text(values[0].expr->dtype) : "a literal");
    first = 1;
  }
  TILERT_TRY(unify(values, first, row.name));
  std::vector<ir::Expr> exprs;
  for (const Value& v : values) exprs.push_back(v.expr);
  TILERT_ASSIGN(const ir::Expr made, apply(op, exprs));
  return add_expr(made, life);
}

tilert_expr Builder::op(tilert_op op, const tilert_expr* operands, uint32_t count) {
  return make<tilert_expr>("expression", [&] { return do_op(op, operands, count); });
}

tilert_expr Builder::cast(tilert_dtype dtype, tilert_expr x, uint32_t flags) {
  return make<tilert_expr>("cast", [&]() -> Result<tilert_expr> {
    if (flags & ~uint32_t{TILERT_CAST_NONSAT}) return make_error(Code::kInvalidArgument, "unknown flags {:#x}", flags);
    DType to = DType::index;
    if (dtype != TILERT_INDEX) {
      TILERT_ASSIGN(to, storage_dtype(dtype, "the dtype to cast to"));
    }
    if (flags && !has_overflow_value(to))
      return make_error(Code::kInvalidProgram, "a cast to {} that does not saturate: {}: leave TILERT_CAST_NONSAT out",
                        dtype_text(to), dtype_is_small_float(to) ? "the type has neither infinity nor NaN"
                                                                 : "only casts to fp8 saturate otherwise");
    TILERT_ASSIGN(const Value found, value(x, "the value to cast"));
    if (!found.expr) {
      TILERT_ASSIGN(const ir::Expr constant, adopt(found, to, "the value to cast"));
      return add_expr(constant);
    }
    const bool to_index = to == DType::index && dtype_is_integer(found.expr->dtype);
    if (to_index) {
      TILERT_ASSIGN(const ir::Expr made, adopt(found, to, "the value to cast"));
      return add_expr(made, found.life);
    }
    ir::Arena& arena = *program_->arena;
    return add_expr(flags ? arena.cast_nonsat(found.expr, to) : arena.cast(found.expr, to), found.life);
  });
}

// A literal has no type yet, and what it is folded from is exact.
tilert_expr Builder::fast(tilert_expr x) {
  return make<tilert_expr>("fast", [&]() -> Result<tilert_expr> {
    TILERT_ASSIGN(const Value found, value(x, "the value"));
    return found.expr ? add_expr(ir::as_fast(*program_->arena, found.expr), found.life) : add_value(found);
  });
}

tilert_expr Builder::reinterpret(tilert_dtype dtype, tilert_expr x) {
  return make<tilert_expr>("reinterpret", [&]() -> Result<tilert_expr> {
    TILERT_ASSIGN(const DType to, storage_dtype(dtype, "the dtype to read the bits as"));
    TILERT_ASSIGN(const Value found, value(x, "the value"));
    if (!found.expr)
      return make_error(Code::kInvalidProgram, "a literal has no bits of its own: give it a dtype first");
    if (dtype_bits(found.expr->dtype) != dtype_bits(to) ||
        (to == DType::boolean) != (found.expr->dtype == DType::boolean))
      return make_error(Code::kInvalidProgram, "the bits of {} ({} wide) cannot be read as {} ({} wide)",
                        dtype_text(found.expr->dtype), dtype_bits(found.expr->dtype), dtype_text(to), dtype_bits(to));
    return add_expr(program_->arena->reinterpret(found.expr, to), found.life);
  });
}

}  // namespace tilert::builder
