// Threads, shared memory, vector access, asynchronous copies and barriers.

//@ tl_thread
TL_DEV int tl_thread() { return static_cast<int>(threadIdx.x); }

//@ tl_block_x
TL_DEV int tl_block_x() { return static_cast<int>(blockIdx.x); }

//@ tl_block_y
TL_DEV int tl_block_y() { return static_cast<int>(blockIdx.y); }

//@ tl_block_z
TL_DEV int tl_block_z() { return static_cast<int>(blockIdx.z); }

//@ tl_grid_x
TL_DEV int tl_grid_x() { return static_cast<int>(gridDim.x); }

//@ tl_arena
// The block's dynamic shared memory, aligned as the 128-byte swizzle needs.
extern __shared__ __align__(1024) unsigned char tl_arena[];

//@ tl_address
TL_DEV tl_u32 tl_address(const void* p) { return static_cast<tl_u32>(__cvta_generic_to_shared(p)); }

//@ tl_entry
// The tensor of a table whose address that is. A generic pointer: NVRTC 13.0 does not end where one by __cvta_global_to_generic
// stands in a function with tl_max_nan<tl_f16>.
template <class T>
TL_DEV T* tl_entry(tl_i64 address) { return reinterpret_cast<T*>(address); }

//@ tl_slice
// N registers of an array from p on.
template <int N, class T>
TL_DEV T (&tl_slice(T* p))[N] { return *reinterpret_cast<T(*)[N]>(p); }

//@ tl_bytes
template <int N>
struct tl_bytes;
template <>
struct tl_bytes<1> { typedef unsigned char type; };
template <>
struct tl_bytes<2> { typedef unsigned short type; };
template <>
struct tl_bytes<4> { typedef unsigned int type; };
template <>
struct tl_bytes<8> { typedef uint2 type; };
template <>
struct tl_bytes<16> { typedef uint4 type; };

//@ tl_move
// N consecutive elements between registers and memory as one access; the memory side is aligned to their size.
template <int N, class T>
TL_DEV void tl_move(T* dst, const T* src) {
  typedef typename tl_bytes<N * sizeof(T)>::type V;
  *reinterpret_cast<V*>(dst) = *reinterpret_cast<const V*>(src);
}

//@ tl_barrier
TL_DEV void tl_barrier() { __syncthreads(); }

//@ tl_warp_sync
TL_DEV void tl_warp_sync() { __syncwarp(); }

//@ tl_named_barrier
TL_DEV void tl_named_barrier(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

//@ tl_cp_async
// Bytes (4, 8 or 16) from global to shared memory, of which the first `valid` are read and the rest is zero.
template <int Bytes>
TL_DEV void tl_cp_async(void* dst, const void* src, int valid) {
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(tl_address(dst)), "l"(src), "r"(valid) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(tl_address(dst)), "l"(src), "n"(Bytes), "r"(valid) : "memory");
}

//@ tl_cache_policy
// E 1: what is accessed leaves the L2 cache before other lines; 2: after them.
template <int E>
TL_DEV tl_u64 tl_cache_policy() {
  tl_u64 policy;
  if constexpr (E == 1) asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  else asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

//@ tl_cp_async_hinted
// As tl_cp_async, with such a priority.
template <int Bytes, int E>
TL_DEV void tl_cp_async_hinted(void* dst, const void* src, int valid) {
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;"
                 ::"r"(tl_address(dst)), "l"(src), "r"(valid), "l"(tl_cache_policy<E>()) : "memory");
  else
    asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], %2, %3, %4;"
                 ::"r"(tl_address(dst)), "l"(src), "n"(Bytes), "r"(valid), "l"(tl_cache_policy<E>()) : "memory");
}

//@ tl_load_hinted
// N elements of 1 to 16 bytes together from global memory, aligned to their size, with such a priority.
template <int E, int N, class T>
TL_DEV void tl_load_hinted(T (&dst)[N], const T* src) {
  constexpr int bytes = N * static_cast<int>(sizeof(T));
  const tl_u64 policy = tl_cache_policy<E>();
  typedef typename tl_bytes<bytes>::type V;
  V v;
  if constexpr (bytes == 16)
    asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(src), "l"(policy) : "memory");
  else if constexpr (bytes == 8)
    asm volatile("ld.global.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;" : "=r"(v.x), "=r"(v.y) : "l"(src), "l"(policy) : "memory");
  else if constexpr (bytes == 4)
    asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(v) : "l"(src), "l"(policy) : "memory");
  else if constexpr (bytes == 2)
    asm volatile("ld.global.L2::cache_hint.u16 %0, [%1], %2;" : "=h"(v) : "l"(src), "l"(policy) : "memory");
  else
    v = *reinterpret_cast<const V*>(src);
  *reinterpret_cast<V*>(dst) = v;
}

//@ tl_saturate_index
// The nearest value of 32 bits. The compiler sees no 64-bit comparison behind it that it could compare with instead.
TL_DEV void tl_saturate_index(int (&dst)[1], tl_i64 x) { asm("cvt.sat.s32.s64 %0, %1;" : "=r"(dst[0]) : "l"(x)); }

//@ tl_load_inside
// N elements of 1 to 16 bytes together from global memory, aligned to their size, or zeros. One predicated load: of branches the
// compiler keeps more values at a time than registers are left beside a product's.
template <int N, class T>
TL_DEV void tl_load_inside(T (&dst)[N], const T* src, bool inside) {
  constexpr int bytes = N * static_cast<int>(sizeof(T));
  typedef typename tl_bytes<bytes>::type V;
  V v;
  if constexpr (bytes == 16)
    asm volatile("{\n.reg .pred tl_in;\nsetp.ne.b32 tl_in, %5, 0;\nmov.b32 %0, 0;\nmov.b32 %1, 0;\nmov.b32 %2, 0;\nmov.b32 %3, 0;\n"
                 "@tl_in ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
                 : "=&r"(v.x), "=&r"(v.y), "=&r"(v.z), "=&r"(v.w) : "l"(src), "r"(static_cast<int>(inside)) : "memory");
  else if constexpr (bytes == 8)
    asm volatile("{\n.reg .pred tl_in;\nsetp.ne.b32 tl_in, %3, 0;\nmov.b32 %0, 0;\nmov.b32 %1, 0;\n@tl_in ld.global.v2.u32 {%0, %1}, [%2];\n}"
                 : "=&r"(v.x), "=&r"(v.y) : "l"(src), "r"(static_cast<int>(inside)) : "memory");
  else if constexpr (bytes == 4)
    asm volatile("{\n.reg .pred tl_in;\nsetp.ne.b32 tl_in, %2, 0;\nmov.b32 %0, 0;\n@tl_in ld.global.u32 %0, [%1];\n}"
                 : "=&r"(v) : "l"(src), "r"(static_cast<int>(inside)) : "memory");
  else if constexpr (bytes == 2)
    asm volatile("{\n.reg .pred tl_in;\nsetp.ne.b32 tl_in, %2, 0;\nmov.b16 %0, 0;\n@tl_in ld.global.u16 %0, [%1];\n}"
                 : "=&h"(v) : "l"(src), "r"(static_cast<int>(inside)) : "memory");
  else
    v = inside ? *reinterpret_cast<const V*>(src) : V{};
  *reinterpret_cast<V*>(dst) = v;
}

//@ tl_store_hinted
template <int E, int N, class T>
TL_DEV void tl_store_hinted(T* dst, const T (&src)[N]) {
  constexpr int bytes = N * static_cast<int>(sizeof(T));
  const tl_u64 policy = tl_cache_policy<E>();
  typedef typename tl_bytes<bytes>::type V;
  const V v = *reinterpret_cast<const V*>(src);
  if constexpr (bytes == 16)
    asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;"
                 ::"l"(dst), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "l"(policy) : "memory");
  else if constexpr (bytes == 8)
    asm volatile("st.global.L2::cache_hint.v2.u32 [%0], {%1, %2}, %3;" ::"l"(dst), "r"(v.x), "r"(v.y), "l"(policy) : "memory");
  else if constexpr (bytes == 4)
    asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(dst), "r"(v), "l"(policy) : "memory");
  else if constexpr (bytes == 2)
    asm volatile("st.global.L2::cache_hint.u16 [%0], %1, %2;" ::"l"(dst), "h"(v), "l"(policy) : "memory");
  else
    *reinterpret_cast<V*>(dst) = v;
}

//@ tl_cp_async_commit
TL_DEV void tl_cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

//@ tl_cp_async_wait
// Until at most `Pending` of this thread's newest groups are under way.
template <int Pending>
TL_DEV void tl_cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory"); }

//@ tl_shuffle_bits
// One value of up to 8 bytes from lane ^ mask.
template <class T>
TL_DEV T tl_shuffle_bits(T x, int mask) {
  if constexpr (sizeof(T) == 8) {
    const tl_u64 u = tl_bits<tl_u64>(x);
    const tl_u32 lo = __shfl_xor_sync(0xffffffffu, static_cast<tl_u32>(u), mask);
    const tl_u32 hi = __shfl_xor_sync(0xffffffffu, static_cast<tl_u32>(u >> 32), mask);
    return tl_bits<T>(static_cast<tl_u64>(hi) << 32 | lo);
  } else if constexpr (sizeof(T) == 4) {
    return tl_bits<T>(__shfl_xor_sync(0xffffffffu, tl_bits<tl_u32>(x), mask));
  } else if constexpr (sizeof(T) == 2) {
    return tl_bits<T>(static_cast<tl_u16>(__shfl_xor_sync(0xffffffffu, static_cast<tl_u32>(tl_bits<tl_u16>(x)), mask)));
  } else {
    return static_cast<T>(__shfl_xor_sync(0xffffffffu, static_cast<tl_u32>(static_cast<int>(x)), mask));
  }
}

//@ tl_shuffle_xor
template <class T>
TL_DEV void tl_shuffle_xor(T (&dst)[1], T (&src)[1], int mask) { dst[0] = tl_shuffle_bits<T>(src[0], mask); }

//@ tl_redux_add
// A 32-bit integer combined over the lanes of a warp; one instruction from sm_80 on.
template <class T>
TL_DEV void tl_redux_add(T (&dst)[1], T (&src)[1]) { dst[0] = static_cast<T>(__reduce_add_sync(0xffffffffu, static_cast<tl_u32>(src[0]))); }

//@ tl_redux_min
template <class T>
TL_DEV void tl_redux_min(T (&dst)[1], T (&src)[1]) { dst[0] = __reduce_min_sync(0xffffffffu, src[0]); }

//@ tl_redux_max
template <class T>
TL_DEV void tl_redux_max(T (&dst)[1], T (&src)[1]) { dst[0] = __reduce_max_sync(0xffffffffu, src[0]); }

//@ tl_redux_and
template <class T>
TL_DEV void tl_redux_and(T (&dst)[1], T (&src)[1]) { dst[0] = static_cast<T>(__reduce_and_sync(0xffffffffu, static_cast<tl_u32>(src[0]))); }

//@ tl_redux_or
template <class T>
TL_DEV void tl_redux_or(T (&dst)[1], T (&src)[1]) { dst[0] = static_cast<T>(__reduce_or_sync(0xffffffffu, static_cast<tl_u32>(src[0]))); }

//@ tl_redux_xor
template <class T>
TL_DEV void tl_redux_xor(T (&dst)[1], T (&src)[1]) { dst[0] = static_cast<T>(__reduce_xor_sync(0xffffffffu, static_cast<tl_u32>(src[0]))); }
