// sm_90 and later: mbarriers, tensor copies (TMA), warpgroup products, register handover.
// Descriptor fields and orders follow the PTX ISA's chapters on wgmma and cp.async.bulk.tensor.

//@ tl_tensor_map
// Encoded by the driver; a kernel parameter in constant space.
struct alignas(64) tl_tensor_map {
  tl_u64 opaque[16];
};

//@ tl_mbarrier_init
TL_DEV void tl_mbarrier_init(tl_u64* bar, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(tl_address(bar)), "r"(arrivals) : "memory");
}

//@ tl_mbarrier_init_fence
// Makes initialized barriers visible to the asynchronous proxy and to other blocks of a cluster.
TL_DEV void tl_mbarrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

//@ tl_mbarrier_expect
// Arrives once and announces bytes that tensor copies will bring.
TL_DEV void tl_mbarrier_expect(tl_u64* bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(tl_address(bar)), "r"(bytes) : "memory");
}

//@ tl_mbarrier_arrive
TL_DEV void tl_mbarrier_arrive(tl_u64* bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(tl_address(bar)) : "memory");
}

//@ tl_mbarrier_wait
// Until the phase of this parity has completed.
TL_DEV void tl_mbarrier_wait(tl_u64* bar, int parity) {
  asm volatile(
      "{\n.reg .pred tl_done;\nTL_WAIT_%=:\nmbarrier.try_wait.parity.shared::cta.b64 tl_done, [%0], %1;\n"
      "@tl_done bra TL_DONE_%=;\nbra TL_WAIT_%=;\nTL_DONE_%=:\n}"
      ::"r"(tl_address(bar)), "r"(parity) : "memory");
}

//@ tl_tma_load_2d
// The map's box from (x, y), innermost first, to shared memory; completes on the barrier. Outside the tensor: zeros.
TL_DEV void tl_tma_load_2d(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int y) {
#if __CUDA_ARCH__ >= 1200
  // ptxas 13.0 needs a stack frame there for the other form.
  asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
               ::"r"(tl_address(dst)), "l"(&map), "r"(tl_address(bar)), "r"(x), "r"(y) : "memory");
#else
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
               ::"r"(tl_address(dst)), "l"(&map), "r"(tl_address(bar)), "r"(x), "r"(y) : "memory");
#endif
}

//@ tl_tma_store_2d
// Shared memory to the map's box at (x, y); what lies outside the tensor is dropped.
TL_DEV void tl_tma_store_2d(const tl_tensor_map& map, const void* src, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
               ::"l"(&map), "r"(tl_address(src)), "r"(x), "r"(y) : "memory");
}

//@ tl_tma_load_1d
TL_DEV void tl_tma_load_1d(void* dst, const tl_tensor_map& map, tl_u64* bar, int x) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];"
               ::"r"(tl_address(dst)), "l"(&map), "r"(tl_address(bar)), "r"(x) : "memory");
}

//@ tl_tma_load_3d
TL_DEV void tl_tma_load_3d(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
               ::"r"(tl_address(dst)), "l"(&map), "r"(tl_address(bar)), "r"(x), "r"(y), "r"(z) : "memory");
}

//@ tl_tma_load_4d
TL_DEV void tl_tma_load_4d(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
               ::"r"(tl_address(dst)), "l"(&map), "r"(tl_address(bar)), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}

//@ tl_tma_load_5d
TL_DEV void tl_tma_load_5d(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int y, int z, int w, int v) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
               ::"r"(tl_address(dst)), "l"(&map), "r"(tl_address(bar)), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v) : "memory");
}

//@ tl_tma_store_1d
TL_DEV void tl_tma_store_1d(const tl_tensor_map& map, const void* src, int x) {
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%2}], [%1];"
               ::"l"(&map), "r"(tl_address(src)), "r"(x) : "memory");
}

//@ tl_tma_store_3d
TL_DEV void tl_tma_store_3d(const tl_tensor_map& map, const void* src, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];"
               ::"l"(&map), "r"(tl_address(src)), "r"(x), "r"(y), "r"(z) : "memory");
}

//@ tl_tma_store_4d
TL_DEV void tl_tma_store_4d(const tl_tensor_map& map, const void* src, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
               ::"l"(&map), "r"(tl_address(src)), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}

//@ tl_tma_store_5d
TL_DEV void tl_tma_store_5d(const tl_tensor_map& map, const void* src, int x, int y, int z, int w, int v) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];"
               ::"l"(&map), "r"(tl_address(src)), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v) : "memory");
}

//@ tl_tma_load_2d_multicast
// To the same place of every block of the cluster whose bit is set in `blocks`; completes on the barrier of each.
TL_DEV void tl_tma_load_2d_multicast(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int y, int blocks) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;"
               ::"r"(tl_address(dst)), "l"(&map), "r"(tl_address(bar)), "r"(x), "r"(y), "h"(static_cast<tl_u16>(blocks)) : "memory");
}

//@ tl_tma_add_2d
// Adds shared memory to the map's box at (x, y), element by element.
TL_DEV void tl_tma_add_2d(const tl_tensor_map& map, const void* src, int x, int y) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%2, %3}], [%1];"
               ::"l"(&map), "r"(tl_address(src)), "r"(x), "r"(y) : "memory");
}

//@ tl_tma_store_wait
// Until all but the newest Pending groups have been written.
template <int Pending>
TL_DEV void tl_tma_store_wait() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Pending) : "memory"); }

//@ tl_cluster_rank
// Of this block in its cluster.
TL_DEV int tl_cluster_rank() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

//@ tl_cluster_barrier
// Of all threads of the cluster; orders their accesses to each other's shared memory.
TL_DEV void tl_cluster_barrier() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

//@ tl_cluster_arrive
// The barrier in halves: arrives, once its block's mbarriers are initialized and that is fenced, and goes on.
TL_DEV void tl_cluster_arrive() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }

//@ tl_cluster_wait
TL_DEV void tl_cluster_wait() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }

//@ tl_send_part
// N registers of each of so many threads to block `rank` of the cluster: four of a thread at once, the threads' side by side, then the
// next four. `dst`: the thread's first place. Completes, byte for byte, on the barrier there.
template <int Threads, int N, class T>
TL_DEV void tl_send_part(const T (&src)[N], T* dst, tl_u64* bar, int rank) {
  static_assert(sizeof(T) == 4 && N % 4 == 0, "tl_send_part: fours of registers");
  tl_u32 to, on;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(tl_address(dst)), "r"(rank));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(on) : "r"(tl_address(bar)), "r"(rank));
#pragma unroll
  for (int i = 0; i < N; i += 4)
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
                 ::"r"(to + i * 4 * Threads), "r"(tl_bits<tl_u32>(src[i])), "r"(tl_bits<tl_u32>(src[i + 1])), "r"(tl_bits<tl_u32>(src[i + 2])),
                   "r"(tl_bits<tl_u32>(src[i + 3])), "r"(on) : "memory");
}

//@ tl_mbarrier_arrive_cluster
// On the barrier at the same place of another block of the cluster.
TL_DEV void tl_mbarrier_arrive_cluster(tl_u64* bar, int rank) {
  asm volatile(
      "{\n.reg .b32 tl_remote;\nmapa.shared::cluster.u32 tl_remote, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [tl_remote];\n}"
      ::"r"(tl_address(bar)), "r"(rank) : "memory");
}

//@ tl_mbarrier_free_cluster
// The same where what this block did need not be seen there, as of a slot that only copies write: the order of ordinary accesses
// throughout a cluster costs a thousand clocks on an H200.
TL_DEV void tl_mbarrier_free_cluster(tl_u64* bar, int rank) {
  asm volatile(
      "{\n.reg .b32 tl_remote;\nmapa.shared::cluster.u32 tl_remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [tl_remote];\n}"
      ::"r"(tl_address(bar)), "r"(rank) : "memory");
}

//@ tl_tma_store_commit
TL_DEV void tl_tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

//@ tl_tma_store_wait_read
// Until the sources of all but the newest Pending groups have been read.
template <int Pending>
TL_DEV void tl_tma_store_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory"); }

//@ tl_proxy_fence
// Orders this thread's plain accesses to shared memory before asynchronous ones.
TL_DEV void tl_proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

//@ tl_setmaxnreg_inc
template <int Registers>
TL_DEV void tl_setmaxnreg_inc() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers)); }

//@ tl_setmaxnreg_dec
template <int Registers>
TL_DEV void tl_setmaxnreg_dec() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers)); }

//@ tl_wgmma_fence
TL_DEV void tl_wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

//@ tl_wgmma_commit
TL_DEV void tl_wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

//@ tl_wgmma_wait
template <int Pending>
TL_DEV void tl_wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory"); }

//@ tl_wgmma_hold
// Registers that a product under way writes: ordinary code must not be moved across.
template <int N>
TL_DEV void tl_wgmma_hold(float (&r)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(r[i])::"memory");
}

//@ tl_wgmma_descriptor
// A K-major operand tile with the 128-byte swizzle: rows of 128 bytes, groups of 8 rows 1024 bytes apart.
TL_DEV void tl_wgmma_descriptor(tl_u64 (&d)[1], const void* tile) {
  d[0] = static_cast<tl_u64>((tl_address(tile) & 0x3ffff) >> 4) | static_cast<tl_u64>(1) << 16 |
         static_cast<tl_u64>(64) << 32 | static_cast<tl_u64>(1) << 62;
}

//@ tl_wgmma_ss
// One warpgroup product d[64, N] = a[64, 16] * b[N, 16]^T + (accumulate ? d : 0); the forms in use follow below.
template <int N, class T>
TL_DEV void tl_wgmma_ss(float (&d)[N / 2], tl_u64 a, tl_u64 b, int accumulate);

//@ tl_cast_pack
// N registers of two 16-bit elements each, from 2 N floats.
template <class T, int N>
TL_DEV void tl_cast_pack(tl_u32 (&r)[N], const float (&x)[2 * N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if constexpr (tl_same<T, tl_bf16>::value)
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
    else
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
  }
}
