// Plans: few kernels for all numbers of rows, each built as its choice says. Values are in tests/conformance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/made.h"

namespace {

namespace kernels = tl::kernels;
using made::configuration, made::context_without_cache, made::difference, made::json, made::served, made::text_of;

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

// Rows that threads copy get one warpgroup and narrow tiles alone, which nothing better is beside.
TEST(Plan, ScalesOfBlocksHaveAPlanAlsoWhereNoChoiceIsAFastOne) {
  for (const int64_t k : {17, 500, 4097}) {
    tl::Product p = served(1000, k);
    p.a = p.b = tl::e4m3;
    p.fixed_order = true;
    const auto plan = kernels::plan_scaled_gemm(p);
    ASSERT_TRUE(plan) << k << ": " << plan.error().text();
    for (const tl::ProductChoice& c : plan->programs) {
      const auto program = kernels::try_scaled_gemm(p, c);
      ASSERT_TRUE(program) << program.error().text();
      EXPECT_TRUE(configuration(*program, "sm_90a").contains("roles")) << k << " " << text_of(c);
    }
  }
}

TEST(Plan, GroupsGetAtMost16KernelsOfWhichEachIsAnotherAndTakesAllOfItsChoice) {
  for (const bool trans_b : {true, false})
    for (const auto& [n, k, groups] : {std::tuple<int64_t, int64_t, int64_t>{4096, 7168, 256}, {100, 4096, 8}, {2112, 1024, 1}}) {
      tl::Product p = served(n, k);
      p.trans_b = trans_b;
      const auto plan = kernels::plan_grouped_gemm(p, groups).value();
      EXPECT_LE(plan.ranges.size(), 16u);
      EXPECT_EQ(plan.ranges.front().low, 0);
      EXPECT_GE(plan.ranges.back().high, 16384);
      for (size_t i = 0; i < plan.programs.size(); ++i) {
        const tl::ProductChoice& c = plan.programs[i];
        for (size_t j = 0; j < i; ++j) EXPECT_NE(c, plan.programs[j]);
        EXPECT_LT(c.tile_n, n + 32) << text_of(c);
        const auto program = kernels::try_grouped_gemm(p, c, kernels::GroupForm::contiguous, groups, kernels::row_scale());
        ASSERT_TRUE(program) << program.error().text();
        EXPECT_EQ(difference(*program, c, "sm_90a"), "") << trans_b << " " << text_of(c);
        for (const json& hint : configuration(*program, "sm_90a")["hints"]) EXPECT_TRUE(hint["taken"]) << hint;
      }
    }
}

// Rows of many groups are few to each: their tiles are not those of as many rows of one.
TEST(Plan, RowsOfManyGroupsGetLowerTilesThanThoseOfOne) {
  const auto tile_m = [](int64_t groups) {
    const auto plan = kernels::plan_grouped_gemm(served(4096, 4096), groups).value();
    return plan.programs[plan.program_for(2048)].tile_m;
  };
  EXPECT_GE(tile_m(1), 128u);
  EXPECT_LE(tile_m(256), 16u);
  for (const int64_t groups : {0, 1025}) {
    const auto plan = kernels::plan_grouped_gemm(served(4096, 4096), groups);
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().text().find("give 1 to 1024"), std::string::npos) << plan.error().text();
  }
}

TEST(Plan, OneKernelServesACpu) {
  tl::Machine cpu;
  cpu.target = "cpu";
  const auto plan = kernels::plan_gemm(served(4096, 4096), cpu).value();
  EXPECT_EQ(plan.programs.size(), 1u);
  EXPECT_EQ(plan.program_for(1), plan.program_for(5000));
  EXPECT_EQ(kernels::plan_grouped_gemm(served(4096, 4096), 8, cpu).value().programs, plan.programs);
}

}  // namespace
