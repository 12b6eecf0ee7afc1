// Casts that round at random, by integer arithmetic on the value's bits: the same expression, so the same bits, on every back
// end.
#include "builder/builder.h"
#include "support/small_float.h"

namespace tilert::builder {
namespace {

using ir::Expr;
using ir::Op;

// A format with subnormals, as far as its steps go: bits of the mantissa, exponent of the least normal number.
struct Steps {
  int mantissa, least;
};

std::optional<Steps> steps_of(DType type) {
  switch (type) {
    case DType::f16: return Steps{10, -14};
    case DType::bf16: return Steps{7, -126};
    case DType::f32: return Steps{23, -126};
    default: break;
  }
  const SmallFloat* format = small_float(type);
  if (!format) return std::nullopt;
  return Steps{format->mantissa_bits, 1 - format->bias};
}

// What is computed from a value's bits, all as uint64.
class Rounding {
 public:
  Rounding(ir::Arena& arena, DType from, Steps to)
      : arena_(arena), from_(from), to_(to), wide_(from == DType::f64), mantissa_(wide_ ? 52 : 23), bias_(wide_ ? 1023 : 127) {}

  // Of the steps of `to` around the magnitude of x, the lower one, or the upper one where the 32 bits that follow it and
  // `random` add up to 2^32 or more. Infinities and NaN stay. What leaves the range of `to` is left to the cast.
  Expr nearby(Expr x, Expr random) {
    const Expr bits = arena_.cast(arena_.reinterpret(x, wide_ ? DType::uint64 : DType::uint32), DType::uint64);
    const Expr magnitude = make(Op::bit_and, bits, number((uint64_t{1} << (mantissa_ + (wide_ ? 11 : 8))) - 1));
    const Expr field = make(Op::shr, magnitude, number(mantissa_));
    const Expr exponent = make(Op::max, field, number(1));
    const Expr fraction = make(Op::bit_and, magnitude, number((uint64_t{1} << mantissa_) - 1));
    const Expr implied = arena_.make(Op::select, {make(Op::eq, field, number(0)), number(0), number(uint64_t{1} << mantissa_)});
    const Expr significand = make(Op::bit_or, fraction, implied);
    // Below the least normal number of `to` steps are as wide as just above it.
    const int least = bias_ + to_.least;
    const Expr scale = make(Op::max, exponent, number(static_cast<uint64_t>(std::max(least, 1))));
    const Expr below = make(Op::sub, scale, exponent);
    // The significand in steps, with 32 bits behind the point; f64 has up to 53 bits and loses 29 or more of them.
    const int up = wide_ ? 3 : 32, down = mantissa_ - to_.mantissa + up - 32;
    const Expr fixed = make(Op::shr, make(Op::shl, significand, number(static_cast<uint64_t>(up))),
                            make(Op::add, below, number(static_cast<uint64_t>(down))));
    const Expr count = make(Op::shr, make(Op::add, fixed, arena_.cast(random, DType::uint64)), number(32));
    const Expr sign = make(Op::sub, bits, magnitude);
    const Expr rounded = make(Op::bit_or, sign, magnitude_of(count, scale));
    const Expr infinite = number((uint64_t{1} << (wide_ ? 11 : 8)) - 1);
    return arena_.make(Op::select, {make(Op::lt, field, infinite), value(rounded), x});
  }

 private:
  Expr number(uint64_t n) { return arena_.constant(DType::uint64, n); }
  Expr make(Op op, Expr a, Expr b) { return arena_.make(op, {a, b}); }
  Expr value(Expr bits) { return arena_.reinterpret(wide_ ? bits : arena_.cast(bits, DType::uint32), from_); }

  // The bits of count * 2^(scale - bias - mantissa of `to`), which is exact.
  Expr magnitude_of(Expr count, Expr scale) {
    const Expr step = make(Op::sub, scale, number(static_cast<uint64_t>(to_.mantissa)));
    if (bias_ + to_.least > to_.mantissa) {
      const Expr product = make(Op::mul, arena_.cast(arena_.cast(count, DType::int64), from_),
                                value(make(Op::shl, step, number(static_cast<uint64_t>(mantissa_)))));
      return arena_.cast(arena_.reinterpret(product, wide_ ? DType::uint64 : DType::uint32), DType::uint64);
    }
    // The exponents are the same: a step is one in the upper bits, and the implied one adds to the exponent.
    const Expr before = make(Op::shl, make(Op::sub, scale, number(1)), number(static_cast<uint64_t>(mantissa_)));
    return make(Op::add, before, make(Op::shl, count, number(static_cast<uint64_t>(mantissa_ - to_.mantissa))));
  }

  ir::Arena& arena_;
  const DType from_;
  const Steps to_;
  const bool wide_;
  const int mantissa_, bias_;
};

}  // namespace

tilert_expr Builder::cast_stochastic(tilert_dtype dtype, tilert_expr x, tilert_expr random, uint32_t flags) {
  return make<tilert_expr>("stochastic cast", [&]() -> Result<tilert_expr> {
    if (flags & ~uint32_t{TILERT_CAST_NONSAT}) return make_error(Code::kInvalidArgument, "unknown flags {:#x}", flags);
    TILERT_ASSIGN(const DType to, storage_dtype(dtype, "the dtype to cast to"));
    const std::optional<Steps> steps = steps_of(to);
    if (!steps)
      return make_error(Code::kInvalidProgram, "a cast to {} does not round at random: use cast, or go by way of {}", dtype_text(to),
                        dtype_is_float(to) ? "f16 or bf16" : "a float");
    TILERT_ASSIGN(const Value found, value(x, "the value to cast"));
    if (!found.expr) return make_error(Code::kInvalidProgram, "a literal has no dtype to round from: cast it first");
    const DType from = found.expr->dtype;
    if (from != DType::f16 && from != DType::bf16 && from != DType::f32 && from != DType::f64)
      return make_error(Code::kInvalidProgram, "a stochastic cast of {}: cast it to f32 first", dtype_text(from));
    if (dtype_bits(to) > dtype_bits(from) || to == from)
      return make_error(Code::kInvalidProgram, "a cast of {} to {} loses nothing: use cast", dtype_text(from), dtype_text(to));
    if (flags && !has_overflow_value(to))
      return make_error(Code::kInvalidProgram, "a cast to {} that does not saturate: leave TILERT_CAST_NONSAT out", dtype_text(to));
    TILERT_ASSIGN(const Value bits, value(random, "the random bits"));
    if (!bits.expr || bits.expr->dtype != DType::uint32)
      return make_error(Code::kInvalidProgram, "the random bits are {}: give a uint32, as random_bits does",
                        bits.expr ? dtype_text(bits.expr->dtype) : "a literal");
    ir::Arena& arena = *program_->arena;
    const DType work = from == DType::f64 ? DType::f64 : DType::f32;
    const Expr rounded = Rounding(arena, work, *steps).nearby(arena.cast(found.expr, work), bits.expr);
    return add_expr(flags ? arena.cast_nonsat(rounded, to) : arena.cast(rounded, to), shorter(found.life, bits.life));
  });
}

}  // namespace tilert::builder
