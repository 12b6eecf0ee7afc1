// Atomic operations, as those of device/cuda/atomic.cuh. Sums of floats and what has no instruction go by compare and swap.

//@ tl_fence
// Of both orders, for the block (0), the device (1) or the system (2).
template <int S>
TL_DEV void tl_fence() {
  if constexpr (S == 0) __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
  else if constexpr (S == 1) __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent");
  else __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "");
}

//@ tl_place
// Where an atomic operation finds its value, in the address space of its memory, and for whom it is one.
template <int W, class T>
struct tl_place {
  typedef __attribute__((address_space(1))) T type;
  static constexpr int scope = W == 1 ? __HIP_MEMORY_SCOPE_AGENT : __HIP_MEMORY_SCOPE_SYSTEM;
};
template <class T>
struct tl_place<0, T> {
  typedef __attribute__((address_space(3))) T type;
  static constexpr int scope = __HIP_MEMORY_SCOPE_WORKGROUP;
};

//@ tl_at
template <int W, class U, class T>
TL_DEV typename tl_place<W, U>::type* tl_at(T* p) { return (typename tl_place<W, U>::type*)p; }
template <int W, class U, class T>
TL_DEV const typename tl_place<W, U>::type* tl_at(const T* p) { return (const typename tl_place<W, U>::type*)p; }

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
  typedef typename tl_word<sizeof(T)>::type U;
  return tl_bits<T>(static_cast<U>(__hip_atomic_load((tl_at<W, U>(p)), __ATOMIC_RELAXED, tl_place<W, U>::scope)));
}

//@ tl_load_acquire
template <int W, class T>
TL_DEV T tl_load_acquire(const T* p) {
  typedef typename tl_word<sizeof(T)>::type U;
  return tl_bits<T>(static_cast<U>(__hip_atomic_load((tl_at<W, U>(p)), __ATOMIC_ACQUIRE, tl_place<W, U>::scope)));
}

//@ tl_atomic_store
template <int W, class T>
TL_DEV void tl_atomic_store(T* p, T v) {
  typedef typename tl_word<sizeof(T)>::type U;
  __hip_atomic_store((tl_at<W, U>(p)), tl_bits<U>(v), __ATOMIC_RELAXED, tl_place<W, U>::scope);
}

//@ tl_store_release
template <int W, class T>
TL_DEV void tl_store_release(T* p, T v) {
  typedef typename tl_word<sizeof(T)>::type U;
  __hip_atomic_store((tl_at<W, U>(p)), tl_bits<U>(v), __ATOMIC_RELEASE, tl_place<W, U>::scope);
}

//@ tl_atomic_cas
// Bits are compared: a NaN meets its like, +0 does not meet -0.
template <int W, class T>
TL_DEV T tl_atomic_cas(T* p, T expected, T v) {
  typedef typename tl_word<sizeof(T)>::type U;
  U seen = tl_bits<U>(expected);
  __hip_atomic_compare_exchange_strong((tl_at<W, U>(p)), &seen, tl_bits<U>(v), __ATOMIC_RELAXED, __ATOMIC_RELAXED, tl_place<W, U>::scope);
  return tl_bits<T>(seen);
}

//@ tl_atomic_add
template <int W, class T>
TL_DEV T tl_atomic_add(T* p, T x) {
  if constexpr (tl_same<T, double>::value) {
    return tl_atomic_loop<W, T>(p, [&](T old) { return old + x; });
  } else if constexpr (tl_is_float<T>::value) {
    return tl_atomic_loop<W, T>(p, [&](T old) { return tl_add<T>(old, x); });
  } else {
    return __hip_atomic_fetch_add((tl_at<W, T>(p)), x, __ATOMIC_RELAXED, tl_place<W, T>::scope);
  }
}

//@ tl_red_add
template <int W, class T>
TL_DEV void tl_red_add(T* p, T x) { tl_atomic_add<W, T>(p, x); }

//@ tl_atomic_max
// The number wins over NaN, and +0 over -0: floats in a loop, which ends at once where nothing changes.
template <int W, class T>
TL_DEV T tl_atomic_max(T* p, T x) {
  if constexpr (tl_is_float<T>::value) {
    return tl_atomic_loop<W, T>(p, [&](T old) { return tl_max<T>(old, x); });
  } else if constexpr (tl_same<T, double>::value) {
    return tl_atomic_loop<W, T>(p, [&](T old) { return old != old || (x == x && (old < x || (old == x && tl_bits<tl_u64>(old) >> 63))) ? x : old; });
  } else {
    return __hip_atomic_fetch_max((tl_at<W, T>(p)), x, __ATOMIC_RELAXED, tl_place<W, T>::scope);
  }
}

//@ tl_red_max
template <int W, class T>
TL_DEV void tl_red_max(T* p, T x) { tl_atomic_max<W, T>(p, x); }

//@ tl_atomic_min
template <int W, class T>
TL_DEV T tl_atomic_min(T* p, T x) {
  if constexpr (tl_is_float<T>::value) {
    return tl_atomic_loop<W, T>(p, [&](T old) { return tl_min<T>(old, x); });
  } else if constexpr (tl_same<T, double>::value) {
    return tl_atomic_loop<W, T>(p, [&](T old) { return old != old || (x == x && (x < old || (old == x && tl_bits<tl_u64>(x) >> 63))) ? x : old; });
  } else {
    return __hip_atomic_fetch_min((tl_at<W, T>(p)), x, __ATOMIC_RELAXED, tl_place<W, T>::scope);
  }
}

//@ tl_red_min
template <int W, class T>
TL_DEV void tl_red_min(T* p, T x) { tl_atomic_min<W, T>(p, x); }

//@ tl_atomic_bit_and
template <int W, class T>
TL_DEV T tl_atomic_bit_and(T* p, T x) { return __hip_atomic_fetch_and((tl_at<W, T>(p)), x, __ATOMIC_RELAXED, tl_place<W, T>::scope); }

//@ tl_red_bit_and
template <int W, class T>
TL_DEV void tl_red_bit_and(T* p, T x) { tl_atomic_bit_and<W, T>(p, x); }

//@ tl_atomic_bit_or
template <int W, class T>
TL_DEV T tl_atomic_bit_or(T* p, T x) { return __hip_atomic_fetch_or((tl_at<W, T>(p)), x, __ATOMIC_RELAXED, tl_place<W, T>::scope); }

//@ tl_red_bit_or
template <int W, class T>
TL_DEV void tl_red_bit_or(T* p, T x) { tl_atomic_bit_or<W, T>(p, x); }

//@ tl_atomic_bit_xor
template <int W, class T>
TL_DEV T tl_atomic_bit_xor(T* p, T x) { return __hip_atomic_fetch_xor((tl_at<W, T>(p)), x, __ATOMIC_RELAXED, tl_place<W, T>::scope); }

//@ tl_red_bit_xor
template <int W, class T>
TL_DEV void tl_red_bit_xor(T* p, T x) { tl_atomic_bit_xor<W, T>(p, x); }

//@ tl_atomic_exchange
template <int W, class T>
TL_DEV T tl_atomic_exchange(T* p, T v) {
  typedef typename tl_word<sizeof(T)>::type U;
  if constexpr (sizeof(T) == 2) return tl_atomic_loop<W, T>(p, [&](T) { return v; });
  else return tl_bits<T>(static_cast<U>(__hip_atomic_exchange((tl_at<W, U>(p)), tl_bits<U>(v), __ATOMIC_RELAXED, tl_place<W, U>::scope)));
}
