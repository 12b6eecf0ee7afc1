// What is of the grid: blocks that meet, blocks that loop over tiles, and what they tell of themselves.
#include "random/generator_impl.h"

namespace tilert::random {

// The blocks loop over tiles, sometimes over so many as memory says, sometimes with a cost for each.
void Generator::persist(ir::Kernel& kernel) {
  kernel.persistent = true;
  const auto count = some_place([](const Place& p) {
    return p.is_tensor() && p.direction == ir::Direction::in && !p.aliases && !p.table && (p.dtype == DType::int32 || p.dtype == DType::int64) &&
           std::all_of(p.dims.begin(), p.dims.end(), [](const TensorDim& d) { return d.value > 0; });
  });
  if (count && dice_.chance(40)) {
    kernel.tile_count = places_[*count].id;
    return;
  }
  const bool planned = std::any_of(case_.program.kernels.begin(), case_.program.kernels.end(), [](const ir::Kernel& k) { return k.cost != nullptr; });
  if (planned || !dice_.chance(30)) return;
  const auto of_tile = [&] {
    Expr e = idx(dice_.from(0, 3));
    for (const ir::VarId v : kernel.block_vars)
      if (dice_.chance(70)) e = op(Op::add, e, op(Op::mul, case_.program.var(v), idx(dice_.from(1, 4))));
    return e;
  };
  kernel.cost = of_tile();
  if (dice_.chance(50)) kernel.locality = of_tile();
}

// All blocks have come before any goes on: then each may read what others wrote, where nobody writes any more.
bool Generator::meet() {
  const ir::Kernel& kernel = case_.program.kernels.back();
  if (depth_ > 0 || kernel.persistent || left_) return false;
  add(ir::GridSync{});
  change_homes();
  return true;
}

void Generator::change_homes() {
  for (Place& p : places_)
    if (p.is_tensor() && p.direction == ir::Direction::inout) p.home = dice_.chance(50);
}

// Prints values, or asserts what may not hold. No value depends on it.
bool Generator::report() {
  ir::Report made;
  made.failed = dice_.chance(50);
  made.message = "report " + std::to_string(++names_);
  const bool places = dice_.chance(70);
  for (int64_t count = dice_.from(0, 3); count > 0; --count) {
    const DType dtype = dice_.of({DType::int32, DType::int64, DType::uint32, DType::boolean, DType::f32, DType::index});
    Expr e = dtype == DType::index ? index_in(0, 9) : value(dtype, 2).e;
    if (dtype == DType::f32) e = special_ ? arena().cast(e, DType::int32) : op(Op::add, e, arena().constant(dtype, 0));  // no -0
    made.values.push_back(e);
    if (places) made.message += " {}";
  }
  for (const ir::VarId v : case_.program.kernels.back().block_vars) made.block.push_back(case_.program.var(v));
  if (!made.failed && !in_parallel_ && dice_.chance(50)) return add(std::move(made)), true;
  ir::If node{value(DType::boolean, 3).e, {}, {}};
  nested(node.then_body, 1, [&] { add(std::move(made)); });
  add(std::move(node));
  return true;
}

}  // namespace tilert::random
