// Case 39: warpgroup products whose first operand comes through registers: weights that a loop makes floats of, operands of other
// types, products of what another product of the trip gave.
#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// What must come about where there are warpgroup products.
tl::Hints in_roles(const Values& v) {
  tl::Hints hints = tl::Hints().roles_on().for_target("sm_90a").must();
  if (v["persistent"]) hints.persistent();
  return hints;
}

Reals transposed_product(const Reals& w, const Reals& x, int64_t n, int64_t m, int64_t k) {
  Reals y(static_cast<size_t>(n * m), 0);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < m; ++j) y[static_cast<size_t>(i * m + j)] += w[static_cast<size_t>(i * k + l)] * x[static_cast<size_t>(j * k + l)];
  return y;
}

// 39. y = w xᵀ, w of a type of its own: 0 scaled by rows and blocks of K, element by element; 1 a fragment, cast on the way; 2 a tile, cast
// on the way; 3 a copy that casts; 4 a fragment with a tile of scales.
Scenario dequantized(const Values& v) {
  static constexpr tl::DType kWeights[] = {tl::i8, tl::u8, tl::e4m3, tl::f32};
  const tl::DType dtype = v.dtype(), from = v["weights"] < 4 ? kWeights[v["weights"]] : dtype;
  const int64_t bn = v["N"], bm = v["M"], bk = 64, n = 2 * bn - 24, m = bm + 8, blocks = 3, k = blocks * bk - 16, form = v["form"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto W = b.input("W", from, {n, k}), X = b.input("X", dtype, {m, k}), S = b.input("S", tl::f32, {blocks, n}), Y = b.output("Y", tl::f32, {n, m});
    b.grid({(n + bn - 1) / bn, (m + bm - 1) / bm}, in_roles(v), [&](tl::Index x, tl::Index y) {
      auto w = b.shared(from, {bn, bk}), t = b.shared(dtype, {bm, bk}), scales = b.shared(tl::f32, {1, bn});
      auto acc = b.fragment(tl::f32, {bn, bm});
      b.clear(acc);
      b.pipelined(blocks, tl::stages(2), [&](tl::Index step) {
        b.copy(W(x * bn, step * bk), w);
        b.copy(X(y * bm, step * bk), t);
        if (form == 4) b.copy(S(step, x * bn), scales);
        auto narrow = b.fragment(from, {bn, bk});
        auto wide = b.fragment(dtype, {bn, bk});
        if (form == 1 || form == 4) b.copy(w, narrow);
        if (form == 3) b.copy(w, wide);
        if (form == 0 || form == 4)
          b.parallel({bn, bk}, [&](tl::Index i, tl::Index j) {
            const auto value = tl::cast(tl::f32, form == 0 ? tl::Expr(w(i, j)) : tl::Expr(narrow(i, j)));
            wide(i, j) = tl::cast(dtype, value * (form == 0 ? tl::Expr(S(step, x * bn + i)) : tl::Expr(scales(0, i))));
          });
        if (form == 1) b.gemm(narrow, t, acc, tl::trans_b);
        else if (form == 2) b.gemm(w, t, acc, tl::trans_b);
        else b.gemm(wide, t, acc, tl::trans_b);
      });
      b.copy(acc, Y(x * bn, y * bm));
    });
  });
  const Reals w = whole(n * k, is_unsigned(from) ? 0 : -3, 3, 1), x = whole(m * k, -2, 2, 2), scales = whole(blocks * n, 1, 3, 3);
  Reals scaled = w;
  for (int64_t i = 0; i < n * k; ++i)
    if (form == 0 || form == 4) scaled[static_cast<size_t>(i)] *= scales[static_cast<size_t>(i % k / bk * n + i / k)];
  Launch& launch = s.launch();
  launch.input(from, w).input(dtype, x).input(tl::f32, scales).output(tl::f32, exactly(transposed_product(scaled, x, n, m, k)));
  if (v["persistent"]) launch.max_blocks = 2;
  return s;
}

// 39. Operands that instructions take as they are, from a fragment.
Scenario as_they_are(const Values& v) {
  struct FragmentTypes {
    tl::DType a, b, sum;
  };
  static constexpr FragmentTypes kFragmentTypes[] = {{tl::f16, tl::f16, tl::f32}, {tl::bf16, tl::bf16, tl::f32}, {tl::f32, tl::f32, tl::f32},
                                     {tl::i8, tl::u8, tl::i32},   {tl::e5m2, tl::e4m3, tl::f32}};
  const FragmentTypes types = kFragmentTypes[v["types"]];
  const bool tf32 = types.a == tl::f32;
  const int64_t bm = v["M"], bn = v["N"], bk = tf32 ? 32 : 64, m = bm + 24, n = bn, k = 3 * bk;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", types.a, {m, k}), B = b.input("B", types.b, {n, k}), C = b.output("C", types.sum, {m, n});
    b.grid({1, (m + bm - 1) / bm}, in_roles(v), [&](tl::Index, tl::Index y) {
      auto a = b.shared(types.a, {bm, bk}), w = b.shared(types.b, {bn, bk});
      auto acc = b.fragment(types.sum, {bm, bn});
      b.clear(acc);
      b.pipelined(3, tl::stages(2), [&](tl::Index step) {
        auto own = b.fragment(types.a, {bm, bk});
        b.copy(A(y * bm, step * bk), a);
        b.copy(B(0, step * bk), w);
        b.copy(a, own);
        b.gemm(own, w, acc, tf32 ? tl::trans_b | tl::tf32 : tl::trans_b);
      });
      b.copy(acc, C(y * bm, 0));
    });
  });
  const Reals a = whole(m * k, is_unsigned(types.a) ? 0 : -2, 2, 1), w = whole(n * k, is_unsigned(types.b) ? 0 : -2, 2, 2);
  Launch& launch = s.launch();
  launch.input(types.a, a).input(types.b, w).output(types.sum, exactly(transposed_product(a, w, m, n, k)));
  if (v["persistent"]) launch.max_blocks = 1;
  return s;
}

// 39. o += relu(q kᵀ) v, and the greatest of each row, with a fragment that was filled before the loop where q is its tile of it.
Scenario chained_in_registers(const Values& v) {
  const tl::DType dtype = v.dtype();
  const int64_t bm = v["M"], bn = v["N"], d = 64, keys = 3 * bn, m = bm + 16;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto Q = b.input("Q", dtype, {m, d}), K = b.input("K", dtype, {keys, d}), V = b.input("V", dtype, {keys, d});
    auto O = b.output("O", tl::f32, {m, d}), most = b.output("most", tl::f32, {m});
    b.grid({(m + bm - 1) / bm}, in_roles(v), [&](tl::Index x) {
      auto q = b.fragment(dtype, {bm, d}), p = b.fragment(dtype, {bm, bn});
      auto key = b.shared(dtype, {bn, d}), value = b.shared(dtype, {bn, d});
      auto score = b.fragment(tl::f32, {bm, bn}), o = b.fragment(tl::f32, {bm, d}), top = b.fragment(tl::f32, {bm});
      b.copy(Q(x * bm, 0), q);
      b.clear(o);
      b.fill(top, -tl::inf);
      b.pipelined(3, tl::stages(2), [&](tl::Index j) {
        b.copy(K(j * bn, 0), key);
        b.copy(V(j * bn, 0), value);
        b.gemm(q, key, score, tl::trans_b | tl::overwrite);
        b.reduce(tl::max, score, top, 1, tl::accumulate);
        b.parallel({bm, bn}, [&](tl::Index i, tl::Index c) { p(i, c) = tl::cast(dtype, tl::max(score(i, c), 0.f)); });
        b.gemm(p, value, o);
      });
      b.copy(o, O(x * bm, 0));
      b.copy(top, most(x * bm));
    });
  });
  const Reals q = whole(m * d, -1, 1, 1), k = whole(keys * d, -1, 1, 2), values = whole(keys * d, -1, 1, 3);
  Reals score = transposed_product(q, k, m, keys, d), o(static_cast<size_t>(m * d), 0), most(static_cast<size_t>(m));
  for (int64_t i = 0; i < m; ++i) {
    most[static_cast<size_t>(i)] = score[static_cast<size_t>(i * keys)];
    for (int64_t c = 0; c < keys; ++c) {
      const Real x = score[static_cast<size_t>(i * keys + c)];
      most[static_cast<size_t>(i)] = std::max(most[static_cast<size_t>(i)], x);
      for (int64_t j = 0; j < d && x > 0; ++j) o[static_cast<size_t>(i * d + j)] += x * values[static_cast<size_t>(c * d + j)];
    }
  }
  Launch& launch = s.launch();
  launch.input(dtype, q).input(dtype, k).input(dtype, values).output(tl::f32, exactly(o)).output(tl::f32, exactly(most));
  if (v["persistent"]) launch.max_blocks = 1;
  return s;
}

}  // namespace

void add_register_operand_cases(std::vector<Case>& to) {
  to.push_back({"39", "warpgroup_dequantized",
                {{"weights", {0, 1, 2, 3, 4}}, {"form", {0, 1, 2, 3, 4}}, {"N", {64, 128}}, {"M", {16, 64}}, {"persistent", {0, 1}}, dtypes({tl::bf16, tl::f16})}, dequantized});
  to.push_back({"39", "warpgroup_fragment_operands", {{"types", {0, 1, 2, 3, 4}}, {"M", {64, 128, 100}}, {"N", {32, 96}}, {"persistent", {0, 1}}}, as_they_are});
  to.push_back({"39", "warpgroup_chained", {dtypes({tl::bf16, tl::f16}), {"M", {64, 128}}, {"N", {64, 32}}, {"persistent", {0, 1}}}, chained_in_registers});
}

}  // namespace tilert::conformance
