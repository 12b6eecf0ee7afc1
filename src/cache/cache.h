// The cache: memory over one SQLite store on disk. It keeps opaque bytes under content keys and knows no program and no
// artifact. The cache can lose, never hurt: every fault of disk, lock or file is a miss with a counter and an event,
// and whoever has just made an entry uses the bytes in hand. Waits for other processes happen in the store's writer
// thread and in get_or_make, never on a launch path. Not here: eviction, bundles.
#pragma once

#include "cache/keys.h"
#include "support/result.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace tilert {

enum class CacheEventKind : uint8_t {
#define TILERT_CACHE_EVENT(name, number, serious, text) name = number,
#include "cache/events.def"
#undef TILERT_CACHE_EVENT
};

const char* cache_event_name(CacheEventKind kind);
const char* cache_event_text(CacheEventKind kind);

struct CacheEvent {
  CacheEventKind kind;
  std::string path;    // the file or directory concerned; may be empty
  std::string detail;  // what the system or SQLite said
};

// Opaque bytes and a line of provenance (library build, compiler identity) that the caller composes and judges.
struct CacheEntry {
  std::string bytes;
  std::string metadata;
};
using CacheEntryPtr = std::shared_ptr<const CacheEntry>;

// What a request resolved to: which binary, and the configuration chosen for it (opaque).
struct IndexEntry {
  BinaryKey binary;
  std::string configuration;
};

enum class NetworkPolicy : uint8_t { memory_only = 0, local_directory = 1 };
enum class Replace : uint8_t { keep_old = 0, replace = 1 };
enum class CacheOrigin : uint8_t { memory = 1, disk = 2, made = 3, joined = 4 };

struct CacheOptions {
  bool disk = true;
  std::string directory;   // empty: the user's cache directory, else /tmp/tilert-<uid>
  std::string name_space;  // splits one store: entries of two namespaces never meet
  NetworkPolicy on_network = NetworkPolicy::local_directory;
  std::string local_directory;                  // used on_network; empty: /tmp/tilert-<uid>
  std::chrono::milliseconds read_wait{2000};    // a locked store is a miss after this
  std::chrono::milliseconds write_wait{10000};  // in the writer thread only
  std::chrono::milliseconds lease_wait{60000};  // for another process that makes the same entry
  std::chrono::milliseconds exit_wait{2000};    // for pending writes when the cache is destroyed
  uint64_t queue_bytes = uint64_t{256} << 20;   // pending writes beyond this are dropped
  // Judges an entry from disk by its metadata (compiler too old, a build known to be wrong); false makes it a miss.
  std::function<bool(std::string_view metadata)> accept;
  // Called for serious events, from any thread, with no lock held; must not unwind.
  std::function<void(const CacheEvent&)> on_event;
  // The type of the filesystem that holds `path` (statfs's f_type); empty: ask the system.
  std::function<std::optional<uint64_t>(const std::string& path)> filesystem_type;
};

struct CacheStats {
  std::array<uint64_t, 64> count{};  // by CacheEventKind
  uint64_t pending_writes = 0;
  std::string store_path;  // empty: memory only
  uint64_t of(CacheEventKind kind) const { return count[static_cast<size_t>(kind)]; }
};

class Cache {
 public:
  // Never fails and writes nothing: a place that cannot be used makes a cache of memory alone, and an event.
  static std::shared_ptr<Cache> open(CacheOptions options);
  virtual ~Cache() = default;

  // Memory, then disk. Null or nothing on a miss. May read disk (waits at most read_wait); makes nothing.
  virtual CacheEntryPtr find(const BinaryKey& key) = 0;
  virtual std::optional<IndexEntry> find(const RequestKey& key, std::string_view generator) = 0;
  // Memory alone: no disk, no waiting.
  virtual CacheEntryPtr find_in_memory(const BinaryKey& key) = 0;
  virtual std::optional<IndexEntry> find_in_memory(const RequestKey& key, std::string_view generator) = 0;

  // Visible in this process at once, on disk when the writer gets to it.
  virtual CacheEntryPtr put(const BinaryKey& key, CacheEntry entry, Replace replace = Replace::keep_old) = 0;
  virtual void put(const RequestKey& key, std::string_view generator, IndexEntry entry) = 0;

  struct Made {
    CacheEntryPtr entry;
    CacheOrigin origin;
  };
  // The entry, made by `make` on this thread at most once among threads and (as far as a store can be locked)
  // processes. A failure of `make` is given to everyone waiting now and forgotten; the next call tries again.
  // TIMEOUT and CANCELLED concern waiting for another thread; the wait for another process is bounded by lease_wait,
  // and then the entry is made here too.
  virtual Result<Made> get_or_make(const BinaryKey& key, const std::function<Result<CacheEntry>()>& make,
                                   std::stop_token cancel = {}) = 0;

  // Drops the memory layer's entries (not those on disk).
  virtual void clear_memory() = 0;
  // Waits until everything put so far is on disk or given up; false when `timeout` came first.
  virtual bool flush(std::chrono::milliseconds timeout) = 0;
  virtual CacheStats stats() const = 0;
};

}  // namespace tilert
