// The small formats against their specifications' own lists of values, and rounding against a search among all codes.
#include "support/small_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tilert {
namespace {

constexpr DType kTypes[] = {DType::e4m3, DType::e5m2, DType::e4m3fnuz, DType::e5m2fnuz, DType::e8m0,
                            DType::e2m3, DType::e3m2, DType::e2m1,     DType::nf4};
const double kInfinity = std::numeric_limits<double>::infinity();

struct Extreme {
  DType type;
  uint64_t code;
  double value;
};

// OCP 8-bit Floating Point 1.0, table 1; Microscaling Formats 1.0, tables 2 to 5 and 7; arXiv 2206.02915 for fnuz.
TEST(SmallFloat, ExtremesAreThoseOfTheSpecifications) {
  const Extreme rows[] = {
      {DType::e4m3, 0x7e, 448},           {DType::e4m3, 0x08, 0x1p-6},       {DType::e4m3, 0x01, 0x1p-9},
      {DType::e5m2, 0x7b, 57344},         {DType::e5m2, 0x04, 0x1p-14},      {DType::e5m2, 0x01, 0x1p-16},
      {DType::e5m2, 0xfc, -kInfinity},    {DType::e4m3fnuz, 0x7f, 240},      {DType::e4m3fnuz, 0x01, 0x1p-10},
      {DType::e5m2fnuz, 0x7f, 57344},     {DType::e5m2fnuz, 0x01, 0x1p-17},  {DType::e8m0, 0, 0x1p-127},
      {DType::e8m0, 254, 0x1p127},        {DType::e2m3, 0x1f, 7.5},          {DType::e2m3, 0x01, 0.125},
      {DType::e3m2, 0x1f, 28},            {DType::e3m2, 0x01, 0.0625},       {DType::e2m1, 0x7, 6},
      {DType::e2m1, 0x1, 0.5},            {DType::nf4, 0, -1},               {DType::nf4, 7, 0},
  };
  for (const Extreme& row : rows) EXPECT_EQ(small_to_f64(row.type, row.code), row.value) << dtype_text(row.type) << row.code;
  for (DType type : {DType::e4m3, DType::e5m2}) EXPECT_TRUE(std::isnan(small_to_f64(type, 0xff)));
  for (DType type : {DType::e4m3fnuz, DType::e5m2fnuz}) EXPECT_TRUE(std::isnan(small_to_f64(type, 0x80)));
  EXPECT_TRUE(std::isnan(small_to_f64(DType::e8m0, 255)));
}

TEST(SmallFloat, EveryCodeIsTheNearestToItsValue) {
  for (DType type : kTypes)
    for (uint64_t code = 0; code < uint64_t{1} << dtype_bits(type); ++code) {
      const double value = small_to_f64(type, code);
      if (std::isnan(value)) continue;
      if (std::isinf(value)) {
        EXPECT_EQ(f64_to_small(type, value, false), code) << dtype_text(type);
        continue;
      }
      EXPECT_EQ(f64_to_small(type, value, true), code) << dtype_text(type);
      EXPECT_EQ(f64_to_small(type, value, false), code) << dtype_text(type);
    }
}

TEST(SmallFloat, MiddlesGoToTheEvenCodeAndTheirNeighboursToTheNearer) {
  for (DType type : kTypes) {
    if (type == DType::nf4) continue;
    const SmallFloat* f = small_float(type);
    const uint64_t most = f ? static_cast<uint64_t>(f->most) : 254;
    for (uint64_t code = 0; code < most; ++code) {
      const double low = small_to_f64(type, code), high = small_to_f64(type, code + 1), middle = (low + high) / 2;
      EXPECT_EQ(f64_to_small(type, middle, true), code % 2 == 0 ? code : code + 1) << dtype_text(type) << code;
      EXPECT_EQ(f64_to_small(type, std::nextafter(middle, low), true), code) << dtype_text(type) << code;
      EXPECT_EQ(f64_to_small(type, std::nextafter(middle, high), true), code + 1) << dtype_text(type) << code;
    }
  }
}

TEST(SmallFloat, WhatIsBeyondSaturatesOrIsInfiniteOrNaN) {
  EXPECT_EQ(f64_to_small(DType::e4m3, 464, false), 0x7eu);   // the middle to 480, which is no value: to even
  EXPECT_EQ(f64_to_small(DType::e4m3, 464.1, false), 0x7fu);
  EXPECT_EQ(f64_to_small(DType::e4m3, -kInfinity, true), 0xfeu);
  EXPECT_EQ(f64_to_small(DType::e5m2, -1e9, false), 0xfcu);
  EXPECT_EQ(f64_to_small(DType::e5m2, 61440, false), 0x7cu);  // the middle to 65536: to even
  EXPECT_EQ(f64_to_small(DType::e5m2, 61440, true), 0x7bu);
  EXPECT_EQ(f64_to_small(DType::e4m3fnuz, -1e9, false), 0x80u);
  EXPECT_EQ(f64_to_small(DType::e4m3fnuz, -1e-9, true), 0x00u);
  EXPECT_EQ(f64_to_small(DType::e8m0, 0x1.8p127, true), 254u);
  EXPECT_EQ(f64_to_small(DType::e8m0, 0x1.8p127, false), 254u);  // the middle to the NaN: to even
  EXPECT_EQ(f64_to_small(DType::e8m0, 0x1.9p127, false), 255u);
  EXPECT_EQ(f64_to_small(DType::e8m0, -1, true), 255u);
  EXPECT_EQ(f64_to_small(DType::e2m1, -100, false), 0xfu);
  EXPECT_EQ(f64_to_small(DType::nf4, 7, true), 15u);
}

TEST(SmallFloat, NaNIsNaNOrTheGreatestValue) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const uint64_t want[] = {0x7f, 0x7f, 0x80, 0x80, 255, 0x1f, 0x1f, 0x7, 15};
  for (size_t i = 0; i < std::size(kTypes); ++i) EXPECT_EQ(f64_to_small(kTypes[i], -nan, true), want[i]) << dtype_text(kTypes[i]);
}

}  // namespace
}  // namespace tilert
