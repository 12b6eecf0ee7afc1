// persist: a persistent kernel's blocks loop over its tiles.
// before: grid (X, Y, Z) { a tile }     after, on GPUs: grid (X * Y * Z), of which as many blocks are launched as fit
//   { let tiles, rounds; for round = 0 to rounds { let x, y, z of tile number block + round * blocks; a tile } }
// Tiles come in groups along x that go down y together (raster), or in their order where their number is read from memory or
// a plan may say who does which.
// The end of a tile ends the trip. On CPUs blocks are tiles, and those beyond the number do nothing.
#pragma once

#include "passes/module.h"

namespace tilert::passes {

Result<Module> persist(Module module, const PassContext& context);

// The kernel that plans the k-th one's list of tiles, behind all others: the least loaded block gets the next tile, group after
// group, the costliest of a group first. As runtime/plan.h does it on the host.
void add_planner(Module& module, size_t k);
inline constexpr int64_t kScheduleHeader = 64;  // words: blocks, tiles
inline constexpr int64_t kMostPlannedBlocks = 1023;

// What does a tile's work: the loop's body in a persistent kernel that was made so, else the kernel's.
const ir::Block& tile_body(const ir::Kernel& kernel, const KernelPlan& plan);
// The loop over tiles; null where there is none.
const ir::Stmt* tile_loop(const ir::Kernel& kernel, const KernelPlan& plan);

// Lets that say which of columns x rows points the n-th is, in groups of `width` columns, each walked row by row.
struct RasterPoint {
  ir::Expr column, row;
};
RasterPoint raster_point(Module& module, ir::Block& to, ir::Expr n, ir::Expr columns, ir::Expr rows, int64_t width);

}  // namespace tilert::passes
