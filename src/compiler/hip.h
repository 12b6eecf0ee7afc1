// HIP C++ text to a code object, in process, by AMD's compilers found at run time and never linked: comgr, and hipRTC
// above it. No ROCm is needed at build time and no GPU at all. Generated text is compiled by comgr itself where its
// version is known (hip.def), which spares hipRTC's header; text of the user's by hipRTC, whose header it expects. Both
// abort the process on what they do not know, so comgr is asked about a target before either sees it, and the user's
// text may not declare LLVM intrinsics unless it is compiled in the helper (isolation.h).
// Not here: loading what comes out (src/runtime), the guard on the source (source_guard.h).
#pragma once

#include "compiler/compiler.h"

#include <memory>
#include <string>
#include <vector>

namespace tilert {

struct HipOptions {
  std::string library;          // this file alone, or this folder; empty: search
  bool contained = false;       // the process is the helper's, whose end does no harm
  bool through_hiprtc = false;  // generated text too: what a comgr of unknown version gets
};

// Where hipRTC is looked for, in order: options.library alone when given; else the environment's TILERT_HIPRTC_PATH (a
// file or a folder) alone when set; else the loader's own search for libhiprtc.so.7 down to libamdhip64.so.5, then
// /opt/rocm*/lib, newest first. Versions are those of the file names: hipRTC tells "9.0" whatever it is.
std::vector<std::string> hiprtc_candidates(const HipOptions& options);

// Opens hipRTC with the comgr that belongs to it, or comgr alone where there is no hipRTC. UNAVAILABLE names every path
// tried and what each lacks.
Result<std::shared_ptr<Compiler>> open_hip(const HipOptions& options = {});

}  // namespace tilert
