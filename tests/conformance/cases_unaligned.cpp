// Case 89: products of warpgroups whose operands' rows do not start on 16 bytes: the producer's threads fill the ring, by
// asynchronous pieces of 4 and 8 bytes or element by element, alone or beside the tensor copy engine. Rings go round, blocks make
// several tiles, rows end inside a piece.
#include <algorithm>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

struct Side {
  int64_t rows, columns, leading;
  bool transposed;
  Reals data;

  Side(int64_t mn, int64_t k, bool t, int64_t apart, uint64_t seed)
      : rows(t ? k : mn), columns(t ? mn : k), leading(columns + apart), transposed(t), data(whole((rows - 1) * leading + columns, -3, 3, seed)) {}
  Real at(int64_t mn, int64_t k) const { return transposed ? data[k * leading + mn] : data[mn * leading + k]; }
};

// 89. c = a bᵀ, a and b along K or along M and N; each operand's rows so many elements apart.
Scenario unaligned_products(const Values& v) {
  const tl::DType dtype = v.dtype();
  const bool narrow = bits_of(dtype) == 8, wide = dtype == tl::f32;
  const bool trans_a = !narrow && !wide && v["trans"] % 2 == 1, trans_b = !narrow && !wide && v["trans"] / 2 == 1;
  const int64_t bm = v["tile"], bn = 32, bk = narrow ? 64 : wide ? 16 : 32, k = (v["stages"] + 1) * bk + v["K"], n = 40, most = v["tile"] + 3;
  const int64_t apart_a = v["a"], apart_b = v["b"];
  const tl::DType sum_type = dtype == tl::i8 ? tl::i32 : tl::f32;
  Scenario s;
  s.program([&](tl::Builder& b) {
    const tl::Expr M = b.dim("M");
    const auto operand = [&](const char* name, const tl::Expr& mn, bool t, int64_t mn_most, int64_t apart) {
      const tl::TensorOptions rows = tl::TensorOptions().strides({(t ? mn_most : k) + apart, 1});
      return t ? b.input(name, dtype, {k, mn}, rows) : b.input(name, dtype, {mn, k}, rows);
    };
    auto A = operand("A", M, trans_a, most, apart_a), B = operand("B", tl::Expr(n), trans_b, n, apart_b), C = b.output("C", sum_type, {M, n});
    tl::Hints hints = tl::Hints().roles_on().must().for_target("sm_90a").consumers(v["consumers"]);
    if (v["cluster"]) hints.cluster(2);  // the engine's copies are shared, the threads' are each block's own
    if (v["persistent"]) hints.persistent();
    b.grid({tl::ceildiv(n, bn), tl::ceildiv(M, bm)}, hints, [&](tl::Index x, tl::Index y) {
      auto a = trans_a ? b.shared(dtype, {bk, bm}) : b.shared(dtype, {bm, bk}), w = trans_b ? b.shared(dtype, {bk, bn}) : b.shared(dtype, {bn, bk});
      auto acc = b.fragment(sum_type, {bm, bn});
      b.clear(acc);
      b.pipelined(tl::ceildiv(k, bk), tl::stages(static_cast<uint32_t>(v["stages"])), [&](tl::Index i) {
        trans_a ? b.copy(A(i * bk, y * bm), a) : b.copy(A(y * bm, i * bk), a);
        trans_b ? b.copy(B(i * bk, x * bn), w) : b.copy(B(x * bn, i * bk), w);
        tl::GemmFlag flags = wide ? tl::tf32 : tl::GemmFlag{};
        if (trans_a) flags = flags | tl::trans_a;
        if (!trans_b) flags = flags | tl::trans_b;
        b.gemm(a, w, acc, flags);
      });
      b.copy(acc, C(y * bm, x * bn));
    });
  });
  for (int64_t m : {most, int64_t{1}}) {
    Side a(trans_a ? most : m, k, trans_a, apart_a, 1);
    const Side w(n, k, trans_b, apart_b, 2);
    Reals c(m * n, 0);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t e = 0; e < k; ++e) c[i * n + j] += a.at(i, e) * w.at(j, e);
    if (trans_a) a.data.resize((a.rows - 1) * a.leading + m), a.columns = m;
    Launch& launch = s.launch({m});
    launch.max_blocks = v["persistent"] ? 2 : 0;
    launch.input(dtype, a.data).placed({a.rows, a.columns}, {a.leading, 1}).input(dtype, w.data).placed({w.rows, w.columns}, {w.leading, 1});
    launch.output(sum_type, exactly(c));
  }
  return s;
}

// 89. What the loop works with beside its product, one row for a trip: scales whose rows are dims apart, on 16 bytes or not.
Scenario unaligned_scales(const Values& v) {
  const int64_t bm = 64, bn = 16, bk = 32, n = 16, k = (v["stages"] + 3) * bk;  // pairs of trips go round the ring
  Scenario s;
  s.program([&](tl::Builder& b) {
    const tl::Expr M = b.dim("M");
    auto A = b.input("A", tl::bf16, {M, k}, tl::TensorOptions().strides({k + v["a"], 1})), B = b.input("B", tl::bf16, {n, k}), S = b.input("S", tl::f32, {k / bk, M});
    auto C = b.output("C", tl::f32, {M, n});
    b.grid({tl::ceildiv(M, bm)}, tl::persistent().roles_on().must().for_target("sm_90a"), [&](tl::Index y) {
      auto a = b.shared(tl::bf16, {bm, bk}), w = b.shared(tl::bf16, {bn, bk}), scale = b.shared(tl::f32, {1, bm});
      auto part = b.fragment(tl::f32, {bm, bn}), total = b.fragment(tl::f32, {bm, bn});
      b.clear(total);
      b.pipelined(k / bk, tl::stages(static_cast<uint32_t>(v["stages"])), [&](tl::Index i) {
        b.copy(A(y * bm, i * bk), a);
        b.copy(B(0, i * bk), w);
        b.copy(S(i, y * bm), scale);
        b.gemm(a, w, part, tl::trans_b | tl::overwrite);
        b.parallel({bm, bn}, [&](tl::Index r, tl::Index c) { total(r, c) = tl::fma(part(r, c), scale(0, r), total(r, c)); });
      });
      b.copy(total, C(y * bm, 0));
    });
  });
  for (int64_t m : {64, 70}) {
    const Side a(m, k, false, v["a"], 3), w(n, k, false, 0, 4);
    const Reals scale = whole(k / bk * m, -2, 2, 5);
    Reals c(m * n, 0);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t e = 0; e < k; ++e) c[i * n + j] += a.at(i, e) * w.at(j, e) * scale[e / bk * m + i];
    s.launch({m}).input(tl::bf16, a.data).placed({m, k}, {a.leading, 1}).input(tl::bf16, w.data).input(tl::f32, scale).output(tl::f32, exactly(c)).max_blocks = 1;
  }
  return s;
}

}  // namespace

void add_unaligned_cases(std::vector<Case>& to) {
  to.push_back({"89", "unaligned_operands",
                {{"K", {0, 1, 14}}, {"a", {0, 1, 2, 4}}, {"b", {0, 1, 2}}, {"trans", {0, 1, 2, 3}}, {"tile", {64, 128, 192}}, {"stages", {2, 3, 5}}, {"consumers", {1, 2}}, {"persistent", {0, 1}}, {"cluster", {0, 1}},
                 dtypes({tl::bf16, tl::f16, tl::e4m3, tl::i8, tl::f32})},
                unaligned_products});
  to.push_back({"89", "unaligned_scales", {{"a", {0, 1, 2}}, {"stages", {2, 4}}}, unaligned_scales});
}

}  // namespace tilert::conformance
