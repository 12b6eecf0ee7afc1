// What a warp's lanes lay down before they meet at a matrix instruction, each from its own registers, and take up after:
// whoever acts for all then reads one place and not 32 stacks.
#pragma once

#include <cstdint>

namespace tilert::emulator {

// Where the s-th element that a sparse A keeps of row i, of a warp's 16, stands along K, by the lanes' metadata: two of each four, of
// 32-bit elements one of two. -1: nowhere, since the next one stands in its place.
inline int sparse_place(const uint32_t* metadata, int bits, int i, int s) {
  const int four = bits == 32 ? s : s / 2, lane = 4 * (i % 8);
  const uint32_t word = bits == 8 ? metadata[lane + i / 8 + 2 * (four / 8)] >> (four % 8 * 4) : metadata[lane + four / 4] >> (i / 8 * 16 + four % 4 * 4);
  if (bits == 32) return 2 * s + static_cast<int>(word >> 1 & 1);
  const uint32_t first = word & 3, second = word >> 2 & 3;
  if (s % 2 == 0 && first == second) return -1;
  return 4 * four + static_cast<int>(s % 2 ? second : first);
}

struct WarpRoom {
  // mma.sync: packed registers by place along K, then by row of A or column of B; the product.
  alignas(64) uint32_t a[8][16], b[16][8];
  uint32_t metadata[32];  // of a sparse A, by lane
  alignas(64) uint32_t d[16][8];
  // m8n8k4 on f64: A by row, B by column, each along K; the sums.
  alignas(64) double wide_a[8][4], wide_b[8][4], wide_d[8][8];
  // Products of a wave: A and B by place along K, then by row or column.
  alignas(64) uint8_t wave_a[8192], wave_b[8192];
  // ldmatrix and stmatrix: the rows by lane, and where they are. Apart, since a lane may store while another has not yet
  // taken up what was loaded.
  alignas(64) uint16_t loaded[32][8], stored[32][8];
  void* row_at[32];
};

}  // namespace tilert::emulator
