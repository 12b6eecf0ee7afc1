// Warpgroup products of consumers: the loop around them, descriptors, the release of slots.
#include <fmt/format.h>

#include <algorithm>

#include "ir/visit.h"
#include "layout/fragment_builders.h"
#include "passes/hopper.h"

namespace tilert::passes {

using namespace ir;

namespace {

constexpr int64_t kStepBytes = 32;   // of K, a product's
constexpr int64_t kSwizzleRows = 8;  // after which the swizzle repeats

// How the device's text calls an operand's type.
std::string warpgroup_type(DType dtype) {
  switch (dtype) {
    case DType::int8: return "tl_i8";
    case DType::uint8: return "tl_u8";
    default: return fmt::format("tl_{}", dtype_text(dtype));
  }
}

}  // namespace

// A slot is released one iteration late, when the product that read it is known to be done.
Status RoleLowering::multiply_loop() {
  if (!tiles_) place_ = enter_ring(0);
  const BufferId before = low_.scalar(DType::index, "before");
  low_.store({before, {}}, low_.index(-1));
  loop_over([&] {
    const auto [slot, parity] = read_place(place_);
    low_.call(Primitive::mbarrier_wait, {barrier_arg(full_, slot), value_arg(parity)});
    for (const StmtPtr& s : loop().body)
      if (const auto* gemm = std::get_if<Gemm>(&s->node)) multiply(*s, *gemm, slot);
    const auto products = std::count_if(loop().body.begin(), loop().body.end(), [](const StmtPtr& s) { return std::holds_alternative<Gemm>(s->node); });
    low_.call(Primitive::wgmma_wait, {text_arg(std::to_string(products))});
    release(before);
    low_.store({before, {}}, slot);
    advance(place_, slot, parity);
  });
  TILERT_TRY(before_last_wait());
  low_.call(Primitive::wgmma_wait, {text_arg("0")});
  for (const StmtPtr& s : loop().body)
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
  const Expr speaks = kernel_.cluster > 1 ? arith::lt(arena_, own, low_.index(kernel_.cluster)) : arith::eq(arena_, own, 0);
  low_.when(condition ? arith::logical_and(arena_, condition, speaks) : speaks, [&] {
    if (kernel_.cluster > 1) low_.call(Primitive::mbarrier_arrive_cluster, {barrier_arg(empty_, slot), value_arg(own)});
    else low_.call(Primitive::mbarrier_arrive, {barrier_arg(empty_, slot)});
  });
}

void RoleLowering::hold(BufferId fragment) {
  const BufferId registers = low_.fragment_registers(fragment);
  const bool floats = low_.program().buffer(registers).dtype == DType::f32;
  low_.call(floats ? Primitive::wgmma_hold : Primitive::wgmma_hold_words,
            {registers_arg(registers, low_.index(0), low_.fragment_map(fragment).registers())});
}

RoleLowering::Operand RoleLowering::operand(const Region& region, bool mn_major) const {
  const AddressMap& map = low_.plan().shared.at(region.buffer);
  return {region.buffer, mn_major, map.span_bytes(), map.sub_tile_bytes(), dtype_bytes(low_.program().buffer(region.buffer).dtype)};
}

// Of the slot's tile from row `start` (MN-major: column) on.
Expr RoleLowering::descriptor(const Operand& o, Expr slot, Expr start) {
  const BufferId box = low_.registers(DType::uint64, 1, "descriptor");
  const Expr zero = low_.index(0);
  const Access at = low_.shared_access(o.tile, {slot, o.mn_major ? zero : start, o.mn_major ? start : zero});
  low_.call(Primitive::wgmma_describe, {text_arg(std::to_string(o.span)), registers_arg(box, zero, 1), address_arg(at),
                                        value_arg(low_.index(o.mn_major ? o.sub_tile : 16)), value_arg(low_.index(kSwizzleRows * o.span))});
  return low_.read({box, {zero}}, "descriptor");
}

// The descriptor of the tile's k-th step and of `mn` rows (columns) further on. K-major: 32 bytes within a sub-tile's rows, then
// the next sub-tile. MN-major: the rows of that step, in the sub-tile of those columns.
Expr RoleLowering::advance(Expr base, const Operand& o, int64_t step, int64_t mn) {
  const int64_t k_bytes = step * kStepBytes;
  const int64_t bytes = o.mn_major ? k_bytes / o.size * o.span + mn * o.size / o.span * o.sub_tile
                                   : k_bytes / o.span * o.sub_tile + k_bytes % o.span + mn * o.span;
  return arith::add(arena_, base, bytes / 16);
}

void RoleLowering::multiply(const Stmt& s, const Gemm& gemm, Expr slot) {
  const GemmPlan& plan = low_.plan().gemms.at(s.ordinal);
  const AtomCounts counts = atom_counts(*plan.atom, plan.m, plan.n, plan.k, WarpGrid{plan.warps_m, plan.warps_n, 1});
  const BufferId c = low_.fragment_registers(gemm.c.buffer);
  const Operand a = operand(gemm.a, gemm.trans_a), b = operand(gemm.b, !gemm.trans_b);
  const int64_t words = counts.atom_n / 2;
  low_.emit(Group{fmt::format("{}: product", s.ordinal), low_.collect([&] {
    const Expr from_a = descriptor(a, slot, arith::mul(arena_, warpgroup(), counts.m * 64));
    const Expr from_b = descriptor(b, slot, low_.index(0));
    Expr more = gemm.accumulate ? low_.simplify(gemm.accumulate) : nullptr;
    if (from_zero_.count(gemm.c.buffer)) more = arith::lt(arena_, loop().begin, low_.program().var(loop().var));
    const Expr again = more ? arena_.cast(more, DType::index) : low_.index(1);
    hold(gemm.c.buffer);
    low_.call(Primitive::wgmma_fence, {});
    for (int64_t k = 0; k < counts.k; ++k)
      for (int64_t im = 0; im < counts.m; ++im)
        for (int64_t in = 0; in < counts.n; ++in)
          low_.call(Primitive::wgmma, {text_arg(std::to_string(counts.atom_n)), text_arg(plan.atom->c == DType::f32 ? "float" : "int"),
                                       text_arg(warpgroup_type(plan.atom->a)), text_arg(warpgroup_type(plan.atom->b)),
                                       text_arg(a.mn_major ? "1" : "0"), text_arg(b.mn_major ? "1" : "0"),
                                       registers_arg(c, low_.index((im * counts.n + in) * words), words), value_arg(advance(from_a, a, k, im * 64)),
                                       value_arg(advance(from_b, b, k, in * counts.atom_n)), value_arg(k == 0 ? again : low_.index(1))});
    low_.call(Primitive::wgmma_commit, {});
    hold(gemm.c.buffer);
  })});
}

}  // namespace tilert::passes
