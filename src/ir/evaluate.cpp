// Evaluation: a table of functions per class of type, filled from evaluate.def, and the casts.
#include "ir/evaluate.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ir/philox.h"

namespace tilert::ir {
namespace {

constexpr size_t kOpCount = 0
#define TILERT_OP(name, arity, rule, text, c) +1
#include "ir/ops.def"
#undef TILERT_OP
    ;

template <class To, class From>
To bit_copy(From from) {
  To to;
  static_assert(sizeof(To) == sizeof(From));
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

// ---- integers: width and signedness ----

template <int bits, bool is_signed>
struct Integer {
  static constexpr uint64_t kBits = bits;
  using Value = std::conditional_t<is_signed, int64_t, uint64_t>;

  static uint64_t wrap(uint64_t u) {
    if constexpr (bits == 64) return u;
    constexpr int unused = 64 - bits;
    if constexpr (is_signed) return static_cast<uint64_t>(static_cast<int64_t>(u << unused) >> unused);
    return (u << unused) >> unused;
  }
  static Value load(uint64_t u) { return static_cast<Value>(u); }
  static uint64_t count(uint64_t v) { return bits == 64 ? v : v & ((uint64_t{1} << (bits % 64)) - 1); }  // unsigned

  static uint64_t trunc_div(Value x, Value y) {
    if (y == 0) return 0;
    if constexpr (is_signed) {
      if (y == -1) return 0 - static_cast<uint64_t>(x);
    }
    return static_cast<uint64_t>(x / y);
  }
  static uint64_t trunc_mod(Value x, Value y) {
    if (y == 0) return static_cast<uint64_t>(x);
    if constexpr (is_signed) {
      if (y == -1) return 0;
    }
    return static_cast<uint64_t>(x % y);
  }
  static uint64_t floor_mod(Value x, Value y) {
    const Value rest = static_cast<Value>(trunc_mod(x, y));
    if (y == 0 || rest == 0 || (rest < 0) == (y < 0)) return static_cast<uint64_t>(rest);
    return static_cast<uint64_t>(rest + y);
  }
  static uint64_t floor_div(Value x, Value y) {
    const Value rest = static_cast<Value>(trunc_mod(x, y));
    const uint64_t quotient = trunc_div(x, y);
    if (y == 0 || rest == 0 || (rest < 0) == (y < 0)) return quotient;
    return quotient - 1;
  }
  static uint64_t shift_right(Value x, uint64_t by) {
    if (by < bits) return static_cast<uint64_t>(x >> by);
    return x < 0 ? ~uint64_t{0} : 0;
  }
  static uint64_t from_double(double x) {
    if (std::isnan(x)) return 0;
    constexpr double upper =
        2.0 * static_cast<double>(uint64_t{1} << (is_signed ? bits - 2 : bits - 1));  // 2^(value bits)
    constexpr uint64_t most = is_signed ? (uint64_t{1} << (bits - 1)) - 1 : ~uint64_t{0} >> (64 - bits);
    if (x >= upper) return most;
    if constexpr (is_signed) {
      if (x < -upper) return wrap(uint64_t{1} << (bits - 1));
      return static_cast<uint64_t>(static_cast<int64_t>(x));
    } else {
      if (x <= 0) return 0;
      return static_cast<uint64_t>(x);
    }
  }
};

struct Boolean : Integer<1, false> {
  static uint64_t from_double(double x) { return x != 0 || std::isnan(x); }
};

// ---- floats: exact to double, rounded once from double ----

// a*b + c to a double whose last bit is sticky (round to odd), given that a*b is exact: one more rounding, to at least
// two bits less, equals a single one.
double fma_sticky(double a, double b, double c) {
  const double product = a * b, sum = product + c;
  if (!std::isfinite(sum) || !std::isfinite(product)) return sum;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (c - back);
  uint64_t bits = bit_copy<uint64_t>(sum);
  if (error == 0 || (bits & 1)) return sum;
  bits += (error > 0) == (sum > 0) ? 1 : -1;
  return bit_copy<double>(bits);
}

struct F64 {
  static double load(uint64_t u) { return bit_copy<double>(u); }
  static uint64_t store(double x) { return std::isnan(x) ? 0x7ff8000000000000u : bit_copy<uint64_t>(x); }
  static double fma(double x, double y, double z) { return std::fma(x, y, z); }
};
struct F32 {
  static double load(uint64_t u) { return bit_copy<float>(static_cast<uint32_t>(u)); }
  static uint64_t store(double x) { return std::isnan(x) ? 0x7fc00000u : bit_copy<uint32_t>(static_cast<float>(x)); }
  static double fma(double x, double y, double z) { return fma_sticky(x, y, z); }
};
struct F16 {
  static double load(uint64_t u) { return f16_to_f32(static_cast<uint16_t>(u)); }
  static uint64_t store(double x) { return std::isnan(x) ? 0x7e00u : f64_to_f16(x); }
  static double fma(double x, double y, double z) { return fma_sticky(x, y, z); }
};
struct BF16 {
  static double load(uint64_t u) { return bf16_to_f32(static_cast<uint16_t>(u)); }
  static uint64_t store(double x) { return std::isnan(x) ? 0x7fc0u : f64_to_bf16(x); }
  static double fma(double x, double y, double z) { return fma_sticky(x, y, z); }
};

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

// Calls f with the type that computes in `dtype`, or returns `none`.
template <class R, class F>
R dispatch(DType dtype, R none, F f) {
  switch (dtype) {
    case DType::boolean: return f(Boolean{});
    case DType::int4: return f(Integer<4, true>{});
    case DType::int8: return f(Integer<8, true>{});
    case DType::int16: return f(Integer<16, true>{});
    case DType::int32: return f(Integer<32, true>{});
    case DType::int64:
    case DType::index: return f(Integer<64, true>{});
    case DType::uint4: return f(Integer<4, false>{});
    case DType::uint8: return f(Integer<8, false>{});
    case DType::uint16: return f(Integer<16, false>{});
    case DType::uint32: return f(Integer<32, false>{});
    case DType::uint64: return f(Integer<64, false>{});
    case DType::f16: return f(F16{});
    case DType::bf16: return f(BF16{});
    case DType::f32: return f(F32{});
    case DType::f64: return f(F64{});
    default: return none;  // stored and moved only
  }
}

template <class T>
constexpr bool kIsFloat =
    std::is_same_v<T, F16> || std::is_same_v<T, BF16> || std::is_same_v<T, F32> || std::is_same_v<T, F64>;

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

template <class T>
uint64_t reinterpreted(uint64_t u, uint64_t, uint64_t) {
  if constexpr (kIsFloat<T>) {
    if constexpr (std::is_same_v<T, F64>) return u;
    return u & (std::is_same_v<T, F32> ? 0xffffffffu : 0xffffu);
  } else {
    return T::wrap(u);
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
    return dispatch(operand, none, [&](auto from) {
      return dispatch(result, none, [&](auto to) -> ScalarFunction { return &convert<decltype(from), decltype(to)>; });
    });
  }
  if (op == Op::reinterpret) {
    if (dtype_bits(operand) != dtype_bits(result) || !can_evaluate(operand)) return none;
    return dispatch(result, none, [](auto to) -> ScalarFunction { return &reinterpreted<decltype(to)>; });
  }
  if ((op == Op::neg || op == Op::abs) && dtype_is_float(operand))
    return can_evaluate(operand) ? float_sign_function(op, operand) : none;
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
  return dispatch(dtype, false, [](auto) { return true; });
}

double bits_to_double(DType dtype, uint64_t bits) {
  return dispatch(dtype, 0.0, [&](auto type) -> double {
    using T = decltype(type);
    return static_cast<double>(T::load(bits));
  });
}

uint64_t double_to_bits(DType dtype, double value) {
  return dispatch(dtype, uint64_t{0}, [&](auto type) -> uint64_t {
    using T = decltype(type);
    if constexpr (kIsFloat<T>)
      return T::store(value);
    else
      return T::from_double(value);
  });
}

uint64_t load_element(DType dtype, const void* address) {
  uint64_t bits = 0;
  const int bytes = dtype_bytes(dtype);
  std::memcpy(&bits, address, static_cast<size_t>(bytes));
  if (dtype == DType::boolean) return bits != 0;
  if (!dtype_is_signed(dtype) || bytes == 8) return bits;
  const int unused = 64 - 8 * bytes;
  return static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused);
}

void store_element(DType dtype, void* address, uint64_t bits) {
  std::memcpy(address, &bits, static_cast<size_t>(dtype_bytes(dtype)));
}

}  // namespace tilert::ir
