// The layers in one process: hits, misses, single flight, namespaces, policy, places.
#include "cache/cache.h"

#include "cache/database.h"
#include "cache/place.h"
#include "scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <future>
#include <thread>

namespace tilert {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

CacheOptions options_in(const std::string& directory) {
  CacheOptions options;
  options.directory = directory;
  return options;
}

Result<CacheEntry> must_not_be_made() {
  ADD_FAILURE() << "made again";
  return entry_of(0);
}

TEST(Cache, KeepsEntriesAcrossProcessesOfItsKind) {
  ScratchDirectory scratch;
  {
    auto cache = Cache::open(options_in(scratch.path()));
    cache->put(key_of(1), entry_of(1));
    cache->put(request_of(1), "generator 1", {key_of(1), "stages=3"});
    ASSERT_TRUE(cache->flush(seconds(10)));
    EXPECT_EQ(cache->stats().of(CacheEventKind::stored), 2u);
  }
  auto cache = Cache::open(options_in(scratch.path()));
  EXPECT_FALSE(cache->find_in_memory(key_of(1)));
  EXPECT_TRUE(is_entry_of(cache->find(key_of(1)), 1));
  EXPECT_TRUE(is_entry_of(cache->find_in_memory(key_of(1)), 1)) << "a hit on disk fills the memory";
  std::optional<IndexEntry> index = cache->find(request_of(1), "generator 1");
  ASSERT_TRUE(index);
  EXPECT_EQ(index->binary, key_of(1));
  EXPECT_EQ(index->configuration, "stages=3");
  EXPECT_FALSE(cache->find(request_of(1), "generator 2"));
  EXPECT_FALSE(cache->find(request_of(2), "generator 1"));
  EXPECT_FALSE(cache->find(key_of(2)));
  EXPECT_EQ(cache->stats().of(CacheEventKind::disk_hit), 2u);
}

TEST(Cache, PendingEntriesAreWrittenWhenItIsDestroyed) {
  ScratchDirectory scratch;
  {
    auto cache = Cache::open(options_in(scratch.path()));
    for (int i = 0; i < 200; ++i) cache->put(key_of(i), entry_of(i));
  }
  auto cache = Cache::open(options_in(scratch.path()));
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(is_entry_of(cache->find(key_of(i)), i)) << i;
}

TEST(Cache, OpeningAndMissingWritesNothing) {
  ScratchDirectory scratch;
  {
    auto cache = Cache::open(options_in(scratch / "deep/cache"));
    EXPECT_FALSE(cache->find(key_of(1)));
    EXPECT_FALSE(cache->find(request_of(1), "g"));
    EXPECT_TRUE(cache->flush(seconds(1)));
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
  {
    auto cache = Cache::open(options_in(scratch / "deep/cache"));
    cache->put(key_of(1), entry_of(1));
  }
  struct stat status {};
  ASSERT_EQ(stat((scratch / "deep/cache").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST(Cache, TheJournalModeIsPartOfTheFileName) {
  ScratchDirectory scratch;
  auto cache = Cache::open(options_in(scratch.path()));
  cache->put(key_of(1), entry_of(1));
  ASSERT_TRUE(cache->flush(seconds(10)));
  OtherConnection other(cache->stats().store_path);
  EXPECT_THAT(cache->stats().store_path, testing::HasSubstr(uses_wal() ? "-wal-" : "-rollback-"));
  EXPECT_EQ(other.number("PRAGMA application_id"), kApplicationId);
  EXPECT_EQ(other.number("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'"), uses_wal() ? 1 : 0);
}

TEST(Cache, NamespacesNeverShare) {
  ScratchDirectory scratch;
  CacheOptions a = options_in(scratch.path()), b = a;
  a.name_space = "a";
  b.name_space = "b";
  {
    auto cache = Cache::open(a);
    cache->put(key_of(1), entry_of(1));
    cache->put(request_of(1), "g", {key_of(1), ""});
  }
  auto other = Cache::open(b), plain = Cache::open(options_in(scratch.path())), same = Cache::open(a);
  EXPECT_FALSE(other->find(key_of(1)));
  EXPECT_FALSE(other->find(request_of(1), "g"));
  EXPECT_FALSE(plain->find(key_of(1)));
  EXPECT_TRUE(same->find(key_of(1)));
  EXPECT_TRUE(same->find(request_of(1), "g"));
}

TEST(Cache, TheFirstOfTwoPutsStaysUnlessReplaced) {
  auto cache = Cache::open({.disk = false});
  EXPECT_TRUE(is_entry_of(cache->put(key_of(1), entry_of(1)), 1));
  EXPECT_TRUE(is_entry_of(cache->put(key_of(1), entry_of(2)), 1));
  EXPECT_TRUE(is_entry_of(cache->put(key_of(1), entry_of(3), Replace::replace), 3));
  EXPECT_TRUE(is_entry_of(cache->find(key_of(1)), 3));
  cache->clear_memory();
  EXPECT_FALSE(cache->find(key_of(1)));
}

TEST(Cache, EntriesThatThePolicyRejectsAreMadeAgainAndReplaced) {
  ScratchDirectory scratch;
  {
    auto cache = Cache::open(options_in(scratch.path()));
    cache->put(key_of(1), {"old bytes", "compiler 1"});
  }
  CacheOptions strict = options_in(scratch.path());
  strict.accept = [](std::string_view metadata) { return metadata != "compiler 1"; };
  {
    auto cache = Cache::open(strict);
    EXPECT_FALSE(cache->find(key_of(1)));
    auto made = cache->get_or_make(key_of(1), [] { return Result<CacheEntry>(CacheEntry{"new bytes", "compiler 2"}); });
    ASSERT_TRUE(made);
    EXPECT_EQ(made->origin, CacheOrigin::made);
    EXPECT_GE(cache->stats().of(CacheEventKind::rejected), 2u);
  }
  auto cache = Cache::open(strict);
  ASSERT_TRUE(cache->find(key_of(1)));
  EXPECT_EQ(cache->find(key_of(1))->bytes, "new bytes");
}

TEST(Cache, SayWhereAnEntryCameFrom) {
  ScratchDirectory scratch;
  auto origin = [&](Cache& cache, int i) {
    auto made = cache.get_or_make(key_of(i), [&] { return Result<CacheEntry>(entry_of(i)); });
    EXPECT_TRUE(made && is_entry_of(made->entry, i));
    return made->origin;
  };
  {
    auto cache = Cache::open(options_in(scratch.path()));
    EXPECT_EQ(origin(*cache, 1), CacheOrigin::made);
    EXPECT_EQ(origin(*cache, 1), CacheOrigin::memory);
  }
  auto cache = Cache::open(options_in(scratch.path()));
  EXPECT_EQ(origin(*cache, 1), CacheOrigin::disk);
}

TEST(Cache, SixtyFourThreadsMakeOneEntryOnce) {
  ScratchDirectory scratch;
  auto cache = Cache::open(options_in(scratch.path()));
  std::atomic<int> made{0};
  std::barrier start(64);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 64; ++t)
    threads.emplace_back([&] {
      start.arrive_and_wait();
      auto result = cache->get_or_make(key_of(1), [&] {
        ++made;
        std::this_thread::sleep_for(milliseconds(50));
        return Result<CacheEntry>(entry_of(1));
      });
      EXPECT_TRUE(result && is_entry_of(result->entry, 1));
    });
  threads.clear();
  EXPECT_EQ(made, 1);
}

TEST(Cache, AFailureIsSharedByThoseWhoWaitAndForgottenAfter) {
  auto cache = Cache::open({.disk = false});
  std::atomic<int> calls{0}, failures{0};
  std::barrier start(32);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 32; ++t)
    threads.emplace_back([&] {
      start.arrive_and_wait();
      auto result = cache->get_or_make(key_of(1), [&]() -> Result<CacheEntry> {
        ++calls;
        std::this_thread::sleep_for(milliseconds(100));
        return make_error(Code::kCompile, "does not compile");
      });
      failures += !result && result.error().message == "does not compile";
    });
  threads.clear();
  EXPECT_EQ(failures, 32);
  EXPECT_LT(calls, 32);
  auto later = cache->get_or_make(key_of(1), [] { return Result<CacheEntry>(entry_of(1)); });
  EXPECT_TRUE(later);
}

TEST(Cache, AWaitForAnotherThreadCanBeCancelled) {
  auto cache = Cache::open({.disk = false});
  std::promise<void> entered, leave;
  std::jthread leader([&] {
    auto made = cache->get_or_make(key_of(1), [&] {
      entered.set_value();
      leave.get_future().wait();
      return Result<CacheEntry>(entry_of(1));
    });
    EXPECT_TRUE(made);
  });
  entered.get_future().wait();
  std::stop_source stop;
  std::jthread canceller([&] { stop.request_stop(); });
  auto waited = cache->get_or_make(key_of(1), must_not_be_made, stop.get_token());
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, Code::kCancelled);
  leave.set_value();
}

TEST(Cache, AnExceptionInTheMakerIsAnErrorForAll) {
  auto cache = Cache::open({.disk = false});
  auto made = cache->get_or_make(key_of(1), []() -> Result<CacheEntry> { throw std::bad_alloc(); });
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kOutOfMemory);
  EXPECT_TRUE(cache->get_or_make(key_of(1), [] { return Result<CacheEntry>(entry_of(1)); }));
}

TEST(Cache, WritesBeyondTheQueueAreDroppedAndTold) {
  ScratchDirectory scratch;
  CacheOptions options = options_in(scratch.path());
  options.queue_bytes = 100;
  std::atomic<int> told{0};
  options.on_event = [&](const CacheEvent& event) { told += event.kind == CacheEventKind::dropped; };
  auto cache = Cache::open(options);
  EXPECT_TRUE(is_entry_of(cache->put(key_of(1), entry_of(1)), 1)) << "memory keeps it";
  EXPECT_EQ(told, 1);
  EXPECT_EQ(cache->stats().of(CacheEventKind::dropped), 1u);
}

TEST(Cache, RecencyIsWrittenAtTheEndAndGrows) {
  ScratchDirectory scratch;
  std::string path;
  {
    auto cache = Cache::open(options_in(scratch.path()));
    cache->put(key_of(1), entry_of(1));
    cache->put(key_of(2), entry_of(2));
    ASSERT_TRUE(cache->flush(seconds(10)));
    path = cache->stats().store_path;
  }
  int64_t before = OtherConnection(path).number("SELECT max(tick) FROM recency");
  EXPECT_EQ(OtherConnection(path).number("SELECT count(*) FROM recency"), 2);
  {
    auto cache = Cache::open(options_in(scratch.path()));
    EXPECT_TRUE(cache->find(key_of(1)));
  }
  EXPECT_GT(OtherConnection(path).number("SELECT max(tick) FROM recency"), before);
  EXPECT_EQ(OtherConnection(path).number("SELECT count(*) FROM recency"), 2);
}

TEST(Cache, ThirtyTwoThreadsUseItAtOnce) {
  ScratchDirectory scratch;
  auto cache = Cache::open(options_in(scratch.path()));
  std::atomic<int> made{0};
  constexpr int kKeys = 150;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 32; ++t)
    threads.emplace_back([&, t] {
      for (int n = 0; n < 300; ++n) {
        int i = (n * 7 + t * 13) % kKeys;
        auto result = cache->get_or_make(key_of(i), [&] {
          ++made;
          return Result<CacheEntry>(entry_of(i));
        });
        EXPECT_TRUE(result && is_entry_of(result->entry, i));
        cache->put(request_of(i), "g", {key_of(i), "c"});
        std::optional<IndexEntry> index = cache->find(request_of(i), "g");  // another thread may have cleared it
        EXPECT_TRUE(!index || index->binary == key_of(i));
        if (n % 50 == 49) cache->clear_memory();
        (void)cache->stats();
      }
    });
  threads.clear();
  EXPECT_TRUE(cache->flush(seconds(60)));
  EXPECT_GE(made, kKeys);
  EXPECT_EQ(serious_events(cache->stats()), 0u);
}

class Places : public testing::Test {
 protected:
  std::optional<StorePlace> choose(const CacheOptions& options) {
    events_.clear();
    return choose_place(options, events_);
  }
  bool has(CacheEventKind kind) const {
    for (const CacheEvent& event : events_)
      if (event.kind == kind) return true;
    return false;
  }
  ScratchDirectory scratch_;
  EventList events_;
};

TEST_F(Places, ANetworkFilesystemGivesWayToALocalDirectory) {
  CacheOptions options = options_in(scratch_ / "home");
  std::string local = scratch_ / "local";
  options.local_directory = local;
  for (uint64_t type :
       {0x6969u, 0xFF534D42u, 0x0BD00BD0u, 0x47504653u, 0x00C36400u, 0x01021997u, 0x65735546u, 0x12345u}) {
    bool home = true;
    options.filesystem_type = [&](const std::string&) { return std::exchange(home, false) ? type : 0xEF53u; };
    std::optional<StorePlace> place = choose(options);
    ASSERT_TRUE(place) << std::hex << type;
    EXPECT_EQ(place->directory, local);
    EXPECT_TRUE(has(CacheEventKind::network_directory));
  }
}

TEST_F(Places, ANetworkFilesystemCanMeanMemoryAlone) {
  CacheOptions options = options_in(scratch_.path());
  options.on_network = NetworkPolicy::memory_only;
  options.filesystem_type = [](const std::string&) { return std::optional<uint64_t>(0x6969); };
  auto cache = Cache::open(options);
  cache->put(key_of(1), entry_of(1));
  EXPECT_TRUE(cache->find(key_of(1)));
  EXPECT_EQ(cache->stats().store_path, "");
  EXPECT_EQ(cache->stats().of(CacheEventKind::network_directory), 1u);
  EXPECT_EQ(cache->stats().of(CacheEventKind::no_directory), 1u);
  EXPECT_TRUE(std::filesystem::is_empty(scratch_.path()));
}

TEST_F(Places, AFilesystemThatDoesNotTellItsTypeIsNotTrusted) {
  CacheOptions options = options_in(scratch_.path());
  options.on_network = NetworkPolicy::memory_only;
  options.filesystem_type = [](const std::string&) { return std::optional<uint64_t>(); };
  EXPECT_FALSE(choose(options));
}

TEST_F(Places, ADirectoryThatOthersMayWriteIsRefusedWithTheFix) {
  chmod(scratch_.path().c_str(), 0777);
  EXPECT_FALSE(choose(options_in(scratch_.path())));
  ASSERT_TRUE(has(CacheEventKind::unsafe_directory));
  EXPECT_THAT(events_[0].detail, testing::HasSubstr("chmod go-w"));
  chmod(scratch_.path().c_str(), 0770);
  EXPECT_FALSE(choose(options_in(scratch_.path())));
  chmod(scratch_.path().c_str(), 0755);
  EXPECT_TRUE(choose(options_in(scratch_.path())));
}

TEST_F(Places, AForeignDirectoryOrAFileIsRefused) {
  write_whole(scratch_ / "file", "x");
  EXPECT_FALSE(choose(options_in(scratch_ / "file")));
  EXPECT_FALSE(choose(options_in(scratch_ / "file/below")));
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a directory of somebody else";
  std::filesystem::create_directory(scratch_ / "foreign");
  ASSERT_EQ(chown((scratch_ / "foreign").c_str(), 12345, 12345), 0);
  EXPECT_FALSE(choose(options_in(scratch_ / "foreign")));
  EXPECT_TRUE(has(CacheEventKind::unsafe_directory));
}

TEST_F(Places, LinksToADirectoryOfOursAreFollowedOnce) {
  std::filesystem::create_directory(scratch_ / "real");
  std::filesystem::permissions(scratch_ / "real", std::filesystem::perms::owner_all);
  std::filesystem::create_directory_symlink(scratch_ / "real", scratch_ / "link");
  std::optional<StorePlace> place = choose(options_in(scratch_ / "link"));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->directory, scratch_ / "real");
}

TEST_F(Places, WithoutAHomeTheTemporaryDirectoryIsTaken) {
  int end = end_of(start_process([&] {
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    std::optional<StorePlace> place = choose({});
    return place && place->directory == temporary_directory() ? 0 : 1;
  }));
  EXPECT_EQ(end, 0);
  end = end_of(start_process([&] {
    setenv("XDG_CACHE_HOME", (scratch_ / "xdg").c_str(), 1);
    std::optional<StorePlace> place = choose({});
    return place && place->directory == scratch_ / "xdg/tilert" ? 0 : 1;
  }));
  EXPECT_EQ(end, 0);
}

}  // namespace
}  // namespace tilert
