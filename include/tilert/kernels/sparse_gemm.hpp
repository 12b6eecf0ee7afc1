// Products with sparse weights (2:4): the program, and what makes such weights of dense ones. Use through kernels/gemm.hpp.
#ifndef TILERT_KERNELS_SPARSE_GEMM_HPP_
#define TILERT_KERNELS_SPARSE_GEMM_HPP_

#include <cstdint>
#include <utility>

#include "tilert/kernels/product.hpp"

namespace tl::kernels {

inline constexpr int64_t kSparseWord = 16;  // elements of K that an element of places speaks of

// Elements of a row of places.
inline constexpr int64_t sparse_words(int64_t k) { return (k + kSparseWord - 1) / kSparseWord; }

// Of a dense matrix of `rows` rows, `stride` elements apart, of k elements each (a multiple of 4), of which at most two of each four
// are not T{}: those two in order, kept [rows, k / 2], and where they stand, places [rows, sparse_words(k)]. With `halves`, as tf32
// products need it: at most one of each two. False, with nothing more written, at the first four that have too many, and for a k that
// is no multiple of 4; 16-bit floats may come as uint16_t, where a negative zero counts as a value.
template <class T>
bool compress_sparse(const T* dense, int64_t rows, int64_t k, int64_t stride, T* kept, uint16_t* places, bool halves = false) {
  if (k < 0 || k % 4 != 0) return false;
  for (int64_t i = 0; i < rows; ++i) {
    uint16_t* const words = places + i * sparse_words(k);
    for (int64_t w = 0; w < sparse_words(k); ++w) words[w] = 0;
    for (int64_t q = 0; q < k; q += 4) {
      const T* const four = dense + i * stride + q;
      int at[2] = {0, halves ? 2 : 1}, found = 0;
      for (int e = 0; e < 4; ++e) {
        if (four[e] == T{}) continue;
        if (halves ? e % 2 != 0 && !(four[e - 1] == T{}) : found == 2) return false;
        if (halves) at[e / 2] = e;
        else at[found++] = e;
      }
      if (!halves && found == 1) at[0] == 3 ? (at[1] = 3, at[0] = 2) : at[1] = 3;
      for (int e = 0; e < 2; ++e) kept[i * (k / 2) + q / 2 + e] = four[at[e]];
      words[q / kSparseWord] = static_cast<uint16_t>(words[q / kSparseWord] | (at[0] | at[1] << 2) << (q % kSparseWord));
    }
  }
  return true;
}

// C[m, n] = epilogue(A[m, k] W[n, k]^T), where W keeps two of each four elements along k. p.k is given, a multiple of 4; p.m and p.n are
// as try_gemm's; p.trans_b holds, p.ldb is that of the kept elements. Parameters: A, B (kept, [n, k / 2]), "places" u16
// [n, sparse_words(k)], C; then those of the epilogue. The weights' rows are the instruction's: the choice is taken as swapped, its
// tile_k as a multiple of 16, on warpgroups of 128, where the tensor copy engine takes the places too.
template <class E = Plain>
Result<Program> try_sparse_gemm(const Product& p, ProductChoice c, E epilogue = {}) {
  if (p.trans_a || !p.trans_b) return Error(TILERT_UNSUPPORTED, std::string("sparse_gemm: rows of both operands run along K: set trans_b, keep A as it is"));
  if (p.k <= 0 || p.k % 4 != 0) return Error(TILERT_INVALID_ARGUMENT, std::string("sparse_gemm: k is given, and a multiple of 4"));
  if (c.path == TILERT_PATH_VECTOR) return Error(TILERT_INVALID_ARGUMENT, std::string("sparse_gemm: the choice is one of tiles: take another candidate"));
  if (const Status ok = detail::check("sparse_gemm", p, c, p.k, p.k / 2); !ok) return ok.error();
  if (p.fixed_order && p.k % 128 != 0) c.path = TILERT_PATH_WARP;  // no row of places starts on 16 bytes: it would come to that
  const int64_t unit = c.path == TILERT_PATH_WARPGROUP ? 128 : kSparseWord, depth = (c.tile_k + unit - 1) / unit * unit;
  c.stages = static_cast<uint32_t>(c.stages * c.tile_k / depth);
  if (c.stages < 2) c.stages = 2;
  c.flags |= TILERT_CHOICE_SWAPPED;
  Builder b("sparse_gemm");
  const Expr M = detail::size(b, "M", p.m), N = detail::size(b, "N", p.n);
  const Tile A = b.input("A", p.a, {M, p.k}, detail::rows_apart(p.lda)), B = b.input("B", p.b, {N, p.k / 2}, detail::rows_apart(p.ldb));
  const Tile P = b.input("places", u16, {N, sparse_words(p.k)}), C = b.output("C", p.c, {M, N}, detail::rows_apart(p.ldc));
  detail::declare(epilogue, b, M, N);
  const int64_t m = c.tile_m, n = c.tile_n;
  b.grid({ceildiv(N, n), ceildiv(M, m)}, detail::hints_of(p, c), [&](const Index& x, const Index& y) {
    const Tile a = b.shared(p.a, {m, depth}), w = b.shared(p.b, {n, depth / 2}), places = b.shared(u16, {n, depth / kSparseWord});
    const Tile sum = b.fragment(detail::sum_type(p), {n, m});
    b.clear(sum);
    b.pipelined((p.k + depth - 1) / depth, stages(c.stages), [&](const Index& k) {
      b.copy(A(y * m, k * depth), a);
      b.copy(B(x * n, k * (depth / 2)), w);
      b.copy(P(x * n, k * (depth / kSparseWord)), places);
      b.gemm(w, a, sum, sparse(places) | trans_b | (p.tf32 ? tf32 : GemmFlag{}));
    });
    b.copy(detail::finish(b, p, c, sum, epilogue, y * m, x * n), b.transposed(C)(x * n, y * m));
  });
  return b.try_finish();
}

#if TL_EXCEPTIONS
template <class E = Plain>
Program sparse_gemm(const Product& p, const ProductChoice& c, E epilogue = {}) {
  return try_sparse_gemm(p, c, std::move(epilogue)).value();
}
#endif

}  // namespace tl::kernels

#endif  // TILERT_KERNELS_SPARSE_GEMM_HPP_
