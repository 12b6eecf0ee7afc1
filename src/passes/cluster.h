// cluster: with the hint cluster = C, C blocks that are neighbours along one dim of the grid share tensor copies: what they all
// would copy comes once, each of them bringing a part of it to all (roles.h, hopper.h).
// before: grid (X, Y) { a; loop { copies, products }; b }
// after:  grid (X, ceildiv(Y, C)), each point C blocks { let y = Y' * C + rank; a; loop { ... }; if (y < Y) { b } }
// All blocks of a cluster make the same trips: raster, split_k and persist put its points, not its blocks, in order. Those beyond
// the grid copy their parts for the others, multiply what nobody needs, and do nothing else.
// Not here: which copies are shared, which plan_roles decides; where none is, the kernel is made again without.
#pragma once

#include <set>

#include "passes/module.h"

namespace tilert::passes {

inline constexpr int64_t kMostInCluster = 8;  // that every chip with clusters starts

// before: hints taken, block indices as the program has them; after: Kernel::cluster and rank, or KernelPlan::not_clustered.
Result<Module> cluster(Module module, const PassContext& context);

// The variables of a kernel whose values may differ between two blocks that differ in `own`: by definition, or because they
// come from memory that the kernel writes.
std::set<ir::VarId> differing(const ir::Program& program, const ir::Kernel& kernel, ir::VarId own);
// The branch of the blocks that are not beyond the grid, or of those that made the loop's trips; null: the statement is another.
const ir::If* guard_branch(const ir::Stmt& s, const KernelPlan& plan);
bool depends_on(ir::Expr e, const std::set<ir::VarId>& vars);

}  // namespace tilert::passes
