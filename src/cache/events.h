// Counting what happens and telling the host of it. Events are collected while locks are held and reported after.
#pragma once

#include "cache/cache.h"

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace tilert {

using EventList = std::vector<CacheEvent>;

class Events {
 public:
  explicit Events(std::function<void(const CacheEvent&)> callback) : callback_(std::move(callback)) {}

  void count(CacheEventKind kind, uint64_t times = 1) {
    counts_[static_cast<size_t>(kind)].fetch_add(times, std::memory_order_relaxed);
  }
  // Counts, and calls the host for serious ones. No lock of the cache may be held.
  void report(const CacheEvent& event);
  void report(EventList& events);  // empties the list
  void fill(CacheStats& stats) const;

 private:
  std::array<std::atomic<uint64_t>, 64> counts_{};
  std::function<void(const CacheEvent&)> callback_;
};

}  // namespace tilert
