// What can be wrong with a store: every case is a miss, never an error and never wrong bytes, and heals itself.
#include "cache/cache.h"
#include "cache/database.h"
#include "cache/entry.h"
#include "scratch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

namespace tilert {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

CacheOptions options_in(const ScratchDirectory& scratch) {
  CacheOptions options;
  options.directory = scratch.path();
  return options;
}

// A store with entries 0..count-1 on disk; the path of its file.
std::string fill(const ScratchDirectory& scratch, int count, size_t size = 3000) {
  auto cache = Cache::open(options_in(scratch));
  for (int i = 0; i < count; ++i) cache->put(key_of(i), entry_of(i, size));
  EXPECT_TRUE(cache->flush(seconds(30)));
  return cache->stats().store_path;
}

// Gets entry i whatever the disk says.
bool get(Cache& cache, int i, size_t size = 3000) {
  auto made = cache.get_or_make(key_of(i), [&] { return Result<CacheEntry>(entry_of(i, size)); });
  return made && is_entry_of(made->entry, i, size);
}

struct Garbage {
  const char* name;
  std::function<void(const std::string& path)> put;
  bool kept_as_it_was = true;
};

void PrintTo(const Garbage& g, std::ostream* out) { *out << g.name; }

class GarbageFile : public testing::TestWithParam<Garbage> {};

TEST_P(GarbageFile, IsLeftAloneAndAnotherTakesItsPlace) {
  ScratchDirectory scratch;
  std::string path = fill(scratch, 1);
  std::filesystem::remove(path);
  GetParam().put(path);
  bool regular = std::filesystem::is_regular_file(std::filesystem::symlink_status(path));
  std::string before = regular ? read_whole(path) : "";
  {
    auto cache = Cache::open(options_in(scratch));
    EXPECT_FALSE(cache->find(key_of(1)));
    EXPECT_TRUE(get(*cache, 1));
    EXPECT_TRUE(cache->flush(seconds(30)));
    EXPECT_EQ(cache->stats().of(CacheEventKind::quarantined), GetParam().kept_as_it_was ? 1u : 0u);
    EXPECT_EQ(cache->stats().store_path != path, GetParam().kept_as_it_was);
  }
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::symlink_status(path))) << "never unlinked";
  if (regular && GetParam().kept_as_it_was) {
    EXPECT_EQ(read_whole(path), before);
  }
  auto cache = Cache::open(options_in(scratch));
  EXPECT_TRUE(is_entry_of(cache->find(key_of(1)), 1)) << "the new file is found by the next process";
  EXPECT_EQ(serious_events(cache->stats()), 0u);
}

const Garbage kGarbage[] = {
    {"text", [](auto& path) { write_whole(path, "this is not a database, however long one looks at it\n"); }},
    {"zeros", [](auto& path) { write_whole(path, std::string(100000, '\0')); }},
    {"random",
     [](auto& path) {
       std::mt19937 random(5);
       std::string bytes(50000, '\0');
       for (char& c : bytes) c = static_cast<char>(random());
       write_whole(path, bytes);
     }},
    {"header_then_garbage",
     [](auto& path) { write_whole(path, std::string("SQLite format 3\0", 16) + std::string(9000, 'x')); }},
    {"empty", [](auto& path) { write_whole(path, ""); }, false},
    {"directory", [](auto& path) { std::filesystem::create_directory(path); }},
    {"fifo", [](auto& path) { mkfifo(path.c_str(), 0600); }},
    {"link_to_elsewhere", [](auto& path) { std::filesystem::create_symlink("/etc/passwd", path); }},
    {"dangling_link", [](auto& path) { std::filesystem::create_symlink("/nowhere/x", path); }},
    {"database_of_something_else",
     [](auto& path) { OtherConnection(path).run("CREATE TABLE t(x); INSERT INTO t VALUES(1)"); }},
    {"other_schema_version",
     [](auto& path) {
       OtherConnection(path).run("CREATE TABLE entries(x); PRAGMA application_id=1414287956; PRAGMA user_version=9");
     }},
    {"our_mark_without_tables",
     [](auto& path) {
       OtherConnection(path).run("CREATE TABLE t(x); PRAGMA application_id=1414287956; PRAGMA user_version=1");
     }},
};

INSTANTIATE_TEST_SUITE_P(Store, GarbageFile, testing::ValuesIn(kGarbage),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Faults, ATruncatedStoreNeverGivesWrongBytes) {
  ScratchDirectory scratch;
  std::string path = fill(scratch, 30);
  std::string whole = read_whole(path);
  for (size_t size :
       {whole.size() - 1, whole.size() - 4096, whole.size() / 2, size_t{5000}, size_t{4096}, size_t{100}, size_t{1}}) {
    std::filesystem::remove_all(scratch.path());
    std::filesystem::create_directory(scratch.path());
    std::filesystem::permissions(scratch.path(), std::filesystem::perms::owner_all);
    write_whole(path, whole.substr(0, size));
    auto cache = Cache::open(options_in(scratch));
    for (int i = 0; i < 30; ++i) EXPECT_TRUE(get(*cache, i)) << size;
  }
}

TEST(Faults, FlippedBitsNeverGiveWrongBytes) {
  ScratchDirectory scratch;
  std::string path = fill(scratch, 10, 1500);
  std::string whole = read_whole(path);
  std::mt19937 random(11);
  int noticed = 0;
  for (int round = 0; round < (kThreadSanitizer ? 20 : 200); ++round) {
    std::filesystem::remove_all(scratch.path());
    std::filesystem::create_directory(scratch.path());
    std::filesystem::permissions(scratch.path(), std::filesystem::perms::owner_all);
    std::string bad = whole;
    for (int n = 0; n < 4; ++n) bad[random() % bad.size()] ^= static_cast<char>(1 << random() % 8);
    write_whole(path, bad);
    auto cache = Cache::open(options_in(scratch));
    for (int i = 0; i < 10; ++i) {
      CacheEntryPtr found = cache->find(key_of(i));
      EXPECT_TRUE(!found || is_entry_of(found, i, 1500));
      EXPECT_TRUE(get(*cache, i, 1500));
    }
    noticed += serious_events(cache->stats()) > 0;
  }
  EXPECT_GT(noticed, 0);
}

TEST(Faults, ABadRowIsAMissIsDeletedAndIsMadeAgain) {
  ScratchDirectory scratch;
  std::string path = fill(scratch, 3);
  ASSERT_TRUE(OtherConnection(path).run("UPDATE entries SET blob = substr(blob, 1, 200) WHERE rowid = 2"));
  {
    auto cache = Cache::open(options_in(scratch));
    EXPECT_TRUE(is_entry_of(cache->find(key_of(0)), 0));
    EXPECT_FALSE(cache->find(key_of(1)));
    EXPECT_EQ(cache->stats().of(CacheEventKind::bad_row), 1u);
    ASSERT_TRUE(cache->flush(seconds(10)));
    EXPECT_EQ(OtherConnection(path).number("SELECT count(*) FROM entries"), 2);
    EXPECT_TRUE(get(*cache, 1));
  }
  auto cache = Cache::open(options_in(scratch));
  EXPECT_TRUE(is_entry_of(cache->find(key_of(1)), 1));
  EXPECT_EQ(cache->stats().of(CacheEventKind::bad_row), 0u);
}

TEST(Faults, RowsThatChangedPlacesAreNotMistaken) {
  ScratchDirectory scratch;
  std::string path = fill(scratch, 2);
  OtherConnection other(path);
  ASSERT_TRUE(
      other.run("CREATE TEMP TABLE t AS SELECT rowid AS r, blob AS b FROM entries;"
                "UPDATE entries SET blob = (SELECT b FROM t WHERE r = 3 - entries.rowid)"));
  auto cache = Cache::open(options_in(scratch));
  EXPECT_FALSE(cache->find(key_of(0)));
  EXPECT_FALSE(cache->find(key_of(1)));
  EXPECT_EQ(cache->stats().of(CacheEventKind::bad_row), 2u);
}

TEST(Faults, AnExclusiveLockDelaysAReaderByItsBoundAndLosesNothing) {
  if (uses_wal()) GTEST_SKIP() << "with a WAL readers do not wait for writers";
  ScratchDirectory scratch;
  std::string path = fill(scratch, 2);
  CacheOptions options = options_in(scratch);
  options.read_wait = milliseconds(150);
  options.write_wait = milliseconds(300);
  auto cache = Cache::open(options);
  OtherConnection other(path);
  ASSERT_TRUE(other.run("BEGIN EXCLUSIVE"));
  auto start = steady_clock::now();
  EXPECT_FALSE(cache->find(key_of(0)));
  auto waited = steady_clock::now() - start;
  EXPECT_GE(waited, milliseconds(100));
  EXPECT_LT(waited, milliseconds(2500));
  EXPECT_EQ(cache->stats().of(CacheEventKind::read_busy), 1u);
  EXPECT_TRUE(get(*cache, 7)) << "made, not refused";
  EXPECT_FALSE(cache->flush(milliseconds(800)));
  EXPECT_GE(cache->stats().of(CacheEventKind::write_busy), 1u);
  ASSERT_TRUE(other.run("COMMIT"));
  EXPECT_TRUE(cache->flush(seconds(30))) << "tried again later";
  EXPECT_TRUE(is_entry_of(cache->find(key_of(0)), 0));
  EXPECT_TRUE(is_entry_of(Cache::open(options)->find(key_of(7)), 7));
}

TEST(Faults, ManyReadersOfALockedStoreWaitTogether) {
  if (uses_wal()) GTEST_SKIP() << "with a WAL readers do not wait for writers";
  ScratchDirectory scratch;
  std::string path = fill(scratch, 1);
  CacheOptions options = options_in(scratch);
  options.read_wait = milliseconds(200);
  auto cache = Cache::open(options);
  OtherConnection other(path);
  ASSERT_TRUE(other.run("BEGIN EXCLUSIVE"));
  auto start = steady_clock::now();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 32; ++t) threads.emplace_back([&, t] { EXPECT_FALSE(cache->find(key_of(t))); });
  threads.clear();
  EXPECT_LT(steady_clock::now() - start, milliseconds(3200)) << "not one after the other";
}

TEST(Faults, ADestroyedCacheDoesNotWaitForALockedStore) {
  ScratchDirectory scratch;
  std::string path = fill(scratch, 1);
  CacheOptions options = options_in(scratch);
  options.exit_wait = milliseconds(200);
  std::atomic<int> dropped{0};
  options.on_event = [&](const CacheEvent& event) { dropped += event.kind == CacheEventKind::dropped; };
  OtherConnection other(path);
  ASSERT_TRUE(other.run("BEGIN EXCLUSIVE"));
  auto cache = Cache::open(options);
  cache->put(key_of(5), entry_of(5));
  std::this_thread::sleep_for(milliseconds(50));
  auto start = steady_clock::now();
  cache.reset();
  EXPECT_LT(steady_clock::now() - start, milliseconds(4000)) << "far below the writer's own ten seconds";
  EXPECT_EQ(dropped, 1);
}

TEST(Faults, AStoreTakenAwayUnderUsIsMadeAgain) {
  ScratchDirectory scratch;
  auto cache = Cache::open(options_in(scratch));
  EXPECT_TRUE(get(*cache, 1));
  ASSERT_TRUE(cache->flush(seconds(10)));
  EXPECT_TRUE(cache->find(key_of(1)));
  std::filesystem::remove_all(scratch.path());
  EXPECT_FALSE(cache->find(key_of(2)));
  EXPECT_TRUE(get(*cache, 3));
  ASSERT_TRUE(cache->flush(seconds(10)));
  EXPECT_TRUE(is_entry_of(Cache::open(options_in(scratch))->find(key_of(3)), 3));
}

TEST(Faults, AReadOnlyDirectoryIsReadAndNotWritten) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  if (uses_wal()) GTEST_SKIP() << "a WAL needs files beside it, which a reader cannot make here";
  ScratchDirectory scratch;
  fill(scratch, 2);
  // Owned by root and not writable for the one who reads, as in an image that ships its cache.
  std::filesystem::permissions(scratch.path(), std::filesystem::perms(0755));
  int end = end_of(start_process([&] {
    if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) return 2;
    auto cache = Cache::open(options_in(scratch));
    if (!is_entry_of(cache->find(key_of(0)), 0)) return 3;
    if (!get(*cache, 9) || !cache->flush(seconds(5))) return 4;
    if (cache->stats().of(CacheEventKind::read_only_directory) != 1) return 5;
    return serious_events(cache->stats()) == 1 ? 0 : 6;
  }));
  EXPECT_EQ(end, 0);
}

TEST(Faults, ADirectoryThatCannotBeMadeMeansMemoryAlone) {
  auto cache = Cache::open({.directory = "/proc/nowhere/cache", .on_network = NetworkPolicy::memory_only});
  EXPECT_TRUE(get(*cache, 1));
  EXPECT_TRUE(cache->find(key_of(1)));
  EXPECT_TRUE(cache->flush(seconds(1)));
  EXPECT_EQ(cache->stats().store_path, "");
}

TEST(Faults, TheHostIsToldOfSeriousEventsWithNoLockHeld) {
  ScratchDirectory scratch;
  std::string path = fill(scratch, 1);
  write_whole(path,
              "garbage of no use to anybody, long enough to be a header of a database file, which it is not at all");
  CacheOptions options = options_in(scratch);
  std::shared_ptr<Cache> cache;
  std::vector<std::string> told;
  options.on_event = [&](const CacheEvent& event) {
    told.push_back(cache_event_name(event.kind));
    EXPECT_EQ(event.path, path);
    EXPECT_FALSE(cache->find(key_of(3))) << "calling back in is allowed";
    (void)cache->stats();
  };
  cache = Cache::open(options);
  EXPECT_FALSE(cache->find(key_of(0)));
  EXPECT_THAT(told, testing::ElementsAre("quarantined"));
}

}  // namespace
}  // namespace tilert
