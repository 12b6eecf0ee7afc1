// Tensor copies that reduce into global memory, of 1 to 5 dims, and multicasts beyond two dims. Plain tensor copies and the
// groups and waits of all of them are in hopper.cuh.

//@ TL_TMA_REDUCE
// Op 0 to 5: add, min, max, and, or, xor. Elements are combined one by one; order among copies is not given.
#define TL_TMA_REDUCE_AS(op, dims, at, ...)                                                                        \
  asm volatile("cp.reduce.async.bulk.tensor." dims ".global.shared::cta." op ".bulk_group [%0, {" at "}], [%1];"    \
               ::"l"(&map), "r"(tl_address(src)), __VA_ARGS__ : "memory")
#define TL_TMA_REDUCE(dims, at, ...)                                                  \
  if constexpr (Op == 0) { TL_TMA_REDUCE_AS("add", dims, at, __VA_ARGS__); }          \
  else if constexpr (Op == 1) { TL_TMA_REDUCE_AS("min", dims, at, __VA_ARGS__); }     \
  else if constexpr (Op == 2) { TL_TMA_REDUCE_AS("max", dims, at, __VA_ARGS__); }     \
  else if constexpr (Op == 3) { TL_TMA_REDUCE_AS("and", dims, at, __VA_ARGS__); }     \
  else if constexpr (Op == 4) { TL_TMA_REDUCE_AS("or", dims, at, __VA_ARGS__); }      \
  else { TL_TMA_REDUCE_AS("xor", dims, at, __VA_ARGS__); }

//@ tl_tma_reduce_1d
// Shared memory into the map's box at (x, y, ...), what lies outside the tensor dropped.
template <int Op>
TL_DEV void tl_tma_reduce_1d(const tl_tensor_map& map, const void* src, int x) {
  TL_TMA_REDUCE("1d", "%2", "r"(x))
}

//@ tl_tma_reduce_2d
template <int Op>
TL_DEV void tl_tma_reduce_2d(const tl_tensor_map& map, const void* src, int x, int y) {
  TL_TMA_REDUCE("2d", "%2, %3", "r"(x), "r"(y))
}

//@ tl_tma_reduce_3d
template <int Op>
TL_DEV void tl_tma_reduce_3d(const tl_tensor_map& map, const void* src, int x, int y, int z) {
  TL_TMA_REDUCE("3d", "%2, %3, %4", "r"(x), "r"(y), "r"(z))
}

//@ tl_tma_reduce_4d
template <int Op>
TL_DEV void tl_tma_reduce_4d(const tl_tensor_map& map, const void* src, int x, int y, int z, int w) {
  TL_TMA_REDUCE("4d", "%2, %3, %4, %5", "r"(x), "r"(y), "r"(z), "r"(w))
}

//@ tl_tma_reduce_5d
template <int Op>
TL_DEV void tl_tma_reduce_5d(const tl_tensor_map& map, const void* src, int x, int y, int z, int w, int v) {
  TL_TMA_REDUCE("5d", "%2, %3, %4, %5, %6", "r"(x), "r"(y), "r"(z), "r"(w), "r"(v))
}

//@ tl_tma_load_1d_multicast
// As tl_tma_load_2d_multicast.
TL_DEV void tl_tma_load_1d_multicast(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int blocks) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4}], [%2], %3;"
               ::"r"(tl_address(dst)), "l"(&map), "r"(tl_address(bar)), "h"(static_cast<tl_u16>(blocks)), "r"(x) : "memory");
}

//@ tl_tma_load_3d_multicast
TL_DEV void tl_tma_load_3d_multicast(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int y, int z, int blocks) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5, %6}], [%2], %3;"
               ::"r"(tl_address(dst)), "l"(&map), "r"(tl_address(bar)), "h"(static_cast<tl_u16>(blocks)), "r"(x), "r"(y), "r"(z) : "memory");
}

//@ tl_tma_load_4d_multicast
TL_DEV void tl_tma_load_4d_multicast(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int y, int z, int w, int blocks) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5, %6, %7}], [%2], %3;"
               ::"r"(tl_address(dst)), "l"(&map), "r"(tl_address(bar)), "h"(static_cast<tl_u16>(blocks)), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}

//@ tl_tma_load_5d_multicast
TL_DEV void tl_tma_load_5d_multicast(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int y, int z, int w, int v, int blocks) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5, %6, %7, %8}], [%2], %3;"
               ::"r"(tl_address(dst)), "l"(&map), "r"(tl_address(bar)), "h"(static_cast<tl_u16>(blocks)), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v) : "memory");
}
