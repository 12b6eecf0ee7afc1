// A lane reads the bytes of its part of K together and widens them in registers; one by one where the tile has them apart.
#include "passes/wave_widen.h"

namespace tilert::passes {

using namespace ir;

namespace {

DType own_type(Lower& low, const LaneOperand& operand) { return low.program().buffer(operand.region.buffer).dtype; }

Primitive widening(DType from, DType to) {
  if (from == DType::e4m3) return to == DType::f16 ? Primitive::load_e4m3_as_f16 : Primitive::load_e4m3_as_bf16;
  return to == DType::f16 ? Primitive::load_e5m2_as_f16 : Primitive::load_e5m2_as_bf16;
}

}  // namespace

bool is_widened(Lower& low, const Atom& atom, const LaneOperand& operand) { return dtype_bits(own_type(low, operand)) < dtype_bits(atom.a); }

void load_widened_words(Lower& low, const Atom& atom, const LaneOperand& operand, BufferId to, Expr start, Expr kk, Expr first, int64_t count,
                        int64_t lines) {
  Arena& arena = low.arena();
  const int64_t elements = atom.a_registers(), words = elements * dtype_bytes(atom.a) / 4;
  const AddressMap& map = low.plan().shared.at(operand.region.buffer);
  const size_t from_end = operand.k_last ? 1 : 2;
  const Expr offset = operand.region.offsets[operand.region.offsets.size() - from_end];
  const bool together = map.vector_width(static_cast<int>(map.shape().size() - from_end)) >= elements && offset->is_constant() && offset->as_int() % elements == 0;
  const Expr lane = arith::mod(arena, low.thread(), low.context().target.warp_size);
  const Expr line = low.let_preamble(arith::mod(arena, lane, lines), "line");
  // Where every lane has all of K the halves of the wave hold the same.
  const Expr part = elements == atom.k ? low.index(0) : low.let_preamble(arith::mul(arena, arith::floordiv(arena, lane, lines), elements), "part");
  low.unrolled(count, [&](Expr i) {
    const Expr across = arith::add(arena, arith::add(arena, first, arith::mul(arena, i, lines)), line);
    const Expr along = arith::add(arena, arith::mul(arena, kk, atom.k), part);
    const auto place = [&](Expr e) { return low.shared_access(operand.region.buffer, operand.at(across, arith::add(arena, along, e))); };
    const CallArg words_of = registers_arg(to, arith::add(arena, start, arith::mul(arena, i, words)), words);
    if (together) return low.call(widening(own_type(low, operand), atom.a), {words_of, address_arg(place(low.index(0)))});
    const BufferId own = low.registers(atom.a, elements, "own");
    low.unrolled(elements, [&](Expr e) { low.store({own, {e}}, arena.cast(low.read(place(e), "x"), atom.a)); });
    low.call(packing_of(atom.a), {words_of, registers_arg(own, low.index(0), elements)});
  });
}

}  // namespace tilert::passes
