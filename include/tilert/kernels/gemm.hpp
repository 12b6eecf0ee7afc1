// Matrix products as tile programs: to call, or to copy and change. Header-only over the public builder; C++17.
//
//   tl::Product p;                       // C[m, n] = A[m, k] B[n, k]^T in bf16; m stays dynamic
//   p.n = 4096, p.k = 4096, p.trans_b = true;
//   auto plan = tl::kernels::plan_gemm(p).value();                    // at most 16 kernels for every m
//   for (const auto& choice : plan.programs)
//     programs.push_back(tl::kernels::gemm(p, choice, tl::kernels::chain(tl::kernels::bias(tl::f32), tl::kernels::silu())));
//   ... launch programs[plan.program_for(m)] with A, B, C, bias.
//
// Here: dense products and their plan. kernels/gemv.hpp: few rows. kernels/grouped_gemm.hpp: products of experts.
// kernels/scaled_gemm.hpp: narrow floats with scales of blocks.
// kernels/epilogue.hpp: what becomes of an element before it is stored.
#ifndef TILERT_KERNELS_GEMM_HPP_
#define TILERT_KERNELS_GEMM_HPP_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "tilert/kernels/gemv.hpp"
#include "tilert/kernels/grouped_gemm.hpp"
#include "tilert/kernels/product.hpp"
#include "tilert/kernels/scaled_gemm.hpp"

namespace tl::kernels {

// C[m, n] = epilogue(A[m, k] B[k, n]). Sizes of `p` that are 0 are dims "M", "N", "K"; the others are constants of the program.
// A is stored as [k, m] with p.trans_a, B as [n, k] with p.trans_b; p.lda, p.ldb, p.ldc are constants too. Parameters: A, B, C,
// then those of the epilogue. A size that follows from no argument's shape is given at launch.
template <class E = Plain>
Result<Program> try_gemm(const Product& p, const ProductChoice& c, E epilogue = {}) {
  if (c.path == TILERT_PATH_VECTOR) return try_gemv(p, c, std::move(epilogue));
  Builder b("gemm");
  const Expr M = detail::size(b, "M", p.m), N = detail::size(b, "N", p.n), K = detail::size(b, "K", p.k);
  const Tile A = p.trans_a ? b.input("A", p.a, {K, M}, detail::rows_apart(p.lda)) : b.input("A", p.a, {M, K}, detail::rows_apart(p.lda));
  const Tile B = p.trans_b ? b.input("B", p.b, {N, K}, detail::rows_apart(p.ldb)) : b.input("B", p.b, {K, N}, detail::rows_apart(p.ldb));
  const Tile C = b.output("C", p.c, {M, N}, detail::rows_apart(p.ldc));
  detail::declare(epilogue, b, M, N);
  const int64_t m = c.tile_m, n = c.tile_n, depth = c.tile_k;
  b.grid({ceildiv(N, n), ceildiv(M, m)}, detail::hints_of(c), [&](const Index& x, const Index& y) {
    const Tile sum = detail::multiply(
        b, p, c, ceildiv(K, depth),
        [&](const Index& k, const Tile& a) { p.trans_a ? b.copy(A(k, y * m), a) : b.copy(A(y * m, k), a); },
        [&](const Index& k, const Tile& w) { p.trans_b ? b.copy(B(x * n, k), w) : b.copy(B(k, x * n), w); });
    const Tile out = detail::finish(b, p, c, sum, epilogue, y * m, x * n);
    if (c.swapped()) b.copy(out, b.transposed(C)(x * n, y * m));
    else b.copy(out, C(y * m, x * n));
  });
  return b.try_finish();
}

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
inline constexpr uint32_t kMostCandidates = 512;

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
  constexpr double kRange = 0.002;  // a range more must be worth that
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

}  // namespace detail

// The ranges of rows from 0 to 16384 and more for a product whose n and k are given; p.m is not read. epilogue_bytes_of_row: what
// the epilogue reads for each row. The same on every machine for the same question.
inline Result<GemmPlan> plan_gemm(const Product& p, const Machine& machine = {}, uint64_t epilogue_bytes_of_row = 0) {
  if (machine.target.compare(0, 3, "cpu") == 0) {
    auto choice = choose(p, machine);
    if (!choice) return choice.error();
    return GemmPlan{{{0, detail::kPricedRows[detail::kPricedCount - 1], 0}}, {*choice}};
  }
  std::vector<std::vector<ProductChoice>> lists;
  for (const int64_t m : detail::kPricedRows) {
    Product one = p;
    one.m = m;
    one.epilogue_bytes = epilogue_bytes_of_row * static_cast<uint64_t>(m);
    auto list = recommend_product(one, machine, detail::kMostCandidates);
    if (!list) return list.error();
    if (list->empty()) return Error(TILERT_UNSUPPORTED, std::string("no candidate for this product"));
    lists.push_back(std::move(*list));
  }
  return detail::cut(detail::price(lists));
}

#if TL_EXCEPTIONS
template <class E = Plain>
Program gemm(const Product& p, const ProductChoice& c, E epilogue = {}) {
  return try_gemm(p, c, std::move(epilogue)).value();
}
// With the choice that the cost model recommends for p.m rows.
template <class E = Plain>
Program gemm(const Product& p, const Machine& machine, E epilogue = {}) {
  return gemm(p, choose(p, machine).value(), std::move(epilogue));
}
#endif

}  // namespace tl::kernels

#endif  // TILERT_KERNELS_GEMM_HPP_
