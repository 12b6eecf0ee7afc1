// The order of the passes for GPUs: one table; timing, verification and stopping belong here and nowhere else.
#pragma once

#include <string_view>

#include "ir/verifier.h"
#include "passes/module.h"

namespace tilert::passes {

struct Pass {
  const char* name;
  Result<Module> (*run)(Module, const PassContext&);
  ir::Stage stage;  // what its result is legal at
};

// In order; the input is specialize's.
const std::vector<Pass>& gpu_passes();

// Runs them, up to and with `stop_after` where it is not empty. With context.verify each result is verified: a fault is
// ours (kInternal) and names the pass.
Result<Module> run_gpu_passes(Module module, const PassContext& context, std::string_view stop_after = {});

}  // namespace tilert::passes
