// Machine: runs a kernel's clusters of blocks one after the other, or all of them together, each thread a fiber, under a
// schedule.
// It knows threads, warps, groups that meet, waiting and shared arenas; what an instruction does is not here (cuda/).
// One machine belongs to one host thread. Failures become a Report; nothing is thrown across fibers.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "emulator/core/fiber.h"
#include "emulator/core/report.h"
#include "emulator/core/schedule.h"

namespace tilert::emulator {

struct Launch {
  std::string kernel;
  void (*entry)(const uint8_t* parameters) = nullptr;  // runs the kernel's body in the calling fiber
  static constexpr size_t kMostParameters = 4096;
  const uint8_t* parameters = nullptr;  // in as many bytes
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, cluster[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;
  uint32_t lanes = 32;    // of a warp: 32 or 64
  bool together = false;  // all blocks of the grid are alive at once: a cooperative launch
  bool dependent = false;  // it may have been started before the grids before it have ended
  bool races = false;  // accesses are checked for races; of a unit compiled so
  // A line of the kernel's text to what it belongs to ("7: product"); may be empty.
  std::function<std::string(int line)> place;
};

class Races;
struct Block;
struct Thread;

// Threads that wait for something other than each other.
struct WaitList {
  std::vector<Thread*> threads;
};

// A group of threads that meet: the last to arrive acts for all.
struct Group {
  uint32_t expected = 0;
  uint32_t arrived = 0;
  const char* operation = nullptr;
  uint64_t tag = 0;                // what must be the same for all of them
  int line = 0;
  Thread* first = nullptr;
  std::vector<Thread*> members;    // by lane in a warp, else by their order of arrival
  std::vector<void*> arguments;    // of the members
  std::vector<Thread*> staying;    // members that wait, except in a warp, where all do
};

// A live thread is ready where its warp says so, else it waits.
enum class State : uint8_t { live, done };

struct Thread {
  Fiber fiber;
  Block* block = nullptr;
  uint32_t index = 0;    // in its block
  uint32_t number = 0;   // among those alive, as its warp
  uint32_t warp = 0;
  State state = State::live;
  const char* waits_at = nullptr;  // of who waits
  int line = 0;          // of the last primitive that it came to
  bool touched = false;  // global memory, as far as primitives, or all accesses where they are marked, tell
  bool waited = false;   // for the grids before this one
};

struct Warp {
  Block* block = nullptr;
  uint32_t first = 0, count = 0;  // threads, by number
  uint64_t all = 0;               // a bit for each lane
  uint64_t ready = 0;             // of those that can run
  Group group;
  Group halves[2];  // of a wave of 64: for what is of 32 lanes
};

struct Block {
  uint32_t rank = 0;          // among the blocks that are alive
  uint32_t cluster = 0;       // its cluster among those
  uint32_t cluster_rank = 0;  // in its cluster
  uint32_t id[3] = {0, 0, 0};
  uint32_t running = 0;       // threads that have not ended
  uint8_t* arena = nullptr;
  uint32_t first_thread = 0, first_warp = 0;
  std::vector<Group> barriers;  // the 16 named ones
};

class Machine {
 public:
  static constexpr int kMostLanes = 64;
  static constexpr int kBarriers = 16;
  static constexpr uint32_t kArenaAlignment = 1024;

  Machine();
  virtual ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  Report run(const Launch& launch, const Schedule& schedule);

  // Called by primitives, inside a fiber.
  static Machine& current();
  static bool inside();  // a fiber runs on this host thread
  Thread& self() { return *self_; }
  Block& block() { return *self_->block; }
  Warp& warp() { return warps_[self_->warp]; }
  uint32_t lanes() const { return launch_->lanes; }  // of a whole warp
  uint32_t lane() const { return self_->number - warps_[self_->warp].first; }
  [[noreturn]] void fail(Fault fault, const std::string& what);
  // Waits until `group.expected` threads have come with the same operation and tag. `complete` runs once, with all
  // members and their arguments; what it writes to the arguments is seen by their owners.
  using Complete = void (*)(Machine&, Group&);
  // Who does not `stay` only arrives, and goes on at once.
  void meet(Group& group, const char* operation, uint64_t tag, void* argument, Complete complete, bool stay = true);
  // Arguments by lane. `halves`: on waves of 64 each half meets by itself, as a branch may do for it alone.
  void meet_warp(const char* operation, uint64_t tag, void* argument, Complete complete, bool halves = false);
  void wait(WaitList& list, const char* what);
  void wake(WaitList& list);

  // Facts.
  const Launch& launch() const { return *launch_; }
  const Schedule& schedule() const { return schedule_; }
  std::mt19937_64& random() { return random_; }
  std::vector<Thread>& threads() { return threads_; }
  std::vector<Warp>& warps() { return warps_; }
  std::vector<Block>& blocks() { return blocks_; }  // alive
  std::span<Block> cluster_of(const Block& block) { return {blocks_.data() + block.cluster * cluster_size_, cluster_size_}; }
  size_t clusters() const { return blocks_.size() / cluster_size_; }  // alive
  uint32_t threads_per_block() const { return threads_per_block_; }
  // Offset of an address in the arena of the block that holds it; -1: it is in none.
  int64_t arena_offset(const void* address, Block** holder = nullptr);
  bool on_own_stack(const void* address) const {
    const auto* at = static_cast<const uint8_t*>(address);
    return at >= self_->fiber.stack() && at < self_->fiber.stack() + StackPool::kBytes;
  }
  bool is_parameter(const void* address) const {
    const auto* at = static_cast<const uint8_t*>(address);
    return at >= launch_->parameters && at < launch_->parameters + Launch::kMostParameters;
  }
  bool is_stack_guard(const void* address) const { return stacks_.guard_of(address) >= 0; }
  Races* races() const { return launch_->races ? races_.get() : nullptr; }
  std::string describe(const Thread& thread) const;  // "thread 37"
  std::string describe(const Block& block) const;    // "block 1 of the cluster"
  std::string place(int line) const;                 // "line 41 (7: product)"
  void record(Fault fault, const Thread* at, const std::string& what);  // the first one is kept
  bool failed() const { return !report_.ok(); }

 protected:
  // What asynchronous engines add. `land` is asked when no thread can run: lands one piece of work, or says that there
  // is none. `finish`: all threads have ended.
  virtual void begin_cluster() {}
  virtual bool land() { return false; }
  virtual void finish_cluster() {}

 private:
  friend struct Faults;
  bool make_arena();
  void run_clusters(uint32_t first);  // as many as are alive at once
  void start_blocks(uint32_t first);
  void start_threads(Block& block);
  void schedule_all();
  bool run_warp(uint32_t warp);  // each ready lane once; whether any ran
  bool come(Group& group, const char* operation, uint64_t tag);  // whether all are here now
  Thread* next_in_turn();        // the next lane of the warp's turn; null: the turn ends
  void leave(bool last);         // the calling fiber, for the next one
  void suspend();
  void make_ready(Thread& thread);
  void report_deadlock();
  void check_canaries();
  static void thread_main(void* argument);

  Launch const* launch_ = nullptr;
  Schedule schedule_;
  std::mt19937_64 random_;
  Report report_;
  std::unique_ptr<Races> races_;
  StackPool stacks_;
  FiberHome home_;
  Thread* self_ = nullptr;
  Warp* turn_ = nullptr;         // the warp that runs, and its lanes that are still to run
  uint64_t left_in_turn_ = 0;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<Block> blocks_;
  uint32_t threads_per_block_ = 0, cluster_size_ = 1, done_ = 0;
  uint8_t* arena_map_ = nullptr;  // per block: an arena that ends at a page of its own
  size_t arena_map_bytes_ = 0, arena_stride_ = 0, arena_bytes_ = 0;
};

}  // namespace tilert::emulator
