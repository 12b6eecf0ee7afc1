// The arena of expressions and the table of operations.
#include "ir/expr.h"

#include <algorithm>
#include <cstring>

#include "support/small_float.h"

namespace tilert::ir {
namespace {

constexpr OpRow kOpRows[] = {
#define TILERT_OP(name, arity, rule, text, c) {Op::name, arity, TypeRule::rule, text, c},
#include "ir/ops.def"
#undef TILERT_OP
};

uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdull;
  return hash ^ (hash >> 33);
}

}  // namespace

uint64_t canonical_bits(DType dtype, uint64_t bits) {
  const int width = dtype_bits(dtype);
  if (width >= 64 || width == 0) return bits;
  if (dtype == DType::boolean) return bits & 1;
  const uint64_t mask = (uint64_t{1} << width) - 1;
  bits &= mask;
  if (dtype_is_signed(dtype) && (bits >> (width - 1)) & 1) bits |= ~mask;
  return bits;
}

const OpRow& op_row(Op op) { return kOpRows[static_cast<size_t>(op)]; }

const OpRow* op_from_text(std::string_view text) {
  for (const OpRow& row : kOpRows)
    if (text == row.text) return &row;
  return nullptr;
}

Arena::Arena() { table_.reserve(256); }

bool Arena::Equal::operator()(Expr a, Expr b) const {
  if (a->op != b->op || a->dtype != b->dtype || a->bits != b->bits || a->arity != b->arity) return false;
  for (int i = 0; i < a->arity; ++i)
    if (a->operand[i] != b->operand[i]) return false;
  return true;
}

Expr Arena::intern(Node node) {
  uint64_t hash = mix(static_cast<uint64_t>(node.op) * 256 + static_cast<uint64_t>(node.dtype), node.bits);
  for (int i = 0; i < node.arity; ++i) {
    hash = mix(hash, node.operand[i]->hash);
    node.depth = std::max(node.depth, node.operand[i]->depth + 1);
  }
  node.hash = hash;
  const auto found = table_.find(&node);
  if (found != table_.end()) return *found;
  node.serial = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(node);
  table_.insert(&nodes_.back());
  return &nodes_.back();
}

Expr Arena::constant(DType dtype, uint64_t bits) {
  return intern(Node{Op::constant, dtype, 0, canonical_bits(dtype, bits), {}, 0, 0, 0});
}

Expr Arena::f32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return constant(DType::f32, bits);
}

Expr Arena::number(DType dtype, double value) {
  switch (dtype) {
    case DType::f16: return constant(dtype, f64_to_f16(value));
    case DType::bf16: return constant(dtype, f64_to_bf16(value));
    case DType::f32: return f32(static_cast<float>(value));
    case DType::f64: {
      uint64_t bits;
      std::memcpy(&bits, &value, 8);
      return constant(dtype, bits);
    }
    case DType::boolean: return constant(dtype, value != 0);
    default:
      if (dtype_is_small_float(dtype)) return constant(dtype, f64_to_small(dtype, value, true));
      return constant(dtype, static_cast<uint64_t>(static_cast<int64_t>(value)));
  }
}

Expr Arena::variable(VarId id, DType dtype) { return intern(Node{Op::variable, dtype, 0, id, {}, 0, 0, 0}); }

Expr Arena::make(Op op, std::span<const Expr> operands) {
  Node node{op, result_type(op, operands), static_cast<uint8_t>(operands.size()), 0, {}, 0, 0, 0};
  for (size_t i = 0; i < operands.size() && i < 3; ++i) node.operand[i] = operands[i];
  return intern(node);
}

Expr Arena::cast(Expr value, DType to) {
  if (value->dtype == to) return value;
  return intern(Node{Op::cast, to, 1, 0, {value}, 0, 0, 0});
}

Expr Arena::cast_nonsat(Expr value, DType to) {
  if (value->dtype == to) return value;
  return intern(Node{Op::cast_nonsat, to, 1, 0, {value}, 0, 0, 0});
}

Expr Arena::reinterpret(Expr value, DType to) {
  if (value->dtype == to) return value;
  return intern(Node{Op::reinterpret, to, 1, 0, {value}, 0, 0, 0});
}

Expr Arena::conversion(Op op, Expr value, DType to) {
  switch (op) {
    case Op::cast: return cast(value, to);
    case Op::cast_nonsat: return cast_nonsat(value, to);
    case Op::reinterpret: return reinterpret(value, to);
    default: return nullptr;
  }
}

bool well_typed(Op op, std::span<const Expr> operands) {
  const OpRow& row = op_row(op);
  if (row.rule == TypeRule::leaf || static_cast<int>(operands.size()) != row.arity) return false;
  for (Expr e : operands)
    if (!e) return false;
  const DType first = operands[0]->dtype;
  const auto all = [&](size_t from) {
    for (size_t i = from; i < operands.size(); ++i)
      if (operands[i]->dtype != operands[from]->dtype) return false;
    return true;
  };
  if (is_philox(op) && first != DType::int64) return false;
  const bool stored_only = !dtype_computes(first);
  if (stored_only && row.rule != TypeRule::choose && row.rule != TypeRule::convert) return false;
  switch (row.rule) {
    case TypeRule::leaf: return false;
    case TypeRule::same:
    case TypeRule::number: return all(0) && first != DType::boolean;
    case TypeRule::floats: return all(0) && dtype_is_float(first);
    case TypeRule::singles: return all(0) && dtype_is_float(first) && dtype_bits(first) <= 32;
    case TypeRule::integers: return all(0) && !dtype_is_float(first) && (first != DType::boolean || op == Op::bit_and ||
                                                                         op == Op::bit_or || op == Op::bit_xor);
    case TypeRule::compare: return all(0);
    case TypeRule::test: return dtype_is_float(first);
    case TypeRule::logic: return all(0) && first == DType::boolean;
    case TypeRule::choose: return first == DType::boolean && all(1);
    case TypeRule::convert: return true;
  }
  return false;
}

DType result_type(Op op, std::span<const Expr> operands) {
  switch (op_row(op).rule) {
    case TypeRule::compare:
    case TypeRule::test:
    case TypeRule::logic: return DType::boolean;
    case TypeRule::choose: return operands[1]->dtype;
    default: return operands.empty() ? DType::none : operands[0]->dtype;
  }
}

}  // namespace tilert::ir
