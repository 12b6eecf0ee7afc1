// Elements in memory: each in bytes of its own, or packed.
#include <cstring>

#include "ir/evaluate.h"

namespace tilert::ir {

uint64_t load_element(DType dtype, const void* address) {
  uint64_t bits = 0;
  const int bytes = dtype_bytes(dtype);
  std::memcpy(&bits, address, static_cast<size_t>(bytes));
  if (dtype == DType::boolean) return bits != 0;
  if (!dtype_is_signed(dtype) || bytes == 8) return bits;
  const int unused = 64 - 8 * bytes;
  return static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused);
}

void store_element(DType dtype, void* address, uint64_t bits) {
  std::memcpy(address, &bits, static_cast<size_t>(dtype_bytes(dtype)));
}

uint64_t load_packed(DType dtype, const void* base, int64_t index) {
  const int width = dtype_bits(dtype), first = static_cast<int>(index * width % 8);
  const auto* at = static_cast<const uint8_t*>(base) + index * width / 8;
  uint64_t bits = at[0];
  if (first + width > 8) bits |= static_cast<uint64_t>(at[1]) << 8;
  return canonical_bits(dtype, bits >> first);
}

void store_packed(DType dtype, void* base, int64_t index, uint64_t bits) {
  const int width = dtype_bits(dtype), first = static_cast<int>(index * width % 8);
  auto* at = static_cast<uint8_t*>(base) + index * width / 8;
  const auto mask = ((uint32_t{1} << width) - 1) << first, placed = static_cast<uint32_t>(bits) << first & mask;
  at[0] = static_cast<uint8_t>((at[0] & ~mask) | placed);
  if (first + width > 8) at[1] = static_cast<uint8_t>((at[1] & ~(mask >> 8)) | placed >> 8);
}

}  // namespace tilert::ir
