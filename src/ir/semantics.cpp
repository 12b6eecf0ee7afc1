// Tile operations' shared meaning.
#include "ir/semantics.h"

#include <cmath>

#include "ir/evaluate.h"

namespace tilert::ir {
namespace {

struct ReduceRow {
  Op combine;
  bool absolute, floats, integers, booleans;
};
// In the order of ReduceOp.
constexpr ReduceRow kRows[] = {
    {Op::add, false, true, true, false},  // sum
    {Op::mul, false, true, true, false},  // prod
    {Op::max, false, true, true, false},  // max
    {Op::min, false, true, true, false},  // min
    {Op::max_nan, false, true, false, false}, {Op::min_nan, false, true, false, false},
    {Op::max, true, true, true, false},  // absmax
    {Op::add, true, true, true, false},  // abssum
    {Op::bit_and, false, false, true, true},  {Op::bit_or, false, false, true, true},
    {Op::bit_xor, false, false, true, true},
};
const ReduceRow& row(ReduceOp op) { return kRows[static_cast<size_t>(op)]; }

uint64_t extreme(DType dtype, bool greatest) {
  if (dtype_is_float(dtype)) return double_to_bits(dtype, greatest ? HUGE_VAL : -HUGE_VAL);
  const int width = dtype_bits(dtype);
  const uint64_t top = uint64_t{1} << (width - 1);
  if (dtype_is_signed(dtype)) return greatest ? top - 1 : 0 - top;
  return greatest ? top | (top - 1) : 0;
}

}  // namespace

DType gemm_operand_dtype(DType a, DType b) {
  if (a == b) return a;
  if (dtype_is_float(a) != dtype_is_float(b)) return dtype_is_float(a) ? a : b;
  return dtype_bits(a) < dtype_bits(b) ? a : b;
}

DType reduce_accumulator(DType dst) { return dtype_is_float(dst) && dtype_bits(dst) <= 16 ? DType::f32 : dst; }
Op reduce_combine(ReduceOp op) { return row(op).combine; }
bool reduce_takes_absolute(ReduceOp op) { return row(op).absolute; }

bool reduce_takes(ReduceOp op, DType dtype) {
  if (dtype == DType::boolean) return row(op).booleans;
  return dtype_is_float(dtype) ? row(op).floats : row(op).integers;
}

uint64_t reduce_identity(ReduceOp op, DType accumulator) {
  switch (op) {
    case ReduceOp::prod: return double_to_bits(accumulator, 1);
    case ReduceOp::max:
    case ReduceOp::max_nan: return extreme(accumulator, false);
    case ReduceOp::min:
    case ReduceOp::min_nan: return extreme(accumulator, true);
    case ReduceOp::bit_and:
      return accumulator == DType::boolean  ? 1
             : dtype_is_signed(accumulator) ? ~uint64_t{0}
                                            : extreme(accumulator, true);
    case ReduceOp::sum:
    case ReduceOp::absmax:
    case ReduceOp::abssum:
    case ReduceOp::bit_or:
    case ReduceOp::bit_xor: return 0;
  }
  return 0;
}

std::optional<size_t> reduce_leading_units(const Reduce& reduce) {
  std::vector<int64_t> extents = reduce.src.extents;
  for (size_t units = 0; units <= static_cast<size_t>(reduce.dim); ++units) {
    const auto dim = static_cast<std::ptrdiff_t>(static_cast<size_t>(reduce.dim) - units);
    std::vector<int64_t> rest = extents, kept = extents;
    rest.erase(rest.begin() + dim);
    kept[static_cast<size_t>(dim)] = 1;
    if (reduce.dst.extents == rest || reduce.dst.extents == kept) return units;
    if (extents[0] != 1) break;
    extents.erase(extents.begin());
  }
  return std::nullopt;
}

int64_t region_size(const Region& region) {
  int64_t size = 1;
  for (int64_t extent : region.extents) size *= extent;
  return size;
}

std::vector<int64_t> proper_extents(const Region& region) {
  std::vector<int64_t> extents;
  for (int64_t extent : region.extents)
    if (extent != 1) extents.push_back(extent);
  return extents;
}

}  // namespace tilert::ir
