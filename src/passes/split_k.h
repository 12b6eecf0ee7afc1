// split_k: with the hint split_k = S the trips of a kernel's pipelined loop are dealt to S blocks, in order.
// before: grid (X, Y) { a; loop 0 to n { copies, acc += product }; b }
// after:  grid (X, Y, S) { a; loop over the part's trips { copies, acc += product }; parts[tile, part] = acc;
//           arrived = arrivals[tile] += 1; if it is the last of the S { acc = sum of parts[tile, 0 to S - 1]; b } }
// The sum is made in the order of the parts, whoever comes last: bits do not depend on time. Where there are more tiles than
// have counters the first block of each tile does all of it, as without the hint.
// On targets with clusters few parts of a kernel with roles are a cluster's blocks, the part a block's rank:
// after:  grid (X, Y), each point S blocks { a; loop over the part's trips { copies, acc += product }; parts[tile, rank] = acc;
//           if (rank == S - 1) { acc = sum of parts[tile, 0 to S - 1]; b } }
// which is what it means where blocks come in the order of their ranks. The lowering (hopper_meet.cpp) sends the sums from registers
// into the last block's shared memory instead. Where plan_roles gives no roles, or no room, the kernel is made again with the workspace.
// Not here: how many parts are worth it (the program says), what CPUs do (nothing: their blocks run on their own).
#pragma once

#include "passes/module.h"

namespace tilert::passes {

inline constexpr int64_t kMostSplitTiles = 4096;
// Parts that meet in a cluster. Larger ones leave multiprocessors of their groups idle: 16x1280x8192 on an H200, 6 parts in the
// workspace 12.4 us, in clusters 14.8; 4 in clusters 10.9.
inline constexpr int64_t kMostMeeting = 5;

// before: hints taken, block indices as the program has them; after: KernelPlan::parts and meeting, or not_split.
Result<Module> split_k(Module module, const PassContext& context);

}  // namespace tilert::passes
