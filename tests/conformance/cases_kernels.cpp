// Cases 80, 82, 83 and 90: the programs of tilert/kernels/gemm.hpp: dense products with epilogues, of few rows, with scales, sparse. What the
// cost model chooses is tested in tests/kernels; products of experts: cases_groups.cpp.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "conformance/choices.h"
#include "conformance/scenario.h"
#include "tilert/kernels/gemm.hpp"

namespace tilert::conformance {
namespace {

namespace kernels = tl::kernels;
using choices::add_operand, choices::element, choices::form_of, choices::Matrix, choices::matrix, choices::tiles;

// Operands of two types, and what their product is stored as. Those of f64 are summed in it, unless the other one is cast to.
struct Mixed {
  tl::DType a, b, c;
};
constexpr Mixed kMixed[] = {{tl::e4m3, tl::e5m2, tl::bf16}, {tl::e5m2, tl::e5m2, tl::e5m2}, {tl::e4m3, tl::e4m3, tl::e4m3}, {tl::i8, tl::u8, tl::i32},
                            {tl::u8, tl::u8, tl::f16},      {tl::bf16, tl::e4m3, tl::bf16}, {tl::i8, tl::f16, tl::f16},     {tl::f32, tl::bf16, tl::f32},
                            {tl::f16, tl::f16, tl::e4m3},   {tl::bf16, tl::bf16, tl::e5m2}, {tl::f16, tl::f16, tl::bf16},   {tl::f64, tl::f32, tl::f32},
                            {tl::bf16, tl::f64, tl::bf16},  {tl::f64, tl::i8, tl::f64},     {tl::f64, tl::f64, tl::f64}};

// 80. Every dtype, transposition, path and epilogue; rows of which no tile is full, leading dimensions that are no row's size,
// rows by which a transposed operand's are aligned; blocks that make several tiles, so that rings go on from one to the next.
Scenario dense(const Values& v) {
  tl::Product p;
  if (const int64_t mixed = v["mixed"]; mixed >= 0) {
    p.a = kMixed[mixed].a, p.b = kMixed[mixed].b, p.c = kMixed[mixed].c;
  } else {
    p.a = p.b = v.dtype();
    p.c = v["out"] ? static_cast<tl::DType>(v["out"]) : is_float(p.a) ? p.a : tl::i32;
    if (v["epilogue"] && !is_float(p.c)) p.c = tl::f32;
  }
  p.trans_a = v["trans"] % 2 == 1, p.trans_b = v["trans"] / 2 == 1, p.tf32 = v["tf32"] == 1;
  p.n = 72, p.k = v["K"];
  const int64_t most = 70;
  if (v["apart"]) p.lda = (p.trans_a ? most : p.k) + v["apart"], p.ldb = (p.trans_b ? p.k : p.n) + v["apart"], p.ldc = p.n + 8;
  const tl::ProductChoice choice = form_of(v["form"]);
  const bool chained = v["epilogue"] == 1, scaled = v["epilogue"] == 2;
  Scenario s;
  s.programs.push_back(chained  ? kernels::try_gemm(p, choice, kernels::chain(kernels::alpha(), kernels::bias(tl::f32), kernels::residual(tl::bf16), kernels::relu()))
                       : scaled ? kernels::try_gemm(p, choice, kernels::chain(kernels::row_scale(), kernels::column_scale(tl::f16), kernels::silu()))
                                : kernels::try_gemm(p, choice));
  for (const int64_t m : {most, int64_t{33}, int64_t{0}, int64_t{48}}) {
    const Matrix a = matrix(p.a, std::max<int64_t>(m, 1), p.k, p.trans_a, p.lda, 1), b = matrix(p.b, p.k, p.n, p.trans_b, p.ldb, 2);
    const Reals row = whole(m, -2, 2, 3), column = whole(p.n, -2, 2, 4), both = whole(m * p.n, -8, 8, 5);
    const int64_t ldc = p.ldc ? p.ldc : p.n;
    Reals values(m ? (m - 1) * ldc + p.n : 0), sizes(values.size());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        auto [value, size] = element(a, b, i, j, p.k);
        if (chained) value = std::fmax(value * 2 + column[j] + both[i * p.n + j], Real{0}), size = size * 2 + 10;
        if (scaled) value *= row[i] * column[j], size = 4 * size + 1, value = value / (1 + std::exp(-value));
        values[i * ldc + j] = value, sizes[i * ldc + j] = size;
      }
    std::vector<Want> want = nearly(p.c, values, sizes, static_cast<Real>(p.k));
    if (is_small(p.c))  // sums are whole and rounded once
      for (Want& w : want) w = {rounded(p.c, w.value)};
    for (size_t e = 0; e < want.size(); ++e)
      if (static_cast<int64_t>(e) % ldc >= p.n) want[e].untouched = true;
    Launch& launch = s.launch({m});
    launch.max_blocks = m == most ? 2 : m == 48;
    if (m == 0) launch.input(p.a, {}).null();
    else add_operand(launch, p.a, a, m, p.k);
    if (m == 0) launch.arguments.back().shape = p.trans_a ? std::vector<int64_t>{p.k, 0} : std::vector<int64_t>{0, p.k};
    if (m == 0 && p.lda) launch.arguments.back().strides = {p.lda, 1};
    add_operand(launch, p.b, b, p.k, p.n);
    launch.output(p.c, want).placed({m, p.n}, {ldc, 1});
    if (chained) launch.scalar(tl::f32, 2).input(tl::f32, column).input(tl::bf16, both);
    if (scaled) launch.input(tl::f32, row).input(tl::f16, column);
  }
  return s;
}

// 82. One to four rows of A, also more than share a reading of B; sizes that no chunk divides, weights of another type.
Scenario few_rows(const Values& v) {
  tl::Product p;
  p.a = v.dtype(), p.b = static_cast<tl::DType>(v["weights"]), p.c = v.dtype();
  p.trans_b = true;
  p.n = v["N"], p.k = v["K"];
  const tl::ProductChoice choice = tiles(TILERT_PATH_VECTOR, v["rows"], v["tile_n"], 256, false, 1);
  Scenario s;
  s.programs.push_back(v["epilogue"] ? kernels::try_gemm(p, choice, kernels::chain(kernels::bias(tl::f32), kernels::relu())) : kernels::try_gemm(p, choice));
  for (const int64_t m : {1, 3, 5}) {
    const Matrix a = matrix(p.a, m, p.k, false, 0, 1), b = matrix(p.b, p.k, p.n, true, 0, 2);
    const Reals bias = whole(p.n, -9, 9, 3);
    Reals values(m * p.n), sizes(values.size());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        auto [value, size] = element(a, b, i, j, p.k);
        values[i * p.n + j] = v["epilogue"] ? std::fmax(value + bias[j], Real{0}) : value;
        sizes[i * p.n + j] = size + 9;
      }
    s.launch({m}).input(p.a, a.data).input(p.b, b.data).output(p.c, nearly(p.c, values, sizes, static_cast<Real>(p.k)));
    if (v["epilogue"]) s.launches.back().input(tl::f32, bias);
  }
  return s;
}

// 83. Scales of blocks, powers of two so that sums stay exact; blocks that end between, tiles narrower than a block and wider.
Scenario scaled(const Values& v) {
  tl::Product p;
  p.a = p.b = v.dtype(), p.c = tl::f32;
  p.trans_b = true;
  p.n = 160, p.k = v["dynamic"] ? 0 : v["K"];
  const tl::ProductChoice choice = tiles(v["roles"] ? TILERT_PATH_WARPGROUP : TILERT_PATH_WARP, 64, v["tile_n"], 128, false, 2);
  Scenario s;
  s.programs.push_back(kernels::try_scaled_gemm(p, choice));
  for (const int64_t m : {70, 1, 68}) {
    // Four blocks at 68: all rows start on 16 bytes, those of the scales too.
    const int64_t k = v["dynamic"] && m == 68 ? 400 : v["K"], blocks = (k + 127) / 128, across = (p.n + 127) / 128;
    const Matrix a = matrix(p.a, m, k, false, 0, 1), b = matrix(p.b, k, p.n, true, 0, 2);
    Reals of_a = whole(blocks * m, -2, 2, 3), of_b = whole(across * blocks, -2, 2, 4);
    for (Reals* scales : {&of_a, &of_b})
      for (Real& e : *scales) e = std::ldexp(Real{1}, static_cast<int>(e));
    Reals values(m * p.n);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < p.n; ++j)
        for (int64_t e = 0; e < k; ++e) values[i * p.n + j] += a.at(i, e) * b.at(e, j) * of_a[e / 128 * m + i] * of_b[j / 128 * blocks + e / 128];
    s.launch(v["dynamic"] ? std::vector<int64_t>{m, k, blocks} : std::vector<int64_t>{m}).input(p.a, a.data).input(p.b, b.data)
        .output(tl::f32, exactly(values)).input(tl::f32, of_a).input(tl::f32, of_b).max_blocks = m > 64;
  }
  return s;
}

// 90. Sparse weights, made of dense ones; on warps and in kernels with roles, for whose rings K 400 does not start on 16 bytes.
Scenario sparse(const Values& v) {
  tl::Product p;
  p.a = p.b = v.dtype(), p.c = tl::bf16;
  p.trans_b = true, p.tf32 = v.dtype() == tl::f32;
  p.n = 136, p.k = v["K"];
  Scenario s;
  s.programs.push_back(kernels::try_sparse_gemm(p, tiles(v["roles"] ? TILERT_PATH_WARPGROUP : TILERT_PATH_WARP, 32, v["tile_n"], 64, false, 4), kernels::silu()));
  std::vector<float> dense(static_cast<size_t>(p.n * p.k)), kept(dense.size() / 2);
  std::vector<uint16_t> places(static_cast<size_t>(p.n * kernels::sparse_words(p.k)));
  const Reals values = whole(dense.size(), 0, 3, 2);  // where the kept elements of each half of four stand, and their signs
  for (size_t q = 0; q < dense.size(); q += 4)
    for (size_t half = 0; half < 2; ++half) {
      const auto e = p.tf32 ? 2 * half + static_cast<size_t>(values[q + half]) % 2 : half + static_cast<size_t>(values[q]) % 3;
      dense[q + e] = static_cast<float>(values[q + 2 + half]) - 1;
    }
  const bool fits = kernels::compress_sparse(dense.data(), p.n, p.k, p.k, kept.data(), places.data(), p.tf32);
  if (!fits) s.programs[0] = tl::Error(TILERT_INTERNAL, std::string("weights that were made sparse are not"));
  for (const int64_t m : {70, 1, 32}) {
    const Matrix a = matrix(p.a, m, p.k, false, 0, 1);
    Reals want(static_cast<size_t>(m * p.n)), sizes(want.size());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        Real value = 0;
        for (int64_t e = 0; e < p.k; ++e) value += a.at(i, e) * dense[static_cast<size_t>(j * p.k + e)];
        want[static_cast<size_t>(i * p.n + j)] = value / (1 + std::exp(-value)), sizes[static_cast<size_t>(i * p.n + j)] = std::fabs(value) + 1;
      }
    s.launch({m}).input(p.a, a.data).input(p.b, Reals(kept.begin(), kept.end())).input(tl::u16, Reals(places.begin(), places.end()))
        .output(p.c, nearly(p.c, want, sizes, 4)).max_blocks = m > 64 ? 2 : 0;
  }
  return s;
}

int64_t id(tl::DType d) { return static_cast<int64_t>(d); }

}  // namespace

void add_kernel_cases(std::vector<Case>& to) {
  const Axis forms{"form", {0, 1, 2, 3, 4}};
  to.push_back({"80", "dense_products",
                {dtypes({tl::f16, tl::bf16, tl::f32, tl::i8}), {"trans", {0, 1, 2, 3}}, forms, {"epilogue", {0, 1, 2}}, {"K", {136, 70}}, {"apart", {0, 8, 3}},
                 {"out", {0, id(tl::f32)}}, {"tf32", {0}}},
                dense});
  to.push_back({"80", "dense_products_in_tf32",
                {{"dtype", {id(tl::f32)}}, {"trans", {0, 1, 2, 3}}, {"form", {0, 2, 3, 4}}, {"epilogue", {0, 1}}, {"K", {136, 70}}, {"apart", {0, 8}}, {"out", {0}}, {"tf32", {1}}},
                dense});
  to.push_back({"80", "dense_products_of_f64", {{"dtype", {id(tl::f64)}}, {"trans", {0, 3}}, {"form", {0}}, {"epilogue", {0}}, {"K", {70}}, {"apart", {0}}, {"out", {0}}, {"tf32", {0}}}, dense});
  Axis mixed{"mixed", {}};
  for (int64_t i = 0; i < static_cast<int64_t>(std::size(kMixed)); ++i) mixed.values.push_back(i);
  to.push_back({"80", "dense_products_of_mixed_types", {mixed, {"trans", {2, 0, 1, 3}}, {"form", {0, 1, 2, 4}}, {"epilogue", {0, 1}}, {"K", {136, 70}}, {"apart", {0, 3}}}, dense});
  to.push_back({"80", "dense_products_of_fp8", {dtypes({tl::e4m3, tl::e5m2}), {"trans", {2}}, {"form", {0, 2}}, {"epilogue", {0}}, {"K", {136}}, {"apart", {0}}, {"out", {id(tl::f32)}}, {"tf32", {0}}}, dense});
  to.push_back({"82", "products_of_few_rows",
                {dtypes({tl::bf16, tl::f16, tl::f32}), {"weights", {id(tl::bf16), id(tl::e4m3), id(tl::f32)}}, {"rows", {1, 2, 4}}, {"tile_n", {4, 16}}, {"N", {33}},
                 {"K", {264, 197}}, {"epilogue", {0, 1}}},
                few_rows});
  to.push_back({"83", "products_with_scales_of_blocks",
                {dtypes({tl::e4m3, tl::e5m2, tl::bf16}), {"roles", {0, 1}}, {"tile_n", {64, 192}}, {"K", {256, 200}}, {"dynamic", {0, 1}}}, scaled});
  to.push_back({"90", "products_with_sparse_weights",
                {dtypes({tl::bf16, tl::f16, tl::e4m3, tl::f32}), {"roles", {0, 1}}, {"tile_n", {64, 128}}, {"K", {384, 400, 1024}}}, sparse});
}

}  // namespace tilert::conformance
