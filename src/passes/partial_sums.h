// partial_sums: a sum that a loop only accumulates into, or scales, stays in parts until it is read.
// before: fill f = 0; for { ..; f *= x; reduce sum s -> f, accumulate; .. }; reads of f
// after:  the same on a fragment p of its own, named in KernelPlan::partial; behind the loop: copy p -> f, which adds the
//         parts up. Whether parts pay is known with the layouts: where they would cross warps, p is an ordinary fragment.
// The order of the additions changes; nothing else does.
#pragma once

#include "passes/module.h"

namespace tilert::passes {

Result<Module> partial_sums(Module module, const PassContext& context);

}  // namespace tilert::passes
