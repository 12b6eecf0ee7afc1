// Loops over the threads of a block, in kernels that fix their number: what threads tell each other in a warp, through a
// tile behind a barrier, and what asynchronous copies bring.
#include "random/generator_impl.h"

namespace tilert::random {

// What a lane gives another, or what a warp agrees on.
void Generator::exchange() {
  using Kind = ir::ThreadOpKind;
  ir::ThreadOp given{dice_.of({Kind::shuffle, Kind::shuffle_up, Kind::shuffle_down, Kind::shuffle_xor, Kind::all, Kind::any, Kind::ballot})};
  const bool votes = given.kind >= Kind::all;
  const Value v = votes ? value(DType::boolean, 3) : let(value(any_dtype(), 2));
  const DType dtype = !votes ? v.e->dtype : given.kind == Kind::ballot ? DType::uint32 : DType::boolean;
  given.value = v.e;
  given.var = case_.program.add_var(ir::VarKind::let, dtype, "g" + std::to_string(++names_));
  if (!votes) {
    given.number = dice_.of<int64_t>({32, 32, 16, 8, 4, 2, 1});
    given.lane = given.kind == Kind::shuffle && dice_.chance(50) ? index_in(0, 40) : idx(dice_.below(given.number));
    if (given.lane->is_constant()) given.lane = idx(given.lane->as_int() % given.number);  // others may leave the group
  }
  const VarId var = given.var;
  add(std::move(given));
  lets_.push_back({case_.program.var(var), votes ? exact_limit(dtype) : v.bound});
}

// Neighbours of a tensor into a tile with room for those of each thread; groups of 4 to 16 bytes.
std::optional<Generator::Arrival> Generator::arrival(int64_t threads) {
  const auto from = some_place([](const Place& p) {
    return p.is_tensor() && p.direction == ir::Direction::in && !p.aliases && p.tensor_rank() > 0 && dtype_is_integer(p.dtype) && !dtype_is_packed(p.dtype);
  });
  if (!from || dice_.chance(50)) return std::nullopt;
  const DType dtype = places_[*from].dtype;
  const int64_t count = std::max<int64_t>(1, dice_.of({4, 8, 16}) / dtype_bytes(dtype));
  if (count * dtype_bytes(dtype) > 16 || count * dtype_bytes(dtype) < 4) return std::nullopt;
  const size_t tile = declare(dtype, Scope::shared, {threads * count});
  places_[tile].cap = places_[tile].direct = places_[*from].cap;
  if (places_[tile].scope != Scope::shared) return std::nullopt;
  return Arrival{*from, tile, count};
}

void Generator::issue(const Arrival& a, Expr thread) {
  const Place from = places_[a.from];
  ir::ThreadOp copy{ir::ThreadOpKind::copy};
  std::vector<Expr> at = *read_index(a.from);
  at.back() = op(Op::mul, index_in(0, std::max<int64_t>(0, from.dims.back().value / a.count)), idx(a.count));
  copy.src = {from.id, std::move(at)};
  copy.dst = {places_[a.tile].id, {op(Op::mul, thread, idx(a.count))}};
  copy.count = a.count;
  add(std::move(copy));
  add(ir::ThreadOp{ir::ThreadOpKind::commit});  // what is in no group is not waited for
}

bool Generator::threads() {
  const int64_t number = case_.program.kernels.back().hints.value(ir::HintKind::threads_fixed);
  if (number == 0) return false;
  const size_t through = declare(any_dtype(), Scope::shared, {number});
  const size_t result = declare(any_dtype(), dice_.of({Scope::shared, Scope::fragment}), {number});
  if (places_[through].scope != Scope::shared) return false;
  const std::optional<Arrival> brought = arrival(number);
  const size_t lets = lets_.size(), indices = indices_.size();
  ir::Parallel node{{}, {number}, {}, !dice_.chance(10)};
  node.threads = true;
  node.vars.push_back(case_.program.add_var(ir::VarKind::loop, DType::index, "t" + std::to_string(++names_)));
  const Expr thread = case_.program.var(node.vars[0]);
  points_.push_back({thread, 0, number - 1});
  indices_.push_back(points_.back());
  stored_ = {places_[through].memory, places_[result].memory};
  if (brought) stored_.push_back(places_[brought->tile].memory);
  ir::Block* const outer = block_;
  block_ = &node.body;
  in_parallel_ = true;
  if (brought) issue(*brought, thread);
  read_some(static_cast<int>(dice_.from(1, 3)), {});
  for (int64_t i = dice_.from(0, 3); i > 0; --i) exchange();
  add(ir::Store{ir::Access{places_[through].id, {thread}}, bounded_value(places_[through].dtype, places_[through].direct).e});
  if (brought) add(ir::ThreadOp{ir::ThreadOpKind::wait});
  add(ir::ThreadOp{ir::ThreadOpKind::sync});
  const auto of_others = [&](size_t place, int64_t size) {
    load(places_[place], {op(Op::mod, op(Op::add, op(Op::mul, thread, idx(dice_.from(1, 3))), idx(dice_.below(size))), idx(size))});
  };
  of_others(through, number);
  if (brought) of_others(brought->tile, number * brought->count);
  if (dice_.chance(60)) exchange();
  add(ir::Store{ir::Access{places_[result].id, {thread}}, bounded_value(places_[result].dtype, places_[result].direct).e});
  in_parallel_ = false;
  block_ = outer;
  stored_.clear(), points_.clear();
  lets_.resize(lets), indices_.resize(indices);
  for (const size_t place : {through, result}) places_[place].written = true;
  if (brought) places_[brought->tile].written = true;
  spend(number * 40);
  add(std::move(node));
  return true;
}

}  // namespace tilert::random
