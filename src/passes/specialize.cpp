// Binding dims and simplifying every expression under what is known.
#include "passes/specialize.h"

#include <algorithm>

#include "arith/simplify.h"
#include "ir/report.h"
#include "ir/visit.h"

namespace tilert::passes {

using namespace ir;

namespace {

void bind(Program& program, const std::function<Expr(Expr)>& f) {
  for (Buffer& b : program.buffers) {
    for (Expr& e : b.shape) e = f(e);
    for (Expr& e : b.strides) e = f(e);
  }
  for (Kernel& k : program.kernels) {
    for (Expr& e : k.grid) e = f(e);
    for (Expr* e : {&k.cost, &k.locality})
      if (*e) *e = f(*e);
    k.body = map_block_exprs(k.body, f);
  }
}

// Loops whose trips are known only now, with the dims bound.
Status check_unrolled(const Program& program) {
  Status status;
  for (const Kernel& kernel : program.kernels) {
    for_each_stmt(kernel.body, [&](const Stmt& stmt) {
      const auto* loop = std::get_if<For>(&stmt.node);
      if (!loop || !status || loop->kind != ForKind::unrolled) return;
      if (!loop->begin->is_constant() || !loop->end->is_constant()) return;
      const __int128 distance = static_cast<__int128>(loop->end->as_int()) - loop->begin->as_int();
      if (distance / loop->step + (distance % loop->step != 0) <= kMaxUnroll) return;
      status = make_error(Code::kInvalidProgram, "{}: a loop from {} to {} by {} is too long to unroll: at most {} iterations, or use serial",
                          describe(program, stmt), loop->begin->as_int(), loop->end->as_int(), loop->step, kMaxUnroll);
    });
  }
  return status;
}

// Grid extents bound the indices over them.
void bound_blocks(const Program& program, arith::Facts& facts) {
  for (const Kernel& k : program.kernels)
    for (size_t d = 0; d < k.block_vars.size(); ++d) {
      const int64_t high = facts.range(k.grid[d]).high;
      facts.bound(program.var(k.block_vars[d]), 0, high == arith::kPlusInfinity ? high : std::max<int64_t>(high - 1, 0));
    }
}

}  // namespace

void learn(const DimFact& known, arith::Facts& facts) {
  facts.bound(known.dim, known.low, known.high);
  if (known.divisor > 1) facts.congruent(known.dim, known.divisor);
}

Result<Module> specialize(const Program& source, const std::vector<DimChoice>& dims) {
  if (dims.size() != source.dims.size())
    return make_error(Code::kInvalidArgument, "program '{}' has {} dims, {} were given", source.name, source.dims.size(), dims.size());
  Program program = clone(source, false);
  number_reports(program);
  std::unordered_map<VarId, Expr> values;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].value) continue;
    program.dims[i].value = dims[i].value;
    values[program.dims[i].var] = program.arena->index(*dims[i].value);
  }
  bind(program, [&](Expr e) { return substitute(*program.arena, e, values); });
  arith::Facts facts(program);
  std::vector<DimFact> known;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!dims[i].value) known.push_back({program.var(program.dims[i].var), dims[i].low, dims[i].high, dims[i].divisor});
  // Variants of a kernel of fixed order differ in what they assume, and may not differ in what they choose by it.
  const bool fixed = std::any_of(program.kernels.begin(), program.kernels.end(), [](const Kernel& k) { return k.fixed_order; });
  for (const DimFact& fact : known)
    if (!fixed) learn(fact, facts);
  bound_blocks(program, facts);
  arith::Simplifier simplifier(*program.arena, facts);
  bind(program, [&](Expr e) { return simplifier.simplify(e); });
  TILERT_TRY(check_unrolled(program));
  if (!fixed) known.clear();
  return Module{std::move(program), {}, std::move(facts), std::move(known)};
}

Result<Module> learn_dims(Module module, const PassContext&) {
  for (const DimFact& fact : module.withheld) learn(fact, module.facts);
  if (!module.withheld.empty()) bound_blocks(module.program, module.facts);
  module.withheld.clear();
  return module;
}

}  // namespace tilert::passes
