// Scalar values, elements and regions of the C++ builder: what operators work on. Use through tilert.hpp.
#ifndef TILERT_VALUES_HPP_
#define TILERT_VALUES_HPP_

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <type_traits>

#include "tilert.h"

namespace tl {

enum class DType : int32_t {};
inline constexpr DType boolean{TILERT_BOOL}, i8{TILERT_INT8}, i16{TILERT_INT16}, i32{TILERT_INT32}, i64{TILERT_INT64};
inline constexpr DType u8{TILERT_UINT8}, u16{TILERT_UINT16}, u32{TILERT_UINT32}, u64{TILERT_UINT64};
inline constexpr DType f16{TILERT_F16}, bf16{TILERT_BF16}, f32{TILERT_F32}, f64{TILERT_F64};
inline constexpr DType e4m3{TILERT_E4M3}, e5m2{TILERT_E5M2}, e4m3fnuz{TILERT_E4M3FNUZ}, e5m2fnuz{TILERT_E5M2FNUZ};
inline constexpr DType e8m0{TILERT_E8M0}, e2m3{TILERT_E2M3}, e3m2{TILERT_E3M2}, e2m1{TILERT_E2M1}, nf4{TILERT_NF4};
inline constexpr DType i4{TILERT_INT4}, u4{TILERT_UINT4};
inline constexpr DType index{TILERT_INDEX};
inline constexpr double inf = std::numeric_limits<double>::infinity();

// The place of a call in the caller's source; every builder call takes one by default.
struct Here {
  const char* file = nullptr;
  uint32_t line = 0;
  static constexpr Here at(const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) {
    return {file, line};
  }
};

namespace detail {

// What is asked of numbers that belong to no builder.
struct NumberCall {
  enum class Kind { op, cast, reinterpret } kind = Kind::op;
  tilert_op op = 0;        // op
  tilert_dtype dtype = 0;  // cast, reinterpret
  tilert_number operands[3] = {};
  uint32_t count = 0;

  tilert_status fold(tilert_number* out) const {
    if (kind == Kind::op) return tilert_number_op(op, operands, count, out);
    return kind == Kind::cast ? tilert_number_cast(dtype, operands, out) : tilert_number_reinterpret(dtype, operands, out);
  }
  static tilert_expr id(tilert_builder* builder, const tilert_number& n) {
    if (n.dtype == 0) return {};
    return n.typed ? tilert_builder_constant(builder, n.dtype, n.bits) : tilert_builder_literal(builder, n.dtype, n.bits);
  }
  tilert_expr in(tilert_builder* builder) const {
    tilert_expr ids[3] = {};
    for (uint32_t i = 0; i < count; ++i) ids[i] = id(builder, operands[i]);
    if (kind == Kind::op) return tilert_builder_op(builder, op, ids, count);
    return kind == Kind::cast ? tilert_builder_cast(builder, dtype, ids[0], 0)
                              : tilert_builder_reinterpret(builder, dtype, ids[0]);
  }
};

}  // namespace detail

// A scalar value: one of a builder, or a number that adopts the dtype of what it meets. Numbers among themselves are
// numbers again; what they cannot do is reported by the builder that they come to.
class Expr {
 public:
  Expr() = default;
  Expr(tilert_builder* builder, tilert_expr id) : builder_(builder), id_(id) {}
  template <class T, class = std::enable_if_t<std::is_floating_point_v<T> || (std::is_integral_v<T> && sizeof(T) <= 8)>>
  Expr(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      number_ = {TILERT_BOOL, 0, value};
    } else if constexpr (std::is_integral_v<T>) {
      number_ = {std::is_signed_v<T> ? TILERT_INT64 : TILERT_UINT64, 0, static_cast<uint64_t>(value)};
    } else {
      const auto wide = static_cast<double>(value);
      number_.dtype = TILERT_F64;
      std::memcpy(&number_.bits, &wide, sizeof wide);
    }
  }
  // Of numbers only: folded at once.
  explicit Expr(const detail::NumberCall& call) {
    if (call.fold(&number_) == TILERT_OK) return;
    number_ = {};
    refused_ = std::make_shared<const detail::NumberCall>(call);
  }

  tilert_builder* builder() const { return builder_; }
  const tilert_number& number() const { return number_; }
  bool refused() const { return refused_ != nullptr; }
  // The id in that builder: a number becomes a literal there, or a constant where a cast gave it a dtype.
  tilert_expr in(tilert_builder* builder) const {
    if (refused_) return refused_->in(builder);
    return number_.dtype == 0 ? id_ : detail::NumberCall::id(builder, number_);
  }

 private:
  tilert_builder* builder_ = nullptr;
  tilert_expr id_ = {};
  tilert_number number_ = {};
  std::shared_ptr<const detail::NumberCall> refused_;
};
using Index = Expr;

namespace detail {

inline tilert_builder* builder_of(std::initializer_list<Expr> operands) {
  for (const Expr& e : operands)
    if (e.builder()) return e.builder();
  return nullptr;
}

// The call among numbers; an operand that was refused before stays what it is.
inline Expr of_numbers(NumberCall call, std::initializer_list<Expr> operands) {
  for (const Expr& e : operands) {
    if (e.refused()) return e;
    call.operands[call.count++] = e.number();
  }
  return Expr(call);
}

inline Expr make(tilert_op op, std::initializer_list<Expr> operands) {
  tilert_builder* builder = builder_of(operands);
  if (!builder) return of_numbers({NumberCall::Kind::op, op}, operands);
  tilert_expr ids[3] = {};
  uint32_t count = 0;
  for (const Expr& e : operands) ids[count++] = e.in(builder);
  return {builder, tilert_builder_op(builder, op, ids, count)};
}

struct Offsets {
  Expr at[8];
  uint32_t count = 0;  // as given, also above 8
};

}  // namespace detail

// An index or offset, with the place of the call it is written in.
struct Position {
  Expr value;
  Here here;
  bool given = false;
  Position() = default;
  template <class T, class = std::enable_if_t<std::is_convertible_v<const T&, Expr>>>
  Position(const T& v, Here h = Here::at()) : value(v), here(h), given(true) {}
};

// A part of a tile or parameter. With one index per dim it is also one element: reads make a value at that moment,
// assignment stores.
class Region {
 public:
  Region() = default;
  Region(tilert_builder* builder, tilert_buffer buffer, tilert_tensor tensor, const detail::Offsets& offsets = {},
         Here here = {})
      : builder_(builder), buffer_(buffer), tensor_(tensor), offsets_(offsets), here_(here) {}

  // The same place with extents of its own, one for each dim, instead of those of the other side.
  Region size(std::initializer_list<Expr> extents) const {
    Region out = *this;
    out.extents_.count = 0;
    for (const Expr& e : extents) {
      if (out.extents_.count < 8) out.extents_.at[out.extents_.count] = e;
      ++out.extents_.count;
    }
    return out;
  }

  operator Expr() const {
    Raw raw(*this);
    tilert_builder_at(builder_, here_.file, here_.line, nullptr);
    return {builder_, tilert_builder_load(builder_, &raw.region)};
  }
  const Region& operator=(const Expr& value) const {
    Raw raw(*this);
    tilert_builder_at(builder_, here_.file, here_.line, nullptr);
    tilert_builder_store(builder_, &raw.region, value.in(builder_));
    return *this;
  }
  const Region& operator=(const Region& value) const { return *this = Expr(value); }
  Region(const Region&) = default;
  const Region& operator+=(const Expr& x) const { return *this = detail::make(TILERT_OP_ADD, {*this, x}); }
  const Region& operator-=(const Expr& x) const { return *this = detail::make(TILERT_OP_SUB, {*this, x}); }
  const Region& operator*=(const Expr& x) const { return *this = detail::make(TILERT_OP_MUL, {*this, x}); }
  const Region& operator/=(const Expr& x) const { return *this = detail::make(TILERT_OP_DIV, {*this, x}); }

  // A place without extents of its own: one element, unless the other side of an operation says more.
  bool is_place() const { return offsets_.count != 0 && extents_.count == 0; }
  tilert_builder* builder() const { return builder_; }
  tilert_buffer buffer() const { return buffer_; }
  tilert_tensor tensor() const { return tensor_; }

  // The C form, with arrays of its own.
  struct Raw {
    tilert_expr offsets[8], extents[8];
    tilert_region region{};
    explicit Raw(const Region& from) {
      region.buffer = from.buffer_;
      region.tensor = from.tensor_;
      region.rank = from.offsets_.count ? from.offsets_.count : from.extents_.count;
      for (uint32_t i = 0; i < from.offsets_.count; ++i) offsets[i] = from.offsets_.at[i].in(from.builder_);
      for (uint32_t i = 0; i < from.extents_.count && i < 8; ++i) extents[i] = from.extents_.at[i].in(from.builder_);
      if (from.offsets_.count) region.offsets = offsets;
      if (from.extents_.count) region.extents = extents;
      region.extent_count = from.extents_.count;
    }
    Raw(const Raw&) = delete;
  };

 protected:
  void rebind(const Region& other) {
    builder_ = other.builder_;
    buffer_ = other.buffer_;
    tensor_ = other.tensor_;
    offsets_ = other.offsets_;
    extents_ = other.extents_;
    here_ = other.here_;
  }

 private:
  tilert_builder* builder_ = nullptr;
  tilert_buffer buffer_ = {};
  tilert_tensor tensor_ = {};
  detail::Offsets offsets_, extents_;
  Here here_;
};

// A tile or parameter: itself its whole region; with offsets in parentheses a part of it or an element. Assignment
// makes it name another tile.
class Tile : public Region {
 public:
  Tile() = default;
  Tile(tilert_builder* builder, tilert_buffer buffer, tilert_tensor tensor) : Region(builder, buffer, tensor) {}
  Tile(const Tile&) = default;
  Tile& operator=(const Tile& other) {
    rebind(other);
    return *this;
  }
  Region operator()(Position a, Position b = {}, Position c = {}, Position d = {}, Position e = {}, Position f = {},
                    Position g = {}, Position h = {}) const {
    detail::Offsets offsets;
    for (const Position* p : {&a, &b, &c, &d, &e, &f, &g, &h})
      if (p->given) offsets.at[offsets.count++] = p->value;
    return Region(builder(), buffer(), tensor(), offsets, a.here);
  }
};

// A variable: reads and assignments like an element.
class Var : public Region {
 public:
  using Region::Region;
  Var(const Var&) = default;
  using Region::operator=;
  const Var& operator=(const Var& value) const {
    Region::operator=(Expr(value));
    return *this;
  }
};

#define TL_BINARY(symbol, OP) \
  inline Expr operator symbol(const Expr& a, const Expr& b) { return detail::make(TILERT_OP_##OP, {a, b}); }
TL_BINARY(+, ADD)
TL_BINARY(-, SUB)
TL_BINARY(*, MUL)
TL_BINARY(/, DIV)  // floor division on integers
TL_BINARY(%, MOD)
TL_BINARY(&, AND)
TL_BINARY(|, OR)
TL_BINARY(^, XOR)
TL_BINARY(&&, AND)  // both sides are evaluated: values have no effects
TL_BINARY(||, OR)
TL_BINARY(<<, SHL)
TL_BINARY(>>, SHR)
TL_BINARY(==, EQ)
TL_BINARY(!=, NE)
TL_BINARY(<, LT)
TL_BINARY(<=, LE)
TL_BINARY(>, GT)
TL_BINARY(>=, GE)
#undef TL_BINARY
inline Expr operator-(const Expr& a) { return detail::make(TILERT_OP_NEG, {a}); }
inline Expr operator!(const Expr& a) { return detail::make(TILERT_OP_NOT, {a}); }
inline Expr operator~(const Expr& a) { return detail::make(TILERT_OP_NOT, {a}); }

#define TL_UNARY(name, OP) \
  inline Expr name(const Expr& a) { return detail::make(TILERT_OP_##OP, {a}); }
TL_UNARY(abs, ABS)
TL_UNARY(exp, EXP)
TL_UNARY(exp2, EXP2)
TL_UNARY(log, LOG)
TL_UNARY(log2, LOG2)
TL_UNARY(sqrt, SQRT)
TL_UNARY(rsqrt, RSQRT)
TL_UNARY(sin, SIN)
TL_UNARY(cos, COS)
TL_UNARY(tanh, TANH)
TL_UNARY(erf, ERF)
TL_UNARY(sigmoid, SIGMOID)
TL_UNARY(floor, FLOOR)
TL_UNARY(ceil, CEIL)
TL_UNARY(round, ROUND)
TL_UNARY(trunc, TRUNC)
TL_UNARY(isnan, ISNAN)
TL_UNARY(isinf, ISINF)
TL_UNARY(isfinite, ISFINITE)
#undef TL_UNARY

inline Expr pow(const Expr& a, const Expr& b) { return detail::make(TILERT_OP_POW, {a, b}); }
inline Expr trunc_div(const Expr& a, const Expr& b) { return detail::make(TILERT_OP_TRUNC_DIV, {a, b}); }
inline Expr trunc_mod(const Expr& a, const Expr& b) { return detail::make(TILERT_OP_TRUNC_MOD, {a, b}); }
inline Expr select(const Expr& c, const Expr& a, const Expr& b) { return detail::make(TILERT_OP_SELECT, {c, a, b}); }
inline Expr fma(const Expr& a, const Expr& b, const Expr& c) { return detail::make(TILERT_OP_FMA, {a, b, c}); }
inline Expr ceildiv(const Expr& a, const Expr& b) { return detail::make(TILERT_OP_CEILDIV, {a, b}); }
inline constexpr int64_t ceildiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline Expr cast(DType dtype, const Expr& a) {
  if (!a.builder())
    return detail::of_numbers({detail::NumberCall::Kind::cast, 0, static_cast<tilert_dtype>(dtype)}, {a});
  return {a.builder(), tilert_builder_cast(a.builder(), static_cast<tilert_dtype>(dtype), a.in(a.builder()), 0)};
}
// To fp8, what is beyond the range gives infinity or NaN instead of the greatest value.
inline Expr cast_nonsat(DType dtype, const Expr& a) {
  if (!a.builder()) return cast(dtype, a);  // a number beyond the range is refused either way
  return {a.builder(),
          tilert_builder_cast(a.builder(), static_cast<tilert_dtype>(dtype), a.in(a.builder()), TILERT_CAST_NONSAT)};
}
// Rounded to one of its two neighbours at random: up with the probability of what lies below it. random: a uint32.
inline Expr cast_stochastic(DType dtype, const Expr& a, const Expr& random, uint32_t flags = 0) {
  tilert_builder* builder = detail::builder_of({a, random});
  return {builder, tilert_builder_cast_stochastic(builder, static_cast<tilert_dtype>(dtype), a.in(builder), random.in(builder), flags)};
}
inline Expr reinterpret(DType dtype, const Expr& a) {
  if (!a.builder())
    return detail::of_numbers({detail::NumberCall::Kind::reinterpret, 0, static_cast<tilert_dtype>(dtype)}, {a});
  return {a.builder(), tilert_builder_reinterpret(a.builder(), static_cast<tilert_dtype>(dtype), a.in(a.builder()))};
}

// The operations of `a` as the target's approximations where it has them: tilert_builder_fast says within which bounds.
inline Expr fast(const Expr& a) { return a.builder() ? Expr(a.builder(), tilert_builder_fast(a.builder(), a.in(a.builder()))) : a; }

// A reduction's operation; max and min are also functions of two values.
struct ReduceOp {
  tilert_reduce_op op;
};
namespace detail {
struct Extremum {
  tilert_op op;
  tilert_reduce_op reduce;
  Expr operator()(const Expr& a, const Expr& b) const { return make(op, {a, b}); }
  constexpr operator ReduceOp() const { return {reduce}; }
};
}  // namespace detail
inline constexpr detail::Extremum max{TILERT_OP_MAX, TILERT_REDUCE_MAX}, min{TILERT_OP_MIN, TILERT_REDUCE_MIN};
inline constexpr detail::Extremum max_nan{TILERT_OP_MAX_NAN, TILERT_REDUCE_MAX_NAN};
inline constexpr detail::Extremum min_nan{TILERT_OP_MIN_NAN, TILERT_REDUCE_MIN_NAN};
inline constexpr ReduceOp sum{TILERT_REDUCE_SUM}, prod{TILERT_REDUCE_PROD}, absmax{TILERT_REDUCE_ABSMAX};
inline constexpr ReduceOp abssum{TILERT_REDUCE_ABSSUM}, all_bits{TILERT_REDUCE_AND}, any_bits{TILERT_REDUCE_OR};
inline constexpr ReduceOp xor_bits{TILERT_REDUCE_XOR};
inline constexpr ReduceOp argmax{TILERT_REDUCE_ARGMAX}, argmin{TILERT_REDUCE_ARGMIN};

// A named size; also its value.
class Dim : public Expr {
 public:
  Dim() = default;
  Dim(const Expr& value, uint32_t ordinal) : Expr(value), ordinal_(ordinal) {}
  uint32_t ordinal() const { return ordinal_; }  // of declaration: how launches name it

 private:
  uint32_t ordinal_ = 0;
};

}  // namespace tl

#endif  // TILERT_VALUES_HPP_
