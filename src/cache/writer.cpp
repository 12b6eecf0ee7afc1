// The writer's loop: a batch, a transaction, and a pause that grows while the store does not take it.
#include "cache/writer.h"

#include <pthread.h>
#include <signal.h>

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
  EventList ignored;
  store_.apply({}, {state_->touched.begin(), state_->touched.end()}, ignored);
}

void Writer::put(StoreWrite write, std::shared_ptr<Lease> lease) {
  if (!store_.writable()) return;
  bool full;
  {
    std::lock_guard lock(state_->mutex);
    full = state_->bytes + write.blob.size() > queue_bytes_;
    if (!full) {
      state_->bytes += write.blob.size();
      state_->queue.push_back({std::move(write), std::move(lease)});
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
  return state_->queue.size() + state_->writing;
}

bool Writer::flush(milliseconds timeout) {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, timeout, [&] { return state_->queue.empty() && state_->writing == 0; });
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
    std::deque<Item> batch;
    while (!state.queue.empty() && batch.size() < kBatchItems) {
      batch.push_back(std::move(state.queue.front()));
      state.queue.pop_front();
    }
    state.writing = batch.size();
    std::vector<Digest> touched(state.touched.begin(), state.touched.end());
    state.touched.clear();
    lock.unlock();
    bool written = write_batch(state, std::move(batch), std::move(touched));
    lock.lock();
    state.writing = 0;
    state.changed.notify_all();
    pause = written ? milliseconds(0) : std::min(std::max(kFirstPause, pause * 2), kLongestPause);
    if (!written && last_try && Clock::now() > *last_try) return drop(state, lock);
  }
}

bool Writer::write_batch(State& state, std::deque<Item> batch, std::vector<Digest> touched) {
  std::vector<const StoreWrite*> writes;
  uint64_t bytes = 0, puts = 0;
  for (const Item& item : batch) {
    writes.push_back(&item.write);
    bytes += item.write.blob.size();
    bool put = item.write.what != StoreWrite::What::erase_if_bad;
    puts += put;
    if (put) touched.push_back(item.write.row);
  }
  EventList events;
  DbFault what = store_.apply(writes, touched, events);
  {
    std::lock_guard lock(state.mutex);
    if (what == DbFault::none) {
      state.bytes -= bytes;
    } else {
      for (; !batch.empty(); batch.pop_back()) state.queue.push_front({std::move(batch.back().write), nullptr});
      state.writing = 0;
    }
  }
  batch.clear();  // leases go, the rows being there
  events_.report(events);
  if (what == DbFault::none) events_.count(CacheEventKind::stored, puts);
  return what == DbFault::none;
}

void Writer::drop(State& state, std::unique_lock<std::mutex>& lock) {
  size_t count = state.queue.size();
  state.queue.clear();
  state.bytes = 0;
  state.writing = 0;
  state.changed.notify_all();
  lock.unlock();
  if (count == 0) return;
  events_.count(CacheEventKind::dropped, count - 1);
  events_.report({CacheEventKind::dropped, store_.path(), fmt::format("{} entries", count)});
}

void Writer::before_fork() { state_->mutex.lock(); }

void Writer::after_fork_in_parent() { state_->mutex.unlock(); }

void Writer::after_fork_in_child() {
  (void)state_.release();
  state_ = std::make_unique<State>();
}

}  // namespace tilert
