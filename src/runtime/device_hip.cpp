// An AMD GPU as a device: HIP knows it by its ordinal, and each thread has one that is current. Loading a code object:
// module, functions, and the checks that a stale or foreign binary does not pass.
#include <algorithm>

#include "compiler/code_object.h"
#include "runtime/load_module.h"
#include "support/refusal.h"

namespace tilert::runtime {
namespace {

bool is_capture_code(HipResult code) { return code >= 900 && code <= 908; }

std::string chip_of(const std::string& target) { return target.substr(0, target.find(':')); }

Status check_hip_demands(const Device& device, const Artifact& artifact) {
  const DeviceFacts& facts = device.facts();
  if (artifact.kind != CodeKind::code_object)
    return make_error(Code::kInvalidArgument, "a kernel compiled for '{}' cannot be loaded on {}", artifact.target,
                      facts.name);
  if (chip_of(artifact.target) != facts.target)
    return refusal(fmt::format("a kernel compiled for '{}' does not run on {}, which is {}", artifact.target,
                               facts.name, facts.target),
                   "prepare a kernel without a target, which is made for the device");
  for (const Kernel& kernel : artifact.kernels) {
    if (!kernel.tensor_maps.empty() || kernel.cluster[0] * kernel.cluster[1] * kernel.cluster[2] > 1)
      return make_error(Code::kCorrupt,
                        "kernel '{}' of a code object has tensor maps or a cluster, which no AMD GPU has",
                        kernel.entry);
    if (kernel.shared_bytes > facts.shared_bytes)
      return refusal(fmt::format("kernel '{}' takes {} bytes of shared memory a block; {} has {}", kernel.entry,
                                 kernel.shared_bytes, facts.name, facts.shared_bytes),
                     "prepare a kernel without a target, or use smaller tiles or fewer stages");
  }
  return {};
}

// The arguments that the binary declares against those that the artifact will pass: a stale binary ends here.
Status check_arguments(PreparedKernel& kernel, const CodeObjectKernel& binary) {
  size_t given = 0;
  uint32_t end = 0;
  for (const CodeObjectArgument& argument : binary.arguments) {
    if (argument.hidden) continue;
    const bool fits = given < kernel.slots.size() && argument.bytes == kernel.slots[given].bytes &&
                      argument.offset >= end && argument.offset <= kMaxParameterBytes - argument.bytes;
    if (!fits)
      return make_error(
          Code::kCorrupt,
          "the binary of kernel '{}' does not take the parameters that its artifact lists: number {} has {} bytes",
          kernel.kernel->entry, given, argument.bytes);
    kernel.slots[given++].offset = argument.offset;
    end = argument.offset + argument.bytes;
  }
  if (given != kernel.slots.size())
    return make_error(Code::kCorrupt, "the binary of kernel '{}' takes {} of the {} parameters that its artifact lists",
                      kernel.kernel->entry, given, kernel.slots.size());
  kernel.parameter_bytes = end;
  return {};
}

Status count_resident_blocks(const Device& device, PreparedKernel& kernel) {
  const HipDriver& driver = *device.hip();
  const Kernel& recipe = *kernel.kernel;
  const bool persistent = (recipe.attributes & kKernelPersistent) != 0;
  if ((recipe.attributes & (kKernelCooperative | kKernelPersistent)) == 0) return {};
  if (driver.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor == nullptr) {
    kernel.resident = persistent ? device.facts().multiprocessors : 0;
    return {};
  }
  int blocks = 0;
  const int threads = static_cast<int>(recipe.threads[0] * recipe.threads[1] * recipe.threads[2]);
  TILERT_TRY(driver.check(
      driver.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel.function, threads, recipe.shared_bytes),
      "ask how many blocks of a kernel fit"));
  if (blocks == 0)
    return refusal(fmt::format("kernel '{}': not one of its blocks fits on {}", recipe.entry, device.facts().name),
                   "use smaller tiles or fewer stages");
  kernel.resident = int64_t{blocks} * device.facts().multiprocessors;
  return {};
}

Status resolve_hip(const Device& device, void* module, const std::vector<CodeObjectKernel>& binaries,
                   PreparedKernel& kernel) {
  const HipDriver& driver = *device.hip();
  const Kernel& recipe = *kernel.kernel;
  const auto binary =
      std::find_if(binaries.begin(), binaries.end(), [&](const auto& b) { return b.name == recipe.entry; });
  void* function = nullptr;
  const HipResult found =
      binary == binaries.end() ? kHipNotFound : driver.hipModuleGetFunction(&function, module, recipe.entry.c_str());
  if (found == kHipNotFound)
    return make_error(Code::kCorrupt, "the binary has no kernel '{}' that its artifact names", recipe.entry);
  TILERT_TRY(driver.check(found, "look up a kernel"));
  kernel.function = static_cast<CuFunction>(function);
  kernel.registers = binary->vector_registers;
  kernel.local_bytes = binary->scratch_bytes;
  kernel.static_shared_bytes = binary->static_shared;
  const uint32_t threads = recipe.threads[0] * recipe.threads[1] * recipe.threads[2];
  if (binary->most_threads != 0 && threads > binary->most_threads)
    return refusal(fmt::format("kernel '{}' is launched with {} threads a block; it was compiled for {}", recipe.entry,
                               threads, binary->most_threads),
                   "launch fewer threads, or compile it for more");
  kernel.most_threads = binary->most_threads != 0 ? std::min(binary->most_threads, 1024u) : 1024;
  kernel.most_shared = recipe.shared_bytes;
  if (recipe.shared_expr)
    kernel.most_shared = static_cast<uint32_t>(
        std::max<int64_t>(0, static_cast<int64_t>(device.facts().shared_bytes) - binary->static_shared));
  TILERT_TRY(count_resident_blocks(device, kernel));
  return check_arguments(kernel, *binary);
}

}  // namespace

Status Device::open_hip(const DeviceOptions& options) {
  if (options.uuid) return make_error(Code::kInvalidArgument, "an AMD GPU is opened by its ordinal, not by a UUID");
  TILERT_ASSIGN(hip_, hip_driver(options.driver_path));
  int count = 0;
  TILERT_TRY(hip_->check(hip_->hipGetDeviceCount(&count), "count the devices"));
  facts_.ordinal = options.ordinal;
  if (options.binding == Binding::current)
    TILERT_TRY(hip_->check(hip_->hipGetDevice(&facts_.ordinal), "tell the current device"));
  if (options.binding == Binding::given)
    return make_error(Code::kInvalidArgument,
                      "HIP has no contexts to be given: bind a primary device by its ordinal, or the current one");
  if (facts_.ordinal < 0 || facts_.ordinal >= count)
    return make_error(Code::kUnavailable,
                      "HIP device {} was asked for; this process sees {} (HIP_VISIBLE_DEVICES may hide some)",
                      facts_.ordinal, count);
  TILERT_ASSIGN(const HipProperties properties, hip_->properties(facts_.ordinal));
  facts_.name = properties.name;
  facts_.target = chip_of(properties.arch);
  facts_.driver_version = hip_->version;
  if (facts_.target.substr(0, 3) != "gfx")
    return make_error(Code::kUnavailable, "HIP device {} ({}) has the architecture '{}', not one of gfx",
                      facts_.ordinal, facts_.name, properties.arch);
  facts_.multiprocessors = static_cast<uint32_t>(properties.multiprocessors);
  facts_.shared_bytes = properties.shared_bytes;
  facts_.l2_bytes = static_cast<uint64_t>(properties.l2_bytes);
  return {};
}

Status Device::unload_hip(const std::vector<std::shared_ptr<LoadedModule>>& doomed) {
  const CurrentDevice current(*hip_, facts_.ordinal);
  TILERT_TRY(hip_->check(current.result(), "make the device current"));
  const RelaxedHipCapture relaxed(*hip_);
  Status failure;
  for (const auto& module : doomed) {
    Status status = hip_->check(hip_->hipModuleUnload(module->module), "unload a module");
    if (!status && failure) failure = std::move(status);
  }
  return failure;
}

Status load_hip_module(Device& device, LoadedVariant& variant) {
  const Artifact& artifact = *variant.artifact;
  TILERT_TRY(check_hip_demands(device, artifact));
  const std::string_view bytes(reinterpret_cast<const char*>(artifact.code.data()), artifact.code.size());
  TILERT_ASSIGN(const std::vector<CodeObjectKernel> binaries, read_code_object(bytes));
  const HipDriver& driver = *device.hip();
  const CurrentDevice current(driver, device.facts().ordinal);
  TILERT_TRY(driver.check(current.result(), "make the device current"));
  const RelaxedHipCapture relaxed(driver);
  auto module = std::make_shared<LoadedModule>();
  void* handle = nullptr;
  const HipResult code = driver.hipModuleLoadData(&handle, artifact.code.data());
  if (is_capture_code(code))
    return make_error(Code::kNotReady,
                      "a kernel cannot be loaded while a stream is being captured ({}): prepare it before",
                      driver.describe(code));
  TILERT_TRY(
      driver.check(code, fmt::format("load a code object for '{}' on {}", artifact.target, device.facts().name)));
  module->module = static_cast<CuModule>(handle);
  for (PreparedKernel& kernel : variant.kernels) {
    if (Status status = resolve_hip(device, handle, binaries, kernel); !status) {
      driver.hipModuleUnload(handle);  // nothing of it was launched; the first error is the one to report
      return status;
    }
  }
  device.adopt(module);
  variant.module = std::move(module);
  return {};
}

}  // namespace tilert::runtime
