// Scalar expressions: pure nodes, hash-consed in an arena, so that equal expressions are the same pointer.
// Memory reads are not expressions: they are Let statements (stmt.h). Simplification lives in src/arith; constant
// evaluation in ir/evaluate.h.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <span>
#include <unordered_set>

#include "support/dtype.h"

namespace tilert::ir {

enum class Op : uint8_t {
#define TILERT_OP(name, arity, rule, text, c) name,
#include "ir/ops.def"
#undef TILERT_OP
};
enum class TypeRule : uint8_t { leaf, same, number, floats, singles, integers, compare, test, logic, choose, convert };

struct OpRow {
  Op op;
  int arity;
  TypeRule rule;
  const char* text;
  const char* c;
};
const OpRow& op_row(Op op);
const OpRow* op_from_text(std::string_view text);

using VarId = uint32_t;
inline constexpr VarId kNoVar = ~0u;

// Immutable; owned by its arena; compared by address within one arena.
struct Node {
  Op op;
  DType dtype;
  uint8_t arity;
  uint64_t bits;         // constant: its bit pattern, zero-extended (signed integers: sign-extended to 64); variable: VarId
  const Node* operand[3];
  uint64_t hash;         // structural: the same in every process for the same expression over the same ids
  uint32_t serial;       // order of creation in the arena: the canonical order of operands
  uint32_t depth;        // operations below each other: 0 of constants and variables

  bool is_constant() const { return op == Op::constant; }
  bool is_variable() const { return op == Op::variable; }
  VarId var() const { return static_cast<VarId>(bits); }
  int64_t as_int() const { return static_cast<int64_t>(bits); }  // constants of integer, index and bool dtype
};
using Expr = const Node*;

// The deepest expression that a program may hold: what walks expressions recurses, and must fit the smallest usual stack.
inline constexpr uint32_t kMaxExpressionDepth = 256;

// Bits of a value as constants have them: beyond the dtype's width zeros, of signed integers copies of the sign.
uint64_t canonical_bits(DType dtype, uint64_t bits);

// Owns nodes. Not thread-safe: each compile works on its own copy of a program (specialize clones the arena).
class Arena {
 public:
  Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Expr constant(DType dtype, uint64_t bits);  // canonicalizes the bits beyond the dtype's width
  Expr index(int64_t value) { return constant(DType::index, static_cast<uint64_t>(value)); }
  Expr boolean(bool value) { return constant(DType::boolean, value); }
  Expr f32(float value);
  // A number in `dtype`, rounded once; used for literals.
  Expr number(DType dtype, double value);
  Expr variable(VarId id, DType dtype);
  // Operand types must fit the operation's rule (well_typed); the result's dtype follows from the rule, except for
  // `convert`, where it is given.
  Expr make(Op op, std::span<const Expr> operands);
  Expr make(Op op, std::initializer_list<Expr> operands) { return make(op, std::span(operands.begin(), operands.size())); }
  Expr cast(Expr value, DType to);        // the value itself when the dtype is `to` already
  Expr cast_nonsat(Expr value, DType to);
  Expr reinterpret(Expr value, DType to);
  // One of these three, or nothing for another operation.
  Expr conversion(Op op, Expr value, DType to);
  size_t size() const { return nodes_.size(); }

 private:
  Expr intern(Node node);
  struct Hash { size_t operator()(Expr e) const { return e->hash; } };
  struct Equal { bool operator()(Expr a, Expr b) const; };
  std::deque<Node> nodes_;
  std::unordered_set<Expr, Hash, Equal> table_;
};

inline bool is_philox(Op op) { return op >= Op::philox0 && op <= Op::philox3; }

// Whether the operands fit the operation's rule.
bool well_typed(Op op, std::span<const Expr> operands);
DType result_type(Op op, std::span<const Expr> operands);

}  // namespace tilert::ir
