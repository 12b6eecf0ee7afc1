// Machine: what a target's chips move and multiply (machines.def), and the model's constants (calibration.def,
// capabilities.def). How much there is of a chip is DeviceClass's; what it can do is Target's.
#pragma once

#include <string_view>

#include "support/dtype.h"
#include "target/target.h"

namespace tilert::tune {

struct Machine {
  std::string_view target;
  double clock_mhz, memory_gbs, l2_gbs;
  double mma16, mma8, mma_tf32, mma64, fma32;  // multiply-adds of a multiprocessor in a clock
  double warp_percent;

  double clocks(double nanoseconds) const { return nanoseconds * clock_mhz / 1000; }
  double nanoseconds(double clocks) const { return clocks * 1000 / clock_mhz; }
  // Of products whose operands are of this type; without matrix instructions where the machine has none.
  double rate(DType operand, bool tf32) const;
};

// Null for CPUs.
const Machine* machine_of(const Target& target);

namespace calibration {
#define TILERT_CALIBRATION(name, value) inline constexpr double name = value;
#include "tune/calibration.def"
}  // namespace calibration

namespace capability {
#define TILERT_CAPABILITY(name, on) inline constexpr bool name = on;
#include "tune/capabilities.def"
}  // namespace capability

}  // namespace tilert::tune
