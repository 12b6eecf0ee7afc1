// Element types: one table (dtype.def) gives number, width, class and spelling.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilert {

enum class DType : uint8_t {
  none = 0,
#define TILERT_DTYPE(name, number, bits, kind, text) name = number,
#include "support/dtype.def"
#undef TILERT_DTYPE
};

enum class DTypeClass : uint8_t { boolean, signed_integer, unsigned_integer, floating, index };

int dtype_bits(DType type);                // 0 for none
DTypeClass dtype_class(DType type);
std::string_view dtype_text(DType type);   // the .tir spelling
std::optional<DType> dtype_from_text(std::string_view text);
bool dtype_is_known(DType type);           // a row of the table
bool dtype_is_float(DType type);
bool dtype_is_integer(DType type);         // signed, unsigned or index; not bool
bool dtype_is_signed(DType type);          // signed or index
// Bytes of one element where each has bytes of its own: everywhere but where elements of less than a byte are packed.
inline int dtype_bytes(DType type) { return (dtype_bits(type) + 7) / 8; }
// How many elements side by side fill whole bytes, low bits first: 2 of 4 bits, 4 of 6 bits, else 1. Tensors of types of less
// than a byte are packed so, each row starting on a byte; some shared tiles too (ir::is_packed); all other storage gives each
// element a byte.
int dtype_group(DType type);
inline bool dtype_is_packed(DType type) { return dtype_group(type) > 1; }
// The least multiple of the group that is not below `elements`.
inline int64_t dtype_round_up(DType type, int64_t elements) {
  const int group = dtype_group(type);
  return (elements + group - 1) / group * group;
}
// Whether values of the type are computed with; others (fp8 and smaller floats, 4-bit integers) are stored and converted.
bool dtype_computes(DType type);

// Conversions between bit patterns and values, round half to even on the way in.
uint16_t f32_to_bf16(float value);
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
float f16_to_f32(uint16_t bits);
uint16_t f64_to_bf16(double value);  // one rounding
uint16_t f64_to_f16(double value);

}  // namespace tilert
