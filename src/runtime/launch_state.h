// What one launch works out on the stack, shared by the files of the launch. Internal to src/runtime.
#pragma once

#include <algorithm>
#include <cstring>

#include "runtime/launch.h"

namespace tilert::runtime {

// Nothing is initialized as a whole: most launches touch a small part of it.
struct LaunchState {
  LaunchState(const Loaded& loaded_, const tilert_launch_info& info_) : loaded(loaded_), info(info_) {}

  const Loaded& loaded;
  const tilert_launch_info& info;
  const LoadedVariant* variant = nullptr;
  BytecodeInputs inputs;
  uint32_t unresolved_count = 0;
  bool debug_pointers = false;
  uint16_t unresolved[kMaxDims];  // dims that neither the caller nor a shape gives
  int64_t dims[kMaxDims];         // used where some dim had to be resolved
  int64_t scalars[kMaxParams];    // the following where the variant's expressions read them
  const void* pointers[kMaxParams];
  const int64_t* strides[kMaxParams];
  int64_t stride_values[kMaxStrideSlots];

  int64_t value(const Term& term) const {
    if (term.dim >= 0) return inputs.dims[term.dim];
    if (term.dim == Term::kConstant) return term.value;
    return evaluate(variant->code, {static_cast<uint32_t>(term.value), term.count}, inputs);
  }
  const Param& param(uint32_t index) const { return variant->artifact->params[index]; }
};

// Products of sizes and strides that the caller made up may wrap; they never trap.
inline int64_t wrapping_product(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}

// Writes info.failure, where given, and returns the code. Formats into the caller's memory.
template <class... Args>
Code refuse(const tilert_launch_info& info, Code code, int32_t argument, int32_t dim,
            fmt::format_string<Args...> format, Args&&... args) {
  tilert_launch_failure* const failure = info.failure;
  if (failure == nullptr) return code;
  failure->status = static_cast<tilert_status>(code);
  failure->argument = argument;
  failure->dim = dim;
  failure->driver_code = 0;
  const auto end = fmt::format_to_n(failure->message, sizeof failure->message - 1, format, std::forward<Args>(args)...);
  *end.out = '\0';
  return code;
}

// Checks the arguments, resolves the dims, picks the variant and prepares what its expressions read.
Code resolve(LaunchState& state);

// Asks the driver about each pointer, and whether parameters overlap (TILERT_LAUNCH_DEBUG_POINTERS).
Code check_pointers(const LaunchState& state);

// The grid of one kernel and its blocks; `blocks` is 0 where there is nothing to do.
struct Grid {
  int64_t extent[3];
  int64_t blocks;
  uint32_t threads[3];
  uint32_t cluster[3];
  uint32_t shared_bytes;
};
Code evaluate_grid(const LaunchState& state, const PreparedKernel& kernel, Grid* grid);

inline constexpr int kRecordAlignment = 64;

// The kernel's parameter bytes in the layout of the device ABI; `bytes` is aligned to 64.
Code pack_parameters(const LaunchState& state, const PreparedKernel& kernel, uint8_t* bytes);
// The value of one slot that is no tensor map, in the low bytes.
uint64_t slot_value(const LaunchState& state, const PreparedSlot& slot);

Code launch_cuda(const LaunchState& state, bool planner);  // the kernels that plan, or all others
Code launch_hip(const LaunchState& state, bool planner);
Code launch_cpu(const LaunchState& state);

}  // namespace tilert::runtime
