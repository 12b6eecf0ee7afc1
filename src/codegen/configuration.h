// The resolved configuration of a variant as JSON: what was chosen, and why not something else. Ordinals name operations;
// labels and lines are resolved against the live program by whoever shows it.
#pragma once

#include <string>

#include "passes/module.h"

namespace tilert::codegen {

// Pure content: equal modules give equal texts.
std::string configuration_json(const passes::Module& module);

}  // namespace tilert::codegen
