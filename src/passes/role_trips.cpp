// Which values of a trip both roles have, and how branches are brought around copies and products.
#include "passes/role_trips.h"

#include <algorithm>

#include "arith/build.h"
#include "ir/visit.h"
#include "passes/region.h"

namespace tilert::passes {

using namespace ir;

bool may_write(const Program& program, const Block& block, BufferId tensor) {
  bool found = false;
  for_each_stmt(block, [&](const Stmt& s) {
    found |= std::holds_alternative<Inline>(s.node);
    for (const BufferUse& use : buffer_uses(s)) found |= use.write && may_overlap(program, use.buffer, tensor);
  });
  return found;
}

bool is_load(const Program& program, const Stmt& s) {
  const auto* copy = std::get_if<Copy>(&s.node);
  return copy && program.buffer(copy->src.buffer).scope == Scope::global && program.buffer(copy->dst.buffer).scope == Scope::shared;
}

bool holds_load(const Program& program, const Block& block) {
  bool found = false;
  for_each_stmt(block, [&](const Stmt& s) { found |= is_load(program, s); });
  return found;
}

bool holds_product(const Block& block) {
  bool found = false;
  for_each_stmt(block, [&](const Stmt& s) { found |= std::holds_alternative<Gemm>(s.node); });
  return found;
}

void variables_of(Expr e, std::set<VarId>& to) {
  for_each_node(e, [&](Expr n) {
    if (n->is_variable()) to.insert(n->var());
  });
}

void variables_of(const Stmt& s, std::set<VarId>& to) {
  for_each_expr(s, [&](Expr e) { variables_of(e, to); });
}

TripValues::TripValues(const Program& program, const Kernel& kernel, const For& loop) : program_(program), kernel_(kernel) {
  for_each_stmt(loop.body, [&](const Stmt& s) {
    if (const auto* inner = std::get_if<For>(&s.node)) own_.insert(inner->var);
    if (const auto* points = std::get_if<Parallel>(&s.node)) own_.insert(points->vars.begin(), points->vars.end());
    if (const auto* call = std::get_if<CallDevice>(&s.node)) own_.insert(call->var);
    if (const auto* atomic = std::get_if<Atomic>(&s.node)) own_.insert(atomic->old);
    if (const auto* let = std::get_if<Let>(&s.node)) own_.insert(let->var);
  });
  add(loop.body);
}

// Of the block and its branches: what stands within element-wise work is its own.
void TripValues::add(const Block& block) {
  for (const StmtPtr& s : block) {
    if (const auto* branch = std::get_if<If>(&s->node)) add(branch->then_body), add(branch->else_body);
    const auto* let = std::get_if<Let>(&s->node);
    if (!let || !is_shared(*let)) continue;
    shared_.insert(let->var);
    made_of_.emplace_back(let->var, std::set<VarId>());
    variables_of(*s, made_of_.back().second);
  }
}

bool TripValues::is_shared(Expr e) const {
  std::set<VarId> used;
  variables_of(e, used);
  return std::all_of(used.begin(), used.end(), [&](VarId v) { return !own_.count(v) || shared_.count(v); });
}

bool TripValues::is_shared(const Let& let) const {
  if (let.value) return is_shared(let.value);
  // What a table names may be nowhere in trips that do not read it.
  return program_.buffer(let.read.buffer).scope == Scope::global && !is_addressed(program_.buffer(let.read.buffer)) && !may_write(program_, kernel_.body, let.read.buffer) &&
         std::all_of(let.read.indices.begin(), let.read.indices.end(), [&](Expr e) { return is_shared(e); });
}

std::set<VarId> TripValues::lets_for(const std::set<VarId>& needed) const {
  std::set<VarId> all = needed, lets;
  for (auto let = made_of_.rbegin(); let != made_of_.rend(); ++let) {
    if (!all.count(let->first)) continue;
    lets.insert(let->first);
    all.insert(let->second.begin(), let->second.end());
  }
  return lets;
}

namespace {

class TripShaper {
 public:
  TripShaper(Program& program, const Kernel& kernel, const For& loop) : program_(program), values_(program, kernel, loop) {}

  Block run(const Block& body) {
    const auto is_plain = [](const StmtPtr& s) { return !std::holds_alternative<If>(s->node) && !std::holds_alternative<Let>(s->node); };
    if (std::all_of(body.begin(), body.end(), is_plain)) return body;
    Block shaped = gather(strip(body));
    shaped.insert(shaped.begin(), declared_.begin(), declared_.end());
    return shaped;
  }

 private:
  // Without declarations, and with branches that do something where their condition holds.
  Block strip(const Block& in) {
    Block out;
    for (const StmtPtr& s : in) {
      const auto* branch = std::get_if<If>(&s->node);
      if (std::holds_alternative<Alloc>(s->node)) {
        declared_.push_back(s);
      } else if (branch) {
        If made{branch->condition, strip(branch->then_body), strip(branch->else_body)};
        if (made.then_body.empty()) made = {arith::logical_not(*program_.arena, made.condition), std::move(made.else_body), {}};
        if (!made.then_body.empty()) out.push_back(make_stmt(std::move(made), s->ordinal, s->location));
      } else {
        out.push_back(s);
      }
    }
    return out;
  }

  Block gather(const Block& in) {
    const StmtPtr way = only_branch(in);
    if (!way) return lift(in);
    If made = std::get<If>(way->node);
    Block out, inside;
    for (const StmtPtr& s : in)
      if (s != way) (is_load(program_, *s) ? inside : out).push_back(s);
    made.then_body.insert(made.then_body.begin(), inside.begin(), inside.end());
    made.then_body = gather(made.then_body);
    out.push_back(make_stmt(std::move(made), way->ordinal, way->location));
    return out;
  }

  // The last statement where all before it are shared lets and copies of tiles that it alone reads.
  StmtPtr only_branch(const Block& in) const {
    const auto* branch = in.empty() ? nullptr : std::get_if<If>(&in.back()->node);
    if (!branch || !branch->else_body.empty() || !holds_product(branch->then_body) || !values_.is_shared(branch->condition)) return nullptr;
    for (const StmtPtr& s : in) {
      const auto* let = std::get_if<Let>(&s->node);
      if (s == in.back() || (let && values_.is_shared(let->var))) continue;
      if (!is_load(program_, *s)) return nullptr;
    }
    return in.back();
  }

  Block lift(const Block& in) {
    Block out;
    for (const StmtPtr& s : in) {
      const auto* branch = std::get_if<If>(&s->node);
      if (!branch || !holds_load(program_, {s})) {
        out.push_back(s);
        continue;
      }
      If made{branch->condition, take_lets(lift(branch->then_body), out), take_lets(lift(branch->else_body), out)};
      out.push_back(make_stmt(std::move(made), s->ordinal, s->location));
    }
    return out;
  }

  Block take_lets(const Block& in, Block& to) const {
    Block rest;
    for (const StmtPtr& s : in) {
      const auto* let = std::get_if<Let>(&s->node);
      (let && values_.is_shared(let->var) ? to : rest).push_back(s);
    }
    return rest;
  }

  Program& program_;
  const TripValues values_;
  Block declared_;
};

}  // namespace

void shape_loops(Program& program, Kernel& kernel) {
  kernel.body = rewrite_block(kernel.body, [&](const StmtPtr& s) -> Block {
    const auto* loop = std::get_if<For>(&s->node);
    if (!loop || loop->kind != ForKind::pipelined) return {s};
    For shaped = *loop;
    shaped.body = TripShaper(program, kernel, *loop).run(loop->body);
    return {make_stmt(std::move(shaped), s->ordinal, s->location)};
  });
}

const If* way_in(const Block& block) {
  const auto* branch = block.empty() ? nullptr : std::get_if<If>(&block.back()->node);
  const auto leads = [](const StmtPtr& s) { return std::holds_alternative<Let>(s->node) || std::holds_alternative<Alloc>(s->node); };
  if (!branch || !branch->else_body.empty() || !holds_product(branch->then_body) || !std::all_of(block.begin(), block.end() - 1, leads)) return nullptr;
  return branch;
}

const Block& trip_of(const For& loop) {
  const Block* block = &loop.body;
  while (const If* branch = way_in(*block)) block = &branch->then_body;
  return *block;
}

void for_each_load(const Program& program, const Block& trip, const OfLoad& f) {
  Arena& arena = *program.arena;
  const std::function<void(const Block&, Expr)> walk = [&](const Block& block, Expr condition) {
    for (const StmtPtr& s : block) {
      if (is_load(program, *s)) f(s, std::get<Copy>(s->node), condition);
      const auto* branch = std::get_if<If>(&s->node);
      if (!branch) continue;
      walk(branch->then_body, arith::logical_and(arena, condition, branch->condition));
      walk(branch->else_body, arith::logical_and(arena, condition, arith::logical_not(arena, branch->condition)));
    }
  };
  walk(trip, nullptr);
}

}  // namespace tilert::passes
