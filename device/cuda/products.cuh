// Warpgroup products (wgmma) of all forms: accumulators f32, s32 or packed f16, A from shared memory or registers, 16-bit
// operands K- or MN-major. The form of the most common product, tl_wgmma_ss, and the fences are in hopper.cuh.

//@ tl_sums
// Accumulators of one thread for a product of width N: element 2 i + e of row pair r is value 4 i + 2 r + e.
template <class D, int N>
struct tl_sums {
  typedef D type[N / 2];
};
template <int N>
struct tl_sums<tl_f16, N> {
  typedef tl_u32 type[N / 4];
};

//@ tl_wgmma
// d[64, N] = a * b^T + (accumulate ? d : 0), both operands by descriptor, K of 32 bytes; MnA, MnB: MN-major, of 16-bit types
// alone. D: float, int (8-bit integers) or tl_f16 (f16 and 8-bit floats). The forms in use follow below.
template <int N, class D, class A, class B, int MnA, int MnB>
TL_DEV void tl_wgmma(typename tl_sums<D, N>::type& d, tl_u64 a, tl_u64 b, int accumulate);

//@ tl_wgmma_rs
// The same with A from registers, which hold each warp's 16 rows as those of a warp product; to be left alone until the wait.
template <int N, class D, class A, class B, int MnB>
TL_DEV void tl_wgmma_rs(typename tl_sums<D, N>::type& d, const tl_u32 (&a)[4], tl_u64 b, int accumulate);

//@ tl_wgmma_sp
// tl_wgmma of an A that keeps two of each four elements along K (tf32: one of two), of which each lane's metadata says the places, as
// tl_mma_sp's of the 16 rows that its warp has; K of 32 bytes of A, 64 of B. Metadata is left alone until the wait.
template <int N, class D, class A, class B, int MnB>
TL_DEV void tl_wgmma_sp(typename tl_sums<D, N>::type& d, tl_u64 a, tl_u64 b, tl_u32 metadata, int accumulate);

//@ tl_wgmma_hold_words
// As tl_wgmma_hold, for integers, packed halves and A's registers.
template <int N, class T>
TL_DEV void tl_wgmma_hold_words(T (&r)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+r"(r[i])::"memory");
}

//@ tl_wgmma_describe
// An operand tile whose rows have a swizzle of 0, 32, 64 or 128 bytes; distances in bytes. K-major: groups of 8 rows are
// `stride` apart, without a swizzle core matrices along K `leading` apart. MN-major: spans along MN are `leading` apart,
// groups of 8 along K `stride` apart; without a swizzle the two change places.
template <int Swizzle>
TL_DEV void tl_wgmma_describe(tl_u64 (&d)[1], const void* tile, int leading, int stride) {
  constexpr int mode = Swizzle == 128 ? 1 : Swizzle == 64 ? 2 : Swizzle == 32 ? 3 : 0;
  d[0] = static_cast<tl_u64>((tl_address(tile) & 0x3ffff) >> 4) | static_cast<tl_u64>((leading & 0x3ffff) >> 4) << 16 |
         static_cast<tl_u64>((stride & 0x3ffff) >> 4) << 32 | static_cast<tl_u64>(mode) << 62;
}
