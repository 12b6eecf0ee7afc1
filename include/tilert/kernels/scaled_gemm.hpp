// Products of narrow floats with a scale for each block: 1 x 128 of A, 128 x 128 of B, partial sums promoted to f32 block by block.
// One scale for a whole operand, a row or a column is an epilogue: alpha, row_scale, column_scale. Use through kernels/gemm.hpp.
#ifndef TILERT_KERNELS_SCALED_GEMM_HPP_
#define TILERT_KERNELS_SCALED_GEMM_HPP_

#include <algorithm>
#include <utility>

#include "tilert/kernels/product.hpp"

namespace tl::kernels {

inline constexpr int64_t kScaleBlock = 128;

// C[m, n] = epilogue(sum over blocks of 128 of K of a_scale b_scale (A B^T of the block)), B stored as [n, k]. Sizes of `p` as
// try_gemm's. Parameters: A, B, C; "a_scale" f32 [ceil(k / 128), m], the scales of a block of K side by side; "b_scale" f32
// [ceil(n / 128), ceil(k / 128)]; then those of the epilogue. A size of `p` that is 0 has its number of blocks as a dim, "KB" or "NB".
// The choice's tile_k is taken as 128, its stages as many as fit beside that; it is not swapped.
template <class E = Plain>
Result<Program> try_scaled_gemm(const Product& p, ProductChoice c, E epilogue = {}) {
  if (p.trans_a || !p.trans_b) return Error(TILERT_UNSUPPORTED, std::string("scaled_gemm: rows of both operands run along K: transpose when quantizing"));
  if (detail::sum_type(p) != f32) return Error(TILERT_UNSUPPORTED, std::string("scaled_gemm: partial sums are f32: use try_gemm and an epilogue"));
  if (c.path == TILERT_PATH_VECTOR || c.swapped())
    return Error(TILERT_INVALID_ARGUMENT, std::string("scaled_gemm: the choice is not swapped and one of tiles: take another candidate"));
  if (const Status ok = detail::check("scaled_gemm", p, c); !ok) return ok.error();
  // As many bytes in flight as the choice has; of several narrower slots for one of its own, one makes room for the scales.
  const uint32_t slots = static_cast<uint32_t>(c.stages * c.tile_k / kScaleBlock);
  if (c.tile_k != kScaleBlock) c.stages = std::clamp<uint32_t>(c.tile_k > kScaleBlock ? slots - 1 : slots, 2, 16);
  c.tile_k = kScaleBlock;
  Builder b("scaled_gemm");
  const Expr M = detail::size(b, "M", p.m), N = detail::size(b, "N", p.n), K = detail::size(b, "K", p.k);
  const Expr k_blocks = p.k ? Expr((p.k + kScaleBlock - 1) / kScaleBlock) : Expr(b.dim("KB"));
  const Expr n_blocks = p.n ? Expr((p.n + kScaleBlock - 1) / kScaleBlock) : Expr(b.dim("NB"));
  const Tile A = b.input("A", p.a, {M, K}, detail::rows_apart(p.lda)), B = b.input("B", p.b, {N, K}, detail::rows_apart(p.ldb));
  const Tile C = b.output("C", p.c, {M, N}, detail::rows_apart(p.ldc));
  const Tile a_scale = b.input("a_scale", f32, {k_blocks, M}), b_scale = b.input("b_scale", f32, {n_blocks, k_blocks});
  detail::declare(epilogue, b, M, N);
  const int64_t m = c.tile_m, n = c.tile_n;
  b.grid({ceildiv(N, n), ceildiv(M, m)}, detail::hints_of(p, c), [&](const Index& x, const Index& y) {
    const Tile a = b.shared(p.a, {m, kScaleBlock}), w = b.shared(p.b, {n, kScaleBlock}), scales = b.shared(f32, {1, m});
    const Tile part = b.fragment(f32, {m, n}), total = b.fragment(f32, {m, n});
    b.clear(total);
    b.pipelined(ceildiv(K, kScaleBlock), stages(c.stages), [&](const Index& k) {
      b.copy(A(y * m, k * kScaleBlock), a);
      b.copy(B(x * n, k * kScaleBlock), w);
      b.copy(a_scale(k, y * m), scales);
      b.gemm(a, w, part, trans_b | overwrite);
      b.parallel({m, n}, [&](const Index& i, const Index& j) {
        total(i, j) = fma(part(i, j), scales(0, i) * b_scale((x * n + j) / kScaleBlock, k), total(i, j));
      });
    });
    const Tile out = detail::finish(b, p, c, total, epilogue, y * m, x * n);
    b.copy(out, C(y * m, x * n));
  });
  return b.try_finish();
}

#if TL_EXCEPTIONS
template <class E = Plain>
Program scaled_gemm(const Product& p, const ProductChoice& c, E epilogue = {}) {
  return try_scaled_gemm(p, c, std::move(epilogue)).value();
}
#endif

}  // namespace tl::kernels

#endif  // TILERT_KERNELS_SCALED_GEMM_HPP_
