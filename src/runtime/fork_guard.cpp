// The fork counter behind FORKED.
#include "runtime/fork_guard.h"

#include <pthread.h>

namespace tilert::runtime {

std::atomic<uint32_t> internal::forks{0};

namespace {
void count_fork() { internal::forks.fetch_add(1, std::memory_order_relaxed); }
}  // namespace

uint32_t watch_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, count_fork);
  (void)registered;
  return fork_generation();
}

}  // namespace tilert::runtime
