// The SQLite store: rows by key in one file of a directory. Opening writes nothing; the first put makes the directory
// and the tables, under a lock of the operating system. A file that is not a healthy database is left where it is, and
// the next number takes its place: a live file is never unlinked or renamed. Two connections: one that reads, with a
// short wait, and one that writes, with a long one, used by the writer thread. Not here: what a row means (entry.h),
// when to try again (writer.h).
#pragma once

#include "cache/database.h"
#include "cache/entry.h"
#include "cache/events.h"
#include "cache/place.h"

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace tilert {

struct StoreWrite {
  enum class What : uint8_t { put, replace, erase_if_bad };
  What what = What::put;
  EntryKind kind = EntryKind::binary;
  Digest row{};
  std::string blob;  // a packed row; empty for erase_if_bad
};

class Store {
 public:
  Store(StorePlace place, std::chrono::milliseconds read_wait, std::chrono::milliseconds write_wait);

  // none with the blob, absent (a miss), or a fault that the caller takes as a miss. Events are appended.
  DbFault read(const Digest& row, std::string& blob, EventList& events);

  // All writes in one transaction, then the recency of `touched`; nothing of it on a fault.
  DbFault apply(const std::vector<const StoreWrite*>& writes, const std::vector<Digest>& touched, EventList& events);

  bool writable() const { return place_.writable && !off_ && !denied_; }
  bool off() const { return off_; }
  const StorePlace& place() const { return place_; }
  std::string path() const;  // of the file in use
  void set_write_wait(std::chrono::milliseconds wait) {
    write_policy_.wait_ms = wait.count();
  }  // also of who waits now

  // No connection of SQLite may cross a fork: before it they are closed, after it each process opens its own on use.
  void before_fork();
  void after_fork();

 private:
  DbFault open_reader(EventList& events);
  DbFault open_writer(EventList& events);
  DbFault create_file();
  DbFault write_all(const std::vector<const StoreWrite*>& writes, const std::vector<Digest>& touched);
  DbFault write_one(const StoreWrite& write);
  DbFault judge(DbFault what, Database& database, CacheEventKind kind, EventList& events);
  void take_next_file(int from, const std::string& reason, EventList& events);
  std::string file_of(int number) const;
  int number();

  const StorePlace place_;
  std::atomic<bool> off_{false};     // for good: too many faults
  std::atomic<bool> denied_{false};  // writing is
  std::atomic<bool> fork_comes_{false};
  std::atomic<int> strikes_{0};  // faults since the last read that went well
  mutable std::mutex number_mutex_;
  int number_ = -1;  // of the file in use; -1: not looked for yet
  std::mutex read_mutex_;
  Database reader_;
  BusyPolicy read_policy_;
  int reader_number_ = -1;
  std::chrono::steady_clock::time_point last_busy_{};
  std::mutex write_mutex_;
  Database writer_;
  BusyPolicy write_policy_;
  int writer_number_ = -1;
};

}  // namespace tilert
