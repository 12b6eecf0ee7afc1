// What a sparse product's instruction is told of its metadata: the tile's bits (ir/semantics.h) as a lane's word.
#pragma once

#include <functional>

#include "passes/lower.h"

namespace tilert::passes {

struct SparsePlaces {
  ir::Region metadata;
  std::function<ir::Expr(ir::Expr row, ir::Expr column)> element;
  int64_t m = 0, k = 0;  // of the product
};

// The word of `lane` for rows `row` to `row` + 15 and the instruction's kk-th step along K. Beyond the tile, where the operands
// are zeros, it says some places.
ir::Expr sparse_metadata(Lower& low, const Atom& atom, const SparsePlaces& places, ir::Expr row, ir::Expr kk, ir::Expr lane);

}  // namespace tilert::passes
