// Where kernels wait for the grids before them. That nothing of global memory stands before is the verifier's claim, which
// looks at each pass's result here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "passes/lowered.h"

namespace tilert::passes {
namespace {

using ir::Primitive;

const char kScaled[] = R"(tir 1
var %x block index
var %i loop index
var %t let f32
buffer @X global f32 [64, 64] in argument 0
buffer @Y global f32 [64, 64] out argument 1
buffer @v fragment f32 [64]
parameter tensor @X "X"
parameter tensor @Y "Y"
kernel "scaled" (%x) grid [64]{} {{
  1: alloc @v
  2: fill @v[0:64] = f32(1.0)
  {}
  3: copy @X[%x:1, 0:64] -> @v[0:64]
  4: copy @v[0:64] -> @Y[%x:1, 0:64]
}}
)";

// Two products of a pipelined loop, for which sm_90a has roles.
const char kProduct[] = R"(tir 1
var %x block index
var %k loop index
buffer @A global bf16 [128, 512] in argument 0
buffer @B global bf16 [128, 512] in argument 1
buffer @C global bf16 [128, 128] out argument 2
buffer @a shared bf16 [128, 64]
buffer @b shared bf16 [128, 64]
buffer @acc fragment f32 [128, 128]
parameter tensor @A "A"
parameter tensor @B "B"
parameter tensor @C "C"
kernel "product" (%x) grid [1] hint pdl 1 {
  1: alloc @a
  2: alloc @b
  3: alloc @acc
  4: fill @acc[0:128, 0:128] = f32(0.0)
  5: for pipelined %k = 0 to 8 stages 4 {
    6: copy @A[0:128, mul(%k, 64):64] -> @a[0:128, 0:64]
    7: copy @B[0:128, mul(%k, 64):64] -> @b[0:128, 0:64]
    8: gemm @a[0:128, 0:64], @b[0:128, 0:64], @acc[0:128, 0:128] trans_b
  }
  9: copy @acc[0:128, 0:128] -> @C[0:128, 0:128]
}
)";

std::string scaled(const char* hints, const char* first = "") { return fmt::format(fmt::runtime(kScaled), hints, first); }

// Of the kernel's own statements: which is the wait; -1: none.
int64_t place_of_wait(const Module& module) {
  const ir::Block& body = module.program.kernels[0].body;
  for (size_t i = 0; i < body.size(); ++i)
    if (const auto* c = std::get_if<ir::Call>(&body[i]->node); c && c->primitive == Primitive::wait_for_grids) return static_cast<int64_t>(i);
  return -1;
}

TEST(Dependent, ItWaitsOnceBeforeTheFirstAccessAndNoEarlier) {
  const Module module = lowered(scaled(" hint pdl 1"), "sm_90a");
  const ir::Block& body = module.program.kernels[0].body;
  const int64_t at = place_of_wait(module);
  ASSERT_GE(at, 1) << "registers are filled before";
  EXPECT_TRUE(ir::touches_global(module.program, *body[static_cast<size_t>(at) + 2]));
  for (int64_t i = 0; i < at; ++i) EXPECT_FALSE(ir::touches_global(module.program, *body[static_cast<size_t>(i)]));
  EXPECT_EQ(count(body, Primitive::wait_for_grids), 1);
  EXPECT_EQ(count(body, Primitive::launch_dependents), 1);
  EXPECT_TRUE(ir::verify(module.program, ir::Stage::synchronized));
}

TEST(Dependent, ItIsLeftOutWhereNobodyAskedAndWhereItCannotBe) {
  const auto waits = [](const std::string& text, const char* target) {
    return count(lowered(text, target).program.kernels[0].body, Primitive::wait_for_grids);
  };
  EXPECT_EQ(waits(scaled(""), "sm_90a"), 0);
  EXPECT_EQ(waits(scaled(" hint pdl 0"), "sm_90a"), 0);
  EXPECT_EQ(waits(scaled(" hint pdl 1"), "sm_89"), 0);
  EXPECT_EQ(waits(scaled(" hint pdl 1"), "sm_120a"), 1);
  EXPECT_EQ(waits(scaled(" hint pdl 1", "10: grid_sync"), "sm_90"), 0);
  EXPECT_NE(lowered(scaled(" hint pdl 1", "10: grid_sync"), "sm_90").plans[0].not_dependent.find("cooperative"), std::string::npos);
}

// The barriers of the ring are made before the wait; both roles stand behind it.
TEST(Dependent, KernelsWithRolesWaitBetweenTheirBarriersAndTheirRoles) {
  const Module module = lowered(kProduct, "sm_90a");
  ASSERT_TRUE(module.plans[0].roles.on) << module.plans[0].roles.reason;
  const ir::Block& body = module.program.kernels[0].body;
  const int64_t at = place_of_wait(module);
  ASSERT_GE(at, 1);
  const ir::Block before(body.begin(), body.begin() + at);
  EXPECT_GT(count(before, Primitive::mbarrier_init), 0);
  EXPECT_EQ(count(before, Primitive::tma_load_2d), 0);
  EXPECT_TRUE(ir::verify(module.program, ir::Stage::synchronized));
}

}  // namespace
}  // namespace tilert::passes
