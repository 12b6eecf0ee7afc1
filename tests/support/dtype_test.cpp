// The element type table, and conversions of 16-bit floats: every pattern, every boundary between two neighbours.
#include "support/dtype.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace tilert {
namespace {

uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

// A 16-bit format as its definition gives it: value = (-1)^s 2^(e - bias) (1 + m / 2^mantissa), by integer powers.
struct Format {
  const char* name;
  int mantissa, exponent;
  float (*to_f32)(uint16_t);
  uint16_t (*from_f32)(float);
  uint16_t (*from_f64)(double);

  uint16_t infinity() const { return static_cast<uint16_t>(((1 << exponent) - 1) << mantissa); }
  double value(uint16_t magnitude) const {  // of a magnitude up to infinity, which stands for the next power of two
    const int field = magnitude >> mantissa, rest = magnitude & ((1 << mantissa) - 1);
    const int bias = (1 << (exponent - 1)) - 1;
    return field == 0 ? std::ldexp(rest, 1 - bias - mantissa)
                      : std::ldexp(rest + (1 << mantissa), field - bias - mantissa);
  }
};

const Format kFormats[] = {
    {"f16", 10, 5, f16_to_f32, f32_to_f16, f64_to_f16},
    {"bf16", 7, 8, bf16_to_f32, f32_to_bf16, f64_to_bf16},
};

class Conversions : public ::testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Of, Conversions, ::testing::ValuesIn(kFormats),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Conversions, EveryFinitePatternHasTheValueOfItsDefinition) {
  const Format& format = GetParam();
  for (uint32_t bits = 0; bits < format.infinity(); ++bits) {
    ASSERT_EQ(format.to_f32(static_cast<uint16_t>(bits)), format.value(static_cast<uint16_t>(bits))) << bits;
    const float negative = format.to_f32(static_cast<uint16_t>(bits | 0x8000));
    ASSERT_EQ(negative, -format.value(static_cast<uint16_t>(bits))) << bits;
    ASSERT_TRUE(std::signbit(negative)) << bits;
  }
}

TEST_P(Conversions, EveryPatternRoundTripsAndSignallingNansBecomeQuiet) {
  const Format& format = GetParam();
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto pattern = static_cast<uint16_t>(bits);
    const bool is_nan = (pattern & 0x7fff) > format.infinity();
    const auto expected = static_cast<uint16_t>(is_nan ? pattern | 1 << (format.mantissa - 1) : pattern);
    const float value = format.to_f32(pattern);
    ASSERT_EQ(std::isnan(value), is_nan) << bits;
    ASSERT_EQ(format.from_f32(value), expected) << bits;
    ASSERT_EQ(format.from_f64(value), expected) << bits;
  }
}

// Between two neighbours the midpoint goes to the even pattern and everything else to the nearer one.
void check_boundaries(const Format& format) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (uint32_t low = 0; low < format.infinity(); ++low) {
    const auto below = static_cast<uint16_t>(low), above = static_cast<uint16_t>(low + 1);
    const auto even = static_cast<uint16_t>(low + (low & 1));
    const double middle = format.value(below) / 2 + format.value(above) / 2;  // exact: one bit more than the format
    const auto f32_middle = static_cast<float>(middle);
    ASSERT_EQ(f32_middle, middle) << low;
    for (int sign : {0, 0x8000}) {
      const double s = sign ? -1 : 1;
      ASSERT_EQ(format.from_f64(s * middle), sign | even) << low;
      ASSERT_EQ(format.from_f64(s * std::nextafter(middle, 0)), sign | below) << low;
      ASSERT_EQ(format.from_f64(s * std::nextafter(middle, infinity)), sign | above) << low;
      ASSERT_EQ(format.from_f32(static_cast<float>(s) * f32_middle), sign | even) << low;
      ASSERT_EQ(format.from_f32(static_cast<float>(s) * std::nextafterf(f32_middle, 0)), sign | below) << low;
      ASSERT_EQ(format.from_f32(static_cast<float>(s) * std::nextafterf(f32_middle, INFINITY)), sign | above) << low;
    }
  }
}

TEST_P(Conversions, RoundHalfToEvenAtEveryBoundary) { check_boundaries(GetParam()); }

TEST_P(Conversions, OverflowGivesInfinityAndUnderflowKeepsTheSign) {
  const Format& format = GetParam();
  EXPECT_EQ(format.from_f64(1e300), format.infinity());
  EXPECT_EQ(format.from_f64(-1e300), 0x8000 | format.infinity());
  EXPECT_EQ(format.from_f64(std::numeric_limits<double>::infinity()), format.infinity());
  EXPECT_EQ(format.from_f32(-INFINITY), 0x8000 | format.infinity());
  EXPECT_EQ(format.from_f32(std::numeric_limits<float>::max()), format.infinity());
  EXPECT_EQ(format.from_f64(1e-300), 0);
  EXPECT_EQ(format.from_f64(-1e-300), 0x8000);
  EXPECT_EQ(format.from_f64(-5e-324), 0x8000);
  EXPECT_EQ(format.from_f32(-0.0f), 0x8000);
}

TEST_P(Conversions, NansKeepTheirSign) {
  const Format& format = GetParam();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(format.from_f32(std::copysign(nan, -1.0f)) >> 15, 1);
  EXPECT_EQ(format.from_f32(std::copysign(nan, 1.0f)) >> 15, 0);
}

// All results, under the present floating-point environment.
std::vector<uint16_t> all_results(const Format& format) {
  std::vector<uint16_t> results;
  for (uint32_t top = 0; top < 65536; ++top) {
    for (uint32_t low : {0x0000u, 0x0001u, 0x1000u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      const uint32_t bits = top << 16 | low;
      float value;
      std::memcpy(&value, &bits, 4);
      results.push_back(format.from_f32(value));
    }
    const float wide = format.to_f32(static_cast<uint16_t>(top));
    results.push_back(static_cast<uint16_t>(bits_of(wide)));
    results.push_back(static_cast<uint16_t>(bits_of(wide) >> 16));
  }
  return results;
}

TEST_P(Conversions, DoNotDependOnTheRoundingMode) {
  const auto expected = all_results(GetParam());
  for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    const auto results = all_results(GetParam());
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(results, expected) << mode;
  }
}

#if defined(__SSE2__)
TEST_P(Conversions, DoNotDependOnFlushToZero) {
  const auto expected = all_results(GetParam());
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040);  // flush results and operands
  const auto results = all_results(GetParam());
  _mm_setcsr(saved);
  EXPECT_EQ(results, expected);
}
#endif

TEST(ConvertF64, RoundsOnceWhereTwoRoundingsWouldDiffer) {
  // Just above the midpoint of 1 and the next f16; by way of f32 it would become the midpoint and fall to even.
  const double value = 1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  EXPECT_EQ(f64_to_f16(value), 0x3c01);
  EXPECT_EQ(f32_to_f16(static_cast<float>(value)), 0x3c00);
  EXPECT_EQ(f64_to_bf16(1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40)), 0x3f81);
}

#if defined(__FLT16_MAX__) && defined(__x86_64__)
TEST(ConvertF16, AgreesWithTheCompilersOwnType) {
  for (uint32_t top = 0; top < 65536; ++top) {
    const auto pattern = static_cast<uint16_t>(top);
    _Float16 half;
    std::memcpy(&half, &pattern, 2);
    const float wide = static_cast<float>(half);
    ASSERT_EQ(bits_of(f16_to_f32(pattern)), bits_of(wide)) << top;
    for (uint32_t low : {0x0000u, 0x0fffu, 0x1000u, 0x1001u, 0x8000u, 0xf000u, 0xffffu}) {
      const uint32_t bits = top << 16 | low;
      float value;
      std::memcpy(&value, &bits, 4);
      if (std::isnan(value)) continue;
      const auto expected = static_cast<_Float16>(value);
      uint16_t expected_bits;
      std::memcpy(&expected_bits, &expected, 2);
      ASSERT_EQ(f32_to_f16(value), expected_bits) << bits;
    }
  }
}
#endif

TEST(DTypeTable, NumbersAreTheRowsInOrderAndTextsAreUnique) {
  std::set<std::string> texts;
  int number = 0;
#define TILERT_DTYPE(name, row_number, bits, kind, text)         \
  EXPECT_EQ(static_cast<int>(DType::name), ++number);            \
  EXPECT_EQ(dtype_text(DType::name), text);                      \
  EXPECT_EQ(dtype_from_text(text), DType::name);                 \
  EXPECT_EQ(dtype_bits(DType::name), bits);                      \
  EXPECT_TRUE(texts.insert(text).second) << text;
#include "support/dtype.def"
#undef TILERT_DTYPE
  EXPECT_EQ(number, 26);
}

TEST(DTypeTable, WhatIsNoRowIsUnknown) {
  for (int number : {0, 27, 255}) {
    const auto type = static_cast<DType>(number);
    EXPECT_FALSE(dtype_is_known(type)) << number;
    EXPECT_EQ(dtype_bits(type), 0) << number;
    EXPECT_EQ(dtype_text(type), "none") << number;
    EXPECT_FALSE(dtype_is_float(type)) << number;
  }
  for (const char* text : {"", "none", "F16", "f16 ", "float"}) EXPECT_FALSE(dtype_from_text(text)) << text;
}

TEST(DTypeTable, ClassesFollowTheNames) {
  const std::map<char, DTypeClass> by_letter = {{'b', DTypeClass::boolean},
                                                {'i', DTypeClass::signed_integer},
                                                {'u', DTypeClass::unsigned_integer},
                                                {'f', DTypeClass::floating}};
  for (const char* text : {"i4", "i8", "i16", "i32", "i64", "u4", "u8", "u16", "u32", "u64", "f16", "f32", "f64"}) {
    const DType type = *dtype_from_text(text);
    EXPECT_EQ(dtype_class(type), by_letter.at(text[0])) << text;
    EXPECT_EQ(dtype_bits(type), std::stoi(text + 1)) << text;
    EXPECT_EQ(dtype_is_float(type), text[0] == 'f') << text;
    EXPECT_EQ(dtype_is_signed(type), text[0] == 'i') << text;
    EXPECT_EQ(dtype_is_integer(type), text[0] != 'f') << text;
  }
  EXPECT_EQ(dtype_class(DType::boolean), DTypeClass::boolean);
  EXPECT_FALSE(dtype_is_integer(DType::boolean));
  EXPECT_TRUE(dtype_is_float(DType::bf16));
  EXPECT_EQ(dtype_class(DType::index), DTypeClass::index);
  EXPECT_TRUE(dtype_is_integer(DType::index));
  EXPECT_TRUE(dtype_is_signed(DType::index));
}

}  // namespace
}  // namespace tilert
