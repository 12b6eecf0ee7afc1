// A barrier is three elements, and each operation what it does to them. Roles: async_roles.cpp.
#include "ir/async.h"

#include "ir/async_parting.h"

namespace tilert::ir {

bool has_async(const Program& program) {
  bool found = false;
  for (const Kernel& kernel : program.kernels)
    for_each_stmt(kernel.body, [&](const Stmt& s) {
      const auto* a = std::get_if<Alloc>(&s.node);
      found |= std::holds_alternative<AsyncOp>(s.node) || std::holds_alternative<Roles>(s.node) || (a && program.buffer(a->buffer).scope == Scope::barrier);
    });
  return found;
}

Block AsyncParting::run(const Block& body) {
  Block all;
  for (const StmtPtr& s : body) {
    Block now;
    if (const auto* n = std::get_if<Roles>(&s->node)) {
      at_ = s.get();
      now = collect([&] { roles(*n); });
    } else {
      now = rewrite_block({s}, [&](const StmtPtr& inner) { return statement(inner); });
    }
    all.insert(all.end(), now.begin(), now.end());
  }
  return all;
}

Block AsyncParting::collect(const std::function<void()>& f) {
  Block before = std::move(out_);
  out_.clear();
  f();
  std::swap(before, out_);
  return before;
}

Block AsyncParting::statement(const StmtPtr& s) {
  at_ = s.get();
  if (const auto* a = std::get_if<Alloc>(&s->node); a && p_.buffer(a->buffer).scope == Scope::barrier) return collect([&] { declare(a->buffer); });
  if (const auto* op = std::get_if<AsyncOp>(&s->node)) return collect([&] { operation(*op); });
  return {s};
}

Expr AsyncParting::let(Access from) {
  const VarId var = p_.add_var(VarKind::let, p_.buffer(from.buffer).dtype, "of_barrier");
  emit(Let{var, nullptr, std::move(from)});
  return p_.var(var);
}

void AsyncParting::add(BufferId to, const Access& barrier, int64_t more) {
  emit(Store{{to, barrier.indices}, arena().make(Op::add, {read(to, barrier), number(more)})});
}

BufferId AsyncParting::tile(const Buffer& barriers, const char* name, int64_t value) {
  Buffer b;
  b.name = name + ("_of_" + barriers.name);
  b.dtype = DType::int64;
  b.scope = Scope::shared;
  b.shape = barriers.shape;
  const BufferId id = p_.add_buffer(std::move(b));
  emit(Alloc{id});
  emit(Fill{{id, {arena().index(0)}, {barriers.shape[0]->as_int()}}, number(value)});
  return id;
}

BufferId AsyncParting::scalar(const char* name, DType dtype) {
  Buffer b;
  b.name = name;
  b.dtype = dtype;
  b.scope = Scope::scalar;
  const BufferId id = p_.add_buffer(std::move(b));
  emit(Alloc{id});
  return id;
}

void AsyncParting::declare(BufferId id) {
  const Buffer barriers = p_.buffer(id);
  states_[id] = {tile(barriers, "arrivals", barriers.arrivals), tile(barriers, "bytes", 0), tile(barriers, "parity", 0)};
}

// Begins the next phase where all has come.
void AsyncParting::complete(const State& state, const Access& barrier) {
  const Expr arrivals = read(state.arrivals, barrier), bytes = read(state.bytes, barrier);
  Block next = collect([&] {
    emit(Store{{state.arrivals, barrier.indices}, number(p_.buffer(barrier.buffer).arrivals)});
    emit(Store{{state.parity, barrier.indices}, arena().make(Op::sub, {number(1), read(state.parity, barrier)})});
  });
  const Expr none_missing = arena().make(Op::logical_and, {arena().make(Op::eq, {arrivals, number(0)}), arena().make(Op::eq, {bytes, number(0)})});
  emit(If{none_missing, std::move(next), {}});
}

// Whether the phase that is waited for has completed.
Expr AsyncParting::is_past(const AsyncOp& wait) {
  const Expr under_way = read(states_.at(wait.barrier.buffer).parity, wait.barrier);
  const Expr parity = arena().cast(arena().make(Op::mod, {wait.value, arena().index(2)}), DType::int64);
  return arena().make(Op::ne, {under_way, parity});
}

namespace {

int64_t bytes_of(const Program& program, const Region& tile) {
  int64_t bytes = dtype_bytes(program.buffer(tile.buffer).dtype);
  for (int64_t extent : tile.extents) bytes *= extent;
  return bytes;
}

}  // namespace

void AsyncParting::operation(const AsyncOp& n) {
  const auto state = [&]() -> const State& { return states_.at(n.barrier.buffer); };
  switch (n.kind) {
    case AsyncOpKind::arrive:
      add(state().arrivals, n.barrier, -1);
      return complete(state(), n.barrier);
    case AsyncOpKind::expect:
      add(state().bytes, n.barrier, n.number);
      add(state().arrivals, n.barrier, -1);
      return complete(state(), n.barrier);
    case AsyncOpKind::wait: {
      if (!issuers_.empty()) advance(&n);
      AsyncOp check = n;
      check.barrier.buffer = state().parity;
      return emit(std::move(check));
    }
    case AsyncOpKind::load:
      emit(Copy{n.src, n.dst});
      add(state().bytes, n.barrier, -bytes_of(p_, n.dst));
      return complete(state(), n.barrier);
    case AsyncOpKind::store: return emit(Copy{n.src, n.dst});
    case AsyncOpKind::commit:
    case AsyncOpKind::written:
    case AsyncOpKind::read:
    case AsyncOpKind::close:
    case AsyncOpKind::multiplied: return;
  }
}

void part_async(Program& program) {
  for (Kernel& kernel : program.kernels) kernel.body = AsyncParting(program).run(kernel.body);
}

}  // namespace tilert::ir
