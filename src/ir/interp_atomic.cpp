// Atomic operations, reports, and jumps: who is on the way out of which loop. Blocks and points run one after the other, so that
// nothing comes between an operation's read and its write.
#include "ir/async.h"
#include "ir/interpreter_impl.h"

namespace tilert::ir::interp {

bool Machine::step(const Operation& op, const Atomic& n, const Lanes& lanes) {
  const Place& to = op.p[0];
  const DType dtype = to.memory->dtype;
  const std::optional<Op> combine = atomic_combine(n.op);
  const ScalarFunction function = combine ? scalar_function(*combine, dtype, dtype) : nullptr;
  if (combine && !function)
    return refuse(fmt::format("an atomic operation on {} is not defined", dtype_text(dtype)), "use 32 or 64 bits, and cast");
  const bool in_parallel = std::exchange(in_parallel_, false);  // points may meet here
  bool good = true;
  for (size_t i = 0; good && i < lanes.size(); ++i) good = atomic(op, n, function, lanes[i]);
  in_parallel_ = in_parallel;
  return good;
}

bool Machine::atomic(const Operation& op, const Atomic& n, ScalarFunction function, uint32_t lane) {
  const Place& to = op.p[0];
  int64_t at[kMaxRank + 1];
  const int64_t element = element_of(to, lane, at);
  uint64_t old = 0;
  if (element < 0 && (!to.memory->global || to.flat)) return outside(*to.memory, at, to.at.size());
  if (element >= 0) {
    if (n.op != AtomicOp::store && !read_at(*to.memory, element, lane, old)) return false;
    const uint64_t value = op.e[0] ? eval(op.e[0], lane) : 0;
    const bool stores = n.op != AtomicOp::load && (n.op != AtomicOp::cas || old == eval(op.e[1], lane));
    if (stores && !write_at(*to.memory, element, lane, function ? function(old, value, 0) : value)) return false;
  }
  if (n.old != kNoVar) vars_[n.old * lanes_ + lane] = old;
  return true;
}

bool Machine::step(const Operation& op, const Report& n, const Lanes& lanes) {
  if (!options_.reports) return true;
  for (uint32_t l : lanes) {
    if (options_.reports->entries.size() >= options_.reports->most) {
      ++options_.reports->lost;
      continue;
    }
    ReportEntry entry{};
    entry.ordinal = n.id;
    for (size_t i = 0; i < n.values.size(); ++i) entry.values[i] = eval(op.bounds[i], l);
    for (size_t i = 0; i < n.block.size(); ++i) entry.block[i] = static_cast<uint32_t>(eval(op.bounds[n.values.size() + i], l));
    options_.reports->entries.push_back({op.stmt, entry});
  }
  return true;
}

bool Machine::step(const Operation&, const Jump& n, const Lanes& lanes) {
  if (jump_.size() < lanes_) jump_.assign(lanes_, std::nullopt);
  for (uint32_t l : lanes) jump_[l] = n.kind;
  jumping_ += lanes.size();
  return true;
}

// The lanes that are not on their way out of something.
Lanes Machine::staying(const Lanes& lanes) const {
  Lanes out;
  for (uint32_t l : lanes)
    if (!jump_[l]) out.push_back(l);
  return out;
}

// After a trip of a loop: takes off the lanes that leave it. False when none is left.
bool Machine::end_trip(Lanes& lanes) {
  if (jumping_ == 0) return true;
  std::erase_if(lanes, [&](uint32_t l) {
    const std::optional<JumpKind> kind = jump_[l];
    if (!kind || *kind == JumpKind::finish) return kind.has_value();
    jump_[l].reset();
    --jumping_;
    return *kind == JumpKind::leave;
  });
  return !lanes.empty();
}

bool Machine::step(const Operation& op, const While&, const Lanes& lanes) {
  Lanes active = lanes;
  do {
    statements_ += static_cast<int64_t>(active.size());
    if (statements_ > options_.max_statements)
      return fail("the program executes more statements than allowed: does this loop end?", Code::kTimeout);
    if (!execute(op.first, active)) return false;
    if (!end_trip(active)) return true;
    std::erase_if(active, [&](uint32_t l) { return !eval(op.e[0], l); });
    if (active.empty()) return true;
    if (!execute(op.second, active)) return false;
  } while (end_trip(active));
  return true;
}

// What is left of it where nothing goes on by itself (async.h).
bool Machine::step(const Operation& op, const AsyncOp& n, const Lanes& lanes) {
  if (n.kind != AsyncOpKind::wait) return fail("an operation of barriers that was not parted", Code::kInternal);
  uint64_t parity = 0;
  if (!read(op.p[0], lanes[0], parity)) return false;
  if (phase_is_past(eval_index(op.e[0], lanes[0]), static_cast<int64_t>(parity))) return true;
  if (n.number) return fail("an issuing role waits for a phase that nothing can complete any more, now that the work has ended");
  return fail(fmt::format("wait_barrier waits for phase {}, which nothing can complete any more: arrivals or bytes are missing before this",
                          eval_index(op.e[0], lanes[0])));
}

}  // namespace tilert::ir::interp
