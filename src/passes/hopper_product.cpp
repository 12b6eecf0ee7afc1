// Warpgroup products of consumers: the loop around them, the release of slots.
#include <fmt/format.h>

#include <algorithm>

#include "ir/visit.h"
#include "passes/hopper.h"
#include "passes/warpgroup_product.h"

namespace tilert::passes {

using namespace ir;

// A slot is released one iteration late, when the product that read it is known to be done.
Status RoleLowering::multiply_loop() {
  if (!tiles_) place_ = enter_ring(0);
  const BufferId before = low_.scalar(DType::index, "before");
  low_.store({before, {}}, low_.index(-1));
  loop_over(roles_.consumer_lets, [&] {
    const auto [slot, parity] = read_place(place_);
    low_.call(Primitive::mbarrier_wait, {barrier_arg(full_, slot), value_arg(parity)});
    for (const StmtPtr& s : trip())
      if (const auto* gemm = std::get_if<Gemm>(&s->node)) multiply(*s, *gemm, slot);
    const auto products = std::count_if(trip().begin(), trip().end(), [](const StmtPtr& s) { return std::holds_alternative<Gemm>(s->node); });
    low_.call(Primitive::wgmma_wait, {text_arg(std::to_string(products))});
    release(before);
    low_.store({before, {}}, slot);
    advance(place_, slot, parity);
  });
  TILERT_TRY(before_last_wait());
  low_.call(Primitive::wgmma_wait, {text_arg("0")});
  for (const StmtPtr& s : trip())
    if (const auto* gemm = std::get_if<Gemm>(&s->node)) hold(gemm->c.buffer);
  if (tiles_) release(before);
  return {};
}

void RoleLowering::release(BufferId before) {
  const Expr last = low_.read({before, {}}, "before");
  give_back(last, arith::le(arena_, low_.index(0), last), 128);
}

// One of so many threads says that the slot may be filled again: to its own block; where others of the cluster fill it too, a
// thread for each of them.
void RoleLowering::give_back(Expr slot, Expr condition, int64_t threads) {
  const Expr own = arith::mod(arena_, low_.thread(), threads);
  const Expr speaks = sharing_ > 1 ? arith::lt(arena_, own, low_.index(sharing_)) : arith::eq(arena_, own, 0);
  low_.when(condition ? arith::logical_and(arena_, condition, speaks) : speaks, [&] {
    if (sharing_ > 1) low_.call(Primitive::mbarrier_free_cluster, {barrier_arg(empty_, slot), value_arg(own)});
    else low_.call(Primitive::mbarrier_arrive, {barrier_arg(empty_, slot)});
  });
}

void RoleLowering::hold(BufferId fragment) { WarpgroupProduct(low_).hold(fragment); }

void RoleLowering::multiply(const Stmt& s, const Gemm& gemm, Expr slot, BufferId packed) {
  Expr more = gemm.accumulate ? low_.simplify(gemm.accumulate) : nullptr;
  if (from_zero_.count(gemm.c.buffer)) more = arith::lt(arena_, loop().begin, low_.program().var(loop().var));
  low_.emit(Group{fmt::format("{}: product", s.ordinal), low_.collect([&] {
    WarpgroupProduct product(low_);
    product.issue(s, gemm, {slot}, {slot}, more, packed);
    low_.call(Primitive::wgmma_commit, {});
    product.hold(gemm.c.buffer);
  })});
}

}  // namespace tilert::passes
