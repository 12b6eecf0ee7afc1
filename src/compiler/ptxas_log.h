// What ptxas says with -v, made into numbers: registers, stack, spills, shared memory, and the notes that a generated
// kernel must not have. Lines it does not know are left alone.
#pragma once

#include "compiler/compiler.h"

#include <string_view>
#include <vector>

namespace tilert {

struct PtxasReport {
  std::vector<KernelResources> resources;  // in the order of the log
  std::vector<std::string> notes;          // C75xx lines (serialized products and their like), warnings of spills
};

PtxasReport parse_ptxas_log(std::string_view log);

}  // namespace tilert
