// Threads, shared memory and vector access. A warp is a wave: 64 lanes on CDNA, 32 on RDNA.

//@ tl_thread
TL_DEV int tl_thread() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }

//@ tl_block_x
TL_DEV int tl_block_x() { return static_cast<int>(__builtin_amdgcn_workgroup_id_x()); }

//@ tl_block_y
TL_DEV int tl_block_y() { return static_cast<int>(__builtin_amdgcn_workgroup_id_y()); }

//@ tl_block_z
TL_DEV int tl_block_z() { return static_cast<int>(__builtin_amdgcn_workgroup_id_z()); }

//@ tl_grid_x
TL_DEV int tl_grid_x() { return static_cast<int>(__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()); }

//@ tl_lane
// Of the wave.
TL_DEV int tl_lane() {
#if defined(__GFX9__)
  return static_cast<int>(__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)));
#else
  return static_cast<int>(__builtin_amdgcn_mbcnt_lo(~0u, 0));
#endif
}

//@ tl_arena
// The block's dynamic shared memory.
extern __attribute__((shared, aligned(128))) unsigned char tl_arena[];

//@ tl_entry
// The tensor of a table whose address that is: global memory.
template <class T>
TL_DEV T* tl_entry(tl_i64 address) { return (T*)(__attribute__((address_space(1))) T*)address; }

//@ tl_bytes
template <int N>
struct tl_bytes;
template <>
struct tl_bytes<1> { typedef unsigned char type; };
template <>
struct tl_bytes<2> { typedef unsigned short type __attribute__((may_alias)); };
template <>
struct tl_bytes<4> { typedef unsigned int type __attribute__((may_alias)); };
template <>
struct tl_bytes<8> { typedef unsigned int type __attribute__((ext_vector_type(2), may_alias)); };
template <>
struct tl_bytes<16> { typedef unsigned int type __attribute__((ext_vector_type(4), may_alias)); };

//@ tl_barrier
TL_DEV void tl_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

//@ tl_barrier_words
// Of each barrier of some waves: threads that have come in the lower half, how often all have come in the upper.
static __attribute__((shared)) tl_u32 tl_barrier_words[16];

//@ tl_open_named_barriers
TL_DEV void tl_open_named_barriers() {
  if (tl_thread() < 16) tl_barrier_words[tl_thread()] = 0;
  tl_barrier();
}

//@ tl_named_barrier
// Of whole waves, which the block all has at once: a lane of each counts its threads and sleeps until the last wave has come.
TL_DEV void tl_named_barrier(int id, int threads) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
#if defined(__GFX9__)
  const tl_u32 mine = static_cast<tl_u32>(__builtin_popcountll(__builtin_amdgcn_ballot_w64(true)));
#else
  const tl_u32 mine = 32;
#endif
  if (tl_lane() == 0) {
    __attribute__((address_space(3))) tl_u32* const word = (__attribute__((address_space(3))) tl_u32*)(tl_barrier_words + id);
    const tl_u32 old = __hip_atomic_fetch_add(word, mine, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP);
    if ((old & 0xffff) + mine == static_cast<tl_u32>(threads))
      __hip_atomic_fetch_add(word, 0x10000 - static_cast<tl_u32>(threads), __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP);
    else
      while (((__hip_atomic_load(word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) ^ old) & 0xffff0000) == 0) __builtin_amdgcn_s_sleep(1);
  }
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

//@ tl_warp_sync
TL_DEV void tl_warp_sync() {
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  __builtin_amdgcn_wave_barrier();
}

//@ tl_cp_async_commit
// Copies that run ahead go through registers here: there is nothing to commit or to wait for.
TL_DEV void tl_cp_async_commit() {}

//@ tl_cp_async_wait
template <int Pending>
TL_DEV void tl_cp_async_wait() {}

//@ tl_saturate_index
// The nearest value of 32 bits.
TL_DEV void tl_saturate_index(int (&dst)[1], tl_i64 x) {
  dst[0] = static_cast<int>(x < -2147483647 - 1 ? -2147483647 - 1 : x > 2147483647 ? 2147483647 : x);
}

//@ tl_load_inside
// N elements of 1 to 16 bytes together from global memory, aligned to their size, or zeros.
template <int N, class T>
TL_DEV void tl_load_inside(T (&dst)[N], const T* src, bool inside) {
  typedef typename tl_bytes<N * sizeof(T)>::type V;
  V v{};
  if (inside) v = *reinterpret_cast<const V*>(src);
  *reinterpret_cast<V*>(dst) = v;
}

//@ tl_shuffle_word
// 32 bits from lane ^ mask: by the vector unit within four lanes, else by the crossbar of shared memory.
TL_DEV tl_u32 tl_shuffle_word(tl_u32 x, int mask) {
  const int v = static_cast<int>(x);
  if (mask == 1) return static_cast<tl_u32>(__builtin_amdgcn_update_dpp(v, v, 0xb1, 0xf, 0xf, true));
  if (mask == 2) return static_cast<tl_u32>(__builtin_amdgcn_update_dpp(v, v, 0x4e, 0xf, 0xf, true));
  if (mask == 4) return static_cast<tl_u32>(__builtin_amdgcn_ds_swizzle(v, 0x101f));
  if (mask == 8) return static_cast<tl_u32>(__builtin_amdgcn_ds_swizzle(v, 0x201f));
  if (mask == 16) return static_cast<tl_u32>(__builtin_amdgcn_ds_swizzle(v, 0x401f));
  return static_cast<tl_u32>(__builtin_amdgcn_ds_bpermute((tl_lane() ^ mask) << 2, v));
}

//@ tl_shuffle_bits
// One value of up to 8 bytes from lane ^ mask.
template <class T>
TL_DEV T tl_shuffle_bits(T x, int mask) {
  if constexpr (sizeof(T) == 8) {
    const tl_u64 u = tl_bits<tl_u64>(x);
    const tl_u32 lo = tl_shuffle_word(static_cast<tl_u32>(u), mask);
    const tl_u32 hi = tl_shuffle_word(static_cast<tl_u32>(u >> 32), mask);
    return tl_bits<T>(static_cast<tl_u64>(hi) << 32 | lo);
  } else if constexpr (sizeof(T) == 4) {
    return tl_bits<T>(tl_shuffle_word(tl_bits<tl_u32>(x), mask));
  } else if constexpr (sizeof(T) == 2) {
    return tl_bits<T>(static_cast<tl_u16>(tl_shuffle_word(tl_bits<tl_u16>(x), mask)));
  } else {
    return static_cast<T>(tl_shuffle_word(static_cast<tl_u32>(static_cast<int>(x)), mask));
  }
}
