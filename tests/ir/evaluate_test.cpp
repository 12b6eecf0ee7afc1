// Scalar evaluation: 8-bit types exhaustively against plain int arithmetic, 16-bit floats against a rounding of their
// own, the corners that the language fixes, and independence of the thread's floating-point mode.
#include "ir/evaluate.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <random>

namespace tilert::ir {
namespace {

uint64_t run(Op op, DType dtype, uint64_t a, uint64_t b = 0, uint64_t c = 0) {
  Arena arena;
  const Expr x = arena.variable(0, dtype), y = arena.variable(1, dtype), z = arena.variable(2, dtype);
  const Expr operands[] = {x, y, z};
  const Expr node = arena.make(op, std::span<const Expr>(operands, static_cast<size_t>(op_row(op).arity)));
  const uint64_t values[] = {a, b, c};
  const auto result = evaluate(*node, std::span<const uint64_t>(values, node->arity));
  EXPECT_TRUE(result.has_value()) << op_row(op).text;
  return result.value_or(0xdead);
}

uint64_t convert(DType from, DType to, uint64_t bits) {
  Arena arena;
  const Expr node = arena.cast(arena.variable(0, from), to);
  const uint64_t values[] = {bits};
  const auto result = evaluate(*node, values);
  EXPECT_TRUE(result.has_value()) << dtype_text(from) << " to " << dtype_text(to);
  return result.value_or(0xdead);
}

uint64_t f32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
float as_f32(uint64_t bits) {
  const auto narrow = static_cast<uint32_t>(bits);
  float value;
  std::memcpy(&value, &narrow, 4);
  return value;
}
uint64_t f64(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  return bits;
}

// What the integer rows must give, in plain arithmetic wide enough not to wrap.
std::optional<int64_t> expected_integer(Op op, int64_t x, int64_t y, int width, bool is_signed) {
  const int64_t count = y & ((1 << width) - 1);
  const auto floor_div = [](int64_t a, int64_t b) {
    return static_cast<int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
  };
  switch (op) {
    case Op::add: return x + y;
    case Op::sub: return x - y;
    case Op::mul: return x * y;
    case Op::div: return y == 0 ? 0 : floor_div(x, y);
    case Op::mod: return y == 0 ? x : x - y * floor_div(x, y);
    case Op::div_trunc: return y == 0 ? 0 : x / y;
    case Op::mod_trunc: return y == 0 ? x : x - y * (x / y);
    case Op::min: return std::min(x, y);
    case Op::max: return std::max(x, y);
    case Op::neg: return -x;
    case Op::abs: return std::abs(x);
    case Op::bit_and: return x & y;
    case Op::bit_or: return x | y;
    case Op::bit_xor: return x ^ y;
    case Op::bit_not: return -x - 1;
    case Op::shl: return count >= width ? 0 : x * (int64_t{1} << count);
    case Op::shr: return count >= width ? (is_signed && x < 0 ? -1 : 0) : floor_div(x, int64_t{1} << count);
    case Op::eq: return x == y;
    case Op::ne: return x != y;
    case Op::lt: return x < y;
    case Op::le: return x <= y;
    default: return std::nullopt;
  }
}

int64_t wrapped(int64_t value, int width, bool is_signed) {
  const int64_t size = int64_t{1} << width;
  int64_t low = ((value % size) + size) % size;
  if (is_signed && low >= size / 2) low -= size;
  return low;
}

class NarrowIntegers : public testing::TestWithParam<DType> {};

TEST_P(NarrowIntegers, EveryPairOfOperandsGivesTheWrappedExactResult) {
  const DType dtype = GetParam();
  const int width = dtype_bits(dtype);
  const bool is_signed = dtype_is_signed(dtype);
  const int64_t low = is_signed ? -(1 << (width - 1)) : 0, high = low + (1 << width);
  for (int number = 0; number <= static_cast<int>(Op::isfinite); ++number) {
    const Op op = static_cast<Op>(number);
    if (!expected_integer(op, 1, 1, width, is_signed)) continue;
    const ScalarFunction function = scalar_function(op, dtype, dtype);
    ASSERT_NE(function, nullptr) << op_row(op).text;
    for (int64_t x = low; x < high; ++x) {
      for (int64_t y = low; y < high; ++y) {
        const int64_t want = wrapped(*expected_integer(op, x, y, width, is_signed), width, is_signed);
        const auto got = static_cast<int64_t>(function(static_cast<uint64_t>(x), static_cast<uint64_t>(y), 0));
        ASSERT_EQ(got, want) << op_row(op).text << " " << dtype_text(dtype) << " " << x << " " << y;
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, NarrowIntegers, testing::Values(DType::int8, DType::uint8, DType::int4, DType::uint4));

TEST(Evaluate, WideIntegersWrapAndNeverTrap) {
  const uint64_t least32 = static_cast<uint64_t>(int64_t{INT32_MIN}), least64 = uint64_t{1} << 63, minus = ~uint64_t{0};
  EXPECT_EQ(run(Op::add, DType::int32, INT32_MAX, 1), least32);
  EXPECT_EQ(run(Op::mul, DType::int32, 65536, 65536), 0u);
  EXPECT_EQ(run(Op::div, DType::int32, least32, minus), least32);
  EXPECT_EQ(run(Op::mod, DType::int32, least32, minus), 0u);
  EXPECT_EQ(run(Op::div, DType::int64, least64, minus), least64);
  EXPECT_EQ(run(Op::div_trunc, DType::index, least64, minus), least64);
  EXPECT_EQ(run(Op::mod_trunc, DType::index, least64, minus), 0u);
  EXPECT_EQ(run(Op::abs, DType::int64, least64), least64);
  EXPECT_EQ(run(Op::div, DType::index, static_cast<uint64_t>(-7), 2), static_cast<uint64_t>(-4));
  EXPECT_EQ(run(Op::mod, DType::index, static_cast<uint64_t>(-7), 2), 1u);
  EXPECT_EQ(run(Op::div, DType::uint64, minus, 2), minus >> 1);
  EXPECT_EQ(run(Op::shl, DType::int64, 1, 64), 0u);
  EXPECT_EQ(run(Op::shl, DType::int64, 1, minus), 0u);
  EXPECT_EQ(run(Op::shr, DType::int64, least64, 64), minus);
  EXPECT_EQ(run(Op::shr, DType::uint64, least64, 63), 1u);
}

TEST(Evaluate, MinimumAndMaximumPreferTheNumberAndOrderZeros) {
  const uint64_t nan = f32(NAN), one = f32(1), zero = f32(0.f), negative = f32(-0.f);
  EXPECT_EQ(run(Op::max, DType::f32, nan, one), one);
  EXPECT_EQ(run(Op::min, DType::f32, one, nan), one);
  EXPECT_TRUE(std::isnan(as_f32(run(Op::max, DType::f32, nan, nan))));
  EXPECT_TRUE(std::isnan(as_f32(run(Op::max_nan, DType::f32, one, nan))));
  EXPECT_TRUE(std::isnan(as_f32(run(Op::min_nan, DType::f32, nan, one))));
  for (Op op : {Op::max, Op::max_nan}) {
    EXPECT_EQ(run(op, DType::f32, zero, negative), zero);
    EXPECT_EQ(run(op, DType::f32, negative, zero), zero);
    EXPECT_EQ(run(op, DType::f32, negative, negative), negative);
  }
  for (Op op : {Op::min, Op::min_nan}) {
    EXPECT_EQ(run(op, DType::f32, zero, negative), negative);
    EXPECT_EQ(run(op, DType::f32, negative, zero), negative);
    EXPECT_EQ(run(op, DType::f32, zero, zero), zero);
  }
}

TEST(Evaluate, RoundGoesHalfToEven) {
  const float cases[][2] = {{0.5f, 0}, {1.5f, 2}, {2.5f, 2}, {-0.5f, -0.f}, {-1.5f, -2}, {2.4f, 2}, {-2.6f, -3}};
  for (const auto& c : cases) EXPECT_EQ(run(Op::round, DType::f32, f32(c[0])), f32(c[1])) << c[0];
}

TEST(Evaluate, FloatsBecomeIntegersByTruncationAndSaturation) {
  EXPECT_EQ(convert(DType::f32, DType::int8, f32(-1.9f)), static_cast<uint64_t>(-1));
  EXPECT_EQ(convert(DType::f32, DType::int8, f32(127.9f)), 127u);
  EXPECT_EQ(convert(DType::f32, DType::int8, f32(128.f)), 127u);
  EXPECT_EQ(convert(DType::f32, DType::int8, f32(-1e30f)), static_cast<uint64_t>(-128));
  EXPECT_EQ(convert(DType::f32, DType::int8, f32(NAN)), 0u);
  EXPECT_EQ(convert(DType::f32, DType::uint8, f32(-3.f)), 0u);
  EXPECT_EQ(convert(DType::f32, DType::int32, f32(INFINITY)), static_cast<uint64_t>(INT32_MAX));
  EXPECT_EQ(convert(DType::f64, DType::int64, f64(9.3e18)), static_cast<uint64_t>(INT64_MAX));
  EXPECT_EQ(convert(DType::f64, DType::int64, f64(-9.3e18)), uint64_t{1} << 63);
  EXPECT_EQ(convert(DType::f64, DType::uint64, f64(1.9e19)), ~uint64_t{0});
  EXPECT_EQ(convert(DType::f32, DType::boolean, f32(NAN)), 1u);
  EXPECT_EQ(convert(DType::f32, DType::boolean, f32(-0.f)), 0u);
  EXPECT_EQ(convert(DType::int32, DType::int8, 200), static_cast<uint64_t>(-56));
  EXPECT_EQ(convert(DType::int8, DType::uint32, static_cast<uint64_t>(-1)), 0xffffffffu);
  EXPECT_EQ(convert(DType::boolean, DType::f16, 1), 0x3c00u);
}

TEST(Evaluate, WideIntegersRoundOnceToNarrowFloats) {
  // 2^60 + 2^52 is a tie of bf16 and rounds down to even; one more makes it round up, which a detour through double
  // loses.
  const uint64_t tie = (uint64_t{1} << 60) + (uint64_t{1} << 52);
  EXPECT_EQ(convert(DType::int64, DType::bf16, tie), 0x5d80u);
  EXPECT_EQ(convert(DType::int64, DType::bf16, tie + 1), 0x5d81u);
  EXPECT_EQ(convert(DType::int64, DType::f32, (uint64_t{1} << 62) + (uint64_t{1} << 38) + 1), f32(0x1.000002p62f));
  EXPECT_EQ(convert(DType::int64, DType::f32, static_cast<uint64_t>(INT64_MIN)), f32(-0x1p63f));
  EXPECT_EQ(convert(DType::uint64, DType::f64, ~uint64_t{0}), f64(0x1p64));
}

// The 16-bit float nearest to an exact value, found by search over all of them.
uint16_t nearest_f16(long double exact) {
  uint16_t best = 0;
  long double distance = INFINITY;
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const long double d = fabsl(f16_to_f32(static_cast<uint16_t>(bits)) - fabsl(exact));
    if (d < distance || (d == distance && !(bits & 1))) {
      best = static_cast<uint16_t>(bits);
      distance = d;
    }
  }
  return static_cast<uint16_t>(best | (exact < 0 ? 0x8000 : 0));
}

TEST(Evaluate, HalfFloatsAreTheNearestToTheExactResult) {
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    const auto a = static_cast<uint16_t>(random() % 0x6000), b = static_cast<uint16_t>(0x8000 | (random() % 0x6000));
    const auto c = static_cast<uint16_t>(random() % 0x6000);
    const long double x = f16_to_f32(a), y = f16_to_f32(b), z = f16_to_f32(c);
    const std::pair<long double, uint64_t> cases[] = {{x + y, run(Op::add, DType::f16, a, b)},
                                                      {x * y, run(Op::mul, DType::f16, a, b)},
                                                      {x * y + z, run(Op::fma, DType::f16, a, b, c)}};
    for (const auto& [exact, got] : cases) {
      if (exact == 0 || fabsl(exact) >= 65504) continue;
      EXPECT_EQ(got, nearest_f16(exact)) << a << " " << b << " " << c;
    }
  }
}

TEST(Evaluate, FusedMultiplyAddRoundsOnce) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200000; ++i) {
    const uint32_t a = static_cast<uint32_t>(random()), b = static_cast<uint32_t>(random()),
                   c = static_cast<uint32_t>(random());
    const float want = std::fma(as_f32(a), as_f32(b), as_f32(c));
    const uint64_t got = scalar_function(Op::fma, DType::f32, DType::f32)(a, b, c);
    ASSERT_EQ(got, std::isnan(want) ? 0x7fc00000u : f32(want)) << std::hex << a << " " << b << " " << c;
  }
}

TEST(Evaluate, SinglePrecisionArithmeticEqualsTheMachines) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 200000; ++i) {
    const uint32_t a = static_cast<uint32_t>(random()), b = static_cast<uint32_t>(random());
    const float x = as_f32(a), y = as_f32(b);
    const std::pair<Op, float> cases[] = {
        {Op::add, x + y}, {Op::sub, x - y}, {Op::mul, x * y}, {Op::div, x / y}, {Op::sqrt, std::sqrt(x)}};
    for (const auto& [op, want] : cases) {
      const uint64_t got = scalar_function(op, DType::f32, DType::f32)(a, b, 0);
      ASSERT_EQ(got, std::isnan(want) ? 0x7fc00000u : f32(want)) << op_row(op).text << std::hex << " " << a << " " << b;
    }
  }
}

TEST(Evaluate, NegationAndAbsoluteValueOnlyTouchTheSign) {
  EXPECT_EQ(run(Op::neg, DType::f32, 0x7fc12345u), 0xffc12345u);
  EXPECT_EQ(run(Op::abs, DType::bf16, 0xff81u), 0x7f81u);
  EXPECT_EQ(run(Op::neg, DType::f16, 0), 0x8000u);
}

TEST(Evaluate, TheThreadsRoundingModeAndFlushToZeroChangeNothing) {
  const uint64_t tenth = f32(0.1f), third = f32(1.f / 3), tiny = 1;  // tiny: the least subnormal
  const auto all = [&] {
    return std::vector<uint64_t>{run(Op::add, DType::f32, tenth, third),
                                 run(Op::div, DType::f32, tenth, third),
                                 run(Op::exp, DType::f32, third),
                                 run(Op::round, DType::f32, f32(2.5f)),
                                 run(Op::add, DType::f32, tiny, tiny),
                                 run(Op::fma, DType::f32, tenth, third, tenth),
                                 run(Op::mul, DType::f64, f64(0.1), f64(0.3)),
                                 convert(DType::f64, DType::f32, f64(0.1)),
                                 convert(DType::f64, DType::bf16, f64(0.1)),
                                 convert(DType::int64, DType::f32, 0x7fffffffffull)};
  };
  const auto want = all();
  for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const auto got = all();
    EXPECT_EQ(std::fegetround(), mode) << "the caller's mode is left as it was";
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(got, want);
  }
#if defined(__x86_64__)
  const unsigned saved = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(saved | 0x8040);
  const auto flushed = all();
  __builtin_ia32_ldmxcsr(saved);
  EXPECT_EQ(flushed, want);
#endif
}

TEST(Evaluate, TypesThatAreOnlyStoredAreConverted) {
  Arena arena;
  const uint64_t one[] = {0x38};
  EXPECT_EQ(evaluate(*arena.cast(arena.variable(0, DType::e4m3), DType::f32), one), 0x3f800000u);
  const uint64_t large[] = {0x7f7fffff};
  EXPECT_EQ(evaluate(*arena.cast(arena.variable(0, DType::f32), DType::e5m2), large), 0x7bu);
  EXPECT_EQ(evaluate(*arena.cast_nonsat(arena.variable(0, DType::f32), DType::e5m2), large), 0x7cu);
  EXPECT_EQ(evaluate(*arena.cast_nonsat(arena.variable(0, DType::f32), DType::e4m3), large), 0x7fu);
  EXPECT_FALSE(scalar_function(Op::add, DType::e4m3, DType::e4m3));
  const uint64_t fine[] = {0x3f801001};  // above the middle of two neighbours; 0x3f801000 is the middle, 0x3f800000 even
  EXPECT_EQ(evaluate(*arena.cast(arena.variable(0, DType::f32), DType::tf32), fine), 0x3f802000u);
  const uint64_t middle[] = {0x3f801000};
  EXPECT_EQ(evaluate(*arena.cast(arena.variable(0, DType::f32), DType::tf32), middle), 0x3f800000u);
  EXPECT_FALSE(can_evaluate(DType::none));
  EXPECT_FALSE(evaluate(*arena.variable(0, DType::f32), {}));
}

TEST(Evaluate, ElementsSurviveMemory) {
  for (DType dtype :
       {DType::boolean, DType::int8, DType::uint8, DType::int16, DType::int32, DType::int64, DType::f16, DType::f32}) {
    unsigned char memory[8] = {};
    const uint64_t bits = dtype == DType::boolean ? 1 : dtype_is_signed(dtype) ? static_cast<uint64_t>(-5) : 0x7b;
    store_element(dtype, memory, bits);
    EXPECT_EQ(load_element(dtype, memory), bits) << dtype_text(dtype);
  }
}

}  // namespace
}  // namespace tilert::ir
