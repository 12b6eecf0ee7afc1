// The fake driver's entry points. Each counts itself, answers a script if there is one, then keeps the driver's rules.
#include <algorithm>
#include <cstring>
#include <sstream>

#include "fake/fake_cuda_state.h"
#include "runtime/cuda_types.h"

using namespace tilert::runtime;

namespace {

template <class To, class From>
To* as(From* object) {
  return reinterpret_cast<To*>(object);
}

// Between BEGIN and the end of an entry point: counted, and answered where scripted.
#define BEGIN(name)                                                          \
  static fake::Entry& this_entry = fake::entry(#name);                       \
  this_entry.calls.fetch_add(1, std::memory_order_relaxed);                  \
  if (fake::state().scripted.load(std::memory_order_relaxed)) {              \
    if (const int code = fake::scripted_code(#name); code >= 0) return code; \
  }

using Lock = std::lock_guard<std::recursive_mutex>;

fake::Device* device_at(int ordinal) {
  auto& devices = fake::state().devices;
  return ordinal >= 0 && ordinal < static_cast<int>(devices.size()) ? devices[static_cast<size_t>(ordinal)].get()
                                                                    : nullptr;
}

// Loading, unloading and the like end a capture of another thread in global mode, unless this thread is relaxed.
bool breaks_capture() {
  if (!fake::state().global_capture || fake::capture_mode() == kCuCaptureModeRelaxed) return false;
  fake::state().broken = true;
  return true;
}

bool parse_image(const char* text, fake::Module& module) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line.rfind("fake ", 0) != 0) return false;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    auto function = std::make_unique<fake::Function>();
    if (!(words >> function->name)) continue;
    for (uint32_t size = 0; words >> size;) {
      const uint32_t alignment = std::min<uint32_t>(size, 64);
      const uint32_t offset = (function->parameter_bytes + alignment - 1) / alignment * alignment;
      function->sizes.push_back(size);
      function->offsets.push_back(offset);
      function->parameter_bytes = offset + size;
    }
    function->module = &module;
    function->attributes[kCuFunctionMaxThreads] = 1024;
    function->attributes[kCuFunctionRegisters] = 64;
    module.functions.push_back(std::move(function));
  }
  return true;
}

CuResult launch_checks(fake::Function* function, fake::Stream* stream, bool special) {
  fake::Context* const current = fake::current();
  if (special && current == nullptr) return kCuInvalidContext;
  fake::Context* const context = special ? current : stream->context;
  if (fake::state().require_current && current != context) return kCuInvalidContext;
  if (!context->alive) return kCuContextIsDestroyed;
  if (function->module->context != context) return kCuInvalidHandle;
  if (!function->module->loaded) {
    fake::violate("launch of kernel '" + function->name + "' of an unloaded module");
    return 700;
  }
  return kCuSuccess;
}

CuResult launch(fake::Function* function, FakeLaunch& launch, void** parameters) {
  auto* const stream = static_cast<fake::Stream*>(launch.stream);
  const bool special = reinterpret_cast<uintptr_t>(launch.stream) <= 2;
  if (const CuResult code = launch_checks(function, stream, special); code != kCuSuccess) return code;
  if (launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0) return kCuInvalidValue;
  if (!fake::state().recording.load(std::memory_order_relaxed)) return kCuSuccess;
  std::strncpy(launch.kernel, function->name.c_str(), sizeof launch.kernel - 1);
  launch.context = fake::current();
  launch.parameter_bytes = function->parameter_bytes;
  for (size_t i = 0; i < function->sizes.size(); ++i) {
    std::memcpy(launch.parameters + function->offsets[i], parameters[i], function->sizes[i]);
  }
  const Lock lock(fake::state().mutex);
  fake::state().launches.push_back(launch);
  return kCuSuccess;
}

FakeLaunch describe(uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz, uint32_t shared,
                    CuStream stream) {
  FakeLaunch out;
  std::memset(&out, 0, offsetof(FakeLaunch, parameters));
  const uint32_t grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  std::copy_n(grid, 3, out.grid);
  std::copy_n(block, 3, out.block);
  std::fill_n(out.cluster, 3, 1u);
  out.shared_bytes = shared;
  out.stream = stream;
  return out;
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default"))) CuResult

FAKE cuInit(uint32_t) { BEGIN(cuInit) return kCuSuccess; }
FAKE cuDriverGetVersion(int* version) {
  BEGIN(cuDriverGetVersion)
  *version = fake::state().driver_version;
  return kCuSuccess;
}
FAKE cuGetErrorName(CuResult code, const char** text) {
  BEGIN(cuGetErrorName)
  *text = code == kCuInvalidImage ? "CUDA_ERROR_INVALID_IMAGE"
          : code == 719           ? "CUDA_ERROR_LAUNCH_FAILED"
                                  : "CUDA_ERROR_FAKE";
  return kCuSuccess;
}
FAKE cuGetErrorString(CuResult, const char** text) {
  BEGIN(cuGetErrorString)
  *text = "scripted";
  return kCuSuccess;
}
FAKE cuDeviceGetCount(int* count) {
  BEGIN(cuDeviceGetCount)
  const Lock lock(fake::state().mutex);
  *count = static_cast<int>(fake::state().devices.size());
  return kCuSuccess;
}
FAKE cuDeviceGet(CuDevice* device, int ordinal) {
  BEGIN(cuDeviceGet)
  const Lock lock(fake::state().mutex);
  if (device_at(ordinal) == nullptr) return 101;
  *device = ordinal;
  return kCuSuccess;
}
FAKE cuDeviceGetName(char* name, int length, CuDevice device) {
  BEGIN(cuDeviceGetName)
  std::snprintf(name, static_cast<size_t>(length), "Fake GPU %d", device);
  return kCuSuccess;
}
FAKE cuDeviceGetUuid_v2(CuUuid* uuid, CuDevice device) {
  BEGIN(cuDeviceGetUuid)
  std::memset(uuid->bytes, 0xa0 + device, sizeof uuid->bytes);
  return kCuSuccess;
}
FAKE cuDeviceGetAttribute(int* value, int32_t attribute, CuDevice device) {
  BEGIN(cuDeviceGetAttribute)
  const Lock lock(fake::state().mutex);
  *value = device_at(device)->attributes[attribute];
  return kCuSuccess;
}
FAKE cuDevicePrimaryCtxRetain(CuContext* context, CuDevice device) {
  BEGIN(cuDevicePrimaryCtxRetain)
  const Lock lock(fake::state().mutex);
  ++device_at(device)->retains;
  *context = as<CuContextObject>(&device_at(device)->primary);
  return kCuSuccess;
}
FAKE cuDevicePrimaryCtxRelease_v2(CuDevice device) {
  BEGIN(cuDevicePrimaryCtxRelease)
  const Lock lock(fake::state().mutex);
  if (device_at(device) == nullptr || --device_at(device)->retains < 0)
    fake::violate("a primary context released too often");
  return kCuSuccess;
}
FAKE cuCtxGetCurrent(CuContext* context) {
  BEGIN(cuCtxGetCurrent)
  *context = as<CuContextObject>(fake::current());
  return kCuSuccess;
}
FAKE cuCtxPushCurrent_v2(CuContext context) {
  BEGIN(cuCtxPushCurrent)
  auto* const object = as<fake::Context>(context);
  if (!object->alive) return kCuContextIsDestroyed;
  fake::context_stack().push_back(object);
  return kCuSuccess;
}
FAKE cuCtxPopCurrent_v2(CuContext* context) {
  BEGIN(cuCtxPopCurrent)
  auto& stack = fake::context_stack();
  if (stack.empty()) {
    fake::violate("a context popped from an empty stack");
    return kCuInvalidContext;
  }
  *context = as<CuContextObject>(stack.back());
  stack.pop_back();
  return kCuSuccess;
}
FAKE cuCtxGetDevice(CuDevice* device) {
  BEGIN(cuCtxGetDevice)
  if (fake::current() == nullptr) return kCuInvalidContext;
  *device = fake::current()->ordinal;
  return kCuSuccess;
}
FAKE cuModuleLoadDataEx(CuModule* module, const void* image, uint32_t, int32_t*, void** values) {
  BEGIN(cuModuleLoadDataEx)
  if (breaks_capture()) return 900;
  if (fake::current() == nullptr) return kCuInvalidContext;
  auto object = std::make_unique<fake::Module>();
  object->context = fake::current();
  if (!parse_image(static_cast<const char*>(image), *object)) {
    std::strcpy(static_cast<char*>(values[0]), "line 1: not a fake image");
    return kCuInvalidImage;
  }
  const Lock lock(fake::state().mutex);
  *module = as<CuModuleObject>(object.get());
  fake::state().modules.push_back(std::move(object));
  return kCuSuccess;
}
FAKE cuModuleUnload(CuModule module) {
  BEGIN(cuModuleUnload)
  if (breaks_capture()) return 900;
  auto* const object = as<fake::Module>(module);
  if (fake::current() != object->context) return kCuInvalidContext;
  if (!object->loaded.exchange(false)) fake::violate("a module unloaded twice");
  return kCuSuccess;
}
FAKE cuModuleGetFunction(CuFunction* function, CuModule module, const char* name) {
  BEGIN(cuModuleGetFunction)
  for (const auto& candidate : as<fake::Module>(module)->functions) {
    if (candidate->name != name) continue;
    *function = as<CuFunctionObject>(candidate.get());
    return kCuSuccess;
  }
  return kCuNotFound;
}
FAKE cuFuncGetAttribute(int* value, int32_t attribute, CuFunction function) {
  BEGIN(cuFuncGetAttribute)
  const Lock lock(fake::state().mutex);
  *value = as<fake::Function>(function)->attributes[attribute];
  return kCuSuccess;
}
FAKE cuFuncSetAttribute(CuFunction function, int32_t attribute, int value) {
  BEGIN(cuFuncSetAttribute)
  const Lock lock(fake::state().mutex);
  as<fake::Function>(function)->attributes[attribute] = value;
  return kCuSuccess;
}
FAKE cuFuncLoad(CuFunction) { BEGIN(cuFuncLoad) return kCuSuccess; }
FAKE cuFuncGetParamInfo(CuFunction function, size_t index, size_t* offset, size_t* bytes) {
  BEGIN(cuFuncGetParamInfo)
  const auto* const object = as<fake::Function>(function);
  if (index >= object->sizes.size()) return kCuInvalidValue;
  *offset = object->offsets[index];
  *bytes = object->sizes[index];
  return kCuSuccess;
}
FAKE cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CuFunction, int threads, size_t) {
  BEGIN(cuOccupancyMaxActiveBlocksPerMultiprocessor)
  *blocks = 2048 / std::max(threads, 1);
  return kCuSuccess;
}
// Of 18 multiprocessors a group, each with one block.
FAKE cuOccupancyMaxActiveClusters(int* clusters, CuFunction, const CuLaunchConfig* config) {
  BEGIN(cuOccupancyMaxActiveClusters)
  if (config->attribute_count != 1 || config->attributes[0].id != kCuAttributeCluster) return kCuInvalidValue;
  *clusters = static_cast<int>(7 * (18 / config->attributes[0].value.cluster[0]));
  return kCuSuccess;
}
FAKE cuLaunchKernel(CuFunction function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz,
                    uint32_t shared, CuStream stream, void** parameters, void**) {
  BEGIN(cuLaunchKernel)
  FakeLaunch record = describe(gx, gy, gz, bx, by, bz, shared, stream);
  return launch(as<fake::Function>(function), record, parameters);
}
FAKE cuLaunchCooperativeKernel(CuFunction function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by,
                               uint32_t bz, uint32_t shared, CuStream stream, void** parameters) {
  BEGIN(cuLaunchCooperativeKernel)
  FakeLaunch record = describe(gx, gy, gz, bx, by, bz, shared, stream);
  record.cooperative = 1;
  return launch(as<fake::Function>(function), record, parameters);
}
FAKE cuLaunchKernelEx(const CuLaunchConfig* config, CuFunction function, void** parameters, void**) {
  BEGIN(cuLaunchKernelEx)
  FakeLaunch record = describe(config->grid[0], config->grid[1], config->grid[2], config->block[0], config->block[1],
                               config->block[2], config->shared_bytes, config->stream);
  for (uint32_t i = 0; i < config->attribute_count; ++i) {
    const CuLaunchAttribute& attribute = config->attributes[i];
    switch (attribute.id) {
      case kCuAttributeCluster: std::copy_n(attribute.value.cluster, 3, record.cluster); break;
      case kCuAttributeCooperative: record.cooperative = attribute.value.flag; break;
      case kCuAttributePdl: record.pdl = attribute.value.flag; break;
      case kCuAttributePriority:
        record.has_priority = 1;
        record.priority = attribute.value.flag;
        break;
      default: return kCuInvalidValue;
    }
  }
  return launch(as<fake::Function>(function), record, parameters);
}
FAKE cuStreamIsCapturing(CuStream stream, int32_t* status) {
  BEGIN(cuStreamIsCapturing)
  if (reinterpret_cast<uintptr_t>(stream) <= 2) {
    if (fake::current() == nullptr) return kCuInvalidContext;
    *status = kCuCaptureNone;
    return fake::state().global_capture ? 906 : kCuSuccess;
  }
  if (fake::state().require_current && fake::current() != as<fake::Stream>(stream)->context) return kCuInvalidContext;
  *status = as<fake::Stream>(stream)->capture.load();
  return kCuSuccess;
}
FAKE cuThreadExchangeStreamCaptureMode(int32_t* mode) {
  BEGIN(cuThreadExchangeStreamCaptureMode)
  std::swap(*mode, fake::capture_mode());
  return kCuSuccess;
}
FAKE cuPointerGetAttribute(void* value, int32_t attribute, CuDevicePtr pointer) {
  BEGIN(cuPointerGetAttribute)
  const Lock lock(fake::state().mutex);
  const auto found = fake::state().memory.find(reinterpret_cast<const void*>(pointer));
  if (found == fake::state().memory.end() || attribute != kCuPointerDeviceOrdinal) return kCuInvalidValue;
  *static_cast<int*>(value) = found->second;
  return kCuSuccess;
}
FAKE cuTensorMapEncodeTiled(CuTensorMap* map, int32_t type, uint32_t rank, void* address, const uint64_t* dims,
                            const uint64_t* strides, const uint32_t* box, const uint32_t* element_strides,
                            int32_t interleave, int32_t swizzle, int32_t l2, int32_t fill) {
  BEGIN(cuTensorMapEncodeTiled)
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0 || reinterpret_cast<uintptr_t>(address) % 16 != 0)
    return kCuInvalidValue;
  FakeTensorMap out;
  std::memset(&out, 0, sizeof out);
  out.magic = kFakeTensorMapMagic;
  out.type = static_cast<uint8_t>(type);
  out.rank = static_cast<uint8_t>(rank);
  out.swizzle = static_cast<uint8_t>(swizzle);
  out.l2 = static_cast<uint8_t>(l2);
  out.interleave = static_cast<uint8_t>(interleave);
  out.fill = static_cast<uint8_t>(fill);
  out.address = reinterpret_cast<uintptr_t>(address);
  for (uint32_t i = 0; i < rank; ++i) {
    if (dims[i] == 0 || dims[i] > uint64_t{1} << 32) return kCuInvalidValue;
    if (i > 0 && (strides[i - 1] % 16 != 0 || strides[i - 1] >= uint64_t{1} << 40)) return kCuInvalidValue;
    out.dims[i] = static_cast<uint32_t>(dims[i]);
    if (i > 0) out.strides[i - 1] = strides[i - 1];
    out.box[i] = static_cast<uint16_t>(box[i]);
    out.element_strides[i] = static_cast<uint8_t>(element_strides[i]);
  }
  std::memset(map, 0, sizeof *map);
  static_assert(sizeof out <= sizeof *map);
  std::memcpy(map, &out, sizeof out);
  return kCuSuccess;
}
FAKE cuCtxGetDevResource(CuContext context, CuDevResource* resource, int32_t type) {
  BEGIN(cuCtxGetDevResource)
  const Lock lock(fake::state().mutex);
  auto* const object = as<fake::Context>(context);
  resource->type = type;
  resource->sm_count = static_cast<uint32_t>(object->multiprocessors != 0
                                                 ? object->multiprocessors
                                                 : device_at(object->ordinal)->attributes[kCuDeviceMultiprocessors]);
  return kCuSuccess;
}

FAKE cuGetProcAddress_v2(const char* name, void** address, int version, uint64_t, int32_t*) {
  *address = nullptr;
  if (!fake::is_entry(name) || fake::entry(name).hidden || version > fake::state().driver_version) return kCuNotFound;
  static const std::map<std::string, void*> table = {
#define TILERT_CUDA_ENTRY(name, symbol, version, need, parameters) {#name, reinterpret_cast<void*>(&symbol)},
#include "runtime/cuda_driver.def"
#undef TILERT_CUDA_ENTRY
  };
  *address = table.at(name);
  return kCuSuccess;
}
