// The order of the passes for GPUs: one table; timing, verification and stopping belong here and nowhere else.
#pragma once

#include <string_view>

#include "passes/module.h"

namespace tilert::passes {

struct Pass {
  const char* name;
  Result<Module> (*run)(Module, const PassContext&);
};

// In order; the input is specialize's.
const std::vector<Pass>& gpu_passes();

// Runs them, up to and with `stop_after` where it is not empty.
Result<Module> run_gpu_passes(Module module, const PassContext& context, std::string_view stop_after = {});

}  // namespace tilert::passes
