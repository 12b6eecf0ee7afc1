// One walk with facts about loops and conditions, so that what is proved costs nothing.
#include "builder/bounds.h"

#include "arith/build.h"
#include "arith/facts.h"
#include "arith/prover.h"
#include "ir/verifier.h"
#include "ir/visit.h"

namespace tilert::builder {
namespace {

using namespace ir;

class Checker {
 public:
  explicit Checker(Program& program) : program_(program), arena_(*program.arena), facts_(program), prover_(arena_, facts_) {
    for (const Kernel& k : program.kernels)
      for_each_stmt(k.body, [&](const Stmt& s) { last_ordinal_ = std::max(last_ordinal_, s.ordinal); });
  }

  void run(Kernel& kernel) {
    const arith::FactsScope scope(facts_);
    block_vars_ = kernel.block_vars;
    for (VarId v : block_vars_) facts_.bound(program_.var(v), 0, INT32_MAX);
    kernel.body = block(kernel.body);
  }

 private:
  Block block(const Block& in) {
    Block out;
    for (const StmtPtr& s : in) statement(s, out);
    return out;
  }

  Block scoped(const Block& in, const std::function<void()>& know) {
    const arith::FactsScope scope(facts_);
    know();
    return block(in);
  }

  void statement(const StmtPtr& s, Block& out) {
    Stmt copy = *s;
    const bool kept = std::visit(Overload{
                                     [&](Parallel& n) { return parallel(n); },
                                     [&](For& n) { return loop(n); },
                                     [&](If& n) { return branch(n); },
                                     [&](While& n) {
                                       n.head = block(n.head);
                                       n.body = scoped(n.body, [&] { facts_.assume(n.condition); });
                                       return true;
                                     },
                                     [&](Let& n) {
                                       if (!n.value) nearest(n.read, *s, out);
                                       return true;
                                     },
                                     [&](Store& n) { return store(n.to, copy, *s, out); },
                                     [&](Atomic& n) {
                                       if (n.old == kNoVar) return store(n.to, copy, *s, out);
                                       nearest(n.to, *s, out);
                                       return true;
                                     },
                                     [&](CallDevice& n) {
                                       for (DeviceOperand& operand : n.operands)
                                         if (operand.passing != Passing::value) nearest(operand.at, *s, out);
                                       return true;
                                     },
                                     [&](Copy& n) { return regions({&n.src, &n.dst}, *s, out); },
                                     [&](Fill& n) { return regions({&n.dst}, *s, out); },
                                     [&](Gemm& n) { return regions({&n.a, &n.b, &n.c, &n.metadata}, *s, out); },
                                     [&](Reduce& n) { return regions({&n.src, &n.dst}, *s, out); },
                                     [&](Pick& n) { return regions({&n.src, &n.dst}, *s, out); },
                                     [&](Sort& n) { return regions({&n.src, &n.dst, &n.index}, *s, out); },
                                     [&](Fold& n) { return tuples(n, *s, out); },
                                     [&](Scan& n) { return tuples(n, *s, out); },
                                     [](auto&) { return true; },
                                 },
                                 copy.node);
    if (kept) out.push_back(std::make_shared<const Stmt>(std::move(copy)));
  }

  bool parallel(Parallel& n) {
    n.body = scoped(n.body, [&] {
      for (size_t d = 0; d < n.vars.size(); ++d) facts_.bound(program_.var(n.vars[d]), 0, n.extents[d] - 1);
    });
    return true;
  }
  bool loop(For& n) {
    n.body = scoped(n.body, [&] { facts_.bound_loop(program_.var(n.var), n.begin, n.end, n.step); });
    return true;
  }
  bool branch(If& n) {
    n.then_body = scoped(n.then_body, [&] { facts_.assume(n.condition); });
    n.else_body = scoped(n.else_body, [&] { facts_.assume_not(n.condition); });
    return true;
  }

  template <class N>
  bool tuples(N& n, const Stmt& s, Block& out) {
    for (std::vector<Region>* side : {&n.src, &n.dst})
      for (Region& r : *side) regions({&r}, s, out);
    return true;
  }

  // What must hold of one coordinate; null where it certainly does.
  Expr inside(Expr at, int64_t most) {
    Expr condition = nullptr;
    for (Expr part : {arith::le(arena_, arena_.index(0), at), arith::le(arena_, at, arena_.index(most))})
      if (!prover_.prove(part)) condition = arith::logical_and(arena_, condition, part);
    return condition;
  }

  bool is_tile(BufferId id) const { return id != kNoBuffer && program_.buffer(id).scope != Scope::global; }
  int64_t size(BufferId id, size_t d) const { return program_.buffer(id).shape[d]->as_int(); }

  // Reports an element or region that is outside; its condition, or null where it is certainly inside.
  Expr check(BufferId id, const std::vector<Expr>& at, const std::vector<int64_t>& extents, const Stmt& s, Block& out) {
    if (!is_tile(id)) return nullptr;
    Expr all = nullptr;
    for (size_t d = 0; d < at.size(); ++d)
      if (const Expr one = inside(at[d], size(id, d) - (extents.empty() ? 1 : extents[d]))) all = arith::logical_and(arena_, all, one);
    if (!all) return nullptr;
    Report report;
    report.failed = true;
    const std::string name = program_.buffer(id).name;
    std::string place, shape;
    for (size_t d = 0; d < at.size(); ++d) {
      const char* const comma = d ? ", " : "";
      const bool shown = report.values.size() < kMaxReported;
      place += comma + std::string(shown ? "{}" : "?");
      if (!extents.empty()) place += fmt::format(":{}", extents[d]);
      shape += fmt::format("{}{}", comma, size(id, d));
      if (shown) report.values.push_back(at[d]);
    }
    report.message = fmt::format("{0}[{1}] leaves {0}, which is [{2}]", name, place, shape);
    for (VarId v : block_vars_) report.block.push_back(program_.var(v));
    If branch{arith::logical_not(arena_, all), {}, {}};
    branch.then_body.push_back(make_stmt(std::move(report), ++last_ordinal_, s.location));
    out.push_back(make_stmt(std::move(branch), ++last_ordinal_, s.location));
    return all;
  }

  void nearest(Access& a, const Stmt& s, Block& out) {
    if (!check(a.buffer, a.indices, {}, s, out)) return;
    for (size_t d = 0; d < a.indices.size(); ++d)
      if (const Expr fits = inside(a.indices[d], size(a.buffer, d) - 1))
        a.indices[d] = arena_.make(Op::select, {fits, a.indices[d], arena_.index(0)});
  }

  // False where the statement stands in a branch instead.
  bool store(const Access& to, const Stmt& copy, const Stmt& s, Block& out) {
    const Expr fits = check(to.buffer, to.indices, {}, s, out);
    if (!fits) return true;
    If branch{fits, {}, {}};
    branch.then_body.push_back(std::make_shared<const Stmt>(copy));
    out.push_back(make_stmt(std::move(branch), ++last_ordinal_, s.location));
    return false;
  }

  bool regions(std::initializer_list<Region*> list, const Stmt& s, Block& out) {
    for (Region* r : list) {
      if (!check(r->buffer, r->offsets, r->extents, s, out)) continue;
      for (size_t d = 0; d < r->offsets.size(); ++d) {
        const int64_t most = size(r->buffer, d) - r->extents[d];
        if (inside(r->offsets[d], most))
          r->offsets[d] = arith::max(arena_, arith::min(arena_, r->offsets[d], most), 0);
      }
    }
    return true;
  }

  Program& program_;
  Arena& arena_;
  arith::Facts facts_;
  arith::Prover prover_;
  std::vector<VarId> block_vars_;
  uint32_t last_ordinal_ = 0;
};

}  // namespace

Result<std::shared_ptr<const Program>> with_bounds_checks(const Program& program) {
  auto checked = std::make_shared<Program>(clone(program));
  Checker checker(*checked);
  for (Kernel& kernel : checked->kernels)
    if (!kernel.source) checker.run(kernel);
  if (const Status legal = verify(*checked); !legal)
    return make_error(Code::kInternal, "with bounds checks: {}; please report it with the program", legal.error().message);
  return std::shared_ptr<const Program>(std::move(checked));
}

}  // namespace tilert::builder
