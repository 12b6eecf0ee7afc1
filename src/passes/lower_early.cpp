// What the places of vector accesses are made of, where the body of an element-wise loop computes it: a row that an index
// read from memory names. A read of a vector stands before the body, so what it needs is read before it too, once for the
// vector: it may depend on any coordinate but the last.
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

}  // namespace tilert::passes
