// Scalar expressions whose size is known: floats stay integers that their dtype holds exactly.
#include "random/generator_impl.h"

namespace tilert::random {
namespace {

int64_t root(int64_t n) {
  int64_t r = 1;
  while ((r + 1) * (r + 1) <= n && r < 65536) ++r;
  return r;
}

constexpr DType kValueTypes[] = {DType::f32,   DType::f16,  DType::bf16,    DType::int32,
                                 DType::int64, DType::int8, DType::boolean, DType::index};

}  // namespace

Value Generator::number(DType dtype, int64_t value) {
  return {arena().number(dtype, static_cast<double>(value)), value < 0 ? -value : value};
}

// Integers that may not fit wrap; a float always fits, by what its maker took care of.
Value Generator::settle(Expr e, int64_t bound) const { return {e, std::min(bound, exact_limit(e->dtype))}; }

// The value, or the value clamped.
Value Generator::fit(Value v, int64_t bound) {
  if (v.bound <= bound) return v;
  const DType dtype = v.e->dtype;
  const Expr high = number(dtype, bound).e, low = number(dtype, -bound).e;
  if (dtype_is_float(dtype) && dice_.chance(20)) return {op(Op::min_nan, op(Op::max_nan, v.e, low), high), bound};
  return {op(Op::min, op(Op::max, v.e, low), high), bound};
}

// An index within [low, high] made of what is in scope.
Expr Generator::index_in(int64_t low, int64_t high) {
  const int64_t size = high - low + 1;
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
  return number(dtype, dice_.from(-3, 3));
}

Value Generator::cast_from_any(DType dtype, int depth) {
  DType from = kValueTypes[dice_.below(8)];
  if (from == dtype) from = dtype == DType::int32 ? DType::f32 : DType::int32;
  Value v = value(from, depth - 1);
  if (special_ && dtype_is_float(from) && !dtype_is_float(dtype)) v.bound = kHuge;  // saturated, or 0
  if (dtype_is_float(dtype)) v = fit(v, exact_limit(dtype));
  if (dtype == DType::index) v = fit(v, 1000);
  if (dtype == DType::boolean) return {arena().cast(v.e, dtype), 1};
  return settle(arena().cast(v.e, dtype), v.bound);
}

Value Generator::value(DType dtype, int depth) {
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
  switch (dice_.below(index ? 7 : 15)) {
    case 0: return settle(op(Op::add, a.e, b.e), sum);
    case 1: return settle(op(Op::sub, a.e, b.e), sum);
    case 2: {
      if (index)
        return settle(op(Op::mul, fit(a, 1000).e, fit(b, 1000).e),
                      std::min<int64_t>(1000000, bounded_mul(a.bound, b.bound)));
      return settle(op(Op::mul, a.e, b.e), bounded_mul(a.bound, b.bound));
    }
    case 3: return settle(op(dice_.of({Op::div, Op::div_trunc}), a.e, b.e), a.bound);
    case 4: return settle(op(dice_.of({Op::mod, Op::mod_trunc}), a.e, b.e), greatest);
    case 5: return settle(op(dice_.of({Op::min, Op::max}), a.e, b.e), greatest);
    case 6: return settle(op(dice_.of({Op::neg, Op::abs}), a.e), a.bound);
    case 7: return settle(op(Op::bit_and, a.e, b.e), kHuge);
    case 8: return settle(op(Op::bit_or, a.e, b.e), kHuge);
    case 9: return settle(op(Op::bit_xor, a.e, b.e), kHuge);
    case 10: return settle(op(Op::bit_not, a.e), kHuge);
    case 11: return settle(op(Op::shl, a.e, dice_.chance(50) ? number(dtype, dice_.from(0, 9)).e : b.e), kHuge);
    case 12: return settle(op(Op::shr, a.e, dice_.chance(50) ? number(dtype, dice_.from(0, 9)).e : b.e), a.bound);
    case 13:
      if (dtype == DType::int32 && !special_)
        return settle(arena().reinterpret(op(Op::abs, value(DType::f32, depth - 1).e), dtype), kHuge);
      return a;
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
                 value(dice_.of({DType::f32, DType::f16, DType::bf16}), depth - 1).e),
              1};
    default: {
      const DType of = kValueTypes[dice_.below(8)];
      return {op(dice_.of({Op::eq, Op::ne, Op::lt, Op::le}), value(of, depth - 1).e, value(of, depth - 1).e), 1};
    }
  }
}

}  // namespace tilert::random
