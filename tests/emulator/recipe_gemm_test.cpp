// The structure of the fastest products on Hopper, over the primitives: persistent blocks, one producer thread with tensor
// copies, two consumer warpgroups, rings of full and empty mbarriers, registers handed over, an epilogue through swizzled
// shared memory whose tensor store overlaps the next tile; alone, and in clusters of two that share B by multicast.
#include <gtest/gtest.h>

#include "emulator/recipe_texts.h"
#include "emulator/recipes.h"

namespace tilert::emulator {
namespace {

constexpr int kRows = 230, kColumns = 152, kDepthSteps = 3, kDepth = 64 * kDepthSteps - 8;

struct GemmProblem {
  Bf16Buffer a{kRows * kDepth, "A"}, b{kColumns * kDepth, "B"}, c{kRows * kColumns, "C"};
  int cluster;

  explicit GemmProblem(int cluster) : cluster(cluster) {
    uint32_t seed = 1;
    const auto next = [&] { return static_cast<float>(static_cast<int>((seed = seed * 1664525 + 1013904223) >> 29) - 3); };
    for (size_t i = 0; i < a.values.size(); ++i) a.set(i, next());
    for (size_t i = 0; i < b.values.size(); ++i) b.set(i, next());
    for (size_t i = 0; i < kRows; ++i)
      for (size_t j = 0; j < kColumns; ++j) {
        float sum = 0;
        for (size_t k = 0; k < kDepth; ++k) sum += a.values[i * kDepth + k] * b.values[j * kDepth + k];
        c.values[i * kColumns + j] = bf16_to_float(float_to_bf16(sum));
      }
  }

  // Empty, or what was wrong.
  std::string run(Kit& kit, const Schedule& schedule) {
    c.poison();
    const uint32_t blocks = cluster == 2 ? 4 : 2;
    const int rows = cluster == 2 ? 1 : 2, tiles = rows * 3;
    const Report report = kit.run({blocks, 1, 1, static_cast<uint32_t>(cluster)}, 384, 90176, schedule, bf16_map(a.bytes.data(), {kDepth, kRows}, {64, 128}),
                                  bf16_map(b.bytes.data(), {kDepth, kColumns}, {64, static_cast<uint16_t>(64 / cluster)}),
                                  bf16_map(c.bytes.data(), {kColumns, kRows}, {64, 64}), kDepthSteps, rows, tiles, static_cast<int>(blocks));
    if (!report.ok()) return report.text;
    for (size_t i = 0; i < c.values.size(); ++i)
      if (!(c.stored(i) == c.values[i])) return "element " + std::to_string(i) + " is " + std::to_string(c.stored(i)) + ", not " + std::to_string(c.values[i]);
    return {};
  }
};

void expect_right(const std::string& text, GemmProblem& problem) {
  Kit kit(text);
  for (const Schedule& schedule : all_schedules()) ASSERT_EQ(problem.run(kit, schedule), "") << schedule.text();
#if !defined(__SANITIZE_THREAD__)
  UnitOptions options;
  options.races = true;
  Kit marked(text, options);
  for (const Schedule& schedule : usual_schedules()) ASSERT_EQ(problem.run(marked, schedule), "") << schedule.text();
#endif
}

TEST(RecipeGemm, OfPersistentBlocksIsRightInEveryScheduleAndRaceFree) {
  GemmProblem problem(1);
  expect_right(kPersistentGemm, problem);
}

TEST(RecipeGemm, OfClustersWithMulticastIsRightInEveryScheduleAndRaceFree) {
  GemmProblem problem(2);
  expect_right(clustered_gemm(), problem);
}

const TextFault kGemmFaults[] = {
    {"no_full_wait", "tl_mbarrier_wait(full + stage, phase);", "", "(3: product)"},
    {"no_empty_wait", "tl_mbarrier_wait(empty + stage, parity);", "", "(2: copies)"},
    {"constant_phase_of_full", "tl_mbarrier_wait(full + stage, phase);", "tl_mbarrier_wait(full + stage, 0);", "(3: product)"},
    {"constant_phase_of_empty", "tl_mbarrier_wait(empty + stage, parity);", "tl_mbarrier_wait(empty + stage, 1);", "(2: copies)"},
    {"too_many_bytes", "24576", "24592", "(3: product)"},
    {"too_few_bytes", "24576", "16384", "(2: copies)"},
    {"released_before_the_product_is_done", "        tl_wgmma_wait<1>();\n        if (t == 0 && previous >= 0) tl_mbarrier_arrive(empty + previous);",
     "        if (t == 0) tl_mbarrier_arrive(empty + stage);\n        tl_wgmma_wait<1>();\n        previous = -1;", "(3: product)"},
    {"last_stage_never_released", "      if (t == 0) tl_mbarrier_arrive(empty + previous);\n      // 4", "      // 4", "(2: copies)"},
    {"released_by_one_warpgroup", "if (t == 0 && previous >= 0)", "if (t == 0 && previous >= 0 && group == 1)", "(2: copies)"},
    {"released_by_a_warp", "if (t == 0 && previous >= 0)", "if (t < 32 && previous >= 0)", "more arrivals in one phase"},
    {"no_product_wait", "      tl_wgmma_wait<0>();\n", "", "(3: product)"},
    {"no_product_fence", "        tl_wgmma_fence();\n", "", "no wgmma_fence"},
    {"no_product_commit", "        tl_wgmma_commit();\n", "", "(3: product)"},
    {"no_proxy_fence", "      tl_proxy_fence();\n", "", "no proxy_fence", true},
    {"no_read_wait_before_reuse", "      if (t == 0) tl_tma_store_wait_read<0>();\n      tl_named", "      tl_named", "(4: epilogue)"},
    {"no_barrier_before_reuse", "      tl_named_barrier(group, 128);\n      const", "      const", "(4: epilogue)"},
    {"no_barrier_before_the_store", "      tl_named_barrier(group, 128);\n      if", "      if", "(4: epilogue)"},
    {"one_barrier_for_both_warpgroups", "      tl_named_barrier(group, 128);\n      if", "      tl_named_barrier(1, 128);\n      if", "(4: epilogue)"},
    {"no_wait_at_the_end", "    if (t == 0) tl_tma_store_wait_read<0>();\n  }", "  }", "nobody waits for it"},
    {"no_initialization_fence", "    tl_mbarrier_init_fence();\n", "", "mbarrier_init_fence"},
    {"no_barrier_after_initialization", "  tl_barrier();\n", "", "mbarrier"},
    {"no_registers_given_back", "    tl_setmaxnreg_dec<40>();\n", "", "setmaxnreg"},
    {"wrong_rows_of_a", "a + stage * 8192 + (group - 1) * 4096", "a + stage * 8192 + group * 4096", "line "},
    {"wrong_swizzle_of_the_epilogue", "(row & 7) * 16", "(row & 3) * 16", nullptr},
};

class RecipeGemmFault : public testing::TestWithParam<TextFault> {};

TEST_P(RecipeGemmFault, IsCaughtByName) {
  GemmProblem problem(1);
  expect_caught(kPersistentGemm, GetParam(), [&](Kit& kit, const Schedule& schedule) { return problem.run(kit, schedule); });
}
INSTANTIATE_TEST_SUITE_P(Injected, RecipeGemmFault, testing::ValuesIn(kGemmFaults), [](const auto& info) { return std::string(info.param.name); });

const TextFault kClusterFaults[] = {
    {"multicast_to_one", "rank * 32, 3);", "rank * 32, 1);", "(3: product)"},
    {"multicast_to_the_other_alone", "rank * 32, 3);", "rank * 32, 2 - rank);", "(3: product)"},
    {"multicast_beyond_the_cluster", "rank * 32, 3);", "rank * 32, 7);", "blocks that the cluster does not have"},
    {"bytes_of_its_own_half", "24576", "20480", "(2: copies)"},
    {"released_to_its_own_block_alone", "if (t < 2 && previous >= 0) tl_mbarrier_arrive_cluster(empty + previous, t);",
     "if (t == rank && previous >= 0) tl_mbarrier_arrive_cluster(empty + previous, t);", "(2: copies)"},
    {"released_without_counting_the_other", "tl_mbarrier_init(empty + i, 4);", "tl_mbarrier_init(empty + i, 2);", "more arrivals in one phase"},
    {"exit_before_the_other_has_done", "  tl_cluster_barrier();\n}", "}", "whose threads have ended"},
    {"block_barrier_after_initialization", "  tl_cluster_barrier();\n  int stage", "  tl_barrier();\n  int stage", "mbarrier"},
    {"wrong_half", "b + stage * 4096 + rank * 2048", "b + stage * 4096 + (1 - rank) * 2048", nullptr},
};

class RecipeClusterFault : public testing::TestWithParam<TextFault> {};

TEST_P(RecipeClusterFault, IsCaughtByName) {
  GemmProblem problem(2);
  expect_caught(clustered_gemm(), GetParam(), [&](Kit& kit, const Schedule& schedule) { return problem.run(kit, schedule); });
}
INSTANTIATE_TEST_SUITE_P(Injected, RecipeClusterFault, testing::ValuesIn(kClusterFaults), [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tilert::emulator
