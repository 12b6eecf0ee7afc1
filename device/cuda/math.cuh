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

//@ tl_philox
// Philox4x32-10 (Salmon et al., SC 2011): the key is the seed, the counter's halves are `counter` and `stream`.
struct tl_words {
  tl_u32 w[4];
};
TL_DEV tl_words tl_philox(tl_u64 seed, tl_u64 counter, tl_u64 stream) {
  tl_u32 c0 = static_cast<tl_u32>(counter), c1 = static_cast<tl_u32>(counter >> 32);
  tl_u32 c2 = static_cast<tl_u32>(stream), c3 = static_cast<tl_u32>(stream >> 32);
  tl_u32 k0 = static_cast<tl_u32>(seed), k1 = static_cast<tl_u32>(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const tl_u64 a = static_cast<tl_u64>(0xD2511F53u) * c0, b = static_cast<tl_u64>(0xCD9E8D57u) * c2;
    c0 = static_cast<tl_u32>(b >> 32) ^ c1 ^ k0;
    c1 = static_cast<tl_u32>(b);
    c2 = static_cast<tl_u32>(a >> 32) ^ c3 ^ k1;
    c3 = static_cast<tl_u32>(a);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return tl_words{{c0, c1, c2, c3}};
}

//@ tl_philox0
template <class T>
TL_DEV T tl_philox0(T seed, T counter, T stream) { return tl_philox(seed, counter, stream).w[0]; }

//@ tl_philox1
template <class T>
TL_DEV T tl_philox1(T seed, T counter, T stream) { return tl_philox(seed, counter, stream).w[1]; }

//@ tl_philox2
template <class T>
TL_DEV T tl_philox2(T seed, T counter, T stream) { return tl_philox(seed, counter, stream).w[2]; }

//@ tl_philox3
template <class T>
TL_DEV T tl_philox3(T seed, T counter, T stream) { return tl_philox(seed, counter, stream).w[3]; }
