// Lane by lane: where an element lies is the row of layout/atoms.def, K of a lane together.
#include "passes/wave_product.h"

#include "ir/visit.h"
#include "passes/element_wise.h"
#include "passes/select.h"
#include "passes/wave_widen.h"

namespace tilert::passes {

using namespace ir;

std::optional<AddressMap> turned_tile_map(const Program& program, const Kernel& kernel, BufferId tile, const std::vector<int64_t>& shape, int banks) {
  bool first = shape.size() == 2;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const auto* g = std::get_if<Gemm>(&s.node);
    if (g && g->a.buffer == tile) first &= g->trans_a;
    if (g && g->b.buffer == tile) first &= !g->trans_b;
  });
  if (!first) return std::nullopt;
  const std::vector<int64_t> turned{shape[1], shape[0]};
  const int64_t bytes = dtype_bytes(program.buffer(tile).dtype);
  if (const auto swizzled = swizzled_map(turned, bytes, 0, banks)) return swizzled->permute({1, 0});
  return padded_map(turned, bytes, (shape[0] * bytes / 16) % 2 == 0 ? 16 : 0).permute({1, 0});
}

Primitive packing_of(DType type) {
  if (dtype_bits(type) == 32) return Primitive::pack_words;
  return dtype_is_float(type) && dtype_bits(type) == 8 ? Primitive::pack_bytes : Primitive::pack_regs;
}

void load_lane_words(Lower& low, const Atom& atom, const LaneOperand& operand, BufferId to, Expr kk, Expr first, int64_t count, int64_t lines) {
  if (is_widened(low, atom, operand)) return load_widened_words(low, atom, operand, to, kk, first, count, lines);
  Arena& arena = low.arena();
  const int64_t elements = atom.a_registers(), chunk = 16 / dtype_bytes(atom.a), words = elements * dtype_bytes(atom.a) / 4;
  const AddressMap& map = low.plan().shared.at(operand.region.buffer);
  const size_t from_end = operand.k_last ? 1 : 2;
  const Expr offset = operand.region.offsets[operand.region.offsets.size() - from_end];
  const bool wide = map.vector_width(static_cast<int>(map.shape().size() - from_end)) >= chunk && offset->is_constant() && offset->as_int() % chunk == 0;
  const Expr lane = arith::mod(arena, low.thread(), low.context().target.warp_size);
  const Expr line = low.let_preamble(arith::mod(arena, lane, lines), "line");
  // Where every lane has all of K the halves of the wave hold the same.
  const Expr part = elements == atom.k ? low.index(0) : low.let_preamble(arith::mul(arena, arith::floordiv(arena, lane, lines), elements), "part");
  low.unrolled(count, [&](Expr i) {
    const Expr across = arith::add(arena, arith::add(arena, first, arith::mul(arena, i, lines)), line);
    const Expr along = arith::add(arena, arith::mul(arena, kk, atom.k), part);
    const auto place = [&](Expr e) { return low.shared_access(operand.region.buffer, operand.at(across, arith::add(arena, along, e))); };
    if (wide)
      return low.unrolled(elements / chunk, [&](Expr p) {
        const Expr word = arith::add(arena, arith::mul(arena, i, words), arith::mul(arena, p, 4));
        low.call(Primitive::load_words, {registers_arg(to, word, 4), address_arg(place(arith::mul(arena, p, chunk)))});
      });
    const BufferId own = low.registers(atom.a, elements, "own");
    low.unrolled(elements, [&](Expr e) { low.store({own, {e}}, low.read(place(e), "x")); });
    low.call(packing_of(atom.a), {registers_arg(to, arith::mul(arena, i, words), words), registers_arg(own, low.index(0), elements)});
  });
}

void multiply_numbers(Lower& low, const Atom& atom, const AtomCounts& counts, BufferId sums, BufferId a, BufferId b) {
  Arena& arena = low.arena();
  const Primitive primitive = primitive_from_name(mma_primitive(atom))->primitive;
  const auto step = [&](BufferId of, Expr kk, Expr i, int64_t elements) {
    return registers_arg(low.fragment_registers(of), arith::mul(arena, arith::add(arena, kk, arith::mul(arena, i, counts.k)), elements), elements);
  };
  low.group(low.comment("product"), [&] {
    low.unrolled(counts.k, [&](Expr kk) {
      low.unrolled(counts.m, [&](Expr im) {
        low.unrolled(counts.n, [&](Expr in) {
          const int64_t each = atom.c_registers();
          const CallArg d = registers_arg(sums, arith::mul(arena, arith::add(arena, in, arith::mul(arena, im, counts.n)), each), each);
          low.call(primitive, {d, step(a, kk, im, atom.a_registers()), step(b, kk, in, atom.b_registers())});
        });
      });
    });
  });
}

}  // namespace tilert::passes
