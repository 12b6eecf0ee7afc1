// Choices of products for cases of the programs of tilert/kernels, small tiles, so that small products have several; and operands as
// they are stored.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "conformance/scenario.h"
#include "tilert/kernels/gemm.hpp"

namespace tilert::conformance::choices {

inline tl::ProductChoice tiles(tilert_product_path path, int64_t m, int64_t n, int64_t k, bool swapped, int64_t stages = 3) {
  tl::ProductChoice c;
  c.path = path;
  c.tile_m = static_cast<uint32_t>(m), c.tile_n = static_cast<uint32_t>(n), c.tile_k = static_cast<uint32_t>(k);
  c.consumers = path == TILERT_PATH_WARPGROUP ? (swapped ? n : m) % 128 == 0 ? 2 : 1 : 0;
  c.threads = 128;
  c.stages = static_cast<uint32_t>(stages);
  c.cluster = c.split_k = 1;
  c.raster = 2;
  c.flags = (path == TILERT_PATH_VECTOR ? 0 : uint32_t{TILERT_CHOICE_PERSISTENT}) | (swapped ? uint32_t{TILERT_CHOICE_SWAPPED} : 0);
  return c;
}

// Warps and warpgroups, either side's rows the instruction's.
inline tl::ProductChoice form_of(int64_t form) {
  switch (form) {
    case 0: return tiles(TILERT_PATH_WARP, 32, 64, 32, false);
    case 1: return tiles(TILERT_PATH_WARP, 16, 32, 32, true);
    case 2: return tiles(TILERT_PATH_WARPGROUP, 64, 64, 64, false, 2);
    case 3: return tiles(TILERT_PATH_WARPGROUP, 128, 32, 64, false, 2);
    default: return tiles(TILERT_PATH_WARPGROUP, 16, 64, 32, true);
  }
}

// Rows and columns of the operands as they are stored, from row to row `leading` elements.
struct Matrix {
  Reals data;
  int64_t leading;
  bool transposed;
  Real at(int64_t r, int64_t c) const { return transposed ? data[c * leading + r] : data[r * leading + c]; }
};

inline Matrix matrix(tl::DType dtype, int64_t rows, int64_t columns, bool transposed, int64_t leading, uint64_t seed) {
  if (transposed) std::swap(rows, columns);
  if (!leading) leading = columns;
  const int64_t low = is_unsigned(dtype) ? 0 : -3;
  return {whole((rows - 1) * leading + columns, low, 3, seed), leading, transposed};
}

// Element (i, j) of a product and the sum of its terms' magnitudes.
inline std::pair<Real, Real> element(const Matrix& a, const Matrix& b, int64_t i, int64_t j, int64_t k) {
  Real value = 0, size = 0;
  for (int64_t e = 0; e < k; ++e) {
    const Real term = a.at(i, e) * b.at(e, j);
    value += term, size += std::fabs(term);
  }
  return {value, size};
}

inline void add_operand(Launch& launch, tl::DType dtype, const Matrix& m, int64_t rows, int64_t columns) {
  if (m.transposed) std::swap(rows, columns);
  launch.input(dtype, m.data).placed({rows, columns}, {m.leading, 1});
}

}  // namespace tilert::conformance::choices
