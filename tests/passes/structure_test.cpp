// What the GPU passes decide and where barriers stand, on programs small enough to say what is right. That meaning is
// kept is meaning_test.cpp's claim.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "passes/gemm_text.h"
#include "passes/lowered.h"

namespace tilert::passes {
namespace {

using ir::Primitive;

// The body of the loop whose trip is not unrolled.
const ir::Block& serial_loop(const Module& module) {
  static ir::Block body;
  body.clear();
  ir::for_each_stmt(module.program.kernels[0].body, [&](const ir::Stmt& s) {
    const auto* f = std::get_if<ir::For>(&s.node);
    if (f && f->kind == ir::ForKind::serial && body.empty()) body = f->body;
  });
  return body;
}

TEST(Rings, AMultistageProductTakesOneBarrierAnIteration) {
  for (int stages : {2, 3, 4}) {
    GemmShape g;
    g.stages = stages;
    g.bk = 32;
    const Module module = lowered(gemm_text(g), "sm_80");
    EXPECT_EQ(module.plans[0].rings.at(8).stages, stages);
    EXPECT_EQ(count(serial_loop(module), Primitive::barrier), 1) << stages;
  }
}

TEST(Rings, CopiesThatThreadsMakeThemselvesTakeOneBarrierAnIterationToo) {
  for (int stages : {2, 3, 4}) {
    GemmShape g;
    g.stages = stages;
    g.bk = 32;
    const Module module = lowered(gemm_text(g), "sm_80", "", 1023);  // rows start between two words
    EXPECT_EQ(module.plans[0].rings.at(8).stages, stages);
    EXPECT_EQ(count(module.program.kernels[0].body, Primitive::cp_async), 0);
    EXPECT_EQ(count(module.program.kernels[0].body, Primitive::barrier), 1) << stages;
  }
}

TEST(Rings, OneStageRunsPlainlyWithTwoBarriersAnIteration) {
  GemmShape g;
  g.stages = 1;
  const Module module = lowered(gemm_text(g), "sm_80");
  EXPECT_EQ(module.plans[0].rings.at(8).stages, 1);
  EXPECT_EQ(count(module.program.kernels[0].body, Primitive::cp_async), 0);
  EXPECT_EQ(count(serial_loop(module), Primitive::barrier), 2);
}

TEST(Rings, ACopyWhoseSourceTheLoopWritesStays) {
  GemmShape g;
  g.between = "    20: copy @a[0:128, 0:64] -> @A[mul(%y, 128):128, mul(%k, 64):64]\n";
  const Module module = lowered(gemm_text(g), "sm_80");
  const RingPlan& ring = module.plans[0].rings.at(8);
  EXPECT_EQ(ring.copies, std::vector<uint32_t>{6});  // B still runs ahead
  EXPECT_EQ(ring.reason, "operation 5: the loop writes its source");
}

TEST(Rings, ATileThatTheBodyOverwritesIsNotStaged) {
  GemmShape g;
  g.between = "    20: fill @a[0:128, 0:64] = bf16(0x0)\n";
  const Module module = lowered(gemm_text(g), "sm_80");
  EXPECT_EQ(module.plans[0].rings.at(8).reason, "operation 5: the loop writes its tile besides");
}

TEST(Rings, ATileUsedBehindTheLoopIsNotStaged) {
  GemmShape g;
  g.after = "  20: copy @a[0:128, 0:64] -> @A[mul(%y, 128):128, 0:64]\n";
  const Module module = lowered(gemm_text(g), "sm_80");
  EXPECT_NE(module.plans[0].rings.at(8).copies, (std::vector<uint32_t>{5, 6}));
}

int reads_of(const ir::Block& block, const ir::Program& program, const std::string& name) {
  int found = 0;
  ir::for_each_stmt(block, [&](const ir::Stmt& s) {
    const auto* let = std::get_if<ir::Let>(&s.node);
    found += let && !let->value && program.buffer(let->read.buffer).name == name;
  });
  return found;
}

TEST(Rings, ACopyRunsAheadToThePlaceThatItsTripReads) {
  GemmShape g;
  g.before = "    20: let %p = load @I[%k]\n    21: let %q = mul(cast<index>(%p), 64)\n";
  g.place = "%q";
  const Module module = lowered(gemm_text(g), "sm_80", "apply_rings");
  const RingPlan& ring = module.plans[0].rings.at(8);
  EXPECT_EQ(ring.copies, (std::vector<uint32_t>{5, 6}));
  EXPECT_EQ(ring.stages, 3);
  EXPECT_EQ(reads_of(module.program.kernels[0].body, module.program, "I"), 3);  // two trips before the loop, and one in it
  EXPECT_EQ(reads_of(serial_loop(module), module.program, "I"), 1);
  g.between = "    22: store @C[cast<index>(%p), 0] = bf16(0x0)\n";  // the trip uses it too
  const Module both = lowered(gemm_text(g), "sm_80", "apply_rings");
  EXPECT_EQ(reads_of(serial_loop(both), both.program, "I"), 2);
}

TEST(Rings, APlaceThatTheLoopMayChangeIsReadInItsTrip) {
  GemmShape g;
  g.before = "    20: let %p = load @I[%k]\n";
  g.place = "cast<index>(%p)";
  g.between = "    22: store @I[add(%k, 1)] = i32(7)\n";
  EXPECT_EQ(lowered(gemm_text(g), "sm_80").plans[0].rings.at(8).reason, "operation 5: its place is read from memory that the loop writes");
  g.before = "    20: let %p = cast<i32>(%k)\n";
  EXPECT_EQ(lowered(gemm_text(g), "sm_80").plans[0].rings.at(8).copies, (std::vector<uint32_t>{5, 6}));
}

TEST(Rings, DepthGivesWayToSharedMemory) {
  GemmShape g;
  g.bn = 256;
  g.stages = 8;
  const Module module = lowered(gemm_text(g), "sm_86");  // 99 KiB, 48 KiB a slot
  EXPECT_EQ(module.plans[0].rings.at(8).stages, 2);
}

TEST(Select, MatrixInstructionsFollowTheDtypes) {
  for (const auto& [dtype, name] : {std::pair{"bf16", "mma_m16n8k16_bf16"}, std::pair{"f16", "mma_m16n8k16_f16"}}) {
    GemmShape g;
    g.dtype = dtype;
    const Module module = lowered(gemm_text(g), "sm_80", "select");
    const GemmPlan& plan = module.plans[0].gemms.at(7);
    ASSERT_EQ(plan.path, GemmPlan::Path::mma);
    EXPECT_EQ(plan.atom->name, name);
    EXPECT_TRUE(plan.a_ldmatrix && plan.b_ldmatrix);
  }
  GemmShape f32;
  f32.dtype = "f32";
  f32.bk = 16;
  EXPECT_EQ(lowered(gemm_text(f32), "sm_80", "select").plans[0].gemms.at(7).path, GemmPlan::Path::fma);
}

TEST(Select, ATileThatIsNoMultipleOfTheInstructionGoesThroughRegisters) {
  GemmShape g;
  g.bm = 72;
  const Module module = lowered(gemm_text(g), "sm_80", "select");
  EXPECT_FALSE(module.plans[0].gemms.at(7).a_ldmatrix);
}

// Two tiles handed from thread to thread: y = transpose of x through shared memory, twice.
const char kHandover[] = R"(tir 1
var %i loop index
var %j loop index
var %v let f32
var %m loop index
var %n loop index
var %w let f32
buffer @X global f32 [32, 32] in argument 0
buffer @Y global f32 [32, 32] out argument 1
buffer @s shared f32 [32, 32]
parameter tensor @X "X"
parameter tensor @Y "Y"
kernel "handover" () grid [] {
  1: alloc @s
  2: copy @X[0:32, 0:32] -> @s[0:32, 0:32]
  3: parallel (%i : 32, %j : 32) {
    4: let %v = load @s[%j, %i]
    5: store @Y[%i, %j] = %v
  }
  6: fill @s[0:32, 0:32] = f32(0x0)
  7: parallel (%m : 32, %n : 32) {
    8: let %w = load @s[%n, %m]
    9: store @Y[%m, %n] = %w
  }
}
)";

TEST(Barriers, StandBetweenWriteAndReadAndBetweenReadAndOverwrite) {
  std::string text = kHandover;
  const size_t at = text.find("() grid []");
  text.replace(at, 10, "(%b) grid [1]");
  text.insert(text.find("var %i"), "var %b block index\n");
  const Module module = lowered(text, "sm_80");
  // Copy | read, read | fill, fill | read.
  EXPECT_EQ(count(module.program.kernels[0].body, Primitive::barrier), 3);
}

TEST(SharedPlan, TilesThatNeverMeetShareBytes) {
  std::string text = kHandover;
  text.replace(text.find("() grid []"), 10, "(%b) grid [1]");
  text.insert(text.find("var %i"), "var %b block index\n");
  text.insert(text.find("buffer @s"), "buffer @t shared f32 [32, 32]\n");
  text.replace(text.find("6: fill @s"), 10, "10: alloc @t\n  6: fill @t");
  text.replace(text.find("load @s[%n"), 7, "load @t");
  const Module module = lowered(text, "sm_80");
  EXPECT_EQ(module.plans[0].shared_bytes, 32 * 32 * 4);
}

TEST(SharedPlan, MoreThanABlockMayHaveIsRefusedWithAWayOut) {
  GemmShape g;
  g.bm = g.bn = 256;
  g.bk = 256;
  g.stages = 1;
  auto program = ir::parse(gemm_text(g), "test");
  ASSERT_TRUE(program);
  const auto target = parse_target("sm_86");
  auto module = specialize(*program, std::vector<DimChoice>(3, DimChoice{1024, 1, 1024, 1024}));
  auto done = run_gpu_passes(*std::move(module), {*target, target->device_class});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kUnsupported);
  EXPECT_NE(done.error().message.find("use smaller tiles or fewer stages"), std::string::npos) << done.error().message;
}

TEST(Specialize, ALoopTooLongToUnrollIsRefusedOnceItsTripsAreKnown) {
  const auto program = ir::parse(R"(tir 1
var %N dim index
var %x block index
var %k loop index
dim %N
buffer @Y global f32 [%N] out argument 0
parameter tensor @Y "Y"
kernel "long" (%x) grid [1] {
  2: for unrolled %k = 0 to %N step 2 {
    1: store @Y[%k] = f32(0x0)
  }
}
)",
                                 "long");
  ASSERT_TRUE(program) << program.error().message;
  const auto bound = [&](int64_t n) {
    DimChoice choice;
    choice.value = n;
    return specialize(*program, {choice});
  };
  EXPECT_TRUE(specialize(*program, {DimChoice{}}));
  EXPECT_TRUE(bound(0));
  EXPECT_TRUE(bound(2 * 4096));
  const auto refused = bound(2 * 4096 + 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidProgram);
  EXPECT_NE(refused.error().message.find("from 0 to 8193 by 2 is too long to unroll: at most 4096"), std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace tilert::passes
