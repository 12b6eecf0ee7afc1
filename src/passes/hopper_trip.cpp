// A trip's statements in their order, where products take what other work of the trip leaves: operands made in registers, sums of
// another product.
#include <algorithm>

#include "ir/visit.h"
#include "layout/fragment_builders.h"
#include "passes/hopper.h"

namespace tilert::passes {

using namespace ir;

// Work waits for the products before it, while other warpgroups multiply. Each warp gives the slot back for itself, as in work_loop.
Status RoleLowering::in_order_loop() {
  Status status;
  loop_over(roles_.consumer_lets, [&] {
    const auto [slot, parity] = read_place(place_);
    low_.call(Primitive::mbarrier_wait, {barrier_arg(full_, slot), value_arg(parity)});
    status = in_order(trip(), slot);
    settle();
    if (roles_.plain_tiles.empty()) give_back(slot, nullptr, 32);  // products alone have read its tiles
    else give_slot_back(slot);
    advance(place_, slot, parity);
  });
  TILERT_TRY(std::move(status));
  return before_last_wait();
}

Status RoleLowering::in_order(const Block& block, Expr slot) {
  for (const StmtPtr& s : block) {
    if (std::holds_alternative<Alloc>(s->node) || is_load(*s) || (&block == &trip() && is_made_before(*s))) continue;
    const auto* gemm = std::get_if<Gemm>(&s->node);
    if (!gemm || std::count(sums_under_way_.begin(), sums_under_way_.end(), gemm->a.buffer)) settle();
    if (gemm) TILERT_TRY(multiply_in_order(*s, *gemm, slot));
    else if (const auto* branch = std::get_if<If>(&s->node)) TILERT_TRY(branch_in_order(*branch, slot));
    else TILERT_TRY(low_.statement(with_slot(s, slot)));
  }
  return {};
}

// Its products are done at its end: who comes from elsewhere has none to wait for.
Status RoleLowering::branch_in_order(const If& branch, Expr slot) {
  Status status;
  const auto side = [&](const Block& block, bool taken) {
    const arith::FactsScope scope(low_.facts());
    if (taken) low_.facts().assume(branch.condition);
    else low_.facts().assume_not(branch.condition);
    return low_.collect([&] {
      if (status) status = in_order(block, slot);
      settle();
    });
  };
  If made{low_.simplify(branch.condition), {}, {}};
  made.then_body = side(branch.then_body, true);
  made.else_body = side(branch.else_body, false);
  if (!made.then_body.empty() || !made.else_body.empty()) low_.emit(std::move(made));
  return status;
}

// Lets that both roles can make stand at the start of the trip.
bool RoleLowering::is_made_before(const Stmt& s) const {
  const auto* let = std::get_if<Let>(&s.node);
  return let && (roles_.consumer_lets.count(let->var) || roles_.producer_lets.count(let->var));
}

void RoleLowering::settle() {
  if (sums_under_way_.empty()) return;
  low_.call(Primitive::wgmma_wait, {text_arg("0")});
  for (BufferId sums : sums_under_way_) hold(sums);
  for (BufferId words : operands_under_way_)
    low_.call(Primitive::wgmma_hold_words, {registers_arg(words, low_.index(0), low_.program().buffer(words).shape[0]->as_int())});
  sums_under_way_.clear(), operands_under_way_.clear();
}

Status RoleLowering::multiply_in_order(const Stmt& s, const Gemm& gemm, Expr slot) {
  const GemmPlan& plan = low_.plan().gemms.at(s.ordinal);
  low_.enter(s);
  TILERT_ASSIGN(const BufferId packed, packed_operand(gemm, plan, slot));
  multiply(s, gemm, slot, packed);
  sums_under_way_.push_back(gemm.c.buffer);
  if (packed != kNoBuffer) operands_under_way_.push_back(packed);
  return {};
}

// As the instruction takes it: a fragment that lies so already, else what it or the slot's tile holds, cast on the way.
Result<BufferId> RoleLowering::packed_operand(const Gemm& gemm, const GemmPlan& plan, Expr slot) {
  if (!plan.a_registers) return kNoBuffer;
  const WarpGrid grid{plan.warps_m, plan.warps_n, 1};
  const AtomCounts counts = atom_counts(*plan.atom, plan.m, plan.n, plan.k, grid);
  const FragmentMap map = a_operand_map(*plan.atom, plan.m, plan.k, grid);
  const Buffer a = low_.program().buffer(gemm.a.buffer);
  const bool is_tile = a.scope == Scope::shared;
  BufferId elements = gemm.a.buffer;
  if (is_tile || a.dtype != plan.atom->a || !(low_.fragment_map(elements) == map)) {
    const auto at = [&](Expr i, Expr j) { return is_tile ? std::vector<Expr>{slot, i, j} : std::vector<Expr>{i, j}; };
    TILERT_ASSIGN(elements, low_.operand_fragment(gemm.a.buffer, at, plan.atom->a, map, plan.m, plan.k));
  }
  const int64_t each = plan.atom->a_registers(), steps = counts.m * counts.k;
  const BufferId packed = low_.registers(DType::uint32, 4 * steps, "a");
  const Primitive pack = each == 4 ? Primitive::pack_words : each == 16 && dtype_is_float(plan.atom->a) ? Primitive::pack_bytes : Primitive::pack_regs;
  low_.group(low_.comment("operand in words"), [&] {
    low_.unrolled(steps, [&](Expr i) {
      low_.call(pack, {registers_arg(packed, arith::mul(arena_, i, 4), 4), registers_arg(low_.fragment_registers(elements), arith::mul(arena_, i, each), each)});
    });
  });
  return packed;
}

}  // namespace tilert::passes
