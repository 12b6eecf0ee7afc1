// The table of small formats, and conversions by their fields.
#include "support/small_float.h"

#include <cmath>
#include <limits>

namespace tilert {
namespace {

constexpr int kE8m0Bias = 127, kE8m0Most = 254, kE8m0Nan = 255;
constexpr int kNf4Most = 15;

struct FormatRow {
  DType type;
  SmallFloat format;
};
constexpr FormatRow kFormats[] = {
    {DType::e4m3, {4, 3, 7, 0x7e, -1, 0x7f, true}},
    {DType::e5m2, {5, 2, 15, 0x7b, 0x7c, 0x7f, true}},
    {DType::e4m3fnuz, {4, 3, 8, 0x7f, -1, 0x80, false}},
    {DType::e5m2fnuz, {5, 2, 16, 0x7f, -1, 0x80, false}},
    {DType::e2m3, {2, 3, 1, 0x1f, -1, -1, true}},
    {DType::e3m2, {3, 2, 3, 0x1f, -1, -1, true}},
    {DType::e2m1, {2, 1, 1, 0x7, -1, -1, true}},
};

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The whole number nearest to a value >= 0, half to even; every step is exact.
uint64_t round_half_even(double value) {
  const double whole = std::floor(value), rest = value - whole;
  const auto out = static_cast<uint64_t>(whole);
  return out + (rest > 0.5 || (rest == 0.5 && (out & 1)) ? 1 : 0);
}

uint64_t to_e8m0(double value, bool saturates) {
  if (std::isnan(value) || value < 0) return kE8m0Nan;
  if (value == 0) return 0;
  if (std::isinf(value)) return saturates ? kE8m0Most : kE8m0Nan;
  const int code = std::ilogb(value) + kE8m0Bias;
  if (code < 0) return 0;
  const double part = std::ldexp(value, kE8m0Bias - code);  // in [1, 2)
  const int rounded = code + (part > 1.5 || (part == 1.5 && (code & 1)) ? 1 : 0);
  return static_cast<uint64_t>(rounded <= kE8m0Most ? rounded : saturates ? kE8m0Most : kE8m0Nan);
}

uint64_t to_nf4(double value) {
  if (std::isnan(value)) return kNf4Most;
  uint64_t code = 0;
  for (float bound : kNf4Bounds) code += value > static_cast<double>(bound) ? 1 : 0;
  return code;
}

uint64_t to_format(const SmallFloat& f, double value, bool saturates) {
  if (std::isnan(value)) return static_cast<uint64_t>(f.nan >= 0 ? f.nan : f.most);
  const uint64_t sign = std::signbit(value) ? static_cast<uint64_t>(f.code_mask()) + 1 : 0;
  const double size = std::fabs(value);
  uint64_t code = static_cast<uint64_t>(f.most) + 1;
  if (size == 0) {
    code = 0;
  } else if (!std::isinf(size)) {
    const int exponent = std::max(std::ilogb(size), 1 - f.bias);  // subnormals have a fixed step
    const uint64_t whole = round_half_even(std::ldexp(size, f.mantissa_bits - exponent));
    // Added, so that a carry moves into the exponent.
    code = whole + (static_cast<uint64_t>(exponent + f.bias - 1) << f.mantissa_bits);
  }
  if (code <= static_cast<uint64_t>(f.most)) return code == 0 && !f.negative_zero ? 0 : sign | code;
  if (saturates || f.nan < 0) return sign | static_cast<uint64_t>(f.most);
  return f.infinity >= 0 ? sign | static_cast<uint64_t>(f.infinity) : static_cast<uint64_t>(f.nan);
}

}  // namespace

const float kNf4Values[16] = {
    -0x1p+0f, -0x1.647362p-1f, -0x1.0cd66p-1f, -0x1.94654p-2f, -0x1.23449ap-2f, -0x1.7a6a7ep-3f, -0x1.74f0e2p-4f,
    0x0p+0f, 0x1.45f5fep-4f, 0x1.4995c6p-3f, 0x1.f809bap-3f, 0x1.5a0674p-2f, 0x1.c3497p-2f, 0x1.200f56p-1f,
    0x1.722766p-1f, 0x1p+0f};
const float kNf4Bounds[15] = {
    -0x1.b239bp-1f, -0x1.38a4ep-1f, -0x1.d709p-2f, -0x1.5bd4ecp-2f, -0x1.e079d8p-3f, -0x1.1a7178p-3f,
    -0x1.74f0ep-5f, 0x1.45f5fcp-5f, 0x1.ec90c4p-4f, 0x1.a0cfcp-3f, 0x1.2b05a8p-2f, 0x1.8ea7fp-2f, 0x1.00da08p-1f,
    0x1.491b5cp-1f, 0x1.b913b4p-1f};

const SmallFloat* small_float(DType type) {
  for (const FormatRow& row : kFormats)
    if (row.type == type) return &row.format;
  return nullptr;
}

bool dtype_is_small_float(DType type) { return type == DType::e8m0 || type == DType::nf4 || small_float(type); }

bool has_overflow_value(DType type) {
  const SmallFloat* f = small_float(type);
  return type == DType::e8m0 || (f && f->nan >= 0);
}

double small_to_f64(DType type, uint64_t code) {
  if (type == DType::nf4) return static_cast<double>(kNf4Values[code & 15]);
  if (type == DType::e8m0) return (code & 255) == kE8m0Nan ? kNan : std::ldexp(1.0, static_cast<int>(code & 255) - kE8m0Bias);
  const SmallFloat* f = small_float(type);
  if (!f) return kNan;
  const int size = static_cast<int>(code) & f->code_mask();
  const bool negative = (static_cast<int>(code) >> (f->exponent_bits + f->mantissa_bits)) & 1;
  if (!f->negative_zero && negative && size == 0) return kNan;
  if (f->infinity >= 0 && size == f->infinity) return negative ? -HUGE_VAL : HUGE_VAL;
  if (size > f->most) return kNan;
  const int exponent = size >> f->mantissa_bits, mantissa = size & ((1 << f->mantissa_bits) - 1);
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << f->mantissa_bits);
  const double value = std::ldexp(static_cast<double>(whole), std::max(exponent, 1) - f->bias - f->mantissa_bits);
  return negative ? -value : value;
}

uint64_t f64_to_small(DType type, double value, bool saturates) {
  if (type == DType::e8m0) return to_e8m0(value, saturates);
  if (type == DType::nf4) return to_nf4(value);
  const SmallFloat* f = small_float(type);
  return f ? to_format(*f, value, saturates) : 0;
}

}  // namespace tilert
