// CUDA C++ or HIP C++ from lowered kernels: the frame (parameters, launch bounds) around what c_text.h prints. Both are the same
// text over primitives; only the primitives differ.
#pragma once

#include "codegen/generated.h"
#include "passes/module.h"

namespace tilert::codegen {

// `module` has been through every pass of passes/order.h.
Result<GeneratedProgram> generate_c_program(const passes::Module& module, const passes::PassContext& context);

}  // namespace tilert::codegen
