// Control flow, atomic operations and diagnostics: one check a kind. The others are in verify_stmt.cpp.
#include "ir/verifier_impl.h"
#include "ir/visit.h"
#include "ir/words.h"

namespace tilert::ir {

// What a later iteration reads may have been written by an earlier one.
void Verifier::note_loop_writes(const Block& body) {
  for_each_stmt(body, [&](const Stmt& s) {
    for (const BufferUse& use : buffer_uses(s))
      if (use.write && use.buffer < written_.size()) written_[use.buffer] = 1;
  });
}

bool Verifier::check(const For& n) {
  if (!expr(n.begin, DType::index, "a loop's begin") || !expr(n.end, DType::index, "a loop's end")) return false;
  if (n.step == 0) return fail("a loop's step is 0");
  if (n.stages < 0 || n.stages > 64)
    return fail(fmt::format("{} stages; 0 leaves the choice to the compiler, 64 is the limit", n.stages));
  if (parallel_ && n.kind == ForKind::pipelined) return fail(fmt::format("a pipelined loop inside {}; use a serial one", around()));
  if (!loop_of_threads(n)) return false;
  if (!define(n.var, VarKind::loop, dependence(n.begin) | dependence(n.end))) return false;
  const std::vector<char> before = written_;
  note_loop_writes(n.body);
  const Dependence under = under_;
  ++loops_;
  if (!block(n.body)) return false;
  --loops_;
  under_ = under;
  for (size_t b = 0; b < before.size(); ++b) written_[b] |= before[b];
  defined_[n.var] = 0;
  return true;
}

bool Verifier::check(const If& n) {
  if (!expr(n.condition, DType::boolean, "the condition of if")) return false;
  const Dependence under = under_;
  under_ |= dependence(n.condition);
  const std::vector<char> before = written_;
  conditions_.emplace_back(n.condition, true);
  if (!block(n.then_body)) return false;
  const std::vector<char> then = written_;
  written_ = before;
  conditions_.back().second = false;
  if (!block(n.else_body)) return false;
  conditions_.pop_back();
  for (size_t b = 0; b < then.size(); ++b) written_[b] |= then[b];
  // Who gets past a jump is who met the conditions around it.
  bool jumps = false;
  for (const Block* side : {&n.then_body, &n.else_body})
    for_each_stmt(*side, [&](const Stmt& s) { jumps |= std::holds_alternative<Jump>(s.node); });
  if (!jumps) under_ = under;
  return true;
}

bool Verifier::check(const While& n) {
  const std::vector<char> before = written_, defined = defined_, allocated = allocated_;
  note_loop_writes(n.head);
  note_loop_writes(n.body);
  const Dependence under = under_;
  ++loops_;
  ++whiles_;
  if (!statements(n.head) || !expr(n.condition, DType::boolean, "the condition of while")) return false;
  under_ |= dependence(n.condition);
  if (!block(n.body)) return false;
  --whiles_;
  --loops_;
  under_ = under;
  defined_ = defined;
  allocated_ = allocated;
  for (size_t b = 0; b < before.size(); ++b) written_[b] |= before[b];
  return true;
}

bool Verifier::check(const Jump& n) {
  if (n.kind == JumpKind::finish)
    return !parallel_ || fail(fmt::format("return inside {}; a {} ends with its body: put the rest under an if", around(),
                                          parallel_->threads ? "thread" : "point"));
  if (loops_ > 0) return true;
  return fail(fmt::format("{} outside of a loop{}", word(n.kind),
                          parallel_ ? fmt::format(" inside {}; put the rest under an if", around()) : "; use return or an if"));
}

bool Verifier::check(const Atomic& n) {
  const std::string what = fmt::format("atomic {}", word(n.op));
  if (!access(n.to, what.c_str()) || !scope_is(n.to.buffer, {Scope::global, Scope::shared}, "the place of an atomic operation"))
    return false;
  const DType dtype = p_.buffers[n.to.buffer].dtype;
  if (!atomic_takes(n.op, dtype))
    return unsupported(fmt::format("{} on {}, which is {}", what, name(n.to.buffer), dtype_text(dtype)),
                       atomic_advice(n.op, dtype));
  if (in_kernel_->fixed_order && atomic_rounds(n.op, dtype))
    return fail(fmt::format("{} on {}, whose order is that of time, in a kernel whose order of sums is fixed: reduce a tile and store the sum",
                            what, name(n.to.buffer)));
  if (!atomic_allows(n.op, n.order))
    return fail(fmt::format("{} does not {}; loads acquire, stores release, the others do either or both", what, word(n.order)));
  const bool loads = n.op == AtomicOp::load, stores = n.op == AtomicOp::store;
  if (loads != (n.value == nullptr) || (n.op == AtomicOp::cas) != (n.expected != nullptr) || (loads && n.old == kNoVar) ||
      (stores && n.old != kNoVar))
    return fail(fmt::format("{} has other operands than it takes", what));
  if (n.value && !expr(n.value, dtype, "the value of an atomic operation")) return false;
  if (n.expected && !expr(n.expected, dtype, "the expected value")) return false;
  if ((!stores && !reads(n.to.buffer)) || (!loads && !writes(n.to.buffer))) return false;
  if (n.old == kNoVar) return true;
  if (n.old >= p_.vars.size() || p_.vars[n.old].dtype != dtype) return fail(fmt::format("{}: the old value is {}", what, dtype_text(dtype)));
  return define(n.old, VarKind::let, ~Dependence{0});
}

bool Verifier::check(const Report& n) {
  if (n.values.size() > kMaxReported)
    return fail(fmt::format("{} values are reported at once; {} are the limit, so report the others by themselves", n.values.size(),
                            kMaxReported));
  if (n.block.empty() || n.block.size() > 3) return fail(fmt::format("{} coordinates of a block; a grid has 1 to 3", n.block.size()));
  for (Expr e : n.values) {
    if (!e) return fail("a reported value is missing");
    if (!report_takes(e->dtype))
      return fail(fmt::format("a reported value is {}; cast it to f32 or int32", dtype_text(e->dtype)));
    if (!expr(e, e->dtype, "a reported value")) return false;
  }
  for (Expr e : n.block)
    if (!expr(e, DType::index, "a coordinate of the block")) return false;
  return n.ring == kNoBuffer || (names_buffer(n.ring, "a report") && scope_is(n.ring, {Scope::global}, "the ring of reports"));
}

}  // namespace tilert::ir
