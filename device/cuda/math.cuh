// Elementary functions: f32, rounded once for 16-bit types. Bounds in ulp are in the project's table of functions.

//@ tl_fma
template <class T>
TL_DEV T tl_fma(T a, T b, T c) { return tl_from_float<T>(__fmaf_rn(tl_float(a), tl_float(b), tl_float(c))); }

//@ tl_exp2
TL_DEV float tl_exp2_f32(float x) {
  float y;
  asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
template <class T>
TL_DEV T tl_exp2(T x) { return tl_from_float<T>(tl_exp2_f32(tl_float(x))); }

//@ tl_exp
template <class T>
TL_DEV T tl_exp(T x) { return tl_from_float<T>(expf(tl_float(x))); }

//@ tl_log
template <class T>
TL_DEV T tl_log(T x) { return tl_from_float<T>(logf(tl_float(x))); }

//@ tl_log2
template <class T>
TL_DEV T tl_log2(T x) { return tl_from_float<T>(log2f(tl_float(x))); }

//@ tl_sqrt
template <class T>
TL_DEV T tl_sqrt(T x) { return tl_from_float<T>(__fsqrt_rn(tl_float(x))); }

//@ tl_rsqrt
template <class T>
TL_DEV T tl_rsqrt(T x) { return tl_from_float<T>(rsqrtf(tl_float(x))); }

//@ tl_sin
template <class T>
TL_DEV T tl_sin(T x) { return tl_from_float<T>(sinf(tl_float(x))); }

//@ tl_cos
template <class T>
TL_DEV T tl_cos(T x) { return tl_from_float<T>(cosf(tl_float(x))); }

//@ tl_tanh
template <class T>
TL_DEV T tl_tanh(T x) { return tl_from_float<T>(tanhf(tl_float(x))); }

//@ tl_erf
template <class T>
TL_DEV T tl_erf(T x) { return tl_from_float<T>(erff(tl_float(x))); }

//@ tl_sigmoid
template <class T>
TL_DEV T tl_sigmoid(T x) {
  // e is at most 1: no overflow hides small results.
  const float f = tl_float(x), e = expf(-fabsf(f));
  return tl_from_float<T>(__fdiv_rn(f < 0.0f ? e : 1.0f, 1.0f + e));
}

//@ tl_pow
template <class T>
TL_DEV T tl_pow(T x, T y) { return tl_from_float<T>(powf(tl_float(x), tl_float(y))); }

//@ tl_floor
template <class T>
TL_DEV T tl_floor(T x) { return tl_from_float<T>(floorf(tl_float(x))); }

//@ tl_ceil
template <class T>
TL_DEV T tl_ceil(T x) { return tl_from_float<T>(ceilf(tl_float(x))); }

//@ tl_round
template <class T>
TL_DEV T tl_round(T x) { return tl_from_float<T>(rintf(tl_float(x))); }

//@ tl_trunc
template <class T>
TL_DEV T tl_trunc(T x) { return tl_from_float<T>(truncf(tl_float(x))); }

//@ tl_isnan
template <class T>
TL_DEV bool tl_isnan(T x) { return tl_float(x) != tl_float(x); }

//@ tl_isinf
template <class T>
TL_DEV bool tl_isinf(T x) { return fabsf(tl_float(x)) == tl_inf(); }

//@ tl_isfinite
template <class T>
TL_DEV bool tl_isfinite(T x) { return fabsf(tl_float(x)) < tl_inf(); }
