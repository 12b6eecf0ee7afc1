// Which loops can be split, and the statements around them.
#include "passes/split_k.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "arith/build.h"
#include "ir/visit.h"
#include "passes/hints.h"
#include "passes/region.h"

namespace tilert::passes {
namespace {

using namespace ir;

class SplitK {
 public:
  SplitK(Module& module, size_t index, int64_t parts)
      : module_(module), program_(module.program), arena_(*module.program.arena), kernel_(module.program.kernels[index]), parts_(parts),
        plan_(module.plans[index]), ordinal_(next_ordinal(module.program)) {}

  // Empty, or why the kernel cannot be split.
  std::string why_not() {
    if (!meets() && kernel_.grid.size() > 2) return "its grid has three dims: none is left for the parts";
    if (kernel_.tile_count != kNoBuffer) return "the number of its tiles is read from memory";
    if (const std::string reason = find_pipelined(kernel_.body, &at_); !reason.empty()) return reason;
    if (loop().step != 1) return "its pipelined loop does not count up by 1";
    for (size_t i = 0; i <= at_; ++i)
      if (const std::string reason = acts(*kernel_.body[i]); !reason.empty()) return reason;
    if (orders_blocks(program_, kernel_.body)) return "its blocks wait for each other";
    return find_sums();
  }

  // Empty, or why the parts meet in the workspace.
  std::string why_not_in_cluster(const Target& target) const {
    if (parts_ > kMostMeeting) return fmt::format("clusters of more than {} blocks fill no chip", kMostMeeting);
    if (!target.has(Feature::cluster) || !target.has(Feature::wgmma)) return "they meet in the shared memory of kernels with roles, which " + target.text + " does not have";
    if (kernel_.cluster > 1) return "its blocks share copies in clusters of their own";
    return kernel_.cost ? "a plan deals its tiles out one by one" : "";
  }

  // The counters stand in every variant's workspace: their size is the same, and they take turns in it.
  BufferId counters() { return program_.add_workspace("arrivals", DType::uint32, {arena_.index(kMostSplitTiles)}, true); }

  void run(BufferId counters) {
    const VarId part_var = program_.add_var(VarKind::block_index, DType::index, meets() ? "rank" : "part");
    part_ = program_.var(part_var);
    module_.facts.define(part_, arith::Range::between(0, parts_ - 1));
    tiles_ = arena_.index(kernel_.cluster), number_ = arena_.index(0);
    for (size_t d = kernel_.grid.size(); d-- > 0;) {
      number_ = arith::add(arena_, arith::mul(arena_, number_, kernel_.grid[d]), program_.var(kernel_.block_vars[d]));
      tiles_ = arith::mul(arena_, tiles_, kernel_.grid[d]);
    }
    if (kernel_.cluster > 1) number_ = arith::add(arena_, arith::mul(arena_, number_, kernel_.cluster), program_.var(kernel_.rank));
    few_ = meets() || module_.facts.range(tiles_).high <= kMostSplitTiles ? nullptr : arith::le(arena_, tiles_, kMostSplitTiles);
    Block rest(kernel_.body.begin() + static_cast<std::ptrdiff_t>(at_) + 1, kernel_.body.end());
    Block out(kernel_.body.begin(), kernel_.body.begin() + static_cast<std::ptrdiff_t>(at_));
    out.push_back(own_trips());
    // Tiles stay declared for all; what is done with them moves.
    for (const StmtPtr& s : rest)
      if (std::holds_alternative<Alloc>(s->node)) out.push_back(s);
    std::erase_if(rest, [](const StmtPtr& s) { return std::holds_alternative<Alloc>(s->node); });
    if (meets()) meet_in_cluster(out, std::move(rest));
    else meet(counters, out, std::move(rest));
    kernel_.body = std::move(out);
    if (meets()) {
      kernel_.cluster = static_cast<int>(parts_), kernel_.rank = part_var;
      return;
    }
    kernel_.grid.push_back(arena_.index(parts_));
    kernel_.block_vars.push_back(part_var);
  }

 private:
  bool meets() const { return plan_.meeting.reason.empty(); }
  const For& loop() const { return std::get<For>(kernel_.body[at_]->node); }

  // What every part would do again must be seen by nobody.
  std::string acts(const Stmt& stmt) const {
    std::string reason;
    for_each_stmt({std::make_shared<const Stmt>(stmt)}, [&](const Stmt& s) {
      if (!reason.empty()) return;
      const auto is = [&]<class... T>(std::variant<T...>*) { return (std::holds_alternative<T>(s.node) || ...); };
      using Acts = std::variant<Atomic, ThreadOp, AsyncOp, GridSync, Report, Inline, CallDevice, While>;
      if (is(static_cast<Acts*>(nullptr))) reason = fmt::format("operation {} would happen once for each part", s.ordinal);
      if (const auto* jump = std::get_if<Jump>(&s.node)) reason = jump->kind == JumpKind::next ? "" : fmt::format("operation {} ends the loop early", s.ordinal);
      for (const BufferUse& use : buffer_uses(s))
        if (reason.empty() && use.write && program_.buffer(use.buffer).scope == Scope::global)
          reason = fmt::format("operation {} writes a tensor in or before the loop", s.ordinal);
    });
    return reason;
  }

  // What the loop hands on must be sums of products alone, from 0, and nothing else may go from trip to trip.
  std::string find_sums() {
    std::set<BufferId> own, written;
    for_each_stmt(loop().body, [&](const Stmt& s) {
      if (const auto* a = std::get_if<Alloc>(&s.node)) own.insert(a->buffer);
      for (const BufferUse& use : buffer_uses(s))
        if (use.write) written.insert(storage_of(program_, use.buffer));
    });
    for (BufferId buffer : written) {
      if (own.count(buffer)) continue;
      if (is_sum(buffer)) {
        if (const std::string reason = from_zero(buffer); !reason.empty()) return reason;
        sums_.push_back(buffer);
      } else if (!is_made_anew(buffer)) {
        return fmt::format("{} goes from trip to trip, and is no sum of products", program_.buffer(buffer).name);
      } else if (is_used_after(buffer)) {
        return fmt::format("{} is used after the loop that fills it", program_.buffer(buffer).name);
      }
    }
    const auto rounds = [&](BufferId sum) { return dtype_is_float(program_.buffer(sum).dtype); };
    if (kernel_.fixed_order && std::any_of(sums_.begin(), sums_.end(), rounds)) return "its order of sums is fixed, and that of parts is another";
    return sums_.empty() ? "its pipelined loop adds up no product" : "";
  }

  bool touches(const Stmt& s, BufferId buffer) const {
    const auto uses = buffer_uses_deep(s);
    return std::any_of(uses.begin(), uses.end(), [&](const BufferUse& use) { return storage_of(program_, use.buffer) == buffer; });
  }

  bool is_sum(BufferId buffer) const {
    const Buffer& b = program_.buffer(buffer);
    const bool adds = b.dtype == DType::f32 || b.dtype == DType::int32 || b.dtype == DType::f64;
    if (b.scope != Scope::fragment || !adds || !views_of(program_, buffer).empty()) return false;
    return std::all_of(loop().body.begin(), loop().body.end(), [&](const StmtPtr& s) {
      const auto* gemm = std::get_if<Gemm>(&s->node);
      if (!gemm || gemm->c.buffer != buffer) return !touches(*s, buffer);
      return is_whole(program_, gemm->c) && gemm->accumulate->is_constant() && gemm->accumulate->bits && gemm->a.buffer != buffer && gemm->b.buffer != buffer;
    });
  }

  std::string from_zero(BufferId buffer) const {
    for (size_t i = at_; i-- > 0;) {
      const Stmt& s = *kernel_.body[i];
      if (!touches(s, buffer) || std::holds_alternative<Alloc>(s.node)) continue;
      const auto* fill = std::get_if<Fill>(&s.node);
      if (fill && is_whole(program_, fill->dst) && fill->value->is_constant() && fill->value->bits == 0) return {};
      break;
    }
    return fmt::format("{} is not cleared before the loop", program_.buffer(buffer).name);
  }

  // Whether each trip writes all of it before anything reads it.
  bool is_made_anew(BufferId buffer) const {
    for (const StmtPtr& s : loop().body) {
      if (!touches(*s, buffer) || std::holds_alternative<Alloc>(s->node)) continue;
      if (overwrites(program_, *s, buffer)) return true;
      const auto* store = std::get_if<Store>(&s->node);
      if (store && store->to.buffer == buffer && store->to.indices.empty()) return true;
      const auto* points = std::get_if<Parallel>(&s->node);
      return points && !points->threads && stores_each(*points, buffer);
    }
    return false;
  }

  bool stores_each(const Parallel& points, BufferId buffer) const {
    const Buffer& b = program_.buffer(buffer);
    if (points.vars.size() != b.shape.size()) return false;
    for (const StmtPtr& s : points.body) {
      const auto* store = std::get_if<Store>(&s->node);
      if (!store || store->to.buffer != buffer) {
        if (touches(*s, buffer)) return false;
        continue;
      }
      for (size_t d = 0; d < b.shape.size(); ++d)
        if (!store->to.indices[d]->is_variable() || store->to.indices[d]->var() != points.vars[d] || b.shape[d]->as_int() != points.extents[d]) return false;
      return true;
    }
    return false;
  }

  bool is_used_after(BufferId buffer) const {
    return std::any_of(kernel_.body.begin() + static_cast<std::ptrdiff_t>(at_) + 1, kernel_.body.end(),
                       [&](const StmtPtr& s) { return !std::holds_alternative<Alloc>(s->node) && touches(*s, buffer); });
  }

  // ---- statements ----

  template <class T>
  StmtPtr make(T node) {
    return make_stmt(std::move(node), ordinal_++, kernel_.body[at_]->location);
  }

  StmtPtr own_trips() {
    For mine = loop();
    const Expr parts = few_ ? arith::select(arena_, few_, arena_.index(parts_), arena_.index(1)) : arena_.index(parts_);
    const Expr each = arith::ceildiv(arena_, arith::sub(arena_, mine.end, mine.begin), parts);
    mine.begin = arith::add(arena_, mine.begin, arith::mul(arena_, each, part_));
    mine.end = arith::min(arena_, mine.end, arith::add(arena_, mine.begin, each));
    return make_stmt(std::move(mine), kernel_.body[at_]->ordinal, kernel_.body[at_]->location);
  }

  Region part_of(BufferId parts, BufferId sum, Expr part) const {
    Region r{parts, {number_, part}, {1, 1}};
    for (Expr e : program_.buffer(sum).shape) r.offsets.push_back(arena_.index(0)), r.extents.push_back(e->as_int());
    return r;
  }

  StmtPtr copy(Region from, Region to) {
    Copy c;
    c.src = std::move(from), c.dst = std::move(to);
    return make(std::move(c));
  }

  std::vector<BufferId> part_buffers() {
    std::vector<BufferId> parts;
    for (BufferId sum : sums_) {
      std::vector<Expr> shape{few_ ? arith::min(arena_, tiles_, kMostSplitTiles) : tiles_, arena_.index(parts_)};
      for (Expr e : program_.buffer(sum).shape) shape.push_back(e);
      parts.push_back(program_.add_workspace("parts", program_.buffer(sum).dtype, std::move(shape), false));
    }
    return parts;
  }

  // What it means, where blocks come in the order of their ranks: a kernel with roles hands the parts on instead.
  void meet_in_cluster(Block& out, Block rest) {
    const std::vector<BufferId> parts = part_buffers();
    Block add_up;
    for (size_t i = 0; i < sums_.size(); ++i) {
      out.push_back(copy(whole_region(program_, sums_[i]), part_of(parts[i], sums_[i], part_)));
      plan_.meeting.through_memory.insert(out.back()->ordinal);
      sum_up(parts[i], sums_[i], add_up);
    }
    for (const StmtPtr& s : add_up) plan_.meeting.through_memory.insert(s->ordinal);
    plan_.meeting.sums = sums_;
    add_up.insert(add_up.end(), rest.begin(), rest.end());
    plan_.guard = ordinal_;
    out.push_back(make(If{arith::eq(arena_, part_, parts_ - 1), std::move(add_up), {}}));
  }

  void meet(BufferId counters, Block& out, Block rest) {
    const std::vector<BufferId> parts = part_buffers();
    Block arrive, add_up;
    for (size_t i = 0; i < sums_.size(); ++i) arrive.push_back(copy(whole_region(program_, sums_[i]), part_of(parts[i], sums_[i], part_)));
    const VarId old = program_.add_var(VarKind::let, DType::uint32, "arrived");
    arrive.push_back(make(Atomic{AtomicOp::add, {counters, {number_}}, arena_.constant(DType::uint32, 1), nullptr, old, MemoryOrder::acq_rel, MemoryScope::device}));
    const Expr is_last = arith::eq(arena_, program_.var(old), arena_.constant(DType::uint32, static_cast<uint64_t>(parts_ - 1)));
    add_up.push_back(make(Store{{counters, {number_}}, arena_.constant(DType::uint32, 0)}));
    for (size_t i = 0; i < sums_.size(); ++i) sum_up(parts[i], sums_[i], add_up);
    if (!few_) {
      add_up.insert(add_up.end(), rest.begin(), rest.end());
      out.insert(out.end(), arrive.begin(), arrive.end());
      out.push_back(make(If{is_last, std::move(add_up), {}}));
      return;
    }
    Buffer flag;
    flag.name = "goes_on";
    flag.dtype = DType::boolean;
    flag.scope = Scope::scalar;
    const BufferId goes_on = program_.add_buffer(std::move(flag));
    out.push_back(make_stmt(Alloc{goes_on}));
    out.push_back(make(Store{{goes_on, {}}, arith::eq(arena_, part_, 0)}));
    arrive.push_back(make(Store{{goes_on, {}}, is_last}));
    arrive.push_back(make(If{is_last, std::move(add_up), {}}));
    out.push_back(make(If{few_, std::move(arrive), {}}));
    const VarId on = program_.add_var(VarKind::let, DType::boolean, "on");
    out.push_back(make(Let{on, nullptr, {goes_on, {}}}));
    out.push_back(make(If{program_.var(on), std::move(rest), {}}));
  }

  // In the order of the parts, all of which come from memory, the block's own too.
  void sum_up(BufferId parts, BufferId sum, Block& out) {
    constexpr int64_t kUnrolled = 8;  // whose loads may be under way together
    out.push_back(copy(part_of(parts, sum, arena_.index(0)), whole_region(program_, sum)));
    For others;
    others.kind = parts_ <= kUnrolled ? ForKind::unrolled : ForKind::serial;
    others.var = program_.add_var(VarKind::loop, DType::index, "other");
    others.begin = arena_.index(1), others.end = arena_.index(parts_);
    Parallel points;
    points.contract = false;
    std::vector<Expr> from{number_, program_.var(others.var)}, to;
    for (Expr e : program_.buffer(sum).shape) {
      points.vars.push_back(program_.add_var(VarKind::loop, DType::index, "p"));
      points.extents.push_back(e->as_int());
      to.push_back(program_.var(points.vars.back()));
      from.push_back(to.back());
    }
    const DType dtype = program_.buffer(sum).dtype;
    const VarId x = program_.add_var(VarKind::let, dtype, "x"), y = program_.add_var(VarKind::let, dtype, "y");
    points.body.push_back(make(Let{x, nullptr, {sum, to}}));
    points.body.push_back(make(Let{y, nullptr, {parts, from}}));
    points.body.push_back(make(Store{{sum, to}, arith::add(arena_, program_.var(x), program_.var(y))}));
    others.body.push_back(make(std::move(points)));
    out.push_back(make(std::move(others)));
  }

  Module& module_;
  Program& program_;
  Arena& arena_;
  Kernel& kernel_;
  const int64_t parts_;
  KernelPlan& plan_;
  uint32_t ordinal_;
  size_t at_ = 0;  // of the loop
  std::vector<BufferId> sums_;
  Expr part_ = nullptr, tiles_ = nullptr, number_ = nullptr;
  Expr few_ = nullptr;  // whether each tile has a counter; null: it does
};

}  // namespace

Result<Module> split_k(Module module, const PassContext& context) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    const int64_t parts = hint_of(module.program.kernels[k], HintKind::split_k);
    if (parts < 2 || module.program.kernels[k].source) continue;
    SplitK splitter(module, k, parts);
    KernelPlan& plan = module.plans[k];
    const BufferId counters = splitter.counters();
    if (plan.meeting.reason.empty()) plan.meeting.reason = splitter.why_not_in_cluster(context.target);
    plan.not_split = splitter.why_not();
    if (!plan.not_split.empty()) continue;
    splitter.run(counters);
    plan.parts = parts;
  }
  return module;
}

}  // namespace tilert::passes
