// Matrix instructions of a wave: mfma on CDNA, wmma on RDNA. Operands are packed 32-bit registers, 16 bytes of K a lane where that
// takes several instructions: which of a lane's elements an instruction takes is the same on both sides, so that the sum is. Lane
// maps are those of layout/atoms.def.

//@ tl_schedule_fence
// The compiler moves nothing across: it would read the operands of many steps before the first product, and run out of registers.
TL_DEV void tl_schedule_fence() { __builtin_amdgcn_sched_barrier(0); }

//@ tl_keep
// What the compiler would make of the registers before, and wait for their loads, it makes here.
template <int N, class T>
TL_DEV void tl_keep(T (&x)[N]) {
  if constexpr (N * sizeof(T) % 4 == 0) {
    // As wide as it was loaded: of narrower pieces the compiler may load one once more.
    constexpr int bytes = N * static_cast<int>(sizeof(T)) % 16 == 0 ? 16 : N * static_cast<int>(sizeof(T)) % 8 == 0 ? 8 : 4;
    constexpr int count = N * static_cast<int>(sizeof(T)) / bytes;
    typedef typename tl_bytes<bytes>::type V;
    V v[count];
    __builtin_memcpy(v, x, sizeof(v));
    constexpr int together = count % 4 == 0 ? 4 : 1;  // one wait for four
#pragma unroll
    for (int i = 0; i < count; i += together) {
      if constexpr (together == 4) asm volatile("" : "+v"(v[i]), "+v"(v[i + 1]), "+v"(v[i + 2]), "+v"(v[i + 3]));
      else asm volatile("" : "+v"(v[i]));
    }
    __builtin_memcpy(x, v, sizeof(v));
  }
}

//@ tl_hold_sums
// The compiler would move products into a branch behind them, since nothing before it asks for their sums, and what they read with them.
template <int N, class T>
TL_DEV void tl_hold_sums(T (&x)[N]) {
  typedef T V __attribute__((ext_vector_type(8)));
#pragma unroll
  for (int i = 0; i < N; i += 8) {
    V v;
    __builtin_memcpy(&v, x + i, 32);
    asm volatile("" : "+v"(v));
    __builtin_memcpy(x + i, &v, 32);
  }
}

//@ tl_turn_block
// Rows of C elements to columns of R: byte permutes make each word of a column of the words of rows.
template <int C, int R, class T>
TL_DEV void tl_turn_block(T (&dst)[C * R], const T (&src)[C * R]) {
  constexpr int each = sizeof(T) < 4 ? 4 / static_cast<int>(sizeof(T)) : 1;
  if constexpr (each == 1) {
#pragma unroll
    for (int i = 0; i < C * R; ++i) dst[i % C * R + i / C] = src[i];
  } else {
    tl_u32 in[C * R / each], out[C * R / each];
    __builtin_memcpy(in, src, sizeof(in));
#pragma unroll
    for (int r = 0; r < R; r += each) {
#pragma unroll
      for (int c = 0; c < C; c += each) {
        const auto row = [&](int i) { return in[((r + i) * C + c) / each]; };
        const auto column = [&](int i) -> tl_u32& { return out[((c + i) * R + r) / each]; };
        if constexpr (each == 2) {
          column(0) = __builtin_amdgcn_perm(row(1), row(0), 0x05040100u);
          column(1) = __builtin_amdgcn_perm(row(1), row(0), 0x07060302u);
        } else {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const tl_u32 pick = half ? 0x07030602u : 0x05010400u;
            const tl_u32 low = __builtin_amdgcn_perm(row(1), row(0), pick), high = __builtin_amdgcn_perm(row(3), row(2), pick);
            column(2 * half) = __builtin_amdgcn_perm(high, low, 0x05040100u);
            column(2 * half + 1) = __builtin_amdgcn_perm(high, low, 0x07060302u);
          }
        }
      }
    }
    __builtin_memcpy(dst, out, sizeof(out));
  }
}

//@ tl_load_words
// N words from shared memory, aligned to 16 bytes.
template <int N, class T>
TL_DEV void tl_load_words(tl_u32 (&r)[N], const T* src) {
  typedef typename tl_bytes<16>::type V;
#pragma unroll
  for (int i = 0; i < N / 4; ++i) {
    const V v = reinterpret_cast<const V*>(src)[i];
    __builtin_memcpy(r + 4 * i, &v, 16);
  }
}

//@ tl_lanes
// Registers as what an instruction takes, and back.
typedef _Float16 tl_h4 __attribute__((ext_vector_type(4)));
typedef _Float16 tl_h8 __attribute__((ext_vector_type(8)));
typedef _Float16 tl_h16 __attribute__((ext_vector_type(16)));
#if defined(__gfx950__)
typedef __bf16 tl_b8 __attribute__((ext_vector_type(8)));
#endif
typedef short tl_s4 __attribute__((ext_vector_type(4)));
typedef short tl_s8 __attribute__((ext_vector_type(8)));
typedef short tl_s16 __attribute__((ext_vector_type(16)));
typedef int tl_i2 __attribute__((ext_vector_type(2)));
typedef int tl_i4v __attribute__((ext_vector_type(4)));
typedef int tl_i8v __attribute__((ext_vector_type(8)));
typedef int tl_i16v __attribute__((ext_vector_type(16)));
typedef float tl_f4v __attribute__((ext_vector_type(4)));
typedef float tl_f8v __attribute__((ext_vector_type(8)));
typedef float tl_f16v __attribute__((ext_vector_type(16)));
typedef double tl_d4v __attribute__((ext_vector_type(4)));
template <class To, class From>
TL_DEV To tl_lanes(const From* x) {
  To y;
  __builtin_memcpy(&y, x, sizeof(To));
  return y;
}

//@ tl_mfma_32x32x16_f16
#if defined(__GFX9__)
TL_DEV void tl_mfma_32x32x16_f16(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f16v sums = tl_lanes<tl_f16v>(d);
#if defined(__gfx950__)
  sums = __builtin_amdgcn_mfma_f32_32x32x16_f16(tl_lanes<tl_h8>(a), tl_lanes<tl_h8>(b), sums, 0, 0, 0);
#else
  sums = __builtin_amdgcn_mfma_f32_32x32x8f16(tl_lanes<tl_h4>(a + 0), tl_lanes<tl_h4>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_32x32x8f16(tl_lanes<tl_h4>(a + 2), tl_lanes<tl_h4>(b + 2), sums, 0, 0, 0);
#endif
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_16x16x32_f16
#if defined(__GFX9__)
TL_DEV void tl_mfma_16x16x32_f16(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f4v sums = tl_lanes<tl_f4v>(d);
#if defined(__gfx950__)
  sums = __builtin_amdgcn_mfma_f32_16x16x32_f16(tl_lanes<tl_h8>(a), tl_lanes<tl_h8>(b), sums, 0, 0, 0);
#else
  sums = __builtin_amdgcn_mfma_f32_16x16x16f16(tl_lanes<tl_h4>(a + 0), tl_lanes<tl_h4>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_16x16x16f16(tl_lanes<tl_h4>(a + 2), tl_lanes<tl_h4>(b + 2), sums, 0, 0, 0);
#endif
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_32x32x16_bf16
#if defined(__GFX9__)
TL_DEV void tl_mfma_32x32x16_bf16(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f16v sums = tl_lanes<tl_f16v>(d);
#if defined(__gfx950__)
  sums = __builtin_amdgcn_mfma_f32_32x32x16_bf16(tl_lanes<tl_b8>(a), tl_lanes<tl_b8>(b), sums, 0, 0, 0);
#else
  sums = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(tl_lanes<tl_s4>(a + 0), tl_lanes<tl_s4>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(tl_lanes<tl_s4>(a + 2), tl_lanes<tl_s4>(b + 2), sums, 0, 0, 0);
#endif
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_16x16x32_bf16
#if defined(__GFX9__)
TL_DEV void tl_mfma_16x16x32_bf16(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f4v sums = tl_lanes<tl_f4v>(d);
#if defined(__gfx950__)
  sums = __builtin_amdgcn_mfma_f32_16x16x32_bf16(tl_lanes<tl_b8>(a), tl_lanes<tl_b8>(b), sums, 0, 0, 0);
#else
  sums = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(tl_lanes<tl_s4>(a + 0), tl_lanes<tl_s4>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(tl_lanes<tl_s4>(a + 2), tl_lanes<tl_s4>(b + 2), sums, 0, 0, 0);
#endif
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_32x32x8_f32
#if defined(__GFX9__)
TL_DEV void tl_mfma_32x32x8_f32(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f16v sums = tl_lanes<tl_f16v>(d);
  sums = __builtin_amdgcn_mfma_f32_32x32x2f32(tl_lanes<float>(a + 0), tl_lanes<float>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_32x32x2f32(tl_lanes<float>(a + 1), tl_lanes<float>(b + 1), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_32x32x2f32(tl_lanes<float>(a + 2), tl_lanes<float>(b + 2), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_32x32x2f32(tl_lanes<float>(a + 3), tl_lanes<float>(b + 3), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_16x16x16_f32
#if defined(__GFX9__)
TL_DEV void tl_mfma_16x16x16_f32(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f4v sums = tl_lanes<tl_f4v>(d);
  sums = __builtin_amdgcn_mfma_f32_16x16x4f32(tl_lanes<float>(a + 0), tl_lanes<float>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_16x16x4f32(tl_lanes<float>(a + 1), tl_lanes<float>(b + 1), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_16x16x4f32(tl_lanes<float>(a + 2), tl_lanes<float>(b + 2), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_16x16x4f32(tl_lanes<float>(a + 3), tl_lanes<float>(b + 3), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_32x32x8_tf32
#if defined(__GFX9__)
TL_DEV void tl_mfma_32x32x8_tf32(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f16v sums = tl_lanes<tl_f16v>(d);
  sums = __builtin_amdgcn_mfma_f32_32x32x2f32(tl_lanes<float>(a + 0), tl_lanes<float>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_32x32x2f32(tl_lanes<float>(a + 1), tl_lanes<float>(b + 1), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_32x32x2f32(tl_lanes<float>(a + 2), tl_lanes<float>(b + 2), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_32x32x2f32(tl_lanes<float>(a + 3), tl_lanes<float>(b + 3), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_16x16x16_tf32
#if defined(__GFX9__)
TL_DEV void tl_mfma_16x16x16_tf32(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f4v sums = tl_lanes<tl_f4v>(d);
  sums = __builtin_amdgcn_mfma_f32_16x16x4f32(tl_lanes<float>(a + 0), tl_lanes<float>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_16x16x4f32(tl_lanes<float>(a + 1), tl_lanes<float>(b + 1), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_16x16x4f32(tl_lanes<float>(a + 2), tl_lanes<float>(b + 2), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_16x16x4f32(tl_lanes<float>(a + 3), tl_lanes<float>(b + 3), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_16x16x8_f64
#if defined(__GFX9__)
TL_DEV void tl_mfma_16x16x8_f64(double (&d)[4], const double (&a)[2], const double (&b)[2]) {
  tl_d4v sums = tl_lanes<tl_d4v>(d);
  sums = __builtin_amdgcn_mfma_f64_16x16x4f64(a[0], b[0], sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f64_16x16x4f64(a[1], b[1], sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_32x32x32_s8
#if defined(__GFX9__)
TL_DEV void tl_mfma_32x32x32_s8(int (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_i16v sums = tl_lanes<tl_i16v>(d);
#if defined(__gfx90a__)
  sums = __builtin_amdgcn_mfma_i32_32x32x8i8(static_cast<int>(a[0]), static_cast<int>(b[0]), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_i32_32x32x8i8(static_cast<int>(a[1]), static_cast<int>(b[1]), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_i32_32x32x8i8(static_cast<int>(a[2]), static_cast<int>(b[2]), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_i32_32x32x8i8(static_cast<int>(a[3]), static_cast<int>(b[3]), sums, 0, 0, 0);
#elif defined(__gfx950__)
  sums = __builtin_amdgcn_mfma_i32_32x32x32_i8(tl_lanes<tl_i4v>(a), tl_lanes<tl_i4v>(b), sums, 0, 0, 0);
#else
  sums = __builtin_amdgcn_mfma_i32_32x32x16_i8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_i32_32x32x16_i8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
#endif
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_16x16x64_s8
#if defined(__GFX9__)
TL_DEV void tl_mfma_16x16x64_s8(int (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_i4v sums = tl_lanes<tl_i4v>(d);
#if defined(__gfx90a__)
  sums = __builtin_amdgcn_mfma_i32_16x16x16i8(static_cast<int>(a[0]), static_cast<int>(b[0]), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_i32_16x16x16i8(static_cast<int>(a[1]), static_cast<int>(b[1]), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_i32_16x16x16i8(static_cast<int>(a[2]), static_cast<int>(b[2]), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_i32_16x16x16i8(static_cast<int>(a[3]), static_cast<int>(b[3]), sums, 0, 0, 0);
#elif defined(__gfx950__)
  sums = __builtin_amdgcn_mfma_i32_16x16x64_i8(tl_lanes<tl_i4v>(a), tl_lanes<tl_i4v>(b), sums, 0, 0, 0);
#else
  sums = __builtin_amdgcn_mfma_i32_16x16x32_i8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_i32_16x16x32_i8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
#endif
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_wmma_16x16x16_f16
#if defined(__GFX11__)
TL_DEV void tl_wmma_16x16x16_f16(float (&d)[8], const tl_u32 (&a)[8], const tl_u32 (&b)[8]) {
  tl_f8v sums = tl_lanes<tl_f8v>(d);
  sums = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(tl_lanes<tl_h16>(a), tl_lanes<tl_h16>(b), sums);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_wmma_16x16x16_bf16
#if defined(__GFX11__)
TL_DEV void tl_wmma_16x16x16_bf16(float (&d)[8], const tl_u32 (&a)[8], const tl_u32 (&b)[8]) {
  tl_f8v sums = tl_lanes<tl_f8v>(d);
  sums = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(tl_lanes<tl_s16>(a), tl_lanes<tl_s16>(b), sums);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_wmma_16x16x16_s8
#if defined(__GFX11__)
TL_DEV void tl_wmma_16x16x16_s8(int (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_i8v sums = tl_lanes<tl_i8v>(d);
  sums = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, tl_lanes<tl_i4v>(a), true, tl_lanes<tl_i4v>(b), sums, false);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_wmma_16x16x16_u8
#if defined(__GFX11__)
TL_DEV void tl_wmma_16x16x16_u8(int (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_i8v sums = tl_lanes<tl_i8v>(d);
  sums = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(false, tl_lanes<tl_i4v>(a), false, tl_lanes<tl_i4v>(b), sums, false);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_wmma12_16x16x16_f16
#if defined(__GFX12__)
TL_DEV void tl_wmma12_16x16x16_f16(float (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f8v sums = tl_lanes<tl_f8v>(d);
  sums = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(tl_lanes<tl_h8>(a), tl_lanes<tl_h8>(b), sums);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_wmma12_16x16x16_bf16
#if defined(__GFX12__)
TL_DEV void tl_wmma12_16x16x16_bf16(float (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f8v sums = tl_lanes<tl_f8v>(d);
  sums = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(tl_lanes<tl_s8>(a), tl_lanes<tl_s8>(b), sums);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_wmma12_16x16x32_s8
#if defined(__GFX12__)
TL_DEV void tl_wmma12_16x16x32_s8(int (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_i8v sums = tl_lanes<tl_i8v>(d);
  sums = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, tl_lanes<tl_i2>(a + 0), true, tl_lanes<tl_i2>(b + 0), sums, false);
  sums = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, tl_lanes<tl_i2>(a + 2), true, tl_lanes<tl_i2>(b + 2), sums, false);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_wmma12_16x16x32_u8
#if defined(__GFX12__)
TL_DEV void tl_wmma12_16x16x32_u8(int (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_i8v sums = tl_lanes<tl_i8v>(d);
  sums = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(false, tl_lanes<tl_i2>(a + 0), false, tl_lanes<tl_i2>(b + 0), sums, false);
  sums = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(false, tl_lanes<tl_i2>(a + 2), false, tl_lanes<tl_i2>(b + 2), sums, false);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_wmma12_16x16x32_e4m3
#if defined(__GFX12__)
TL_DEV void tl_wmma12_16x16x32_e4m3(float (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f8v sums = tl_lanes<tl_f8v>(d);
  sums = __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(tl_lanes<tl_i2>(a + 0), tl_lanes<tl_i2>(b + 0), sums);
  sums = __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(tl_lanes<tl_i2>(a + 2), tl_lanes<tl_i2>(b + 2), sums);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_wmma12_16x16x32_e4m3_e5m2
#if defined(__GFX12__)
TL_DEV void tl_wmma12_16x16x32_e4m3_e5m2(float (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f8v sums = tl_lanes<tl_f8v>(d);
  sums = __builtin_amdgcn_wmma_f32_16x16x16_fp8_bf8_w32_gfx12(tl_lanes<tl_i2>(a + 0), tl_lanes<tl_i2>(b + 0), sums);
  sums = __builtin_amdgcn_wmma_f32_16x16x16_fp8_bf8_w32_gfx12(tl_lanes<tl_i2>(a + 2), tl_lanes<tl_i2>(b + 2), sums);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_wmma12_16x16x32_e5m2_e4m3
#if defined(__GFX12__)
TL_DEV void tl_wmma12_16x16x32_e5m2_e4m3(float (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f8v sums = tl_lanes<tl_f8v>(d);
  sums = __builtin_amdgcn_wmma_f32_16x16x16_bf8_fp8_w32_gfx12(tl_lanes<tl_i2>(a + 0), tl_lanes<tl_i2>(b + 0), sums);
  sums = __builtin_amdgcn_wmma_f32_16x16x16_bf8_fp8_w32_gfx12(tl_lanes<tl_i2>(a + 2), tl_lanes<tl_i2>(b + 2), sums);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_wmma12_16x16x32_e5m2
#if defined(__GFX12__)
TL_DEV void tl_wmma12_16x16x32_e5m2(float (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f8v sums = tl_lanes<tl_f8v>(d);
  sums = __builtin_amdgcn_wmma_f32_16x16x16_bf8_bf8_w32_gfx12(tl_lanes<tl_i2>(a + 0), tl_lanes<tl_i2>(b + 0), sums);
  sums = __builtin_amdgcn_wmma_f32_16x16x16_bf8_bf8_w32_gfx12(tl_lanes<tl_i2>(a + 2), tl_lanes<tl_i2>(b + 2), sums);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif
