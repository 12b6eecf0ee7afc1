// Barriers, tensor copies and issued products of the program's own as primitives. The block is one who arrives, waits and copies: each warp
// arrives for its threads, all threads wait, the first one talks to the copy engine.
#include <fmt/format.h>

#include "ir/visit.h"
#include "passes/lower.h"
#include "passes/warpgroup_product.h"

namespace tilert::passes {

using namespace ir;

// Set up by one thread before any other goes on.
void Lower::declare_barriers(BufferId barriers) {
  const int64_t count = program().buffer(barriers).shape[0]->as_int();
  const BufferId flat = scratch(DType::uint64, count, "barriers");
  lowered_[barriers] = flat;
  group("barriers", [&] {
    when(arith::eq(arena(), thread(), 0), [&] {
      serial(count, [&](Expr i) { call(Primitive::mbarrier_init, {address_arg({flat, {i}}), value_arg(index(plan_.async.arrivals.at(barriers)))}); });
      call(Primitive::mbarrier_init_fence, {});
    });
  });
  call(Primitive::barrier, {});
}

CallArg Lower::barrier_arg(const Access& barrier) { return address_arg({lowered_.at(barrier.buffer), {simplify(barrier.indices[0])}}); }

Status Lower::async_op(const Stmt& s, const AsyncOp& n) {
  const std::string groups = std::to_string(n.number);
  switch (n.kind) {
    case AsyncOpKind::arrive:
    case AsyncOpKind::expect: arrive(n); break;
    case AsyncOpKind::wait: call(Primitive::mbarrier_wait, {barrier_arg(n.barrier), value_arg(simplify(arith::mod(arena(), n.value, 2)))}); break;
    case AsyncOpKind::load:
    case AsyncOpKind::store: tensor_copy(s, n); break;
    case AsyncOpKind::commit: by_first([&] { call(Primitive::tma_store_commit, {}); }); break;
    case AsyncOpKind::written:
    case AsyncOpKind::read:
      by_first([&] { call(n.kind == AsyncOpKind::read ? Primitive::tma_store_wait_read : Primitive::tma_store_wait, {text_arg(groups)}); });
      if (!issuing_) block_barrier();
      break;
    case AsyncOpKind::close: call(Primitive::wgmma_commit, {}); break;
    case AsyncOpKind::multiplied:
      call(Primitive::wgmma_wait, {text_arg(groups)});
      for (BufferId sum : sums_) WarpgroupProduct(*this).hold(sum);
      break;
  }
  return {};
}

// What threads wrote of its operands is in front of it: each has its fence, and then they meet (barriers.h).
Status Lower::issue(const Stmt& s, const Gemm& gemm) {
  if (plan_.async.by_threads.count(gemm.a.buffer) || plan_.async.by_threads.count(gemm.b.buffer)) call(Primitive::proxy_fence, {});
  const auto places = [](const Region& r) { return std::vector<Expr>(r.offsets.begin(), r.offsets.end() - 2); };
  emit(Group{comment("product"), collect([&] {
    WarpgroupProduct product(*this);
    product.issue(s, gemm, places(gemm.a), places(gemm.b), simplify(gemm.accumulate));
    product.hold(gemm.c.buffer);
  })});
  return {};
}

// What the warp's threads have read or written is in front of whatever the engine does after the phase.
void Lower::arrive(const AsyncOp& n) {
  if (issuing_) {
    if (n.kind == AsyncOpKind::arrive) return call(Primitive::mbarrier_arrive, {barrier_arg(n.barrier)});
    return call(Primitive::mbarrier_expect, {barrier_arg(n.barrier), value_arg(index(n.number))});
  }
  if (plan_.async.touched) call(Primitive::proxy_fence, {});
  call(Primitive::warp_sync, {});
  when(arith::eq(arena(), arith::mod(arena(), thread(), context_.target.warp_size), 0), [&] {
    if (n.kind == AsyncOpKind::arrive) return call(Primitive::mbarrier_arrive, {barrier_arg(n.barrier)});
    Block expects = collect([&] { call(Primitive::mbarrier_expect, {barrier_arg(n.barrier), value_arg(index(n.number))}); });
    Block arrives = collect([&] { call(Primitive::mbarrier_arrive, {barrier_arg(n.barrier)}); });
    emit(If{arith::eq(arena(), thread(), 0), std::move(expects), std::move(arrives)});
  });
}

// Who touched the tile before has its fence behind that, and meets the others before the copy where it must (barriers.h).
void Lower::tensor_copy(const Stmt& s, const AsyncOp& n) {
  const bool loads = n.kind == AsyncOpKind::load;
  const Region &box = loads ? n.src : n.dst, &tile = loads ? n.dst : n.src;
  const size_t number = plan_.async.copies.at(s.ordinal);
  const TensorMapPlan map = plan_.roles.maps[number];
  if (!issuing_) call(Primitive::proxy_fence, {});
  group(comment(loads ? "load" : "store"), [&] {
    by_first([&] {
      for (int64_t column = 0; column < box.extents[1]; column += map.box[0])
        for (int64_t row = 0; row < box.extents[0]; row += map.box[1]) {
          std::vector<Expr> at(tile.offsets.begin(), tile.offsets.end() - 2);
          at.push_back(index(row));
          at.push_back(index(column));
          const CallArg shared = address_arg(shared_access(tile.buffer, at)), of = text_arg(fmt::format("map{}", number));
          const CallArg x = value_arg(engine_place(arith::add(arena(), box.offsets[1], column)));
          const CallArg y = value_arg(engine_place(arith::add(arena(), box.offsets[0], row)));
          if (loads) call(Primitive::tma_load_2d, {shared, of, barrier_arg(n.barrier), x, y});
          else call(Primitive::tma_store_2d, {of, shared, x, y});
        }
    });
  });
}

// The engine counts in 32 bits, and launches take no tensor of which it could not reach all. What no dim bounds may be anything: where it
// would wrap it is beyond the tensor instead, on the side that it is on.
Expr Lower::engine_place(Expr at) {
  constexpr int64_t kBefore = -1024;  // boxes there have no element of a tensor, nor do those at kEngineEnd
  at = simplify(at);
  const arith::Range range = facts().range(at);
  bool bounded = true;
  for_each_node(at, [&](Expr n) { bounded &= !n->is_variable() || unbounded_.count(n->var()) == 0; });
  if (bounded || (range.low >= kBefore && range.high <= kEngineEnd)) return at;
  return simplify(arith::min(arena(), arith::max(arena(), at, index(kBefore)), index(kEngineEnd)));
}

void Lower::by_first(const std::function<void()>& f) {
  if (issuing_) return f();
  when(arith::eq(arena(), thread(), 0), f);
}

// Shared memory outlives the stores that read it.
void Lower::finish_stores(const Block& body) {
  bool stores = false;
  for_each_stmt(body, [&](const Stmt& s) {
    const auto* op = std::get_if<AsyncOp>(&s.node);
    stores |= op && op->kind == AsyncOpKind::store;
  });
  if (!stores) return;
  by_first([&] {
    call(Primitive::tma_store_commit, {});
    call(Primitive::tma_store_wait_read, {text_arg("0")});
  });
}

// Issuers are one group, in which no barrier of others is put.
Status Lower::roles(const Roles& n) {
  const Expr role_thread = program().var(plan_.roles.thread);
  Status status;
  const auto body_of = [&](const Block& body) {
    if (status) status = block(body);
    finish_stores(body);
  };
  Block issuers = collect([&] {
    group("issuing roles", [&] {
      if (n.issuer_registers) call(Primitive::setmaxnreg_dec, {text_arg(std::to_string(n.issuer_registers))});
      issuing_ = true;
      for (size_t i = 0; i < n.issuers.size(); ++i)
        when(arith::eq(arena(), role_thread, plan_.threads + static_cast<int64_t>(i) * context_.target.warp_size), [&] { body_of(n.issuers[i]); });
      issuing_ = false;
    });
  });
  Block work = collect([&] {
    if (n.worker_registers) call(Primitive::setmaxnreg_inc, {text_arg(std::to_string(n.worker_registers))});
    body_of(n.work);
  });
  emit(If{arith::le(arena(), index(plan_.threads), role_thread), std::move(issuers), std::move(work)});
  return status;
}

}  // namespace tilert::passes
