// One walk: a barrier is three elements, and each operation what it does to them.
#include "ir/async.h"

#include <map>

#include "ir/visit.h"

namespace tilert::ir {

bool has_async(const Program& program) {
  bool found = false;
  for (const Kernel& kernel : program.kernels)
    for_each_stmt(kernel.body, [&](const Stmt& s) {
      const auto* a = std::get_if<Alloc>(&s.node);
      found |= std::holds_alternative<AsyncOp>(s.node) || (a && program.buffer(a->buffer).scope == Scope::barrier);
    });
  return found;
}

namespace {

class Parting {
 public:
  explicit Parting(Program& program) : p_(program) {}

  Block operator()(const StmtPtr& s) {
    at_ = s.get();
    out_.clear();
    if (const auto* a = std::get_if<Alloc>(&s->node); a && p_.buffer(a->buffer).scope == Scope::barrier) declare(a->buffer);
    else if (const auto* op = std::get_if<AsyncOp>(&s->node)) operation(*op);
    else out_.push_back(s);
    return std::move(out_);
  }

 private:
  // Of each barrier of a row: arrivals and bytes that its phase still waits for, and the phase's parity.
  struct State {
    BufferId arrivals, bytes, parity;
  };

  Arena& arena() { return *p_.arena; }
  Expr number(int64_t v) { return arena().constant(DType::int64, static_cast<uint64_t>(v)); }
  void emit(Stmt::Node node) { out_.push_back(make_stmt(std::move(node), at_->ordinal, at_->location)); }
  Expr read(BufferId from, const Access& barrier) {
    const VarId var = p_.add_var(VarKind::let, DType::int64, "of_barrier");
    emit(Let{var, nullptr, {from, barrier.indices}});
    return p_.var(var);
  }
  void add(BufferId to, const Access& barrier, int64_t more) {
    emit(Store{{to, barrier.indices}, arena().make(Op::add, {read(to, barrier), number(more)})});
  }

  BufferId tile(const Buffer& barriers, const char* name, int64_t value) {
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

  void declare(BufferId id) {
    const Buffer barriers = p_.buffer(id);
    states_[id] = {tile(barriers, "arrivals", barriers.arrivals), tile(barriers, "bytes", 0), tile(barriers, "parity", 0)};
  }

  // Begins the next phase where all has come.
  void complete(const State& state, const Access& barrier) {
    const Expr arrivals = read(state.arrivals, barrier), bytes = read(state.bytes, barrier);
    Block before = std::move(out_);
    out_.clear();
    emit(Store{{state.arrivals, barrier.indices}, number(p_.buffer(barrier.buffer).arrivals)});
    emit(Store{{state.parity, barrier.indices}, arena().make(Op::sub, {number(1), read(state.parity, barrier)})});
    Block next = std::move(out_);
    out_ = std::move(before);
    const Expr none_missing = arena().make(Op::logical_and, {arena().make(Op::eq, {arrivals, number(0)}), arena().make(Op::eq, {bytes, number(0)})});
    emit(If{none_missing, std::move(next), {}});
  }

  int64_t bytes_of(const Region& tile) const {
    int64_t bytes = dtype_bytes(p_.buffer(tile.buffer).dtype);
    for (int64_t extent : tile.extents) bytes *= extent;
    return bytes;
  }

  void operation(const AsyncOp& n) {
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
        AsyncOp check = n;
        check.barrier.buffer = state().parity;
        return emit(std::move(check));
      }
      case AsyncOpKind::load:
        emit(Copy{n.src, n.dst});
        add(state().bytes, n.barrier, -bytes_of(n.dst));
        return complete(state(), n.barrier);
      case AsyncOpKind::store: return emit(Copy{n.src, n.dst});
      case AsyncOpKind::commit:
      case AsyncOpKind::written:
      case AsyncOpKind::read: return;
    }
  }

  Program& p_;
  std::map<BufferId, State> states_;
  const Stmt* at_ = nullptr;
  Block out_;
};

}  // namespace

void part_async(Program& program) {
  for (Kernel& kernel : program.kernels) {
    Parting parting(program);
    kernel.body = rewrite_block(kernel.body, [&](const StmtPtr& s) { return parting(s); });
  }
}

}  // namespace tilert::ir
