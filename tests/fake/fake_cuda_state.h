// The state behind the fake driver. Internal to tests/fake.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fake/fake_cuda.h"

namespace fake {

struct Function {
  std::string name;
  std::vector<uint32_t> sizes, offsets;  // of parameters
  uint32_t parameter_bytes = 0;
  struct Module* module = nullptr;
  std::map<int, int> attributes;
};

struct Module {
  struct Context* context = nullptr;
  std::atomic<bool> loaded{true};
  std::vector<std::unique_ptr<Function>> functions;
};

struct Context {
  int ordinal = 0;
  int multiprocessors = 0;  // 0: the device's
  std::atomic<bool> alive{true};
};

struct Stream {
  Context* context = nullptr;
  std::atomic<int> capture{0};
};

struct Script {
  int code, skip, count;
};

struct Entry {
  std::atomic<int> calls{0};
  bool hidden = false;
};

struct Device {
  std::map<int, int> attributes;
  Context primary;
  int retains = 0;
};

// Objects live until the next reset, so that use after release is seen and not undefined.
struct State {
  std::recursive_mutex mutex;
  int driver_version = 12040;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Context>> contexts;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<Module>> modules;
  std::vector<FakeLaunch> launches;
  std::multimap<std::string, Script> scripts;
  std::map<const void*, int> memory;
  std::vector<std::string> violations;
  std::atomic<bool> recording{true}, scripted{false}, require_current{false}, global_capture{false}, broken{false};
};

State& state();
Entry& entry(const char* name);  // of the table of all entry points
bool is_entry(const char* name);
int scripted_code(const char* name);  // -1: none
void violate(const std::string& text);
std::vector<Context*>& context_stack();  // of this thread
Context* current();
int& capture_mode();  // of this thread

}  // namespace fake
