// plan_roles: one warpgroup that only copies and others that only compute, where the target has tensor copies and
// warpgroup products and the kernel is of that shape.
// before: gemm plans for warps; after: KernelPlan::roles is filled, the loop's products are warpgroup products, threads
// counts the consumers (the producer's 128 come on top at launch). The lowering is in hopper.h.
//
// What lacks nothing but rows on 16 bytes is copied by all threads of the producer instead (RolePlan::by_threads).
//
// The kernel's shape: one pipelined loop at the top, or in branches (bring_loop_out), whose body is copies from global to shared
// tiles, products that read those tiles, or a fragment as their first operand, and work on fragments (loops over elements, copies,
// reductions) with what other such tiles and tensors hold, in branches too (role_trips.h); whatever stands before and after it belongs
// to the consumers. hopper.h says what each asks of the chip.
#pragma once

#include "passes/module.h"

namespace tilert::passes {

// Ids of named barriers: 0 is the block's; one for all consumers; then one per consumer warpgroup; then, where two of them take
// turns, one at which each is given its turn.
inline constexpr int kConsumerBarrier = 1;
inline constexpr int kWarpgroupBarrier = 2;
inline constexpr int kTurnBarrier = 5;

Result<Module> plan_roles(Module module, const PassContext& context);

}  // namespace tilert::passes
