// Threads with each other beyond the block's barrier: votes, shuffles, words that blocks wait for, grids.

//@ tl_ballot
// A bit for each of the 32 lanes of the language's warp: on waves of 64 the half that the lane belongs to.
TL_DEV tl_u32 tl_ballot(bool predicate) {
#if defined(__GFX9__)
  const tl_u64 wave = __builtin_amdgcn_ballot_w64(predicate);
  return static_cast<tl_u32>(tl_lane() < 32 ? wave : wave >> 32);
#else
  return __builtin_amdgcn_ballot_w32(predicate);
#endif
}

//@ tl_shuffle_lane
// One value of up to 8 bytes from that lane of the wave.
template <class T>
TL_DEV void tl_shuffle_lane(T (&dst)[1], T (&src)[1], int lane) {
  const auto word = [&](tl_u32 x) { return static_cast<tl_u32>(__builtin_amdgcn_ds_bpermute(lane << 2, static_cast<int>(x))); };
  if constexpr (sizeof(T) == 8) {
    const tl_u64 u = tl_bits<tl_u64>(src[0]);
    const tl_u32 lo = word(static_cast<tl_u32>(u)), hi = word(static_cast<tl_u32>(u >> 32));
    dst[0] = tl_bits<T>(static_cast<tl_u64>(hi) << 32 | lo);
  } else if constexpr (sizeof(T) == 4) {
    dst[0] = tl_bits<T>(word(tl_bits<tl_u32>(src[0])));
  } else if constexpr (sizeof(T) == 2) {
    dst[0] = tl_bits<T>(static_cast<tl_u16>(word(tl_bits<tl_u16>(src[0]))));
  } else {
    dst[0] = static_cast<T>(word(static_cast<tl_u32>(static_cast<int>(src[0]))));
  }
}

//@ tl_wait_at_least
// One thread waits until another block has set the word to `least` or more; what was written before is seen.
TL_DEV void tl_wait_at_least(const tl_u32* word, tl_u32 least) {
  while (__hip_atomic_load(word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < least) __builtin_amdgcn_s_sleep(1);
}

//@ tl_set_word
// Tells other blocks: what this thread wrote, or saw by a barrier, is there for who has waited for the word.
TL_DEV void tl_set_word(tl_u32* word, tl_u32 value) { __hip_atomic_store(word, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT); }

//@ tl_grid_barrier
// Of all threads of the grid, in a cooperative launch. The counter in global memory starts at 0 and is left so that the next
// barrier, of this launch or a later one, can use it: its top bit turns when the last block has come.
TL_DEV void tl_grid_barrier(tl_u32* counter) {
  tl_barrier();
  if (tl_thread() == 0) {
    const tl_u32 blocks = (__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()) *
                          (__builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y()) *
                          (__builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z());
    const tl_u32 mine = (tl_block_x() | tl_block_y() | tl_block_z()) == 0 ? 0x80000000u - (blocks - 1) : 1u;
    const tl_u32 old = __hip_atomic_fetch_add(counter, mine, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
    while (((old ^ __hip_atomic_load(counter, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) & 0x80000000u) == 0) __builtin_amdgcn_s_sleep(1);
  }
  tl_barrier();
}
