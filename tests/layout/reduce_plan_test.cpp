// Reduction plans executed on data: each logical element counts exactly once, at every stage of the plan.
#include "layout/reduce_plan.h"

#include <gtest/gtest.h>

#include "layout/atoms.h"
#include "layout/fragment_builders.h"
#include "layout/simulate.h"

namespace tilert {
namespace {

using namespace test;

using Totals = std::map<std::vector<int64_t>, int64_t>;

// Sum of the labels along dim, by coordinates.
Totals expected_totals(const FragmentMap& source, int dim) {
  Totals totals;
  std::vector<int64_t> coords(source.shape().size());
  for (int64_t index = 0; index < product(source.shape()); index++) {
    int64_t rest = index;
    for (size_t d = coords.size(); d-- > 0; rest /= source.shape()[d]) coords[d] = rest % source.shape()[d];
    std::vector<int64_t> kept = coords;
    kept.erase(kept.begin() + dim);
    totals[kept] += label_of(coords);
  }
  return totals;
}

Data fold_registers(const ReducePlan& plan, const Data& data) {
  Data folded(data.size(), std::vector<int64_t>(plan.source_base.size()));
  for (size_t t = 0; t < data.size(); t++) {
    for (size_t r = 0; r < plan.source_base.size(); r++) {
      for (int64_t offset : plan.fold_offsets) folded[t][r] += data[t][static_cast<size_t>(plan.source_base[r] + offset)];
    }
  }
  return folded;
}

// Over all parts of each element, one holder per part, the data add up to the totals.
void expect_parts(const FragmentMap& map, const Data& data, const Totals& totals) {
  ASSERT_TRUE(map.is_valid()) << map.text();
  std::map<std::vector<int64_t>, std::map<int64_t, int64_t>> parts;
  for_each_slot(map, [&](int64_t r, int64_t t, const std::vector<int64_t>& coords) {
    if (!inside(coords, map.shape())) return;
    const int64_t value = data[static_cast<size_t>(t)][static_cast<size_t>(r)];
    const auto [slot, fresh] = parts[coords].emplace(part_of(map, t), value);
    ASSERT_EQ(slot->second, value) << "copies differ";
  });
  ASSERT_EQ(parts.size(), totals.size());
  for (const auto& [coords, held] : parts) {
    int64_t sum = 0;
    for (const auto& [part, value] : held) sum += value;
    ASSERT_EQ(sum, totals.at(coords)) << map.text();
  }
}

Data add_over_warps(const ReducePlan& plan, const Data& data) {
  std::map<std::pair<int64_t, std::vector<int64_t>>, int64_t> scratch;
  for_each_slot(plan.lanes, [&](int64_t r, int64_t t, const std::vector<int64_t>& coords) {
    if (!inside(coords, plan.lanes.shape())) return;
    const int64_t part = sum_of_terms(plan.part_terms, t);
    EXPECT_LT(part, plan.parts);
    scratch[{part, coords}] = data[static_cast<size_t>(t)][static_cast<size_t>(r)];
  });
  EXPECT_EQ(static_cast<int64_t>(scratch.size()), plan.parts * product(plan.result.shape()));
  Data summed = data;
  for_each_slot(plan.result, [&](int64_t r, int64_t t, const std::vector<int64_t>& coords) {
    if (!inside(coords, plan.result.shape())) return;
    int64_t& sum = summed[static_cast<size_t>(t)][static_cast<size_t>(r)] = 0;
    for (int64_t part = 0; part < plan.parts; part++) sum += scratch[{part, coords}];
  });
  return summed;
}

void expect_reduces(const FragmentMap& source, int dim) {
  const ReducePlan plan = plan_reduce(source, dim);
  const Totals totals = expected_totals(source, dim);
  Data data = fold_registers(plan, make_data(source, 0));
  expect_parts(plan.partial, data, totals);
  Data partial = data;
  add_over_lanes(data, plan.lane_xor);
  expect_parts(plan.lanes, data, totals);
  if (plan.parts > 1) {
    ASSERT_EQ(plan.scratch_elements, plan.parts * product(plan.result.shape()));
    data = add_over_warps(plan, data);
  }
  ASSERT_FALSE(plan.result.is_partial());
  expect_parts(plan.result, data, totals);
  // A sum left partial and completed by a later conversion is the same.
  const Data completed = run_conversion(plan_conversion(plan.partial, plan.result, 4), partial);
  expect_parts(plan.result, completed, totals);
}

TEST(ReducePlan, EachElementCountsOnceOnRandomMaps) {
  Random random(31);
  for (int round = 0; round < 600; round++) {
    FragmentMap source = random_map(random);
    expect_reduces(source, pick(random, 0, source.rank() - 1));
    if (HasFatalFailure()) FAIL() << source.text();
  }
}

TEST(ReducePlan, EachElementCountsOnceOnInstructionAndDefaultMaps) {
  for (int64_t m : {16, 48, 97}) {
    for (int64_t n : {8, 24, 97, 128}) {
      for (int dim : {0, 1}) {
        expect_reduces(accumulator_map(*find_atom("mma_m16n8k16_f16"), m, n, {2, 2}), dim);
        expect_reduces(accumulator_map(*find_atom("wgmma_m64k16_f16"), m, n, {.m = 2}), dim);
        expect_reduces(blocked_map({m, n}, 96, 4, 32), dim);
      }
    }
  }
}

TEST(ReducePlan, RowsOfAnAccumulatorTakeTwoShufflesAndNoScratch) {
  const ReducePlan plan = plan_reduce(accumulator_map(*find_atom("mma_m16n8k16_f16"), 64, 128, {.m = 4}), 1);
  EXPECT_EQ(plan.lane_xor, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(plan.parts, 1);
  EXPECT_EQ(plan.scratch_elements, 0);
  EXPECT_EQ(plan.source_base.size(), 2u);
  EXPECT_EQ(plan.fold_offsets.size(), 32u);
  EXPECT_TRUE(std::ranges::is_sorted(plan.fold_coords));
  EXPECT_FALSE(plan.excess);
}

TEST(ReducePlan, ExcessIsReportedExactlyWhereSlotsLieBeyondTheDim) {
  Random random(32);
  int with = 0;
  for (int round = 0; round < 300; round++) {
    FragmentMap source = random_map(random);
    const int dim = pick(random, 0, source.rank() - 1);
    const ReducePlan plan = plan_reduce(source, dim);
    bool beyond = false;
    for (int64_t t = 0; t < source.threads(); t++) {
      for (int64_t base : plan.source_base) {
        for (int64_t offset : plan.fold_offsets) {
          beyond = beyond || source.evaluate(base + offset, t)[static_cast<size_t>(dim)] >= source.shape()[static_cast<size_t>(dim)];
        }
      }
    }
    ASSERT_EQ(plan.excess, beyond) << source.text();
    with += beyond;
  }
  EXPECT_GT(with, 20);
}

}  // namespace
}  // namespace tilert
