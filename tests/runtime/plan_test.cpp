// Lists of tiles: every tile once, loads within what handing out the costliest first allows, groups in order.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "runtime/plan.h"

namespace tilert::runtime {
namespace {

int64_t greatest_load(const TileLists& lists, const std::vector<int64_t>& costs) {
  int64_t most = 0;
  for (size_t b = 0; b + 1 < lists.starts.size(); ++b) {
    int64_t load = 0;
    for (int32_t i = lists.starts[b]; i < lists.starts[b + 1]; ++i) load += costs[static_cast<size_t>(lists.order[static_cast<size_t>(i)])];
    most = std::max(most, load);
  }
  return most;
}

TEST(Plan, HandsOutEveryTileOnceWithinTheBoundOfTheCostliestFirst) {
  std::mt19937_64 random(5);
  for (const int64_t blocks : {1, 2, 7, 132}) {
    for (const size_t tiles : {0u, 1u, 5u, 131u, 1000u}) {
      std::vector<int64_t> costs(tiles), groups(tiles, 0);
      for (int64_t& c : costs) c = 1 + static_cast<int64_t>(random() % 100);
      const TileLists lists = balance(costs, groups, blocks);
      ASSERT_EQ(lists.starts.size(), static_cast<size_t>(blocks) + 1);
      std::vector<int32_t> all = lists.order, numbers(tiles);
      std::sort(all.begin(), all.end());
      std::iota(numbers.begin(), numbers.end(), 0);
      EXPECT_EQ(all, numbers);
      const int64_t total = std::accumulate(costs.begin(), costs.end(), int64_t{0});
      const int64_t longest = tiles == 0 ? 0 : *std::max_element(costs.begin(), costs.end());
      const int64_t least = std::max((total + blocks - 1) / blocks, longest);  // no schedule is shorter
      EXPECT_LE(3 * greatest_load(lists, costs), 4 * least) << blocks << " blocks, " << tiles << " tiles";
    }
  }
}

TEST(Plan, KeepsGroupsTogetherAndTheirCostliestFirst) {
  const std::vector<int64_t> costs = {1, 9, 2, 8, 3, 7}, groups = {1, 0, 1, 0, 1, 0};
  EXPECT_EQ(balance(costs, groups, 1).order, (std::vector<int32_t>{1, 3, 5, 4, 2, 0}));
  const TileLists two = balance(costs, groups, 2);
  // Loads 9 and 8; 7 goes to the second, 3 to the first, 2 to the first, 1 to the first.
  EXPECT_EQ(two.order, (std::vector<int32_t>{1, 4, 2, 0, 3, 5}));
  EXPECT_EQ(two.starts, (std::vector<int32_t>{0, 4, 6}));
}

}  // namespace
}  // namespace tilert::runtime
