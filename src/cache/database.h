// One SQLite connection with the settings the store needs, its statements, and what SQLite's codes mean here.
// Not here: which file, when to open, what to do about a fault (store.h).
#pragma once

#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tilert {

// What a result code means for the store.
enum class DbFault : uint8_t {
  none,
  busy,       // locked by others for longer than the wait
  unhealthy,  // not a database, damaged, or not ours: its place is taken by a new file
  recover,    // a read-only connection met the journal of a killed writer: open for writing
  absent,     // no file, or one whose tables are not made yet
  full,       // no room on the device
  denied,     // may not be written
  failed,     // input and output errors, no memory, anything else
};

DbFault classify(int sqlite_code);

// The store's tables and the number that says so; bump kSchema when they change.
inline constexpr int kApplicationId = 0x544c5254;  // "TLRT"
inline constexpr int kSchema = 1;

// From this version on WAL is sound (its reset race is fixed); earlier ones get a rollback journal. Files of the two
// modes have different names, so no version opens a file of the other mode.
inline constexpr int kFirstSoundWal = 3051003;
bool uses_wal();

// How long a statement waits for a lock. The wait may be shortened while somebody waits; `give_up` ends every wait at
// once (a fork is about to happen).
struct BusyPolicy {
  std::atomic<int64_t> wait_ms{0};
  const std::atomic<bool>* give_up = nullptr;
  std::chrono::steady_clock::time_point began{};
  void start() { began = std::chrono::steady_clock::now(); }
  bool goes_on() const {
    return !(give_up && give_up->load()) &&
           std::chrono::steady_clock::now() - began < std::chrono::milliseconds(wait_ms.load());
  }
};

class Database {
 public:
  enum class Access : uint8_t { read, write, create };

  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { close(); }

  // Opens and, unless creating, checks that the tables are ours. Nothing is written, except that a connection for
  // writing plays back a killed writer's journal.
  DbFault open(const std::string& path, Access access, BusyPolicy* busy);
  void close();
  bool is_open() const { return handle_ != nullptr; }
  bool same_file() const;  // the path still names the file that was opened

  DbFault make_tables();  // in one transaction; tables that are there stay
  DbFault begin();
  DbFault commit();
  void roll_back();

  // The row's blob, or absent.
  DbFault read(std::string_view key, std::string& blob);
  DbFault put(std::string_view key, std::string_view blob, bool replace, bool& stored);
  DbFault erase(std::string_view key);
  DbFault touch(std::string_view key, int64_t tick);
  DbFault next_tick(int64_t& tick);

  const std::string& last_error() const { return error_; }
  const std::string& path() const { return path_; }

 private:
  DbFault set_up(BusyPolicy* busy);
  DbFault check_schema();
  DbFault execute(const char* sql);
  DbFault number(const char* sql, int64_t& value);
  DbFault run(sqlite3_stmt*& statement, const char* sql, const std::function<void(sqlite3_stmt*)>& bind,
              const std::function<void(sqlite3_stmt*)>& row = {});
  DbFault fault(int code);

  sqlite3* handle_ = nullptr;
  sqlite3_stmt* read_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* replace_ = nullptr;
  sqlite3_stmt* erase_ = nullptr;
  sqlite3_stmt* touch_ = nullptr;
  BusyPolicy* busy_ = nullptr;
  std::string path_;
  std::string error_;
  uint64_t device_ = 0, inode_ = 0;
};

}  // namespace tilert
