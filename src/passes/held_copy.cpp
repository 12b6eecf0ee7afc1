// Whole vectors between global memory, the registers that hold a tile to come, and its slot.
#include "passes/held_copy.h"

#include <algorithm>
#include <numeric>

#include "ir/visit.h"
#include "layout/fragment_builders.h"
#include "passes/element_wise.h"

namespace tilert::passes {

using namespace ir;

namespace {

// Lanes go along the first dim until they fill a row of 128 bytes in shared memory, then along the last: stores of a turned tile are
// of whole rows there, and loads of as many bytes side by side as the other lanes have.
std::optional<HeldLayout> turned_blocks(const std::vector<int64_t>& extents, int64_t bytes, int64_t rows, int64_t columns, int64_t threads, int64_t lanes) {
  if (extents[0] % rows != 0 || extents[1] % columns != 0 || rows * bytes < 4 || columns * bytes < 4) return std::nullopt;
  const int64_t down = extents[0] / rows, along = extents[1] / columns, warps = threads / lanes;
  int64_t lanes_down = 1;
  while (down % (2 * lanes_down) == 0 && 2 * lanes_down <= lanes && (2 * lanes_down * rows * bytes <= 128 || along % (lanes / lanes_down) != 0)) lanes_down *= 2;
  const int64_t lanes_along = lanes / lanes_down;
  if (along % lanes_along != 0) return std::nullopt;
  const int64_t warps_along = std::gcd(along / lanes_along, warps), warps_down = warps / warps_along;
  if (down / lanes_down % warps_down != 0) return std::nullopt;
  const std::vector<Digit> digits{{Place::register_, columns, 1, 1},
                                  {Place::register_, rows, 0, 1},
                                  {Place::register_, along / (lanes_along * warps_along), 1, columns * lanes_along * warps_along},
                                  {Place::register_, down / (lanes_down * warps_down), 0, rows * lanes_down * warps_down},
                                  {Place::lane, lanes_down, 0, rows},
                                  {Place::lane, lanes_along, 1, columns},
                                  {Place::warp, warps_along, 1, columns * lanes_along},
                                  {Place::warp, warps_down, 0, rows * lanes_down}};
  return HeldLayout{FragmentMap(extents, digits), {columns, rows}};
}

}  // namespace

HeldLayout held_layout(const std::vector<int64_t>& extents, int64_t element_bytes, const AddressMap& place, int64_t threads, int64_t warp_size) {
  const int64_t most = 16 / element_bytes;
  if (extents.size() == 2 && place.vector_width(1) == 1 && place.vector_width(0) * element_bytes >= 4) {
    std::optional<HeldLayout> best;
    int64_t least = 0;
    for (int64_t columns = most; columns > 0; columns /= 2) {
      for (int64_t rows = most; rows > 0; rows /= 2) {
        if (rows > place.vector_width(0)) continue;
        const auto blocks = turned_blocks(extents, element_bytes, rows, columns, threads, warp_size);
        if (!blocks) continue;
        const int64_t accesses = blocks->map.registers() / columns + blocks->map.registers() / rows;
        if (best && accesses >= least) continue;
        best = blocks;
        least = accesses;
      }
    }
    if (best) return *best;
  }
  const FragmentMap map = blocked_map(extents, threads, most, warp_size);
  const auto digits = map.register_digits();
  const bool together = !digits.empty() && digits[0].digit.dim == map.rank() - 1 && digits[0].digit.stride == 1;
  return {map, {together ? std::gcd(digits[0].digit.extent, most) : 1, 0}};
}

bool copy_held(Lower& low, const Copy& copy, const Parallel& loop) {
  Arena& arena = low.arena();
  const bool loads = low.plan().held.count(copy.dst.buffer) != 0;
  const BufferId fragment = loads ? copy.dst.buffer : copy.src.buffer;
  const HeldPlan plan = low.plan().held.at(fragment);
  const FragmentMap map = low.fragment_map(fragment);
  if (map.padded_shape() != loop.extents || plan.columns == 1) return false;
  const DType dtype = low.program().buffer(fragment).dtype;
  ElementBounds bounds{loads ? copy.src.buffer : kNoBuffer, copy.valid, copy.safe};
  const int64_t width = plan.rows && !loads ? 1 : ElementWise(low, loop, FragmentMap(loop.extents, {}), {}, bounds).widest();
  if (!(plan.rows && !loads) && width < plan.columns) return false;
  const Access& memory = loads ? std::get<Let>(loop.body[0]->node).read : std::get<Store>(loop.body[1]->node).to;
  const auto at = [&](Expr reg, std::vector<Expr>* valid = nullptr) {
    std::unordered_map<VarId, Expr> env;
    for (size_t d = 0; d < loop.vars.size(); ++d) env[loop.vars[d]] = low.coordinate(map, static_cast<int>(d), reg);
    std::vector<Expr> indices;
    for (Expr e : memory.indices) indices.push_back(low.simplify(substitute(arena, e, env)));
    for (Expr e : copy.valid)
      if (valid) valid->push_back(e ? substitute(arena, e, env) : nullptr);
    return indices;
  };
  const BufferId registers = low.fragment_registers(fragment);
  if (loads) {
    low.group(low.comment("copy, ahead"), [&] {
      low.unrolled(map.registers() / plan.columns, [&](Expr v) {
        const Expr first = arith::mul(arena, v, plan.columns);
        std::vector<Expr> valid;
        const auto indices = at(first, &valid);
        const Expr inside = low.inside(memory.buffer, indices, valid);
        const Access from = low.memory_access(memory.buffer, indices);
        if (!inside) return low.move({registers, {first}}, from, plan.columns);
        low.call(Primitive::load_inside, {registers_arg(registers, first, plan.columns), address_arg(from), value_arg(low.simplify(inside))});
      });
    });
    return true;
  }
  low.group(low.comment("copy, to its slot"), [&] {
    const int64_t block = plan.columns * std::max<int64_t>(plan.rows, 1);
    low.when(low.is_first_replica(map), [&] {
      low.unrolled(map.registers() / block, [&](Expr b) {
        const Expr first = arith::mul(arena, b, block);
        if (plan.rows == 0) return low.move(low.memory_access(memory.buffer, at(first)), {registers, {first}}, plan.columns);
        const BufferId turned = low.registers(dtype, block, "turned");
        low.call(Primitive::turn_block, {text_arg(std::to_string(plan.columns)), text_arg(std::to_string(plan.rows)), registers_arg(turned, low.index(0), block),
                                   registers_arg(registers, first, block)});
        low.unrolled(plan.columns, [&](Expr column) {
          low.move(low.memory_access(memory.buffer, at(arith::add(arena, first, column))), {turned, {arith::mul(arena, column, plan.rows)}}, plan.rows);
        });
      });
    });
  });
  return true;
}

}  // namespace tilert::passes
