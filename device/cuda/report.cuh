// Diagnostics: what print and assert write.

//@ tl_report_place
// The number of an entry in the ring, of N that it has.
template <int N>
TL_DEV tl_u64 tl_report_place(tl_u64* ring) { return tl_atomic_add<1, tl_u64>(ring, 1); }

//@ tl_report
// An entry of the ring of diagnostics: a count of all reports, and from its byte 64 on N entries of 64 bytes, of a 32-bit
// number, three coordinates of the block and up to six values. What finds no room is counted only; nobody waits.
template <int N, class... V>
TL_DEV void tl_report(tl_u64* ring, tl_u32 id, tl_i64 x, tl_i64 y, tl_i64 z, V... values) {
  const tl_u64 at = tl_report_place<N>(ring);
  if (at < N) {
    tl_u64* const entry = ring + 8 + at * 8;
    const tl_u64 words[8] = {id | static_cast<tl_u64>(static_cast<tl_u32>(x)) << 32,
                             static_cast<tl_u32>(y) | static_cast<tl_u64>(static_cast<tl_u32>(z)) << 32, values...};
    for (int i = 0; i < 8; ++i) entry[i] = words[i];
  }
}
