// Reductions over one dim of a fragment, planned: registers folded in each thread, then lanes by XOR shuffles, then
// warps through shared scratch. Each logical element counts once, however it is replicated. The operation is not known
// here; elements beyond the logical extent must hold its identity (excess() says whether there are any).
#pragma once

#include <cstdint>
#include <vector>

#include "layout/fragment_map.h"

namespace tilert {

struct ReducePlan {
  int dim = 0;
  // The value of result register r in a thread is folded from source registers source_base[r] + each of fold_offsets.
  std::vector<int64_t> source_base;
  std::vector<int64_t> fold_offsets;  // in ascending order of the coordinate; starts with 0
  std::vector<int64_t> fold_coords;   // the coordinate along dim that each offset adds
  // Then each step combines a value with that of lane ^ mask.
  std::vector<int64_t> lane_xor;
  // Then over `parts` parts in different warps: part index of a thread = sum of part_terms; 1: nothing to do.
  int64_t parts = 1;
  std::vector<ThreadTerm> part_terms;
  int64_t scratch_elements = 0;  // parts x elements of the result, laid out [part][row-major result]

  FragmentMap partial;  // after the fold over registers: the dim's thread digits hold parts
  FragmentMap lanes;    // after the lane steps: only warps hold parts
  FragmentMap result;   // after everything: every holder has the whole
  bool excess = false;  // the source's digits reach beyond the logical extent of dim
};

// `source` is valid and not partial. The result has the source's dims without `dim` (rank 0 for a vector).
ReducePlan plan_reduce(const FragmentMap& source, int dim);

}  // namespace tilert
