// Operations along a dim: scans, folds by an operation of the program's own, places of extremes, sorts.
#include "ir/semantics.h"
#include "random/generator_impl.h"

namespace tilert::random {
namespace {

constexpr int64_t kMaxElements = 2048;

using R = ir::ReduceOp;

bool is_extreme(R op) { return op == R::max || op == R::min || op == R::max_nan || op == R::min_nan; }

}  // namespace

bool Generator::along() {
  const auto from = some_place([](const Place& p) {
    const bool tile = p.scope == Scope::shared || p.scope == Scope::fragment || p.scope == Scope::local;
    return tile && p.written && dtype_computes(p.dtype) && product(p.shape) <= kMaxElements;
  });
  if (!from) return false;
  const Place place = places_[*from];
  spend(product(place.shape) * 4);
  switch (dice_.below(4)) {
    case 0: return scan(place);
    case 1: return fold(place);
    case 2: return pick(place);
    default: return sort(place);
  }
}

// A tile of that shape which may hold results of at most `bound`.
size_t Generator::destination(DType dtype, const std::vector<int64_t>& shape, int64_t bound,
                              const std::vector<BufferId>& not_these) {
  const auto to = some_place([&](const Place& p) {
    const bool tile = p.scope == Scope::shared || p.scope == Scope::fragment || p.scope == Scope::local;
    return tile && !p.kept && p.dtype == dtype && p.shape == shape && p.direct >= bound &&
           std::find(not_these.begin(), not_these.end(), p.memory) == not_these.end();
  });
  if (to && dice_.chance(60)) return *to;
  const size_t made = declare(dtype, dice_.of({Scope::fragment, Scope::fragment, Scope::shared}), shape);
  places_[made].cap = places_[made].direct = exact_limit(dtype);
  return made;
}

std::pair<VarId, VarId> Generator::sides(DType dtype) {
  const std::string number = std::to_string(++names_);
  const VarId left = case_.program.add_var(ir::VarKind::let, dtype, "a" + number);
  return {left, case_.program.add_var(ir::VarKind::let, dtype, "b" + number)};
}

// The shape that is left of a place's without a dim: dropped, or kept at 1.
std::vector<int64_t> Generator::without(const Place& from, size_t dim) {
  std::vector<int64_t> rest = from.shape;
  if (rest.size() == 1 || dice_.chance(30)) rest[dim] = 1;
  else rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(dim));
  return rest;
}

bool Generator::scan(const Place& from) {
  const bool floats = dtype_is_float(from.dtype);
  const R kind = from.dtype == DType::boolean ? dice_.of({R::bit_and, R::bit_or, R::bit_xor})
                 : floats ? dice_.of({R::sum, R::sum, R::max, R::min, R::max_nan, R::min_nan, R::prod})
                          : dice_.of({R::sum, R::sum, R::max, R::min, R::prod, R::bit_and, R::bit_or, R::bit_xor});
  const auto dim = static_cast<size_t>(dice_.below(static_cast<int64_t>(from.rank())));
  const int64_t count = from.shape[dim];
  DType dtype = from.dtype;
  if (dtype != DType::boolean && dice_.chance(25))
    dtype = floats ? dice_.of({DType::f32, DType::f16, DType::f64}) : dice_.of({DType::int32, DType::int64, DType::uint8, DType::int16});
  int64_t result = kind == R::sum ? bounded_mul(count, from.cap) : from.cap;
  if (floats && kind == R::prod && from.cap > 1) {
    if (count > 4) return false;
    for (int64_t i = 1; i < count; ++i) result = bounded_mul(result, from.cap);
  }
  if (floats && std::max(result, from.cap) > exact_limit(dtype)) return false;
  if (!floats) result = exact_limit(dtype);  // they wrap
  bool exclusive = dice_.chance(40);
  if (floats && is_extreme(kind) && !special_) exclusive = false;  // the first would be infinite
  const bool in_place = dtype == from.dtype && !from.kept && from.direct >= result && dice_.chance(20);
  const size_t to = in_place ? static_cast<size_t>(std::find_if(places_.begin(), places_.end(), [&](const Place& p) { return p.id == from.id; }) - places_.begin())
                             : destination(dtype, from.shape, result, {from.memory});
  Place& d = places_[to];
  const DType sum = ir::reduce_accumulator(dtype);
  const auto [left, right] = sides(sum);
  ir::Combine combine{{left}, {right}, {}, {}};
  combine.result = {op(ir::reduce_combine(kind), case_.program.var(left), case_.program.var(right))};
  combine.identity = {arena().constant(sum, ir::reduce_identity(kind, sum))};
  add(ir::Scan{{whole(from)}, {whole(d)}, std::move(combine), static_cast<int>(dim), dice_.chance(40), exclusive});
  d.written = true;
  return true;
}

// Tuples of two: the greatest and how often it stands there; x -> a x + b after one another; the first of an even number,
// which hangs on the order.
bool Generator::fold(const Place& from) {
  if (from.dtype == DType::boolean) return false;
  const auto dim = static_cast<size_t>(dice_.below(static_cast<int64_t>(from.rank())));
  const bool floats = dtype_is_float(from.dtype), chain = !floats && dice_.chance(50);
  if (floats && special_) return false;  // NaN is as great as nothing
  const DType first = floats ? dice_.of({DType::f32, DType::f64}) : dice_.of({DType::int32, DType::int64, DType::uint32});
  const DType second = chain ? first : dice_.of({DType::int32, DType::int64});
  // The second component's source: any tile of integers of that shape.
  const auto other = some_place([&](const Place& p) {
    const bool tile = p.scope == Scope::shared || p.scope == Scope::fragment || p.scope == Scope::local;
    return tile && p.written && p.shape == from.shape && dtype_is_integer(p.dtype) && dtype_computes(p.dtype);
  });
  const Place counts = places_[other ? *other : fresh(dice_.of({DType::int32, DType::int8, DType::uint16}), Scope::fragment, from.shape)];
  if (!counts.written || counts.shape != from.shape) return false;
  const bool scans = dice_.chance(35);
  const std::vector<int64_t> rest = scans ? from.shape : without(from, dim);
  const size_t a = destination(first, rest, floats ? from.cap : exact_limit(first), {from.memory, counts.memory});
  const size_t b = destination(second, rest, exact_limit(second), {from.memory, counts.memory, places_[a].memory});
  const auto [la, ra] = sides(first);
  const auto [lb, rb] = sides(second);
  const auto var = [&](VarId v) { return case_.program.var(v); };
  ir::Combine combine{{la, lb}, {ra, rb}, {}, {}};
  if (chain) {
    combine.result = {op(Op::mul, var(la), var(ra)), op(Op::add, op(Op::mul, var(lb), var(ra)), var(rb))};
    combine.identity = {number(first, 1).e, number(second, 0).e};
  } else {
    const Expr sum = op(Op::add, var(lb), var(rb));
    combine.result = {op(Op::max, var(la), var(ra)),
                      op(Op::select, op(Op::eq, var(la), var(ra)), sum, op(Op::select, op(Op::lt, var(la), var(ra)), var(rb), var(lb)))};
    combine.identity = {arena().constant(first, ir::reduce_identity(R::max, first)), number(second, 0).e};
  }
  const std::vector<ir::Region> src{whole(from), whole(counts)}, dst{whole(places_[a]), whole(places_[b])};
  const bool both = places_[a].written && places_[b].written;
  if (scans)
    add(ir::Scan{src, dst, std::move(combine), static_cast<int>(dim), dice_.chance(40), !floats && dice_.chance(30)});
  else
    add(ir::Fold{src, dst, std::move(combine), static_cast<int>(dim), both && dice_.chance(50)});
  places_[a].written = places_[b].written = true;
  return true;
}

bool Generator::pick(const Place& from) {
  if (from.dtype == DType::boolean) return false;
  const auto dim = static_cast<size_t>(dice_.below(static_cast<int64_t>(from.rank())));
  const size_t to = destination(dice_.of({DType::int32, DType::int64}), without(from, dim), from.shape[dim], {from.memory});
  add(ir::Pick{whole(from), whole(places_[to]), static_cast<int>(dim), dice_.chance(50)});
  places_[to].written = true;
  return true;
}

// All of them in order, or the first few; with their places or without.
bool Generator::sort(const Place& from) {
  if (from.dtype == DType::boolean) return false;
  const auto dim = static_cast<size_t>(dice_.below(static_cast<int64_t>(from.rank())));
  std::vector<int64_t> kept = from.shape;
  if (dice_.chance(60)) kept[dim] = dice_.from(1, kept[dim]);
  const size_t to = destination(from.dtype, kept, from.cap, {from.memory});
  ir::Sort node{whole(from), whole(places_[to]), {}, static_cast<int>(dim), dice_.chance(50)};
  places_[to].written = true;
  if (dice_.chance(60)) {
    const size_t places = destination(dice_.of({DType::int32, DType::int64}), kept, from.shape[dim], {from.memory, places_[to].memory});
    node.index = whole(places_[places]);
    places_[places].written = true;
  }
  add(std::move(node));
  return true;
}

}  // namespace tilert::random
