// The CUDA driver's interface: six devices, one of each architecture; contexts that hold nothing; modules of emulated
// kernels; launches that run to their end before they return. Streams are not told apart.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emulator/cuda/tensor_map.h"
#include "emulator/driver/kernels.h"
#include "emulator/driver/launcher.h"
#include "emulator/driver/memory.h"
#include "runtime/cuda_types.h"

namespace tilert::emulator {
void keep_report(const std::string& text);  // launcher.cpp
}

using namespace tilert::runtime;
using namespace tilert::emulator;

namespace {

struct DeviceRow {
  int major, minor, shared_kib, multiprocessors, l2_mib;
};
constexpr DeviceRow kDevices[] = {
#define TILERT_EMULATED_DEVICE(major, minor, shared_kib, multiprocessors, l2_mib) {major, minor, shared_kib, multiprocessors, l2_mib},
#include "emulator/driver/devices.def"
};
constexpr int kDeviceCount = static_cast<int>(std::size(kDevices));
constexpr CuResult kLaunchFailed = 719;

struct Context {
  int ordinal;
};
Context contexts[kDeviceCount];

std::vector<Context*>& stack() {
  static thread_local std::vector<Context*> own;
  return own;
}
Context* current() { return stack().empty() ? nullptr : stack().back(); }

struct Function;
struct Module {
  size_t text = 0;
  std::vector<std::unique_ptr<Function>> functions;
};
struct Function {
  Module* module;
  std::string name;
};
std::mutex mutex;
std::vector<std::unique_ptr<Module>> modules;  // kept: a test may launch what it unloaded, and shall be told

CuResult start(CuFunction handle, const uint32_t grid[3], const uint32_t block[3], const uint32_t cluster[3], uint32_t shared, void** parameters,
               bool together = false, bool dependent = false) {
  const auto& function = *reinterpret_cast<Function*>(handle);
  DriverLaunch launch;
  launch.text = function.module->text;
  launch.name = function.name;
  std::copy_n(grid, 3, launch.grid);
  std::copy_n(block, 3, launch.block);
  std::copy_n(cluster, 3, launch.cluster);
  launch.shared_bytes = shared;
  launch.together = together;
  launch.dependent = dependent;
  launch.parameters = parameters;
  const std::string wrong = run_everywhere(launch);
  keep_report(wrong);
  return wrong.empty() ? kCuSuccess : kLaunchFailed;
}

constexpr uint32_t kOne[3] = {1, 1, 1};

}  // namespace

extern "C" {

CuResult cuInit(uint32_t) { return kCuSuccess; }
CuResult cuDriverGetVersion(int* version) {
  *version = 12040;
  return kCuSuccess;
}
CuResult cuGetErrorName(CuResult code, const char** text) {
  *text = code == kLaunchFailed ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR";
  return kCuSuccess;
}
CuResult cuGetErrorString(CuResult, const char** text) {
  *text = "on the emulated GPU";
  return kCuSuccess;
}
CuResult cuDeviceGetCount(int* count) {
  *count = kDeviceCount;
  return kCuSuccess;
}
CuResult cuDeviceGet(CuDevice* device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < kDeviceCount ? kCuSuccess : 101;
}
CuResult cuDeviceGetName(char* name, int length, CuDevice device) {
  const std::string text = "emulated GPU of compute capability " + std::to_string(kDevices[device].major) + "." + std::to_string(kDevices[device].minor);
  std::strncpy(name, text.c_str(), static_cast<size_t>(length));
  return kCuSuccess;
}
CuResult cuDeviceGetUuid_v2(CuUuid* uuid, CuDevice device) {
  std::memset(uuid->bytes, 0xe0 + device, sizeof uuid->bytes);
  return kCuSuccess;
}
CuResult cuDeviceGetAttribute(int* value, int32_t attribute, CuDevice device) {
  const DeviceRow& row = kDevices[device];
  switch (attribute) {
    case kCuDeviceMajor: *value = row.major; break;
    case kCuDeviceMinor: *value = row.minor; break;
    case kCuDeviceMultiprocessors: *value = row.multiprocessors; break;
    case kCuDeviceSharedPerBlockOptin: *value = row.shared_kib * 1024; break;
    case kCuDeviceL2Bytes: *value = row.l2_mib << 20; break;
    default: *value = 0; break;
  }
  return kCuSuccess;
}
CuResult cuDevicePrimaryCtxRetain(CuContext* context, CuDevice device) {
  contexts[device].ordinal = device;
  *context = reinterpret_cast<CuContext>(&contexts[device]);
  return kCuSuccess;
}
CuResult cuDevicePrimaryCtxRelease_v2(CuDevice) { return kCuSuccess; }
CuResult cuCtxGetCurrent(CuContext* context) {
  *context = reinterpret_cast<CuContext>(current());
  return kCuSuccess;
}
CuResult cuCtxSetCurrent(CuContext context) {
  if (!stack().empty()) stack().pop_back();
  if (context) stack().push_back(reinterpret_cast<Context*>(context));
  return kCuSuccess;
}
CuResult cuCtxPushCurrent_v2(CuContext context) {
  stack().push_back(reinterpret_cast<Context*>(context));
  return kCuSuccess;
}
CuResult cuCtxPopCurrent_v2(CuContext* context) {
  if (stack().empty()) return kCuInvalidContext;
  *context = reinterpret_cast<CuContext>(stack().back());
  stack().pop_back();
  return kCuSuccess;
}
CuResult cuCtxGetDevice(CuDevice* device) {
  if (!current()) return kCuInvalidContext;
  *device = current()->ordinal;
  return kCuSuccess;
}
CuResult cuCtxSynchronize(void) { return kCuSuccess; }
CuResult cuModuleLoadDataEx(CuModule* module, const void* image, uint32_t, int32_t*, void** values) {
  std::string target, source;
  if (!read_image(static_cast<const char*>(image), target, source)) {
    std::strcpy(static_cast<char*>(values[0]), "this is no kernel of the emulator");
    return kCuInvalidImage;
  }
  auto object = std::make_unique<Module>();
  const KernelText text = kernel_text(source);
  object->text = register_text(text);
  for (const std::string& name : text.entries) object->functions.push_back(std::make_unique<Function>(Function{object.get(), name}));
  *module = reinterpret_cast<CuModule>(object.get());
  const std::lock_guard lock(mutex);
  modules.push_back(std::move(object));
  return kCuSuccess;
}
CuResult cuModuleUnload(CuModule) { return kCuSuccess; }
CuResult cuModuleGetFunction(CuFunction* function, CuModule module, const char* name) {
  for (const auto& candidate : reinterpret_cast<Module*>(module)->functions) {
    if (candidate->name != name) continue;
    *function = reinterpret_cast<CuFunction>(candidate.get());
    return kCuSuccess;
  }
  return kCuNotFound;
}
CuResult cuFuncGetAttribute(int* value, int32_t attribute, CuFunction) {
  *value = attribute == kCuFunctionMaxThreads ? 1024 : 0;
  return kCuSuccess;
}
CuResult cuFuncSetAttribute(CuFunction, int32_t, int) { return kCuSuccess; }
// By threads and shared memory alone, as if a thread had few registers.
CuResult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CuFunction, int threads, size_t shared) {
  const Context* const context = current();
  if (!context || threads < 1 || threads > 1024) return kCuInvalidValue;
  const DeviceRow& row = kDevices[context->ordinal];
  const size_t by_shared = (static_cast<size_t>(row.shared_kib) + 1) * 1024 / (shared + 1024);
  *blocks = static_cast<int>(std::min({size_t{32}, size_t{2048} / static_cast<size_t>((threads + 31) / 32 * 32), by_shared}));
  return kCuSuccess;
}
CuResult cuLaunchKernel(CuFunction function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz,
                        uint32_t shared, CuStream, void** parameters, void**) {
  const uint32_t grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  return start(function, grid, block, kOne, shared, parameters);
}
CuResult cuLaunchCooperativeKernel(CuFunction function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz,
                                   uint32_t shared, CuStream, void** parameters) {
  const uint32_t grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  return start(function, grid, block, kOne, shared, parameters, true);
}
CuResult cuLaunchKernelEx(const CuLaunchConfig* config, CuFunction function, void** parameters, void**) {
  uint32_t cluster[3] = {1, 1, 1};
  bool together = false, dependent = false;
  for (uint32_t i = 0; i < config->attribute_count; ++i) {
    const CuLaunchAttribute& attribute = config->attributes[i];
    if (attribute.id == kCuAttributeCluster) std::copy_n(attribute.value.cluster, 3, cluster);
    if (attribute.id == kCuAttributeCooperative && attribute.value.flag) together = true;
    if (attribute.id == kCuAttributePdl && attribute.value.flag) dependent = true;
  }
  if (together && dependent) return kCuInvalidValue;
  return start(function, config->grid, config->block, cluster, config->shared_bytes, parameters, together, dependent);
}
CuResult cuStreamIsCapturing(CuStream, int32_t* status) {
  *status = kCuCaptureNone;
  return kCuSuccess;
}
CuResult cuThreadExchangeStreamCaptureMode(int32_t*) { return kCuSuccess; }
CuResult cuPointerGetAttribute(void* value, int32_t attribute, CuDevicePtr pointer) {
  if (attribute != kCuPointerDeviceOrdinal || !is_device(reinterpret_cast<void*>(pointer))) return kCuInvalidValue;
  *static_cast<int*>(value) = current() ? current()->ordinal : 0;
  return kCuSuccess;
}
CuResult cuMemAlloc_v2(CuDevicePtr* address, size_t bytes) {
  *address = reinterpret_cast<CuDevicePtr>(allocate_device(bytes));
  return *address ? kCuSuccess : kCuOutOfMemory;
}
CuResult cuMemFree_v2(CuDevicePtr address) { return release_device(reinterpret_cast<void*>(address)) ? kCuSuccess : kCuInvalidValue; }
CuResult cuMemcpyHtoD_v2(CuDevicePtr to, const void* from, size_t bytes) {
  if (bytes) std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return kCuSuccess;
}
CuResult cuMemcpyDtoH_v2(void* to, CuDevicePtr from, size_t bytes) {
  if (bytes) std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return kCuSuccess;
}

// The limits are the driver's: a map that it would refuse is refused here.
CuResult cuTensorMapEncodeTiled(CuTensorMap* map, int32_t type, uint32_t rank, void* address, const uint64_t* dims, const uint64_t* strides,
                                const uint32_t* box, const uint32_t* element_strides, int32_t interleave, int32_t swizzle, int32_t, int32_t fill) {
  const int bytes = tensor_element_bytes(type);
  if (reinterpret_cast<uintptr_t>(map) % 64 || reinterpret_cast<uintptr_t>(address) % 16 || !bytes || rank < 1 || rank > 5) return kCuInvalidValue;
  if (interleave != 0 || swizzle < 0 || swizzle > 3) return kCuInvalidValue;
  TensorMap out;
  std::memset(static_cast<void*>(&out), 0, sizeof out);
  out.magic = TensorMap::kMagic;
  out.type = static_cast<uint8_t>(type);
  out.rank = static_cast<uint8_t>(rank);
  out.swizzle = static_cast<uint8_t>(swizzle);
  out.fill = static_cast<uint8_t>(fill);
  out.element_bytes = static_cast<uint8_t>(bytes);
  out.address = reinterpret_cast<uintptr_t>(address);
  for (uint32_t d = 0; d < rank; ++d) {
    if (dims[d] == 0 || dims[d] > 1ull << 32 || box[d] == 0 || box[d] > 256 || element_strides[d] == 0 || element_strides[d] > 8) return kCuInvalidValue;
    if (d > 0 && (strides[d - 1] % 16 || strides[d - 1] >= 1ull << 40)) return kCuInvalidValue;
    out.dims[d] = static_cast<uint32_t>(std::min<uint64_t>(dims[d], 0xffffffffull));
    // A box is counted in the tensor's elements, of which every element_strides-th is copied; the innermost dim has no steps.
    out.element_strides[d] = static_cast<uint8_t>(d == 0 ? 1 : element_strides[d]);
    out.box[d] = static_cast<uint16_t>((box[d] + out.element_strides[d] - 1) / out.element_strides[d]);
    if (d > 0) out.strides[d - 1] = strides[d - 1];
  }
  const uint32_t inner = box[0] * static_cast<uint32_t>(bytes);
  if (inner % 16 || (swizzle && inner > 16u << swizzle)) return kCuInvalidValue;
  std::memset(static_cast<void*>(map), 0, sizeof *map);
  std::memcpy(static_cast<void*>(map), &out, sizeof out);
  return kCuSuccess;
}

CuResult cuGetProcAddress_v2(const char* name, void** address, int, uint64_t, int32_t*) {
  // A kernel's parameters are known once it is compiled, which waits for its first launch; functions need no loading.
  static const std::map<std::string, void*> kTable = {
#define EMULATED(name, symbol) {name, reinterpret_cast<void*>(&symbol)}
      EMULATED("cuInit", cuInit), EMULATED("cuDriverGetVersion", cuDriverGetVersion), EMULATED("cuGetErrorName", cuGetErrorName),
      EMULATED("cuGetErrorString", cuGetErrorString), EMULATED("cuDeviceGetCount", cuDeviceGetCount), EMULATED("cuDeviceGet", cuDeviceGet),
      EMULATED("cuDeviceGetName", cuDeviceGetName), EMULATED("cuDeviceGetUuid", cuDeviceGetUuid_v2),
      EMULATED("cuDeviceGetAttribute", cuDeviceGetAttribute), EMULATED("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain),
      EMULATED("cuDevicePrimaryCtxRelease", cuDevicePrimaryCtxRelease_v2), EMULATED("cuCtxGetCurrent", cuCtxGetCurrent),
      EMULATED("cuCtxPushCurrent", cuCtxPushCurrent_v2), EMULATED("cuCtxPopCurrent", cuCtxPopCurrent_v2), EMULATED("cuCtxGetDevice", cuCtxGetDevice),
      EMULATED("cuModuleLoadDataEx", cuModuleLoadDataEx), EMULATED("cuModuleUnload", cuModuleUnload),
      EMULATED("cuModuleGetFunction", cuModuleGetFunction), EMULATED("cuFuncGetAttribute", cuFuncGetAttribute),
      EMULATED("cuFuncSetAttribute", cuFuncSetAttribute),
      EMULATED("cuOccupancyMaxActiveBlocksPerMultiprocessor", cuOccupancyMaxActiveBlocksPerMultiprocessor), EMULATED("cuLaunchKernel", cuLaunchKernel),
      EMULATED("cuStreamIsCapturing", cuStreamIsCapturing), EMULATED("cuThreadExchangeStreamCaptureMode", cuThreadExchangeStreamCaptureMode),
      EMULATED("cuPointerGetAttribute", cuPointerGetAttribute), EMULATED("cuLaunchKernelEx", cuLaunchKernelEx),
      EMULATED("cuLaunchCooperativeKernel", cuLaunchCooperativeKernel), EMULATED("cuTensorMapEncodeTiled", cuTensorMapEncodeTiled),
#undef EMULATED
  };
  const auto found = kTable.find(name);
  *address = found == kTable.end() ? nullptr : found->second;
  return *address ? kCuSuccess : kCuNotFound;
}
}
