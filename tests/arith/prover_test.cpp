// What the prover proves, and what it must leave unproved.
#include "arith/prover.h"

#include <gtest/gtest.h>

#include "arith/build.h"

namespace tilert::arith {
namespace {

struct ProverTest : testing::Test {
  ir::Program program;
  ir::Arena& arena = *program.arena;
  ir::Expr m, k, i;
  ProverTest() {
    const auto dim = [&](const char* name, int64_t divisible) {
      const ir::VarId id = program.add_var(ir::VarKind::dim, DType::index, name);
      program.dims.push_back({id, {}, {}, divisible});
      return program.var(id);
    };
    m = dim("M", 1);
    k = dim("K", 16);
    i = program.var(program.add_var(ir::VarKind::loop, DType::index, "i"));
  }
};

TEST_F(ProverTest, DimsAreNotNegativeAndKeepTheirPromise) {
  const Facts facts(program);
  Prover prover(arena, facts);
  EXPECT_TRUE(prover.prove(le(arena, arena.index(0), m)));
  EXPECT_FALSE(prover.prove(lt(arena, arena.index(0), m)));
  EXPECT_TRUE(prover.multiple_of(add(arena, mul(arena, m, 32), k), 16));
  EXPECT_FALSE(prover.multiple_of(m, 2));
}

TEST_F(ProverTest, GivenDimsAreConstants) {
  program.dims[0].value = 100;
  const Facts facts(program);
  Prover prover(arena, facts);
  EXPECT_EQ(prover.simplify(ceildiv(arena, m, 32)), arena.index(4));
  EXPECT_TRUE(prover.fits_int32(mul(arena, m, 1000)));
}

TEST_F(ProverTest, WhatHoldsInAScopeEndsWithIt) {
  Facts facts(program);
  Prover prover(arena, facts);
  {
    FactsScope scope(facts);
    facts.bound_loop(i, arena.index(0), ceildiv(arena, m, 32));
    EXPECT_TRUE(prover.prove(lt(arena, i, ceildiv(arena, m, 32))));
    EXPECT_TRUE(prover.prove(le(arena, arena.index(0), i)));
    facts.assume(le(arena, add(arena, mul(arena, i, 32), 32), m));
    EXPECT_TRUE(prover.prove(lt(arena, add(arena, mul(arena, i, 32), 31), m)));
    EXPECT_FALSE(prover.prove(lt(arena, add(arena, mul(arena, i, 32), 32), m)));
  }
  EXPECT_FALSE(prover.prove(le(arena, arena.index(0), i)));
}

TEST_F(ProverTest, IndexWidthCountsEveryIntermediateValue) {
  Facts facts(program);
  facts.bound(m, 0, 1 << 20);
  Prover prover(arena, facts);
  EXPECT_TRUE(prover.fits_int32(mul(arena, m, 1000)));
  EXPECT_FALSE(prover.fits_int32(floordiv(arena, mul(arena, m, 1 << 12), 1 << 12)));
  EXPECT_FALSE(prover.fits_int32(mul(arena, k, 4)));
}

TEST_F(ProverTest, ClippedCountsStayWithinTheTile) {
  Facts facts(program);
  Prover prover(arena, facts);
  const ir::Expr count = max(arena, min(arena, sub(arena, m, mul(arena, i, 128)), 128), 0);
  EXPECT_EQ(prover.bounds(count).low, 0);
  EXPECT_EQ(prover.bounds(count).high, 128);
}

TEST_F(ProverTest, ContradictionsLeaveRangesUsable) {
  Facts facts(program);
  facts.assume(lt(arena, i, 0));
  facts.assume(lt(arena, arena.index(5), i));
  EXPECT_FALSE(facts.range(i).empty());
}

}  // namespace
}  // namespace tilert::arith
