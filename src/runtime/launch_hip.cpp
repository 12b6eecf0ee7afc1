// The HIP call. A launch on a stream of its own asks for capture and launches, nothing else; the null stream and the
// per-thread stream are those of the current device, so there the kernel's device is made current around it.
#include "runtime/launch_state.h"

namespace tilert::runtime {
namespace {

constexpr int64_t kMostThreadsAlong = (int64_t{1} << 32) - 1;  // of all blocks along an axis

Code read_hip_wishes(const tilert_launch_info& info, bool* cooperative) {
  for (uint32_t i = 0; i < info.attribute_count; ++i) {
    const tilert_launch_attribute& attribute = info.attributes[i];
    switch (attribute.id) {
      case TILERT_ATTRIBUTE_PDL: break;  // no kernel for an AMD GPU waits for the grid before it: nothing may overlap
      case TILERT_ATTRIBUTE_COOPERATIVE: *cooperative = attribute.value != 0; break;
      case TILERT_ATTRIBUTE_MAX_BLOCKS: break;  // evaluate_grid
      case TILERT_ATTRIBUTE_PRIORITY:
        return refuse(info, Code::kInvalidArgument, -1, -1, "HIP has no priority of a launch: give one to the stream");
      default: return refuse(info, Code::kInvalidArgument, -1, -1, "launch attribute {} is not known", attribute.id);
    }
  }
  return Code::kOk;
}

Code hip_failure(const LaunchState& state, HipResult code, const char* what) {
  const HipDriver& driver = *state.loaded.device().hip();
  const char* const name = driver.hipGetErrorName != nullptr ? driver.hipGetErrorName(code) : nullptr;
  refuse(state.info, Code::kDriver, -1, -1, "the HIP runtime failed to {}: {} ({})", what, name ? name : "unknown code",
         code);
  if (state.info.failure != nullptr) state.info.failure->driver_code = code;
  return Code::kDriver;
}

Code check_grid(const LaunchState& state, const PreparedKernel& kernel, const Grid& grid) {
  for (int i = 0; i < 3; ++i)
    if (grid.extent[i] * grid.threads[i] > kMostThreadsAlong)
      return refuse(state.info, Code::kShape, -1, -1,
                    "kernel '{}': {} blocks of {} threads along axis {}; HIP counts at most {} threads there",
                    kernel.kernel->entry, grid.extent[i], grid.threads[i], i, kMostThreadsAlong);
  if (kernel.resident != 0 && grid.blocks > kernel.resident && !kernel.persistent)
    return refuse(state.info, Code::kUnsupported, -1, -1,
                  "kernel '{}': its {} blocks meet in a grid_sync and must be on the device at once, where {} fit; "
                  "launch a smaller grid whose blocks do more each",
                  kernel.kernel->entry, grid.blocks, kernel.resident);
  return Code::kOk;
}

// A captured launch may be replayed as long as the device is there.
HipResult pin_where_captured(const LaunchState& state, const HipDriver& driver) {
  std::atomic<bool>& pinned = state.variant->module->pinned;
  if (pinned.load(std::memory_order_relaxed)) return kHipSuccess;
  int32_t status = 0;
  const HipResult result = driver.hipStreamIsCapturing(state.info.stream, &status);
  if (result == kHipSuccess && status != 0) pinned.store(true, std::memory_order_release);
  return result;
}

Code launch_kernel(const LaunchState& state, const PreparedKernel& kernel, bool cooperative) {
  const HipDriver& driver = *state.loaded.device().hip();
  Grid grid;
  if (const Code code = evaluate_grid(state, kernel, &grid); code != Code::kOk) return code;
  if (grid.blocks == 0) return Code::kOk;
  if (const Code code = check_grid(state, kernel, grid); code != Code::kOk) return code;
  alignas(64) uint8_t bytes[kMaxParameterBytes];
  void* parameters[kMaxKernelParams];
  if (const Code code = pack_parameters(state, kernel, bytes); code != Code::kOk) return code;
  for (size_t i = 0; i < kernel.slots.size(); ++i) parameters[i] = bytes + kernel.slots[i].offset;
  if (const HipResult result = pin_where_captured(state, driver); result != kHipSuccess)
    return hip_failure(state, result, "tell whether the stream is captured");
  const auto extent = [&](int i) { return static_cast<uint32_t>(grid.extent[i]); };
  const bool together = cooperative || (kernel.kernel->attributes & kKernelCooperative) != 0;
  if (together && driver.hipModuleLaunchCooperativeKernel == nullptr)
    return refuse(state.info, Code::kUnavailable, -1, -1,
                  "kernel '{}' is launched cooperatively, which needs hipModuleLaunchCooperativeKernel; this HIP "
                  "runtime has none",
                  kernel.kernel->entry);
  const HipResult result =
      together ? driver.hipModuleLaunchCooperativeKernel(kernel.function, extent(0), extent(1), extent(2),
                                                         grid.threads[0], grid.threads[1], grid.threads[2],
                                                         grid.shared_bytes, state.info.stream, parameters)
               : driver.hipModuleLaunchKernel(kernel.function, extent(0), extent(1), extent(2), grid.threads[0],
                                              grid.threads[1], grid.threads[2], grid.shared_bytes, state.info.stream,
                                              parameters, nullptr);
  return result == kHipSuccess ? Code::kOk : hip_failure(state, result, "launch");
}

Code launch_kernels(const LaunchState& state, bool planner, bool cooperative) {
  for (const PreparedKernel& kernel : state.variant->kernels) {
    if (kernel.planner != planner) continue;
    if (const Code code = launch_kernel(state, kernel, cooperative); code != Code::kOk) return code;
  }
  return Code::kOk;
}

}  // namespace

Code launch_hip(const LaunchState& state, bool planner) {
  bool cooperative = false;
  if (const Code code = read_hip_wishes(state.info, &cooperative); code != Code::kOk) return code;
  // NULL and HIP's constants for the legacy and the per-thread stream.
  if (reinterpret_cast<uintptr_t>(state.info.stream) > 2) return launch_kernels(state, planner, cooperative);
  const Device& device = state.loaded.device();
  const CurrentDevice current(*device.hip(), device.facts().ordinal);
  if (current.result() != kHipSuccess) return hip_failure(state, current.result(), "make the device current");
  return launch_kernels(state, planner, cooperative);
}

}  // namespace tilert::runtime
