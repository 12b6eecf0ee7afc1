// tables: places in parameters that are tables of pointers become addresses, each read once.
// before: copy W[g, i, j] ...     after: let a = table[g]; copy W[a, i, j] ..., W being `addressed`
// The read stands as far out as what the place depends on allows: before the loops that do not change it, and inside parallel
// only where each point has a tensor of its own. `table` is the parameter's memory as numbers; out of its bounds they are 0,
// which is no tensor, so that no pass below asks about the table again.
#pragma once

#include "passes/module.h"

namespace tilert::passes {

Result<Module> tables(Module module, const PassContext& context);

}  // namespace tilert::passes
