// Atomic operations. W says where: 0 shared memory, 1 global memory for the device, 2 global memory for the system. All are
// relaxed; orders are fences before and after. tl_atomic_* give the old value, tl_red_* none. Types: integers and floats of
// 32 and 64 bits, and the floats of 16.

//@ TL_ATOM
// The instruction `op` on p with operand x; y: the old value. c: the operands' constraint.
#define TL_ATOM(op, c, y, p, x)                                                                                        \
  if constexpr (W == 0)                                                                                                \
    asm volatile("atom.relaxed.cta.shared." op " %0, [%1], %2;" : "=" c(y) : "r"(tl_address(p)), c(x) : "memory");     \
  else if constexpr (W == 1)                                                                                           \
    asm volatile("atom.relaxed.gpu.global." op " %0, [%1], %2;" : "=" c(y) : "l"(p), c(x) : "memory");                 \
  else                                                                                                                 \
    asm volatile("atom.relaxed.sys.global." op " %0, [%1], %2;" : "=" c(y) : "l"(p), c(x) : "memory")

//@ TL_RED
#define TL_RED(op, c, p, x)                                                                                            \
  if constexpr (W == 0) asm volatile("red.relaxed.cta.shared." op " [%0], %1;" ::"r"(tl_address(p)), c(x) : "memory"); \
  else if constexpr (W == 1) asm volatile("red.relaxed.gpu.global." op " [%0], %1;" ::"l"(p), c(x) : "memory");        \
  else asm volatile("red.relaxed.sys.global." op " [%0], %1;" ::"l"(p), c(x) : "memory")

//@ TL_COMPARE_AND_SWAP
#define TL_COMPARE_AND_SWAP(op, c, y, p, e, x)                                                                \
  if constexpr (W == 0)                                                                                       \
    asm volatile("atom.relaxed.cta.shared.cas." op " %0, [%1], %2, %3;"                                       \
                 : "=" c(y) : "r"(tl_address(p)), c(e), c(x) : "memory");                                     \
  else if constexpr (W == 1)                                                                                  \
    asm volatile("atom.relaxed.gpu.global.cas." op " %0, [%1], %2, %3;" : "=" c(y) : "l"(p), c(e), c(x) : "memory"); \
  else                                                                                                        \
    asm volatile("atom.relaxed.sys.global.cas." op " %0, [%1], %2, %3;" : "=" c(y) : "l"(p), c(e), c(x) : "memory")

//@ TL_LOAD
#define TL_LOAD(order, type, c, y, p)                                                                            \
  if constexpr (W == 0)                                                                                          \
    asm volatile("ld." order ".cta.shared." type " %0, [%1];" : "=" c(y) : "r"(tl_address(p)) : "memory");       \
  else if constexpr (W == 1)                                                                                     \
    asm volatile("ld." order ".gpu.global." type " %0, [%1];" : "=" c(y) : "l"(p) : "memory");                   \
  else                                                                                                           \
    asm volatile("ld." order ".sys.global." type " %0, [%1];" : "=" c(y) : "l"(p) : "memory")

//@ TL_STORE
#define TL_STORE(order, type, c, p, x)                                                                              \
  if constexpr (W == 0) asm volatile("st." order ".cta.shared." type " [%0], %1;" ::"r"(tl_address(p)), c(x) : "memory"); \
  else if constexpr (W == 1) asm volatile("st." order ".gpu.global." type " [%0], %1;" ::"l"(p), c(x) : "memory");  \
  else asm volatile("st." order ".sys.global." type " [%0], %1;" ::"l"(p), c(x) : "memory")

//@ tl_fence
// Of both orders, for the block (0), the device (1) or the system (2).
template <int S>
TL_DEV void tl_fence() {
  if constexpr (S == 0) asm volatile("fence.acq_rel.cta;" ::: "memory");
  else if constexpr (S == 1) asm volatile("fence.acq_rel.gpu;" ::: "memory");
  else asm volatile("fence.acq_rel.sys;" ::: "memory");
}

//@ tl_word
// The integer that holds a value's bits.
template <int Bytes>
struct tl_word;
template <>
struct tl_word<2> { typedef tl_u16 type; };
template <>
struct tl_word<4> { typedef tl_u32 type; };
template <>
struct tl_word<8> { typedef tl_u64 type; };

//@ tl_atomic_load
template <int W, class T>
TL_DEV T tl_atomic_load(const T* p) {
  typename tl_word<sizeof(T)>::type y;
  if constexpr (sizeof(T) == 2) { TL_LOAD("relaxed", "b16", "h", y, p); }
  else if constexpr (sizeof(T) == 4) { TL_LOAD("relaxed", "b32", "r", y, p); }
  else { TL_LOAD("relaxed", "b64", "l", y, p); }
  return tl_bits<T>(y);
}

//@ tl_load_acquire
template <int W, class T>
TL_DEV T tl_load_acquire(const T* p) {
  typename tl_word<sizeof(T)>::type y;
  if constexpr (sizeof(T) == 2) { TL_LOAD("acquire", "b16", "h", y, p); }
  else if constexpr (sizeof(T) == 4) { TL_LOAD("acquire", "b32", "r", y, p); }
  else { TL_LOAD("acquire", "b64", "l", y, p); }
  return tl_bits<T>(y);
}

//@ tl_atomic_store
template <int W, class T>
TL_DEV void tl_atomic_store(T* p, T v) {
  const auto x = tl_bits<typename tl_word<sizeof(T)>::type>(v);
  if constexpr (sizeof(T) == 2) { TL_STORE("relaxed", "b16", "h", p, x); }
  else if constexpr (sizeof(T) == 4) { TL_STORE("relaxed", "b32", "r", p, x); }
  else { TL_STORE("relaxed", "b64", "l", p, x); }
}

//@ tl_store_release
template <int W, class T>
TL_DEV void tl_store_release(T* p, T v) {
  const auto x = tl_bits<typename tl_word<sizeof(T)>::type>(v);
  if constexpr (sizeof(T) == 2) { TL_STORE("release", "b16", "h", p, x); }
  else if constexpr (sizeof(T) == 4) { TL_STORE("release", "b32", "r", p, x); }
  else { TL_STORE("release", "b64", "l", p, x); }
}

//@ tl_atomic_cas
// Bits are compared: a NaN meets its like, +0 does not meet -0.
template <int W, class T>
TL_DEV T tl_atomic_cas(T* p, T expected, T v) {
  typedef typename tl_word<sizeof(T)>::type U;
  const U e = tl_bits<U>(expected), x = tl_bits<U>(v);
  U y;
  if constexpr (sizeof(T) == 2) { TL_COMPARE_AND_SWAP("b16", "h", y, p, e, x); }
  else if constexpr (sizeof(T) == 4) { TL_COMPARE_AND_SWAP("b32", "r", y, p, e, x); }
  else { TL_COMPARE_AND_SWAP("b64", "l", y, p, e, x); }
  return tl_bits<T>(y);
}

//@ tl_atomic_loop
// For what has no instruction: next(old) is stored where it changes anything, once nobody came between.
template <int W, class T, class F>
TL_DEV T tl_atomic_loop(T* p, F next) {
  typedef typename tl_word<sizeof(T)>::type U;
  T old = tl_atomic_load<W, T>(p);
  for (;;) {
    const T wanted = next(old);
    if (tl_bits<U>(wanted) == tl_bits<U>(old)) return old;
    const T seen = tl_atomic_cas<W, T>(p, old, wanted);
    if (tl_bits<U>(seen) == tl_bits<U>(old)) return old;
    old = seen;
  }
}

//@ tl_atomic_add
template <int W, class T>
TL_DEV T tl_atomic_add(T* p, T x) {
  T y;
  if constexpr (tl_same<T, float>::value) { TL_ATOM("add.f32", "f", y, p, x); }
  else if constexpr (tl_same<T, double>::value) { TL_ATOM("add.f64", "d", y, p, x); }
  else if constexpr (tl_same<T, tl_f16>::value) { TL_ATOM("add.noftz.f16", "h", y.bits, p, x.bits); }
#if __CUDA_ARCH__ >= 900
  else if constexpr (tl_same<T, tl_bf16>::value) { TL_ATOM("add.noftz.bf16", "h", y.bits, p, x.bits); }
#else
  else if constexpr (tl_same<T, tl_bf16>::value) { return tl_atomic_loop<W, T>(p, [&](T old) { return tl_add<T>(old, x); }); }
#endif
  else if constexpr (sizeof(T) == 8) { TL_ATOM("add.u64", "l", y, p, x); }
  else { TL_ATOM("add.u32", "r", y, p, x); }
  return y;
}

//@ tl_red_add
template <int W, class T>
TL_DEV void tl_red_add(T* p, T x) {
  if constexpr (tl_same<T, float>::value) { TL_RED("add.f32", "f", p, x); }
  else if constexpr (tl_same<T, double>::value) { TL_RED("add.f64", "d", p, x); }
  else if constexpr (tl_same<T, tl_f16>::value) { TL_RED("add.noftz.f16", "h", p, x.bits); }
#if __CUDA_ARCH__ >= 900
  else if constexpr (tl_same<T, tl_bf16>::value) { TL_RED("add.noftz.bf16", "h", p, x.bits); }
#else
  else if constexpr (tl_same<T, tl_bf16>::value) { tl_atomic_add<W, T>(p, x); }
#endif
  else if constexpr (sizeof(T) == 8) { TL_RED("add.u64", "l", p, x); }
  else { TL_RED("add.u32", "r", p, x); }
}

//@ tl_atomic_max
// The number wins over NaN, and +0 over -0: floats in a loop, which ends at once where nothing changes.
template <int W, class T>
TL_DEV T tl_atomic_max(T* p, T x) {
  if constexpr (tl_is_float<T>::value) {
    return tl_atomic_loop<W, T>(p, [&](T old) { return tl_max<T>(old, x); });
  } else if constexpr (tl_same<T, double>::value) {
    return tl_atomic_loop<W, T>(p, [&](T old) { return old != old || (x == x && (old < x || (old == x && tl_bits<tl_u64>(old) >> 63))) ? x : old; });
  } else {
    T y;
    if constexpr (sizeof(T) == 8 && T(-1) < T(0)) { TL_ATOM("max.s64", "l", y, p, x); }
    else if constexpr (sizeof(T) == 8) { TL_ATOM("max.u64", "l", y, p, x); }
    else if constexpr (T(-1) < T(0)) { TL_ATOM("max.s32", "r", y, p, x); }
    else { TL_ATOM("max.u32", "r", y, p, x); }
    return y;
  }
}

//@ tl_red_max
template <int W, class T>
TL_DEV void tl_red_max(T* p, T x) {
  if constexpr (tl_is_float<T>::value || tl_same<T, double>::value) tl_atomic_max<W, T>(p, x);
  else if constexpr (sizeof(T) == 8 && T(-1) < T(0)) { TL_RED("max.s64", "l", p, x); }
  else if constexpr (sizeof(T) == 8) { TL_RED("max.u64", "l", p, x); }
  else if constexpr (T(-1) < T(0)) { TL_RED("max.s32", "r", p, x); }
  else { TL_RED("max.u32", "r", p, x); }
}

//@ tl_atomic_min
template <int W, class T>
TL_DEV T tl_atomic_min(T* p, T x) {
  if constexpr (tl_is_float<T>::value) {
    return tl_atomic_loop<W, T>(p, [&](T old) { return tl_min<T>(old, x); });
  } else if constexpr (tl_same<T, double>::value) {
    return tl_atomic_loop<W, T>(p, [&](T old) { return old != old || (x == x && (x < old || (old == x && tl_bits<tl_u64>(x) >> 63))) ? x : old; });
  } else {
    T y;
    if constexpr (sizeof(T) == 8 && T(-1) < T(0)) { TL_ATOM("min.s64", "l", y, p, x); }
    else if constexpr (sizeof(T) == 8) { TL_ATOM("min.u64", "l", y, p, x); }
    else if constexpr (T(-1) < T(0)) { TL_ATOM("min.s32", "r", y, p, x); }
    else { TL_ATOM("min.u32", "r", y, p, x); }
    return y;
  }
}

//@ tl_red_min
template <int W, class T>
TL_DEV void tl_red_min(T* p, T x) {
  if constexpr (tl_is_float<T>::value || tl_same<T, double>::value) tl_atomic_min<W, T>(p, x);
  else if constexpr (sizeof(T) == 8 && T(-1) < T(0)) { TL_RED("min.s64", "l", p, x); }
  else if constexpr (sizeof(T) == 8) { TL_RED("min.u64", "l", p, x); }
  else if constexpr (T(-1) < T(0)) { TL_RED("min.s32", "r", p, x); }
  else { TL_RED("min.u32", "r", p, x); }
}

//@ tl_atomic_bit_and
template <int W, class T>
TL_DEV T tl_atomic_bit_and(T* p, T x) {
  T y;
  if constexpr (sizeof(T) == 8) { TL_ATOM("and.b64", "l", y, p, x); }
  else { TL_ATOM("and.b32", "r", y, p, x); }
  return y;
}

//@ tl_red_bit_and
template <int W, class T>
TL_DEV void tl_red_bit_and(T* p, T x) {
  if constexpr (sizeof(T) == 8) { TL_RED("and.b64", "l", p, x); }
  else { TL_RED("and.b32", "r", p, x); }
}

//@ tl_atomic_bit_or
template <int W, class T>
TL_DEV T tl_atomic_bit_or(T* p, T x) {
  T y;
  if constexpr (sizeof(T) == 8) { TL_ATOM("or.b64", "l", y, p, x); }
  else { TL_ATOM("or.b32", "r", y, p, x); }
  return y;
}

//@ tl_red_bit_or
template <int W, class T>
TL_DEV void tl_red_bit_or(T* p, T x) {
  if constexpr (sizeof(T) == 8) { TL_RED("or.b64", "l", p, x); }
  else { TL_RED("or.b32", "r", p, x); }
}

//@ tl_atomic_bit_xor
template <int W, class T>
TL_DEV T tl_atomic_bit_xor(T* p, T x) {
  T y;
  if constexpr (sizeof(T) == 8) { TL_ATOM("xor.b64", "l", y, p, x); }
  else { TL_ATOM("xor.b32", "r", y, p, x); }
  return y;
}

//@ tl_red_bit_xor
template <int W, class T>
TL_DEV void tl_red_bit_xor(T* p, T x) {
  if constexpr (sizeof(T) == 8) { TL_RED("xor.b64", "l", p, x); }
  else { TL_RED("xor.b32", "r", p, x); }
}

//@ tl_atomic_exchange
template <int W, class T>
TL_DEV T tl_atomic_exchange(T* p, T v) {
  if constexpr (sizeof(T) == 2) {
    return tl_atomic_loop<W, T>(p, [&](T) { return v; });
  } else {
    const auto x = tl_bits<typename tl_word<sizeof(T)>::type>(v);
    typename tl_word<sizeof(T)>::type y;
    if constexpr (sizeof(T) == 8) { TL_ATOM("exch.b64", "l", y, p, x); }
    else { TL_ATOM("exch.b32", "r", y, p, x); }
    return tl_bits<T>(y);
  }
}

//@ tl_red_add_vector
// N elements side by side in global memory, aligned to their size; each is added by itself. f32: N is 2 or 4, from sm_90 on;
// f16: 2, or 4 and 8 from sm_90 on; bf16 as f16, from sm_90 on.
template <int N>
TL_DEV void tl_red_add_vector(float* p, float (&x)[N]) {
  if constexpr (N == 4)
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]) : "memory");
  else
    asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" ::"l"(p), "f"(x[0]), "f"(x[1]) : "memory");
}
TL_DEV tl_u32 tl_pair(tl_u16 low, tl_u16 high) { return static_cast<tl_u32>(high) << 16 | low; }
#define TL_RED_PAIRS(type)                                                                                                  \
  const tl_u32 a = tl_pair(x[0].bits, x[1].bits);                                                                           \
  if constexpr (N == 2) {                                                                                                   \
    asm volatile("red.relaxed.gpu.global.add.noftz." type " [%0], %1;" ::"l"(p), "r"(a) : "memory");                        \
  } else if constexpr (N == 4) {                                                                                            \
    const tl_u32 b = tl_pair(x[2].bits, x[3].bits);                                                                         \
    asm volatile("red.relaxed.gpu.global.add.noftz.v2." type " [%0], {%1, %2};" ::"l"(p), "r"(a), "r"(b) : "memory");       \
  } else {                                                                                                                  \
    const tl_u32 b = tl_pair(x[2].bits, x[3].bits), c = tl_pair(x[4].bits, x[5].bits), d = tl_pair(x[6].bits, x[7].bits);   \
    asm volatile("red.relaxed.gpu.global.add.noftz.v4." type " [%0], {%1, %2, %3, %4};"                                     \
                 ::"l"(p), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");                                                      \
  }
template <int N>
TL_DEV void tl_red_add_vector(tl_f16* p, tl_f16 (&x)[N]) { TL_RED_PAIRS("f16x2") }
template <int N>
TL_DEV void tl_red_add_vector(tl_bf16* p, tl_bf16 (&x)[N]) { TL_RED_PAIRS("bf16x2") }
