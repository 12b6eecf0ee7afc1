// Floats of 8 bits and less, and 4-bit integers: storage types of one element a byte, and their conversions. Rules and formats
// are those of the project's language page: half to even; a cast saturates unless told not to.

//@ tl_small
// What a type of a sign, E exponent and M mantissa bits is; `most`: the code of its greatest finite value; `infinity` and
// `nan`: the codes that conversions give, -1 where there is none; fnuz: the code of -0 is the NaN.
template <class T>
struct tl_small {
  static constexpr bool value = false;
};
template <int E, int M, int Bias, int Most, int Infinity, int Nan, bool Fnuz>
struct tl_small_format {
  static constexpr bool value = true;
  static constexpr int mantissa = M, bias = Bias, mask = (1 << (E + M)) - 1, most = Most, infinity = Infinity, nan = Nan;
  static constexpr bool fnuz = Fnuz;
};
template <>
struct tl_small<tl_e4m3> : tl_small_format<4, 3, 7, 0x7e, -1, 0x7f, false> {};
template <>
struct tl_small<tl_e5m2> : tl_small_format<5, 2, 15, 0x7b, 0x7c, 0x7f, false> {};

//@ tl_e4m3fnuz
struct tl_e4m3fnuz {
  unsigned char bits;
};
template <>
struct tl_small<tl_e4m3fnuz> : tl_small_format<4, 3, 8, 0x7f, -1, 0x80, true> {};

//@ tl_e5m2fnuz
struct tl_e5m2fnuz {
  unsigned char bits;
};
template <>
struct tl_small<tl_e5m2fnuz> : tl_small_format<5, 2, 16, 0x7f, -1, 0x80, true> {};

//@ tl_e2m3
struct tl_e2m3 {
  unsigned char bits;
};
template <>
struct tl_small<tl_e2m3> : tl_small_format<2, 3, 1, 0x1f, -1, -1, false> {};

//@ tl_e3m2
struct tl_e3m2 {
  unsigned char bits;
};
template <>
struct tl_small<tl_e3m2> : tl_small_format<3, 2, 3, 0x1f, -1, -1, false> {};

//@ tl_e2m1
struct tl_e2m1 {
  unsigned char bits;
};
template <>
struct tl_small<tl_e2m1> : tl_small_format<2, 1, 1, 0x07, -1, -1, false> {};

//@ tl_e8m0
// A power of two, 2^(bits - 127); 255 is NaN.
struct tl_e8m0 {
  unsigned char bits;
};

//@ tl_nf4
struct tl_nf4 {
  unsigned char bits;
};

//@ tl_i4
struct tl_i4 {
  signed char bits;
};

//@ tl_u4
struct tl_u4 {
  unsigned char bits;
};

//@ tl_small_value
// The value of a code. A magnitude's fields moved to those of an f32 have an exponent that is too small by a constant, which
// a product mends exactly, subnormals included.
template <class T>
TL_DEV float tl_small_value(T x) {
  typedef tl_small<T> F;
  const tl_u32 size = x.bits & F::mask, sign = static_cast<tl_u32>(x.bits & (F::mask + 1)) * (0x80000000u / (F::mask + 1));
  if (F::fnuz ? x.bits == F::mask + 1 : F::nan >= 0 && size > static_cast<tl_u32>(F::most))
    return tl_bits<float>(F::infinity >= 0 && size == static_cast<tl_u32>(F::infinity) ? sign | 0x7f800000u : 0x7fc00000u);
  const float scale = tl_bits<float>(static_cast<tl_u32>(254 - F::bias) << 23);
  return tl_bits<float>(tl_bits<tl_u32>(tl_bits<float>(size << (23 - F::mantissa)) * scale) | sign);
}

//@ tl_small_code
// The code nearest to a value.
template <class T>
TL_DEV T tl_small_code(float x, bool saturates) {
  typedef tl_small<T> F;
  const tl_u32 bits = tl_bits<tl_u32>(x), size = bits & 0x7fffffffu;
  const tl_u32 sign = bits >> 31 ? static_cast<tl_u32>(F::mask + 1) : 0u;
  if (size > 0x7f800000u) return T{static_cast<unsigned char>(F::nan >= 0 ? F::nan : F::most)};
  tl_u32 code;
  if (size < static_cast<tl_u32>(128 - F::bias) << 23) {
    // Subnormal: the last bit of this sum is the type's least step.
    const tl_u32 shift = static_cast<tl_u32>(151 - F::bias - F::mantissa) << 23;
    code = tl_bits<tl_u32>(tl_bits<float>(size) + tl_bits<float>(shift)) - shift;
  } else {
    const tl_u32 rounded = size + ((1u << (22 - F::mantissa)) - 1) + (size >> (23 - F::mantissa) & 1);
    code = (rounded >> (23 - F::mantissa)) - (static_cast<tl_u32>(127 - F::bias) << F::mantissa);
  }
  if (code > static_cast<tl_u32>(F::most)) {
    if (!saturates && F::infinity < 0 && F::nan >= 0) return T{static_cast<unsigned char>(F::nan)};
    code = !saturates && F::infinity >= 0 ? F::infinity : F::most;
  }
  return T{static_cast<unsigned char>(F::fnuz && code == 0 ? 0 : sign | code)};
}

//@ tl_e4m3_value
TL_DEV float tl_e4m3_value(tl_e4m3 x) {
#if __CUDA_ARCH__ >= 890
  float y;
  asm("{\n.reg .b16 tl_low, tl_high;\n.reg .b32 tl_both;\ncvt.rn.f16x2.e4m3x2 tl_both, %1;\n"
      "mov.b32 {tl_low, tl_high}, tl_both;\ncvt.f32.f16 %0, tl_low;\n}" : "=f"(y) : "h"(static_cast<unsigned short>(x.bits)));
  return y;
#else
  return tl_small_value(x);
#endif
}

//@ tl_e5m2_value
TL_DEV float tl_e5m2_value(tl_e5m2 x) {
#if __CUDA_ARCH__ >= 890
  float y;
  asm("{\n.reg .b16 tl_low, tl_high;\n.reg .b32 tl_both;\ncvt.rn.f16x2.e5m2x2 tl_both, %1;\n"
      "mov.b32 {tl_low, tl_high}, tl_both;\ncvt.f32.f16 %0, tl_low;\n}" : "=f"(y) : "h"(static_cast<unsigned short>(x.bits)));
  return y;
#else
  return tl_small_value(x);
#endif
}

//@ tl_e4m3_code
// Saturating. The instruction's NaN is not asked for: which one it gives is not said for each format.
TL_DEV tl_e4m3 tl_e4m3_code(float x) {
#if __CUDA_ARCH__ >= 890
  unsigned short both;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(0.0f), "f"(x));
  return tl_e4m3{static_cast<unsigned char>(x != x ? 0x7f : both & 0xff)};
#else
  return tl_small_code<tl_e4m3>(x, true);
#endif
}

//@ tl_e5m2_code
TL_DEV tl_e5m2 tl_e5m2_code(float x) {
#if __CUDA_ARCH__ >= 890
  unsigned short both;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(both) : "f"(0.0f), "f"(x));
  return tl_e5m2{static_cast<unsigned char>(x != x ? 0x7f : both & 0xff)};
#else
  return tl_small_code<tl_e5m2>(x, true);
#endif
}

//@ tl_e8m0_value
TL_DEV float tl_e8m0_value(tl_e8m0 x) {
  const tl_u32 code = x.bits;
  return tl_bits<float>(code == 0 ? 0x00400000u : code == 255 ? 0x7fc00000u : code << 23);
}

//@ tl_e8m0_code
TL_DEV tl_e8m0 tl_e8m0_code(float x, bool saturates) {
  const tl_u32 bits = tl_bits<tl_u32>(x);
  if (x != x || x < 0.0f) return tl_e8m0{255};
  const tl_u32 size = bits & 0x7fffffffu;
  const tl_u32 code = size < 0x00800000u ? (size > 0x00600000u ? 1u : 0u) : (size + 0x003fffffu + (size >> 23 & 1)) >> 23;
  return tl_e8m0{static_cast<unsigned char>(code > 254 ? (saturates ? 254 : 255) : code)};
}

//@ tl_nf4_value
// By selects, a bit of the code each: a table that threads read at different places would lie in memory.
TL_DEV float tl_nf4_value(tl_nf4 x) {
  constexpr float table[16] = {
      -1.0f, -0.696192801f, -0.525073051f, -0.394917488f, -0.284441382f, -0.18477343f, -0.0910500363f, 0.0f,
      0.0795802996f, 0.160930201f, 0.246112302f, 0.337915242f, 0.440709829f, 0.562617004f, 0.722956836f, 1.0f};
  float values[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) values[i] = x.bits & 1 ? table[2 * i + 1] : table[2 * i];
#pragma unroll
  for (int i = 0; i < 4; ++i) values[i] = x.bits & 2 ? values[2 * i + 1] : values[2 * i];
#pragma unroll
  for (int i = 0; i < 2; ++i) values[i] = x.bits & 4 ? values[2 * i + 1] : values[2 * i];
  return x.bits & 8 ? values[1] : values[0];
}

//@ tl_nf4_code
TL_DEV tl_nf4 tl_nf4_code(float x) {
  constexpr float bounds[15] = {
      -0.848096371f, -0.610632896f, -0.45999527f, -0.33967942f, -0.234607399f, -0.137911737f, -0.0455250144f,
      0.0397901461f, 0.120255247f, 0.203521252f, 0.292013764f, 0.389312506f, 0.501663446f, 0.64278686f, 0.861478448f};
  int code = 0;
#pragma unroll
  for (int i = 0; i < 15; ++i) code += x > bounds[i] ? 1 : 0;
  return tl_nf4{static_cast<unsigned char>(x != x ? 15 : code)};
}

//@ tl_narrow_value
// A storage type's value: a float, or an int of a 4-bit integer.
template <class T>
TL_DEV float tl_narrow_value(T x) { return tl_small_value(x); }
TL_DEV float tl_narrow_value(tl_e4m3 x) { return tl_e4m3_value(x); }
TL_DEV float tl_narrow_value(tl_e5m2 x) { return tl_e5m2_value(x); }
TL_DEV float tl_narrow_value(tl_e8m0 x) { return tl_e8m0_value(x); }
TL_DEV float tl_narrow_value(tl_nf4 x) { return tl_nf4_value(x); }
TL_DEV int tl_narrow_value(tl_i4 x) { return x.bits; }
TL_DEV int tl_narrow_value(tl_u4 x) { return x.bits; }

//@ tl_narrow_float
// A number rounded to odd in f32, so that the code made of it is the nearest one.
template <class T>
TL_DEV float tl_narrow_float(T x) {
  if constexpr (tl_is_real<T>::value) return tl_odd(tl_real(x));
  else if constexpr (sizeof(T) < 4) return static_cast<float>(x);
  else return tl_odd_integer(x);
}

//@ tl_to_narrow
// A computing type's value to a storage type.
template <class To, class From>
TL_DEV To tl_to_narrow(From x, bool saturates) {
  if constexpr (tl_same<To, tl_i4>::value || tl_same<To, tl_u4>::value) {
    constexpr bool is_signed = tl_same<To, tl_i4>::value;
    if constexpr (tl_is_real<From>::value) {
      const int wide = tl_saturate<tl_i8>(tl_real(x)), low = is_signed ? -8 : 0, high = is_signed ? 7 : 15;
      return To{static_cast<decltype(To::bits)>(wide < low ? low : wide > high ? high : wide)};
    } else {
      const int low = static_cast<int>(x) & 15;
      return To{static_cast<decltype(To::bits)>(is_signed && low > 7 ? low - 16 : low)};
    }
  } else {
    const float value = tl_narrow_float(x);
    if constexpr (tl_same<To, tl_e8m0>::value) return tl_e8m0_code(value, saturates);
    else if constexpr (tl_same<To, tl_nf4>::value) return tl_nf4_code(value);
    else if constexpr (tl_same<To, tl_e4m3>::value) return saturates ? tl_e4m3_code(value) : tl_small_code<To>(value, false);
    else if constexpr (tl_same<To, tl_e5m2>::value) return saturates ? tl_e5m2_code(value) : tl_small_code<To>(value, false);
    else return tl_small_code<To>(value, saturates);
  }
}

//@ tl_is_narrow
template <class T>
struct tl_is_narrow {
  static constexpr bool value = tl_small<T>::value || tl_same<T, tl_e8m0>::value || tl_same<T, tl_nf4>::value ||
                                tl_same<T, tl_i4>::value || tl_same<T, tl_u4>::value;
};

//@ tl_convert_narrow
// As tl_cast, from or to a storage type.
template <class To, class From>
TL_DEV To tl_convert_narrow(From x, bool saturates = true) {
  if constexpr (tl_is_narrow<From>::value) {
    const auto value = tl_narrow_value(x);
    if constexpr (tl_is_narrow<To>::value) return tl_to_narrow<To>(value, saturates);
    else return tl_convert<To>(value);
  } else {
    return tl_to_narrow<To>(x, saturates);
  }
}

//@ tl_bits_narrow
// The same bits as another type of less than a byte.
template <class To, class From>
TL_DEV To tl_bits_narrow(From x) {
  const int low = static_cast<int>(x.bits) & (tl_same<To, tl_i4>::value ? 15 : 63);
  if constexpr (tl_same<To, tl_i4>::value) return To{static_cast<signed char>(low > 7 ? low - 16 : low)};
  else return To{static_cast<unsigned char>(tl_same<From, tl_i4>::value ? low & 15 : low)};
}
