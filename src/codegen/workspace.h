// Where the regions of a program's workspace lie: those that are zeroed once first, then the others, each aligned. One
// layout for all kernels of a program, which run one after the other.
#pragma once

#include "codegen/generated.h"
#include "passes/module.h"

namespace tilert::codegen {

inline constexpr int64_t kWorkspaceAlignment = 256;

// Of the regions that are parameters of `kernels`, and of those that are zeroed: variants of a kernel agree about these,
// whatever is proved away in one of them. A schedule's header stands last of what is zeroed, its list behind that.
WorkspaceLayout lay_out_workspace(const ir::Program& program, const std::vector<GeneratedKernel>& kernels,
                                  const passes::SchedulePlan* schedule = nullptr);

}  // namespace tilert::codegen
