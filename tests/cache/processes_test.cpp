// Many processes on one cache: no error, no wrong byte, hardly anything made twice; killed ones leave nothing behind.
#include "cache/cache.h"
#include "scratch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#if defined(__SANITIZE_THREAD__)
// Processes are forked from a test program whose threads are at rest.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
#endif

namespace tilert {
namespace {

constexpr char kNoForkWithThreads[] = "the thread sanitizer supports no threads in a child of a process with threads";

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

CacheOptions shared_options(const ScratchDirectory& scratch) {
  CacheOptions options;
  options.directory = scratch / "cache";
  return options;
}

// Counts bytes written by all processes that hold it.
class Tally {
 public:
  Tally() { (void)!pipe(fds_); }
  ~Tally() { close(fds_[0]), close(fds_[1]); }
  void add() { (void)!write(fds_[1], "x", 1); }
  void wait_for_one() {
    char c;
    (void)!read(fds_[0], &c, 1);
  }
  int count() {
    int all = 0;
    char buffer[4096];
    close(fds_[1]);
    for (ssize_t n; (n = read(fds_[0], buffer, sizeof buffer)) > 0;) all += static_cast<int>(n);
    fds_[1] = -1;
    return all;
  }

 private:
  int fds_[2];
};

TEST(Processes, FortyEightShareOneColdCacheWithoutErrorsOrDoubleWork) {
  ScratchDirectory scratch;
  Tally made;
  constexpr int kProcesses = kThreadSanitizer ? 8 : 48, kKeys = 40;
  std::vector<int> ends = run_processes(kProcesses, [&](int p) {
    auto cache = Cache::open(shared_options(scratch));
    for (int n = 0; n < kKeys; ++n) {
      int i = (n + p * 5) % kKeys;
      auto result = cache->get_or_make(key_of(i), [&] {
        made.add();
        std::this_thread::sleep_for(milliseconds(1));
        return Result<CacheEntry>(entry_of(i, 20000));
      });
      if (!result || !is_entry_of(result->entry, i, 20000)) return 2;
      cache->put(request_of(i), "g", {key_of(i), "c"});
    }
    if (!cache->flush(seconds(60))) return 3;
    return serious_events(cache->stats()) == 0 ? 0 : 4;
  });
  EXPECT_EQ(ends, std::vector<int>(kProcesses, 0));
  EXPECT_LE(made.count(), kKeys * 105 / 100);
  auto cache = Cache::open(shared_options(scratch));
  for (int i = 0; i < kKeys; ++i) {
    EXPECT_TRUE(is_entry_of(cache->find(key_of(i)), i, 20000));
    EXPECT_TRUE(cache->find(request_of(i), "g"));
  }
}

TEST(Processes, TwoHundredCreateTheStoreAtOnce) {
  ScratchDirectory scratch;
  constexpr int kProcesses = kThreadSanitizer ? 10 : 200;
  std::vector<int> ends = run_processes(kProcesses, [&](int p) {
    auto cache = Cache::open(shared_options(scratch));
    cache->put(key_of(p), entry_of(p));
    if (!cache->flush(seconds(60))) return 2;
    return serious_events(cache->stats()) == 0 ? 0 : 3;
  });
  EXPECT_EQ(ends, std::vector<int>(kProcesses, 0));
  auto cache = Cache::open(shared_options(scratch));
  for (int p = 0; p < kProcesses; ++p) EXPECT_TRUE(is_entry_of(cache->find(key_of(p)), p)) << p;
}

TEST(Processes, ReadersSeeWholeEntriesWhileWritersReplaceThem) {
  ScratchDirectory scratch;
  std::vector<int> ends = run_processes(6, [&](int p) {
    auto cache = Cache::open(shared_options(scratch));
    for (int n = 0; n < 60; ++n) {
      if (p < 2) {
        cache->put(key_of(0), entry_of(p + n % 3, 50000), Replace::replace);
        if (!cache->flush(seconds(60))) return 2;
        continue;
      }
      cache->clear_memory();
      CacheEntryPtr entry = cache->find(key_of(0));
      bool whole = !entry;
      for (int i = 0; i < 4; ++i) whole = whole || is_entry_of(entry, i, 50000);
      if (!whole) return 3;
      std::this_thread::sleep_for(milliseconds(1));
    }
    return serious_events(cache->stats()) == 0 ? 0 : 4;
  });
  EXPECT_EQ(ends, std::vector<int>(6, 0));
}

TEST(Processes, AWaiterGoesOnAtOnceWhenTheLeaderIsKilled) {
  ScratchDirectory scratch;
  Tally leading;
  pid_t leader = start_process([&] {
    auto cache = Cache::open(shared_options(scratch));
    (void)cache->get_or_make(key_of(1), [&]() -> Result<CacheEntry> {
      leading.add();
      while (true) pause();
    });
    return 1;
  });
  leading.wait_for_one();
  auto cache = Cache::open(shared_options(scratch));
  steady_clock::time_point killed;
  std::jthread killer([&] {
    std::this_thread::sleep_for(milliseconds(200));
    killed = steady_clock::now();
    kill(leader, SIGKILL);
  });
  auto made = cache->get_or_make(key_of(1), [] { return Result<CacheEntry>(entry_of(1)); });
  auto now = steady_clock::now();
  killer.join();
  EXPECT_TRUE(made && made->origin == CacheOrigin::made);
  EXPECT_GE(now, killed) << "it waited for the leader";
  EXPECT_LT(now - killed, seconds(1));
  EXPECT_EQ(cache->stats().of(CacheEventKind::lease_waited), 1u);
  end_of(leader);
}

TEST(Processes, AWaiterTakesTheLeadersEntryOnceItIsStored) {
  ScratchDirectory scratch;
  Tally leading;
  pid_t leader = start_process([&] {
    auto cache = Cache::open(shared_options(scratch));
    auto made = cache->get_or_make(key_of(1), [&] {
      leading.add();
      std::this_thread::sleep_for(milliseconds(300));
      return Result<CacheEntry>(entry_of(1));
    });
    return made ? 0 : 1;
  });
  leading.wait_for_one();
  auto cache = Cache::open(shared_options(scratch));
  auto got = cache->get_or_make(key_of(1), []() -> Result<CacheEntry> {
    ADD_FAILURE() << "made although another process was making it";
    return entry_of(1);
  });
  EXPECT_TRUE(got && got->origin == CacheOrigin::disk && is_entry_of(got->entry, 1));
  EXPECT_EQ(end_of(leader), 0);
}

TEST(Processes, AWaitForAnotherProcessIsBounded) {
  ScratchDirectory scratch;
  Tally leading;
  pid_t leader = start_process([&] {
    auto cache = Cache::open(shared_options(scratch));
    (void)cache->get_or_make(key_of(1), [&]() -> Result<CacheEntry> {
      leading.add();
      while (true) pause();
    });
    return 1;
  });
  leading.wait_for_one();
  CacheOptions options = shared_options(scratch);
  options.lease_wait = milliseconds(100);
  auto cache = Cache::open(options);
  auto made = cache->get_or_make(key_of(1), [] { return Result<CacheEntry>(entry_of(1)); });
  EXPECT_TRUE(made && made->origin == CacheOrigin::made);
  EXPECT_EQ(cache->stats().of(CacheEventKind::lease_timeout), 1u);
  kill(leader, SIGKILL);
  end_of(leader);
}

TEST(Processes, KilledWritersLeaveAHealthyStore) {
  ScratchDirectory scratch;
  std::mt19937 random(17);
  for (int round = 0; round < (kThreadSanitizer ? 5 : 60); ++round) {
    Tally stored;
    std::vector<pid_t> writers;
    for (int w = 0; w < 2; ++w)
      writers.push_back(start_process([&, w] {
        auto cache = Cache::open(shared_options(scratch));
        for (int n = 0;; ++n) {
          int i = (round * 31 + w * 500 + n) % 1000;
          cache->put(key_of(i), entry_of(i, 60000), Replace::replace);
          cache->flush(seconds(10));
          stored.add();
        }
        return 0;
      }));
    stored.wait_for_one();
    std::this_thread::sleep_for(milliseconds(5 + random() % 40));
    for (pid_t writer : writers) kill(writer, SIGKILL);
    for (pid_t writer : writers) EXPECT_EQ(end_of(writer), 128 + SIGKILL);
  }
  auto cache = Cache::open(shared_options(scratch));
  int found = 0;
  for (int i = 0; i < 1000; ++i) {
    CacheEntryPtr entry = cache->find(key_of(i));
    EXPECT_TRUE(!entry || is_entry_of(entry, i, 60000));
    found += entry != nullptr;
  }
  EXPECT_GT(found, kThreadSanitizer ? 1 : 20);
  EXPECT_EQ(serious_events(cache->stats()), 0u);
  EXPECT_EQ(OtherConnection(cache->stats().store_path)
                .number("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
            1);
}

TEST(Processes, AChildOfForkReadsAndWritesAndItsParentGoesOn) {
  if (kThreadSanitizer) GTEST_SKIP() << kNoForkWithThreads;
  ScratchDirectory scratch;
  auto cache = Cache::open(shared_options(scratch));
  cache->put(key_of(1), entry_of(1));
  ASSERT_TRUE(cache->flush(seconds(10)));
  cache->put(key_of(2), entry_of(2));  // perhaps still pending when the child comes to be
  pid_t child = start_process([&] {
    if (!is_entry_of(cache->find(key_of(1)), 1)) return 2;
    cache->clear_memory();
    if (!is_entry_of(cache->find(key_of(1)), 1)) return 3;
    auto made = cache->get_or_make(key_of(3), [] { return Result<CacheEntry>(entry_of(3)); });
    if (!made || !cache->flush(seconds(30))) return 4;
    return serious_events(cache->stats()) == 0 ? 0 : 5;
  });
  EXPECT_EQ(end_of(child), 0);
  EXPECT_TRUE(cache->flush(seconds(10)));
  cache->clear_memory();
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(is_entry_of(cache->find(key_of(i)), i)) << i;
}

TEST(Processes, ForksInTheMiddleOfEverythingAreSafe) {
  if (kThreadSanitizer) GTEST_SKIP() << kNoForkWithThreads;
  ScratchDirectory scratch;
  auto cache = Cache::open(shared_options(scratch));
  std::atomic<bool> stop{false};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (int n = 0; !stop; ++n) {
        int i = (t * 100 + n) % 300;
        (void)cache->get_or_make(key_of(i), [&] { return Result<CacheEntry>(entry_of(i)); });
        if (n % 20 == 0) cache->clear_memory();
      }
    });
  for (int round = 0; round < (kThreadSanitizer ? 3 : 30); ++round) {
    pid_t child = start_process([&] {
      int i = 1000 + round;
      auto made = cache->get_or_make(key_of(i), [&] { return Result<CacheEntry>(entry_of(i)); });
      return made && cache->flush(seconds(60)) ? 0 : 2;
    });
    EXPECT_EQ(end_of(child), 0);
  }
  stop = true;
  threads.clear();
  EXPECT_TRUE(cache->flush(seconds(60)));
  cache->clear_memory();
  EXPECT_TRUE(is_entry_of(cache->find(key_of(1000)), 1000)) << "what a child stored is there";
}

TEST(Processes, ALeaseOfTheParentIsNotTheChilds) {
  if (kThreadSanitizer) GTEST_SKIP() << kNoForkWithThreads;
  ScratchDirectory scratch;
  auto cache = Cache::open(shared_options(scratch));
  auto made = cache->get_or_make(key_of(1), [&] {
    // While this process makes the entry, a child that ends must not release the lease for others.
    EXPECT_EQ(end_of(start_process([] { return 0; })), 0);
    CacheOptions options = shared_options(scratch);
    options.lease_wait = milliseconds(100);
    int end = end_of(start_process([&] {
      auto other = Cache::open(options);
      auto second = other->get_or_make(key_of(1), [] { return Result<CacheEntry>(entry_of(1)); });
      return second && other->stats().of(CacheEventKind::lease_timeout) == 1 ? 0 : 2;
    }));
    EXPECT_EQ(end, 0);
    return Result<CacheEntry>(entry_of(1));
  });
  EXPECT_TRUE(made);
}

}  // namespace
}  // namespace tilert
