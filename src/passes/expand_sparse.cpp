// Sparse products for whom no instruction takes them: the operand with all its elements, then the dense product.
#include "ir/semantics.h"
#include "layout/atoms.h"
#include "passes/expansion.h"

namespace tilert::passes {

using namespace ir;

bool takes_sparse(const Target& target, const Program& program, const Gemm& n) {
  const DType operand = gemm_operand_dtype(program, n);
  const auto atoms = atoms_for(target, operand, operand, program.buffer(n.c.buffer).dtype, true);
  for (const Atom* atom : atoms)
    if (!atom->is_wgmma()) return true;
  return false;
}

// Each four elements along K: the two that are kept where the metadata says, the second where both are in one place, 0 elsewhere.
void Expansion::sparse_product(const Gemm& n) {
  const size_t rank = n.a.extents.size();
  const int64_t m = n.a.extents[rank - 2], k = 2 * n.a.extents[rank - 1];
  const DType operand = gemm_operand_dtype(program_, n), dtype = operand == DType::tf32 ? DType::f32 : operand;
  const int64_t bits = dtype_bits(program_.buffer(n.metadata.buffer).dtype);
  const BufferId dense = tile(Scope::shared, dtype, {m, k}, "dense");
  // Of a matrix whose leading dims are units.
  const auto at = [&](const Region& r, Expr row, Expr column) {
    Exprs point(r.offsets.size(), index(0));
    point[point.size() - 2] = row;
    point.back() = column;
    return place(r, point);
  };
  const auto number = [&](int64_t value) { return arena().constant(DType::uint32, static_cast<uint64_t>(value)); };
  parallel({m, k / 4}, [&](const Exprs& p) {
    const Expr bit = arith::mul(arena(), p[1], 4);
    const Expr word = arena().cast(read(n.metadata.buffer, at(n.metadata, p[0], arith::floordiv(arena(), bit, bits))), DType::uint32);
    const Expr shift = arena().cast(arith::mod(arena(), bit, bits), DType::uint32);
    const Expr both = let(arena().make(Op::shr, {word, shift}));
    const Expr places[2] = {let(arena().make(Op::bit_and, {both, number(3)})),
                            let(arena().make(Op::bit_and, {arena().make(Op::shr, {both, number(2)}), number(3)}))};
    Expr kept[2];
    for (int64_t s = 0; s < 2; ++s)
      kept[s] = let(arena().cast(read(n.a.buffer, at(n.a, p[0], arith::add(arena(), arith::mul(arena(), p[1], 2), s))), dtype));
    for (int64_t i = 0; i < 4; ++i) {
      Expr value = arena().number(dtype, 0);
      for (int s = 0; s < 2; ++s) value = arena().make(Op::select, {arena().make(Op::eq, {places[s], number(i)}), kept[s], value});
      store(dense, {p[0], arith::add(arena(), bit, i)}, value);
    }
  });
  Gemm product = n;
  product.a = whole(dense);
  product.metadata = {};
  blocks_.back().push_back(make_stmt(std::move(product), stmt_.ordinal, stmt_.location));
}

}  // namespace tilert::passes
