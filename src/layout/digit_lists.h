// Lists of placed digits: the splitting that the algebra of fragment maps shares. Internal to this room.
#pragma once

#include <vector>

#include "layout/fragment_map.h"

namespace tilert {

// Cuts list[at] into its low `extent` values and the rest. `extent` divides that digit's.
void split_digit(std::vector<PlacedDigit>& list, size_t at, int64_t extent);

// Splits two lists until both have the same extents, one by one; false where radices do not nest or totals differ.
bool split_common(std::vector<PlacedDigit>& a, std::vector<PlacedDigit>& b);

// The digits of one dim, ascending by stride, with their positions in the register, thread or block index.
std::vector<PlacedDigit> dim_chain(const FragmentMap& map, int dim);

}  // namespace tilert
