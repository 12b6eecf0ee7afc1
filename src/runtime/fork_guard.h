// Whether this process is a child of the one that made a handle. A driver context, a pool's threads and locks that were
// held do not survive fork, so what was made before it answers FORKED.
#pragma once

#include <atomic>
#include <cstdint>

namespace tilert::runtime {

namespace internal {
extern std::atomic<uint32_t> forks;
}

// How often this process was forked into since watch_forks was called first.
inline uint32_t fork_generation() { return internal::forks.load(std::memory_order_relaxed); }

// What a new handle remembers: fork_generation, counted from now on at the latest.
uint32_t watch_forks();

}  // namespace tilert::runtime
