// generate: the way down from a variant's request to source text, for every back end.
#pragma once

#include <string_view>
#include <vector>

#include "codegen/generated.h"
#include "passes/specialize.h"
#include "target/target.h"

namespace tilert::jit {

// Changes whenever the same request may give another source text.
inline constexpr uint32_t kGeneratorVersion = 1;

Result<codegen::GeneratedProgram> generate(const ir::Program& program, const std::vector<passes::DimChoice>& dims,
                                           const Target& target, const DeviceClass& device);

// The program as text after a pass ("specialized" or a name of passes/order.h).
Result<std::string> text_after(const ir::Program& program, const std::vector<passes::DimChoice>& dims, const Target& target,
                               const DeviceClass& device, std::string_view stage);

}  // namespace tilert::jit
