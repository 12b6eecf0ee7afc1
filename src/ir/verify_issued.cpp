// Products that are issued, and the roles that warps can have.
#include <algorithm>
#include <set>

#include "ir/verifier_impl.h"
#include "ir/visit.h"
#include "ir/words.h"

namespace tilert::ir {
namespace {

constexpr int kMostGroups = 16;

}  // namespace

// Operands are matrices of shared tiles, which the product reads on its way; the result is a whole fragment.
bool Verifier::issued_product(const Gemm& n) {
  if (n.tf32) return unsupported("an issued gemm in tf32", "leave the flag issue out");
  if (n.sparse()) return unsupported("an issued gemm of a sparse operand", "leave the flag issue out");
  for (const Region* r : {&n.a, &n.b}) {
    if (!scope_is(r->buffer, {Scope::shared}, "an operand of an issued gemm")) return false;
    const Buffer& b = p_.buffers[r->buffer];
    const size_t rank = r->extents.size();
    for (size_t d = rank - 2; d < rank; ++d)
      if (r->extents[d] != b.shape[d]->as_int())
        return fail(fmt::format("an issued gemm takes a part of the tile {}; its operands are the last two dims of tiles, whole", name(r->buffer)));
    if (b.view_of != kNoBuffer || !views_of(p_, r->buffer).empty()) return fail(fmt::format("an issued gemm of {}, which has views; give it a tile of its own", name(r->buffer)));
  }
  const Buffer& c = p_.buffers[n.c.buffer];
  bool whole = c.shape.size() == 2 && c.view_of == kNoBuffer && views_of(p_, n.c.buffer).empty();
  for (size_t d = 0; whole && d < 2; ++d) whole = n.c.extents[d] == c.shape[d]->as_int();
  return whole || fail(fmt::format("an issued gemm into a part or a view of {}; it adds to whole fragments of two dims", name(n.c.buffer)));
}

namespace {

// What products under way write and read: groups that were closed behind that of each, -1 where its own is open.
struct Flights {
  std::map<BufferId, int> sums, operands;
  void merge(const Flights& o) {
    for (auto at : {&Flights::sums, &Flights::operands})
      for (const auto& [id, age] : o.*at) {
        const auto [mine, added] = (this->*at).emplace(id, age);
        if (!added) mine->second = std::min(mine->second, age);
      }
  }
  void close() {
    for (auto* list : {&sums, &operands})
      for (auto& [id, age] : *list) age = std::min<int>(age + 1, kMostGroups);
  }
  void wait(int64_t pending) {
    for (auto* list : {&sums, &operands}) std::erase_if(*list, [&](const auto& f) { return f.second >= pending; });
  }
  bool operator==(const Flights&) const = default;
};

class FlightCheck {
 public:
  explicit FlightCheck(const Program& program) : p_(program) {}
  // The first statement that touches what a product under way does, and of which buffer; null: none.
  const Stmt* wrong = nullptr;
  BufferId touched = kNoBuffer;

  void walk(const Block& block, Flights& state) {
    for (const StmtPtr& s : block)
      if (!wrong) statement(*s, state);
  }

 private:
  void statement(const Stmt& s, Flights& state) {
    if (const auto* loop = std::get_if<For>(&s.node)) return trips(state, [&](Flights& trip) { walk(loop->body, trip); });
    if (const auto* loop = std::get_if<While>(&s.node))
      return trips(state, [&](Flights& trip) { walk(loop->head, trip), walk(loop->body, trip); });
    if (const auto* branch = std::get_if<If>(&s.node)) {
      Flights other = state;
      walk(branch->then_body, state);
      walk(branch->else_body, other);
      return state.merge(other);
    }
    if (const auto* roles = std::get_if<Roles>(&s.node)) return walk(roles->work, state);  // issuers multiply nothing
    if (const auto* jump = std::get_if<Jump>(&s.node)) return leave(jump->kind, state);
    if (const auto* op = std::get_if<AsyncOp>(&s.node)) {
      if (op->kind == AsyncOpKind::close) state.close();
      if (op->kind == AsyncOpKind::multiplied) state.wait(op->number);
      return;  // a load goes to another slot, which only the program knows
    }
    if (const auto* gemm = std::get_if<Gemm>(&s.node); gemm && gemm->issued) {
      state.sums[gemm->c.buffer] = -1;
      state.operands[gemm->a.buffer] = state.operands[gemm->b.buffer] = -1;
      return;
    }
    if (std::holds_alternative<Alloc>(s.node)) return;
    for (const BufferUse& use : buffer_uses_deep(s))
      if (const BufferId id = storage_of(p_, use.buffer); state.sums.count(id) || (use.write && state.operands.count(id))) wrong = &s, touched = id;
  }

  // What is under way where a jump stands is so where it leads; nothing comes behind it.
  void leave(JumpKind kind, Flights& state) {
    if (kind != JumpKind::finish && !loops_.empty()) (kind == JumpKind::leave ? loops_.back().behind : loops_.back().next).merge(state);
    state = {};
  }

  template <class Trip>
  void trips(Flights& state, const Trip& trip) {
    Flights behind;
    for (bool more = true; more && !wrong;) {
      const Flights before = state;
      Flights one = state;
      loops_.emplace_back();
      trip(one);
      one.merge(loops_.back().next), behind.merge(loops_.back().behind);
      loops_.pop_back();
      state.merge(one);
      more = !(before == state);
    }
    state.merge(behind);
  }

  struct Loop {
    Flights next, behind;  // that jumps carry
  };
  const Program& p_;
  std::vector<Loop> loops_;
};

}  // namespace

bool Verifier::products_in_flight(const Kernel& k) {
  FlightCheck check(p_);
  Flights state;
  check.walk(k.body, state);
  if (!check.wrong) return true;
  current_ = check.wrong;
  return fail(fmt::format("{} is used while an issued gemm may still be under way; commit_products and wait_products come before", name(check.touched)));
}

// ---- roles ----

bool Verifier::check(const Roles& n) {
  if (role_ != Role::none) return fail("roles inside a role; a kernel has them once");
  if (n.issuers.empty() || n.issuers.size() > kMaxIssuers) return fail(fmt::format("{} issuing roles; 1 to {}", n.issuers.size(), kMaxIssuers));
  const auto takes = [](int registers) { return registers >= 24 && registers <= 256 && registers % 8 == 0; };
  if ((n.issuer_registers || n.worker_registers) && !(takes(n.issuer_registers) && takes(n.worker_registers)))
    return fail(fmt::format("{} and {} registers of issuers and workers; multiples of 8 from 24 to 256, or none", n.issuer_registers, n.worker_registers));
  for (const Block& body : n.issuers) note_loop_writes(body);  // one role reads what another has written
  note_loop_writes(n.work);
  role_ = Role::issuer;
  for (const Block& body : n.issuers)
    if (!block(body)) return false;
  role_ = Role::worker;
  const bool good = block(n.work);
  role_ = Role::none;
  return good;
}

// An issuer is one thread, beside which nobody stands; workers are some of the block's threads.
bool Verifier::fits_role(const Stmt& s) {
  if (role_ == Role::none || lowered()) return true;
  const auto* op = std::get_if<AsyncOp>(&s.node);
  const auto* jump = std::get_if<Jump>(&s.node);
  if (role_ == Role::worker) {
    const auto* loop = std::get_if<Parallel>(&s.node);
    if (jump && jump->kind == JumpKind::finish) return fail("return in a role; the others would go on: let its body end");
    if (std::holds_alternative<GridSync>(s.node)) return fail("grid_sync in a role, to which the others do not come; use two kernels");
    return !loop || !loop->threads || fail("a loop over threads in a role; work on elements with parallel");
  }
  const auto scalar = [&](BufferId b) { return b < p_.buffers.size() && p_.buffers[b].scope == Scope::scalar; };
  const auto* a = std::get_if<Alloc>(&s.node);
  const auto* store = std::get_if<Store>(&s.node);
  const auto* let = std::get_if<Let>(&s.node);
  const auto* loop = std::get_if<For>(&s.node);
  if (let && !let->value && let->read.buffer < p_.buffers.size() && !scalar(let->read.buffer) && p_.buffers[let->read.buffer].scope != Scope::global)
    return fail(fmt::format("an issuing role reads {}; it reads tensors and vars of its own", name(let->read.buffer)));
  const bool fits = let || std::holds_alternative<If>(s.node) || (loop && loop->kind != ForKind::pipelined) || (a && scalar(a->buffer)) ||
                    (store && scalar(store->to.buffer)) || (op && op->kind != AsyncOpKind::close && op->kind != AsyncOpKind::multiplied);
  return fits || fail("an issuing role waits for barriers, arrives and copies tensors, in serial loops and branches, with lets and vars; the work does the rest");
}

// What stands before them is there for all roles: tiles, barriers, fragments, values.
bool Verifier::roles_stand_last(const Kernel& k) {
  const Stmt* roles = nullptr;
  for_each_stmt(k.body, [&](const Stmt& s) {
    if (std::holds_alternative<Roles>(s.node)) roles = &s;
  });
  if (!roles) return true;
  current_ = roles;
  if (k.persistent) return fail("roles in a persistent kernel; loop over tiles in each role");
  if (k.body.back().get() != roles) return fail("roles are the last statement of a kernel; what follows them belongs to the work");
  for (const StmtPtr& s : k.body) {
    current_ = s.get();
    if (s.get() == roles || std::holds_alternative<Let>(s->node)) continue;
    const auto* a = std::get_if<Alloc>(&s->node);
    if (!a) return fail("a statement in front of roles, where declarations and lets stand; let the work do it");
    if (const Scope scope = p_.buffers[a->buffer].scope; scope == Scope::scalar || scope == Scope::local)
      return fail(fmt::format("{} in front of roles, each of which would have its own; declare it in the role that uses it", name(a->buffer)));
  }
  current_ = nullptr;
  return true;
}

// How many arrivals a statement is depends on who executes it, and is counted when the barriers are set up.
bool Verifier::one_role_arrives(const Kernel& k) {
  const Roles* roles = k.body.empty() ? nullptr : std::get_if<Roles>(&k.body.back()->node);
  if (!roles) return true;
  std::map<BufferId, const Block*> by;
  const auto arrives = [&](const Block& body) {
    for_each_stmt(body, [&](const Stmt& s) {
      const auto* op = std::get_if<AsyncOp>(&s.node);
      if (current_ || !op || op->kind > AsyncOpKind::expect) return;
      const auto [at, added] = by.emplace(op->barrier.buffer, &body);
      if (!added && at->second != &body) current_ = &s;
    });
  };
  for (const Block& body : roles->issuers) arrives(body);
  arrives(roles->work);
  return !current_ || fail("a barrier at which another role arrives too; give each role barriers of its own to arrive at");
}

}  // namespace tilert::ir
