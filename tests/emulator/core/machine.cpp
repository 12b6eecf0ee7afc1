// Running clusters: arenas, threads, the choice of who runs next, meeting and waiting. Host signals are in faults.cpp.
#include "emulator/core/machine.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "emulator/core/faults.h"
#include "emulator/core/races.h"

namespace tilert::emulator {
namespace {

__attribute__((tls_model("initial-exec"))) thread_local Machine* machine = nullptr;

constexpr uint8_t kPoison = 0xff;  // NaN in every float, -1 in every integer
constexpr uint8_t kCanary = 0x5c;

}  // namespace

const char* fault_name(Fault fault) {
  static const char* const kNames[] = {"none", "deadlock", "divergence", "race", "misaligned", "out of bounds", "protocol", "unsupported"};
  return kNames[static_cast<int>(fault)];
}

Machine::Machine() : races_(std::make_unique<Races>(*this)) {}

Machine::~Machine() {
  if (arena_map_) munmap(arena_map_, arena_map_bytes_);
}

Machine& Machine::current() { return *machine; }
bool Machine::inside() { return machine && machine->self_; }

Report Machine::run(const Launch& launch, const Schedule& schedule) {
  launch_ = &launch;
  schedule_ = schedule;
  random_.seed(schedule.seed);
  report_ = {};
  report_.kernel = launch.kernel;
  threads_per_block_ = launch.block[0] * launch.block[1] * launch.block[2];
  cluster_size_ = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  Machine* const before = std::exchange(machine, this);
  const Faults faults(*this);
  if (races()) races_->begin_launch();
  if (!make_arena()) record(Fault::unsupported, nullptr, "no memory for the shared arena");
  uint32_t clusters = 1;
  for (int axis = 0; axis < 3; ++axis) {
    clusters *= launch.grid[axis] / launch.cluster[axis];
    if (launch.grid[axis] % launch.cluster[axis])
      record(Fault::unsupported, nullptr, "the grid is no multiple of the cluster along axis " + std::to_string(axis));
  }
  for (uint32_t first = 0; first < clusters && !failed(); first += static_cast<uint32_t>(this->clusters())) run_clusters(first);
  machine = before;
  return report_;
}

// Each arena ends where a page begins that must not be touched; below it a page of the same kind.
bool Machine::make_arena() {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t blocks = launch_->together ? size_t{launch_->grid[0]} * launch_->grid[1] * launch_->grid[2] : cluster_size_;
  arena_bytes_ = (launch_->shared_bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  arena_stride_ = (arena_bytes_ + page - 1) / page * page + page;
  const size_t bytes = page + blocks * arena_stride_;
  if (bytes != arena_map_bytes_) {
    if (arena_map_) munmap(arena_map_, arena_map_bytes_);
    void* map = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    arena_map_ = map == MAP_FAILED ? nullptr : static_cast<uint8_t*>(map);
    arena_map_bytes_ = arena_map_ ? bytes : 0;
    if (!arena_map_) return false;
  }
  blocks_.resize(blocks);
  for (size_t i = 0; i < blocks; ++i) {
    uint8_t* const begin = arena_map_ + page + i * arena_stride_;
    mprotect(begin, arena_stride_ - page, PROT_READ | PROT_WRITE);
    mprotect(begin + arena_stride_ - page, page, PROT_NONE);
    blocks_[i].rank = static_cast<uint32_t>(i);
    blocks_[i].cluster = static_cast<uint32_t>(i) / cluster_size_;
    blocks_[i].cluster_rank = static_cast<uint32_t>(i) % cluster_size_;
    blocks_[i].arena = begin + arena_stride_ - page - arena_bytes_;
  }
  return true;
}

void Machine::run_clusters(uint32_t first) {
  start_blocks(first);
  if (failed()) return;
  if (races()) races_->begin_cluster(threads_.size());
  begin_cluster();
  schedule_all();
  if (!failed()) finish_cluster();
  if (!failed()) check_canaries();
}

void Machine::start_blocks(uint32_t first) {
  const auto total = static_cast<uint32_t>(blocks_.size()) * threads_per_block_;
  const uint32_t warps_per_block = (threads_per_block_ + lanes() - 1) / lanes();
  if (threads_.size() != total) threads_ = std::vector<Thread>(total);
  warps_.resize(warps_per_block * blocks_.size());
  done_ = 0;
  const uint32_t* const c = launch_->cluster;
  const uint32_t across[2] = {launch_->grid[0] / c[0], launch_->grid[1] / c[1]};
  for (Block& block : blocks_) {
    const uint32_t n = first + block.cluster, r = block.cluster_rank;
    block.id[0] = n % across[0] * c[0] + r % c[0];
    block.id[1] = n / across[0] % across[1] * c[1] + r / c[0] % c[1];
    block.id[2] = n / across[0] / across[1] * c[2] + r / c[0] / c[1];
    block.first_thread = block.rank * threads_per_block_;
    block.first_warp = block.rank * warps_per_block;
    block.running = threads_per_block_;
    block.barriers.assign(kBarriers, Group());
    std::memset(block.arena, kPoison, arena_bytes_);
    std::memset(block.arena + launch_->shared_bytes, kCanary, arena_bytes_ - launch_->shared_bytes);
    start_threads(block);
  }
}

void Machine::start_threads(Block& block) {
  for (uint32_t w = 0; w * lanes() < threads_per_block_; ++w) {
    Warp& warp = warps_[block.first_warp + w];
    warp.block = &block;
    warp.first = block.first_thread + w * lanes();
    warp.count = std::min<uint32_t>(lanes(), threads_per_block_ - w * lanes());
    warp.ready = warp.all = warp.count == kMostLanes ? ~0ull : (1ull << warp.count) - 1;
    const auto gather = [&](Group& group, uint32_t from, uint32_t to) {
      group = Group();
      group.expected = to - from;
      group.arguments.resize(to - from);
      for (uint32_t i = from; i < to; ++i) group.members.push_back(&threads_[warp.first + i]);
    };
    gather(warp.group, 0, warp.count);
    for (uint32_t half = 0; half < 2; ++half) gather(warp.halves[half], std::min(32 * half, warp.count), std::min(32 * half + 32, warp.count));
  }
  for (uint32_t t = 0; t < threads_per_block_; ++t) {
    Thread& thread = threads_[block.first_thread + t];
    thread.block = &block;
    thread.index = t;
    thread.number = block.first_thread + t;
    thread.warp = block.first_warp + t / lanes();
    thread.state = State::live;
    thread.waits_at = nullptr;
    thread.line = 0;
    thread.touched = thread.waited = false;
    uint8_t* const stack = stacks_.base(thread.number);
    if (!stack) return record(Fault::unsupported, nullptr, "no memory for the stacks of threads");
    // Frames of a warp's threads must not share the sets of the host's caches.
    thread.fiber.prepare(home_, stack, StackPool::kBytes - thread.number % 15 * 17 * 64, &Machine::thread_main, this);
  }
}

void Machine::thread_main(void* argument) {
  auto& self = *static_cast<Machine*>(argument);
  self.launch_->entry(self.launch_->parameters);
  Thread& thread = self.self();
  thread.state = State::done;
  ++self.done_;
  --thread.block->running;
  self.warps_[thread.warp].ready &= ~(1ull << self.lane());
  self.leave(true);
}

// Until all threads have ended, or nothing can run and no engine has anything left to land.
void Machine::schedule_all() {
  std::vector<uint32_t> order(warps_.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<uint32_t>(schedule_.backward ? order.size() - 1 - i : i);
  while (!failed() && done_ < threads_.size()) {
    bool ran = false;
    if (schedule_.order == Order::random) std::shuffle(order.begin(), order.end(), random_);
    for (uint32_t w : order) {
      // A random warp runs a random while; a greedy one as far as it can.
      uint64_t turns = schedule_.order == Order::greedy ? ~0ull : schedule_.order == Order::random ? 1 + random_() % 64 : 1;
      bool moved = false;
      while (turns-- && run_warp(w)) moved = true;
      ran |= moved;
      if (failed()) return;
      if (moved && schedule_.order == Order::greedy) break;  // the first warp that can run goes first again
    }
    if (!ran && !land()) return report_deadlock();
  }
}

bool Machine::run_warp(uint32_t index) {
  turn_ = &warps_[index];
  left_in_turn_ = turn_->ready;
  self_ = next_in_turn();
  if (!self_) return false;
  self_->fiber.resume();
  self_ = nullptr;
  return !failed();
}

Thread* Machine::next_in_turn() {
  const uint64_t left = left_in_turn_;
  if (!left || failed()) return nullptr;
  int lane = schedule_.backward ? 63 - std::countl_zero(left) : std::countr_zero(left);
  if (schedule_.order == Order::random) {
    const int shift = static_cast<int>(random_() % 64);
    lane = (std::countr_zero(std::rotr(left, shift)) + shift) % 64;
  }
  left_in_turn_ = left & ~(1ull << lane);
  ++report_.switches;
  return &threads_[turn_->first + static_cast<uint32_t>(lane)];
}

// Lanes of a turn follow each other without the scheduler: they mostly stand at one place, which the host's processor
// foresees.
void Machine::leave(bool last) {
  Thread& from = *self_;
  Thread* const next = next_in_turn();
  if (!next) return from.fiber.suspend(last);
  self_ = next;
  from.fiber.hand_over(next->fiber, last);
}

void Machine::suspend() {
  warps_[self_->warp].ready &= ~(1ull << lane());
  leave(false);
}

void Machine::wait(WaitList& list, const char* what) {
  self_->waits_at = what;
  list.threads.push_back(self_);
  suspend();
}

void Machine::wake(WaitList& list) {
  for (Thread* thread : list.threads) make_ready(*thread);
  list.threads.clear();
}

// The first to come says what is met at; the others must say the same.
bool Machine::come(Group& group, const char* operation, uint64_t tag) {
  Thread& thread = *self_;
  if (group.arrived == 0) {
    group.operation = operation;
    group.tag = tag;
    group.line = thread.line;
    group.first = &thread;
  } else if (group.tag != tag || (group.operation != operation && std::strcmp(group.operation, operation) != 0)) {
    fail(Fault::divergence, std::string("comes to ") + operation + " while " + describe(*group.first) + " waits at " +
                                group.operation + " of " + place(group.line) +
                                (std::strcmp(group.operation, operation) ? "" : ", with other operands or at another place"));
  }
  thread.waits_at = operation;
  return ++group.arrived == group.expected;
}

void Machine::meet(Group& group, const char* operation, uint64_t tag, void* argument, Complete complete, bool stay) {
  Thread& thread = *self_;
  if (group.arrived == 0) {
    group.members.resize(group.expected);
    group.arguments.resize(group.expected);
    group.staying.clear();
  }
  group.members[group.arrived] = &thread;
  group.arguments[group.arrived] = argument;
  const bool all = come(group, operation, tag);
  if (!all && !stay) return;
  if (!all) {
    group.staying.push_back(&thread);
    return suspend();
  }
  ++report_.collectives;
  if (complete) complete(*this, group);
  group.arrived = 0;
  for (Thread* member : group.staying) make_ready(*member);
}

void Machine::meet_warp(const char* operation, uint64_t tag, void* argument, Complete complete, bool halves) {
  Warp& own = warp();
  const uint32_t first = halves ? lane() / 32 * 32 : 0;
  Group& group = halves && own.count > 32 ? own.halves[first / 32] : own.group;
  group.arguments[lane() - first] = argument;
  if (!come(group, operation, tag)) return suspend();
  ++report_.collectives;
  if (complete) complete(*this, group);
  group.arrived = 0;
  own.ready |= &group == &own.group ? own.all : 0xffffffffull << first;
}

void Machine::make_ready(Thread& thread) {
  warps_[thread.warp].ready |= 1ull << (thread.number - warps_[thread.warp].first);
}

void Machine::fail(Fault fault, const std::string& what) {
  record(fault, self_, what);
  Thread& thread = *self_;
  for (;;) thread.fiber.suspend(false);
}

void Machine::record(Fault fault, const Thread* at, const std::string& what) {
  if (failed()) return;
  report_.fault = fault;
  report_.text = std::string(fault_name(fault)) + ": kernel " + launch_->kernel;
  if (at) {
    const uint32_t* id = at->block->id;
    report_.text += ", block (" + std::to_string(id[0]) + ", " + std::to_string(id[1]) + ", " + std::to_string(id[2]) +
                    "), thread " + std::to_string(at->index);
    if (at->line) report_.text += ", " + place(at->line);
    report_.line = at->line;
  }
  report_.text += ": " + what;
}

std::string Machine::describe(const Thread& thread) const {
  std::string out = "thread " + std::to_string(thread.index);
  if (blocks_.size() > 1) out += " of " + describe(*thread.block);
  return out;
}

std::string Machine::describe(const Block& block) const {
  if (!launch_->together) return "block " + std::to_string(block.cluster_rank) + " of the cluster";
  return "block (" + std::to_string(block.id[0]) + ", " + std::to_string(block.id[1]) + ", " + std::to_string(block.id[2]) + ")";
}

std::string Machine::place(int line) const {
  const std::string what = launch_->place ? launch_->place(line) : std::string();
  return "line " + std::to_string(line) + (what.empty() ? "" : " (" + what + ")");
}

// Groups of threads that wait alike are named once, with their first and last thread.
void Machine::report_deadlock() {
  std::string text = "all threads wait";
  size_t named = 0;
  for (size_t i = 0; i < threads_.size() && named < 8;) {
    size_t end = i + 1;
    const auto alike = [&](const Thread& a, const Thread& b) {
      return a.state == b.state && a.block == b.block && (a.state == State::done || (a.waits_at == b.waits_at && a.line == b.line));
    };
    while (end < threads_.size() && alike(threads_[i], threads_[end])) ++end;
    const Thread& first = threads_[i];
    text += named++ ? "; " : ": ";
    text += end - i == 1 ? describe(first) : "threads " + std::to_string(first.index) + " to " + std::to_string(threads_[end - 1].index) +
            (blocks_.size() > 1 ? " of " + describe(*first.block) : "");
    text += first.state == State::done ? " ended" : std::string(" at ") + (first.waits_at ? first.waits_at : "?") + " of " + place(first.line);
    i = end;
  }
  record(Fault::deadlock, nullptr, text);
  for (const Thread& thread : threads_)
    if (thread.state == State::live) report_.line = report_.line ? report_.line : thread.line;
}

void Machine::check_canaries() {
  for (const Block& block : blocks_)
    for (size_t i = launch_->shared_bytes; i < arena_bytes_; ++i)
      if (block.arena[i] != kCanary)
        return record(Fault::out_of_bounds, nullptr, "shared memory was written " + std::to_string(i - launch_->shared_bytes) +
                      " bytes beyond the block's " + std::to_string(launch_->shared_bytes));
}

int64_t Machine::arena_offset(const void* address, Block** holder) {
  if (blocks_.empty()) return -1;
  const auto at = reinterpret_cast<uintptr_t>(address), first = reinterpret_cast<uintptr_t>(blocks_[0].arena);
  if (at < first) return -1;
  const size_t index = (at - first) / arena_stride_, offset = (at - first) % arena_stride_;
  if (index >= blocks_.size() || offset >= arena_bytes_) return -1;
  if (holder) *holder = &blocks_[index];
  return static_cast<int64_t>(offset);
}

}  // namespace tilert::emulator
