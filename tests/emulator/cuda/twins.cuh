// Host twins of device primitives: parts of the same names and signatures as in device/cuda, for those that hold asm or
// a builtin of the device. All other parts are taken as they are. `line` is the place of the call in the kernel's text.

//@ TL_DEV
#define TL_DEV static inline __attribute__((unused))

//@ TL_KERNEL
#define TL_KERNEL(threads, blocks) [[maybe_unused]] static void

//@ tl_float
TL_DEV float tl_float(float x) { return x; }
TL_DEV float tl_float(tl_f16 x) { return tilert::emulator::f16_to_float(x.bits); }
TL_DEV float tl_float(tl_bf16 x) { return tilert::emulator::bf16_to_float(x.bits); }

//@ tl_from_float
template <class T>
TL_DEV T tl_from_float(float x) {
  if constexpr (tl_same<T, tl_f16>::value) return tl_f16{tilert::emulator::float_to_f16(x)};
  else if constexpr (tl_same<T, tl_bf16>::value) return tl_bf16{tilert::emulator::float_to_bf16(x)};
  else return x;
}

//@ tl_min
template <class T>
TL_DEV T tl_min(T a, T b) {
  if constexpr (tl_is_float<T>::value) {
    const float x = tl_float(a), y = tl_float(b);
    if (x != x || y != y) return tl_from_float<T>(x != x ? y : x);
    return tl_from_float<T>(x < y || (x == y && __builtin_signbit(x)) ? x : y);
  } else {
    return b < a ? b : a;
  }
}

//@ tl_max
template <class T>
TL_DEV T tl_max(T a, T b) {
  if constexpr (tl_is_float<T>::value) {
    const float x = tl_float(a), y = tl_float(b);
    if (x != x || y != y) return tl_from_float<T>(x != x ? y : x);
    return tl_from_float<T>(y < x || (x == y && __builtin_signbit(y)) ? x : y);
  } else {
    return a < b ? b : a;
  }
}

//@ tl_e4m3_value
TL_DEV float tl_e4m3_value(tl_e4m3 x) { return tl_small_value(x); }

//@ tl_e5m2_value
TL_DEV float tl_e5m2_value(tl_e5m2 x) { return tl_small_value(x); }

//@ tl_e4m3_code
TL_DEV tl_e4m3 tl_e4m3_code(float x) { return tl_small_code<tl_e4m3>(x, true); }

//@ tl_e5m2_code
TL_DEV tl_e5m2 tl_e5m2_code(float x) { return tl_small_code<tl_e5m2>(x, true); }

//@ tl_exp2
TL_DEV float tl_exp2_f32(float x) { return exp2f(x); }
template <class T>
TL_DEV T tl_exp2(T x) { return tl_from_float<T>(tl_exp2_f32(tl_float(x))); }

//@ tl_thread
TL_DEV int tl_thread() { return tlemu_thread(); }

//@ tl_block_x
TL_DEV int tl_block_x() { return tlemu_block(0); }

//@ tl_grid_x
TL_DEV int tl_grid_x() { return tlemu_grid(0); }

//@ tl_block_y
TL_DEV int tl_block_y() { return tlemu_block(1); }

//@ tl_block_z
TL_DEV int tl_block_z() { return tlemu_block(2); }

//@ tl_arena
#define tl_arena tlemu_arena()

//@ tl_address
TL_DEV tl_u32 tl_address(const void* p) { return tlemu_address(p); }

//@ tl_move
template <int N, class T>
TL_DEV void tl_move(T* dst, const T* src, int line = __builtin_LINE()) {
  constexpr int bytes = N * static_cast<int>(sizeof(T));
  static_assert(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16, "tl_move: no access of this width");
  tlemu_vector(dst, bytes, line);
  tlemu_vector(src, bytes, line);
  T values[N];
  memcpy(values, src, bytes);
  memcpy(dst, values, bytes);
}

//@ tl_barrier
TL_DEV void tl_barrier(int line = __builtin_LINE()) { tlemu_barrier(line); }

//@ tl_warp_sync
TL_DEV void tl_warp_sync(int line = __builtin_LINE()) { tlemu_warp_sync(line); }

//@ tl_named_barrier
TL_DEV void tl_named_barrier(int id, int threads, int line = __builtin_LINE()) { tlemu_named_barrier(id, threads, line); }

//@ tl_cp_async
template <int Bytes>
TL_DEV void tl_cp_async(void* dst, const void* src, int valid, int line = __builtin_LINE()) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "tl_cp_async: 4, 8 or 16 bytes");
  tlemu_cp_async(dst, src, Bytes, valid, line);
}

//@ tl_cache_policy
template <int E>
TL_DEV tl_u64 tl_cache_policy() {
  static_assert(E == 1 || E == 2, "tl_cache_policy: 1 or 2");
  return static_cast<tl_u64>(E);
}

//@ tl_cp_async_hinted
template <int Bytes, int E>
TL_DEV void tl_cp_async_hinted(void* dst, const void* src, int valid, int line = __builtin_LINE()) {
  static_assert(E == 1 || E == 2, "tl_cp_async_hinted: 1 or 2");
  tl_cp_async<Bytes>(dst, src, valid, line);
}

//@ tl_load_hinted
template <int E, int N, class T>
TL_DEV void tl_load_hinted(T (&dst)[N], const T* src, int line = __builtin_LINE()) {
  static_assert(E == 1 || E == 2, "tl_load_hinted: 1 or 2");
  tl_move<N>(dst, src, line);
}

//@ tl_saturate_index
TL_DEV void tl_saturate_index(int (&dst)[1], tl_i64 x) {
  dst[0] = static_cast<int>(x < -2147483647 - 1 ? -2147483647 - 1 : x > 2147483647 ? 2147483647 : x);
}

//@ tl_load_inside
template <int N, class T>
TL_DEV void tl_load_inside(T (&dst)[N], const T* src, bool inside, int line = __builtin_LINE()) {
  if (inside) return tl_move<N>(dst, src, line);
  for (int i = 0; i < N; ++i) dst[i] = T{};
}

//@ tl_store_hinted
template <int E, int N, class T>
TL_DEV void tl_store_hinted(T* dst, const T (&src)[N], int line = __builtin_LINE()) {
  static_assert(E == 1 || E == 2, "tl_store_hinted: 1 or 2");
  tl_move<N>(dst, src, line);
}

//@ tl_cp_async_commit
TL_DEV void tl_cp_async_commit(int line = __builtin_LINE()) { tlemu_cp_async_commit(line); }

//@ tl_cp_async_wait
template <int Pending>
TL_DEV void tl_cp_async_wait(int line = __builtin_LINE()) { tlemu_cp_async_wait(Pending, line); }

//@ tl_shuffle_bits
template <class T>
TL_DEV T tl_shuffle_bits(T x, int mask, int line = __builtin_LINE()) {
  if constexpr (sizeof(T) == 8) {
    const tl_u64 u = tl_bits<tl_u64>(x);
    const tl_u32 lo = tlemu_shuffle_xor(static_cast<tl_u32>(u), mask, line);
    const tl_u32 hi = tlemu_shuffle_xor(static_cast<tl_u32>(u >> 32), mask, line);
    return tl_bits<T>(static_cast<tl_u64>(hi) << 32 | lo);
  } else if constexpr (sizeof(T) == 4) {
    return tl_bits<T>(tlemu_shuffle_xor(tl_bits<tl_u32>(x), mask, line));
  } else if constexpr (sizeof(T) == 2) {
    return tl_bits<T>(static_cast<tl_u16>(tlemu_shuffle_xor(tl_bits<tl_u16>(x), mask, line)));
  } else {
    return static_cast<T>(tlemu_shuffle_xor(static_cast<tl_u32>(static_cast<int>(x)), mask, line));
  }
}

//@ tl_shuffle_xor
template <class T>
TL_DEV void tl_shuffle_xor(T (&dst)[1], T (&src)[1], int mask, int line = __builtin_LINE()) {
  dst[0] = tl_shuffle_bits<T>(src[0], mask, line);
}

//@ tl_redux_add
template <class T>
TL_DEV void tl_redux_add(T (&dst)[1], T (&src)[1], int line = __builtin_LINE()) {
  dst[0] = static_cast<T>(tlemu_redux(static_cast<tl_u32>(src[0]), tlemu_redux_add, static_cast<T>(-1) < static_cast<T>(0), line));
}

//@ tl_redux_min
template <class T>
TL_DEV void tl_redux_min(T (&dst)[1], T (&src)[1], int line = __builtin_LINE()) {
  dst[0] = static_cast<T>(tlemu_redux(static_cast<tl_u32>(src[0]), tlemu_redux_min, static_cast<T>(-1) < static_cast<T>(0), line));
}

//@ tl_redux_max
template <class T>
TL_DEV void tl_redux_max(T (&dst)[1], T (&src)[1], int line = __builtin_LINE()) {
  dst[0] = static_cast<T>(tlemu_redux(static_cast<tl_u32>(src[0]), tlemu_redux_max, static_cast<T>(-1) < static_cast<T>(0), line));
}

//@ tl_redux_and
template <class T>
TL_DEV void tl_redux_and(T (&dst)[1], T (&src)[1], int line = __builtin_LINE()) {
  dst[0] = static_cast<T>(tlemu_redux(static_cast<tl_u32>(src[0]), tlemu_redux_and, static_cast<T>(-1) < static_cast<T>(0), line));
}

//@ tl_redux_or
template <class T>
TL_DEV void tl_redux_or(T (&dst)[1], T (&src)[1], int line = __builtin_LINE()) {
  dst[0] = static_cast<T>(tlemu_redux(static_cast<tl_u32>(src[0]), tlemu_redux_or, static_cast<T>(-1) < static_cast<T>(0), line));
}

//@ tl_redux_xor
template <class T>
TL_DEV void tl_redux_xor(T (&dst)[1], T (&src)[1], int line = __builtin_LINE()) {
  dst[0] = static_cast<T>(tlemu_redux(static_cast<tl_u32>(src[0]), tlemu_redux_xor, static_cast<T>(-1) < static_cast<T>(0), line));
}

//@ tl_mbarrier_init
TL_DEV void tl_mbarrier_init(tl_u64* bar, int arrivals, int line = __builtin_LINE()) { tlemu_mbarrier_init(bar, arrivals, line); }

//@ tl_mbarrier_init_fence
TL_DEV void tl_mbarrier_init_fence(int line = __builtin_LINE()) { tlemu_mbarrier_init_fence(line); }

//@ tl_mbarrier_expect
TL_DEV void tl_mbarrier_expect(tl_u64* bar, int bytes, int line = __builtin_LINE()) { tlemu_mbarrier_expect(bar, bytes, line); }

//@ tl_mbarrier_arrive
TL_DEV void tl_mbarrier_arrive(tl_u64* bar, int line = __builtin_LINE()) { tlemu_mbarrier_arrive(bar, line); }

//@ tl_mbarrier_wait
TL_DEV void tl_mbarrier_wait(tl_u64* bar, int parity, int line = __builtin_LINE()) { tlemu_mbarrier_wait(bar, parity, line); }

//@ tl_tma_load_2d
TL_DEV void tl_tma_load_2d(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int y, int line = __builtin_LINE()) {
  const int at[] = {x, y};
  tlemu_tma_load(dst, &map, bar, 2, at, 0, line);
}

//@ tl_tma_store_2d
TL_DEV void tl_tma_store_2d(const tl_tensor_map& map, const void* src, int x, int y, int line = __builtin_LINE()) {
  const int at[] = {x, y};
  tlemu_tma_store(&map, src, 2, at, -1, line);
}

//@ tl_tma_load_1d
TL_DEV void tl_tma_load_1d(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int line = __builtin_LINE()) {
  const int at[] = {x};
  tlemu_tma_load(dst, &map, bar, 1, at, 0, line);
}

//@ tl_tma_store_1d
TL_DEV void tl_tma_store_1d(const tl_tensor_map& map, const void* src, int x, int line = __builtin_LINE()) {
  const int at[] = {x};
  tlemu_tma_store(&map, src, 1, at, -1, line);
}

//@ tl_tma_load_3d
TL_DEV void tl_tma_load_3d(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int y, int z, int line = __builtin_LINE()) {
  const int at[] = {x, y, z};
  tlemu_tma_load(dst, &map, bar, 3, at, 0, line);
}

//@ tl_tma_store_3d
TL_DEV void tl_tma_store_3d(const tl_tensor_map& map, const void* src, int x, int y, int z, int line = __builtin_LINE()) {
  const int at[] = {x, y, z};
  tlemu_tma_store(&map, src, 3, at, -1, line);
}

//@ tl_tma_load_4d
TL_DEV void tl_tma_load_4d(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int y, int z, int w, int line = __builtin_LINE()) {
  const int at[] = {x, y, z, w};
  tlemu_tma_load(dst, &map, bar, 4, at, 0, line);
}

//@ tl_tma_store_4d
TL_DEV void tl_tma_store_4d(const tl_tensor_map& map, const void* src, int x, int y, int z, int w, int line = __builtin_LINE()) {
  const int at[] = {x, y, z, w};
  tlemu_tma_store(&map, src, 4, at, -1, line);
}

//@ tl_tma_load_5d
TL_DEV void tl_tma_load_5d(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int y, int z, int w, int v, int line = __builtin_LINE()) {
  const int at[] = {x, y, z, w, v};
  tlemu_tma_load(dst, &map, bar, 5, at, 0, line);
}

//@ tl_tma_store_5d
TL_DEV void tl_tma_store_5d(const tl_tensor_map& map, const void* src, int x, int y, int z, int w, int v, int line = __builtin_LINE()) {
  const int at[] = {x, y, z, w, v};
  tlemu_tma_store(&map, src, 5, at, -1, line);
}

//@ tl_tma_load_2d_multicast
TL_DEV void tl_tma_load_2d_multicast(void* dst, const tl_tensor_map& map, tl_u64* bar, int x, int y, int blocks, int line = __builtin_LINE()) {
  const int at[] = {x, y};
  tlemu_tma_load(dst, &map, bar, 2, at, static_cast<tl_u32>(blocks), line);
}

//@ tl_tma_add_2d
TL_DEV void tl_tma_add_2d(const tl_tensor_map& map, const void* src, int x, int y, int line = __builtin_LINE()) {
  const int at[] = {x, y};
  tlemu_tma_store(&map, src, 2, at, 0, line);
}

//@ tl_tma_store_wait
template <int Pending>
TL_DEV void tl_tma_store_wait(int line = __builtin_LINE()) { tlemu_tma_store_wait(Pending, 0, line); }

//@ tl_cluster_rank
TL_DEV int tl_cluster_rank() { return tlemu_cluster_rank(); }

//@ tl_cluster_barrier
TL_DEV void tl_cluster_barrier(int line = __builtin_LINE()) { tlemu_cluster_barrier(line); }

//@ tl_mbarrier_arrive_cluster
TL_DEV void tl_mbarrier_arrive_cluster(tl_u64* bar, int rank, int line = __builtin_LINE()) { tlemu_mbarrier_arrive_cluster(bar, rank, line); }

//@ tl_mbarrier_free_cluster
TL_DEV void tl_mbarrier_free_cluster(tl_u64* bar, int rank, int line = __builtin_LINE()) { tlemu_mbarrier_arrive_cluster(bar, rank, line); }

//@ tl_tma_store_commit
TL_DEV void tl_tma_store_commit(int line = __builtin_LINE()) { tlemu_tma_store_commit(line); }

//@ tl_tma_store_wait_read
template <int Pending>
TL_DEV void tl_tma_store_wait_read(int line = __builtin_LINE()) { tlemu_tma_store_wait(Pending, 1, line); }

//@ tl_proxy_fence
TL_DEV void tl_proxy_fence(int line = __builtin_LINE()) { tlemu_proxy_fence(line); }

//@ tl_setmaxnreg_inc
template <int Registers>
TL_DEV void tl_setmaxnreg_inc(int line = __builtin_LINE()) { tlemu_setmaxnreg(Registers, 1, line); }

//@ tl_setmaxnreg_dec
template <int Registers>
TL_DEV void tl_setmaxnreg_dec(int line = __builtin_LINE()) { tlemu_setmaxnreg(Registers, 0, line); }

//@ tl_wgmma_fence
TL_DEV void tl_wgmma_fence(int line = __builtin_LINE()) { tlemu_wgmma_fence(line); }

//@ tl_wgmma_commit
TL_DEV void tl_wgmma_commit(int line = __builtin_LINE()) { tlemu_wgmma_commit(line); }

//@ tl_wgmma_wait
template <int Pending>
TL_DEV void tl_wgmma_wait(int line = __builtin_LINE()) { tlemu_wgmma_wait(Pending, line); }

//@ tl_wgmma_hold
// A rule for the device's compiler alone: here a product's registers are written in memory.
template <int N>
TL_DEV void tl_wgmma_hold(float (&)[N]) {}

//@ tl_wgmma_ss
template <int N, class T>
TL_DEV void tl_wgmma_ss(float (&d)[N / 2], tl_u64 a, tl_u64 b, int accumulate, int line = __builtin_LINE()) {
  tlemu_wgmma(d, N, tlemu_sums<float>::value, tlemu_number<T>::value, tlemu_number<T>::value, a, 0, b, accumulate, 0, 0, line);
}

//@ tl_cast_pack
template <class T, int N>
TL_DEV void tl_cast_pack(tl_u32 (&r)[N], const float (&x)[2 * N]) {
  for (int i = 0; i < N; ++i) r[i] = tl_pack(tl_from_float<T>(x[2 * i]), tl_from_float<T>(x[2 * i + 1]));
}

//@ TL_ATOM
#define TL_ATOM(op, c, y, p, x) tlemu_atomic(op, (p), &(y), &(x), nullptr, static_cast<int>(sizeof(y)), W)

//@ TL_RED
#define TL_RED(op, c, p, x) tlemu_atomic(op, (p), nullptr, &(x), nullptr, static_cast<int>(sizeof(x)), W)

//@ TL_COMPARE_AND_SWAP
#define TL_COMPARE_AND_SWAP(op, c, y, p, e, x) tlemu_atomic("cas", (p), &(y), &(x), &(e), static_cast<int>(sizeof(y)), W)

//@ TL_LOAD
#define TL_LOAD(order, type, c, y, p) tlemu_atomic("ld." order, (p), &(y), nullptr, nullptr, static_cast<int>(sizeof(y)), W)

//@ TL_STORE
#define TL_STORE(order, type, c, p, x) tlemu_atomic("st", (p), nullptr, &(x), nullptr, static_cast<int>(sizeof(x)), W)

//@ tl_fence
// Threads run one at a time and see all that was done: only what may race with other blocks changes.
template <int S>
TL_DEV void tl_fence() { tlemu_fence(); }

//@ tl_red_add_vector
template <int N, class T>
TL_DEV void tl_red_add_vector(T* p, T (&x)[N], int line = __builtin_LINE()) {
  tlemu_vector(p, N * static_cast<int>(sizeof(T)), line);
  for (int i = 0; i < N; ++i)
    tlemu_atomic(sizeof(T) == 4 ? "add.f32" : tl_same<T, tl_f16>::value ? "add.noftz.f16" : "add.noftz.bf16", p + i, nullptr, x + i,
                 nullptr, static_cast<int>(sizeof(T)), 1);
}
