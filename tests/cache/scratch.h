// What the cache's tests share: a directory of one's own, processes that report by their exit status, entries to store.
#pragma once

#include "cache/cache.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

namespace tilert {

class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tilert_cache_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline BinaryKey key_of(int i) { return binary_key({"source " + std::to_string(i), {}, "test"}); }
inline RequestKey request_of(int i) { return request_key({"program " + std::to_string(i), {}, "test", "", {}}); }

// Different in size and bytes for each i; tells by itself whether it is whole.
inline CacheEntry entry_of(int i, size_t size = 3000) {
  std::string bytes;
  for (size_t n = 0; bytes.size() < size + static_cast<size_t>(i % 97); ++n)
    bytes += std::to_string(i) + ":" + std::to_string(n * 2654435761u) + ";";
  return {bytes, "made for test " + std::to_string(i)};
}
inline bool is_entry_of(const CacheEntryPtr& entry, int i, size_t size = 3000) {
  CacheEntry wanted = entry_of(i, size);
  return entry && entry->bytes == wanted.bytes && entry->metadata == wanted.metadata;
}

// All that went wrong; a wait for a locked store that is tried again is not among it.
inline uint64_t serious_events(const CacheStats& stats) {
  uint64_t total = 0;
  for (size_t kind = static_cast<size_t>(CacheEventKind::bad_row); kind < stats.count.size(); ++kind)
    total += stats.count[kind];
  return total - stats.of(CacheEventKind::read_busy) - stats.of(CacheEventKind::write_busy);
}

inline pid_t start_process(const std::function<int()>& body) {
  pid_t pid = fork();
  if (pid == 0) _exit(body());
  return pid;
}

// The exit status, or 128 + the signal.
inline int end_of(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

inline std::vector<int> run_processes(int count, const std::function<int(int)>& body) {
  std::vector<pid_t> pids;
  for (int i = 0; i < count; ++i) pids.push_back(start_process([&] { return body(i); }));
  std::vector<int> ends;
  for (pid_t pid : pids) ends.push_back(end_of(pid));
  return ends;
}

inline std::string read_whole(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline void write_whole(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// A connection beside the cache, as another process would have it. Statements must succeed.
class OtherConnection {
 public:
  explicit OtherConnection(const std::string& path) { sqlite3_open(path.c_str(), &handle_); }
  ~OtherConnection() { sqlite3_close(handle_); }
  bool run(const std::string& sql) {
    return sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  int64_t number(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    int64_t value = -1;
    if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
      value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
  }

 private:
  sqlite3* handle_ = nullptr;
};

}  // namespace tilert
