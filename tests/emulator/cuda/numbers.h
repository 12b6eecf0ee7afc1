// Number formats of matrix units on the host: to float and back.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tilert::emulator {

inline float float_of_bits(uint32_t bits) {
  float out;
  std::memcpy(&out, &bits, 4);
  return out;
}
inline uint32_t bits_of_float(float x) {
  uint32_t out;
  std::memcpy(&out, &x, 4);
  return out;
}

// Small floats: sign, exponent bits E with the IEEE bias, mantissa bits M. Infinities only where `ieee`.
template <int E, int M, bool ieee>
inline float small_float(uint32_t bits) {
  constexpr int bias = (1 << (E - 1)) - 1;
  const uint32_t sign = bits >> (E + M) & 1, mantissa = bits & ((1u << M) - 1);
  const int exponent = static_cast<int>(bits >> M & ((1u << E) - 1));
  float magnitude;
  if (ieee && exponent == (1 << E) - 1) return float_of_bits(sign << 31 | 0x7f800000u | mantissa << (23 - M));
  if (!ieee && exponent == (1 << E) - 1 && mantissa == (1u << M) - 1) return float_of_bits(sign << 31 | 0x7fffffffu);
  if (exponent == 0) magnitude = std::ldexp(static_cast<float>(mantissa), 1 - bias - M);
  else magnitude = float_of_bits(static_cast<uint32_t>(exponent - bias + 127) << 23 | mantissa << (23 - M));
  return sign ? -magnitude : magnitude;
}

inline float f16_to_float(uint16_t bits) {
  const uint32_t exponent = bits >> 10 & 31;
  if (exponent != 0 && exponent != 31)
    return float_of_bits(static_cast<uint32_t>(bits & 0x8000) << 16 | ((bits & 0x7fffu) + (112u << 10)) << 13);
  return small_float<5, 10, true>(bits);
}
inline float bf16_to_float(uint16_t bits) { return float_of_bits(static_cast<uint32_t>(bits) << 16); }
inline float tf32_to_float(uint32_t bits) { return float_of_bits(bits & 0xffffe000u); }
inline float e4m3_to_float(uint8_t bits) { return small_float<4, 3, false>(bits); }
inline float e5m2_to_float(uint8_t bits) { return small_float<5, 2, true>(bits); }

// AMD's 8-bit floats of M mantissa bits: the bias is one more than IEEE's, and the code of -0 is the NaN.
template <int M>
inline float fnuz_to_float(uint8_t bits) {
  constexpr int E = 7 - M, bias = 1 << (E - 1);
  if (bits == 0x80) return float_of_bits(0x7fffffffu);
  const int exponent = bits >> M & ((1 << E) - 1), mantissa = bits & ((1 << M) - 1);
  const float magnitude = exponent ? std::ldexp(static_cast<float>(mantissa + (1 << M)), exponent - bias - M) : std::ldexp(static_cast<float>(mantissa), 1 - bias - M);
  return bits & 0x80 ? -magnitude : magnitude;
}

inline uint16_t float_to_bf16(float x) {
  const uint32_t bits = bits_of_float(x);
  if (x != x) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Half to even, subnormals kept.
inline uint16_t float_to_f16(float x) {
  const uint32_t bits = bits_of_float(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x7fff;
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // rounds to infinity
  if (magnitude >= 0x38800000) {
    const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return static_cast<uint16_t>(sign | ((rounded - (112u << 23)) >> 13));
  }
  // Below 2^-14: a multiple of 2^-24.
  const float scaled = float_of_bits(magnitude) * 16777216.0f;
  return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::nearbyint(scaled)));
}

}  // namespace tilert::emulator
