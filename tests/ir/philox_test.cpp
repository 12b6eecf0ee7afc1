// The generator against the known answers that come with its authors' library (Random123, kat_vectors, "philox4x32 10"), and
// the scalar operations against the generator.
#include "ir/philox.h"

#include <gtest/gtest.h>

#include "ir/evaluate.h"

namespace tilert::ir {
namespace {

using Words = std::array<uint32_t, 4>;

uint64_t pair(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }

TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(pair(0xa4093822, 0x299f31d0), pair(0x243f6a88, 0x85a308d3), pair(0x13198a2e, 0x03707344)),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, AnOperationGivesOneWordOfIt) {
  Arena arena;
  const auto number = [&](uint64_t n) { return arena.constant(DType::int64, n); };
  const uint64_t seed = pair(0xa4093822, 0x299f31d0), counter = ~uint64_t{0}, stream = 7;
  const Op words[] = {Op::philox0, Op::philox1, Op::philox2, Op::philox3};
  for (size_t i = 0; i < 4; ++i) {
    const Expr draw = arena.make(words[i], {number(seed), number(counter), number(stream)});
    EXPECT_EQ(draw->dtype, DType::int64);
    const uint64_t operands[] = {seed, counter, stream};
    EXPECT_EQ(evaluate(*draw, operands), philox(seed, counter, stream)[i]);
  }
  const Expr narrow = arena.constant(DType::int32, 1);
  const Expr operands[] = {narrow, narrow, narrow};
  EXPECT_FALSE(well_typed(Op::philox0, operands));
}

}  // namespace
}  // namespace tilert::ir
