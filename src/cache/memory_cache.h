// The first layer: entries of this process, by key, in shards so that threads seldom meet. Nothing is evicted.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <mutex>
#include <unordered_map>

namespace tilert {

// Value is cheap to copy (a shared pointer). Two puts of one key: the first stays, unless the second replaces.
template <class Key, class Value>
class MemoryCache {
 public:
  // A default-made Value when there is none.
  Value find(const Key& key) const {
    const Shard& shard = shard_of(key);
    std::lock_guard lock(shard.mutex);
    auto found = shard.values.find(key);
    return found == shard.values.end() ? Value{} : found->second;
  }

  // What is there afterwards.
  Value put(const Key& key, Value value, bool replace) {
    Shard& shard = shard_of(key);
    std::lock_guard lock(shard.mutex);
    auto [position, inserted] = shard.values.try_emplace(key, value);
    if (!inserted && replace) position->second = std::move(value);
    return position->second;
  }

  void clear() {
    for (Shard& shard : shards_) {
      std::lock_guard lock(shard.mutex);
      shard.values.clear();
    }
  }

  void lock_all() {
    for (Shard& shard : shards_) shard.mutex.lock();
  }
  void unlock_all() {
    for (Shard& shard : shards_) shard.mutex.unlock();
  }

 private:
  struct Shard {
    // Not a reader-writer lock: those know their holder's thread id, which a child of fork does not share.
    mutable std::mutex mutex;
    std::unordered_map<Key, Value> values;
  };
  const Shard& shard_of(const Key& key) const { return shards_[std::hash<Key>{}(key) >> 7 & (shards_.size() - 1)]; }
  Shard& shard_of(const Key& key) { return shards_[std::hash<Key>{}(key) >> 7 & (shards_.size() - 1)]; }

  std::array<Shard, 16> shards_;
};

}  // namespace tilert
