// Host twins of votes, split barriers, arrivals after copies, clusters, grids and reports.

//@ tl_ballot
TL_DEV tl_u32 tl_ballot(bool predicate, int line = __builtin_LINE()) { return tlemu_ballot(predicate, line); }

//@ tl_any
TL_DEV bool tl_any(bool predicate, int line = __builtin_LINE()) { return tl_ballot(predicate, line) != 0; }

//@ tl_all
TL_DEV bool tl_all(bool predicate, int line = __builtin_LINE()) { return tl_ballot(predicate, line) == 0xffffffffu; }

//@ tl_vote
TL_DEV void tl_vote(tl_u32 (&dst)[1], bool predicate, int line = __builtin_LINE()) { dst[0] = tl_ballot(predicate, line); }

//@ tl_shuffle_lane
template <class T>
TL_DEV void tl_shuffle_lane(T (&dst)[1], T (&src)[1], int lane, int line = __builtin_LINE()) {
  dst[0] = tl_shuffle_bits<T>(src[0], lane ^ (tl_thread() & 31), line);
}

//@ tl_named_barrier_arrive
TL_DEV void tl_named_barrier_arrive(int id, int threads, int line = __builtin_LINE()) { tlemu_named_barrier_arrive(id, threads, line); }

//@ tl_cp_async_arrive
TL_DEV void tl_cp_async_arrive(tl_u64* bar, int line = __builtin_LINE()) { tlemu_cp_async_arrive(bar, line); }

//@ tl_mbarrier_wait_cluster
TL_DEV void tl_mbarrier_wait_cluster(tl_u64* bar, int parity, int line = __builtin_LINE()) { tlemu_mbarrier_wait(bar, parity, line); }

//@ tl_cluster_arrive
TL_DEV void tl_cluster_arrive(int line = __builtin_LINE()) { tlemu_cluster_arrive(line); }

//@ tl_cluster_wait
TL_DEV void tl_cluster_wait(int line = __builtin_LINE()) { tlemu_cluster_wait(line); }

//@ tl_send_part
template <int Threads, int N, class T>
TL_DEV void tl_send_part(const T (&src)[N], T* dst, tl_u64* bar, int rank, int line = __builtin_LINE()) {
  static_assert(sizeof(T) == 4 && N % 4 == 0, "tl_send_part: fours of registers");
  tl_u32 words[N];
  memcpy(words, src, sizeof words);
  tlemu_send_part(words, N, dst, Threads * 16, bar, rank, line);
}

//@ tl_cluster_pointer
template <class T>
TL_DEV T* tl_cluster_pointer(T* p, int rank, int line = __builtin_LINE()) { return static_cast<T*>(tlemu_cluster_pointer(p, rank, line)); }

//@ tl_cluster_load
template <class T>
TL_DEV T tl_cluster_load(const T* p, int rank, int line = __builtin_LINE()) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "tl_cluster_load: 4 or 8 bytes");
  T value;
  memcpy(&value, tlemu_cluster_access(p, rank, sizeof(T), 0, line), sizeof value);
  return value;
}

//@ tl_cluster_store
template <class T>
TL_DEV void tl_cluster_store(T* p, int rank, T value, int line = __builtin_LINE()) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "tl_cluster_store: 4 or 8 bytes");
  memcpy(tlemu_cluster_access(p, rank, sizeof(T), 1, line), &value, sizeof value);
}

//@ tl_wait_at_least
TL_DEV void tl_wait_at_least(const tl_u32* word, tl_u32 least, int line = __builtin_LINE()) { tlemu_wait_at_least(word, least, line); }

//@ tl_set_word
TL_DEV void tl_set_word(tl_u32* word, tl_u32 value, int line = __builtin_LINE()) { tlemu_set_word(word, value, line); }

//@ tl_wait_for_grids
TL_DEV void tl_wait_for_grids(int line = __builtin_LINE()) { tlemu_wait_for_grids(line); }

//@ tl_launch_dependents
// Grids run one after the other.
TL_DEV void tl_launch_dependents() {}

//@ tl_grid_barrier
TL_DEV void tl_grid_barrier(tl_u32* counter, int line = __builtin_LINE()) { tlemu_grid_barrier(counter, line); }

//@ tl_report_place
template <int N>
TL_DEV tl_u64 tl_report_place(tl_u64* ring) {
  tlemu_report_ring(ring, N);
  return tl_atomic_add<1, tl_u64>(ring, 1);
}
