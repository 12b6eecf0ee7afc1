// NVRTC, found at run time and never linked: CUDA C++ text to a cubin (or PTX on request) in process, with no CUDA
// installation needed at build time and no GPU at all.
// Not here: loading what comes out (src/runtime), the guard on the source (source_guard.h).
#pragma once

#include "compiler/compiler.h"

#include <memory>
#include <string>
#include <vector>

namespace tilert {

struct NvrtcOptions {
  std::string library;                     // this file alone; empty: search
  std::vector<std::string> site_packages;  // folders that may hold PyPI's nvidia/cuda_nvrtc/lib or nvidia/cu13/lib
};

// Where NVRTC is looked for, in order: options.library alone when given; else the environment's TILERT_NVRTC_PATH (a
// file or a folder) alone when set; else the loader's own search for libnvrtc.so.13, .12 and libnvrtc.so, then
// /usr/local/cuda*/lib64 and targets/*/lib, newest first, then the site-packages.
std::vector<std::string> nvrtc_candidates(const NvrtcOptions& options);

// Opens NVRTC 12.0 or newer. UNAVAILABLE names every path tried, a library that is too old or lacks functions, and
// environment variables by which NVRTC itself would add options.
Result<std::shared_ptr<Compiler>> open_nvrtc(const NvrtcOptions& options = {});

}  // namespace tilert
