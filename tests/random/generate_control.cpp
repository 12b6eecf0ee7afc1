// Statements in order, loops and branches around them.
#include "random/generator_impl.h"

namespace tilert::random {
namespace {

constexpr int kMaxDepth = 3;

}  // namespace

std::vector<size_t> Generator::places(const std::function<bool(const Place&)>& fits) const {
  std::vector<size_t> out;
  for (size_t i = 0; i < places_.size(); ++i)
    if (places_[i].scope != Scope::registers && fits(places_[i])) out.push_back(i);
  return out;
}

std::optional<size_t> Generator::some_place(const std::function<bool(const Place&)>& fits) {
  const std::vector<size_t> all = places(fits);
  return all.empty() ? std::nullopt : std::optional(dice_.of(all));
}

// A block of its own: what it declares and names ends with it, what it writes may not have happened.
void Generator::nested(ir::Block& into, int64_t trips, const std::function<void()>& body) {
  const size_t lets = lets_.size(), indices = indices_.size();
  std::vector<char> written;
  for (const Place& p : places_) written.push_back(p.written);
  ir::Block* const outer = block_;
  const int64_t outer_trips = trips_;
  block_ = &into;
  trips_ *= std::max<int64_t>(1, trips);
  ++depth_;
  body();
  --depth_;
  trips_ = outer_trips;
  block_ = outer;
  lets_.resize(lets), indices_.resize(indices);
  for (size_t i = 0; i < places_.size(); ++i) {
    if (i < written.size()) {
      places_[i].written = written[i];
    } else if (!places_[i].is_tensor()) {
      places_[i].written = false;
      places_[i].scope = Scope::registers;  // out of scope: places() leaves it out
    }
  }
}

void Generator::statements(int count) {
  for (int i = 0; i < count; ++i) {
    if (work_ > options_.work) return;
    for (int tries = 0; tries < 4 && !statement(); ++tries) {
    }
  }
}

bool Generator::statement() {
  if (dice_.chance(14)) return along();
  if (dice_.chance(9)) return atomic();
  if (dice_.chance(5)) return view();
  if (loops_ > 0 && dice_.chance(5)) return jump();
  if (depth_ == 0 && dice_.chance(1)) return leaves();
  if (depth_ == 0 && dice_.chance(2)) return meet();
  if (dice_.chance(15) && threads()) return true;
  if (dice_.chance(1)) return report();
  if (depth_ < kMaxDepth && dice_.chance(4)) return while_loop();
  const int64_t kind = dice_.below(100);
  if (depth_ < kMaxDepth) {
    if (kind < 12 && (depth_ > 0 || top_pipelined_)) return pipelined();
    if (kind < 18) return serial();
    if (kind < 24) return branch();
  }
  if (kind < 34) return fresh(), true;
  if (kind < 50) return copy();
  if (kind < 62) return gemm();
  if (kind < 72) return reduce();
  if (kind < 90) return parallel();
  if (kind < 94) return scalar_let();
  if (kind < 97) return scalar_store();
  const auto tile = some_place([](const Place& p) { return p.scope == Scope::shared || p.scope == Scope::fragment; });
  return tile && fill(*tile);
}

// An expression of the number of trips, at most `most` under the case's sizes, which is at most `limit`.
Expr Generator::trip_count(int64_t limit, int64_t& most) {
  std::vector<std::pair<Expr, int64_t>> choices;
  for (size_t i = 0; i < case_.dims.size(); ++i) {
    const Expr dim = case_.program.var(case_.program.dims[i].var);
    for (int64_t by : {4, 8, 16, 32}) {
      const int64_t trips = (case_.dims[i] + by - 1) / by;
      if (trips <= limit) choices.push_back({op(Op::div, op(Op::add, dim, idx(by - 1)), idx(by)), trips});
    }
  }
  if (!choices.empty() && dice_.chance(50)) {
    const auto& [e, trips] = dice_.of(choices);
    most = trips;
    return e;
  }
  most = dice_.from(0, limit);
  if (dice_.chance(50)) return idx(most);
  if (dice_.chance(50)) return index_in(0, most);
  const Value v = fit({arena().cast(value(DType::int32, 2).e, DType::index), kHuge}, 1000000);
  return op(Op::max, op(Op::min, v.e, idx(most)), idx(0));
}

bool Generator::serial() {
  int64_t most = 0;
  ir::For loop{ir::ForKind::serial};
  loop.begin = idx(0);
  loop.end = trip_count(3, most);
  if (dice_.chance(25)) {
    loop.kind = ir::ForKind::unrolled;
    loop.end = idx(most);
  }
  int64_t low = 0, high = std::max<int64_t>(0, most - 1);
  if (dice_.chance(30)) {  // the same trips counted down, or from elsewhere in larger steps
    const int64_t step = dice_.of<int64_t>({-1, -2, 2, 3});
    const int64_t begin = dice_.from(-2, 9);
    loop.end = op(Op::add, op(Op::mul, loop.end, idx(step)), idx(begin));
    loop.begin = idx(begin);
    loop.step = step;
    low = std::min(begin, begin + (most - 1) * step), high = std::max(begin, begin + (most - 1) * step);
    if (most == 0) low = high = begin;
  }
  loop.var = case_.program.add_var(ir::VarKind::loop, DType::index, "i" + std::to_string(++names_));
  nested(loop.body, most, [&] {
    indices_.push_back({case_.program.var(loop.var), low, high});
    in_loop([&] { statements(static_cast<int>(dice_.from(1, 3))); });
  });
  add(std::move(loop));
  return true;
}

void Generator::in_loop(const std::function<void()>& body) {
  ++loops_;
  body();
  --loops_;
}

// Counts a var of its own down; a condition that was read may end it before.
bool Generator::while_loop() {
  int64_t most = 0;
  const Expr trips = trip_count(3, most);
  const DType dtype = dice_.of({DType::int32, DType::int64, DType::int16});
  const size_t var = declare(dtype, Scope::scalar, {});
  const Place counter = places_[var];
  places_[var].scope = Scope::registers;  // nobody else writes it
  add(ir::Store{ir::Access{counter.id, {}}, arena().cast(trips, dtype)});
  ir::While loop;
  const auto left = [&] {
    const VarId x = case_.program.add_var(ir::VarKind::let, dtype, "w" + std::to_string(++names_));
    add(ir::Let{x, nullptr, ir::Access{counter.id, {}}});
    return case_.program.var(x);
  };
  nested(loop.body, most, [&] {
    ir::Block* const body = block_;
    block_ = &loop.head;
    if (dice_.chance(30)) read_some(1, {});
    const Expr x = left();
    loop.condition = op(Op::lt, number(dtype, 0).e, x);
    if (dice_.chance(25)) loop.condition = op(Op::logical_and, loop.condition, value(DType::boolean, 2).e);
    block_ = body;
    add(ir::Store{ir::Access{counter.id, {}}, op(Op::sub, x, number(dtype, 1).e)});
    lets_.push_back({x, std::max<int64_t>(1, most)});
    in_loop([&] { statements(static_cast<int>(dice_.from(1, 3))); });
  });
  add(std::move(loop));
  return true;
}

// Out of the innermost loop, or on to its next trip, if a value says so.
bool Generator::jump() {
  ir::If node{value(DType::boolean, 3).e, {}, {}};
  if (node.condition->is_constant()) return false;
  const auto kind = dice_.of({ir::JumpKind::leave, ir::JumpKind::next});
  nested(node.then_body, 1, [&] {
    if (dice_.chance(30)) statement();
    add(ir::Jump{kind});
  });
  add(std::move(node));
  return true;
}

// Some blocks end here.
bool Generator::leaves() {
  ir::If node{value(DType::boolean, 3).e, {}, {}};
  if (node.condition->is_constant()) return false;
  nested(node.then_body, 1, [&] { add(ir::Jump{ir::JumpKind::finish}); });
  left_ = true;
  add(std::move(node));
  return true;
}

// A shared tile that a copy of a ring can bring: the dtype of an input, rows of whole words.
std::optional<size_t> Generator::ring_tile() {
  const auto from = some_place([](const Place& p) {
    return p.is_tensor() && p.direction == ir::Direction::in && p.tensor_rank() >= 2 && p.dtype != DType::boolean;
  });
  if (!from) return std::nullopt;
  const DType dtype = places_[*from].dtype;
  std::vector<int64_t> extents = shape(2);
  const int64_t word = dice_.chance(80) ? 16 : 4;
  const int64_t step = std::max<int64_t>(1, word / dtype_bytes(dtype));
  extents[1] = std::min<int64_t>(64, (extents[1] + step - 1) / step * step);
  while (extents[0] * extents[1] > 1024) extents[0] = (extents[0] + 1) / 2;
  const size_t tile = declare(dtype, Scope::shared, extents);
  places_[tile].cap = places_[tile].direct = places_[*from].cap;
  places_[tile].kept = true;
  return tile;
}

// Copies of what the iteration needs, then several uses of it, then whatever. A clean one writes its tiles by whole
// copies alone, and has more trips than stages: its copies can run ahead, and its slots come round.
bool Generator::pipelined() {
  const bool clean = dice_.chance(60);
  int64_t most = 0;
  ir::For loop{ir::ForKind::pipelined};
  loop.begin = idx(0);
  loop.end = trip_count(clean ? 7 : 4, most);
  loop.stages = static_cast<int>(dice_.of({0, 0, 1, 2, 2, 3, 3, 4, 5}));
  if (clean && loop.stages == 1) loop.stages = 2;
  loop.var = case_.program.add_var(ir::VarKind::loop, DType::index, "k" + std::to_string(++names_));
  const auto make = [&] {
    if (clean || dice_.chance(50))
      if (const auto tile = ring_tile()) return *tile;
    const DType dtype = dice_.of({DType::f16, DType::f16, DType::bf16, DType::f32, DType::int8, DType::int32});
    return declare(dtype, Scope::shared, shape(dice_.chance(85) ? 2 : 1));
  };
  std::vector<size_t> tiles;
  const int outside = static_cast<int>(dice_.from(0, 2)), inside = outside == 0 ? 1 : dice_.chance(25);
  for (int i = 0; i < outside; ++i) {
    tiles.push_back(make());
    if (!clean && dice_.chance(25)) fill(tiles.back());
  }
  nested(loop.body, most, [&] {
    indices_.push_back({case_.program.var(loop.var), 0, std::max<int64_t>(0, most - 1)});
    for (int i = 0; i < inside; ++i) tiles.push_back(make());
    for (size_t tile : tiles)
      if (!load_tile(tile, clean)) fill(tile);
    for (size_t tile : tiles)
      for (int64_t uses = dice_.from(1, 3); uses > 0; --uses) use_of(tile, clean);
    if (clean)  // what follows leaves the tiles alone
      for (size_t tile : tiles) places_[tile].scope = Scope::registers;
    const int more = static_cast<int>(dice_.from(0, clean ? 2 : 3));
    if (clean && dice_.chance(90)) statements(more);
    else in_loop([&] { statements(more); });
  });
  for (size_t tile : tiles) places_[tile].kept = false;
  add(std::move(loop));
  return true;
}

// Reads the tile in some way, or overwrites part of it.
bool Generator::use_of(size_t tile, bool reads_only) {
  if (!places_[tile].written) return false;
  for (int tries = 0; tries < 4; ++tries) {
    bool done = false;
    switch (dice_.below(8)) {
      case 0:
      case 1: done = gemm(tile); break;
      case 2: done = reduce(tile); break;
      case 3: {
        const auto target = some_place(
            [&](const Place& p) { return p.memory != places_[tile].memory && p.scope == Scope::fragment && p.written; });
        done = parallel(target, tile);
        break;
      }
      case 4: done = !reads_only && parallel(tile); break;
      case 5: {
        const Place from = places_[tile];
        const auto to = some_place([&](const Place& p) {
          return p.memory != from.memory && ((p.scope == Scope::fragment && p.written) || p.is_output()) &&
                 copies(from, p) && dtype_is_float(p.dtype) == dtype_is_float(from.dtype);
        });
        done = to && copy(tile, *to);
        break;
      }
      case 6: done = !reads_only && load_tile(tile); break;
      default: {
        const Place p = places_[tile];
        std::vector<Expr> at;
        for (int64_t size : p.shape) at.push_back(index_in(0, size - 1));
        load(p, std::move(at));
        done = true;
      }
    }
    if (done) return true;
  }
  return false;
}

bool Generator::branch() {
  ir::If node{value(DType::boolean, 3).e, {}, {}};
  if (node.condition->is_constant() && dice_.chance(80)) return false;
  nested(node.then_body, 1, [&] { statements(static_cast<int>(dice_.from(1, 3))); });
  if (dice_.chance(40)) nested(node.else_body, 1, [&] { statements(static_cast<int>(dice_.from(1, 2))); });
  add(std::move(node));
  return true;
}

// A value read here, uniform over the block.
bool Generator::scalar_let() {
  if (dice_.chance(30)) return let(value(any_dtype(), 3)), true;
  read_some(1, {});
  return true;
}

bool Generator::scalar_store() {
  const auto to =
      some_place([&](const Place& p) { return (p.written && !p.is_tensor()) || p.is_output(); });
  if (!to) return false;
  const Place p = places_[*to];
  add(ir::Store{ir::Access{p.id, *read_index(*to)}, bounded_value(p.dtype, p.direct).e});
  return true;
}

}  // namespace tilert::random
