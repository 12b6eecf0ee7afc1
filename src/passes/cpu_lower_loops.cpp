// Element-wise loops, and whether their last dim can go in vectors; reductions.
#include "arith/affine.h"
#include "arith/build.h"
#include "ir/semantics.h"
#include "ir/visit.h"
#include "passes/cpu_lowering.h"
#include "support/refusal.h"

namespace tilert::passes {

using namespace ir;

namespace {

bool mentions(Expr e, const std::set<VarId>& vars) {
  bool found = false;
  for_each_node(e, [&](Expr n) { found = found || (n->is_variable() && vars.count(n->var())); });
  return found;
}

bool is_private(const Program& program, BufferId id) {
  const Scope scope = program.buffer(id).scope;
  return scope == Scope::scalar || scope == Scope::local;
}

}  // namespace

// Whether the body can run for several values of `lane` at once: conditions and bounds are the same for all of them, and
// a range that is open is one that an end of the vector can answer for all its lanes. varying: variables that differ
// from lane to lane. inner: variables that have no value before the body starts.
bool CpuLowering::vector_body(const Block& body, VarId lane, std::set<VarId>& varying, std::set<VarId>& inner,
                              std::set<BufferId>& locals) {
  const auto answers = [&](const Access& access) {
    for (Expr condition : open_range_conditions(program_, prover_, access)) {
      if (condition->is_constant() || mentions(condition, inner)) return false;
      if (!uses_var(condition, lane)) continue;
      if (condition->op != Op::lt && condition->op != Op::le) return false;
      for (int i = 0; i < 2; ++i)
        if (!arith::linear_in(arena_, condition->operand[i], lane)) return false;
    }
    if (is_private(program_, access.buffer))
      for (Expr e : access.indices)
        if (mentions(e, varying)) return false;
    return true;
  };
  for (const StmtPtr& s : body) {
    const bool fits = std::visit(
        Overload{
            [&](const Alloc& n) { return locals.insert(n.buffer), true; },
            [&](const Let& n) {
              bool differs = n.value ? mentions(n.value, varying) : is_private(program_, n.read.buffer);
              if (!n.value) {
                if (!answers(n.read)) return false;
                for (Expr e : n.read.indices) differs = differs || mentions(e, varying);
              }
              if (differs) varying.insert(n.var);
              inner.insert(n.var);
              return true;
            },
            [&](const Store& n) {
              if (!answers(n.to)) return false;
              if (is_private(program_, n.to.buffer)) return true;
              bool moves = false;  // a store that stands still is one lane's, the last one's
              for (Expr e : n.to.indices) moves = moves || mentions(e, varying);
              return moves;
            },
            [&](const If& n) {
              if (mentions(n.condition, varying)) return false;
              arith::FactsScope scope(facts_);
              return vector_body(n.then_body, lane, varying, inner, locals) &&
                     vector_body(n.else_body, lane, varying, inner, locals);
            },
            [&](const For& n) {
              if (mentions(n.begin, varying) || mentions(n.end, varying)) return false;
              inner.insert(n.var);
              arith::FactsScope scope(facts_);
              facts_.bound_loop(program_.var(n.var), n.begin, n.end, n.step);
              return vector_body(n.body, lane, varying, inner, locals);
            },
            [&](const Jump&) { return true; },  // under conditions that hold for all lanes alike
            [&](const auto&) { return false; },
        },
        s->node);
    if (!fits) return false;
  }
  return true;
}

int CpuLowering::lanes_for(const Parallel& parallel) {
  const int lanes = power_of_two_lanes(index(parallel.extents.back()));
  if (lanes == 1) return 1;
  std::set<VarId> varying{parallel.vars.back()}, inner;
  std::set<BufferId> locals;
  return vector_body(parallel.body, parallel.vars.back(), varying, inner, locals) ? lanes : 1;
}

Status CpuLowering::lower_parallel(const Parallel& parallel, Out& out) {
  bool supported = true;
  Parallel p = parallel;
  for_each_stmt(p.body, [&](const Stmt& s) {
    for (const BufferUse& use : buffer_uses(s)) tile(use.buffer);
    supported = supported && (std::holds_alternative<Let>(s.node) || std::holds_alternative<Store>(s.node) ||
                              std::holds_alternative<If>(s.node) || std::holds_alternative<For>(s.node) ||
                              std::holds_alternative<Alloc>(s.node) || std::holds_alternative<While>(s.node) ||
                              std::holds_alternative<Jump>(s.node) || std::holds_alternative<Atomic>(s.node) ||
                              std::holds_alternative<Report>(s.node) || std::holds_alternative<CallDevice>(s.node));
  });
  if (!supported)
    return make_error(Code::kInternal, "operation {}: a statement inside parallel that a CPU does not take; please report it with the program",
                      ordinal_);
  CpuLoops loops{p.vars, {}, {}, {}, 1, true};
  arith::FactsScope scope(facts_);
  for (size_t d = 0; d < p.vars.size(); ++d) {
    facts_.set_range(p.vars[d], 0, p.extents[d] - 1);
    loops.begins.push_back(index(0));
    loops.ends.push_back(index(p.extents[d]));
  }
  p.body = map_block_exprs(p.body, [&](Expr e) { return prover_.simplify(e); });
  loops.lanes = lanes_for(p);
  loops.body = p.body;
  for_each_stmt(p.body, [&](const Stmt& s) {
    if (const auto* alloc = std::get_if<Alloc>(&s.node)) kernel_.locals[alloc->buffer] = loops.lanes;
  });
  emit(out, std::move(loops));
  return {};
}

Status CpuLowering::lower_reduce(const Reduce& r, Out& out) {
  tile(r.src.buffer);
  tile(r.dst.buffer);
  const Buffer src = program_.buffer(r.src.buffer);
  const DType to = program_.buffer(r.dst.buffer).dtype, sum = reduce_accumulator(to);
  if (!reduce_takes(r.op, sum))
    return refusal(fmt::format("operation {}: this reduction is not defined on {}", ordinal_, dtype_text(to)),
                   "bits reduce into integers, the other operations into numbers");
  const size_t rank = r.src.extents.size(), dim = static_cast<size_t>(r.dim);
  const int64_t extent = r.src.extents[dim];
  const VarId var = fresh_vars(1)[0];
  std::vector<VarId> vars;
  std::vector<Expr> extents;
  Access from{r.src.buffer, {}}, into{r.dst.buffer, r.dst.offsets};
  const bool keeps_rank = r.dst.offsets.size() == rank;
  for (size_t d = 0, next = 0; d < rank; ++d) {
    if (d == dim) {
      from.indices.push_back(arith::add(arena_, r.src.offsets[d], program_.var(var)));
      next += keeps_rank;
      continue;
    }
    if (r.src.extents[d] == 1) {
      from.indices.push_back(r.src.offsets[d]);
    } else {
      vars.push_back(fresh_vars(1)[0]);
      extents.push_back(index(r.src.extents[d]));
      from.indices.push_back(arith::add(arena_, r.src.offsets[d], program_.var(vars.back())));
      into.indices[next] = arith::add(arena_, into.indices[next], program_.var(vars.back()));
    }
    ++next;
  }
  const Expr unit = element_strides(program_, r.src.buffer)[dim];
  if (unit->is_constant() && unit->as_int() == 1 && extent > 1 && src.scope != Scope::global) {
    emit(out, CpuRowReduce{r.op, vars, extents, var, extent, from, into, r.accumulate});
    return {};
  }
  // Across rows: each element of the last kept dim sums by itself, in vectors.
  Buffer local;
  local.dtype = sum;
  local.scope = Scope::scalar;
  const BufferId acc = program_.add_buffer(std::move(local));
  const auto let = [&](DType d, Access access, Block& body) {
    const VarId id = program_.add_var(VarKind::let, d, "v");
    body.push_back(make_stmt(Let{id, nullptr, std::move(access)}, ordinal_));
    return program_.var(id);
  };
  Block body, inner;
  const Expr identity = arena_.constant(sum, reduce_identity(r.op, sum));
  Expr start = r.accumulate ? arena_.cast(let(to, into, body), sum) : identity;
  if (r.accumulate && reduce_identity_shows(r.op, sum)) start = arena_.make(reduce_combine(r.op), {start, identity});
  body.push_back(make_stmt(Store{{acc, {}}, start}, ordinal_));
  Expr value = arena_.cast(let(src.dtype, from, inner), sum);
  if (reduce_takes_absolute(r.op)) value = arena_.make(Op::abs, {value});
  const Expr before = let(sum, {acc, {}}, inner);
  inner.push_back(make_stmt(Store{{acc, {}}, arena_.make(reduce_combine(r.op), {before, value})}, ordinal_));
  body.push_back(make_stmt(For{ForKind::serial, var, index(0), index(extent), 1, 0, inner}, ordinal_));
  body.push_back(make_stmt(Store{into, arena_.cast(let(sum, {acc, {}}, body), to)}, ordinal_));
  CpuLoops loops{vars, std::vector<Expr>(vars.size(), index(0)), extents, body, 1, false};
  if (!extents.empty()) loops.lanes = power_of_two_lanes(extents.back());
  kernel_.locals[acc] = loops.lanes;
  emit(out, std::move(loops));
  return {};
}

}  // namespace tilert::passes
