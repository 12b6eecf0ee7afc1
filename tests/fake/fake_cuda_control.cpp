// Steering and questioning the fake driver.
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "fake/fake_cuda_state.h"
#include "runtime/cuda_types.h"

using namespace tilert::runtime;

namespace fake {
namespace {

constexpr const char* kEntries[] = {
#define TILERT_CUDA_ENTRY(name, symbol, version, need, parameters) #name,
#include "runtime/cuda_driver.def"
#undef TILERT_CUDA_ENTRY
};
Entry entries[std::size(kEntries)];

size_t entry_index(const char* name) {
  const auto found =
      std::find_if(std::begin(kEntries), std::end(kEntries), [&](const char* n) { return !std::strcmp(n, name); });
  return static_cast<size_t>(found - std::begin(kEntries));
}

std::unique_ptr<Device> make_device(int ordinal) {
  auto device = std::make_unique<Device>();
  device->primary.ordinal = ordinal;
  device->attributes = {{kCuDeviceMajor, 9},
                        {kCuDeviceMinor, 0},
                        {kCuDeviceMultiprocessors, 132},
                        {kCuDeviceSharedPerBlockOptin, 232448},
                        {kCuDeviceL2Bytes, 50 << 20}};
  return device;
}

}  // namespace

State& state() {
  static State& instance = *new State;
  return instance;
}

bool is_entry(const char* name) { return entry_index(name) < std::size(kEntries); }

Entry& entry(const char* name) {
  const size_t index = entry_index(name);
  if (index >= std::size(kEntries)) {
    std::fprintf(stderr, "the fake driver has no entry %s\n", name);
    std::abort();
  }
  return entries[index];
}

int scripted_code(const char* name) {
  const std::lock_guard lock(state().mutex);
  const auto [begin, end] = state().scripts.equal_range(name);
  for (auto it = begin; it != end; ++it) {
    Script& script = it->second;
    if (script.skip > 0) {
      --script.skip;
    } else if (script.count > 0) {
      --script.count;
      return script.code;
    }
  }
  return -1;
}

void violate(const std::string& text) {
  const std::lock_guard lock(state().mutex);
  state().violations.push_back(text);
}

namespace {
// Of one thread. Behind a key instead of thread_local: the leak checker of GCC 12 may fall over the thread-local storage of
// a library that was opened by path.
struct ThreadState {
  std::vector<Context*> stack;
  int capture_mode = 0;
};

ThreadState& of_this_thread() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, [](void* state) { delete static_cast<ThreadState*>(state); });
    return made;
  }();
  void* state = pthread_getspecific(key);
  if (state == nullptr) pthread_setspecific(key, state = new ThreadState);
  return *static_cast<ThreadState*>(state);
}
}  // namespace

std::vector<Context*>& context_stack() { return of_this_thread().stack; }

Context* current() { return context_stack().empty() ? nullptr : context_stack().back(); }

int& capture_mode() { return of_this_thread().capture_mode; }

}  // namespace fake

#define CONTROL extern "C" __attribute__((visibility("default")))
using Lock = std::lock_guard<std::recursive_mutex>;

CONTROL void fake_reset(void) {
  fake::State& state = fake::state();
  const Lock lock(state.mutex);
  state.driver_version = 12040;
  state.devices.clear();
  fake_set_device_count(2);
  state.contexts.clear();
  state.streams.clear();
  state.modules.clear();
  state.launches.clear();
  state.scripts.clear();
  state.memory.clear();
  state.violations.clear();
  state.recording = true;
  for (std::atomic<bool>* flag : {&state.scripted, &state.require_current, &state.global_capture, &state.broken})
    *flag = false;
  for (fake::Entry& entry : fake::entries) {
    entry.calls = 0;
    entry.hidden = false;
  }
  fake::context_stack().clear();
  fake::capture_mode() = 0;
}
CONTROL void fake_set_driver_version(int version) { fake::state().driver_version = version; }
CONTROL void fake_set_device_count(int count) {
  const Lock lock(fake::state().mutex);
  auto& devices = fake::state().devices;
  devices.clear();
  for (int ordinal = 0; ordinal < count; ++ordinal) devices.push_back(fake::make_device(ordinal));
}
CONTROL void fake_set_device_attribute(int ordinal, int attribute, int value) {
  const Lock lock(fake::state().mutex);
  fake::state().devices[static_cast<size_t>(ordinal)]->attributes[attribute] = value;
}
CONTROL void fake_set_context_multiprocessors(void* context, int count) {
  static_cast<fake::Context*>(context)->multiprocessors = count;
}
CONTROL void fake_hide(const char* entry) { fake::entry(entry).hidden = true; }
CONTROL void fake_script(const char* entry, int code, int skip, int count) {
  const Lock lock(fake::state().mutex);
  fake::entry(entry);
  fake::state().scripts.emplace(entry, fake::Script{code, skip, count});
  fake::state().scripted = true;
}
CONTROL int fake_calls(const char* entry) {
  if (entry != nullptr) return fake::entry(entry).calls.load();
  int all = 0;
  for (const fake::Entry& each : fake::entries) all += each.calls.load();
  return all;
}
CONTROL void fake_forget_calls(void) {
  const Lock lock(fake::state().mutex);
  for (fake::Entry& entry : fake::entries) entry.calls = 0;
  fake::state().launches.clear();
}
CONTROL void fake_record(int on) { fake::state().recording = on != 0; }
CONTROL int fake_launch_count(void) {
  const Lock lock(fake::state().mutex);
  return static_cast<int>(fake::state().launches.size());
}
CONTROL int fake_launch(int index, FakeLaunch* out) {
  const Lock lock(fake::state().mutex);
  const auto& launches = fake::state().launches;
  if (index < 0 || index >= static_cast<int>(launches.size())) return 0;
  *out = launches[static_cast<size_t>(index)];
  return 1;
}
CONTROL void* fake_make_context(int ordinal) {
  const Lock lock(fake::state().mutex);
  auto& contexts = fake::state().contexts;
  contexts.push_back(std::make_unique<fake::Context>());
  contexts.back()->ordinal = ordinal;
  return contexts.back().get();
}
CONTROL void fake_destroy_context(void* context) { static_cast<fake::Context*>(context)->alive = false; }
CONTROL void* fake_make_stream(void* context) {
  const Lock lock(fake::state().mutex);
  auto& streams = fake::state().streams;
  streams.push_back(std::make_unique<fake::Stream>());
  streams.back()->context = static_cast<fake::Context*>(context);
  return streams.back().get();
}
CONTROL void fake_set_current(void* context) {
  fake::context_stack().clear();
  if (context != nullptr) fake::context_stack().push_back(static_cast<fake::Context*>(context));
}
CONTROL void* fake_current(void) { return fake::current(); }
CONTROL int fake_context_depth(void) { return static_cast<int>(fake::context_stack().size()); }
CONTROL void fake_set_capture(void* stream, int status) { static_cast<fake::Stream*>(stream)->capture = status; }
CONTROL void fake_set_global_capture(int on) { fake::state().global_capture = on != 0; }
CONTROL int fake_capture_broken(void) { return fake::state().broken ? 1 : 0; }
CONTROL void fake_require_current(int on) { fake::state().require_current = on != 0; }
CONTROL void fake_set_memory(const void* pointer, int ordinal) {
  const Lock lock(fake::state().mutex);
  fake::state().memory[pointer] = ordinal;
}
CONTROL int fake_loaded_modules(void) {
  const Lock lock(fake::state().mutex);
  const auto& modules = fake::state().modules;
  return static_cast<int>(
      std::count_if(modules.begin(), modules.end(), [](const auto& m) { return m->loaded.load(); }));
}
CONTROL int fake_primary_retains(int ordinal) {
  const Lock lock(fake::state().mutex);
  return fake::state().devices[static_cast<size_t>(ordinal)]->retains;
}
CONTROL int fake_violations(char* text, size_t size) {
  const Lock lock(fake::state().mutex);
  std::string all;
  for (const std::string& violation : fake::state().violations) all += violation + "\n";
  if (size != 0) std::snprintf(text, size, "%s", all.c_str());
  return static_cast<int>(fake::state().violations.size());
}
CONTROL int fake_function_attribute(const char* kernel, int attribute) {
  const Lock lock(fake::state().mutex);
  for (const auto& module : fake::state().modules) {
    for (const auto& function : module->functions) {
      if (function->name != kernel) continue;
      const auto found = function->attributes.find(attribute);
      return found == function->attributes.end() ? -1 : found->second;
    }
  }
  return -1;
}
