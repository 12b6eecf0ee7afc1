// Intervals and moduli of ranges, against sets of numbers enumerated.
#include "arith/range.h"

#include <gtest/gtest.h>

#include <random>

namespace tilert::arith {
namespace {

std::vector<int64_t> members(const Range& r) {
  std::vector<int64_t> out;
  for (int64_t v = r.low; v <= r.high; ++v)
    if (r.contains(v)) out.push_back(v);
  return out;
}

Range random_range(std::mt19937& g) {
  const int64_t low = static_cast<int64_t>(g() % 30) - 15;
  Range r = Range::between(low, low + static_cast<int64_t>(g() % 12));
  const int64_t m = 1 + static_cast<int64_t>(g() % 5);
  const Range finer = both(r, Range{kMinusInfinity, kPlusInfinity, m, static_cast<int64_t>(g()) % m});
  return finer.empty() ? r : finer;
}

TEST(Range, EveryPairOfMembersLandsInTheResult) {
  std::mt19937 g(1);
  for (int round = 0; round < 4000; ++round) {
    const Range a = random_range(g), b = random_range(g);
    for (int64_t x : members(a)) {
      EXPECT_TRUE((-a).contains(-x));
      for (int64_t y : members(b)) {
        ASSERT_TRUE((a + b).contains(x + y));
        ASSERT_TRUE((a - b).contains(x - y));
        ASSERT_TRUE((a * b).contains(x * y));
        ASSERT_TRUE(divide(a, b).contains(y == 0 ? 0 : floor_div(x, y))) << x << " / " << y;
        ASSERT_TRUE(remainder(a, b).contains(y == 0 ? x : floor_mod(x, y))) << x << " % " << y;
        ASSERT_TRUE(minimum(a, b).contains(std::min(x, y)));
        ASSERT_TRUE(maximum(a, b).contains(std::max(x, y)));
        ASSERT_TRUE(either(a, b).contains(x) && either(a, b).contains(y));
        ASSERT_TRUE(x != y || both(a, b).contains(x));
      }
      for (DType d : {DType::int8, DType::uint8}) {
        const Range scaled = a * Range::constant(37);
        const int64_t v = x * 37;
        const int64_t w = d == DType::int8 ? static_cast<int8_t>(v) : static_cast<uint8_t>(v);
        ASSERT_TRUE(wrapped(scaled, d).contains(w)) << v;
      }
    }
  }
}

TEST(Range, InfiniteEndsStayInfinite) {
  const Range all, positive = Range::between(1, kPlusInfinity);
  EXPECT_EQ((all + Range::constant(5)).low, kMinusInfinity);
  EXPECT_EQ((positive * Range::constant(-2)).high, -2);
  EXPECT_EQ((positive * Range::constant(-2)).low, kMinusInfinity);
  EXPECT_EQ((all * Range::constant(0)), Range::constant(0));
  EXPECT_EQ(divide(positive, Range::constant(4)).low, 0);
  EXPECT_EQ(divide(positive, Range::constant(4)).high, kPlusInfinity);
  EXPECT_EQ((Range::between(1, int64_t{1} << 62) * Range::between(4, 4)).high, kPlusInfinity);
}

TEST(Range, ResiduesTightenInterval) {
  Range r{1, 30, 8, 0};
  EXPECT_EQ(r.tightened().low, 8);
  EXPECT_EQ(r.tightened().high, 24);
  EXPECT_TRUE(r.multiple_of(4));
  EXPECT_FALSE(r.multiple_of(16));
}

}  // namespace
}  // namespace tilert::arith
