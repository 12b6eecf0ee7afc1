// 8-bit floats of OCP as 16-bit ones, in registers: what a unit multiplies that has no 8-bit floats, or others. Every value is
// one of the wider type, so nothing is rounded; infinities and NaN stay what they are.

//@ tl_h2
typedef _Float16 tl_h2 __attribute__((ext_vector_type(2)));

//@ tl_high_bytes
// Two bytes of a word, each the upper byte of a half.
template <int Pair>
TL_DEV tl_u32 tl_high_bytes(tl_u32 x) { return __builtin_amdgcn_perm(0, x, Pair ? 0x030c020cu : 0x010c000cu); }

//@ tl_e4m3_pair
// Fields of e4m3 moved to those of f16 are the value by 256. Only the code of NaN, 480 as a number, grows beyond f16 in the product
// before, whose 0 by infinity is the NaN that is added.
template <int Pair>
TL_DEV tl_u32 tl_e4m3_pair(tl_u32 bytes) {
  typedef short tl_pair_bits __attribute__((ext_vector_type(2)));
  const tl_u32 moved = tl_bits<tl_u32>(tl_bits<tl_pair_bits>(tl_high_bytes<Pair>(bytes)) >> 1) & 0xbf80bf80u;
  const tl_h2 small = tl_bits<tl_h2>(moved), large = small * static_cast<_Float16>(36000.0f), nothing = large * static_cast<_Float16>(0.0f);
#if __has_builtin(__builtin_elementwise_fma)
  const tl_h2 by = {static_cast<_Float16>(256.0f), static_cast<_Float16>(256.0f)};
  return tl_bits<tl_u32>(__builtin_elementwise_fma(small, by, nothing));
#else
  return tl_bits<tl_u32>(small * static_cast<_Float16>(256.0f) + nothing);
#endif
}

//@ tl_e5m2_pair
// e5m2 is the upper byte of f16.
template <int Pair>
TL_DEV tl_u32 tl_e5m2_pair(tl_u32 bytes) { return tl_high_bytes<Pair>(bytes); }

//@ tl_bf16_pair
// The upper halves of what are numbers of f32: few digits, all of which they hold.
TL_DEV tl_u32 tl_bf16_pair(tl_u32 halves) {
  const tl_h2 x = tl_bits<tl_h2>(halves);
  return __builtin_amdgcn_perm(tl_bits<tl_u32>(static_cast<float>(x.y)), tl_bits<tl_u32>(static_cast<float>(x.x)), 0x07060302u);
}

//@ tl_load_bytes_of
// N words of shared memory, aligned together up to 16 bytes.
template <int N, class T>
TL_DEV void tl_load_bytes_of(tl_u32 (&r)[N], const T* src) {
  typedef typename tl_bytes<(N >= 4 ? 16 : 4 * N)>::type V;
#pragma unroll
  for (int i = 0; i < 4 * N / static_cast<int>(sizeof(V)); ++i) {
    const V v = reinterpret_cast<const V*>(src)[i];
    __builtin_memcpy(reinterpret_cast<char*>(r) + i * sizeof(V), &v, sizeof(V));
  }
}

//@ tl_load_widened
template <class To, class From, int N, class T>
TL_DEV void tl_load_widened(tl_u32 (&r)[N], const T* src) {
  tl_u32 bytes[N / 2];
  tl_load_bytes_of(bytes, src);
#pragma unroll
  for (int i = 0; i < N / 2; ++i) {
    if constexpr (tl_same<From, tl_e4m3>::value) r[2 * i] = tl_e4m3_pair<0>(bytes[i]), r[2 * i + 1] = tl_e4m3_pair<1>(bytes[i]);
    else r[2 * i] = tl_e5m2_pair<0>(bytes[i]), r[2 * i + 1] = tl_e5m2_pair<1>(bytes[i]);
    if constexpr (tl_same<To, tl_bf16>::value) r[2 * i] = tl_bf16_pair(r[2 * i]), r[2 * i + 1] = tl_bf16_pair(r[2 * i + 1]);
  }
}

//@ tl_load_e4m3_as_f16
template <int N, class T>
TL_DEV void tl_load_e4m3_as_f16(tl_u32 (&r)[N], const T* src) { tl_load_widened<tl_f16, tl_e4m3>(r, src); }

//@ tl_load_e4m3_as_bf16
template <int N, class T>
TL_DEV void tl_load_e4m3_as_bf16(tl_u32 (&r)[N], const T* src) { tl_load_widened<tl_bf16, tl_e4m3>(r, src); }

//@ tl_load_e5m2_as_f16
template <int N, class T>
TL_DEV void tl_load_e5m2_as_f16(tl_u32 (&r)[N], const T* src) { tl_load_widened<tl_f16, tl_e5m2>(r, src); }

//@ tl_load_e5m2_as_bf16
template <int N, class T>
TL_DEV void tl_load_e5m2_as_bf16(tl_u32 (&r)[N], const T* src) { tl_load_widened<tl_bf16, tl_e5m2>(r, src); }
