// Questions about expressions in words: true only where certain.
#pragma once

#include "arith/simplify.h"

namespace tilert::arith {

class Prover {
 public:
  Prover(ir::Arena& arena, const Facts& facts) : simplifier_(arena, facts), facts_(facts) {}

  bool prove(ir::Expr condition);            // it always holds
  bool disprove(ir::Expr condition);         // it never holds
  Range bounds(ir::Expr e);                  // of an integer, index or bool expression
  bool multiple_of(ir::Expr e, int64_t n);
  // Every integer the evaluation of e passes through, operands and intermediate results, lies in int32.
  bool fits_int32(ir::Expr e);
  ir::Expr simplify(ir::Expr e) { return simplifier_.simplify(e); }

 private:
  Simplifier simplifier_;
  const Facts& facts_;
};

// One question at a time; several to one set of facts share work through a Prover.
bool prove(ir::Expr condition, const Facts& facts);
Range bounds(ir::Expr e, const Facts& facts);
bool multiple_of(ir::Expr e, int64_t n, const Facts& facts);
bool fits_int32(ir::Expr e, const Facts& facts);

}  // namespace tilert::arith
