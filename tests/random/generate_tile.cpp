// Tiles, and the operations on them.
#include "ir/semantics.h"
#include "random/generator_impl.h"

namespace tilert::random {
namespace {

constexpr int64_t kMaxTileElements = 4096;
constexpr int64_t kMaxSharedBytes = 24 * 1024;

bool is_tile(const Place& p) { return p.scope == Scope::shared || p.scope == Scope::fragment; }

}  // namespace

// ---- storage ----

std::vector<int64_t> Generator::shape(size_t rank) {
  std::vector<int64_t> out;
  for (size_t d = 0; d < rank; ++d) out.push_back(extent());
  for (size_t d = 0; product(out) > kMaxTileElements / (rank > 2 ? 2 : 1); d = (d + 1) % rank)
    out[d] = std::max<int64_t>(1, out[d] / 2);
  return out;
}

size_t Generator::declare(DType dtype, Scope scope, std::vector<int64_t> shape, bool accumulator) {
  const int64_t bytes = product(shape) * dtype_bytes(dtype);
  if (scope == Scope::shared && tile_bytes_ + bytes > kMaxSharedBytes * (product_ ? 3 : 1)) scope = Scope::fragment;
  if (scope == Scope::shared) tile_bytes_ += bytes;
  static constexpr const char* kNames[] = {"", "s", "f", "v", "l", ""};
  ir::Buffer b{kNames[static_cast<size_t>(scope)] + std::to_string(++names_), dtype, scope, {}};
  for (int64_t e : shape) b.shape.push_back(idx(e));
  using L = ir::TileLayout;
  if (scope == Scope::shared && dice_.chance(8))
    b.layout.kind = dice_.of({L::row_major, L::padded, L::swizzle_32, L::swizzle_64, L::swizzle_128});
  const BufferId id = case_.program.add_buffer(std::move(b));
  Place p{id, id, dtype, scope, std::move(shape), {}};
  const int64_t limit = exact_limit(dtype);
  p.cap = p.direct =
      dtype_is_float(dtype) ? dice_.of<int64_t>({8, 64, 256, limit}) : dice_.of<int64_t>({8, 100, limit, limit});
  p.cap = p.direct = std::min(p.cap, limit);
  if (accumulator) {
    p.cap = limit;
    p.direct = dtype_is_float(dtype) ? std::min<int64_t>(1024, limit / 2) : limit;
    p.growth = limit - p.direct;
  }
  if (!dtype_computes(dtype)) {
    p.cap = p.direct = limit;
    if (dtype_is_float(dtype) && (special_ || dtype == DType::e8m0)) p.cap = greatest(dtype);
  }
  p.trips = trips_;
  add(ir::Alloc{p.id});
  places_.push_back(std::move(p));
  return places_.size() - 1;
}

size_t Generator::fresh(DType dtype, Scope scope, std::vector<int64_t> shape) {
  const size_t tile = declare(dtype, scope, std::move(shape));
  initialize(tile);
  return tile;
}

size_t Generator::fresh() {
  const int kind = static_cast<int>(dice_.below(100));
  if (kind < 6) return fresh(any_dtype(), Scope::scalar, {});
  if (kind < 14) return fresh(any_dtype(), Scope::local, {dice_.from(1, 6)});
  const size_t rank = static_cast<size_t>(dice_.of({1, 2, 2, 2, 2, 3}));
  return fresh(dice_.chance(10) ? stored_dtype() : any_dtype(), kind < 55 ? Scope::shared : Scope::fragment, shape(rank));
}

void Generator::initialize(size_t tile) {
  if (places_[tile].scope == Scope::scalar) {
    const Place p = places_[tile];
    add(ir::Store{ir::Access{p.id, {}}, bounded_value(p.dtype, p.direct).e});
    places_[tile].written = true;
    return;
  }
  if (dice_.chance(55) && load_tile(tile)) return;
  if (dice_.chance(50) && parallel(tile) && places_[tile].written) return;
  fill(tile);
}

// Another shape of a tile's bytes, or other integers.
bool Generator::view() {
  const auto of = some_place([](const Place& p) {
    return is_tile(p) && p.written && !p.kept && p.id == p.memory && !dtype_is_packed(p.dtype) && p.rank() > 0;
  });
  if (!of) return false;
  Place p = places_[*of];
  int64_t bytes = product(p.shape) * dtype_bytes(p.dtype);
  const bool integers = dtype_is_integer(p.dtype) && p.cap == exact_limit(p.dtype) && p.direct == p.cap;
  if (integers && dice_.chance(50)) {
    const DType other = dice_.of({DType::uint8, DType::int16, DType::int32, DType::uint32, DType::uint64});
    if (bytes % dtype_bytes(other) == 0) p.dtype = other, p.cap = p.direct = exact_limit(other);
  }
  int64_t left = bytes / dtype_bytes(p.dtype);
  p.shape.clear();
  for (int64_t r = dice_.from(0, 2); r > 0; --r) {
    const int64_t factor = dice_.of<int64_t>({1, 2, 3, 4, 5, 8, 16, 16});
    if (left % factor == 0) p.shape.push_back(factor), left /= factor;
  }
  p.shape.insert(p.shape.begin() + dice_.below(static_cast<int64_t>(p.shape.size()) + 1), left);
  ir::Buffer b{"w" + std::to_string(++names_), p.dtype, p.scope, {}};
  for (int64_t e : p.shape) b.shape.push_back(idx(e));
  b.view_of = p.memory;
  p.id = case_.program.add_buffer(std::move(b));
  p.growth = 0;  // what may still be added is the tile's own to give
  places_.push_back(std::move(p));
  return true;
}

// Whether the place can take an accumulation, which then is counted.
bool Generator::accumulates(Place& to, int64_t growth) {
  if (!dtype_is_float(to.dtype)) return true;  // integers wrap
  const int64_t cost = bounded_mul(growth, trips_ / to.trips);
  if (cost > to.growth) return false;
  to.growth -= cost;
  return true;
}

// ---- regions ----

ir::Region Generator::whole(const Place& place) {
  ir::Region r{place.id, {}, place.shape};
  r.offsets.assign(place.shape.size(), idx(0));
  return r;
}

// Where a box starts that stays with the block in an output's dim.
Expr Generator::home_offset(const TensorDim& dim, int64_t extent) {
  const GridDim& g = grid_[static_cast<size_t>(dim.grid)];
  const Expr start = g.tile == 1 ? case_.program.var(g.var) : op(Op::mul, case_.program.var(g.var), idx(g.tile));
  const int64_t room = g.tile - extent;
  return room == 0 || dice_.chance(60) ? start : op(Op::add, start, index_in(0, room));
}

// Where a box starts that may leave a tensor on either side.
Expr Generator::free_offset(int64_t size, int64_t extent) {
  if (!indices_.empty() && dice_.chance(65)) {
    const Expr v = dice_.of(indices_).e;
    const Expr start = dice_.chance(70) ? op(Op::mul, v, idx(extent)) : op(Op::mul, v, idx(dice_.from(1, 9)));
    return dice_.chance(75) ? start : op(Op::add, start, idx(dice_.from(-5, 9)));
  }
  if (dice_.chance(50)) return idx(0);
  return dice_.chance(40) ? idx(dice_.from(0, 20)) : index_in(0, std::max<int64_t>(0, size - 1));
}

// A box of the extents; those of a tensor's dims are given as the tensor has them.
ir::Region Generator::region(const Place& place, const std::vector<int64_t>& extents, bool whole_first) {
  ir::Region r{place.id, {}, extents};
  for (size_t d = 0; d < extents.size(); ++d) {
    if (place.table && d == 0) {
      r.offsets.push_back(entry(place));
    } else if (!place.is_tensor()) {
      const int64_t room = place.shape[d] - extents[d];
      r.offsets.push_back(room == 0 || (whole_first && dice_.chance(40)) ? idx(0) : index_in(0, room));
    } else if (place.home && place.dims[d].grid >= 0) {
      r.offsets.push_back(home_offset(place.dims[d], extents[d]));
    } else {
      r.offsets.push_back(free_offset(place.dims[d].value, extents[d]));
    }
  }
  return r;
}

// ---- fill and copy ----

bool Generator::fill(size_t tile) {
  Place& p = places_[tile];
  if (!is_tile(p) && p.scope != Scope::local) return false;
  const bool all = !p.written || dice_.chance(75);
  std::vector<int64_t> extents = p.shape;
  for (int64_t& e : extents)
    if (!all) e = dice_.from(1, e);
  const Expr v = dice_.chance(40) && p.dtype != DType::e8m0 ? arena().constant(p.dtype, 0) : bounded_value(p.dtype, p.direct, 2).e;
  add(ir::Fill{region(p, extents), v});
  p.written = p.written || all;
  spend(product(extents));
  return true;
}

void Generator::copy_hints(ir::Copy& node) {
  if (dice_.chance(20)) node.prefer = dice_.of({ir::CopyPrefer::tma, ir::CopyPrefer::async, ir::CopyPrefer::sync});
  if (dice_.chance(15)) node.eviction = dice_.of({ir::Eviction::first, ir::Eviction::last});
  if (dice_.chance(10)) node.multicast = true;
}

// Whether values of `from` may be cast into `to`.
bool Generator::copies(const Place& from, const Place& to) const {
  if (to.dtype == DType::e8m0) return from.dtype == DType::e8m0;
  if (from.dtype == DType::e8m0 && dtype_is_float(to.dtype)) return false;  // beyond a tensor it is 2^-127
  if (dtype_is_float(to.dtype)) return from.cap <= to.direct || (from.dtype == to.dtype && from.cap <= to.cap && !dtype_computes(to.dtype));
  if (is_unsigned(to.dtype) && dtype_is_signed(from.dtype)) return to.direct == exact_limit(to.dtype);
  if (special_ && dtype_is_float(from.dtype)) return to.direct == exact_limit(to.dtype);
  return std::min(from.cap, exact_limit(to.dtype)) <= to.direct || to.direct == exact_limit(to.dtype);
}

bool Generator::copy() {
  const auto moves = [](const Place& p) { return p.scope != Scope::scalar; };
  const auto from =
      some_place([&](const Place& p) { return moves(p) && p.written && p.direction != ir::Direction::out; });
  if (!from) return false;
  const Place source = places_[*from];
  const auto to = some_place([&](const Place& p) {
    return moves(p) && p.memory != source.memory && copies(source, p) && p.direction != ir::Direction::in &&
           (!p.is_tensor() || p.is_output()) && !(p.is_tensor() && source.is_tensor() && dice_.chance(70));
  });
  return to && copy(*from, *to);
}

bool Generator::copy(size_t from, size_t to, bool plain) {
  Place &s = places_[from], &d = places_[to];
  if (s.is_tensor() && d.is_tensor() && s.aliases && d.aliases) return false;
  const size_t common = std::min(s.rank(), d.rank());
  std::vector<int64_t> se(s.rank(), 1), de(d.rank(), 1);
  bool all = true;
  // Dims pair up from the last one on, leading ones may stay at 1.
  for (size_t i = 0; i < common; ++i) {
    const size_t sd = s.rank() - 1 - i, dd = d.rank() - 1 - i;
    int64_t e = 64;
    const auto limit = [&](const Place& p, size_t dim) {
      if (!p.is_tensor())
        e = std::min(e, p.shape[dim]);
      else if (p.table && dim == 0)
        e = 1;
      else if (p.home && p.dims[dim].grid >= 0)
        e = std::min(e, grid_[static_cast<size_t>(p.dims[dim].grid)].tile);
    };
    limit(s, sd), limit(d, dd);
    if (!plain && d.written && dice_.chance(15)) e = dice_.from(1, e);
    se[sd] = de[dd] = e;
  }
  if (product(se) > kMaxTileElements * 2) return false;
  for (size_t i = 0; i < d.rank() && !d.is_tensor(); ++i) all &= de[i] == d.shape[i];
  if (!all && !d.written && !d.is_tensor()) return false;
  ir::Copy node{region(s, se), region(d, de)};
  const Place& global = s.is_tensor() ? s : d;
  if (s.is_tensor() && dice_.chance(plain ? 4 : 30)) node.safe = number(s.dtype, dice_.from(0, std::min<int64_t>(3, d.direct))).e;
  if (s.is_tensor() != d.is_tensor() && dice_.chance(plain ? 10 : 25))
    for (const TensorDim& dim : global.dims) {
      Expr bound = dice_.chance(30)   ? nullptr
                   : dice_.chance(50) ? idx(dice_.from(0, dim.value + 3))
                                      : index_in(0, dim.value + 3);
      if (bound && dice_.chance(20)) bound = op(Op::sub, dim.size, idx(dice_.from(0, 3)));
      node.valid.push_back(bound);
    }
  copy_hints(node);
  spend(product(se));
  add(std::move(node));
  if (!d.is_tensor()) d.written |= all;
  return true;
}

// Copies from a tensor over the whole tile.
bool Generator::load_tile(size_t tile, bool plain) {
  const Place& p = places_[tile];
  const auto from = some_place([&](const Place& t) {
    return t.is_tensor() && t.direction == ir::Direction::in && copies(t, p) && t.tensor_rank() >= p.rank() &&
           (t.dtype == p.dtype || (!plain && dice_.chance(25)));
  });
  return from && copy(*from, tile, plain);
}

// ---- products ----

bool Generator::gemm(std::optional<size_t> operand) {
  const auto operand_fits = [](const Place& p) {
    return is_tile(p) && p.written && p.rank() == 2 && p.dtype != DType::boolean && p.dtype != DType::e8m0 &&
           (p.cap <= 256 || !dtype_is_float(p.dtype));
  };
  if (operand && !operand_fits(places_[*operand])) return false;
  const auto first = operand ? operand : dice_.chance(60) ? some_place(operand_fits) : std::nullopt;
  const size_t a = first ? *first : [&] {
    return fresh(dice_.of({DType::f16, DType::f16, DType::bf16, DType::f32, DType::int8, DType::f64, DType::uint8, DType::int16}),
                 Scope::shared, shape(2));
  }();
  if (!operand_fits(places_[a])) return false;
  const bool trans_a = dice_.chance(30), trans_b = dice_.chance(40);
  const int64_t m = places_[a].shape[trans_a], k = places_[a].shape[!trans_a];
  const auto b_fits = [&](const Place& p) { return operand_fits(p) && p.shape[trans_b] == k; };
  const bool integers = !dtype_is_float(places_[a].dtype) && dice_.chance(80);
  const auto types_fit = [&](const Place& p) {
    if (integers) return dtype_is_integer(p.dtype);
    return p.dtype != DType::boolean && (dtype_is_float(p.dtype) || dtype_is_float(places_[a].dtype));
  };
  auto other = some_place([&](const Place& p) { return b_fits(p) && types_fit(p); });
  if (!other || dice_.chance(30)) {
    const int64_t n = std::min(extent(), kMaxTileElements / std::max(k, m));
    if (n < 1) return false;
    const DType dtype = integers ? (dice_.chance(70) ? places_[a].dtype : dice_.of({DType::int8, DType::uint8, DType::int32}))
                        : dtype_is_float(places_[a].dtype) && dice_.chance(70)
                            ? places_[a].dtype
                            : dice_.of({DType::f16, DType::bf16, DType::f32});
    other = fresh(dtype, dice_.chance(80) ? Scope::shared : Scope::fragment,
                  trans_b ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n});
    if (!b_fits(places_[*other])) return false;
  }
  const size_t b = *other;
  const int64_t n = places_[b].shape[!trans_b];
  if (m * n > 2 * kMaxTileElements) return false;  // rows of a narrow view, each with each
  const bool f32s = places_[a].dtype == DType::f32 && places_[b].dtype == DType::f32;
  const bool tf32 = f32s && dice_.chance(40);
  const DType in = tf32 ? DType::tf32 : ir::gemm_operand_dtype(places_[a].dtype, places_[b].dtype);
  if (dtype_is_float(in) == integers) return false;
  if (!integers && std::max(places_[a].cap, places_[b].cap) > exact_limit(in)) return false;
  const int64_t growth = bounded_mul(k, bounded_mul(places_[a].cap, places_[b].cap));
  const DType out = integers            ? (dice_.chance(70) ? DType::int32 : DType::int64)
                    : in == DType::f64 ? DType::f64
                                       : DType::f32;
  auto c = some_place([&](const Place& p) {
    return p.memory != places_[a].memory && p.memory != places_[b].memory && p.scope == Scope::fragment && p.dtype == out &&
           p.shape == std::vector<int64_t>{m, n} && p.written &&
           p.cap == exact_limit(out) && (!dtype_is_float(out) || p.growth >= bounded_mul(growth, trips_ / p.trips));
  });
  if (!c) {
    c = declare(out, Scope::fragment, {m, n}, true);
    if (dice_.chance(50)) fill(*c);
  }
  Place& to = places_[*c];
  ir::Expr accumulate = arena().boolean(to.written && dice_.chance(75));
  if (to.written && dice_.chance(20)) accumulate = value(DType::boolean, 2).e;
  if (!accumulates(to, growth)) return false;
  add(ir::Gemm{whole(places_[a]), whole(places_[b]), whole(to), trans_a, trans_b, accumulate,
               dice_.of({ir::WarpSplit::automatic, ir::WarpSplit::automatic, ir::WarpSplit::rows,
                         ir::WarpSplit::columns, ir::WarpSplit::square}), tf32});
  to.written = true;
  spend(m * n * k);
  return true;
}

// ---- reductions ----

bool Generator::reduce(std::optional<size_t> source) {
  const auto fits = [](const Place& p) {
    return (is_tile(p) || p.scope == Scope::local) && p.written && p.dtype != DType::e8m0;
  };
  if (source && !fits(places_[*source])) return false;
  if (!source) source = some_place(fits);
  if (!source) return false;
  const Place from = places_[*source];
  using R = ir::ReduceOp;
  const R op =
      from.dtype == DType::boolean ? dice_.of({R::bit_and, R::bit_or, R::bit_xor})
      : dtype_is_float(from.dtype)
          ? dice_.of({R::sum, R::sum, R::max, R::min, R::absmax, R::abssum, R::max_nan, R::min_nan, R::prod})
          : dice_.of({R::sum, R::max, R::min, R::absmax, R::abssum, R::prod, R::bit_and, R::bit_or, R::bit_xor});
  const auto dim = static_cast<size_t>(dice_.below(static_cast<int64_t>(from.rank())));
  std::vector<int64_t> rest = from.shape;
  const int64_t count = rest[dim];
  if (dice_.chance(30) || (rest.size() == 1 && dice_.chance(50)))
    rest[dim] = 1;
  else
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(dim));
  const bool is_float = dtype_is_float(from.dtype);
  DType dtype = from.dtype;
  if (dtype != DType::boolean && (dice_.chance(30) || !dtype_computes(dtype)))
    dtype = is_float ? dice_.of({DType::f32, DType::f16, DType::bf16, DType::f64})
                     : dice_.of({DType::int32, DType::int64, DType::int8, DType::uint32, DType::int16, DType::int4});
  const bool adds = op == R::sum || op == R::abssum;
  int64_t result = adds ? bounded_mul(count, from.cap) : from.cap;
  if (op == R::prod && is_float) {
    if (from.cap > 1 && count > 4) return false;
    for (int64_t i = 1; i < count && from.cap > 1; ++i) result = bounded_mul(result, from.cap);
  }
  if (is_float && (result > exact_limit(dtype) || from.cap > exact_limit(dtype))) return false;
  auto to = some_place([&](const Place& p) {
    return p.memory != from.memory && p.dtype == dtype && p.scope != Scope::global && p.shape == rest && p.written &&
           (is_float || p.cap == exact_limit(dtype));
  });
  if (!to || dice_.chance(40))
    to = declare(dtype, rest.empty() ? Scope::scalar : dice_.of({Scope::fragment, Scope::fragment, Scope::shared}),
                 rest, true);
  Place& d = places_[*to];
  if (!d.written && dice_.chance(40) && d.scope != Scope::scalar) fill(*to);
  bool accumulate = d.written && dice_.chance(60);
  if (is_float && accumulate && adds) accumulate = accumulates(d, result);
  if (is_float && accumulate && op == R::prod) accumulate = from.cap <= 1;
  if (is_float && (!accumulate || !adds) && result > d.direct) return false;
  add(ir::Reduce{op, whole(from), whole(d), static_cast<int>(dim), accumulate});
  d.written = true;
  spend(product(from.shape));
  return true;
}

}  // namespace tilert::random
