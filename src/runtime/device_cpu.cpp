// The CPU as a device: its threads, its facts, and objects made into code through the LLVM plugin.
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "compiler/llvm_plugin.h"
#include "runtime/device.h"
#include "runtime/load_module.h"
#include "runtime/scratch_arena.h"
#include "support/thread_pool.h"

namespace tilert::runtime {
namespace {

class PluginObject final : public CpuObject {
 public:
  explicit PluginObject(LoadedObject object) : object_(std::move(object)) {}
  void* entry(const std::string& name) override { return object_.entry(name.c_str()); }

 private:
  LoadedObject object_;
};

CpuLoader plugin_loader(std::string plugin_path) {
  return [path = std::move(plugin_path)](const Artifact& artifact) -> Result<std::unique_ptr<CpuObject>> {
    TILERT_ASSIGN(const LlvmPlugin* plugin, LlvmPlugin::get(path));
    TILERT_ASSIGN(const LlvmTarget target, parse_llvm_target(artifact.target));
    TILERT_TRY(plugin->host_runs(target));  // a foreign instruction would end the process
    const std::string_view bytes(reinterpret_cast<const char*>(artifact.code.data()), artifact.code.size());
    TILERT_ASSIGN(LoadedObject object, plugin->load_object(bytes));
    return std::unique_ptr<CpuObject>(std::make_unique<PluginObject>(std::move(object)));
  };
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(':');
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos && colon + 2 <= line.size())
      return line.substr(colon + 2);
  }
  return "CPU";
}

}  // namespace

Status Device::open_cpu(DeviceOptions& options) {
  if (options.executor) {
    if (options.executor->parallel_for == nullptr) {
      return make_error(Code::kInvalidArgument, "the executor's parallel_for is NULL");
    }
    executor_ = std::make_unique<CallerExecutor>(options.executor->parallel_for, options.executor->user,
                                                 options.executor->width);
  } else {
    if (options.threads > 4096) return make_error(Code::kInvalidArgument, "a pool of {} threads", options.threads);
    executor_ = std::make_unique<ThreadPool>(static_cast<int>(options.threads));
  }
  cpu_loader_ = options.cpu_loader ? std::move(options.cpu_loader) : plugin_loader(std::move(options.plugin_path));
  facts_.name = processor_name();
  facts_.multiprocessors = static_cast<uint32_t>(executor_->width());
  const long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  facts_.l2_bytes = l2 > 0 ? static_cast<uint64_t>(l2) : 0;
  return {};
}

Result<std::unique_ptr<CpuObject>> Device::load_cpu_object(const Artifact& artifact) const {
  return cpu_loader_(artifact);
}

Status load_cpu_module(Device& device, LoadedVariant& variant) {
  const Artifact& artifact = *variant.artifact;
  if (artifact.kind != CodeKind::cpu_object) {
    return make_error(Code::kInvalidArgument, "a kernel compiled for '{}' cannot be loaded on the CPU",
                      artifact.target);
  }
  auto module = std::make_shared<LoadedModule>();
  TILERT_ASSIGN(module->object, device.load_cpu_object(artifact));
  uint64_t scratch = 0;
  for (PreparedKernel& kernel : variant.kernels) {
    kernel.entry = reinterpret_cast<CpuEntry>(module->object->entry(kernel.kernel->entry));
    if (kernel.entry == nullptr) {
      return make_error(Code::kCorrupt, "the object has no kernel '{}' that its artifact names", kernel.kernel->entry);
    }
    scratch = std::max<uint64_t>(scratch, kernel.kernel->shared_bytes);
  }
  if (scratch > 0) {
    TILERT_ASSIGN(variant.scratch, device.scratch(scratch));
  }
  device.adopt(module);
  variant.module = std::move(module);
  return {};
}

}  // namespace tilert::runtime
