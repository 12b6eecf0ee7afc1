// Warpgroup products of consumers: the loop around them, descriptors, the release of slots.
#include <fmt/format.h>

#include "layout/fragment_builders.h"
#include "passes/hopper.h"

namespace tilert::passes {

using namespace ir;

// A slot is released one iteration late, when the product that read it is known to be done.
void RoleLowering::multiply_loop() {
  if (!tiles_) place_ = enter_ring(0);
  const BufferId before = low_.scalar(DType::index, "before");
  low_.store({before, {}}, low_.index(-1));
  loop_over([&] {
    const auto [slot, parity] = read_place(place_);
    low_.call(Primitive::mbarrier_wait, {barrier_arg(full_, slot), value_arg(parity)});
    for (const StmtPtr& s : loop().body)
      if (const auto* gemm = std::get_if<Gemm>(&s->node)) multiply(*s, *gemm, slot);
    low_.call(Primitive::wgmma_wait, {text_arg("1")});
    release(before);
    low_.store({before, {}}, slot);
    advance(place_, slot, parity);
  });
  low_.call(Primitive::wgmma_wait, {text_arg("0")});
  for (const StmtPtr& s : loop().body)
    if (const auto* gemm = std::get_if<Gemm>(&s->node)) hold(gemm->c.buffer);
  if (tiles_) release(before);
}

void RoleLowering::release(BufferId before) {
  const Expr last = low_.read({before, {}}, "before");
  low_.when(arith::logical_and(arena_, arith::le(arena_, low_.index(0), last), leads_warpgroup()),
            [&] { low_.call(Primitive::mbarrier_arrive, {barrier_arg(empty_, last)}); });
}

void RoleLowering::hold(BufferId fragment) {
  low_.call(Primitive::wgmma_hold, {registers_arg(low_.fragment_registers(fragment), low_.index(0), low_.fragment_map(fragment).registers())});
}

Expr RoleLowering::descriptor(BufferId tile, Expr slot, Expr row) {
  const BufferId box = low_.registers(DType::uint64, 1, "descriptor");
  low_.call(Primitive::wgmma_descriptor, {registers_arg(box, low_.index(0), 1), address_arg(low_.shared_access(tile, {slot, row, low_.index(0)}))});
  return low_.read({box, {low_.index(0)}}, "descriptor");
}

// Descriptor of the tile's k-step: 32 bytes within a sub-tile of 128-byte rows, then the next sub-tile.
Expr RoleLowering::advance_k(Expr base, BufferId tile, int64_t step, int64_t rows) {
  const int64_t bytes = step / 4 * low_.plan().shared.at(tile).sub_tile_bytes() + step % 4 * 32 + rows * 128;
  return arith::add(arena_, base, bytes / 16);
}

void RoleLowering::multiply(const Stmt& s, const Gemm& gemm, Expr slot) {
  const GemmPlan& plan = low_.plan().gemms.at(s.ordinal);
  const AtomCounts counts = atom_counts(*plan.atom, plan.m, plan.n, plan.k, WarpGrid{plan.warps_m, plan.warps_n, 1});
  const BufferId c = low_.fragment_registers(gemm.c.buffer);
  low_.emit(Group{fmt::format("{}: product", s.ordinal), low_.collect([&] {
    const Expr a = descriptor(gemm.a.buffer, slot, arith::mul(arena_, warpgroup(), counts.m * 64));
    const Expr b = descriptor(gemm.b.buffer, slot, low_.index(0));
    const Expr again = gemm.accumulate ? arena_.cast(low_.simplify(gemm.accumulate), DType::index) : low_.index(1);
    hold(gemm.c.buffer);
    low_.call(Primitive::wgmma_fence, {});
    for (int64_t k = 0; k < counts.k; ++k)
      for (int64_t im = 0; im < counts.m; ++im)
        low_.call(Primitive::wgmma_ss,
                  {text_arg(std::to_string(plan.n)), text_arg(plan.atom->a == DType::bf16 ? "tl_bf16" : "tl_f16"),
                   registers_arg(c, low_.index(im * plan.n / 2), plan.n / 2), value_arg(advance_k(a, gemm.a.buffer, k, im * 64)),
                   value_arg(advance_k(b, gemm.b.buffer, k, 0)), value_arg(k == 0 ? again : low_.index(1))});
    low_.call(Primitive::wgmma_commit, {});
    hold(gemm.c.buffer);
  })});
}

}  // namespace tilert::passes
