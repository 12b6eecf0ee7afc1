// Loading a cubin or PTX: module, functions, attributes, and the checks that a stale or foreign binary does not pass.
#include <algorithm>

#include "runtime/load_module.h"
#include "support/refusal.h"

namespace tilert::runtime {
namespace {

constexpr size_t kLogBytes = 8192;

bool is_capture_code(CuResult code) { return code >= 900 && code <= 908; }

// What the device and its driver must offer for this artifact, asked before anything is loaded.
Status check_demands(const Device& device, const Artifact& artifact) {
  const CudaDriver& driver = *device.driver();
  const DeviceFacts& facts = device.facts();
  if (artifact.kind == CodeKind::cpu_object) {
    return make_error(Code::kInvalidArgument, "a kernel compiled for the CPU ('{}') cannot be loaded on {}",
                      artifact.target, facts.name);
  }
  if (artifact.kind == CodeKind::code_object) {
    return make_error(Code::kInvalidArgument, "a kernel compiled for AMD GPUs ('{}') cannot be loaded on {}", artifact.target, facts.name);
  }
  const std::string why = why_target_does_not_fit(artifact.kind, artifact.target, facts.major, facts.minor);
  if (!why.empty()) {
    return refusal(fmt::format("a kernel compiled for '{}' does not run on {}: {}", artifact.target, facts.name, why),
                   "prepare a kernel without a target, which is made for the device");
  }
  for (const Kernel& kernel : artifact.kernels) {
    const bool cluster = kernel.cluster[0] * kernel.cluster[1] * kernel.cluster[2] > 1;
    const bool launch_ex = cluster || (kernel.features & kNeedsLaunchEx) != 0;
    const bool tensor_map = !kernel.tensor_maps.empty() || (kernel.features & kNeedsTensorMap) != 0;
    const char* missing = launch_ex && driver.cuLaunchKernelEx == nullptr          ? "cuLaunchKernelEx"
                          : tensor_map && driver.cuTensorMapEncodeTiled == nullptr ? "cuTensorMapEncodeTiled"
                                                                                   : nullptr;
    if (missing != nullptr) {
      return make_error(Code::kUnavailable, "kernel '{}' needs {}, which the CUDA driver {} (CUDA {}.{}) does not have",
                        kernel.entry, missing, driver.library.path(), driver.version / 1000,
                        driver.version % 1000 / 10);
    }
    if (kernel.shared_bytes > facts.shared_bytes) {
      return refusal(fmt::format("kernel '{}' takes {} bytes of shared memory a block; {} has {}", kernel.entry, kernel.shared_bytes,
                                 facts.name, facts.shared_bytes),
                     "prepare a kernel without a target, or use smaller tiles or fewer stages");
    }
  }
  return {};
}

Error load_error(const Device& device, const Artifact& artifact, CuResult code, const char* log) {
  const CudaDriver& driver = *device.driver();
  if (is_capture_code(code)) {
    return make_error(Code::kNotReady,
                      "a kernel cannot be loaded while a stream is being captured ({}): prepare it before",
                      driver.describe(code));
  }
  Error error =
      driver.error(code, fmt::format("load a {} for '{}' on {}", artifact.kind == CodeKind::ptx ? "PTX" : "cubin",
                                     artifact.target, device.facts().name));
  error.log = log;
  return error;
}

// PTX may be followed by anything in the code bytes; the driver reads it as text.
std::vector<uint8_t> terminated(const std::vector<uint8_t>& code) {
  std::vector<uint8_t> text = code;
  text.push_back(0);
  return text;
}

Status load_image(Device& device, const Artifact& artifact, CuModule* module) {
  std::string log(kLogBytes, '\0');
  int32_t options[] = {kCuJitErrorLogBuffer, kCuJitErrorLogBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(kLogBytes - 1)};
  const std::vector<uint8_t> text = artifact.kind == CodeKind::ptx ? terminated(artifact.code) : std::vector<uint8_t>{};
  const void* const image = text.empty() ? artifact.code.data() : text.data();
  const CuResult code = device.driver()->cuModuleLoadDataEx(module, image, 2, options, values);
  if (code != kCuSuccess) return load_error(device, artifact, code, log.c_str());
  return {};
}

// The parameters that the binary declares against those that the artifact will pass: a stale binary ends here. Offsets
// are the binary's own word where the driver passes it on; they matter to who asks for the parameter bytes.
Status check_parameters(const CudaDriver& driver, PreparedKernel& kernel) {
  if (driver.cuFuncGetParamInfo == nullptr) return {};
  size_t offset = 0, bytes = 0, end = 0;
  for (size_t i = 0; i < kernel.slots.size(); ++i) {
    PreparedSlot& slot = kernel.slots[i];
    const CuResult code = driver.cuFuncGetParamInfo(kernel.function, i, &offset, &bytes);
    if (code != kCuSuccess && code != kCuInvalidValue) return driver.error(code, "describe a kernel's parameters");
    // No alignment is asked of the offset: drivers count it from a base of their own (a first tensor map at 48 on sm_90).
    const bool fits = code == kCuSuccess && bytes == slot.bytes && offset >= end && offset + bytes <= kMaxParameterBytes;
    if (!fits) {
      return make_error(
          Code::kCorrupt,
          "the binary of kernel '{}' does not take the parameters that its artifact lists: number {} is {} "
          "bytes, not {}",
          kernel.kernel->entry, i, code == kCuSuccess ? bytes : 0, slot.bytes);
    }
    slot.offset = static_cast<uint32_t>(offset);
    end = offset + bytes;
  }
  kernel.parameter_bytes = static_cast<uint32_t>(end);
  if (driver.cuFuncGetParamInfo(kernel.function, kernel.slots.size(), &offset, &bytes) == kCuSuccess) {
    return make_error(Code::kCorrupt,
                      "the binary of kernel '{}' takes more than the {} parameters that its artifact lists",
                      kernel.kernel->entry, kernel.slots.size());
  }
  return {};
}

// The blocks of a cluster are neighbours on the chip too: a group of multiprocessors whose number is no multiple of theirs has
// some that take none.
Status count_clusters(const Device& device, PreparedKernel& kernel) {
  const CudaDriver& driver = *device.driver();
  const Kernel& recipe = *kernel.kernel;
  if (driver.cuOccupancyMaxActiveClusters == nullptr) return {};
  CuLaunchAttribute attribute{};
  attribute.id = kCuAttributeCluster;
  std::copy_n(recipe.cluster, 3, attribute.value.cluster);
  CuLaunchConfig config{};
  const uint32_t most = static_cast<uint32_t>(kernel.resident);
  const uint32_t grid[] = {std::max(most / recipe.cluster[0], 1u) * recipe.cluster[0], recipe.cluster[1], recipe.cluster[2]};
  std::copy_n(grid, 3, config.grid);
  std::copy_n(recipe.threads, 3, config.block);
  config.shared_bytes = recipe.shared_bytes;
  config.attributes = &attribute;
  config.attribute_count = 1;
  int clusters = 0;
  TILERT_TRY(driver.check(driver.cuOccupancyMaxActiveClusters(&clusters, kernel.function, &config), "ask how many clusters of a kernel fit"));
  if (clusters == 0) return refusal(fmt::format("kernel '{}': not one cluster of {} of its blocks fits on {}", recipe.entry, recipe.cluster[0], device.facts().name),
                                     "ask for smaller clusters");
  kernel.resident = int64_t{clusters} * recipe.cluster[0];
  return {};
}

// On all multiprocessors of the context, which a green context or a MIG instance has fewer of.
Status count_resident(const Device& device, PreparedKernel& kernel) {
  const CudaDriver& driver = *device.driver();
  const Kernel& recipe = *kernel.kernel;
  if ((recipe.attributes & (kKernelCooperative | kKernelPersistent)) == 0) return {};
  const bool persistent = (recipe.attributes & kKernelPersistent) != 0;
  if (driver.cuOccupancyMaxActiveBlocksPerMultiprocessor == nullptr) {
    kernel.resident = persistent ? device.facts().multiprocessors : 0;
    return {};
  }
  int blocks = 0;
  const int threads = static_cast<int>(recipe.threads[0] * recipe.threads[1] * recipe.threads[2]);
  TILERT_TRY(driver.check(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel.function, threads, recipe.shared_bytes),
                          "ask how many blocks of a kernel fit"));
  if (blocks == 0) return refusal(fmt::format("kernel '{}': not one of its blocks fits on {}", recipe.entry, device.facts().name),
                                   "use smaller tiles or fewer stages");
  kernel.resident = int64_t{blocks} * device.facts().multiprocessors;
  return persistent && recipe.cluster[0] > 1 ? count_clusters(device, kernel) : Status();
}

// Under lazy loading this is also what brings the function onto the device, so that its first launch does not.
Status resolve(const Device& device, CuModule module, PreparedKernel& kernel) {
  const CudaDriver& driver = *device.driver();
  const Kernel& recipe = *kernel.kernel;
  const CuResult found = driver.cuModuleGetFunction(&kernel.function, module, recipe.entry.c_str());
  if (found == kCuNotFound) {
    return make_error(Code::kCorrupt, "the binary has no kernel '{}' that its artifact names", recipe.entry);
  }
  TILERT_TRY(driver.check(found, "look up a kernel"));
  if (driver.cuFuncLoad != nullptr) TILERT_TRY(driver.check(driver.cuFuncLoad(kernel.function), "load a kernel"));
  int max_threads = 0, registers = 0, local = 0, static_shared = 0;
  const struct {
    int32_t attribute;
    int* value;
  } questions[] = {{kCuFunctionMaxThreads, &max_threads},
                   {kCuFunctionRegisters, &registers},
                   {kCuFunctionLocalBytes, &local},
                   {kCuFunctionStaticSharedBytes, &static_shared}};
  for (const auto& [attribute, value] : questions) {
    TILERT_TRY(driver.check(driver.cuFuncGetAttribute(value, attribute, kernel.function), "describe a kernel"));
  }
  kernel.registers = static_cast<uint32_t>(registers);
  kernel.local_bytes = static_cast<uint32_t>(local);
  kernel.static_shared_bytes = static_cast<uint32_t>(static_shared);
  const uint32_t threads = recipe.threads[0] * recipe.threads[1] * recipe.threads[2];
  if (static_cast<int64_t>(threads) > max_threads) {
    return refusal(fmt::format("kernel '{}' is launched with {} threads a block; its {} registers allow {}", recipe.entry, threads,
                               registers, max_threads),
                   "launch fewer threads, or compile it with fewer registers");
  }
  kernel.most_threads = static_cast<uint32_t>(std::min(max_threads, 1024));
  kernel.most_shared = recipe.shared_bytes;
  if (recipe.shared_expr) {
    const auto all = static_cast<int64_t>(device.facts().shared_bytes);
    kernel.most_shared = static_cast<uint32_t>(std::max<int64_t>(0, all - static_shared));
  }
  if (kernel.most_shared > 0) {
    TILERT_TRY(driver.check(driver.cuFuncSetAttribute(kernel.function, kCuFunctionMaxDynamicSharedBytes,
                                                      static_cast<int>(kernel.most_shared)),
                            "give a kernel its shared memory"));
  }
  const bool open_cluster = recipe.cluster_exprs[0] || recipe.cluster_exprs[1] || recipe.cluster_exprs[2];
  kernel.most_in_cluster = device.facts().major >= 9 ? 16 : 1;
  if ((open_cluster && kernel.most_in_cluster > 1) || recipe.cluster[0] * recipe.cluster[1] * recipe.cluster[2] > 8) {
    TILERT_TRY(driver.check(driver.cuFuncSetAttribute(kernel.function, kCuFunctionNonPortableCluster, 1),
                            "allow a cluster of more than 8 blocks"));
  }
  TILERT_TRY(count_resident(device, kernel));
  return check_parameters(driver, kernel);
}

}  // namespace

Status load_cuda_module(Device& device, LoadedVariant& variant) {
  const Artifact& artifact = *variant.artifact;
  TILERT_TRY(check_demands(device, artifact));
  const CudaDriver& driver = *device.driver();
  const CurrentContext current(driver, device.context());
  TILERT_TRY(driver.check(current.result(), "make the device's context current"));
  const RelaxedCapture relaxed(driver);
  auto module = std::make_shared<LoadedModule>();
  TILERT_TRY(load_image(device, artifact, &module->module));
  for (PreparedKernel& kernel : variant.kernels) {
    if (Status status = resolve(device, module->module, kernel); !status) {
      driver.cuModuleUnload(module->module);  // nothing of it was launched; the first error is the one to report
      return status;
    }
  }
  device.adopt(module);
  variant.module = std::move(module);
  return {};
}

}  // namespace tilert::runtime
