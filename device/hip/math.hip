// Elementary functions: f32, rounded once for 16-bit types, by the algorithms and polynomials of codegen/llvm_math, which
// tools/minimax.py makes. Bounds in ulp are in the project's table of functions. There is no library of functions behind them.

//@ tl_fma
template <class T>
TL_DEV T tl_fma(T a, T b, T c) { return tl_from_float<T>(__builtin_fmaf(tl_float(a), tl_float(b), tl_float(c))); }

//@ tl_unit_exp2
// 2^x of a result that is no subnormal.
TL_DEV float tl_unit_exp2(float x) {
#if __has_builtin(__builtin_amdgcn_exp2f)
  return __builtin_amdgcn_exp2f(x);
#else
  return __builtin_exp2f(x);
#endif
}

//@ tl_exp2
// The unit gives zeros for subnormal results.
TL_DEV float tl_exp2_f32(float x) {
  const bool small = x < -126.0f;
  return tl_unit_exp2(small ? x + 64.0f : x) * (small ? 0x1p-64f : 1.0f);
}
template <class T>
TL_DEV T tl_exp2(T x) { return tl_from_float<T>(tl_exp2_f32(tl_float(x))); }

//@ tl_power_of_two
// value * 2^n for n in [-252, 254], by two exact steps: only the last product rounds.
TL_DEV float tl_power_of_two(float value, int n) {
  const int first = n >> 1, second = n - first;
  return value * tl_bits<float>(static_cast<tl_u32>(first + 127) << 23) * tl_bits<float>(static_cast<tl_u32>(second + 127) << 23);
}

//@ tl_exp_f32
// e^x = 2^n e^r, |r| <= ln2 / 2, e^r = 1 + r + r^2 p(r).
TL_DEV float tl_exp_f32(float x) {
  const float low = x < -104.0f ? -104.0f : x, inside = low > 89.0f ? 89.0f : low;
  const float shifted = inside * 0x1.715476p0f + 0x1.8p23f, n = shifted - 0x1.8p23f;
  const float r = __builtin_fmaf(n, -0x1.7f7d1cp-20f, __builtin_fmaf(n, -0x1.62e4p-1f, inside));
  float p = 0x1.6a7a3ep-10f;
  p = __builtin_fmaf(p, r, 0x1.123898p-7f);
  p = __builtin_fmaf(p, r, 0x1.55589p-5f);
  p = __builtin_fmaf(p, r, 0x1.555494p-3f);
  p = __builtin_fmaf(p, r, 0x1.fffffcp-2f);
  const float y = tl_power_of_two(__builtin_fmaf(r * r, p, r) + 1.0f, x != x ? 0 : static_cast<int>(n));
  return x != x ? x : y;
}

//@ tl_exp
template <class T>
TL_DEV T tl_exp(T x) { return tl_from_float<T>(tl_exp_f32(tl_float(x))); }

//@ tl_log_parts
// x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); rest: log(1 + f) - f.
struct tl_log_parts {
  float e, f, rest;
};
TL_DEV tl_log_parts tl_log_cut(float x) {
  const bool tiny = x < 0x1p-126f;
  const int lowered = static_cast<int>(tl_bits<tl_u32>(tiny ? x * 0x1p23f : x)) - 0x3f3504f3;
  const float e = static_cast<float>(lowered >> 23) - (tiny ? 23.0f : 0.0f);
  const float f = tl_bits<float>(static_cast<tl_u32>((lowered & 0x7fffff) + 0x3f3504f3)) - 1.0f, square = f * f;
  float p = 0x1.b5f3dcp-5f;
  p = __builtin_fmaf(p, f, -0x1.bf48b2p-4f);
  p = __builtin_fmaf(p, f, 0x1.efea66p-4f);
  p = __builtin_fmaf(p, f, -0x1.01003ap-3f);
  p = __builtin_fmaf(p, f, 0x1.23038ep-3f);
  p = __builtin_fmaf(p, f, -0x1.552f5cp-3f);
  p = __builtin_fmaf(p, f, 0x1.99a54p-3f);
  p = __builtin_fmaf(p, f, -0x1.00007p-2f);
  p = __builtin_fmaf(p, f, 0x1.555548p-2f);
  return tl_log_parts{e, f, __builtin_fmaf(square, -0.5f, p * f * square)};
}
// What any logarithm is outside the finite positive numbers.
TL_DEV float tl_log_ends(float x, float inside) {
  if (x != x) return x;
  if (x < 0.0f) return __builtin_nanf("");
  return x == 0.0f ? -tl_inf() : x == tl_inf() ? x : inside;
}

//@ tl_log
template <class T>
TL_DEV T tl_log(T x) {
  const float f = tl_float(x);
  const tl_log_parts c = tl_log_cut(f);
  const float low = __builtin_fmaf(c.e, 0x1.7f7d1cp-20f, c.rest);
  return tl_from_float<T>(tl_log_ends(f, __builtin_fmaf(c.e, 0x1.62e4p-1f, low + c.f)));
}

//@ tl_log2
// log2(e) is split, so that the leading product loses little.
template <class T>
TL_DEV T tl_log2(T x) {
  const float f = tl_float(x), high = 0x1.7p+0f, low = 0x1.547652p-8f;
  const tl_log_parts c = tl_log_cut(f);
  const float small = __builtin_fmaf(c.rest, low, c.f * low);
  return tl_from_float<T>(tl_log_ends(f, __builtin_fmaf(c.f, high, __builtin_fmaf(c.rest, high, small)) + c.e));
}

//@ tl_root
// Rounded correctly. Compilers of before LLVM 18 give the unit's approximation, which one step mends.
TL_DEV float tl_root(float x) {
#if __clang_major__ >= 18 || !defined(__clang__)
  return __builtin_sqrtf(x);
#else
  const bool small = x < 0x1p-96f;
  const float scaled = small ? x * 0x1p32f : x;
  float s = __builtin_sqrtf(scaled);
  const float below = tl_bits<float>(tl_bits<tl_u32>(s) - 1), above = tl_bits<float>(tl_bits<tl_u32>(s) + 1);
  const float too_low = __builtin_fmaf(-above, s, scaled), too_high = __builtin_fmaf(-below, s, scaled);
  const float mended = too_high <= 0.0f ? below : too_low > 0.0f ? above : s;
  s = scaled > 0.0f && scaled < tl_inf() ? mended : s;
  return small ? s * 0x1p-16f : s;
#endif
}

//@ tl_sqrt
template <class T>
TL_DEV T tl_sqrt(T x) { return tl_from_float<T>(tl_root(tl_float(x))); }

//@ tl_rsqrt
template <class T>
TL_DEV T tl_rsqrt(T x) { return tl_from_float<T>(1.0f / tl_root(tl_float(x))); }

//@ tl_turns_word
// 2 / pi in words of 32 bits, behind one of zeros.
TL_DEV tl_u32 tl_turns_word(int i) {
  return i <= 0 ? 0u : i == 1 ? 0xa2f9836eu : i == 2 ? 0x4e441529u : i == 3 ? 0xfc2757d1u : i == 4 ? 0xf534ddc0u
       : i == 5 ? 0xdb629599u : i == 6 ? 0x3c439041u : i == 7 ? 0xfe5163abu : 0xdebbc561u;
}

//@ tl_quadrant
// r = x - q pi/2, |r| <= pi/4 or a little more. Far away (Payne and Hanek) by the 96 bits of 2 / pi that matter: those before
// make whole turns.
struct tl_quadrant {
  float r;
  int q;
};
TL_DEV tl_quadrant tl_quadrant_of(float x) {
  const tl_u32 bits = tl_bits<tl_u32>(x), size = bits & 0x7fffffffu;
  if (size <= 0x47000000u) {  // 2^15
    const float shifted = x * 0x1.45f306p-1f + 0x1.8p23f, n = shifted - 0x1.8p23f;
    const float r = __builtin_fmaf(n, 0x1.ee59dap-50f, __builtin_fmaf(n, 0x1.777a5cp-25f, __builtin_fmaf(n, -0x1.921fb6p+0f, x)));
    return tl_quadrant{r, static_cast<int>(n)};
  }
  if (size >= 0x7f800000u) return tl_quadrant{__builtin_nanf(""), 0};
  const int at = static_cast<int>(size >> 23) - 150 - 2 + 32, word = at >> 5, shift = at & 31;
  const tl_u64 m = (size & 0x7fffffu) | 0x800000u;
  const auto bits_from = [&](int i) {
    const tl_u64 two = static_cast<tl_u64>(tl_turns_word(word + i)) << 32 | tl_turns_word(word + i + 1);
    return static_cast<tl_u64>(static_cast<tl_u32>(two << shift >> 32));
  };
  const tl_u64 low = m * bits_from(2), middle = m * bits_from(1) + (low >> 32);
  const tl_u64 high = ((m * bits_from(0) + (middle >> 32)) << 32) | static_cast<tl_u32>(middle);  // two bits of quadrant, 62 of fraction
  const tl_u64 rest = low << 32 >> 32;
  const tl_u64 fraction = high << 2 | rest >> 30;
  const int up = static_cast<int>(fraction >> 63), q = static_cast<int>(high >> 62) + up;
  const float r = static_cast<float>(static_cast<double>(static_cast<tl_i64>(fraction)) * (1.57079632679489661923 * 0x1p-64));
  return bits >> 31 ? tl_quadrant{-r, -q} : tl_quadrant{r, q};
}

//@ tl_sin_quadrant
// The sine of r + q pi/2.
TL_DEV float tl_sin_quadrant(float r, int q) {
  const float square = r * r;
  float s = 0x1.7cc796p-19f;
  s = __builtin_fmaf(s, square, -0x1.a05b8p-13f);
  s = __builtin_fmaf(s, square, 0x1.111176p-7f);
  s = __builtin_fmaf(s, square, -0x1.555556p-3f);
  float c = -0x1.3700a2p-22f;
  c = __builtin_fmaf(c, square, 0x1.a0755cp-16f);
  c = __builtin_fmaf(c, square, -0x1.6c1762p-10f);
  c = __builtin_fmaf(c, square, 0x1.555556p-5f);
  const float sine = __builtin_fmaf(s * square, r, r);
  // What the subtraction from 1 loses comes back through the tail.
  const float half = square * 0.5f, top = 1.0f - half, lost = (1.0f - top) - half;
  const float value = q & 1 ? top + __builtin_fmaf(c, square * square, lost) : r == 0.0f ? r : sine;
  return q & 2 ? -value : value;
}

//@ tl_sin
template <class T>
TL_DEV T tl_sin(T x) {
  const float f = tl_float(x);
  const tl_quadrant c = tl_quadrant_of(f);
  return tl_from_float<T>(f == 0.0f ? f : tl_sin_quadrant(c.r, c.q));
}

//@ tl_cos
template <class T>
TL_DEV T tl_cos(T x) {
  const tl_quadrant c = tl_quadrant_of(tl_float(x));
  return tl_from_float<T>(tl_sin_quadrant(c.r, c.q + 1));
}

//@ tl_with_sign
TL_DEV float tl_with_sign(float size, float sign) { return tl_bits<float>(tl_bits<tl_u32>(size) | (tl_bits<tl_u32>(sign) & 0x80000000u)); }

//@ tl_tanh
TL_DEV float tl_tanh_f32(float x) {
  const float a = __builtin_fabsf(x), square = x * x;
  float p = 0x1.1d89cep-9f;
  p = __builtin_fmaf(p, square, -0x1.0d3694p-7f);
  p = __builtin_fmaf(p, square, 0x1.63cb9ap-6f);
  p = __builtin_fmaf(p, square, -0x1.b9f45cp-5f);
  p = __builtin_fmaf(p, square, 0x1.111084p-3f);
  p = __builtin_fmaf(p, square, -0x1.555554p-2f);
  const float small = __builtin_fmaf(p * square, a, a);
  const float e = tl_exp_f32((a < 10.0f ? a : 10.0f) * 2.0f), large = 1.0f - 2.0f / (e + 1.0f);
  return x != x ? x : tl_with_sign(a < 0.625f ? small : large, x);
}
template <class T>
TL_DEV T tl_tanh(T x) { return tl_from_float<T>(tl_tanh_f32(tl_float(x))); }

//@ tl_erf
TL_DEV float tl_erf_f32(float x) {
  const float a = __builtin_fabsf(x), square = x * x;
  float p = 0x1.d44eaap-18f;
  p = __builtin_fmaf(p, square, 0x1.ffc66p-15f);
  p = __builtin_fmaf(p, square, -0x1.9bbddp-11f);
  p = __builtin_fmaf(p, square, 0x1.53a83p-8f);
  p = __builtin_fmaf(p, square, -0x1.b7f79ep-6f);
  p = __builtin_fmaf(p, square, 0x1.ce2d2ap-4f);
  p = __builtin_fmaf(p, square, -0x1.81274p-2f);
  p = __builtin_fmaf(p, square, 0x1.06eba8p-3f);
  const float small = __builtin_fmaf(p, a, a), t = (a < 4.0f ? a : 4.0f) - 2.4375f;
  float g = 0x1.0c6af8p-20f;
  g = __builtin_fmaf(g, t, 0x1.8b52fep-18f);
  g = __builtin_fmaf(g, t, -0x1.1f5af8p-17f);
  g = __builtin_fmaf(g, t, 0x1.5ebf1cp-14f);
  g = __builtin_fmaf(g, t, -0x1.dce1cep-12f);
  g = __builtin_fmaf(g, t, 0x1.2d3dp-9f);
  g = __builtin_fmaf(g, t, -0x1.761bc8p-7f);
  g = __builtin_fmaf(g, t, -0x1.e2345cp-1f);
  g = __builtin_fmaf(g, t, -0x1.4f0758p+2f);
  g = __builtin_fmaf(g, t, -0x1.de7614p+2f);
  return x != x ? x : tl_with_sign(a < 0.9375f ? small : 1.0f - tl_exp_f32(g), x);
}
template <class T>
TL_DEV T tl_erf(T x) { return tl_from_float<T>(tl_erf_f32(tl_float(x))); }

//@ tl_sigmoid
template <class T>
TL_DEV T tl_sigmoid(T x) {
  // e is at most 1: no overflow hides small results.
  const float f = tl_float(x), e = tl_exp_f32(-__builtin_fabsf(f));
  return tl_from_float<T>((f < 0.0f ? e : 1.0f) / (1.0f + e));
}

//@ tl_pow_f32
// 2^(y log2 |x|) in f64, of whose digits a rounding to f32 is correct but in few cases.
TL_DEV float tl_pow_size(float size, float y) {
  const tl_u64 bits = tl_bits<tl_u64>(static_cast<double>(size));
  int e = static_cast<int>(bits >> 52) - 1023;
  double m = tl_bits<double>((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.4142135623730951) m *= 0.5, e += 1;
  const double s = (m - 1.0) / (m + 1.0), q = s * s;
  double p = 1.0 / 17;
  p = p * q + 1.0 / 15;
  p = p * q + 1.0 / 13;
  p = p * q + 1.0 / 11;
  p = p * q + 1.0 / 9;
  p = p * q + 1.0 / 7;
  p = p * q + 1.0 / 5;
  p = p * q + 1.0 / 3;
  p = p * q + 1.0;
  double t = static_cast<double>(y) * (2.8853900817779268 * s * p + e);
  t = t < -160.0 ? -160.0 : t > 130.0 ? 130.0 : t;
  const double n = __builtin_rint(t), r = (t - n) * 0.69314718055994531;
  double g = 1.0 / 479001600;
  g = g * r + 1.0 / 39916800;
  g = g * r + 1.0 / 3628800;
  g = g * r + 1.0 / 362880;
  g = g * r + 1.0 / 40320;
  g = g * r + 1.0 / 5040;
  g = g * r + 1.0 / 720;
  g = g * r + 1.0 / 120;
  g = g * r + 1.0 / 24;
  g = g * r + 1.0 / 6;
  g = g * r + 0.5;
  g = g * r + 1.0;
  g = g * r + 1.0;
  return static_cast<float>(g * tl_bits<double>(static_cast<tl_u64>(static_cast<int>(n) + 1023) << 52));
}
TL_DEV float tl_pow_f32(float x, float y) {
  const float size = __builtin_fabsf(x), many = __builtin_fabsf(y), half = y * 0.5f;
  const bool whole = __builtin_truncf(y) == y, odd = whole && many < 0x1p24f && __builtin_truncf(half) != half;
  if (y == 0.0f || x == 1.0f) return 1.0f;
  if (x != x || y != y) return x + y;
  if (many == tl_inf()) return size == 1.0f ? 1.0f : (size > 1.0f) == (y > 0.0f) ? tl_inf() : 0.0f;
  if (x < 0.0f && !whole && size != tl_inf()) return __builtin_nanf("");
  const float end = (size == 0.0f) == (y < 0.0f) ? tl_inf() : 0.0f;
  const float value = size == 0.0f || size == tl_inf() ? end : tl_pow_size(size, y);
  return odd ? tl_with_sign(value, x) : value;
}

//@ tl_pow
template <class T>
TL_DEV T tl_pow(T x, T y) { return tl_from_float<T>(tl_pow_f32(tl_float(x), tl_float(y))); }

//@ tl_floor
template <class T>
TL_DEV T tl_floor(T x) { return tl_from_float<T>(__builtin_floorf(tl_float(x))); }

//@ tl_ceil
template <class T>
TL_DEV T tl_ceil(T x) { return tl_from_float<T>(__builtin_ceilf(tl_float(x))); }

//@ tl_round
template <class T>
TL_DEV T tl_round(T x) { return tl_from_float<T>(__builtin_rintf(tl_float(x))); }

//@ tl_trunc
template <class T>
TL_DEV T tl_trunc(T x) { return tl_from_float<T>(__builtin_truncf(tl_float(x))); }

//@ tl_isinf
template <class T>
TL_DEV bool tl_isinf(T x) { return __builtin_fabsf(tl_float(x)) == tl_inf(); }

//@ tl_isfinite
template <class T>
TL_DEV bool tl_isfinite(T x) { return __builtin_fabsf(tl_float(x)) < tl_inf(); }
