// ring: pipelined loops become plain ones whose copies run ahead.
// before: for pipelined i { copy g[i] -> s; use s }
//         A place may be read in the body, from memory that the loop leaves alone: let p = table[i]; copy g[p] -> s; use s
// after:  s has a leading dim of `stages` slots; the first stages - 1 copies are issued before the loop; iteration i waits
//         for its own, issues that of i + stages - 1 into the slot just freed, and uses slot i mod stages.
// Meaning is kept; no float operation is reordered. Planning (plan_rings) is apart from applying.
#pragma once

#include "passes/module.h"

namespace tilert::passes {

// Fills KernelPlan::rings: which copies of which loops run ahead, how deep, and why not.
Result<Module> plan_rings(Module module, const PassContext& context);

Result<Module> apply_rings(Module module, const PassContext& context);

}  // namespace tilert::passes
