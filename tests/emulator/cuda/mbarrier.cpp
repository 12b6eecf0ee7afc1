// mbarriers: arrivals, announced bytes, phases. The state is beside the arena; the eight bytes hold a mark, so that data
// written over a barrier is seen.
#include <cstring>

#include "emulator/cuda/gpu.h"
#include "emulator/cuda/primitives.h"

namespace tilert::emulator {

constexpr uint64_t kMark = 0x6d6261727269657ull;
constexpr int64_t kMostBytes = (1 << 20) - 1;

static uint64_t key(const Block& block, uint32_t offset) { return static_cast<uint64_t>(block.rank) << 32 | offset; }

Mbarrier& Gpu::mbarrier(Block& block, uint32_t offset, const char* what) {
  const auto found = mbarriers.find(key(block, offset));
  if (found == mbarriers.end())
    fail(Fault::protocol, std::string(what) + " on an mbarrier that was never initialized, at offset " + std::to_string(offset));
  uint64_t mark;
  std::memcpy(&mark, block.arena + offset, 8);
  if (mark != kMark) fail(Fault::protocol, std::string(what) + " on an mbarrier that was written over, at offset " + std::to_string(offset));
  if (races() && inside() && !races()->knows(self(), found->second.owner, found->second.initialized))
    fail(Fault::race, std::string(what) + " on an mbarrier at offset " + std::to_string(offset) + " whose initialization by thread " +
                          std::to_string(found->second.owner) + " is not ordered before");
  return found->second;
}

void Gpu::arrive(Mbarrier& bar, int arrivals, int64_t bytes) {
  bar.pending -= arrivals;
  bar.bytes += bytes;
  const std::string where = "mbarrier at offset " + std::to_string(bar.offset);
  const Thread* thread = inside() ? &self() : nullptr;
  std::string wrong;
  if (bar.pending < 0) wrong = where + ": more arrivals in one phase than the " + std::to_string(bar.count) + " it was initialized with";
  if (bar.bytes > kMostBytes || bar.bytes < -kMostBytes) wrong = where + ": " + std::to_string(bar.bytes) + " bytes are under way, more than it can count";
  if (!wrong.empty()) {
    if (thread) fail(Fault::protocol, wrong);
    return record(Fault::protocol, nullptr, wrong);
  }
  if (bar.pending != 0 || bar.bytes != 0) return;
  bar.pending = bar.count;
  bar.parity ^= 1;
  bar.completed.join(bar.arrived);
  bar.arrived = Clock();
  wake(bar.waiting);
}

}  // namespace tilert::emulator

using namespace tilert::emulator;

void tlemu_mbarrier_init(void* bar, int arrivals, int line) {
  Gpu& gpu = at(line);
  const uint32_t offset = gpu.shared(bar, 8, 8, "an mbarrier");
  if (arrivals < 1 || arrivals > kMostBytes) gpu.fail(Fault::protocol, "an mbarrier of " + std::to_string(arrivals) + " arrivals");
  Mbarrier& at = gpu.mbarriers[key(gpu.block(), offset)];
  if (!at.waiting.threads.empty()) gpu.fail(Fault::protocol, "initializes an mbarrier that " + gpu.describe(*at.waiting.threads[0]) + " waits for");
  at = Mbarrier{&gpu.block(), offset, arrivals, arrivals, 0, 0, false, gpu.self().number, {}, {}, 0, 0, 0, {}};
  std::memcpy(bar, &kMark, 8);
  if (!gpu.races()) return;
  gpu.races()->access(bar, 8, true, line);
  at.component = gpu.races()->add_component();
  at.initialized = gpu.races()->time(gpu.self());
}

void tlemu_mbarrier_init_fence(int line) {
  Gpu& gpu = at(line);
  for (auto& [unused, bar] : gpu.mbarriers)
    if (bar.owner == gpu.self().number) bar.fenced = true;
  if (gpu.races()) gpu.races()->proxy_fence(gpu.self());
}

void tlemu_mbarrier_expect(void* bar, int bytes, int line) {
  Gpu& gpu = at(line);
  Mbarrier& on = gpu.mbarrier(gpu.block(), gpu.shared(bar, 8, 8, "an mbarrier"), "announces bytes");
  if (gpu.races()) gpu.races()->release(gpu.self(), on.arrived);
  gpu.arrive(on, 1, bytes);
}

void tlemu_mbarrier_arrive(void* bar, int line) {
  Gpu& gpu = at(line);
  Mbarrier& on = gpu.mbarrier(gpu.block(), gpu.shared(bar, 8, 8, "an mbarrier"), "arrives");
  if (gpu.races()) gpu.races()->release(gpu.self(), on.arrived);
  gpu.arrive(on, 1, 0);
}

void tlemu_mbarrier_arrive_cluster(void* bar, int rank, int line) {
  Gpu& gpu = at(line);
  const auto cluster = gpu.cluster_of(gpu.block());
  if (rank < 0 || static_cast<size_t>(rank) >= cluster.size()) gpu.fail(Fault::protocol, "arrives in block " + std::to_string(rank) + " of its cluster");
  gpu.require_running(cluster[static_cast<size_t>(rank)], "arrives in");
  Mbarrier& on = gpu.mbarrier(cluster[static_cast<size_t>(rank)], gpu.shared(bar, 8, 8, "an mbarrier"), "arrives");
  if (gpu.races()) gpu.races()->release(gpu.self(), on.arrived);
  gpu.arrive(on, 1, 0);
}

void tlemu_mbarrier_wait(void* bar, int parity, int line) {
  Gpu& gpu = at(line);
  if (parity != 0 && parity != 1) gpu.fail(Fault::protocol, "waits for a phase of parity " + std::to_string(parity));
  Mbarrier& on = gpu.mbarrier(gpu.block(), gpu.shared(bar, 8, 8, "an mbarrier"), "waits");
  while (on.parity == parity) gpu.wait(on.waiting, parity ? "mbarrier_wait, parity 1," : "mbarrier_wait, parity 0,");
  if (gpu.races()) gpu.races()->acquire(gpu.self(), on.completed);
}
