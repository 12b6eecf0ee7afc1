// Kernels for the CPU that need no compiler: functions of the test program under the entry ABI, given to a device by a
// loader of its own.
#pragma once

#include <atomic>
#include <functional>
#include <map>

#include "runtime/loaded.h"
#include "runtime/test_artifacts.h"

namespace tilert::runtime::testing {

class HostObject final : public CpuObject {
 public:
  explicit HostObject(std::map<std::string, CpuEntry> entries) : entries_(std::move(entries)) { ++alive(); }
  ~HostObject() override { --alive(); }
  void* entry(const std::string& name) override {
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : reinterpret_cast<void*>(found->second);
  }
  static std::atomic<int>& alive() {
    static std::atomic<int> count{0};
    return count;
  }

 private:
  std::map<std::string, CpuEntry> entries_;
};

inline CpuLoader host_loader(std::map<std::string, CpuEntry> entries) {
  return [entries](const Artifact&) -> Result<std::unique_ptr<CpuObject>> {
    return std::unique_ptr<CpuObject>(std::make_unique<HostObject>(entries));
  };
}

// y[i] = a * x[i] + y[i], 256 elements a block.
inline void saxpy_blocks(const uint64_t* params, int64_t first, int64_t last, const int64_t*, void*) {
  const auto* x = reinterpret_cast<const float*>(params[0]);
  auto* y = reinterpret_cast<float*>(params[1]);
  const auto bits = static_cast<uint32_t>(params[2]);
  float a;
  std::memcpy(&a, &bits, sizeof a);
  const auto n = static_cast<int64_t>(params[3]);
  for (int64_t i = first * 256; i < std::min(last * 256, n); ++i) y[i] = a * x[i] + y[i];
}

inline Artifact cpu_saxpy() {
  Artifact artifact = saxpy();
  artifact.kind = CodeKind::cpu_object;
  artifact.target = "x86_64-unknown-linux-gnu:x86-64";
  return artifact;
}

}  // namespace tilert::runtime::testing
