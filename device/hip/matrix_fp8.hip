// Matrix instructions of CDNA on 8-bit floats: the fnuz formats on gfx942, those of OCP on gfx950. Rules are those of matrix.hip.

//@ tl_mfma_32x32x32_e4m3fnuz
#if defined(__gfx942__)
TL_DEV void tl_mfma_32x32x32_e4m3fnuz(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f16v sums = tl_lanes<tl_f16v>(d);
  sums = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_16x16x64_e4m3fnuz
#if defined(__gfx942__)
TL_DEV void tl_mfma_16x16x64_e4m3fnuz(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f4v sums = tl_lanes<tl_f4v>(d);
  sums = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_32x32x32_e4m3fnuz_e5m2fnuz
#if defined(__gfx942__)
TL_DEV void tl_mfma_32x32x32_e4m3fnuz_e5m2fnuz(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f16v sums = tl_lanes<tl_f16v>(d);
  sums = __builtin_amdgcn_mfma_f32_32x32x16_fp8_bf8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_32x32x16_fp8_bf8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_16x16x64_e4m3fnuz_e5m2fnuz
#if defined(__gfx942__)
TL_DEV void tl_mfma_16x16x64_e4m3fnuz_e5m2fnuz(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f4v sums = tl_lanes<tl_f4v>(d);
  sums = __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_32x32x32_e5m2fnuz_e4m3fnuz
#if defined(__gfx942__)
TL_DEV void tl_mfma_32x32x32_e5m2fnuz_e4m3fnuz(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f16v sums = tl_lanes<tl_f16v>(d);
  sums = __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_16x16x64_e5m2fnuz_e4m3fnuz
#if defined(__gfx942__)
TL_DEV void tl_mfma_16x16x64_e5m2fnuz_e4m3fnuz(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f4v sums = tl_lanes<tl_f4v>(d);
  sums = __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_32x32x32_e5m2fnuz
#if defined(__gfx942__)
TL_DEV void tl_mfma_32x32x32_e5m2fnuz(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f16v sums = tl_lanes<tl_f16v>(d);
  sums = __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_16x16x64_e5m2fnuz
#if defined(__gfx942__)
TL_DEV void tl_mfma_16x16x64_e5m2fnuz(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f4v sums = tl_lanes<tl_f4v>(d);
  sums = __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_32x32x32_e4m3
#if defined(__gfx950__)
TL_DEV void tl_mfma_32x32x32_e4m3(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f16v sums = tl_lanes<tl_f16v>(d);
  sums = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_16x16x64_e4m3
#if defined(__gfx950__)
TL_DEV void tl_mfma_16x16x64_e4m3(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f4v sums = tl_lanes<tl_f4v>(d);
  sums = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_32x32x32_e4m3_e5m2
#if defined(__gfx950__)
TL_DEV void tl_mfma_32x32x32_e4m3_e5m2(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f16v sums = tl_lanes<tl_f16v>(d);
  sums = __builtin_amdgcn_mfma_f32_32x32x16_fp8_bf8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_32x32x16_fp8_bf8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_16x16x64_e4m3_e5m2
#if defined(__gfx950__)
TL_DEV void tl_mfma_16x16x64_e4m3_e5m2(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f4v sums = tl_lanes<tl_f4v>(d);
  sums = __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_32x32x32_e5m2_e4m3
#if defined(__gfx950__)
TL_DEV void tl_mfma_32x32x32_e5m2_e4m3(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f16v sums = tl_lanes<tl_f16v>(d);
  sums = __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_16x16x64_e5m2_e4m3
#if defined(__gfx950__)
TL_DEV void tl_mfma_16x16x64_e5m2_e4m3(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f4v sums = tl_lanes<tl_f4v>(d);
  sums = __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_32x32x32_e5m2
#if defined(__gfx950__)
TL_DEV void tl_mfma_32x32x32_e5m2(float (&d)[16], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f16v sums = tl_lanes<tl_f16v>(d);
  sums = __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_mfma_16x16x64_e5m2
#if defined(__gfx950__)
TL_DEV void tl_mfma_16x16x64_e5m2(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4]) {
  tl_f4v sums = tl_lanes<tl_f4v>(d);
  sums = __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8(tl_lanes<long>(a + 0), tl_lanes<long>(b + 0), sums, 0, 0, 0);
  sums = __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8(tl_lanes<long>(a + 2), tl_lanes<long>(b + 2), sums, 0, 0, 0);
  __builtin_memcpy(d, &sums, sizeof(sums));
}
#endif

//@ tl_product_f8f6f4
// Formats are 0 of e4m3 and 1 of e5m2; scales of 0 make the instruction that has none.
#if defined(__gfx950__)
template <int A, int B, int N>
TL_DEV void tl_product_f8f6f4(float (&d)[N], const tl_u32 (&a)[8], const tl_u32 (&b)[8]) {
  const tl_i8v x = tl_lanes<tl_i8v>(a), y = tl_lanes<tl_i8v>(b);
  if constexpr (N == 16) {
    const tl_f16v sums = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(x, y, tl_lanes<tl_f16v>(d), A, B, 0, 0, 0, 0);
    __builtin_memcpy(d, &sums, sizeof(sums));
  } else {
    const tl_f4v sums = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(x, y, tl_lanes<tl_f4v>(d), A, B, 0, 0, 0, 0);
    __builtin_memcpy(d, &sums, sizeof(sums));
  }
}
#endif

//@ tl_mfma_32x32x64_e4m3
#if defined(__gfx950__)
TL_DEV void tl_mfma_32x32x64_e4m3(float (&d)[16], const tl_u32 (&a)[8], const tl_u32 (&b)[8]) { tl_product_f8f6f4<0, 0>(d, a, b); }
#endif

//@ tl_mfma_16x16x128_e4m3
#if defined(__gfx950__)
TL_DEV void tl_mfma_16x16x128_e4m3(float (&d)[4], const tl_u32 (&a)[8], const tl_u32 (&b)[8]) { tl_product_f8f6f4<0, 0>(d, a, b); }
#endif

//@ tl_mfma_32x32x64_e4m3_e5m2
#if defined(__gfx950__)
TL_DEV void tl_mfma_32x32x64_e4m3_e5m2(float (&d)[16], const tl_u32 (&a)[8], const tl_u32 (&b)[8]) { tl_product_f8f6f4<0, 1>(d, a, b); }
#endif

//@ tl_mfma_16x16x128_e4m3_e5m2
#if defined(__gfx950__)
TL_DEV void tl_mfma_16x16x128_e4m3_e5m2(float (&d)[4], const tl_u32 (&a)[8], const tl_u32 (&b)[8]) { tl_product_f8f6f4<0, 1>(d, a, b); }
#endif

//@ tl_mfma_32x32x64_e5m2_e4m3
#if defined(__gfx950__)
TL_DEV void tl_mfma_32x32x64_e5m2_e4m3(float (&d)[16], const tl_u32 (&a)[8], const tl_u32 (&b)[8]) { tl_product_f8f6f4<1, 0>(d, a, b); }
#endif

//@ tl_mfma_16x16x128_e5m2_e4m3
#if defined(__gfx950__)
TL_DEV void tl_mfma_16x16x128_e5m2_e4m3(float (&d)[4], const tl_u32 (&a)[8], const tl_u32 (&b)[8]) { tl_product_f8f6f4<1, 0>(d, a, b); }
#endif

//@ tl_mfma_32x32x64_e5m2
#if defined(__gfx950__)
TL_DEV void tl_mfma_32x32x64_e5m2(float (&d)[16], const tl_u32 (&a)[8], const tl_u32 (&b)[8]) { tl_product_f8f6f4<1, 1>(d, a, b); }
#endif

//@ tl_mfma_16x16x128_e5m2
#if defined(__gfx950__)
TL_DEV void tl_mfma_16x16x128_e5m2(float (&d)[4], const tl_u32 (&a)[8], const tl_u32 (&b)[8]) { tl_product_f8f6f4<1, 1>(d, a, b); }
#endif
