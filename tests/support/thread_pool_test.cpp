// Every index runs exactly once, its stores are seen, slots are exclusive, and no launch waits for another: under
// concurrent, nested and forked use.
#include "support/thread_pool.h"

#include "support/float_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

namespace tilert {
namespace {

using Body = std::function<void(int64_t begin, int64_t end, int slot)>;

void run(Executor& executor, int64_t count, const Body& body, uint64_t nanoseconds = 0) {
  Work work;
  work.run = [](void* context, int64_t begin, int64_t end, int slot) {
    (*static_cast<const Body*>(context))(begin, end, slot);
  };
  work.context = const_cast<Body*>(&body);
  work.count = count;
  work.nanoseconds = nanoseconds;
  executor.run(work);
}

// Plain (not atomic) counters: a lost or doubled index, or stores not visible to the caller, show here and in TSan.
void expect_each_index_once(Executor& executor, int64_t count) {
  std::vector<int> hits(static_cast<size_t>(count), 0);
  run(executor, count, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
  });
  EXPECT_THAT(hits, ::testing::Each(1)) << count;
}

TEST(ThreadPool, EveryIndexRunsOnceForAnyCountAndSize) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.width(), threads);
    for (int64_t count : {0, 1, 2, 5, 31, 32, 33, 63, 64, 1000, 4097}) expect_each_index_once(pool, count);
  }
}

TEST(ThreadPool, AtMostThirtyTwoRangesAreHandedOut) {
  ThreadPool pool(4);
  std::atomic<int> ranges{0};
  run(pool, 100'000, [&](int64_t, int64_t, int) { ++ranges; });
  EXPECT_LE(ranges.load(), 32);
}

TEST(ThreadPool, SlotsAreInsideTheWidthAndHeldByOneThreadAtATime) {
  ThreadPool pool(4);
  std::array<std::atomic<int>, 4> holders{};
  std::atomic<bool> wrong{false};
  for (int round = 0; round < 500; ++round) {
    run(pool, 64, [&](int64_t, int64_t, int slot) {
      if (slot < 0 || slot >= 4 || holders[slot].fetch_add(1) != 0) wrong = true;
      if (round % 50 == 0) std::this_thread::yield();
      if (slot >= 0 && slot < 4) holders[slot].fetch_sub(1);
    });
  }
  EXPECT_FALSE(wrong);
}

TEST(ThreadPool, ThousandsOfLaunchesInARowLoseNothing) {
  ThreadPool pool(3);
  int64_t total = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::array<int64_t, 8> parts{};
    run(pool, 8, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) parts[static_cast<size_t>(i)] = i + round;
    });
    for (int64_t part : parts) total += part;
  }
  EXPECT_EQ(total, int64_t{8} * 20'000 * 19'999 / 2 + int64_t{28} * 20'000);
}

TEST(ThreadPool, LaunchesFromManyThreadsRunSideBySide) {
  ThreadPool pool(4);
  std::vector<std::thread> callers;
  for (int t = 0; t < 12; ++t) {  // more than the launches that the pool shares its workers among
    callers.emplace_back([&pool, t] {
      for (int round = 0; round < 300; ++round) expect_each_index_once(pool, 1 + (t * 37 + round) % 200);
    });
  }
  for (auto& caller : callers) caller.join();
}

TEST(ThreadPool, NestedLaunchesFinish) {
  ThreadPool pool(4);
  std::atomic<int64_t> sum{0};
  run(pool, 16, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      run(pool, 16, [&](int64_t b, int64_t e, int) {
        for (int64_t j = b; j < e; ++j) run(pool, 4, [&](int64_t x, int64_t y, int) { sum += y - x; });
      });
    }
  });
  EXPECT_EQ(sum.load(), 16 * 16 * 4);
}

TEST(ThreadPool, WorkAfterTheWorkersHaveParkedStillUsesThem) {
  ThreadPool pool(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::atomic<int> arrived{0};
  // Two ranges that wait for each other: one thread alone would never finish.
  run(pool, 2, [&](int64_t, int64_t, int) {
    ++arrived;
    while (arrived.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived.load(), 2);
}

TEST(ThreadPool, SmallWorkRunsOnTheCallerWhileTheWorkersAreParked) {
  ThreadPool pool(3);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto caller = std::this_thread::get_id();
  std::atomic<int> elsewhere{0};
  run(pool, 64, [&](int64_t, int64_t, int) { elsewhere += std::this_thread::get_id() != caller; }, 50'000);
  EXPECT_EQ(elsewhere.load(), 0);
}

TEST(ThreadPool, ACallerThatWaitsLongIsWoken) {
  ThreadPool pool(2);
  const auto caller = std::this_thread::get_id();
  std::atomic<int> arrived{0};
  run(pool, 2, [&](int64_t, int64_t, int) {
    ++arrived;
    while (arrived.load() < 2) std::this_thread::yield();
    if (std::this_thread::get_id() != caller) std::this_thread::sleep_for(std::chrono::milliseconds(30));
  });
  EXPECT_EQ(arrived.load(), 2);
}

TEST(ThreadPool, AChildOfForkRunsItsWorkAloneAndMayDestroyThePool) {
  auto pool = std::make_unique<ThreadPool>(4);
  expect_each_index_once(*pool, 100);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int64_t done = 0;  // not atomic: only this thread exists
    run(*pool, 100, [&](int64_t begin, int64_t end, int) { done += end - begin; });
    pool.reset();
    _exit(done == 100 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  expect_each_index_once(*pool, 100);
}

TEST(ThreadPool, BlocksRunInTheDefaultFloatModeAndTheCallersComesBack) {
#if defined(__x86_64__)
  ThreadPool pool(2);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flush to zero, denormals are zero
  std::atomic<int> flushed{0};
  const float tiny = 0x1p-140f;
  run(pool, 64, [&](int64_t, int64_t, int) {
    volatile float x = tiny;
    if (x * 0.5f == 0.0f) ++flushed;
  });
  EXPECT_EQ(_mm_getcsr() & 0x8040u, 0x8040u);
  _mm_setcsr(before);
  EXPECT_EQ(flushed.load(), 0);
#else
  GTEST_SKIP() << "sets MXCSR";
#endif
}

struct CountingExecutor {
  int calls = 0;
  uint32_t asked = 0;
  bool drop_last = false;
  static void parallel_for(void* user, uint32_t count, CallerExecutor::Body body, void* arg) {
    auto* self = static_cast<CountingExecutor*>(user);
    ++self->calls;
    self->asked = count;
    std::vector<std::thread> threads;
    for (uint32_t i = self->drop_last ? count : 0; i < count; ++i) threads.emplace_back([=] { body(arg, i); });
    for (auto& thread : threads) thread.join();
  }
};

TEST(CallerExecutor, RunsEveryIndexOnceOnTheCallersThreads) {
  CountingExecutor host;
  CallerExecutor executor(CountingExecutor::parallel_for, &host, 3);
  for (int64_t count : {0, 1, 2, 31, 1000}) expect_each_index_once(executor, count);
  EXPECT_EQ(host.calls, 3);  // 0 and 1 need no threads
  EXPECT_EQ(host.asked, 3u);
}

TEST(CallerExecutor, AnExecutorThatRunsNothingLosesNoWork) {
  CountingExecutor host;
  host.drop_last = true;
  CallerExecutor executor(CountingExecutor::parallel_for, &host, 4);
  expect_each_index_once(executor, 77);
}

class CgroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("tilert_cgroup_" + std::to_string(getpid()));
    std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  int limit(std::string_view membership) { return cgroup_cpu_limit(root_.string(), membership); }
  std::filesystem::path root_;
};

TEST_F(CgroupTest, VersionTwoTakesTheSmallestLimitOfTheAncestors) {
  put("a/cpu.max", "250000 100000\n");
  put("a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(limit("0::/a/b\n"), 3);
  put("a/b/cpu.max", "150000 100000\n");
  EXPECT_EQ(limit("0::/a/b\n"), 2);
}

TEST_F(CgroupTest, InsideAContainerTheRootsOwnFileCounts) {
  put("cpu.max", "400000 100000\n");
  EXPECT_EQ(limit("0::/\n"), 4);
  EXPECT_EQ(limit("0::/docker/0123\n"), 4);
}

TEST_F(CgroupTest, VersionOneReadsQuotaAndPeriod) {
  put("cpu,cpuacct/x/cpu.cfs_quota_us", "50000\n");
  put("cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit("4:memory:/x\n3:cpu,cpuacct:/x\n"), 1);
  put("cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(limit("3:cpu,cpuacct:/x\n"), 0);
}

TEST_F(CgroupTest, NonsenseIsNoLimit) {
  put("cpu.max", "what 100000\n");
  EXPECT_EQ(limit("0::/\n"), 0);
  EXPECT_EQ(limit(""), 0);
  EXPECT_EQ(limit("not a line of proc\n\n::::\n"), 0);
}

TEST(AvailableCpus, IsAtLeastOneAndAtMostTheMachine) {
  EXPECT_GE(available_cpus(), 1);
  EXPECT_LE(available_cpus(), static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)));
}

}  // namespace
}  // namespace tilert
