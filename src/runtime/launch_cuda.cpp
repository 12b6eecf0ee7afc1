// The driver call. A launch on a stream of its own asks for capture and launches, nothing else; the legacy stream and
// the per-thread stream are those of the current context, so there the bound context is made current around it.
#include "runtime/launch_state.h"

namespace tilert::runtime {
namespace {

constexpr uint32_t kMaxAttributes = 4;

struct Attributes {
  CuLaunchAttribute list[kMaxAttributes];
  uint32_t count = 0;
  bool cooperative = false;

  void add(int32_t id, int32_t flag) {
    CuLaunchAttribute& attribute = list[count++];
    std::memset(&attribute, 0, sizeof attribute);
    attribute.id = id;
    attribute.value.flag = flag;
  }
};

// What the caller asks of every kernel of the launch.
struct Wishes {
  bool pdl = false;
  bool cooperative = false;
  bool has_priority = false;
  int32_t priority = 0;
};

Code read_wishes(const tilert_launch_info& info, Wishes* wishes) {
  for (uint32_t i = 0; i < info.attribute_count; ++i) {
    const tilert_launch_attribute& attribute = info.attributes[i];
    switch (attribute.id) {
      case TILERT_ATTRIBUTE_PDL: wishes->pdl = attribute.value != 0; break;
      case TILERT_ATTRIBUTE_COOPERATIVE: wishes->cooperative = attribute.value != 0; break;
      case TILERT_ATTRIBUTE_MAX_BLOCKS: break;  // evaluate_grid
      case TILERT_ATTRIBUTE_PRIORITY:
        wishes->has_priority = true;
        wishes->priority = static_cast<int32_t>(attribute.value);
        break;
      default: return refuse(info, Code::kInvalidArgument, -1, -1, "launch attribute {} is not known", attribute.id);
    }
  }
  return Code::kOk;
}

// PDL is set only where the kernel's code waits for the grid before it; elsewhere it would be a race. Cooperative launches
// overlap nothing, and without cuLaunchKernelEx the launch is a plain one.
void collect(const PreparedKernel& kernel, const Grid& grid, const Wishes& wishes, bool may_overlap, Attributes* attributes) {
  const uint32_t own = kernel.kernel->attributes;
  if (kernel.cluster && grid.cluster[0] * grid.cluster[1] * grid.cluster[2] > 1) {
    attributes->add(kCuAttributeCluster, 0);
    std::copy_n(grid.cluster, 3, attributes->list[attributes->count - 1].value.cluster);
  }
  attributes->cooperative = wishes.cooperative || (own & kKernelCooperative) != 0;
  if (attributes->cooperative) attributes->add(kCuAttributeCooperative, 1);
  if (wishes.pdl && may_overlap && (own & kKernelPdl) != 0 && !attributes->cooperative) attributes->add(kCuAttributePdl, 1);
  if (wishes.has_priority) attributes->add(kCuAttributePriority, wishes.priority);
}

CuResult call(const CudaDriver& driver, const PreparedKernel& kernel, const Grid& grid, Attributes& attributes,
              CuStream stream, void** parameters, bool* unavailable) {
  const auto extent = [&](int i) { return static_cast<uint32_t>(grid.extent[i]); };
  if (attributes.count == 0) {
    return driver.cuLaunchKernel(kernel.function, extent(0), extent(1), extent(2), grid.threads[0], grid.threads[1],
                                 grid.threads[2], grid.shared_bytes, stream, parameters, nullptr);
  }
  if (driver.cuLaunchKernelEx != nullptr) {
    const CuLaunchConfig config{{extent(0), extent(1), extent(2)},
                                {grid.threads[0], grid.threads[1], grid.threads[2]},
                                grid.shared_bytes,
                                stream,
                                attributes.list,
                                attributes.count};
    return driver.cuLaunchKernelEx(&config, kernel.function, parameters, nullptr);
  }
  *unavailable = attributes.count > 1 || !attributes.cooperative || driver.cuLaunchCooperativeKernel == nullptr;
  if (*unavailable) return kCuSuccess;
  return driver.cuLaunchCooperativeKernel(kernel.function, extent(0), extent(1), extent(2), grid.threads[0],
                                          grid.threads[1], grid.threads[2], grid.shared_bytes, stream,
                                          parameters);
}

Code driver_failure(const LaunchState& state, CuResult code, const char* what) {
  const char* name = nullptr;
  const CudaDriver& driver = *state.loaded.device().driver();
  if (driver.cuGetErrorName(code, &name) != kCuSuccess || name == nullptr) name = "unknown code";
  refuse(state.info, Code::kDriver, -1, -1, "the CUDA driver failed to {}: {} ({})", what, name, code);
  if (state.info.failure != nullptr) state.info.failure->driver_code = code;
  return Code::kDriver;
}

// One launch: which of its kernels are done, so that a second try goes on where the first was refused.
class Launcher {
 public:
  Launcher(const LaunchState& state, const Wishes& wishes, bool planner)
      : state_(state),
        wishes_(wishes),
        planner_(planner),
        driver_(*state.loaded.device().driver()),
        stream_(static_cast<CuStream>(state.info.stream)) {}

  // kOk, or a refusal of ours; `*result` holds what the driver said. Capture is asked for when there is something to
  // launch: what is refused, or has no blocks, touches no driver.
  Code run(CuResult* result) {
    *result = kCuSuccess;
    for (; next_ < state_.variant->kernels.size(); ++next_) {
      if (state_.variant->kernels[next_].planner != planner_) continue;
      const Code code = run_kernel(state_.variant->kernels[next_], result);
      if (code != Code::kOk) return code;
      if (*result != kCuSuccess) return Code::kOk;
    }
    return Code::kOk;
  }

 private:
  Code refuse_grid(const PreparedKernel& kernel, const Grid& grid) const {
    return refuse(state_.info, Code::kUnsupported, -1, -1,
                  "kernel '{}': its {} blocks meet in a grid_sync and must be on the device at once, where {} fit ({} multiprocessors); "
                  "launch a smaller grid whose blocks do more each", kernel.kernel->entry, grid.blocks, kernel.resident,
                  state_.loaded.device().facts().multiprocessors);
  }

  // Drivers have been seen to end a capture on sm_120 with an invalid handle at a launch with PDL.
  bool loses_captures() const { return state_.loaded.device().facts().major == 12; }

  // A captured launch may be replayed until the context ends.
  CuResult ask_capture() {
    std::atomic<bool>& pinned = state_.variant->module->pinned;
    if (asked_ || (pinned.load(std::memory_order_relaxed) && !(wishes_.pdl && loses_captures()))) return kCuSuccess;
    int32_t status = kCuCaptureNone;
    const CuResult result = driver_.cuStreamIsCapturing(stream_, &status);
    asked_ = result == kCuSuccess;
    capturing_ = asked_ && status != kCuCaptureNone;
    if (asked_ && status != kCuCaptureNone) pinned.store(true, std::memory_order_release);
    return result;
  }

  Code run_kernel(const PreparedKernel& kernel, CuResult* result) {
    Grid grid;
    if (const Code code = evaluate_grid(state_, kernel, &grid); code != Code::kOk) return code;
    if (grid.blocks == 0) return Code::kOk;
    if (kernel.resident != 0 && grid.blocks > kernel.resident && !kernel.persistent) return refuse_grid(kernel, grid);
    alignas(64) uint8_t bytes[kMaxParameterBytes];
    void* parameters[kMaxKernelParams];
    if (const Code code = pack_parameters(state_, kernel, bytes); code != Code::kOk) return code;
    for (size_t i = 0; i < kernel.slots.size(); ++i) parameters[i] = bytes + kernel.slots[i].offset;
    *result = ask_capture();
    if (*result != kCuSuccess) return Code::kOk;
    Attributes attributes;
    collect(kernel, grid, wishes_, driver_.cuLaunchKernelEx != nullptr && !(capturing_ && loses_captures()), &attributes);
    bool unavailable = false;
    *result = call(driver_, kernel, grid, attributes, stream_, parameters, &unavailable);
    if (!unavailable) return Code::kOk;
    return refuse(state_.info, Code::kUnavailable, -1, -1,
                  "kernel '{}' is launched with attributes, which needs cuLaunchKernelEx; this driver has none",
                  kernel.kernel->entry);
  }

  const LaunchState& state_;
  const Wishes& wishes_;
  const bool planner_;  // launches what plans instead of what works
  const CudaDriver& driver_;
  const CuStream stream_;
  size_t next_ = 0;
  bool asked_ = false, capturing_ = false;
};

// NULL and the driver's constants for the legacy and the per-thread stream.
bool belongs_to_current_context(const void* stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }

bool is_context_code(CuResult code) {
  return code == kCuInvalidContext || code == kCuInvalidHandle || code == kCuNotInitialized;
}

}  // namespace

Code launch_cuda(const LaunchState& state, bool planner) {
  Wishes wishes;
  if (state.info.attribute_count != 0) {
    if (const Code code = read_wishes(state.info, &wishes); code != Code::kOk) return code;
  }
  const Device& device = state.loaded.device();
  Launcher launcher(state, wishes, planner);
  CuResult result = kCuSuccess;
  if (!belongs_to_current_context(state.info.stream)) {
    const Code code = launcher.run(&result);
    if (code != Code::kOk || result == kCuSuccess) return code;
    if (!is_context_code(result)) return driver_failure(state, result, "launch");
  }
  // Here too where the thread has another context, or none, and the driver minded.
  const CurrentContext current(*device.driver(), device.context());
  if (current.result() != kCuSuccess)
    return driver_failure(state, current.result(), "make the device's context current");
  const Code code = launcher.run(&result);
  if (code != Code::kOk || result == kCuSuccess) return code;
  return driver_failure(state, result, "launch");
}

}  // namespace tilert::runtime
