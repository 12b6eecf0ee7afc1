// Evaluation: a table of functions per class of type, filled from evaluate.def, and the casts.
#include "ir/evaluate.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ir/evaluate_types.h"
#include "ir/fast.h"
#include "ir/philox.h"

namespace tilert::ir {
namespace {

using namespace evaluation;

constexpr size_t kOpCount = 0
#define TILERT_OP(name, arity, rule, text, c) +1
#include "ir/ops.def"
#undef TILERT_OP
    ;

// ---- tables ----

template <class T>
struct IntegerRows {
  using V = typename T::Value;
#define TILERT_EVALUATE_INTEGER(name, expression)                                            \
  static uint64_t name([[maybe_unused]] uint64_t u, [[maybe_unused]] uint64_t v, uint64_t) { \
    [[maybe_unused]] const V x = T::load(u), y = T::load(v);                                 \
    return T::wrap(expression);                                                              \
  }
#define TILERT_EVALUATE_FLOAT(name, expression)
#define TILERT_EVALUATE_TEST(name, integer, real)                                            \
  static uint64_t name([[maybe_unused]] uint64_t u, [[maybe_unused]] uint64_t v, uint64_t) { \
    [[maybe_unused]] const V x = T::load(u), y = T::load(v);                                 \
    return (integer) ? 1 : 0;                                                                \
  }
#include "ir/evaluate.def"
#undef TILERT_EVALUATE_INTEGER
#undef TILERT_EVALUATE_FLOAT
#undef TILERT_EVALUATE_TEST

  static ScalarFunction find(Op op) {
    static constexpr auto table = [] {
      struct {
        ScalarFunction row[kOpCount];
      } t{};
#define TILERT_EVALUATE_INTEGER(name, expression) t.row[static_cast<size_t>(Op::name)] = &IntegerRows::name;
#define TILERT_EVALUATE_FLOAT(name, expression)
#define TILERT_EVALUATE_TEST(name, integer, real) t.row[static_cast<size_t>(Op::name)] = &IntegerRows::name;
#include "ir/evaluate.def"
#undef TILERT_EVALUATE_INTEGER
#undef TILERT_EVALUATE_FLOAT
#undef TILERT_EVALUATE_TEST
      return t;
    }();
    return table.row[static_cast<size_t>(op)];
  }
};

template <class T>
struct FloatRows {
#define TILERT_EVALUATE_INTEGER(name, expression)
#define TILERT_EVALUATE_FLOAT(name, expression)                                                \
  static uint64_t name(uint64_t u, [[maybe_unused]] uint64_t v, [[maybe_unused]] uint64_t w) { \
    [[maybe_unused]] const double x = T::load(u), y = T::load(v), z = T::load(w);              \
    return T::store(expression);                                                               \
  }
#define TILERT_EVALUATE_TEST(name, integer, real)                           \
  static uint64_t name(uint64_t u, [[maybe_unused]] uint64_t v, uint64_t) { \
    [[maybe_unused]] const double x = T::load(u), y = T::load(v);           \
    return (real) ? 1 : 0;                                                  \
  }
#include "ir/evaluate.def"
#undef TILERT_EVALUATE_INTEGER
#undef TILERT_EVALUATE_FLOAT
#undef TILERT_EVALUATE_TEST

  static ScalarFunction find(Op op) {
    static constexpr auto table = [] {
      struct {
        ScalarFunction row[kOpCount];
      } t{};
#define TILERT_EVALUATE_INTEGER(name, expression)
#define TILERT_EVALUATE_FLOAT(name, expression) t.row[static_cast<size_t>(Op::name)] = &FloatRows::name;
#define TILERT_EVALUATE_TEST(name, integer, real) t.row[static_cast<size_t>(Op::name)] = &FloatRows::name;
#include "ir/evaluate.def"
#undef TILERT_EVALUATE_INTEGER
#undef TILERT_EVALUATE_FLOAT
#undef TILERT_EVALUATE_TEST
      return t;
    }();
    return table.row[static_cast<size_t>(op)];
  }
};

// An integer as a double whose last bit is sticky: exact to 53 bits.
template <class T>
double integer_to_double(uint64_t u) {
  const auto value = T::load(u);
  const bool negative = value < 0;
  const uint64_t magnitude = negative ? 0 - u : u;
  double result;
  if (magnitude < (uint64_t{1} << 53))
    result = static_cast<double>(magnitude);
  else
    result = static_cast<double>((magnitude >> 11) | ((magnitude & 0x7ff) != 0)) * 2048.0;
  return negative ? -result : result;
}

template <class From, class To>
uint64_t convert(uint64_t u, uint64_t, uint64_t) {
  if constexpr (kIsFloat<From> && kIsFloat<To>) {
    return To::store(From::load(u));
  } else if constexpr (kIsFloat<From>) {
    return To::from_double(From::load(u));
  } else if constexpr (std::is_same_v<To, F64>) {
    return To::store(static_cast<double>(From::load(u)));
  } else if constexpr (kIsFloat<To>) {
    return To::store(integer_to_double<From>(u));
  } else if constexpr (std::is_same_v<To, Boolean>) {
    return u != 0;
  } else {
    return To::wrap(u);
  }
}

// To a small float; what is beyond its range becomes infinity or NaN.
template <class From, DType to>
uint64_t convert_nonsat(uint64_t u, uint64_t, uint64_t) {
  if constexpr (kIsFloat<From>) return f64_to_small(to, From::load(u), false);
  else return f64_to_small(to, integer_to_double<From>(u), false);
}

template <class T>
struct NonsatOf {
  template <class From>
  static constexpr ScalarFunction function = nullptr;
};
template <DType type>
struct NonsatOf<Small<type>> {
  template <class From>
  static constexpr ScalarFunction function = &convert_nonsat<From, type>;
};

template <class T>
uint64_t reinterpreted(uint64_t u, uint64_t, uint64_t) {
  return T::wrap(u);
}
template <int bits>
uint64_t reinterpreted_float(uint64_t u, uint64_t, uint64_t) {
  return bits == 64 ? u : u & ((uint64_t{1} << bits % 64) - 1);
}

ScalarFunction reinterpretation(DType result) {
  if (!dtype_is_float(result))
    return dispatch(result, ScalarFunction{nullptr}, [](auto to) -> ScalarFunction {
      if constexpr (kIsFloat<decltype(to)>) return nullptr;
      else return &reinterpreted<decltype(to)>;
    });
  switch (dtype_bits(result)) {
    case 4: return &reinterpreted_float<4>;
    case 6: return &reinterpreted_float<6>;
    case 8: return &reinterpreted_float<8>;
    case 16: return &reinterpreted_float<16>;
    case 32: return &reinterpreted_float<32>;
    default: return &reinterpreted_float<64>;
  }
}

template <size_t word>
uint64_t philox_word(uint64_t seed, uint64_t counter, uint64_t stream) {
  return philox(seed, counter, stream)[word];
}

uint64_t selected(uint64_t condition, uint64_t a, uint64_t b) { return condition ? a : b; }
template <uint64_t sign>
uint64_t sign_flipped(uint64_t u, uint64_t, uint64_t) {
  return u ^ sign;
}
template <uint64_t sign>
uint64_t sign_cleared(uint64_t u, uint64_t, uint64_t) {
  return u & ~sign;
}

// Sign changes move bits and touch nothing else, a NaN's included.
template <uint64_t sign>
ScalarFunction sign_function(Op op) {
  return op == Op::neg ? &sign_flipped<sign> : op == Op::abs ? &sign_cleared<sign> : nullptr;
}

ScalarFunction float_sign_function(Op op, DType dtype) {
  switch (dtype_bits(dtype)) {
    case 16: return sign_function<0x8000>(op);
    case 32: return sign_function<0x80000000u>(op);
    default: return sign_function<0x8000000000000000u>(op);
  }
}

}  // namespace

ScalarFunction scalar_function(Op op, DType operand, DType result) {
  op = exact_op(op);
  constexpr ScalarFunction none = nullptr;
  switch (op) {
    case Op::select: return &selected;
    case Op::philox0: return &philox_word<0>;
    case Op::philox1: return &philox_word<1>;
    case Op::philox2: return &philox_word<2>;
    case Op::philox3: return &philox_word<3>;
    default: break;
  }
  if (op == Op::cast) {
    return dispatch_stored(operand, none, [&](auto from) {
      return dispatch_stored(result, none, [&](auto to) -> ScalarFunction { return &convert<decltype(from), decltype(to)>; });
    });
  }
  if (op == Op::cast_nonsat) {
    if (!has_overflow_value(result)) return none;
    return dispatch_stored(operand, none, [&](auto from) {
      return dispatch_stored(result, none, [&](auto to) -> ScalarFunction {
        return NonsatOf<decltype(to)>::template function<decltype(from)>;
      });
    });
  }
  if (op == Op::reinterpret) {
    if (dtype_bits(operand) != dtype_bits(result) || !can_evaluate(operand)) return none;
    return reinterpretation(result);
  }
  if ((op == Op::neg || op == Op::abs) && dtype_is_float(operand))
    return dtype_computes(operand) ? float_sign_function(op, operand) : none;
  return dispatch(operand, none, [&](auto type) -> ScalarFunction {
    using T = decltype(type);
    if constexpr (kIsFloat<T>)
      return FloatRows<T>::find(op);
    else
      return IntegerRows<T>::find(op);
  });
}

std::optional<uint64_t> evaluate(const Node& node, std::span<const uint64_t> operands) {
  if (node.is_constant()) return node.bits;
  if (node.is_variable() || operands.size() != node.arity || node.arity == 0) return std::nullopt;
  const DType operand = node.operand[node.arity - 1]->dtype;
  const ScalarFunction function = scalar_function(node.op, operand, node.dtype);
  if (!function) return std::nullopt;
  const uint64_t u = operands[0], v = node.arity > 1 ? operands[1] : 0, w = node.arity > 2 ? operands[2] : 0;
  if (!dtype_is_float(operand) && !dtype_is_float(node.dtype)) return function(u, v, w);
  const FloatEnvironment environment;
  return function(u, v, w);
}

bool can_evaluate(DType dtype) {
  return dispatch_stored(dtype, false, [](auto) { return true; });
}

double bits_to_double(DType dtype, uint64_t bits) {
  return dispatch_stored(dtype, 0.0, [&](auto type) -> double {
    using T = decltype(type);
    return static_cast<double>(T::load(bits));
  });
}

uint64_t double_to_bits(DType dtype, double value) {
  return dispatch_stored(dtype, uint64_t{0}, [&](auto type) -> uint64_t {
    using T = decltype(type);
    if constexpr (kIsFloat<T>)
      return T::store(value);
    else
      return T::from_double(value);
  });
}

}  // namespace tilert::ir
