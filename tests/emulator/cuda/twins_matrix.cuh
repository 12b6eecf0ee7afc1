// Host twins of matrix.cuh: ldmatrix, stmatrix, mma.sync; the rules are those of twins.cuh.

//@ tl_ldmatrix_x1
TL_DEV void tl_ldmatrix_x1(tl_u32 (&r)[1], const void* p, int line = __builtin_LINE()) { tlemu_ldmatrix(r, p, 1, 0, line); }

//@ tl_ldmatrix_x2
TL_DEV void tl_ldmatrix_x2(tl_u32 (&r)[2], const void* p, int line = __builtin_LINE()) { tlemu_ldmatrix(r, p, 2, 0, line); }

//@ tl_ldmatrix_x4
TL_DEV void tl_ldmatrix_x4(tl_u32 (&r)[4], const void* p, int line = __builtin_LINE()) { tlemu_ldmatrix(r, p, 4, 0, line); }

//@ tl_ldmatrix_x1_trans
TL_DEV void tl_ldmatrix_x1_trans(tl_u32 (&r)[1], const void* p, int line = __builtin_LINE()) { tlemu_ldmatrix(r, p, 1, 1, line); }

//@ tl_ldmatrix_x2_trans
TL_DEV void tl_ldmatrix_x2_trans(tl_u32 (&r)[2], const void* p, int line = __builtin_LINE()) { tlemu_ldmatrix(r, p, 2, 1, line); }

//@ tl_ldmatrix_x4_trans
TL_DEV void tl_ldmatrix_x4_trans(tl_u32 (&r)[4], const void* p, int line = __builtin_LINE()) { tlemu_ldmatrix(r, p, 4, 1, line); }

//@ tl_stmatrix_x4
TL_DEV void tl_stmatrix_x4(void* p, const tl_u32 (&r)[4], int line = __builtin_LINE()) { tlemu_stmatrix(p, r, 4, 0, line); }

//@ tl_stmatrix_x1
TL_DEV void tl_stmatrix_x1(void* p, const tl_u32 (&r)[1], int line = __builtin_LINE()) { tlemu_stmatrix(p, r, 1, 0, line); }

//@ tl_stmatrix_x2
TL_DEV void tl_stmatrix_x2(void* p, const tl_u32 (&r)[2], int line = __builtin_LINE()) { tlemu_stmatrix(p, r, 2, 0, line); }

//@ tl_stmatrix_x1_trans
TL_DEV void tl_stmatrix_x1_trans(void* p, const tl_u32 (&r)[1], int line = __builtin_LINE()) { tlemu_stmatrix(p, r, 1, 1, line); }

//@ tl_stmatrix_x2_trans
TL_DEV void tl_stmatrix_x2_trans(void* p, const tl_u32 (&r)[2], int line = __builtin_LINE()) { tlemu_stmatrix(p, r, 2, 1, line); }

//@ tl_stmatrix_x4_trans
TL_DEV void tl_stmatrix_x4_trans(void* p, const tl_u32 (&r)[4], int line = __builtin_LINE()) { tlemu_stmatrix(p, r, 4, 1, line); }

//@ tl_mma_m16n8k16_f16
TL_DEV void tl_mma_m16n8k16_f16(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2], int line = __builtin_LINE()) {
  tlemu_mma(tlemu_m16n8k16_f16, d, a, b, line);
}

//@ tl_mma_m16n8k16_bf16
TL_DEV void tl_mma_m16n8k16_bf16(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2], int line = __builtin_LINE()) {
  tlemu_mma(tlemu_m16n8k16_bf16, d, a, b, line);
}

//@ tl_mma_m16n8k32_s8
TL_DEV void tl_mma_m16n8k32_s8(int (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2], int line = __builtin_LINE()) {
  tlemu_mma(tlemu_m16n8k32_s8, d, a, b, line);
}

//@ tl_mma_m16n8k32_u8
TL_DEV void tl_mma_m16n8k32_u8(int (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2], int line = __builtin_LINE()) {
  tlemu_mma(tlemu_m16n8k32_u8, d, a, b, line);
}

//@ tl_mma_m16n8k8_f16
TL_DEV void tl_mma_m16n8k8_f16(float (&d)[4], const tl_u32 (&a)[2], const tl_u32 (&b)[1], int line = __builtin_LINE()) {
  tlemu_mma(tlemu_m16n8k8_f16, d, a, b, line);
}

//@ tl_mma_m16n8k8_bf16
TL_DEV void tl_mma_m16n8k8_bf16(float (&d)[4], const tl_u32 (&a)[2], const tl_u32 (&b)[1], int line = __builtin_LINE()) {
  tlemu_mma(tlemu_m16n8k8_bf16, d, a, b, line);
}

//@ tl_mma_m16n8k16_s8
TL_DEV void tl_mma_m16n8k16_s8(int (&d)[4], const tl_u32 (&a)[2], const tl_u32 (&b)[1], int line = __builtin_LINE()) {
  tlemu_mma(tlemu_m16n8k16_s8, d, a, b, line);
}

//@ tl_mma_m16n8k32_s8_by_16
TL_DEV void tl_mma_m16n8k32_s8_by_16(int (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2], int line = __builtin_LINE()) {
  tlemu_mma(tlemu_m16n8k32_s8_by_16, d, a, b, line);
}

//@ tl_mma_m16n8k16_f16_by_8
TL_DEV void tl_mma_m16n8k16_f16_by_8(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2], int line = __builtin_LINE()) {
  const tl_u32 a0[2] = {a[0], a[1]}, a1[2] = {a[2], a[3]}, b0[1] = {b[0]}, b1[1] = {b[1]};
  tlemu_mma(tlemu_m16n8k8_f16, d, a0, b0, line);
  tlemu_mma(tlemu_m16n8k8_f16, d, a1, b1, line);
}

//@ tl_mma_m16n8k4_tf32
TL_DEV void tl_mma_m16n8k4_tf32(float (&d)[4], const tl_u32 (&a)[2], const tl_u32 (&b)[1], int line = __builtin_LINE()) {
  tlemu_mma(tlemu_m16n8k4_tf32, d, a, b, line);
}

//@ tl_mma_m16n8k8_tf32
TL_DEV void tl_mma_m16n8k8_tf32(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2], int line = __builtin_LINE()) {
  tlemu_mma(tlemu_m16n8k8_tf32, d, a, b, line);
}

//@ tl_mma_m8n8k4_f64
TL_DEV void tl_mma_m8n8k4_f64(double (&d)[2], const double (&a)[1], const double (&b)[1], int line = __builtin_LINE()) {
  tlemu_mma_f64(d, a, b, line);
}

//@ tl_mma_m16n8k32_e4m3
TL_DEV void tl_mma_m16n8k32_e4m3(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2], int line = __builtin_LINE()) {
  tlemu_mma(tlemu_m16n8k32_e4m3, d, a, b, line);
}

//@ tl_mma_m16n8k32_e5m2
TL_DEV void tl_mma_m16n8k32_e5m2(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2], int line = __builtin_LINE()) {
  tlemu_mma(tlemu_m16n8k32_e5m2, d, a, b, line);
}

//@ tl_mma_m16n8k32_e4m3_e5m2
TL_DEV void tl_mma_m16n8k32_e4m3_e5m2(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2], int line = __builtin_LINE()) {
  tlemu_mma(tlemu_m16n8k32_e4m3_e5m2, d, a, b, line);
}

//@ tl_mma_m16n8k32_e5m2_e4m3
TL_DEV void tl_mma_m16n8k32_e5m2_e4m3(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2], int line = __builtin_LINE()) {
  tlemu_mma(tlemu_m16n8k32_e5m2_e4m3, d, a, b, line);
}

//@ TL_MMA_SP
// What follows it on a GPU is asm, of which there is none here.
#define TL_MMA_SP ""

//@ tl_mma_sp_m16n8k32_f16
TL_DEV void tl_mma_sp_m16n8k32_f16(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], tl_u32 metadata, int line = __builtin_LINE()) {
  tlemu_mma_sp(tlemu_sp_m16n8k32_f16, d, a, b, metadata, line);
}

//@ tl_mma_sp_m16n8k32_bf16
TL_DEV void tl_mma_sp_m16n8k32_bf16(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], tl_u32 metadata, int line = __builtin_LINE()) {
  tlemu_mma_sp(tlemu_sp_m16n8k32_bf16, d, a, b, metadata, line);
}

//@ tl_mma_sp_m16n8k16_tf32
TL_DEV void tl_mma_sp_m16n8k16_tf32(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], tl_u32 metadata, int line = __builtin_LINE()) {
  tlemu_mma_sp(tlemu_sp_m16n8k16_tf32, d, a, b, metadata, line);
}

//@ tl_mma_sp_m16n8k64_s8
TL_DEV void tl_mma_sp_m16n8k64_s8(int (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], tl_u32 metadata, int line = __builtin_LINE()) {
  tlemu_mma_sp(tlemu_sp_m16n8k64_s8, d, a, b, metadata, line);
}
