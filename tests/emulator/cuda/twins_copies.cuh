// Host twins of reducing and multicast tensor copies.

//@ TL_TMA_REDUCE
// The instruction's spelling on the device alone.

//@ tl_tma_reduce_1d
template <int Op>
TL_DEV void tl_tma_reduce_1d(const tl_tensor_map& map, const void* src, int x, int line = __builtin_LINE()) {
  const int at[] = {x};
  tlemu_tma_store(&map, src, 1, at, Op, line);
}

//@ tl_tma_reduce_2d
template <int Op>
TL_DEV void tl_tma_reduce_2d(const tl_tensor_map& map, const void* src, int x, int y, int line = __builtin_LINE()) {
  const int at[] = {x, y};
  tlemu_tma_store(&map, src, 2, at, Op, line);
}

//@ tl_tma_reduce_3d
template <int Op>
TL_DEV void tl_tma_reduce_3d(const tl_tensor_map& map, const void* src, int x, int y, int z, int line = __builtin_LINE()) {
  const int at[] = {x, y, z};
  tlemu_tma_store(&map, src, 3, at, Op, line);
}

//@ tl_tma_reduce_4d
template <int Op>
TL_DEV void tl_tma_reduce_4d(const tl_tensor_map& map, const void* src, int x, int y, int z, int w, int line = __builtin_LINE()) {
  const int at[] = {x, y, z, w};
  tlemu_tma_store(&map, src, 4, at, Op, line);
}

//@ tl_tma_reduce_5d
template <int Op>
TL_DEV void tl_tma_reduce_5d(const tl_tensor_map& map, const void* src, int x, int y, int z, int w, int v, int line = __builtin_LINE()) {
  const int at[] = {x, y, z, w, v};
  tlemu_tma_store(&map, src, 5, at, Op, line);
}

//@ tl_tma_load_1d_multicast
TL_DEV void tl_tma_load_1d_multicast(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int blocks, int line = __builtin_LINE()) {
  const int at[] = {x};
  tlemu_tma_load(dst, &map, bar, 1, at, static_cast<tl_u32>(blocks), line);
}

//@ tl_tma_load_3d_multicast
TL_DEV void tl_tma_load_3d_multicast(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int y, int z, int blocks, int line = __builtin_LINE()) {
  const int at[] = {x, y, z};
  tlemu_tma_load(dst, &map, bar, 3, at, static_cast<tl_u32>(blocks), line);
}

//@ tl_tma_load_4d_multicast
TL_DEV void tl_tma_load_4d_multicast(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int y, int z, int w, int blocks, int line = __builtin_LINE()) {
  const int at[] = {x, y, z, w};
  tlemu_tma_load(dst, &map, bar, 4, at, static_cast<tl_u32>(blocks), line);
}

//@ tl_tma_load_5d_multicast
TL_DEV void tl_tma_load_5d_multicast(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int y, int z, int w, int v, int blocks, int line = __builtin_LINE()) {
  const int at[] = {x, y, z, w, v};
  tlemu_tma_load(dst, &map, bar, 5, at, static_cast<tl_u32>(blocks), line);
}
