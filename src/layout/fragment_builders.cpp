// Operand and accumulator maps over a grid of warps or warpgroups. The default distribution is in blocked_map.cpp.
#include "layout/fragment_builders.h"

#include <algorithm>

#include "support/round.h"

namespace tilert {
namespace {

constexpr int64_t kColumns = 8;  // the step of accumulator widths

// Columns of one group, padded to what some instruction width divides.
int64_t wgmma_columns(const Atom& atom, int64_t columns) {
  int64_t padded = ceil_div(std::max<int64_t>(columns, 1), kColumns) * kColumns;
  while (wgmma_n(atom, padded) == 0) padded += kColumns;
  return padded;
}

// One dim of a map: `count` atoms of `width` per group, `groups` groups; or shared by the groups (dim kReplicated).
struct Axis {
  int dim = kReplicated;
  int64_t width = 1, count = 1, groups = 1;
};

// The atom's digits, then the repeats `order` low to high in registers, then the groups along m, n, k.
FragmentMap over_grid(const Atom& atom, std::vector<int64_t> shape, std::vector<Digit> digits,
                      const std::vector<Axis>& repeats, const std::vector<Axis>& groups) {
  const Place place = atom.is_wgmma() ? Place::warpgroup : Place::warp;
  for (const Axis& axis : repeats) digits.push_back({Place::register_, axis.count, axis.dim, axis.width});
  for (const Axis& axis : groups) digits.push_back({place, axis.groups, axis.dim, axis.width * axis.count});
  return FragmentMap(std::move(shape), std::move(digits));
}

}  // namespace

AtomCounts atom_counts(const Atom& atom, int64_t m, int64_t n, int64_t k, WarpGrid grid) {
  AtomCounts counts;
  counts.m = std::max<int64_t>(ceil_div(m, atom.m * grid.m), 1);
  counts.k = std::max<int64_t>(ceil_div(k, atom.k * grid.k), 1);
  if (atom.n != 0) {
    counts.atom_n = atom.n;
    counts.n = std::max<int64_t>(ceil_div(n, atom.n * grid.n), 1);
    return counts;
  }
  const int64_t columns = wgmma_columns(atom, ceil_div(n, grid.n));
  counts.atom_n = wgmma_n(atom, columns);
  counts.n = columns / counts.atom_n;
  return counts;
}

FragmentMap accumulator_map(const Atom& atom, int64_t m, int64_t n, WarpGrid grid) {
  const AtomCounts counts = atom_counts(atom, m, n, 1, grid);
  const Axis along_m{0, atom.m, counts.m, grid.m}, along_n{1, counts.atom_n, counts.n, grid.n};
  const Axis along_k{kPartial, 0, 0, grid.k};
  return over_grid(atom, {m, n}, atom.c_digits(counts.atom_n), {along_n, along_m}, {along_m, along_n, along_k});
}

FragmentMap a_operand_map(const Atom& atom, int64_t m, int64_t k, WarpGrid grid) {
  const AtomCounts counts = atom_counts(atom, m, 1, k, grid);
  const Axis along_m{0, atom.m, counts.m, grid.m}, along_k{1, atom.a_k(), counts.k, grid.k};
  const Axis along_n{kReplicated, 0, 0, grid.n};
  return over_grid(atom, {m, atom.sparse ? k / 2 : k}, atom.a_digits, {along_k, along_m}, {along_m, along_n, along_k});
}

FragmentMap b_operand_map(const Atom& atom, int64_t k, int64_t n, WarpGrid grid) {
  const AtomCounts counts = atom_counts(atom, 1, n, k, grid);
  const Axis along_n{1, counts.atom_n, counts.n, grid.n}, along_k{0, atom.k, counts.k, grid.k};
  const Axis along_m{kReplicated, 0, 0, grid.m};
  return over_grid(atom, {k, n}, atom.b_digits, {along_k, along_n}, {along_m, along_n, along_k});
}

}  // namespace tilert
