// The cost model's candidates are what the compiler builds: their programs are made for the target and what came of each tile,
// ring and hint is compared with the choice. And plans: few kernels for all numbers of rows. Values are in tests/conformance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tilert/kernels/gemm.hpp"

namespace {

namespace kernels = tl::kernels;
using nlohmann::json;

tl::Product served(int64_t n, int64_t k) {
  tl::Product p;
  p.n = n, p.k = k;
  p.trans_b = true;
  return p;
}

tl::Context context_without_cache() {
  tilert_context_options options{};
  options.cache_mode = TILERT_CACHE_OFF;
  return tl::Context::create(options).value();
}

std::string text_of(const tl::ProductChoice& c) {
  return "path " + std::to_string(c.path) + " " + std::to_string(c.tile_m) + "x" + std::to_string(c.tile_n) + "x" + std::to_string(c.tile_k) + " consumers " +
         std::to_string(c.consumers) + " stages " + std::to_string(c.stages) + " raster " + std::to_string(c.raster) + " flags " + std::to_string(c.flags);
}

// The last kernel's configuration, made by the compiler's passes without compiling.
json configuration(const tl::Program& program, const char* target) {
  const tl::Kernel kernel = context_without_cache().kernel(program, target);
  const auto explained = kernel.variant(0).explain(TILERT_EXPLAIN_JSON);
  EXPECT_TRUE(explained) << explained.error().text();
  return explained ? json::parse(*explained)["kernels"].back() : json();
}

// What differs between a choice and what was made of it, in words; empty where nothing does.
std::string difference(const tl::Program& program, const tl::ProductChoice& c, const char* target) {
  const json made = configuration(program, target);
  if (c.path == TILERT_PATH_VECTOR) return made["threads"] == c.threads ? "" : "threads: " + made.dump();
  const bool roles = c.path == TILERT_PATH_WARPGROUP;
  if (made.contains("roles") != roles) return "roles: " + made.value("no_roles", std::string("there are some"));
  for (const json& hint : made.value("hints", json::array()))
    if (!hint["taken"] && hint["hint"].get<std::string>().rfind("raster", 0) != 0) return "hint: " + hint.dump();
  const json tile = c.swapped() ? json{c.tile_n, c.tile_m, c.tile_k} : json{c.tile_m, c.tile_n, c.tile_k};
  if (made["products"][0]["tile"] != tile) return "tile: " + made["products"].dump();
  const bool meets = roles && c.cluster == 1 && c.split_k > 1 && c.split_k <= 5;  // parts in a cluster of their own
  if (made.value("cluster", 1) != static_cast<int>(meets ? c.split_k : c.cluster)) return "cluster: " + made["hints"].dump();
  if (c.split_k > 1 && made["split"]["meet_in"] != (meets ? "cluster" : "workspace")) return "split: " + made["split"].dump();
  if (roles && made["roles"]["stages"] != c.stages) return "stages: " + made["roles"].dump();
  if (roles && made["roles"]["consumer_warpgroups"] != c.consumers) return "consumers: " + made["roles"].dump();
  if (made["shared_bytes"] > c.shared_bytes) return "shared memory: " + made["shared_bytes"].dump() + " of " + std::to_string(c.shared_bytes);
  return {};
}

struct Asked {
  const char* target;
  tl::DType dtype;
  int64_t m, n, k;
  bool trans_a = false, trans_b = true, tf32 = false;
};
void PrintTo(const Asked& a, std::ostream* out) { *out << a.target << " dtype " << static_cast<int>(a.dtype) << " " << a.m << "x" << a.n << "x" << a.k; }

class Candidates : public testing::TestWithParam<Asked> {};

TEST_P(Candidates, AreBuiltAsTheySay) {
  const Asked& asked = GetParam();
  tl::Product p = served(asked.n, asked.k);
  p.a = p.b = asked.dtype, p.c = asked.dtype == tl::i8 ? tl::i32 : asked.dtype;
  p.m = asked.m;
  p.trans_a = asked.trans_a, p.trans_b = asked.trans_b, p.tf32 = asked.tf32;
  if (asked.dtype == tl::e4m3) p.c = tl::bf16;
  tl::Machine machine;
  machine.target = asked.target;
  const auto all = tl::recommend_product(p, machine, 1000000).value();
  ASSERT_FALSE(all.empty());
  p.m = 0;
  for (size_t i = 0; i < all.size(); i += i < 3 ? 1 : all.size() / 16 + 1) {
    const auto program = kernels::try_gemm(p, all[i]);
    ASSERT_TRUE(program) << text_of(all[i]) << ": " << program.error().text();
    EXPECT_EQ(difference(*program, all[i], asked.target), "") << i << ": " << text_of(all[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Candidates,
                         testing::Values(Asked{"sm_90a", tl::bf16, 4096, 4096, 4096}, Asked{"sm_90a", tl::f16, 64, 2112, 7168}, Asked{"sm_90a", tl::bf16, 16, 6144, 4096},
                                         Asked{"sm_90a", tl::bf16, 1, 4096, 4096}, Asked{"sm_90a", tl::bf16, 64, 4096, 4097}, Asked{"sm_80", tl::bf16, 256, 4096, 4096},
                                         Asked{"sm_90a", tl::i8, 256, 4096, 4096}, Asked{"sm_90a", tl::f32, 256, 4096, 4096},
                                         Asked{"sm_90a", tl::e4m3, 1024, 4096, 4096}, Asked{"sm_90a", tl::e4m3, 16, 7168, 2048},
                                         Asked{"sm_90a", tl::bf16, 1024, 4096, 4096, false, false}, Asked{"sm_90a", tl::f16, 64, 4096, 4096, true, false},
                                         Asked{"sm_90a", tl::bf16, 512, 2112, 4096, true, true}, Asked{"sm_90a", tl::f32, 1024, 4096, 4096, false, true, true},
                                         Asked{"sm_90a", tl::f32, 1024, 4096, 4096, false, false, true}));

TEST(Candidates, OperandsThatWarpgroupsMultiplyGetThem) {
  const auto path = [](tl::DType dtype, bool trans_a, bool trans_b, bool tf32) {
    tl::Product p;
    p.m = p.n = p.k = 4096;
    p.a = p.b = dtype, p.c = dtype == tl::i8 ? tl::i32 : tl::f32;
    p.trans_a = trans_a, p.trans_b = trans_b, p.tf32 = tf32;
    return kernels::choose(p).value().path;
  };
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      EXPECT_EQ(path(tl::bf16, a, b, false), TILERT_PATH_WARPGROUP) << a << b;
      for (const tl::DType narrow : {tl::e4m3, tl::i8}) EXPECT_EQ(path(narrow, a, b, false), !a && b ? TILERT_PATH_WARPGROUP : TILERT_PATH_WARP) << a << b;
      EXPECT_EQ(path(tl::f32, a, b, true), !a && b ? TILERT_PATH_WARPGROUP : TILERT_PATH_WARP) << a << b;
      EXPECT_EQ(path(tl::f32, a, b, false), TILERT_PATH_WARP) << a << b;
    }
}

TEST(Candidates, EpiloguesKeepTheRoles) {
  const tl::Product p = served(4096, 4096);
  for (const int64_t m : {16, 256, 4096}) {
    tl::Product one = p;
    one.m = m;
    const tl::ProductChoice c = kernels::choose(one).value();
    ASSERT_EQ(c.path, TILERT_PATH_WARPGROUP);
    const auto program = kernels::try_gemm(p, c, kernels::chain(kernels::alpha(), kernels::bias(tl::bf16), kernels::residual(tl::bf16), kernels::gelu_tanh()));
    ASSERT_TRUE(program) << program.error().text();
    EXPECT_EQ(difference(*program, c, "sm_90a"), "") << text_of(c);
  }
}

TEST(Candidates, GroupsKeepTheRoles) {
  tl::Product p = served(4096, 7168);
  p.m = 128;
  tl::ProductChoice c = kernels::choose(p).value();
  ASSERT_EQ(c.path, TILERT_PATH_WARPGROUP);
  c.split_k = 1;  // tiles whose number is read from memory have no parts
  p.m = 0;
  for (const auto form : {kernels::GroupForm::contiguous, kernels::GroupForm::masked}) {
    const auto program = kernels::try_grouped_gemm(p, c, form, 256, kernels::row_scale());
    ASSERT_TRUE(program) << program.error().text();
    EXPECT_EQ(difference(*program, c, "sm_90a"), "") << text_of(c);
  }
}

constexpr int64_t kPlanned[][2] = {{6144, 4096}, {4096, 14336}, {28672, 4096}, {1280, 8192}, {2112, 7168}, {7168, 16384}, {4096, 4097}};

TEST(Plan, AtMost16KernelsServeEveryNumberOfRows) {
  for (const auto& [n, k] : kPlanned) {
    const kernels::GemmPlan plan = kernels::plan_gemm(served(n, k)).value();
    ASSERT_FALSE(plan.ranges.empty());
    EXPECT_LE(plan.ranges.size(), 16u);
    EXPECT_LE(plan.programs.size(), plan.ranges.size());
    EXPECT_EQ(plan.ranges.front().low, 0);
    EXPECT_GE(plan.ranges.back().high, 16384);
    for (size_t i = 1; i < plan.ranges.size(); ++i) {
      EXPECT_EQ(plan.ranges[i].low, plan.ranges[i - 1].high + 1);
      EXPECT_NE(plan.ranges[i].program, plan.ranges[i - 1].program);
    }
    for (size_t i = 0; i < plan.programs.size(); ++i)
      for (size_t j = 0; j < i; ++j) EXPECT_NE(plan.programs[i], plan.programs[j]);
    for (const int64_t m : {0, 1, 7, 100, 4097, 16384, 100000}) EXPECT_LT(plan.program_for(m), plan.programs.size());
    EXPECT_EQ(plan.program_for(100000), plan.ranges.back().program);
  }
}

// What a plan's kernel is predicted to take for so many rows, over the best candidate's time; 0 where it is none of them.
double over_the_best(const kernels::GemmPlan& plan, tl::Product p, int64_t m) {
  p.m = m;
  const auto all = tl::recommend_product(p, {}, 1000000).value();
  for (const auto& c : all)
    if (c == plan.programs[plan.program_for(m)]) return static_cast<double>(c.predicted) / static_cast<double>(all[0].predicted);
  return 0;
}

TEST(Plan, ItsKernelsAreNearTheBestForTheRowsThatTheyServe) {
  for (const auto& [n, k] : kPlanned) {
    const tl::Product p = served(n, k);
    const kernels::GemmPlan plan = kernels::plan_gemm(p).value();
    double sum = 0;
    for (const int64_t m : {1, 2, 4, 16, 64, 256, 1024, 4096, 16384}) {
      const double over = over_the_best(plan, p, m);
      ASSERT_GE(over, 1) << n << " " << k << " " << m;
      EXPECT_LT(over, 1.3) << n << " " << k << " " << m;
      sum += over;
    }
    EXPECT_LT(sum / 9, 1.06) << n << " " << k;
  }
}

TEST(Plan, TheSameQuestionHasTheSamePlan) {
  const auto one = kernels::plan_gemm(served(2112, 7168)).value(), other = kernels::plan_gemm(served(2112, 7168)).value();
  ASSERT_EQ(one.ranges.size(), other.ranges.size());
  for (size_t i = 0; i < one.ranges.size(); ++i) {
    EXPECT_EQ(one.ranges[i].high, other.ranges[i].high);
    EXPECT_EQ(one.programs[one.ranges[i].program], other.programs[other.ranges[i].program]);
  }
}

TEST(Plan, ScalesOfBlocksGetTilesWithRoomForTwoSumsAndNothingThatTheirLoopCannotFollow) {
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{4096, 7168}, {1280, 8192}}) {  // the latter's few tiles would be split otherwise
    tl::Product p = served(n, k);
    p.a = p.b = tl::e4m3;
    const auto plan = kernels::plan_scaled_gemm(p).value();
    EXPECT_LE(plan.ranges.size(), 16u);
    for (const tl::ProductChoice& c : plan.programs) {
      EXPECT_LE(2 * c.tile_m * c.tile_n, 128 * c.threads) << text_of(c);
      const auto program = kernels::try_scaled_gemm(p, c);
      ASSERT_TRUE(program) << program.error().text();
      const json made = configuration(*program, "sm_90a");
      EXPECT_EQ(made["products"][0]["tile"], (json{c.tile_m, c.tile_n, kernels::kScaleBlock})) << text_of(c);
      for (const json& hint : made["hints"]) {
        const std::string text = hint["hint"];
        if (text.rfind("raster", 0) == 0 || text.rfind("stages", 0) == 0) continue;  // an order alone; as many as fit beside the scales
        EXPECT_TRUE(hint["taken"]) << text_of(c) << " " << hint;
      }
    }
  }
}

TEST(Plan, AFixedOrderIsThatOfOneInstructionWithoutParts) {
  for (const auto& [n, k] : kPlanned)
    for (const tl::DType dtype : {tl::bf16, tl::e4m3}) {
      tl::Product p = served(n, k);
      p.a = p.b = dtype;
      p.fixed_order = true;
      const kernels::GemmPlan plan = kernels::plan_gemm(p).value();
      EXPECT_EQ(plan.ranges.front().low, 0);
      for (const tl::ProductChoice& c : plan.programs) {
        EXPECT_EQ(c.path, plan.programs[0].path) << text_of(c);
        EXPECT_EQ(c.split_k, 1u) << text_of(c);
        const auto program = kernels::try_gemm(p, c);
        ASSERT_TRUE(program) << program.error().text();
        EXPECT_EQ(difference(*program, c, "sm_90a"), "") << text_of(c);
      }
    }
}

TEST(Plan, IntegersHaveOneSumInAnyOrder) {
  tl::Product p = served(4096, 4096);
  p.m = 16, p.a = p.b = tl::i8, p.c = tl::i32;
  const auto any = tl::recommend_product(p, {}, 100000).value();
  p.fixed_order = true;
  const auto fixed = tl::recommend_product(p, {}, 100000).value();
  EXPECT_EQ(any, fixed);
  p.m = 0;
  for (size_t i = 0; i < fixed.size(); i += fixed.size() / 32 + 1)
    EXPECT_EQ(difference(kernels::try_gemm(p, fixed[i]).value(), fixed[i], "sm_90a"), "") << text_of(fixed[i]);
}

// A program whose warpgroups' product is not to be had says so, instead of adding up in another order.
TEST(Plan, AFixedOrderThatIsNotToBeHadIsAnError) {
  tl::Product p = served(4096, 4096);
  p.m = 256;
  p.fixed_order = true;
  tl::ProductChoice c = kernels::choose(p).value();
  ASSERT_EQ(c.path, TILERT_PATH_WARPGROUP);
  p.m = 0;
  c.tile_k = 24;  // no multiple of an instruction's 16
  const tl::Kernel kernel = context_without_cache().kernel(kernels::try_gemm(p, c).value(), "sm_90a");
  const auto explained = kernel.variant(0).explain(TILERT_EXPLAIN_JSON);
  ASSERT_FALSE(explained);
  EXPECT_NE(explained.error().text().find("roles 2"), std::string::npos) << explained.error().text();
}

TEST(Plan, ARowHasTheSameBitsForEveryNumberOfRowsOnACpu) {
  const int64_t n = 70, k = 700, most = 150;
  const tl::Context context = context_without_cache();
  tl::Machine cpu;
  cpu.target = "cpu";
  tl::Product p = served(n, k);
  p.a = p.b = p.c = tl::f32;
  p.fixed_order = true;
  std::vector<float> a(most * k), b(n * k), all(most * n), some(most * n);
  for (size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<float>(i));
  for (size_t i = 0; i < b.size(); ++i) b[i] = std::cos(static_cast<float>(3 * i));
  for (const bool trans_b : {false, true}) {
    p.trans_b = trans_b;
    const auto plan = kernels::plan_gemm(p, cpu).value();
    std::vector<tl::Loaded> loaded;
    for (const tl::ProductChoice& c : plan.programs) loaded.push_back(context.kernel(kernels::try_gemm(p, c).value(), "cpu").prepare(context.cpu()));
    loaded[plan.program_for(most)].launch(nullptr, {a.data(), b.data(), all.data()}, {{0u, most}});
    for (const int64_t m : {1, 2, 7, 8, 9, 64, 65, 149}) {
      loaded[plan.program_for(m)].launch(nullptr, {a.data(), b.data(), some.data()}, {{0u, m}});
      EXPECT_EQ(std::memcmp(some.data(), all.data(), static_cast<size_t>(m * n) * sizeof(float)), 0) << m << " " << trans_b;
    }
  }
}

TEST(Sparse, WeightsKeepWhatTheyHadWhereItStood) {
  const std::vector<std::vector<float>> rows = {{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 2}, {0, 3, 4, 0}, {5, 0, 0, 6}, {0, 0, 7, 0}, {0, 8, 0, 9}};
  for (const bool halves : {false, true})
    for (const auto& row : rows) {
      float kept[2], back[4] = {};
      uint16_t places[1];
      ASSERT_TRUE(kernels::compress_sparse(row.data(), 1, 4, 4, kept, places, halves));
      const int first = places[0] & 3, second = places[0] >> 2 & 3;
      EXPECT_LT(first, second);
      EXPECT_EQ(places[0] >> 4, 0);
      if (halves) EXPECT_EQ(first / 2 + 2 * (second / 2), 2);
      back[first] = kept[0], back[second] = kept[1];
      EXPECT_EQ(std::vector<float>(back, back + 4), row);
    }
}

TEST(Sparse, RowsLieAsFarApartAsTheySay) {
  uint16_t dense[2 * 40] = {}, kept[2 * 18], places[2 * 3];
  dense[16] = 1, dense[33] = 2, dense[40 + 35] = 3, dense[36] = 99;
  ASSERT_TRUE(kernels::compress_sparse(dense, 2, 36, 40, kept, places));
  EXPECT_EQ(places[1] & 15, 12);
  EXPECT_EQ(places[2] & 15, 13);
  EXPECT_EQ(places[5] & 15, 14);
  EXPECT_EQ(kept[8], 1);
  EXPECT_EQ(kept[16], 2);
  EXPECT_EQ(kept[18 + 17], 3);
}

TEST(Sparse, WeightsThatAreDenseAreNotTaken) {
  float kept[2];
  uint16_t places[1];
  const float three[] = {1, 2, 0, 3}, pair[] = {1, 2, 0, 0};
  EXPECT_FALSE(kernels::compress_sparse(three, 1, 4, 4, kept, places));
  EXPECT_TRUE(kernels::compress_sparse(pair, 1, 4, 4, kept, places));
  EXPECT_FALSE(kernels::compress_sparse(pair, 1, 4, 4, kept, places, true));
}

TEST(Sparse, MatrixInstructionsTakeTheWeightsWhereThereAreSuch) {
  tl::Product p = served(4096, 4096);
  p.m = 256;
  tl::ProductChoice c = kernels::choose(p).value();
  c.path = TILERT_PATH_WARP, c.threads = 128, c.tile_m = c.tile_n = c.tile_k = 64, c.stages = 2;
  const auto instruction = [&](const char* target) { return configuration(*kernels::try_sparse_gemm(p, c), target)["products"][0]["instruction"]; };
  EXPECT_EQ(instruction("sm_80"), "mma_sp_m16n8k32_bf16");
  EXPECT_EQ(instruction("sm_90a"), "mma_sp_m16n8k32_bf16");  // roles are off
  EXPECT_EQ(instruction("sm_75"), "fma");  // it has none of bf16
  p.a = p.b = tl::f16;
  EXPECT_EQ(instruction("sm_75"), "mma_m16n8k16_f16_by_8");
}

TEST(Sparse, WarpgroupsMultiplyTheWeightsWhereTheRingTakesTheirPlaces) {
  for (const tl::DType dtype : {tl::bf16, tl::e4m3}) {
    tl::Product p = served(4096, 4096);
    p.a = p.b = dtype;
    p.m = 256;
    const tl::ProductChoice c = kernels::choose(p).value();
    ASSERT_EQ(c.path, TILERT_PATH_WARPGROUP);
    const json made = configuration(*kernels::try_sparse_gemm(p, c), "sm_90a");
    EXPECT_EQ(made["products"][0]["instruction"], dtype == tl::bf16 ? "wgmma_sp_m64k32_bf16" : "wgmma_sp_m64k64_e4m3") << made.dump();
  }
}

TEST(Sparse, WhatItDoesNotTakeIsRefusedByName) {
  tl::Product p = served(64, 64);
  tl::ProductChoice c = kernels::choose(p).value();
  EXPECT_TRUE(kernels::try_sparse_gemm(p, c));
  p.k = 62;
  EXPECT_EQ(kernels::try_sparse_gemm(p, c).error().status(), TILERT_INVALID_ARGUMENT);
  p.k = 0;
  EXPECT_EQ(kernels::try_sparse_gemm(p, c).error().status(), TILERT_INVALID_ARGUMENT);
  p.k = 64, p.trans_b = false;
  EXPECT_EQ(kernels::try_sparse_gemm(p, c).error().status(), TILERT_UNSUPPORTED);
  p.trans_b = true, c.path = TILERT_PATH_VECTOR;
  EXPECT_EQ(kernels::try_sparse_gemm(p, c).error().status(), TILERT_INVALID_ARGUMENT);
}

TEST(Plan, OneKernelServesACpu) {
  tl::Machine cpu;
  cpu.target = "cpu";
  const auto plan = kernels::plan_gemm(served(4096, 4096), cpu).value();
  EXPECT_EQ(plan.programs.size(), 1u);
  EXPECT_EQ(plan.program_for(1), plan.program_for(5000));
}

TEST(Grouped, TheTableHasRoomForEveryDivisionOfTheRows) {
  tl::ProductChoice c;
  c.tile_m = 16;
  const auto room = [&](int64_t rows) { return kernels::grouped_tiles(kernels::GroupForm::contiguous, 3, rows, c); };
  for (int64_t rows = 0; rows < 70; ++rows)
    for (int64_t x = 0; x <= rows; ++x)
      for (int64_t y = 0; x + y <= rows; ++y) ASSERT_LE((x + 15) / 16 + (y + 15) / 16 + (rows - x - y + 15) / 16, room(rows)) << rows;
  EXPECT_EQ(kernels::grouped_tiles(kernels::GroupForm::masked, 3, 17, c), 6);
}

TEST(Grouped, WhatItDoesNotTakeIsRefusedByName) {
  tl::Product p = served(64, 64);
  p.m = 64;
  tl::ProductChoice c = kernels::choose(p).value();
  p.m = 0;
  p.trans_a = true;
  EXPECT_EQ(kernels::try_grouped_gemm(p, c, kernels::GroupForm::masked, 4).error().status(), TILERT_UNSUPPORTED);
  p.trans_a = false;
  EXPECT_EQ(kernels::try_grouped_gemm(p, c, kernels::GroupForm::masked, 0).error().status(), TILERT_INVALID_ARGUMENT);
  c.path = TILERT_PATH_VECTOR;
  EXPECT_EQ(kernels::try_grouped_gemm(p, c, kernels::GroupForm::masked, 4).error().status(), TILERT_INVALID_ARGUMENT);
  p.trans_b = false;
  EXPECT_EQ(kernels::try_gemv(p, c).error().status(), TILERT_UNSUPPORTED);
}

}  // namespace
