// Elements of less than a byte in tensors and packed tiles: side by side, low bits first. In registers each has a byte.

//@ tl_of_code
// An element of its bits.
template <class T>
TL_DEV T tl_of_code(tl_u32 code) {
  if constexpr (tl_same<T, tl_i4>::value) return T{static_cast<signed char>(code > 7 ? static_cast<int>(code) - 16 : static_cast<int>(code))};
  else return T{static_cast<unsigned char>(code)};
}

//@ tl_packed_byte
// Where element i starts, which is a whole byte.
template <int Bits, class Byte>
TL_DEV Byte* tl_packed_byte(Byte* p, tl_i64 i) { return p + (i * Bits >> 3); }

//@ tl_packed_get
template <class T, int Bits>
TL_DEV T tl_packed_get(const unsigned char* p, tl_i64 i) {
  const tl_i64 bit = i * Bits;
  const int first = static_cast<int>(bit & 7);
  tl_u32 both = p[bit >> 3];
  if (first + Bits > 8) both |= static_cast<tl_u32>(p[(bit >> 3) + 1]) << 8;
  return tl_of_code<T>(both >> first & ((1u << Bits) - 1));
}

//@ tl_unpack
// N elements from a whole byte on, in accesses as wide as their bytes are a multiple of.
template <int N, int Bits, class T>
TL_DEV void tl_unpack(T* dst, const unsigned char* src) {
  constexpr int bytes = N * Bits / 8, step = bytes & -bytes;
  typedef typename tl_bytes<step>::type V;
  V raw[bytes / step];
#pragma unroll
  for (int i = 0; i < bytes / step; ++i) raw[i] = reinterpret_cast<const V*>(src)[i];
  const unsigned char* b = reinterpret_cast<const unsigned char*>(raw);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const int at = i * Bits / 8, first = i * Bits % 8;
    tl_u32 both = b[at];
    if (first + Bits > 8) both |= static_cast<tl_u32>(b[at + 1]) << 8;
    dst[i] = tl_of_code<T>(both >> first & ((1u << Bits) - 1));
  }
}

//@ tl_store_packed
// The first `count` of N elements, N of which fill whole bytes, from a whole byte on; other bits of the last byte stay.
template <int N, int Bits, class T>
TL_DEV void tl_store_packed(unsigned char* dst, const T (&x)[N], int count) {
  constexpr int bytes = N * Bits / 8, step = bytes & -bytes;
  typedef typename tl_bytes<step>::type V;
  V raw[bytes / step];
  unsigned char* b = reinterpret_cast<unsigned char*>(raw);
#pragma unroll
  for (int k = 0; k < bytes; ++k) {
    tl_u32 byte = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const int shift = i * Bits - k * 8;
      const tl_u32 code = static_cast<tl_u32>(x[i].bits) & ((1u << Bits) - 1);
      if (shift >= 0 && shift < 8) byte |= code << shift;
      else if (shift < 0 && shift > -Bits) byte |= code >> -shift;
    }
    b[k] = static_cast<unsigned char>(byte);
  }
  if (count >= N) {
#pragma unroll
    for (int i = 0; i < bytes / step; ++i) reinterpret_cast<V*>(dst)[i] = raw[i];
    return;
  }
#pragma unroll
  for (int k = 0; k < bytes; ++k) {
    const int held = count * Bits - k * 8;
    const tl_u32 mask = held >= 8 ? 255u : held > 0 ? (1u << held) - 1 : 0u;
    if (mask) dst[k] = static_cast<unsigned char>((mask == 255u ? 0u : dst[k] & ~mask) | (b[k] & mask));
  }
}
