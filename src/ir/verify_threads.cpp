// Loops over threads: where threads may meet, and who does. What differs among the threads of a warp is a bit of
// dependence, so that a collective operation under a condition that parts a warp is known before anything runs.
#include <bit>
#include <set>

#include "ir/evaluate.h"
#include "ir/threads.h"
#include "ir/verifier_impl.h"
#include "ir/visit.h"
#include "ir/words.h"

namespace tilert::ir {
namespace {

// As the builder calls it.
std::string_view called(ThreadOpKind kind) {
  switch (kind) {
    case ThreadOpKind::all: return "vote all";
    case ThreadOpKind::any: return "vote any";
    case ThreadOpKind::sync: return "sync_threads";
    case ThreadOpKind::copy: return "copy_async";
    case ThreadOpKind::commit: return "commit_copies";
    case ThreadOpKind::wait: return "wait_copies";
    case ThreadOpKind::shuffle:
    case ThreadOpKind::shuffle_up:
    case ThreadOpKind::shuffle_down:
    case ThreadOpKind::shuffle_xor:
    case ThreadOpKind::ballot:
    case ThreadOpKind::fence: break;
  }
  return word(kind);
}

// Whether a value of the thread is the same for all threads of a warp: its warp, or a comparison with a warp's first one.
bool same_in_warp(Expr e, VarId thread) {
  const auto is_thread = [&](int i) { return e->operand[i]->is_variable() && e->operand[i]->var() == thread; };
  const auto constant = [&](int i) { return e->operand[i]->is_constant() ? e->operand[i]->as_int() : -1; };
  const auto first = [](int64_t c) { return c >= 0 && c % kWarpLanes == 0; };
  switch (e->op) {
    case Op::div: return is_thread(0) && constant(1) > 0 && first(constant(1));
    case Op::shr: return is_thread(0) && constant(1) >= 5;
    case Op::lt: return (is_thread(0) && first(constant(1))) || (is_thread(1) && constant(0) >= 0 && first(constant(0) + 1));
    case Op::le: return (is_thread(1) && first(constant(0))) || (is_thread(0) && constant(1) >= 0 && first(constant(1) + 1));
    default: return false;
  }
}

bool jumps_out(const Block& body) {
  for (const StmtPtr& s : body) {
    if (std::holds_alternative<Jump>(s->node)) return true;
    const auto* branch = std::get_if<If>(&s->node);
    if (branch && (jumps_out(branch->then_body) || jumps_out(branch->else_body))) return true;
  }
  return false;
}

}  // namespace

std::optional<uint64_t> value_for_thread(Expr e, VarId thread, int64_t number) {
  if (e->is_constant()) return e->bits;
  if (e->is_variable()) return e->var() == thread ? std::optional<uint64_t>(static_cast<uint64_t>(number)) : std::nullopt;
  uint64_t operands[3] = {};
  for (int i = 0; i < e->arity; ++i) {
    const auto one = value_for_thread(e->operand[i], thread, number);
    if (!one) return std::nullopt;
    operands[i] = *one;
  }
  return evaluate(*e, std::span<const uint64_t>(operands, e->arity));
}

// As of any expression, but for what is the same in a warp.
Verifier::Dependence Verifier::dependence_in_threads(Expr root) const {
  const VarId thread = parallel_->vars[0];
  Dependence all = 0;
  std::vector<Expr> stack{root};
  std::set<Expr> seen;
  while (!stack.empty()) {
    const Expr e = stack.back();
    stack.pop_back();
    if (!seen.insert(e).second) continue;
    if (e->is_variable() && e->var() < depends_.size()) all |= depends_[e->var()];
    if (e->arity > 1 && same_in_warp(e, thread)) {
      all |= 1;
      continue;
    }
    for (int i = 0; i < e->arity; ++i) stack.push_back(e->operand[i]);
  }
  return all;
}

bool Verifier::check_threads(const Parallel& n, const Kernel& k) {
  const int64_t fixed = k.hints.value(HintKind::threads_fixed);
  if (n.vars.size() != 1 || n.extents.size() != 1 || n.extents[0] != fixed)
    return fail(fixed ? fmt::format("a loop over threads has one extent, the kernel's {} threads", fixed)
                      : "a loop over threads in a kernel whose number of threads is open; fix it with the hint threads_fixed");
  return true;
}

// A loop that threads go through together has bounds that were known before they parted, and no way out of its middle.
bool Verifier::loop_of_threads(const For& n) {
  if (!parallel_ || !parallel_->threads || !has_collective(n.body)) return true;
  if (dependence(n.begin) | dependence(n.end))
    return fail("threads meet in a loop whose bounds are computed inside the loop over threads; compute them before it");
  return !jumps_out(n.body) || fail("threads meet in a loop that some may leave; put the rest of a trip under an if");
}

bool Verifier::collective(const ThreadOp& n) {
  Dependence around = 0;
  for (const auto& [condition, holds] : conditions_) around |= dependence(condition);
  if (whiles_) return fail(fmt::format("{} inside while; threads meet in serial loops", called(n.kind)));
  if (around & kLane)
    return fail(fmt::format("{} under a condition that may part the threads of a warp; let all of them come to it, and choose "
                            "among values with select", called(n.kind)));
  if (n.kind != ThreadOpKind::sync) return true;
  if (n.number < 0 || n.number > 15) return fail(fmt::format("sync_threads at barrier {}; a block has barriers 0 to 15", n.number));
  if (n.number > 0) return named_barrier(n);
  return !(around & ~kInside) ||
         fail("sync_threads: the block's barrier under a condition that may differ from warp to warp; use a barrier of those warps");
}

// Who comes to the barrier is known from the conditions around it.
bool Verifier::named_barrier(const ThreadOp& n) {
  uint32_t warps = 0;
  const int64_t threads = parallel_->extents[0];
  for (int64_t first = 0; first < threads; first += kWarpLanes) {
    bool here = true;
    for (const auto& [condition, holds] : conditions_) {
      const auto value = value_for_thread(condition, parallel_->vars[0], first);
      if (!value)
        return fail(fmt::format("sync_threads: who comes to barrier {} depends on more than the thread's number; make the conditions around "
                                "it of that and of constants", n.number));
      here &= (*value != 0) == holds;
    }
    if (here) warps |= 1u << (first / kWarpLanes);
  }
  const int64_t come = std::popcount(warps) * kWarpLanes;
  if (come != n.count) return fail(fmt::format("sync_threads: barrier {} is of {} threads, but {} come to it", n.number, n.count, come));
  const auto [at, added] = barriers_.emplace(n.number, warps);
  return added || at->second == warps || fail(fmt::format("sync_threads: barrier {} is met by other threads elsewhere; use another number", n.number));
}

bool Verifier::check(const ThreadOp& n) {
  const std::string what(called(n.kind));
  if (!parallel_ || !parallel_->threads) return fail(fmt::format("{} outside of a loop over threads", what));
  if (is_collective(n.kind) && !collective(n)) return false;
  if (is_shuffle(n.kind)) return shuffle(n);
  if (is_vote(n.kind)) {
    const DType gives = n.kind == ThreadOpKind::ballot ? DType::uint32 : DType::boolean;
    if (!expr(n.value, DType::boolean, "what is voted on")) return false;
    if (n.var >= p_.vars.size() || p_.vars[n.var].dtype != gives) return fail(fmt::format("{} gives {}", what, dtype_text(gives)));
    return define(n.var, VarKind::let, 1 | kInside);
  }
  if (n.kind == ThreadOpKind::copy) return async_elements(n);
  if (n.kind == ThreadOpKind::wait && (n.number < 0 || n.number > 16)) return fail(fmt::format("wait_copies leaves {} groups under way; 0 to 16", n.number));
  return true;
}

bool Verifier::shuffle(const ThreadOp& n) {
  const std::string what(called(n.kind));
  if (!n.value || !typed(n.value) || !visible(n.value)) return fail(fmt::format("{} has no value", what));
  if (!dtype_computes(n.value->dtype))
    return unsupported(fmt::format("{} of {}", what, dtype_text(n.value->dtype)), "reinterpret it as uint8");
  if (n.var >= p_.vars.size() || p_.vars[n.var].dtype != n.value->dtype)
    return fail(fmt::format("{} gives {}", what, dtype_text(n.value->dtype)));
  if (n.number < 1 || n.number > kWarpLanes || !std::has_single_bit(static_cast<uint64_t>(n.number)))
    return fail(fmt::format("{} among {} lanes; a power of two up to 32", what, n.number));
  if (!expr(n.lane, DType::index, (what + "'s lane").c_str())) return false;
  if (n.lane->is_constant() && (n.lane->as_int() < 0 || n.lane->as_int() >= n.number))
    return fail(fmt::format("{} by {} leaves a group of {} lanes; 0 to {}", what, n.lane->as_int(), n.number, n.number - 1));
  return define(n.var, VarKind::let, ~Dependence{0});
}

bool Verifier::async_elements(const ThreadOp& n) {
  if (!access(n.src, "the source of copy_async") || !access(n.dst, "the destination of copy_async")) return false;
  if (is_table(p_.buffers[n.src.buffer]) && n.src.indices.size() == 1)
    return fail(fmt::format("copy_async: neighbours of an element of the table {}, whose tensors have one", name(n.src.buffer)));
  if (!scope_is(n.src.buffer, {Scope::global}, "the source of copy_async") ||
      !scope_is(n.dst.buffer, {Scope::shared}, "the destination of copy_async"))
    return false;
  const DType dtype = p_.buffers[n.src.buffer].dtype;
  if (p_.buffers[n.dst.buffer].dtype != dtype || dtype_is_packed(dtype))
    return fail(fmt::format("copy_async moves bytes: {} holds {}, {} holds {}; use copy, which casts", name(n.src.buffer),
                            dtype_text(dtype), name(n.dst.buffer), dtype_text(p_.buffers[n.dst.buffer].dtype)));
  const int64_t bytes = n.count > 0 && n.count <= 16 ? n.count * dtype_bytes(dtype) : 0;
  if (bytes != 4 && bytes != 8 && bytes != 16)
    return fail(fmt::format("copy_async of {} elements of {}; 4, 8 or 16 bytes", n.count, dtype_text(dtype)));
  if (n.src.indices.empty() || n.dst.indices.empty()) return fail("copy_async of a single element that has no dims");
  return reads(n.src.buffer) && injective(n.dst) && writes(n.dst.buffer);
}

}  // namespace tilert::ir
