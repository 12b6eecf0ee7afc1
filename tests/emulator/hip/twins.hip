// Host twins of device/hip: matrix instructions of a wave, and what depends on the wave's width.

//@ tl_lane
TL_DEV int tl_lane() { return tlemu_lane(); }

//@ tl_open_named_barriers
TL_DEV void tl_open_named_barriers() {}

//@ tl_schedule_fence
TL_DEV void tl_schedule_fence() {}

//@ tl_keep
template <int N, class T>
TL_DEV void tl_keep(T (&)[N]) {}

//@ tl_hold_sums
template <int N, class T>
TL_DEV void tl_hold_sums(T (&)[N]) {}

//@ tl_turn_block
template <int C, int R, class T>
TL_DEV void tl_turn_block(T (&dst)[C * R], const T (&src)[C * R]) {
  for (int i = 0; i < C * R; ++i) dst[i % C * R + i / C] = src[i];
}

//@ tl_load_words
template <int N, class T>
TL_DEV void tl_load_words(tl_u32 (&r)[N], const T* src, int line = __builtin_LINE()) {
  static_assert(N % 4 == 0, "tl_load_words: pieces of 16 bytes");
  for (int i = 0; i < N; i += 4) {
    const char* const at = reinterpret_cast<const char*>(src) + 4 * i;
    tlemu_vector(at, 16, line);
    memcpy(r + i, at, 16);
  }
}

//@ tl_load_widened
// Numbers of 8 bits as 16-bit ones, each by its value.
template <class To, class From, int N, class T>
TL_DEV void tl_load_widened(tl_u32 (&r)[N], const T* src, int line) {
  tlemu_vector(src, 2 * N, line);
  for (int i = 0; i < 2 * N; ++i) {
    From x;
    memcpy(&x, reinterpret_cast<const char*>(src) + i, 1);
    const To y = tl_from_float<To>(tl_small_value(x));
    memcpy(reinterpret_cast<char*>(r) + 2 * i, &y, 2);
  }
}

//@ tl_load_e4m3_as_f16
template <int N, class T>
TL_DEV void tl_load_e4m3_as_f16(tl_u32 (&r)[N], const T* src, int line = __builtin_LINE()) { tl_load_widened<tl_f16, tl_e4m3>(r, src, line); }

//@ tl_load_e4m3_as_bf16
template <int N, class T>
TL_DEV void tl_load_e4m3_as_bf16(tl_u32 (&r)[N], const T* src, int line = __builtin_LINE()) { tl_load_widened<tl_bf16, tl_e4m3>(r, src, line); }

//@ tl_load_e5m2_as_f16
template <int N, class T>
TL_DEV void tl_load_e5m2_as_f16(tl_u32 (&r)[N], const T* src, int line = __builtin_LINE()) { tl_load_widened<tl_f16, tl_e5m2>(r, src, line); }

//@ tl_load_e5m2_as_bf16
template <int N, class T>
TL_DEV void tl_load_e5m2_as_bf16(tl_u32 (&r)[N], const T* src, int line = __builtin_LINE()) { tl_load_widened<tl_bf16, tl_e5m2>(r, src, line); }

//@ tl_shuffle_lane
template <class T>
TL_DEV void tl_shuffle_lane(T (&dst)[1], T (&src)[1], int lane, int line = __builtin_LINE()) {
  dst[0] = tl_shuffle_bits<T>(src[0], lane ^ tl_lane(), line);
}

//@ tl_mfma_32x32x16_f16
TL_DEV void tl_mfma_32x32x16_f16(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_32x32x16_f16, d, a, b, line);
}

//@ tl_mfma_16x16x32_f16
TL_DEV void tl_mfma_16x16x32_f16(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x32_f16, d, a, b, line);
}

//@ tl_mfma_32x32x16_bf16
TL_DEV void tl_mfma_32x32x16_bf16(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_32x32x16_bf16, d, a, b, line);
}

//@ tl_mfma_16x16x32_bf16
TL_DEV void tl_mfma_16x16x32_bf16(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x32_bf16, d, a, b, line);
}

//@ tl_mfma_32x32x8_f32
TL_DEV void tl_mfma_32x32x8_f32(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_32x32x8_f32, d, a, b, line);
}

//@ tl_mfma_16x16x16_f32
TL_DEV void tl_mfma_16x16x16_f32(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x16_f32, d, a, b, line);
}

//@ tl_mfma_32x32x8_tf32
TL_DEV void tl_mfma_32x32x8_tf32(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_32x32x8_tf32, d, a, b, line);
}

//@ tl_mfma_16x16x16_tf32
TL_DEV void tl_mfma_16x16x16_tf32(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x16_tf32, d, a, b, line);
}

//@ tl_mfma_16x16x8_f64
TL_DEV void tl_mfma_16x16x8_f64(double (&d)[4], const double (&a)[2], const double (&b)[2], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x8_f64, d, a, b, line);
}

//@ tl_mfma_32x32x32_s8
TL_DEV void tl_mfma_32x32x32_s8(int (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_32x32x32_s8, d, a, b, line);
}

//@ tl_mfma_16x16x64_s8
TL_DEV void tl_mfma_16x16x64_s8(int (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x64_s8, d, a, b, line);
}

//@ tl_mfma_32x32x32_e4m3fnuz
TL_DEV void tl_mfma_32x32x32_e4m3fnuz(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_32x32x32_e4m3fnuz, d, a, b, line);
}

//@ tl_mfma_16x16x64_e4m3fnuz
TL_DEV void tl_mfma_16x16x64_e4m3fnuz(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x64_e4m3fnuz, d, a, b, line);
}

//@ tl_mfma_32x32x32_e4m3fnuz_e5m2fnuz
TL_DEV void tl_mfma_32x32x32_e4m3fnuz_e5m2fnuz(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_32x32x32_e4m3fnuz_e5m2fnuz, d, a, b, line);
}

//@ tl_mfma_16x16x64_e4m3fnuz_e5m2fnuz
TL_DEV void tl_mfma_16x16x64_e4m3fnuz_e5m2fnuz(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x64_e4m3fnuz_e5m2fnuz, d, a, b, line);
}

//@ tl_mfma_32x32x32_e5m2fnuz_e4m3fnuz
TL_DEV void tl_mfma_32x32x32_e5m2fnuz_e4m3fnuz(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_32x32x32_e5m2fnuz_e4m3fnuz, d, a, b, line);
}

//@ tl_mfma_16x16x64_e5m2fnuz_e4m3fnuz
TL_DEV void tl_mfma_16x16x64_e5m2fnuz_e4m3fnuz(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x64_e5m2fnuz_e4m3fnuz, d, a, b, line);
}

//@ tl_mfma_32x32x32_e5m2fnuz
TL_DEV void tl_mfma_32x32x32_e5m2fnuz(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_32x32x32_e5m2fnuz, d, a, b, line);
}

//@ tl_mfma_16x16x64_e5m2fnuz
TL_DEV void tl_mfma_16x16x64_e5m2fnuz(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x64_e5m2fnuz, d, a, b, line);
}

//@ tl_mfma_32x32x32_e4m3
TL_DEV void tl_mfma_32x32x32_e4m3(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_32x32x32_e4m3, d, a, b, line);
}

//@ tl_mfma_16x16x64_e4m3
TL_DEV void tl_mfma_16x16x64_e4m3(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x64_e4m3, d, a, b, line);
}

//@ tl_mfma_32x32x32_e4m3_e5m2
TL_DEV void tl_mfma_32x32x32_e4m3_e5m2(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_32x32x32_e4m3_e5m2, d, a, b, line);
}

//@ tl_mfma_16x16x64_e4m3_e5m2
TL_DEV void tl_mfma_16x16x64_e4m3_e5m2(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x64_e4m3_e5m2, d, a, b, line);
}

//@ tl_mfma_32x32x32_e5m2_e4m3
TL_DEV void tl_mfma_32x32x32_e5m2_e4m3(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_32x32x32_e5m2_e4m3, d, a, b, line);
}

//@ tl_mfma_16x16x64_e5m2_e4m3
TL_DEV void tl_mfma_16x16x64_e5m2_e4m3(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x64_e5m2_e4m3, d, a, b, line);
}

//@ tl_mfma_32x32x32_e5m2
TL_DEV void tl_mfma_32x32x32_e5m2(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_32x32x32_e5m2, d, a, b, line);
}

//@ tl_mfma_16x16x64_e5m2
TL_DEV void tl_mfma_16x16x64_e5m2(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x64_e5m2, d, a, b, line);
}

//@ tl_mfma_32x32x64_e4m3
TL_DEV void tl_mfma_32x32x64_e4m3(float (&d)[16], const tl_u32 (&a)[8], const tl_u32 (&b)[8], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_32x32x64_e4m3, d, a, b, line);
}

//@ tl_mfma_16x16x128_e4m3
TL_DEV void tl_mfma_16x16x128_e4m3(float (&d)[4], const tl_u32 (&a)[8], const tl_u32 (&b)[8], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x128_e4m3, d, a, b, line);
}

//@ tl_mfma_32x32x64_e4m3_e5m2
TL_DEV void tl_mfma_32x32x64_e4m3_e5m2(float (&d)[16], const tl_u32 (&a)[8], const tl_u32 (&b)[8], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_32x32x64_e4m3_e5m2, d, a, b, line);
}

//@ tl_mfma_16x16x128_e4m3_e5m2
TL_DEV void tl_mfma_16x16x128_e4m3_e5m2(float (&d)[4], const tl_u32 (&a)[8], const tl_u32 (&b)[8], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x128_e4m3_e5m2, d, a, b, line);
}

//@ tl_mfma_32x32x64_e5m2_e4m3
TL_DEV void tl_mfma_32x32x64_e5m2_e4m3(float (&d)[16], const tl_u32 (&a)[8], const tl_u32 (&b)[8], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_32x32x64_e5m2_e4m3, d, a, b, line);
}

//@ tl_mfma_16x16x128_e5m2_e4m3
TL_DEV void tl_mfma_16x16x128_e5m2_e4m3(float (&d)[4], const tl_u32 (&a)[8], const tl_u32 (&b)[8], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x128_e5m2_e4m3, d, a, b, line);
}

//@ tl_mfma_32x32x64_e5m2
TL_DEV void tl_mfma_32x32x64_e5m2(float (&d)[16], const tl_u32 (&a)[8], const tl_u32 (&b)[8], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_32x32x64_e5m2, d, a, b, line);
}

//@ tl_mfma_16x16x128_e5m2
TL_DEV void tl_mfma_16x16x128_e5m2(float (&d)[4], const tl_u32 (&a)[8], const tl_u32 (&b)[8], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_mfma_16x16x128_e5m2, d, a, b, line);
}

//@ tl_wmma_16x16x16_f16
TL_DEV void tl_wmma_16x16x16_f16(float (&d)[8], const tl_u32 (&a)[8], const tl_u32 (&b)[8], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_wmma_16x16x16_f16, d, a, b, line);
}

//@ tl_wmma_16x16x16_bf16
TL_DEV void tl_wmma_16x16x16_bf16(float (&d)[8], const tl_u32 (&a)[8], const tl_u32 (&b)[8], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_wmma_16x16x16_bf16, d, a, b, line);
}

//@ tl_wmma_16x16x16_s8
TL_DEV void tl_wmma_16x16x16_s8(int (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_wmma_16x16x16_s8, d, a, b, line);
}

//@ tl_wmma_16x16x16_u8
TL_DEV void tl_wmma_16x16x16_u8(int (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_wmma_16x16x16_u8, d, a, b, line);
}

//@ tl_wmma12_16x16x16_f16
TL_DEV void tl_wmma12_16x16x16_f16(float (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_wmma12_16x16x16_f16, d, a, b, line);
}

//@ tl_wmma12_16x16x16_bf16
TL_DEV void tl_wmma12_16x16x16_bf16(float (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_wmma12_16x16x16_bf16, d, a, b, line);
}

//@ tl_wmma12_16x16x32_s8
TL_DEV void tl_wmma12_16x16x32_s8(int (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_wmma12_16x16x32_s8, d, a, b, line);
}

//@ tl_wmma12_16x16x32_u8
TL_DEV void tl_wmma12_16x16x32_u8(int (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_wmma12_16x16x32_u8, d, a, b, line);
}

//@ tl_wmma12_16x16x32_e4m3
TL_DEV void tl_wmma12_16x16x32_e4m3(float (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_wmma12_16x16x32_e4m3, d, a, b, line);
}

//@ tl_wmma12_16x16x32_e4m3_e5m2
TL_DEV void tl_wmma12_16x16x32_e4m3_e5m2(float (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_wmma12_16x16x32_e4m3_e5m2, d, a, b, line);
}

//@ tl_wmma12_16x16x32_e5m2_e4m3
TL_DEV void tl_wmma12_16x16x32_e5m2_e4m3(float (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_wmma12_16x16x32_e5m2_e4m3, d, a, b, line);
}

//@ tl_wmma12_16x16x32_e5m2
TL_DEV void tl_wmma12_16x16x32_e5m2(float (&d)[8], const tl_u32 (&a)[4], const tl_u32 (&b)[4], int line = __builtin_LINE()) {
  tlemu_wave_product(tlemu_wave_wmma12_16x16x32_e5m2, d, a, b, line);
}
