// A trip's statements: conditions, what each role computes for itself, and work of the consumers beside products (role_operands.cpp).
#include <fmt/format.h>

#include <algorithm>

#include "ir/visit.h"
#include "passes/cluster.h"
#include "passes/region.h"
#include "passes/role_planner.h"

namespace tilert::passes {

using namespace ir;

std::string RolePlanner::take_way(const For& loop) {
  for_each_stmt(loop.body, [&](const Stmt& s) {
    const auto* let = std::get_if<Let>(&s.node);
    if (let && let->value && dtype_is_integer(let->value->dtype) && values_->is_shared(let->var))
      module_.facts.define(program_.var(let->var), module_.facts.range(let->value));
  });
  const Block* block = &loop.body;
  while (const If* branch = way_in(*block)) {
    for (const StmtPtr& s : *block)
      if (const auto* let = std::get_if<Let>(&s->node); let && !values_->is_shared(let->var))
        return fmt::format("operation {}: it is computed by the consumers alone, before a condition that the producer needs too", s->ordinal);
    if (std::string reason = take_condition(branch->condition); !reason.empty()) return fmt::format("operation {}: {}", block->back()->ordinal, reason);
    block = &branch->then_body;
  }
  trip_ = block;
  return {};
}

// Producer and consumers must come to the same, and where blocks share copies, all of them.
std::string RolePlanner::take_condition(Expr condition) const {
  if (!values_->is_shared(condition)) return "its copies depend on what only the consumers know: let the condition be of indices, dims, scalars and tensors that the kernel does not write";
  if (kernel_.cluster > 1 && depends_on(condition, differing_)) return "blocks of a cluster would make different copies";
  return {};
}

std::string RolePlanner::take_statement(const Stmt& s) {
  if (const auto* branch = std::get_if<If>(&s.node)) return take_branch(s, *branch);
  std::string reason;
  const auto* copy = std::get_if<Copy>(&s.node);
  if (copy && program_.buffer(copy->dst.buffer).scope != Scope::fragment) reason = take_load(s, *copy);
  else if (const auto* gemm = std::get_if<Gemm>(&s.node)) reason = take_product(s, *gemm);
  else if (const auto* let = std::get_if<Let>(&s.node)) reason = take_let(*let);
  else if (!std::holds_alternative<Alloc>(s.node)) reason = take_work(s);
  return reason.empty() ? reason : fmt::format("operation {}: {}", s.ordinal, reason);
}

// Products in a branch are waited for within it.
std::string RolePlanner::take_branch(const Stmt& s, const If& branch) {
  plan_.roles.works = plan_.roles.in_order = true;
  bool copies = false;
  for_each_load(program_, branch.then_body, [&](const StmtPtr&, const Copy&, Expr) { copies = true; });
  for_each_load(program_, branch.else_body, [&](const StmtPtr&, const Copy&, Expr) { copies = true; });
  std::string reason = copies ? take_condition(branch.condition) : std::string();
  if (!reason.empty()) return fmt::format("operation {}: {}", s.ordinal, reason);
  for (const Block* block : {&branch.then_body, &branch.else_body}) {
    for (const StmtPtr& inner : *block)
      if (reason = take_statement(*inner); !reason.empty()) return reason;
    if (reason = take_branch_tiles(*block); !reason.empty()) return reason;
  }
  return {};
}

// A slot holds what its trip copies, and nothing of the trips before.
std::string RolePlanner::take_branch_tiles(const Block& block) const {
  const auto uses = [&](const Block& in, BufferId tile) {
    int64_t found = 0;
    for_each_stmt(in, [&](const Stmt& s) {
      if (std::holds_alternative<Alloc>(s.node)) return;
      for (const BufferUse& use : buffer_uses(s)) found += use.buffer == tile;
    });
    return found;
  };
  std::string reason;
  for_each_load(program_, block, [&](const StmtPtr& s, const Copy& copy, Expr) {
    if (uses(block, copy.dst.buffer) != uses(*trip_, copy.dst.buffer))
      reason = fmt::format("operation {}: its tile is used in trips that do not copy it", s->ordinal);
  });
  return reason;
}

void RolePlanner::share_trip_lets(const For& loop) {
  std::set<VarId> consumers;
  for (const Block* block = &loop.body; const If* branch = way_in(*block); block = &branch->then_body) {
    variables_of(branch->condition, producer_needs_);
    variables_of(branch->condition, consumers);
  }
  for_each_load(program_, *trip_, [&](const StmtPtr&, const Copy& copy, Expr condition) {
    for (Expr e : copy.src.offsets) variables_of(e, producer_needs_);
    if (condition) variables_of(condition, producer_needs_);
  });
  for_each_stmt(*trip_, [&](const Stmt& s) {
    const auto* let = std::get_if<Let>(&s.node);
    if (!is_load(program_, s) && !(let && values_->is_shared(let->var))) variables_of(s, consumers);
  });
  plan_.roles.producer_lets = values_->lets_for(producer_needs_);
  plan_.roles.consumer_lets = values_->lets_for(consumers);
  for_each_stmt(loop.body, [&](const Stmt& s) {
    if (const auto* let = std::get_if<Let>(&s.node); let && plan_.roles.producer_lets.count(let->var)) variables_of(s, producer_needs_);
  });
  // What is read ahead for the next trip must know which one that is, and its values.
  plan_.roles.in_order |= plan_.roles.works && (trip_ != &loop.body || !plan_.roles.consumer_lets.empty());
}

// Where only consumers can make it, in its turn.
std::string RolePlanner::take_let(const Let& let) {
  if (values_->is_shared(let.var)) return {};
  plan_.roles.works = plan_.roles.in_order = true;
  return let.value ? std::string() : note_work(let.read.buffer, false);
}

std::string RolePlanner::note_work(BufferId id, bool write) {
  const Buffer& b = program_.buffer(id);
  if (write && b.scope != Scope::fragment) return "work of its loop writes more than fragments";
  if (b.scope == Scope::shared && !filled_.count(id)) return "work of its loop reads a tile that the loop does not copy";
  if (b.scope == Scope::shared) plan_.roles.plain_tiles.insert(id);
  if (b.scope == Scope::fragment) worked_on_.insert(id);
  return {};
}

std::string RolePlanner::take_work(const Stmt& s) {
  plan_.roles.works = true;
  if (const auto* loop = std::get_if<Parallel>(&s.node)) return take_points(*loop);
  plan_.roles.in_order = true;
  if (const auto* copy = std::get_if<Copy>(&s.node); copy && !is_whole(program_, copy->dst)) return "work of its loop copies to a part of a fragment";
  if (const auto* copy = std::get_if<Copy>(&s.node); copy && program_.buffer(copy->src.buffer).scope == Scope::shared && !is_whole(program_, copy->src))
    return "work of its loop copies a part of a tile";
  if (const auto* store = std::get_if<Store>(&s.node); store && program_.buffer(store->to.buffer).scope == Scope::scalar) return {};
  if (!std::holds_alternative<Copy>(s.node) && !std::holds_alternative<Fill>(s.node) && !std::holds_alternative<Reduce>(s.node))
    return "its loop does more than copy, multiply and work on fragments";
  std::string reason;
  for (const BufferUse& use : buffer_uses(s))
    if (reason.empty()) reason = note_work(use.buffer, use.write);
  return reason;
}

std::string RolePlanner::take_points(const Parallel& loop) {
  if (loop.threads) return "its loop has work of single threads";
  std::string reason;
  const auto note = [&](BufferId id, bool write) {
    if (reason.empty()) reason = note_work(id, write);
  };
  for_each_stmt(loop.body, [&](const Stmt& s) {
    if (const auto* let = std::get_if<Let>(&s.node)) return let->value ? void() : note(let->read.buffer, false);
    if (const auto* store = std::get_if<Store>(&s.node)) return note(store->to.buffer, true);
    if (!std::holds_alternative<If>(s.node)) reason = "element-wise work of its loop holds more than reads, stores and conditions";
  });
  return reason;
}

}  // namespace tilert::passes
