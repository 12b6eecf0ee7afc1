// dlopen, with every path that was tried in the error.
#include "support/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <utility>

namespace tilert {
namespace {

const char* loader_error() {
  const char* text = dlerror();
  return text ? text : "no reason given";
}

std::string mapped_path(void* handle, const std::string& asked) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name) return map->l_name;
  return asked;
}

bool depends_on_working_directory(const std::string& path) {
  return path.find('/') != std::string::npos && path.front() != '/';
}

}  // namespace

Result<DynamicLibrary> DynamicLibrary::open(std::string_view what, const std::vector<std::string>& candidates,
                                            Unload unload) {
  const int flags = RTLD_NOW | RTLD_LOCAL | (unload == Unload::never ? RTLD_NODELETE : 0);
  std::string tried;
  for (const std::string& path : candidates) {
    if (path.empty()) continue;
    if (depends_on_working_directory(path)) {
      tried += fmt::format("\n  {}: refused, a path must be absolute or a bare file name", path);
      continue;
    }
    if (void* handle = dlopen(path.c_str(), flags)) {
      DynamicLibrary library;
      library.handle_ = handle;
      library.path_ = mapped_path(handle, path);
      return library;
    }
    tried += fmt::format("\n  {}: {}", path, loader_error());
  }
  if (tried.empty()) tried = "\n  (no path to try)";
  return make_error(Code::kUnavailable, "{} could not be loaded; tried:{}", what, tried);
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(path_, other.path_);
  return *this;
}

// For a library opened with Unload::never this only drops a count: RTLD_NODELETE keeps the code mapped.
DynamicLibrary::~DynamicLibrary() {
  if (handle_) dlclose(handle_);
}

void* DynamicLibrary::find(const char* symbol) const { return handle_ ? dlsym(handle_, symbol) : nullptr; }

Result<void*> DynamicLibrary::require(const char* symbol) const {
  if (!handle_) return make_error(Code::kInternal, "the function {} was asked of a library that is not open", symbol);
  if (void* address = find(symbol)) return address;
  return make_error(Code::kUnavailable, "{} has no function {}: it is older than what this needs", path_, symbol);
}

std::string tried_path(const std::string& path, const Error& error) {
  const size_t at = error.message.rfind(path + ": ");
  return fmt::format("\n  {}: {}", path, at == std::string::npos ? error.message : error.message.substr(at + path.size() + 2));
}

Result<std::string> own_directory() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_directory), &info) == 0 || !info.dli_fname)
    return make_error(Code::kUnavailable, "the loader does not tell where this library lies");
  char* resolved = realpath(info.dli_fname, nullptr);
  if (!resolved) return make_error(Code::kUnavailable, "the path of this library, {}, does not resolve", info.dli_fname);
  std::string path = resolved;
  std::free(resolved);
  return path.substr(0, path.rfind('/'));
}

}  // namespace tilert
