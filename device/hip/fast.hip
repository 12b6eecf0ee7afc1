// Approximations on f32 by the transcendental unit, as those of device/cuda/fast.cuh.

//@ tl_approx_ex2
TL_DEV float tl_approx_ex2(float x) { return tl_unit_exp2(x); }

//@ tl_approx_lg2
TL_DEV float tl_approx_lg2(float x) {
#if __has_builtin(__builtin_amdgcn_logf)
  return __builtin_amdgcn_logf(x);
#else
  return __builtin_log2f(x);
#endif
}

//@ tl_approx_rcp
TL_DEV float tl_approx_rcp(float x) { return __builtin_amdgcn_rcpf(x); }

//@ tl_approx_div
// Of the whole range: the reciprocal of a divisor above 2^126 would be subnormal.
TL_DEV float tl_approx_div(float x, float y) {
  const float scale = __builtin_fabsf(y) > 0x1p96f ? 0x1p-32f : 1.0f;
  return x * __builtin_amdgcn_rcpf(y * scale) * scale;
}

//@ tl_approx_sqrt
TL_DEV float tl_approx_sqrt(float x) { return __builtin_amdgcn_sqrtf(x); }

//@ tl_approx_rsqrt
TL_DEV float tl_approx_rsqrt(float x) { return __builtin_amdgcn_rsqf(x); }

//@ tl_approx_sin
// The unit counts in turns.
TL_DEV float tl_approx_sin(float x) { return __builtin_amdgcn_sinf(x * 0.159154943f); }

//@ tl_approx_cos
TL_DEV float tl_approx_cos(float x) { return __builtin_amdgcn_cosf(x * 0.159154943f); }

//@ tl_approx_tanh
// 1 - 2 / (1 + e^2x); near 0, where that loses all digits, x itself.
TL_DEV float tl_approx_tanh(float x) {
  const float e = tl_unit_exp2(x * 2.88539008f);
  return __builtin_fabsf(x) < 0x1p-6f ? x : 1.0f - 2.0f * __builtin_amdgcn_rcpf(1.0f + e);
}

//@ tl_turn
// x less the nearest whole number of turns, in [-pi, pi].
TL_DEV float tl_turn(float x) {
  const float turns = __builtin_fmaf(x, 0.159154943f, 12582912.0f) - 12582912.0f;
  return __builtin_fmaf(turns, -3.01991598e-7f, __builtin_fmaf(turns, -6.28318501f, x));
}
