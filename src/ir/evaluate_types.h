// The types that evaluation computes in: bit patterns to values and back, rounded once. For evaluate.cpp alone.
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "ir/evaluate.h"
#include "support/small_float.h"

namespace tilert::ir::evaluation {

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

// A mode of products: f32 with ten bits of mantissa.
struct TF32 {
  static double load(uint64_t u) { return F32::load(u); }
  static uint64_t store(double x) {
    const uint64_t bits = F32::store(x);
    if (!std::isfinite(x)) return bits;
    // What was rounded to f32 in between is off by less than half of the last bit that goes: round to odd first.
    const float near = static_cast<float>(x);
    uint64_t odd = bits;
    if (std::isfinite(near) && static_cast<double>(near) != x) {
      if (std::fabs(static_cast<double>(near)) > std::fabs(x)) --odd;
      odd |= 1;
    }
    return (odd + 0xfff + (odd >> 13 & 1)) & 0xffffe000u;
  }
};

// Stored and converted only.
template <DType type>
struct Small {
  static double load(uint64_t u) { return small_to_f64(type, u); }
  static uint64_t store(double x) { return f64_to_small(type, x, true); }
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
    default: return none;  // stored and converted only
  }
}

// The same with the types that are only stored and converted.
template <class R, class F>
R dispatch_stored(DType dtype, R none, F f) {
  switch (dtype) {
    case DType::e4m3: return f(Small<DType::e4m3>{});
    case DType::e5m2: return f(Small<DType::e5m2>{});
    case DType::e4m3fnuz: return f(Small<DType::e4m3fnuz>{});
    case DType::e5m2fnuz: return f(Small<DType::e5m2fnuz>{});
    case DType::e8m0: return f(Small<DType::e8m0>{});
    case DType::e2m3: return f(Small<DType::e2m3>{});
    case DType::e3m2: return f(Small<DType::e3m2>{});
    case DType::e2m1: return f(Small<DType::e2m1>{});
    case DType::nf4: return f(Small<DType::nf4>{});
    case DType::tf32: return f(TF32{});
    default: return dispatch(dtype, none, f);
  }
}

template <class T>
constexpr bool kIsFloat =
    std::is_same_v<T, F16> || std::is_same_v<T, BF16> || std::is_same_v<T, F32> || std::is_same_v<T, F64>;
template <DType type>
constexpr bool kIsFloat<Small<type>> = true;
template <>
constexpr bool kIsFloat<TF32> = true;

}  // namespace tilert::ir::evaluation
