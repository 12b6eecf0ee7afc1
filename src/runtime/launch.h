// The launch: argument checks, choice of the variant, grid and parameters from the artifact's recipe, the driver call.
// Nothing here compiles, loads, allocates, locks, logs, reads the environment or synchronizes.
#pragma once

#include "runtime/loaded.h"
#include "tilert.h"

namespace tilert::runtime {

// tilert_launch on a resolved handle (info.loaded is not read). The caller has checked info.struct_size. On failure
// info.failure, where given, says which argument and why; its struct_size is left as it is.
Code launch(const Loaded& loaded, const tilert_launch_info& info);

// tilert_plan_launch: the kernels that plan, of a launch with these arguments.
Code launch_planner(const Loaded& loaded, const tilert_launch_info& info);

// tilert_launch_export: what that launch would hand to the driver. Pins. `record` may be partly filled on failure.
Code export_launch(const Loaded& loaded, const tilert_launch_info& info, tilert_launch_record& record);

struct WorkspaceNeed {
  uint64_t bytes = 0;
  uint64_t zero_bytes = 0;
  uint32_t alignment = 1;
};

// Device memory for launches with dims up to `max_dims`, one value for each dim of the artifact.
Result<WorkspaceNeed> workspace(const Artifact& artifact, std::span<const int64_t> max_dims);

}  // namespace tilert::runtime
