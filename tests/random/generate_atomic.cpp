// Atomic operations. Where points or blocks meet in an element, each operation on it is of one kind that commutes, exact
// in any order, and nobody asks for the old value; where an element belongs to one point or block, anything goes.
#include "ir/semantics.h"
#include "random/generator_impl.h"

namespace tilert::random {
namespace {

using A = ir::AtomicOp;

constexpr DType kTypes[] = {DType::int32, DType::int64, DType::uint32, DType::uint64, DType::f32, DType::f64, DType::f16, DType::bf16};

bool takes(DType dtype) { return ir::atomic_takes(A::add, dtype); }

}  // namespace

bool Generator::atomic() {
  switch (dice_.below(4)) {
    case 0: return contended_tensor();
    case 1: return contended_tile();
    case 2: return own_elements();
    default: return once_a_block();
  }
}

// An operation without place and value: one that commutes where several meet in an element.
ir::Atomic Generator::change(const Place& place, bool together) {
  ir::Atomic node{};
  const bool floats = dtype_is_float(place.dtype);
  if (together)
    node.op = floats ? dice_.of({A::add, A::max, A::min}) : dice_.of({A::add, A::add, A::max, A::min, A::bit_and, A::bit_or, A::bit_xor});
  else
    node.op = floats ? dice_.of({A::max, A::min, A::exchange, A::cas, A::load, A::store})
                     : dice_.of({A::add, A::max, A::min, A::bit_and, A::bit_or, A::bit_xor, A::exchange, A::cas, A::load, A::store});
  using M = ir::MemoryOrder;
  if (const M order = dice_.of({M::relaxed, M::relaxed, M::relaxed, M::acquire, M::release, M::acq_rel}); ir::atomic_allows(node.op, order))
    node.order = order;
  using S = ir::MemoryScope;
  node.scope = dice_.of({S::device, S::device, S::system});
  return node;
}

// The variables of a parallel loop of the given extents, and its body.
void Generator::points_of(ir::Parallel& loop, const std::function<void()>& body) {
  const size_t lets = lets_.size(), indices = indices_.size();
  for (int64_t e : loop.extents) {
    loop.vars.push_back(case_.program.add_var(ir::VarKind::loop, DType::index, "p" + std::to_string(++names_)));
    points_.push_back({case_.program.var(loop.vars.back()), 0, e - 1});
    indices_.push_back(points_.back());
  }
  ir::Block* const outer = block_;
  block_ = &loop.body;
  in_parallel_ = true;
  body();
  in_parallel_ = false;
  block_ = outer;
  stored_.clear(), points_.clear();
  lets_.resize(lets), indices_.resize(indices);
  spend(product(loop.extents) * 8);
}

// A tensor that all blocks change, and nobody reads.
bool Generator::contended_tensor() {
  std::vector<TensorDim> dims;
  for (int64_t r = dice_.from(1, 2); r > 0; --r) {
    const int64_t size = dice_.from(1, 40);
    dims.push_back({idx(size), size, -1});
  }
  const bool table = becomes_table(dims, 25);
  const size_t to = tensor('O', dice_.of(kTypes), ir::Direction::inout, dims, false, table);
  places_[to].scope = Scope::registers;
  const Place place = places_[to];
  ir::Parallel loop{{}, shape(static_cast<size_t>(dice_.from(1, 2))), {}, true};
  while (product(loop.extents) > 512) loop.extents[0] = (loop.extents[0] + 1) / 2;
  ir::Atomic node = change(place, true);
  int64_t bound = place.direct;
  if (dtype_is_float(place.dtype) && node.op == A::add) {
    bound = (exact_limit(place.dtype) - kDataBound) / bounded_mul(product(loop.extents), bounded_mul(trips_, blocks_));
    if (bound < 1) node.op = A::max, bound = place.direct;
  }
  points_of(loop, [&] {
    read_some(static_cast<int>(dice_.from(0, 2)), {});
    node.to = {place.id, {}};
    for (const TensorDim& d : dims) node.to.indices.push_back(index_in(-2, d.value + 1));
    node.value = bounded_value(place.dtype, bound).e;
    if (dice_.chance(20)) {
      ir::If some{value(DType::boolean, 2).e, {}, {}};
      some.then_body.push_back(ir::make_stmt(node, ++ordinal_));
      add(std::move(some));
    } else {
      add(node);
    }
  });
  add(std::move(loop));
  return true;
}

// A shared tile that many points of one loop change.
bool Generator::contended_tile() {
  const auto to = some_place([&](const Place& p) { return p.scope == Scope::shared && p.written && !p.kept && takes(p.dtype); });
  if (!to) return false;
  ir::Parallel loop{{}, shape(static_cast<size_t>(dice_.from(1, 2))), {}, true};
  while (product(loop.extents) > 512) loop.extents[0] = (loop.extents[0] + 1) / 2;
  ir::Atomic node = change(places_[*to], true);
  int64_t bound = places_[*to].direct;
  if (node.op == A::add && dtype_is_float(places_[*to].dtype)) {
    bound = 1;
    if (!accumulates(places_[*to], product(loop.extents))) node.op = A::min, bound = places_[*to].direct;
  }
  if (!dtype_is_float(places_[*to].dtype) && places_[*to].cap != exact_limit(places_[*to].dtype)) node.op = A::max;
  const Place place = places_[*to];
  stored_.push_back(place.memory);
  points_of(loop, [&] {
    read_some(static_cast<int>(dice_.from(0, 2)), {});
    node.to = {place.id, {}};
    for (int64_t size : place.shape) node.to.indices.push_back(index_in(0, size - 1));
    node.value = bounded_value(place.dtype, bound).e;
    add(node);
  });
  add(std::move(loop));
  return true;
}

// Each point changes an element of its own, and may use what it was.
bool Generator::own_elements() {
  const auto to = some_place([&](const Place& p) {
    const bool tensor = p.is_output() && p.direction == ir::Direction::inout;
    return takes(p.dtype) && !p.kept && p.rank() > 0 && (tensor || (p.scope == Scope::shared && p.written));
  });
  if (!to) return false;
  const Place place = places_[*to];
  ir::Parallel loop{{}, {}, {}, true};
  for (size_t d = 0; d < place.rank(); ++d) {
    const int64_t most = !place.is_tensor()         ? place.shape[d]
                         : place.dims[d].grid >= 0 ? grid_[static_cast<size_t>(place.dims[d].grid)].tile
                                                    : std::max<int64_t>(1, place.dims[d].value);
    loop.extents.push_back(dice_.from(1, std::min<int64_t>(most, 16)));
  }
  ir::Atomic node = change(place, false);
  const bool wraps = !dtype_is_float(place.dtype) && place.cap == exact_limit(place.dtype);
  if (!wraps && ir::atomic_combine(node.op) && node.op != A::max && node.op != A::min) node.op = A::exchange, node.order = ir::MemoryOrder::relaxed;
  bool made = false;
  const auto other = some_place([&](const Place& p) { return p.scope == Scope::fragment && p.written && !p.kept && p.memory != place.memory; });
  stored_.push_back(place.memory);
  if (other) stored_.push_back(places_[*other].memory);
  points_of(loop, [&] {
    const auto target = target_of(*to, loop.extents);
    if (!target) return;
    read_some(1, {});
    node.to = {place.id, target->at};
    if (node.op != A::load) node.value = bounded_value(place.dtype, place.direct).e;
    if (node.op == A::cas) node.expected = bounded_value(place.dtype, 3, 1).e;
    if (node.op == A::load || (node.op != A::store && dice_.chance(70))) node.old = case_.program.add_var(ir::VarKind::let, place.dtype, "o" + std::to_string(++names_));
    add(node);
    if (node.old != ir::kNoVar) lets_.push_back({case_.program.var(node.old), place.cap});
    std::optional<Target> result = other ? target_of(*other, loop.extents) : std::nullopt;
    if (result) store_point(*result);
    made = true;
  });
  if (made) add(std::move(loop));
  return made;
}

// Outside of loops over points: one change, and everyone may use what was there.
bool Generator::once_a_block() {
  const auto to = some_place([&](const Place& p) { return p.scope == Scope::shared && p.written && !p.kept && takes(p.dtype); });
  if (!to) return false;
  const Place place = places_[*to];
  ir::Atomic node = change(place, false);
  const bool wraps = !dtype_is_float(place.dtype) && place.cap == exact_limit(place.dtype);
  if (!wraps && ir::atomic_combine(node.op) && node.op != A::max && node.op != A::min) node.op = A::exchange, node.order = ir::MemoryOrder::relaxed;
  node.to = {place.id, *read_index(*to)};
  if (node.op != A::load) node.value = bounded_value(place.dtype, place.direct).e;
  if (node.op == A::cas) node.expected = bounded_value(place.dtype, 3, 1).e;
  if (node.op == A::load || (node.op != A::store && dice_.chance(70))) node.old = case_.program.add_var(ir::VarKind::let, place.dtype, "o" + std::to_string(++names_));
  add(node);
  if (node.old != ir::kNoVar) lets_.push_back({case_.program.var(node.old), place.cap});
  return true;
}

}  // namespace tilert::random
