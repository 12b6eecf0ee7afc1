// Who gets roles and who does not, with which reason, and what each gets.
#include <gtest/gtest.h>

#include "passes/gemm_text.h"
#include "passes/lowered.h"

namespace tilert::passes {
namespace {

using ir::Primitive;

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
  EXPECT_TRUE(roles("mul(%k, 64):64] -> @a", "add(mul(%k, 64), 8):64] -> @a").by_threads.empty());
  for (const char* columns : {"add(mul(%k, 64), 4):64] -> @a", "add(mul(%k, 64), %x):64] -> @a"}) {
    const RolePlan plan = roles("mul(%k, 64):64] -> @a", columns);
    EXPECT_TRUE(plan.on) << plan.reason;
    EXPECT_EQ(plan.by_threads, (std::map<uint32_t, std::string>{{5, "its columns do not start on 16 bytes"}})) << columns;
    EXPECT_EQ(plan.loads.size(), 1u) << columns;
  }
  EXPECT_EQ(roles("mul(%x, 128):128]\n}", "add(mul(%x, 128), 8):128]\n}").stores.size(), 1u);
  EXPECT_EQ(roles("mul(%x, 128):128]\n}", "add(mul(%x, 128), 1):128]\n}").stores.size(), 0u);
  EXPECT_EQ(roles("mul(%x, 128):128]\n}", "sub(mul(%x, 128), 8):128]\n}").stores.size(), 0u);
  EXPECT_EQ(roles("[%M, %N] out", "[%M, 1016] strides [1024, 1] out").stores.size(), 1u);
  EXPECT_EQ(roles("[%M, %N] out", "[%M, 1020] strides [1024, 1] out").stores.size(), 0u);  // it would write 4 elements behind each row
  EXPECT_EQ(roles("@C[mul(%y, 128)", "@C[sub(mul(%y, 128), 1)").stores.size(), 0u);
}

// Each of its 128 threads says at each slot's barrier that what it copied is there, the first one for the engine besides; none
// meets the consumers elsewhere.
TEST(Roles, AProducerWhoseThreadsCopyArrivesAtFullBarriersAlone) {
  for (const char* start : {"4", "2", "1"}) {
    GemmShape g;
    std::string text = gemm_text(g);
    const std::string was = "mul(%k, 64):64] -> @a";
    const Module module = lowered(text.replace(text.find(was), was.size(), std::string("add(mul(%k, 64), ") + start + "):64] -> @a"), "sm_90a");
    ASSERT_TRUE(module.plans[0].roles.on) << module.plans[0].roles.reason;
    EXPECT_EQ(module.plans[0].roles.producer_registers, 0);
    const ir::Block& body = module.program.kernels[0].body;
    EXPECT_EQ(count(body, Primitive::barrier), 1);
    std::set<int64_t> arrivals;
    ir::for_each_stmt(body, [&](const ir::Stmt& s) {
      if (const auto* c = std::get_if<ir::Call>(&s.node); c && c->primitive == Primitive::mbarrier_init) arrivals.insert(c->args[1].value->as_int());
    });
    EXPECT_EQ(arrivals, (std::set<int64_t>{2, 129}));
    EXPECT_EQ(count(body, Primitive::cp_async) > 0, start[0] != '1');
    EXPECT_GT(count(body, Primitive::proxy_fence), 0);
  }
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

TEST(Roles, ResultsThatAreStaged) {
  const auto roles = [](const std::string& dtype, int bm, int bn, int stages) {
    GemmShape g;
    g.bm = bm, g.bn = bn, g.stages = stages;
    std::string text = gemm_text(g);
    const std::string was = "buffer @C global bf16";
    return lowered(text.replace(text.find(was), was.size(), "buffer @C global " + dtype), "sm_90a", "plan_roles").plans[0].roles;
  };
  EXPECT_EQ(roles("bf16", 128, 96, 3).maps.back().box, (std::vector<int64_t>{32, 64}));   // 64 of 192 bytes
  EXPECT_EQ(roles("e4m3", 128, 96, 3).maps.back().box, (std::vector<int64_t>{32, 64}));
  EXPECT_EQ(roles("e4m3", 128, 256, 3).maps.back().box, (std::vector<int64_t>{128, 64}));
  EXPECT_EQ(roles("bf16", 128, 40, 3).stores.size(), 0u);  // rows of 80 bytes
  EXPECT_EQ(roles("bf16", 100, 64, 3).stores.size(), 0u);  // warpgroups have unequal parts
  EXPECT_EQ(roles("f32", 128, 64, 3).stores.size(), 0u);
}

TEST(Roles, WhatStandsBetweenTheLoopAndTheStoreIsOneLoop) {
  GemmShape g;
  std::string text = gemm_text(g);
  const auto put = [&](const std::string& at, const std::string& what) { text.insert(text.find(at), what); };
  put("dim %M", "var %i loop index\nvar %j loop index\nvar %s let f32\nvar %r let bf16\nvar %u loop index\nvar %w loop index\nvar %t let f32\n");
  put("parameter tensor @A", "buffer @rest fragment bf16 [128, 128]\nbuffer @sum fragment f32 [128]\n");
  put("  90: copy", R"(  30: alloc @rest
  31: copy @A[mul(%y, 128):128, mul(%x, 128):128] -> @rest[0:128, 0:128]
  32: parallel (%i : 128, %j : 128) {
    let %s = load @acc[%i, %j]
    let %r = load @rest[%i, %j]
    store @acc[%i, %j] = add(%s, cast<f32>(%r))
  }
  36: parallel (%u : 128, %w : 128) {
    let %t = load @acc[%u, %w]
    store @acc[%u, %w] = neg(%t)
  }
)");
  const Module module = lowered(text, "sm_90a", "fuse_loops");
  ASSERT_TRUE(module.plans[0].roles.on) << module.plans[0].roles.reason;
  int loops = 0, statements = 0, copies = 0;
  for (const ir::StmtPtr& s : module.program.kernels[0].body) {
    if (const auto* loop = std::get_if<ir::Parallel>(&s->node)) ++loops, statements = static_cast<int>(loop->body.size());
    copies += std::holds_alternative<ir::Copy>(s->node);
  }
  EXPECT_EQ(loops, 1);
  EXPECT_EQ(statements, 7);
  EXPECT_EQ(copies, 1);  // the result
}

// A product over the trip's tiles alone, whose elements are added up with what `reads` gives for a row.
std::string scaled_text(const std::string& copy, const std::string& reads, const std::string& before_product = "") {
  GemmShape g;
  g.before = copy;
  g.between = "  40: parallel (%i : 128, %j : 128) {\n      let %s = load @acc[%i, %j]\n      let %r = load " + reads +
              "\n      let %t = load @total[%i, %j]\n      store @total[%i, %j] = add(%t, mul(%s, %r))\n    }\n" + before_product;
  std::string text = gemm_text(g);
  const auto put = [&](const std::string& at, const std::string& what) { text.insert(text.find(at), what); };
  put("dim %M", "var %i loop index\nvar %j loop index\nvar %s let f32\nvar %r let f32\nvar %t let f32\n");
  put("buffer @a shared", "buffer @S global f32 [64, %M] in argument 4\nbuffer @scales shared f32 [1, 128]\nbuffer @total fragment f32 [128, 128]\n");
  put("kernel \"gemm\"", "parameter tensor @S \"S\"\n");
  put("  4: fill", "  30: alloc @scales\n  31: alloc @total\n  32: fill @total[0:128, 0:128] = f32(0x0)\n");
  return text;
}

TEST(Roles, WorkOnTheProductsOfATripIsTheConsumers) {
  const std::string copy = "    41: copy @S[%k:1, mul(%y, 128):128] -> @scales[0:1, 0:128]\n";
  const Module module = lowered(scaled_text(copy, "@scales[0, %i]"), "sm_90a");
  const RolePlan& roles = module.plans[0].roles;
  ASSERT_TRUE(roles.on) << roles.reason;
  EXPECT_TRUE(roles.works);
  EXPECT_EQ(roles.plain_tiles.size(), 1u);
  EXPECT_EQ(count(module.program.kernels[0].body, Primitive::tma_load_2d), 3);
  const auto reason = [](const std::string& text) { return lowered(text, "sm_90a", "plan_roles").plans[0].roles.reason; };
  EXPECT_EQ(reason(scaled_text("", "@S[%k, add(mul(%y, 128), %i)]")), "");
  EXPECT_EQ(reason(scaled_text("", "@scales[0, %i]")), "operation 40: work of its loop reads a tile that the loop does not copy");
  EXPECT_EQ(reason(scaled_text(copy, "@S[%k, add(mul(%y, 128), %i)]")), "operation 41: nothing in the loop reads its tile");
}

// Registers for two sums and the total: 64 + 64 + 64 a thread. The sum is made anew in each trip, and only the loop knows it.
TEST(Roles, AProductThatEachTripWorksOnAlternatesBetweenTwoSumsWhereTheyFit) {
  const std::string copy = "    41: copy @S[%k:1, mul(%y, 128):128] -> @scales[0:1, 0:128]\n";
  const auto alternates = [&](const std::string& was, const std::string& is) {
    std::string text = scaled_text(copy, "@scales[0, %i]");
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"accumulate true", "accumulate false"}, {"90: copy @acc", "90: copy @total"}, {"  4: fill @acc[0:128, 0:128] = f32(0x0)\n", ""}, {was, is}})
      if (!from.empty()) text.replace(text.find(from), from.size(), to);
    const Module module = lowered(text, "sm_90a");
    EXPECT_TRUE(module.plans[0].roles.on) << module.plans[0].roles.reason;
    const bool turns = module.plans[0].roles.alternates;
    EXPECT_EQ(count(module.program.kernels[0].body, Primitive::wgmma), turns ? 8 : 4);  // of 16 trips no odd one is left
    // Two warpgroups issue in turns: the first turn is given before the loop, and taken back behind it, so that none is left over.
    EXPECT_EQ(module.plans[0].roles.consumers, 2);
    EXPECT_EQ(count(module.program.kernels[0].body, Primitive::named_barrier_arrive), turns ? 2 : 0);
    return turns;
  };
  EXPECT_TRUE(alternates("", ""));
  EXPECT_FALSE(alternates("accumulate false", "accumulate true"));
  EXPECT_FALSE(alternates("  90: copy @total", "  89: copy @acc[0:128, 0:128] -> @C[mul(%y, 128):128, mul(%x, 128):128]\n  90: copy @total"));
}

TEST(Roles, ResultsWhoseRowsTheEngineCannotWriteAreStoredByWarps) {
  std::string text = gemm_text({});
  const std::string was = "[%M, %N] out";
  const Module module = lowered(text.replace(text.find(was), was.size(), "[%M, 1020] strides [1021, 1] out"), "sm_90a");
  const RolePlan& roles = module.plans[0].roles;
  ASSERT_TRUE(roles.on) << roles.reason;
  EXPECT_EQ(roles.stores.size(), 0u);
  EXPECT_EQ(roles.row_stores.size(), 1u);
  const ir::Block& body = module.program.kernels[0].body;
  EXPECT_EQ(count(body, Primitive::tma_store_2d), 0);
  EXPECT_GT(count(body, Primitive::stmatrix_x4), 0);
  EXPECT_EQ(count(body, Primitive::named_barrier), 0);  // a warp's rows are its own
}

TEST(Layouts, AFragmentThatNoThreadHasRegistersForIsRefused) {
  GemmShape g;
  g.bm = 768, g.bn = 768, g.hints = " hint roles 1";
  EXPECT_EQ(refused(gemm_text(g), "sm_90a"), "fragment 'acc' of 768x768 f32 takes 2304 registers of each of 256 threads, which have 255: use a smaller tile, a shared one, or more threads");
  g.bm = 256, g.bn = 256;
  EXPECT_EQ(refused(gemm_text(g), "sm_90a"), "");
}

// A's tile goes to registers before its product: as `dtype`, in which it lies in memory.
std::string through_registers(const std::string& dtype, const std::string& product = "gemm @own[0:128, 0:64]") {
  std::string text = gemm_text({});
  const auto put = [&](const std::string& at, const std::string& what) { text.insert(text.find(at), what); };
  const auto turn = [&](const std::string& was, const std::string& is) { text.replace(text.find(was), was.size(), is); };
  turn("buffer @A global bf16", "buffer @A global " + dtype);
  turn("buffer @a shared bf16", "buffer @a shared " + dtype);
  put("buffer @acc fragment", "buffer @own fragment " + dtype + " [128, 64]\n");
  put("  4: fill", "  30: alloc @own\n");
  put("    7: gemm", "    31: copy @a[0:128, 0:64] -> @own[0:128, 0:64]\n");
  turn("gemm @a[0:128, 0:64]", product);
  return text;
}

TEST(Roles, AnOperandInAFragmentIsReadFromRegisters) {
  for (const char* dtype : {"bf16", "i8", "f32", "e4m3"}) {
    const Module module = lowered(through_registers(dtype), "sm_90a");
    const RolePlan& roles = module.plans[0].roles;
    ASSERT_TRUE(roles.on) << dtype << ": " << roles.reason;
    const ir::Block& body = module.program.kernels[0].body;
    EXPECT_TRUE(module.plans[0].gemms.at(7).a_registers);
    EXPECT_EQ(module.plans[0].gemms.at(7).atom->a, DType::bf16);
    EXPECT_EQ(count(body, Primitive::wgmma_rs), 4) << dtype;
    EXPECT_EQ(count(body, Primitive::wgmma), 0) << dtype;
    EXPECT_EQ(roles.plain_tiles.size(), 1u);
    EXPECT_EQ(roles.tiles.size(), 1u);
    EXPECT_EQ(module.plans[0].conversions.size(), 0u) << dtype;
    EXPECT_EQ(module.plans[0].min_blocks, 1);
  }
}

TEST(Roles, ATileOfAnotherTypeIsCastOnItsWay) {
  std::string text = through_registers("i8", "gemm @a[0:128, 0:64]");
  const std::string copy = "    31: copy @a[0:128, 0:64] -> @own[0:128, 0:64]\n";
  text.replace(text.find(copy), copy.size(), "");
  const Module module = lowered(text, "sm_90a");
  ASSERT_TRUE(module.plans[0].roles.on) << module.plans[0].roles.reason;
  EXPECT_EQ(count(module.program.kernels[0].body, Primitive::wgmma_rs), 4);
  EXPECT_EQ(module.plans[0].roles.plain_tiles.size(), 1u);
}

TEST(Roles, AnOperandInRegistersThatNoInstructionTakesIsSaid) {
  const auto reason = [](const std::string& text) { return lowered(text, "sm_90a", "plan_roles").plans[0].roles.reason; };
  std::string text = through_registers("bf16");
  EXPECT_EQ(reason(text), "");
  std::string around = text;
  around.replace(around.find("gemm @own[0:128, 0:64], @b[0:128, 0:64]"), 39, "gemm @b[0:128, 0:64], @own[0:128, 0:64]");
  EXPECT_EQ(reason(around), "operation 7: an operand is not a tile that the loop copies");
  std::string part = text;
  part.replace(part.find("copy @a[0:128, 0:64] -> @own[0:128, 0:64]"), 41, "copy @a[0:64, 0:64] -> @own[0:64, 0:64]");
  EXPECT_EQ(reason(part), "operation 31: work of its loop copies to a part of a fragment");
}

}  // namespace
}  // namespace tilert::passes
