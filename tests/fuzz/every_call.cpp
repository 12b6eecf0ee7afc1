// What is open and known, declarations, values, kernels and control.
#include "fuzz/every_call.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tilert::fuzz {

std::map<std::string, CallCount>& builder_calls() {
  static std::map<std::string, CallCount> counts;
  return counts;
}

EveryCall::EveryCall(Bytes& in) : in_(in) {
  TILERT_CALL(tilert_builder_create, "fuzz", &b_);
  tilert_builder_retain(b_);
  tilert_builder_release(b_);
  TILERT_NOTE(tilert_builder_retain);
  TILERT_NOTE(tilert_builder_release);
}
EveryCall::~EveryCall() { tilert_builder_release(b_); }

const std::vector<EveryCall::Row>& EveryCall::rows() {
  using E = EveryCall;
  static const std::vector<Row> all{
      {&E::dim, Where::outside},          {&E::tensor, Where::outside},       {&E::tensor, Where::outside},
      {&E::scalar, Where::outside},       {&E::tensor_view, Where::outside},  {&E::source_kernel, Where::outside},
      {&E::kernel, Where::outside},       {&E::tile_cost, Where::block},      {&E::place, Where::anywhere},
      {&E::literal, Where::block},        {&E::op, Where::element},           {&E::op, Where::element},
      {&E::cast, Where::element},         {&E::number, Where::anywhere},      {&E::let, Where::element},
      {&E::random, Where::element},       {&E::parallel, Where::block},       {&E::parallel, Where::block},
      {&E::serial, Where::element},       {&E::pipelined, Where::block},      {&E::while_loop, Where::element},
      {&E::branch, Where::element},       {&E::jump, Where::element},         {&E::grid_sync, Where::block},
      {&E::end, Where::anywhere},         {&E::end, Where::anywhere},         {&E::buffer, Where::element},
      {&E::buffer, Where::block},         {&E::view, Where::block},           {&E::layout, Where::block},
      {&E::load, Where::element},         {&E::load, Where::element},         {&E::store, Where::element},
      {&E::store, Where::element},        {&E::atomic, Where::element},       {&E::atomic_tile, Where::block},
      {&E::flag, Where::element},         {&E::copy, Where::block},           {&E::copy, Where::block},
      {&E::fill, Where::block},           {&E::transpose, Where::block},      {&E::gemm, Where::block},
      {&E::reduce, Where::block},         {&E::scan, Where::block},           {&E::sort, Where::block},
      {&E::combine, Where::block},        {&E::gather, Where::block},         {&E::scatter, Where::block},
      {&E::report, Where::element},       {&E::source, Where::block},         {&E::threads, Where::block},
      {&E::exchange, Where::threads},     {&E::barrier, Where::threads},      {&E::asynchronous, Where::threads}};
  return all;
}

// ---- what is open ----

void EveryCall::step() {
  static constexpr Row kAsync{&EveryCall::engine, Where::block};
  const uint8_t choice = in_.next();
  const Row& row = choice >= 252 ? kAsync : rows()[choice % rows().size()];
  wild_ = in_.next() >= 0xf0;
  if (!wild_ && !allowed(row.where)) reach(row.where);
  if (wild_ || allowed(row.where)) (this->*row.make)();
  wild_ = false;
}

bool EveryCall::inside(Kind kind) const {
  return std::any_of(open_.begin(), open_.end(), [&](const Scope& s) { return s.kind == kind; });
}

bool EveryCall::allowed(Where where) const {
  switch (where) {
    case Where::outside: return open_.empty();
    case Where::block: return !open_.empty() && !in_element() && !inside(Kind::head);
    case Where::element: return !open_.empty();
    case Where::threads: return inside(Kind::threads);
    case Where::anywhere: return true;
  }
  return true;
}

// Opens or ends what stands between here and there.
void EveryCall::reach(Where where) {
  if (where == Where::outside) {
    if (in_.below(4) == 0)
      while (!open_.empty()) end();
    return;
  }
  if (open_.empty()) kernel();
  if (where == Where::block)
    while (in_element() || inside(Kind::head)) end();
  if (where == Where::threads && !inside(Kind::threads)) {
    while (inside(Kind::parallel) || inside(Kind::head)) end();
    threads();
  }
}

void EveryCall::open(Kind kind, const tilert_expr* made, const std::vector<uint32_t>& extents) {
  open_.push_back({kind, values_.size(), stored_.size(), {}, extents});
  for (size_t i = 0; i < extents.size(); ++i) {
    if (kind == Kind::parallel || kind == Kind::threads) open_.back().points.push_back(made[i]);
    if (made[i].serial) values_.push_back({made[i], TILERT_INDEX});
  }
}

void EveryCall::end() {
  if (open_.empty()) return;
  const Scope closed = open_.back();
  if (closed.kind == Kind::head) {
    TILERT_CALL(tilert_builder_begin_while_body, b_, value(TILERT_BOOL));
    open_.back().kind = Kind::loop;
    open_.back().extents.assign(1, 0);  // a while, whose end is its own
    return;
  }
  if (closed.kind == Kind::branch && in_.below(4) == 0) {
    TILERT_CALL(tilert_builder_begin_else, b_);
    open_.back().kind = Kind::otherwise;
  } else {
    switch (closed.kind) {
      case Kind::kernel: TILERT_CALL(tilert_builder_end_kernel, b_), barriers_.clear(); break;
      case Kind::parallel: TILERT_CALL(tilert_builder_end_parallel, b_); break;
      case Kind::pipelined: TILERT_CALL(tilert_builder_end_pipelined, b_); break;
      case Kind::threads: TILERT_CALL(tilert_builder_end_threads, b_); break;
      case Kind::loop:
        if (closed.extents[0] == 0) TILERT_CALL(tilert_builder_end_while, b_);
        else TILERT_CALL(tilert_builder_end_serial, b_);
        break;
      default: TILERT_CALL(tilert_builder_end_if, b_);
    }
    open_.pop_back();
  }
  values_.resize(closed.values);
  stored_.resize(closed.stored);
}

void EveryCall::finish() {
  while (!open_.empty()) end();
  const tilert_status before = TILERT_CALL(tilert_builder_status, b_);
  finish_and_check(b_);
  promise(tilert_builder_status(b_) != TILERT_OK || before == TILERT_OK, "an error of the builder stays");
}

// ---- values ----

int32_t EveryCall::code(int32_t first, int32_t last) {
  if (wild_ && in_.below(3) == 0) return static_cast<int32_t>(in_.wide());
  return first + static_cast<int32_t>(in_.below(static_cast<uint32_t>(last - first + 1)));
}

tilert_dtype EveryCall::dtype() {
  static constexpr tilert_dtype kUsual[] = {TILERT_F32, TILERT_F16, TILERT_INT32, TILERT_BF16, TILERT_INT8, TILERT_INT64};
  return in_.below(3) ? kUsual[in_.below(6)] : code(TILERT_BOOL, TILERT_NF4);
}
tilert_dtype EveryCall::number_dtype() {
  static constexpr tilert_dtype kTypes[] = {TILERT_F32,   TILERT_INT32,  TILERT_F16,  TILERT_INT64,  TILERT_BF16, TILERT_INT8,
                                            TILERT_INT16, TILERT_UINT32, TILERT_F64, TILERT_UINT64, TILERT_INDEX, TILERT_UINT8};
  return kTypes[in_.below(12)];
}

tilert_expr EveryCall::garbage() {
  const uint64_t bits = in_.wide();
  tilert_expr out{};
  std::memcpy(&out, &bits, sizeof out);
  return in_.below(2) || values_.empty() ? out : values_[in_.next() % values_.size()].e;
}
tilert_expr EveryCall::number(int64_t value) { return TILERT_CALL(tilert_builder_index, b_, value); }

// A value of the dtype: one that is known, or a constant.
tilert_expr EveryCall::value(tilert_dtype of) {
  if (wild_ && in_.below(3) == 0) return garbage();
  std::vector<tilert_expr> known;
  for (const Value& v : values_)
    if (v.dtype == of) known.push_back(v.e);
  const uint32_t choice = in_.next();
  if (!known.empty() && choice % 4) return known[choice / 4 % known.size()];
  if (of == TILERT_INDEX) return number(in_.below(12));
  static const std::map<tilert_dtype, uint64_t> kOnes{{TILERT_F16, 0x3c00}, {TILERT_BF16, 0x3f80}, {TILERT_F32, 0x3f800000}, {TILERT_F64, 0x3ff0000000000000}};
  const auto one = kOnes.find(of);
  return TILERT_CALL(tilert_builder_constant, b_, of, choice & 4 ? 0 : one == kOnes.end() ? 1 : one->second);
}

void EveryCall::keep(tilert_expr e) {
  if (!e.serial) return;
  const tilert_dtype dtype = tilert_builder_dtype_of(b_, e);
  TILERT_NOTE(tilert_builder_dtype_of);
  if (dtype) values_.push_back({e, dtype});
}

const tilert_expr* EveryCall::sizes(const std::vector<uint32_t>& shape) {
  for (size_t i = 0; i < shape.size() && i < 9; ++i)
    room_[i] = shape[i] || dims_.empty() ? number(shape[i]) : TILERT_CALL(tilert_builder_dim_value, b_, dims_[in_.next() % dims_.size()]);
  return wild_ && in_.below(4) == 0 ? nullptr : room_;
}

void EveryCall::literal() {
  if (in_.below(2)) return keep(value(number_dtype()));
  const tilert_expr two = TILERT_CALL(tilert_builder_literal, b_, TILERT_INT64, in_.below(8));
  const tilert_dtype of = number_dtype();
  const tilert_expr pair[2] = {value(of), two};
  keep(TILERT_CALL(tilert_builder_op, b_, TILERT_OP_MAX, pair, 2));
}

void EveryCall::op() {
  const tilert_op which = code(TILERT_OP_ADD, TILERT_OP_CEILDIV);
  const bool shifts = which >= TILERT_OP_AND && which <= TILERT_OP_SHR, truncates = which == TILERT_OP_TRUNC_DIV || which == TILERT_OP_TRUNC_MOD;
  const bool integers = shifts || truncates || which == TILERT_OP_NOT;
  const bool floats = which == TILERT_OP_POW || which == TILERT_OP_FMA || (which >= TILERT_OP_EXP && which <= TILERT_OP_ISFINITE);
  tilert_dtype of = number_dtype();
  if (integers) of = in_.below(2) ? TILERT_INT32 : TILERT_UINT64;
  if (floats) of = in_.below(2) ? TILERT_F32 : TILERT_F16;
  if (which == TILERT_OP_CEILDIV) of = TILERT_INDEX;
  const uint32_t count = which >= TILERT_OP_SELECT && which <= TILERT_OP_FMA ? 3 : which >= TILERT_OP_NEG && which <= TILERT_OP_ISFINITE ? 1 : 2;
  for (uint32_t i = 0; i < count; ++i) room_[i] = value(of);
  if (which == TILERT_OP_SELECT) room_[0] = value(TILERT_BOOL);
  if (which == TILERT_OP_CEILDIV) room_[1] = number(1 + in_.below(9));
  keep(TILERT_CALL(tilert_builder_op, b_, which, room_, wild_ ? in_.below(6) : count));
}

void EveryCall::cast() {
  const tilert_dtype from = number_dtype();
  switch (in_.below(4)) {
    case 0: return keep(TILERT_CALL(tilert_builder_reinterpret, b_, in_.below(2) ? TILERT_INT32 : TILERT_UINT32, value(TILERT_F32)));
    case 1: {
      const tilert_dtype to = in_.below(2) ? TILERT_BF16 : TILERT_E4M3;
      return keep(TILERT_CALL(tilert_builder_cast_stochastic, b_, to, value(TILERT_F32), value(TILERT_UINT32), wild_));
    }
    case 2: return keep(TILERT_CALL(tilert_builder_cast, b_, TILERT_E5M2, value(TILERT_F32), in_.below(2)));
    default: return keep(TILERT_CALL(tilert_builder_cast, b_, in_.below(4) ? number_dtype() : TILERT_BOOL, value(from), wild_));
  }
}

// Numbers that belong to no builder; whatever they are, a status comes back.
void EveryCall::number() {
  tilert_number n[3] = {}, out{};
  for (tilert_number& one : n) one = {in_.below(4) ? TILERT_INT64 : dtype(), in_.below(2), in_.below(4) ? in_.next() : in_.wide()};
  TILERT_CALL(tilert_number_op, code(TILERT_OP_ADD, TILERT_OP_CEILDIV), n, in_.below(4), &out);
  TILERT_CALL(tilert_number_cast, dtype(), n, &out);
  TILERT_CALL(tilert_number_reinterpret, dtype(), n, &out);
}

void EveryCall::let() {
  const tilert_expr x = value(in_.below(4) ? number_dtype() : TILERT_BOOL);
  keep(TILERT_CALL(tilert_builder_let, b_, TILERT_CALL(tilert_builder_fast, b_, x)));
}

void EveryCall::random() {
  tilert_expr out[4] = {};
  TILERT_CALL(tilert_builder_random, b_, code(TILERT_RANDOM_BITS, TILERT_RANDOM_NORMAL), value(TILERT_INT64), value(TILERT_INDEX),
              in_.below(2) ? tilert_expr{} : value(TILERT_INT32), out);
  for (const tilert_expr e : out) keep(e);
}

// ---- declarations ----

void EveryCall::dim() {
  tilert_bucket buckets[2] = {{TILERT_BUCKET_RANGE, 0, in_.below(9), 9}, {TILERT_BUCKET_DIVISOR, 0, 1 + in_.below(8), 0}};
  tilert_dim_options o{};
  o.buckets = buckets;
  o.bucket_count = in_.below(3);
  o.divisible = code(0, 8);
  const std::string name = "D" + std::to_string(names_++);
  const tilert_dim d = TILERT_CALL(tilert_builder_dim, b_, wild_ ? nullptr : name.c_str(), sized(o));
  if (d.serial) dims_.push_back(d), keep(TILERT_CALL(tilert_builder_dim_value, b_, d));
}

// Rows with a gap, where strides are given; a table of pointers has none in its first dim.
void EveryCall::tensor() {
  Stored s;
  s.dtype = dtype();
  s.access = code(TILERT_IN, TILERT_INOUT);
  for (uint32_t r = in_.below(4); r > 0; --r) s.shape.push_back(!dims_.empty() && in_.below(4) == 0 ? 0 : size());
  s.table = !s.shape.empty() && in_.below(4) == 0;
  tilert_tensor_options o{};
  o.flags = (s.table ? TILERT_TENSOR_POINTER_TABLE : 0) | (in_.below(8) ? 0 : TILERT_TENSOR_MAY_ALIAS);
  o.alignment = in_.below(2) ? 0 : 16;
  if (wild_) o.flags = in_.next(), o.alignment = static_cast<uint32_t>(code(0, 64));
  const uint32_t rank = static_cast<uint32_t>(s.shape.size());
  const tilert_expr* const shape = sizes(s.shape);
  tilert_expr strides[4] = {};
  const bool whole = std::find(s.shape.begin(), s.shape.end(), 0u) == s.shape.end();
  if (rank && whole && in_.below(4) == 0) {
    int64_t stride = 1;
    for (uint32_t d = rank - s.table; d-- > 0; stride = stride * s.shape[d + s.table] + 24) strides[d] = number(stride);
    o.strides = strides, o.stride_count = rank - s.table;
  }
  const std::string name = "T" + std::to_string(names_++);
  s.tensor = TILERT_CALL(tilert_builder_tensor, b_, name.c_str(), s.access, s.dtype, shape, rank, sized(o));
  if (s.tensor.serial && (s.dtype == TILERT_INT32 || s.dtype == TILERT_INT64) && s.reads() && !s.writes() && !s.table && whole) counts_.push_back(s.tensor);
  keep(s);
}

void EveryCall::scalar() {
  const std::string name = "S" + std::to_string(names_++);
  keep(TILERT_CALL(tilert_builder_scalar_value, b_, TILERT_CALL(tilert_builder_scalar, b_, name.c_str(), number_dtype())));
}

void EveryCall::tensor_view() {
  const Stored* const of = pick([](const Stored& s) { return s.access && !s.table && !s.shape.empty(); });
  if (!of) return;
  Stored s = *of;
  std::vector<uint32_t> order(s.shape.size());
  std::iota(order.begin(), order.end(), 0u);
  if (in_.below(2) && s.shape.size() > 1) {
    std::swap(s.shape[s.shape.size() - 1], s.shape[s.shape.size() - 2]);
    std::swap(order[s.shape.size() - 1], order[s.shape.size() - 2]);
    const bool told = in_.below(2);
    s.tensor = TILERT_CALL(tilert_builder_tensor_transpose, b_, s.tensor, told ? order.data() : nullptr, told ? static_cast<uint32_t>(s.shape.size()) : 0);
  } else {
    if (std::find(s.shape.begin(), s.shape.end(), 0u) != s.shape.end()) return;
    s.shape.insert(s.shape.begin(), 1);
    s.tensor = TILERT_CALL(tilert_builder_tensor_reshape, b_, s.tensor, sizes(s.shape), static_cast<uint32_t>(s.shape.size()));
  }
  keep(s);
}

void EveryCall::place() {
  tilert_builder_at(b_, in_.below(2) ? "a\"b\\c.cc" : nullptr, in_.next(), in_.below(2) ? "a label\n" : nullptr);
  TILERT_NOTE(tilert_builder_at);
}

}  // namespace tilert::fuzz
