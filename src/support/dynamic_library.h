// Libraries found at run time: the CUDA driver, NVRTC, HIP, our own plugin. Nothing of the kind is ever linked.
// Not here: which paths to try and which functions to look up; each back end has its own list.
#pragma once

#include "support/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilert {

// What happens to the code when the last owner goes. Vendors' libraries start threads and register exit handlers, so
// they stay mapped; only libraries made for a test are unloaded.
enum class Unload { never, on_destruction };

class DynamicLibrary {
 public:
  // Opens the first of `candidates` that loads: absolute paths, or bare names for the loader's own search. `what` names
  // the library for a person ("the CUDA driver"). UNAVAILABLE lists every candidate with the loader's reason.
  // A relative path with a slash is refused: what it names would depend on the working directory.
  static Result<DynamicLibrary> open(std::string_view what, const std::vector<std::string>& candidates,
                                     Unload unload = Unload::never);

  DynamicLibrary() = default;
  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
  ~DynamicLibrary();

  bool is_open() const { return handle_ != nullptr; }
  const std::string& path() const { return path_; }  // the file that the loader mapped, where it tells

  void* find(const char* symbol) const;  // null when the library has no such symbol
  // The function `symbol` as F (a function type), or UNAVAILABLE naming symbol and file.
  template <class F>
  Result<F*> function(const char* symbol) const {
    TILERT_ASSIGN(void* address, require(symbol));
    return reinterpret_cast<F*>(address);
  }

 private:
  Result<void*> require(const char* symbol) const;

  void* handle_ = nullptr;
  std::string path_;
};

// A line of a list of paths that were tried: the loader's reason alone where `error` is of DynamicLibrary::open for this one path,
// else what was wrong with the library that loaded.
std::string tried_path(const std::string& path, const Error& error);

// The absolute directory of the shared object that holds this code; the plugin and the helper lie beside it, or below.
Result<std::string> own_directory();

}  // namespace tilert
