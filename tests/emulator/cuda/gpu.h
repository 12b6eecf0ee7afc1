// Gpu: the machine with NVIDIA's asynchronous engines: cp.async, mbarriers, tensor copies, warpgroup products. One per host
// thread. The functions that twins call are in primitives.h; each engine's rules stand beside its code.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "emulator/core/machine.h"
#include "emulator/core/races.h"
#include "emulator/cuda/tensor_map.h"

namespace tilert::emulator {

// cp.async of one thread: groups in order; the last one is open. Arrivals on mbarriers follow all copies before them.
struct PendingCopy {
  void* to = nullptr;
  const void* from = nullptr;
  uint8_t bytes = 0, valid = 0;
  int line = 0;
};
struct PendingArrival {
  uint32_t bar = 0;   // offset in the thread's block
  uint64_t after = 0;  // copies that the thread had issued
  int line = 0;
};
struct CopyGroup {
  std::vector<PendingCopy> copies;
  uint64_t end = 0;  // copies that the thread had issued when it was committed
};
struct ThreadCopies {
  std::deque<CopyGroup> groups;
  std::vector<PendingCopy> open;
  uint64_t issued = 0, landed = 0;  // they land in order
  std::deque<PendingArrival> arrivals;
  uint32_t component = 0;           // its engine's, for races; 0: none yet
};

// One mbarrier, by block and offset. Its eight bytes in the arena hold a mark that nobody else may overwrite.
struct Mbarrier {
  Block* block = nullptr;
  uint32_t offset = 0;
  int count = 0, pending = 0;
  int64_t bytes = 0;  // announced and not yet here
  int parity = 0;     // of the phase under way
  bool fenced = false;  // its initialization may be seen by copy engines
  uint32_t owner = 0;   // the thread that initialized it
  Clock arrived, completed;  // what arrivals of this phase, and of those before, brought
  uint32_t component = 0, copies = 0;  // of its copies: which, and how many have landed
  uint32_t initialized = 0;            // the owner's time
  WaitList waiting;
};

struct TensorLoad {
  TensorMap map;
  Block* block = nullptr;      // that issued
  uint32_t blocks = 0;         // a bit for each block of the issuer's cluster that receives
  bool reaches(const Block& to) const { return to.cluster == block->cluster && (blocks >> to.cluster_rank & 1); }
  uint32_t to = 0, bar = 0;    // offsets, the same in each of them
  int at[5] = {};
  int line = 0;
  uint32_t thread = 0;
  Clock clock;                 // of who issued it
};

// Registers of a thread on their way to another block of its cluster.
struct PartSend {
  Block* to = nullptr;
  std::vector<uint32_t> words;  // in fours, `stride` bytes apart
  uint32_t offset = 0, stride = 0, bar = 0;
  uint32_t thread = 0;
  int line = 0;
};

// The cluster's barrier in halves.
struct SplitBarrier {
  uint32_t arrived = 0, phase = 0;
  std::vector<uint32_t> phases;  // that each thread has arrived in and not waited for, 1 more; 0: none
  Clock coming, come;
  WaitList waiting;
};

struct TensorStore {
  TensorMap map;
  const uint8_t* from = nullptr;
  int at[5] = {};
  int reduce = -1;             // -1: a plain store; else a ReduceOp
  bool read = false;           // its source has been read
  bool waited = false;         // and that was waited for
  std::vector<uint8_t> bytes;  // what was read
  Clock clock;                 // of who issued it
  int line = 0;
};
struct ThreadStores {
  std::deque<std::vector<TensorStore>> groups;
  std::vector<TensorStore> open;
  uint32_t component = 0, committed = 0;  // its engine's, 0: none yet; groups so far
};

// A thread that waits until a word of memory has come to a value.
struct WordWait {
  const uint32_t* word = nullptr;
  uint32_t least = 0;
  WaitList waiting;
};

constexpr uint32_t kWindow = 0x400;  // where shared memory starts in its window: a null pointer is never a tile

struct WarpRoom;  // matrix.h
struct Product;   // products.h
struct WarpgroupProducts;

class Gpu : public Machine {
 public:
  Gpu();
  ~Gpu() override;
  static Gpu& current() { return static_cast<Gpu&>(Machine::current()); }

  // Offset in the calling thread's own arena; a report where it is elsewhere or does not start at a multiple.
  uint32_t shared(const void* address, size_t bytes, size_t alignment, const char* what);

  // A report where a block's threads have all ended: its shared memory is gone.
  void require_running(const Block& block, const std::string& what);

  std::vector<ThreadCopies> copies;    // by thread
  std::vector<ThreadStores> stores;
  std::deque<TensorLoad> loads;        // issued, not landed
  std::deque<PartSend> sends;
  std::unordered_map<uint64_t, Mbarrier> mbarriers;
  std::vector<std::unique_ptr<WarpgroupProducts>> products;  // by warpgroup of the cluster
  std::vector<WarpRoom> rooms;         // by warp
  std::vector<int> registers;          // by warp: as setmaxnreg left them; 0: as launched
  WaitList register_waiters;
  std::vector<Group> cluster_groups;   // by cluster
  std::vector<SplitBarrier> cluster_barriers;
  Group grid_group;
  std::deque<WordWait> word_waits;
  std::vector<Clock> barrier_clocks;   // by block and named barrier: what arrived without waiting

  void land_copies(const Thread& thread, ThreadCopies& of, size_t keep);  // the oldest groups until `keep` are left
  bool land_arrival();  // one whose mbarrier somebody waits for
  void arrive_after_copies(const Thread& thread, ThreadCopies& of);
  void land_load(const TensorLoad& load);
  void land_send(const PartSend& send);
  void read_stores(ThreadStores& of, size_t keep);
  void write_stores(ThreadStores& of, size_t keep);
  Mbarrier& mbarrier(Block& block, uint32_t offset, const char* what);
  void arrive(Mbarrier& bar, int arrivals, int64_t bytes);  // bytes announced (+) or come (-)

 protected:
  void begin_cluster() override;
  bool land() override;
  void finish_cluster() override;

 private:
  bool waited_for_grids();
  void land_copy(ThreadCopies& of, const PendingCopy& copy);
  bool wake_words();
  bool land_sends(bool waited_for);
  void finish_stores(const Thread& thread);
};

// The machine that runs the calling fiber, which has come to `line`: how every primitive begins.
inline Gpu& at(int line) {
  Gpu& gpu = Gpu::current();
  gpu.self().line = line;
  return gpu;
}

}  // namespace tilert::emulator
