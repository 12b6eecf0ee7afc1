// Module: a program on its way down and what has been decided about each of its kernels. PassContext: what a pass may
// ask of the world. A pass is a free function Result<Module> name(Module, const PassContext&); pipeline.h has the order.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "arith/facts.h"
#include "ir/program.h"
#include "layout/address_map.h"
#include "layout/atoms.h"
#include "layout/fragment_map.h"
#include "support/result.h"
#include "target/target.h"

namespace tilert::passes {

// How one tile product is computed.
struct GemmPlan {
  enum class Path : uint8_t {
    fma,    // one multiply-add per element and thread: any dtype, any target
    mma,    // mma.sync over warps
    wgmma,  // warpgroup product, b from shared memory
  } path = Path::fma;
  const Atom* atom = nullptr;       // mma, wgmma
  int warps_m = 1, warps_n = 1;             // mma: warp grid; wgmma: warpgroups along m
  int64_t m = 0, n = 0, k = 0;              // of the tile, unpadded
  bool a_registers = false;                 // wgmma: from a fragment, or from a tile of another type, cast on the way
  bool a_ldmatrix = false, b_ldmatrix = false;  // read from its tile step by step: by ldmatrix; f64, and on AMD, by plain loads
  std::string reason;               // fma: why no matrix instruction
};

// A tensor copy engine's view of a global tensor: innermost dim first, in elements.
struct TensorMapPlan {
  ir::BufferId buffer = ir::kNoBuffer;
  std::vector<int64_t> box;
  int swizzle = 128;  // bytes
  bool tf32 = false;  // f32 elements are rounded to tf32 on the way
};

// A tile that the tensor copy engine fills and warpgroup products read.
struct RoleTile {
  int64_t rows = 0;  // up to the last that a product reads; those beyond the tile's own hold anything
  int64_t span = 0;  // bytes of a swizzled row
};

// A block's part of a tile that each block of a cluster copies a part of for all.
struct SharedLoad {
  int64_t rows = 0, columns = 0;
};

// A kernel whose warps have roles: one warpgroup issues copies, the others compute (passes/roles.h).
struct RolePlan {
  bool on = false;
  std::string reason;                        // why not, where off
  uint32_t loop = 0;                         // ordinal of the pipelined loop
  int stages = 0;
  int consumers = 0;                         // warpgroups
  int producer_registers = 0, consumer_registers = 0;  // 0: as compiled
  std::map<uint32_t, size_t> loads, stores;  // ordinals of copies, and their tensor maps
  std::map<uint32_t, SharedLoad> shared_loads;  // those of the loads that blocks of a cluster share
  std::map<uint32_t, int64_t> row_stores;    // ordinals of results that warps store row by row, and the span of their staging
  std::map<uint32_t, std::string> by_threads;  // ordinals of loads that the producer's threads make, and why the engine does not
  std::set<uint32_t> rounded;                // of these, those whose elements enter as tf32
  std::vector<TensorMapPlan> maps;
  std::map<ir::BufferId, RoleTile> tiles;    // of the loop
  std::set<ir::BufferId> plain_tiles;        // of the loop, row-major, which consumers read themselves
  bool works = false;                        // consumers work on the products' elements in each trip, or read places of sparse ones
  bool in_order = false;                     // ... and its products wait for other work of the trip (hopper_trip.cpp)
  bool alternates = false;                   // the loop's product goes into two sums in turn: the next runs while one is worked on
  std::set<ir::BufferId> ring;               // lowered: flat tiles that threads fill, which mbarriers keep from their readers
  std::set<ir::BufferId> staging;            // lowered: flat tiles of which each consumer warpgroup touches its own rows alone
  std::set<ir::BufferId> warp_staging;       // ... and each warp
  ir::VarId thread = ir::kNoVar;             // the thread index that tells roles apart; no fact bounds it
  std::set<uint32_t> behind;                 // ordinals of branches behind the loop, parts of those that it stood in
  std::set<ir::VarId> common;                // lets before the loop that both roles make for themselves
  std::set<ir::VarId> producer_lets, consumer_lets;  // and of those in the loop that both can make, what each does (role_trips.h)
};

// Barriers and tensor copies that the program places itself (passes/async.h).
struct AsyncPlan {
  std::map<uint32_t, size_t> copies;         // ordinals, and their maps among those of the roles
  std::map<ir::BufferId, int64_t> spans;     // tiles that they fill or store: bytes of a swizzled row, 0: row-major
  bool roles = false;                        // warps have roles that the program gives them
  std::map<ir::BufferId, int64_t> arrivals;  // at a phase of the barriers, as warps and single threads make them
  std::set<ir::BufferId> sums;               // fragments that issued products add to
  std::set<ir::BufferId> by_threads;         // operands of theirs that threads write
  bool touched = false;                      // threads read or write a tile of a tensor copy
};

// A pipelined loop whose copies run ahead, by the ordinal of the loop.
struct RingPlan {
  int stages = 1;
  std::vector<uint32_t> copies;  // ordinals of the copies that run ahead
  std::set<ir::VarId> lets;      // of the body, that their places are made of: a copy that runs ahead makes its own
  std::string reason;            // why not, where stages is 1
  bool staged = false;           // through registers: a tile to come is loaded before the work of a trip and stored after it
};

// What a thread holds of a tile to come: elements of a row that it loads together, and rows of a block that it turns on their way into
// a tile that lies with its first dim together; 0 rows: it turns nothing (passes/held_copy.h).
struct HeldPlan {
  int64_t columns = 1, rows = 0;
};

// What the program asked of the compiler, and what came of it (passes/hints.h).
struct HintOutcome {
  enum class Of : uint8_t { kernel, stages, prefer, eviction, multicast, split, layout } of = Of::kernel;
  ir::HintKind kind{};        // of == kernel
  uint32_t ordinal = 0;       // of the loop, copy or product
  uint32_t location = 0;
  int64_t asked = 0;          // the hint's value, the number of stages, or that of the enum
  bool must = false;
  bool taken = false;
  std::string reason;         // why not
  ir::BufferId tile = ir::kNoBuffer;  // layout
};

// How a copy is made, by its ordinal.
struct CopyPlan {
  enum class Engine : uint8_t { registers, asynchronous, tensor } engine = Engine::registers;
  int64_t bytes = 0;  // of one access of a thread; tensor: of a box
  bool hinted = false;  // its accesses of global memory carry the eviction priority that was asked for
};

// A fragment that changes hands through shared memory, for whom and why.
struct Conversion {
  uint32_t ordinal;           // of the operation that needs it
  ir::BufferId fragment;
  int64_t bytes;              // through shared memory, there; and back again
  bool written;               // and into its own threads again
  std::string reason;
};

// A persistent kernel that may follow a planned list of tiles (passes/persist.h), in terms of the grid that the program gave.
struct SchedulePlan {
  ir::Expr cost = nullptr, locality = nullptr;  // null cost: it follows none
  std::vector<ir::VarId> vars;                  // the tile's indices
  std::vector<ir::Expr> extents;
  ir::BufferId counted = ir::kNoBuffer;         // holds the number of tiles, where it is not that of the grid
  ir::BufferId header = ir::kNoBuffer, list = ir::kNoBuffer;  // of the workspace
};

// Sums that the blocks of a cluster each have a part of, and their last block all of (passes/split_k.h, hopper_meet.cpp).
struct MeetingPlan {
  std::vector<ir::BufferId> sums;      // none: the kernel has none
  std::set<uint32_t> through_memory;   // ordinals of statements that say what it means, instead of which it is done
  std::string reason;                  // why there is none, where the loop's trips are dealt to blocks
};

struct KernelPlan {
  int threads = 128;
  bool fixed_order = false;                 // ir::Kernel's
  std::map<ir::BufferId, FragmentMap> fragments;
  std::map<ir::BufferId, AddressMap> shared;
  std::map<ir::BufferId, std::string> not_placed;  // shared tiles whose layout is not the one asked for, and why
  std::map<ir::BufferId, std::string> unpacked;    // shared tiles of types of less than a byte that give each element one, and why
  std::map<uint32_t, GemmPlan> gemms;       // by ordinal
  std::map<uint32_t, FragmentMap> loops;    // element-wise loops, by ordinal
  std::map<uint32_t, RingPlan> rings;       // by ordinal
  std::map<ir::BufferId, HeldPlan> held;    // fragments of staged copies, whose loads are under way while a trip works
  std::set<ir::BufferId> partial;           // fragments whose sums stay unfinished until read
  RolePlan roles;
  AsyncPlan async;
  ir::VarId tile_round = ir::kNoVar;        // of the loop over tiles, which is all but lets of a persistent kernel's body
  SchedulePlan schedule;
  int64_t parts = 1;                        // to which the trips of its loop are dealt
  std::string not_split;                    // why to no more, where that was asked for
  MeetingPlan meeting;                      // of the parts
  std::string not_dependent;                // why it does not wait for the grids before it, where it was asked to
  int64_t raster = 0;                       // width of the groups in which blocks or tiles come; 0: none
  std::string not_clustered;                // why blocks share no copies, where they were asked to
  uint32_t guard = 0;                       // ordinal of the branch that some blocks of a cluster do not take: those beyond the grid,
                                            // or that handed on their part of a sum; 0: none
  int64_t shared_bytes = 0;
  bool rows_over_warps = false;             // a reduction's parts meet in shared memory
  int min_blocks = 1;                       // on a multiprocessor: bounds the registers of a thread
  ir::VarId thread = ir::kNoVar;            // the thread index of lowered code
  std::map<ir::BufferId, ir::BufferId> flat;  // lowered: the flat buffers of shared tiles
  std::map<uint32_t, CopyPlan> copies;      // by ordinal
  std::vector<Conversion> conversions;
  std::vector<HintOutcome> hints;
};

// What a variant assumes of a dim that is given at launch.
struct DimFact {
  ir::Expr dim;
  int64_t low, high, divisor;
};

struct Module {
  ir::Program program;
  std::vector<KernelPlan> plans;            // one per kernel
  arith::Facts facts;                       // about dims, block indices and variables that passes make
  std::vector<DimFact> withheld = {};       // what no order of sums may be chosen by, in the facts once there is none left to choose
};

struct PassContext {
  Target target;
  DeviceClass device;
  bool verify = false;  // each pass's result; for tests, and for whoever looks for a fault
};

}  // namespace tilert::passes
