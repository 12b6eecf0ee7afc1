// Threads for compiles: made for one compile each, joined or abandoned.
#include "compiler/compile_thread.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <system_error>

namespace tilert {
namespace {

std::atomic<int> abandoned_count{0};

// Shared by the waiting caller and the worker; the last of them frees it.
struct Job {
  std::function<Result<Binary>()> work;
  std::mutex mutex;
  std::condition_variable_any changed;
  std::optional<Result<Binary>> result;  // none at the end: there was no memory for one
  bool ended = false;
  bool abandoned = false;
};

void* worker_main(void* argument) {
  std::unique_ptr<std::shared_ptr<Job>> owned(static_cast<std::shared_ptr<Job>*>(argument));
  Job& job = **owned;
  std::optional<Result<Binary>> result;
  try {
    result.emplace(job.work());
  } catch (...) {  // can only be a failed allocation
  }
  job.work = nullptr;  // what the work owns goes before the caller hears of it
  bool late;
  {
    std::lock_guard lock(job.mutex);
    job.result = std::move(result);
    job.ended = true;
    late = job.abandoned;
  }
  job.changed.notify_all();
  if (late) abandoned_count.fetch_sub(1);
  return nullptr;
}

Status start_worker(const std::shared_ptr<Job>& job, pthread_t& thread) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kCompileStackBytes);
  auto argument = std::make_unique<std::shared_ptr<Job>>(job);
  // Signals are the host's: none is delivered to a compiler's thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&thread, &attributes, worker_main, argument.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error)
    return make_error(Code::kUnavailable, "no thread for compiling could be started: {}",
                      std::generic_category().message(error));
  argument.release();
  return {};
}

// True when the job ended; false when it must be left behind.
bool wait(Job& job, std::unique_lock<std::mutex>& lock, const CompileControl& control) {
  auto done = [&] { return job.ended; };
  bool ended = control.deadline ? job.changed.wait_until(lock, control.cancel, *control.deadline, done)
                                : job.changed.wait(lock, control.cancel, done);
  return ended || job.changed.wait_for(lock, kCancelGrace, done);
}

}  // namespace

int abandoned_compiles() { return abandoned_count.load(); }

Error stop_error(const CompileControl& control) {
  if (control.cancelled()) return make_error(Code::kCancelled, "the compile was cancelled");
  return make_error(Code::kTimeout, "the compile did not end before its deadline");
}

Result<Binary> run_on_compile_thread(const CompileControl& control, std::function<Result<Binary>()> work) {
  if (abandoned_compiles() >= kMaxAbandonedCompiles)
    return make_error(
        Code::kUnavailable,
        "{} compiles did not end before their deadlines and still run; nothing is compiled until one ends",
        abandoned_compiles());
  auto job = std::make_shared<Job>();
  job->work = std::move(work);
  pthread_t thread;
  TILERT_TRY(start_worker(job, thread));
  std::unique_lock lock(job->mutex);
  if (!wait(*job, lock, control)) {
    job->abandoned = true;
    abandoned_count.fetch_add(1);
    pthread_detach(thread);
    return stop_error(control);
  }
  lock.unlock();
  pthread_join(thread, nullptr);
  if (!job->result) return make_error(Code::kOutOfMemory, "out of memory while compiling");
  return *std::move(job->result);
}

}  // namespace tilert
