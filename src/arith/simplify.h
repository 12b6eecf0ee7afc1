// The simplifier: the same value in fewer or more regular operations. It never changes a value: NaN, signed zero,
// wrapping and x / 0 included (which NaN a NaN is may change). Index arithmetic is taken as exact, as the language says.
// Idempotent; the same node where nothing changes; deterministic.
// The rules are in rules.def; sums, divisions, comparisons and casts of integers are normalized here by affine forms.
#pragma once

#include <unordered_map>

#include "arith/facts.h"

namespace tilert::arith {

class Simplifier {
 public:
  Simplifier(ir::Arena& arena, const Facts& facts) : arena_(arena), facts_(facts) {}

  ir::Expr simplify(ir::Expr e);
  ir::Expr operator()(ir::Expr e) { return simplify(e); }

 private:
  ir::Expr visit(ir::Expr e);
  ir::Expr step(ir::Expr e);  // one rewrite of a node with simplified operands, or the node
  ir::Expr fold(ir::Expr e);
  ir::Expr apply_rules(ir::Expr e);
  ir::Expr step_integer(ir::Expr e);
  ir::Expr step_sum(ir::Expr e);
  ir::Expr step_division(ir::Expr e);
  ir::Expr step_extremum(ir::Expr e);
  ir::Expr step_shift(ir::Expr e);
  ir::Expr step_compare(ir::Expr e);
  ir::Expr step_cast(ir::Expr e);
  ir::Expr step_not(ir::Expr e);
  // The affine form with dtype's arithmetic, as an expression.
  ir::Expr rebuilt(Affine form, DType dtype);

  ir::Arena& arena_;
  const Facts& facts_;
  std::unordered_map<ir::Expr, ir::Expr> memo_;
  uint64_t version_ = 0;
  int depth_ = 0;  // rewrites that led here
};

}  // namespace tilert::arith
