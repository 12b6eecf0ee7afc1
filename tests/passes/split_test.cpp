// Where the parts of a split loop meet: in the shared memory of a cluster, or in the workspace and why.
#include <gtest/gtest.h>

#include "passes/gemm_text.h"
#include "passes/lowered.h"

namespace tilert::passes {
namespace {

using ir::Primitive;

std::string split_text(int parts, const std::string& hints = "", GemmShape g = {}) {
  g.hints = " hint split_k " + std::to_string(parts) + hints;
  return gemm_text(g);
}

GemmShape small_tiles() {
  GemmShape g;
  g.bm = 64, g.bn = 32;
  return g;
}

bool uses_workspace(const Module& module) {
  bool found = false;
  ir::for_each_stmt(module.program.kernels[0].body, [&](const ir::Stmt& s) {
    for (const ir::BufferUse& use : ir::buffer_uses(s)) found |= ir::is_workspace(module.program.buffer(use.buffer));
  });
  return found;
}

// Why parts meet in the workspace; empty: they meet in a cluster.
std::string why_apart(const std::string& text, const char* target = "sm_90a") {
  const Module module = lowered(text, target);
  const KernelPlan& plan = module.plans[0];
  EXPECT_EQ(plan.not_split, "");
  EXPECT_EQ(plan.meeting.sums.empty(), !plan.meeting.reason.empty());
  EXPECT_EQ(uses_workspace(module), !plan.meeting.reason.empty());
  EXPECT_EQ(count(module.program.kernels[0].body, Primitive::send_part), plan.meeting.reason.empty() ? 1 : 0);
  return plan.meeting.reason;
}

TEST(Split, PartsMeetInTheLastBlockOfACluster) {
  for (const char* persistent : {"", " persistent"}) {
    const Module module = lowered(split_text(4, persistent, small_tiles()), "sm_90a");
    const ir::Kernel& kernel = module.program.kernels[0];
    EXPECT_EQ(module.plans[0].meeting.reason, "");
    EXPECT_EQ(module.plans[0].parts, 4);
    EXPECT_EQ(kernel.cluster, 4);
    EXPECT_FALSE(uses_workspace(module));
    EXPECT_EQ(count(kernel.body, Primitive::send_part), 1);
    EXPECT_EQ(count(kernel.body, Primitive::cluster_arrive), 1);
    EXPECT_EQ(count(kernel.body, Primitive::cluster_wait), 1);
    EXPECT_EQ(count(kernel.body, Primitive::cluster_barrier), 0);
    EXPECT_EQ(count(kernel.body, Primitive::tma_load_2d_multicast), 0);
    EXPECT_EQ(module.plans[0].roles.shared_loads.size(), 0u);
    int atomics = 0;
    ir::for_each_stmt(kernel.body, [&](const ir::Stmt& s) { atomics += std::holds_alternative<ir::Atomic>(s.node); });
    EXPECT_EQ(atomics, 0);
  }
}

// 3 parts of 64 x 32 sums of 4 bytes.
TEST(Split, TheRingLeavesRoomForTheParts) {
  GemmShape deep = small_tiles();
  deep.stages = 32;
  const Module module = lowered(split_text(4, "", deep), "sm_90a"), apart = lowered(split_text(6, "", deep), "sm_90a");
  const int64_t slot = (64 + 32) * 64 * 2, parts = 3 * 64 * 32 * 4;
  EXPECT_EQ(module.plans[0].meeting.reason, "");
  EXPECT_EQ(apart.plans[0].roles.stages - module.plans[0].roles.stages, (parts + slot - 1) / slot);
}

TEST(Split, TheLastBlockStoresAsWithoutASplit) {
  GemmShape g;
  const Module module = lowered(split_text(2, " persistent", g), "sm_90a");
  ASSERT_EQ(module.plans[0].meeting.reason, "");
  EXPECT_EQ(module.plans[0].roles.stores.size(), 1u);
  bool guarded = false;
  ir::for_each_stmt(module.program.kernels[0].body, [&](const ir::Stmt& s) {
    const auto* branch = std::get_if<ir::If>(&s.node);
    guarded |= branch && count(branch->then_body, Primitive::tma_store_2d) == 2 && count(branch->then_body, Primitive::stmatrix_x4) > 0;
  });
  EXPECT_TRUE(guarded);
}

TEST(Split, PartsThatCannotMeetInAClusterMeetInTheWorkspaceAndSayWhy) {
  EXPECT_EQ(why_apart(split_text(5, "", small_tiles())), "");
  EXPECT_EQ(why_apart(split_text(6, "", small_tiles())), "clusters of more than 5 blocks fill no chip");
  EXPECT_EQ(why_apart(split_text(4, " hint cluster 2")), "its blocks share copies in clusters of their own");
  EXPECT_EQ(why_apart(split_text(4, "", small_tiles()), "sm_80"), "they meet in the shared memory of kernels with roles, which sm_80 does not have");
  EXPECT_EQ(why_apart(split_text(4, " hint roles 1", small_tiles())), "they meet in the shared memory of a kernel with roles, and the program asks for no roles");
  GemmShape large;
  large.bn = 256;
  EXPECT_EQ(why_apart(split_text(3, "", large)), "they meet in the shared memory of a kernel with roles, and two slots of its tiles do not fit there beside them");
  EXPECT_TRUE(lowered(split_text(3, "", large), "sm_90a").plans[0].roles.on);
}

// What a cluster of another kind would have been is none in the end: then parts may meet in one.
TEST(Split, AClusterThatSharesNothingLeavesItToTheParts) {
  GemmShape g = small_tiles();
  g.bn = 24, g.bk = 32;
  const Module module = lowered(split_text(3, " hint cluster 2", g), "sm_90a");
  EXPECT_NE(module.plans[0].not_clustered, "");
  EXPECT_EQ(module.plans[0].meeting.reason, "");
  EXPECT_EQ(module.program.kernels[0].cluster, 3);
}

TEST(Split, AFixedOrderOfSumsHasNoParts) {
  const Module module = lowered(split_text(3, " fixed_order", small_tiles()), "sm_90a");
  EXPECT_EQ(module.plans[0].not_split, "its order of sums is fixed, and that of parts is another");
  EXPECT_EQ(module.program.kernels[0].cluster, 1);
}

}  // namespace
}  // namespace tilert::passes
