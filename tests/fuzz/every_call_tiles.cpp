// Storage, memory, and operations on tiles.
#include <algorithm>

#include "fuzz/every_call.h"

namespace tilert::fuzz {

using Shape = std::vector<uint32_t>;

static bool computes(tilert_dtype dtype) {
  return dtype == TILERT_BOOL || (dtype >= TILERT_INT8 && dtype <= TILERT_INT64) || (dtype >= TILERT_UINT8 && dtype <= TILERT_F64);
}
static bool is_number(tilert_dtype dtype) { return computes(dtype) && dtype != TILERT_BOOL; }
static bool takes_atomics(tilert_dtype dtype) {
  return dtype == TILERT_INT32 || dtype == TILERT_INT64 || dtype == TILERT_UINT32 || dtype == TILERT_UINT64 || dtype == TILERT_F32;
}

// ---- storage ----

void EveryCall::keep(Stored s) {
  if (s.tensor.serial || s.buffer.serial) stored_.push_back(std::move(s));
}

// A tile that holds something.
EveryCall::Stored EveryCall::declare(int32_t scope, tilert_dtype dtype, Shape shape) {
  Stored s;
  s.scope = scope, s.dtype = dtype, s.shape = std::move(shape);
  tilert_buffer_options o{};
  o.name = in_.below(2) ? nullptr : "tile";
  if (scope == TILERT_SHARED && in_.below(8) == 0) o.layout = code(TILERT_LAYOUT_AUTO, TILERT_LAYOUT_PADDED);
  s.buffer = TILERT_CALL(tilert_builder_buffer, b_, scope, dtype, sizes(s.shape), static_cast<uint32_t>(s.shape.size()), sized(o));
  keep(s);
  Place p;
  if (scope == TILERT_VAR) {
    p.region.buffer = s.buffer;
    TILERT_CALL(tilert_builder_store, b_, &p.region, value(dtype));
  } else if (!in_element() && in_.below(16)) {
    region(p, s, s.shape);
    if (in_.below(3)) TILERT_CALL(tilert_builder_clear, b_, &p.region);
    else TILERT_CALL(tilert_builder_fill, b_, &p.region, value(dtype));
  }
  return s;
}

void EveryCall::buffer() {
  const bool own = in_element();
  const int32_t scope = own ? TILERT_VAR : code(TILERT_SHARED, TILERT_LOCAL);
  Shape shape;
  for (uint32_t r = scope == TILERT_VAR ? 0 : scope == TILERT_LOCAL ? 1 : 1 + in_.below(3); r > 0; --r) shape.push_back(size());
  const tilert_dtype of = in_.below(4) ? number_dtype() : dtype();
  declare(scope, of == TILERT_INDEX ? TILERT_F32 : of, std::move(shape));
}

void EveryCall::view() {
  const Stored* const of = pick([](const Stored& s) { return s.is_tile() && is_number(s.dtype) && !s.shape.empty(); });
  if (!of) return;
  Stored s = *of;
  if (in_.below(2)) {
    uint32_t elements = 1;
    for (uint32_t e : s.shape) elements *= e;
    s.shape = elements % 4 || in_.below(2) ? Shape{elements} : Shape{4, elements / 4};
    s.buffer = TILERT_CALL(tilert_builder_view, b_, s.buffer, 0, sizes(s.shape), static_cast<uint32_t>(s.shape.size()));
  } else {
    const uint32_t width = tilert_dtype_bits(s.dtype) / 8;
    s.dtype = TILERT_UINT8, s.shape.back() *= width;
    s.buffer = TILERT_CALL(tilert_builder_view, b_, s.buffer, TILERT_UINT8, nullptr, 0);
  }
  keep(s);
}

// One of its own among the rest: elements of each row the other way round.
void EveryCall::layout() {
  const Stored tile = declare(TILERT_SHARED, TILERT_F32, {size(), size()});
  const uint32_t flags = wild_ ? in_.next() : 0;
  if (in_.below(2)) return void(TILERT_CALL(tilert_builder_annotate_layout, b_, tile.buffer, code(TILERT_LAYOUT_ROW_MAJOR, TILERT_LAYOUT_PADDED), tilert_expr{}, flags));
  tilert_expr at[2] = {};
  TILERT_CALL(tilert_builder_layout_indices, b_, tile.buffer, at);
  const tilert_expr last[2] = {number(tile.shape[1] - 1), at[1]}, row[2] = {at[0], number(tile.shape[1])};
  const tilert_expr sum[2] = {TILERT_CALL(tilert_builder_op, b_, TILERT_OP_MUL, row, 2), TILERT_CALL(tilert_builder_op, b_, TILERT_OP_SUB, last, 2)};
  TILERT_CALL(tilert_builder_annotate_layout, b_, tile.buffer, TILERT_LAYOUT_CUSTOM, TILERT_CALL(tilert_builder_op, b_, TILERT_OP_ADD, sum, 2), flags);
}

// ---- places ----

// A box of the extents; inside tiles it stays there.
void EveryCall::region(Place& p, const Stored& s, const Shape& extents) {
  p.region.tensor = s.tensor, p.region.buffer = s.buffer;
  const uint32_t rank = p.region.rank = static_cast<uint32_t>(std::min<size_t>(8, s.shape.size()));
  for (uint32_t d = 0; d < rank; ++d) {
    const uint32_t extent = d < extents.size() ? extents[d] : 1;
    p.offsets[d] = s.access ? index() : number(s.shape[d] > extent ? in_.below(s.shape[d] - extent + 1) : 0);
    p.extents[d] = number(extent);
  }
  if (!rank) return;
  p.region.offsets = p.offsets, p.region.extents = p.extents;
  if (wild_) p.region.rank = in_.below(9), p.region.extent_count = in_.below(4), p.region.extents = in_.below(2) ? nullptr : p.extents;
}

// An element: of the point at hand alone (its indices in order), or any.
bool EveryCall::element(Place& p, const Stored& s, bool own) {
  p.region.tensor = s.tensor, p.region.buffer = s.buffer;
  const uint32_t rank = p.region.rank = static_cast<uint32_t>(std::min<size_t>(8, s.shape.size()));
  if (rank) p.region.offsets = p.offsets;
  const Scope* loop = nullptr;
  for (const Scope& scope : open_)
    if (!scope.points.empty()) loop = &scope;
  for (uint32_t d = 0; d < rank; ++d) {
    const bool in_range = loop && rank == loop->points.size() && (s.access || loop->extents[d] <= s.shape[d]);
    if (own && loop && !in_range && !wild_) return false;
    if (in_range && (own || in_.below(2))) p.offsets[d] = loop->points[d];
    else p.offsets[d] = s.access ? index() : number(in_.below(std::max(1u, s.shape[d])));
  }
  return !own || !loop || (rank > 0 && rank == loop->points.size());
}

void EveryCall::load() {
  const Stored* const from = pick([&](const Stored& s) { return s.reads() && !(in_element() && s.is_tile() && in_.below(2)); });
  Place p;
  if (from && element(p, *from, false)) keep(TILERT_CALL(tilert_builder_load, b_, &p.region));
}

void EveryCall::store() {
  const bool threads = inside(Kind::threads);
  const Stored* const to = pick([&](const Stored& s) { return s.writes() && (!in_element() || !s.shape.empty()) && (!threads || s.scope != TILERT_FRAGMENT); });
  Place p;
  if (to && element(p, *to, true)) TILERT_CALL(tilert_builder_store, b_, &p.region, value(to->dtype));
}

void EveryCall::atomic() {
  const Stored* const to = pick([](const Stored& s) { return takes_atomics(s.dtype) && (s.scope == TILERT_SHARED || s.access == TILERT_INOUT); });
  Place p;
  if (!to || !element(p, *to, false)) return;
  const bool floats = to->dtype == TILERT_F32;
  tilert_atomic_op op = code(TILERT_ATOMIC_ADD, TILERT_ATOMIC_CAS);
  if (floats && op >= TILERT_ATOMIC_AND && op <= TILERT_ATOMIC_XOR) op = TILERT_ATOMIC_ADD;
  tilert_atomic_options o{};
  o.order = wild_ ? code(0, 4) : TILERT_ORDER_RELAXED, o.scope = in_.below(2) ? TILERT_ORDER_DEVICE : TILERT_ORDER_SYSTEM;
  if (op == TILERT_ATOMIC_CAS) o.expected = value(to->dtype);
  tilert_expr old{};
  const bool asks = in_.below(2);
  TILERT_CALL(tilert_builder_atomic, b_, op, &p.region, value(to->dtype), sized(o), asks ? &old : nullptr);
  keep(old);
}

// Loads and stores that others may meet.
void EveryCall::flag() {
  const bool loads = in_.below(2);
  const Stored* const at = pick([&](const Stored& s) {
    return takes_atomics(s.dtype) && (s.scope == TILERT_SHARED || s.access == TILERT_INOUT || (s.access && (loads ? s.reads() : s.writes())));
  });
  Place p;
  if (!at || !element(p, *at, false)) return;
  tilert_atomic_options o{};
  o.order = wild_ ? code(0, 4) : in_.below(2) ? TILERT_ORDER_RELAXED : loads ? TILERT_ORDER_ACQUIRE : TILERT_ORDER_RELEASE;
  if (loads) keep(TILERT_CALL(tilert_builder_atomic_load, b_, &p.region, sized(o)));
  else TILERT_CALL(tilert_builder_atomic_store, b_, &p.region, value(at->dtype), sized(o));
}

void EveryCall::atomic_tile() {
  const Stored* const to = pick([](const Stored& s) { return takes_atomics(s.dtype) && !s.shape.empty() && (s.scope == TILERT_SHARED || s.access == TILERT_INOUT); });
  if (!to) return;
  const Stored target = *to;
  Shape extents;
  for (uint32_t e : target.shape) extents.push_back(e && (target.scope || extents.size() || !target.table) ? e : 1);
  const Stored from = fresh([&](const Stored& s) { return s.is_tile() && s.shape == extents && s.dtype == target.dtype && s.buffer.index != target.buffer.index; },
                            TILERT_SHARED, target.dtype, extents);
  Place d, s;
  region(d, target, extents), region(s, from, extents);
  TILERT_CALL(tilert_builder_atomic_tile, b_, code(TILERT_ATOMIC_ADD, TILERT_ATOMIC_MIN), &d.region, &s.region, nullptr);
}

// ---- copies ----

// A tile and whatever holds as much, of which one side may be a tensor.
void EveryCall::copy() {
  const Stored* const one = pick([](const Stored& s) { return !s.shape.empty() && s.shape.size() < 8; });
  if (!one) return;
  const Stored a = *one;
  Shape extents;
  for (uint32_t e : a.shape) extents.push_back(e == 0 || (a.table && extents.empty()) ? 1 : e);
  const Stored b = fresh([&](const Stored& s) { return s.is_tile() && s.shape == extents && s.buffer.index != a.buffer.index && computes(s.dtype); },
                         in_.below(2) ? TILERT_SHARED : TILERT_FRAGMENT, computes(a.dtype) ? a.dtype : TILERT_F32, extents);
  const bool out = a.writes() && (!a.reads() || in_.below(2));
  const Stored &from = out ? b : a, &to = out ? a : b;
  tilert_copy_options o{};
  o.prefer = in_.below(3) ? 0 : code(TILERT_COPY_AUTO, TILERT_COPY_SYNC);
  o.eviction = in_.below(3) ? 0 : in_.below(3);
  if (a.access && !out && in_.below(4) == 0 && is_number(a.dtype)) o.safe_value = TILERT_CALL(tilert_builder_constant, b_, a.dtype, 1);
  tilert_expr valid[8] = {};
  if (a.access && in_.below(3) == 0) {
    o.valid = valid, o.valid_count = static_cast<uint32_t>(a.shape.size());
    for (uint32_t i = 0; i < o.valid_count; ++i) valid[i] = index();
  }
  if (wild_) o.flags = in_.below(3), o.multicast = in_.below(3);
  Place s, d;
  region(s, from, extents), region(d, to, extents);
  TILERT_CALL(tilert_builder_copy, b_, &s.region, &d.region, sized(o));
}

void EveryCall::fill() {
  const Stored* const to = pick([](const Stored& s) { return s.is_tile() || s.scope == TILERT_LOCAL; });
  Place p;
  if (!to) return;
  region(p, *to, to->shape);
  if (in_.below(2)) TILERT_CALL(tilert_builder_clear, b_, &p.region);
  else TILERT_CALL(tilert_builder_fill, b_, &p.region, value(to->dtype));
}

void EveryCall::transpose() {
  const Stored* const of = pick([](const Stored& s) { return s.is_tile() && s.shape.size() >= 2; });
  if (!of) return;
  const Stored from = *of;
  Shape turned = from.shape;
  std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
  const Stored to = fresh([&](const Stored& s) { return s.is_tile() && s.shape == turned && s.dtype == from.dtype && s.buffer.index != from.buffer.index; },
                          in_.below(2) ? TILERT_SHARED : TILERT_FRAGMENT, from.dtype, turned);
  uint32_t order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  std::swap(order[turned.size() - 1], order[turned.size() - 2]);
  if (wild_) order[0] = in_.next();
  Place s, d;
  region(s, from, from.shape), region(d, to, turned);
  const bool told = in_.below(2) || turned.size() > 2;
  TILERT_CALL(tilert_builder_transpose, b_, &s.region, &d.region, told ? order : nullptr, told ? static_cast<uint32_t>(turned.size()) : 0);
}

// ---- products and operations along a dim ----

void EveryCall::gemm() {
  const bool trans_a = in_.below(4) == 0, trans_b = in_.below(2), integers = in_.below(3) == 0, sparse = integers && trans_b && !trans_a;
  const uint32_t m = 16, n = 8 << in_.below(3), k = 16;
  const tilert_dtype of = integers ? TILERT_INT8 : in_.below(2) ? TILERT_F16 : TILERT_F32;
  const auto operand = [&](Shape shape) {
    return fresh([&](const Stored& s) { return s.is_tile() && s.shape == shape && s.dtype == of; }, TILERT_SHARED, of, shape);
  };
  const Stored x = operand(trans_a ? Shape{k, m} : Shape{m, sparse ? k / 2 : k}), y = operand(trans_b ? Shape{n, k} : Shape{k, n});
  const tilert_dtype sum = integers ? TILERT_INT32 : TILERT_F32;
  const Stored z = fresh([&](const Stored& s) { return s.scope == TILERT_FRAGMENT && s.shape == Shape{m, n} && s.dtype == sum; }, TILERT_FRAGMENT, sum, {m, n});
  tilert_gemm_options o{};
  o.flags = trans_a * TILERT_GEMM_TRANS_A | trans_b * TILERT_GEMM_TRANS_B | (in_.below(3) == 0) * TILERT_GEMM_OVERWRITE;
  if (of == TILERT_F32 && in_.below(3) == 0) o.flags |= TILERT_GEMM_TF32;
  o.warp_split = in_.below(3) ? 0 : code(TILERT_SPLIT_AUTO, TILERT_SPLIT_SQUARE);
  if (!(o.flags & TILERT_GEMM_OVERWRITE) && in_.below(4) == 0) o.accumulate = value(TILERT_BOOL);
  Place a, b, c, e;
  region(a, x, x.shape), region(b, y, y.shape), region(c, z, z.shape);
  if (sparse) {
    const Shape places{m, k / 16};
    const Stored w = fresh([&](const Stored& s) { return s.is_tile() && s.shape == places && s.dtype == TILERT_UINT16; }, TILERT_SHARED, TILERT_UINT16, places);
    region(e, w, w.shape);
    o.metadata = &e.region;
  }
  Place scales;
  if (trans_a && !integers) {
    const Shape shape{2, 1};
    const Stored w = fresh([&](const Stored& s) { return s.is_tile() && s.shape == shape && s.dtype == TILERT_F32; }, TILERT_SHARED, TILERT_F32, shape);
    region(scales, w, w.shape);
    o.a_scale = &scales.region;
  }
  TILERT_CALL(tilert_builder_gemm, b_, &a.region, &b.region, &c.region, sized(o));
}

Shape EveryCall::without(const Shape& shape, uint32_t dim) const {
  Shape out = shape;
  if (out.size() == 1) out[0] = 1;
  else out.erase(out.begin() + dim);
  return out;
}

void EveryCall::reduce() {
  const Stored* const of = pick([](const Stored& s) { return s.is_tile() && !s.shape.empty() && is_number(s.dtype); });
  if (!of) return;
  const Stored from = *of;
  const uint32_t dim = in_.below(static_cast<uint32_t>(from.shape.size()));
  tilert_reduce_op op = code(TILERT_REDUCE_SUM, TILERT_REDUCE_MIN_NAN);
  const bool floats = from.dtype >= TILERT_F16, places = op == TILERT_REDUCE_ARGMAX || op == TILERT_REDUCE_ARGMIN;
  if ((floats && op >= TILERT_REDUCE_AND && op <= TILERT_REDUCE_XOR) || (!floats && op > TILERT_REDUCE_ARGMIN)) op = TILERT_REDUCE_MAX;
  const Stored to = declare(in_.below(2) ? TILERT_SHARED : TILERT_FRAGMENT, places ? TILERT_INT32 : from.dtype, without(from.shape, dim));
  tilert_reduce_options o{};
  o.flags = places ? 0 : in_.below(2);
  Place s, d;
  region(s, from, from.shape), region(d, to, to.shape);
  TILERT_CALL(tilert_builder_reduce, b_, op, &s.region, &d.region, wild_ ? in_.next() : dim, sized(o));
}

void EveryCall::scan() {
  const Stored* const of = pick([](const Stored& s) { return s.is_tile() && !s.shape.empty() && is_number(s.dtype); });
  if (!of) return;
  const Stored from = *of;
  const Stored to = declare(TILERT_SHARED, from.dtype, from.shape);
  tilert_scan_options o{};
  o.flags = in_.below(4);
  Place s, d;
  region(s, from, from.shape), region(d, to, to.shape);
  const tilert_reduce_op op = wild_ ? code(0, 14) : in_.below(2) ? TILERT_REDUCE_SUM : TILERT_REDUCE_MAX;
  TILERT_CALL(tilert_builder_scan, b_, op, &s.region, &d.region, in_.below(static_cast<uint32_t>(from.shape.size())), sized(o));
}

// All in order, or the first few; with their places or without.
void EveryCall::sort() {
  const Stored* const of = pick([](const Stored& s) { return s.is_tile() && !s.shape.empty() && is_number(s.dtype); });
  if (!of) return;
  const Stored from = *of;
  const uint32_t dim = in_.below(static_cast<uint32_t>(from.shape.size()));
  Shape kept = from.shape;
  kept[dim] = 1 + in_.below(kept[dim]);
  const Stored to = declare(TILERT_SHARED, from.dtype, kept), places = declare(TILERT_SHARED, in_.below(2) ? TILERT_INT32 : TILERT_INT64, kept);
  tilert_sort_options o{};
  o.flags = in_.below(2);
  Place s, d, i;
  region(s, from, from.shape), region(d, to, kept), region(i, places, kept);
  TILERT_CALL(tilert_builder_sort, b_, &s.region, &d.region, in_.below(2) ? &i.region : nullptr, dim, sized(o));
}

// The greater of two, or their sum, and how many there were.
void EveryCall::combine() {
  const uint32_t count = 1 + in_.below(2), dim = in_.below(2);
  const Shape shape{size(), size()};
  const bool scans = in_.below(3) == 0;
  tilert_combine c{};
  c.struct_size = sizeof c, c.count = count, c.dim = dim;
  c.flags = scans ? TILERT_COMBINE_SCAN | in_.below(4) * TILERT_COMBINE_REVERSE : in_.below(2);
  if (wild_) c.flags = in_.next(), c.count = in_.below(10);
  Place from[2], to[2];
  tilert_region sources[9] = {}, destinations[9] = {};
  tilert_expr identities[9] = {}, left[9] = {}, right[9] = {}, results[9] = {};
  for (uint32_t i = 0; i < count; ++i) {
    const Stored source = declare(TILERT_SHARED, TILERT_INT32, shape), target = declare(TILERT_SHARED, TILERT_INT32, scans ? shape : without(shape, dim));
    region(from[i], source, shape), region(to[i], target, target.shape);
    sources[i] = from[i].region, destinations[i] = to[i].region;
    identities[i] = TILERT_CALL(tilert_builder_constant, b_, TILERT_INT32, i ? 0 : 0x80000000u);
  }
  c.sources = sources, c.destinations = destinations, c.identities = identities;
  TILERT_CALL(tilert_builder_begin_combine, b_, &c, left, right);
  for (uint32_t i = 0; i < count; ++i) {
    const tilert_expr pair[2] = {left[i], right[i]};
    results[i] = TILERT_CALL(tilert_builder_op, b_, i ? TILERT_OP_ADD : TILERT_OP_MAX, pair, 2);
  }
  TILERT_CALL(tilert_builder_end_combine, b_, results, wild_ ? in_.below(9) : count);
}

// ---- by indices ----

void EveryCall::gather() {
  const Stored* const of = pick([](const Stored& s) { return s.reads() && (s.is_tile() || s.access) && s.shape.size() == 2 && !s.table && computes(s.dtype); });
  if (!of) return;
  const Stored table = *of;
  const uint32_t width = table.access ? 4 : table.shape[1], count = size();
  const Stored indices = declare(TILERT_SHARED, TILERT_INT32, {count}), to = declare(TILERT_SHARED, table.dtype, {count, width});
  Place t, i, d;
  region(t, table, {1, width}), region(i, indices, {count}), region(d, to, to.shape);
  t.region.extents = nullptr;
  t.offsets[0] = t.offsets[1] = number(0);
  TILERT_CALL(tilert_builder_gather, b_, &t.region, &i.region, &d.region, wild_ ? in_.next() : 0);
}

void EveryCall::scatter() {
  const Stored* const of = pick([](const Stored& s) { return (s.scope == TILERT_SHARED || s.access == TILERT_INOUT) && s.shape.size() == 2 && !s.table && takes_atomics(s.dtype); });
  if (!of) return;
  const Stored target = *of;
  const uint32_t width = target.access ? 4 : target.shape[1], count = size();
  const Stored indices = declare(TILERT_SHARED, TILERT_INT32, {count}), from = declare(TILERT_SHARED, target.dtype, {count, width});
  Place s, i, d;
  region(s, from, from.shape), region(i, indices, {count}), region(d, target, {1, width});
  d.region.extents = nullptr;
  d.offsets[0] = d.offsets[1] = number(0);
  tilert_scatter_options o{};
  o.op = wild_ ? code(0, 9) : in_.below(2) * TILERT_ATOMIC_ADD;
  TILERT_CALL(tilert_builder_scatter, b_, &s.region, &i.region, &d.region, 0, sized(o));
}

// ---- what they tell ----

void EveryCall::report() {
  static const char* const kMessages[] = {"", "{}", "a {{brace}} {}", "{", "{}{}{}{}{}{}{}", "\"quoted\"\\\n"};
  const char* const message = wild_ && in_.below(4) == 0 ? nullptr : kMessages[in_.below(wild_ ? 6 : 3)];
  const uint32_t count = wild_ ? in_.below(9) : 1 + in_.below(2);
  for (uint32_t i = 0; i < count && i < 9; ++i) room_[i] = value(in_.below(2) ? TILERT_INT32 : TILERT_F32);
  const uint32_t which = in_.below(3);
  if (which == 0) return void(TILERT_CALL(tilert_builder_print, b_, message, room_, count));
  if (which == 1) return void(TILERT_CALL(tilert_builder_assert, b_, value(TILERT_BOOL), message, room_, count));
  const Stored* const of = pick([](const Stored& s) { return s.is_tile() && !s.shape.empty() && s.shape.size() < 6 && computes(s.dtype); });
  if (!of || (in_element() && !wild_)) return;
  Place p;
  region(p, *of, of->shape);
  TILERT_CALL(tilert_builder_print_tile, b_, in_.below(2) ? "name" : nullptr, &p.region);
}

}  // namespace tilert::fuzz
