// Blocks of a cluster with each other: the cluster's barrier in halves, registers written into another block's shared memory.
#include <cstring>

#include "emulator/cuda/gpu.h"
#include "emulator/cuda/primitives.h"

namespace tilert::emulator {

void Gpu::land_send(const PartSend& send) {
  require_running(*send.to, "a part of " + Machine::place(send.line) + " is written into");
  if (failed()) return;
  Mbarrier& on = mbarriers.find(static_cast<uint64_t>(send.to->rank) << 32 | send.bar)->second;
  if (races()) ++on.copies;
  for (size_t i = 0; i < send.words.size(); i += 4) {
    uint8_t* const at = send.to->arena + send.offset + i / 4 * send.stride;
    std::memcpy(at, &send.words[i], 16);
    if (races()) races()->landed(at, 16, on.component, on.copies, send.line, Proxy::generic);
  }
  if (races()) Races::tell(on.arrived, on.component, on.copies);
  arrive(on, 0, -static_cast<int64_t>(send.words.size()) * 4);
}

}  // namespace tilert::emulator

using namespace tilert::emulator;

void tlemu_send_part(const uint32_t* words, int count, void* to, int stride, void* bar, int rank, int line) {
  Gpu& gpu = at(line);
  const auto cluster = gpu.cluster_of(gpu.block());
  if (rank < 0 || static_cast<size_t>(rank) >= cluster.size()) gpu.fail(Fault::protocol, "sends to block " + std::to_string(rank) + " of its cluster");
  PartSend send{&cluster[static_cast<size_t>(rank)], {words, words + count}, 0, static_cast<uint32_t>(stride), gpu.shared(bar, 8, 8, "an mbarrier"), gpu.self().number, line};
  send.offset = gpu.shared(to, static_cast<size_t>(stride) * static_cast<size_t>(count / 4 - 1) + 16, 16, "the place of a part");
  gpu.require_running(*send.to, "sends to");
  Mbarrier& on = gpu.mbarrier(*send.to, send.bar, "a part that is sent");
  if (!on.fenced) gpu.fail(Fault::protocol, "a part that is sent completes on an mbarrier whose initialization was not fenced (mbarrier_init_fence)");
  if (Races* races = gpu.races()) {
    const Clock clock = races->clock(gpu.self());
    std::string wrong;
    for (int i = 0; i < count / 4 && wrong.empty(); ++i) {
      uint8_t* const place = send.to->arena + send.offset + i * stride;
      wrong = races->engine_access(clock, place, 16, true, Proxy::generic, on.component, 1, line);
      races->expect(place, 16, on.component, line);
    }
    if (!wrong.empty()) gpu.fail(Fault::race, "a part that is sent " + wrong);
  } else if (gpu.schedule().tensor_copies == Timing::early) {
    return gpu.land_send(send);
  }
  gpu.sends.push_back(std::move(send));
}

void tlemu_cluster_arrive(int line) {
  Gpu& gpu = at(line);
  SplitBarrier& barrier = gpu.cluster_barriers[gpu.block().cluster];
  const auto all = static_cast<uint32_t>(gpu.cluster_of(gpu.block()).size()) * gpu.threads_per_block();
  barrier.phases.resize(gpu.threads().size());
  uint32_t& own = barrier.phases[gpu.self().number];
  if (own != 0) gpu.fail(Fault::protocol, "arrives at the cluster's barrier again and has not waited for it");
  own = barrier.phase + 1;
  if (gpu.races()) gpu.races()->release(gpu.self(), barrier.coming);
  if (++barrier.arrived != all) return;
  barrier.arrived = 0;
  ++barrier.phase;
  barrier.come.join(barrier.coming);
  barrier.coming = Clock();
  gpu.wake(barrier.waiting);
}

void tlemu_cluster_wait(int line) {
  Gpu& gpu = at(line);
  SplitBarrier& barrier = gpu.cluster_barriers[gpu.block().cluster];
  barrier.phases.resize(gpu.threads().size());
  uint32_t& own = barrier.phases[gpu.self().number];
  if (own == 0) gpu.fail(Fault::protocol, "waits for the cluster's barrier at which it has not arrived");
  while (barrier.phase < own) gpu.wait(barrier.waiting, "the cluster's barrier");
  own = 0;
  if (gpu.races()) gpu.races()->acquire(gpu.self(), barrier.come);
}
