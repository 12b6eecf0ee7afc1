// Conversions: how the data of a fragment moves when two users want different maps. Planning only; the moves are written
// by the passes. Completing the parts of an unfinished reduction is part of a conversion.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/address_map.h"
#include "layout/fragment_map.h"

namespace tilert {

enum class ConversionKind : uint8_t {
  none,        // the same registers of the same threads
  registers,   // renumbering inside each thread (by selects where the plan has register terms)
  shuffles,    // between lanes of a warp
  shared,      // written to shared memory, barrier, read back
  impossible,  // the shapes or thread counts differ, or parts are asked of a whole
};

// One register of the reader. The source is lane `lane_base + sum of lane_terms` of the reader's own warp, register
// `register_base + sum of register_terms`; all terms are of the reader's thread index.
// Without register terms it is one shuffle (none where the lanes do not change). With them the source register differs
// from thread to thread: each register_base + candidate is shuffled, and the reader keeps the one its terms name.
struct ShuffleSource {
  int64_t register_base = 0;
  int64_t lane_base = 0;
  friend bool operator==(const ShuffleSource&, const ShuffleSource&) = default;
};

struct ConversionPlan {
  ConversionKind kind = ConversionKind::none;
  std::string reason;  // for impossible, and why not something cheaper

  // First, for a partial source: each register adds up over lanes, in these XOR steps ...
  std::vector<int64_t> complete_lane_xor;
  // ... and, through shared memory, over this many parts held by different warps (1: none). Part p of a thread:
  // the sum of part_terms.
  int64_t parts = 1;
  std::vector<ThreadTerm> part_terms;
  FragmentMap source;  // `from` after the steps over lanes
  FragmentMap target;

  // none, registers, shuffles: one entry per register of `target`.
  std::vector<ShuffleSource> sources;
  bool same_lane = true;                  // the source is always the reader itself: no shuffle, moves or selects only
  std::vector<ThreadTerm> lane_terms;     // the same for all registers
  std::vector<ThreadTerm> register_terms;
  std::vector<int64_t> candidates = {0};  // what the register terms can add up to

  // shared: slot p of `staging`'s ring holds part p of the tile. Writers skip elements outside the logical shape;
  // readers add up the parts.
  AddressMap staging;
  int64_t shared_bytes = 0;
  int64_t write_width = 1, read_width = 1;  // elements per access

  int64_t shuffle_count() const;  // per thread, completion included
  double cost_cycles = 0;         // estimate for the whole block
};

// Both maps valid, of one logical shape and one thread count. Data held in copies is taken from the reader's own copy.
// Where both are partial over the same threads the parts stay apart, and only registers can be renumbered.
ConversionPlan plan_conversion(const FragmentMap& from, const FragmentMap& to, int64_t element_bytes);

}  // namespace tilert
