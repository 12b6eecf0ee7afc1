// The simplifier on given and random expressions: same value, idempotent, same node when unchanged.
#include "arith/simplify.h"

#include <gtest/gtest.h>


#include "arith/build.h"
#include "random_expr.h"

namespace tilert::arith {
namespace {

using test::Generator;
using test::print;

struct RandomCase : testing::TestWithParam<DType> {};

TEST_P(RandomCase, SimplifiedExpressionsKeepTheirValueAndAreFixpoints) {
  int changed = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    ir::Arena arena;
    Generator g(arena, seed * 7919 + static_cast<unsigned>(GetParam()));
    Facts facts(arena);
    Simplifier simplifier(arena, facts);
    const ir::Expr e = g.expr(GetParam(), 5);
    const ir::Expr s = simplifier.simplify(e);
    changed += s != e;
    Simplifier fresh(arena, facts);
    ASSERT_EQ(fresh.simplify(s), s) << "seed " << seed << ": " << print(e) << " -> " << print(s) << " -> " << print(fresh.simplify(s));
    ASSERT_EQ(s->dtype, e->dtype);
    for (int trial = 0; trial < 40; ++trial) {
      test::Values values;
      for (ir::Expr v : g.variables) values[v->var()] = g.value(v->dtype);
      bool exact = true;
      const uint64_t before = test::evaluate(e, values, exact), after = test::evaluate(s, values, exact);
      if (!exact) continue;
      ASSERT_TRUE(test::same_value(e->dtype, before, after))
          << "seed " << seed << ": " << print(e) << " = " << static_cast<int64_t>(before) << " but " << print(s) << " = "
          << static_cast<int64_t>(after);
    }
  }
  EXPECT_GT(changed, 200);  // the expressions are ones the simplifier has something to do with
}

INSTANTIATE_TEST_SUITE_P(Dtypes, RandomCase,
                         testing::Values(DType::index, DType::int32, DType::int64, DType::int8, DType::boolean, DType::f32,
                                         DType::f16),
                         [](const auto& info) { return std::string(dtype_text(info.param)); });

// The same with what is known of the variables, by which much more folds.
TEST(SimplifyRandom, KeepsValuesUnderFacts) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    ir::Arena arena;
    Generator g(arena, seed);
    Facts facts(arena);
    std::vector<Range> ranges;
    for (ir::Expr v : g.variables) {
      Range r;
      if (dtype_is_integer(v->dtype) && g.pick(2)) {
        const int64_t low = g.pick(40) - 20;
        r = Range::between(low, low + g.pick(20));
        if (g.pick(3) == 0) r = both(r, Range{kMinusInfinity, kPlusInfinity, 4, g.pick(4)});
        if (r.empty()) r = Range::between(low, low + 4);
        facts.bound(v, r.low, r.high);
        if (r.modulus > 1) facts.congruent(v, r.modulus, r.remainder);
      }
      ranges.push_back(r);
    }
    const ir::Expr condition = g.condition(2);
    facts.assume(condition);
    Simplifier simplifier(arena, facts);
    const DType kinds[] = {DType::index, DType::int32, DType::boolean, DType::int8};
    const ir::Expr e = g.expr(kinds[seed % 4], 5);
    const ir::Expr s = simplifier.simplify(e);
    EXPECT_EQ(Simplifier(arena, facts).simplify(s), s) << print(e);
    for (int trial = 0; trial < 60; ++trial) {
      test::Values values;
      for (size_t i = 0; i < g.variables.size(); ++i) {
        const ir::Expr v = g.variables[i];
        const Range& r = ranges[i];
        uint64_t value = g.value(v->dtype);
        if (r.is_finite()) {
          int64_t x = r.low + g.pick(static_cast<int>(r.high - r.low + 1));
          while (!r.contains(x)) x = x == r.high ? r.low : x + 1;
          value = static_cast<uint64_t>(x);
        }
        values[v->var()] = value;
      }
      bool exact = true;
      if (test::evaluate(condition, values, exact) == 0) continue;
      const uint64_t before = test::evaluate(e, values, exact), after = test::evaluate(s, values, exact);
      if (!exact) continue;
      ASSERT_TRUE(test::same_value(e->dtype, before, after))
          << "seed " << seed << " under " << print(condition) << ": " << print(e) << " = " << static_cast<int64_t>(before)
          << " but " << print(s) << " = " << static_cast<int64_t>(after);
    }
  }
}

struct Simplify : testing::Test {
  ir::Arena arena;
  Facts facts{arena};
  ir::Expr i = arena.variable(0, DType::index), j = arena.variable(1, DType::index), m = arena.variable(2, DType::index);
  ir::Expr a = arena.variable(3, DType::int32), b = arena.variable(4, DType::int32);
  ir::Expr x = arena.variable(5, DType::f32), y = arena.variable(6, DType::f32);
  ir::Expr done(ir::Expr e) { return Simplifier(arena, facts).simplify(e); }
  ir::Expr n(int64_t v) { return arena.index(v); }
};

TEST_F(Simplify, DivisionSplitsTileFromLane) {
  facts.bound(j, 0, 15);
  const ir::Expr e = add(arena, mul(arena, i, 16), j);
  EXPECT_EQ(done(floordiv(arena, e, 16)), i);
  EXPECT_EQ(done(mod(arena, e, 16)), j);
  EXPECT_EQ(done(floordiv(arena, e, 8)), done(add(arena, mul(arena, i, 2), floordiv(arena, j, 8))));
  EXPECT_EQ(done(add(arena, mul(arena, floordiv(arena, e, 4), 4), mod(arena, e, 4))), done(e));
}

TEST_F(Simplify, Int32DivisionWaitsForAProofThatNothingWraps) {
  const ir::Expr e = floordiv(arena, mul(arena, a, 16), 16);
  EXPECT_NE(done(e), a);
  facts.bound(a, -1000, 1000);
  EXPECT_EQ(done(e), a);
}

TEST_F(Simplify, ComparisonsCancelWhatBothSidesShare) {
  const ir::Expr base = mul(arena, m, 128);
  EXPECT_EQ(done(lt(arena, add(arena, base, i), add(arena, base, j))), lt(arena, i, j));
  EXPECT_EQ(done(lt(arena, mul(arena, i, 4), 9)), lt(arena, i, 3));
  EXPECT_EQ(done(arena.make(ir::Op::eq, {mul(arena, i, 4), n(6)})), arena.boolean(false));
}

TEST_F(Simplify, KnownConditionsDecideOthers) {
  facts.bound(i, 0, 127);
  facts.assume(lt(arena, i, min(arena, sub(arena, m, mul(arena, j, 128)), 128)));
  EXPECT_EQ(done(lt(arena, add(arena, mul(arena, j, 128), i), m)), arena.boolean(true));
  EXPECT_EQ(done(lt(arena, add(arena, mul(arena, j, 128), i), sub(arena, m, 5))),
            done(lt(arena, add(arena, mul(arena, j, 128), i), sub(arena, m, 5))));
}

TEST_F(Simplify, FloatsKeepNanSignedZeroAndRounding) {
  EXPECT_EQ(done(sub(arena, x, x))->op, ir::Op::sub);                          // NaN - NaN, inf - inf
  EXPECT_EQ(done(arena.make(ir::Op::mul, {x, arena.f32(0)}))->op, ir::Op::mul);  // -1 * 0
  EXPECT_EQ(done(arena.make(ir::Op::add, {x, arena.f32(0)}))->op, ir::Op::add);  // -0 + 0
  EXPECT_EQ(done(arena.make(ir::Op::add, {x, arena.f32(-0.0f)})), x);
  EXPECT_EQ(done(arena.make(ir::Op::eq, {x, x}))->op, ir::Op::eq);
  EXPECT_EQ(done(arena.make(ir::Op::logical_not, {lt(arena, x, y)}))->op, ir::Op::logical_not);
}

TEST_F(Simplify, CastsOfProvedSumsMoveInside) {
  facts.bound(a, 0, 1000);
  facts.bound(b, 0, 1000);
  const ir::Expr wide = arena.cast(add(arena, mul(arena, a, 8), b), DType::index);
  EXPECT_EQ(done(wide), done(add(arena, mul(arena, arena.cast(a, DType::index), 8), arena.cast(b, DType::index))));
  EXPECT_EQ(done(arena.cast(arena.cast(a, DType::index), DType::int32)), a);
}

TEST_F(Simplify, UnchangedNodesKeepTheirIdentity) {
  const ir::Expr e = add(arena, mul(arena, i, 16), j);
  EXPECT_EQ(done(e), e);
  const ir::Expr select_e = select(arena, lt(arena, i, j), x, y);
  EXPECT_EQ(done(select_e), select_e);
}

}  // namespace
}  // namespace tilert::arith
