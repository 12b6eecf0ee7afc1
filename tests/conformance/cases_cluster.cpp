// Case 85: clusters whose blocks share tensor copies: the same bits as without, whichever operand they share, in grids and loops over
// tiles, for tiles and trips that do not come out even.
#include <array>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// What the hint must bring about where there is such a thing.
tl::Hints clustered(int64_t blocks, tl::Hints hints = {}) {
  if (blocks > 1) hints.cluster(blocks).for_target("sm_90a").must();
  return hints;
}

Reals rows_product(const Reals& a, const Reals& w, int64_t m, int64_t n, int64_t k, bool w_is_nk) {
  Reals c(static_cast<size_t>(m * n), 0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < n; ++j)
        c[static_cast<size_t>(i * n + j)] += a[static_cast<size_t>(i * k + l)] * w[static_cast<size_t>(w_is_nk ? j * k + l : l * n + j)];
  return c;
}

// 85. c = relu(a · w + bias) for numbers of rows whose tiles make whole clusters and not, of trips from none on. Each tile of the grid
// counts itself: blocks beyond it do not. Form 0: a grid, 1: loops over tiles, 2: in columns one after the other, 3: parts of K.
Scenario clustered_products(const Values& v) {
  const tl::DType dtype = v.dtype(), sum_type = dtype == tl::i8 ? tl::i32 : tl::f32;
  const int64_t bm = v["M"], blocks = v["blocks"], bn = blocks == 3 ? 96 : v["N"], bk = dtype == tl::i8 ? 64 : 32, n = 2 * bn - 16, form = v["form"];
  const bool nk = dtype == tl::i8 || v["trans"] == 1;
  Scenario s;
  s.same_bits = true;
  for (const int64_t in_cluster : {int64_t{1}, blocks})
    s.program([&](tl::Builder& b) {
      const auto M = b.dim("M"), K = b.dim("K", tl::DimOptions().divisible(16));
      auto A = b.input("A", dtype, {M, K}), B = nk ? b.input("B", dtype, {n, K}) : b.input("B", dtype, {K, n});
      auto bias = b.input("bias", sum_type, {n}), C = b.output("C", sum_type == tl::i32 ? tl::i32 : dtype, {M, n});
      auto count = b.inout("count", tl::i32, {1});
      tl::Hints hints = clustered(in_cluster);
      if (form == 1 || form == 2) hints.persistent();
      if (form == 2) hints.raster(1);
      if (form == 3) hints.split_k(2);
      b.grid({tl::ceildiv(n, bn), tl::ceildiv(M, bm)}, hints, [&](tl::Index x, tl::Index y) {
        auto a = b.shared(dtype, {bm, bk}), w = nk ? b.shared(dtype, {bn, bk}) : b.shared(dtype, {bk, bn});
        auto acc = b.fragment(sum_type, {bm, bn});
        b.clear(acc);
        b.pipelined(tl::ceildiv(K, bk), tl::stages(2), [&](tl::Index k) {
          b.copy(A(y * bm, k * bk), a);
          if (nk) b.copy(B(x * bn, k * bk), w);
          else b.copy(B(k * bk, x * bn), w);
          b.gemm(a, w, acc, nk ? tl::trans_b : tl::GemmFlag{});
        });
        b.parallel({bm, bn}, [&](tl::Index i, tl::Index j) { acc(i, j) = acc(i, j) + bias(x * bn + j); });
        b.parallel({bm, bn}, [&](tl::Index i, tl::Index j) { acc(i, j) = tl::max(acc(i, j), b.constant(sum_type, 0)); });
        b.copy(acc, C(y * bm, x * bn));
        b.atomic_add(count(0), 1);
      });
    });
  for (const auto& [m, k, most] : {std::array<int64_t, 3>{3 * bm - 24, 5 * bk - 16, 0}, {bm, 2 * bk, 1}, {5 * bm, 0, 3}, {7 * bm - 60, bk, 5}, {0, bk, 0}}) {
    const Reals a = whole(m * k, -1, 1, 1), w = whole(n * k, -1, 1, 2), bias = whole(n, -4, 4, 3);
    Reals c = rows_product(a, w, m, n, k, nk);
    for (int64_t i = 0; i < m * n; ++i) c[static_cast<size_t>(i)] = std::max<Real>(c[static_cast<size_t>(i)] + bias[static_cast<size_t>(i % n)], 0);
    const int64_t tiles = (m + bm - 1) / bm * ((n + bn - 1) / bn);
    Launch& launch = s.launch({m, k});
    launch.input(dtype, a).input(dtype, w).input(sum_type, bias).output(sum_type == tl::i32 ? tl::i32 : dtype, exactly(c));
    launch.inout(tl::i32, {3}, exactly({static_cast<Real>(3 + tiles)}));
    if (form == 1 || form == 2) launch.max_blocks = most;
  }
  return s;
}

// 85. Trips are told apart by the tile's row, in memory: blocks beside each other share the rows, which their copy asks for or not.
Scenario shared_rows(const Values& v) {
  const int64_t bm = 64, bn = 32, bk = 32, columns = 3, n = columns * bn, rows = 2;
  Scenario s;
  s.same_bits = true;
  for (const int64_t in_cluster : {int64_t{1}, v["blocks"]})
    s.program([&](tl::Builder& b) {
      const auto K = b.dim("K", tl::DimOptions().divisible(8));
      auto A = b.input("A", tl::bf16, {rows * bm, K}), B = b.input("B", tl::bf16, {n, K});
      auto ends = b.input("ends", tl::i32, {rows}), C = b.output("C", tl::f32, {rows * bm, n});
      tl::Hints hints = clustered(in_cluster);
      if (v["persistent"]) hints.persistent();
      b.grid({columns, rows}, hints, [&](tl::Index x, tl::Index y) {
        auto a = b.shared(tl::bf16, {bm, bk}), w = b.shared(tl::bf16, {bn, bk});
        auto acc = b.fragment(tl::f32, {bm, bn});
        const auto trips = b.let(v["asked"] ? tl::ceildiv(K, bk) : tl::cast(tl::index, ends(y)));
        b.clear(acc);
        b.pipelined(trips, tl::stages(3), [&](tl::Index k) {
          b.copy(A(y * bm, k * bk), a, v["asked"] ? tl::CopyOptions().multicast() : tl::CopyOptions());
          b.copy(B(x * bn, k * bk), w);
          b.gemm(a, w, acc, tl::trans_b);
        });
        b.copy(acc, C(y * bm, x * bn));
      });
    });
  for (const int64_t most : {0, 2, 4}) {
    const int64_t k = 4 * bk + 8, ends[] = {v["asked"] ? 5 : most, v["asked"] ? 5 : 5 - most};
    const Reals a = whole(rows * bm * k, -2, 2, 5), w = whole(n * k, -2, 2, 6);
    Reals c(static_cast<size_t>(rows * bm * n), 0);
    for (int64_t i = 0; i < rows * bm; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t l = 0; l < std::min(k, ends[i / bm] * bk); ++l) c[static_cast<size_t>(i * n + j)] += a[static_cast<size_t>(i * k + l)] * w[static_cast<size_t>(j * k + l)];
    Launch& launch = s.launch({k});
    launch.input(tl::bf16, a).input(tl::bf16, w).input(tl::i32, {static_cast<Real>(ends[0]), static_cast<Real>(ends[1])}).output(tl::f32, exactly(c));
    if (v["persistent"]) launch.max_blocks = most;
  }
  return s;
}

// 85. Element-wise work of each trip reads a tile that the blocks share, and one of their own; slots are filled a third time, also from
// tile to tile of a cluster that makes all.
Scenario clustered_scales(const Values& v) {
  const int64_t bm = 64, bn = v["N"], bk = 64, blocks = 5, k = blocks * bk, tiles = 5, m = tiles * bm - 24, n = bn;
  Scenario s;
  s.same_bits = true;
  for (const int64_t in_cluster : {int64_t{1}, v["blocks"]})
    s.program([&](tl::Builder& b) {
      auto A = b.input("A", tl::e4m3, {m, k}), B = b.input("B", tl::e4m3, {n, k}), C = b.output("C", tl::f32, {m, n});
      auto rows = b.input("rows", tl::f32, {blocks, m}), columns = b.input("columns", tl::f32, {blocks, n});
      tl::Hints hints = clustered(in_cluster);
      if (v["persistent"]) hints.persistent();
      b.grid({1, tiles}, hints, [&](tl::Index, tl::Index y) {
        auto a = b.shared(tl::e4m3, {bm, bk}), w = b.shared(tl::e4m3, {bn, bk}), of_rows = b.shared(tl::f32, {1, bm}), of_columns = b.shared(tl::f32, {1, bn});
        auto part = b.fragment(tl::f32, {bm, bn}), total = b.fragment(tl::f32, {bm, bn});
        b.clear(total);
        b.pipelined(blocks, tl::stages(2), [&](tl::Index step) {
          b.copy(A(y * bm, step * bk), a);
          b.copy(B(0, step * bk), w);
          b.copy(rows(step, y * bm), of_rows);
          b.copy(columns(step, 0), of_columns);
          b.gemm(a, w, part, tl::trans_b | tl::overwrite);
          b.parallel({bm, bn}, [&](tl::Index i, tl::Index j) { total(i, j) = total(i, j) + part(i, j) * (of_rows(0, i) * of_columns(0, j)); });
        });
        b.copy(total, C(y * bm, 0));
      });
    });
  const Reals a = whole(m * k, -2, 2, 1), w = whole(n * k, -2, 2, 2), rows = whole(blocks * m, 1, 4, 3), columns = whole(blocks * n, 1, 2, 4);
  Reals c(static_cast<size_t>(m * n), 0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t l = 0; l < k; ++l)
        c[static_cast<size_t>(i * n + j)] += a[static_cast<size_t>(i * k + l)] * w[static_cast<size_t>(j * k + l)] * rows[static_cast<size_t>(l / bk * m + i)] *
                                            columns[static_cast<size_t>(l / bk * n + j)];
  Launch& launch = s.launch();
  launch.input(tl::e4m3, a).input(tl::e4m3, w).output(tl::f32, exactly(c)).input(tl::f32, rows).input(tl::f32, columns);
  if (v["persistent"]) launch.max_blocks = v["blocks"];
  return s;
}

}  // namespace

void add_cluster_cases(std::vector<Case>& to) {
  to.push_back({"85", "cluster_products",
                {{"blocks", {2, 4, 3}}, {"M", {64, 128}}, {"N", {64, 96, 128}}, {"form", {0, 1, 2, 3}}, {"trans", {0, 1}}, dtypes({tl::bf16, tl::f16, tl::i8})}, clustered_products});
  to.push_back({"85", "cluster_shared_rows", {{"blocks", {2, 4}}, {"persistent", {0, 1}}, {"asked", {0, 1}}}, shared_rows});
  to.push_back({"85", "cluster_scaled", {{"blocks", {2, 4}}, {"persistent", {0, 1}}, {"N", {64, 128}}}, clustered_scales});
}

}  // namespace tilert::conformance
