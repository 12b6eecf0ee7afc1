// Programs that several tests build through the C++ interface.
#pragma once

#include "tilert.hpp"

namespace tilert::test {

inline tl::Program scale(tl::DType dt, int tile) {
  tl::Builder b("scale");
  auto N = b.dim("N");
  auto x = b.input("x", dt, {N});
  auto y = b.output("y", dt, {N});
  auto factor = b.scalar("factor", dt);
  b.grid({tl::ceildiv(N, tile)}, [&](tl::Index i) {
    auto t = b.fragment(dt, {tile});
    b.copy(x(i * tile), t);
    b.parallel({tile}, [&](tl::Index j) { t(j) = t(j) * factor; });
    b.copy(t, y(i * tile));
  });
  return b.finish();
}

inline tl::Program matmul(tl::DType dt, int bm, int bn, int bk) {
  tl::Builder b("matmul");
  auto M = b.dim("M"), N = b.dim("N"), K = b.dim("K");
  auto A = b.input("A", dt, {M, K}), B = b.input("B", dt, {K, N});
  auto C = b.output("C", dt, {M, N});
  b.grid({tl::ceildiv(N, bn), tl::ceildiv(M, bm)}, [&](tl::Index x, tl::Index y) {
    auto a = b.shared(dt, {bm, bk}), w = b.shared(dt, {bk, bn});
    auto acc = b.fragment(tl::f32, {bm, bn});
    b.clear(acc);
    b.pipelined(tl::ceildiv(K, bk), tl::stages(3), [&](tl::Index k) {
      b.copy(A(y * bm, k * bk), a);
      b.copy(B(k * bk, x * bn), w);
      b.gemm(a, w, acc);
    });
    b.parallel({bm, bn}, [&](tl::Index i, tl::Index j) { acc(i, j) = tl::max(acc(i, j), 0.f); });
    b.copy(acc, C(y * bm, x * bn));
  });
  return b.finish();
}

// y(row, i) = x(row, i) for three rows of N elements.
inline tl::Program copy_of_rows(const tl::DimOptions& options) {
  tl::Builder b("copy_of_rows");
  auto N = b.dim("N", options);
  auto x = b.input("x", tl::f32, {3, N}), y = b.output("y", tl::f32, {3, N});
  b.grid({tl::ceildiv(N, 32), 3}, [&](tl::Index i, tl::Index row) {
    auto t = b.fragment(tl::f32, {32});
    b.copy(x(row, i * 32), t);
    b.copy(t, y(row, i * 32));
  });
  return b.finish();
}

// Causal flash attention, forward; `scale` includes log2(e). From here to the end of the function: what the issue
// counts.
inline tl::Program attention(tl::DType dt, int bm, int bn, int d) {
  tl::Builder b("attention");
  auto S = b.dim("S"), H = b.dim("H");
  auto Q = b.input("Q", dt, {H, S, d}), K = b.input("K", dt, {H, S, d}), V = b.input("V", dt, {H, S, d});
  auto O = b.output("O", dt, {H, S, d});
  auto scale = b.scalar("scale", tl::f32);
  b.grid({tl::ceildiv(S, bm), H}, [&](tl::Index y, tl::Index z) {
    auto q = b.shared(dt, {bm, d}), k = b.shared(dt, {bn, d}), v = b.shared(dt, {bn, d});
    auto s = b.fragment(tl::f32, {bm, bn}), p = b.fragment(tl::f32, {bm, bn}), o = b.fragment(tl::f32, {bm, d});
    auto m = b.fragment(tl::f32, {bm}), m_old = b.fragment(tl::f32, {bm});
    auto l = b.fragment(tl::f32, {bm}), f = b.fragment(tl::f32, {bm});
    auto m0 = y * bm;
    b.copy(Q(z, m0, 0), q);
    b.clear(o);
    b.clear(l);
    b.fill(m, -tl::inf);
    b.pipelined(tl::ceildiv(tl::min(S, m0 + bm), bn), tl::stages(2), [&](tl::Index j) {
      b.copy(K(z, j * bn, 0), k);
      b.gemm(q, k, s, tl::trans_b | tl::overwrite);
      b.parallel({bm, bn}, [&](auto r, auto c) { s(r, c) = tl::select(j * bn + c <= m0 + r, s(r, c), -tl::inf); });
      b.copy(m, m_old);
      b.reduce(tl::max, s, m, 1, tl::accumulate);
      b.parallel({bm, bn}, [&](auto r, auto c) { p(r, c) = tl::exp2(s(r, c) * scale - m(r) * scale); });
      b.parallel({bm}, [&](auto r) {
        f(r) = tl::exp2((m_old(r) - m(r)) * scale);
        l(r) *= f(r);
      });
      b.reduce(tl::sum, p, l, 1, tl::accumulate);
      b.parallel({bm, d}, [&](auto r, auto c) { o(r, c) *= f(r); });
      b.copy(V(z, j * bn, 0), v);
      b.gemm(p, v, o);
    });
    b.parallel({bm, d}, [&](auto r, auto c) { o(r, c) /= l(r); });
    b.copy(o, O(z, m0, 0));
  });
  return b.finish();
}

}  // namespace tilert::test
