// Tile operations' shared meaning.
#include "ir/semantics.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "ir/evaluate.h"
#include "ir/visit.h"

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

struct AtomicRow {
  std::optional<Op> combine;
  bool floats, commutes, acquires, releases;
};
// In the order of AtomicOp.
constexpr AtomicRow kAtomics[] = {
    {Op::add, true, true, true, true},           {Op::max, true, true, true, true},
    {Op::min, true, true, true, true},           {Op::bit_and, false, true, true, true},
    {Op::bit_or, false, true, true, true},       {Op::bit_xor, false, true, true, true},
    {std::nullopt, true, false, true, true},     // exchange
    {std::nullopt, true, false, true, true},     // cas
    {std::nullopt, true, true, true, false},     // load
    {std::nullopt, true, false, false, true},    // store
};
const AtomicRow& row(AtomicOp op) { return kAtomics[static_cast<size_t>(op)]; }

uint64_t extreme(DType dtype, bool greatest) {
  if (dtype_is_float(dtype)) return double_to_bits(dtype, greatest ? HUGE_VAL : -HUGE_VAL);
  const int width = dtype_bits(dtype);
  const uint64_t top = uint64_t{1} << (width - 1);
  if (dtype_is_signed(dtype)) return greatest ? top - 1 : 0 - top;
  return greatest ? top | (top - 1) : 0;
}

}  // namespace

namespace {

// Whether every value of the integer type is one of a signed integer of `bits`.
bool fits_signed(DType type, int bits) { return dtype_bits(type) + (dtype_is_signed(type) ? 0 : 1) <= bits; }

// What a product of two types that are stored only is computed in: a float that holds the values of both.
DType product_of_stored(DType a, DType b) {
  if (a == DType::nf4 || b == DType::nf4) return DType::f32;
  return a == DType::e8m0 || b == DType::e8m0 ? DType::bf16 : DType::f16;
}

}  // namespace

DType gemm_operand_dtype(DType a, DType b) {
  if (dtype_is_float(a) && !dtype_computes(a))
    return dtype_is_float(b) && dtype_computes(b) ? b : product_of_stored(a, b);
  if (dtype_is_float(b) && !dtype_computes(b)) return dtype_is_float(a) ? a : product_of_stored(a, b);
  if (a == b && dtype_computes(a)) return a;
  if (dtype_is_float(a) != dtype_is_float(b)) return dtype_is_float(a) ? a : b;
  if (dtype_is_float(a)) return dtype_bits(a) < dtype_bits(b) ? a : b;
  return fits_signed(a, 8) && fits_signed(b, 8)     ? DType::int8
         : fits_signed(a, 32) && fits_signed(b, 32) ? DType::int32
                                                    : DType::int64;
}

DType gemm_operand_dtype(const Program& program, const Gemm& gemm) {
  return gemm.tf32 ? DType::tf32 : gemm_operand_dtype(program.buffer(gemm.a.buffer).dtype, program.buffer(gemm.b.buffer).dtype);
}

bool gemm_takes(DType operand, DType sum) {
  if (operand == DType::tf32) return sum == DType::f32;
  if (!dtype_computes(operand) || operand == DType::boolean) return false;
  if (!dtype_is_float(operand)) return sum == DType::int32 || sum == DType::int64;
  if (operand == DType::f64 || sum == DType::f64) return operand == sum;
  return sum == DType::f32 || sum == DType::f16 || sum == DType::bf16;
}

bool gemm_metadata_takes(DType metadata) { return metadata == DType::uint8 || metadata == DType::uint16 || metadata == DType::uint32; }

int64_t gemm_metadata_columns(DType metadata, int64_t k) { return (k + dtype_bits(metadata) - 1) / dtype_bits(metadata); }

DType reduce_accumulator(DType dst) {
  if (dtype_is_float(dst) && dtype_bits(dst) <= 16) return DType::f32;
  return dtype_computes(dst) ? dst : DType::int32;
}
Op reduce_combine(ReduceOp op) { return row(op).combine; }
bool reduce_takes_absolute(ReduceOp op) { return row(op).absolute; }

bool reduce_takes(ReduceOp op, DType dtype) {
  if (dtype == DType::boolean) return row(op).booleans;
  return dtype_is_float(dtype) ? row(op).floats : row(op).integers;
}

bool reduce_identity_shows(ReduceOp op, DType accumulator) {
  return dtype_is_float(accumulator) && (row(op).combine == Op::max || row(op).combine == Op::min);
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

std::optional<Op> atomic_combine(AtomicOp op) { return row(op).combine; }
bool atomic_commutes(AtomicOp op) { return row(op).commutes; }

bool report_takes(DType dtype) {
  if (dtype_is_float(dtype)) return dtype == DType::f32 || dtype == DType::f64;
  return dtype_computes(dtype) || dtype == DType::index;
}

// Of 32 and 64 bits, and the floats of 16: what every target has an instruction for, or a loop around one.
bool atomic_takes(AtomicOp op, DType dtype) {
  const int bits = dtype_bits(dtype);
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64: return row(op).floats;
    default: return dtype_is_integer(dtype) && dtype != DType::index && (bits == 32 || bits == 64);
  }
}

std::string_view atomic_advice(AtomicOp op, DType dtype) {
  if (!dtype_is_float(dtype) || row(op).floats) return "declare it wider";
  if (dtype_bits(dtype) == 32) return "declare it u32 and reinterpret its values, or use a view of a shared tile as u32";
  if (dtype_bits(dtype) == 64) return "declare it u64 and reinterpret its values, or use a view of a shared tile as u64";
  return "declare an integer buffer of 32 or 64 bits for it";
}

bool atomic_allows(AtomicOp op, MemoryOrder order) {
  return (row(op).acquires || !acquires(order)) && (row(op).releases || !releases(order));
}

namespace {

// The integer as which the values of a dtype are ordered, before the direction: floats through f32 (exact) or f64.
DType ordered_as(DType dtype) {
  if (dtype_is_float(dtype)) return dtype == DType::f64 ? DType::f64 : DType::f32;
  return sort_key_dtype(dtype);
}

Expr integer(Arena& arena, DType dtype, int64_t value) { return arena.constant(dtype, static_cast<uint64_t>(value)); }

bool is_wide_unsigned(DType dtype) { return dtype == DType::uint64 || dtype == DType::uint32; }

// Bits of a float, the negative ones' turned round: as integers they grow with the float. Its own inverse.
Expr turned(Arena& arena, Expr bits) {
  const int width = dtype_bits(bits->dtype);
  const Expr sign = arena.make(Op::shr, {bits, integer(arena, bits->dtype, width - 1)});
  const Expr rest = integer(arena, bits->dtype, width == 64 ? INT64_MAX : INT32_MAX);
  return arena.make(Op::bit_xor, {bits, arena.make(Op::bit_and, {sign, rest})});
}

Expr greatest_key(Arena& arena, DType key) { return integer(arena, key, key == DType::int64 ? INT64_MAX : INT32_MAX); }
Expr least_key(Arena& arena, DType key) { return integer(arena, key, key == DType::int64 ? INT64_MIN : INT32_MIN); }

}  // namespace

DType sort_key_dtype(DType dtype) {
  if (dtype_is_float(dtype)) return dtype == DType::f64 ? DType::int64 : DType::int32;
  return dtype_bits(dtype) > 32 || dtype_class(dtype) == DTypeClass::index ? DType::int64 : DType::int32;
}

Expr sort_key(Arena& arena, Expr value, bool descending) {
  const DType dtype = value->dtype, key = sort_key_dtype(dtype);
  Expr k;
  if (dtype_is_float(dtype)) k = turned(arena, arena.reinterpret(arena.cast(value, ordered_as(dtype)), key));
  else if (is_wide_unsigned(dtype)) k = arena.make(Op::bit_xor, {arena.reinterpret(value, key), least_key(arena, key)});
  else k = arena.cast(value, key);
  if (descending) k = arena.make(Op::bit_not, {k});
  return dtype_is_float(dtype) ? arena.make(Op::select, {arena.make(Op::isnan, {value}), greatest_key(arena, key), k}) : k;
}

Expr sort_value(Arena& arena, Expr key, DType dtype, bool descending) {
  const Expr k = descending ? arena.make(Op::bit_not, {key}) : key;
  if (dtype_is_float(dtype)) return arena.cast(arena.reinterpret(turned(arena, k), ordered_as(dtype)), dtype);
  if (is_wide_unsigned(dtype)) return arena.reinterpret(arena.make(Op::bit_xor, {k, least_key(arena, key->dtype)}), dtype);
  return arena.cast(k, dtype);
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

bool certain_multiple(Expr e, int64_t n) {
  switch (e->op) {
    case Op::constant: return e->as_int() % n == 0;
    case Op::add:
    case Op::sub:
    case Op::min:
    case Op::max: return certain_multiple(e->operand[0], n) && certain_multiple(e->operand[1], n);
    case Op::mul: return certain_multiple(e->operand[0], n) || certain_multiple(e->operand[1], n);
    case Op::neg: return certain_multiple(e->operand[0], n);
    case Op::select: return certain_multiple(e->operand[1], n) && certain_multiple(e->operand[2], n);
    default: return false;
  }
}

bool covers_whole_bytes(const Program& program, const Region& region) {
  const Buffer& b = program.buffer(region.buffer);
  const int group = dtype_group(b.dtype);
  if (group == 1 || !is_packed(program, region.buffer)) return true;
  if (region.extents.empty() || !certain_multiple(region.offsets.back(), group)) return false;
  if (region.extents.back() % group == 0) return true;
  const Expr offset = region.offsets.back(), size = b.shape.back();
  return offset->is_constant() && size->is_constant() && offset->as_int() + region.extents.back() >= size->as_int();
}

bool may_view(const Buffer& tile, DType view) {
  if (tile.dtype == view) return true;
  const bool small = dtype_is_packed(tile.dtype) || dtype_is_packed(view);
  return view != DType::boolean && (!small || (tile.scope == Scope::shared && tile.dtype != DType::boolean));
}

int64_t element_bits(const Buffer& buffer) {
  int64_t bits = dtype_bits(buffer.dtype);
  for (Expr e : buffer.shape)
    if (__builtin_mul_overflow(bits, e->as_int(), &bits)) return INT64_MAX;
  return bits;
}

bool has_whole_rows(const Buffer& buffer) {
  return buffer.shape.empty() || buffer.shape.back()->as_int() % dtype_group(buffer.dtype) == 0;
}

namespace {

// An index expression of a few variables, for many of their values.
class IndexTape {
 public:
  IndexTape(Expr root, const std::vector<VarId>& vars) {
    std::unordered_map<Expr, size_t> at;
    for_each_node(root, [&](Expr e) {
      Step step;
      if (e->is_constant()) step.value = e->bits;
      else if (e->is_variable()) step.variable = static_cast<size_t>(std::find(vars.begin(), vars.end(), e->var()) - vars.begin());
      else step.function = scalar_function(e->op, e->operand[0]->dtype, e->dtype);
      known_ = known_ && (step.function || e->arity == 0) && (!e->is_variable() || step.variable < vars.size());
      for (int i = 0; i < e->arity; ++i) step.operands[i] = at[e->operand[i]];
      at[e] = steps_.size();
      steps_.push_back(step);
    });
    values_.resize(steps_.size());
  }

  bool known() const { return known_; }
  int64_t operator()(const std::vector<int64_t>& point) {
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step& s = steps_[i];
      values_[i] = s.function ? s.function(values_[s.operands[0]], values_[s.operands[1]], values_[s.operands[2]])
                   : s.variable < point.size() ? static_cast<uint64_t>(point[s.variable]) : s.value;
    }
    return static_cast<int64_t>(values_.back());
  }

 private:
  struct Step {
    ScalarFunction function = nullptr;
    size_t operands[3] = {};
    size_t variable = SIZE_MAX;
    uint64_t value = 0;
  };
  std::vector<Step> steps_;
  std::vector<uint64_t> values_;
  bool known_ = true;
};

}  // namespace

Result<std::vector<int64_t>> layout_places(const Program&, const Buffer& tile) {
  constexpr int64_t kMost = int64_t{1} << 20;  // more elements than shared memory has bytes
  std::vector<int64_t> shape;
  int64_t elements = 1;
  for (Expr e : tile.shape) {
    shape.push_back(e->as_int());
    elements *= shape.back();
    if (elements > kMost) return make_error(Code::kInvalidProgram, "more than {} elements", kMost);
  }
  IndexTape place(tile.layout.place, tile.layout.vars);
  if (!place.known() || tile.layout.vars.size() != shape.size())
    return make_error(Code::kInvalidProgram, "it is made of more than the {} indices of its element", shape.size());
  std::vector<int64_t> places, point(shape.size(), 0);
  std::unordered_map<int64_t, int64_t> taken;
  for (int64_t i = 0; i < elements; ++i) {
    const int64_t at = place(point);
    if (at < 0 || at > kMost) return make_error(Code::kInvalidProgram, "element [{}] lies at {}: places are 0 to {}", fmt::join(point, ", "), at, kMost);
    if (!taken.emplace(at, i).second)
      return make_error(Code::kInvalidProgram, "element [{}] lies at {}, where another does: each element has a place of its own",
                        fmt::join(point, ", "), at);
    places.push_back(at);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++point[d] < shape[d]) break;
      point[d] = 0;
    }
  }
  return places;
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
