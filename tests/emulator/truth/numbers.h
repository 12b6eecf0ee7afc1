// Bits of numbers of matrix units' operand types, for inputs of products. Not here: arithmetic; the sides do that.
#pragma once

#include <string_view>

#include "emulator/cuda/operand.h"
#include "emulator/truth/case.h"

namespace tilert::truth {

using emulator::Number;
using emulator::number_bits;
using emulator::number_value;

inline Number number_of(std::string_view name) {
#define EMULATOR_NUMBER(type, bits, decode) \
  if (name == #type) return Number::type;
#include "emulator/cuda/types.def"
  return Number::f16;
}

inline bool is_integer(Number type) { return type == Number::s8 || type == Number::u8; }

// Bits of a small whole number.
inline uint32_t encode(Number type, int value) {
  switch (type) {
    case Number::s8:
    case Number::u8: return static_cast<uint8_t>(value);
    case Number::f16: return emulator::float_to_f16(static_cast<float>(value));
    case Number::bf16: return emulator::float_to_bf16(static_cast<float>(value));
    case Number::tf32: return emulator::bits_of_float(static_cast<float>(value));
    case Number::e4m3:
    case Number::e5m2: break;
  }
  uint32_t raw = 0;
  while (number_value(type, raw) != static_cast<float>(value)) ++raw;
  return raw;
}

// Fills with whole numbers so small that every sum of products is exact in any order.
inline void fill_small(Number type, Random& random, uint8_t* to, size_t bytes) {
  const size_t size = static_cast<size_t>(number_bits(type)) / 8;
  for (size_t at = 0; at < bytes; at += size) {
    const uint32_t raw = encode(type, type == Number::u8 ? random.within(0, 8) : random.within(-4, 4));
    std::memcpy(to + at, &raw, size);
  }
}

}  // namespace tilert::truth
