// The HIP runtime, found with dlopen: its table of entry points, scopes that leave the thread as they found it, what a
// device is, and the translation of its codes into errors. Not here: which calls make up loading or launching.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/dynamic_library.h"
#include "support/result.h"

namespace tilert::runtime {

using HipResult = int32_t;
inline constexpr HipResult kHipSuccess = 0;
inline constexpr HipResult kHipOutOfMemory = 2;
inline constexpr HipResult kHipNotFound = 500;

// What a device says of itself, read from a struct whose layout is the runtime's version's.
struct HipProperties {
  std::string name;
  std::string arch;  // "gfx90a:sramecc+:xnack-"
  int32_t multiprocessors = 0, l2_bytes = 0;
  uint64_t shared_bytes = 0;
};

struct HipDriver {
#define TILERT_HIP_ENTRY(name, need, parameters) HipResult(*name) parameters = nullptr;
#include "runtime/hip_driver.def"
#undef TILERT_HIP_ENTRY
  const char* (*hipGetErrorName)(HipResult code) = nullptr;
  const char* (*hipGetErrorString)(HipResult code) = nullptr;

  DynamicLibrary library;
  int version = 0;  // as the runtime says it

  std::string describe(HipResult code) const;
  // DRIVER, or OUT_OF_MEMORY for that code. `what` completes "the HIP runtime failed to ...".
  Error error(HipResult code, std::string_view what) const;
  Status check(HipResult code, std::string_view what) const;
  Result<HipProperties> properties(int ordinal) const;
};

// The initialized runtime at `path` (empty: libamdhip64.so.7, .6, .5, then /opt/rocm/lib), opened once per process and
// path and never closed. UNAVAILABLE names the paths tried, a missing entry point, or why hipInit failed.
Result<const HipDriver*> hip_driver(const std::string& path);

// Makes a device current for a scope. Where it is current already, nothing is called at the end.
class CurrentDevice {
 public:
  CurrentDevice(const HipDriver& driver, int ordinal);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  HipResult result() const { return result_; }

 private:
  const HipDriver& driver_;
  HipResult result_ = kHipSuccess;
  int before_ = -1;  // to be made current again; -1: nothing
};

// Lets this thread load and unload while some other thread captures in global mode, without ending that capture.
class RelaxedHipCapture {
 public:
  explicit RelaxedHipCapture(const HipDriver& driver);
  ~RelaxedHipCapture();
  RelaxedHipCapture(const RelaxedHipCapture&) = delete;
  RelaxedHipCapture& operator=(const RelaxedHipCapture&) = delete;

 private:
  const HipDriver& driver_;
  int32_t mode_ = 2;  // relaxed
  bool exchanged_ = false;
};

}  // namespace tilert::runtime
