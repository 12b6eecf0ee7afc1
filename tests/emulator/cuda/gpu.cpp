// A cluster's engines from its start to its end.
#include "emulator/cuda/gpu.h"

#include <algorithm>

#include "emulator/cuda/matrix.h"
#include "emulator/cuda/products.h"

namespace tilert::emulator {

Gpu::Gpu() = default;
Gpu::~Gpu() = default;

void Gpu::begin_cluster() {
  copies.assign(threads().size(), {});
  stores.assign(threads().size(), {});
  loads.clear();
  sends.clear();
  mbarriers.clear();
  register_waiters.threads.clear();
  cluster_groups.assign(clusters(), Group());
  cluster_barriers.assign(clusters(), SplitBarrier());
  grid_group = Group();
  word_waits.clear();
  barrier_clocks.assign(blocks().size() * kBarriers, Clock());
  registers.assign(warps().size(), 0);
  rooms.resize(warps().size());
  const size_t warpgroups = (warps().size() + 3) / 4;
  products.clear();
  for (size_t i = 0; i < warpgroups; ++i) products.push_back(std::make_unique<WarpgroupProducts>());
}

// Nobody can go on. Words are seen late; a copy lands when somebody waits for its barrier; at random, any of those.
bool Gpu::land() {
  if (wake_words() || land_arrival() || land_sends(true)) return true;
  std::vector<size_t> wanted;
  for (size_t i = 0; i < loads.size(); ++i)
    for (Block& block : blocks()) {
      if (!loads[i].reaches(block)) continue;
      const auto found = mbarriers.find(static_cast<uint64_t>(block.rank) << 32 | loads[i].bar);
      if (found == mbarriers.end() || found->second.waiting.threads.empty()) continue;
      wanted.push_back(i);
      break;
    }
  // Nobody waits for any of them: a barrier that gathers several may be filled by one that nobody waits for here.
  if (wanted.empty() && !loads.empty()) wanted.push_back(0);
  if (wanted.empty()) return land_sends(false);
  const size_t chosen = wanted[schedule().order == Order::random ? random()() % wanted.size() : schedule().backward ? wanted.size() - 1 : 0];
  const TensorLoad load = loads[chosen];
  loads.erase(loads.begin() + static_cast<int64_t>(chosen));
  land_load(load);
  return true;
}

// All that are under way to one barrier, since its phase ends with the last: in the order of issue, backward or at random.
bool Gpu::land_sends(bool waited_for) {
  const auto first = std::find_if(sends.begin(), sends.end(), [&](const PartSend& send) {
    const auto found = mbarriers.find(static_cast<uint64_t>(send.to->rank) << 32 | send.bar);
    return !waited_for || (found != mbarriers.end() && !found->second.waiting.threads.empty());
  });
  if (first == sends.end()) return false;
  const Block* const to = first->to;
  const uint32_t bar = first->bar;
  const auto others = std::stable_partition(sends.begin(), sends.end(), [&](const PartSend& send) { return send.to == to && send.bar == bar; });
  std::vector<PartSend> landing(sends.begin(), others);
  sends.erase(sends.begin(), others);
  if (schedule().order == Order::random) std::shuffle(landing.begin(), landing.end(), random());
  else if (schedule().backward) std::reverse(landing.begin(), landing.end());
  for (const PartSend& send : landing)
    if (!failed()) land_send(send);
  return true;
}

bool Gpu::wake_words() {
  bool any = false;
  for (size_t i = 0; i < word_waits.size();) {
    WordWait& wait = word_waits[i];
    if (*wait.word < wait.least) {
      ++i;
      continue;
    }
    wake(wait.waiting);
    word_waits.erase(word_waits.begin() + static_cast<int64_t>(i));
    any = true;
  }
  return any;
}

void Gpu::require_running(const Block& block, const std::string& what) {
  if (block.running) return;
  const std::string text = what + " the shared memory of " + describe(block) + ", whose threads have ended";
  if (inside()) fail(Fault::protocol, text);
  record(Fault::protocol, nullptr, text);
}

// Of a grid that may have been started early: each block waited, so that who waits for this grid knows the end of those before
// it, and so did each thread that touched global memory.
bool Gpu::waited_for_grids() {
  for (const Block& block : blocks()) {
    bool any = false;
    for (uint32_t t = 0; t < threads_per_block(); ++t) {
      const Thread& thread = threads()[block.first_thread + t];
      any |= thread.waited;
      if (!thread.touched || thread.waited) continue;
      record(Fault::protocol, &thread, "touched global memory and never waited for the grids before, which may still write it");
      return false;
    }
    if (any) continue;
    record(Fault::protocol, &threads()[block.first_thread], "its block has ended without a wait for the grids before it");
    return false;
  }
  return true;
}

void Gpu::finish_cluster() {
  if (launch().dependent && !waited_for_grids()) return;
  for (size_t t = 0; t < copies.size(); ++t)
    if (!copies[t].arrivals.empty())
      return record(Fault::protocol, &threads()[t], "the block ends while the arrival of " + place(copies[t].arrivals.front().line) +
                                                        " is to follow copies: nobody waits for it");
  if (!loads.empty()) {
    const Thread& thread = threads()[loads.front().thread];
    return record(Fault::protocol, &thread, "the block ends while a tensor copy of " + place(loads.front().line) + " is under way: nobody waits for it");
  }
  if (!sends.empty())
    return record(Fault::protocol, &threads()[sends.front().thread], "the block ends while a part of " + place(sends.front().line) + " is under way to another: nobody waits for it");
  for (const auto& of : products)
    for (const Product& product : of->queue)
      if (product.waited != 15)
        return record(Fault::protocol, product.lanes[0].thread, "a product of " + place(product.form.line) + " is never waited for");
  for (size_t t = 0; t < stores.size() && !failed(); ++t) finish_stores(threads()[t]);
}

// What was stored lands; its source must have been read while the block's memory was there.
void Gpu::finish_stores(const Thread& thread) {
  ThreadStores& of = stores[thread.number];
  if (!of.open.empty()) return record(Fault::protocol, &thread, "a tensor store of " + place(of.open[0].line) + " is in no committed group");
  for (const auto& group : of.groups)
    for (const TensorStore& store : group)
      if (!store.waited)
        return record(Fault::protocol, &thread, "the block ends while a tensor store of " + place(store.line) + " reads its shared memory: nobody waits for it");
  write_stores(of, 0);
}

}  // namespace tilert::emulator
