// Single flight between processes: a lock of the kernel on one byte of a file beside the store, which byte by the key.
// It is released by the holder, or by the kernel when the holder dies; nothing is ever stale. Only an optimization: who
// cannot get it in time makes the entry as well.
// Not here: single flight in one process (single_flight.h).
#pragma once

#include "cache/place.h"
#include "support/sha256.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>

namespace tilert {

class LeaseFile;

// Held until destroyed.
class Lease {
 public:
  Lease(std::shared_ptr<LeaseFile> file, int64_t offset) : file_(std::move(file)), offset_(offset) {}
  Lease(const Lease&) = delete;
  ~Lease();

 private:
  std::shared_ptr<LeaseFile> file_;
  int64_t offset_;
};

enum class LeaseResult : uint8_t { held, waited, timed_out, unavailable };

struct LeaseGrant {
  LeaseResult result = LeaseResult::unavailable;
  std::shared_ptr<Lease> lease;  // when held or waited
};

class Leases {
 public:
  explicit Leases(StorePlace place) : place_(std::move(place)) {}

  // held: at once; waited: another process held it; timed_out, or cancelled by `cancel`: it still does.
  LeaseGrant acquire(const Digest& key, std::chrono::milliseconds wait, std::stop_token cancel = {});

  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  void after_fork_in_child();  // the parent's locks stay the parent's

 private:
  std::shared_ptr<LeaseFile> file();

  StorePlace place_;
  std::mutex mutex_;
  std::shared_ptr<LeaseFile> file_;
  bool unavailable_ = false;
};

}  // namespace tilert
