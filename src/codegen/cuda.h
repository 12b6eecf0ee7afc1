// CUDA C++ from lowered kernels: the frame (parameters, launch bounds, arena) around what c_text.h prints.
#pragma once

#include "codegen/generated.h"
#include "passes/module.h"

namespace tilert::codegen {

// `module` has been through every pass of passes/order.h.
Result<GeneratedProgram> generate_cuda(const passes::Module& module, const passes::PassContext& context);

}  // namespace tilert::codegen
