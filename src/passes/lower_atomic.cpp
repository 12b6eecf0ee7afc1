// Atomic operations, as statements of the block and of a point of an element-wise loop; a point's reports; while loops. In an element-wise loop
// additions to elements side by side become one access (lower_parallel.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/semantics.h"
#include "ir/visit.h"
#include "ir/words.h"
#include "passes/element_wise.h"
#include "passes/roles.h"
#include "support/refusal.h"

namespace tilert::passes {

using namespace ir;

// Of all threads that run the block's statements.
void Lower::block_barrier() {
  if (!plan_.roles.on) return call(Primitive::barrier, {});
  call(Primitive::named_barrier, {value_arg(index(kConsumerBarrier)), value_arg(index(int64_t{plan_.roles.consumers} * 128))});
}

// One thread acts; the old value reaches the others through shared memory. What a release hands on, all threads have done
// before; what an acquire lets in, none has begun.
Status Lower::uniform_atomic(const Atomic& n) {
  const Buffer b = program().buffer(n.to.buffer);
  const bool global = b.scope == Scope::global, asked = n.old != kNoVar;
  Atomic one = n;
  one.to = memory_access(n.to.buffer, n.to.indices);
  if (n.value) one.value = simplify(n.value);
  if (n.expected) one.expected = simplify(n.expected);
  const Expr inside_tensor = global ? inside(n.to.buffer, n.to.indices, {}) : nullptr;
  const BufferId box = asked ? scratch(b.dtype, 1, "old") : kNoBuffer;
  if (releases(n.order)) block_barrier();
  group(fmt::format("{}: atomic {}", ordinal_, word(n.op)), [&] {
    when(arith::eq(arena(), thread(), 0), [&] {
      if (!asked) return when(inside_tensor, [&] { emit(one); });
      const Access place{box, {index(0)}};
      if (inside_tensor) store(place, arena().constant(b.dtype, 0));
      when(inside_tensor, [&] {
        one.old = program().add_var(VarKind::let, b.dtype, "old");
        emit(one);
        store(place, program().var(one.old));
      });
    });
  });
  if (acquires(n.order)) block_barrier();
  if (asked) emit(Let{n.old, nullptr, {box, {index(0)}}});
  return {};
}

Status Lower::while_loop(const While& n) {
  While loop;
  Status first, second;
  const arith::FactsScope scope(module_.facts);
  loop.head = collect([&] { first = block(n.head); });
  loop.condition = simplify(n.condition);
  loop.body = collect([&] { second = block(n.body); });
  emit(std::move(loop));
  TILERT_TRY(std::move(first));
  return second;
}

// ---- a point of an element-wise loop

bool is_ordered(const Block& body) {
  bool found = false;
  for_each_stmt(body, [&](const Stmt& s) {
    const auto* a = std::get_if<Atomic>(&s.node);
    found |= a && a->order != MemoryOrder::relaxed;
  });
  return found;
}

// Additions that nobody asks the old value of, as many at once as the target takes; 1 for others.
int64_t ElementWise::most_added(const Atomic& n) const {
  const Buffer& b = low_.program().buffer(n.to.buffer);
  if (low_.context().target.is_hip()) return 1;  // its sums of floats are loops of their own
  if (n.op != AtomicOp::add || n.old != kNoVar || n.scope == MemoryScope::system || b.scope != Scope::global) return 1;
  const bool vectors = low_.context().target.has(Feature::vector_red);
  if (b.dtype == DType::f32) return vectors ? 4 : 1;
  if (b.dtype == DType::f16) return vectors ? 8 : 2;
  return b.dtype == DType::bf16 && vectors ? 8 : 1;
}

// ---- which copies of a point run it

bool ElementWise::updates_memory() const {
  std::vector<BufferUse> uses;
  for_each_stmt(loop_.body, [&](const Stmt& s) {
    const auto* atomic = std::get_if<Atomic>(&s.node);
    if (atomic && atomic->old == kNoVar) return uses.push_back({atomic->to.buffer, false, true});  // the first copy acts
    for (const BufferUse& use : buffer_uses(s)) uses.push_back(use);
  });
  return std::any_of(uses.begin(), uses.end(), [&](const BufferUse& a) {
    const Scope scope = low_.program().buffer(a.buffer).scope;
    if (!a.write || (scope != Scope::shared && scope != Scope::global)) return false;
    return std::any_of(uses.begin(), uses.end(), [&](const BufferUse& b) { return b.read && low_.same_memory(a.buffer, b.buffer); });
  });
}

// What every thread keeps for itself cannot come from a body that one thread alone runs.
Status ElementWise::check_locals() const {
  std::set<BufferId> own;
  Status status;
  for_each_stmt(loop_.body, [&](const Stmt& s) {
    if (const auto* alloc = std::get_if<Alloc>(&s.node)) own.insert(alloc->buffer);
    if (!status || (!std::holds_alternative<Store>(s.node) && !std::holds_alternative<CallDevice>(s.node))) return;
    const auto uses = buffer_uses(s);
    const bool outer = std::any_of(uses.begin(), uses.end(), [&](const BufferUse& use) {
      const Scope scope = low_.program().buffer(use.buffer).scope;
      return use.write && !own.count(use.buffer) && (scope == Scope::scalar || scope == Scope::local);
    });
    if (outer) status = refusal(fmt::format("{}: a loop that reads and writes the same memory also writes a var or local from outside",
                                 describe(low_.program(), s)),
                     "write it in a loop of its own, or use a shared tile");
  });
  return status;
}

// An old value is known to the one thread that acted: the other copies of the point could not use it. The same of what a call
// gives that writes memory.
bool ElementWise::acts_once() const {
  bool once = false;
  for_each_stmt(loop_.body, [&](const Stmt& s) {
    const auto* a = std::get_if<Atomic>(&s.node);
    const auto* call = std::get_if<CallDevice>(&s.node);
    once |= (a && a->old != kNoVar) || (call && writes_memory(low_.program(), *call));
  });
  return once;
}

Expr ElementWise::owner() { return once_ ? nullptr : low_.is_first_replica(map_); }

void ElementWise::atomic(const Stmt* s, const Atomic& n) {
  Atomic one = n;
  if (n.value) one.value = value(n.value);
  if (const Vector* vector = vector_of(s)) return low_.store({vector->box, {inner_}}, one.value);
  if (n.expected) one.expected = value(n.expected);
  const auto indices = values(n.to.indices);
  one.to = low_.memory_access(n.to.buffer, indices);
  const Expr condition = arith::logical_and(low_.arena(), owner(), bounds_condition(n.to, indices));
  give(condition, one, one.old, "old");
}

void ElementWise::report(const Report& n) {
  Report out = n;
  out.values = values(n.values);
  out.block = values(n.block);
  low_.when(owner(), [&] { low_.emit(std::move(out)); });
}

// The additions of a vector's elements, in accesses of at most what the target takes.
void ElementWise::add_vector(const Atomic& n, const Access& at, BufferId box) {
  const int64_t most = std::min(most_added(n), vector_);
  for (int64_t i = 0; i < vector_; i += most)
    low_.call(Primitive::red_add_vector,
              {text_arg(std::to_string(most)), address_arg(low_.further(at, i)), registers_arg(box, low_.index(i), most)});
}

}  // namespace tilert::passes
