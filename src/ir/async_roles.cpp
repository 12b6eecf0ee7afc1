// Roles for who has one thread: the work, and at each of its waits the issuers go on until it is over. An issuer is cut where
// it may wait; which stretch comes next stands in a variable.
#include "ir/async_parting.h"
#include "ir/parts.h"

namespace tilert::ir {
namespace {

bool has_wait(const Stmt& root) {
  bool found = false;
  for_each_stmt({std::make_shared<const Stmt>(root)}, [&](const Stmt& s) {
    const auto* op = std::get_if<AsyncOp>(&s.node);
    found |= op && op->kind == AsyncOpKind::wait;
  });
  return found;
}

// Variables that are made again are others, and those that are given have the values.
struct Renewer : PartVisitor {
  Program& p;
  std::unordered_map<VarId, Expr>& values;
  Renewer(Program& program, std::unordered_map<VarId, Expr>& v) : p(program), values(v) {}
  void expr(Expr& e) { e = substitute(*p.arena, e, values); }
  void region(Region& r, Use) {
    for (Expr& e : r.offsets) expr(e);
  }
  void access(Access& a, Use) {
    for (Expr& e : a.indices) expr(e);
  }
  void define(VarId& v) {
    const VarId old = v;
    v = p.add_var(p.vars[old].kind, p.vars[old].dtype, p.vars[old].name);
    values[old] = p.var(v);
  }
  void block(Block& b) {
    for (StmtPtr& s : b) {
      Stmt copy = *s;
      each_part(copy, *this);
      s = std::make_shared<const Stmt>(std::move(copy));
    }
  }
};

}  // namespace

void AsyncParting::roles(const Roles& n) {
  const Stmt* const stmt = at_;
  moved_ = scalar("moved", DType::boolean);
  std::vector<Issuer> issuers(n.issuers.size());
  for (size_t i = 0; i < issuers.size(); ++i) {
    issuers[i].place = scalar("place", DType::int64);
    emit(Store{{issuers[i].place, {}}, number(0)});
    size_t at = add_stretch(issuers[i]);
    flatten(issuers[i], n.issuers[i], at);
    issuers[i].stretches[at].next = issuers[i].stretches.size();
  }
  issuers_ = std::move(issuers);
  Block before = std::move(out_);
  out_.clear();
  Block work = rewrite_block(n.work, [&](const StmtPtr& s) { return statement(s); });
  out_ = std::move(before);
  out_.insert(out_.end(), work.begin(), work.end());
  at_ = stmt;
  advance(nullptr);
  for (const Issuer& issuer : issuers_) {  // one that is not through waits for what nobody does any more
    const BufferId through = tile(Buffer{"issuer", DType::int64, Scope::shared, {arena().index(1)}, {}}, "end", 0);
    const Expr place = let({issuer.place, {}});
    Block set;
    set.push_back(make_stmt(Store{{through, {arena().index(0)}}, number(1)}, at_->ordinal, at_->location));
    emit(If{arena().make(Op::eq, {place, number(static_cast<int64_t>(issuer.stretches.size()))}), std::move(set), {}});
    AsyncOp check{AsyncOpKind::wait};
    check.barrier = {through, {arena().index(0)}};
    check.value = arena().index(0);
    check.number = 1;  // of a role's end
    emit(std::move(check));
  }
  issuers_.clear();
}

size_t AsyncParting::add_stretch(Issuer& issuer) {
  issuer.stretches.emplace_back();
  return issuer.stretches.size() - 1;
}

// The variable's value at the end of the stretch as it stands, for all that follow.
void AsyncParting::keep(Issuer& issuer, VarId var, Expr value, size_t at) {
  const auto [found, added] = issuer.kept.emplace(var, kNoBuffer);
  const DType dtype = p_.vars[var].dtype == DType::index ? DType::int64 : p_.vars[var].dtype;
  if (added) found->second = scalar("kept", dtype);
  if (value->dtype == DType::index) value = arena().cast(value, DType::int64);
  issuer.stretches[at].body.push_back(make_stmt(Store{{found->second, {}}, value}, at_->ordinal, at_->location));
}

void AsyncParting::flatten(Issuer& issuer, const Block& body, size_t& at) {
  for (const StmtPtr& s : body) {
    const auto* op = std::get_if<AsyncOp>(&s->node);
    const auto* loop = std::get_if<For>(&s->node);
    const auto* branch = std::get_if<If>(&s->node);
    if (op && op->kind == AsyncOpKind::wait) {
      const size_t next = add_stretch(issuer);
      issuer.stretches[at].next = next;
      issuer.stretches[at = next].wait = *op;
    } else if (loop && has_wait(*s)) {
      keep(issuer, loop->var, loop->begin, at);
      const size_t head = add_stretch(issuer), first = add_stretch(issuer);
      const Expr i = p_.var(loop->var);
      issuer.stretches[at].next = head;
      issuer.stretches[head].condition = loop->step > 0 ? arena().make(Op::lt, {i, loop->end}) : arena().make(Op::lt, {loop->end, i});
      issuer.stretches[head].next = at = first;
      flatten(issuer, loop->body, at);
      keep(issuer, loop->var, arena().make(Op::add, {i, arena().index(loop->step)}), at);
      issuer.stretches[at].next = head;
      issuer.stretches[head].other = at = add_stretch(issuer);
    } else if (branch && has_wait(*s)) {
      const size_t from = at, yes = add_stretch(issuer), no = add_stretch(issuer);
      issuer.stretches[from].condition = branch->condition;
      issuer.stretches[from].next = at = yes;
      issuer.stretches[from].other = no;
      flatten(issuer, branch->then_body, at);
      size_t other = no;
      flatten(issuer, branch->else_body, other);
      const size_t behind = add_stretch(issuer);
      issuer.stretches[at].next = issuer.stretches[other].next = behind;
      at = behind;
    } else if (std::holds_alternative<Alloc>(s->node)) {
      out_.push_back(s);  // once, for all stretches
    } else {
      issuer.stretches[at].body.push_back(s);
      if (const auto* let = std::get_if<Let>(&s->node)) keep(issuer, let->var, p_.var(let->var), at);
    }
  }
}

// One stretch of the issuer, where it need not wait.
void AsyncParting::go_on(const Issuer& issuer) {
  const Expr place = let({issuer.place, {}});
  for (size_t i = 0; i < issuer.stretches.size(); ++i) {
    const Stretch& stretch = issuer.stretches[i];
    Block step = collect([&] {
      // What it has of others, then its wait and what follows; all of it with variables that are this place's alone.
      std::set<VarId> uses;
      const auto use = [&](Expr e) {
        if (e) for_each_node(e, [&](Expr n) { if (n->is_variable()) uses.insert(n->var()); });
      };
      for_each_stmt(stretch.body, [&](const Stmt& s) { for_each_expr(s, use); });
      use(stretch.condition);
      if (stretch.wait) use(stretch.wait->value), use(stretch.wait->barrier.indices[0]);
      for (const StmtPtr& s : stretch.body)
        if (const auto* own = std::get_if<Let>(&s->node)) uses.erase(own->var);
      std::unordered_map<VarId, Expr> values;
      for (const auto& [var, buffer] : issuer.kept) {
        if (!uses.count(var)) continue;
        const Expr kept = let({buffer, {}});
        values[var] = p_.vars[var].dtype == DType::index ? arena().cast(kept, DType::index) : kept;
      }
      Block rest = collect([&] {
        Block body = stretch.body;
        Renewer renewer(p_, values);
        renewer.block(body);
        for (StmtPtr& s : rewrite_block(body, [&](const StmtPtr& inner) { return statement(inner); })) out_.push_back(std::move(s));
        Expr next = number(static_cast<int64_t>(stretch.next));
        if (stretch.condition) next = arena().make(Op::select, {substitute(arena(), stretch.condition, values), next, number(static_cast<int64_t>(stretch.other))});
        emit(Store{{issuer.place, {}}, next});
        emit(Store{{moved_, {}}, arena().boolean(true)});
      });
      if (!stretch.wait) return void(out_.insert(out_.end(), rest.begin(), rest.end()));
      AsyncOp wait = *stretch.wait;
      wait.value = substitute(arena(), wait.value, values);
      wait.barrier.indices[0] = substitute(arena(), wait.barrier.indices[0], values);
      const Expr past = is_past(wait);
      emit(If{past, std::move(rest), {}});
    });
    emit(If{arena().make(Op::eq, {place, number(static_cast<int64_t>(i))}), std::move(step), {}});
  }
}

// Issuers go on in turns until the wait is over, or none can.
void AsyncParting::advance(const AsyncOp* until) {
  const Stmt* const stmt = at_;
  emit(Store{{moved_, {}}, arena().boolean(true)});
  Expr more = nullptr;
  Block head = collect([&] {
    more = let({moved_, {}});
    if (until) more = arena().make(Op::logical_and, {more, arena().make(Op::logical_not, {is_past(*until)})});
  });
  Block body = collect([&] {
    emit(Store{{moved_, {}}, arena().boolean(false)});
    for (const Issuer& issuer : issuers_) go_on(issuer);
    at_ = stmt;
  });
  emit(While{std::move(head), more, std::move(body)});
}

}  // namespace tilert::ir
