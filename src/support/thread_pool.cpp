// The pool and the wrapper of the caller's executor. A job's ticket word holds the launch's number and the chunks not
// yet claimed; a chunk is claimed by CAS, so a worker that comes late or from an earlier launch claims nothing.
#include "support/thread_pool.h"

#include "support/float_environment.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

namespace tilert {
namespace {

constexpr int64_t kChunks = 32;             // a launch; more only where there are more than 16 threads
constexpr uint64_t kSpinNanoseconds = 40'000;
constexpr uint64_t kSerialNanoseconds = 100'000;

int64_t chunk_count(int64_t indices, int width) { return std::min(indices, std::max<int64_t>(kChunks, 2 * width)); }

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

uint64_t now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// Spins until `done` or until the spin time is over; did it come true?
template <class Done>
bool spin_until(Done done) {
  const uint64_t start = now();
  for (;;) {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      relax();
    }
    if (now() - start > kSpinNanoseconds) return done();
  }
}

void futex_wait(std::atomic<uint32_t>* word, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>* word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

// Counts the forks between this process and the first one: workers of another generation do not exist here.
std::atomic<uint64_t> fork_generation{0};

uint64_t current_generation() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { fork_generation.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
  return fork_generation.load(std::memory_order_relaxed);
}

void run_serially(const Work& work) {
  const FloatEnvironment environment;
  work.run(work.context, 0, work.count, 0);
}

// Chunk i of `chunks` nearly equal ones.
struct Range {
  int64_t begin, end;
};
Range chunk_range(int64_t count, int64_t chunks, int64_t i) {
  const int64_t size = count / chunks, longer = count % chunks;
  const int64_t begin = i * size + std::min(i, longer);
  return {begin, begin + size + (i < longer ? 1 : 0)};
}

}  // namespace

// One launch in flight. The fields of the work are atomics because a late worker may read them while the next launch
// writes them; its CAS on the ticket then fails and what it read is dropped.
struct alignas(64) ThreadPool::Job {
  static constexpr uint64_t kRemaining = (uint64_t{1} << 24) - 1;  // low bits: chunks not claimed; high: launch number
  static constexpr uint32_t kCallerSleeps = uint32_t{1} << 31;

  std::atomic<bool> taken{false};
  std::atomic<uint64_t> ticket{0};
  std::atomic<void (*)(void*, int64_t, int64_t, int)> run{nullptr};
  std::atomic<void*> context{nullptr};
  std::atomic<int64_t> count{0}, chunks{0};
  alignas(64) std::atomic<uint32_t> undone{0};
  std::atomic<int> joined{0};

  void publish(const Work& work, int64_t chunk_total) {
    run.store(work.run, std::memory_order_relaxed);
    context.store(work.context, std::memory_order_relaxed);
    count.store(work.count, std::memory_order_relaxed);
    chunks.store(chunk_total, std::memory_order_relaxed);
    undone.store(static_cast<uint32_t>(chunk_total), std::memory_order_relaxed);
    joined.store(1, std::memory_order_relaxed);  // slot 0 is the caller's
    const uint64_t number = (ticket.load(std::memory_order_relaxed) | kRemaining) + 1;
    ticket.store(number | static_cast<uint64_t>(chunk_total), std::memory_order_seq_cst);
  }

  bool has_chunks() const { return (ticket.load(std::memory_order_acquire) & kRemaining) != 0; }

  // Claims and runs chunks until none is left. slot -1: take one with the first chunk, which keeps the launch alive.
  void help(int slot) {
    uint64_t seen = ticket.load(std::memory_order_acquire);
    uint64_t launch = seen & ~kRemaining;
    while ((seen & kRemaining) != 0) {
      if ((seen & ~kRemaining) != launch) {  // the launch that gave this worker its slot is over
        launch = seen & ~kRemaining;
        slot = -1;
      }
      const auto body = run.load(std::memory_order_relaxed);
      void* const argument = context.load(std::memory_order_relaxed);
      const int64_t indices = count.load(std::memory_order_relaxed), total = chunks.load(std::memory_order_relaxed);
      if (!ticket.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
      if (slot < 0) slot = joined.fetch_add(1, std::memory_order_relaxed);
      const Range range = chunk_range(indices, total, total - static_cast<int64_t>(seen & kRemaining));
      body(argument, range.begin, range.end, slot);
      finish_chunk();
      seen = ticket.load(std::memory_order_acquire);
    }
  }

  void finish_chunk() {
    if (undone.fetch_sub(1, std::memory_order_acq_rel) == (kCallerSleeps | 1)) futex_wake(&undone, 1);
  }

  void wait_until_done() {
    if (spin_until([&] { return undone.load(std::memory_order_acquire) == 0; })) return;
    uint32_t seen = undone.fetch_or(kCallerSleeps, std::memory_order_acq_rel) | kCallerSleeps;
    while (seen != kCallerSleeps) {
      futex_wait(&undone, seen);
      seen = undone.load(std::memory_order_acquire);
    }
  }
};

struct ThreadPool::Workers {
  std::vector<pthread_t> threads;
};

ThreadPool::ThreadPool(int threads)
    : jobs_(std::make_unique<Job[]>(kJobs)), threads_(std::make_unique<Workers>()), generation_(current_generation()) {
  const int wanted = (threads > 0 ? threads : available_cpus()) - 1;
  threads_->threads.reserve(static_cast<size_t>(std::max(wanted, 0)));
  // The host's signal handlers run on the host's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 0; i < wanted; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, worker_entry, this) != 0) break;
    threads_->threads.push_back(thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  workers_ = threads_->threads.size();
}

ThreadPool::~ThreadPool() {
  if (generation_ != current_generation()) return;  // a child of fork: there is nobody to join
  stop_.store(true, std::memory_order_seq_cst);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake(&epoch_, INT_MAX);
  for (const pthread_t thread : threads_->threads) pthread_join(thread, nullptr);
}

void ThreadPool::run(const Work& work) {
  if (work.count <= 0) return;
  const int64_t chunks = chunk_count(work.count, width());
  const bool alone = chunks == 1 || workers_ == 0 || generation_ != fork_generation.load(std::memory_order_relaxed);
  const bool small = work.nanoseconds != 0 && work.nanoseconds < kSerialNanoseconds &&
                     parked_.load(std::memory_order_relaxed) == workers_;
  Job* const job = alone || small ? nullptr : claim_job();
  if (job == nullptr) return run_serially(work);
  job->publish(work, chunks);
  wake(chunks);
  {
    const FloatEnvironment environment;
    job->help(0);
  }
  job->wait_until_done();
  job->taken.store(false, std::memory_order_release);
}

ThreadPool::Job* ThreadPool::claim_job() {
  for (int i = 0; i < kJobs; ++i) {
    if (!jobs_[i].taken.load(std::memory_order_relaxed) && !jobs_[i].taken.exchange(true, std::memory_order_acquire))
      return &jobs_[i];
  }
  return nullptr;
}

void ThreadPool::wake(int64_t chunks) {
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_seq_cst) == 0) return;
  futex_wake(&epoch_, static_cast<int>(std::min<int64_t>(chunks - 1, static_cast<int64_t>(workers_))));
}

void ThreadPool::worker_loop() {
  const FloatEnvironment environment;
  uint32_t seen = 0;
  for (;;) {
    const auto news = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
    while (!spin_until(news)) {
      parked_.fetch_add(1, std::memory_order_seq_cst);
      if (epoch_.load(std::memory_order_seq_cst) == seen) futex_wait(&epoch_, seen);
      parked_.fetch_sub(1, std::memory_order_seq_cst);
    }
    seen = epoch_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_acquire)) return;
    for (int i = 0; i < kJobs; ++i) jobs_[i].help(-1);
  }
}

void* ThreadPool::worker_entry(void* pool) {
  pthread_setname_np(pthread_self(), "tilert");
  static_cast<ThreadPool*>(pool)->worker_loop();
  return nullptr;
}

// ---- the caller's executor

namespace {

// One launch on the caller's threads: slots claim chunks from a counter. It lives on the launching thread's stack.
struct SharedWork {
  const Work* work;
  int64_t chunks;
  std::atomic<int64_t> next{0};

  void help(int slot) {
    const FloatEnvironment environment;
    for (;;) {
      const int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= chunks) return;
      const Range range = chunk_range(work->count, chunks, i);
      work->run(work->context, range.begin, range.end, slot);
    }
  }
};

}  // namespace

CallerExecutor::CallerExecutor(ParallelFor parallel_for, void* user, uint32_t width)
    : parallel_for_(parallel_for),
      user_(user),
      width_(width > 0 ? static_cast<int>(std::min<uint32_t>(width, 1 << 16)) : available_cpus()) {}

void CallerExecutor::run(const Work& work) {
  if (work.count <= 0) return;
  SharedWork shared{&work, chunk_count(work.count, width_)};
  const auto slots = static_cast<uint32_t>(std::min<int64_t>(shared.chunks, width_));
  if (slots == 1) return run_serially(work);
  const Body body = [](void* arg, uint32_t slot) { static_cast<SharedWork*>(arg)->help(static_cast<int>(slot)); };
  parallel_for_(user_, slots, body, &shared);
  shared.help(0);  // an executor that ran fewer bodies than it was asked for leaves chunks behind
}

}  // namespace tilert
