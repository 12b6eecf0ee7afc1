// Runs of neighbours, from the first to where one does not go with those before it.
#include "passes/fuse_loops.h"

#include <algorithm>

#include "ir/semantics.h"
#include "ir/visit.h"
#include "passes/cluster.h"
#include "passes/layouts.h"
#include "passes/region.h"

namespace tilert::passes {
namespace {

using namespace ir;

struct Touch {
  Access access;
  bool write;
};

class LoopFuser {
 public:
  LoopFuser(Program& program, const KernelPlan& plan) : program_(program), plan_(plan) {}

  Block run(const Block& in) {
    Block out;
    for (size_t i = 0; i < in.size();) {
      const size_t end = run_from(in, i);
      if (end == i) {
        out.push_back(within_guard(in[i++]));
        continue;
      }
      for (; i < end; ++i)
        if (std::holds_alternative<Alloc>(in[i]->node)) out.push_back(in[i]);
      out.push_back(make_stmt(std::move(joined_), last_->ordinal, last_->location));
    }
    return out;
  }

 private:
  StmtPtr within_guard(const StmtPtr& s) {
    const If* inside = guard_branch(*s, plan_);
    return inside ? make_stmt(If{inside->condition, run(inside->then_body), inside->else_body}, s->ordinal, s->location) : s;
  }

  // Joins statements from `at` on while they go together; the end of those, or `at` where no two do. Tiles may be declared between.
  size_t run_from(const Block& in, size_t at) {
    size_t end = at;
    int loops = 0;
    for (size_t i = at; i < in.size(); ++i) {
      if (std::holds_alternative<Alloc>(in[i]->node) && loops > 0) continue;
      const auto loop = as_loop(*in[i]);
      if (!loop || (loops > 0 && !joins(*loop))) break;
      if (loops++ == 0) joined_ = *loop;
      else append(*loop);
      last_ = in[i].get();
      end = i + 1;
    }
    return loops > 1 ? end : at;
  }

  // A loop over a product's elements of plain statements, or a copy as such a loop.
  std::optional<Parallel> as_loop(const Stmt& s) {
    std::optional<Parallel> loop;
    if (const auto* p = std::get_if<Parallel>(&s.node)) loop = *p;
    if (const auto* c = std::get_if<Copy>(&s.node); c && is_plain(*c)) loop = copy_loop(program_, *c).loop;
    if (!loop || loop->threads || !is_of_sums(loop->extents)) return std::nullopt;
    bool plain = true;
    for_each_stmt(loop->body, [&](const Stmt& inner) {
      plain &= std::holds_alternative<Let>(inner.node) || std::holds_alternative<Store>(inner.node) || std::holds_alternative<If>(inner.node);
    });
    for (const Touch& t : touches(*loop)) plain &= plan_.partial.count(t.access.buffer) == 0;
    return plain ? loop : std::nullopt;
  }

  bool is_of_sums(const std::vector<int64_t>& extents) const {
    return std::any_of(plan_.gemms.begin(), plan_.gemms.end(), [&](const auto& g) {
      return g.second.path == GemmPlan::Path::wgmma && extents == std::vector<int64_t>{g.second.m, g.second.n};
    });
  }

  bool is_plain(const Copy& c) const {
    const Buffer &src = program_.buffer(c.src.buffer), &dst = program_.buffer(c.dst.buffer);
    if (dst.scope != Scope::fragment || !is_whole(program_, c.dst) || c.src.extents != c.dst.extents || dtype_is_packed(src.dtype)) return false;
    if (src.scope != Scope::global && (src.scope != Scope::fragment || !is_whole(program_, c.src))) return false;
    return !c.safe && c.valid.empty() && c.prefer == CopyPrefer::any && c.eviction == Eviction::normal;
  }

  static std::vector<Touch> touches(const Parallel& loop) {
    std::vector<Touch> all;
    for_each_stmt(loop.body, [&](const Stmt& s) {
      if (const auto* let = std::get_if<Let>(&s.node); let && !let->value) all.push_back({let->read, false});
      if (const auto* store = std::get_if<Store>(&s.node)) all.push_back({store->to, true});
    });
    return all;
  }

  // The element of the loop's own point.
  bool is_own(const Parallel& loop, const Access& a) const {
    if (program_.buffer(a.buffer).scope != Scope::fragment || a.indices.size() != loop.vars.size()) return false;
    for (size_t d = 0; d < a.indices.size(); ++d)
      if (!a.indices[d]->is_variable() || a.indices[d]->var() != loop.vars[d]) return false;
    return true;
  }

  bool joins(const Parallel& loop) const {
    if (loop.extents != joined_.extents) return false;
    for (const Touch& x : touches(joined_))
      for (const Touch& y : touches(loop))
        if ((x.write || y.write) && may_overlap(program_, x.access.buffer, y.access.buffer) &&
            (x.access.buffer != y.access.buffer || !is_own(joined_, x.access) || !is_own(loop, y.access)))
          return false;
    return true;
  }

  void append(const Parallel& loop) {
    std::unordered_map<VarId, Expr> to;
    for (size_t d = 0; d < loop.vars.size(); ++d) to[loop.vars[d]] = program_.var(joined_.vars[d]);
    const Block body = map_block_exprs(loop.body, [&](Expr e) { return substitute(*program_.arena, e, to); });
    joined_.body.insert(joined_.body.end(), body.begin(), body.end());
  }

  Program& program_;
  const KernelPlan& plan_;
  Parallel joined_;
  const Stmt* last_ = nullptr;
};

}  // namespace

Result<Module> fuse_loops(Module module, const PassContext&) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    if (!module.plans[k].roles.on) continue;
    Kernel& kernel = module.program.kernels[k];
    LoopFuser fuser(module.program, module.plans[k]);
    for (StmtPtr& s : kernel.body) {
      const auto* tiles = std::get_if<For>(&s->node);
      if (!tiles || tiles->kind == ForKind::pipelined) continue;
      For out = *tiles;
      out.body = fuser.run(tiles->body);
      s = make_stmt(std::move(out), s->ordinal, s->location);
    }
    kernel.body = fuser.run(kernel.body);
  }
  return module;
}

}  // namespace tilert::passes
