// Where the regions of a program's workspace lie: those that are zeroed once first, then the others, each aligned. One
// layout for all kernels of a program, which run one after the other.
#pragma once

#include "codegen/generated.h"

namespace tilert::codegen {

inline constexpr int64_t kWorkspaceAlignment = 256;

// Of the regions that are parameters of `kernels`.
WorkspaceLayout lay_out_workspace(const ir::Program& program, const std::vector<GeneratedKernel>& kernels);

}  // namespace tilert::codegen
