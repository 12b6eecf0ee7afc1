// The resolved configuration of a variant as JSON: what was chosen, and why not something else. Ordinals name operations;
// labels and lines are resolved against the live program by whoever shows it (jit/explain.h).
#pragma once

#include "passes/cpu_lower.h"
#include "passes/module.h"
#include "support/json.h"

namespace tilert::codegen {

// Pure content: equal modules give equal values.
Json configuration(const passes::Module& module);
Json configuration(const passes::CpuProgram& program, int lanes);

const char* name_of(passes::CopyPlan::Engine engine);

}  // namespace tilert::codegen
