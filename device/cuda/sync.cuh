// Threads with each other beyond the block's barrier: votes of a warp, split barriers, copies that arrive, clusters, grids.

//@ tl_ballot
// A bit for each lane whose predicate holds; all lanes of the warp take part.
TL_DEV tl_u32 tl_ballot(bool predicate) { return __ballot_sync(0xffffffffu, predicate); }

//@ tl_any
TL_DEV bool tl_any(bool predicate) { return tl_ballot(predicate) != 0; }

//@ tl_all
TL_DEV bool tl_all(bool predicate) { return tl_ballot(predicate) == 0xffffffffu; }

//@ tl_vote
TL_DEV void tl_vote(tl_u32 (&dst)[1], bool predicate) { dst[0] = tl_ballot(predicate); }

//@ tl_shuffle_lane
// One value of up to 8 bytes from that lane of the warp.
template <class T>
TL_DEV void tl_shuffle_lane(T (&dst)[1], T (&src)[1], int lane) {
  if constexpr (sizeof(T) == 8) {
    const tl_u64 u = tl_bits<tl_u64>(src[0]);
    const tl_u32 lo = __shfl_sync(0xffffffffu, static_cast<tl_u32>(u), lane);
    const tl_u32 hi = __shfl_sync(0xffffffffu, static_cast<tl_u32>(u >> 32), lane);
    dst[0] = tl_bits<T>(static_cast<tl_u64>(hi) << 32 | lo);
  } else if constexpr (sizeof(T) == 4) {
    dst[0] = tl_bits<T>(__shfl_sync(0xffffffffu, tl_bits<tl_u32>(src[0]), lane));
  } else if constexpr (sizeof(T) == 2) {
    dst[0] = tl_bits<T>(static_cast<tl_u16>(__shfl_sync(0xffffffffu, static_cast<tl_u32>(tl_bits<tl_u16>(src[0])), lane)));
  } else {
    dst[0] = static_cast<T>(__shfl_sync(0xffffffffu, static_cast<tl_u32>(static_cast<int>(src[0])), lane));
  }
}

//@ tl_named_barrier_arrive
// Arrives and goes on; who waits for it counts these threads too.
TL_DEV void tl_named_barrier_arrive(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

//@ tl_cp_async_arrive
// One of the barrier's expected arrivals, once all copies that this thread has issued before are done.
TL_DEV void tl_cp_async_arrive(tl_u64* bar) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(tl_address(bar)) : "memory");
}

//@ tl_mbarrier_wait_cluster
// As tl_mbarrier_wait, and what other blocks of the cluster did before their arrivals is seen.
TL_DEV void tl_mbarrier_wait_cluster(tl_u64* bar, int parity) {
  asm volatile(
      "{\n.reg .pred tl_done;\nTL_CLUSTER_WAIT_%=:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 tl_done, [%0], %1;\n"
      "@tl_done bra TL_CLUSTER_DONE_%=;\nbra TL_CLUSTER_WAIT_%=;\nTL_CLUSTER_DONE_%=:\n}"
      ::"r"(tl_address(bar)), "r"(parity) : "memory");
}

//@ tl_cluster_pointer
// The same place in the shared memory of block `rank` of the cluster, for ordinary accesses.
template <class T>
TL_DEV T* tl_cluster_pointer(T* p, int rank) {
  tl_u64 there;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(rank));
  return reinterpret_cast<T*>(there);
}

//@ tl_cluster_load
// A value of 4 or 8 bytes at the same place of block `rank`.
template <class T>
TL_DEV T tl_cluster_load(const T* p, int rank) {
  if constexpr (sizeof(T) == 8) {
    tl_u64 x;
    asm volatile("{\n.reg .b32 tl_there;\nmapa.shared::cluster.u32 tl_there, %1, %2;\nld.shared::cluster.b64 %0, [tl_there];\n}"
                 : "=l"(x) : "r"(tl_address(p)), "r"(rank) : "memory");
    return tl_bits<T>(x);
  } else {
    tl_u32 x;
    asm volatile("{\n.reg .b32 tl_there;\nmapa.shared::cluster.u32 tl_there, %1, %2;\nld.shared::cluster.b32 %0, [tl_there];\n}"
                 : "=r"(x) : "r"(tl_address(p)), "r"(rank) : "memory");
    return tl_bits<T>(x);
  }
}

//@ tl_cluster_store
template <class T>
TL_DEV void tl_cluster_store(T* p, int rank, T value) {
  if constexpr (sizeof(T) == 8)
    asm volatile("{\n.reg .b32 tl_there;\nmapa.shared::cluster.u32 tl_there, %0, %1;\nst.shared::cluster.b64 [tl_there], %2;\n}"
                 ::"r"(tl_address(p)), "r"(rank), "l"(tl_bits<tl_u64>(value)) : "memory");
  else
    asm volatile("{\n.reg .b32 tl_there;\nmapa.shared::cluster.u32 tl_there, %0, %1;\nst.shared::cluster.b32 [tl_there], %2;\n}"
                 ::"r"(tl_address(p)), "r"(rank), "r"(tl_bits<tl_u32>(value)) : "memory");
}

//@ tl_wait_at_least
// One thread waits until another block has set the word to `least` or more; what was written before is seen.
TL_DEV void tl_wait_at_least(const tl_u32* word, tl_u32 least) {
  tl_u32 now;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(word) : "memory");
  } while (now < least);
}

//@ tl_set_word
// Tells other blocks: what this thread wrote, or saw by a barrier, is there for who has waited for the word.
TL_DEV void tl_set_word(tl_u32* word, tl_u32 value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

//@ tl_wait_for_grids
// Until the grids before this one in its stream have ended and what they wrote is seen, where this one was let start before;
// else at once. sm_90 and later.
TL_DEV void tl_wait_for_grids() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

//@ tl_launch_dependents
// Lets the grid behind this one start, once all blocks have said so or ended. It orders nothing: who depends on this grid waits.
TL_DEV void tl_launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

//@ tl_grid_barrier
// Of all threads of the grid, in a cooperative launch. The counter in global memory starts at 0 and is left so that the next
// barrier, of this launch or a later one, can use it: its top bit turns when the last block has come.
TL_DEV void tl_grid_barrier(tl_u32* counter) {
  __syncthreads();
  if (threadIdx.x == 0) {
    const tl_u32 blocks = gridDim.x * gridDim.y * gridDim.z;
    const tl_u32 mine = (blockIdx.x | blockIdx.y | blockIdx.z) == 0 ? 0x80000000u - (blocks - 1) : 1u;
    tl_u32 old, now;
    asm volatile("fence.acq_rel.gpu;\natom.add.acq_rel.gpu.global.u32 %0, [%1], %2;" : "=r"(old) : "l"(counter), "r"(mine) : "memory");
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
    } while (((old ^ now) & 0x80000000u) == 0);
  }
  __syncthreads();
}
