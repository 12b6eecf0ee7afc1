// The fork counter behind FORKED.
#include "runtime/fork_guard.h"

#include <pthread.h>

#include <atomic>

namespace tilert::runtime {
namespace {

std::atomic<uint32_t> generation{0};

void count_fork() { generation.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

uint32_t fork_generation() {
  static const int registered = pthread_atfork(nullptr, nullptr, count_fork);
  (void)registered;
  return generation.load(std::memory_order_relaxed);
}

}  // namespace tilert::runtime
