// Whether the fragments of a kernel can be had: registers of a thread, some of which may spill.
#include <fmt/format.h>

#include "passes/layouts.h"
#include "support/refusal.h"
#include "support/round.h"

namespace tilert::passes {

namespace {

constexpr int64_t kRegisters = 255;           // of a thread, on every GPU here
constexpr int64_t kMost = 4 * kRegisters;     // of one fragment: beyond, compilers take minutes for what memory would hold better

}  // namespace

Status check_fragments(const ir::Program& program, const KernelPlan& plan) {
  for (const auto& [id, map] : plan.fragments) {
    const ir::Buffer& b = program.buffer(id);
    const int64_t words = ceil_div(map.registers() * dtype_bytes(b.dtype), 4);
    if (words <= kMost) continue;
    std::string shape;
    for (int64_t extent : map.shape()) shape += (shape.empty() ? "" : "x") + std::to_string(extent);
    return refusal(fmt::format("fragment '{}' of {} {} takes {} registers of each of {} threads, which have {}", b.name, shape, dtype_text(b.dtype), words,
                               plan.threads, kRegisters),
                   "use a smaller tile, a shared one, or more threads");
  }
  return {};
}

}  // namespace tilert::passes
