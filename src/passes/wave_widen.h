// Operands of AMD's waves whose tile has 8-bit floats and whose instruction takes 16-bit ones that hold them.
#pragma once

#include "passes/wave_product.h"

namespace tilert::passes {

// Whether the tile's type is not the instruction's.
bool is_widened(Lower& low, const Atom& atom, const LaneOperand& operand);

// As load_lane_words: exactly, infinities and NaN too.
void load_widened_words(Lower& low, const Atom& atom, const LaneOperand& operand, ir::BufferId to, ir::Expr start, ir::Expr kk, ir::Expr first,
                        int64_t count, int64_t lines);

}  // namespace tilert::passes
