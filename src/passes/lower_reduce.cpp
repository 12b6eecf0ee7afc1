// Reductions along one dim of a fragment: registers, then lanes, then warps through shared memory; then into the
// destination, whose seed counts once.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ir/semantics.h"
#include "layout/conversion.h"
#include "layout/fragment_builders.h"
#include "layout/reduce_plan.h"
#include "passes/element_wise.h"
#include "passes/layouts.h"
#include "passes/region.h"

namespace tilert::passes {

using namespace ir;

namespace {

Expr identity(Arena& arena, ReduceOp op, DType dtype) { return arena.constant(dtype, reduce_identity(op, dtype)); }

Expr combine(Arena& arena, ReduceOp op, Expr a, Expr b) { return arena.make(reduce_combine(op), {a, b}); }

// What an element adds to the accumulator.
Expr taken(Arena& arena, ReduceOp op, Expr x, DType dtype) {
  x = arena.cast(x, dtype);
  return reduce_takes_absolute(op) ? arena.make(Op::abs, {x}) : x;
}

class ReduceLowering {
 public:
  ReduceLowering(Lower& low, const Reduce& reduce)
      : low_(low), arena_(low.arena()), reduce_(reduce), dtype_(reduce_accumulator(low.program().buffer(reduce.dst.buffer).dtype)) {}

  Status run() {
    TILERT_ASSIGN(const BufferId source, whole_fragment());
    const FragmentMap map = low_.fragment_map(source);
    plan_ = plan_reduce(map, reduce_.dim);
    const BufferId values = low_.registers(dtype_, plan_.partial.registers(), "folded");
    low_.group(low_.comment("reduce, registers"), [&] { fold_registers(source, map, values); });
    if (low_.plan().partial.count(reduce_.dst.buffer)) return add_parts(values);
    if (!plan_.lane_xor.empty()) low_.group(low_.comment("reduce, lanes"), [&] { fold_lanes(values); });
    if (plan_.parts > 1) fold_warps(values);
    return into_destination(values);
  }

 private:
  // The source as a whole fragment of its own, where it is a part or lies in memory.
  Result<BufferId> whole_fragment() {
    const Region& r = reduce_.src;
    const Buffer b = low_.program().buffer(r.buffer);
    if (b.scope == Scope::fragment && is_whole(low_.program(), r)) return r.buffer;
    Program& program = low_.program();
    Parallel loop;
    std::vector<Expr> points, places;
    for (size_t d = 0; d < r.extents.size(); ++d) {
      loop.vars.push_back(program.add_var(VarKind::loop, DType::index, "i"));
      loop.extents.push_back(r.extents[d]);
      points.push_back(program.var(loop.vars.back()));
      places.push_back(arith::add(arena_, r.offsets[d], points.back()));
    }
    const VarId x = program.add_var(VarKind::let, b.dtype, "x");
    loop.body.push_back(make_stmt(Let{x, nullptr, {r.buffer, places}}));
    const FragmentMap map = blocked_map(loop.extents, low_.plan().threads, source_width(loop), low_.context().target.warp_size);
    const BufferId fragment = low_.new_fragment(b.dtype, map, "source");
    if (map.padded_shape() != map.shape()) low_.clear_registers(fragment);
    loop.body.push_back(make_stmt(Store{{fragment, points}, program.var(x)}));
    TILERT_TRY(ElementWise(low_, loop, map, low_.comment("reduce, source to registers"), {}).run());
    return fragment;
  }

  // The order of a sum may be fixed: what is known of dims widens no vector then.
  int64_t source_width(const Parallel& loop) {
    const auto constant = [](Expr e) { return e->is_constant(); };
    const bool placed = std::all_of(reduce_.src.offsets.begin(), reduce_.src.offsets.end(), constant);
    if (low_.keeps_order() && (low_.program().buffer(reduce_.src.buffer).scope != Scope::shared || !placed)) return 1;
    return vector_width(low_, loop);
  }

  void fold_registers(BufferId source, const FragmentMap& map, BufferId values) {
    const BufferId regs = low_.fragment_registers(source);
    const int64_t extent = map.shape()[static_cast<size_t>(reduce_.dim)];
    const auto element = [&](int64_t reg) {
      Expr x = taken(arena_, reduce_.op, low_.read({regs, {low_.index(reg)}}, "x"), dtype_);
      if (!plan_.excess) return x;
      const Expr at = low_.coordinate(map, reduce_.dim, low_.index(reg));
      return low_.simplify(arith::select(arena_, arith::lt(arena_, at, extent), x, identity(arena_, reduce_.op, dtype_)));
    };
    for (size_t r = 0; r < plan_.source_base.size(); ++r) {
      // Four sums side by side, so that no chain of dependent operations is longer than a quarter.
      std::vector<Expr> lanes;
      for (size_t f = 0; f < plan_.fold_offsets.size(); ++f) {
        const Expr x = element(plan_.source_base[r] + plan_.fold_offsets[f]);
        if (f < 4) lanes.push_back(x);
        else lanes[f % 4] = low_.let(combine(arena_, reduce_.op, lanes[f % 4], x), "sum");
      }
      Expr total = lanes[0];
      for (size_t i = 1; i < lanes.size(); ++i) total = combine(arena_, reduce_.op, total, lanes[i]);
      low_.store({values, {low_.index(static_cast<int64_t>(r))}}, total);
    }
  }

  void fold_lanes(BufferId values) {
    low_.combine_lanes(values, plan_.partial.registers(), dtype_, reduce_combine(reduce_.op), plan_.lane_xor);
  }

  // Each thread's own part of an unfinished sum.
  Status add_parts(BufferId values) {
    const BufferId parts = low_.fragment_registers(reduce_.dst.buffer);
    low_.group(low_.comment("reduce, own part"), [&] {
      low_.unrolled(plan_.partial.registers(), [&](Expr r) {
        const Expr so_far = low_.read({parts, {r}}, "x");
        low_.store({parts, {r}}, combine(arena_, reduce_.op, so_far, low_.read({values, {r}}, "y")));
      });
    });
    return {};
  }

  Expr result_offset(const FragmentMap& map, Expr reg) {
    Expr offset = low_.index(0);
    for (int d = 0; d < map.rank(); ++d)
      offset = arith::add(arena_, arith::mul(arena_, offset, map.shape()[static_cast<size_t>(d)]), low_.coordinate(map, d, reg));
    return offset;
  }

  Expr inside(const FragmentMap& map, Expr reg) {
    Expr condition = nullptr;
    const auto padded = map.padded_shape();
    for (int d = 0; d < map.rank(); ++d)
      if (padded[static_cast<size_t>(d)] > map.shape()[static_cast<size_t>(d)])
        condition = arith::logical_and(arena_, condition, arith::lt(arena_, low_.coordinate(map, d, reg), map.shape()[static_cast<size_t>(d)]));
    return condition;
  }

  void fold_warps(BufferId values) {
    low_.plan().rows_over_warps = true;
    const FragmentMap& map = plan_.lanes;
    const int64_t elements = plan_.scratch_elements / plan_.parts;
    const BufferId box = low_.scratch(dtype_, plan_.scratch_elements, "parts");
    const Expr part = low_.terms_value(plan_.part_terms);
    low_.group(low_.comment("reduce, parts of warps"), [&] {
      low_.unrolled(map.registers(), [&](Expr r) {
        const Expr place = low_.simplify(arith::add(arena_, arith::mul(arena_, part, elements), result_offset(map, r)));
        low_.when(arith::logical_and(arena_, first_lane(map), inside(map, r)), [&] { low_.store({box, {place}}, low_.read({values, {r}}, "x")); });
      });
    });
    if (by_lanes()) return fold_parts_by_lanes(box, elements, values);
    low_.group(low_.comment("reduce, sum of parts"), [&] {
      low_.unrolled(map.registers(), [&](Expr r) {
        low_.when(inside(map, r), [&] {
          const Expr place = low_.let(result_offset(map, r), "place");
          Expr total = low_.read({box, {place}}, "x");
          for (int64_t p = 1; p < plan_.parts; ++p) {
            const Expr next = low_.read({box, {low_.simplify(arith::add(arena_, place, p * elements))}}, "x");
            total = combine(arena_, reduce_.op, total, next);
          }
          low_.store({values, {r}}, total);
        });
      });
    });
  }

  // From eight parts on it is less work that each lane reads one and the lanes combine them, where all lanes of a warp want
  // the same elements of the result.
  bool by_lanes() const {
    const int64_t parts = plan_.parts;
    if (parts < 8 || parts > low_.context().target.warp_size || (parts & (parts - 1)) != 0) return false;
    for (const Digit& digit : plan_.lanes.digits())
      if (digit.place == Place::lane && digit.dim != kReplicated) return false;
    return plan_.lanes.padded_shape() == plan_.lanes.shape();
  }

  void fold_parts_by_lanes(BufferId box, int64_t elements, BufferId values) {
    const FragmentMap& map = plan_.lanes;
    const Expr part = arith::mod(arena_, low_.thread(), plan_.parts);
    std::vector<int64_t> masks;
    for (int64_t mask = 1; mask < plan_.parts; mask *= 2) masks.push_back(mask);
    low_.group(low_.comment("reduce, sum of parts"), [&] {
      low_.unrolled(map.registers(), [&](Expr r) {
        const Expr place = low_.simplify(arith::add(arena_, arith::mul(arena_, part, elements), result_offset(map, r)));
        low_.store({values, {r}}, low_.read({box, {place}}, "x"));
      });
      low_.combine_lanes(values, map.registers(), dtype_, reduce_combine(reduce_.op), masks);
    });
  }

  // One of the lanes that hold copies of a part.
  Expr first_lane(const FragmentMap& map) {
    Expr condition = nullptr;
    for (const PlacedDigit& p : map.thread_digits()) {
      if (p.digit.dim != kReplicated || p.digit.extent == 1) continue;
      condition = arith::logical_and(arena_, condition, arith::eq(arena_, low_.terms_value({{p.position, p.digit.extent, 1}}), 0));
    }
    return condition;
  }

  Status into_destination(BufferId values) {
    Program& program = low_.program();
    const BufferId total = low_.adopt_fragment(dtype_, plan_.result, values);
    const Region& dst = reduce_.dst;
    const Buffer to = program.buffer(dst.buffer);
    const size_t units = reduce_leading_units(reduce_).value_or(0);
    const bool keeps = dst.extents.size() + units == reduce_.src.extents.size();
    Parallel loop;
    std::vector<Expr> points(units, low_.index(0)), places;
    for (size_t d = 0; d < dst.extents.size(); ++d) {
      Expr point = low_.index(0);
      const bool unit = keeps && d + units == static_cast<size_t>(reduce_.dim);
      if (!unit || to.scope == Scope::fragment) {
        loop.vars.push_back(program.add_var(VarKind::loop, DType::index, "i"));
        loop.extents.push_back(dst.extents[d]);
        point = program.var(loop.vars.back());
      }
      if (!unit) points.push_back(point);
      places.push_back(arith::add(arena_, dst.offsets[d], point));
    }
    const auto read = [&](BufferId buffer, std::vector<Expr> at) {
      const VarId x = program.add_var(VarKind::let, program.buffer(buffer).dtype, "x");
      loop.body.push_back(make_stmt(Let{x, nullptr, {buffer, std::move(at)}}));
      return program.var(x);
    };
    Expr value = read(total, points);
    if (reduce_identity_shows(reduce_.op, dtype_)) value = combine(arena_, reduce_.op, value, identity(arena_, reduce_.op, dtype_));
    if (reduce_.accumulate)
      value = combine(arena_, reduce_.op, arena_.cast(read(dst.buffer, places), dtype_), value);
    loop.body.push_back(make_stmt(Store{{dst.buffer, places}, arena_.cast(value, to.dtype)}));
    std::vector<int> dims;  // of the result, without the leading units
    for (int d = static_cast<int>(units); d < plan_.result.rank(); ++d) dims.push_back(d);
    const bool everywhere = to.scope == Scope::local || to.scope == Scope::scalar;
    const FragmentMap map = to.scope == Scope::fragment ? low_.fragment_map(dst.buffer)
                            : everywhere                ? low_.loop_map(loop)
                                                        : plan_.result.project(dims);
    return ElementWise(low_, loop, map, low_.comment("reduce, result"), {}).run();
  }

  Lower& low_;
  Arena& arena_;
  const Reduce& reduce_;
  DType dtype_;
  ReducePlan plan_;
};

}  // namespace

// The parts of an unfinished sum, added up over the lanes that hold them.
BufferId Lower::completed(BufferId parts) {
  const FragmentMap map = fragment_map(parts);
  const BufferId regs = fragment_registers(parts);
  const DType dtype = program().buffer(parts).dtype;
  const ConversionPlan conversion = plan_conversion(map, map.completed(), dtype_bytes(dtype));
  group(comment("sum, parts of lanes"), [&] { combine_lanes(regs, map.registers(), dtype, Op::add, conversion.complete_lane_xor); });
  return adopt_fragment(dtype, map.completed(), regs);
}

// One instruction over a whole warp, where the target has one.
static std::optional<Primitive> over_a_warp(const Target& target, DType dtype, Op op, const std::vector<int64_t>& lane_xor) {
  if (!target.has(Feature::redux) || (dtype != DType::int32 && dtype != DType::uint32)) return std::nullopt;
  if (lane_xor != std::vector<int64_t>{1, 2, 4, 8, 16}) return std::nullopt;
  switch (op) {
    case Op::add: return Primitive::redux_add;
    case Op::min: return Primitive::redux_min;
    case Op::max: return Primitive::redux_max;
    case Op::bit_and: return Primitive::redux_and;
    case Op::bit_or: return Primitive::redux_or;
    case Op::bit_xor: return Primitive::redux_xor;
    default: return std::nullopt;
  }
}

void Lower::combine_lanes(BufferId values, int64_t count, DType dtype, Op op, const std::vector<int64_t>& lane_xor) {
  if (const auto at_once = over_a_warp(context_.target, dtype, op, lane_xor))
    return unrolled(count, [&](Expr r) { call(*at_once, {registers_arg(values, r, 1), registers_arg(values, r, 1)}); });
  const BufferId other = registers(dtype, 1, "other");
  unrolled(count, [&](Expr r) {
    for (int64_t mask : lane_xor) {
      call(Primitive::shuffle_xor, {registers_arg(other, index(0), 1), registers_arg(values, r, 1), value_arg(index(mask))});
      store({values, {r}}, arena().make(op, {read({values, {r}}, "x"), read({other, {index(0)}}, "y")}));
    }
  });
}

Status Lower::reduce(const Stmt&, const Reduce& r) { return ReduceLowering(*this, r).run(); }

BufferId Lower::adopt_fragment(DType dtype, const FragmentMap& map, BufferId registers) {
  Buffer b;
  b.name = "total";
  b.dtype = dtype;
  b.scope = Scope::fragment;
  for (int64_t extent : map.shape()) b.shape.push_back(index(extent));
  const BufferId id = program().add_buffer(std::move(b));
  plan_.fragments.emplace(id, map);
  lowered_[id] = registers;
  return id;
}

}  // namespace tilert::passes
