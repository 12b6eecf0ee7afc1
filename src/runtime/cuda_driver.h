// The CUDA driver, found with dlopen: its table of entry points, scopes that leave the thread as they found it, and the
// translation of its codes into errors. Not here: which calls make up loading or launching.
#pragma once

#include <string>

#include "runtime/cuda_types.h"
#include "support/dynamic_library.h"
#include "support/result.h"

namespace tilert::runtime {

inline constexpr int kOldestDriver = 12000;  // CUDA 12.0, driver 525

struct CudaDriver {
#define TILERT_CUDA_ENTRY(name, symbol, version, need, parameters) CuResult(*name) parameters = nullptr;
#include "runtime/cuda_driver.def"
#undef TILERT_CUDA_ENTRY

  DynamicLibrary library;
  int version = 0;  // 12040 is CUDA 12.4

  // "CUDA_ERROR_INVALID_IMAGE (200): device kernel image is invalid"
  std::string describe(CuResult code) const;
  // DRIVER, or OUT_OF_MEMORY for that code. `what` completes "the CUDA driver failed to ...".
  Error error(CuResult code, std::string_view what) const;
  Status check(CuResult code, std::string_view what) const;
};

// The initialized driver at `path` (empty: libcuda.so.1), opened once per process and path and never closed.
// UNAVAILABLE names the paths tried, a missing entry point, a driver that is too old, or why cuInit failed.
Result<const CudaDriver*> cuda_driver(const std::string& path);

// Makes a context current for a scope. Where it is current already, nothing is called at the end.
class CurrentContext {
 public:
  CurrentContext(const CudaDriver& driver, CuContext context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  CuResult result() const { return result_; }

 private:
  const CudaDriver& driver_;
  CuResult result_ = kCuSuccess;
  bool pushed_ = false;
};

// Lets this thread load and unload while some other thread captures in global mode, without ending that capture.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const CudaDriver& driver);
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const CudaDriver& driver_;
  int32_t mode_ = kCuCaptureModeRelaxed;
  bool exchanged_ = false;
};

}  // namespace tilert::runtime
