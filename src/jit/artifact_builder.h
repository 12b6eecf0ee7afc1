// From a generated program and its binary to an artifact: expressions become bytecode, buffers become parameters.
#pragma once

#include "codegen/generated.h"
#include "compiler/compiler.h"
#include "passes/specialize.h"
#include "runtime/artifact.h"

namespace tilert::jit {

// The artifact without its code: what a launch needs. `source` is the program before specialization: its shapes name
// dims also where this variant made them constant, so that arguments tell dims. `dims` are the variant's choices.
Result<runtime::Artifact> build_artifact(const ir::Program& source, const codegen::GeneratedProgram& generated,
                                         const std::vector<passes::DimChoice>& dims);

// Puts the binary into an artifact that has none.
void attach_code(runtime::Artifact& artifact, const Binary& binary);

}  // namespace tilert::jit
