// Device memory of the first CUDA device, through the driver found at run time: what a test needs to feed a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tilert::conformance {

class CudaMemory {
 public:
  // Makes the primary context of a device current. Empty, or why that cannot be.
  std::string open(const std::string& driver = "libcuda.so.1", int ordinal = 0);
  // Each answers the driver's code.
  int allocate(size_t bytes, uint64_t& address) const { return allocate_(&address, bytes); }
  int upload(uint64_t to, const void* from, size_t bytes) const { return upload_(to, from, bytes); }
  int download(void* to, uint64_t from, size_t bytes) const { return download_(to, from, bytes); }
  int synchronize() const { return synchronize_(); }
  void release(uint64_t address) const { release_(address); }

 private:
  int (*allocate_)(uint64_t*, size_t) = nullptr;
  int (*release_)(uint64_t) = nullptr;
  int (*upload_)(uint64_t, const void*, size_t) = nullptr;
  int (*download_)(void*, uint64_t, size_t) = nullptr;
  int (*synchronize_)() = nullptr;
};

}  // namespace tilert::conformance
