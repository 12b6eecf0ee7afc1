// What a unit's prelude stands on: the host's mathematics, CUDA's few builtins that parts of device/cuda use as they are,
// the twins' C functions, and numbers of operand types. Compiled into units, not into the emulator.
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "emulator/cuda/approx.h"
#include "emulator/cuda/operand.h"
#include "emulator/cuda/primitives.h"

#define __grid_constant__
#define __device__
#define __forceinline__ inline
#define __CUDA_ARCH__ 900

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

static inline float __uint_as_float(unsigned x) { return tilert::emulator::float_of_bits(x); }
static inline float __int_as_float(int x) { return tilert::emulator::float_of_bits(static_cast<unsigned>(x)); }
static inline unsigned __float_as_uint(float x) { return tilert::emulator::bits_of_float(x); }
static inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
// Truncating and saturating; NaN gives 0.
static inline int __float2int_rz(float x) {
  return x != x ? 0 : x >= 2147483648.0f ? 2147483647 : x < -2147483648.0f ? -2147483647 - 1 : static_cast<int>(x);
}
static inline long long __float2ll_rz(float x) {
  return x != x ? 0 : x >= 9223372036854775808.0f ? 9223372036854775807ll
                  : x < -9223372036854775808.0f ? -9223372036854775807ll - 1 : static_cast<long long>(x);
}

enum {
#define EMULATOR_MMA(name, k, a, b, accumulator) tlemu_##name,
#include "emulator/cuda/matrix.def"
};
enum {
#define EMULATOR_MMA_SP(name, k, a, b, accumulator) tlemu_sp_##name,
#include "emulator/cuda/matrix.def"
};

enum {
#define EMULATOR_WAVE(name, mn, k, form, a, b, accumulator) tlemu_wave_##name,
#include "emulator/hip/matrix.def"
};

// The operand type of a storage type; specialized where the storage types are known (text.cpp).
template <class T>
struct tlemu_number;
// What a product's accumulators are: floats, integers, or, of any other type, packed halves.
template <class T>
struct tlemu_sums {
  static constexpr int value = static_cast<int>(tilert::emulator::Sums::f16);
};
template <>
struct tlemu_sums<float> {
  static constexpr int value = static_cast<int>(tilert::emulator::Sums::f32);
};
template <>
struct tlemu_sums<int> {
  static constexpr int value = static_cast<int>(tilert::emulator::Sums::s32);
};

// Runs a kernel with the parameters at `bytes`, each at its natural alignment, as the device ABI lays them out.
template <class... A>
struct tlemu_call {
  template <class F, class... Rest>
  static void pick(F f, const unsigned char* bytes, size_t offset, const Rest&... rest) {
    if constexpr (sizeof...(Rest) == sizeof...(A)) {
      f(rest...);
    } else {
      next<sizeof...(Rest)>(f, bytes, offset, rest...);
    }
  }

 private:
  template <size_t I, class First, class... Others>
  struct at {
    typedef typename at<I - 1, Others...>::type type;
  };
  template <class First, class... Others>
  struct at<0, First, Others...> {
    typedef First type;
  };
  template <size_t I, class F, class... Rest>
  static void next(F f, const unsigned char* bytes, size_t offset, const Rest&... rest) {
    typedef typename at<I, A...>::type T;
    const size_t start = (offset + alignof(T) - 1) / alignof(T) * alignof(T);
    pick(f, bytes, start + sizeof(T), rest..., *reinterpret_cast<const T*>(bytes + start));
  }
};
template <class... A>
static inline void tlemu_run(void (*kernel)(A...), const unsigned char* bytes) {
  tlemu_call<A...>::pick(kernel, bytes, 0);
}
// Sizes of a kernel's parameters, for who describes it; returns how many there are.
template <class... A>
static inline int tlemu_sizes(void (*)(A...), unsigned* sizes, int most) {
  const unsigned all[] = {static_cast<unsigned>(sizeof(A))..., 0u};
  for (int i = 0; i < static_cast<int>(sizeof...(A)) && i < most; ++i) sizes[i] = all[i];
  return static_cast<int>(sizeof...(A));
}
