// Device memory of the emulated driver: each allocation ends where a page begins that must not be touched, with a canary
// in what is left before and behind. Snapshots let one launch run several times from the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tilert::emulator {

void* allocate_device(size_t bytes);  // aligned to 16; null: no memory
bool release_device(void* address);
bool is_device(const void* address);
// Empty, or which allocation was written beside.
std::string fallen_canary();

using Snapshot = std::vector<std::vector<uint8_t>>;
Snapshot take_snapshot();
void restore(const Snapshot& snapshot);
// Empty, or the first byte that differs from what memory holds now. Lists (core/faults.h) are compared sorted.
std::string difference(const Snapshot& snapshot);

}  // namespace tilert::emulator
