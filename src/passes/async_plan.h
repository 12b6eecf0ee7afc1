// plan_async: how the barriers, tensor copies and issued products of a program's own lie in shared memory, and which maps the
// copies go by.
// before: AsyncOps and issued products; after: KernelPlan::async, the maps among those of the roles, the products' plans.
// Targets without what it takes are refused.
#pragma once

#include "passes/module.h"

namespace tilert::passes {

Result<Module> plan_async(Module module, const PassContext& context);

// Whether the kernel places barriers or tensor copies, or issues products, itself.
bool is_asynchronous(const ir::Program& program, const ir::Kernel& kernel);

}  // namespace tilert::passes
