// Products of one to four rows: each row of the weights is read once, by vectors, and reduced by a warp.
// Use through kernels/gemm.hpp.
#ifndef TILERT_KERNELS_GEMV_HPP_
#define TILERT_KERNELS_GEMV_HPP_

#include <utility>
#include <vector>

#include "tilert/kernels/product.hpp"

namespace tl::kernels {

// C[m, n] = epilogue(A[m, k] B[n, k]^T), p.trans_b and not p.trans_a, summed in f32. Parameters as try_gemm's. A choice of
// TILERT_PATH_VECTOR; its tile_m is the rows of A that share a reading of B: any number of rows is right.
template <class E = Plain>
Result<Program> try_gemv(const Product& p, const ProductChoice& c, E epilogue = {}) {
  if (p.trans_a || !p.trans_b || detail::sum_type(p) != f32)
    return Error(TILERT_UNSUPPORTED, std::string("gemv: rows of both operands run along K, and sums are f32: use try_gemm for others"));
  if (p.fixed_order) return Error(TILERT_UNSUPPORTED, std::string("gemv: its order of sums is not that of products of tiles: take another candidate"));
  if (const Status ok = detail::check("gemv", p, c); !ok) return ok.error();
  Builder b("gemv");
  const Expr M = detail::size(b, "M", p.m), N = detail::size(b, "N", p.n), K = detail::size(b, "K", p.k);
  const Tile A = b.input("A", p.a, {M, K}, detail::rows_apart(p.lda)), B = b.input("B", p.b, {N, K}, detail::rows_apart(p.ldb));
  const Tile C = b.output("C", p.c, {M, N}, detail::rows_apart(p.ldc));
  detail::declare(epilogue, b, M, N);
  const int64_t m = c.tile_m, n = c.tile_n, depth = c.tile_k;
  b.grid({ceildiv(N, n), ceildiv(M, m)}, threads(c.threads), [&](const Index& x, const Index& y) {
    std::vector<Tile> sums;
    for (int64_t i = 0; i < m; ++i) {
      sums.push_back(b.fragment(f32, {n}));
      b.clear(sums.back());
    }
    b.serial(ceildiv(K, depth), [&](const Index& k) {
      const Tile w = b.fragment(p.b, {n, depth});
      b.copy(B(x * n, k * depth), w);
      for (int64_t i = 0; i < m; ++i) {
        const Tile v = b.fragment(p.a, {n, depth}), terms = b.fragment(f32, {n, depth});
        b.copy(A(y * m + i, k * depth).size({1, depth}), v);
        b.parallel({n, depth}, [&](const Index& r, const Index& e) { terms(r, e) = cast(f32, w(r, e)) * cast(f32, v(r, e)); });
        b.reduce(sum, terms, sums[static_cast<size_t>(i)], 1, accumulate);
      }
    });
    for (int64_t i = 0; i < m; ++i) {
      const Tile& out = sums[static_cast<size_t>(i)];
      b.parallel({n}, [&](const Index& r) { out(r) = detail::apply(epilogue, Expr(out(r)), y * m + i, x * n + r, 0); });
      b.copy(out, C(y * m + i, x * n).size({1, n}));
    }
  });
  return b.try_finish();
}

}  // namespace tl::kernels

#endif  // TILERT_KERNELS_GEMV_HPP_
