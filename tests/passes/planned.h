// What tests ask of a module's plans, of which there are none before the pass `select`.
#pragma once

#include <algorithm>

#include "passes/module.h"

namespace tilert::passes {

// The threads of a kernel; 0 while nothing has planned them.
inline int planned_threads(const Module& module, size_t kernel = 0) {
  return kernel < module.plans.size() ? module.plans[kernel].threads : 0;
}

// Whether warps of some kernel run side by side, which is not for the interpreter.
inline bool planned_roles(const Module& module) {
  return std::any_of(module.plans.begin(), module.plans.end(), [](const KernelPlan& plan) { return plan.roles.on; });
}

}  // namespace tilert::passes
