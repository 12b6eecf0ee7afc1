// plan_async: how the barriers and tensor copies of a program's own lie in shared memory, and which maps the copies go by.
// before: AsyncOps; after: KernelPlan::async, and the maps among those of the roles. Targets without the engine are refused.
#pragma once

#include "passes/module.h"

namespace tilert::passes {

Result<Module> plan_async(Module module, const PassContext& context);

// Whether the kernel places barriers or tensor copies itself.
bool is_asynchronous(const ir::Program& program, const ir::Kernel& kernel);

}  // namespace tilert::passes
