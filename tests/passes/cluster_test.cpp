// Which blocks make clusters, what they share of which copy, and why others do not.
#include <gtest/gtest.h>

#include "passes/gemm_text.h"
#include "passes/hints.h"
#include "passes/lowered.h"

namespace tilert::passes {
namespace {

using ir::Primitive;

std::string clustered_text(const std::string& hints = " hint cluster 2", GemmShape g = {}) {
  g.hints = hints + g.hints;
  return gemm_text(g);
}

std::string replaced(std::string text, const std::string& was, const std::string& is) {
  const size_t at = text.find(was);
  EXPECT_NE(at, std::string::npos) << was;
  return at == std::string::npos ? text : text.replace(at, was.size(), is);
}

// Whether calls of the primitive stand under a condition together with barriers of warpgroups, as what a guard holds does.
bool is_guarded(const ir::Block& body, Primitive primitive) {
  bool found = false;
  ir::for_each_stmt(body, [&](const ir::Stmt& s) {
    const auto* branch = std::get_if<ir::If>(&s.node);
    found |= branch && count(branch->then_body, primitive) > 0 && count(branch->then_body, Primitive::named_barrier) > 0;
  });
  return found;
}

TEST(Clusters, BlocksAboveEachOtherShareTheTileOfColumns) {
  const Module module = lowered(clustered_text(), "sm_90a");
  const ir::Kernel& kernel = module.program.kernels[0];
  EXPECT_EQ(module.plans[0].not_clustered, "");
  EXPECT_EQ(kernel.cluster, 2);
  EXPECT_EQ(count(kernel.body, Primitive::tma_load_2d), 1);
  EXPECT_EQ(count(kernel.body, Primitive::tma_load_2d_multicast), 1);
  EXPECT_EQ(count(kernel.body, Primitive::cluster_barrier), 2);
  EXPECT_EQ(count(kernel.body, Primitive::barrier), 0);
  EXPECT_EQ(count(kernel.body, Primitive::mbarrier_arrive), 0);
  EXPECT_EQ(count(kernel.body, Primitive::mbarrier_free_cluster), 1);
  const RolePlan& roles = module.plans[0].roles;
  ASSERT_EQ(roles.shared_loads.size(), 1u);
  EXPECT_EQ(roles.shared_loads.at(6).rows, 64);
  EXPECT_EQ(roles.maps[roles.loads.at(5)].box, (std::vector<int64_t>{64, 128}));
  EXPECT_EQ(roles.maps[roles.loads.at(6)].box, (std::vector<int64_t>{64, 64}));
}

TEST(Clusters, OfAGridThatIsNoMultipleOfThemBlocksBeyondItKeepTheirResults) {
  const Module whole = lowered(clustered_text(), "sm_90a"), ragged = lowered(clustered_text(), "sm_90a", "", 896);
  const ir::Block& body = ragged.program.kernels[0].body;
  EXPECT_EQ(whole.plans[0].guard, 0u);
  ASSERT_NE(ragged.plans[0].guard, 0u);
  EXPECT_EQ(ragged.program.kernels[0].cluster, 2);
  EXPECT_EQ(count(body, Primitive::tma_store_2d), 2);
  EXPECT_TRUE(is_guarded(body, Primitive::tma_store_2d));
  EXPECT_FALSE(is_guarded(body, Primitive::tma_load_2d_multicast));
  EXPECT_FALSE(is_guarded(whole.program.kernels[0].body, Primitive::tma_store_2d));
}

TEST(Clusters, RunAlongTheDimWhoseCopyAsksForIt) {
  const std::string text = replaced(clustered_text(), "-> @a[0:128, 0:64]", "-> @a[0:128, 0:64] multicast");
  const Module module = lowered(text, "sm_90a");
  EXPECT_EQ(module.plans[0].roles.shared_loads.count(5), 1u);
  EXPECT_EQ(module.plans[0].roles.shared_loads.count(6), 0u);
  for (const HintOutcome& h : module.plans[0].hints) EXPECT_TRUE(h.taken) << text_of(h) << ": " << h.reason;
}

TEST(Clusters, ATileOfFewRowsIsSharedByWholeBoxesOfColumns) {
  GemmShape g;
  g.bn = 24, g.bk = 128;
  const RolePlan roles = lowered(clustered_text(" hint cluster 2", g), "sm_90a").plans[0].roles;
  ASSERT_EQ(roles.shared_loads.count(6), 1u);
  EXPECT_EQ(roles.shared_loads.at(6).rows, 24);
  EXPECT_EQ(roles.shared_loads.at(6).columns, 64);
}

TEST(Clusters, WhatKeepsBlocksByThemselvesIsSaid) {
  const auto reason = [](const std::string& text, const char* target = "sm_90a", int64_t size = 1024) {
    const Module module = lowered(text, target, "", size);
    EXPECT_EQ(module.program.kernels[0].cluster, 1);
    for (const HintOutcome& h : module.plans[0].hints)
      if (h.of == HintOutcome::Of::kernel && h.kind == ir::HintKind::cluster) EXPECT_EQ(h.reason, module.plans[0].not_clustered);
    return module.plans[0].not_clustered;
  };
  EXPECT_EQ(reason(clustered_text(" hint cluster 9")), "more than 8 blocks make no cluster that every chip starts");
  EXPECT_EQ(reason(clustered_text(), "sm_80"), "blocks share tensor copies of kernels with roles, which sm_80 does not have");
  EXPECT_EQ(reason(clustered_text(" hint roles 1 hint cluster 2")), "blocks share the copies of a kernel with roles, and the program asks for no roles");
  EXPECT_EQ(reason(replaced(clustered_text(), "cluster 2", "cluster 2 persistent count @I")), "the number of its tiles is read from memory");
  EXPECT_EQ(reason(replaced(clustered_text(), "pipelined %k = 0 to", "pipelined %k = add(%x, %y) to")),
            "no copy of its loop is the same for neighbouring blocks");
  EXPECT_EQ(reason(clustered_text(), "sm_90a", 128), "its grid is one block");
  GemmShape narrow;
  narrow.bn = 24;
  EXPECT_EQ(reason(clustered_text(" hint cluster 2", narrow)), "the tiles that its blocks would share have no parts for each of them");
  const std::string writes = replaced(clustered_text(), "  4: fill", "  20: fill @C[0:128, 0:64] = bf16(0x0)\n  4: fill");
  EXPECT_EQ(reason(writes, "sm_90a", 896), "operation 20 would happen for blocks beyond the grid too, which is no multiple of 2");
  EXPECT_EQ(lowered(writes, "sm_90a").program.kernels[0].cluster, 2);
}

TEST(Clusters, TripsFromMemoryThatTheKernelWritesAreNotTheSameForAll) {
  const std::string trips = "  20: let %p = load @I[%x]\n  21: let %q = cast<index>(%p)\n  4: fill";
  std::string text = replaced(replaced(clustered_text(), "  4: fill", trips), "to div(add(%K, 63), 64)", "to %q");
  EXPECT_EQ(lowered(text, "sm_90a").program.kernels[0].cluster, 2);
  text = replaced(text, "  90: copy", "  22: store @I[0] = i32(0x0)\n  90: copy");
  EXPECT_EQ(lowered(text, "sm_90a").plans[0].not_clustered, "no copy of its loop is the same for neighbouring blocks");
}

}  // namespace
}  // namespace tilert::passes
