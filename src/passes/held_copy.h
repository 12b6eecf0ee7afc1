// Copies that run ahead through registers, on AMD's GPUs: which thread holds what between memory and the slot, and how both ways are
// made in whole vectors. What does not come in whole vectors is copied element by element, as any other copy.
#pragma once

#include "passes/lower.h"

namespace tilert::passes {

struct HeldLayout {
  FragmentMap map;
  HeldPlan plan;
};

// Of a tile of `extents` that lies as `place` says. One that lies with its first dim together (turned_tile_map) is held in blocks of
// rows and columns, which are turned in registers, so that loads and stores are both of several elements.
HeldLayout held_layout(const std::vector<int64_t>& extents, int64_t element_bytes, const AddressMap& place, int64_t threads, int64_t warp_size);

// A copy between memory and a held fragment, or from there into its slot; false where it does not come in whole vectors.
bool copy_held(Lower& low, const ir::Copy& copy, const ir::Parallel& loop);

}  // namespace tilert::passes
