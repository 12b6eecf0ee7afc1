// Descriptors of operands and the instructions of one product, as primitives.
#include "passes/warpgroup_product.h"

#include <fmt/format.h>

#include "layout/fragment_builders.h"
#include "passes/lower_sparse.h"

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

void WarpgroupProduct::hold(BufferId fragment) {
  const BufferId registers = low_.fragment_registers(fragment);
  const bool floats = low_.program().buffer(registers).dtype == DType::f32;
  low_.call(floats ? Primitive::wgmma_hold : Primitive::wgmma_hold_words,
            {registers_arg(registers, low_.index(0), low_.fragment_map(fragment).registers())});
}

WarpgroupProduct::Operand WarpgroupProduct::operand(const Region& region, bool mn_major) const {
  const AddressMap& map = low_.plan().shared.at(region.buffer);
  return {region.buffer, mn_major, map.span_bytes(), map.sub_tile_bytes(), dtype_bytes(low_.program().buffer(region.buffer).dtype)};
}

// Of the matrix at those places of the leading dims, from row `start` (MN-major: column) on.
Expr WarpgroupProduct::descriptor(const Operand& o, std::vector<Expr> at, Expr start) {
  const BufferId box = low_.registers(DType::uint64, 1, "descriptor");
  const Expr zero = low_.index(0);
  at.push_back(o.mn_major ? zero : start);
  at.push_back(o.mn_major ? start : zero);
  low_.call(Primitive::wgmma_describe, {text_arg(std::to_string(o.span)), registers_arg(box, zero, 1), address_arg(low_.shared_access(o.tile, at)),
                                        value_arg(low_.index(o.mn_major ? o.sub_tile : 16)), value_arg(low_.index(kSwizzleRows * o.span))});
  return low_.read({box, {zero}}, "descriptor");
}

// The descriptor of the tile's k-th step and of `mn` rows (columns) further on. K-major: 32 bytes within a sub-tile's rows, then
// the next sub-tile. MN-major: the rows of that step, in the sub-tile of those columns.
Expr WarpgroupProduct::advance(Expr base, const Operand& o, int64_t step, int64_t mn) {
  const int64_t k_bytes = step * kStepBytes;
  const int64_t bytes = o.mn_major ? k_bytes / o.size * o.span + mn * o.size / o.span * o.sub_tile
                                   : k_bytes / o.span * o.sub_tile + k_bytes % o.span + mn * o.span;
  return arith::add(arena_, base, bytes / 16);
}

// Read before the product starts: it looks at the registers until it is done.
BufferId WarpgroupProduct::metadata(const GemmPlan& plan, const Gemm& gemm, const std::vector<Expr>& at) {
  const AtomCounts counts = atom_counts(*plan.atom, plan.m, plan.n, plan.k, WarpGrid{plan.warps_m, plan.warps_n, 1});
  const BufferId words = low_.registers(DType::uint32, counts.m * counts.k, "metadata");
  const Expr lane = arith::mod(arena_, low_.thread(), 32), warp = arith::floordiv(arena_, low_.thread(), 32);
  const auto element = [&](Expr row, Expr column) {
    std::vector<Expr> indices = at;
    indices.push_back(row), indices.push_back(column);
    return low_.read(low_.memory_access(gemm.metadata.buffer, indices), "places");
  };
  const SparsePlaces places{gemm.metadata, element, plan.m, plan.k};
  low_.unrolled(counts.m, [&](Expr im) {
    const Expr group = arith::add(arena_, arith::mul(arena_, arith::floordiv(arena_, warp, 4), counts.m), im);
    const Expr first = arith::add(arena_, arith::mul(arena_, group, 64), arith::mul(arena_, arith::mod(arena_, warp, 4), 16));
    low_.unrolled(counts.k, [&](Expr kk) {
      low_.store({words, {arith::add(arena_, arith::mul(arena_, im, counts.k), kk)}}, sparse_metadata(low_, *plan.atom, places, first, kk, lane));
    });
  });
  return words;
}

void WarpgroupProduct::issue(const Stmt& s, const Gemm& gemm, const std::vector<Expr>& a_at, const std::vector<Expr>& b_at, Expr more, BufferId packed) {
  const GemmPlan& plan = low_.plan().gemms.at(s.ordinal);
  const AtomCounts counts = atom_counts(*plan.atom, plan.m, plan.n, plan.k, WarpGrid{plan.warps_m, plan.warps_n, 1});
  const BufferId c = low_.fragment_registers(gemm.c.buffer);
  const bool tile = packed == kNoBuffer;
  const Operand b = operand(gemm.b, !gemm.trans_b), a = tile ? operand(gemm.a, gemm.trans_a) : b;
  const int64_t words = counts.atom_n / 2;
  const Expr warpgroup = low_.let_preamble(arith::floordiv(arena_, low_.thread(), 128), "warpgroup");
  const Expr from_a = tile ? descriptor(a, a_at, arith::mul(arena_, warpgroup, counts.m * 64)) : nullptr;
  const Expr from_b = descriptor(b, b_at, low_.index(0));
  const Expr again = more ? arena_.cast(more, DType::index) : low_.index(1);
  const BufferId words_of = gemm.sparse() ? metadata(plan, gemm, a_at) : kNoBuffer;
  hold(gemm.c.buffer);
  low_.call(Primitive::wgmma_fence, {});
  for (int64_t k = 0; k < counts.k; ++k)
    for (int64_t im = 0; im < counts.m; ++im)
      for (int64_t in = 0; in < counts.n; ++in) {
        std::vector<CallArg> args{text_arg(std::to_string(counts.atom_n)), text_arg(plan.atom->c == DType::f32 ? "float" : "int"),
                                  text_arg(warpgroup_type(plan.atom->a)), text_arg(warpgroup_type(plan.atom->b))};
        if (tile && !gemm.sparse()) args.push_back(text_arg(a.mn_major ? "1" : "0"));
        args.push_back(text_arg(b.mn_major ? "1" : "0"));
        args.push_back(registers_arg(c, low_.index((im * counts.n + in) * words), words));
        args.push_back(tile ? value_arg(advance(from_a, a, k, im * 64)) : registers_arg(packed, low_.index((im * counts.k + k) * 4), 4));
        // Beside a sparse operand the other is twice as deep.
        args.push_back(value_arg(advance(from_b, b, gemm.sparse() ? 2 * k : k, in * counts.atom_n)));
        if (gemm.sparse()) args.push_back(value_arg(low_.read({words_of, {low_.index(im * counts.k + k)}}, "metadata")));
        args.push_back(value_arg(k == 0 ? again : low_.index(1)));
        low_.call(gemm.sparse() ? Primitive::wgmma_sp : tile ? Primitive::wgmma : Primitive::wgmma_rs, std::move(args));
      }
}

}  // namespace tilert::passes
