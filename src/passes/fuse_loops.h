// fuse_loops: what kernels with roles do to a product's elements one loop after the other they do element by element.
// before: copy @R[..] -> @r; parallel (i, j) { acc(i, j) = acc(i, j) + r(i, j) }; parallel (i, j) { .. }
// after:  parallel (i, j) { r(i, j) = R[..]; acc(i, j) = acc(i, j) + r(i, j); .. }
// Accumulators leave few registers: a tile of residuals that is read before the first of them is used would not fit beside.
// Loops are joined where one point's statements touch nothing that another point's write.
#pragma once

#include "passes/module.h"

namespace tilert::passes {

Result<Module> fuse_loops(Module module, const PassContext& context);

}  // namespace tilert::passes
