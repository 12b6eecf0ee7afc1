// contract: which multiply-adds are fused, decided once for every back end; the compilers below fuse nothing.
// before: a Parallel whose `contract` is set. after: in its body, wherever f32 or f64 values are added or subtracted,
//   x * y + z and z + x * y are fma(x, y, z) (where both sides are products, the left one is fused),
//   x * y - z is fma(x, y, -z), and z - x * y is fma(-x, y, z).
// A product that is used elsewhere too is fused all the same and computed again there: the rule looks at one addition
// at a time, so that the same source line rounds the same way wherever it stands. 16-bit floats round after each operation.
#pragma once

#include "passes/module.h"

namespace tilert::passes {

ir::Expr contract(ir::Arena& arena, ir::Expr e);
// Every Parallel of every kernel that allows it.
Result<Module> contract(Module module, const PassContext& context);

}  // namespace tilert::passes
