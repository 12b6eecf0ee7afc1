// Numbers of a conformance case: rounding, bytes, generators.
#include "conformance/numbers.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace tilert::conformance {
namespace {

struct Format {
  int exponent_bits, mantissa_bits;
};

Format format_of(tl::DType dtype) {
  if (dtype == tl::f16) return {5, 10};
  if (dtype == tl::bf16) return {8, 7};
  if (dtype == tl::f32) return {8, 23};
  return {11, 52};
}

int bias_of(const Format& f) { return (1 << (f.exponent_bits - 1)) - 1; }

uint64_t next(uint64_t& state) {  // splitmix64
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t encode_float(const Format& f, Real value) {
  const int bias = bias_of(f), top = (1 << f.exponent_bits) - 1;
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (f.exponent_bits + f.mantissa_bits) : 0;
  const uint64_t infinity = static_cast<uint64_t>(top) << f.mantissa_bits;
  if (std::isnan(value)) return infinity | (uint64_t{1} << (f.mantissa_bits - 1));
  const Real size = std::fabs(value);
  if (std::isinf(size)) return sign | infinity;
  if (size == 0) return sign;
  int exponent = std::max(std::ilogb(size), 1 - bias);
  const Real scaled = std::nearbyint(std::ldexp(size, f.mantissa_bits - exponent));  // half to even by default
  uint64_t mantissa = static_cast<uint64_t>(scaled);
  const uint64_t hidden = uint64_t{1} << f.mantissa_bits;
  if (mantissa < hidden) return sign | mantissa;  // subnormal
  if (mantissa == hidden << 1) mantissa >>= 1, ++exponent;
  if (exponent + bias >= top) return sign | infinity;
  return sign | (static_cast<uint64_t>(exponent + bias) << f.mantissa_bits) | (mantissa - hidden);
}

Real decode_float(const Format& f, uint64_t bits) {
  const uint64_t mantissa = bits & ((uint64_t{1} << f.mantissa_bits) - 1);
  const int top = (1 << f.exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> f.mantissa_bits) & top;
  const Real sign = (bits >> (f.exponent_bits + f.mantissa_bits)) & 1 ? -1 : 1;
  if (exponent == top)
    return mantissa ? std::numeric_limits<Real>::quiet_NaN() : sign * std::numeric_limits<Real>::infinity();
  const Real hidden = exponent == 0 ? 0 : std::ldexp(Real{1}, f.mantissa_bits);
  return sign * std::ldexp(hidden + static_cast<Real>(mantissa), std::max(exponent, 1) - bias_of(f) - f.mantissa_bits);
}

int64_t to_int64(Real value) {  // modulo 2^64
  const Real whole = std::floor(value / 18446744073709551616.0L);
  return static_cast<int64_t>(static_cast<uint64_t>(value - whole * 18446744073709551616.0L));
}

}  // namespace

size_t bytes_of(tl::DType dtype) { return tilert_dtype_bits(static_cast<tilert_dtype>(dtype)) / 8; }
bool is_float(tl::DType dtype) { return dtype == tl::f16 || dtype == tl::bf16 || dtype == tl::f32; }
const char* name_of(tl::DType dtype) { return tilert_dtype_name(static_cast<tilert_dtype>(dtype)); }
Real epsilon(tl::DType dtype) { return is_float(dtype) ? std::ldexp(Real{1}, -format_of(dtype).mantissa_bits) : 0; }

Real ulp(tl::DType dtype, Real at) {
  const Format f = format_of(dtype);
  const int low = 1 - bias_of(f);
  const int exponent = at == 0 || !std::isfinite(at) ? low : std::max(std::ilogb(std::fabs(at)), low);
  return std::ldexp(Real{1}, exponent - f.mantissa_bits);
}

uint64_t encode(tl::DType dtype, Real value) {
  if (dtype == tl::boolean) return value != 0;
  if (is_float(dtype)) return encode_float(format_of(dtype), value);
  const size_t bits = 8 * bytes_of(dtype);
  const uint64_t wide = static_cast<uint64_t>(to_int64(value));
  return bits == 64 ? wide : wide & ((uint64_t{1} << bits) - 1);
}

Real decode(tl::DType dtype, uint64_t bits) {
  if (dtype == tl::boolean) return static_cast<Real>(bits);
  if (is_float(dtype)) return decode_float(format_of(dtype), bits);
  const int shift = 64 - 8 * static_cast<int>(bytes_of(dtype));
  return static_cast<Real>(static_cast<int64_t>(bits << shift) >> shift);
}

Real rounded(tl::DType dtype, Real value) { return decode(dtype, encode(dtype, value)); }

void put(Bytes& to, size_t index, tl::DType dtype, Real value) {
  const uint64_t bits = encode(dtype, value);
  std::memcpy(&to[index * bytes_of(dtype)], &bits, bytes_of(dtype));
}

uint64_t bits_at(const Bytes& from, size_t index, tl::DType dtype) {
  uint64_t bits = 0;
  std::memcpy(&bits, &from[index * bytes_of(dtype)], bytes_of(dtype));
  return bits;
}

Real saturated(tl::DType dtype, Real value) {
  if (std::isnan(value)) return 0;
  const Real half = std::ldexp(Real{1}, 8 * static_cast<int>(bytes_of(dtype)) - 1);
  return std::trunc(std::fmin(std::fmax(value, -half), half - 1));
}

Real wrapped(tl::DType dtype, Real value) { return decode(dtype, encode(dtype, value)); }

Reals uniform(tl::DType dtype, size_t count, uint64_t seed) {
  uint64_t state = seed * 1000003 + 17;
  Reals out(count);
  for (Real& x : out)
    x = rounded(dtype, static_cast<Real>(static_cast<int64_t>(next(state)) >> 11) / 4503599627370496.0L);
  return out;
}

Reals whole(size_t count, int64_t low, int64_t high, uint64_t seed) {
  uint64_t state = seed * 7919 + 5;
  Reals out(count);
  for (Real& x : out) x = static_cast<Real>(low + static_cast<int64_t>((next(state) >> 11) % static_cast<uint64_t>(high - low + 1)));
  return out;
}

Reals counting(size_t count, int64_t first) {
  Reals out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<Real>(first + static_cast<int64_t>(i));
  return out;
}

Reals pattern(tl::DType dtype, size_t count, uint64_t seed) {
  Reals out(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t at = i + static_cast<size_t>(seed) * 13;
    out[i] = dtype == tl::boolean ? (at % 3 == 0) : static_cast<Real>(at % 101) - 50;
  }
  return out;
}

}  // namespace tilert::conformance
