// The plugin's table, its owned buffers and its one exported symbol. No LLVM header here.
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "helpers.h"
#include "internal.h"

#ifndef TILERT_LLVM_BUILD_ID
#error "TILERT_LLVM_BUILD_ID comes from the build"
#endif

namespace tilert::llvm_plugin {
namespace {

void release_buffer(tilert_llvm_buffer* buffer) {
  if (buffer == nullptr) return;
  std::free(buffer->data);
  *buffer = {};
}

constexpr tilert_llvm_plugin kTable = {
    .size = sizeof(tilert_llvm_plugin),
    .abi = TILERT_LLVM_PLUGIN_ABI,
    .build_id = TILERT_LLVM_BUILD_ID,
    .host_target = host_target,
    .host_runs = host_runs,
    .compile = compile,
    .load = load,
    .entry = entry,
    .release_module = release_module,
    .release_buffer = release_buffer,
};

}  // namespace

tilert_llvm_buffer make_buffer(std::string_view text) {
  auto* data = static_cast<uint8_t*>(std::malloc(text.size() + 1));
  if (data == nullptr) return {};
  std::memcpy(data, text.data(), text.size());
  data[text.size()] = 0;
  return {data, text.size()};
}

int32_t fail(tilert_llvm_buffer* error, int32_t code, std::string_view text) {
  *error = make_buffer(text);
  return code;
}

bool is_helper(std::string_view name) {
  size_t count = 0;
  const tilert_llvm_helper* helpers = tilert_llvm_helpers(&count);
  for (size_t i = 0; i < count; ++i) {
    if (name == helpers[i].name) return true;
  }
  return false;
}

}  // namespace tilert::llvm_plugin

// The plugin is never unloaded, and threads may compile while the process ends: none of its globals, LLVM's included, are
// destroyed. Calls from inside the plugin find this function instead of the C library's.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }

extern "C" __attribute__((visibility("default"))) const tilert_llvm_plugin* tilert_plugin_query(uint32_t abi) {
  if (abi == TILERT_LLVM_PLUGIN_ABI) tilert::llvm_plugin::initialize_llvm();
  return &tilert::llvm_plugin::kTable;
}
