// Meaning of tile operations that verifier, interpreter and passes must agree on; scalar operations are in evaluate.h.
#pragma once

#include <optional>

#include "ir/program.h"

namespace tilert::ir {

// The dtype that a gemm multiplies in, where its operands differ: an integer is cast to the float, a wider float to the
// narrower one, and of two floats that are equally wide a's to b's; two integers to one that holds the values of both.
// Floats of 8 bits and less become the other float, and among themselves (or with an integer) f16, which holds the values
// of fp8, fp6 and fp4 exactly, bf16 with e8m0, f32 with nf4.
DType gemm_operand_dtype(DType a, DType b);
// The same of a statement: tf32 where it asks for that.
DType gemm_operand_dtype(const Program& program, const Gemm& gemm);
// Whether products of `operand` add up in `sum`: f64 in f64, other floats in f32 (or narrower, in lowered code), integers
// in int32 or int64.
bool gemm_takes(DType operand, DType sum);

// Sparse products: of each four elements along k, a has two. An element of metadata speaks of as many elements of k as it has
// bits, low bits first: four bits for each four, the place of the first kept element in the low two, that of the second above.
// Places ascend; where both are one, the second element stands there.
bool gemm_metadata_takes(DType metadata);  // uint8, uint16 or uint32
int64_t gemm_metadata_columns(DType metadata, int64_t k);

// The dtype in which a reduction into `dst` accumulates: f32 for floats of 16 bits and less, int32 for 4-bit integers, else
// dst's own.
DType reduce_accumulator(DType dst);

// The operation that combines the accumulator with an element; absmax and abssum take the element's absolute value
// first.
Op reduce_combine(ReduceOp op);
bool reduce_takes_absolute(ReduceOp op);

// Whether the value over nothing shows in the result: where the number wins over NaN, NaN alone gives that value.
bool reduce_identity_shows(ReduceOp op, DType accumulator);
// The bits of the value over nothing: 0 for sums and absmax, 1 for products, the least (greatest) value for max (min),
// -inf and inf for floats, all ones for bit_and. Accumulation starts from it, or from dst's value when it accumulates.
uint64_t reduce_identity(ReduceOp op, DType accumulator);
bool reduce_takes(ReduceOp op, DType dtype);  // whether the reduction is defined on the dtype

// The place of a value in the order of Sort, as an int32 or, for 64-bit types, an int64 that grows with it; NaN is the
// greatest in both directions. And the value at a place.
DType sort_key_dtype(DType dtype);
Expr sort_key(Arena& arena, Expr value, bool descending);
Expr sort_value(Arena& arena, Expr key, DType dtype, bool descending);

// What an atomic operation stores, of the old value and its own; nothing where that is the value itself. Which dtypes and
// orders it takes. Two of the same kind may trade places where neither old value is asked for.
std::optional<Op> atomic_combine(AtomicOp op);
bool atomic_takes(AtomicOp op, DType dtype);
std::string_view atomic_advice(AtomicOp op, DType dtype);  // what helps where it does not
bool atomic_allows(AtomicOp op, MemoryOrder order);
bool atomic_commutes(AtomicOp op);
// Whether its result depends on the order in which threads come to it, as rounded sums do.
inline bool atomic_rounds(AtomicOp op, DType dtype) { return op == AtomicOp::add && dtype_is_float(dtype); }
inline bool acquires(MemoryOrder order) { return order == MemoryOrder::acquire || order == MemoryOrder::acq_rel; }
inline bool releases(MemoryOrder order) { return order == MemoryOrder::release || order == MemoryOrder::acq_rel; }

// Whether a report holds values of the dtype; any other casts to one of these without loss: f32, or int32 for 4-bit integers.
bool report_takes(DType dtype);

// How many leading extents of 1 of the reduction's source its destination does not have: 0 as programs are built, 1 where
// the source became one slot of a ring. Nothing where the shapes do not fit.
std::optional<size_t> reduce_leading_units(const Reduce& reduce);

// Whether the index is a multiple of n whatever its variables are, as far as its form shows.
bool certain_multiple(Expr index, int64_t n);
// Whether a region of packed elements covers whole bytes of its rows, or reaches a row's end: then no byte has two writers.
// True of any other buffer.
bool covers_whole_bytes(const Program& program, const Region& region);

// Whether a tile's bytes may be shown as elements of another type: bytes are not bools, and elements of less than a byte share
// bytes in shared tiles only.
bool may_view(const Buffer& tile, DType view);
// Bits of a tile's elements, side by side: what a view and its tile have as many of.
int64_t element_bits(const Buffer& buffer);
// Whether the rows of a tile whose elements share bytes are whole bytes; true of any other dtype.
bool has_whole_rows(const Buffer& buffer);
// Where each element of a tile with a custom layout lies, in row-major order of the elements; INVALID_PROGRAM where a place
// is negative, two elements share one, or it lies far beyond the tile.
Result<std::vector<int64_t>> layout_places(const Program& program, const Buffer& tile);

// A region's number of elements, and its extents without those of 1.
int64_t region_size(const Region& region);
std::vector<int64_t> proper_extents(const Region& region);

}  // namespace tilert::ir
