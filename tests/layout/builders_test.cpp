// Post-conditions of the builders, by enumeration over many shapes and thread counts.
#include "layout/fragment_builders.h"

#include <gtest/gtest.h>

#include <set>

#include "layout/random_maps.h"
#include "layout/reduce_plan.h"

namespace tilert {
namespace {

using namespace test;

const int64_t kExtents[] = {1, 2, 3, 5, 8, 16, 24, 32, 64, 96, 97, 128, 192, 229, 256, 257, 576};

// Each logical element is held, equally often, and by different threads.
void expect_partition(const FragmentMap& map, int64_t threads) {
  ASSERT_TRUE(map.is_valid()) << map.text();
  ASSERT_EQ(map.threads(), threads);
  const int64_t slots = map.registers() * map.threads(), elements = product(map.padded_shape());
  ASSERT_EQ(slots % elements, 0);
  std::vector<int64_t> held(static_cast<size_t>(elements)), padded = map.padded_shape();
  for_each_slot(map, [&](int64_t, int64_t, const std::vector<int64_t>& coords) {
    int64_t index = 0;
    for (size_t d = 0; d < coords.size(); d++) index = index * padded[d] + coords[d];
    held[static_cast<size_t>(index)]++;
  });
  for (int64_t count : held) ASSERT_EQ(count, slots / elements) << map.text();
}

// Registers that a thread needs at least, and how far the map is from it.
int64_t least_registers(const FragmentMap& map) {
  return (product(map.shape()) + map.threads() - 1) / map.threads();
}

TEST(BlockedMap, EveryVectorShapeIsHeldByAllThreadCounts) {
  for (int64_t n : kExtents) {
    for (int64_t threads : {1, 8, 32, 64, 96, 128, 256, 384}) {
      for (int64_t vector : {1, 4, 8}) {
        FragmentMap map = blocked_map({n}, threads, vector, 32);
        expect_partition(map, threads);
        ASSERT_EQ(map.trimmed(), map) << map.text();
      }
    }
  }
}

TEST(BlockedMap, EveryMatrixShapeIsHeldWithLittlePadding) {
  for (int64_t m : kExtents) {
    for (int64_t n : kExtents) {
      for (int64_t threads : {64, 128, 256, 384}) {
        FragmentMap map = blocked_map({m, n}, threads, 8, 32);
        ASSERT_TRUE(map.is_valid()) << map.text();
        ASSERT_EQ(map.threads(), threads);
        // A dim is padded by one thread digit at most, and what a thread holds stays within three times the least.
        const int64_t largest_digit = threads % 3 == 0 ? 3 : 2;
        ASSERT_LT(map.padded_shape()[0], largest_digit * m + (m == 1)) << map.text();
        ASSERT_LT(map.padded_shape()[1], largest_digit * n + (n == 1)) << map.text();
        ASSERT_LE(map.registers(), 3 * least_registers(map) + 8) << map.text();
      }
    }
  }
  for (int64_t m : {3, 16, 97}) {
    for (int64_t n : {8, 24, 229}) expect_partition(blocked_map({m, n}, 128, 8, 32), 128);
  }
}

TEST(BlockedMap, PowersOfTwoHaveNoPaddingAndNoCopies) {
  for (int64_t m = 8; m <= 256; m *= 2) {
    for (int64_t n = 32; n <= 256; n *= 2) {
      FragmentMap map = blocked_map({m, n}, 128, 8, 32);
      ASSERT_EQ(map.padded_shape(), map.shape());
      if (m * n >= 128) {
        ASSERT_EQ(map.registers(), m * n / 128) << map.text();
      }
    }
  }
}

TEST(BlockedMap, NeighbouringLanesHoldNeighbouringVectors) {
  FragmentMap map = blocked_map({128, 64}, 128, 8, 32);
  for (int64_t t = 0; t < 128; t++) {
    for (int64_t v = 0; v < 8; v++) {
      const std::vector<int64_t> coords = map.evaluate(v, t);
      ASSERT_EQ(coords[0] * 64 + coords[1], t * 8 + v) << map.text();
    }
  }
  FragmentMap row = blocked_map({257}, 64, 4, 32);
  for (int64_t t = 0; t < 64; t++) ASSERT_EQ(row.evaluate(0, t)[0], t);
}

TEST(BlockedMap, RankThreeScalarsAndEmptyTilesAreMaps) {
  expect_partition(blocked_map({3, 5, 24}, 128, 4, 32), 128);
  expect_partition(blocked_map({2, 2, 2, 2}, 256, 2, 32), 256);
  FragmentMap scalar = blocked_map({}, 128, 4, 32);
  EXPECT_EQ(scalar.registers(), 1);
  EXPECT_EQ(scalar.threads(), 128);
  EXPECT_TRUE(blocked_map({0, 16}, 128, 4, 32).is_valid());
}

TEST(BlockedMap, LinesThatAreReducedStayInAWarpWhereThereAreEnough) {
  for (int64_t columns : {256, 576, 1000, 1024}) {
    const int64_t threads = 256;
    const auto split = [&](int together) {
      const ReducePlan plan = plan_reduce(blocked_map({8, columns}, threads, 1, 32, together), 1);
      return plan.parts;
    };
    EXPECT_GT(split(-1), 1) << columns;
    EXPECT_EQ(split(1), 1) << columns;
  }
  // A single line is still for all warps.
  EXPECT_EQ(blocked_map({1, 8192}, 256, 8, 32, 1), blocked_map({1, 8192}, 256, 8, 32));
}

TEST(BesideMap, KeepsTheKnownElementsWhereTheyAreAndHoldsTheRest) {
  for (int64_t rows : {1, 3, 8, 24, 64}) {
    for (int64_t source : {32, 97, 256}) {
      const FragmentMap known = plan_reduce(blocked_map({rows, source}, 128, 4, 32, 1), 1).result;
      for (int64_t columns : {1, 2, 5, 8, 24, 64, 229}) {
        for (int64_t vector : {1, 4}) {
          const FragmentMap map = beside_map(known, {0}, {rows, columns}, vector);
          expect_partition(map, 128);
          // Whoever holds an element of a row holds the known one's element of that row.
          std::vector<std::set<int64_t>> holders(static_cast<size_t>(known.padded_shape()[0]));
          for_each_slot(known, [&](int64_t, int64_t thread, const std::vector<int64_t>& at) { holders[static_cast<size_t>(at[0])].insert(thread); });
          for_each_slot(map, [&](int64_t, int64_t thread, const std::vector<int64_t>& at) {
            ASSERT_TRUE(holders[static_cast<size_t>(at[0])].count(thread)) << map.text();
          });
        }
      }
    }
  }
}

TEST(ReplicatedMap, EveryThreadHoldsEverything) {
  FragmentMap map = replicated_map({3, 7}, 96, 32);
  expect_partition(map, 96);
  EXPECT_EQ(map.registers(), 21);
  EXPECT_EQ(map.evaluate(1, 5), (std::vector<int64_t>{0, 1}));
}

TEST(AccumulatorMap, WarpGridsPartitionAnyTile) {
  const Atom& atom = *find_atom("mma_m16n8k16_f16");
  for (int64_t m : {16, 24, 64, 96, 128}) {
    for (int64_t n : {8, 24, 96, 97, 192}) {
      for (WarpGrid grid : {WarpGrid{1, 1}, WarpGrid{2, 2}, WarpGrid{4, 1}, WarpGrid{1, 3}, WarpGrid{3, 2}}) {
        FragmentMap map = accumulator_map(atom, m, n, grid);
        expect_partition(map, 32 * grid.groups());
        ASSERT_FALSE(map.is_replicated());
      }
    }
  }
}

TEST(AccumulatorMap, RegistersAreAtomsAlongNThenAlongM) {
  const Atom& atom = *find_atom("mma_m16n8k16_bf16");
  const WarpGrid grid{2, 2};
  FragmentMap map = accumulator_map(atom, 64, 96, grid);
  FragmentMap one({16, 8}, atom.c_digits());
  const AtomCounts counts = atom_counts(atom, 64, 96, 32, grid);
  ASSERT_EQ(counts.m, 2);
  ASSERT_EQ(counts.n, 6);
  ASSERT_EQ(counts.k, 2);
  for (int64_t im = 0; im < counts.m; im++) {
    for (int64_t in = 0; in < counts.n; in++) {
      for (int64_t r = 0; r < 4; r++) {
        for (int64_t t = 0; t < 128; t++) {
          const int64_t warp = t / 32, wm = warp % 2, wn = warp / 2;
          std::vector<int64_t> expected = one.evaluate(r, t % 32);
          expected[0] += (wm * counts.m + im) * 16;
          expected[1] += (wn * counts.n + in) * 8;
          ASSERT_EQ(map.evaluate(r + 4 * (in + counts.n * im), t), expected);
        }
      }
    }
  }
}

TEST(AccumulatorMap, SplitAlongKHoldsParts) {
  FragmentMap map = accumulator_map(*find_atom("mma_m16n8k16_f16"), 32, 16, {.m = 2, .n = 1, .k = 2});
  EXPECT_TRUE(map.is_partial());
  EXPECT_EQ(map.threads(), 128);
  EXPECT_FALSE(map.completed().is_partial());
  EXPECT_EQ(map.evaluate(1, 5), map.evaluate(1, 5 + 64));
}

TEST(AccumulatorMap, WarpgroupsStackAlongRowsAndWidthsArePadded) {
  const Atom& atom = *find_atom("wgmma_m64k16_bf16");
  FragmentMap map = accumulator_map(atom, 128, 256, {.m = 2});
  expect_partition(map, 256);
  EXPECT_EQ(map.registers(), 128);
  for (int64_t t = 0; t < 256; t++) {
    for (int64_t r = 0; r < 128; r += 7) {
      const int64_t w = t / 32, l = t % 32;
      ASSERT_EQ(map.evaluate(r, t), (std::vector<int64_t>{16 * w + l / 4 + 8 * (r / 2 % 2), 8 * (r / 4) + 2 * (l % 4) + r % 2}));
    }
  }
  for (int64_t n : {8, 24, 96, 97, 192, 229, 257, 576}) expect_partition(accumulator_map(atom, 64, n, {}), 128);
  for (int64_t n : {40, 96, 104}) expect_partition(accumulator_map(*find_atom("wgmma_m64k32_s8"), 192, n, {.m = 3}), 384);
}

TEST(OperandMaps, OperandsAreHeldOnceByEachGroupThatSharesThem) {
  const Atom& atom = *find_atom("mma_m16n8k16_f16");
  const WarpGrid grid{2, 3};
  FragmentMap a = a_operand_map(atom, 64, 48, grid), b = b_operand_map(atom, 48, 96, grid);
  expect_partition(a, 192);
  expect_partition(b, 192);
  for (const auto& [coords, count] : count_holders(a)) ASSERT_EQ(count, grid.n);
  for (const auto& [coords, count] : count_holders(b)) ASSERT_EQ(count, grid.m);
  expect_partition(a_operand_map(*find_atom("wgmma_m64k16_f16"), 128, 64, {.m = 2}), 256);
}

TEST(OperandMaps, ATileAndItsProductLieInTheSameRowsOfAWarp) {
  const Atom& atom = *find_atom("mma_m16n8k16_bf16");
  const WarpGrid grid{2, 2};
  FragmentMap a = a_operand_map(atom, 96, 32, grid), c = accumulator_map(atom, 96, 64, grid);
  for (int64_t warp = 0; warp < 4; warp++) {
    std::set<int64_t> rows_a, rows_c;
    for (int64_t lane = 0; lane < 32; lane++) {
      for (int64_t r = 0; r < a.registers(); r++) rows_a.insert(a.evaluate(r, warp * 32 + lane)[0]);
      for (int64_t r = 0; r < c.registers(); r++) rows_c.insert(c.evaluate(r, warp * 32 + lane)[0]);
    }
    ASSERT_EQ(rows_a, rows_c);
  }
}

}  // namespace
}  // namespace tilert
