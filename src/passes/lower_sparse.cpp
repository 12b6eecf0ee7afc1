// Metadata of sparse products: tiles' bits to lanes' words.
#include "passes/lower_sparse.h"

#include "ir/semantics.h"

namespace tilert::passes {

using namespace ir;

namespace {

constexpr uint64_t kSomePlaces = 0x44444444;  // the first two of each four

Expr number(Lower& low, uint64_t value) { return low.arena().constant(DType::uint32, value); }

// `width` bits of the tile's row from bit `first` on, which is a multiple of it.
Expr row_bits(Lower& low, const SparsePlaces& places, Expr row, Expr first, int64_t width) {
  Arena& arena = low.arena();
  const int64_t bits = dtype_bits(low.program().buffer(places.metadata.buffer).dtype), columns = places.metadata.extents.back();
  const auto element = [&](Expr column) { return arena.cast(places.element(row, column), DType::uint32); };
  if (bits > width) {
    const Expr shifted = arena.make(Op::shr, {element(arith::floordiv(arena, first, bits)), arena.cast(arith::mod(arena, first, bits), DType::uint32)});
    return arena.make(Op::bit_and, {shifted, number(low, (uint64_t{1} << width) - 1)});
  }
  Expr word = nullptr;
  for (int64_t i = 0; i < width / bits; ++i) {
    const Expr column = arith::add(arena, arith::floordiv(arena, first, bits), i);
    Expr part = nullptr;
    if (low.proves(arith::lt(arena, column, columns))) {
      part = element(column);
    } else {
      const BufferId box = low.scalar(DType::uint32, "part");
      low.store({box, {}}, number(low, kSomePlaces & ((uint64_t{1} << bits) - 1)));
      low.when(arith::lt(arena, column, columns), [&] { low.store({box, {}}, element(column)); });
      part = low.read({box, {}}, "part");
    }
    if (i > 0) part = arena.make(Op::shl, {part, number(low, static_cast<uint64_t>(i * bits))});
    word = word ? arena.make(Op::bit_or, {word, part}) : part;
  }
  return word;
}

// The same of rows and depths that the tile may not have.
Expr some_bits(Lower& low, const SparsePlaces& places, Expr row, Expr first, int64_t width) {
  Arena& arena = low.arena();
  const Expr inside = arith::logical_and(arena, arith::lt(arena, row, places.m), arith::lt(arena, first, places.k));
  if (low.proves(inside)) return row_bits(low, places, row, first, width);
  const BufferId box = low.scalar(DType::uint32, "places");
  low.store({box, {}}, number(low, kSomePlaces & ((uint64_t{1} << width) - 1)));
  low.when(inside, [&] { low.store({box, {}}, row_bits(low, places, row, first, width)); });
  return low.read({box, {}}, "places");
}

// Places of one in each two, as tf32's instructions are told: 4 the first, 14 the second. `bits` has two bits for each, whose
// low one says which.
Expr one_of_two(Lower& low, Expr bits) {
  Arena& arena = low.arena();
  Expr spread = nullptr;
  for (int i = 0; i < 4; ++i) {
    const Expr bit = arena.make(Op::bit_and, {bits, number(low, uint64_t{1} << (2 * i))});
    const Expr moved = i ? arena.make(Op::shl, {bit, number(low, static_cast<uint64_t>(2 * i))}) : bit;
    spread = spread ? arena.make(Op::bit_or, {spread, moved}) : moved;
  }
  return arena.make(Op::bit_xor, {arena.make(Op::mul, {spread, number(low, 10)}), number(low, 0x4444)});
}

}  // namespace

// Lanes as in device/cuda/matrix.cuh. The lanes that an instruction does not look at have what their neighbours have.
Expr sparse_metadata(Lower& low, const Atom& atom, const SparsePlaces& places, Expr row, Expr kk, Expr lane) {
  Arena& arena = low.arena();
  const Expr group = arith::floordiv(arena, lane, 4), within = arith::mod(arena, lane, 4), k0 = arith::mul(arena, kk, atom.k);
  const auto own_row = [&](Expr half) { return low.let(arith::add(arena, arith::add(arena, row, group), arith::mul(arena, half, 8)), "row"); };
  if (dtype_bits(atom.a) == 8) {
    const Expr first = low.let(arith::add(arena, k0, arith::mul(arena, arith::floordiv(arena, within, 2), 32)), "first");
    return some_bits(low, places, own_row(arith::mod(arena, within, 2)), first, 32);
  }
  const int64_t width = atom.k / 2;
  const Expr first = low.let(arith::add(arena, k0, arith::mul(arena, arith::mod(arena, within, 2), width)), "first");
  Expr halves[2];
  for (int64_t half = 0; half < 2; ++half) {
    halves[half] = some_bits(low, places, own_row(low.index(half)), first, width);
    if (atom.a == DType::tf32) halves[half] = one_of_two(low, low.let(halves[half], "places"));
  }
  return arena.make(Op::bit_or, {halves[0], arena.make(Op::shl, {halves[1], number(low, 16)})});
}

}  // namespace tilert::passes
