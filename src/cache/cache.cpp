// The layers put together: memory, then disk, then whoever makes the entry.
#include "cache/cache.h"

#include "cache/entry.h"
#include "cache/events.h"
#include "cache/fork.h"
#include "cache/lease.h"
#include "cache/memory_cache.h"
#include "cache/place.h"
#include "cache/single_flight.h"
#include "cache/store.h"
#include "cache/writer.h"

namespace tilert {

struct IndexKey {
  RequestKey request;
  std::string generator;
  bool operator==(const IndexKey&) const = default;
};

}  // namespace tilert

template <>
struct std::hash<tilert::IndexKey> {
  size_t operator()(const tilert::IndexKey& key) const {
    return std::hash<tilert::RequestKey>{}(key.request) ^ std::hash<std::string>{}(key.generator);
  }
};

namespace tilert {
namespace {

using IndexEntryPtr = std::shared_ptr<const IndexEntry>;

// A row larger than this stays in memory: SQLite's limit is near, and no kernel is so large.
constexpr size_t kLargestRow = size_t{512} << 20;

// The store and all that works on it; not there when entries are kept in memory alone.
struct Disk {
  Disk(const StorePlace& place, const CacheOptions& options, Events& events)
      : store(place, options.read_wait, options.write_wait),
        leases(place),
        writer(store, events, options.queue_bytes, options.exit_wait) {}
  Store store;
  Leases leases;
  Writer writer;
};

class LayeredCache final : public Cache, private ForkAware {
 public:
  explicit LayeredCache(CacheOptions options) : options_(std::move(options)), events_(options_.on_event) {
    EventList events;
    if (options_.disk && sqlite3_threadsafe())
      if (std::optional<StorePlace> place = choose_place(options_, events))
        disk_ = std::make_unique<Disk>(*place, options_, events_);
    flights_ = std::make_unique<Flights>();
    events_.report(events);
    register_fork_aware(this);
  }

  ~LayeredCache() override { unregister_fork_aware(this); }

  CacheEntryPtr find(const BinaryKey& key) override {
    CacheOrigin origin;
    bool rejected = false;
    CacheEntryPtr entry = look(key, origin, rejected);
    if (!entry) events_.count(CacheEventKind::miss);
    return entry;
  }

  CacheEntryPtr find_in_memory(const BinaryKey& key) override {
    CacheEntryPtr entry = binaries_.find(key);
    events_.count(entry ? CacheEventKind::memory_hit : CacheEventKind::miss);
    return entry;
  }

  std::optional<IndexEntry> find(const RequestKey& key, std::string_view generator) override {
    IndexKey index{key, std::string(generator)};
    IndexEntryPtr entry = indices_.find(index);
    if (entry) {
      events_.count(CacheEventKind::memory_hit);
      return *entry;
    }
    std::optional<CacheEntry> row = read_row(EntryKind::index, row_key(options_.name_space, key, generator));
    std::optional<IndexEntry> found = row ? unpack_index(row->bytes) : std::nullopt;
    events_.count(found ? CacheEventKind::disk_hit : CacheEventKind::miss);
    if (found) indices_.put(index, std::make_shared<IndexEntry>(*found), false);
    return found;
  }

  std::optional<IndexEntry> find_in_memory(const RequestKey& key, std::string_view generator) override {
    IndexEntryPtr entry = indices_.find({key, std::string(generator)});
    events_.count(entry ? CacheEventKind::memory_hit : CacheEventKind::miss);
    return entry ? std::optional<IndexEntry>(*entry) : std::nullopt;
  }

  CacheEntryPtr put(const BinaryKey& key, CacheEntry entry, Replace replace) override {
    return put_with_lease(key, std::move(entry), replace, nullptr);
  }

  void put(const RequestKey& key, std::string_view generator, IndexEntry entry) override {
    Digest row = row_key(options_.name_space, key, generator);
    std::string packed = pack_index(entry);
    indices_.put({key, std::string(generator)}, std::make_shared<IndexEntry>(std::move(entry)), true);
    write(StoreWrite::What::replace, EntryKind::index, row, {}, packed, nullptr);
  }

  Result<Made> get_or_make(const BinaryKey& key, const std::function<Result<CacheEntry>()>& make,
                           std::stop_token cancel) override {
    if (CacheEntryPtr entry = binaries_.find(key)) {
      events_.count(CacheEventKind::memory_hit);
      return Made{std::move(entry), CacheOrigin::memory};
    }
    auto outcome = flights_->run(
        key, [&] { return fetch_or_make(key, make, cancel); }, cancel);
    if (!outcome) return std::move(outcome).error();
    if (outcome->led) return outcome->value;
    events_.count(CacheEventKind::joined);
    return Made{outcome->value.entry, CacheOrigin::joined};
  }

  void clear_memory() override {
    binaries_.clear();
    indices_.clear();
  }

  bool flush(std::chrono::milliseconds timeout) override { return !disk_ || disk_->writer.flush(timeout); }

  CacheStats stats() const override {
    CacheStats stats;
    events_.fill(stats);
    if (!disk_) return stats;
    stats.pending_writes = disk_->writer.pending();
    if (!disk_->store.off()) stats.store_path = disk_->store.path();
    return stats;
  }

 private:
  using Flights = SingleFlight<BinaryKey, Made>;

  // Memory, then disk; what disk has goes to memory.
  CacheEntryPtr look(const BinaryKey& key, CacheOrigin& origin, bool& rejected) {
    if (CacheEntryPtr entry = binaries_.find(key)) {
      events_.count(CacheEventKind::memory_hit);
      origin = CacheOrigin::memory;
      return entry;
    }
    std::optional<CacheEntry> row = read_row(EntryKind::binary, row_key(options_.name_space, key));
    if (!row) return nullptr;
    if (options_.accept && !options_.accept(row->metadata)) {
      rejected = true;
      events_.count(CacheEventKind::rejected);
      return nullptr;
    }
    events_.count(CacheEventKind::disk_hit);
    origin = CacheOrigin::disk;
    return binaries_.put(key, std::make_shared<CacheEntry>(*std::move(row)), false);
  }

  // A row of the store that stood every check. A bad one is a miss and goes with the next write.
  std::optional<CacheEntry> read_row(EntryKind kind, const Digest& row) {
    if (!disk_ || disk_->store.off()) return std::nullopt;
    EventList events;
    std::string blob;
    std::optional<CacheEntry> entry;
    if (disk_->store.read(row, blob, events) == DbFault::none) {
      entry = unpack_row(kind, row, blob);
      if (entry)
        disk_->writer.touch(row);
      else
        events.push_back({CacheEventKind::bad_row, disk_->store.path(), to_hex(row)});
    }
    bool bad = !entry && !events.empty() && events.back().kind == CacheEventKind::bad_row;
    events_.report(events);
    if (bad) disk_->writer.put({StoreWrite::What::erase_if_bad, kind, row, {}}, nullptr);
    return entry;
  }

  Result<Made> fetch_or_make(const BinaryKey& key, const std::function<Result<CacheEntry>()>& make,
                             std::stop_token cancel) {
    Made made{};
    bool rejected = false;
    if ((made.entry = look(key, made.origin, rejected))) return made;
    std::shared_ptr<Lease> lease = take_lease(key, cancel);
    // Between the look and the lease another process may have stored the entry.
    if (lease && !rejected)
      if ((made.entry = look(key, made.origin, rejected))) return made;
    events_.count(CacheEventKind::miss);
    Result<CacheEntry> entry = make();
    if (!entry) {
      events_.count(CacheEventKind::make_failed);
      return std::move(entry).error();
    }
    events_.count(CacheEventKind::made);
    Replace replace = rejected ? Replace::replace : Replace::keep_old;
    return Made{put_with_lease(key, *std::move(entry), replace, std::move(lease)), CacheOrigin::made};
  }

  std::shared_ptr<Lease> take_lease(const BinaryKey& key, const std::stop_token& cancel) {
    if (!disk_ || !disk_->store.writable()) return nullptr;
    LeaseGrant grant = disk_->leases.acquire(row_key(options_.name_space, key), options_.lease_wait, cancel);
    if (grant.result == LeaseResult::waited) events_.count(CacheEventKind::lease_waited);
    if (grant.result == LeaseResult::timed_out)
      events_.report({CacheEventKind::lease_timeout, disk_->store.place().directory, ""});
    return std::move(grant.lease);
  }

  CacheEntryPtr put_with_lease(const BinaryKey& key, CacheEntry entry, Replace replace, std::shared_ptr<Lease> lease) {
    bool replacing = replace == Replace::replace;
    CacheEntryPtr shared = std::make_shared<CacheEntry>(std::move(entry));
    CacheEntryPtr kept = binaries_.put(key, shared, replacing);
    write(replacing ? StoreWrite::What::replace : StoreWrite::What::put, EntryKind::binary,
          row_key(options_.name_space, key), kept->metadata, kept->bytes, std::move(lease));
    return kept;
  }

  void write(StoreWrite::What what, EntryKind kind, const Digest& row, std::string_view metadata,
             std::string_view bytes, std::shared_ptr<Lease> lease) {
    if (!disk_ || !disk_->store.writable() || metadata.size() + bytes.size() > kLargestRow) return;
    disk_->writer.put({what, kind, row, pack_row(kind, row, metadata, bytes)}, std::move(lease));
  }

  void before_fork() override {
    if (disk_) {
      disk_->writer.before_fork();
      disk_->leases.before_fork();
      disk_->store.before_fork();
    }
    binaries_.lock_all();
    indices_.lock_all();
  }

  void after_fork_in_parent() override {
    indices_.unlock_all();
    binaries_.unlock_all();
    if (!disk_) return;
    disk_->store.after_fork();
    disk_->leases.after_fork_in_parent();
    disk_->writer.after_fork_in_parent();
  }

  void after_fork_in_child() override {
    indices_.unlock_all();
    binaries_.unlock_all();
    (void)flights_.release();  // other threads led them; those do not exist here
    flights_ = std::make_unique<Flights>();
    if (!disk_) return;
    disk_->store.after_fork();
    disk_->leases.after_fork_in_child();
    disk_->writer.after_fork_in_child();
  }

  CacheOptions options_;
  Events events_;
  MemoryCache<BinaryKey, CacheEntryPtr> binaries_;
  MemoryCache<IndexKey, IndexEntryPtr> indices_;
  std::unique_ptr<Flights> flights_;
  std::unique_ptr<Disk> disk_;
};

}  // namespace

std::shared_ptr<Cache> Cache::open(CacheOptions options) { return std::make_shared<LayeredCache>(std::move(options)); }

}  // namespace tilert
