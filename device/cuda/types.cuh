// Types and scalar arithmetic of generated CUDA code. Each part between //@ lines is emitted when one of the names after
// //@ is used. No includes: NVRTC compiles the text as it is.

//@ TL_DEV
#define TL_DEV __device__ __forceinline__

//@ TL_KERNEL
#define TL_KERNEL(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)

//@ tl_i8
typedef signed char tl_i8;

//@ tl_u8
typedef unsigned char tl_u8;

//@ tl_i64
typedef long long tl_i64;

//@ tl_u16
typedef unsigned short tl_u16;

//@ tl_u32
typedef unsigned int tl_u32;

//@ tl_u64
typedef unsigned long long tl_u64;

//@ tl_f16
// Storage of an IEEE half. Arithmetic is f32, rounded once per operation.
struct tl_f16 {
  tl_u16 bits;
};

//@ tl_bf16
// Storage of a bfloat16. Arithmetic is f32, rounded once per operation.
struct tl_bf16 {
  tl_u16 bits;
};

//@ tl_tf32
// Storage of a number of a tf32 product: a float of which the last 13 bits are ignored.
struct tl_tf32 {
  tl_u32 bits;
};

//@ tl_e4m3
// Storage of an 8-bit float of 4 exponent bits, without infinities.
struct tl_e4m3 {
  tl_u8 bits;
};

//@ tl_e5m2
// Storage of an 8-bit float of 5 exponent bits.
struct tl_e5m2 {
  tl_u8 bits;
};

//@ tl_float
TL_DEV float tl_float(float x) { return x; }
TL_DEV float tl_float(tl_f16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
TL_DEV float tl_float(tl_bf16 x) { return __uint_as_float(static_cast<tl_u32>(x.bits) << 16); }

//@ tl_same
template <class A, class B>
struct tl_same {
  static constexpr bool value = false;
};
template <class A>
struct tl_same<A, A> {
  static constexpr bool value = true;
};

//@ tl_from_float
// Rounds half to even.
template <class T>
TL_DEV T tl_from_float(float x) {
  if constexpr (tl_same<T, tl_f16>::value) {
    tl_f16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
  } else if constexpr (tl_same<T, tl_bf16>::value) {
    tl_bf16 y;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
#else
    const tl_u32 u = __float_as_uint(x);
    y.bits = x != x ? static_cast<tl_u16>(0x7fff) : static_cast<tl_u16>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
#endif
    return y;
  } else {
    return x;
  }
}

//@ tl_is_float
template <class T>
struct tl_is_float {
  static constexpr bool value = tl_same<T, float>::value || tl_same<T, tl_f16>::value || tl_same<T, tl_bf16>::value;
};

//@ tl_round_integer
// A wide integer to a 16-bit float with one rounding: the part below f32's precision becomes a sticky bit.
template <class To>
TL_DEV To tl_round_integer(tl_i64 x) {
  const tl_u64 magnitude = x < 0 ? 0 - static_cast<tl_u64>(x) : static_cast<tl_u64>(x);
  const int drop = 64 - 24 - __clzll(static_cast<tl_i64>(magnitude));
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
      return f != f ? 0 : __float2ll_rz(f);
    } else {
      const int wide = __float2int_rz(f);
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
  memcpy(&y, &x, sizeof(To));
  return y;
}

//@ tl_add
// Signed integers wrap at their width.
template <class T>
TL_DEV T tl_add(T a, T b) {
  if constexpr (tl_is_float<T>::value) return tl_from_float<T>(tl_float(a) + tl_float(b));
  else if constexpr (sizeof(T) == 8) return static_cast<T>(static_cast<tl_u64>(a) + static_cast<tl_u64>(b));
  else return static_cast<T>(static_cast<tl_u32>(a) + static_cast<tl_u32>(b));
}

//@ tl_sub
template <class T>
TL_DEV T tl_sub(T a, T b) {
  if constexpr (tl_is_float<T>::value) return tl_from_float<T>(tl_float(a) - tl_float(b));
  else if constexpr (sizeof(T) == 8) return static_cast<T>(static_cast<tl_u64>(a) - static_cast<tl_u64>(b));
  else return static_cast<T>(static_cast<tl_u32>(a) - static_cast<tl_u32>(b));
}

//@ tl_mul
template <class T>
TL_DEV T tl_mul(T a, T b) {
  if constexpr (tl_is_float<T>::value) return tl_from_float<T>(tl_float(a) * tl_float(b));
  else if constexpr (sizeof(T) == 8) return static_cast<T>(static_cast<tl_u64>(a) * static_cast<tl_u64>(b));
  else return static_cast<T>(static_cast<tl_u32>(a) * static_cast<tl_u32>(b));
}

//@ tl_neg
template <class T>
TL_DEV T tl_neg(T a) {
  if constexpr (tl_is_float<T>::value) return tl_from_float<T>(-tl_float(a));
  else return tl_sub<T>(static_cast<T>(0), a);
}

//@ tl_abs
// By bits: ptxas 13.0 drops the abs.f32 of a select between a positive number and -0.
template <class T>
TL_DEV T tl_abs(T a) {
  if constexpr (tl_is_float<T>::value) return tl_from_float<T>(tl_bits<float>(tl_bits<tl_u32>(tl_float(a)) & 0x7fffffffu));
  else return a < 0 ? tl_neg<T>(a) : a;
}

//@ tl_div_trunc
// x / 0 = 0; the least integer by -1 wraps.
template <class T>
TL_DEV T tl_div_trunc(T a, T b) {
  if (b == 0) return static_cast<T>(0);
  if (b == static_cast<T>(-1)) return tl_neg<T>(a);
  return static_cast<T>(a / b);
}

//@ tl_mod_trunc
// x % 0 = x.
template <class T>
TL_DEV T tl_mod_trunc(T a, T b) {
  if (b == 0) return a;
  if (b == static_cast<T>(-1)) return static_cast<T>(0);
  return static_cast<T>(a % b);
}

//@ tl_div
// Integers: rounds toward minus infinity, x / 0 = 0. Floats: IEEE.
template <class T>
TL_DEV T tl_div(T a, T b) {
  if constexpr (tl_is_float<T>::value) {
    return tl_from_float<T>(__fdiv_rn(tl_float(a), tl_float(b)));
  } else {
    const T q = tl_div_trunc<T>(a, b);
    const T r = tl_mod_trunc<T>(a, b);
    return b != 0 && r != 0 && ((r < 0) != (b < 0)) ? static_cast<T>(q - 1) : q;
  }
}

//@ tl_mod
// The remainder of the floor division; x % 0 = x.
template <class T>
TL_DEV T tl_mod(T a, T b) {
  const T r = tl_mod_trunc<T>(a, b);
  return b != 0 && r != 0 && ((r < 0) != (b < 0)) ? static_cast<T>(r + b) : r;
}

//@ tl_shl
// By the width or more (as an unsigned number): 0.
template <class T>
TL_DEV T tl_shl(T a, T b) {
  if (b < 0 || b >= static_cast<T>(8 * sizeof(T))) return static_cast<T>(0);
  if constexpr (sizeof(T) == 8) return static_cast<T>(static_cast<tl_u64>(a) << b);
  else return static_cast<T>(static_cast<tl_u32>(a) << b);
}

//@ tl_shr
// Arithmetic; by the width or more (as an unsigned number): all sign.
template <class T>
TL_DEV T tl_shr(T a, T b) {
  const T last = static_cast<T>(8 * sizeof(T) - 1);
  return static_cast<T>(a >> (b < 0 || b > last ? last : b));
}

//@ tl_min
// The number wins over NaN, and -0 is less than +0.
template <class T>
TL_DEV T tl_min(T a, T b) {
  if constexpr (tl_is_float<T>::value) {
    float r;
    asm("min.f32 %0, %1, %2;" : "=f"(r) : "f"(tl_float(a)), "f"(tl_float(b)));
    return tl_from_float<T>(r);
  } else {
    return b < a ? b : a;
  }
}

//@ tl_max
template <class T>
TL_DEV T tl_max(T a, T b) {
  if constexpr (tl_is_float<T>::value) {
    float r;
    asm("max.f32 %0, %1, %2;" : "=f"(r) : "f"(tl_float(a)), "f"(tl_float(b)));
    return tl_from_float<T>(r);
  } else {
    return a < b ? b : a;
  }
}

//@ tl_min_nan
template <class T>
TL_DEV T tl_min_nan(T a, T b) {
  const float x = tl_float(a), y = tl_float(b);
  return x != x ? a : y != y ? b : tl_min<T>(a, b);
}

//@ tl_max_nan
template <class T>
TL_DEV T tl_max_nan(T a, T b) {
  const float x = tl_float(a), y = tl_float(b);
  return x != x ? a : y != y ? b : tl_max<T>(a, b);
}

//@ tl_eq
template <class T>
TL_DEV bool tl_eq(T a, T b) {
  if constexpr (tl_is_float<T>::value) return tl_float(a) == tl_float(b);
  else return a == b;
}

//@ tl_lt
template <class T>
TL_DEV bool tl_lt(T a, T b) {
  if constexpr (tl_is_float<T>::value) return tl_float(a) < tl_float(b);
  else return a < b;
}

//@ tl_le
template <class T>
TL_DEV bool tl_le(T a, T b) {
  if constexpr (tl_is_float<T>::value) return tl_float(a) <= tl_float(b);
  else return a <= b;
}

//@ tl_inf
TL_DEV float tl_inf() { return __int_as_float(0x7f800000); }
