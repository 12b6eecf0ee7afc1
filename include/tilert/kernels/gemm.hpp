// Matrix products as tile programs: to call, or to copy and change. Header-only over the public builder; C++17.
//
//   tl::Product p;                       // C[m, n] = A[m, k] B[n, k]^T in bf16; m stays dynamic
//   p.n = 4096, p.k = 4096, p.trans_b = true;
//   auto plan = tl::kernels::plan_gemm(p).value();                    // at most 16 kernels for every m
//   for (const auto& choice : plan.programs)
//     programs.push_back(tl::kernels::gemm(p, choice, tl::kernels::chain(tl::kernels::bias(tl::f32), tl::kernels::silu())));
//   ... launch programs[plan.program_for(m)] with A, B, C, bias.
//
// Here: dense products. kernels/plan.hpp: plan_gemm. kernels/gemv.hpp: few rows. kernels/grouped_gemm.hpp: products of experts.
// kernels/scaled_gemm.hpp: narrow floats with scales of blocks. kernels/sparse_gemm.hpp: weights of which half is there.
// kernels/epilogue.hpp: what becomes of an element before it is stored.
//
// All of these are functions of their arguments alone: any number of threads may call them, nothing is compiled, no device is asked,
// and what they return owns itself. Sizes and leading dimensions count elements. The try_ forms and plans return an error that says
// what to give instead (INVALID_ARGUMENT, UNSUPPORTED, or what the builder said); those without try_ throw it.
#ifndef TILERT_KERNELS_GEMM_HPP_
#define TILERT_KERNELS_GEMM_HPP_

#include <utility>

#include "tilert/kernels/gemv.hpp"
#include "tilert/kernels/grouped_gemm.hpp"
#include "tilert/kernels/plan.hpp"
#include "tilert/kernels/product.hpp"
#include "tilert/kernels/scaled_gemm.hpp"
#include "tilert/kernels/sparse_gemm.hpp"

namespace tl::kernels {

// C[m, n] = epilogue(A[m, k] B[k, n]). Sizes of `p` that are 0 are dims "M", "N", "K"; the others are constants of the program.
// A is stored as [k, m] with p.trans_a, B as [n, k] with p.trans_b; p.lda, p.ldb, p.ldc are constants too, and a
// tensor that has one is launched with its shape and strides (tilert_argument): an address alone is of contiguous rows. Parameters: A,
// B, C, then those of the epilogue. A size that follows from no argument's shape is given at launch.
template <class E = Plain>
Result<Program> try_gemm(const Product& p, const ProductChoice& c, E epilogue = {}) {
  if (c.path == TILERT_PATH_VECTOR) return try_gemv(p, c, std::move(epilogue));
  if (const Status ok = detail::check("gemm", p, c); !ok) return ok.error();
  Builder b("gemm");
  const Expr M = detail::size(b, "M", p.m), N = detail::size(b, "N", p.n), K = detail::size(b, "K", p.k);
  const Tile A = p.trans_a ? b.input("A", p.a, {K, M}, detail::rows_apart(p.lda)) : b.input("A", p.a, {M, K}, detail::rows_apart(p.lda));
  const Tile B = p.trans_b ? b.input("B", p.b, {N, K}, detail::rows_apart(p.ldb)) : b.input("B", p.b, {K, N}, detail::rows_apart(p.ldb));
  const Tile C = b.output("C", p.c, {M, N}, detail::rows_apart(p.ldc));
  detail::declare(epilogue, b, M, N);
  const int64_t m = c.tile_m, n = c.tile_n, depth = c.tile_k;
  b.grid({ceildiv(N, n), ceildiv(M, m)}, detail::hints_of(p, c), [&](const Index& x, const Index& y) {
    const Tile sum = detail::multiply(
        b, p, c, ceildiv(K, depth),
        [&](const Index& k, const Tile& a) { p.trans_a ? b.copy(A(k, y * m), a) : b.copy(A(y * m, k), a); },
        [&](const Index& k, const Tile& w) { p.trans_b ? b.copy(B(x * n, k), w) : b.copy(B(k, x * n), w); });
    const Tile out = detail::finish(b, p, c, sum, epilogue, y * m, x * n);
    if (c.swapped()) b.copy(out, b.transposed(C)(x * n, y * m));
    else b.copy(out, C(y * m, x * n));
  });
  return b.try_finish();
}

#if TL_EXCEPTIONS
template <class E = Plain>
Program gemm(const Product& p, const ProductChoice& c, E epilogue = {}) {
  return try_gemm(p, c, std::move(epilogue)).value();
}
// With the choice that the cost model recommends for p.m rows.
template <class E = Plain>
Program gemm(const Product& p, const Machine& machine, E epilogue = {}) {
  return gemm(p, choose(p, machine).value(), std::move(epilogue));
}
#endif

}  // namespace tl::kernels

#endif  // TILERT_KERNELS_GEMM_HPP_
