// Whether a kernel can have roles, and what each gets.
#include "passes/roles.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/visit.h"
#include "ir/words.h"
#include "layout/fragment_builders.h"
#include "passes/hints.h"
#include "passes/persist.h"
#include "passes/region.h"
#include "passes/select.h"

namespace tilert::passes {
namespace {

using namespace ir;

constexpr int64_t kSpan = 128;  // bytes of a row of a swizzled sub-tile

class RolePlanner {
 public:
  RolePlanner(Module& module, const Kernel& kernel, KernelPlan& plan, const PassContext& context)
      : module_(module), program_(module.program), kernel_(kernel), body_(tile_body(kernel, plan)), plan_(plan), context_(context) {}

  Status run() {
    plan_.roles.reason = decide();
    plan_.roles.on = plan_.roles.reason.empty();
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

 private:
  // Empty when the kernel gets roles, else why not.
  std::string decide() {
    if (!plan_.roles.reason.empty()) return plan_.roles.reason;  // tried, and given up
    if (!context_.target.has(Feature::wgmma) || !context_.target.has(Feature::tma)) return "no warpgroup products on this target";
    if (hint_of(kernel_, HintKind::roles) == 1) return "the program asks for no roles";
    if (hint_of(kernel_, HintKind::threads_fixed)) return "its number of threads is fixed: none are left for a producer";
    if (orders_blocks(kernel_.body)) return "it waits for other blocks, which copies that run ahead would not";
    const Stmt* loop_stmt = nullptr;
    for (const StmtPtr& s : body_) {
      const auto* loop = std::get_if<For>(&s->node);
      if (!loop || loop->kind != ForKind::pipelined) continue;
      if (loop_stmt) return "it has more than one pipelined loop";
      loop_stmt = s.get();
    }
    if (!loop_stmt) return "it has no pipelined loop";
    const auto& loop = std::get<For>(loop_stmt->node);
    plan_.roles.loop = loop_stmt->ordinal;
    const arith::FactsScope scope(module_.facts);
    if (loop.step > 1 && module_.facts.range(loop.begin).multiple_of(loop.step)) module_.facts.congruent(program_.var(loop.var), loop.step);
    for (const StmtPtr& s : loop.body) {
      std::string reason;
      if (const auto* copy = std::get_if<Copy>(&s->node)) reason = take_load(*s, *copy);
      else if (const auto* gemm = std::get_if<Gemm>(&s->node)) reason = take_product(*s, *gemm);
      else if (!std::holds_alternative<Alloc>(s->node)) reason = "its loop does more than copy and multiply";
      if (!reason.empty()) return fmt::format("operation {}: {}", s->ordinal, reason);
    }
    if (gemms_.empty() || plan_.roles.loads.empty()) return "its loop has no copies or no product";
    const std::string known = share_lets(*loop_stmt);
    if (!known.empty()) return known;
    for (const StmtPtr& s : body_)
      if (const auto* copy = std::get_if<Copy>(&s->node)) take_store(*s, *copy);
    return budget(loop);
  }

  // The producer needs the loop's bounds and the places of its copies. What they are computed from before the loop it
  // computes itself: pure values, and reads of global memory that the kernel has not written yet.
  std::string share_lets(const Stmt& loop_stmt) {
    std::set<VarId> needed;
    const auto need = [&](Expr e) { for_each_node(e, [&](Expr n) { if (n->is_variable()) needed.insert(n->var()); }); };
    const auto& loop = std::get<For>(loop_stmt.node);
    need(loop.begin), need(loop.end);
    for (const StmtPtr& s : loop.body)
      if (const auto* copy = std::get_if<Copy>(&s->node)) std::for_each(copy->src.offsets.begin(), copy->src.offsets.end(), need);
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
        if (&body_ != &kernel_.body && is_written(let->read.buffer))
          return fmt::format("operation {}: a place in the loop depends on what the tiles before wrote", (*at)->ordinal);
        std::for_each(let->read.indices.begin(), let->read.indices.end(), need);
      } else {
        need(let->value);
      }
      plan_.roles.common.insert(let->var);
    }
    return {};
  }

  bool is_written(BufferId tensor) const {
    bool found = false;
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      found |= std::holds_alternative<Inline>(s.node);
      for (const BufferUse& use : buffer_uses(s)) found |= use.write && may_overlap(program_, use.buffer, tensor);
    });
    return found;
  }

  bool writes_global_memory(const Stmt& s) const {
    if (std::holds_alternative<Inline>(s.node)) return true;
    const auto uses = buffer_uses_deep(s);
    return std::any_of(uses.begin(), uses.end(),
                       [&](const BufferUse& u) { return u.write && program_.buffer(u.buffer).scope == Scope::global; });
  }

  // A matrix copy that the tensor copy engine can make: rank 2 but for leading units, rows on 16 bytes, and the region too: a
  // corner between is an illegal instruction.
  std::string engine_takes(const Region& r) {
    const Buffer& b = program_.buffer(r.buffer);
    if (is_table(b)) return "its tensor lies where a table says, which the tensor copy engine is not told";
    if (b.shape.size() != 2) return "its tensor is not a matrix";
    if (dtype_is_packed(b.dtype)) return "its elements share bytes";
    if (!b.strides[1]->is_constant() || b.strides[1]->as_int() != 1) return "its rows are not contiguous";
    if (!module_.facts.range(b.strides[0]).multiple_of(16 / dtype_bytes(b.dtype))) return "its rows do not start on 16 bytes";
    if (b.alignment < 16) return "its tensor does not start on 16 bytes";
    if (!module_.facts.range(r.offsets[1]).multiple_of(16 / dtype_bytes(b.dtype))) return "its columns do not start on 16 bytes";
    return {};
  }

  // Whether another statement writes (or also reads) memory of the tensor: copies of the engine are not in order with it.
  bool is_touched(const Stmt& s, BufferId tensor, bool writes_only) const {
    bool found = false;
    for_each_stmt(kernel_.body, [&](const Stmt& other) {
      if (other.ordinal == s.ordinal) return;
      for (const BufferUse& use : buffer_uses(other))
        found |= (use.write || !writes_only) && may_overlap(program_, use.buffer, tensor);
    });
    return found;
  }

  std::string take_load(const Stmt& s, const Copy& c) {
    const Buffer &src = program_.buffer(c.src.buffer), &dst = program_.buffer(c.dst.buffer);
    if (src.scope != Scope::global || dst.scope != Scope::shared || src.dtype != dst.dtype) return "not a plain copy to a shared tile";
    if (!c.valid.empty() || (c.safe && c.safe->bits != 0)) return "it has bounds of its own";
    if (is_touched(s, c.src.buffer, true)) return "the kernel writes its source";
    if (c.prefer == CopyPrefer::sync || (c.prefer == CopyPrefer::async && c.must)) return "it is asked to be made another way";
    if (!is_whole(program_, c.dst) || dst.shape.size() != 2) return "it fills a part of its tile";
    if (const TileLayout asked = dst.layout.kind; asked != TileLayout::automatic && asked != TileLayout::swizzle_128)
      return fmt::format("its tile is asked to be {}, and the tensor copy engine writes swizzle_128 for products", word(asked));
    if (dst.view_of != kNoBuffer || !views_of(program_, c.dst.buffer).empty()) return "its tile has views, whose rows are others";
    const std::string reason = engine_takes(c.src);
    if (!reason.empty()) return reason;
    const int64_t rows = c.dst.extents[0], row_bytes = c.dst.extents[1] * dtype_bytes(dst.dtype);
    if (row_bytes % kSpan != 0 || rows % 8 != 0 || rows > 256) return "its tile is not made of 128-byte rows";
    plan_.roles.loads[s.ordinal] = plan_.roles.maps.size();
    plan_.roles.maps.push_back({c.src.buffer, {kSpan / dtype_bytes(dst.dtype), rows}, kSpan});
    tiles_.insert(c.dst.buffer);
    return {};
  }

  std::string take_product(const Stmt& s, const Gemm& g) {
    const Buffer &a = program_.buffer(g.a.buffer), &b = program_.buffer(g.b.buffer), &c = program_.buffer(g.c.buffer);
    if (!tiles_.count(g.a.buffer) || !tiles_.count(g.b.buffer)) return "an operand is not a tile that the loop copies";
    if (g.trans_a || !g.trans_b || a.dtype != b.dtype) return "an operand is not K-major";
    if (c.scope != Scope::fragment || !is_whole(program_, g.a) || !is_whole(program_, g.b) || !is_whole(program_, g.c)) return "it takes a part of a tile";
    GemmPlan plan = plan_.gemms.at(s.ordinal);
    const Atom* atom = nullptr;
    for (const Atom* candidate : atoms_for(context_.target, a.dtype, b.dtype, c.dtype))
      if (candidate->is_wgmma() && dtype_bits(a.dtype) == 16) atom = candidate;
    if (!atom) return "no warpgroup product of these dtypes";
    const int64_t width = wgmma_n(*atom, plan.n);
    if (plan.m % 64 != 0 || width != plan.n || plan.k % 16 != 0) return "its tile is not one of warpgroup products";
    const int64_t asked = hint_of(kernel_, HintKind::consumers);
    const int consumers = (asked == 1 || asked == 2) && plan.m % (64 * asked) == 0 ? static_cast<int>(asked) : plan.m % 128 == 0 ? 2 : 1;
    if (plan_.roles.consumers != 0 && plan_.roles.consumers != consumers) return "products want different warpgroups";
    plan_.roles.consumers = consumers;
    plan.path = GemmPlan::Path::wgmma;
    plan.atom = atom;
    plan.warps_m = consumers;
    plan.warps_n = 1;
    plan.a_ldmatrix = plan.b_ldmatrix = false;
    gemms_[s.ordinal] = plan;
    accumulators_ += plan.m * plan.n / (consumers * 128);
    products_of_.insert(g.c.buffer);
    return {};
  }

  // The result may leave through shared memory and the copy engine; it may also leave in any other way.
  void take_store(const Stmt& s, const Copy& c) {
    const Buffer &src = program_.buffer(c.src.buffer), &dst = program_.buffer(c.dst.buffer);
    if (dst.scope != Scope::global || !products_of_.count(c.src.buffer) || !is_whole(program_, c.src)) return;
    if (src.dtype != DType::f32 || (dst.dtype != DType::bf16 && dst.dtype != DType::f16) || !c.valid.empty()) return;
    if (is_touched(s, c.dst.buffer, false)) return;
    const int64_t rows = c.src.extents[0] / plan_.roles.consumers;
    if (c.src.extents[1] % 64 != 0 || rows % 64 != 0 || rows > 256 || !engine_takes(c.dst).empty()) return;
    for (Expr offset : c.dst.offsets)  // the engine writes nothing before a tensor's start
      if (module_.facts.range(offset).low < 0) return;
    // It writes whole 16 bytes, beyond the end of rows that end between: what lies there may be another's.
    if (!module_.facts.range(dst.shape[1]).multiple_of(16 / dtype_bytes(dst.dtype))) return;
    plan_.roles.stores[s.ordinal] = plan_.roles.maps.size();
    plan_.roles.maps.push_back({c.dst.buffer, {64, rows}, kSpan});
    staging_ += c.src.extents[0] * c.src.extents[1] * 2;
  }

  // Stages by shared memory, registers by the accumulators.
  std::string budget(const For& loop) {
    int64_t slot = 0;
    for (BufferId id : tiles_) {
      const Buffer& b = program_.buffer(id);
      slot += b.shape[0]->as_int() * b.shape[1]->as_int() * dtype_bytes(b.dtype);
    }
    int64_t others = 0;
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      const auto* a = std::get_if<Alloc>(&s.node);
      if (!a || tiles_.count(a->buffer) || program_.buffer(a->buffer).scope != Scope::shared) return;
      int64_t bytes = dtype_bytes(program_.buffer(a->buffer).dtype);
      for (Expr e : program_.buffer(a->buffer).shape) bytes *= e->as_int();
      others += bytes;
    });
    const int64_t room = context_.device.shared_bytes - staging_ - others - 2048;
    const int64_t fit = room / slot;
    plan_.roles.stages = static_cast<int>(std::min<int64_t>(loop.stages > 0 ? std::max(loop.stages, 2) : 4, fit));
    if (plan_.roles.stages < 2) return "two slots of its tiles do not fit in shared memory";
    if (accumulators_ > 200) return "its accumulators do not fit in registers";
    if (plan_.roles.consumers == 2) {
      plan_.roles.producer_registers = 40;
      plan_.roles.consumer_registers = 232;
    }
    return {};
  }

  Module& module_;
  Program& program_;
  const Kernel& kernel_;
  const Block& body_;  // of a tile
  KernelPlan& plan_;
  const PassContext& context_;
  std::map<uint32_t, GemmPlan> gemms_;
  std::set<BufferId> tiles_, products_of_;
  int64_t accumulators_ = 0, staging_ = 0;
};

}  // namespace

Result<Module> plan_roles(Module module, const PassContext& context) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    const Kernel kernel = module.program.kernels[k];
    TILERT_TRY(RolePlanner(module, kernel, module.plans[k], context).run());
  }
  return module;
}

}  // namespace tilert::passes
