// The walk over tile operations, and what all of them share: threads, coordinates, places.
#include "passes/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "ir/visit.h"
#include "passes/region.h"
#include "passes/tensor_box.h"

namespace tilert::passes {

using namespace ir;

Lower::Lower(Module& module, KernelPlan& plan, const PassContext& context)
    : module_(module), plan_(plan), context_(context) {}

Expr Lower::simplify(Expr e) {
  arith::Simplifier simplifier(arena(), module_.facts);
  return simplifier.simplify(e);
}

bool Lower::proves(Expr condition) {
  const Expr e = simplify(condition);
  return e->is_constant() && e->bits != 0;
}

void Lower::define(VarId var, Expr value) {
  if (!dtype_is_integer(value->dtype)) return;
  module_.facts.define(program().var(var), module_.facts.range(value));
}

void Lower::bound_loop(const For& f) {
  const Expr var = program().var(f.var);
  if (f.step > 0) module_.facts.bound_loop(var, f.begin, f.end);
  else module_.facts.bound(var, module_.facts.range(f.end).low, module_.facts.range(f.begin).high);
  const arith::Range begin = module_.facts.range(f.begin);
  const int64_t step = f.step == INT64_MIN ? 1 : std::abs(f.step);
  if (step > 1 && begin.multiple_of(step)) module_.facts.congruent(var, step);
  module_.facts.define(var, module_.facts.range(var));
}

Block Lower::collect(const std::function<void()>& f) {
  blocks_.emplace_back();
  f();
  Block block = std::move(blocks_.back());
  blocks_.pop_back();
  return block;
}

void Lower::group(const std::string& comment, const std::function<void()>& f) {
  Block body = collect(f);
  if (!body.empty()) emit(Group{comment, std::move(body)});
}

void Lower::unrolled(int64_t extent, const std::function<void(Expr)>& f) {
  if (extent == 0) return;
  if (extent == 1) return f(index(0));
  const VarId var = program().add_var(VarKind::loop, DType::index, "r");
  module_.facts.define(program().var(var), arith::Range::between(0, extent - 1));
  Block body = collect([&] { f(program().var(var)); });
  emit(For{ForKind::unrolled, var, index(0), index(extent), 1, 0, std::move(body)});
}

void Lower::serial(int64_t extent, const std::function<void(Expr)>& f) {
  if (extent == 0) return;
  if (extent == 1) return f(index(0));
  const VarId var = program().add_var(VarKind::loop, DType::index, "r");
  module_.facts.define(program().var(var), arith::Range::between(0, extent - 1));
  Block body = collect([&] { f(program().var(var)); });
  emit(For{ForKind::serial, var, index(0), index(extent), 1, 0, std::move(body)});
}

void Lower::when(Expr condition, const std::function<void()>& f) {
  if (condition) condition = simplify(condition);
  if (!condition || (condition->is_constant() && condition->bits)) return f();
  if (condition->is_constant()) return;
  emit(If{condition, collect(f), {}});
}

Expr Lower::let(Expr value, const char* name) {
  value = simplify(value);
  if (value->arity == 0) return value;
  const VarId var = program().add_var(VarKind::let, value->dtype, name);
  if (value->dtype == DType::index) define(var, value);
  emit(Let{var, value, {}});
  return program().var(var);
}

Expr Lower::let_preamble(Expr value, const char* name) {
  value = simplify(value);
  if (value->arity == 0) return value;
  const auto found = preamble_lets_.find(value);
  if (found != preamble_lets_.end()) return found->second;
  const VarId var = program().add_var(VarKind::let, value->dtype, name);
  define(var, value);
  preamble_.push_back(make_stmt(Let{var, value, {}}));
  return preamble_lets_[value] = program().var(var);
}

Expr Lower::read(Access access, const char* name) {
  const VarId var = program().add_var(VarKind::let, program().buffer(access.buffer).dtype, name);
  emit(Let{var, nullptr, std::move(access)});
  return program().var(var);
}

BufferId Lower::registers(DType dtype, int64_t count, const char* name) {
  Buffer b;
  b.name = name;
  b.dtype = dtype;
  b.scope = Scope::registers;
  b.shape = {index(count)};
  const BufferId id = program().add_buffer(std::move(b));
  emit(Alloc{id});
  return id;
}

BufferId Lower::scalar(DType dtype, const char* name) {
  Buffer b;
  b.name = name;
  b.dtype = dtype;
  b.scope = Scope::scalar;
  const BufferId id = program().add_buffer(std::move(b));
  emit(Alloc{id});
  return id;
}

BufferId Lower::scratch(DType dtype, int64_t elements, const char* name) {
  Buffer b;
  b.name = name;
  b.dtype = dtype;
  b.scope = Scope::shared;
  b.shape = {index(elements)};
  const BufferId id = program().add_buffer(std::move(b));
  emit(Alloc{id});
  return id;
}

Expr Lower::thread() {
  if (plan_.thread == kNoVar) {
    plan_.thread = program().add_var(VarKind::thread, DType::index, "thread");
    module_.facts.define(program().var(plan_.thread), arith::Range::between(0, plan_.threads - 1));
  }
  return program().var(plan_.thread);
}

Expr Lower::terms_value(const std::vector<ThreadTerm>& terms) {
  Expr sum = index(0);
  for (const ThreadTerm& t : terms) {
    Expr value = arith::floordiv(arena(), thread(), t.divisor);
    if (t.modulus > 0) value = arith::mod(arena(), value, t.modulus);
    sum = arith::add(arena(), sum, arith::mul(arena(), value, t.stride));
  }
  return let_preamble(sum, "at");
}

Expr Lower::thread_part(const FragmentMap& map, int dim) { return terms_value(map.thread_terms(dim)); }

Expr Lower::register_part(const FragmentMap& map, int dim, Expr reg) {
  Expr sum = index(0);
  const int64_t total = map.registers();
  for (const PlacedDigit& p : map.register_digits()) {
    if (p.digit.dim != dim || p.digit.extent == 1) continue;
    Expr value = arith::floordiv(arena(), reg, p.position);
    if (p.position * p.digit.extent < total) value = arith::mod(arena(), value, p.digit.extent);
    sum = arith::add(arena(), sum, arith::mul(arena(), value, p.digit.stride));
  }
  return sum;
}

Expr Lower::coordinate(const FragmentMap& map, int dim, Expr reg) {
  const Expr of_thread = thread_part(map, dim);  // in this order, whatever the compiler's: both may make variables
  return simplify(arith::add(arena(), of_thread, register_part(map, dim, reg)));
}

Expr Lower::is_first_replica(const FragmentMap& map) {
  Expr first = nullptr;
  for (const ThreadTerm& t : map.replica_terms())
    first = arith::logical_and(arena(), first, arith::eq(arena(), terms_value({{t.divisor, t.modulus, 1}}), 0));
  return first ? simplify(first) : nullptr;
}

BufferId Lower::new_fragment(DType dtype, const FragmentMap& map, const char* name) {
  Buffer b;
  b.name = name;
  b.dtype = dtype;
  b.scope = Scope::fragment;
  for (int64_t extent : map.shape()) b.shape.push_back(index(extent));
  const BufferId id = program().add_buffer(std::move(b));
  plan_.fragments.emplace(id, map);
  lowered_[id] = registers(dtype, map.registers(), name);
  return id;
}

BufferId Lower::fragment_registers(BufferId fragment) { return lowered_.at(fragment); }

Access Lower::global_access(BufferId tensor, const std::vector<Expr>& indices) {
  const Buffer& b = program().buffer(tensor);
  Expr offset = index(0);
  for (size_t d = 0; d < indices.size(); ++d)
    offset = arith::add(arena(), offset, arith::mul(arena(), indices[d], b.strides[d]));
  if (is_addressed(b)) return Access{tensor, {simplify(indices[0]), simplify(offset)}};
  return Access{tensor, {simplify(offset)}};
}

Expr Lower::inside(BufferId tensor, const std::vector<Expr>& indices, const std::vector<Expr>& valid, const Comparison& below) {
  const Buffer b = program().buffer(tensor);  // a copy: `below` may add buffers
  Expr condition = nullptr;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (d == 0 && is_addressed(b)) {
      condition = arith::lt(arena(), index(0), indices[0]);
      continue;
    }
    const Expr least = arith::le(arena(), index(0), indices[d]);
    if (!proves(least)) condition = arith::logical_and(arena(), condition, least);
    const Expr bound = d < valid.size() && valid[d] ? arith::min(arena(), valid[d], b.shape[d]) : b.shape[d];
    const Expr plain = simplify(arith::lt(arena(), indices[d], bound));
    if (!(plain->is_constant() && plain->bits)) condition = arith::logical_and(arena(), condition, below ? below(indices[d], bound) : plain);
  }
  return condition;
}

Status Lower::kernel(Kernel& kernel) {
  blocks_.clear();
  preamble_.clear();
  preamble_lets_.clear();
  blocks_.emplace_back();
  unbounded_ = unbounded_variables(program(), kernel, plan_);
  TILERT_TRY(plan_.roles.on && !plan_.async.roles ? kernel_with_roles(kernel) : block(kernel.body));
  if (!plan_.async.roles) finish_stores(kernel.body);
  Block body = std::move(preamble_);
  for (StmtPtr& s : blocks_.back()) body.push_back(std::move(s));
  blocks_.clear();
  kernel.body = std::move(body);
  kernel.flat = true;
  return {};
}

Status Lower::block(const Block& in) {
  const size_t sums = sums_.size();
  TILERT_TRY(statements(in));
  sums_.resize(sums);
  return {};
}

Status Lower::statements(const Block& in) {
  for (size_t i = 0; i < in.size(); ++i) {
    TILERT_TRY(statement(in[i]));
    const auto* alloc = std::get_if<Alloc>(&in[i]->node);
    if (!alloc || program().buffer(alloc->buffer).scope != Scope::fragment) continue;
    // What is written in part, or through shared memory, is read whole: its registers hold something from the start.
    // So do those beyond the logical shape, which reductions read and drop.
    bool overwritten = false;
    for (size_t j = i + 1; j < in.size(); ++j) {
      const auto uses = buffer_uses_deep(*in[j]);
      if (std::none_of(uses.begin(), uses.end(), [&](const BufferUse& u) { return u.buffer == alloc->buffer; })) continue;
      overwritten = overwrites(program(), *in[j], alloc->buffer);
      break;
    }
    const FragmentMap& map = fragment_map(alloc->buffer);
    if (!overwritten || map.padded_shape() != map.shape()) clear_registers(alloc->buffer);
  }
  return {};
}

void Lower::clear_registers(BufferId fragment) {
  const BufferId regs = fragment_registers(fragment);
  const DType dtype = program().buffer(fragment).dtype;
  const int64_t count = fragment_map(fragment).registers();
  group(comment("excess"), [&] {
    unrolled(count, [&](Expr r) { store({regs, {r}}, arena().constant(dtype, 0)); });
  });
}

// apply_rings issued it, and waits for it.
bool Lower::runs_ahead(uint32_t ordinal) const {
  return std::any_of(plan_.rings.begin(), plan_.rings.end(), [&](const auto& ring) {
    const auto& copies = ring.second.copies;
    return std::find(copies.begin(), copies.end(), ordinal) != copies.end();
  });
}

Status Lower::statement(const StmtPtr& s) {
  ordinal_ = s->ordinal;
  location_ = s->location;
  return std::visit(
      Overload{
          [&](const Alloc& a) -> Status {
            const Buffer b = program().buffer(a.buffer);
            if (b.scope == Scope::fragment) {
              lowered_[a.buffer] = registers(b.dtype, fragment_map(a.buffer).registers(), "fragment");
              if (plan_.async.sums.count(a.buffer)) sums_.push_back(a.buffer);
            } else if (b.scope == Scope::shared) {
              declare_shared(a.buffer);
            } else if (b.scope == Scope::barrier) {
              declare_barriers(a.buffer);
            } else {
              emit(Alloc{a.buffer});
            }
            return {};
          },
          [&](const Copy& c) { return runs_ahead(s->ordinal) && c.prefer == CopyPrefer::async ? async_copy(*s, c) : copy(*s, c); },
          [&](const Fill& f) { return fill(*s, f); },
          [&](const Gemm& g) { return g.issued ? issue(*s, g) : gemm(*s, g); },
          [&](const Reduce& r) { return reduce(*s, r); },
          [&](const Reinterpret& r) { return reinterpret(r); },
          [&](const Parallel& p) { return parallel(*s, p); },
          [&](const For& f) -> Status {
            For loop = f;
            Status status;
            const arith::FactsScope scope(module_.facts);  // a loop without trips says nothing to what follows
            bound_loop(f);
            loop.body = collect([&] { status = block(f.body); });
            ordinal_ = s->ordinal;
            emit(std::move(loop));
            return status;
          },
          [&](const If& i) -> Status {
            Status first, second;
            const auto branch = [&](const Block& body, bool taken, Status& status) {
              const arith::FactsScope scope(module_.facts);
              if (taken) module_.facts.assume(i.condition);
              else module_.facts.assume_not(i.condition);
              return collect([&] { status = block(body); });
            };
            Block then_body = branch(i.then_body, true, first);
            Block else_body = branch(i.else_body, false, second);
            emit(If{simplify(i.condition), std::move(then_body), std::move(else_body)});
            TILERT_TRY(std::move(first));
            return second;
          },
          [&](const While& w) { return while_loop(w); },
          [&](const Atomic& a) { return uniform_atomic(a); },
          [&](const Report& r) { return uniform_report(r); },
          [&](const Let& l) { return uniform_let(l); },
          [&](const Store& st) { return uniform_store(st); },
          [&](const GridSync&) { return grid_sync(); },
          [&](const AsyncOp& a) { return async_op(*s, a); },
          [&](const Roles& r) { return roles(r); },
          [&](const Inline& i) { return inline_source(i); },
          [&](const CallDevice& c) { return uniform_call(c); },
          [&](const auto&) -> Status { emit(s); return {}; },
      },
      s->node);
}

Result<Module> lower(Module module, const PassContext& context) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    Lower lowering(module, module.plans[k], context);
    TILERT_TRY(lowering.kernel(module.program.kernels[k]));
  }
  return module;
}

}  // namespace tilert::passes
