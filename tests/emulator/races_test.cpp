// Race reports over plain accesses, copies and barriers: each kernel right as it stands, and wrong with one thing gone.
#include <gtest/gtest.h>

#include "emulator/kit.h"

namespace tilert::emulator {
namespace {

#if defined(__SANITIZE_THREAD__)
#define SKIP_UNDER_THREAD_SANITIZER() GTEST_SKIP() << "the hooks are the thread sanitizer's own in this build"
#else
#define SKIP_UNDER_THREAD_SANITIZER()
#endif

UnitOptions with_races() {
  UnitOptions options;
  options.races = true;
  return options;
}

// Two warps write, meet, read what the other wrote, meet, and write again.
std::string exchange(const std::string& first, const std::string& second) {
  return "TL_KERNEL(64, 1) k(int* out) {\n"
         "  int* const s = reinterpret_cast<int*>(tl_arena + 0);\n"
         "  for (int i = 0; i < 3; i += 1) {\n"
         "    s[tl_thread()] = tl_thread() + i;\n"
         "    " + first + "\n"
         "    out[tl_thread()] = s[63 - tl_thread()];\n"
         "    " + second + "\n"
         "  }\n"
         "}";
}

TEST(Races, BarriersOrderWritesAndReads) {
  SKIP_UNDER_THREAD_SANITIZER();
  Kit kit(exchange("tl_barrier();", "tl_barrier();"), with_races());
  std::vector<int> out(64);
  for (const Schedule& schedule : all_schedules()) {
    const Report report = kit.run({2}, 64, 256, schedule, out.data());
    // Both blocks write the same elements: that is a race of its own.
    EXPECT_EQ(report.fault, Fault::race);
    EXPECT_NE(report.text.find("another block"), std::string::npos) << report.text;
    const Report alone = kit.run({1}, 64, 256, schedule, out.data());
    EXPECT_TRUE(alone.ok()) << alone.text;
  }
}

TEST(Races, EachMissingBarrierIsARaceInEverySchedule) {
  SKIP_UNDER_THREAD_SANITIZER();
  std::vector<int> out(64);
  Kit after_write(exchange("", "tl_barrier();"), with_races()), before_overwrite(exchange("tl_barrier();", ""), with_races());
  for (const Schedule& schedule : all_schedules()) {
    const Report read_early = after_write.run({1}, 64, 256, schedule, out.data());
    EXPECT_EQ(read_early.fault, Fault::race) << read_early.text;
    const Report overwritten = before_overwrite.run({1}, 64, 256, schedule, out.data());
    EXPECT_EQ(overwritten.fault, Fault::race) << overwritten.text;
  }
}

std::string staged_copy(const std::string& wait, const std::string& barrier) {
  return "TL_KERNEL(64, 1) k(const int* in, int* out) {\n"
         "  int* const s = reinterpret_cast<int*>(tl_arena + 0);\n"
         "  tl_cp_async<16>(s + 4 * tl_thread(), in + 4 * tl_thread(), 16);\n"
         "  tl_cp_async_commit();\n"
         "  " + wait + "\n  " + barrier + "\n"
         "  out[tl_thread()] = s[255 - 4 * tl_thread()];\n"
         "}";
}

TEST(Races, ReadsBehindTheBlocksSharedMemoryAreTold) {
  SKIP_UNDER_THREAD_SANITIZER();
  Kit kit("TL_KERNEL(32, 1) k(int* out) {\n"
          "  int* const s = reinterpret_cast<int*>(tl_arena + 0);\n"
          "  s[tl_thread()] = 1;\n"
          "  tl_barrier();\n"
          "  out[tl_thread()] = s[32 - tl_thread()];\n"
          "}", with_races());
  std::vector<int> out(32);
  const Report report = kit.run({1}, 32, 128, all_schedules().front(), out.data());
  EXPECT_EQ(report.fault, Fault::protocol);
  EXPECT_NE(report.text.find("byte 128 of shared memory, of which the block has 128"), std::string::npos) << report.text;
}

TEST(Races, CopiesNeedTheirWaitAndABarrier) {
  SKIP_UNDER_THREAD_SANITIZER();
  std::vector<int> out(64);
  const std::vector<int> in(256, 3);
  const auto fault = [&](const std::string& text, const Schedule& schedule) {
    Kit kit(text, with_races());
    return kit.run({1}, 64, 1024, schedule, in.data(), out.data()).fault;
  };
  const Schedule greedy, backward{Order::greedy, true, 1, Timing::late, Timing::late, Timing::late};
  for (const Schedule& schedule : {greedy, backward}) {
    EXPECT_EQ(fault(staged_copy("tl_cp_async_wait<0>();", "tl_barrier();"), schedule), Fault::none);
    EXPECT_EQ(fault(staged_copy("", "tl_barrier();"), schedule), Fault::race);
    EXPECT_EQ(fault(staged_copy("tl_cp_async_wait<1>();", "tl_barrier();"), schedule), Fault::race);
    EXPECT_EQ(fault(staged_copy("tl_cp_async_wait<0>();", ""), schedule), Fault::race);
  }
}

TEST(Races, LanesOfAWarpAreOrderedByWarpSyncAlone) {
  SKIP_UNDER_THREAD_SANITIZER();
  const auto fault = [](const std::string& between) {
    std::vector<int> out(32);
    Kit kit("TL_KERNEL(32, 1) k(int* out) {\n  int* const s = reinterpret_cast<int*>(tl_arena + 0);\n  s[tl_thread()] = 1;\n" + between +
                "\n  out[tl_thread()] = s[31 - tl_thread()];\n}", with_races());
    return kit.run({1}, 32, 128, {}, out.data()).fault;
  };
  EXPECT_EQ(fault("  tl_warp_sync();"), Fault::none);
  EXPECT_EQ(fault(""), Fault::race);
}

}  // namespace
}  // namespace tilert::emulator
