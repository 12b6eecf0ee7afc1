// Planning a reduction: which digits of the dim are folded where.
#include "layout/reduce_plan.h"

#include <algorithm>

#include "layout/digit_lists.h"

namespace tilert {
namespace {

// The source without `dim`: its lane and warp digits become parts or copies as said, its register digits vanish.
FragmentMap without_dim(const FragmentMap& source, int dim, int lane_dim, int warp_dim) {
  std::vector<int64_t> shape = source.shape();
  shape.erase(shape.begin() + dim);
  std::vector<Digit> digits;
  for (Digit digit : source.digits()) {
    if (digit.dim == dim && digit.place == Place::register_) continue;
    if (digit.dim == dim) digit.dim = digit.place == Place::lane ? lane_dim : warp_dim;
    else if (digit.dim > dim) digit.dim--;
    digits.push_back(digit);
  }
  return FragmentMap(std::move(shape), std::move(digits));
}

struct Offset {
  int64_t coord = 0, registers = 0;
};

// Every combination of the digits' values: what they add to the coordinate and to the register index.
std::vector<Offset> combinations(const std::vector<PlacedDigit>& digits) {
  std::vector<Offset> all = {{}};
  for (const PlacedDigit& placed : digits) {
    const size_t before = all.size();
    for (int64_t value = 1; value < placed.digit.extent; value++) {
      for (size_t i = 0; i < before; i++) {
        all.push_back({all[i].coord + value * placed.digit.stride, all[i].registers + value * placed.position});
      }
    }
  }
  return all;
}

void plan_registers(ReducePlan& plan, const FragmentMap& source, int dim) {
  std::vector<PlacedDigit> folded, kept;
  for (const PlacedDigit& placed : source.register_digits()) (placed.digit.dim == dim ? folded : kept).push_back(placed);
  for (const Offset& offset : combinations(kept)) plan.source_base.push_back(offset.registers);
  std::vector<Offset> offsets = combinations(folded);
  std::ranges::sort(offsets, {}, &Offset::coord);
  for (const Offset& offset : offsets) {
    if (offset.coord >= source.shape()[static_cast<size_t>(dim)]) break;
    plan.fold_offsets.push_back(offset.registers);
    plan.fold_coords.push_back(offset.coord);
  }
  if (plan.fold_offsets.empty()) plan.fold_offsets = plan.fold_coords = {0};  // an empty dim: one slot of the identity
}

void plan_threads(ReducePlan& plan, const FragmentMap& source, int dim) {
  for (const PlacedDigit& placed : source.thread_digits()) {
    if (placed.digit.dim != dim) continue;
    if (placed.digit.place == Place::lane) {
      for (int64_t bit = 1; bit < placed.digit.extent; bit *= 2) plan.lane_xor.push_back(placed.position * bit);
      continue;
    }
    const bool top = placed.position * placed.digit.extent == source.threads();
    plan.part_terms.push_back({placed.position, top ? 0 : placed.digit.extent, plan.parts});
    plan.parts *= placed.digit.extent;
  }
}

}  // namespace

ReducePlan plan_reduce(const FragmentMap& source, int dim) {
  ReducePlan plan;
  plan.dim = dim;
  plan_registers(plan, source, dim);
  plan_threads(plan, source, dim);
  plan.partial = without_dim(source, dim, kPartial, kPartial);
  plan.lanes = without_dim(source, dim, kReplicated, kPartial);
  plan.result = without_dim(source, dim, kReplicated, kReplicated);
  if (plan.parts > 1) {
    plan.scratch_elements = plan.parts;
    for (int64_t extent : plan.result.shape()) plan.scratch_elements *= extent;
  }
  int64_t reached = plan.fold_coords.back() + 1;
  for (const PlacedDigit& placed : dim_chain(source, dim)) {
    if (placed.digit.place != Place::register_) reached += (placed.digit.extent - 1) * placed.digit.stride;
  }
  plan.excess = reached > source.shape()[static_cast<size_t>(dim)];
  return plan;
}

}  // namespace tilert
