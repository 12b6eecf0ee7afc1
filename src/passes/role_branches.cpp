// A loop that stands in a branch comes out of it: it makes no trips where the branch is not taken.
#include <algorithm>

#include "arith/build.h"
#include "ir/visit.h"
#include "passes/persist.h"
#include "passes/region.h"
#include "passes/role_trips.h"

namespace tilert::passes {
namespace {

using namespace ir;

bool is_pipelined(const Stmt& s) {
  const auto* loop = std::get_if<For>(&s.node);
  return loop && loop->kind == ForKind::pipelined;
}

int pipelined_loops(const Block& block) {
  int found = 0;
  for_each_stmt(block, [&](const Stmt& s) { found += is_pipelined(s); });
  return found;
}

class LoopOut {
 public:
  LoopOut(Program& program, Kernel& kernel, KernelPlan& plan) : program_(program), kernel_(kernel), plan_(plan), ordinal_(next_ordinal(program)) {}

  // The block with its loop at the top; as it was where that is not one, or stands in another loop.
  Block run(const Block& in) {
    Parts parts;
    if (pipelined_loops(in) != 1 || std::any_of(in.begin(), in.end(), [](const StmtPtr& s) { return is_pipelined(*s); }) || !split(in, parts)) return in;
    plan_.roles.behind = behind_;
    parts.before.push_back(parts.loop);
    parts.before.insert(parts.before.end(), parts.behind.begin(), parts.behind.end());
    return parts.before;
  }

 private:
  struct Parts {
    Block before, behind;
    StmtPtr loop;
  };

  bool split(const Block& in, Parts& out) {
    const auto at = std::find_if(in.begin(), in.end(), [](const StmtPtr& s) { return pipelined_loops({s}) == 1; });
    out.before.assign(in.begin(), at);
    out.behind.assign(at + 1, in.end());
    if (is_pipelined(**at)) return out.loop = *at, true;
    const auto* branch = std::get_if<If>(&(*at)->node);
    return branch && split_branch(**at, *branch, out);
  }

  bool split_branch(const Stmt& s, const If& branch, Parts& out) {
    const bool taken = pipelined_loops(branch.then_body) == 1;
    const Expr condition = taken ? branch.condition : arith::logical_not(*program_.arena, branch.condition);
    Parts in;
    if (!split(taken ? branch.then_body : branch.else_body, in) || !bring_out(in, out.before)) return false;
    if (!in.before.empty()) out.before.push_back(make_stmt(If{condition, std::move(in.before), {}}, s.ordinal, s.location));
    For loop = std::get<For>(in.loop->node);
    loop.end = arith::select(*program_.arena, condition, loop.end, loop.begin);
    out.loop = make_stmt(std::move(loop), in.loop->ordinal, in.loop->location);
    const Block& other = taken ? branch.else_body : branch.then_body;
    if (!in.behind.empty() || !other.empty()) {
      behind_.insert(ordinal_);
      out.behind.insert(out.behind.begin(), make_stmt(If{condition, std::move(in.behind), other}, ordinal_++, s.location));
    }
    return true;
  }

  // Declarations, and what the loop and what is behind it need of the branch's values: those that are the same wherever they are made.
  bool bring_out(Parts& in, Block& to) const {
    std::set<VarId> needed;
    for_each_stmt({in.loop}, [&](const Stmt& s) { variables_of(s, needed); });
    for_each_stmt(in.behind, [&](const Stmt& s) { variables_of(s, needed); });
    Block out, rest;
    for (auto at = in.before.rbegin(); at != in.before.rend(); ++at) {
      const auto* let = std::get_if<Let>(&(*at)->node);
      const auto* call = std::get_if<CallDevice>(&(*at)->node);
      const auto* atomic = std::get_if<Atomic>(&(*at)->node);
      if ((call && needed.count(call->var)) || (atomic && needed.count(atomic->old))) return false;
      const bool wanted = let && needed.count(let->var);
      if (wanted && !let->value && !is_constant_read(*let)) return false;
      if (wanted) variables_of(**at, needed);
      (wanted || std::holds_alternative<Alloc>((*at)->node) ? out : rest).push_back(*at);
    }
    to.insert(to.end(), out.rbegin(), out.rend());
    in.before.assign(rest.rbegin(), rest.rend());
    return true;
  }

  bool is_constant_read(const Let& let) const {
    const Buffer& b = program_.buffer(let.read.buffer);
    return b.scope == Scope::global && !is_addressed(b) && !may_write(program_, kernel_.body, let.read.buffer);
  }

  Program& program_;
  Kernel& kernel_;
  KernelPlan& plan_;
  uint32_t ordinal_;
  std::set<uint32_t> behind_;
};

}  // namespace

void bring_loop_out(Program& program, Kernel& kernel, KernelPlan& plan) {
  LoopOut out(program, kernel, plan);
  const Stmt* tiles = tile_loop(kernel, plan);
  if (!tiles) {
    kernel.body = out.run(kernel.body);
    return;
  }
  for (StmtPtr& s : kernel.body) {
    if (s.get() != tiles) continue;
    For loop = std::get<For>(s->node);
    loop.body = out.run(loop.body);
    s = make_stmt(std::move(loop), s->ordinal, s->location);
    return;
  }
}

}  // namespace tilert::passes
