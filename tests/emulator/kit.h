// What tests of hand-written kernels share: compiling a text, launching with plain arguments, buffers between pages that
// must not be touched.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "emulator/core/faults.h"
#include "emulator/cuda/gpu.h"
#include "emulator/unit/unit.h"

namespace tilert::emulator {

// A tensor map as a kernel's argument.
struct alignas(64) MapBytes {
  uint8_t bytes[128] = {};
};

class Kit {
 public:
  // The text of one kernel, TL_KERNEL(...) first.
  explicit Kit(const std::string& text, UnitOptions options = {}) {
    races_ = options.races;
    std::string why;
    unit_ = Unit::compile({kernel_text(text)}, options, why);
    EXPECT_TRUE(unit_) << why;
  }

  struct Grid {
    uint32_t x = 1, y = 1, z = 1, cluster = 1;
    bool together = false, dependent = false;
  };

  template <class... A>
  Report run(Grid grid, uint32_t threads, uint32_t shared_bytes, const Schedule& schedule, const A&... arguments) {
    if (!unit_) return {Fault::unsupported, "", "does not compile", 0, 0, 0};
    const KernelText& text = unit_->text(0);
    const LoadedKernel kernel = unit_->kernel(0, text.entries.at(0));
    alignas(64) uint8_t bytes[4096] = {};
    size_t i = 0;
    (std::memcpy(bytes + kernel.offsets.at(i++), &arguments, sizeof arguments), ...);
    Launch launch;
    launch.kernel = text.entries[0];
    launch.entry = kernel.entry;
    launch.parameters = bytes;
    launch.grid[0] = grid.x, launch.grid[1] = grid.y, launch.grid[2] = grid.z;
    launch.cluster[0] = grid.cluster;
    launch.block[0] = threads;
    launch.shared_bytes = shared_bytes;
    launch.together = grid.together;
    launch.dependent = grid.dependent;
    launch.races = races_;
    launch.place = [&text](int line) { return place_in(text, line); };
    return gpu_.run(launch, schedule);
  }

  // Bytes that end where a page begins that must not be touched.
  class Guarded {
   public:
    Guarded(size_t bytes, const std::string& name) : bytes_(bytes), whole_((bytes + 4095) / 4096 * 4096 + 4096) {
      map_ = static_cast<uint8_t*>(mmap(nullptr, whole_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      mprotect(map_ + whole_ - 4096, 4096, PROT_NONE);
      note_buffer(data(), bytes, name);
    }
    ~Guarded() {
      forget_buffer(data());
      munmap(map_, whole_);
    }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;
    void* data() const { return map_ + whole_ - 4096 - bytes_; }

   private:
    size_t bytes_, whole_;
    uint8_t* map_;
  };

 private:
  std::shared_ptr<Unit> unit_;
  Gpu gpu_;
  bool races_ = false;
};

}  // namespace tilert::emulator
