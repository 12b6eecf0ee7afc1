// Planned schedules: which tiles each block of a persistent kernel does, and in which order, balanced by what tiles cost.
// Made on the host here, or by the artifact's planner on the device, which finds the same lists.
#pragma once

#include "runtime/loaded.h"
#include "tilert.h"

namespace tilert::runtime {

// For each tile the block that does it and the order: groups in ascending order, the costliest of a group first, each to the
// block that is least loaded so far, the lowest of equals.
struct TileLists {
  std::vector<int32_t> starts;  // blocks + 1
  std::vector<int32_t> order;   // tiles, those of a block side by side
};
TileLists balance(std::span<const int64_t> costs, std::span<const int64_t> groups, int64_t blocks);

// Where a plan lies in the workspace of such launches, and its bytes; 0 bytes where the kernel follows none.
struct PlanPlace {
  uint64_t offset = 0, bytes = 0;
};
Result<PlanPlace> plan_place(const Artifact& artifact, std::span<const int64_t> dims);

// The plan for these dims, one value for each dim: words for that place. Empty where no kernel has a cost. `max_blocks` as
// the launch attribute; 0: as many as fit.
Result<std::vector<int32_t>> plan(const Loaded& loaded, std::span<const int64_t> dims, int64_t max_blocks);

inline constexpr int64_t kMostPlannedBlocks = 1023;

}  // namespace tilert::runtime
