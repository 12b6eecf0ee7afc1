// What the emulated driver leaves in the 128 bytes of a tensor map, and the shared-memory swizzles that copies and
// matrix descriptors share.
#pragma once

#include <cstdint>
#include <cstring>

namespace tilert::emulator {

struct TensorMap {
  static constexpr uint32_t kMagic = 0x70616d65;
  uint32_t magic;
  uint8_t type, rank, swizzle, fill;  // type: the driver's number; swizzle 0 to 3: none, 32, 64, 128 bytes; fill 1: NaN
  uint8_t element_bytes;
  uint8_t element_strides[5];
  uint16_t box[5];  // elements that are copied, element_strides apart
  uint32_t dims[5];
  uint64_t address;
  uint64_t strides[4];  // bytes, of dims 1 to rank - 1
};
static_assert(sizeof(TensorMap) <= 128);

// Bytes of one element of a driver's type number (CU_TENSOR_MAP_DATA_TYPE_*).
inline int tensor_element_bytes(int type) {
  static const uint8_t kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return type >= 0 && type < 13 ? kBytes[type] : 0;
}

// The 16-byte chunk of an address moves by an XOR with address bits above it.
inline uint32_t swizzled(uint32_t address, int swizzle) {
  switch (swizzle) {
    case 1: return address ^ (address >> 3 & 0x10);
    case 2: return address ^ (address >> 3 & 0x30);
    case 3: return address ^ (address >> 3 & 0x70);
    default: return address;
  }
}

}  // namespace tilert::emulator
