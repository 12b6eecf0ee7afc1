// Affine forms: canonical and value-preserving; strides, differences and splits read from them.
#include "arith/affine.h"

#include <gtest/gtest.h>

#include "arith/build.h"
#include "random_expr.h"

namespace tilert::arith {
namespace {

TEST(Affine, FormsAreCanonicalAndKeepTheValue) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    ir::Arena arena;
    test::Generator g(arena, seed);
    const DType d = seed % 3 == 0 ? DType::int8 : seed % 3 == 1 ? DType::int32 : DType::index;
    const ir::Expr e = g.expr(d, 5);
    const Affine form = affine(arena, e);
    const ir::Expr back = to_expr(arena, form);
    ASSERT_EQ(affine(arena, back), form) << test::print(e) << " -> " << test::print(back);
    for (int trial = 0; trial < 10; ++trial) {
      test::Values values;
      for (ir::Expr v : g.variables) values[v->var()] = g.value(v->dtype);
      bool exact = true;
      const uint64_t before = test::evaluate(e, values, exact);
      const uint64_t after = test::evaluate(back, values, exact);
      if (!exact) continue;
      ASSERT_EQ(before, after) << test::print(e) << " -> " << test::print(back);
    }
  }
}

struct AffineTest : testing::Test {
  ir::Arena arena;
  ir::Expr i = arena.variable(0, DType::index), j = arena.variable(1, DType::index), n = arena.variable(2, DType::index);
};

TEST_F(AffineTest, StridesOfRuntimeSizeAreFound) {
  const ir::Expr e = add(arena, mul(arena, add(arena, mul(arena, j, 128), i), n), j);
  const auto in_i = linear_in(arena, e, i->var());
  ASSERT_TRUE(in_i);
  EXPECT_EQ(in_i->stride, n);
  const auto in_j = linear_in(arena, e, j->var());
  ASSERT_TRUE(in_j);
  EXPECT_EQ(affine(arena, in_j->stride), affine(arena, add(arena, mul(arena, n, 128), 1)));
  EXPECT_EQ(in_j->base, mul(arena, i, n));
  EXPECT_FALSE(linear_in(arena, mul(arena, i, i), i->var()));
  EXPECT_FALSE(linear_in(arena, floordiv(arena, i, 3), i->var()));
}

TEST_F(AffineTest, DifferencesOfEqualTermsAreConstants) {
  const ir::Expr a = add(arena, mul(arena, add(arena, i, 3), n), 7), b = add(arena, mul(arena, i, n), mul(arena, n, 3));
  EXPECT_EQ(constant_difference(arena, a, b), 7);
  EXPECT_FALSE(constant_difference(arena, i, j));
}

TEST_F(AffineTest, SplitTakesWholeMultiplesOnly) {
  const Affine a = affine(arena, add(arena, add(arena, mul(arena, i, 32), mul(arena, j, 20)), 37));
  const Split s = split(a, 16);
  EXPECT_EQ(s.quotient.coefficient(i), 2);
  EXPECT_EQ(s.quotient.constant, 2);
  EXPECT_EQ(s.remainder.coefficient(j), 20);
  EXPECT_EQ(s.remainder.constant, 5);
  EXPECT_EQ(s.quotient * 16 + s.remainder, a);
}

}  // namespace
}  // namespace tilert::arith
