// Which copies of a pipelined loop may run ahead of the iteration that uses them.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/visit.h"
#include "passes/region.h"
#include "passes/ring.h"

namespace tilert::passes {
namespace {

using namespace ir;

struct LoopFacts {
  std::unordered_set<VarId> defined;            // variables that the body defines
  std::unordered_map<VarId, const Let*> lets;   // those that stand in the body itself, before the copy at hand
  bool leaves = false;                          // some trip may be the last
};

bool loop_writes(const Program& program, const For& loop, BufferId buffer) {
  for (const StmtPtr& s : loop.body)
    for (const BufferUse& use : buffer_uses_deep(*s))
      if (use.write && may_overlap(program, use.buffer, buffer)) return true;
  return false;
}

// Adds to `lets` what `e` takes from the body, where a trip to come can have it as well: values, and what is read of global memory
// that the loop leaves alone. Else says what is in the way.
std::string take_along(const Program& program, const For& loop, const LoopFacts& facts, Expr e, std::set<VarId>& lets) {
  std::string reason;
  for_each_node(e, [&](Expr n) {
    if (!reason.empty() || !n->is_variable() || !facts.defined.count(n->var()) || lets.count(n->var())) return;
    const auto found = facts.lets.find(n->var());
    if (found == facts.lets.end()) return void(reason = "is computed in the loop");
    const Let& let = *found->second;
    if (let.value) {
      reason = take_along(program, loop, facts, let.value, lets);
    } else if (program.buffer(let.read.buffer).scope != Scope::global) {
      reason = "is read from a tile in the loop";
    } else if (loop_writes(program, loop, let.read.buffer)) {
      reason = "is read from memory that the loop writes";
    } else {
      for (Expr at : let.read.indices)
        if (reason.empty()) reason = take_along(program, loop, facts, at, lets);
    }
    lets.insert(n->var());
  });
  return reason;
}

// Uses of a tile and its views.
int count_uses(const Program& program, const Block& block, BufferId tile) {
  int uses = 0;
  for_each_stmt(block, [&](const Stmt& s) {
    if (std::holds_alternative<Alloc>(s.node)) return;
    for (const BufferUse& use : buffer_uses(s))
      if (storage_of(program, use.buffer) == tile) ++uses;
  });
  return uses;
}

bool covers(const Program& program, const Region& region) {
  const Buffer& b = program.buffer(region.buffer);
  for (size_t d = 0; d < region.extents.size(); ++d) {
    const bool at_zero = region.offsets[d]->is_constant() && region.offsets[d]->as_int() == 0;
    if (!at_zero || region.extents[d] != b.shape[d]->as_int()) return false;
  }
  return true;
}

// Slots lie multiples of 128 bytes apart, which are whole elements but of 6 bits.
bool slots_hold_elements(const Program& program, BufferId tile) {
  std::vector<BufferId> all = views_of(program, tile);
  all.push_back(tile);
  return tile_bytes(program, tile) % (3 * 128) == 0 ||
         std::none_of(all.begin(), all.end(), [&](BufferId id) { return dtype_bits(program.buffer(id).dtype) == 6; });
}

// Empty when the copy may run ahead, else the reason.
std::string why_not_ahead(const Program& program, const Kernel& kernel, const For& loop, size_t position,
                          const LoopFacts& facts, int64_t min_bytes, std::set<VarId>& lets) {
  const auto& copy = std::get<Copy>(loop.body[position]->node);
  const Buffer &src = program.buffer(copy.src.buffer), &dst = program.buffer(copy.dst.buffer);
  const BufferId tile = storage_of(program, copy.dst.buffer);
  if (src.scope != Scope::global || dst.scope != Scope::shared) return "not a copy from global to shared memory";
  if (src.dtype != dst.dtype) return "the copy casts";
  if (dtype_is_packed(src.dtype)) return "it cannot move whole bytes";
  if (copy.safe && copy.safe->bits != 0) return "its safe value is not 0";
  if (copy.prefer == CopyPrefer::sync) return "it is asked to be synchronous";
  if (!covers(program, copy.dst)) return "it fills a part of its tile only";
  if (dst.shape.back()->as_int() * dtype_bytes(dst.dtype) % min_bytes != 0) return "rows of its tile are not whole words";
  if (!slots_hold_elements(program, tile)) return "a slot of its ring is no whole number of its 6-bit elements";
  for (Expr e : copy.src.offsets)
    if (const std::string reason = take_along(program, loop, facts, e, lets); !reason.empty()) return "its place " + reason;
  for (Expr e : copy.valid)
    if (const std::string reason = e ? take_along(program, loop, facts, e, lets) : ""; !reason.empty()) return "its bound " + reason;
  if (is_addressed(src) && facts.leaves) return "the loop may end before that trip, which may have no tensor";
  if (loop_writes(program, loop, copy.src.buffer)) return "the loop writes its source";
  for (size_t i = 0; i < loop.body.size(); ++i) {
    for (const BufferUse& use : buffer_uses_deep(*loop.body[i])) {
      if (storage_of(program, use.buffer) != tile || i == position || std::holds_alternative<Alloc>(loop.body[i]->node)) continue;
      if (use.write) return "the loop writes its tile besides";
      if (i < position) return "its tile is read before it is filled";
    }
  }
  if (count_uses(program, loop.body, tile) != count_uses(program, kernel.body, tile))
    return "its tile is used outside the loop";
  return {};
}

LoopFacts collect(const For& loop) {
  LoopFacts facts;
  for_each_stmt(loop.body, [&](const Stmt& s) {
    if (const auto* let = std::get_if<Let>(&s.node)) facts.defined.insert(let->var);
    if (const auto* inner = std::get_if<For>(&s.node)) facts.defined.insert(inner->var);
    if (const auto* atomic = std::get_if<Atomic>(&s.node)) facts.defined.insert(atomic->old);
    if (const auto* op = std::get_if<ThreadOp>(&s.node)) facts.defined.insert(op->var);
    if (const auto* call = std::get_if<CallDevice>(&s.node)) facts.defined.insert(call->var);
    facts.leaves |= std::holds_alternative<Jump>(s.node);
  });
  return facts;
}

// Depth when the program names none: three slots, less where they would not fit beside the rest.
int recommended_stages(int64_t ring_bytes, int64_t other_bytes, int64_t limit) {
  for (int stages = 4; stages > 1; --stages)
    if (stages * ring_bytes + other_bytes <= limit * (stages > 3 ? 45 : 100) / 100) return stages;
  return 1;
}

// What the program says of copies under a condition or behind a jump that became one.
std::string nested_copies(const For& loop) {
  bool top = false, nested = false;
  for (const StmtPtr& s : loop.body) top |= std::holds_alternative<Copy>(s->node);
  for_each_stmt(loop.body, [&](const Stmt& s) { nested |= std::holds_alternative<Copy>(s.node); });
  return nested && !top ? "its copies stand under a condition" : "";
}

// What a slot of the tile takes, as it lies in memory: padding included.
int64_t slot_bytes(const Program& program, const KernelPlan& plan, BufferId tile) {
  const auto map = plan.shared.find(tile);
  return map == plan.shared.end() ? tile_bytes(program, tile) : map->second.stage_stride();
}

// AMD: of the tiles that fragments on the left of products go through (wave_product.h).
int64_t operand_tile_bytes(const Program& program, const Kernel& kernel, const KernelPlan& plan) {
  int64_t most = 0;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const auto* g = std::get_if<Gemm>(&s.node);
    if (!g || program.buffer(g->a.buffer).scope != Scope::fragment) return;
    const auto found = plan.gemms.find(s.ordinal);
    if (found == plan.gemms.end() || found->second.path != GemmPlan::Path::mma) return;
    most = std::max(most, found->second.m * found->second.k * dtype_bytes(found->second.atom->a));
  });
  return most;
}

// What runs ahead asks of a trip some steps on whether it is one: its number must be one of 64 bits.
bool counts_ahead(const Module& module, const For& loop) {
  constexpr int64_t kFar = int64_t{1} << 62, kWide = int64_t{1} << 32;  // 2^30 steps or more to the end of 64 bits
  return module.facts.range(loop.begin).within(-kFar, kFar) && loop.step >= -kWide && loop.step <= kWide;
}

RingPlan plan_loop(const Module& module, const Kernel& kernel, const KernelPlan& kernel_plan, const For& loop,
                   const PassContext& context) {
  RingPlan plan;
  const Program& program = module.program;
  if (orders_blocks(program, loop.body)) return {1, {}, {}, "it waits for other blocks, which copies that run ahead would not"};
  if (!counts_ahead(module, loop)) return {1, {}, {}, "the trips ahead of it may be beyond 64 bits"};
  plan.reason = nested_copies(loop);
  LoopFacts facts = collect(loop);
  int64_t ring_bytes = 0, other_bytes = 0;
  for (size_t i = 0; i < loop.body.size(); ++i) {
    if (const auto* let = std::get_if<Let>(&loop.body[i]->node)) facts.lets[let->var] = let;
    const auto* copy = std::get_if<Copy>(&loop.body[i]->node);
    if (!copy) continue;
    std::set<VarId> lets;
    const std::string reason = why_not_ahead(program, kernel, loop, i, facts, 4, lets);
    if (reason.empty()) {
      plan.lets.merge(lets);
      plan.copies.push_back(loop.body[i]->ordinal);
      ring_bytes += slot_bytes(program, kernel_plan, copy->dst.buffer);
    } else if (plan.reason.empty()) {
      plan.reason = fmt::format("operation {}: {}", loop.body[i]->ordinal, reason);
    }
  }
  std::set<BufferId> all;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    if (const auto* a = std::get_if<Alloc>(&s.node)) all.insert(a->buffer);
  });
  for (BufferId id : all)
    if (program.buffer(id).scope == Scope::shared) other_bytes += slot_bytes(program, kernel_plan, id);
  other_bytes -= ring_bytes;
  if (context.target.is_hip()) other_bytes += operand_tile_bytes(program, kernel, kernel_plan);
  const int64_t limit = context.device.shared_bytes;
  const int fitting = recommended_stages(ring_bytes, other_bytes, limit);
  plan.stages = loop.stages > 0 ? loop.stages : fitting;
  while (plan.stages > 1 && plan.stages * ring_bytes + other_bytes > limit) --plan.stages;
  if (plan.copies.empty() || plan.stages < 2) {
    plan.stages = 1;
    plan.copies.clear();
    plan.lets.clear();
  }
  return plan;
}

}  // namespace

Result<Module> plan_rings(Module module, const PassContext& context) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    const Kernel& kernel = module.program.kernels[k];
    for_each_stmt(kernel.body, [&](const Stmt& s) {
      const auto* loop = std::get_if<For>(&s.node);
      if (!loop || loop->kind != ForKind::pipelined) return;
      if (module.plans[k].roles.on && module.plans[k].roles.loop == s.ordinal) return;  // its ring belongs to the roles
      RingPlan& ring = module.plans[k].rings[s.ordinal];
      ring = context.target.has(Feature::cp_async) || context.target.is_hip() ? plan_loop(module, kernel, module.plans[k], *loop, context)
                                                                              : RingPlan{1, {}, {}, "no asynchronous copies"};
      ring.staged = context.target.is_hip();
    });
  }
  return module;
}

}  // namespace tilert::passes
