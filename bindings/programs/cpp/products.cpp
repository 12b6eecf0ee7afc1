// Programs of matrix products. Reads are statements, whose order is part of a program's key: where a value is made of two, each
// is read by name first, since C++ does not say which operand comes first.
#include "programs.h"

namespace programs {

// The hello kernel: c = gelu(a b + bias).
tl::Program gemm_bias_gelu() {
  const int bm = 64, bn = 64, bk = 32;
  tl::Builder b("gemm_bias_gelu");
  auto M = b.dim("M"), N = b.dim("N"), K = b.dim("K");
  auto A = b.input("A", tl::bf16, {M, K}), B = b.input("B", tl::bf16, {K, N}), bias = b.input("bias", tl::f32, {N});
  auto C = b.output("C", tl::bf16, {M, N});
  b.grid({tl::ceildiv(N, bn), tl::ceildiv(M, bm)}, [&](tl::Index x, tl::Index y) {
    auto a = b.shared(tl::bf16, {bm, bk}, "a"), w = b.shared(tl::bf16, {bk, bn}, "w");
    auto acc = b.fragment(tl::f32, {bm, bn}, "acc");
    b.clear(acc);
    b.pipelined(tl::ceildiv(K, bk), tl::stages(3), [&](tl::Index k) {
      b.copy(A(y * bm, k * bk), a);
      b.copy(B(k * bk, x * bn), w);
      b.gemm(a, w, acc);
    });
    b.parallel({bm, bn}, [&](tl::Index i, tl::Index j) {
      const tl::Expr sum = acc(i, j), more = bias(x * bn + j);
      const tl::Expr v = b.let(sum + more);
      acc(i, j) = 0.5 * v * (tl::erf(v * 0.7071067811865476) + 1);
    });
    b.copy(acc, C(y * bm, x * bn));
  });
  return b.finish();
}

// Exact products of 8-bit integers, a scale for each column.
tl::Program gemm_int8() {
  const int bm = 32, bn = 64, bk = 64;
  tl::Builder b("gemm_int8");
  auto M = b.dim("M"), N = b.dim("N"), K = b.dim("K");
  auto A = b.input("A", tl::i8, {M, K}), B = b.input("B", tl::i8, {N, K}), scales = b.input("scales", tl::f32, {N});
  auto C = b.output("C", tl::f32, {M, N});
  b.grid({tl::ceildiv(N, bn), tl::ceildiv(M, bm)}, [&](tl::Index x, tl::Index y) {
    auto a = b.shared(tl::i8, {bm, bk}), w = b.shared(tl::i8, {bn, bk});
    auto acc = b.fragment(tl::i32, {bm, bn});
    auto out = b.fragment(tl::f32, {bm, bn});
    b.pipelined(tl::ceildiv(K, bk), tl::stages(2), [&](tl::Index k) {
      b.copy(A(y * bm, k * bk), a);
      b.copy(B(x * bn, k * bk), w);
      b.gemm(a, w, acc, tl::GemmOptions(tl::trans_b).accumulate_if(k != 0));
    });
    b.parallel({bm, bn}, [&](tl::Index i, tl::Index j) {
      const tl::Expr sum = acc(i, j), by = scales(x * bn + j);
      out(i, j) = tl::cast(tl::f32, sum) * by;
    });
    b.copy(out, C(y * bm, x * bn));
  });
  return b.finish();
}

// fp8 operands with a scale for each block of 32, then silu by its fast form; hints of all kinds.
tl::Program gemm_scaled() {
  const int bm = 64, bn = 32, bk = 32;
  tl::Builder b("gemm_scaled");
  auto M = b.dim("M"), N = b.dim("N"), K = b.dim("K"), NB = b.dim("NB"), KB = b.dim("KB");  // and their blocks
  auto A = b.input("A", tl::e4m3, {M, K}), W = b.input("W", tl::e4m3, {N, K});
  auto of_a = b.input("of_a", tl::f32, {M, KB}), of_w = b.input("of_w", tl::f32, {NB, KB});
  auto C = b.output("C", tl::f32, {M, N});
  const auto hints = tl::threads(128).must().for_target("sm_90a").min_blocks(1).max_registers(128).raster(4).pdl().fixed_order();
  b.grid({tl::ceildiv(N, bn), tl::ceildiv(M, bm)}, hints, [&](tl::Index x, tl::Index y) {
    auto a = b.shared(tl::e4m3, {bm, bk}), w = b.shared(tl::e4m3, {bn, bk});
    auto acc = b.fragment(tl::f32, {bm, bn});
    b.clear(acc);
    b.pipelined(tl::ceildiv(K, bk), [&](tl::Index k) {
      b.copy(A(y * bm, k * bk), a);
      b.copy(W(x * bn, k * bk), w);
      const auto scales = tl::scaled(of_a(y * bm, k).size({bm, 1}), of_w(x, k).size({1, 1}));
      b.gemm(a, w, acc, scales | tl::trans_b | tl::trans_b_scale);
    });
    b.parallel({bm, bn}, [&](tl::Index i, tl::Index j) {
      const tl::Expr v = acc(i, j);
      acc(i, j) = v * tl::fast(tl::sigmoid(v));
    });
    b.copy(acc, C(y * bm, x * bn));
  });
  return b.finish();
}

// Two of each four elements of a are kept; `places` says which.
tl::Program gemm_sparse() {
  tl::Builder b("gemm_sparse");
  auto A = b.input("A", tl::f16, {16, 32}), B = b.input("B", tl::f16, {64, 8}), P = b.input("places", tl::u16, {16, 4});
  auto C = b.output("C", tl::f32, {16, 8});
  b.grid({1}, [&](tl::Index) {
    auto a = b.shared(tl::f16, {16, 32}), w = b.shared(tl::f16, {64, 8}), places = b.shared(tl::u16, {16, 4});
    auto acc = b.fragment(tl::f32, {16, 8});
    b.copy(A, a);
    b.copy(B, w);
    b.copy(P, places);
    b.gemm(a, w, acc, tl::sparse(places) | tl::overwrite);
    b.copy(acc, C);
  });
  return b.finish();
}

// Rows of x, 16 at a time, each for the expert that `expert` names; weights lie apart. Only the first of the tiles are done.
tl::Program experts() {
  const int rows = 16, columns = 32;
  tl::Builder b("experts");
  auto T = b.dim("T"), R = b.dim("R"), E = b.dim("E"), N = b.dim("N"), K = b.dim("K");
  auto x = b.input("x", tl::bf16, {T, K}), W = b.input("W", tl::bf16, {E, N, K}, tl::pointer_table());
  auto expert = b.input("expert", tl::u8, {R}), scales = b.input("scales", tl::f32, {E});
  auto tiles = b.input("tiles", tl::i32, {1});
  auto y = b.output("y", tl::bf16, {T, N});
  b.grid({tl::ceildiv(N, columns), R}, tl::persistent(tiles), [&](tl::Index column, tl::Index row) {
    b.tile_cost(row + 1, column);
    auto a = b.shared(tl::bf16, {rows, 32}), w = b.shared(tl::bf16, {columns, 32});
    auto acc = b.fragment(tl::f32, {rows, columns});
    const auto e = b.let(tl::cast(tl::index, expert(row)) % E);
    b.clear(acc);
    b.pipelined(tl::ceildiv(K, 32), tl::stages(2), [&](tl::Index k) {
      b.copy(x(row * rows, k * 32), a);
      b.copy(W(e, column * columns, k * 32), w);
      b.gemm(a, w, acc, tl::trans_b);
    });
    b.parallel({rows, columns}, [&](tl::Index i, tl::Index j) {
      const tl::Expr sum = acc(i, j), by = scales(e);
      acc(i, j) = sum * by;
    });
    b.copy(acc, y(row * rows, column * columns));
  });
  return b.finish();
}

// A ring of tensor copies, one role that fills it and one that multiplies by issued products.
tl::Program hand_gemm() {
  const int bm = 128, bn = 64, bk = 64, slots = 3;
  tl::Builder b("hand_gemm");
  auto M = b.dim("M"), N = b.dim("N", tl::DimOptions().divisible(8)), K = b.dim("K", tl::DimOptions().divisible(8));
  auto A = b.input("A", tl::bf16, {M, K}), B = b.input("B", tl::bf16, {N, K});
  auto C = b.output("C", tl::bf16, {M, N});
  b.grid({tl::ceildiv(N, bn), tl::ceildiv(M, bm)}, tl::threads(256), [&](tl::Index x, tl::Index y) {
    auto a = b.shared(tl::bf16, {slots, bm, bk}), w = b.shared(tl::bf16, {slots, bn, bk});
    auto out = b.shared(tl::bf16, {bm, bn});
    auto full = b.barriers(slots), free = b.barriers(slots);
    const tl::Expr trips = tl::ceildiv(K, bk);
    b.roles(
        [&] {
          b.serial(trips, [&](tl::Index k) {
            b.wait_barrier(free(k % slots), k / slots - 1);
            b.arrive_expect(full(k % slots), (bm + bn) * bk * 2);
            b.load_tensor(A(y * bm, k * bk), a(k % slots, 0, 0), full(k % slots));
            b.load_tensor(B(x * bn, k * bk), w(k % slots, 0, 0), full(k % slots));
          });
        },
        [&] {
          auto acc = b.fragment(tl::f32, {bm, bn});
          b.clear(acc);
          b.serial(trips, [&](tl::Index k) {
            b.wait_barrier(full(k % slots), k / slots);
            b.gemm(a(k % slots, 0, 0), w(k % slots, 0, 0), acc, tl::trans_b | tl::issue);
            b.commit_products();
            b.wait_products(1);
            b.if_(0 < k, [&] { b.arrive(free((k - 1) % slots)); });
          });
          b.wait_products();
          b.copy(acc, out);
          b.store_tensor(out, C(y * bm, x * bn));
          b.commit_stores();
          b.wait_stores();
        },
        {40, 232});
  });
  return b.finish();
}

}  // namespace programs
