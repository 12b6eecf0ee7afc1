// Patterns of the rule table: parsed once from text, matched against expressions, instantiated as expressions.
// Not here: the rules (rules.def), and when they are tried (simplify.cpp).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "arith/facts.h"

namespace tilert::arith {

struct Pattern {
  enum class Kind : uint8_t { node, any, constant, integer, real, boolean } kind = Kind::any;
  ir::Op op{};                     // node
  int slot = 0;                    // any, constant: which binding
  int64_t integer = 0;             // integer, boolean
  double real = 0;                 // real; the sign of zero counts
  std::vector<Pattern> operands;   // node
};

struct Guard {
  int slot;
  Range range;  // what the letter's range must lie in
};

struct Rule {
  char operand_class;
  Pattern pattern, replacement;
  std::vector<Guard> guards;
};

inline constexpr int kPatternSlots = 8;
struct Bindings {
  ir::Expr value[kPatternSlots] = {};
};

// The rules whose pattern has `op` at its root.
std::span<const Rule> rules_of(ir::Op op);

bool is_commutative(ir::Op op);
// Whether the rule applies to e, and what its letters are then.
bool matches(const Rule& rule, ir::Expr e, const Facts& facts, Bindings& bindings);
// The replacement, in which literals take `dtype`.
ir::Expr instantiate(ir::Arena& arena, const Pattern& pattern, const Bindings& bindings, DType dtype);

}  // namespace tilert::arith
