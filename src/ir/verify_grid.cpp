// What holds for a grid as a whole. Persistent kernels: the number of tiles is an element that the kernel does not write.
// Meetings: whether all blocks of a grid come to the same grid_syncs, as far as it shows: none may stand under a condition, in a loop
// or behind a jump that a block's index or the old value of an atomic operation decides. What is read from memory may
// differ from block to block too; that is for the program to know, and for the interpreter to find out.
// Dependent kernels: all threads wait for the grids before, and touch global memory after that only.
#include <algorithm>
#include <set>

#include "ir/verifier_impl.h"
#include "ir/visit.h"

namespace tilert::ir {
namespace {

class Meetings {
 public:
  explicit Meetings(const Kernel& kernel) : own_(kernel.block_vars.begin(), kernel.block_vars.end()) {}

  // The grid_sync that not all blocks come to; null: all do.
  const Stmt* walk(const Block& block, bool apart) {
    for (const StmtPtr& s : block)
      if (const Stmt* wrong = statement(*s, apart || left_ || finished_)) return wrong;
    return nullptr;
  }

 private:
  bool differs(Expr e) const {
    bool found = false;
    if (e) for_each_node(e, [&](Expr n) { found |= n->is_variable() && own_.count(n->var()) != 0; });
    return found;
  }

  const Stmt* statement(const Stmt& s, bool apart) {
    if (std::holds_alternative<GridSync>(s.node)) return apart ? &s : nullptr;
    if (const auto* let = std::get_if<Let>(&s.node); let && differs(let->value)) own_.insert(let->var);
    if (const auto* atomic = std::get_if<Atomic>(&s.node); atomic && atomic->op != AtomicOp::load) own_.insert(atomic->old);
    if (const auto* call = std::get_if<CallDevice>(&s.node); call && call->var != kNoVar) {
      bool own = false;
      for (const DeviceOperand& operand : call->operands) own |= writes_through(operand.passing) || differs(operand.value);
      if (own) own_.insert(call->var);
    }
    if (const auto* jump = std::get_if<Jump>(&s.node); jump && apart) (jump->kind == JumpKind::finish ? finished_ : left_) = true;
    if (const auto* branch = std::get_if<If>(&s.node)) {
      const bool under = apart || differs(branch->condition);
      const Stmt* wrong = walk(branch->then_body, under);
      return wrong ? wrong : walk(branch->else_body, under);
    }
    if (const auto* loop = std::get_if<For>(&s.node)) {
      const bool under = apart || differs(loop->begin) || differs(loop->end);
      if (under) own_.insert(loop->var);
      return trips(under, [&](bool now) { return walk(loop->body, now); });
    }
    if (const auto* loop = std::get_if<While>(&s.node))
      return trips(apart, [&](bool now) {
        const Stmt* wrong = walk(loop->head, now);
        const bool under = now || differs(loop->condition);
        if (!wrong && under && !now) wrong = first(loop->head);
        return wrong ? wrong : walk(loop->body, under);
      });
    return nullptr;
  }

  // What one trip learns holds in the next: who has left, and which values differ. Trips that learn nothing are the last, so
  // that nests cost what they teach and not two to their depth. Behind the loop those who left it are back.
  template <class Trip>
  const Stmt* trips(bool apart, const Trip& trip) {
    const bool outside = left_;
    const Stmt* wrong = nullptr;
    for (bool more = true; more && !wrong;) {
      const bool now = apart || left_ || finished_;
      const size_t known = own_.size();
      wrong = trip(now);
      more = own_.size() != known || now != (apart || left_ || finished_);
    }
    left_ = outside;
    return wrong;
  }

  static const Stmt* first(const Block& block) {
    const Stmt* found = nullptr;
    for_each_stmt(block, [&](const Stmt& s) {
      if (!found && std::holds_alternative<GridSync>(s.node)) found = &s;
    });
    return found;
  }

  std::set<VarId> own_;    // variables that may differ from block to block
  bool left_ = false;      // some blocks may have left the loop around, or its trip
  bool finished_ = false;  // some blocks may have ended
};

}  // namespace

bool Verifier::check(const GridSync&) { return true; }

bool Verifier::tile_cost(const Kernel& k, Expr e) {
  if (e->dtype != DType::index || !typed(e)) return fail("a tile's cost or locality is not an index expression");
  bool fits = true;
  for_each_node(e, [&](Expr n) {
    if (!n->is_variable() || n->var() >= p_.vars.size()) return;
    const bool own = std::find(k.block_vars.begin(), k.block_vars.end(), n->var()) != k.block_vars.end();
    fits &= own || p_.vars[n->var()].kind == VarKind::dim;
  });
  for (const Kernel& other : p_.kernels)
    if (&other != &k && other.cost) return fail("two kernels of a program have a cost: plan one of them, or build two programs");
  return fits || fail("a tile's cost or locality depends on more than the block indices and dims");
}

bool Verifier::persistent(const Kernel& k) {
  if (stage_ < Stage::specialized && (k.blocks != kNoVar || k.planner || k.flat))
    return fail("planners, numbers of blocks and flat elements are made by passes; a program says persistent and gives a cost");
  if ((k.cluster > 1) != (k.rank != kNoVar) || k.cluster < 1 || k.cluster > 16) return fail("a cluster has 2 to 16 blocks, told apart by their rank");
  if (k.cluster > 1 && stage_ < Stage::specialized) return fail("clusters are made by passes; a program gives the hint");
  if (!k.persistent)
    return (k.tile_count == kNoBuffer && (k.blocks == kNoVar || k.planner) && !k.cost) || fail("only a persistent kernel counts tiles or blocks");
  for (Expr e : {k.cost, k.locality})
    if (e && !tile_cost(k, e)) return false;
  if (k.source) return fail("a source kernel is not persistent: its own text loops over its tiles");
  if (k.blocks != kNoVar && (k.blocks >= p_.vars.size() || p_.vars[k.blocks].kind != VarKind::blocks || k.grid.size() != 1))
    return fail("a persistent kernel names no number of blocks");
  for_each_stmt(k.body, [&](const Stmt& s) {
    if (!current_ && std::holds_alternative<GridSync>(s.node)) current_ = &s;
  });
  if (current_) return fail("grid_sync in a persistent kernel, whose blocks do different numbers of tiles: use a plain grid");
  if (k.tile_count == kNoBuffer) return true;
  if (k.tile_count >= p_.buffers.size()) return fail("the tile count names no tensor");
  const Buffer& count = p_.buffers[k.tile_count];
  if (is_table(count)) return fail(fmt::format("the tile count {} is a table of pointers; make it a tensor of one element", name(k.tile_count)));
  if (count.scope != Scope::global || (count.dtype != DType::int32 && count.dtype != DType::int64))
    return fail(fmt::format("the tile count {} is {}; it is the first element of a tensor of i32 or i64", name(k.tile_count), dtype_text(count.dtype)));
  if (count.direction == Direction::out) return fail(fmt::format("the tile count {} is an output; make it in or inout", name(k.tile_count)));
  for_each_stmt(k.body, [&](const Stmt& s) {
    for (const BufferUse& use : buffer_uses(s))
      if (!current_ && use.write && p_.buffers[use.buffer].scope == Scope::global && p_.buffers[use.buffer].parameter == count.parameter)
        current_ = &s;
  });
  return !current_ || fail(fmt::format("the kernel writes {}, which counts its tiles; let another kernel write it", name(k.tile_count)));
}

// The wait holds for whoever comes after this grid too: it must have seen the end of those before it.
bool Verifier::dependent(const Kernel& k) {
  const auto is_wait = [](const Stmt& s) {
    const auto* call = std::get_if<Call>(&s.node);
    return call && call->primitive == Primitive::wait_for_grids;
  };
  int waits = 0;
  for_each_stmt(k.body, [&](const Stmt& s) { waits += is_wait(s); });
  if (waits == 0) return true;
  for (const StmtPtr& s : k.body) {
    current_ = s.get();
    if (is_wait(*s)) return waits == 1 || fail("the kernel waits for the grids before it more than once");
    if (touches_global(p_, *s)) return fail("global memory is touched before the wait for the grids that may still write it");
  }
  current_ = nullptr;
  return fail("the wait for the grids before stands where not all threads come to it");
}

bool Verifier::grid_syncs(const Kernel& k) {
  if (lowered()) return true;
  const Stmt* wrong = Meetings(k).walk(k.body, false);
  if (!wrong) return true;
  current_ = wrong;
  return fail("not all blocks come to this grid_sync: what decides it depends on the block's index or on the old value of an "
              "atomic operation; put it where all blocks pass, and what is for some of them under an if beside it");
}

}  // namespace tilert::ir
