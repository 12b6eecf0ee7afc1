// Opening devices, the list of their modules, trim.
#include "runtime/device.h"

#include <algorithm>

#include "runtime/fork_guard.h"
#include "runtime/loaded.h"
#include "runtime/scratch_arena.h"
#include "support/thread_pool.h"

namespace tilert::runtime {

Result<std::shared_ptr<Device>> Device::open(DeviceOptions options) {
  std::shared_ptr<Device> device(new Device);
  device->generation_ = watch_forks();
  switch (options.kind) {
    case DeviceKind::cpu: TILERT_TRY(device->open_cpu(options)); return device;
    case DeviceKind::cuda: TILERT_TRY(device->open_cuda(options)); return device;
    case DeviceKind::hip: TILERT_TRY(device->open_hip(options)); return device;
  }
  return make_error(Code::kInvalidArgument, "a device of kind {}: it is 1 (CPU), 2 (CUDA) or 3 (HIP)",
                    static_cast<int>(options.kind));
}

// The context outlives what is loaded in it. Where a captured graph may still launch a module, the retained primary
// context stays: releasing the last reference would destroy it under the graph.
Device::~Device() {
  if (!retained_ || forked()) return;
  const bool pinned =
      std::any_of(modules_.begin(), modules_.end(), [](const auto& module) { return module->pinned.load(); });
  if (!pinned)
    driver_->cuDevicePrimaryCtxRelease(device_);  // at exit the driver may be gone: its answer changes nothing
}

bool Device::forked() const { return generation_ != fork_generation(); }

Status Device::check_alive() const {
  if (!forked()) return {};
  return make_error(
      Code::kForked,
      "device '{}' was opened before fork(); a child process opens its own (compiled kernels can be reused)",
      facts_.name);
}

void Device::adopt(std::shared_ptr<LoadedModule> module) {
  const std::lock_guard lock(mutex_);
  modules_.push_back(std::move(module));
}

Result<LoadedPtr> Device::load(std::span<const ArtifactPtr> variants) {
  TILERT_TRY(check_alive());
  return Loaded::make(shared_from_this(), variants);
}

Result<uint32_t> Device::trim() {
  TILERT_TRY(check_alive());
  std::vector<std::shared_ptr<LoadedModule>> doomed;
  {
    const std::lock_guard lock(mutex_);
    const auto keep = [](const auto& module) {
      return !module->released.load(std::memory_order_acquire) || module->pinned.load(std::memory_order_acquire);
    };
    const auto first = std::stable_partition(modules_.begin(), modules_.end(), keep);
    doomed.assign(first, modules_.end());
    modules_.erase(first, modules_.end());
  }
  if (is_cpu() || doomed.empty()) return static_cast<uint32_t>(doomed.size());
  if (is_hip()) {
    TILERT_TRY(unload_hip(doomed));
    return static_cast<uint32_t>(doomed.size());
  }
  const CurrentContext current(*driver_, context_);
  if (current.result() == kCuContextIsDestroyed || current.result() == kCuDeinitialized) {
    return static_cast<uint32_t>(doomed.size());  // the modules went with their context
  }
  TILERT_TRY(driver_->check(current.result(), "make the device's context current"));
  const RelaxedCapture relaxed(*driver_);
  Status failure;
  for (const auto& module : doomed) {
    Status status = driver_->check(driver_->cuModuleUnload(module->module), "unload a module");
    if (!status && failure) failure = std::move(status);
  }
  TILERT_TRY(std::move(failure));
  return static_cast<uint32_t>(doomed.size());
}

Device::Counts Device::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts;
  for (const auto& module : modules_) {
    ++counts.modules;
    counts.pinned += module->pinned.load(std::memory_order_relaxed);
    counts.released += module->released.load(std::memory_order_relaxed);
  }
  return counts;
}

Result<std::shared_ptr<ScratchArena>> Device::scratch(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (scratch_ == nullptr || scratch_->slot_bytes() < bytes) {
    TILERT_ASSIGN(scratch_, ScratchArena::make(bytes, executor_->width()));
  }
  return scratch_;
}

}  // namespace tilert::runtime
