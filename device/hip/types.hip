// Types and scalar arithmetic of generated HIP code: the parts of device/cuda that hold asm or a builtin of CUDA, by the same
// names. Parts that are plain C++ are those of device/cuda. No includes: hipRTC and clang compile the text as it is.

//@ TL_DEV
#pragma clang fp contract(off)
#if !defined(__device__)
#define __device__ __attribute__((device))
#endif
#if !defined(__forceinline__)
#define __forceinline__ inline __attribute__((always_inline))
#endif
#define TL_DEV static __attribute__((device, always_inline, unused)) inline

//@ TL_KERNEL
// Registers are bounded so that `blocks` of as many threads share a compute unit: its waves are dealt to four SIMDs, two on RDNA.
#if defined(__GFX9__)
#define TL_WAVES_PER_SIMD(threads, blocks) (((threads) * (blocks) + 255) / 256)
#else
#define TL_WAVES_PER_SIMD(threads, blocks) (((threads) * (blocks) + 63) / 64)
#endif
#define TL_KERNEL(threads, blocks)                                                                  \
  extern "C" __attribute__((global, amdgpu_flat_work_group_size(threads, threads),                  \
                            amdgpu_waves_per_eu(TL_WAVES_PER_SIMD(threads, blocks)))) void

//@ tl_float
TL_DEV float tl_float(float x) { return x; }
TL_DEV float tl_float(tl_f16 x) { return static_cast<float>(__builtin_bit_cast(_Float16, x.bits)); }
TL_DEV float tl_float(tl_bf16 x) { return __builtin_bit_cast(float, static_cast<tl_u32>(x.bits) << 16); }

//@ tl_from_float
// Rounds half to even.
template <class T>
TL_DEV T tl_from_float(float x) {
  if constexpr (tl_same<T, tl_f16>::value) {
    return tl_f16{__builtin_bit_cast(tl_u16, static_cast<_Float16>(x))};
  } else if constexpr (tl_same<T, tl_bf16>::value) {
    const tl_u32 u = __builtin_bit_cast(tl_u32, x);
    return tl_bf16{x != x ? static_cast<tl_u16>(0x7fff) : static_cast<tl_u16>((u + 0x7fff + ((u >> 16) & 1)) >> 16)};
  } else {
    return x;
  }
}

//@ tl_round_integer
// A wide integer to a 16-bit float with one rounding: the part below f32's precision becomes a sticky bit.
template <class To>
TL_DEV To tl_round_integer(tl_i64 x) {
  const tl_u64 magnitude = x < 0 ? 0 - static_cast<tl_u64>(x) : static_cast<tl_u64>(x);
  const int drop = magnitude ? 40 - __builtin_clzll(magnitude) : 0;
  tl_u64 kept = magnitude;
  if (drop > 0) {
    kept = (magnitude >> drop) << drop;
    if (kept != magnitude) kept |= static_cast<tl_u64>(1) << drop;
  }
  const float f = static_cast<float>(kept);
  return tl_from_float<To>(x < 0 ? -f : f);
}

//@ tl_cast
// Between scalar types: integers wrap among themselves; floats to integers truncate and saturate, NaN gives 0; anything
// but zero is true; to floats rounds half to even.
template <class To, class From>
TL_DEV To tl_cast(From x) {
  if constexpr (tl_same<To, From>::value) {
    return x;
  } else if constexpr (tl_same<To, bool>::value) {
    if constexpr (tl_is_float<From>::value) return tl_float(x) != 0.0f;
    else return x != 0;
  } else if constexpr (tl_is_float<To>::value) {
    if constexpr (tl_is_float<From>::value) return tl_from_float<To>(tl_float(x));
    else if constexpr (sizeof(From) < 4 || tl_same<To, float>::value) return tl_from_float<To>(static_cast<float>(x));
    else return tl_round_integer<To>(static_cast<tl_i64>(x));
  } else if constexpr (tl_is_float<From>::value) {
    const float f = tl_float(x);
    if constexpr (sizeof(To) == 8) {
      return f != f ? 0 : f >= 0x1p63f ? 0x7fffffffffffffffll : f < -0x1p63f ? -0x7fffffffffffffffll - 1 : static_cast<tl_i64>(f);
    } else {
      const int wide = f != f ? 0 : f >= 0x1p31f ? 0x7fffffff : f < -0x1p31f ? -0x7fffffff - 1 : static_cast<int>(f);
      if constexpr (sizeof(To) == 4) return wide;
      else return static_cast<To>(wide < -128 ? -128 : wide > 127 ? 127 : wide);
    }
  } else {
    return static_cast<To>(x);
  }
}

//@ tl_bits
// The same bits as another type of the same size.
template <class To, class From>
TL_DEV To tl_bits(From x) {
  static_assert(sizeof(To) == sizeof(From), "tl_bits: sizes differ");
  To y;
  __builtin_memcpy(&y, &x, sizeof(To));
  return y;
}

//@ tl_div
// Integers: rounds toward minus infinity, x / 0 = 0. Floats: IEEE.
template <class T>
TL_DEV T tl_div(T a, T b) {
  if constexpr (tl_is_float<T>::value) {
    return tl_from_float<T>(tl_float(a) / tl_float(b));
  } else {
    const T q = tl_div_trunc<T>(a, b);
    const T r = tl_mod_trunc<T>(a, b);
    return b != 0 && r != 0 && ((r < 0) != (b < 0)) ? static_cast<T>(q - 1) : q;
  }
}

//@ tl_min
// The number wins over NaN, and -0 is less than +0: v_min_f32 and v_max_f32 do so.
template <class T>
TL_DEV T tl_min(T a, T b) {
  if constexpr (tl_is_float<T>::value) return tl_from_float<T>(__builtin_fminf(tl_float(a), tl_float(b)));
  else return b < a ? b : a;
}

//@ tl_max
template <class T>
TL_DEV T tl_max(T a, T b) {
  if constexpr (tl_is_float<T>::value) return tl_from_float<T>(__builtin_fmaxf(tl_float(a), tl_float(b)));
  else return a < b ? b : a;
}

//@ tl_inf
TL_DEV float tl_inf() { return __builtin_inff(); }

//@ tl_odd_integer
template <class T>
TL_DEV float tl_odd_integer(T x) {
  bool negative = false;
  if constexpr (static_cast<T>(-1) < static_cast<T>(1)) negative = x < 0;
  const tl_u64 magnitude = negative ? 0 - static_cast<tl_u64>(x) : static_cast<tl_u64>(x);
  const int drop = magnitude ? 40 - __builtin_clzll(magnitude) : 0;
  tl_u64 kept = magnitude;
  if (drop > 0) {
    kept = (magnitude >> drop) << drop;
    if (kept != magnitude) kept |= static_cast<tl_u64>(1) << drop;
  }
  const float f = static_cast<float>(kept);
  return negative ? -f : f;
}

//@ tl_e4m3_value
TL_DEV float tl_e4m3_value(tl_e4m3 x) { return tl_small_value(x); }

//@ tl_e5m2_value
TL_DEV float tl_e5m2_value(tl_e5m2 x) { return tl_small_value(x); }

//@ tl_e4m3_code
TL_DEV tl_e4m3 tl_e4m3_code(float x) { return tl_small_code<tl_e4m3>(x, true); }

//@ tl_e5m2_code
TL_DEV tl_e5m2 tl_e5m2_code(float x) { return tl_small_code<tl_e5m2>(x, true); }
