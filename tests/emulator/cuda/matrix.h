// What a warp's lanes lay down before they meet at a matrix instruction, each from its own registers, and take up after:
// whoever acts for all then reads one place and not 32 stacks.
#pragma once

#include <cstdint>

namespace tilert::emulator {

struct WarpRoom {
  // mma.sync: packed registers by place along K, then by row of A or column of B; the product.
  alignas(64) uint32_t a[8][16], b[16][8];
  uint32_t metadata[32];  // of a sparse A, by lane
  alignas(64) uint32_t d[16][8];
  // m8n8k4 on f64: A by row, B by column, each along K; the sums.
  alignas(64) double wide_a[8][4], wide_b[8][4], wide_d[8][8];
  // ldmatrix and stmatrix: the rows by lane, and where they are. Apart, since a lane may store while another has not yet
  // taken up what was loaded.
  alignas(64) uint16_t loaded[32][8], stored[32][8];
  void* row_at[32];
};

}  // namespace tilert::emulator
