// The arena's mapping and its bitmap of slots.
#include "runtime/scratch_arena.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace tilert::runtime {
namespace {

constexpr int kCallers = 32;  // launching threads for which a slot is kept beside the pool's

}  // namespace

Result<std::shared_ptr<ScratchArena>> ScratchArena::make(uint64_t slot_bytes, int width) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::shared_ptr<ScratchArena> arena(new ScratchArena);
  arena->slots_ = std::clamp(width + kCallers, 1, kWords * 64);
  arena->slot_bytes_ = slot_bytes;
  arena->stride_ = (slot_bytes + page - 1) / page * page;
  arena->mapped_ = arena->stride_ * static_cast<uint64_t>(arena->slots_);
  void* const base =
      mmap(nullptr, arena->mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return make_error(Code::kOutOfMemory, "no scratch memory for a CPU kernel: {} slots of {} bytes: {}", arena->slots_,
                      slot_bytes, std::strerror(errno));
  }
  arena->base_ = static_cast<uint8_t*>(base);
  for (int word = 0; word < kWords; ++word) {
    const int used = std::clamp(arena->slots_ - word * 64, 0, 64);
    arena->taken_[word] = used == 64 ? 0 : ~uint64_t{0} << used;
  }
  return arena;
}

ScratchArena::~ScratchArena() {
  if (base_ != nullptr) munmap(base_, mapped_);
}

int ScratchArena::acquire() {
  for (;;) {
    for (int word = 0; word < kWords; ++word) {
      uint64_t seen = taken_[word].load(std::memory_order_relaxed);
      while (~seen != 0) {
        const int bit = std::countr_one(seen);
        if (taken_[word].compare_exchange_weak(seen, seen | uint64_t{1} << bit, std::memory_order_acquire,
                                               std::memory_order_relaxed)) {
          return word * 64 + bit;
        }
      }
    }
    sched_yield();
  }
}

void ScratchArena::release(int index) {
  taken_[index / 64].fetch_and(~(uint64_t{1} << index % 64), std::memory_order_release);
}

}  // namespace tilert::runtime
