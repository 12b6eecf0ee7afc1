// Epilogues of products: what becomes of each element of a product before it is stored. Use through kernels/gemm.hpp.
//
// An epilogue is anything that can be called with (value, row, column) and returns the new value. One that needs parameters
// has besides a member declare(Builder &, rows, columns), called once, after A, B and C were declared. The value is f32 (f64 of
// f64 products), whatever the result's type is; parameters of other types are cast to it. chain(a, b, c) applies one after the other. One that can be called with (value,
// row, column, group) is called so in products of groups; in others the group is 0.
#ifndef TILERT_KERNELS_EPILOGUE_HPP_
#define TILERT_KERNELS_EPILOGUE_HPP_

#include <tuple>
#include <type_traits>
#include <utility>

#include "tilert.hpp"

namespace tl::kernels {

namespace detail {
// A parameter's element in the type of the value that it meets.
inline Expr as_type_of(const Expr& value, const Expr& element) {
  return value.builder() ? cast(DType{tilert_builder_dtype_of(value.builder(), value.in(value.builder()))}, element) : element;
}
}  // namespace detail

// The product as it is.
struct Plain {
  Expr operator()(const Expr& value, const Index&, const Index&) const { return value; }
};

// Times a scalar parameter of f32, "alpha".
struct Alpha {
  Expr factor;
  void declare(Builder& b, const Expr&, const Expr&) { factor = b.scalar("alpha", f32); }
  Expr operator()(const Expr& value, const Index&, const Index&) const { return value * detail::as_type_of(value, factor); }
};
inline Alpha alpha() { return {}; }

// A parameter of the result's rows, its columns or both, added or multiplied.
struct Operand {
  enum class Along { row, column, both } along;
  bool multiply;
  DType dtype;
  const char* name;
  Tile values{};
  void declare(Builder& b, const Expr& rows, const Expr& columns) {
    if (along == Along::both) values = b.input(name, dtype, {rows, columns});
    else values = b.input(name, dtype, {along == Along::row ? rows : columns});
  }
  Expr operator()(const Expr& value, const Index& row, const Index& column) const {
    const Expr element = along == Along::both ? Expr(values(row, column)) : along == Along::row ? Expr(values(row)) : Expr(values(column));
    const Expr other = detail::as_type_of(value, element);
    return multiply ? value * other : value + other;
  }
};
inline Operand bias(DType dtype, const char* name = "bias") { return {Operand::Along::column, false, dtype, name}; }
inline Operand residual(DType dtype, const char* name = "residual") { return {Operand::Along::both, false, dtype, name}; }
inline Operand row_scale(DType dtype = f32, const char* name = "row_scale") { return {Operand::Along::row, true, dtype, name}; }
inline Operand column_scale(DType dtype = f32, const char* name = "column_scale") { return {Operand::Along::column, true, dtype, name}; }

// A row of values for each group, added: the biases of experts.
struct GroupBias {
  DType dtype;
  int64_t groups;
  const char* name;
  Tile values{};
  void declare(Builder& b, const Expr&, const Expr& columns) { values = b.input(name, dtype, {groups, columns}); }
  Expr operator()(const Expr& value, const Index&, const Index& column, const Index& group) const {
    return value + detail::as_type_of(value, values(group, column));
  }
};
inline GroupBias group_bias(DType dtype, int64_t groups, const char* name = "group_bias") { return {dtype, groups, name}; }

// Activations.
struct Relu {
  Expr operator()(const Expr& v, const Index&, const Index&) const { return max(v, 0.f); }
};
struct Silu {
  Expr operator()(const Expr& v, const Index&, const Index&) const { return v * sigmoid(v); }
};
struct Gelu {
  Expr operator()(const Expr& v, const Index&, const Index&) const { return v * 0.5f * (erf(v * 0.70710678118654752f) + 1.f); }
};
struct GeluTanh {
  Expr operator()(const Expr& v, const Index&, const Index&) const {
    return v * sigmoid((v + v * v * v * 0.044715f) * 1.5957691216057308f);  // 1 + tanh(x) is 2 sigmoid(2 x)
  }
};
inline Relu relu() { return {}; }
inline Silu silu() { return {}; }
inline Gelu gelu() { return {}; }
inline GeluTanh gelu_tanh() { return {}; }

namespace detail {

template <class E, class = void>
struct declares : std::false_type {};
template <class E>
struct declares<E, std::void_t<decltype(std::declval<E&>().declare(std::declval<Builder&>(), Expr(), Expr()))>> : std::true_type {};

template <class E>
void declare(E& epilogue, Builder& b, const Expr& rows, const Expr& columns) {
  if constexpr (declares<E>::value) epilogue.declare(b, rows, columns);
}

template <class E>
Expr apply(const E& epilogue, const Expr& value, const Index& row, const Index& column, const Index& group) {
  if constexpr (std::is_invocable_v<const E&, const Expr&, const Index&, const Index&, const Index&>) return epilogue(value, row, column, group);
  else return epilogue(value, row, column);
}

template <class... E>
struct Chain {
  std::tuple<E...> parts;
  void declare(Builder& b, const Expr& rows, const Expr& columns) {
    std::apply([&](auto&... part) { (detail::declare(part, b, rows, columns), ...); }, parts);
  }
  Expr operator()(Expr value, const Index& row, const Index& column, const Index& group) const {
    std::apply([&](const auto&... part) { ((value = detail::apply(part, value, row, column, group)), ...); }, parts);
    return value;
  }
};

}  // namespace detail

template <class... E>
detail::Chain<E...> chain(E... parts) {
  return {std::tuple<E...>(std::move(parts)...)};
}

}  // namespace tl::kernels

#endif  // TILERT_KERNELS_EPILOGUE_HPP_
