// Threads, barriers, shuffles, votes, vector accesses.
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
  return static_cast<uint32_t>(offset) + kWindow + (holder == &gpu.block() ? 0 : (holder->cluster_rank + 1) << 24);
}

void tlemu_vector(const void* p, int bytes, int line) {
  Gpu& gpu = at(line);
  if (gpu.on_own_stack(p)) return;
  gpu.self().touched |= gpu.arena_offset(p) < 0;
  if (reinterpret_cast<uintptr_t>(p) % static_cast<uintptr_t>(bytes) == 0) return;
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

namespace {

const char kNoWait = 0;  // the argument of who arrives at a named barrier and goes on

// Those who wait know of all; those who only arrived learn nothing.
void order_named(Machine& machine, Group& group) {
  if (!machine.races()) return;
  Gpu& gpu = static_cast<Gpu&>(machine);
  std::vector<Thread*> waiting;
  for (size_t i = 0; i < group.members.size(); ++i)
    if (group.arguments[i] != &kNoWait) waiting.push_back(group.members[i]);
  Block& block = *group.members[0]->block;
  Clock& arrived = gpu.barrier_clocks[block.rank * Gpu::kBarriers + static_cast<size_t>(&group - block.barriers.data())];
  gpu.races()->join(waiting);
  for (const Thread* thread : waiting) gpu.races()->acquire(*thread, arrived);
  arrived = Clock();
}

Group& named(Gpu& gpu, int id, int threads) {
  if (id < 0 || id >= Gpu::kBarriers) gpu.fail(Fault::protocol, "named barrier " + std::to_string(id) + ": there are 16");
  if (threads <= 0 || threads % 32 || static_cast<uint32_t>(threads) > gpu.threads_per_block())
    gpu.fail(Fault::protocol, "a named barrier of " + std::to_string(threads) + " threads in a block of " + std::to_string(gpu.threads_per_block()));
  Group& group = gpu.block().barriers[static_cast<size_t>(id)];
  if (group.arrived == 0) group.expected = static_cast<uint32_t>(threads);
  return group;
}

const char* named_text(int id) {
  static const char* const kNames[] = {"named barrier 0", "named barrier 1", "named barrier 2", "named barrier 3", "named barrier 4",
      "named barrier 5", "named barrier 6", "named barrier 7", "named barrier 8", "named barrier 9", "named barrier 10", "named barrier 11",
      "named barrier 12", "named barrier 13", "named barrier 14", "named barrier 15"};
  return kNames[id];
}

}  // namespace

void tlemu_named_barrier(int id, int threads, int line) {
  Gpu& gpu = at(line);
  gpu.meet(named(gpu, id, threads), named_text(id), static_cast<uint64_t>(threads), nullptr, &order_named);
}

void tlemu_named_barrier_arrive(int id, int threads, int line) {
  Gpu& gpu = at(line);
  Group& group = named(gpu, id, threads);
  if (gpu.races()) gpu.races()->release(gpu.self(), gpu.barrier_clocks[gpu.block().rank * Gpu::kBarriers + static_cast<size_t>(id)]);
  gpu.meet(group, named_text(id), static_cast<uint64_t>(threads), const_cast<char*>(&kNoWait), &order_named, false);
}

int tlemu_cluster_rank(void) { return static_cast<int>(Gpu::current().block().cluster_rank); }

void tlemu_cluster_barrier(int line) {
  Gpu& gpu = at(line);
  Group& group = gpu.cluster_groups[gpu.block().cluster];
  if (group.arrived == 0) group.expected = static_cast<uint32_t>(gpu.cluster_of(gpu.block()).size()) * gpu.threads_per_block();
  gpu.meet(group, "the cluster's barrier", place_tag(line), nullptr, &order);
}

namespace {

struct Redux {
  uint32_t value;
  int op;
  bool is_signed;
};

uint32_t combined(uint32_t a, uint32_t b, int op, bool is_signed) {
  const bool less = is_signed ? static_cast<int32_t>(a) < static_cast<int32_t>(b) : a < b;
  switch (op) {
    case tlemu_redux_add: return a + b;
    case tlemu_redux_min: return less ? a : b;
    case tlemu_redux_max: return less ? b : a;
    case tlemu_redux_and: return a & b;
    case tlemu_redux_or: return a | b;
    default: return a ^ b;
  }
}

void reduce_lanes(Machine& machine, Group& group) {
  Redux total = *static_cast<Redux*>(group.arguments[0]);
  for (size_t lane = 1; lane < group.arguments.size(); ++lane) {
    const Redux& own = *static_cast<Redux*>(group.arguments[lane]);
    if (own.op != total.op) return machine.record(Fault::protocol, group.members[lane], "reduces over the warp by another operation");
    total.value = combined(total.value, own.value, own.op, own.is_signed);
  }
  for (void* argument : group.arguments) static_cast<Redux*>(argument)->value = total.value;
}

}  // namespace

uint32_t tlemu_redux(uint32_t value, int op, int is_signed, int line) {
  Redux own{value, op, is_signed != 0};
  at(line).meet_warp("redux", place_tag(line), &own, &reduce_lanes);
  return own.value;
}

void tlemu_warp_sync(int line) { at(line).meet_warp("warp_sync", place_tag(line), nullptr, &order); }

uint32_t tlemu_shuffle_xor(uint32_t value, int mask, int line) {
  Shuffle own{value, 0, mask};
  at(line).meet_warp("shuffle_xor", place_tag(line), &own, &shuffle, mask < 32);
  return own.result;
}

namespace {

struct Vote {
  bool mine;
  uint32_t all;
};

// Of 32 lanes; a wave of 64 has two such.
void count_votes(Machine&, Group& group) {
  uint32_t votes = 0;
  for (size_t lane = 0; lane < group.arguments.size(); ++lane) votes |= static_cast<uint32_t>(static_cast<Vote*>(group.arguments[lane])->mine) << lane;
  for (void* const lane : group.arguments) static_cast<Vote*>(lane)->all = votes;
}

}  // namespace

uint32_t tlemu_ballot(int predicate, int line) {
  Vote own{predicate != 0, 0};
  at(line).meet_warp("a vote", place_tag(line), &own, &count_votes, true);
  return own.all;
}
