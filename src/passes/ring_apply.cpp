// Rewrites pipelined loops along their ring plans.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "arith/build.h"
#include "ir/visit.h"
#include "passes/held_copy.h"
#include "passes/ring.h"

namespace tilert::passes {
namespace {

using namespace ir;

class RingRewriter {
 public:
  RingRewriter(Module& module, KernelPlan& plan, int warp_size)
      : program_(module.program), facts_(module.facts), arena_(*module.program.arena), plan_(plan), warp_size_(warp_size) {}

  Block block(const Block& in) {
    Block out;
    for (const StmtPtr& s : in) {
      if (const auto* loop = std::get_if<For>(&s->node)) {
        for (StmtPtr& r : rewrite_loop(s, *loop)) out.push_back(std::move(r));
      } else if (const auto* branch = std::get_if<If>(&s->node)) {
        out.push_back(make_stmt(If{branch->condition, block(branch->then_body), block(branch->else_body)}, s->ordinal, s->location));
      } else if (const auto* roles = std::get_if<Roles>(&s->node)) {
        Roles plain = *roles;  // issuers have no copies of their own
        plain.work = block(roles->work);
        out.push_back(make_stmt(std::move(plain), s->ordinal, s->location));
      } else if (const auto* again = std::get_if<While>(&s->node)) {
        out.push_back(make_stmt(While{block(again->head), again->condition, block(again->body)}, s->ordinal, s->location));
      } else {
        out.push_back(s);
      }
    }
    return out;
  }

 private:
  struct Ring {
    const For* loop;
    int stages;
    std::vector<StmtPtr> copies;
    std::vector<StmtPtr> lets;       // that their places are made of
    BufferId read_slot, write_slot;  // scalars: the slot in use, the slot to fill next; or neither, where a trip's number says
    bool always = false;             // staged: every trip has one to load, the last ones the last once more
    std::map<uint32_t, BufferId> held;  // staged: the fragments of the copies between memory and slot, by ordinal
  };

  Block rewrite_loop(const StmtPtr& s, const For& loop) {
    if (plan_.roles.on && plan_.roles.loop == s->ordinal) return {s};
    const auto found = plan_.rings.find(s->ordinal);
    if (loop.kind != ForKind::pipelined || found == plan_.rings.end() || found->second.stages < 2) {
      For plain = loop;
      if (plain.kind == ForKind::pipelined) plain.kind = ForKind::serial;
      plain.body = block(loop.body);
      return {make_stmt(std::move(plain), s->ordinal, s->location)};
    }
    return rewrite_ring(s, loop, found->second);
  }

  BufferId slot_scalar(const char* name) {
    Buffer b;
    b.name = name;
    b.dtype = DType::index;
    b.scope = Scope::scalar;
    return program_.add_buffer(std::move(b));
  }

  Expr read_slot(BufferId scalar, int stages, Block& out) {
    const VarId var = program_.add_var(VarKind::let, DType::index, "slot");
    out.push_back(make_stmt(Let{var, nullptr, {scalar, {}}}));
    facts_.define(program_.var(var), arith::Range::between(0, stages - 1));
    return program_.var(var);
  }

  // The copies of iteration `at` into slot `slot`, behind what their places are made of.
  Block issue(const Ring& ring, Expr at, Expr slot) {
    std::unordered_map<VarId, Expr> of_trip{{ring.loop->var, at}};
    const auto moved = [&](const StmtPtr& s) { return *map_exprs(s, [&](Expr e) { return substitute(arena_, e, of_trip); }); };
    Block out;
    for (const StmtPtr& s : ring.lets) {
      Stmt let = moved(s);
      VarId& var = std::get<Let>(let.node).var;
      const Var of_body = program_.vars[var];
      const VarId own = program_.add_var(VarKind::let, of_body.dtype, of_body.name);
      of_trip[var] = program_.var(own);
      var = own;
      out.push_back(std::make_shared<const Stmt>(std::move(let)));
    }
    for (const StmtPtr& s : ring.copies) {
      Stmt copy = moved(s);
      auto& node = std::get<Copy>(copy.node);
      node.prefer = CopyPrefer::async;
      add_slot(node.dst, slot);
      out.push_back(std::make_shared<const Stmt>(std::move(copy)));
    }
    return out;
  }

  // Staged: the copies of iteration `at` into registers.
  Block load(const Ring& ring, Expr at) {
    Block out = issue(ring, at, arena_.index(0));
    for (StmtPtr& s : out) {
      const auto* node = std::get_if<Copy>(&s->node);
      if (!node) continue;
      Copy copy = *node;
      copy.prefer = CopyPrefer::sync;
      copy.dst = whole(ring.held.at(s->ordinal));
      s = make_stmt(std::move(copy), s->ordinal, s->location);
    }
    return out;
  }
  // ... and from there into the slot.
  Block store(const Ring& ring, Expr slot) {
    Block out;
    for (const StmtPtr& s : ring.copies) {
      Copy copy;
      copy.src = whole(ring.held.at(s->ordinal));
      copy.dst = std::get<Copy>(s->node).dst;
      copy.prefer = CopyPrefer::sync;
      add_slot(copy.dst, slot);
      out.push_back(make_stmt(std::move(copy), s->ordinal, s->location));
    }
    return out;
  }
  Region whole(BufferId id) const {
    Region out{id, {}, {}};
    for (Expr extent : program_.buffer(id).shape) {
      out.offsets.push_back(arena_.index(0));
      out.extents.push_back(extent->as_int());
    }
    return out;
  }
  // A fragment for what each copy brings.
  void hold(Ring& ring, Block& out) {
    for (const StmtPtr& s : ring.copies) {
      const Region& dst = std::get<Copy>(s->node).dst;
      Buffer b;
      b.name = "held";
      b.dtype = program_.buffer(dst.buffer).dtype;
      b.scope = Scope::fragment;
      for (int64_t extent : dst.extents) b.shape.push_back(arena_.index(extent));
      HeldLayout layout = held_layout(dst.extents, dtype_bytes(b.dtype), plan_.shared.at(dst.buffer), plan_.threads, warp_size_);
      const BufferId id = program_.add_buffer(std::move(b));
      plan_.fragments.emplace(id, std::move(layout.map));
      ring.held[s->ordinal] = id;
      plan_.held.emplace(id, layout.plan);
      out.push_back(make_stmt(Alloc{id}));
    }
  }

  static void add_slot(Region& region, Expr slot) {
    region.offsets.insert(region.offsets.begin(), slot);
    region.extents.insert(region.extents.begin(), 1);
  }

  StmtPtr call(Primitive primitive, int pending = -1) {
    Call c{primitive, {}};
    if (pending >= 0) c.args.push_back(CallArg{CallArg::Kind::text, nullptr, {}, 0, std::to_string(pending)});
    return make_stmt(std::move(c));
  }

  // What is done where the loop has iteration `at`.
  Block where_it_is(const Ring& ring, Expr at, Block copies) {
    const Expr more = ring.loop->step > 0 ? arith::lt(arena_, at, ring.loop->end) : arith::lt(arena_, ring.loop->end, at);
    if (more->is_constant() && more->bits) return copies;
    return {make_stmt(If{more, std::move(copies), {}})};
  }

  Block issue_all(const Ring& ring, Expr at, Expr slot) {
    Block copies = ring.held.empty() ? issue(ring, at, slot) : load(ring, at);
    if (!ring.held.empty())
      for (StmtPtr& s : store(ring, slot)) copies.push_back(std::move(s));
    Block out = where_it_is(ring, at, std::move(copies));
    out.push_back(call(Primitive::cp_async_commit));
    return out;
  }

  StmtPtr advance(const Ring& ring, BufferId scalar, Expr now) {
    const Expr next = arith::add(arena_, now, 1);
    const Expr wrapped = arith::select(arena_, arith::eq(arena_, next, ring.stages), arena_.index(0), next);
    return make_stmt(Store{{scalar, {}}, wrapped});
  }

  Block rewrite_ring(const StmtPtr& s, const For& loop, const RingPlan& plan) {
    Ring ring{&loop, plan.stages, {}, {}, kNoBuffer, kNoBuffer, false, {}};
    ring.always = plan.staged && loop.step == 1 && loop.begin->is_constant() && loop.end->is_constant();
    if (!by_number(ring)) ring.read_slot = slot_scalar("read_slot"), ring.write_slot = slot_scalar("write_slot");
    Block rest;
    for (const StmtPtr& b : loop.body) {
      if (std::count(plan.copies.begin(), plan.copies.end(), b->ordinal) && std::holds_alternative<Copy>(b->node))
        ring.copies.push_back(b);
      else
        rest.push_back(b);
      const auto* let = std::get_if<Let>(&b->node);
      if (let && plan.lets.count(let->var)) ring.lets.push_back(b);
    }
    for (size_t i = rest.size(); i-- > 0;) {
      const auto* let = std::get_if<Let>(&rest[i]->node);
      if (let && plan.lets.count(let->var) && !uses(rest, let->var)) rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    }
    Block out;
    if (plan.staged) hold(ring, out);
    Block hoisted = stage_buffers(ring, rest);
    for (StmtPtr& a : hoisted) out.push_back(std::move(a));
    if (!by_number(ring)) {
      out.push_back(make_stmt(Alloc{ring.read_slot}));
      out.push_back(make_stmt(Alloc{ring.write_slot}));
      out.push_back(make_stmt(Store{{ring.read_slot, {}}, arena_.index(0)}));
      out.push_back(make_stmt(Store{{ring.write_slot, {}}, arena_.index(plan.stages - 1)}));
    }
    for (int i = 0; i < plan.stages - 1; ++i)
      for (StmtPtr& p : issue_all(ring, arith::add(arena_, loop.begin, i * loop.step), arena_.index(i))) out.push_back(std::move(p));
    For steady = loop;
    steady.kind = ForKind::serial;
    if (by_number(ring)) steady.copies = plan.stages;
    steady.body = steady_body(ring, rest);
    out.push_back(make_stmt(std::move(steady), s->ordinal, s->location));
    out.push_back(call(Primitive::cp_async_wait, 0));
    return out;
  }

  // Waves of 64 have registers for two trips side by side, in which the slots are constants and places in them parts of instructions.
  bool by_number(const Ring& ring) const { return ring.always && ring.stages == 2 && warp_size_ == 64; }
  Expr numbered_slot(const Ring& ring, int64_t further, Block& out) {
    const VarId var = program_.add_var(VarKind::let, DType::index, "slot");
    const Expr trip = arith::sub(arena_, program_.var(ring.loop->var), ring.loop->begin);
    out.push_back(make_stmt(Let{var, arith::mod(arena_, arith::add(arena_, trip, further), ring.stages), {}}));
    facts_.define(program_.var(var), arith::Range::between(0, ring.stages - 1));
    return program_.var(var);
  }

  Block steady_body(const Ring& ring, const Block& rest) {
    Block body;
    body.push_back(call(Primitive::cp_async_wait, ring.stages - 2));
    const bool counted = by_number(ring);
    const Expr read = counted ? numbered_slot(ring, 0, body) : read_slot(ring.read_slot, ring.stages, body);
    const Expr write = counted ? numbered_slot(ring, 1, body) : read_slot(ring.write_slot, ring.stages, body);
    Expr ahead = arith::add(arena_, program_.var(ring.loop->var), (ring.stages - 1) * ring.loop->step);
    const bool staged = !ring.held.empty();
    // Where the trips are known the last ones load the last tile again, to slots that nobody reads any more: under a condition the
    // compiler would keep what is loaded apart from what was, and run out of registers beside large sums.
    if (ring.always) ahead = arith::min(arena_, ahead, arena_.index(ring.loop->end->as_int() - 1));
    const auto guarded = [&](Block copies) { return ring.always ? copies : where_it_is(ring, ahead, std::move(copies)); };
    for (StmtPtr& p : staged ? guarded(load(ring, ahead)) : issue_all(ring, ahead, write)) body.push_back(std::move(p));
    for (const StmtPtr& b : use_slots(ring, block(rest), read)) body.push_back(b);
    if (staged) {
      for (StmtPtr& p : guarded(store(ring, write))) body.push_back(std::move(p));
      body.push_back(call(Primitive::cp_async_commit));
    }
    if (counted) return body;
    body.push_back(advance(ring, ring.read_slot, read));
    body.push_back(advance(ring, ring.write_slot, write));
    return body;
  }

  static bool uses(const Block& block, VarId var) {
    bool found = false;
    for_each_stmt(block, [&](const Stmt& s) { for_each_expr(s, [&](Expr e) { found |= uses_var(e, var); }); });
    return found;
  }

  BufferId tile_of(const StmtPtr& copy) const { return storage_of(program_, std::get<Copy>(copy->node).dst.buffer); }

  // Gives each ring buffer its leading dim; returns their declarations, taken out of the loop where they stood in it.
  Block stage_buffers(const Ring& ring, Block& rest) {
    Block hoisted;
    for (const StmtPtr& s : ring.copies) {
      const BufferId id = tile_of(s);
      std::vector<BufferId> all = views_of(program_, id);
      all.push_back(id);
      for (BufferId one : all) {
        Buffer& b = program_.buffers[one];
        b.shape.insert(b.shape.begin(), arena_.index(ring.stages));
        b.stages = ring.stages;
      }
      const auto inside = std::find_if(rest.begin(), rest.end(), [&](const StmtPtr& r) {
        const auto* a = std::get_if<Alloc>(&r->node);
        return a && a->buffer == id;
      });
      if (inside != rest.end()) {
        hoisted.push_back(*inside);
        rest.erase(inside);
      }
    }
    return hoisted;
  }

  Block use_slots(const Ring& ring, const Block& body, Expr slot) {
    const auto staged = [&](BufferId id) {
      return std::any_of(ring.copies.begin(), ring.copies.end(),
                         [&](const StmtPtr& s) { return tile_of(s) == storage_of(program_, id); });
    };
    const auto region = [&](Region& r) { if (r.buffer != kNoBuffer && staged(r.buffer)) add_slot(r, slot); };
    const auto access = [&](Access& a) {
      if (a.buffer != kNoBuffer && staged(a.buffer)) a.indices.insert(a.indices.begin(), slot);
    };
    return rewrite_block(body, [&](const StmtPtr& s) -> Block {
      Stmt copy = *s;
      std::visit(Overload{[&](Copy& c) { region(c.src); region(c.dst); }, [&](Fill& f) { region(f.dst); },
                          [&](Gemm& g) { region(g.a); region(g.b); region(g.c); region(g.metadata); },
                          [&](Reduce& r) {
                            if (staged(r.src.buffer)) ++r.dim;
                            region(r.src);
                            region(r.dst);
                          },
                          [&](CallDevice& c) {
                            for (DeviceOperand& operand : c.operands) access(operand.at);
                          },
                          [&](Let& l) { access(l.read); }, [&](Store& t) { access(t.to); }, [&](Atomic& a) { access(a.to); },
                          [](auto&) {}},
                 copy.node);
      return {std::make_shared<const Stmt>(std::move(copy))};
    });
  }

  Program& program_;
  arith::Facts& facts_;
  Arena& arena_;
  KernelPlan& plan_;
  const int warp_size_;
};

}  // namespace

Result<Module> apply_rings(Module module, const PassContext& context) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    RingRewriter rewriter(module, module.plans[k], context.target.warp_size);
    module.program.kernels[k].body = rewriter.block(module.program.kernels[k].body);
  }
  return module;
}

}  // namespace tilert::passes
