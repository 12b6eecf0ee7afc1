// expand: operations along a dim that have no lowering of their own become loops, reductions and tiles that have.
// before: fold, scan, pick, sort and sparse products; after: none of them, but sparse products that the target's instructions take. Ordinals of what they become follow the program's own; locations
// stay. What each becomes on GPUs and CPUs is said at its function.
#pragma once

#include "passes/module.h"

namespace tilert::passes {

Result<Module> expand(Module module, const PassContext& context);

}  // namespace tilert::passes
