// Answers from the simplifier and the ranges.
#include "arith/prover.h"

#include "ir/visit.h"

namespace tilert::arith {

bool Prover::prove(ir::Expr condition) {
  const ir::Expr e = simplifier_.simplify(condition);
  return e->is_constant() && e->as_int() != 0;
}

bool Prover::disprove(ir::Expr condition) {
  const ir::Expr e = simplifier_.simplify(condition);
  return e->is_constant() && e->as_int() == 0;
}

Range Prover::bounds(ir::Expr e) { return both(facts_.range(e), facts_.range(simplifier_.simplify(e))); }

bool Prover::multiple_of(ir::Expr e, int64_t n) { return bounds(e).multiple_of(n); }

bool Prover::fits_int32(ir::Expr e) {
  bool all = true;
  const Range limits = Range::of_dtype(DType::int32);
  ir::for_each_node(e, [&](ir::Expr node) {
    if (!all || !dtype_is_integer(node->dtype)) return;
    all = facts_.range(node).within(limits.low, limits.high);
  });
  return all;
}

bool prove(ir::Expr condition, const Facts& facts) { return Prover(facts.arena(), facts).prove(condition); }
Range bounds(ir::Expr e, const Facts& facts) { return Prover(facts.arena(), facts).bounds(e); }
bool multiple_of(ir::Expr e, int64_t n, const Facts& facts) { return Prover(facts.arena(), facts).multiple_of(e, n); }
bool fits_int32(ir::Expr e, const Facts& facts) { return Prover(facts.arena(), facts).fits_int32(e); }

}  // namespace tilert::arith
