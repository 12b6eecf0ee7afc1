// infer_layouts: who holds each fragment element, and where each element of a shared tile lies.
// before: fragments and tiles without maps, gemm plans chosen (select.h). after: KernelPlan::fragments, shared and loops
// are filled. Instructions demand, element-wise loops and reductions carry maps to their neighbours, the rest is spread
// evenly. Fails for want of registers alone: where two users disagree, lowering converts (Lower::converted, ElementWise).
#pragma once

#include "passes/module.h"

namespace tilert::passes {

Result<Module> infer_layouts(Module module, const PassContext& context);

// A copy as the element-wise loop that it is.
struct CopyLoop {
  ir::Parallel loop;
  ir::BufferId fragment = ir::kNoBuffer;  // the fragment whose map the loop takes
};
// Refuses a fragment that no thread has the registers for, nor nearly so.
Status check_fragments(const ir::Program& program, const KernelPlan& plan);

CopyLoop copy_loop(ir::Program& program, const ir::Copy& copy);

class Lower;
int64_t vector_width(Lower& lower, const ir::Parallel& loop);

}  // namespace tilert::passes
