// A device: one CUDA context, an AMD GPU, or this machine's CPU with its threads. It owns every module that was loaded into it
// until trim() finds it released and not pinned. Not here: what a Loaded is (loaded.h), launching (launch.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/cuda_driver.h"
#include "runtime/hip_driver.h"
#include "support/result.h"
#include "tilert.h"

namespace tilert {
class Executor;
}

namespace tilert::runtime {

class Loaded;
class ScratchArena;
using LoadedPtr = std::shared_ptr<Loaded>;

// Entry points of a CPU object; the code stays mapped while this lives.
class CpuObject {
 public:
  virtual ~CpuObject() = default;
  virtual void* entry(const std::string& name) = 0;  // null where there is none
};
using CpuLoader = std::function<Result<std::unique_ptr<CpuObject>>(const Artifact&)>;

enum class DeviceKind : int32_t { cpu = TILERT_DEVICE_CPU, cuda = TILERT_DEVICE_CUDA, hip = TILERT_DEVICE_HIP };
enum class Binding : int32_t {
  primary = TILERT_BIND_PRIMARY,
  current = TILERT_BIND_CURRENT,
  given = TILERT_BIND_GIVEN
};

struct DeviceOptions {
  DeviceKind kind = DeviceKind::cpu;
  // CUDA and HIP, which has devices and no contexts:
  Binding binding = Binding::primary;
  int32_t ordinal = 0;
  std::optional<std::array<uint8_t, 16>> uuid;  // primary: instead of the ordinal; a MIG instance has its own
  void* native = nullptr;                       // given: a CUcontext, which outlives the device
  std::string driver_path;                      // empty: libcuda.so.1, libamdhip64.so
  // CPU:
  std::optional<tilert_executor> executor;  // none: a pool of our own
  uint32_t threads = 0;                     // of that pool; 0: by affinity and cgroup
  std::string plugin_path;                  // of the LLVM plugin; empty: beside this library
  CpuLoader cpu_loader;                     // what makes code of object bytes; none: the LLVM plugin
};

// What is known of a device without running anything on it.
struct DeviceFacts {
  std::string name;
  std::string target;            // "sm_90a", "gfx90a"; empty on a CPU, where the compiler knows the host's name
  int32_t major = 0, minor = 0;  // compute capability
  int32_t driver_version = 0;    // 12040; 0 on a CPU
  int32_t ordinal = 0;
  uint32_t multiprocessors = 0;  // of the context: green contexts and MIG count less; CPU: threads
  uint64_t shared_bytes = 0;     // the most one block may take
  uint64_t l2_bytes = 0;
};

// What one variant has loaded: a driver module or a CPU object. It lives in the device's list, and in its Loaded.
struct LoadedModule {
  CuModule module = nullptr;
  std::unique_ptr<CpuObject> object;
  std::atomic<bool> pinned{false};    // launched under capture, or exported
  std::atomic<bool> released{false};  // its Loaded is gone
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  // Loads the driver library, binds the context, asks for its facts. Leaves the current context as it was.
  static Result<std::shared_ptr<Device>> open(DeviceOptions options);
  ~Device();  // releases what it retained; unloads nothing, waits for nothing
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  bool is_cpu() const { return driver_ == nullptr && hip_ == nullptr; }
  bool is_hip() const { return hip_ != nullptr; }
  const DeviceFacts& facts() const { return facts_; }
  const CudaDriver* driver() const { return driver_; }  // null but on CUDA
  const HipDriver* hip() const { return hip_; }         // null but on an AMD GPU
  CuContext context() const { return context_; }
  Executor* executor() const { return executor_.get(); }  // CPU: our pool or the caller's; null on CUDA
  bool forked() const;
  Status check_alive() const;  // FORKED in a child of the process that opened it

  // Loads the variants of one kernel, resolves their functions and sets their attributes, so that a launch is one
  // driver call a kernel. All or nothing. Touches no stream; a capture on another thread goes on.
  Result<LoadedPtr> load(std::span<const ArtifactPtr> variants);

  // Unloads what is released and not pinned; returns how many modules. May wait for running kernels.
  Result<uint32_t> trim();

  struct Counts {
    uint32_t modules = 0, pinned = 0, released = 0;
  };
  Counts counts() const;

  // For Loaded: puts a module into the list; the arena with room for `bytes` of scratch a worker.
  void adopt(std::shared_ptr<LoadedModule> module);
  Result<std::shared_ptr<ScratchArena>> scratch(uint64_t bytes);
  Result<std::unique_ptr<CpuObject>> load_cpu_object(const Artifact& artifact) const;

 private:
  Device() = default;
  Status open_cpu(DeviceOptions& options);
  Status open_cuda(const DeviceOptions& options);
  Status open_hip(const DeviceOptions& options);
  Status unload_hip(const std::vector<std::shared_ptr<LoadedModule>>& doomed);
  Status bind(const DeviceOptions& options);
  Status ask_facts();

  const CudaDriver* driver_ = nullptr;
  const HipDriver* hip_ = nullptr;
  CuContext context_ = nullptr;
  CuDevice device_ = 0;
  bool retained_ = false;
  DeviceFacts facts_;
  std::unique_ptr<Executor> executor_;
  CpuLoader cpu_loader_;
  uint32_t generation_ = 0;

  mutable std::mutex mutex_;  // of what follows
  std::vector<std::shared_ptr<LoadedModule>> modules_;
  std::shared_ptr<ScratchArena> scratch_;
};

// Whether code for `target` runs on a device of that compute capability, by its kind. Empty where it does, else why
// not.
std::string why_target_does_not_fit(CodeKind kind, const std::string& target, int major, int minor);

}  // namespace tilert::runtime
