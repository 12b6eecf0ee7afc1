// wait_for_grids: kernels that may start before the grid in front of them in their stream has ended.
// before: synchronized code, with the hint `pdl`. after: all threads wait for the grids before, in front of the first statement
//         that touches global memory, and then let the next grid start; what stands before the wait overlaps. A block that has
//         waited knows the end of all grids before its own, so that a grid that waits for this one knows it too.
// Not where blocks meet (cooperative launches overlap nothing) nor on targets without it: KernelPlan says why.
#pragma once

#include "passes/module.h"

namespace tilert::passes {

Result<Module> wait_for_grids(Module module, const PassContext& context);

}  // namespace tilert::passes
