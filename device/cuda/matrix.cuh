// Matrix instructions of a warp: ldmatrix, stmatrix, mma.sync. Lane maps are those of the PTX ISA.

//@ tl_ldmatrix_x1
TL_DEV void tl_ldmatrix_x1(tl_u32 (&r)[1], const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(tl_address(p)) : "memory");
}

//@ tl_ldmatrix_x2
TL_DEV void tl_ldmatrix_x2(tl_u32 (&r)[2], const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(tl_address(p)) : "memory");
}

//@ tl_ldmatrix_x4
TL_DEV void tl_ldmatrix_x4(tl_u32 (&r)[4], const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(tl_address(p)) : "memory");
}

//@ tl_ldmatrix_x1_trans
TL_DEV void tl_ldmatrix_x1_trans(tl_u32 (&r)[1], const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(tl_address(p)) : "memory");
}

//@ tl_ldmatrix_x2_trans
TL_DEV void tl_ldmatrix_x2_trans(tl_u32 (&r)[2], const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(tl_address(p)) : "memory");
}

//@ tl_ldmatrix_x4_trans
TL_DEV void tl_ldmatrix_x4_trans(tl_u32 (&r)[4], const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(tl_address(p)) : "memory");
}

//@ tl_stmatrix_x4
TL_DEV void tl_stmatrix_x4(void* p, const tl_u32 (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               ::"r"(tl_address(p)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}

//@ tl_stmatrix_x1
TL_DEV void tl_stmatrix_x1(void* p, const tl_u32 (&r)[1]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(tl_address(p)), "r"(r[0]) : "memory");
}

//@ tl_stmatrix_x2
TL_DEV void tl_stmatrix_x2(void* p, const tl_u32 (&r)[2]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(tl_address(p)), "r"(r[0]), "r"(r[1]) : "memory");
}

//@ tl_stmatrix_x1_trans
TL_DEV void tl_stmatrix_x1_trans(void* p, const tl_u32 (&r)[1]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(tl_address(p)), "r"(r[0]) : "memory");
}

//@ tl_stmatrix_x2_trans
TL_DEV void tl_stmatrix_x2_trans(void* p, const tl_u32 (&r)[2]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(tl_address(p)), "r"(r[0]), "r"(r[1]) : "memory");
}

//@ tl_stmatrix_x4_trans
TL_DEV void tl_stmatrix_x4_trans(void* p, const tl_u32 (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(tl_address(p)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}

//@ tl_pack
// Two 16-bit or four 8-bit elements in one register, the first in the low bits.
TL_DEV tl_u32 tl_pack(tl_f16 a, tl_f16 b) { return static_cast<tl_u32>(a.bits) | static_cast<tl_u32>(b.bits) << 16; }
TL_DEV tl_u32 tl_pack(tl_bf16 a, tl_bf16 b) { return static_cast<tl_u32>(a.bits) | static_cast<tl_u32>(b.bits) << 16; }
TL_DEV tl_u32 tl_pack(tl_i8 a, tl_i8 b, tl_i8 c, tl_i8 d) {
  return (static_cast<tl_u32>(a) & 0xff) | (static_cast<tl_u32>(b) & 0xff) << 8 | (static_cast<tl_u32>(c) & 0xff) << 16 |
         static_cast<tl_u32>(d) << 24;
}

//@ tl_pack_regs
// N packed registers from consecutive elements.
template <int N, class T>
TL_DEV void tl_pack_regs(tl_u32 (&r)[N], const T (&x)[N * 4 / sizeof(T)]) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if constexpr (sizeof(T) == 2) r[i] = tl_pack(x[2 * i], x[2 * i + 1]);
    else r[i] = tl_pack(x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]);
  }
}

//@ tl_pack_bytes
// The same of 8-bit floats.
template <int N, class T>
TL_DEV void tl_pack_bytes(tl_u32 (&r)[N], const T (&x)[4 * N]) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    r[i] = static_cast<tl_u32>(x[4 * i].bits) | static_cast<tl_u32>(x[4 * i + 1].bits) << 8 | static_cast<tl_u32>(x[4 * i + 2].bits) << 16 |
           static_cast<tl_u32>(x[4 * i + 3].bits) << 24;
}

//@ tl_mma_m16n8k16_f16
TL_DEV void tl_mma_m16n8k16_f16(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2]) {
  asm(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

//@ tl_mma_m16n8k16_bf16
TL_DEV void tl_mma_m16n8k16_bf16(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2]) {
  asm(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

//@ tl_mma_m16n8k32_s8
TL_DEV void tl_mma_m16n8k32_s8(int (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2]) {
  asm(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

//@ tl_mma_m16n8k32_u8
TL_DEV void tl_mma_m16n8k32_u8(int (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2]) {
  asm(
      "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

//@ tl_mma_m16n8k8_f16
TL_DEV void tl_mma_m16n8k8_f16(float (&d)[4], const tl_u32 (&a)[2], const tl_u32 (&b)[1]) {
  asm(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

//@ tl_mma_m16n8k16_f16_by_8
TL_DEV void tl_mma_m16n8k16_f16_by_8(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2]) {
  const tl_u32 a0[2] = {a[0], a[1]}, a1[2] = {a[2], a[3]}, b0[1] = {b[0]}, b1[1] = {b[1]};
  tl_mma_m16n8k8_f16(d, a0, b0);
  tl_mma_m16n8k8_f16(d, a1, b1);
}

//@ tl_mma_m16n8k8_bf16
TL_DEV void tl_mma_m16n8k8_bf16(float (&d)[4], const tl_u32 (&a)[2], const tl_u32 (&b)[1]) {
  asm(
      "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

//@ tl_mma_m16n8k16_s8
TL_DEV void tl_mma_m16n8k16_s8(int (&d)[4], const tl_u32 (&a)[2], const tl_u32 (&b)[1]) {
  asm(
      "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

//@ tl_mma_m16n8k32_s8_by_16
// Rows 0 to 7 and 8 to 15 by m8n8k16, each for both halves along K.
TL_DEV void tl_mma_m16n8k32_s8_by_16(int (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int m = i & 1, k = i >> 1;
    asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+r"(d[2 * m]), "+r"(d[2 * m + 1]) : "r"(a[m + 2 * k]), "r"(b[k]));
  }
}

//@ tl_mma_m16n8k4_tf32
TL_DEV void tl_mma_m16n8k4_tf32(float (&d)[4], const tl_u32 (&a)[2], const tl_u32 (&b)[1]) {
  asm(
      "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

//@ tl_mma_m16n8k8_tf32
TL_DEV void tl_mma_m16n8k8_tf32(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2]) {
  asm(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

//@ tl_mma_m8n8k4_f64
TL_DEV void tl_mma_m8n8k4_f64(double (&d)[2], const double (&a)[1], const double (&b)[1]) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(d[0]), "+d"(d[1])
      : "d"(a[0]), "d"(b[0]));
}

//@ tl_mma_m16n8k32_e4m3
TL_DEV void tl_mma_m16n8k32_e4m3(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2]) {
  asm(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

//@ tl_mma_m16n8k32_e5m2
TL_DEV void tl_mma_m16n8k32_e5m2(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2]) {
  asm(
      "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

//@ tl_mma_m16n8k32_e4m3_e5m2
TL_DEV void tl_mma_m16n8k32_e4m3_e5m2(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2]) {
  asm(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

//@ tl_mma_m16n8k32_e5m2_e4m3
TL_DEV void tl_mma_m16n8k32_e5m2_e4m3(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[2]) {
  asm(
      "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

//@ TL_MMA_SP
// Places ascend, which newer forms of the instruction are told.
#if __CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 5)
#define TL_MMA_SP "mma.sp::ordered_metadata.sync.aligned."
#else
#define TL_MMA_SP "mma.sp.sync.aligned."
#endif

//@ tl_mma_sp_m16n8k32_f16
// A keeps two of each four elements along K; of which four bits of metadata speak, the place of the first in the low two. Lanes 4 g
// and 4 g + 1 have those of row g (and, in the high half, row g + 8), for 16 elements of K each; the others' are not looked at.
TL_DEV void tl_mma_sp_m16n8k32_f16(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], tl_u32 metadata) {
  asm(TL_MMA_SP
      "m16n8k32.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0x0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(metadata));
}

//@ tl_mma_sp_m16n8k32_bf16
TL_DEV void tl_mma_sp_m16n8k32_bf16(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], tl_u32 metadata) {
  asm(TL_MMA_SP
      "m16n8k32.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0x0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(metadata));
}

//@ tl_mma_sp_m16n8k16_tf32
// A keeps one of each two elements along K; four bits of metadata: 4 the first, 14 the second. Lanes as above, 8 elements of K each.
TL_DEV void tl_mma_sp_m16n8k16_tf32(float (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], tl_u32 metadata) {
  asm(TL_MMA_SP
      "m16n8k16.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0x0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(metadata));
}

//@ tl_mma_sp_m16n8k64_s8
// Metadata of two of four, as above; lane 4 g + t has row g + 8 (t % 2), the 32 elements of K from 32 (t / 2) on.
TL_DEV void tl_mma_sp_m16n8k64_s8(int (&d)[4], const tl_u32 (&a)[4], const tl_u32 (&b)[4], tl_u32 metadata) {
  asm(TL_MMA_SP
      "m16n8k64.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0x0;"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(metadata));
}
