// The structure of the fastest attention on Hopper, over the primitives: a producer thread, two consumer warpgroups with 64
// queries each, rings of keys and values, the scores of the next tile issued before the product of this one with the values,
// the softmax between them, probabilities as A from registers, values MN-major, warpgroups that take turns, a staged store.
#include <gtest/gtest.h>

#include <cmath>

#include "emulator/recipe_texts.h"
#include "emulator/recipes.h"

namespace tilert::emulator {
namespace {

constexpr int kLength = 150, kHeads = 2, kHeadDim = 64;
constexpr float kScale = 0.18f;  // of logits, log2(e) included

struct AttentionProblem {
  Bf16Buffer q{kHeads * kLength * kHeadDim, "Q"}, k{kHeads * kLength * kHeadDim, "K"}, v{kHeads * kLength * kHeadDim, "V"}, o{kHeads * kLength * kHeadDim, "O"};
  std::vector<float> first;  // outcome of the first run: every other has its bits

  AttentionProblem() {
    uint32_t seed = 7;
    const auto next = [&] { return static_cast<float>(static_cast<int>((seed = seed * 1664525 + 1013904223) >> 27) - 16) / 8; };
    for (size_t i = 0; i < q.values.size(); ++i) q.set(i, next()), k.set(i, next()), v.set(i, next());
    for (size_t h = 0; h < kHeads; ++h)
      for (size_t i = 0; i < kLength; ++i) row(h * kLength, i);
  }

  // One row of the reference.
  void row(size_t head, size_t i) {
    std::vector<double> p(kLength);
    double top = -1e30, sum = 0;
    for (size_t j = 0; j < kLength; ++j) {
      for (size_t d = 0; d < kHeadDim; ++d) p[j] += static_cast<double>(q.values[(head + i) * kHeadDim + d]) * static_cast<double>(k.values[(head + j) * kHeadDim + d]);
      top = std::max(top, p[j]);
    }
    for (double& x : p) sum += x = std::exp2((x - top) * static_cast<double>(kScale));
    for (size_t d = 0; d < kHeadDim; ++d) {
      double out = 0;
      for (size_t j = 0; j < kLength; ++j) out += p[j] / sum * static_cast<double>(v.values[(head + j) * kHeadDim + d]);
      o.values[(head + i) * kHeadDim + d] = static_cast<float>(out);
    }
  }

  // Empty, or what was wrong.
  std::string run(Kit& kit, const Schedule& schedule) {
    o.poison();
    const auto map = [](const Bf16Buffer& of) { return bf16_map(of.bytes.data(), {kHeadDim, kLength, kHeads}, {64, 64, 1}); };
    const int rows = (kLength + 127) / 128, tiles = rows * kHeads;
    const Report report = kit.run({2}, 384, 65536 + 96, schedule, map(q), map(k), map(v), map(o), kLength, rows, tiles, 2, kScale);
    if (!report.ok()) return report.text;
    std::vector<float> got(o.values.size());
    for (size_t i = 0; i < got.size(); ++i) got[i] = o.stored(i);
    for (size_t i = 0; i < got.size(); ++i)
      if (!(std::fabs(got[i] - o.values[i]) <= 0.02f + 0.01f * std::fabs(o.values[i])))
        return "element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " + std::to_string(o.values[i]);
    if (first.empty()) first = got;
    return first == got ? std::string() : "other bits than under another schedule";
  }
};

TEST(RecipeAttention, IsRightInEveryScheduleAndRaceFree) {
  AttentionProblem problem;
  Kit kit(attention());
  for (const Schedule& schedule : all_schedules()) ASSERT_EQ(problem.run(kit, schedule), "") << schedule.text();
#if !defined(__SANITIZE_THREAD__)
  UnitOptions options;
  options.races = true;
  Kit marked(attention(), options);
  for (const Schedule& schedule : usual_schedules()) ASSERT_EQ(problem.run(marked, schedule), "") << schedule.text();
#endif
}

const TextFault kAttentionFaults[] = {
    {"no_wait_for_queries", "      tl_mbarrier_wait(q_full + w, q_phase);\n", "", "(3: scores)"},
    {"no_wait_for_keys", "        tl_mbarrier_wait(k_full + stage, phase);\n        tl_named", "        tl_named", "(3: scores)"},
    {"no_wait_for_values", "tl_mbarrier_wait(v_full + value_stage, value_phase);", "", "(4: product with the values)"},
    {"constant_phase_of_values", "tl_mbarrier_wait(v_full + value_stage, value_phase);", "tl_mbarrier_wait(v_full + value_stage, 0);", "line "},
    {"no_wait_for_empty_values", "tl_mbarrier_wait(v_empty + stage, parity);", "", "(2: copies)"},
    {"no_wait_for_empty_queries", "tl_mbarrier_wait(q_empty + w, q_parity);", "", "(2: copies)"},
    {"too_few_bytes_of_keys", "tl_mbarrier_expect(k_full + stage, 8192);", "tl_mbarrier_expect(k_full + stage, 4096);", "line "},
    // Of the first tile: later ones are held back by the ring of values too.
    {"keys_released_before_their_product", "        tl_wgmma_wait<0>();\n        tl_wgmma_hold(s);\n        if (t == 0) tl_mbarrier_arrive(k_empty + stage);\n",
     "        if (t == 0) tl_mbarrier_arrive(k_empty + stage);\n        tl_wgmma_wait<0>();\n        tl_wgmma_hold(s);\n", "(3: scores)"},
    {"values_released_before_their_product", "        tl_wgmma_wait<0>();\n        tl_wgmma_hold(acc);\n        if (t == 0) tl_mbarrier_arrive(v_empty + value_stage);\n",
     "        if (t == 0) tl_mbarrier_arrive(v_empty + value_stage);\n        tl_wgmma_wait<0>();\n        tl_wgmma_hold(acc);\n", "(4: product with the values)"},
    {"values_released_by_one_warpgroup", "        tl_wgmma_hold(acc);\n        if (t == 0) tl_mbarrier_arrive(v_empty + value_stage);\n",
     "        tl_wgmma_hold(acc);\n        if (t == 0 && w == 0) tl_mbarrier_arrive(v_empty + value_stage);\n", "(2: copies)"},
    {"queries_released_a_step_early", "j == steps - 1) tl_mbarrier_arrive(q_empty + w);", "j == steps - 2) tl_mbarrier_arrive(q_empty + w);", "line "},
    {"scores_read_before_the_wait", "        tl_wgmma_wait<1>();\n", "        tl_wgmma_wait<2>();\n", nullptr},
    {"product_not_waited_for", "        // 6: end of the product\n        tl_wgmma_wait<0>();\n", "        // 6: end of the product\n", nullptr},
    {"last_product_not_waited_for", "        tl_wgmma_hold(acc);\n        tl_wgmma_wait<0>();\n        tl_wgmma_hold(acc);\n", "        tl_wgmma_hold(acc);\n", "line "},
    {"probabilities_overwritten_early", "        // 6: end of the product\n", "        // 6: end of the product\n        tl_cast_pack<tl_bf16>(p, s);\n", nullptr},
    {"no_fence_before_registers", "        tl_wgmma_hold_words(p);\n        tl_wgmma_fence();\n", "", "no wgmma_fence"},
    {"no_commit_of_scores", "        tl_wgmma_commit();\n        // 4", "        // 4", nullptr},
    {"values_k_major", "tl_wgmma_rs<64, float, tl_bf16, tl_bf16, 1>", "tl_wgmma_rs<64, float, tl_bf16, tl_bf16, 0>", nullptr},
    {"wrong_stride_of_values", "8192, 1024);", "8192, 2048);", nullptr},
    {"wrong_step_along_keys", "dv[0] + 128 * kk", "dv[0] + 2 * kk", nullptr},
    {"probabilities_of_one_step_for_all", "tl_slice<4>(p + 4 * kk)", "tl_slice<4>(p + 0 * kk)", nullptr},
    {"no_turn_handed_over", "        tl_named_barrier_arrive(3 - w, 256);\n", "", "named barrier"},
    {"no_first_turn", "    if (w == 1) tl_named_barrier_arrive(2, 256);\n", "", "named barrier"},
    {"no_proxy_fence", "      tl_proxy_fence();\n", "", "no proxy_fence", true},
    {"no_read_wait_before_reuse", "      if (t == 0) tl_tma_store_wait_read<0>();\n      tl_named", "      tl_named", "(7: epilogue)"},
    {"no_registers_given_back", "    tl_setmaxnreg_dec<24>();\n", "", "setmaxnreg"},
};

class RecipeAttentionFault : public testing::TestWithParam<TextFault> {};

TEST_P(RecipeAttentionFault, IsCaughtByName) {
  AttentionProblem problem;
  expect_caught(attention(), GetParam(), [&](Kit& kit, const Schedule& schedule) { return problem.run(kit, schedule); });
}
INSTANTIATE_TEST_SUITE_P(Injected, RecipeAttentionFault, testing::ValuesIn(kAttentionFaults), [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tilert::emulator
