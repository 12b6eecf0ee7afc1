// Host twins of warpgroup products.

//@ tl_wgmma
template <int N, class D, class A, class B, int MnA, int MnB>
TL_DEV void tl_wgmma(typename tl_sums<D, N>::type& d, tl_u64 a, tl_u64 b, int accumulate, int line = __builtin_LINE()) {
  tlemu_wgmma(d, N, tlemu_sums<D>::value, tlemu_number<A>::value, tlemu_number<B>::value, a, 0, b, accumulate, MnA, MnB, line);
}

//@ tl_wgmma_rs
template <int N, class D, class A, class B, int MnB>
TL_DEV void tl_wgmma_rs(typename tl_sums<D, N>::type& d, const tl_u32 (&a)[4], tl_u64 b, int accumulate, int line = __builtin_LINE()) {
  tlemu_wgmma(d, N, tlemu_sums<D>::value, tlemu_number<A>::value, tlemu_number<B>::value, 0, a, b, accumulate, 0, MnB, line);
}

//@ tl_wgmma_sp
template <int N, class D, class A, class B, int MnB>
TL_DEV void tl_wgmma_sp(typename tl_sums<D, N>::type& d, tl_u64 a, tl_u64 b, tl_u32 metadata, int accumulate, int line = __builtin_LINE()) {
  tlemu_wgmma_sp(d, N, tlemu_sums<D>::value, tlemu_number<A>::value, tlemu_number<B>::value, a, b, metadata, accumulate, MnB, line);
}

//@ tl_wgmma_hold_words
template <int N, class T>
TL_DEV void tl_wgmma_hold_words(T (&)[N]) {}
