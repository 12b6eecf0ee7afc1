// The thread that writes to the store: puts wait in its queue, never their callers. What cannot be written is tried
// again later, and dropped when the process ends. The thread starts with the first write.
// Not here: how rows are written (store.h).
#pragma once

#include "cache/events.h"
#include "cache/lease.h"
#include "cache/store.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_set>

namespace tilert {

class Writer {
 public:
  Writer(Store& store, Events& events, uint64_t queue_bytes, std::chrono::milliseconds exit_wait);
  ~Writer();

  // `lease`, where there is one, is released when the row is committed, and no later than after the first failure.
  void put(StoreWrite write, std::shared_ptr<Lease> lease);
  void touch(const Digest& row);  // written with the next put or at the end
  bool flush(std::chrono::milliseconds timeout);
  uint64_t pending() const;

  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();  // the queue is the parent's to write

 private:
  struct Item {
    StoreWrite write;
    std::shared_ptr<Lease> lease;
  };
  // Left behind whole in a child of fork: the thread that it names, and whoever waits on it, do not exist there.
  struct State {
    mutable std::mutex mutex;
    std::condition_variable changed;
    std::deque<Item> queue;
    std::unordered_set<Digest, DigestHash> touched;
    uint64_t bytes = 0;
    bool stopping = false;
    std::thread thread;
  };

  void start(State& state);
  void loop(State& state);
  bool write(State& state, std::span<const StoreWrite* const> first);
  void drop(State& state, std::unique_lock<std::mutex>& lock);
  void write_last_touches();

  Store& store_;
  Events& events_;
  const uint64_t queue_bytes_;
  const std::chrono::milliseconds exit_wait_;
  std::unique_ptr<State> state_;
};

}  // namespace tilert
