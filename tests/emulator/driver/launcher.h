// One launch of the emulated driver under every schedule asked for.
#pragma once

#include <cstdint>
#include <string>

namespace tilert::emulator {

struct DriverLaunch {
  size_t text = 0;  // registered
  std::string name;
  uint32_t grid[3], block[3], cluster[3], shared_bytes;
  uint32_t lanes = 32;     // of a warp
  bool together = false;  // a cooperative launch
  bool dependent = false;  // programmatic stream serialization
  void** parameters;
};

// Empty, or what went wrong, in words.
std::string run_everywhere(const DriverLaunch& launch);

}  // namespace tilert::emulator
