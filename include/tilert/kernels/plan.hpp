// Plans: few kernels for every number of rows. Use through kernels/gemm.hpp.
#ifndef TILERT_KERNELS_PLAN_HPP_
#define TILERT_KERNELS_PLAN_HPP_

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tilert/kernels/product.hpp"

namespace tl::kernels {

// Which kernel serves which number of rows: at most 16 ranges, each with a choice; ranges may share one.
struct GemmPlan {
  struct Range {
    int64_t low, high;  // rows, both included; the last range serves all that are more, too
    size_t program;     // of `programs`
  };
  std::vector<Range> ranges;
  std::vector<ProductChoice> programs;  // each another one

  size_t program_for(int64_t m) const {
    for (const Range& r : ranges)
      if (m <= r.high) return r.program;
    return ranges.back().program;
  }
};

namespace detail {

// Numbers of rows at which candidates are priced: each stands for those between the one before and itself.
inline constexpr int64_t kPricedRows[] = {1,   2,   4,    8,    16,   32,   48,   64,   96,   128,  192,  256,   320,   384,   448,  512,
                                          640, 768, 896,  1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584, 4096,  5120,  6144,  7168, 8192,
                                          10240, 12288, 14336, 16384};
inline constexpr size_t kPricedCount = sizeof(kPricedRows) / sizeof(kPricedRows[0]);
inline constexpr size_t kMostRanges = 16;
inline constexpr uint32_t kMostCandidates = 512, kAllCandidates = 1u << 20;

// How much longer each choice takes than the best one, summed over the priced numbers of rows before the i-th.
struct PricedChoice {
  ProductChoice choice;
  double excess[kPricedCount + 1];
};

inline std::vector<PricedChoice> price(const std::vector<std::vector<ProductChoice>>& lists) {
  constexpr double kNotListed = 4;  // what is no candidate there would be slow, not wrong
  std::vector<PricedChoice> out;
  for (const auto& list : lists)  // what is never among the best ones serves no range
    for (size_t i = 0; i < list.size() && i < 16; ++i)
      if (std::none_of(out.begin(), out.end(), [&](const PricedChoice& p) { return p.choice == list[i]; })) out.push_back({list[i], {}});
  for (PricedChoice& p : out)
    for (size_t i = 0; i < kPricedCount; ++i) {
      double excess = kNotListed;
      for (const ProductChoice& c : lists[i])
        if (c == p.choice) excess = static_cast<double>(c.predicted) / static_cast<double>(std::max<uint64_t>(lists[i][0].predicted, 1)) - 1;
      p.excess[i + 1] = p.excess[i] + excess;
    }
  return out;
}

// The cheapest cut of the priced numbers into at most kMostRanges ranges with one choice each.
inline GemmPlan cut(const std::vector<PricedChoice>& choices) {
  constexpr double kRange = 0.005;  // a range more must be worth that
  struct Cut {
    double cost = 1e30;
    size_t from = 0, choice = 0;
  };
  std::vector<std::vector<Cut>> best(kMostRanges + 1, std::vector<Cut>(kPricedCount + 1));
  best[0][0].cost = 0;
  for (size_t from = 0; from < kPricedCount; ++from)
    for (size_t to = from + 1; to <= kPricedCount; ++to) {
      Cut one;
      for (size_t i = 0; i < choices.size(); ++i)
        if (const double cost = choices[i].excess[to] - choices[i].excess[from]; cost < one.cost) one = {cost, from, i};
      for (size_t n = 0; n < kMostRanges; ++n)
        if (const double cost = best[n][from].cost + one.cost + kRange; cost < best[n + 1][to].cost) best[n + 1][to] = {cost, from, one.choice};
    }
  size_t n = 1;
  for (size_t i = 2; i <= kMostRanges; ++i)
    if (best[i][kPricedCount].cost < best[n][kPricedCount].cost) n = i;
  GemmPlan plan;
  for (size_t to = kPricedCount; n > 0; --n) {
    const Cut& c = best[n][to];
    const ProductChoice& choice = choices[c.choice].choice;
    const auto known = std::find(plan.programs.begin(), plan.programs.end(), choice);
    const size_t program = static_cast<size_t>(known - plan.programs.begin());
    if (known == plan.programs.end()) plan.programs.push_back(choice);
    plan.ranges.push_back({c.from == 0 ? 0 : kPricedRows[c.from - 1] + 1, kPricedRows[to - 1], program});
    to = c.from;
  }
  std::reverse(plan.ranges.begin(), plan.ranges.end());
  return plan;
}

// The product of `m` rows that candidates are priced for.
inline Product with_rows(Product p, int64_t m) {
  p.m = m;
  return p;
}

// A plan of the candidates that the program `takes`; of these those that it `prefers`, where there are some.
template <class Takes, class Prefers, class Priced>
Result<GemmPlan> plan(const Product& p, const Machine& machine, uint64_t epilogue_bytes_of_row, Takes takes, Prefers prefers, Priced priced) {
  if (p.n <= 0 || p.k <= 0)
    return Error(TILERT_INVALID_ARGUMENT, "a plan is for products whose n and k are given, and these are " + std::to_string(p.n) + " and " + std::to_string(p.k) +
                                              ": give usual ones where they are dims of the programs");
  std::vector<std::vector<ProductChoice>> lists;
  for (const int64_t m : kPricedRows) {
    Product one = priced(p, m);
    one.epilogue_bytes = epilogue_bytes_of_row * static_cast<uint64_t>(m);
    auto list = recommend_product(one, machine, kAllCandidates);
    if (!list) return list.error();
    const auto keep = [&](const auto& wanted) {
      list->erase(std::remove_if(list->begin(), list->end(), [&](const ProductChoice& c) { return !wanted(c, m); }), list->end());
    };
    keep(takes);
    if (std::any_of(list->begin(), list->end(), [&](const ProductChoice& c) { return prefers(c, m); })) keep(prefers);
    if (list->size() > kMostCandidates) list->resize(kMostCandidates);
    if (list->empty()) return no_candidate(machine);
    lists.push_back(std::move(*list));
  }
  return cut(price(lists));
}

}  // namespace detail

// The ranges of rows from 0 to 16384 and more for a product whose n and k are given; p.m is not read. epilogue_bytes_of_row: what
// the epilogue reads for each row. The same on every machine for the same question.
inline Result<GemmPlan> plan_gemm(const Product& p, const Machine& machine = {}, uint64_t epilogue_bytes_of_row = 0) {
  if (detail::is_cpu(machine)) {
    auto choice = choose(p, machine);
    if (!choice) return choice.error();
    return GemmPlan{{{0, detail::kPricedRows[detail::kPricedCount - 1], 0}}, {*choice}};
  }
  const auto any = [](const ProductChoice&, int64_t) { return true; };
  return detail::plan(p, machine, epilogue_bytes_of_row, any, any, detail::with_rows);
}

// The same for try_scaled_gemm, which keeps two sums for each element, takes tiles as they are, and is fast where a block of K has
// one scale of B for a whole tile.
inline Result<GemmPlan> plan_scaled_gemm(const Product& p, const Machine& machine = {}, uint64_t epilogue_bytes_of_row = 0) {
  constexpr uint32_t kMostSums = 64, kMostThreads = 256;  // sums of a thread: more spill
  constexpr uint32_t kBlock = 128;
  // Beyond so many rows: one warpgroup alone multiplies or adds up, two do both (4096x1280x8192: 90.8 and 79.9 us); products of 64
  // columns wait for shared memory (4096x2112x7168: 153.7 us of 256x64 tiles, 116.9 of 128x128, where 1024 rows take 44.1 and 47.0).
  constexpr int64_t kOneWarpgroupRows = 64, kNarrowTileRows = 1024;
  if (detail::is_cpu(machine)) return plan_gemm(p, machine);
  const auto takes = [](const ProductChoice& c, int64_t) {
    return c.path != TILERT_PATH_VECTOR && !c.swapped() && c.split_k == 1 && c.threads <= kMostThreads && c.tile_m * c.tile_n <= kMostSums * c.threads &&
           kBlock % c.tile_n == 0;
  };
  const auto prefers = [](const ProductChoice& c, int64_t m) {
    return (c.consumers != 1 || m <= kOneWarpgroupRows) && (c.tile_n >= kBlock || m <= kNarrowTileRows);
  };
  return detail::plan(p, machine, epilogue_bytes_of_row, takes, prefers, detail::with_rows);
}

// The same for try_grouped_gemm with so many groups. Rows are those of all groups together, priced as spread evenly over as many groups
// as there are rows; p.n columns are those of one group.
inline Result<GemmPlan> plan_grouped_gemm(const Product& p, int64_t groups, const Machine& machine = {}, uint64_t epilogue_bytes_of_row = 0) {
  if (groups < 1 || groups > detail::kMostGroups) return detail::wrong_groups("plan_grouped_gemm", groups);
  if (detail::is_cpu(machine)) return plan_gemm(p, machine);
  // Tiles that are counted in memory are neither split nor shared, and come in the grid's order.
  const auto takes = [](const ProductChoice& c, int64_t) { return c.path != TILERT_PATH_VECTOR && c.split_k == 1 && c.cluster == 1 && c.raster == 1; };
  const auto prefers = [&](const ProductChoice& c, int64_t) {
    const bool padding = c.tile_n > 32 && static_cast<int64_t>(c.tile_n) - 8 >= (p.n + 7) / 8 * 8;
    return !padding && (p.trans_b || c.path == TILERT_PATH_WARP);  // copies of [k, n] are made by threads
  };
  const auto side_by_side = [&](Product one, int64_t m) {
    const int64_t active = std::min(groups, m);
    one.m = (m + active - 1) / active, one.n *= active;
    return one;
  };
  return detail::plan(p, machine, epilogue_bytes_of_row, takes, prefers, side_by_side);
}

}  // namespace tl::kernels

#endif  // TILERT_KERNELS_PLAN_HPP_
