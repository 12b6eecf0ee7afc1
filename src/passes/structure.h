// structure: jumps to the end of a trip, and to the end of the kernel, become branches.
// before: if (c) { a; continue } b      after: if (c) { a } else { b }
//         where the way to the end leads out of more than one block, a flag of the block (of the point, inside parallel)
//         says that the rest is passed over. Only jumps that leave the innermost loop are left.
// So no thread leaves a kernel before its last collective, and what a loop does at the end of each trip is always done.
#pragma once

#include "passes/module.h"

namespace tilert::passes {

// The block with jumps to the end of the kernel made into branches within it: they end the block.
ir::Block end_inside(ir::Program& program, const ir::Block& block);

Result<Module> structure(Module module, const PassContext& context);

}  // namespace tilert::passes
