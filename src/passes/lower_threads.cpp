// Loops over threads: a point is the thread of its number, and its operations with other threads are primitives. What they
// mean without threads is in ir/threads.cpp.
#include "ir/threads.h"

#include <fmt/format.h>

#include "arith/build.h"
#include "ir/printer.h"
#include "ir/visit.h"
#include "passes/element_wise.h"
#include "support/refusal.h"

namespace tilert::passes {

using namespace ir;

FragmentMap threads_map(int64_t threads, int64_t warp_size) {
  return FragmentMap({threads}, {{Place::lane, warp_size, 0, 1}, {Place::warp, threads / warp_size, 0, warp_size}});
}

void place_threads(const Kernel& kernel, KernelPlan& plan, int64_t warp_size) {
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const auto* loop = std::get_if<Parallel>(&s.node);
    if (loop && loop->threads) plan.loops.emplace(s.ordinal, threads_map(plan.threads, warp_size));
  });
}

namespace {

// Conditions around a statement, and whether they hold there.
using Around = std::vector<std::pair<Expr, bool>>;

// Whether as many threads from `first` on come to where the conditions hold: all (1), none (0) or some of them (-1).
int come(const Around& around, VarId thread, int64_t first, int64_t threads) {
  int all = -2;
  for (int64_t t = first; t < first + threads; t += kWarpLanes) {
    int here = 1;
    for (const auto& [condition, holds] : around) {
      const auto value = value_for_thread(condition, thread, t);
      if (!value) return -1;
      here &= (*value != 0) == holds;
    }
    if (all != -2 && all != here) return -1;
    all = here;
  }
  return all;
}

// The first barrier of some warps that a wave comes to in part.
const Stmt* barrier_of_part(const Block& body, const Parallel& loop, int64_t wave, Around& around) {
  const Stmt* found = nullptr;
  const auto under = [&](Expr condition, bool holds, const Block& inner) {
    around.emplace_back(condition, holds);
    if (!found) found = barrier_of_part(inner, loop, wave, around);
    around.pop_back();
  };
  for (const StmtPtr& s : body) {
    if (const auto* branch = std::get_if<If>(&s->node)) {
      under(branch->condition, true, branch->then_body);
      under(branch->condition, false, branch->else_body);
    } else if (const auto* trips = std::get_if<For>(&s->node); trips && !found) {
      found = barrier_of_part(trips->body, loop, wave, around);
    } else if (const auto* op = std::get_if<ThreadOp>(&s->node); op && op->kind == ThreadOpKind::sync && op->number > 0 && !found) {
      for (int64_t first = 0; first < loop.extents[0]; first += wave)
        if (come(around, loop.vars[0], first, std::min(wave, loop.extents[0] - first)) < 0) found = s.get();
    }
  }
  return found;
}

}  // namespace

Status check_barriers(const Program& program, const Kernel& kernel, const Target& target) {
  const Stmt* found = nullptr;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const auto* loop = std::get_if<Parallel>(&s.node);
    Around around;
    if (loop && loop->threads && !found && target.wave_lanes > kWarpLanes) found = barrier_of_part(loop->body, *loop, target.wave_lanes, around);
  });
  if (!found) return {};
  return refusal(fmt::format("{}: half of a wave comes to barrier {}: on {} the halves of a wave of 64 cannot wait for each other", describe(program, *found),
                             std::get<ThreadOp>(found->node).number, target.text),
                 "let threads come to it by conditions that are the same for 64 neighbours, or compile for a target with waves of 32");
}

// Copies that are still under way when the loop ends are waited for: what stands behind it sees them.
void ElementWise::wait_for_copies() {
  bool copies = false;
  for_each_stmt(loop_.body, [&](const Stmt& s) {
    const auto* op = std::get_if<ThreadOp>(&s.node);
    copies |= op && op->kind == ThreadOpKind::copy;
  });
  if (!copies || !low_.context().target.has(Feature::cp_async)) return;
  low_.call(Primitive::cp_async_commit, {});
  low_.call(Primitive::cp_async_wait, {text_arg("0")});
}

void ElementWise::thread_op(const ThreadOp& n) {
  const bool async = low_.context().target.has(Feature::cp_async);
  switch (n.kind) {
    case ThreadOpKind::shuffle:
    case ThreadOpKind::shuffle_up:
    case ThreadOpKind::shuffle_down:
    case ThreadOpKind::shuffle_xor: return shuffle(n);
    case ThreadOpKind::all:
    case ThreadOpKind::any:
    case ThreadOpKind::ballot: return vote(n);
    case ThreadOpKind::sync:
      if (n.number == 0) return low_.call(Primitive::barrier, {});
      return low_.call(Primitive::named_barrier, {value_arg(low_.index(n.number)), value_arg(low_.index(n.count))});
    case ThreadOpKind::fence: {
      const char* const scope = n.scope == MemoryScope::block ? "0" : n.scope == MemoryScope::device ? "1" : "2";
      return low_.call(Primitive::fence, {text_arg(scope)});
    }
    case ThreadOpKind::copy: return copy_elements(n);
    case ThreadOpKind::commit:
      if (async) low_.call(Primitive::cp_async_commit, {});
      return;
    case ThreadOpKind::wait:
      if (async) low_.call(Primitive::cp_async_wait, {text_arg(std::to_string(n.number))});
      return;
  }
}

// An index travels as int64.
void ElementWise::shuffle(const ThreadOp& n) {
  const bool is_index = n.value->dtype == DType::index;
  const DType dtype = is_index ? DType::int64 : n.value->dtype;
  const BufferId sent = low_.registers(dtype, 1, "sent"), got = low_.registers(dtype, 1, "got");
  low_.store({sent, {low_.index(0)}}, is_index ? low_.arena().cast(value(n.value), DType::int64) : value(n.value));
  const bool within = n.kind == ThreadOpKind::shuffle_xor && n.lane->is_constant();  // never leaves its group
  const Expr lane = within ? n.lane : value(arith::mod(low_.arena(), shuffle_source(low_.arena(), n, low_.thread()), low_.context().target.wave_lanes));
  low_.call(within ? Primitive::shuffle_xor : Primitive::shuffle_lane,
            {registers_arg(got, low_.index(0), 1), registers_arg(sent, low_.index(0), 1), value_arg(lane)});
  const Access result{got, {low_.index(0)}};
  if (is_index) low_.emit(Let{n.var, low_.arena().cast(low_.read(result, "got"), DType::index), {}});
  else low_.emit(Let{n.var, nullptr, result});
}

void ElementWise::vote(const ThreadOp& n) {
  const BufferId ballot = low_.registers(DType::uint32, 1, "ballot");
  low_.call(Primitive::vote, {registers_arg(ballot, low_.index(0), 1), value_arg(value(n.value))});
  low_.emit(Let{n.var, vote_result(low_.arena(), n.kind, low_.read({ballot, {low_.index(0)}}, "ballot")), {}});
}

// Whether the copy's elements lie on a multiple of their bytes on both sides, so that one instruction takes them.
bool ElementWise::copies_whole(const ThreadOp& n) const {
  const Buffer &src = low_.program().buffer(n.src.buffer), &dst = low_.program().buffer(n.dst.buffer);
  const auto multiple = [&](Expr e) { return low_.facts().range(low_.simplify(e)).multiple_of(n.count); };
  if (src.alignment % (n.count * dtype_bytes(src.dtype)) != 0 || low_.shared_vector_width(n.dst.buffer) < n.count) return false;
  if (!src.strides.back()->is_constant() || src.strides.back()->as_int() != 1 || !dst.shape.back()->is_constant()) return false;
  if (dst.shape.back()->as_int() % n.count != 0) return false;
  const auto at = [&](const Access& a) { return multiple(substitute(low_.arena(), a.indices.back(), env_)); };
  for (size_t d = 0; d + 1 < src.strides.size(); ++d)
    if (!multiple(src.strides[d])) return false;
  return at(n.src) && at(n.dst);
}

// Past registers where the target can and alignment is proved; else element by element, at once.
void ElementWise::copy_elements(const ThreadOp& n) {
  Arena& arena = low_.arena();
  const Buffer src = low_.program().buffer(n.src.buffer);
  const auto from = values(n.src.indices), to = values(n.dst.indices);
  if (low_.context().target.has(Feature::cp_async) && copies_whole(n)) {
    const int64_t size = dtype_bytes(src.dtype);
    const Expr within = low_.inside(n.src.buffer, from, {});
    const Expr room = arith::sub(arena, src.shape.back(), from.back());
    // The last dim may end among the elements, also where the first of them is known to be inside.
    Expr bytes = arith::mul(arena, arith::min(arena, room, low_.index(n.count)), size);
    if (within) bytes = arith::select(arena, within, bytes, low_.index(0));
    else if (low_.proves(low_.simplify(arith::le(arena, low_.index(n.count), room)))) bytes = low_.index(n.count * size);
    return low_.call(Primitive::cp_async, {text_arg(std::to_string(n.count * size)), address_arg(low_.memory_access(n.dst.buffer, to)),
                                           address_arg(low_.memory_access(n.src.buffer, from)), value_arg(low_.simplify(bytes))});
  }
  low_.unrolled(n.count, [&](Expr i) {
    Access a = n.src, b = n.dst;
    for (Access* access : {&a, &b}) access->indices.back() = arith::add(arena, access->indices.back(), i);
    const VarId x = low_.program().add_var(VarKind::let, src.dtype, "x");
    let(nullptr, Let{x, nullptr, a});
    store(nullptr, Store{b, low_.program().var(x)});
  });
}

}  // namespace tilert::passes
