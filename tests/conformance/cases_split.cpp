// Case 84: products whose loop is split along K among blocks, in every form that the hint is met in, and what it must not change.
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// 84. c = relu(a · bᵀ + bias) and, where asked, the rows' sums of it, with more parts than trips, parts of different length, tiles
// that end inside, a number of rows known when compiled or not. Launches one after the other take turns in one workspace.
Scenario split_products(const Values& v) {
  const int64_t bm = v["tile"], bn = 64, bk = 32, n = 100, k = v["K"];
  const bool persistent = v["persistent"] != 0;
  const tl::DType dtype = v.dtype(), sum_type = dtype == tl::i8 ? tl::i32 : tl::f32;
  Scenario s;
  for (int64_t parts : {int64_t{1}, v["parts"]})
    s.program([&](tl::Builder& b) {
      const tl::Expr M = v["dynamic"] ? b.dim("M") : tl::Expr(130);
      auto A = b.input("A", dtype, {M, k}), B = b.input("B", dtype, {n, k}), bias = b.input("bias", sum_type, {n});
      auto C = b.output("C", sum_type, {M, n}), sums = b.output("sums", sum_type, {M, tl::ceildiv(n, bn)});
      auto hints = tl::threads(128).split_k(parts);
      if (persistent) hints.persistent();
      b.grid({tl::ceildiv(n, bn), tl::ceildiv(M, bm)}, hints, [&](tl::Index x, tl::Index y) {
        auto a = b.shared(dtype, {bm, bk}), w = b.shared(dtype, {bn, bk});
        auto acc = b.fragment(sum_type, {bm, bn});
        auto rows = b.fragment(sum_type, {bm}), added = b.fragment(sum_type, {bn});
        b.copy(bias(x * bn), added);
        b.clear(acc);
        b.pipelined(tl::ceildiv(k, bk), tl::stages(3), [&](tl::Index i) {
          b.copy(A(y * bm, i * bk), a);
          b.copy(B(x * bn, i * bk), w);
          b.gemm(a, w, acc, tl::trans_b);
        });
        b.parallel({bm, bn}, [&](tl::Index i, tl::Index j) { acc(i, j) = tl::max(acc(i, j) + added(j), b.constant(sum_type, 0)); });
        b.reduce(tl::sum, acc, rows, 1);
        b.parallel({bm}, [&](tl::Index i) { sums(y * bm + i, x) = rows(i); });
        b.copy(acc, C(y * bm, x * bn));
      });
    });
  s.same_bits = true;
  for (int64_t m : {int64_t{130}, int64_t{1}, int64_t{64}, int64_t{130}}) {
    if (!v["dynamic"] && m != 130) continue;
    const Reals a = whole(m * k, -3, 3, 1), w = whole(n * k, -3, 3, 2), bias = whole(n, -9, 9, 3);
    Reals c(m * n), sums(m * 2, 0);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        Real sum = bias[j];
        for (int64_t t = 0; t < k; ++t) sum += a[i * k + t] * w[j * k + t];
        c[i * n + j] = std::max(sum, Real(0));
        sums[i * 2 + j / bn] += c[i * n + j];
      }
    s.launch(v["dynamic"] ? std::vector<int64_t>{m} : std::vector<int64_t>{}).input(dtype, a).input(dtype, w).input(sum_type, bias).output(sum_type, exactly(c)).output(sum_type, exactly(sums)).max_blocks = persistent ? 3 : 0;
  }
  return s;
}

// 84. Two products in one loop, one of whose operands is made anew in each trip; their sums meet after it.
Scenario split_two_products(const Values& v) {
  const int64_t m = 64, n = 32, k = 7 * 32;
  Scenario s;
  for (int64_t parts : {int64_t{1}, v["parts"]})
    s.program([&](tl::Builder& b) {
      auto A = b.input("A", tl::bf16, {m, k}), B = b.input("B", tl::bf16, {k, n}), G = b.input("G", tl::bf16, {k, n}), C = b.output("C", tl::f32, {m, n});
      b.grid({1}, tl::Hints().split_k(parts), [&](tl::Index) {
        auto a = b.shared(tl::bf16, {m, 32}), w = b.shared(tl::bf16, {32, n}), g = b.shared(tl::bf16, {32, n}), twice = b.shared(tl::bf16, {32, n});
        auto up = b.fragment(tl::f32, {m, n}), gate = b.fragment(tl::f32, {m, n});
        b.clear(up);
        b.clear(gate);
        b.pipelined(k / 32, tl::stages(2), [&](tl::Index i) {
          b.copy(A(0, i * 32), a);
          b.copy(B(i * 32, 0), w);
          b.copy(G(i * 32, 0), g);
          b.parallel({32, n}, [&](tl::Index r, tl::Index c) { twice(r, c) = g(r, c) + g(r, c); });
          b.gemm(a, w, up);
          b.gemm(a, twice, gate);
        });
        b.parallel({m, n}, [&](tl::Index i, tl::Index j) { up(i, j) = up(i, j) * gate(i, j); });
        b.copy(up, C);
      });
    });
  s.same_bits = true;
  const Reals a = whole(m * k, -1, 1, 4), w = whole(k * n, -1, 1, 5), g = whole(k * n, -1, 1, 6);
  Reals c(m * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Real up = 0, gate = 0;
      for (int64_t t = 0; t < k; ++t) up += a[i * k + t] * w[t * n + j], gate += 2 * a[i * k + t] * g[t * n + j];
      c[i * n + j] = up * gate;
    }
  for (int again = 0; again < 2; ++again) s.launch().input(tl::bf16, a).input(tl::bf16, w).input(tl::bf16, g).output(tl::f32, exactly(c));
  return s;
}

// 84. Sums that are not exact: the parts are added in their order, whoever comes last, so that each of many launches gives the
// same bits.
Scenario order_of_parts(const Values& v) {
  const int64_t m = v["rows"], n = 16, k = 8 * 16;
  Scenario s;
  for (int program = 0; program < 2; ++program)
    s.program([&](tl::Builder& b) {
      auto A = b.input("A", tl::f16, {m, k}), B = b.input("B", tl::f16, {n, k}), C = b.output("C", tl::f32, {m, n});
      b.grid({1}, tl::Hints().split_k(v["parts"]), [&](tl::Index) {
        auto a = b.shared(tl::f16, {m, 16}), w = b.shared(tl::f16, {n, 16});
        auto acc = b.fragment(tl::f32, {m, n});
        b.clear(acc);
        b.pipelined(k / 16, tl::stages(2), [&](tl::Index i) {
          b.copy(A(0, i * 16), a);
          b.copy(B(0, i * 16), w);
          b.gemm(a, w, acc, tl::trans_b);
        });
        b.copy(acc, C);
      });
    });
  s.same_bits = true;
  const Reals a = uniform(tl::f16, m * k, 4), w = uniform(tl::f16, n * k, 5);
  Reals c(m * n, 0), sizes = c;
  for (int64_t i = 0; i < m * n; ++i)
    for (int64_t t = 0; t < k; ++t) {
      const Real x = a[i / n * k + t] * w[i % n * k + t];
      c[i] += x, sizes[i] += std::fabs(x);
    }
  for (int again = 0; again < 2; ++again) s.launch().input(tl::f16, a).input(tl::f16, w).output(tl::f32, nearly(tl::f32, c, sizes, k));
  return s;
}

// 84. More tiles than have counters: each is made by one block.
Scenario many_tiles(const Values&) {
  const int64_t n = 4100 * 16;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N");
    auto A = b.input("A", tl::f16, {16, 48}), B = b.input("B", tl::f16, {N, 48}), C = b.output("C", tl::f32, {16, N});
    b.grid({tl::ceildiv(N, 16)}, tl::threads(32).split_k(3), [&](tl::Index x) {
      auto a = b.shared(tl::f16, {16, 16}), w = b.shared(tl::f16, {16, 16});
      auto acc = b.fragment(tl::f32, {16, 16});
      b.clear(acc);
      b.pipelined(3, tl::stages(2), [&](tl::Index i) {
        b.copy(A(0, i * 16), a);
        b.copy(B(x * 16, i * 16), w);
        b.gemm(a, w, acc, tl::trans_b);
      });
      b.copy(acc, C(0, x * 16));
    });
  });
  for (int64_t columns : {int64_t{40}, int64_t{39}, n}) {
    const Reals a = whole(16 * 48, -2, 2, 7), w = whole(columns * 48, -2, 2, 8);
    Reals c(16 * columns, 0);
    for (int64_t i = 0; i < 16; ++i)
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t t = 0; t < 48; ++t) c[i * columns + j] += a[i * 48 + t] * w[j * 48 + t];
    s.launch({columns}).input(tl::f16, a).input(tl::f16, w).output(tl::f32, exactly(c));
  }
  return s;
}

// 84. c = act(a · bᵀ + bias) + residual whose parts meet in clusters where the target has them: weights or tokens on the instruction's
// rows, results of 32 and 16 bits, staged or not, ends inside in every dim, more parts than trips, each with trips enough
// that its ring goes round, several tiles to a cluster, no rows.
Scenario split_in_clusters(const Values& v) {
  const bool swapped = v["form"] == 1, wide = v["form"] == 2;
  const tl::DType dtype = v.dtype(), sum_type = dtype == tl::i8 ? tl::i32 : tl::f32, out = v["narrow"] && dtype != tl::i8 ? dtype : sum_type;
  const int64_t bm = wide ? 128 : swapped ? 16 : 64, bn = swapped ? 64 : 32, bk = 128 / (dtype == tl::i8 ? 1 : 2), n = 88;
  Scenario s;
  s.same_bits = true;
  for (const int64_t parts : {int64_t{1}, v["parts"]})
    s.program([&](tl::Builder& b) {
      const tl::Expr M = b.dim("M"), K = b.dim("K", tl::DimOptions().divisible(16));
      auto A = b.input("A", dtype, {M, K}), B = b.input("B", dtype, {n, K}), bias = b.input("bias", sum_type, {n});
      auto residual = b.input("residual", out, {M, n}), C = b.output("C", out, {M, n});
      auto hints = tl::Hints().split_k(parts);
      if (v["persistent"]) hints.persistent();
      b.grid({tl::ceildiv(n, bn), tl::ceildiv(M, bm)}, hints, [&](tl::Index x, tl::Index y) {
        auto a = b.shared(dtype, {bm, bk}), w = b.shared(dtype, {bn, bk});
        auto acc = swapped ? b.fragment(sum_type, {bn, bm}) : b.fragment(sum_type, {bm, bn});
        b.clear(acc);
        b.pipelined(tl::ceildiv(K, bk), tl::stages(3), [&](tl::Index i) {
          b.copy(A(y * bm, i * bk), a);
          b.copy(B(x * bn, i * bk), w);
          if (swapped) b.gemm(w, a, acc, tl::trans_b);
          else b.gemm(a, w, acc, tl::trans_b);
        });
        const auto value = [&](const tl::Expr& sum, const tl::Expr& i, const tl::Expr& j) {
          return tl::max(sum + bias(x * bn + j), b.constant(sum_type, 0)) + tl::cast(sum_type, residual(y * bm + i, x * bn + j));
        };
        if (swapped) {
          b.parallel({bn, bm}, [&](tl::Index j, tl::Index i) { C(y * bm + i, x * bn + j) = tl::cast(out, value(acc(j, i), i, j)); });
          return;
        }
        auto result = b.fragment(out, {bm, bn});
        b.parallel({bm, bn}, [&](tl::Index i, tl::Index j) { result(i, j) = tl::cast(out, value(acc(i, j), i, j)); });
        b.copy(result, C(y * bm, x * bn));
      });
    });
  for (const auto& [m, k] : {std::pair<int64_t, int64_t>{150, 5 * bk + 16}, {bm + 1, 2 * bk}, {0, bk}, {7, 48}, {17, 20 * bk}, {150, 5 * bk + 16}}) {
    const Reals a = whole(m * k, -1, 1, 1), w = whole(n * k, -1, 1, 2), bias = whole(n, -9, 9, 3), residual = whole(m * n, -5, 5, 4);
    Reals c(static_cast<size_t>(m * n));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        Real sum = bias[static_cast<size_t>(j)];
        for (int64_t t = 0; t < k; ++t) sum += a[static_cast<size_t>(i * k + t)] * w[static_cast<size_t>(j * k + t)];
        c[static_cast<size_t>(i * n + j)] = std::max(sum, Real(0)) + residual[static_cast<size_t>(i * n + j)];
      }
    Launch& launch = s.launch({m, k});
    launch.input(dtype, a).input(dtype, w).input(sum_type, bias).input(out, residual).output(out, exactly(c));
    if (v["persistent"]) launch.max_blocks = 2 * v["parts"];
  }
  return s;
}

// 84. Two sums of a loop meet, of products whose first operand is read by instructions or cast into registers on the way.
Scenario split_two_sums(const Values& v) {
  const int64_t m = 128, n = 24, bk = 64, k = 7 * bk;
  const tl::DType first = v["cast"] ? tl::i8 : tl::bf16;
  Scenario s;
  s.same_bits = true;
  for (const int64_t parts : {int64_t{1}, v["parts"]})
    s.program([&](tl::Builder& b) {
      auto A = b.input("A", first, {m, k}), B = b.input("B", tl::bf16, {n, k}), G = b.input("G", tl::bf16, {n, k}), C = b.output("C", tl::f32, {m, n});
      b.grid({m / 64}, tl::Hints().split_k(parts), [&](tl::Index y) {
        auto a = b.shared(first, {64, bk}), w = b.shared(tl::bf16, {n, bk}), g = b.shared(tl::bf16, {n, bk});
        auto up = b.fragment(tl::f32, {64, n}), gate = b.fragment(tl::f32, {64, n});
        b.clear(up);
        b.clear(gate);
        b.pipelined(k / bk, tl::stages(2), [&](tl::Index i) {
          b.copy(A(y * 64, i * bk), a);
          b.copy(B(0, i * bk), w);
          b.copy(G(0, i * bk), g);
          b.gemm(a, w, up, tl::trans_b);
          b.gemm(a, g, gate, tl::trans_b);
        });
        b.parallel({64, n}, [&](tl::Index i, tl::Index j) { up(i, j) = up(i, j) * gate(i, j); });
        b.copy(up, C(y * 64, 0));
      });
    });
  const Reals a = whole(m * k, -1, 1, 4), w = whole(n * k, -1, 1, 5), g = whole(n * k, -1, 1, 6);
  Reals c(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Real up = 0, gate = 0;
      for (int64_t t = 0; t < k; ++t) up += a[static_cast<size_t>(i * k + t)] * w[static_cast<size_t>(j * k + t)], gate += a[static_cast<size_t>(i * k + t)] * g[static_cast<size_t>(j * k + t)];
      c[static_cast<size_t>(i * n + j)] = up * gate;
    }
  for (int again = 0; again < 2; ++again) s.launch().input(first, a).input(tl::bf16, w).input(tl::bf16, g).output(tl::f32, exactly(c));
  return s;
}

}  // namespace

void add_split_cases(std::vector<Case>& to) {
  to.push_back({"84", "split_products",
                {{"parts", {2, 3, 9}}, {"K", {160, 320, 328}}, {"tile", {64, 128}}, {"persistent", {0, 1}}, {"dynamic", {0, 1}}, dtypes({tl::f16, tl::i8})},
                split_products});
  to.push_back({"84", "split_two_products", {{"parts", {2, 7}}}, split_two_products});
  to.push_back({"84", "split_order_of_parts", {{"parts", {2, 3, 8}}, {"rows", {16, 64}}}, order_of_parts});
  to.push_back({"84", "split_many_tiles", {}, many_tiles});
  to.push_back({"84", "split_in_clusters", {{"parts", {2, 4, 5}}, {"form", {0, 1, 2}}, {"persistent", {0, 1}}, {"narrow", {0, 1}}, dtypes({tl::bf16, tl::i8})}, split_in_clusters});
  to.push_back({"84", "split_two_sums", {{"parts", {2, 3}}, {"cast", {0, 1}}}, split_two_sums});
}

}  // namespace tilert::conformance
