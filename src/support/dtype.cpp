// Look-ups in the element type table, and exact conversions of 16-bit floats.
#include "support/dtype.h"

#include <cmath>
#include <cstring>

namespace tilert {
namespace {

struct Row {
  DType type;
  int bits;
  char kind;
  std::string_view text;
};
constexpr Row kRows[] = {
#define TILERT_DTYPE(name, number, bits, kind, text) {DType::name, bits, #kind[0], text},
#include "support/dtype.def"
#undef TILERT_DTYPE
};

const Row* find(DType type) {
  const auto number = static_cast<size_t>(type);
  if (number == 0 || number > std::size(kRows)) return nullptr;
  return &kRows[number - 1];
}

// Rounds `value` to a 16-bit float format of `mantissa` explicit and `exponent_bits` exponent bits, half to even.
// Overflow gives infinity; a NaN keeps its sign and the top of its payload and becomes quiet. Every floating-point
// operation here is exact, so the result depends neither on the thread's rounding mode nor on flush-to-zero.
uint16_t pack_f16_like(double value, int mantissa, int exponent_bits) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  const auto sign = static_cast<uint16_t>((bits >> 63) << 15);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto top = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa);
  if (std::isnan(value)) {
    const auto payload = (bits >> (52 - mantissa)) & ((1u << mantissa) - 1);
    return static_cast<uint16_t>(sign | top | payload | (1u << (mantissa - 1)));
  }
  if (std::isinf(value)) return static_cast<uint16_t>(sign | top);
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  int exponent = std::ilogb(magnitude);
  if (exponent < 1 - bias) exponent = 1 - bias;  // subnormal: fixed step
  const double scaled = std::ldexp(magnitude, mantissa - exponent);  // exact
  double whole = std::floor(scaled);
  const double rest = scaled - whole;
  if (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) == 1)) whole += 1;
  // Adding the mantissa to the exponent field lets a carry move into it.
  const auto field = static_cast<int64_t>(whole) + (static_cast<int64_t>(exponent + bias - 1) << mantissa);
  if (field >= top) return static_cast<uint16_t>(sign | top);
  return static_cast<uint16_t>(sign | field);
}

}  // namespace

int dtype_bits(DType type) { const Row* row = find(type); return row ? row->bits : 0; }
bool dtype_is_known(DType type) { return find(type) != nullptr; }
std::string_view dtype_text(DType type) { const Row* row = find(type); return row ? row->text : "none"; }

DTypeClass dtype_class(DType type) {
  const Row* row = find(type);
  switch (row ? row->kind : 'i') {
    case 'b': return DTypeClass::boolean;
    case 'u': return DTypeClass::unsigned_integer;
    case 'f': return DTypeClass::floating;
    case 'x': return DTypeClass::index;
    default: return DTypeClass::signed_integer;
  }
}

std::optional<DType> dtype_from_text(std::string_view text) {
  for (const Row& row : kRows)
    if (row.text == text) return row.type;
  return std::nullopt;
}

bool dtype_is_float(DType type) { return dtype_class(type) == DTypeClass::floating; }
bool dtype_is_integer(DType type) {
  const DTypeClass c = dtype_class(type);
  return c == DTypeClass::signed_integer || c == DTypeClass::unsigned_integer || c == DTypeClass::index;
}
bool dtype_is_signed(DType type) {
  const DTypeClass c = dtype_class(type);
  return c == DTypeClass::signed_integer || c == DTypeClass::index;
}

int dtype_group(DType type) {
  const int bits = dtype_bits(type);
  return bits == 4 ? 2 : bits == 6 ? 4 : 1;
}

bool dtype_computes(DType type) {
  switch (type) {
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64: return true;
    default: return type != DType::none && !dtype_is_float(type) && dtype_bits(type) >= 8;
  }
}

uint16_t f64_to_bf16(double value) { return pack_f16_like(value, 7, 8); }
uint16_t f64_to_f16(double value) { return pack_f16_like(value, 10, 5); }
uint16_t f32_to_f16(float value) { return f64_to_f16(value); }

uint16_t f32_to_bf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float bf16_to_f32(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

float f16_to_f32(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  float value;
  if (exponent == 31) {  // infinity, or a NaN with its payload moved up and made quiet
    const uint32_t wide = 0x7f800000u | static_cast<uint32_t>(mantissa) << 13 | (mantissa ? 0x400000u : 0u);
    std::memcpy(&value, &wide, 4);
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    value = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  }
  return (bits & 0x8000) ? -value : value;
}

}  // namespace tilert
