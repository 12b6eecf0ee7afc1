// Element-wise loops. Within one, an element that a point writes is touched by that point alone: what the loop stores
// to is read at the stored place only.
#include "random/generator_impl.h"

namespace tilert::random {

Value Generator::let(Value v) {
  const VarId var = case_.program.add_var(ir::VarKind::let, v.e->dtype, "t" + std::to_string(++names_));
  add(ir::Let{var, v.e, {}});
  lets_.push_back({case_.program.var(var), v.bound});
  return lets_.back();
}

Value Generator::load(const Place& place, std::vector<Expr> at) {
  const VarId var = case_.program.add_var(ir::VarKind::let, place.dtype, "t" + std::to_string(++names_));
  add(ir::Let{var, nullptr, ir::Access{place.id, std::move(at)}});
  lets_.push_back({case_.program.var(var), place.cap});
  return lets_.back();
}

// The indices at which the points of the loop around write a place: each variable names a dim of its own.
std::optional<Generator::Target> Generator::target_of(size_t place, const std::vector<int64_t>& extents) {
  const Place& p = places_[place];
  Target out{place, std::vector<Expr>(p.rank()), true};
  std::vector<bool> taken(p.rank(), false);
  size_t next = p.rank();
  for (size_t v = points_.size(); v-- > 0;) {
    const int64_t e = extents[v];
    const auto room = [&](size_t d) {
      if (!p.is_tensor()) return p.shape[d];
      return p.home && p.dims[d].grid >= 0 ? grid_[static_cast<size_t>(p.dims[d].grid)].tile : int64_t{64};
    };
    std::vector<size_t> dims;
    for (size_t d = 0; d < p.rank(); ++d)
      if (!taken[d] && room(d) >= e) dims.push_back(d);
    if (dims.empty()) return std::nullopt;
    size_t d = dice_.chance(70) && next > 0 && !taken[next - 1] && room(next - 1) >= e ? next - 1 : dice_.of(dims);
    if (next > 0) --next;
    taken[d] = true;
    Expr at = points_[v].e;
    const int64_t rest = room(d) - e;
    if (rest > 0 && dice_.chance(50))
      at = op(Op::add, at, idx(dice_.from(0, rest)));
    else if (e > 1 && room(d) >= 2 * e - 1 && dice_.chance(40))
      at = op(Op::mul, at, idx(2));
    else if (dice_.chance(12))
      at = op(Op::sub, idx(e - 1), at);
    if (p.is_tensor() && p.home && p.dims[d].grid >= 0) {
      const GridDim& g = grid_[static_cast<size_t>(p.dims[d].grid)];
      at = op(Op::add, op(Op::mul, case_.program.var(g.var), idx(g.tile)), at);
    } else if (!p.is_tensor()) {
      out.whole &= rest == 0;
    }
    out.at[d] = at;
  }
  const std::vector<IndexVar> all = std::move(indices_);  // the other indices are the same for every point
  indices_.clear();
  for (const IndexVar& v : all)
    if (std::none_of(points_.begin(), points_.end(), [&](const IndexVar& q) { return q.e == v.e; }))
      indices_.push_back(v);
  for (size_t d = 0; d < p.rank(); ++d) {
    if (out.at[d]) continue;
    if (p.table && d == 0) {
      out.at[d] = entry(p);
    } else if (p.is_tensor() && p.home && p.dims[d].grid >= 0) {
      out.at[d] = home_offset(p.dims[d], 1);
    } else {
      const int64_t size = p.is_tensor() ? std::max<int64_t>(1, p.dims[d].value) : p.shape[d];
      out.at[d] = index_in(0, size - 1);
      out.whole &= size == 1;
    }
  }
  indices_ = all;
  return out;
}

// Indices at which any point may read: inside tiles, anywhere in tensors, at home in what this kernel writes.
std::optional<std::vector<Expr>> Generator::read_index(size_t place) {
  const Place& p = places_[place];
  std::vector<Expr> at;
  for (size_t d = 0; d < p.rank(); ++d) {
    if (p.table && d == 0) {
      at.push_back(entry(p));
    } else if (!p.is_tensor()) {
      at.push_back(index_in(0, p.shape[d] - 1));
    } else if (p.home && p.dims[d].grid >= 0) {
      at.push_back(home_offset(p.dims[d], 1));
    } else {
      const Expr base = free_offset(p.dims[d].value, dice_.from(1, 16));
      const bool moves = in_parallel_ && dice_.chance(85);
      at.push_back(moves ? op(Op::add, base, index_in(0, 31)) : base);
    }
  }
  return at;
}

void Generator::read_some(int count, std::optional<size_t> source) {
  for (int i = 0; i < count; ++i) {
    const auto from = source && i == 0 ? source : some_place([&](const Place& p) {
      return p.written && p.direction != ir::Direction::out &&
             std::find(stored_.begin(), stored_.end(), p.memory) == stored_.end();
    });
    if (!from) return;
    if (std::find(stored_.begin(), stored_.end(), places_[*from].memory) != stored_.end()) continue;
    const Place& p = places_[*from];
    std::vector<Expr> at;
    if (in_parallel_ && !p.is_tensor() && p.rank() == points_.size() && dice_.chance(70)) {
      bool fits = true;
      for (size_t d = 0; d < p.rank(); ++d) fits &= points_[d].high < p.shape[d];
      for (size_t d = 0; d < p.rank() && fits; ++d) at.push_back(points_[d].e);
    }
    if (at.size() != p.rank()) at = *read_index(*from);
    load(p, std::move(at));
  }
}

// A private sum over a few elements, as a loop inside the point.
void Generator::private_sum() {
  const DType dtype = dice_.of({DType::f32, DType::int32, DType::f16, DType::int64});
  const size_t var = declare(dtype, Scope::scalar, {});
  const Place p = places_[var];
  add(ir::Store{ir::Access{p.id, {}}, bounded_value(dtype, p.direct, 1).e});
  ir::Block body;
  const size_t lets = lets_.size(), indices = indices_.size();
  const int64_t trips = dice_.from(0, 4);
  const VarId k = case_.program.add_var(ir::VarKind::loop, DType::index, "k" + std::to_string(++names_));
  ir::Block* const outer = block_;
  block_ = &body;
  indices_.push_back({case_.program.var(k), 0, std::max<int64_t>(0, trips - 1)});
  read_some(1, {});
  if (dice_.chance(25)) {
    ir::If leave{value(DType::boolean, 2).e, {}, {}};
    leave.then_body.push_back(ir::make_stmt(ir::Jump{dice_.of({ir::JumpKind::leave, ir::JumpKind::next})}, ++ordinal_));
    add(std::move(leave));
  }
  const Value old = load(p, {});
  Value next = value(dtype, 2);
  next = fit(next, p.direct / 2);
  const Value base = fit(old, p.direct - p.direct / 2);
  add(ir::Store{ir::Access{p.id, {}}, op(dice_.chance(70) ? Op::add : Op::max, base.e, next.e)});
  block_ = outer;
  lets_.resize(lets), indices_.resize(indices);
  add(ir::For{dice_.chance(80) ? ir::ForKind::serial : ir::ForKind::unrolled, k, idx(0), idx(trips), 1, 0,
              std::move(body)});
  load(p, {});
  places_[var].written = false;  // it ends with the point
  places_[var].scope = Scope::registers;
}

void Generator::store_point(const Target& target) {
  Place& p = places_[target.place];
  if (p.written && !p.is_tensor() && dice_.chance(50)) load(p, target.at);
  if (p.is_tensor() && p.direction == ir::Direction::inout && dice_.chance(50)) load(p, target.at);
  const Value v = bounded_value(p.dtype, p.direct);
  const bool partial = (p.written || p.is_tensor()) && dice_.chance(25);
  ir::Stmt::Node store = ir::Store{ir::Access{p.id, target.at}, v.e};
  if (!partial) {
    add(std::move(store));
    p.written |= target.whole && !p.is_tensor();
    return;
  }
  ir::If branch{value(DType::boolean, 2).e, {}, {}};
  branch.then_body.push_back(ir::make_stmt(std::move(store), ++ordinal_));
  if (dice_.chance(40))
    branch.else_body.push_back(
        ir::make_stmt(ir::Store{ir::Access{p.id, target.at}, bounded_value(p.dtype, p.direct, 2).e}, ++ordinal_));
  add(std::move(branch));
}

void Generator::point_body(std::vector<Target>& targets, std::optional<size_t> source) {
  read_some(static_cast<int>(dice_.from(0, 3)) + (source ? 1 : 0), source);
  if (dice_.chance(15)) private_sum();
  if (dice_.chance(20)) let(value(any_dtype(), 2));
  for (const Target& t : targets) {
    store_point(t);
    if (dice_.chance(20)) read_some(1, {});
  }
  if (dice_.chance(2)) report();
}

bool Generator::parallel(std::optional<size_t> target, std::optional<size_t> source) {
  const auto writable = [&](const Place& p) {
    return !p.kept && (p.scope == Scope::fragment || p.scope == Scope::shared || p.is_output());
  };
  if (!target) target = some_place([&](const Place& p) { return writable(p) && (p.written || p.is_tensor()); });
  if (!target || !writable(places_[*target])) return false;
  const Place& first = places_[*target];
  std::vector<int64_t> extents;
  for (size_t d = 0; d < first.rank(); ++d) {
    int64_t e = !first.is_tensor()        ? first.shape[d]
                : first.dims[d].grid >= 0 ? grid_[static_cast<size_t>(first.dims[d].grid)].tile
                                          : std::min<int64_t>(32, std::max<int64_t>(1, first.dims[d].value));
    if ((first.written || first.is_tensor()) && dice_.chance(15)) e = dice_.from(1, e);
    extents.push_back(e);
  }
  if (extents.empty() || product(extents) > 8192) return false;
  const size_t lets = lets_.size(), indices = indices_.size();
  ir::Parallel node{{}, extents, {}, !dice_.chance(10)};
  for (int64_t e : extents) {
    node.vars.push_back(case_.program.add_var(ir::VarKind::loop, DType::index, "p" + std::to_string(++names_)));
    points_.push_back({case_.program.var(node.vars.back()), 0, e - 1});
    indices_.push_back(points_.back());
  }
  std::vector<Target> targets;
  if (auto t = target_of(*target, extents)) targets.push_back(std::move(*t));
  for (int i = 0; i < 2 && dice_.chance(25); ++i) {
    const auto other = some_place([&](const Place& p) { return writable(p) && (p.written || p.is_tensor()); });
    if (!other || std::any_of(targets.begin(), targets.end(), [&](const Target& t) { return places_[t.place].memory == places_[*other].memory; }))
      continue;
    if (auto t = target_of(*other, extents)) targets.push_back(std::move(*t));
  }
  for (const Target& t : targets) stored_.push_back(places_[t.place].memory);
  ir::Block* const outer = block_;
  block_ = &node.body;
  in_parallel_ = true;
  if (!targets.empty()) point_body(targets, source);
  in_parallel_ = false;
  block_ = outer;
  stored_.clear(), points_.clear();
  lets_.resize(lets), indices_.resize(indices);
  if (targets.empty()) return false;
  spend(product(extents) * 12);
  add(std::move(node));
  return true;
}

}  // namespace tilert::random
