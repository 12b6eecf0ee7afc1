// Connections and statements. Every statement is reset before its function returns, so that no lock outlives a call.
#include "cache/database.h"

#include <sys/stat.h>

#include <array>
#include <thread>

namespace tilert {
namespace {

struct FaultRow {
  int code;
  DbFault fault;
};

// Extended codes first; a code without a row is looked up by its low byte.
constexpr FaultRow kFaults[] = {
    {SQLITE_OK, DbFault::none},
    {SQLITE_ROW, DbFault::none},
    {SQLITE_DONE, DbFault::none},
    {SQLITE_READONLY_ROLLBACK, DbFault::recover},
    {SQLITE_READONLY_RECOVERY, DbFault::recover},
    {SQLITE_READONLY_CANTINIT, DbFault::recover},
    {SQLITE_READONLY_CANTLOCK, DbFault::recover},
    {SQLITE_READONLY_DBMOVED, DbFault::busy},  // replaced under us: the next try opens what is there now
    {SQLITE_CANTOPEN_SYMLINK, DbFault::unhealthy},
    {SQLITE_CANTOPEN_ISDIR, DbFault::unhealthy},
    {SQLITE_BUSY, DbFault::busy},
    {SQLITE_LOCKED, DbFault::busy},
    {SQLITE_PROTOCOL, DbFault::busy},
    {SQLITE_INTERRUPT, DbFault::busy},
    {SQLITE_CORRUPT, DbFault::unhealthy},
    {SQLITE_NOTADB, DbFault::unhealthy},
    {SQLITE_FORMAT, DbFault::unhealthy},
    {SQLITE_SCHEMA, DbFault::unhealthy},
    {SQLITE_ERROR, DbFault::unhealthy},  // a table or column of ours is not as it should be
    {SQLITE_CONSTRAINT, DbFault::unhealthy},
    {SQLITE_MISMATCH, DbFault::unhealthy},
    {SQLITE_FULL, DbFault::full},
    {SQLITE_READONLY, DbFault::denied},
    {SQLITE_PERM, DbFault::denied},
    {SQLITE_AUTH, DbFault::denied},
    {SQLITE_CANTOPEN, DbFault::denied},
};

constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS entries(key BLOB NOT NULL PRIMARY KEY, blob BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS recency(key BLOB NOT NULL PRIMARY KEY, tick INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS counters(name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "INSERT OR IGNORE INTO counters VALUES('tick', 0);"
    "PRAGMA application_id = 1414287956;"
    "PRAGMA user_version = 1;";
static_assert(kApplicationId == 1414287956 && kSchema == 1, "the numbers in kTables");

int wait_for_lock(void* argument, int tries) {
  if (!static_cast<BusyPolicy*>(argument)->goes_on()) return 0;
  // Short naps first; a spread by thread keeps many processes from waking together.
  auto spread = std::hash<std::thread::id>{}(std::this_thread::get_id()) % 977 + static_cast<size_t>(tries) * 131;
  std::this_thread::sleep_for(
      std::chrono::microseconds(200 * std::min(tries + 1, 25) + static_cast<int>(spread % 977)));
  return 1;
}

void bind_blob(sqlite3_stmt* statement, int index, std::string_view bytes) {
  sqlite3_bind_blob64(statement, index, bytes.data(), bytes.size(), SQLITE_STATIC);
}

bool identity_of(const std::string& path, uint64_t& device, uint64_t& inode) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return false;
  device = status.st_dev;
  inode = status.st_ino;
  return true;
}

}  // namespace

DbFault classify(int sqlite_code) {
  for (int code : {sqlite_code, sqlite_code & 0xff})
    for (const FaultRow& row : kFaults)
      if (row.code == code) return row.fault;
  return DbFault::failed;
}

bool uses_wal() { return sqlite3_libversion_number() >= kFirstSoundWal; }

DbFault Database::fault(int code) {
  DbFault what = classify(code);
  if (what != DbFault::none) error_ = handle_ ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
  return what;
}

DbFault Database::open(const std::string& path, Access access, BusyPolicy* busy) {
  close();
  path_ = path;
  // No own open() of the file, not even to look: closing it would drop the locks of other connections of this process.
  struct stat status {};
  bool there = lstat(path.c_str(), &status) == 0;
  if (!there && access != Access::create) return DbFault::absent;
  if (there && !S_ISREG(status.st_mode)) return error_ = "not a regular file", DbFault::unhealthy;
  int flags = access == Access::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (access == Access::create) flags |= SQLITE_OPEN_CREATE;
  int code = sqlite3_open_v2(path.c_str(), &handle_,
                             flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOFOLLOW, nullptr);
  DbFault what = fault(code);
  if (what == DbFault::none) what = set_up(busy);
  if (what == DbFault::none && access != Access::create) what = check_schema();
  if (what == DbFault::none && !identity_of(path, device_, inode_)) what = DbFault::absent;
  if (what != DbFault::none) close();
  return what;
}

DbFault Database::set_up(BusyPolicy* busy) {
  busy_ = busy;
  busy_->start();
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_handler(handle_, wait_for_lock, busy);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  return execute(
      "PRAGMA mmap_size=0; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA synchronous=NORMAL;"
      "PRAGMA temp_store=MEMORY;");
}

// In one transaction: between two, the process that makes the tables may have committed them.
DbFault Database::check_schema() {
  int64_t application = 0, schema = 0, tables = 0;
  DbFault what = execute("BEGIN");
  if (what == DbFault::none) what = number("PRAGMA application_id", application);
  if (what == DbFault::none) what = number("PRAGMA user_version", schema);
  if (what == DbFault::none) what = number("SELECT count(*) FROM sqlite_master", tables);
  roll_back();
  if (what != DbFault::none || (application == kApplicationId && schema == kSchema)) return what;
  if (application == 0 && schema == 0 && tables == 0) return DbFault::absent;  // its maker is not done
  error_ = "a database of something else, or of another version";
  return DbFault::unhealthy;
}

void Database::close() {
  for (sqlite3_stmt** statement : {&read_, &insert_, &replace_, &erase_, &touch_}) {
    sqlite3_finalize(*statement);
    *statement = nullptr;
  }
  sqlite3_close(handle_);
  handle_ = nullptr;
}

bool Database::same_file() const {
  uint64_t device = 0, inode = 0;
  return identity_of(path_, device, inode) && device == device_ && inode == inode_;
}

DbFault Database::execute(const char* sql) { return fault(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr)); }

DbFault Database::number(const char* sql, int64_t& value) {
  sqlite3_stmt* statement = nullptr;
  DbFault what = run(
      statement, sql, [](sqlite3_stmt*) {}, [&](sqlite3_stmt* row) { value = sqlite3_column_int64(row, 0); });
  sqlite3_finalize(statement);
  return what;
}

DbFault Database::run(sqlite3_stmt*& statement, const char* sql, const std::function<void(sqlite3_stmt*)>& bind,
                      const std::function<void(sqlite3_stmt*)>& row) {
  busy_->start();
  if (!statement) {
    DbFault what = fault(sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
    if (what != DbFault::none) return what;
  }
  bind(statement);
  int code = sqlite3_step(statement);
  if (code == SQLITE_ROW && row) row(statement);
  DbFault what = fault(code);
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  return what;
}

DbFault Database::make_tables() {
  if (uses_wal())
    if (DbFault what = execute("PRAGMA journal_mode=WAL"); what != DbFault::none) return what;
  int64_t application = 0, tables = 0;
  DbFault what = begin();
  if (what == DbFault::none) what = number("PRAGMA application_id", application);
  if (what == DbFault::none) what = number("SELECT count(*) FROM sqlite_master", tables);
  if (what == DbFault::none && tables > 0 && application != kApplicationId) {
    error_ = "a database of something else";
    what = DbFault::unhealthy;
  }
  if (what == DbFault::none) what = execute(kTables);
  if (what == DbFault::none) what = commit();
  if (what != DbFault::none) roll_back();
  return what;
}

DbFault Database::begin() {
  busy_->start();
  return execute("BEGIN IMMEDIATE");
}

DbFault Database::commit() {
  busy_->start();
  return execute("COMMIT");
}

void Database::roll_back() {
  std::string first_error = error_;
  if (handle_ && !sqlite3_get_autocommit(handle_)) execute("ROLLBACK");
  error_ = first_error;
}

DbFault Database::read(std::string_view key, std::string& blob) {
  bool found = false;
  DbFault what = run(
      read_, "SELECT blob FROM entries WHERE key = ?", [&](sqlite3_stmt* s) { bind_blob(s, 1, key); },
      [&](sqlite3_stmt* s) {
        found = true;
        const void* bytes = sqlite3_column_blob(s, 0);
        int size = sqlite3_column_bytes(s, 0);
        blob.assign(bytes ? static_cast<const char*>(bytes) : "", bytes ? static_cast<size_t>(size) : 0);
      });
  return what == DbFault::none && !found ? DbFault::absent : what;
}

DbFault Database::put(std::string_view key, std::string_view blob, bool replace, bool& stored) {
  auto bind = [&](sqlite3_stmt* s) {
    bind_blob(s, 1, key);
    bind_blob(s, 2, blob);
  };
  DbFault what = replace ? run(replace_, "INSERT OR REPLACE INTO entries(key, blob) VALUES(?, ?)", bind)
                         : run(insert_, "INSERT OR IGNORE INTO entries(key, blob) VALUES(?, ?)", bind);
  stored = what == DbFault::none && sqlite3_changes(handle_) > 0;
  return what;
}

DbFault Database::erase(std::string_view key) {
  return run(erase_, "DELETE FROM entries WHERE key = ?", [&](sqlite3_stmt* s) { bind_blob(s, 1, key); });
}

DbFault Database::touch(std::string_view key, int64_t tick) {
  return run(touch_, "INSERT OR REPLACE INTO recency(key, tick) VALUES(?, ?)", [&](sqlite3_stmt* s) {
    bind_blob(s, 1, key);
    sqlite3_bind_int64(s, 2, tick);
  });
}

DbFault Database::next_tick(int64_t& tick) {
  DbFault what = execute("UPDATE counters SET value = value + 1 WHERE name = 'tick'");
  return what == DbFault::none ? number("SELECT value FROM counters WHERE name = 'tick'", tick) : what;
}

}  // namespace tilert
