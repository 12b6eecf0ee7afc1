// What the places of vector accesses are made of, where the body of an element-wise loop computes it: a row that an index
// read from memory names. A read of a vector stands before the body, so what it needs is read before it too, once for the
// vector: it may depend on any coordinate but the last.
#include <functional>

#include "ir/visit.h"
#include "passes/element_wise.h"

namespace tilert::passes {

using namespace ir;

// Which variables the body defines, and which of them have one value along the last coordinate and may be had early.
void ElementWise::find_early() {
  if (loop_.vars.empty()) return;  // a single point has no vectors
  std::set<VarId> late{loop_.vars.back()};
  const auto depends = [&](Expr e) {
    bool found = false;
    for_each_node(e, [&](Expr n) { found |= n->is_variable() && late.count(n->var()) != 0; });
    return found;
  };
  std::vector<BufferId> written;
  for_each_stmt(loop_.body, [&](const Stmt& s) {
    if (const auto* l = std::get_if<Let>(&s.node)) late.insert(l->var);
    if (const auto* f = std::get_if<For>(&s.node)) late.insert(f->var);
    if (const auto* a = std::get_if<Atomic>(&s.node)) late.insert(a->old);
    if (const auto* op = std::get_if<ThreadOp>(&s.node)) late.insert(op->var);
    if (const auto* call = std::get_if<CallDevice>(&s.node)) late.insert(call->var);
    for (const BufferUse& use : buffer_uses(s))
      if (use.write) written.push_back(use.buffer);
  });
  defined_ = late;
  for (const StmtPtr& s : loop_.body) {
    const auto* l = std::get_if<Let>(&s->node);
    if (!l) continue;
    bool fits = true;
    for_each_expr(*s, [&](Expr e) { fits &= !depends(e); });
    if (!l->value) {
      const Scope scope = low_.program().buffer(l->read.buffer).scope;
      fits &= scope == Scope::global || scope == Scope::shared;
      for (BufferId b : written) fits &= !low_.same_memory(b, l->read.buffer);
    }
    if (!fits) continue;
    late.erase(l->var);
    early_.push_back(l);
  }
  late.erase(loop_.vars.back());
  late_ = std::move(late);
}

bool ElementWise::is_late(const std::vector<Expr>& indices) const {
  bool found = false;
  for (Expr e : indices)
    for_each_node(e, [&](Expr n) { found |= n->is_variable() && late_.count(n->var()) != 0; });
  return found;
}

// The early values that vectors' places use, for the coordinates that are set; all, where one is used.
void ElementWise::read_early() {
  bool used = false;
  for (const Vector& v : vectors_)
    for (Expr e : moved(*v.stmt)->indices)
      for_each_node(e, [&](Expr n) { used |= n->is_variable() && n->var() != loop_.vars.back() && defined_.count(n->var()) != 0; });
  if (!used) return;
  for (const Let* l : early_) {
    if (l->value) {
      env_[l->var] = low_.let(value(l->value), "early");
      continue;
    }
    const auto indices = values(l->read.indices);
    const Expr condition = arith::logical_and(low_.arena(), inside_extents(), bounds_condition(l->read, indices));
    const Access at = low_.memory_access(l->read.buffer, indices);
    if (!condition) {
      env_[l->var] = low_.read(at, "early");
      continue;
    }
    const BufferId box = low_.scalar(low_.program().buffer(l->read.buffer).dtype, "early");
    low_.store({box, {}}, safe_value(l->read));
    low_.when(condition, [&] { low_.store({box, {}}, low_.read(at, "early")); });
    env_[l->var] = low_.read({box, {}}, "early");
  }
}

// index < end, with what the registers of a thread have in common on the other side: a comparison of 32 bits with one value for
// all of them, where sums of 64 bits would take registers for each.
Expr ElementWise::below(Expr index, Expr end) {
  Arena& arena = low_.arena();
  std::set<VarId> moving;
  for (Expr e : {register_, inner_})
    if (e) for_each_node(e, [&](Expr n) { if (n->is_variable()) moving.insert(n->var()); });
  Expr own = low_.index(0), common = low_.index(0);
  const std::function<void(Expr)> part = [&](Expr e) {
    if (e->op == Op::add) return part(e->operand[0]), part(e->operand[1]);
    bool moves = false;
    for_each_node(e, [&](Expr n) { moves |= n->is_variable() && moving.count(n->var()); });
    Expr& side = moves || e->is_constant() ? own : common;
    side = arith::add(arena, side, e);
  };
  part(low_.simplify(index));
  const auto range = low_.facts().range(own);
  constexpr int64_t kMost = 1 << 20;
  if (range.low < 0 || range.high >= kMost || common->is_constant()) return low_.simplify(arith::lt(arena, index, end));
  const BufferId left = low_.registers(DType::int32, 1, "left");
  low_.call(Primitive::saturate_index, {registers_arg(left, low_.index(0), 1), value_arg(low_.simplify(arith::sub(arena, end, common)))});
  return arena.make(Op::lt, {arena.cast(low_.simplify(own), DType::int32), low_.read({left, {low_.index(0)}}, "left")});
}

void ElementWise::load_vectors() {
  read_early();
  for (auto& [stmt, box] : vectors_) {
    const auto* let = std::get_if<Let>(&stmt->node);
    const Access& access = *moved(*stmt);
    box = low_.registers(low_.program().buffer(access.buffer).dtype, vector_, "vector");
    if (!let) continue;
    const auto indices = values(access.indices);
    Expr condition = arith::logical_and(low_.arena(), inside_extents(), bounds_condition(access, indices));
    const Access at = low_.memory_access(access.buffer, indices);
    if (condition) {
      condition = low_.simplify(condition);
      const Expr safe = safe_value(access);
      if (loads_inside(access, safe)) {
        low_.call(Primitive::load_inside, {registers_arg(box, low_.index(0), vector_), address_arg(at), value_arg(condition)});
        continue;
      }
      Block moves = low_.collect([&] { move_vector({box, {low_.index(0)}}, at); });
      Block fills = low_.collect([&] { low_.unrolled(vector_, [&](Expr u) { low_.store({box, {u}}, safe); }); });
      low_.emit(If{condition, std::move(moves), std::move(fills)});
    } else {
      move_vector({box, {low_.index(0)}}, at);
    }
  }
}

// In kernels with roles, beside a product's registers.
bool ElementWise::loads_inside(const Access& access, Expr safe) const {
  const Buffer& b = low_.program().buffer(access.buffer);
  return low_.plan().roles.on && b.scope == Scope::global && !dtype_is_packed(b.dtype) && safe->is_constant() && safe->bits == 0 &&
         (bounds_.buffer != access.buffer || bounds_.eviction == Eviction::normal);
}

}  // namespace tilert::passes
