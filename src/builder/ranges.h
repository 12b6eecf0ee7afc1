// What a build can know of index expressions: affine forms with the ranges of loop variables, and whether an
// element-wise write provably meets itself. Everything here answers 'not known' rather than guess. The full prover is
// src/arith.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/expr.h"

namespace tilert::builder {

// Values that a variable takes; a missing bound is unknown. Both bounds are attained.
struct Range {
  std::optional<int64_t> low, high;
};
using Ranges = std::unordered_map<ir::VarId, Range>;

// Least and greatest value of an affine expression, attained; missing where not known.
Range range_of(ir::Expr expr, const Ranges& ranges);

// Whether two iterations of a parallel loop provably write the same element: `vars` with `extents` are the loop's
// variables, `varying` other variables that may differ between iterations. Enumerates a part of the iterations.
bool provably_repeats(std::span<const ir::Expr> indices, std::span<const ir::VarId> vars,
                      std::span<const int64_t> extents, const std::vector<ir::VarId>& varying);

// The value of an integer constant expression, without a simplifier: constants only.
std::optional<int64_t> constant_value(ir::Expr expr);

}  // namespace tilert::builder
