// The writer's loop: a batch, a transaction, and a pause that grows while the store does not take it.
#include "cache/writer.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <new>

namespace tilert {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kBatchItems = 64;
constexpr milliseconds kFirstPause{50};
constexpr milliseconds kLongestPause{5000};
constexpr milliseconds kLastTouchWait{100};

// Signals are the host's: none is delivered to the writer's thread.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

Writer::Writer(Store& store, Events& events, uint64_t queue_bytes, milliseconds exit_wait)
    : store_(store),
      events_(events),
      queue_bytes_(queue_bytes),
      exit_wait_(exit_wait),
      state_(std::make_unique<State>()) {}

Writer::~Writer() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    store_.set_write_wait(exit_wait_);
  }
  state_->changed.notify_all();
  if (state_->thread.joinable()) state_->thread.join();
  write_last_touches();
}

void Writer::write_last_touches() {
  if (state_->touched.empty() || !store_.writable()) return;
  store_.set_write_wait(std::min(exit_wait_, kLastTouchWait));
  try {
    EventList ignored;
    store_.apply({}, {state_->touched.begin(), state_->touched.end()}, ignored);
  } catch (const std::bad_alloc&) {  // recency, which nothing depends on
  }
}

void Writer::put(StoreWrite write, std::shared_ptr<Lease> lease) {
  if (!store_.writable()) return;
  bool full;
  {
    std::lock_guard lock(state_->mutex);
    full = state_->bytes + write.blob.size() > queue_bytes_;
    if (!full) {
      const uint64_t bytes = write.blob.size();
      state_->queue.push_back({std::move(write), std::move(lease)});
      state_->bytes += bytes;
      start(*state_);
    }
  }
  state_->changed.notify_all();
  if (full) events_.report({CacheEventKind::dropped, store_.path(), "the queue of writes is full"});
}

void Writer::start(State& state) {
  if (state.thread.joinable()) return;
  SignalsBlocked blocked;
  try {
    state.thread = std::thread([this, &state] { loop(state); });
  } catch (...) {
    // No thread to be had: the queue stays, the next put tries again.
  }
}

void Writer::touch(const Digest& row) {
  std::lock_guard lock(state_->mutex);
  if (state_->touched.size() < 100000) state_->touched.insert(row);
}

uint64_t Writer::pending() const {
  std::lock_guard lock(state_->mutex);
  return state_->queue.size();
}

bool Writer::flush(milliseconds timeout) {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, timeout, [&] { return state_->queue.empty(); });
}

void Writer::loop(State& state) {
  milliseconds pause{0};
  std::unique_lock lock(state.mutex);
  std::optional<Clock::time_point> last_try;
  while (true) {
    state.changed.wait_for(lock, pause, [&] { return state.stopping; });
    state.changed.wait(lock, [&] { return state.stopping || !state.queue.empty(); });
    if (state.stopping && !last_try) last_try = Clock::now() + exit_wait_;
    if (state.queue.empty()) return;
    if ((last_try && Clock::now() > *last_try) || !store_.writable()) return drop(state, lock);
    // They stay in the queue until they are written: what there was no memory for is tried again.
    std::array<const StoreWrite*, kBatchItems> first;
    const size_t count = std::min(state.queue.size(), first.size());
    for (size_t i = 0; i < count; ++i) first[i] = &state.queue[i].write;
    lock.unlock();
    const bool written = write(state, {first.data(), count});
    lock.lock();
    for (size_t i = 0; i < count; ++i) {
      if (!written) {
        state.queue[i].lease.reset();
        continue;
      }
      state.bytes -= state.queue.front().write.blob.size();
      state.queue.pop_front();  // its lease goes, the row being there
    }
    state.changed.notify_all();
    pause = written ? milliseconds(0) : std::min(std::max(kFirstPause, pause * 2), kLongestPause);
    if (!written && last_try && Clock::now() > *last_try) return drop(state, lock);
  }
}

bool Writer::write(State& state, std::span<const StoreWrite* const> first) {
  bool written = false;
  try {
    decltype(state.touched) touched;
    {
      std::lock_guard lock(state.mutex);
      touched.swap(state.touched);
    }
    std::vector<Digest> rows(touched.begin(), touched.end());
    uint64_t puts = 0;
    for (const StoreWrite* one : first)
      if (one->what != StoreWrite::What::erase_if_bad) ++puts, rows.push_back(one->row);
    EventList events;
    written = store_.apply({first.begin(), first.end()}, rows, events) == DbFault::none;
    events_.report(events);
    if (written) events_.count(CacheEventKind::stored, puts);
  } catch (const std::bad_alloc&) {
  }
  return written;
}

void Writer::drop(State& state, std::unique_lock<std::mutex>& lock) {
  size_t count = state.queue.size();
  state.queue.clear();
  state.bytes = 0;
  state.changed.notify_all();
  lock.unlock();
  if (count == 0) return;
  try {
    events_.count(CacheEventKind::dropped, count - 1);
    events_.report({CacheEventKind::dropped, store_.path(), fmt::format("{} entries", count)});
  } catch (const std::bad_alloc&) {
  }
}

void Writer::before_fork() { state_->mutex.lock(); }

void Writer::after_fork_in_parent() { state_->mutex.unlock(); }

void Writer::after_fork_in_child() {
  (void)state_.release();
  state_ = std::make_unique<State>();
}

}  // namespace tilert
