// Scalar expressions whose size is known: floats stay integers that their dtype holds exactly.
#include "random/generator_impl.h"

namespace tilert::random {
namespace {

int64_t root(int64_t n) {
  int64_t r = 1;
  while ((r + 1) * (r + 1) <= n && r < 65536) ++r;
  return r;
}

constexpr DType kValueTypes[] = {DType::f32,  DType::f16,   DType::bf16,   DType::int32, DType::int64,  DType::int8,
                                 DType::boolean, DType::index, DType::f64, DType::int16, DType::uint8, DType::uint16,
                                 DType::uint32, DType::uint64, DType::f32, DType::f16, DType::int32};

// Integers of the same width, and floats.
DType same_bits(DType dtype, bool other) {
  switch (dtype) {
    case DType::int8: return DType::uint8;
    case DType::uint8: return DType::int8;
    case DType::int16: return other ? DType::uint16 : DType::f16;
    case DType::uint16: return other ? DType::int16 : DType::bf16;
    case DType::uint32: return other ? DType::int32 : DType::f32;
    case DType::int64: return other ? DType::uint64 : DType::f64;
    case DType::uint64: return other ? DType::int64 : DType::f64;
    default: return other ? DType::uint32 : DType::f32;
  }
}

}  // namespace

Value Generator::number(DType dtype, int64_t value) {
  if (dtype_is_integer(dtype)) return {arena().constant(dtype, static_cast<uint64_t>(value)), value < 0 ? -value : value};
  return {arena().number(dtype, static_cast<double>(value)), value < 0 ? -value : value};
}

// Integers that may not fit wrap; a float always fits, by what its maker took care of.
Value Generator::settle(Expr e, int64_t bound) const { return {e, std::min(bound, exact_limit(e->dtype))}; }

// The value, or the value clamped.
Value Generator::fit(Value v, int64_t bound) {
  if (v.bound <= bound || !dtype_computes(v.e->dtype)) return v;
  const DType dtype = v.e->dtype;
  const Expr high = number(dtype, bound).e;
  if (is_unsigned(dtype)) return {op(Op::min, v.e, high), bound};
  const Expr low = number(dtype, -bound).e;
  if (dtype_is_float(dtype) && dice_.chance(20)) return {op(Op::min_nan, op(Op::max_nan, v.e, low), high), bound};
  return {op(Op::min, op(Op::max, v.e, low), high), bound};
}

// An index within [low, high] made of what is in scope.
Expr Generator::index_in(int64_t low, int64_t high) {
  const int64_t size = high - low + 1;
  if (size > 1 && dice_.chance(10)) {  // what was read somewhere names the element
    std::vector<Expr> read;
    for (const Value& v : lets_)
      if (dtype_is_integer(v.e->dtype) && dtype_computes(v.e->dtype)) read.push_back(v.e);
    if (!read.empty()) {
      const Expr at = op(Op::mod, arena().cast(dice_.of(read), DType::index), idx(size));
      return low == 0 ? at : op(Op::add, at, idx(low));
    }
  }
  if (size <= 1 || indices_.empty() || dice_.chance(25)) return idx(dice_.from(low, high));
  const IndexVar& v = dice_.of(indices_);
  if (v.low >= low && v.high <= high && dice_.chance(80)) return v.e;
  Expr e = v.e;
  if (dice_.chance(40)) e = op(Op::mul, e, idx(dice_.from(1, 5)));
  if (dice_.chance(40)) e = op(Op::add, e, dice_.chance(50) ? dice_.of(indices_).e : idx(dice_.from(-9, 9)));
  if (dice_.chance(20)) e = op(Op::div, e, idx(dice_.from(2, 4)));
  e = op(Op::mod, e, idx(size));
  return low == 0 ? e : op(Op::add, e, idx(low));
}

Value Generator::leaf(DType dtype) {
  std::vector<const Value*> known;
  for (const std::vector<Value>* list : {&lets_, &scalars_})
    for (const Value& v : *list)
      if (v.e->dtype == dtype) known.push_back(&v);
  if (!known.empty() && dice_.chance(75)) return *dice_.of(known);
  if (dtype == DType::index) return {index_in(0, 40), 40};
  if (!indices_.empty() && dtype != DType::boolean && dice_.chance(50)) {
    const int64_t high = std::min<int64_t>(exact_limit(dtype) - 1, 60);
    return {arena().cast(index_in(0, high), dtype), high};
  }
  if (dtype == DType::boolean) return {arena().boolean(dice_.chance(50)), 1};
  return number(dtype, dice_.from(is_unsigned(dtype) ? 0 : -3, 3));
}

Value Generator::cast_from_any(DType dtype, int depth) {
  if (dtype != DType::index && dice_.chance(15)) {
    if (const std::optional<Value> v = from_stored(dtype, depth)) return *v;
  }
  DType from = dice_.of(kValueTypes);
  if (from == dtype) from = dtype == DType::int32 ? DType::f32 : DType::int32;
  Value v = value(from, depth - 1);
  if (special_ && dtype_is_float(from) && !dtype_is_float(dtype)) v.bound = kHuge;  // saturated, or 0
  if (is_unsigned(dtype) && dtype_is_integer(from)) v.bound = kHuge;                // wrapped
  if (dtype_is_float(dtype)) v = fit(v, exact_limit(dtype));
  if (dtype == DType::index) v = fit(v, 1000);
  if (dtype == DType::boolean) return {arena().cast(v.e, dtype), 1};
  return settle(arena().cast(v.e, dtype), v.bound);
}

// An element of a type that is stored only, cast; or a float cast to such a type and back.
std::optional<Value> Generator::from_stored(DType dtype, int depth) {
  std::vector<Value> known;
  for (const Value& v : lets_)
    if (!dtype_computes(v.e->dtype)) known.push_back(v);
  Value v;
  if (!known.empty() && dice_.chance(80)) {
    v = dice_.of(known);
  } else {
    if (special_) return std::nullopt;
    const DType narrow = dice_.of(small_floats());
    v = fit(value(dice_.of({DType::f32, DType::f16, DType::bf16, DType::f64}), depth - 1), exact_limit(narrow));
    v.e = dice_.chance(50) || dtype_bits(narrow) < 8 ? arena().cast(v.e, narrow) : arena().cast_nonsat(v.e, narrow);
  }
  const DType from = v.e->dtype;
  if (dtype_is_float(dtype) && from == DType::e8m0) return std::nullopt;  // beyond a tensor it is 2^-127
  if (dtype_is_float(dtype) && v.bound > exact_limit(dtype)) return std::nullopt;
  if (is_unsigned(dtype) && dtype_is_signed(from)) v.bound = kHuge;
  if (special_ && dtype_is_float(from) && !dtype_is_float(dtype)) v.bound = kHuge;
  return settle(arena().cast(v.e, dtype), dtype == DType::boolean ? 1 : v.bound);
}

// Of a type that is stored and converted only.
Value Generator::stored_value(DType dtype, int depth) {
  std::vector<Value> known;
  for (const Value& v : lets_)
    if (v.e->dtype == dtype && v.bound <= exact_limit(dtype)) known.push_back(v);
  if (!known.empty() && dice_.chance(50)) return dice_.of(known);
  if (dtype == DType::e8m0) return {arena().constant(dtype, static_cast<uint64_t>(dice_.from(127, 128))), 2};
  if (depth > 1 && dice_.chance(15)) {
    const Value a = stored_value(dtype, 1), b = stored_value(dtype, 1);
    return {op(Op::select, value(DType::boolean, depth - 1).e, a.e, b.e), std::max(a.bound, b.bound)};
  }
  if (!dtype_is_float(dtype))
    return {arena().cast(value(dice_.of({DType::int32, DType::int8, DType::uint8, DType::f32}), depth).e, dtype), exact_limit(dtype)};
  const Value v = fit(value(dice_.of({DType::f32, DType::f16, DType::bf16, DType::f64}), depth), exact_limit(dtype));
  return {arena().cast(v.e, dtype), v.bound};
}

Value Generator::value(DType dtype, int depth) {
  if (!dtype_computes(dtype)) return stored_value(dtype, depth);
  if (depth <= 0 || dice_.chance(15)) return leaf(dtype);
  if (dtype == DType::boolean) return bool_value(depth);
  if (dice_.chance(12)) return cast_from_any(dtype, depth);
  if (dice_.chance(10)) {
    const Value a = value(dtype, depth - 1), b = value(dtype, depth - 1);
    return {op(Op::select, value(DType::boolean, depth - 1).e, a.e, b.e), std::max(a.bound, b.bound)};
  }
  return dtype_is_float(dtype) ? float_value(dtype, depth) : integer_value(dtype, depth);
}

Value Generator::float_value(DType dtype, int depth) {
  const int64_t limit = exact_limit(dtype);
  Value a = value(dtype, depth - 1), b = value(dtype, depth - 1);
  const int64_t greatest = std::max(a.bound, b.bound);
  switch (dice_.below(12)) {
    case 0:
    case 1: {
      a = fit(a, limit / 2), b = fit(b, limit / 2);
      return {op(dice_.chance(50) ? Op::add : Op::sub, a.e, b.e), a.bound + b.bound};
    }
    case 2:
    case 3: {
      if (bounded_mul(a.bound, b.bound) > limit) a = fit(a, root(limit)), b = fit(b, root(limit));
      return {op(Op::mul, a.e, b.e), a.bound * b.bound};
    }
    case 4: {
      const int64_t side = root(limit / 2);
      a = fit(a, side), b = fit(b, side);
      const Value c = fit(value(dtype, depth - 1), limit / 2);
      const bool whole = dice_.chance(50);  // else left to the compiler to contract
      const Expr e = whole ? op(Op::fma, a.e, b.e, c.e) : op(Op::add, op(Op::mul, a.e, b.e), c.e);
      return {e, a.bound * b.bound + c.bound};
    }
    case 5: return {op(dice_.of({Op::min, Op::max}), a.e, b.e), greatest};
    case 6: return {op(dice_.of({Op::min_nan, Op::max_nan}), a.e, b.e), greatest};
    case 7: return {op(dice_.of({Op::neg, Op::abs}), a.e), a.bound};
    case 8:  // halves are exact, and rounding makes them whole
      return {op(dice_.of({Op::floor, Op::ceil, Op::round, Op::trunc}), op(Op::mul, a.e, arena().number(dtype, 0.5))),
              a.bound};
    case 9: {  // a quotient is rounded once, everywhere the same
      const Expr divisor = op(Op::max, op(Op::abs, b.e), number(dtype, 1).e);
      return {op(dice_.of({Op::floor, Op::trunc}), op(Op::div, a.e, divisor)), a.bound};
    }
    default: return a;
  }
}

Value Generator::integer_value(DType dtype, int depth) {
  const Value a = value(dtype, depth - 1), b = value(dtype, depth - 1);
  const int64_t sum = bounded_add(a.bound, b.bound), greatest = std::max(a.bound, b.bound);
  const bool index = dtype == DType::index;  // kept small: it also names elements
  const bool wraps = is_unsigned(dtype);
  switch (dice_.below(index ? 7 : 16)) {
    case 0: return settle(op(Op::add, a.e, b.e), sum);
    case 1: return settle(op(Op::sub, a.e, b.e), wraps ? kHuge : sum);
    case 2: {
      if (index)
        return settle(op(Op::mul, fit(a, 1000).e, fit(b, 1000).e),
                      std::min<int64_t>(1000000, bounded_mul(a.bound, b.bound)));
      return settle(op(Op::mul, a.e, b.e), bounded_mul(a.bound, b.bound));
    }
    case 3: return settle(op(dice_.of({Op::div, Op::div_trunc}), a.e, b.e), a.bound);
    case 4: return settle(op(dice_.of({Op::mod, Op::mod_trunc}), a.e, b.e), greatest);
    case 5: return settle(op(dice_.of({Op::min, Op::max}), a.e, b.e), greatest);
    case 6: return settle(op(dice_.of({Op::neg, Op::abs}), a.e), wraps ? kHuge : a.bound);
    case 7: return settle(op(Op::bit_and, a.e, b.e), kHuge);
    case 8: return settle(op(Op::bit_or, a.e, b.e), kHuge);
    case 9: return settle(op(Op::bit_xor, a.e, b.e), kHuge);
    case 10: return settle(op(Op::bit_not, a.e), kHuge);
    case 11: return settle(op(Op::shl, a.e, dice_.chance(50) ? number(dtype, dice_.from(0, 9)).e : b.e), kHuge);
    case 12: return settle(op(Op::shr, a.e, dice_.chance(50) ? number(dtype, dice_.from(0, 9)).e : b.e), a.bound);
    case 13: {
      const DType from = same_bits(dtype, dice_.chance(50));
      const Expr bits = value(from, depth - 1).e;
      if (!dtype_is_float(from)) return settle(arena().reinterpret(bits, dtype), kHuge);
      return special_ ? a : settle(arena().reinterpret(op(Op::abs, bits), dtype), kHuge);
    }
    case 14: {  // a random draw
      if (dtype != DType::int64) return a;
      const Expr c = arena().constant(dtype, static_cast<uint64_t>(dice_.from(0, 5)));
      return settle(op(dice_.of({Op::philox0, Op::philox1, Op::philox2, Op::philox3}), a.e, b.e, c), int64_t{1} << 32);
    }
    default: return a;
  }
}

Value Generator::bool_value(int depth) {
  switch (dice_.below(9)) {
    case 0: return {op(Op::logical_not, value(DType::boolean, depth - 1).e), 1};
    case 1:
    case 2:
      return {op(dice_.of({Op::logical_and, Op::logical_or}), value(DType::boolean, depth - 1).e,
                 value(DType::boolean, depth - 1).e),
              1};
    case 3:
      return {op(dice_.of({Op::bit_and, Op::bit_or, Op::bit_xor}), value(DType::boolean, depth - 1).e,
                 value(DType::boolean, depth - 1).e),
              1};
    case 4:
      return {op(dice_.of({Op::isnan, Op::isinf, Op::isfinite}),
                 value(dice_.of({DType::f32, DType::f16, DType::bf16, DType::f64}), depth - 1).e),
              1};
    default: {
      const DType of = dice_.of(kValueTypes);
      return {op(dice_.of({Op::eq, Op::ne, Op::lt, Op::le}), value(of, depth - 1).e, value(of, depth - 1).e), 1};
    }
  }
}

}  // namespace tilert::random
