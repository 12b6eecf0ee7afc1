// What the GPU passes decide and where barriers stand, on programs small enough to say what is right. That meaning is
// kept is meaning_test.cpp's claim.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "passes/lowered.h"

namespace tilert::passes {
namespace {

using ir::Primitive;

struct GemmShape {
  int bm = 128, bn = 128, bk = 64, stages = 3;
  std::string dtype = "bf16", hints, before, between, after;  // statements in the loop ahead of its copies, in it, and behind it
  std::string place;  // of A's copy along K; empty: that of the trip
  bool trans_b = true;
};

std::string gemm_text(const GemmShape& g) {
  const std::string b_shape = g.trans_b ? "[%N, %K]" : "[%K, %N]";
  const std::string b_tile = g.trans_b ? fmt::format("{}, {}", g.bn, g.bk) : fmt::format("{}, {}", g.bk, g.bn);
  const std::string b_region = g.trans_b ? fmt::format("0:{}, 0:{}", g.bn, g.bk) : fmt::format("0:{}, 0:{}", g.bk, g.bn);
  const std::string b_at = g.trans_b ? fmt::format("mul(%x, {0}):{0}, mul(%k, {1}):{1}", g.bn, g.bk)
                                     : fmt::format("mul(%k, {1}):{1}, mul(%x, {0}):{0}", g.bn, g.bk);
  return fmt::format(R"(tir 1
var %M dim index
var %N dim index
var %K dim index
var %x block index
var %y block index
var %k loop index
var %p let i32
var %q let index
dim %M
dim %N
dim %K
buffer @A global {0} [%M, %K] inout argument 0
buffer @B global {0} {1} in argument 1
buffer @C global {0} [%M, %N] out argument 2
buffer @I global i32 [64] inout argument 3
buffer @a shared {0} [{2}, {3}]
buffer @b shared {0} [{4}]
buffer @acc fragment f32 [{2}, {5}]
parameter tensor @A "A"
parameter tensor @B "B"
parameter tensor @C "C"
parameter tensor @I "I"
kernel "gemm" (%x, %y) grid [div(add(%N, {6}), {5}), div(add(%M, {7}), {2})]{8} {{
  1: alloc @a
  2: alloc @b
  3: alloc @acc
  4: fill @acc[0:{2}, 0:{5}] = f32(0x0)
  8: for pipelined %k = 0 to div(add(%K, {9}), {3}) stages {10} {{
{16}    5: copy @A[mul(%y, {2}):{2}, {17}:{3}] -> @a[0:{2}, 0:{3}]
    6: copy @B[{11}] -> @b[{12}]
    7: gemm @a[0:{2}, 0:{3}], @b[{12}], @acc[0:{2}, 0:{5}]{13} accumulate true
{14}  }}
{15}  90: copy @acc[0:{2}, 0:{5}] -> @C[mul(%y, {2}):{2}, mul(%x, {5}):{5}]
}}
)",
                     g.dtype, b_shape, g.bm, g.bk, b_tile, g.bn, g.bn - 1, g.bm - 1, g.hints, g.bk - 1, g.stages, b_at, b_region,
                     g.trans_b ? " trans_b" : "", g.between, g.after, g.before,
                     g.place.empty() ? fmt::format("mul(%k, {})", g.bk) : g.place);
}

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

TEST(Roles, APlainProductGetsAProducerAndTwoConsumers) {
  const Module module = lowered(gemm_text({}), "sm_90a");
  const RolePlan& roles = module.plans[0].roles;
  ASSERT_TRUE(roles.on) << roles.reason;
  EXPECT_EQ(roles.consumers, 2);
  EXPECT_EQ(roles.stages, 3);
  EXPECT_EQ(module.plans[0].threads, 256);
  const ir::Block& body = module.program.kernels[0].body;
  EXPECT_EQ(count(body, Primitive::tma_load_2d), 2);
  EXPECT_EQ(count(body, Primitive::tma_store_2d), 2);  // 128 columns, 64 a box
  EXPECT_EQ(count(body, Primitive::wgmma), 4);      // 64 of K, 16 a product
  EXPECT_EQ(count(body, Primitive::cp_async), 0);
}

TEST(Roles, WhatKeepsThemOffIsSaid) {
  GemmShape off;
  off.hints = " hint roles 1";
  EXPECT_EQ(lowered(gemm_text(off), "sm_90a", "plan_roles").plans[0].roles.reason, "the program asks for no roles");
  const auto reason = [](const GemmShape& g) { return lowered(gemm_text(g), "sm_90a", "plan_roles").plans[0].roles.reason; };
  GemmShape mn_major;
  mn_major.trans_b = false;
  mn_major.dtype = "e4m3";
  EXPECT_EQ(reason(mn_major), "operation 7: operand b is not K-major, as warpgroup products of e4m3 need it: keep its matrix transposed in memory");
  mn_major.dtype = "bf16";
  mn_major.bn = 24;
  EXPECT_EQ(reason(mn_major), "operation 7: operand b's tile has rows of 48 bytes, no multiple of 32");
  GemmShape depth;
  depth.bk = 24;
  EXPECT_EQ(reason(depth), "operation 7: its K tile of 24 is no multiple of 16, which a warpgroup product of bf16 takes at a time");
  GemmShape whole;
  whole.dtype = "f32";
  EXPECT_EQ(reason(whole), "operation 7: products of f32 keep all its bits, which warpgroup products do not: ask for tf32");
  GemmShape outside;
  outside.after = "  20: fill @a[0:128, 0:64] = bf16(0x0)\n";
  EXPECT_EQ(reason(outside), "operation 20: it uses a tile of the loop outside of it");
  GemmShape large;
  large.bm = 256, large.bn = 256, large.bk = 32;
  EXPECT_EQ(reason(large), "its accumulators do not fit in registers");
  EXPECT_EQ(lowered(gemm_text({}), "sm_80", "plan_roles").plans[0].roles.reason, "no warpgroup products on this target");
}

// The engine takes no corner between 16 bytes (an H200 calls it an illegal instruction), and writes none before a tensor.
// The tiles of A and B as their products read them.
std::pair<RoleTile, RoleTile> tiles_of(const GemmShape& g) {
  const Module module = lowered(gemm_text(g), "sm_90a");
  EXPECT_TRUE(module.plans[0].roles.on) << module.plans[0].roles.reason;
  std::vector<RoleTile> tiles;
  for (const auto& [id, tile] : module.plans[0].roles.tiles) tiles.push_back(tile);
  EXPECT_EQ(tiles.size(), 2u);
  return {tiles[0], tiles[1]};
}

TEST(Roles, TilesAreMadeOfTheWidestRowsThatDivideThem) {
  for (const auto& [bk, span] : {std::pair(64, 128), {32, 64}, {16, 32}, {48, 32}, {128, 128}}) {
    GemmShape g;
    g.bk = bk;
    g.stages = 2;
    const auto [a, b] = tiles_of(g);
    EXPECT_EQ(a.span, span) << bk;
    EXPECT_EQ(b.span, span) << bk;
  }
  GemmShape across;
  across.trans_b = false;
  across.bn = 96;  // of 192 bytes
  const auto [a, b] = tiles_of(across);
  EXPECT_EQ(a.span, 128);
  EXPECT_EQ(b.span, 64);
  EXPECT_EQ(b.rows, 64);
}

TEST(Roles, TilesHaveRowsUpToWhatInstructionsRead) {
  GemmShape g;
  g.bm = 100, g.bn = 20;
  const auto [a, b] = tiles_of(g);
  EXPECT_EQ(a.rows, 128);
  EXPECT_EQ(b.rows, 24);
}

TEST(Roles, WarpgroupsShareTheRowsEvenly) {
  const auto roles = [](int bm, int bn) {
    GemmShape g;
    g.bm = bm, g.bn = bn;
    return lowered(gemm_text(g), "sm_90a", "plan_roles").plans[0].roles;
  };
  EXPECT_EQ(roles(64, 256).consumers, 1);
  EXPECT_EQ(roles(128, 256).consumers, 2);
  EXPECT_EQ(roles(256, 128).consumers, 2);
  EXPECT_EQ(roles(192, 128).consumers, 3);
  EXPECT_EQ(roles(192, 128).consumer_registers, 160);
  EXPECT_EQ(roles(16, 64).consumers, 1);
}

TEST(Roles, RegionsThatTheCopyEngineRefusesAreLeftToOthers) {
  const auto roles = [](const std::string& was, const std::string& is) {
    std::string text = gemm_text({});
    const size_t at = text.find(was);
    EXPECT_NE(at, std::string::npos) << was;
    return lowered(text.replace(at, was.size(), is), "sm_90a", "plan_roles").plans[0].roles;
  };
  EXPECT_TRUE(roles("mul(%k, 64):64] -> @a", "add(mul(%k, 64), 8):64] -> @a").on);
  EXPECT_EQ(roles("mul(%k, 64):64] -> @a", "add(mul(%k, 64), 4):64] -> @a").reason, "operation 5: its columns do not start on 16 bytes");
  EXPECT_EQ(roles("mul(%k, 64):64] -> @a", "add(mul(%k, 64), %x):64] -> @a").reason, "operation 5: its columns do not start on 16 bytes");
  EXPECT_EQ(roles("mul(%x, 128):128]\n}", "add(mul(%x, 128), 8):128]\n}").stores.size(), 1u);
  EXPECT_EQ(roles("mul(%x, 128):128]\n}", "add(mul(%x, 128), 1):128]\n}").stores.size(), 0u);
  EXPECT_EQ(roles("mul(%x, 128):128]\n}", "sub(mul(%x, 128), 8):128]\n}").stores.size(), 0u);
  EXPECT_EQ(roles("[%M, %N] out", "[%M, 1016] strides [1024, 1] out").stores.size(), 1u);
  EXPECT_EQ(roles("[%M, %N] out", "[%M, 1020] strides [1024, 1] out").stores.size(), 0u);  // it would write 4 elements behind each row
  EXPECT_EQ(roles("@C[mul(%y, 128)", "@C[sub(mul(%y, 128), 1)").stores.size(), 0u);
}

TEST(Roles, ConsumersNeverMeetTheProducerAtABarrier) {
  // All threads share one barrier, at the start; behind it only named barriers of the consumers remain.
  GemmShape g;
  g.after = "  20: fill @C[0:128, 0:64] = bf16(0x0)\n  21: fill @C[0:64, 0:128] = bf16(0x0)\n";
  const Module module = lowered(gemm_text(g), "sm_90a");
  ASSERT_TRUE(module.plans[0].roles.on) << module.plans[0].roles.reason;
  EXPECT_EQ(count(module.program.kernels[0].body, Primitive::barrier), 1);
  EXPECT_GE(count(module.program.kernels[0].body, Primitive::named_barrier), 2);
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
