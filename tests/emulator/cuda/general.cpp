// Threads, barriers, shuffles, vector accesses and cp.async.
#include <algorithm>
#include <cstring>

#include "emulator/core/faults.h"
#include "emulator/core/races.h"
#include "emulator/cuda/gpu.h"
#include "emulator/cuda/primitives.h"

namespace tilert::emulator {


uint32_t Gpu::shared(const void* address, size_t bytes, size_t alignment, const char* what) {
  Block* holder = nullptr;
  const int64_t offset = arena_offset(address, &holder);
  if (offset < 0 || holder != &block())
    fail(Fault::out_of_bounds, std::string(what) + " is not in the block's shared memory" +
                                   (near_buffer(address).empty() ? "" : " but " + near_buffer(address)));
  if (static_cast<uint64_t>(offset) + bytes > launch().shared_bytes)
    fail(Fault::out_of_bounds, std::string(what) + " ends " + std::to_string(static_cast<uint64_t>(offset) + bytes - launch().shared_bytes) +
                                   " bytes beyond the block's shared memory");
  if (static_cast<uint64_t>(offset) % alignment)
    fail(Fault::misaligned, std::string(what) + " at offset " + std::to_string(offset) + " must be aligned to " + std::to_string(alignment) + " bytes");
  return static_cast<uint32_t>(offset);
}

// The oldest groups until `keep` are left.
void Gpu::land_copies(ThreadCopies& of, size_t keep) {
  while (of.groups.size() > keep) {
    for (const PendingCopy& copy : of.groups.front()) {
      if (copy.valid) std::memcpy(copy.to, copy.from, copy.valid);
      std::memset(static_cast<uint8_t*>(copy.to) + copy.valid, 0, copy.bytes - copy.valid);
      if (!races()) continue;
      races()->landed(copy.to, copy.bytes, self().number, races()->time(self()), copy.line, Proxy::generic);
    }
    of.groups.pop_front();
  }
}

namespace {

// Of warp-aligned instructions: all lanes at one place.
uint64_t place_tag(int line) { return static_cast<uint64_t>(line); }

// Barriers order memory; shuffles and matrix instructions do not.
void order(Machine& machine, Group& group) {
  if (machine.races()) machine.races()->join(group.members);
}

struct Shuffle {
  uint32_t value, result;
  int mask;
};

void shuffle(Machine& machine, Group& group) {
  const auto lanes = static_cast<uint32_t>(group.arguments.size());
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    auto& own = *static_cast<Shuffle*>(group.arguments[lane]);
    const uint32_t from = lane ^ static_cast<uint32_t>(own.mask);
    if (from >= lanes) return machine.record(Fault::protocol, group.members[lane], "shuffles with a lane that does not exist");
    own.result = static_cast<Shuffle*>(group.arguments[from])->value;
  }
}

}  // namespace
}  // namespace tilert::emulator

using namespace tilert::emulator;

int tlemu_thread(void) { return static_cast<int>(Gpu::current().self().index); }
int tlemu_block(int axis) { return static_cast<int>(Gpu::current().block().id[axis]); }
int tlemu_grid(int axis) { return static_cast<int>(Gpu::current().launch().grid[axis]); }
unsigned char* tlemu_arena(void) { return Gpu::current().block().arena; }

uint32_t tlemu_address(const void* p) {
  Gpu& gpu = Gpu::current();
  Block* holder = nullptr;
  const int64_t offset = gpu.arena_offset(p, &holder);
  if (offset < 0) gpu.fail(Fault::out_of_bounds, "the shared address of a pointer that is not in shared memory");
  return static_cast<uint32_t>(offset) + kWindow + (holder == &gpu.block() ? 0 : (holder->rank + 1) << 24);
}

void tlemu_vector(const void* p, int bytes, int line) {
  Gpu& gpu = at(line);
  if (reinterpret_cast<uintptr_t>(p) % static_cast<uintptr_t>(bytes) == 0 || gpu.on_own_stack(p)) return;
  const std::string beside = near_buffer(p);
  gpu.fail(Fault::misaligned, "a vector of " + std::to_string(bytes) + " bytes at an address that is no multiple of it" +
                                  (beside.empty() ? "" : ", " + beside));
}

void tlemu_barrier(int line) {
  Gpu& gpu = at(line);
  Group& group = gpu.block().barriers[0];
  if (group.arrived == 0) group.expected = gpu.threads_per_block();
  gpu.meet(group, "the block's barrier", place_tag(line), nullptr, &order);
}

void tlemu_named_barrier(int id, int threads, int line) {
  Gpu& gpu = at(line);
  if (id < 0 || id >= Gpu::kBarriers) gpu.fail(Fault::protocol, "named barrier " + std::to_string(id) + ": there are 16");
  if (threads <= 0 || threads % Gpu::kLanes || static_cast<uint32_t>(threads) > gpu.threads_per_block())
    gpu.fail(Fault::protocol, "a named barrier of " + std::to_string(threads) + " threads in a block of " + std::to_string(gpu.threads_per_block()));
  Group& group = gpu.block().barriers[static_cast<size_t>(id)];
  if (group.arrived == 0) group.expected = static_cast<uint32_t>(threads);
  static const char* const kNames[] = {"named barrier 0", "named barrier 1", "named barrier 2", "named barrier 3", "named barrier 4",
      "named barrier 5", "named barrier 6", "named barrier 7", "named barrier 8", "named barrier 9", "named barrier 10", "named barrier 11",
      "named barrier 12", "named barrier 13", "named barrier 14", "named barrier 15"};
  gpu.meet(group, kNames[id], static_cast<uint64_t>(threads), nullptr, &order);
}

int tlemu_cluster_rank(void) { return static_cast<int>(Gpu::current().block().rank); }

void tlemu_cluster_barrier(int line) {
  Gpu& gpu = at(line);
  if (gpu.cluster_group.arrived == 0) gpu.cluster_group.expected = static_cast<uint32_t>(gpu.threads().size());
  gpu.meet(gpu.cluster_group, "the cluster's barrier", place_tag(line), nullptr, &order);
}

void tlemu_warp_sync(int line) { at(line).meet_warp("warp_sync", place_tag(line), nullptr, &order); }

uint32_t tlemu_shuffle_xor(uint32_t value, int mask, int line) {
  Shuffle own{value, 0, mask};
  at(line).meet_warp("shuffle_xor", place_tag(line), &own, &shuffle);
  return own.result;
}

void tlemu_cp_async(void* to, const void* from, int bytes, int valid, int line) {
  Gpu& gpu = at(line);
  const auto size = static_cast<size_t>(bytes);
  gpu.shared(to, size, size, "the destination of cp_async");
  if (valid < 0 || valid > bytes) gpu.fail(Fault::protocol, "cp_async of " + std::to_string(valid) + " of " + std::to_string(bytes) + " bytes");
  if (valid && reinterpret_cast<uintptr_t>(from) % size)
    gpu.fail(Fault::misaligned, "the source of cp_async must be aligned to " + std::to_string(bytes) + " bytes" +
                                    (near_buffer(from).empty() ? "" : ": it is " + near_buffer(from)));
  if (valid && gpu.on_own_stack(from)) gpu.fail(Fault::out_of_bounds, "the source of cp_async is not in global memory");
  ThreadCopies& copies = gpu.copies[gpu.self().number];
  if (Races* races = gpu.races()) {
    races->access(to, size, true, line);
    if (valid) races->access(from, static_cast<size_t>(valid), false, line);
    races->expect(to, size, gpu.self().number, line);
  } else if (gpu.schedule().copies == Timing::early) {
    if (valid) std::memcpy(to, from, static_cast<size_t>(valid));
    std::memset(static_cast<uint8_t*>(to) + valid, 0, size - static_cast<size_t>(valid));
    return;
  }
  // The destination holds nothing until the copy has been waited for, and a source out of bounds is seen at once.
  if (valid) static_cast<void>(*static_cast<const volatile uint8_t*>(from)), static_cast<void>(static_cast<const volatile uint8_t*>(from)[valid - 1]);
  std::memset(to, 0xff, size);
  copies.open.push_back({to, from, static_cast<uint8_t>(bytes), static_cast<uint8_t>(valid), line});
}

void tlemu_cp_async_commit(int line) {
  Gpu& gpu = at(line);
  ThreadCopies& copies = gpu.copies[gpu.self().number];
  copies.groups.push_back(std::move(copies.open));
  copies.open.clear();
}

void tlemu_cp_async_wait(int pending, int line) {
  Gpu& gpu = at(line);
  gpu.land_copies(gpu.copies[gpu.self().number], static_cast<size_t>(pending));
}
