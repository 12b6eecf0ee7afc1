// Programs lowered for the CPU as LLVM IR text, one entry per kernel:
//   void NAME(const uint64_t* parameters, int64_t first_block, int64_t last_block, const int64_t grid[3], void* scratch)
// runs the blocks first_block <= b < last_block, linear with x fastest. parameters: one 8-byte slot per
// GeneratedKernel::parameters, in their order; scratch: page-aligned, shared_bytes long, private to the call.
// The text is for codegen/generated.h's Language::llvm_ir; it imports nothing but the plugin's helpers.
// Not here: what is a product, what is done in vectors, where tiles lie (passes/cpu_lower.h).
#pragma once

#include "codegen/generated.h"
#include "passes/module.h"

namespace tilert::codegen {

// From the specialized program on: lowers, then prints.
Result<GeneratedProgram> generate_llvm(passes::Module module, const passes::PassContext& context);

}  // namespace tilert::codegen
