// What the tensor copy engine takes: regions of matrices, boxes, and the rows of tiles as it writes them.
#pragma once

#include <set>
#include <string>

#include "passes/module.h"

namespace tilert::passes {

inline constexpr int64_t kMostOfBox = 256;  // elements along a dim

// Why the engine cannot copy the region of a matrix; empty: it can.
std::string engine_takes(const Module& module, const ir::Region& region);

// Where it cannot: whether it lacks nothing but rows, columns or a tensor on 16 bytes.
bool only_unaligned(const Module& module, const ir::Region& region);

// Bytes of the swizzled rows that a layout asks for; 0: any, -1: none that the engine writes swizzled.
int64_t asked_span(ir::TileLayout layout);

// The variables of a kernel that a tensor's dims do not bound: scalars, what is read from memory, and what is made of these. The passes' own
// workspace and the loop over tiles are trusted.
std::set<ir::VarId> unbounded_variables(const ir::Program& program, const ir::Kernel& kernel, const KernelPlan& plan);

// Rows of a box, of which some number make the tile; 0: none.
int64_t box_rows(int64_t rows);

}  // namespace tilert::passes
