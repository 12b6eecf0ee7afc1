// The loaded NVRTC: which file, which version, which functions.
// Not here: compiling (nvrtc.cpp).
#pragma once

#include "compiler/nvrtc.h"
#include "support/dynamic_library.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tilert {

struct NvrtcFunctions {
#define TILERT_NVRTC_FUNCTION(name, required, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
#define TILERT_NVRTC_RESULT(...)
#define TILERT_NVRTC_OPTION(...)
#include "compiler/nvrtc.def"
};

struct NvrtcLibrary {
  DynamicLibrary library;
  NvrtcFunctions call;
  int major = 0;
  int minor = 0;
  std::vector<int> archs;  // 80 for sm_80
  std::string builtins;    // the builtins that were loaded from beside the library; empty: NVRTC looks for them itself
  std::string location() const { return library.path(); }
};

inline constexpr int kOldestNvrtcMajor = 12;

Result<NvrtcLibrary> load_nvrtc(const NvrtcOptions& options);

// The variable by which the environment would make NVRTC add options of its own, as "NAME=value"; empty when none is
// set.
std::string nvrtc_environment();

}  // namespace tilert
