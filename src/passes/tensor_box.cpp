// Rules of the engine, each in one place.
#include "passes/tensor_box.h"

namespace tilert::passes {

using namespace ir;

namespace {

std::string is_matrix(const Buffer& b) {
  if (is_table(b)) return "its tensor lies where a table says, which the tensor copy engine is not told";
  if (b.shape.size() != 2) return "its tensor is not a matrix";
  if (dtype_is_packed(b.dtype)) return "its elements share bytes";
  if (!b.strides[1]->is_constant() || b.strides[1]->as_int() != 1) return "its rows are not contiguous";
  return {};
}

}  // namespace

// A matrix whose rows lie on 16 bytes, and the region too: a corner between is an illegal instruction.
std::string engine_takes(const Module& module, const Region& r) {
  const Buffer& b = module.program.buffer(r.buffer);
  if (std::string reason = is_matrix(b); !reason.empty()) return reason;
  if (!module.facts.range(b.strides[0]).multiple_of(16 / dtype_bytes(b.dtype))) return "its rows do not start on 16 bytes";
  if (b.alignment < 16) return "its tensor does not start on 16 bytes";
  if (!module.facts.range(r.offsets[1]).multiple_of(16 / dtype_bytes(b.dtype))) return "its columns do not start on 16 bytes";
  return {};
}

bool only_unaligned(const Module& module, const Region& r) { return is_matrix(module.program.buffer(r.buffer)).empty(); }

int64_t asked_span(TileLayout layout) {
  switch (layout) {
    case TileLayout::automatic: return 0;
    case TileLayout::swizzle_128: return 128;
    case TileLayout::swizzle_64: return 64;
    case TileLayout::swizzle_32: return 32;
    case TileLayout::row_major:
    case TileLayout::padded:
    case TileLayout::custom: break;
  }
  return -1;
}

int64_t box_rows(int64_t rows) {
  constexpr int64_t kSwizzleRows = 8;  // after which the swizzle repeats
  if (rows <= kMostOfBox) return rows;
  for (int64_t n = kMostOfBox; n > 0; n -= kSwizzleRows)
    if (rows % n == 0) return n;
  return 0;
}

}  // namespace tilert::passes
