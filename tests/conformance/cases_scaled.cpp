// Case 83, scaled products as an operation: sums of blocks of K times the blocks' scales.
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// Powers of two, so that sums stay exact.
Reals scales_of(int64_t count, uint64_t seed) {
  Reals s = whole(static_cast<size_t>(count), -2, 2, seed);
  for (Real& e : s) e = std::ldexp(Real{1}, static_cast<int>(e));
  return s;
}

// Blocks of rows and of columns, and of K to each side.
struct Blocks {
  int64_t m, n, a_k, b_k;
  bool trans_a, trans_b;  // how the scales lie
};

// One block: tiles' scales or tensors', either of them alone; what was there is added to, overwritten, or one by a condition.
Scenario scaled_block(const Values& v) {
  const int64_t m = 64, n = 48, k = v["K"], sum = v["sum"], which = v["which"];
  const bool trans_b = v["trans"] % 2 == 1, in_tiles = v["tiles"] == 1, sparse = v["sparse"] == 1;
  const tl::DType dtype = v.dtype(), type = static_cast<tl::DType>(v["scales"]);
  const Blocks q{v["rows"], 3, k / v["deep"], v["deep"] == 16 ? 1 : k / 32, v["trans"] / 2 == 1, v["trans"] != 1};
  const int64_t kept = sparse ? k / 2 : k;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", dtype, {m, kept}), B = trans_b ? b.input("B", dtype, {n, k}) : b.input("B", dtype, {k, n});
    auto SA = q.trans_a ? b.input("SA", type, {q.a_k, q.m}) : b.input("SA", type, {q.m, q.a_k});
    auto SB = q.trans_b ? b.input("SB", type, {q.n, q.b_k}) : b.input("SB", type, {q.b_k, q.n});
    auto P = b.input("P", tl::u8, {m, k / 8});
    auto C = b.inout("C", tl::f32, {m, n});
    b.grid({2}, [&](tl::Index block) {
      auto a = b.shared(dtype, {m, kept}), w = trans_b ? b.shared(dtype, {n, k}) : b.shared(dtype, {k, n}), p = b.shared(tl::u8, {m, k / 8});
      auto sa = q.trans_a ? b.shared(type, {q.a_k, q.m}) : b.shared(type, {q.m, q.a_k});
      auto sb = q.trans_b ? b.fragment(type, {q.n, q.b_k}) : b.fragment(type, {q.b_k, q.n});
      auto c = b.fragment(tl::f32, {m, n});
      b.copy(A, a);
      b.copy(B, w);
      if (sparse) b.copy(P, p);
      if (in_tiles && which != 1) b.copy(SA, sa);
      if (in_tiles && which != 0) b.copy(SB, sb);
      tl::GemmFlag flags = trans_b ? tl::trans_b : tl::GemmFlag{};
      if (q.trans_a) flags = flags | tl::trans_a_scale;
      if (q.trans_b) flags = flags | tl::trans_b_scale;
      tl::GemmOptions options = flags;
      if (which != 1) options.scaled_a(in_tiles ? tl::Region(sa) : tl::Region(SA));
      if (which != 0) options.scaled_b(in_tiles ? tl::Region(sb) : tl::Region(SB));
      if (sparse) options.sparse(p);
      if (sum != 1) b.copy(C, c);
      if (sum == 1) options.flags |= TILERT_GEMM_OVERWRITE;
      if (sum == 2) options.accumulate_if(block == 1);
      b.if_(block == 1, [&] {
        b.gemm(a, w, c, options);
        b.copy(c, C);
      });
    });
  });
  const Reals a = whole(static_cast<size_t>(m * kept), -3, 3, 1), w = whole(static_cast<size_t>(n * k), -3, 3, 2), sa = scales_of(q.m * q.a_k, 3), sb = scales_of(q.n * q.b_k, 4);
  const Reals old = whole(static_cast<size_t>(m * n), -9, 9, 5), pairs = whole(static_cast<size_t>(m * k / 4), 0, 5, 6);  // of each four, which two are kept
  static constexpr int kKept[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  const auto kept_of = [&](int64_t i, int64_t e) { return kKept[static_cast<size_t>(pairs[static_cast<size_t>(i * k / 4 + e / 2)])][e % 2]; };
  Reals places(static_cast<size_t>(m * k / 8));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t e = 0; e < k / 2; ++e) places[static_cast<size_t>((i * (k / 2) + e) / 4)] += static_cast<Real>(kept_of(i, e) << (e % 4 * 2));
  Reals c = sum == 1 ? Reals(static_cast<size_t>(m * n)) : old;
  const auto at = [](int64_t i, int64_t j) { return static_cast<size_t>(i + j); };
  for (int64_t i = 0; i < m; ++i)
    for (int64_t e = 0; e < kept; ++e) {
      const int64_t in_k = !sparse ? e : e / 2 * 4 + kept_of(i, e), row = i * q.m / m, of_a = in_k * q.a_k / k, of_b = in_k * q.b_k / k;
      const Real x = a[at(i * kept, e)] * (which == 1 ? 1 : sa[q.trans_a ? at(of_a * q.m, row) : at(row * q.a_k, of_a)]);
      for (int64_t j = 0; j < n; ++j) {
        const int64_t column = j * q.n / n;
        c[at(i * n, j)] += x * w[trans_b ? at(j * k, in_k) : at(in_k * n, j)] * (which == 0 ? 1 : sb[q.trans_b ? at(column * q.b_k, of_b) : at(of_b * q.n, column)]);
      }
    }
  s.launch().input(dtype, a).input(dtype, w).input(type, sa).input(type, sb).input(tl::u8, places).inout(tl::f32, old, exactly(c));
  return s;
}

// Over a grid, a block of K to a trip, as kernels with roles take it: the scales of A in a tile of the ring, those of B where they are.
Scenario scaled_grid(const Values& v) {
  const int64_t bm = 64, bn = v["tile_n"], bk = 64, n = 128, k = v["K"];
  const tl::DType dtype = v.dtype();
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto M = b.dim("M");
    const int64_t blocks = (k + bk - 1) / bk;
    auto A = b.input("A", dtype, {M, k}), B = b.input("B", dtype, {n, k});
    auto SA = b.input("SA", tl::f32, {blocks, M}), SB = b.input("SB", tl::f32, {n / 64, blocks});
    auto C = b.output("C", tl::f32, {M, n});
    b.grid({n / bn, tl::ceildiv(M, bm)}, v["roles"] ? tl::Hints() : tl::Hints().roles_off(), [&](tl::Index x, tl::Index y) {
      auto a = b.shared(dtype, {bm, bk}), w = b.shared(dtype, {bn, bk}), sa = b.shared(tl::f32, {1, bm});
      auto c = b.fragment(tl::f32, {bm, bn});
      b.clear(c);
      b.pipelined(blocks, tl::stages(3), [&](tl::Index kk) {
        b.copy(A(y * bm, kk * bk), a);
        b.copy(B(x * bn, kk * bk), w);
        b.copy(SA(kk, y * bm), sa);
        b.gemm(a, w, c, tl::scaled(sa, SB(x * (bn / 64), kk).size({bn / 64, 1})) | (tl::trans_b | tl::trans_a_scale | tl::trans_b_scale));
      });
      b.copy(c, C(y * bm, x * bn));
    });
  });
  for (const int64_t m : {70, 1, 128}) {
    const int64_t blocks = (k + bk - 1) / bk;
    const Reals a = whole(static_cast<size_t>(m * k), -3, 3, 1), w = whole(static_cast<size_t>(n * k), -3, 3, 2), sa = scales_of(blocks * m, 3), sb = scales_of(n / 64 * blocks, 4);
    Reals c(static_cast<size_t>(m * n));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t e = 0; e < k; ++e)
          c[static_cast<size_t>(i * n + j)] += a[static_cast<size_t>(i * k + e)] * w[static_cast<size_t>(j * k + e)] * sa[static_cast<size_t>(e / bk * m + i)] *
                                               sb[static_cast<size_t>(j / 64 * blocks + e / bk)];
    s.launch({m}).input(dtype, a).input(dtype, w).input(tl::f32, sa).input(tl::f32, sb).output(tl::f32, exactly(c));
  }
  return s;
}

// What is no scaled product is refused by name.
Scenario refused_scales(const Values& v) {
  Scenario s;
  const int64_t of = v["of"];
  static const std::vector<std::vector<std::string>> words = {{"i32", "sums of scaled blocks are f32"}, {"i8", "floats of at most 32 bits"}, {"3 blocks by 2 along K", "evenly"},
                                                              {"needs extents"}, {"at most 64"}, {"blocks of 8 elements of K", "speaks of 16"}};
  s.program([&](tl::Builder& b) {
    auto T = b.input("T", tl::f32, {b.dim("M"), 2});
    b.grid({1}, [&](tl::Index) {
      const tl::DType dtype = of == 0 ? tl::i8 : tl::f16;
      const int64_t k = of == 4 ? 130 : 16;
      auto a = b.shared(dtype, {8, of == 5 ? k / 2 : k}), w = b.shared(dtype, {k, 8});
      auto sa = of == 2 ? b.shared(tl::f32, {3, 2}) : of == 1 ? b.shared(tl::i8, {1, 1}) : of == 4 ? b.shared(tl::f32, {1, 65}) : b.shared(tl::f32, {8, 2});
      auto p = b.shared(tl::u16, {8, 1});
      auto c = b.fragment(of == 0 ? tl::i32 : tl::f32, {8, 8});
      b.clear(a), b.clear(w), b.clear(sa), b.clear(c), b.clear(p);
      tl::GemmOptions options = tl::GemmOptions().scaled_a(of == 3 ? tl::Region(T) : tl::Region(sa));
      if (of == 5) options.sparse(p);
      b.gemm(a, w, c, options);
    });
  });
  s.refused = words[static_cast<size_t>(of)];
  return s;
}

int64_t id_of(tl::DType d) { return static_cast<int64_t>(d); }

}  // namespace

void add_scaled_cases(std::vector<Case>& to) {
  to.push_back({"83", "scaled_blocks",
                {{"K", {64, 32}}, {"deep", {32, 16}}, {"rows", {1, 4, 64}}, {"trans", {0, 1, 2, 3}}, {"tiles", {0, 1}}, {"which", {2, 0, 1}}, {"sum", {0, 1, 2}}, {"sparse", {0, 1}},
                 {"scales", {id_of(tl::f32), id_of(tl::e8m0), id_of(tl::bf16)}}, dtypes({tl::e4m3, tl::f16})}, scaled_block});
  to.push_back({"83", "scaled_over_a_grid", {{"roles", {0, 1}}, {"tile_n", {64, 128}}, {"K", {512, 440}}, dtypes({tl::e4m3, tl::bf16})}, scaled_grid});
  to.push_back({"83", "scaled_refused", {{"of", {0, 1, 2, 3, 4, 5}}}, refused_scales});
}

}  // namespace tilert::conformance
