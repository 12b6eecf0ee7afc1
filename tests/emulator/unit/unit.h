// Unit: kernels' texts compiled by the host's compiler in a child process, and loaded.
//   std::string why;
//   auto unit = Unit::compile({kernel_text(source)}, {}, why);
//   Launch launch{"k", unit->kernel(0, "k").entry, parameter_bytes, ...};
//   Report report = Gpu().run(launch, schedule);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emulator/core/machine.h"
#include "emulator/unit/text.h"

namespace tilert::emulator {

struct UnitOptions {
  bool races = false;  // compiles accesses with hooks, for race reports
};

struct LoadedKernel {
  void (*entry)(const uint8_t*) = nullptr;
  std::vector<uint32_t> sizes;    // of its parameters
  std::vector<uint32_t> offsets;  // in the parameter bytes
  uint32_t bytes = 0;
};

class Unit {
 public:
  ~Unit();
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  // Null, and the compiler's messages. Loaded code stays until the process ends.
  static std::shared_ptr<Unit> compile(std::vector<KernelText> texts, const UnitOptions& options, std::string& why);
  // Texts in units of at most `per_unit`, several compilers at a time. Result i holds text i as text number index[i].
  struct Placed {
    std::shared_ptr<Unit> unit;
    size_t index = 0;
    std::string why;  // where there is no unit
  };
  static std::vector<Placed> compile_many(const std::vector<KernelText>& texts, size_t per_unit, const UnitOptions& options);

  // Entry null where there is no such kernel.
  LoadedKernel kernel(size_t text, const std::string& name) const;
  const KernelText& text(size_t index) const { return texts_[index]; }

 private:
  Unit() = default;
  void* library_ = nullptr;
  std::vector<KernelText> texts_;
};

}  // namespace tilert::emulator
