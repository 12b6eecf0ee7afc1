// Warpgroup products (wgmma) under way. A product starts when the four warps of its warpgroup have issued it and ends,
// for all of them, at the first wait that covers it; until a warp's own wait its accumulators hold poison.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "emulator/core/machine.h"
#include "emulator/cuda/operand.h"

namespace tilert::emulator {

// An accumulator of one thread that products write or have written.
struct Accumulator {
  std::vector<uint32_t> values;  // while products are under way what they make, then what they left, to see ordinary writes by
  int under_way = 0;
  uint64_t fences = 0;           // of the warp, when the last product left it
};
struct ProductLane {
  Thread* thread = nullptr;
  uint32_t* d = nullptr;
  const uint32_t* registers = nullptr;  // of A, or null
  uint32_t metadata = 0;                // of a sparse A
  Accumulator* accumulator = nullptr;   // where the product writes; in the warpgroup's table, which keeps its places
};

// What all threads of a warpgroup must say alike.
struct ProductForm {
  int n = 0, line = 0;
  Sums sums = Sums::f32;
  Number type = Number::f16, b_type = Number::f16;
  uint64_t a = 0, b = 0;
  bool accumulate = false, mn_a = false, mn_b = false, from_registers = false, sparse = false;
  int words() const { return sums == Sums::f16 ? n / 4 : n / 2; }  // of a thread's accumulator
  bool same(const ProductForm& other) const;  // at whatever line
};

struct Product {
  ProductForm form;
  unsigned issued = 0, waited = 0;  // a bit for each warp
  bool done = false;
  ProductLane lanes[128];
};

struct WarpgroupProducts {
  std::deque<Product> queue;      // oldest first; `first` is the number of the oldest
  uint64_t first = 0;
  WaitList waiting;
  uint32_t component = 0;         // of its engine, for races; 0: none yet
  struct PerWarp {
    uint64_t issued = 0;          // number of its next product
    uint64_t released = 0;        // all products before this number were waited for
    std::vector<uint64_t> groups; // numbers behind the last product of each group that is not waited for
    uint64_t fences = 0, fences_at_commit = 0;
    uint64_t committed = 0;       // products in committed groups
  } warps[4];
  std::unordered_map<const uint32_t*, Accumulator> accumulators;
  struct Latest {
    const uint32_t* d = nullptr;
    Accumulator* accumulator = nullptr;
  } latest[128];                  // of each lane: most products of a loop write the same

  // That of lane `lane` at `d`, made where there is none.
  Accumulator& accumulator_at(uint32_t lane, const uint32_t* d) {
    if (latest[lane].d != d) latest[lane] = {d, &accumulators[d]};
    return *latest[lane].accumulator;
  }
};

}  // namespace tilert::emulator
