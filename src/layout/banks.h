// Bank conflicts of shared memory, by enumerating a warp's lanes: 32 banks of 4 bytes; an access of 8 bytes a lane goes
// in halves of the warp, one of 16 bytes in quarters. Equal words are broadcast.
#pragma once

#include <cstdint>
#include <span>

#include "layout/address_map.h"
#include "layout/fragment_map.h"

namespace tilert {

struct BankCost {
  int64_t wavefronts = 0;  // passes that shared memory makes
  int64_t ideal = 0;       // passes without conflicts
  double ratio() const { return ideal == 0 ? 1.0 : static_cast<double>(wavefronts) / static_cast<double>(ideal); }
};

// One access of `access_bytes` (1, 2, 4, 8, 16) by the lanes at these byte addresses (negative: the lane is off).
BankCost bank_conflicts(std::span<const int64_t> lane_addresses, int64_t access_bytes);

// One 8x8 matrix of ldmatrix or stmatrix: 8 rows of 16 bytes in one pass.
BankCost matrix_rows_conflicts(std::span<const int64_t> row_addresses);
// ldmatrix over a map: 8 rows (dim `row_dim`) from `coords` on, 16 bytes each.
BankCost ldmatrix_conflicts(const AddressMap& map, std::vector<int64_t> coords, int row_dim);

// All accesses that warp 0 makes to move a fragment to or from memory, `width` neighbouring registers (elements
// contiguous in memory) at a time; sums over the first `max_accesses` of them. Elements outside the memory are skipped.
BankCost fragment_conflicts(const FragmentMap& fragment, const AddressMap& memory, int64_t width,
                            int64_t max_accesses = INT64_MAX);

// How many consecutive registers hold elements that are one aligned access in memory: a power of two.
int64_t fragment_vector_width(const FragmentMap& fragment, const AddressMap& memory, int64_t max_bytes = 16);

}  // namespace tilert
