// Approximations on f32 by the special function unit, for operations that allow them; 16-bit floats are rounded once more.
// Subnormals count as zeros, going in and coming out. Bounds are in the project's table of fast forms.

//@ tl_approx_ex2
TL_DEV float tl_approx_ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

//@ tl_approx_lg2
TL_DEV float tl_approx_lg2(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

//@ tl_approx_rcp
TL_DEV float tl_approx_rcp(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

//@ tl_approx_div
// Of the whole range: div.approx gives 0 for divisors above 2^126.
TL_DEV float tl_approx_div(float x, float y) {
  float z;
  asm("div.full.ftz.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}

//@ tl_approx_sqrt
TL_DEV float tl_approx_sqrt(float x) {
  float y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

//@ tl_approx_rsqrt
TL_DEV float tl_approx_rsqrt(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

//@ tl_approx_sin
TL_DEV float tl_approx_sin(float x) {
  float y;
  asm("sin.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

//@ tl_approx_cos
TL_DEV float tl_approx_cos(float x) {
  float y;
  asm("cos.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

//@ tl_approx_tanh
TL_DEV float tl_approx_tanh(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

//@ tl_fast_div
template <class T>
TL_DEV T tl_fast_div(T x, T y) { return tl_from_float<T>(tl_approx_div(tl_float(x), tl_float(y))); }

//@ tl_fast_sqrt
template <class T>
TL_DEV T tl_fast_sqrt(T x) { return tl_from_float<T>(tl_approx_sqrt(tl_float(x))); }

//@ tl_fast_rsqrt
template <class T>
TL_DEV T tl_fast_rsqrt(T x) { return tl_from_float<T>(tl_approx_rsqrt(tl_float(x))); }

//@ tl_fast_exp
template <class T>
TL_DEV T tl_fast_exp(T x) { return tl_from_float<T>(tl_approx_ex2(tl_float(x) * 1.44269504f)); }

//@ tl_fast_exp2
template <class T>
TL_DEV T tl_fast_exp2(T x) { return tl_from_float<T>(tl_approx_ex2(tl_float(x))); }

//@ tl_fast_log
template <class T>
TL_DEV T tl_fast_log(T x) { return tl_from_float<T>(tl_approx_lg2(tl_float(x)) * 0.693147181f); }

//@ tl_fast_log2
template <class T>
TL_DEV T tl_fast_log2(T x) { return tl_from_float<T>(tl_approx_lg2(tl_float(x))); }

//@ tl_turn
// x less the nearest whole number of turns, in [-pi, pi]: where the approximations have a bound. The parts of 2 pi are such
// that -0 stays.
TL_DEV float tl_turn(float x) {
  const float turns = __fmaf_rn(x, 0.159154943f, 12582912.0f) - 12582912.0f;
  return __fmaf_rn(turns, -3.01991598e-7f, __fmaf_rn(turns, -6.28318501f, x));
}

//@ tl_fast_sin
template <class T>
TL_DEV T tl_fast_sin(T x) { return tl_from_float<T>(tl_approx_sin(tl_turn(tl_float(x)))); }

//@ tl_fast_cos
template <class T>
TL_DEV T tl_fast_cos(T x) { return tl_from_float<T>(tl_approx_cos(tl_turn(tl_float(x)))); }

//@ tl_fast_tanh
template <class T>
TL_DEV T tl_fast_tanh(T x) { return tl_from_float<T>(tl_approx_tanh(tl_float(x))); }

//@ tl_fast_sigmoid
template <class T>
TL_DEV T tl_fast_sigmoid(T x) { return tl_from_float<T>(tl_approx_rcp(1.0f + tl_approx_ex2(tl_float(x) * -1.44269504f))); }
