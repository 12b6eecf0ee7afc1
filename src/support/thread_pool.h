// Who runs the blocks of a CPU launch: our own pool, or the caller's executor.
// A launch allocates nothing, takes no lock and may be issued from any thread, also from inside a block of another one.
// Not here: what a block computes and where its scratch lies (src/runtime).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilert {

// Indices 0 .. count - 1, handed out as ranges. `slot` is in [0, width) and held by one thread at a time within this
// work, so that it can name a scratch arena. The function must not unwind.
struct Work {
  void (*run)(void* context, int64_t begin, int64_t end, int slot) = nullptr;
  void* context = nullptr;
  int64_t count = 0;
  uint64_t nanoseconds = 0;  // estimate for all of it on one thread; 0: unknown
};

class Executor {
 public:
  virtual ~Executor() = default;
  virtual int width() const = 0;            // the most threads that are inside one work, the calling one included
  virtual void run(const Work& work) = 0;   // returns when every index is done, its stores visible to the caller
};

// The caller's parallel_for(user, count, body, arg) as an executor. It gets one task per slot; the ranges are claimed
// inside, so it need not balance anything.
class CallerExecutor final : public Executor {
 public:
  using Body = void (*)(void* arg, uint32_t index);
  using ParallelFor = void (*)(void* user, uint32_t count, Body body, void* arg);

  // width 0: unknown, then available_cpus().
  CallerExecutor(ParallelFor parallel_for, void* user, uint32_t width);
  int width() const override { return width_; }
  void run(const Work& work) override;

 private:
  ParallelFor parallel_for_;
  void* user_;
  int width_;
};

// Our pool. The calling thread takes part; done means that all ranges are done, not that every worker has woken.
// Workers spin for about 40 us after their last work, then park. Work estimated under 100 us runs on the caller alone
// while all workers are parked. In a child of fork, whose workers are gone, work runs on the caller.
class ThreadPool final : public Executor {
 public:
  // `threads` counts the calling thread; 0: available_cpus(). Where the system gives fewer threads, the pool is smaller.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool() override;  // no work may be running
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int width() const override { return static_cast<int>(workers_) + 1; }
  void run(const Work& work) override;

 private:
  struct Job;
  struct Workers;
  static constexpr int kJobs = 8;  // launches that share the workers at one time; further ones run on their callers

  Job* claim_job();
  void wake(int64_t chunks);
  void worker_loop();
  static void* worker_entry(void* pool);

  std::unique_ptr<Job[]> jobs_;
  std::unique_ptr<Workers> threads_;
  size_t workers_ = 0;
  const uint64_t generation_;  // the process's fork generation in which the workers live
  alignas(64) std::atomic<uint32_t> epoch_{0};
  alignas(64) std::atomic<uint32_t> parked_{0};
  std::atomic<bool> stop_{false};
};

// Processors this process may use: the affinity mask, cut by the cgroup's quota (rounded up); at least 1.
int available_cpus();

// The cgroup's quota in processors, or 0 where there is none. `root` holds the mounted hierarchies ("/sys/fs/cgroup"),
// `membership` is the text of /proc/self/cgroup; both versions of cgroups are known.
int cgroup_cpu_limit(const std::string& root, std::string_view membership);

}  // namespace tilert
