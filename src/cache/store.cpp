// Which file, opening, creating, faults.
#include "cache/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

namespace tilert {
namespace {

constexpr int kMostFiles = 100;  // a directory in which so many stores went bad is not used
constexpr int kMostStrikes = 8;  // input and output errors before the store is switched off
constexpr int kTries = 4;        // a read or write meets at most so many changes of file

bool exists(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0;
}

// The lock under which tables are made. Held by the kernel for this open file: death releases it.
class CreationLock {
 public:
  CreationLock(const std::string& path, std::chrono::milliseconds wait, const std::atomic<bool>& give_up) {
    fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    auto until = std::chrono::steady_clock::now() + wait;
    while (fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (give_up || std::chrono::steady_clock::now() >= until) {
        close(fd_);
        fd_ = -1;
        timed_out_ = true;
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    }
  }
  CreationLock(const CreationLock&) = delete;
  ~CreationLock() {
    if (fd_ >= 0) close(fd_);
  }
  bool held() const { return fd_ >= 0; }
  bool timed_out() const { return timed_out_; }

 private:
  int fd_ = -1;
  bool timed_out_ = false;
};

}  // namespace

Store::Store(StorePlace place, std::chrono::milliseconds read_wait, std::chrono::milliseconds write_wait)
    : place_(std::move(place)) {
  read_policy_.wait_ms = read_wait.count();
  write_policy_.wait_ms = write_wait.count();
  read_policy_.give_up = write_policy_.give_up = &fork_comes_;
}

std::string Store::file_of(int number) const {
  return fmt::format("{}/v{}-{}-{}.sqlite", place_.directory, kSchema, uses_wal() ? "wal" : "rollback", number);
}

// The highest number there is, or 0. Looked for once: later changes of file come from faults.
int Store::number() {
  std::lock_guard lock(number_mutex_);
  if (number_ < 0) {
    number_ = 0;
    while (number_ < kMostFiles && exists(file_of(number_ + 1))) ++number_;
  }
  return number_;
}

std::string Store::path() const {
  std::lock_guard lock(number_mutex_);
  return file_of(std::max(number_, 0));
}

void Store::take_next_file(int from, const std::string& reason, EventList& events) {
  std::lock_guard lock(number_mutex_);
  if (number_ != from) return;  // another thread did
  events.push_back({CacheEventKind::quarantined, file_of(from), reason});
  do ++number_;
  while (number_ < kMostFiles && exists(file_of(number_ + 1)));
  if (number_ < kMostFiles) return;
  off_ = true;
  events.push_back({CacheEventKind::disk_off, place_.directory, "too many damaged stores"});
}

// Turns a fault into what the rest of the process does about it.
DbFault Store::judge(DbFault what, Database& database, CacheEventKind kind, EventList& events) {
  switch (what) {
    case DbFault::none:
    case DbFault::absent:
    case DbFault::recover:
    case DbFault::unhealthy: return what;
    case DbFault::busy:
      events.push_back({kind == CacheEventKind::read_failed ? CacheEventKind::read_busy : CacheEventKind::write_busy,
                        database.path(), database.last_error()});
      return what;
    case DbFault::denied:
      if (kind == CacheEventKind::write_failed) denied_ = true;
      [[fallthrough]];
    case DbFault::full:
    case DbFault::failed:
      events.push_back({kind, database.path(), database.last_error()});
      if (what != DbFault::full && strikes_.fetch_add(1) + 1 == kMostStrikes) {
        off_ = true;
        events.push_back({CacheEventKind::disk_off, place_.directory, database.last_error()});
      }
      return what;
  }
  return what;
}

DbFault Store::open_reader(EventList& events) {
  int wanted = number();
  if (reader_.is_open() && reader_number_ == wanted) return DbFault::none;
  reader_number_ = wanted;
  // Reading in WAL mode needs the shared index beside the file, which a connection for reading cannot make.
  bool needs_index = uses_wal() && place_.writable;
  DbFault what =
      reader_.open(file_of(wanted), needs_index ? Database::Access::write : Database::Access::read, &read_policy_);
  // The journal of a killed writer is played back by whoever may write.
  if (what == DbFault::recover && place_.writable)
    what = reader_.open(file_of(wanted), Database::Access::write, &read_policy_);
  if (what == DbFault::recover) what = DbFault::absent;
  if (what == DbFault::unhealthy) take_next_file(wanted, reader_.last_error(), events);
  return what;
}

DbFault Store::read(const Digest& row, std::string& blob, EventList& events) {
  auto asked = std::chrono::steady_clock::now();
  std::lock_guard lock(read_mutex_);
  // Who queued behind a reader that waited in vain has waited as long: nobody waits twice.
  if (last_busy_ > asked) return DbFault::busy;
  for (int attempt = 0; attempt < kTries && !off_; ++attempt) {
    DbFault what = open_reader(events);
    if (what == DbFault::unhealthy) continue;
    if (what == DbFault::none) what = reader_.read(as_text(row), blob);
    if (what == DbFault::none) {
      strikes_ = 0;
      return what;
    }
    if (what == DbFault::absent && reader_.is_open() && !reader_.same_file()) {
      reader_.close();  // somebody took the file away or put another in its place
      if (exists(reader_.path())) continue;
    }
    if (what == DbFault::absent) return what;
    std::string reason = reader_.last_error();
    if (what == DbFault::busy)
      last_busy_ = std::chrono::steady_clock::now();
    else
      reader_.close();
    if (what == DbFault::unhealthy) take_next_file(reader_number_, reason, events);
    if (what == DbFault::unhealthy || what == DbFault::recover) continue;
    return judge(what, reader_, CacheEventKind::read_failed, events);
  }
  return DbFault::absent;
}

DbFault Store::create_file() {
  if (!make_place(place_)) return DbFault::denied;
  CreationLock lock(place_.directory + "/store.lock", std::chrono::milliseconds(write_policy_.wait_ms), fork_comes_);
  if (!lock.held()) return lock.timed_out() ? DbFault::busy : DbFault::denied;
  DbFault what = writer_.open(file_of(writer_number_), Database::Access::write, &write_policy_);
  if (what != DbFault::absent) return what;  // whoever had the lock before made it
  what = writer_.open(file_of(writer_number_), Database::Access::create, &write_policy_);
  if (what == DbFault::none) what = writer_.make_tables();
  if (what != DbFault::none) writer_.close();
  return what;
}

DbFault Store::open_writer(EventList& events) {
  int wanted = number();
  if (writer_.is_open() && writer_number_ == wanted && writer_.same_file()) return DbFault::none;
  writer_number_ = wanted;
  DbFault what = writer_.open(file_of(wanted), Database::Access::write, &write_policy_);
  if (what == DbFault::absent) {
    what = create_file();
    if (what == DbFault::none) what = writer_.open(file_of(wanted), Database::Access::write, &write_policy_);
  }
  if (what == DbFault::unhealthy) take_next_file(wanted, writer_.last_error(), events);
  return what;
}

DbFault Store::apply(const std::vector<const StoreWrite*>& writes, const std::vector<Digest>& touched,
                     EventList& events) {
  std::lock_guard lock(write_mutex_);
  for (int attempt = 0; attempt < kTries && writable(); ++attempt) {
    DbFault what = open_writer(events);
    if (what == DbFault::unhealthy) continue;
    if (what == DbFault::none) what = write_all(writes, touched);
    if (what == DbFault::none) return what;
    std::string reason = writer_.last_error();
    if (what != DbFault::busy) writer_.close();
    if (what == DbFault::unhealthy) {
      take_next_file(writer_number_, reason, events);
      continue;
    }
    return judge(what, writer_, CacheEventKind::write_failed, events);
  }
  return DbFault::denied;
}

DbFault Store::write_all(const std::vector<const StoreWrite*>& writes, const std::vector<Digest>& touched) {
  DbFault what = writer_.begin();
  for (size_t i = 0; i < writes.size() && what == DbFault::none; ++i) what = write_one(*writes[i]);
  int64_t tick = 0;
  if (what == DbFault::none && !touched.empty()) what = writer_.next_tick(tick);
  for (size_t i = 0; i < touched.size() && what == DbFault::none; ++i) what = writer_.touch(as_text(touched[i]), tick);
  if (what == DbFault::none) what = writer_.commit();
  if (what != DbFault::none) writer_.roll_back();
  return what;
}

DbFault Store::write_one(const StoreWrite& write) {
  if (write.what != StoreWrite::What::erase_if_bad) {
    bool stored = false;
    return writer_.put(as_text(write.row), write.blob, write.what == StoreWrite::What::replace, stored);
  }
  std::string blob;
  DbFault what = writer_.read(as_text(write.row), blob);
  if (what == DbFault::absent) return DbFault::none;
  // Since it was found bad somebody may have put a good one in its place.
  if (what != DbFault::none || unpack_row(write.kind, write.row, blob)) return what;
  return writer_.erase(as_text(write.row));
}

void Store::before_fork() {
  fork_comes_ = true;  // whoever waits for a lock of the store gives up
  write_mutex_.lock();
  read_mutex_.lock();
  number_mutex_.lock();
  reader_.close();
  writer_.close();
}

void Store::after_fork() {
  fork_comes_ = false;
  number_mutex_.unlock();
  read_mutex_.unlock();
  write_mutex_.unlock();
}

}  // namespace tilert
