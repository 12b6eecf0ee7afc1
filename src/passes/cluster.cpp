// Which dim of the grid a cluster runs along, and the statements around the loop.
#include "passes/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "arith/build.h"
#include "ir/visit.h"
#include "passes/hints.h"
#include "passes/region.h"
#include "passes/role_trips.h"

namespace tilert::passes {
namespace {

using namespace ir;

class Clusters {
 public:
  Clusters(Module& module, size_t index, int64_t blocks)
      : module_(module), program_(module.program), arena_(*module.program.arena), kernel_(module.program.kernels[index]),
        plan_(module.plans[index]), blocks_(blocks) {}

  // Empty, or why blocks share no copies.
  std::string why_not(const Target& target) {
    if (blocks_ > kMostInCluster) return fmt::format("more than {} blocks make no cluster that every chip starts", kMostInCluster);
    if (!target.has(Feature::cluster) || !target.has(Feature::wgmma)) return "blocks share tensor copies of kernels with roles, which " + target.text + " does not have";
    if (kernel_.source) return "a source kernel says itself what is a cluster";
    if (kernel_.tile_count != kNoBuffer) return "the number of its tiles is read from memory";
    if (kernel_.cost) return "a plan deals its tiles out one by one";
    if (orders_blocks(program_, kernel_.body)) return "its blocks wait for each other";
    if (const std::string reason = find_pipelined(kernel_.body, &at_); !reason.empty()) return reason;
    if (const std::string reason = find_dim(); !reason.empty()) return reason;
    return is_ragged() ? acts_before() : "";
  }

  void run() {
    const Expr extent = kernel_.grid[dim_], old = program_.var(kernel_.block_vars[dim_]);
    const bool ragged = is_ragged();
    const VarId point = program_.add_var(VarKind::block_index, DType::index, "cluster");
    const VarId own = program_.add_var(VarKind::let, DType::index, "own");
    kernel_.rank = program_.add_var(VarKind::block_index, DType::index, "rank");
    kernel_.cluster = static_cast<int>(blocks_);
    kernel_.grid[dim_] = arith::ceildiv(arena_, extent, blocks_);
    kernel_.block_vars[dim_] = point;
    const arith::Range points = module_.facts.range(kernel_.grid[dim_]);
    const bool open = points.high == arith::kPlusInfinity;
    const int64_t last = open ? points.high : std::max<int64_t>(points.high - 1, 0);
    module_.facts.define(program_.var(point), arith::Range::between(0, last));
    module_.facts.define(program_.var(kernel_.rank), arith::Range::between(0, blocks_ - 1));
    const Expr value = arith::add(arena_, arith::mul(arena_, program_.var(point), blocks_), program_.var(kernel_.rank));
    module_.facts.define(program_.var(own), ragged ? module_.facts.range(value) : module_.facts.range(old));
    const std::unordered_map<VarId, Expr> moved{{old->var(), program_.var(own)}};
    Block body = map_block_exprs(kernel_.body, [&](Expr e) { return substitute(arena_, e, moved); });
    if (ragged) body = guarded(std::move(body), arith::lt(arena_, program_.var(own), extent));
    body.insert(body.begin(), make_stmt(Let{own, value, {}}));
    kernel_.body = std::move(body);
  }

 private:
  bool is_ragged() const { return !module_.facts.range(kernel_.grid[dim_]).multiple_of(blocks_); }
  const For& loop() const { return std::get<For>(kernel_.body[at_]->node); }

  // The one whose blocks would make the same copies: of those, the one that the program says of a copy, else y, whose blocks
  // are above each other in a product and share the tile of columns.
  std::string find_dim() {
    std::string reason = "no copy of its loop is the same for neighbouring blocks";
    const auto is_alone = [&](Expr extent) { return module_.facts.range(extent).high <= 1; };
    if (std::all_of(kernel_.grid.begin(), kernel_.grid.end(), is_alone)) return "its grid is one block";
    for (const bool asked : {true, false})
      for (const size_t dim : {size_t{1}, size_t{0}, size_t{2}}) {
        if (dim >= kernel_.grid.size() || is_alone(kernel_.grid[dim])) continue;
        const std::set<VarId> vars = differing(program_, kernel_, kernel_.block_vars[dim]);
        if (depends_on(loop().begin, vars) || depends_on(loop().end, vars) || chooses_trips(vars)) {
          if (kernel_.grid.size() == 1) reason = "neighbouring blocks make different numbers of trips";
          continue;
        }
        bool shares = false;
        for_each_stmt(loop().body, [&](const Stmt& s) {
          const auto* copy = std::get_if<Copy>(&s.node);
          if (!copy || (asked && !copy->multicast) || program_.buffer(copy->src.buffer).scope != Scope::global) return;
          shares |= std::none_of(copy->src.offsets.begin(), copy->src.offsets.end(), [&](Expr e) { return depends_on(e, vars); });
        });
        if (!shares) continue;
        dim_ = dim;
        return {};
      }
    return reason;
  }

  // Whether copies and products stand in branches that such variables decide.
  bool chooses_trips(const std::set<VarId>& vars) const {
    bool found = false;
    for_each_stmt(loop().body, [&](const Stmt& s) {
      const auto* branch = std::get_if<If>(&s.node);
      if (!branch || !depends_on(branch->condition, vars)) return;
      for (const Block* block : {&branch->then_body, &branch->else_body}) found |= holds_product(*block) || holds_load(program_, *block);
    });
    return found;
  }

  // What blocks beyond the grid would do as well as the others must be seen by nobody.
  std::string acts_before() const {
    std::string reason;
    const Block before(kernel_.body.begin(), kernel_.body.begin() + static_cast<std::ptrdiff_t>(at_) + 1);
    for_each_stmt(before, [&](const Stmt& s) {
      const auto is = [&]<class... T>(std::variant<T...>*) { return (std::holds_alternative<T>(s.node) || ...); };
      using Acts = std::variant<Atomic, ThreadOp, AsyncOp, Report, Inline, CallDevice, While, Jump>;
      bool acts = is(static_cast<Acts*>(nullptr));
      for (const BufferUse& use : buffer_uses(s)) acts |= use.write && program_.buffer(use.buffer).scope == Scope::global;
      if (acts && reason.empty()) reason = fmt::format("operation {} would happen for blocks beyond the grid too, which is no multiple of {}", s.ordinal, blocks_);
    });
    return reason;
  }

  // Tiles stay declared for all; what is done with them behind the loop moves.
  Block guarded(Block body, Expr inside) {
    const auto behind = body.begin() + static_cast<std::ptrdiff_t>(at_) + 1;
    Block out(body.begin(), behind), rest;
    for (auto s = behind; s != body.end(); ++s) (std::holds_alternative<Alloc>((*s)->node) ? out : rest).push_back(*s);
    if (rest.empty()) return out;
    plan_.guard = next_ordinal(program_);
    out.push_back(make_stmt(If{inside, std::move(rest), {}}, plan_.guard, kernel_.body[at_]->location));
    return out;
  }

  Module& module_;
  Program& program_;
  Arena& arena_;
  Kernel& kernel_;
  KernelPlan& plan_;
  const int64_t blocks_;
  size_t at_ = 0, dim_ = 0;  // of the loop in the body; of the grid
};

}  // namespace

const If* guard_branch(const Stmt& s, const KernelPlan& plan) {
  return (plan.guard != 0 && s.ordinal == plan.guard) || plan.roles.behind.count(s.ordinal) ? std::get_if<If>(&s.node) : nullptr;
}

bool depends_on(Expr e, const std::set<VarId>& vars) {
  bool found = false;
  for_each_node(e, [&](Expr n) { found |= n->is_variable() && vars.count(n->var()); });
  return found;
}

std::set<VarId> differing(const Program& program, const Kernel& kernel, VarId own) {
  std::set<VarId> vars{own};
  std::set<BufferId> written;
  bool anything = false;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    anything |= std::holds_alternative<Inline>(s.node);
    for (const BufferUse& use : buffer_uses(s))
      if (use.write) written.insert(use.buffer);
  });
  const auto may_be_written = [&](BufferId id) {
    return anything || std::any_of(written.begin(), written.end(), [&](BufferId w) { return may_overlap(program, w, id); });
  };
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    if (const auto* let = std::get_if<Let>(&s.node)) {
      bool differs = let->value && depends_on(let->value, vars);
      for (Expr e : let->read.indices) differs |= !let->value && depends_on(e, vars);
      if (!let->value) differs |= program.buffer(let->read.buffer).scope != Scope::global || may_be_written(let->read.buffer);
      if (differs) vars.insert(let->var);
    }
    if (const auto* loop = std::get_if<For>(&s.node); loop && (depends_on(loop->begin, vars) || depends_on(loop->end, vars))) vars.insert(loop->var);
    if (const auto* call = std::get_if<CallDevice>(&s.node)) vars.insert(call->var);
    if (const auto* atomic = std::get_if<Atomic>(&s.node)) vars.insert(atomic->old);
  });
  return vars;
}

Result<Module> cluster(Module module, const PassContext& context) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    const int64_t blocks = hint_of(module.program.kernels[k], HintKind::cluster);
    if (blocks < 2 || !module.plans[k].not_clustered.empty()) continue;
    Clusters clusters(module, k, blocks);
    module.plans[k].not_clustered = clusters.why_not(context.target);
    if (module.plans[k].not_clustered.empty()) clusters.run();
  }
  return module;
}

}  // namespace tilert::passes
