// Case 81: products of groups, tilert/kernels/grouped_gemm.hpp: groups of zero rows, of one, of all, of none, in both forms; a grid of
// numbers of groups, rows of each, columns and depths; and sizes that are wrong, which write nothing outside of C.
#include <functional>
#include <numeric>

#include "conformance/choices.h"
#include "conformance/scenario.h"
#include "tilert/kernels/gemm.hpp"

namespace tilert::conformance {
namespace {

namespace kernels = tl::kernels;
using choices::form_of, choices::Matrix, choices::matrix;

// A product of groups and what its launches share.
struct Groups {
  tl::Product p;
  tl::ProductChoice choice;
  kernels::GroupForm form;
  int64_t groups, m;  // m: rows in all, or of each group (masked)
  bool scaled;

  bool masked() const { return form == kernels::GroupForm::masked; }
  int64_t rows() const { return masked() ? groups * m : m; }
  int64_t slots() const { return kernels::grouped_tiles(form, groups, m, choice); }
  tl::Result<tl::Program> program() const {
    return scaled ? kernels::try_grouped_gemm(p, choice, form, groups, kernels::chain(kernels::row_scale(), kernels::group_bias(tl::bf16, groups)))
                  : kernels::try_grouped_gemm(p, choice, form, groups);
  }

  // Groups of so many rows; the first one's (contiguous) lie behind `first` of no group.
  void launch(Scenario& s, const std::vector<int64_t>& sizes, int64_t first, int64_t max_blocks) const {
    const int64_t tile = choice.tile_m;
    const Matrix a = matrix(p.a, rows(), p.k, false, 0, 1);
    const Matrix b = matrix(p.b, p.trans_b ? groups * p.n : groups * p.k, p.trans_b ? p.k : p.n, false, 0, 2);
    const Reals scale = whole(rows(), -2, 2, 3), bias = whole(groups * p.n, -9, 9, 4);
    std::vector<Want> want = untouched(rows() * p.n), table = untouched(slots() * 3);
    Reals given = masked() ? Reals() : Reals{static_cast<Real>(first)};
    int64_t slot = 0;
    for (int64_t g = 0; g < groups; ++g) {
      if (masked()) first = g * m;
      for (int64_t r = 0; r < sizes[g]; ++r)
        for (int64_t j = 0; j < p.n; ++j) {
          Real value = 0;
          for (int64_t e = 0; e < p.k; ++e) value += a.at(first + r, e) * (p.trans_b ? b.at(g * p.n + j, e) : b.at(g * p.k + e, j));
          want[(first + r) * p.n + j] = {scaled ? value * scale[first + r] + bias[g * p.n + j] : value};
        }
      for (int64_t r = 0; r < sizes[g]; r += tile, ++slot) {
        const int64_t entry[] = {g, first + r, first + sizes[g]};
        for (int d = 0; d < 3; ++d) table[slot * 3 + d] = {static_cast<Real>(entry[d])};
      }
      first += sizes[g];
      given.push_back(static_cast<Real>(masked() ? sizes[g] : first));
    }
    add(s, a, b, want, given, table, exactly({static_cast<Real>(slot * ((p.n + choice.tile_n - 1) / choice.tile_n)), 0}), max_blocks);
    if (scaled) s.launches.back().input(tl::f32, scale).input(tl::bf16, bias);
  }

  void add(Scenario& s, const Matrix& a, const Matrix& b, const std::vector<Want>& want, const Reals& given, const std::vector<Want>& table, const std::vector<Want>& count,
           int64_t max_blocks) const {
    std::vector<int64_t> dims = {m, slots()};
    if (masked() && scaled) dims.push_back(rows());
    s.launch(dims).input(p.a, a.data).input(p.b, b.data).output(p.c, want).input(tl::i32, given).inout(tl::i32, Reals(table.size(), -9), table)
        .inout(tl::i32, {-9, 0}, count);
    s.launches.back().max_blocks = max_blocks;
  }
};

tl::Product product_of(tl::DType dtype, int64_t n, int64_t k, bool trans_b) {
  tl::Product p;
  p.a = p.b = dtype, p.c = tl::f32;
  p.n = n, p.k = k, p.trans_b = trans_b;
  return p;
}

kernels::GroupForm form_of_groups(const Values& v) { return v["masked"] ? kernels::GroupForm::masked : kernels::GroupForm::contiguous; }

// Groups of zero rows, of one, of all, of none; rows of no group keep their bytes; tiles that end with a group.
Scenario grouped(const Values& v) {
  const Groups g{product_of(v.dtype(), v["N"], 72, v["trans_b"] == 1), form_of(v["form"]), form_of_groups(v), 4, v["masked"] ? 54 : 60, v["scaled"] == 1};
  Scenario s;
  s.programs.push_back(g.program());
  const std::vector<int64_t> sizes[] = {{0, 37, 1, 16}, {0, 0, 54, 0}, {0, 0, 0, 0}, {16, 16, 16, 6}};
  for (size_t i = 0; i < 4; ++i) g.launch(s, sizes[i], 0, i % 3 == 0 ? 2 : 0);
  return s;
}

// Rows dealt to the groups at random around the mean, in whole tiles of 16 where they are aligned; some groups get none.
std::vector<int64_t> dealt(int64_t groups, int64_t mean, bool aligned, uint64_t seed) {
  std::vector<int64_t> out;
  for (const Real share : whole(static_cast<size_t>(groups), -1, 3, seed)) {
    const int64_t rows = share < 0 ? 0 : static_cast<int64_t>(share) * mean * 2 / 3 + (share == 1 ? 1 : 0);
    out.push_back(aligned ? (rows + 15) / 16 * 16 : rows);
  }
  return out;
}

// Numbers of groups, rows of each, columns and depths, each with groups dealt at random, with all rows in one group and none in any.
Scenario expert_grid(const Values& v) {
  const int64_t groups = v["groups"], mean = v["rows"];
  const bool aligned = v["aligned"] == 1;
  const std::vector<int64_t> some = dealt(groups, mean, aligned, 7), others = dealt(groups, mean, aligned, 8);
  const auto sum = [](const std::vector<int64_t>& sizes) { return std::accumulate(sizes.begin(), sizes.end(), int64_t{0}); };
  const int64_t all = std::max<int64_t>({sum(some), sum(others), mean, 1}), front = aligned ? 0 : 5;
  const Groups g{product_of(v.dtype(), v["N"], v["K"], true), form_of(v["form"]), form_of_groups(v), groups, v["masked"] ? std::max<int64_t>(2 * mean + 16, 17) : all + 2 * front, false};
  Scenario s;
  s.programs.push_back(g.program());
  std::vector<int64_t> one(static_cast<size_t>(groups), 0), none = one;
  one[static_cast<size_t>(groups / 2)] = g.masked() ? g.m : all;
  g.launch(s, some, front, 3);
  g.launch(s, one, front, 0);
  g.launch(s, others, 0, 0);
  g.launch(s, none, front, 1);
  return s;
}

// Sizes that are none: groups of fewer than no rows have none, rows outside of C are not written, whatever the table says of them.
Scenario wrong_sizes(const Values& v) {
  const bool masked = v["masked"];
  const Groups g{product_of(tl::bf16, 64, 64, true), form_of(v["form"]), form_of_groups(v), 3, masked ? 20 : 60, false};
  Scenario s;
  s.programs.push_back(g.program());
  const Matrix a = matrix(tl::bf16, g.rows(), 64, false, 0, 1), b = matrix(tl::bf16, 3 * 64, 64, false, 0, 2);
  std::vector<Want> want = untouched(g.rows() * 64);
  // Of each: one group is right, one has a size below 0, one ends behind C.
  const Reals given = masked ? Reals{7, -500, 0} : Reals{500, 40, 40, 75};
  const Reals count = masked ? Reals{7, 0, 0} : Reals{0, 0, 20};
  for (int64_t group = 0; group < 3; ++group)
    for (int64_t r = 0; r < static_cast<int64_t>(count[group]); ++r)
      for (int64_t j = 0; j < 64; ++j) {
        const int64_t row = masked ? group * g.m + r : 40 + r;
        Real value = 0;
        for (int64_t e = 0; e < 64; ++e) value += a.at(row, e) * b.at(group * 64 + j, e);
        want[row * 64 + j] = {value};
      }
  const int64_t rows = masked ? 7 : 35, tiles = (rows + g.choice.tile_m - 1) / g.choice.tile_m;
  std::vector<Want> table = untouched(g.slots() * 3);
  for (int64_t i = 0; i < tiles && i < g.slots(); ++i) {
    const int64_t first = masked ? 0 : 40, entry[] = {masked ? 0 : 2, first + i * g.choice.tile_m, first + rows};
    for (int d = 0; d < 3; ++d) table[i * 3 + d] = {static_cast<Real>(entry[d])};
  }
  g.add(s, a, b, want, given, table, exactly({static_cast<Real>(tiles * ((64 + g.choice.tile_n - 1) / g.choice.tile_n)), 0}), 0);
  return s;
}

}  // namespace

void add_group_cases(std::vector<Case>& to) {
  const Axis forms{"form", {0, 1, 2, 3, 4}};
  to.push_back({"81", "products_of_groups", {{"masked", {0, 1}}, dtypes({tl::bf16, tl::f32}), {"trans_b", {1, 0}}, forms, {"N", {64, 40}}, {"scaled", {0, 1}}}, grouped});
  to.push_back({"81", "groups_by_rows_by_columns_by_depth",
                {{"groups", {1, 4, 9}}, {"rows", {1, 20}}, {"N", {72, 136}}, {"K", {64, 136}}, {"masked", {0, 1}}, {"form", {0, 2, 4}}, {"aligned", {0, 1}},
                 dtypes({tl::bf16, tl::e4m3})},
                expert_grid});
  to.push_back({"81", "experts_of_a_layer",
                {{"groups", {4, 8, 32}}, {"rows", {8, 64}}, {"N", {320, 256}}, {"K", {512, 256}}, {"masked", {0, 1}}, {"form", {0, 2, 3, 4}}, {"aligned", {0, 1}},
                 dtypes({tl::bf16, tl::e4m3})},
                expert_grid, true});
  to.push_back({"81", "sizes_that_are_none", {{"masked", {0, 1}}, {"form", {0, 1, 2, 4}}}, wrong_sizes});
}

}  // namespace tilert::conformance
