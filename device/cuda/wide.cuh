// Numbers beside those of types.cuh: unsigned integers, 16-bit integers and f64; conversions from and to them.

//@ tl_i16
typedef short tl_i16;

//@ tl_u_div
// x / 0 = 0.
template <class T>
TL_DEV T tl_u_div(T a, T b) { return b == 0 ? static_cast<T>(0) : static_cast<T>(a / b); }

//@ tl_u_mod
// x % 0 = x.
template <class T>
TL_DEV T tl_u_mod(T a, T b) { return b == 0 ? a : static_cast<T>(a % b); }

//@ tl_u_shl
template <class T>
TL_DEV T tl_u_shl(T a, T b) { return b >= 8 * sizeof(T) ? static_cast<T>(0) : static_cast<T>(static_cast<tl_u64>(a) << b); }

//@ tl_u_shr
// By the width or more: 0.
template <class T>
TL_DEV T tl_u_shr(T a, T b) { return b >= 8 * sizeof(T) ? static_cast<T>(0) : static_cast<T>(a >> b); }

//@ tl_is_real
template <class T>
struct tl_is_real {
  static constexpr bool value = tl_is_float<T>::value || tl_same<T, double>::value;
};

//@ tl_real
// The value as a float, or as a double where it is one.
template <class T>
TL_DEV float tl_real(T x) { return tl_float(x); }
TL_DEV double tl_real(double x) { return x; }

//@ tl_odd
// To f32 rounded to odd: what is lost sets the last bit, so that one more rounding to a shorter float is a single one.
TL_DEV float tl_odd(float x) { return x; }
TL_DEV float tl_odd(double x) {
  const float near = static_cast<float>(x);
  const double back = static_cast<double>(near);
  if (back == x || x != x) return near;
  const tl_u32 bits = tl_bits<tl_u32>(near);
  return tl_bits<float>(((back < 0.0 ? -back : back) > (x < 0.0 ? -x : x) ? bits - 1 : bits) | 1);
}

//@ tl_odd_integer
template <class T>
TL_DEV float tl_odd_integer(T x) {
  bool negative = false;
  if constexpr (static_cast<T>(-1) < static_cast<T>(1)) negative = x < 0;
  const tl_u64 magnitude = negative ? 0 - static_cast<tl_u64>(x) : static_cast<tl_u64>(x);
  const int drop = 64 - 24 - __clzll(static_cast<tl_i64>(magnitude));
  tl_u64 kept = magnitude;
  if (drop > 0) {
    kept = (magnitude >> drop) << drop;
    if (kept != magnitude) kept |= static_cast<tl_u64>(1) << drop;
  }
  const float f = static_cast<float>(kept);
  return negative ? -f : f;
}

//@ tl_saturate
// Truncates; beyond the type its end, NaN gives 0.
template <class T, class Real>
TL_DEV T tl_saturate(Real x) {
  constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(1);
  constexpr T most = static_cast<T>(is_signed ? (~static_cast<tl_u64>(0)) >> (65 - 8 * sizeof(T)) : ~static_cast<tl_u64>(0));
  const Real end = static_cast<Real>(static_cast<tl_u64>(1) << (8 * sizeof(T) - (is_signed ? 2 : 1))) * static_cast<Real>(2);
  if (x != x) return static_cast<T>(0);
  if (x >= end) return most;
  if constexpr (is_signed) {
    if (x < -end) return static_cast<T>(-most - 1);
  } else {
    if (x <= static_cast<Real>(0)) return static_cast<T>(0);
  }
  return static_cast<T>(x);
}

//@ tl_convert
// As tl_cast, between all types.
template <class To, class From>
TL_DEV To tl_convert(From x) {
  if constexpr (tl_same<To, From>::value) {
    return x;
  } else if constexpr (tl_is_real<From>::value) {
    if constexpr (tl_same<To, bool>::value) return tl_real(x) != 0;
    else if constexpr (tl_same<To, double>::value) return static_cast<double>(tl_real(x));
    else if constexpr (tl_same<To, float>::value) return static_cast<float>(tl_real(x));
    else if constexpr (tl_is_real<To>::value) return tl_from_float<To>(tl_odd(tl_real(x)));
    else return tl_saturate<To>(tl_real(x));
  } else if constexpr (tl_same<To, bool>::value) {
    return x != 0;
  } else if constexpr (tl_same<To, double>::value || tl_same<To, float>::value || !tl_is_real<To>::value) {
    return static_cast<To>(x);
  } else if constexpr (sizeof(From) < 4) {
    return tl_from_float<To>(static_cast<float>(x));
  } else {
    return tl_from_float<To>(tl_odd_integer(x));
  }
}

//@ tl_f64_inf
TL_DEV double tl_f64_inf() { return tl_bits<double>(0x7ff0000000000000ull); }

//@ tl_f64_div
TL_DEV double tl_f64_div(double a, double b) { return a / b; }

//@ tl_f64_negative
// The sign bit, of -0 and NaN too.
TL_DEV bool tl_f64_negative(double x) { return tl_bits<tl_i64>(x) < 0; }

//@ tl_f64_min
// The number wins over NaN, and -0 is less than +0.
TL_DEV double tl_f64_min(double a, double b) {
  if (a != a) return b;
  if (b != b) return a;
  return b < a || (a == b && tl_f64_negative(b)) ? b : a;
}

//@ tl_f64_max
TL_DEV double tl_f64_max(double a, double b) {
  if (a != a) return b;
  if (b != b) return a;
  return a < b || (a == b && tl_f64_negative(a)) ? b : a;
}

//@ tl_f64_min_nan
TL_DEV double tl_f64_min_nan(double a, double b) { return a != a ? a : b != b ? b : tl_f64_min(a, b); }

//@ tl_f64_max_nan
TL_DEV double tl_f64_max_nan(double a, double b) { return a != a ? a : b != b ? b : tl_f64_max(a, b); }

//@ tl_f64_abs
TL_DEV double tl_f64_abs(double x) { return tl_bits<double>(tl_bits<tl_u64>(x) & 0x7fffffffffffffffull); }

//@ tl_f64_fma
TL_DEV double tl_f64_fma(double a, double b, double c) { return fma(a, b, c); }

//@ tl_f64_exp
TL_DEV double tl_f64_exp(double x) { return exp(x); }

//@ tl_f64_exp2
TL_DEV double tl_f64_exp2(double x) { return exp2(x); }

//@ tl_f64_log
TL_DEV double tl_f64_log(double x) { return log(x); }

//@ tl_f64_log2
TL_DEV double tl_f64_log2(double x) { return log2(x); }

//@ tl_f64_sqrt
TL_DEV double tl_f64_sqrt(double x) { return sqrt(x); }

//@ tl_f64_rsqrt
TL_DEV double tl_f64_rsqrt(double x) { return 1.0 / sqrt(x); }

//@ tl_f64_sin
TL_DEV double tl_f64_sin(double x) { return sin(x); }

//@ tl_f64_cos
TL_DEV double tl_f64_cos(double x) { return cos(x); }

//@ tl_f64_tanh
TL_DEV double tl_f64_tanh(double x) { return tanh(x); }

//@ tl_f64_erf
TL_DEV double tl_f64_erf(double x) { return erf(x); }

//@ tl_f64_sigmoid
// e is at most 1: no overflow hides small results.
TL_DEV double tl_f64_sigmoid(double x) {
  const double e = exp(-tl_f64_abs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

//@ tl_f64_pow
TL_DEV double tl_f64_pow(double x, double y) { return pow(x, y); }

//@ tl_f64_floor
TL_DEV double tl_f64_floor(double x) { return floor(x); }

//@ tl_f64_ceil
TL_DEV double tl_f64_ceil(double x) { return ceil(x); }

//@ tl_f64_round
TL_DEV double tl_f64_round(double x) { return rint(x); }

//@ tl_f64_trunc
TL_DEV double tl_f64_trunc(double x) { return trunc(x); }

//@ tl_f64_isnan
TL_DEV bool tl_f64_isnan(double x) { return x != x; }

//@ tl_f64_isinf
TL_DEV bool tl_f64_isinf(double x) { return tl_f64_abs(x) == tl_f64_inf(); }

//@ tl_f64_isfinite
TL_DEV bool tl_f64_isfinite(double x) { return tl_f64_abs(x) < tl_f64_inf(); }

//@ tl_round_tf32
// To ten bits of mantissa, half to even; the other bits are zero.
template <class T>
TL_DEV T tl_round_tf32(T x) {
  const tl_u32 bits = tl_bits<tl_u32>(x);
  if ((bits & 0x7f800000u) == 0x7f800000u) return x;
  return tl_bits<T>((bits + 0xfff + (bits >> 13 & 1)) & 0xffffe000u);
}

//@ tl_pack_words
template <int N, class T>
TL_DEV void tl_pack_words(tl_u32 (&r)[N], const T (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) r[i] = tl_bits<tl_u32>(x[i]);
}
