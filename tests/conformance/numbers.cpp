// Numbers of a conformance case: rounding, bytes, generators.
#include "conformance/numbers.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace tilert::conformance {
namespace {

// The greatest finite value's code, and the codes of infinity and NaN, without sign; -1 where there is none.
struct Format {
  int exponent_bits, mantissa_bits, bias;
  int64_t most, infinity, nan;
  bool fnuz = false;  // the code of -0 is the NaN
};

Format ieee(int exponent_bits, int mantissa_bits) {
  const int64_t top = ((int64_t{1} << exponent_bits) - 1) << mantissa_bits;
  return {exponent_bits, mantissa_bits, (1 << (exponent_bits - 1)) - 1, top - 1, top, top | (int64_t{1} << (mantissa_bits - 1))};
}

Format format_of(tl::DType dtype) {
  if (dtype == tl::f16) return ieee(5, 10);
  if (dtype == tl::bf16) return ieee(8, 7);
  if (dtype == tl::f32) return ieee(8, 23);
  if (dtype == tl::e4m3) return {4, 3, 7, 0x7e, -1, 0x7f};
  if (dtype == tl::e5m2) return {5, 2, 15, 0x7b, 0x7c, 0x7f};
  if (dtype == tl::e4m3fnuz) return {4, 3, 8, 0x7f, -1, 0x80, true};
  if (dtype == tl::e5m2fnuz) return {5, 2, 16, 0x7f, -1, 0x80, true};
  if (dtype == tl::e2m3) return {2, 3, 1, 0x1f, -1, -1};
  if (dtype == tl::e3m2) return {3, 2, 3, 0x1f, -1, -1};
  if (dtype == tl::e2m1) return {2, 1, 1, 0x7, -1, -1};
  return ieee(11, 52);
}

constexpr Real kNf4[] = {-1.0L, -0.6961928009986877L, -0.5250730514526367L, -0.39491748809814453L, -0.28444138169288635L,
                         -0.18477343022823334L, -0.09105003625154495L, 0.0L, 0.07958029955625534L, 0.16093020141124725L,
                         0.24611230194568634L, 0.33791524171829224L, 0.44070982933044434L, 0.5626170039176941L,
                         0.7229568362236023L, 1.0L};

uint64_t next(uint64_t& state) {  // splitmix64
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t encode_float(const Format& f, Real value, bool saturates) {
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (f.exponent_bits + f.mantissa_bits) : 0;
  if (std::isnan(value)) return static_cast<uint64_t>(f.nan >= 0 ? f.nan : f.most);
  const Real size = std::fabs(value);
  Real code = static_cast<Real>(f.most) + 1;
  if (size == 0) {
    code = 0;
  } else if (!std::isinf(size)) {
    const int exponent = std::max(std::ilogb(size), 1 - f.bias);
    const Real steps = std::nearbyint(std::ldexp(size, f.mantissa_bits - exponent));  // half to even by default
    code = steps + std::ldexp(static_cast<Real>(exponent + f.bias - 1), f.mantissa_bits);
  }
  if (code <= static_cast<Real>(f.most)) return code == 0 && f.fnuz ? 0 : sign | static_cast<uint64_t>(code);
  if (saturates || f.nan < 0) return sign | static_cast<uint64_t>(f.most);
  return f.infinity >= 0 ? sign | static_cast<uint64_t>(f.infinity) : static_cast<uint64_t>(f.nan);
}

Real decode_float(const Format& f, uint64_t bits) {
  const int width = f.exponent_bits + f.mantissa_bits;
  const int64_t size = static_cast<int64_t>(bits & ((uint64_t{1} << width) - 1));
  const Real sign = (bits >> width) & 1 ? -1 : 1;
  if (f.fnuz && sign < 0 && size == 0) return std::numeric_limits<Real>::quiet_NaN();
  if (size == f.infinity) return sign * std::numeric_limits<Real>::infinity();
  if (size > f.most) return std::numeric_limits<Real>::quiet_NaN();
  const int64_t mantissa = size & ((int64_t{1} << f.mantissa_bits) - 1), exponent = size >> f.mantissa_bits;
  const Real hidden = exponent == 0 ? 0 : std::ldexp(Real{1}, f.mantissa_bits);
  return sign * std::ldexp(hidden + static_cast<Real>(mantissa), static_cast<int>(std::max<int64_t>(exponent, 1)) - f.bias - f.mantissa_bits);
}

// Powers of two alone: of two equally near ones that of an even code.
uint64_t encode_e8m0(Real value, bool saturates) {
  if (std::isnan(value) || value < 0) return 255;
  if (value <= std::ldexp(Real{1}, -127)) return 0;
  if (std::isinf(value)) return saturates ? 254 : 255;
  const int low = std::ilogb(value) + 127;
  const Real middle = std::ldexp(Real{1.5}, low - 127);
  const int code = value > middle || (value == middle && low % 2 == 1) ? low + 1 : low;
  return static_cast<uint64_t>(code <= 254 ? code : saturates ? 254 : 255);
}

uint64_t encode_nf4(Real value) {
  if (std::isnan(value) || value >= 1) return 15;
  if (value <= -1) return 0;
  uint64_t best = 0;
  for (uint64_t code = 1; code < 16; ++code)
    if (std::fabs(value - kNf4[code]) < std::fabs(value - kNf4[best])) best = code;
  return best;
}

int64_t to_int64(Real value) {  // modulo 2^64
  const Real whole = std::floor(value / 18446744073709551616.0L);
  return static_cast<int64_t>(static_cast<uint64_t>(value - whole * 18446744073709551616.0L));
}

}  // namespace

int bits_of(tl::DType dtype) { return static_cast<int>(tilert_dtype_bits(static_cast<tilert_dtype>(dtype))); }
size_t bytes_of(tl::DType dtype) { return static_cast<size_t>(bits_of(dtype) + 7) / 8; }
size_t bytes_for(tl::DType dtype, size_t count) { return (count * static_cast<size_t>(bits_of(dtype)) + 7) / 8; }
bool is_small(tl::DType dtype) {
  for (tl::DType d : {tl::e4m3, tl::e5m2, tl::e4m3fnuz, tl::e5m2fnuz, tl::e8m0, tl::e2m3, tl::e3m2, tl::e2m1, tl::nf4})
    if (d == dtype) return true;
  return false;
}
bool is_float(tl::DType dtype) {
  return dtype == tl::f16 || dtype == tl::bf16 || dtype == tl::f32 || dtype == tl::f64 || is_small(dtype);
}
bool is_unsigned(tl::DType dtype) {
  return dtype == tl::u4 || dtype == tl::u8 || dtype == tl::u16 || dtype == tl::u32 || dtype == tl::u64;
}
const char* name_of(tl::DType dtype) { return tilert_dtype_name(static_cast<tilert_dtype>(dtype)); }
Real epsilon(tl::DType dtype) { return is_float(dtype) ? std::ldexp(Real{1}, -format_of(dtype).mantissa_bits) : 0; }

Real ulp(tl::DType dtype, Real at) {
  const Format f = format_of(dtype);
  const int low = 1 - f.bias;
  const int exponent = at == 0 || !std::isfinite(at) ? low : std::max(std::ilogb(std::fabs(at)), low);
  return std::ldexp(Real{1}, exponent - f.mantissa_bits);
}

uint64_t encode(tl::DType dtype, Real value, bool saturates) {
  if (dtype == tl::boolean) return value != 0;
  if (dtype == tl::e8m0) return encode_e8m0(value, saturates);
  if (dtype == tl::nf4) return encode_nf4(value);
  if (is_float(dtype)) return encode_float(format_of(dtype), value, saturates && is_small(dtype));
  const int bits = bits_of(dtype);
  const uint64_t wide = static_cast<uint64_t>(to_int64(value));
  return bits == 64 ? wide : wide & ((uint64_t{1} << bits) - 1);
}

Real decode(tl::DType dtype, uint64_t bits) {
  if (dtype == tl::boolean) return static_cast<Real>(bits);
  if (dtype == tl::e8m0)
    return bits == 255 ? std::numeric_limits<Real>::quiet_NaN() : std::ldexp(Real{1}, static_cast<int>(bits) - 127);
  if (dtype == tl::nf4) return static_cast<Real>(static_cast<float>(kNf4[bits & 15]));
  if (is_float(dtype)) return decode_float(format_of(dtype), bits);
  if (is_unsigned(dtype)) return static_cast<Real>(bits);
  const int shift = 64 - bits_of(dtype);
  return static_cast<Real>(static_cast<int64_t>(bits << shift) >> shift);
}

Real rounded(tl::DType dtype, Real value) { return decode(dtype, encode(dtype, value)); }

// Elements of less than a byte lie side by side, low bits first.
void put_bits(Bytes& to, size_t index, tl::DType dtype, uint64_t bits) {
  const size_t width = static_cast<size_t>(bits_of(dtype));
  if (width % 8 == 0) {
    std::memcpy(&to[index * width / 8], &bits, width / 8);
    return;
  }
  for (size_t i = 0; i < width; ++i) {
    uint8_t& byte = to[(index * width + i) / 8];
    const int at = static_cast<int>((index * width + i) % 8);
    byte = static_cast<uint8_t>((byte & ~(1 << at)) | static_cast<int>(bits >> i & 1) << at);
  }
}

void put(Bytes& to, size_t index, tl::DType dtype, Real value) { put_bits(to, index, dtype, encode(dtype, value, false)); }

uint64_t bits_at(const Bytes& from, size_t index, tl::DType dtype) {
  const size_t width = static_cast<size_t>(bits_of(dtype));
  uint64_t bits = 0;
  if (width % 8 == 0) {
    std::memcpy(&bits, &from[index * width / 8], width / 8);
    return bits;
  }
  for (size_t i = 0; i < width; ++i)
    bits |= static_cast<uint64_t>(from[(index * width + i) / 8] >> ((index * width + i) % 8) & 1) << i;
  return bits;
}

Real saturated(tl::DType dtype, Real value) {
  if (std::isnan(value)) return 0;
  const Real half = std::ldexp(Real{1}, bits_of(dtype) - 1);
  if (is_unsigned(dtype)) return std::trunc(std::fmin(std::fmax(value, 0), half - 1 + half));
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
    // Small types have distinct neighbours by their codes, all of them but the NaNs.
    if (is_small(dtype) || bits_of(dtype) < 8) {
      const uint64_t codes = uint64_t{1} << bits_of(dtype);
      uint64_t code = (at * 5) % codes;
      while (std::isnan(decode(dtype, code))) code = (code + 1) % codes;
      out[i] = decode(dtype, code);
      continue;
    }
    out[i] = dtype == tl::boolean ? (at % 3 == 0) : static_cast<Real>(at % 101) - (is_unsigned(dtype) ? 0 : 50);
  }
  return out;
}

Reals product(const Reals& a, const Reals& b, int64_t m, int64_t n, int64_t k) {
  Reals c(static_cast<size_t>(m * n), 0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < n; ++j)
        c[static_cast<size_t>(i * n + j)] += a[static_cast<size_t>(i * k + p)] * b[static_cast<size_t>(p * n + j)];
  return c;
}

}  // namespace tilert::conformance
