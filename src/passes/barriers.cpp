// One forward walk with a state of accesses since the last barrier; loops are walked until their state is stable.
#include "passes/barriers.h"

#include <functional>
#include <utility>

#include "ir/semantics.h"
#include "ir/visit.h"
#include "passes/roles.h"
#include "passes/shared_plan.h"

namespace tilert::passes {
namespace {

using namespace ir;

using Update = std::pair<BufferId, AtomicOp>;  // a kind of atomic operation that nobody asks the old value of

struct State {
  std::set<BufferId> reads, writes;  // since the last barrier
  std::set<Update> updates;
  std::set<BufferId> flying;         // written by asynchronous copies that no wait has covered
  std::set<BufferId> aged;           // of the reads, those of trips before this one of a loop with a staged ring
  bool operator==(const State&) const = default;
  void merge(const State& o) {
    reads.insert(o.reads.begin(), o.reads.end());
    writes.insert(o.writes.begin(), o.writes.end());
    updates.insert(o.updates.begin(), o.updates.end());
    flying.insert(o.flying.begin(), o.flying.end());
    aged.insert(o.aged.begin(), o.aged.end());
  }
};

struct Effects {
  std::set<BufferId> reads, writes, async;
  std::set<BufferId> staged;  // written by the copies of a staged ring, to a slot that this trip does not read
  std::set<Update> updates;
  bool waits = false;
};

class Inserter {
 public:
  Inserter(const Program& program, const KernelPlan& plan) : program_(program), roles_(plan.roles), tiles_(roles_.on ? plan.tile_round : kNoVar) {
    for (const auto& [loop, ring] : plan.rings) {
      if (ring.stages < 2) continue;
      ahead_.insert(ring.copies.begin(), ring.copies.end());
      if (ring.staged) staged_.insert(loop);
    }
  }

  Block run(const Block& block) {
    State state;
    return walk(block, state);
  }

 private:
  Block walk(const Block& in, State& state) {
    Block out;
    for (const StmtPtr& s : in) {
      if (const auto* loop = std::get_if<For>(&s->node); loop && has_groups(loop->body)) {
        out.push_back(walk_loop(s, *loop, state));
      } else if (const auto* again = std::get_if<While>(&s->node); again && (has_groups(again->head) || has_groups(again->body))) {
        out.push_back(walk_while(s, *again, state));
      } else if (std::holds_alternative<Jump>(s->node)) {
        if (!exits_.empty()) exits_.back().merge(state);  // what stands behind the loop follows this too
        out.push_back(s);
      } else if (const auto* branch = std::get_if<If>(&s->node); branch && (has_groups(branch->then_body) || has_groups(branch->else_body))) {
        before(first_effects(branch->then_body), state, out);
        before(first_effects(branch->else_body), state, out);
        State other = state;
        Block then_body = walk(branch->then_body, state);
        Block else_body = walk(branch->else_body, other);
        state.merge(other);
        out.push_back(make_stmt(If{branch->condition, std::move(then_body), std::move(else_body)}, s->ordinal, s->location));
      } else if (const auto* threads = std::get_if<Group>(&s->node); threads && synchronizes(threads->body)) {
        walk_threads(s, *threads, state, out);
      } else {
        const Effects effects = effects_of(*s);
        before(effects, state, out);
        if (is_barrier(*s)) met(*s, state);
        apply(effects, state);
        out.push_back(s);
        if (effects.waits && at_head_ && !state.writes.empty()) meet(state, out);
      }
    }
    return out;
  }

  // A trip starts after what stands before the loop, or after a trip: the state at its head is the union. Returns what
  // jumps out of the loop bring.
  State stable(State& head, const std::function<void(State&)>& trip) {
    for (;;) {
      State tail = head;
      exits_.emplace_back();
      trip(tail);
      State left = std::move(exits_.back());
      exits_.pop_back();
      State joined = head;
      joined.merge(tail);
      if (joined == head) return left;
      head = joined;
    }
  }

  StmtPtr walk_loop(const StmtPtr& s, const For& loop, State& state) {
    For result = loop;
    State tail;
    const bool staged = staged_.count(s->ordinal) != 0;
    const State left = stable(state, [&](State& trip) {
      if (staged) trip.aged = trip.reads;
      const bool around = std::exchange(at_head_, staged);
      result.body = walk(loop.body, trip);
      at_head_ = around;
      tail = trip;
      if (loop.var == tiles_) forget_tensors(trip);
    });
    state.merge(tail);
    state.merge(left);
    return make_stmt(std::move(result), s->ordinal, s->location);
  }

  StmtPtr walk_while(const StmtPtr& s, const While& loop, State& state) {
    While result = loop;
    State behind;  // where the condition does not hold
    const State left = stable(state, [&](State& trip) {
      result.head = walk(loop.head, trip);
      behind = trip;
      result.body = walk(loop.body, trip);
    });
    state = behind;
    state.merge(left);
    return make_stmt(std::move(result), s->ordinal, s->location);
  }

  // A loop over threads has its own barriers between its parts: what stands before it meets the first part, what stands
  // behind it the last.
  static bool synchronizes(const Block& body) {
    for (const StmtPtr& s : body)
      if (const auto* c = std::get_if<Call>(&s->node); c && c->primitive == Primitive::barrier) return true;
    return false;
  }
  void walk_threads(const StmtPtr& s, const Group& group, State& state, Block& out) const {
    std::vector<Group> parts(1);
    for (const StmtPtr& inner : group.body) {
      if (synchronizes({inner})) parts.emplace_back();
      else parts.back().body.push_back(inner);
    }
    const auto effects = [&](const Group& part) {
      Effects e = effects_of(*make_stmt(part, s->ordinal));
      e.writes.merge(e.async);  // waited for before the end, or behind a barrier
      e.async.clear();
      return e;
    };
    before(effects(parts.front()), state, out);
    State last;
    last.flying = state.flying;
    for (const Group& part : parts) {
      const Effects e = effects(part);
      clear(last);
      apply(e, last);
    }
    state = last;
    out.push_back(s);
  }

  // Leaf groups contain no barriers and are one unit; control flow that holds groups is walked.
  static bool has_groups(const Block& block) {
    bool found = false;
    for_each_stmt(block, [&](const Stmt& s) {
      found |= std::holds_alternative<Group>(s.node) || std::holds_alternative<Jump>(s.node) || is_sync(s);
    });
    return found;
  }
  static void clear(State& state) {
    state.reads.clear();
    state.writes.clear();
    state.updates.clear();
    state.aged.clear();
  }
  // At a barrier that a lowering placed. One of a warpgroup or warp among others orders what only that one touches.
  void met(const Stmt& s, State& state) const {
    const auto& call = std::get<Call>(s.node);
    const auto settle = [&](const std::set<BufferId>& tiles) {
      for (BufferId tile : tiles) {
        state.reads.erase(tile);
        state.writes.erase(tile);
      }
    };
    if (call.primitive == Primitive::warp_sync) return settle(roles_.warp_staging);
    if (call.primitive != Primitive::named_barrier) return clear(state);
    const Expr id = call.args[0].value;
    if (id->is_constant() && id->as_int() == kConsumerBarrier && call.args[1].value->as_int() == int64_t{roles_.consumers} * 128) return clear(state);
    if (call.args[1].value->as_int() == 128) settle(roles_.staging);  // else a turn, which orders nothing
  }
  // Tiles are blocks of the grid to the program, and blocks are in no order unless they say so, which kernels with roles do not.
  void forget_tensors(State& state) const {
    const auto is_tensor = [&](BufferId id) { return program_.buffer(id).scope == Scope::global && !is_workspace(program_.buffer(id)); };
    std::erase_if(state.reads, is_tensor);
    std::erase_if(state.writes, is_tensor);
    std::erase_if(state.updates, [&](const Update& u) { return is_tensor(u.first); });
  }
  static bool is_barrier(const Stmt& s) {
    const auto* c = std::get_if<Call>(&s.node);
    return c && (primitive_row(c->primitive).kind == "barrier" || c->primitive == Primitive::warp_sync);
  }
  static bool is_sync(const Stmt& s) {
    const auto* c = std::get_if<Call>(&s.node);
    return c && primitive_row(c->primitive).kind != "plain" && primitive_row(c->primitive).kind != "collective" &&
           primitive_row(c->primitive).kind != "async";
  }

  Effects effects_of(const Stmt& root) const {
    Effects effects;
    const auto add = [&](const Stmt& s) {
      if (const auto* c = std::get_if<Call>(&s.node)) return call_effects(*c, effects);
      if (const auto* a = std::get_if<Atomic>(&s.node); a && a->old == kNoVar && atomic_commutes(a->op)) {
        effects.updates.insert({a->to.buffer, a->op});
        return;
      }
      for (const BufferUse& use : buffer_uses(s)) {
        if (!handed_on(use.buffer) || std::holds_alternative<Alloc>(s.node)) continue;
        if (use.read) effects.reads.insert(use.buffer);
        if (use.write) effects.writes.insert(use.buffer);
      }
    };
    Block one{std::make_shared<const Stmt>(root)};
    for_each_stmt(one, add);
    // A ring's copy that threads make themselves is kept apart from its readers as an asynchronous one is.
    if (const auto* group = std::get_if<Group>(&root.node); group && waits_for_all(group->body)) {
      effects.writes.merge(effects.async);
      effects.async.clear();
    }
    if (std::holds_alternative<Group>(root.node) && ahead_.count(root.ordinal)) {
      (at_head_ ? effects.staged : effects.async).merge(effects.writes);
      effects.writes.clear();
    }
    return effects;
  }

  static bool waits_for_all(const Block& body) {
    const auto* c = body.empty() ? nullptr : std::get_if<Call>(&body.back()->node);
    return c && c->primitive == Primitive::cp_async_wait && c->args[0].text == "0";
  }

  void call_effects(const Call& c, Effects& effects) const {
    const PrimitiveRow& row = primitive_row(c.primitive);
    if (c.primitive == Primitive::cp_async_wait) effects.waits = true;
    for (size_t i = 0; i < c.args.size() && i < row.arguments.size(); ++i) {
      if (c.args[i].kind != CallArg::Kind::address || !handed_on(c.args[i].at.buffer)) continue;
      const BufferId id = c.args[i].at.buffer;
      if (row.arguments[i] == 'S' || row.arguments[i] == 'G') effects.reads.insert(id);
      if (row.arguments[i] == 'D' || row.arguments[i] == 'H') effects.writes.insert(id);
      if (row.arguments[i] == 'A') effects.async.insert(id);
      if (row.arguments[i] == 'U') effects.updates.insert({id, AtomicOp::add});
    }
  }

  // What a branch does before any barrier of its own could stand: all of it, since barriers inside would be inserted late.
  Effects first_effects(const Block& block) const {
    Effects all;
    for (const StmtPtr& s : block) {
      const Effects e = effects_of(*s);
      all.reads.insert(e.reads.begin(), e.reads.end());
      all.writes.insert(e.writes.begin(), e.writes.end());
      all.async.insert(e.async.begin(), e.async.end());
      all.staged.insert(e.staged.begin(), e.staged.end());
      all.updates.insert(e.updates.begin(), e.updates.end());
    }
    return all;
  }

  // Memory through which one thread's values reach another: shared tiles, and tensors that the program writes.
  bool handed_on(BufferId id) const {
    const Buffer& b = program_.buffer(id);
    if (roles_.ring.count(id)) return false;
    return b.scope == Scope::shared || (b.scope == Scope::global && (b.direction != Direction::in || b.may_alias));
  }

  bool overlap(BufferId a, BufferId b) const {
    if (a == b) return true;
    const Buffer &x = program_.buffer(a), &y = program_.buffer(b);
    if (x.scope != y.scope) return false;
    if (x.scope == Scope::global) return may_share(x, y);
    return x.byte_offset < y.byte_offset + tile_bytes(program_, b) && y.byte_offset < x.byte_offset + tile_bytes(program_, a);
  }
  bool meets(const std::set<BufferId>& a, const std::set<BufferId>& b) const {
    for (BufferId x : a)
      for (BufferId y : b)
        if (overlap(x, y)) return true;
    return false;
  }

  // Atomic operations of one kind go together; of two kinds, or beside plain accesses, they have an order.
  bool meets(const std::set<Update>& a, const std::set<Update>& b) const {
    for (const Update& x : a)
      for (const Update& y : b)
        if (x.second != y.second && overlap(x.first, y.first)) return true;
    return false;
  }
  static std::set<BufferId> buffers(const std::set<Update>& updates) {
    std::set<BufferId> out;
    for (const Update& u : updates) out.insert(u.first);
    return out;
  }

  void before(const Effects& e, State& state, Block& out) const {
    const std::set<BufferId> updated = buffers(state.updates), updates = buffers(e.updates);
    const bool plain = meets(e.reads, state.writes) || meets(e.writes, state.writes) || meets(e.writes, state.reads) ||
                       meets(e.async, state.writes) || meets(e.async, state.reads) || meets(e.staged, state.writes) || meets(e.staged, state.aged);
    const bool atomic = meets(e.updates, state.updates) || meets(updates, state.reads) || meets(updates, state.writes) ||
                        meets(e.reads, updated) || meets(e.writes, updated) || meets(e.async, updated) || meets(e.staged, updated);
    if (plain || atomic) meet(state, out);
  }

  void meet(State& state, Block& out) const {
    out.push_back(make_stmt(barrier()));
    clear(state);
  }

  // Of all threads, or of the consumers where warps have roles (the producer's part never conflicts: its ring is kept by
  // mbarriers).
  Call barrier() const {
    if (!roles_.on) return Call{Primitive::barrier, {}};
    Call c{Primitive::named_barrier, {}};
    for (int64_t v : {int64_t{kConsumerBarrier}, int64_t{roles_.consumers} * 128})
      c.args.push_back(CallArg{CallArg::Kind::value, program_.arena->index(v), {}, 0, {}});
    return c;
  }

  static void apply(const Effects& e, State& state) {
    state.reads.insert(e.reads.begin(), e.reads.end());
    state.writes.insert(e.writes.begin(), e.writes.end());
    state.updates.insert(e.updates.begin(), e.updates.end());
    if (e.waits) {
      state.writes.insert(state.flying.begin(), state.flying.end());
      state.flying.clear();
    }
    state.flying.insert(e.async.begin(), e.async.end());
    state.flying.insert(e.staged.begin(), e.staged.end());
  }

  const Program& program_;
  const RolePlan& roles_;
  VarId tiles_;  // of the loop over tiles of a kernel with roles
  std::set<uint32_t> ahead_;  // copies of rings
  std::set<uint32_t> staged_;  // loops with staged rings
  // Directly in one: a trip's barrier stands at its head, in front of its loads, since some chips wait for all loads at a barrier.
  bool at_head_ = false;
  std::vector<State> exits_;  // of the loops around: what jumps out of them bring
};

}  // namespace

Result<Module> insert_barriers(Module module, const PassContext&) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    Inserter inserter(module.program, module.plans[k]);
    module.program.kernels[k].body = inserter.run(module.program.kernels[k].body);
  }
  return module;
}

}  // namespace tilert::passes
