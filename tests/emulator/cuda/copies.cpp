// cp.async: copies of one thread in groups, waits for groups, arrivals on mbarriers that follow copies.
#include <algorithm>
#include <cstring>

#include "emulator/core/faults.h"
#include "emulator/core/races.h"
#include "emulator/cuda/gpu.h"
#include "emulator/cuda/primitives.h"

namespace tilert::emulator {

void Gpu::land_copy(ThreadCopies& of, const PendingCopy& copy) {
  if (copy.valid) std::memcpy(copy.to, copy.from, copy.valid);
  std::memset(static_cast<uint8_t*>(copy.to) + copy.valid, 0, copy.bytes - copy.valid);
  ++of.landed;
  if (!races()) return;
  if (!of.component) of.component = races()->add_component();
  races()->landed(copy.to, copy.bytes, of.component, static_cast<uint32_t>(of.landed), copy.line, Proxy::generic);
}

// What has landed is ordered for the thread by its wait, for others by a barrier after that or an arrival that follows it.
void Gpu::land_copies(const Thread& thread, ThreadCopies& of, size_t keep) {
  while (of.groups.size() > keep) {
    for (const PendingCopy& copy : of.groups.front().copies) land_copy(of, copy);
    if (races() && of.component) races()->tell(thread, of.component, static_cast<uint32_t>(of.groups.front().end));
    of.groups.pop_front();
  }
}

// The copies that it follows land, then it arrives: as late as somebody waits for it.
bool Gpu::land_arrival() {
  for (size_t t = 0; t < copies.size(); ++t) {
    ThreadCopies& of = copies[t];
    const Thread& thread = threads()[t];
    if (of.arrivals.empty()) continue;
    const auto found = mbarriers.find(static_cast<uint64_t>(thread.block->rank) << 32 | of.arrivals.front().bar);
    if (found == mbarriers.end() || found->second.waiting.threads.empty()) continue;
    arrive_after_copies(thread, of);
    return true;
  }
  return false;
}

// The oldest arrival of the thread.
void Gpu::arrive_after_copies(const Thread& thread, ThreadCopies& of) {
  const PendingArrival arrival = of.arrivals.front();
  of.arrivals.pop_front();
  const auto land_of = [&](std::vector<PendingCopy>& list) {
    auto copy = list.begin();
    for (; copy != list.end() && of.landed < arrival.after; ++copy) land_copy(of, *copy);
    list.erase(list.begin(), copy);
  };
  for (CopyGroup& group : of.groups) land_of(group.copies);
  land_of(of.open);
  Mbarrier& bar = mbarriers.find(static_cast<uint64_t>(thread.block->rank) << 32 | arrival.bar)->second;
  if (races() && of.component) Races::tell(bar.arrived, of.component, static_cast<uint32_t>(arrival.after));
  arrive(bar, 1, 0);
}

}  // namespace tilert::emulator

using namespace tilert::emulator;

void tlemu_cp_async(void* to, const void* from, int bytes, int valid, int line) {
  Gpu& gpu = at(line);
  const auto size = static_cast<size_t>(bytes);
  gpu.shared(to, size, size, "the destination of cp_async");
  if (valid < 0 || valid > bytes) gpu.fail(Fault::protocol, "cp_async of " + std::to_string(valid) + " of " + std::to_string(bytes) + " bytes");
  if (valid && reinterpret_cast<uintptr_t>(from) % size)
    gpu.fail(Fault::misaligned, "the source of cp_async must be aligned to " + std::to_string(bytes) + " bytes" +
                                    (near_buffer(from).empty() ? "" : ": it is " + near_buffer(from)));
  if (valid && gpu.on_own_stack(from)) gpu.fail(Fault::out_of_bounds, "the source of cp_async is not in global memory");
  gpu.self().touched = true;
  ThreadCopies& copies = gpu.copies[gpu.self().number];
  if (Races* races = gpu.races()) {
    races->access(to, size, true, line);
    if (valid) races->access(from, static_cast<size_t>(valid), false, line);
    races->expect(to, size, gpu.self().number, line);
  } else if (gpu.schedule().copies == Timing::early) {
    if (valid) std::memcpy(to, from, static_cast<size_t>(valid));
    std::memset(static_cast<uint8_t*>(to) + valid, 0, size - static_cast<size_t>(valid));
    copies.landed = ++copies.issued;
    return;
  }
  // The destination holds nothing until the copy has been waited for, and a source out of bounds is seen at once.
  if (valid) static_cast<void>(*static_cast<const volatile uint8_t*>(from)), static_cast<void>(static_cast<const volatile uint8_t*>(from)[valid - 1]);
  std::memset(to, 0xff, size);
  ++copies.issued;
  copies.open.push_back({to, from, static_cast<uint8_t>(bytes), static_cast<uint8_t>(valid), line});
}

void tlemu_cp_async_commit(int line) {
  Gpu& gpu = at(line);
  ThreadCopies& copies = gpu.copies[gpu.self().number];
  copies.groups.push_back({std::move(copies.open), copies.issued});
  copies.open.clear();
}

void tlemu_cp_async_wait(int pending, int line) {
  Gpu& gpu = at(line);
  gpu.land_copies(gpu.self(), gpu.copies[gpu.self().number], static_cast<size_t>(pending));
}

void tlemu_cp_async_arrive(void* bar, int line) {
  Gpu& gpu = at(line);
  const uint32_t offset = gpu.shared(bar, 8, 8, "an mbarrier");
  gpu.mbarrier(gpu.block(), offset, "an arrival after copies");
  ThreadCopies& copies = gpu.copies[gpu.self().number];
  copies.arrivals.push_back({offset, copies.issued, line});
  if (gpu.schedule().copies == Timing::early) gpu.arrive_after_copies(gpu.self(), copies);
}
