// Lane by lane: where an element lies is the row of layout/atoms.def, K of a lane together.
#include "passes/wave_product.h"

#include <algorithm>

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

void load_lane_words(Lower& low, const Atom& atom, const LaneOperand& operand, BufferId to, Expr start, Expr kk, Expr first, int64_t count, int64_t lines) {
  if (is_widened(low, atom, operand)) return load_widened_words(low, atom, operand, to, start, kk, first, count, lines);
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
        const Expr word = arith::add(arena, start, arith::add(arena, arith::mul(arena, i, words), arith::mul(arena, p, 4)));
        low.call(Primitive::load_words, {registers_arg(to, word, 4), address_arg(place(arith::mul(arena, p, chunk)))});
      });
    const BufferId own = low.registers(atom.a, elements, "own");
    low.unrolled(elements, [&](Expr e) { low.store({own, {e}}, low.read(place(e), "x")); });
    low.call(packing_of(atom.a), {registers_arg(to, arith::add(arena, start, arith::mul(arena, i, words)), words), registers_arg(own, low.index(0), elements)});
  });
}

Result<Region> rows_in_tile(Lower& low, BufferId fragment, DType dtype, int64_t rows, int64_t k) {
  Program& program = low.program();
  const BufferId tile = low.operand_tile(dtype, {rows, k});
  Parallel loop;
  for (int64_t extent : {rows, k}) {
    loop.vars.push_back(program.add_var(VarKind::loop, DType::index, "i"));
    loop.extents.push_back(extent);
  }
  const Expr i = program.var(loop.vars[0]), j = program.var(loop.vars[1]);
  const VarId x = program.add_var(VarKind::let, program.buffer(fragment).dtype, "x");
  loop.body.push_back(make_stmt(Let{x, nullptr, {fragment, {i, j}}}));
  loop.body.push_back(make_stmt(Store{{tile, {i, j}}, low.arena().cast(program.var(x), dtype)}));
  TILERT_TRY(ElementWise(low, loop, low.fragment_map(fragment), low.comment("operand to its tile"), {}).run());
  return Region{tile, {low.index(0), low.index(0)}, {rows, k}};
}

namespace {

// Registers of a lane that the product's operands may take, beside all that the kernel holds. What is held at different times is
// counted as if it were at once.
int64_t room_for_operands(Lower& low) {
  const Target& target = low.context().target;
  int64_t words = 0;
  for (const auto& [id, map] : low.plan().fragments) words += map.registers() * std::max(dtype_bits(low.program().buffer(id).dtype), 32) / 32;
  for (const auto& [id, held] : low.plan().held) {
    const int64_t bits = dtype_bits(low.program().buffer(id).dtype);
    if (bits < 32) words -= low.fragment_map(id).registers() * (32 - bits) / 32;  // whole words
  }
  constexpr int64_t kPlaces = 32;  // of addresses and the like
  return std::min(target.max_registers_per_thread, target.registers_per_sm / low.plan().threads) - words - kPlaces;
}

}  // namespace

void WaveProduct::run() {
  steps();
  const int64_t all = counts.m * counts.n * atom.c_registers();
  if (low.context().target.warp_size == 32) low.call(Primitive::hold_sums, {registers_arg(sums, low.index(0), all)});
}

void WaveProduct::steps() {
  Arena& arena = low.arena();
  const int64_t room = room_for_operands(low), rows = counts.m * a_words, columns = counts.n * b_words;
  // Where there is room the next step is read while this one is multiplied; where there is little, one instruction's columns are, and
  // only the rows of a step are there together.
  const bool by_columns = rows + columns > room;
  const bool ahead = by_columns ? rows + 2 * b_words <= room : 2 * (rows + columns) <= room && counts.k > 1;
  const int64_t slots = ahead && !by_columns ? 2 : 1, column_slots = ahead ? 2 : 1;
  const BufferId a = low.registers(DType::uint32, slots * rows, "a");
  const BufferId b = low.registers(DType::uint32, column_slots * (by_columns ? b_words : columns), "b");
  const auto slot = [&](Expr at, int64_t words) { return ahead ? arith::mul(arena, arith::mod(arena, at, 2), words) : low.index(0); };
  const auto fence = [&] { low.call(Primitive::schedule_fence, {}); };
  if (by_columns) {
    const auto load = [&](Expr kk, Expr in) { load_b(b, slot(arith::add(arena, in, arith::mul(arena, kk, counts.n)), b_words), kk, in, 1); };
    return low.unrolled(counts.k, [&](Expr kk) {
      load_a(a, low.index(0), kk);
      if (ahead) load(kk, low.index(0));
      low.unrolled(counts.n, [&](Expr in) {
        const Expr next = arith::add(arena, in, 1);
        if (ahead) low.when(low.simplify(arith::lt(arena, next, counts.n)), [&] { load(kk, next); });
        else load(kk, in);
        fence();
        low.unrolled(counts.m, [&](Expr im) {
          multiply(im, in, a, arith::mul(arena, im, a_words), b, slot(arith::add(arena, in, arith::mul(arena, kk, counts.n)), b_words));
        });
        fence();
      });
    });
  }
  const auto load = [&](Expr kk) {
    const Expr to = ahead ? arith::mod(arena, kk, 2) : low.index(0);
    load_a(a, arith::mul(arena, to, rows), kk);
    load_b(b, arith::mul(arena, to, columns), kk, low.index(0), counts.n);
  };
  if (ahead) load(low.index(0));
  low.unrolled(counts.k, [&](Expr kk) {
    const Expr next = arith::add(arena, kk, 1), now = ahead ? arith::mod(arena, kk, 2) : low.index(0);
    if (ahead) low.when(low.simplify(arith::lt(arena, next, counts.k)), [&] { load(next); });
    else load(kk);
    fence();
    low.unrolled(counts.m, [&](Expr im) {
      low.unrolled(counts.n, [&](Expr in) {
        multiply(im, in, a, arith::add(arena, arith::mul(arena, now, rows), arith::mul(arena, im, a_words)), b,
                 arith::add(arena, arith::mul(arena, now, columns), arith::mul(arena, in, b_words)));
      });
    });
    fence();
  });
}

void WaveProduct::multiply(Expr im, Expr in, BufferId a, Expr a_at, BufferId b, Expr b_at) {
  Arena& arena = low.arena();
  const int64_t each = atom.c_registers();
  const Expr c = arith::mul(arena, arith::add(arena, in, arith::mul(arena, im, counts.n)), each);
  low.call(primitive_from_name(mma_primitive(atom))->primitive, {registers_arg(sums, c, each), registers_arg(a, a_at, a_words), registers_arg(b, b_at, b_words)});
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
