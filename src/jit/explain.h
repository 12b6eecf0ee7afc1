// explain: how a variant was made, for people (text) and tools (JSON): its configuration with the names and places of the
// program, each hint's outcome, who holds each element of a tile, shared memory, what bounds the blocks of a processor.
#pragma once

#include <vector>

#include "compiler/compiler.h"
#include "passes/specialize.h"
#include "support/json.h"
#include "target/target.h"

namespace tilert::jit {

// Runs the passes anew. `resources`: what the compiler said of each kernel, empty where that is not known.
Result<Json> explain(const ir::Program& program, const std::vector<passes::DimChoice>& dims, const Target& target,
                               const DeviceClass& device, const std::vector<KernelResources>& resources);

// The same as text of lines of at most about 120 columns.
std::string explanation_text(const Json& explanation);

}  // namespace tilert::jit
