// Lower's places: accesses of buffers as flat ones, moves, and fragments to and from row-major memory.
#include <fmt/format.h>

#include <algorithm>

#include "layout/same_owner.h"
#include "passes/element_wise.h"
#include "passes/lower.h"
#include "passes/region.h"

namespace tilert::passes {

using namespace ir;

CallArg value_arg(Expr e) { return {CallArg::Kind::value, e, {}, 0, {}}; }
CallArg address_arg(Access at) { return {CallArg::Kind::address, nullptr, std::move(at), 0, {}}; }
CallArg registers_arg(BufferId buffer, Expr first, int64_t count) {
  return {CallArg::Kind::registers, nullptr, {buffer, {first}}, count, {}};
}
CallArg text_arg(std::string text) { return {CallArg::Kind::text, nullptr, {}, 0, std::move(text)}; }

std::string Lower::comment(const char* what) const { return fmt::format("{}: {}", ordinal_, what); }

Access Lower::memory_access(BufferId buffer, const std::vector<Expr>& indices) {
  switch (program().buffer(buffer).scope) {
    case Scope::global: return global_access(buffer, indices);
    case Scope::shared: return shared_access(buffer, indices);
    case Scope::local: return flat_access(buffer, buffer, indices);
    default: return {buffer, indices};
  }
}

Access Lower::flat_access(BufferId flat, BufferId shape_of, const std::vector<Expr>& indices) {
  Expr offset = index(0);
  const std::vector<Expr> shape = program().buffer(shape_of).shape;
  for (size_t d = 0; d < indices.size(); ++d)
    offset = arith::add(arena(), arith::mul(arena(), offset, shape[d]), indices[d]);
  return {flat, {simplify(offset)}};
}

int64_t Lower::shared_vector_width(BufferId tile) const {
  const auto found = plan_.shared.find(tile);
  const int size = dtype_bytes(module_.program.buffer(tile).dtype);
  if (is_packed(module_.program, tile)) {  // rows follow one another without a gap
    const int64_t row = module_.program.buffer(tile).shape.back()->as_int();
    return std::min<int64_t>(row & -row, 32);
  }
  if (found == plan_.shared.end()) return 16 / size;
  return found->second.vector_width(static_cast<int>(found->second.shape().size()) - 1);
}

bool Lower::same_memory(BufferId a, BufferId b) const {
  return may_overlap(module_.program, a, b);
}

// An offset is the last index.
Access Lower::further(Access at, int64_t elements) {
  at.indices.back() = simplify(arith::add(arena(), at.indices.back(), elements));
  return at;
}

Access Lower::shared_access(BufferId tile, const std::vector<Expr>& coordinates) {
  const auto found = plan_.shared.find(tile);
  if (found == plan_.shared.end()) return Access{tile, coordinates};  // flat scratch
  const AddressMap& map = found->second;
  // A staged tile's first coordinate is its slot.
  const size_t staged = coordinates.size() - map.shape().size();
  if (is_packed(program(), tile)) return packed_access(tile, coordinates, staged != 0);
  Expr bytes = staged ? arith::mul(arena(), coordinates[0], map.stage_stride()) : index(0);
  if (map.is_custom()) {
    const LayoutHint& layout = program().buffer(tile).layout;
    std::unordered_map<VarId, Expr> at;
    for (size_t d = 0; d < layout.vars.size(); ++d) at[layout.vars[d]] = coordinates[d + staged];
    const int64_t unit = map.element_bytes();
    const Expr start = arith::floordiv(arena(), bytes, unit);  // slots are multiples of 128 bytes apart
    return Access{lowered_.at(tile), {simplify(arith::add(arena(), start, substitute(arena(), layout.place, at)))}};
  }
  for (const AddressTerm& t : map.terms()) {
    Expr piece = arith::floordiv(arena(), coordinates[static_cast<size_t>(t.dim) + staged], t.divisor);
    if (t.modulus > 0) piece = arith::mod(arena(), piece, t.modulus);
    bytes = arith::add(arena(), bytes, arith::mul(arena(), piece, t.stride));
  }
  bytes = simplify(bytes);
  const int size = dtype_bytes(program().buffer(tile).dtype);
  const Swizzle& s = map.swizzle();
  Expr apart = index(0);
  if (s.bits > 0) {
    if (context_.target.is_hip()) std::tie(apart, bytes) = parts_of_period(bytes, s.period());
    const Expr source = arith::mod(arena(), arith::floordiv(arena(), bytes, int64_t{1} << (s.base + s.shift)), int64_t{1} << s.bits);
    bytes = arena().make(Op::bit_xor, {bytes, arith::mul(arena(), source, int64_t{1} << s.base)});
  }
  return Access{lowered_.at(tile), {simplify(arith::add(arena(), arith::floordiv(arena(), apart, size), arith::floordiv(arena(), bytes, size)))}};
}

// The terms of a sum that are multiples of the swizzle's period, which it leaves alone, and the others: a slot, or rows further on, is
// then added to a place that a loop has computed before.
std::pair<Expr, Expr> Lower::parts_of_period(Expr bytes, int64_t period) {
  Expr apart = index(0), rest = index(0);
  const std::function<void(Expr)> part = [&](Expr e) {
    if (e->op == Op::add) return part(e->operand[0]), part(e->operand[1]);
    Expr& side = facts().range(e).multiple_of(period) ? apart : rest;
    side = arith::add(arena(), side, e);
  };
  part(bytes);
  return {simplify(apart), simplify(rest)};
}

// Row-major, counted in elements; the plan has the map of the tile's bytes.
Access Lower::packed_access(BufferId tile, const std::vector<Expr>& coordinates, bool staged) {
  const Buffer& b = program().buffer(tile);
  const size_t first = staged ? 1 : 0;
  Expr offset = index(0);
  for (size_t d = first; d < coordinates.size(); ++d)
    offset = arith::add(arena(), arith::mul(arena(), offset, b.shape[d]), coordinates[d]);
  if (staged)
    offset = arith::add(arena(), offset, arith::mul(arena(), coordinates[0], plan_.shared.at(tile).stage_stride() * 8 / dtype_bits(b.dtype)));
  return {lowered_.at(tile), {simplify(offset)}};
}

BufferId Lower::operand_tile(DType dtype, const std::vector<int64_t>& shape) {
  Buffer b;
  b.name = "operand";
  b.dtype = dtype;
  b.scope = Scope::shared;
  for (int64_t extent : shape) b.shape.push_back(index(extent));
  const BufferId id = program().add_buffer(std::move(b));
  const int64_t bytes = dtype_bytes(dtype);
  const auto swizzled = swizzled_map(shape, bytes);
  plan_.shared.emplace(id, swizzled ? *swizzled : padded_map(shape, bytes, (shape.back() * bytes / 16) % 2 == 0 ? 16 : 0));
  declare_shared(id);
  return id;
}

Result<BufferId> Lower::operand_fragment(BufferId source, const std::function<std::vector<Expr>(Expr, Expr)>& at, DType dtype, const FragmentMap& map,
                                         int64_t rows, int64_t columns) {
  const BufferId result = new_fragment(dtype, map, "operand");
  const auto padded = map.padded_shape();
  if (padded[0] > rows || padded[1] > columns)
    group(comment("operand padding"), [&] {
      unrolled(map.registers(), [&](Expr r) { store({fragment_registers(result), {r}}, arena().constant(dtype, 0)); });
    });
  Parallel loop;
  for (int64_t extent : {rows, columns}) {
    loop.vars.push_back(program().add_var(VarKind::loop, DType::index, "i"));
    loop.extents.push_back(extent);
  }
  const Expr i = program().var(loop.vars[0]), j = program().var(loop.vars[1]);
  const VarId x = program().add_var(VarKind::let, program().buffer(source).dtype, "x");
  loop.body.push_back(make_stmt(Let{x, nullptr, {source, at(i, j)}}));
  loop.body.push_back(make_stmt(Store{{result, {i, j}}, arena().cast(program().var(x), dtype)}));
  TILERT_TRY(ElementWise(*this, loop, map, comment("operand to registers"), {}).run());
  return result;
}

void Lower::move(Access dst, Access src, int64_t count) {
  const int size = dtype_bytes(program().buffer(dst.buffer).dtype);
  const int64_t chunk = std::min<int64_t>(count, 16 / size);
  for (int64_t i = 0; i < count; i += chunk) {
    Access to = further(dst, i);  // in this order, whatever the compiler's
    emit(Move{std::move(to), further(src, i), chunk});
  }
}

void Lower::move_hinted(const Access& dst, const Access& src, int64_t count, Eviction eviction) {
  const int size = dtype_bytes(program().buffer(dst.buffer).dtype);
  const int64_t chunk = std::min<int64_t>(count, 16 / size);
  const bool loads = program().buffer(src.buffer).scope == Scope::global;
  const CallArg priority = text_arg(std::to_string(static_cast<int>(eviction)));
  const auto in_registers = [&](const Access& a, int64_t i) { return registers_arg(a.buffer, further(a, i).indices.back(), chunk); };
  for (int64_t i = 0; i < count; i += chunk) {
    if (loads) call(Primitive::load_hinted, {priority, in_registers(dst, i), address_arg(further(src, i))});
    else call(Primitive::store_hinted, {priority, address_arg(further(dst, i)), in_registers(src, i)});
  }
}

void Lower::spill(BufferId fragment, BufferId flat) {
  const FragmentMap map = fragment_map(fragment);
  group(comment("fragment to shared memory"), [&] {
    unrolled(map.registers(), [&](Expr reg) {
      std::vector<Expr> coordinates;
      Expr condition = is_first_replica(map);
      for (int d = 0; d < map.rank(); ++d) {
        coordinates.push_back(coordinate(map, d, reg));
        if (map.padded_shape()[static_cast<size_t>(d)] > map.shape()[static_cast<size_t>(d)])
          condition = arith::logical_and(arena(), condition, arith::lt(arena(), coordinates.back(), map.shape()[static_cast<size_t>(d)]));
      }
      when(condition, [&] {
        store(flat_access(flat, fragment, coordinates), read({fragment_registers(fragment), {reg}}, "x"));
      });
    });
  });
}

void Lower::reload(BufferId fragment, BufferId flat) {
  const FragmentMap map = fragment_map(fragment);
  group(comment("fragment from shared memory"), [&] {
    unrolled(map.registers(), [&](Expr reg) {
      std::vector<Expr> coordinates;
      Expr condition = nullptr;
      for (int d = 0; d < map.rank(); ++d) {
        coordinates.push_back(coordinate(map, d, reg));
        if (map.padded_shape()[static_cast<size_t>(d)] > map.shape()[static_cast<size_t>(d)])
          condition = arith::logical_and(arena(), condition, arith::lt(arena(), coordinates.back(), map.shape()[static_cast<size_t>(d)]));
      }
      when(condition, [&] {
        store({fragment_registers(fragment), {reg}}, read(flat_access(flat, fragment, coordinates), "x"));
      });
    });
  });
}

void Lower::note_conversion(BufferId fragment, bool written, std::string reason) {
  int64_t bytes = dtype_bytes(program().buffer(fragment).dtype);
  for (int64_t extent : fragment_map(fragment).shape()) bytes *= extent;
  plan_.conversions.push_back({ordinal_, fragment, bytes, written, std::move(reason)});
}

Result<BufferId> Lower::converted(BufferId fragment, const FragmentMap& map) {
  const FragmentMap from = fragment_map(fragment);
  if (from == map) return fragment;
  const DType dtype = program().buffer(fragment).dtype;
  const BufferId result = new_fragment(dtype, map, "converted");
  program().buffers[result].shape = program().buffer(fragment).shape;
  std::vector<AccessDim> dims;
  for (int d = 0; d < map.rank(); ++d) dims.push_back({d, 0});
  const OwnerMatch match = same_owner(map, from, dims, AccessMode::read);
  if (match.matches) {
    group(comment("renumber registers"), [&] {
      for (int64_t reg = 0; reg < map.registers(); ++reg)
        store({fragment_registers(result), {index(reg)}},
              read({fragment_registers(fragment), {index(match.fragment_register(reg))}}, "x"));
    });
    return result;
  }
  note_conversion(fragment, false, match.reason);
  int64_t elements = 1;
  for (int64_t extent : map.shape()) elements *= extent;
  const BufferId box = scratch(dtype, elements, "converted");
  spill(fragment, box);
  reload(result, box);
  return result;
}

}  // namespace tilert::passes
