// Operand types of matrix units, from types.def.
#pragma once

#include <cstdint>

#include "emulator/cuda/numbers.h"

namespace tilert::emulator {

enum class Number : uint8_t {
#define EMULATOR_NUMBER(name, bits, decode) name,
#include "emulator/cuda/types.def"
};

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

}  // namespace tilert::emulator
