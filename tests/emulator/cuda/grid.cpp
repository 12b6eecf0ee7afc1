// Blocks with each other: the grid's barrier, waits for words of memory, and another block's shared memory.
#include <cstring>

#include "emulator/core/faults.h"
#include "emulator/core/races.h"
#include "emulator/cuda/gpu.h"
#include "emulator/cuda/primitives.h"

namespace tilert::emulator {
namespace {

constexpr uint32_t kTurn = 0x80000000u;

// The counter's top bit turns once all blocks have come; below it nothing is left.
void turn_grid(Machine& machine, Group& group) {
  auto* const counter = static_cast<uint32_t*>(group.arguments[0]);
  for (void* other : group.arguments)
    if (other != counter) return machine.record(Fault::protocol, group.members[0], "the threads of a grid meet at different counters");
  *counter ^= kTurn;
  if (machine.races()) machine.races()->join(group.members);
}

}  // namespace
}  // namespace tilert::emulator

using namespace tilert::emulator;

void tlemu_wait_for_grids(int line) {
  Gpu& gpu = at(line);
  if (gpu.self().touched) gpu.fail(Fault::protocol, "waits for the grids before it after it has touched global memory, which they may still write");
  if (gpu.launch().together) gpu.fail(Fault::protocol, "a wait for the grids before in a cooperative launch, which overlaps none");
  gpu.self().waited = true;
}

void tlemu_grid_barrier(uint32_t* counter, int line) {
  Gpu& gpu = at(line);
  if (!gpu.launch().together) gpu.fail(Fault::protocol, "the grid's barrier in a launch that is not cooperative");
  if (reinterpret_cast<uintptr_t>(counter) % 4) gpu.fail(Fault::misaligned, "the counter of the grid's barrier must be aligned to 4 bytes");
  Group& group = gpu.grid_group;
  if (group.arrived == 0) {
    group.expected = static_cast<uint32_t>(gpu.threads().size());
    if (*counter & ~kTurn) gpu.fail(Fault::protocol, "the counter of the grid's barrier was not zero: it is " + std::to_string(*counter));
  }
  gpu.meet(group, "the grid's barrier", static_cast<uint64_t>(line), counter, &turn_grid);
}

void tlemu_wait_at_least(const uint32_t* word, uint32_t least, int line) {
  Gpu& gpu = at(line);
  if (reinterpret_cast<uintptr_t>(word) % 4) gpu.fail(Fault::misaligned, "a word that is waited for must be aligned to 4 bytes");
  while (*word < least) {
    WordWait& wait = gpu.word_waits.emplace_back();
    wait.word = word;
    wait.least = least;
    gpu.wait(wait.waiting, "wait_at_least");
  }
  if (gpu.races()) gpu.races()->acquire(gpu.self(), word);
}

void tlemu_set_word(uint32_t* word, uint32_t value, int line) {
  Gpu& gpu = at(line);
  if (reinterpret_cast<uintptr_t>(word) % 4) gpu.fail(Fault::misaligned, "a word that is set must be aligned to 4 bytes");
  if (gpu.races()) gpu.races()->release(gpu.self(), word);
  *word = value;
}

// The same place in the shared memory of another block of the cluster.
void* tlemu_cluster_pointer(const void* p, int rank, int line) {
  Gpu& gpu = at(line);
  const auto cluster = gpu.cluster_of(gpu.block());
  if (rank < 0 || static_cast<size_t>(rank) >= cluster.size()) gpu.fail(Fault::protocol, "the shared memory of block " + std::to_string(rank) + " of its cluster");
  const uint32_t offset = gpu.shared(p, 1, 1, "what is mapped to another block");
  return cluster[static_cast<size_t>(rank)].arena + offset;
}

void* tlemu_cluster_access(const void* p, int rank, int bytes, int write, int line) {
  Gpu& gpu = at(line);
  gpu.shared(p, static_cast<size_t>(bytes), static_cast<size_t>(bytes), "what is accessed in another block");
  void* const there = tlemu_cluster_pointer(p, rank, line);
  gpu.require_running(gpu.cluster_of(gpu.block())[static_cast<size_t>(rank)], write ? "writes" : "reads");
  if (gpu.races()) gpu.races()->access(there, static_cast<size_t>(bytes), write != 0, line);
  return there;
}
