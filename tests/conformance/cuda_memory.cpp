// Device memory through the driver's own functions.
#include "conformance/cuda_memory.h"

#include <dlfcn.h>

#include <cstring>

namespace tilert::conformance {

std::string CudaMemory::open(const std::string& driver, int ordinal) {
  void* library = dlopen(driver.c_str(), RTLD_NOW);
  if (!library) return "no CUDA driver (" + driver + ")";
  int (*init)(unsigned) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*set_current)(void*) = nullptr;
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    void* found = dlsym(library, name);
    if (!found) missing += std::string(missing.empty() ? "" : ", ") + name;
    std::memcpy(&function, &found, sizeof found);
  };
  find(init, "cuInit");
  find(retain, "cuDevicePrimaryCtxRetain");
  find(set_current, "cuCtxSetCurrent");
  find(allocate_, "cuMemAlloc_v2");
  find(release_, "cuMemFree_v2");
  find(upload_, "cuMemcpyHtoD_v2");
  find(download_, "cuMemcpyDtoH_v2");
  find(synchronize_, "cuCtxSynchronize");
  if (!missing.empty()) return "the CUDA driver lacks " + missing;
  void* context = nullptr;
  if (const int code = init(0)) return "cuInit failed with " + std::to_string(code);
  if (const int code = retain(&context, ordinal)) return "no context on CUDA device " + std::to_string(ordinal) + ": " + std::to_string(code);
  if (const int code = set_current(context)) return "cuCtxSetCurrent failed with " + std::to_string(code);
  return {};
}

}  // namespace tilert::conformance
