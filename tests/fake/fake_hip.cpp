// The fake HIP runtime. FAKE_ROCM is 5 or 6. It takes as functions what a code object's metadata would name: any name
// but "missing".
#include "fake/fake_hip.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Module;
struct Function {
  std::string name;
  Module* module;
};
struct Module {
  bool loaded = true;
  int device = 0;
  std::vector<std::unique_ptr<Function>> functions;
};
struct Properties {
  const char *name, *arch;
  int multiprocessors, l2_bytes;
  uint64_t shared_bytes;
};
constexpr Properties kDevices[] = {{"Fake MI210", "gfx90a:sramecc+:xnack-", 104, 8 << 20, 65536},
                                   {"Fake RX", "gfx1100", 48, 6 << 20, 65536}};

struct State {
  std::mutex mutex;
  std::vector<std::unique_ptr<Module>> modules;
  std::vector<FakeHipLaunch> launches;
  std::map<std::string, int> calls, scripts;
  std::map<void*, int> memory;
  int capture = 0;
};
State& state() {
  static State& made = *new State;
  return made;
}
thread_local int current_device = 0;

// Counts the call; -1, or the code that a test gave for it.
int begin(const char* entry) {
  std::lock_guard lock(state().mutex);
  ++state().calls[entry];
  const auto script = state().scripts.find(entry);
  if (script == state().scripts.end()) return -1;
  const int code = script->second;
  state().scripts.erase(script);
  return code;
}
#define BEGIN() \
  if (const int scripted = begin(__func__); scripted >= 0) return scripted

void reset() {
  std::lock_guard lock(state().mutex);
  state().modules.clear(), state().launches.clear(), state().calls.clear(), state().scripts.clear(),
      state().memory.clear();
  state().capture = 0;
  current_device = 0;
}
void script(const char* entry, int code) { state().scripts[entry] = code; }
int calls(const char* entry) { return state().calls[entry]; }
int launch_at(int index, FakeHipLaunch* out) {
  if (static_cast<size_t>(index) >= state().launches.size()) return 0;
  *out = state().launches[static_cast<size_t>(index)];
  return 1;
}
int modules() {
  int loaded = 0;
  for (const auto& module : state().modules) loaded += module->loaded;
  return loaded;
}
void capture(int status) { state().capture = status; }
void set_current(int device) { current_device = device; }
int current() { return current_device; }
void memory(void* pointer, int device) { state().memory[pointer] = device; }

int record(void* handle, const uint32_t* grid, const uint32_t* block, uint32_t shared, void* stream, void** parameters,
           int cooperative) {
  const auto* function = static_cast<Function*>(handle);
  if (!function->module->loaded) return 400;
  FakeHipLaunch launch{};
  std::snprintf(launch.kernel, sizeof launch.kernel, "%s", function->name.c_str());
  std::memcpy(launch.grid, grid, sizeof launch.grid);
  std::memcpy(launch.block, block, sizeof launch.block);
  launch.shared_bytes = shared, launch.stream = stream, launch.cooperative = cooperative,
  launch.device = current_device;
  for (int i = 0; i < 4; ++i) std::memcpy(&launch.parameters[i], parameters[i], 8);  // of a shorter one more than it is
  std::lock_guard lock(state().mutex);
  state().launches.push_back(launch);
  return 0;
}

int describe(void* out, int ordinal, size_t shared_at, size_t sms_at, size_t l2_at, size_t arch_at) {
  if (ordinal < 0 || ordinal >= 2) return 101;
  const Properties& device = kDevices[ordinal];
  auto* bytes = static_cast<char*>(out);
  std::strcpy(bytes, device.name);
  std::strcpy(bytes + arch_at, device.arch);
  std::memcpy(bytes + shared_at, &device.shared_bytes, 8);
  std::memcpy(bytes + sms_at, &device.multiprocessors, 4);
  std::memcpy(bytes + l2_at, &device.l2_bytes, 4);
  return 0;
}

}  // namespace

FAKE_EXPORT const FakeHipControl* fake_hip_control(void) {
  static const FakeHipControl table = {reset, script, calls, launch_at, modules, capture, set_current, current, memory};
  return &table;
}

FAKE_EXPORT const char* hipGetErrorName(int code) {
  return code == 719 ? "hipErrorLaunchFailure" : "hipErrorOfTheFake";
}
FAKE_EXPORT const char* hipGetErrorString(int) { return "as scripted"; }
FAKE_EXPORT int hipInit(uint32_t) {
  BEGIN();
  return 0;
}
FAKE_EXPORT int hipDriverGetVersion(int* version) {
  BEGIN();
  return *version = FAKE_ROCM * 10000000, 0;
}
FAKE_EXPORT int hipGetDeviceCount(int* count) {
  BEGIN();
  return *count = 2, 0;
}
FAKE_EXPORT int hipGetDevice(int* ordinal) {
  BEGIN();
  return *ordinal = current_device, 0;
}
FAKE_EXPORT int hipSetDevice(int ordinal) {
  BEGIN();
  return current_device = ordinal, 0;
}
FAKE_EXPORT int hipModuleLoadData(void** out, const void*) {
  BEGIN();
  std::lock_guard lock(state().mutex);
  auto& module = state().modules.emplace_back(std::make_unique<Module>());
  module->device = current_device;
  *out = module.get();
  return 0;
}
FAKE_EXPORT int hipModuleUnload(void* module) {
  BEGIN();
  return static_cast<Module*>(module)->loaded = false, 0;
}
FAKE_EXPORT int hipModuleGetFunction(void** out, void* handle, const char* name) {
  BEGIN();
  auto* module = static_cast<Module*>(handle);
  auto& function = module->functions.emplace_back(std::make_unique<Function>(Function{name, module}));
  return *out = function.get(), 0;
}
FAKE_EXPORT int hipModuleLaunchKernel(void* function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by,
                                      uint32_t bz, uint32_t shared, void* stream, void** parameters, void**) {
  BEGIN();
  const uint32_t grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  return record(function, grid, block, shared, stream, parameters, 0);
}
FAKE_EXPORT int hipStreamIsCapturing(void*, int32_t* status) {
  BEGIN();
  return *status = state().capture, 0;
}
FAKE_EXPORT int hipThreadExchangeStreamCaptureMode(int32_t*) {
  BEGIN();
  return 0;
}
FAKE_EXPORT int hipPointerGetAttribute(void* value, int32_t, void* pointer) {
  BEGIN();
  const auto found = state().memory.find(pointer);
  if (found == state().memory.end()) return 1;
  return *static_cast<int*>(value) = found->second, 0;
}
FAKE_EXPORT int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, size_t) {
  BEGIN();
  return *blocks = 2, 0;
}
#if FAKE_ROCM >= 6
FAKE_EXPORT int hipModuleLaunchCooperativeKernel(void* function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx,
                                                 uint32_t by, uint32_t bz, uint32_t shared, void* stream,
                                                 void** parameters) {
  BEGIN();
  const uint32_t grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  return record(function, grid, block, shared, stream, parameters, 1);
}
FAKE_EXPORT int hipGetDevicePropertiesR0600(void* out, int ordinal) {
  BEGIN();
  return describe(out, ordinal, 296, 388, 616, 1160);
}
#else
FAKE_EXPORT int hipGetDeviceProperties(void* out, int ordinal) {
  BEGIN();
  return describe(out, ordinal, 264, 336, 340, 396);
}
#endif
