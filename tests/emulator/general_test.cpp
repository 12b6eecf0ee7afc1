// The core and the general path's primitives, by kernels written over them.
#include <gtest/gtest.h>

#include <algorithm>

#include "emulator/kit.h"

namespace tilert::emulator {
namespace {

TEST(Emulator, EveryThreadOfEveryBlockRuns) {
  Kit kit("TL_KERNEL(96, 1) k(int* out) { out[tl_block_x() * 96 + tl_thread()] = tl_block_x() * 1000 + tl_thread(); }");
  std::vector<int> out(4 * 96, -1);
  for (const Schedule& schedule : usual_schedules()) {
    const Report report = kit.run({4}, 96, 0, schedule, out.data());
    ASSERT_TRUE(report.ok()) << report.text;
    for (int i = 0; i < 4 * 96; ++i) ASSERT_EQ(out[static_cast<size_t>(i)], i / 96 * 1000 + i % 96);
  }
}

TEST(Emulator, AMissingBarrierAfterAWriteShows) {
  Kit kit("TL_KERNEL(64, 1) k(int* out) { int* const s = reinterpret_cast<int*>(tl_arena + 0);\n"
          "s[tl_thread()] = tl_thread();\n"
          "out[tl_thread()] = s[63 - tl_thread()]; }");
  bool caught = false;
  for (const Schedule& schedule : usual_schedules()) {
    std::vector<int> out(64, 0);
    const Report report = kit.run({1}, 64, 256, schedule, out.data());
    for (int i = 0; i < 64; ++i) caught |= out[static_cast<size_t>(i)] != 63 - i;
  }
  EXPECT_TRUE(caught);
}

TEST(Emulator, ABarrierInADivergentBranchIsADeadlockThatNamesItsThreads) {
  Kit kit("TL_KERNEL(64, 1) k(int* out) {\n  if (tl_thread() < 40) {\n    tl_barrier();\n  }\n  out[tl_thread()] = 1;\n}");
  std::vector<int> out(64, 0);
  const Report report = kit.run({1}, 64, 0, {}, out.data());
  EXPECT_EQ(report.fault, Fault::deadlock);
  EXPECT_NE(report.text.find("threads 0 to 39 at the block's barrier of line 3"), std::string::npos) << report.text;
  EXPECT_NE(report.text.find("threads 40 to 63 ended"), std::string::npos) << report.text;
}

TEST(Emulator, ThreadsThatMeetAtDifferentOperationsAreADivergence) {
  Kit kit("TL_KERNEL(64, 1) k(int* out) {\n  if (tl_thread() < 32) tl_barrier();\n  else tl_named_barrier(0, 64);\n  out[tl_thread()] = 1;\n}");
  std::vector<int> out(64, 0);
  const Report report = kit.run({1}, 64, 0, {}, out.data());
  EXPECT_EQ(report.fault, Fault::divergence);
  EXPECT_NE(report.text.find("named barrier 0"), std::string::npos) << report.text;
  EXPECT_NE(report.text.find("the block's barrier"), std::string::npos) << report.text;
}

TEST(Emulator, AnAccessBeyondSharedMemoryIsAReport) {
  Kit kit("TL_KERNEL(32, 1) k(int* out) {\n  reinterpret_cast<int*>(tl_arena + 0)[tl_thread() + 240] = 1;\n  tl_barrier();\n}");
  int out = 0;
  const Report report = kit.run({1}, 32, 1024, {}, &out);
  EXPECT_EQ(report.fault, Fault::out_of_bounds);
  EXPECT_NE(report.text.find("beyond the end of shared memory"), std::string::npos) << report.text;
  const Report inside = kit.run({1}, 32, 1000, {}, &out);  // the page ends later: the canary falls
  EXPECT_EQ(inside.fault, Fault::out_of_bounds);
}

TEST(Emulator, AnAccessBeyondAGlobalBufferNamesIt) {
  Kit kit("TL_KERNEL(32, 1) k(int* out) {\n  out[tl_thread() + 1] = 1;\n}");
  Kit::Guarded out(32 * 4, "argument 0");
  const Report report = kit.run({1}, 32, 0, {}, static_cast<int*>(out.data()));
  EXPECT_EQ(report.fault, Fault::out_of_bounds);
  EXPECT_NE(report.text.find("0 bytes beyond argument 0"), std::string::npos) << report.text;
}

TEST(Emulator, AMisalignedVectorIsAReport) {
  Kit kit("TL_KERNEL(32, 1) k(float* out) {\n  float r[4];\n  tl_move<4>(r, out + tl_thread());\n}");
  alignas(16) float out[64] = {};
  const Report report = kit.run({1}, 32, 0, {}, &out[0]);
  EXPECT_EQ(report.fault, Fault::misaligned);
  EXPECT_EQ(report.line, 3);
}

TEST(Emulator, LateCopiesShowAMissingWait) {
  const std::string head = "TL_KERNEL(32, 1) k(const int* in, int* out) { int* const s = reinterpret_cast<int*>(tl_arena + 0);\n"
      "tl_cp_async<16>(s + 4 * tl_thread(), in + 4 * tl_thread(), 16); tl_cp_async_commit();\n";
  const std::string tail = "tl_barrier();\nfor (int i = 0; i < 4; i += 1) { out[4 * tl_thread() + i] = s[127 - (4 * tl_thread() + i)]; } }";
  std::vector<int> in(128), out(128);
  for (int i = 0; i < 128; ++i) in[static_cast<size_t>(i)] = 7 * i + 1;
  for (bool with_wait : {true, false}) {
    Kit kit(head + (with_wait ? "tl_cp_async_wait<0>();\n" : "") + tail);
    bool wrong = false;
    for (const Schedule& schedule : usual_schedules()) {
      std::fill(out.begin(), out.end(), -1);
      const Report report = kit.run({1}, 32, 512, schedule, static_cast<const int*>(in.data()), out.data());
      wrong |= !report.ok();
      for (int i = 0; i < 128; ++i) wrong |= out[static_cast<size_t>(i)] != 7 * (127 - i) + 1;
    }
    EXPECT_EQ(wrong, !with_wait);
  }
}

TEST(Emulator, ShufflesExchangeLanes) {
  Kit kit("TL_KERNEL(32, 1) k(int* out) {\n  int a[1];\n  int b[1];\n  a[0] = tl_thread();\n  tl_shuffle_xor(b, a, 5);\n  out[tl_thread()] = b[0];\n}");
  std::vector<int> out(32);
  const Report report = kit.run({1}, 32, 0, {}, out.data());
  ASSERT_TRUE(report.ok()) << report.text;
  for (int i = 0; i < 32; ++i) EXPECT_EQ(out[static_cast<size_t>(i)], i ^ 5);
}

TEST(Emulator, ReductionsOverAWarpGiveEveryLaneTheResultAndKnowSigns) {
  const auto result = [](const std::string& op, const std::string& type) {
    Kit kit("TL_KERNEL(64, 1) k(int* out) {\n  " + type + " a[1];\n  a[0] = static_cast<" + type + ">(tl_thread() * 7 - 100);\n  tl_redux_" + op +
            "(a, a);\n  out[tl_thread()] = static_cast<int>(a[0]);\n}");
    std::vector<int> out(64);
    const Report report = kit.run({1}, 64, 0, {}, out.data());
    EXPECT_TRUE(report.ok()) << report.text;
    for (int i = 0; i < 64; ++i) EXPECT_EQ(out[static_cast<size_t>(i)], out[static_cast<size_t>(i / 32 * 32)]) << op << " lane " << i;
    return std::pair(out[0], out[32]);
  };
  const auto fold = [](auto combine, auto first) {
    auto low = first(-100), high = first(32 * 7 - 100);
    for (int i = 1; i < 32; ++i) low = combine(low, first(i * 7 - 100)), high = combine(high, first((32 + i) * 7 - 100));
    return std::pair(static_cast<int>(low), static_cast<int>(high));
  };
  const auto sign = [](int x) { return x; };
  const auto none = [](int x) { return static_cast<uint32_t>(x); };
  EXPECT_EQ(result("add", "int"), fold([](int a, int b) { return a + b; }, sign));
  EXPECT_EQ(result("min", "int"), fold([](int a, int b) { return std::min(a, b); }, sign));
  EXPECT_EQ(result("max", "int"), fold([](int a, int b) { return std::max(a, b); }, sign));
  EXPECT_EQ(result("min", "tl_u32"), fold([](uint32_t a, uint32_t b) { return std::min(a, b); }, none));
  EXPECT_EQ(result("max", "tl_u32"), fold([](uint32_t a, uint32_t b) { return std::max(a, b); }, none));
  EXPECT_EQ(result("and", "tl_u32"), fold([](uint32_t a, uint32_t b) { return a & b; }, none));
  EXPECT_EQ(result("or", "tl_u32"), fold([](uint32_t a, uint32_t b) { return a | b; }, none));
  EXPECT_EQ(result("xor", "tl_u32"), fold([](uint32_t a, uint32_t b) { return a ^ b; }, none));
}

TEST(Parts, EveryPartOfTheDeviceFilesHasAHostForm) {
  EXPECT_EQ(parts_without_host_form(), std::vector<std::string>());
  // And every twin stands for a part.
  std::vector<std::string> parts;
  for (const Part& part : device_parts()) parts.push_back(part.names[0]);
  for (const Part& twin : twin_parts()) EXPECT_NE(std::find(parts.begin(), parts.end(), twin.names[0]), parts.end()) << twin.names[0];
}

TEST(Rules, TextsThatSayMoreThanPrimitivesAreRefusedByLine) {
  const auto rule = [](const std::string& body) { return broken_rule(kernel_text("TL_KERNEL(32, 1) k(int* p0) {\n" + body + "\n}\n")); };
  EXPECT_EQ(rule("  p0[tl_thread()] = 1;"), "");
  EXPECT_EQ(rule("  // 7: product\n  #pragma unroll\n  for (int i = 0; i < 2; i += 1) {\n    tl_barrier();\n  }"), "");
  EXPECT_NE(rule("  asm volatile(\"nop;\");").find("line 2: 'asm'"), std::string::npos);
  EXPECT_NE(rule("  p0[threadIdx.x] = 1;"), "");
  EXPECT_NE(rule("  __syncthreads();"), "");
  EXPECT_NE(rule("#include <x>"), "");
  EXPECT_NE(rule("  if (tl_thread() == 0) return;"), "");
  EXPECT_NE(rule("  printf(\"x\");"), "");
}

}  // namespace
}  // namespace tilert::emulator
