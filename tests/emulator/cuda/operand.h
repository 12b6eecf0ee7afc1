// Operand types of matrix units, from types.def.
#pragma once

#include <cstdint>

#include "emulator/cuda/numbers.h"

namespace tilert::emulator {

enum class Number : uint8_t {
#define EMULATOR_NUMBER(name, bits, decode) name,
#include "emulator/cuda/types.def"
};

// Accumulators of warpgroup products; f16 ones are two in a register.
enum class Sums : uint8_t { f32, s32, f16 };

constexpr int number_bits(Number type) {
  constexpr int kBits[] = {
#define EMULATOR_NUMBER(name, bits, decode) bits,
#include "emulator/cuda/types.def"
  };
  return kBits[static_cast<int>(type)];
}

inline float number_value(Number type, uint32_t raw) {
  switch (type) {
#define EMULATOR_NUMBER(name, bits, decode) \
  case Number::name: return decode;
#include "emulator/cuda/types.def"
  }
  return 0;
}

template <Number type>
float decode_number(uint32_t raw) {
#define EMULATOR_NUMBER(name, bits, decode) \
  if constexpr (type == Number::name) return decode;
#include "emulator/cuda/types.def"
}

// Elements that lie next to each other, to every `stride`-th place of `out`.
template <Number type, class T>
void decode_run(const uint8_t* from, int count, T* out, int stride) {
  constexpr int bytes = number_bits(type) / 8;
  for (int i = 0; i < count; ++i) {
    uint32_t raw = 0;
    __builtin_memcpy(&raw, from + i * bytes, bytes);
    out[i * stride] = static_cast<T>(decode_number<type>(raw));
  }
}
template <class T>
void decode_elements(Number type, const uint8_t* from, int count, T* out, int stride) {
  switch (type) {
#define EMULATOR_NUMBER(name, bits, decode) \
  case Number::name: return decode_run<Number::name>(from, count, out, stride);
#include "emulator/cuda/types.def"
  }
}

}  // namespace tilert::emulator
