// Whether a kernel can have roles, and what each gets: all but the loop's own statements (role_operands.cpp).
#include "passes/roles.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/visit.h"
#include "passes/async_plan.h"
#include "passes/cluster.h"
#include "passes/hints.h"
#include "passes/persist.h"
#include "passes/region.h"
#include "passes/role_planner.h"
#include "passes/select.h"
#include "passes/tensor_box.h"

namespace tilert::passes {

using namespace ir;

RolePlanner::RolePlanner(Module& module, const Kernel& kernel, KernelPlan& plan, const PassContext& context)
    : module_(module), program_(module.program), kernel_(kernel), body_(tile_body(kernel, plan)), plan_(plan), context_(context) {}

Status RolePlanner::run() {
  plan_.roles.reason = decide();
  plan_.roles.on = plan_.roles.reason.empty();
  if (!plan_.meeting.sums.empty()) plan_.meeting.reason = plan_.roles.on ? "" : "they meet in the shared memory of a kernel with roles, and " + plan_.roles.reason;
  else if (kernel_.cluster > 1) plan_.not_clustered = why_not_clustered();
  if (!plan_.roles.on) {
    RolePlan off;
    off.reason = plan_.roles.reason;
    plan_.roles = std::move(off);
    return {};
  }
  plan_.threads = plan_.roles.consumers * 128;
  TILERT_TRY(plan_products(program_, kernel_, plan_, context_));  // all consumers take part in the others too
  for (const auto& [ordinal, gemm] : gemms_) plan_.gemms[ordinal] = gemm;
  plan_.roles.thread = program_.add_var(VarKind::thread, DType::index, "role_thread");
  return {};
}

std::string RolePlanner::why_not_clustered() const {
  if (!plan_.roles.on) return "blocks share the copies of a kernel with roles, and " + plan_.roles.reason;
  return plan_.roles.shared_loads.empty() ? "the tiles that its blocks would share have no parts for each of them" : "";
}

// Empty when the kernel gets roles, else why not.
std::string RolePlanner::decide() {
  if (!plan_.roles.reason.empty()) return plan_.roles.reason;  // tried, and given up
  if (!context_.target.has(Feature::wgmma) || !context_.target.has(Feature::tma)) return "no warpgroup products on this target";
  if (hint_of(kernel_, HintKind::roles) == 1) return "the program asks for no roles";
  if (hint_of(kernel_, HintKind::threads_fixed)) return "its number of threads is fixed: none are left for a producer";
  if (is_asynchronous(program_, kernel_)) return "it places barriers and tensor copies itself";
  if (orders_blocks(program_, kernel_.body)) return "it waits for other blocks, which copies that run ahead would not";
  const Stmt* loop = nullptr;
  for (const StmtPtr& s : body_) {
    const auto* f = std::get_if<For>(&s->node);
    if (!f || f->kind != ForKind::pipelined) continue;
    if (loop) return "it has more than one pipelined loop";
    loop = s.get();
  }
  if (!loop) return "it has no pipelined loop";
  if (kernel_.cluster > 1 && plan_.meeting.sums.empty()) differing_ = differing(program_, kernel_, kernel_.rank);
  if (std::string reason = take_loop(*loop); !reason.empty()) return reason;
  if (std::string reason = share_lets(*loop); !reason.empty()) return reason;
  take_stores(body_);
  return budget(std::get<For>(loop->node));
}

std::string RolePlanner::take_loop(const Stmt& stmt) {
  const auto& loop = std::get<For>(stmt.node);
  plan_.roles.loop = stmt.ordinal;
  const arith::FactsScope scope(module_.facts);
  if (loop.step > 1 && module_.facts.range(loop.begin).multiple_of(loop.step)) module_.facts.congruent(program_.var(loop.var), loop.step);
  values_.emplace(program_, kernel_, loop);
  if (std::string reason = take_way(loop); !reason.empty()) return reason;
  for (const StmtPtr& s : *trip_)
    if (std::string reason = take_statement(*s); !reason.empty()) return reason;
  plan_.roles.works |= reads_places_;
  if (gemms_.empty() || filled_.empty()) return "its loop has no copies or no product";
  share_trip_lets(loop);
  return place_loads(loop);
}

// The producer needs the loop's bounds and the places of its copies. What they are computed from before the loop it
// computes itself: pure values, and reads of global memory that the kernel has not written yet.
std::string RolePlanner::share_lets(const Stmt& loop_stmt) {
  std::set<VarId> needed = producer_needs_;
  const auto need = [&](Expr e) { variables_of(e, needed); };
  const auto& loop = std::get<For>(loop_stmt.node);
  need(loop.begin), need(loop.end);
  const auto first = body_.begin();
  const auto end = std::find_if(first, body_.end(), [&](const StmtPtr& s) { return s.get() == &loop_stmt; });
  for (auto at = end; at != first;) {
    const Stmt& s = **--at;
    if (const auto* call = std::get_if<CallDevice>(&s.node); call && needed.count(call->var))
      return fmt::format("operation {}: a place in the loop depends on what a device function gives", s.ordinal);
    const auto* let = std::get_if<Let>(&s.node);
    if (!let || !needed.count(let->var)) continue;
    if (!let->value) {
      if (program_.buffer(let->read.buffer).scope != Scope::global || std::any_of(first, at, [&](const StmtPtr& s) { return writes_global_memory(*s); }))
        return fmt::format("operation {}: a place in the loop depends on what the consumers read", (*at)->ordinal);
      if (&body_ != &kernel_.body && may_write(program_, kernel_.body, let->read.buffer))
        return fmt::format("operation {}: a place in the loop depends on what the tiles before wrote", (*at)->ordinal);
      std::for_each(let->read.indices.begin(), let->read.indices.end(), need);
    } else {
      need(let->value);
    }
    plan_.roles.common.insert(let->var);
  }
  return {};
}

bool RolePlanner::writes_global_memory(const Stmt& s) const {
  if (std::holds_alternative<Inline>(s.node)) return true;
  const auto uses = buffer_uses_deep(s);
  return std::any_of(uses.begin(), uses.end(),
                     [&](const BufferUse& u) { return u.write && program_.buffer(u.buffer).scope == Scope::global; });
}

bool RolePlanner::is_touched(const Stmt& s, BufferId tensor, bool writes_only) const {
  bool found = false;
  for_each_stmt(kernel_.body, [&](const Stmt& other) {
    if (other.ordinal == s.ordinal) return;
    for (const BufferUse& use : buffer_uses(other))
      found |= (use.write || !writes_only) && may_overlap(program_, use.buffer, tensor);
  });
  return found;
}

void RolePlanner::take_stores(const Block& block) {
  for (const StmtPtr& s : block) {
    if (const auto* copy = std::get_if<Copy>(&s->node)) take_store(*s, *copy);
    if (const If* inside = guard_branch(*s, plan_)) take_stores(inside->then_body);
  }
}

// A result may leave through shared memory, by the copy engine or row by row; it may also leave in any other way. Its fragment
// must lie as a product's accumulators, which the lowering sees: here it has their shape.
void RolePlanner::take_store(const Stmt& s, const Copy& c) {
  const Buffer &src = program_.buffer(c.src.buffer), &dst = program_.buffer(c.dst.buffer);
  if (dst.scope != Scope::global || src.scope != Scope::fragment || src.shape.size() != 2 || !is_whole(program_, c.src)) return;
  if (is_table(dst) || dst.shape.size() != 2 || dtype_is_packed(dst.dtype) || !dst.strides[1]->is_constant() || dst.strides[1]->as_int() != 1) return;
  const int64_t rows = c.src.extents[0], columns = c.src.extents[1], size = dtype_bytes(dst.dtype);
  const bool as_sums = std::any_of(gemms_.begin(), gemms_.end(), [&](const auto& g) { return g.second.m == rows && g.second.n == columns; });
  if (!as_sums || !c.valid.empty() || size > 2) return;  // a tile of 32-bit elements would take the ring's slots
  if (is_touched(s, c.dst.buffer, false)) return;
  const int64_t share = rows / plan_.roles.consumers, span = swizzle_span(columns * size);
  if (span == 0 || share > 256 || rows % (64 * plan_.roles.consumers) != 0) return;
  results_.push_back({s.ordinal, {c.dst.buffer, {span / size, share}, static_cast<int>(span)}, rows * columns * size, engine_stores(c)});
}

bool RolePlanner::engine_stores(const Copy& c) {
  const Buffer& dst = program_.buffer(c.dst.buffer);
  if (!engine_takes(module_, c.dst).empty()) return false;
  for (Expr offset : c.dst.offsets)  // it writes nothing before a tensor's start
    if (module_.facts.range(offset).low < 0) return false;
  // It writes whole 16 bytes, beyond the end of rows that end between: what lies there may be another's.
  return module_.facts.range(dst.shape[1]).multiple_of(16 / dtype_bytes(dst.dtype));
}

// Bytes of the results' staging tiles; none where the ring would not be one beside them.
int64_t RolePlanner::stage_results(int64_t room, int64_t slot) {
  int64_t staging = 0;
  for (const StagedResult& r : results_) staging += r.bytes;
  if (room - staging < 2 * slot) return 0;
  for (StagedResult& r : results_) {
    if (!r.by_engine) {
      plan_.roles.row_stores[r.ordinal] = r.map.swizzle;
      continue;
    }
    plan_.roles.stores[r.ordinal] = plan_.roles.maps.size();
    plan_.roles.maps.push_back(std::move(r.map));
  }
  return staging;
}

// Stages by shared memory, registers by the accumulators and what is worked on.
std::string RolePlanner::budget(const For& loop) {
  const int64_t threads = int64_t{128} * plan_.roles.consumers;
  for (BufferId id : worked_on_) {
    if (products_of_.count(id)) continue;
    int64_t bytes = dtype_bytes(program_.buffer(id).dtype);
    for (Expr e : program_.buffer(id).shape) bytes *= e->as_int();
    accumulators_ += bytes / (4 * threads);
  }
  for (const auto& [ordinal, gemm] : gemms_)
    if (gemm.a_registers) accumulators_ += gemm.m * gemm.k * dtype_bytes(gemm.atom->a) / (4 * threads);
  int64_t slot = 0;
  for (const auto& [id, tile] : plan_.roles.tiles) {
    const Buffer& b = program_.buffer(id);
    const auto map = swizzled_map({tile.rows, b.shape[1]->as_int()}, dtype_bytes(b.dtype), tile.span);
    slot += map ? map->stage_stride() : 0;
  }
  for (BufferId id : plan_.roles.plain_tiles) slot += row_major_map({program_.buffer(id).shape[0]->as_int(), program_.buffer(id).shape[1]->as_int()}, dtype_bytes(program_.buffer(id).dtype)).stage_stride();
  int64_t others = 0;
  for_each_stmt(kernel_.body, [&](const Stmt& s) {
    const auto* a = std::get_if<Alloc>(&s.node);
    if (!a || filled_.count(a->buffer) || program_.buffer(a->buffer).scope != Scope::shared) return;
    int64_t bytes = dtype_bytes(program_.buffer(a->buffer).dtype);
    for (Expr e : program_.buffer(a->buffer).shape) bytes *= e->as_int();
    others += bytes;
  });
  others += (kernel_.cluster - 1) * meeting_bytes_;
  const int64_t room = context_.device.shared_bytes - others - 2048, wanted = loop.stages > 0 ? std::max(loop.stages, 2) : 4;
  const int64_t staging = stage_results(room, slot);
  plan_.roles.stages = static_cast<int>(std::min(wanted, (room - staging) / slot));
  if (plan_.roles.stages < 2) return meeting_bytes_ > 0 ? "two slots of its tiles do not fit there beside them" : "two slots of its tiles do not fit in shared memory";
  // Of 65536 registers each warpgroup starts with an equal part; what the producer gives up goes to the consumers.
  // One whose threads copy keeps what it starts with, or as much as the sums leave.
  const bool copies = !plan_.roles.by_threads.empty();
  if (plan_.roles.consumers == 2 && !(copies && accumulators_ <= 128))
    plan_.roles.producer_registers = copies ? 56 : 40, plan_.roles.consumer_registers = copies ? 224 : 232;
  if (plan_.roles.consumers == 3) plan_.roles.producer_registers = copies ? 56 : 32, plan_.roles.consumer_registers = copies ? 152 : 160;
  plan_.roles.alternates = !copies && alternates(loop);
  if (accumulators_ > (plan_.roles.consumers == 3 ? 96 : kMostAccumulators)) return "its accumulators do not fit in registers";
  return {};
}

Result<Module> plan_roles(Module module, const PassContext& context) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    Kernel kernel = module.program.kernels[k];
    if (context.target.has(Feature::wgmma)) {
      bring_loop_out(module.program, kernel, module.plans[k]);
      shape_loops(module.program, kernel);
    }
    TILERT_TRY(RolePlanner(module, kernel, module.plans[k], context).run());
    if (module.plans[k].roles.on) module.program.kernels[k] = std::move(kernel);
  }
  return module;
}

}  // namespace tilert::passes
