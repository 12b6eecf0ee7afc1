// Gather, scatter and transposing copies: written as the element-wise loops that they mean.
#include <algorithm>

#include "builder/builder.h"
#include "ir/semantics.h"

namespace tilert::builder {

// ---- the loop

Builder::PointLoop Builder::point_loop(const std::vector<int64_t>& extents) {
  PointLoop made;
  made.loop.contract = contract_;
  made.loop.extents = extents.empty() ? std::vector<int64_t>{1} : extents;
  for (size_t i = 0; i < made.loop.extents.size(); ++i) {
    made.loop.vars.push_back(program_->add_var(ir::VarKind::loop, DType::index, fmt::format("p{}", i)));
    made.points.push_back(program_->var(made.loop.vars.back()));
  }
  return made;
}

void Builder::put(ir::Block& body, ir::Stmt::Node node) {
  body.push_back(ir::make_stmt(std::move(node), next_ordinal_++, location()));
}

ir::Expr Builder::read_point(ir::Block& body, ir::BufferId buffer, std::vector<ir::Expr> indices) {
  const ir::VarId var = program_->add_var(ir::VarKind::let, program_->buffers[buffer].dtype, "t");
  put(body, ir::Let{var, nullptr, {buffer, std::move(indices)}});
  return program_->var(var);
}

void Builder::append_loop(PointLoop made) { append(std::move(made.loop)); }

// ---- gather and scatter

Status Builder::integers(ir::BufferId buffer, std::string_view what) const {
  const DType dtype = program_->buffers[buffer].dtype;
  if (dtype_is_integer(dtype) && dtype != DType::boolean) return {};
  return make_error(Code::kInvalidProgram, "{}: {} holds {}, and indices are integers", what, text_of(buffer), dtype_text(dtype));
}

// The plain side's shape is the table's with dim `dim` replaced by the dims of the indices.
Result<Builder::Indexed> Builder::indexed(const tilert_region* table, const tilert_region* indices, const tilert_region* plain,
                                          uint32_t dim, bool plain_is_written) {
  TILERT_TRY(need_tile_level());
  Indexed out;
  TILERT_ASSIGN(out.table, place(table, "the table"));
  TILERT_ASSIGN(Place where, place(indices, "the indices"));
  TILERT_ASSIGN(Place other, place(plain, plain_is_written ? "the destination" : "the source"));
  const std::string what = fmt::format("{} by {}", text_of(out.table.buffer), text_of(where.buffer));
  const size_t rank = out.table.offsets.size(), inner = where.offsets.size();
  if (dim >= rank)
    return make_error(Code::kInvalidArgument, "{}: there is no dim {} in {}, which has rank {}", what, dim,
                      text_of(out.table.buffer), rank);
  for (const Place* side : {&out.table, &where, &other})
    if (program_->buffers[side->buffer].scope == ir::Scope::scalar)
      return make_error(Code::kInvalidProgram, "{}: {} is a var: use load and store", what, text_of(side->buffer));
  TILERT_TRY(integers(where.buffer, what));
  if (same_memory(other.buffer, out.table.buffer) || same_memory(plain_is_written ? other.buffer : out.table.buffer, where.buffer))
    return make_error(Code::kInvalidProgram, "{}: what is written is read too: use another tile", what);
  if (other.offsets.size() != rank - 1 + inner)
    return make_error(Code::kInvalidProgram, "{}: the other side has rank {}, not {}: the table's dims with dim {} replaced by those "
                      "of the indices", what, other.offsets.size(), rank - 1 + inner, dim);
  if (where.extents.size() != inner || other.extents.size() != other.offsets.size()) {
    // One of the two says how many; whole tiles do.
    if (other.extents.size() == other.offsets.size())
      where.extents.assign(other.extents.begin() + dim, other.extents.begin() + dim + static_cast<std::ptrdiff_t>(inner));
    else
      return make_error(Code::kInvalidProgram, "{}: give the extents of {}", what, text_of(other.buffer));
  }
  for (size_t d = 0; d < inner; ++d)
    if (where.extents[d] != other.extents[dim + d])
      return make_error(Code::kInvalidProgram, "{}: {} indices along their dim {}, the other side has {}", what, where.extents[d], d,
                        other.extents[dim + d]);
  out.table.extents.assign(rank, 1);
  for (size_t d = 0, p = 0; d < rank; ++d) {
    if (d == dim) p += inner;
    else out.table.extents[d] = other.extents[p++];
  }
  TILERT_TRY(check_bounds(out.table.buffer, out.table.offsets, out.table.extents, what));
  TILERT_ASSIGN(out.indices, region(where, what));
  TILERT_ASSIGN(out.plain, region(other, what));
  TILERT_TRY(use(where.buffer, Use::read, "the indices"));
  return out;
}

namespace {

// Where the table's element of a point lies: the index along `dim`, what the plain side has along the others.
std::vector<ir::Expr> table_point(ir::Arena& arena, const std::vector<ir::Expr>& offsets, const std::vector<ir::Expr>& points,
                                  size_t dim, size_t inner, ir::Expr index) {
  std::vector<ir::Expr> out;
  for (size_t d = 0, p = 0; d < offsets.size(); ++d) {
    const bool by_index = d == dim;
    out.push_back(arena.make(ir::Op::add, {offsets[d], by_index ? index : points[p]}));
    p += by_index ? inner : 1;
  }
  return out;
}

std::vector<ir::Expr> shifted(ir::Arena& arena, const std::vector<ir::Expr>& offsets, std::span<const ir::Expr> points) {
  std::vector<ir::Expr> out;
  for (size_t d = 0; d < offsets.size(); ++d) out.push_back(arena.make(ir::Op::add, {offsets[d], points[d]}));
  return out;
}

// 0 <= at < size; null where a tensor's own rule covers it.
ir::Expr in_tile(ir::Arena& arena, const ir::Buffer& buffer, size_t dim, ir::Expr at) {
  if (buffer.scope == ir::Scope::global) return nullptr;
  return arena.make(ir::Op::logical_and, {arena.make(ir::Op::le, {arena.index(0), at}), arena.make(ir::Op::lt, {at, buffer.shape[dim]})});
}

}  // namespace

Status Builder::do_gather(const tilert_region* table, const tilert_region* indices, const tilert_region* destination, uint32_t dim) {
  TILERT_ASSIGN(Indexed sides, indexed(table, indices, destination, dim, true));
  ir::Arena& arena = *program_->arena;
  const ir::Buffer from = program_->buffers[sides.table.buffer], to = program_->buffers[sides.plain.buffer];
  TILERT_TRY(use(sides.table.buffer, Use::read, "the table"));
  TILERT_TRY(use(sides.plain.buffer, Use::write, "the destination"));
  PointLoop points = point_loop(sides.plain.extents);
  const std::vector<ir::Expr> all = points.points;
  const size_t inner = sides.indices.offsets.size();
  const ir::Expr index = arena.cast(
      read_point(points.loop.body, sides.indices.buffer, shifted(arena, sides.indices.offsets, std::span(all).subspan(dim, inner))),
      DType::index);
  const auto at = table_point(arena, sides.table.offsets, all, dim, inner, index);
  const ir::Access place{sides.plain.buffer, shifted(arena, sides.plain.offsets, all)};
  const auto take = [&](ir::Block& body) {
    put(body, ir::Store{place, arena.cast(read_point(body, sides.table.buffer, at), to.dtype)});
  };
  if (const ir::Expr inside = in_tile(arena, from, dim, at[dim])) {
    ir::If choice{inside, {}, {}};
    take(choice.then_body);
    put(choice.else_body, ir::Store{place, arena.number(to.dtype, 0)});
    put(points.loop.body, std::move(choice));
  } else {
    take(points.loop.body);
  }
  append_loop(std::move(points));
  return {};
}

Status Builder::do_scatter(const tilert_region* source, const tilert_region* indices, const tilert_region* destination, uint32_t dim,
                           const tilert_scatter_options& options) {
  TILERT_ASSIGN(Indexed sides, indexed(destination, indices, source, dim, false));
  ir::Arena& arena = *program_->arena;
  const ir::Buffer to = program_->buffers[sides.table.buffer];
  ir::Atomic atomic{};
  if (options.op != 0) {
    tilert_atomic_options relaxed{};
    relaxed.struct_size = sizeof relaxed;
    TILERT_ASSIGN(atomic, atomic_of(options.op, relaxed, ir::Access{sides.table.buffer, {}}));
    TILERT_TRY(check_atomic(atomic));
    if (atomic.op == ir::AtomicOp::exchange || atomic.op == ir::AtomicOp::cas)
      return make_error(Code::kInvalidArgument, "scatter combines by add, max, min, and, or, xor; 0 stores");
  }
  TILERT_TRY(use(sides.plain.buffer, Use::read, "the source"));
  TILERT_TRY(use(sides.table.buffer, options.op ? Use::update : Use::write, "the destination"));
  PointLoop points = point_loop(sides.plain.extents);
  const std::vector<ir::Expr> all = points.points;
  const size_t inner = sides.indices.offsets.size();
  const ir::Expr index = arena.cast(
      read_point(points.loop.body, sides.indices.buffer, shifted(arena, sides.indices.offsets, std::span(all).subspan(dim, inner))),
      DType::index);
  const ir::Access place{sides.table.buffer, table_point(arena, sides.table.offsets, all, dim, inner, index)};
  const ir::Expr x = arena.cast(read_point(points.loop.body, sides.plain.buffer, shifted(arena, sides.plain.offsets, all)), to.dtype);
  const auto give = [&](ir::Block& body) {
    if (options.op == 0) return put(body, ir::Store{place, x});
    atomic.to = place;
    atomic.value = x;
    put(body, atomic);
  };
  if (const ir::Expr inside = in_tile(arena, to, dim, place.indices[dim])) {
    ir::If choice{inside, {}, {}};
    give(choice.then_body);
    put(points.loop.body, std::move(choice));
  } else {
    give(points.loop.body);
  }
  append_loop(std::move(points));
  return {};
}

Code Builder::gather(const tilert_region* table, const tilert_region* indices, const tilert_region* destination, uint32_t dim) {
  return run("gather", [&] { return do_gather(table, indices, destination, dim); });
}

Code Builder::scatter(const tilert_region* source, const tilert_region* indices, const tilert_region* destination, uint32_t dim,
                      const tilert_scatter_options& options) {
  return run("scatter", [&] { return do_scatter(source, indices, destination, dim, options); });
}

// ---- copies that repeat their source

// destination[p] = source[p], with 0 for the dims that repeat; bounds and safe value as of a copy.
Status Builder::repeat(const ir::Copy& copy, std::string_view what) {
  if (copy.must && copy.prefer != ir::CopyPrefer::sync)
    return make_error(Code::kInvalidProgram, "{}: threads make a copy that repeats its source, one read for several writes: leave must out", what);
  ir::Arena& arena = *program_->arena;
  const ir::Buffer from = program_->buffers[copy.src.buffer], to = program_->buffers[copy.dst.buffer];
  if (ir::is_packed(*program_, copy.dst.buffer))
    return make_error(Code::kInvalidProgram, "{}: elements of {} share bytes: repeat into a tile, and copy that", what, to.name);
  PointLoop points = point_loop(copy.dst.extents);
  const std::vector<ir::Expr> all = points.points;
  const size_t skipped = copy.dst.extents.size() - copy.src.extents.size();
  ir::Access source{copy.src.buffer, copy.src.offsets}, target{copy.dst.buffer, shifted(arena, copy.dst.offsets, all)};
  for (size_t d = 0; d < source.indices.size(); ++d)
    if (copy.src.extents[d] != 1) source.indices[d] = arena.make(ir::Op::add, {source.indices[d], all[d + skipped]});
  ir::Expr inside = nullptr;  // of the tensor's own size and the bounds that were given
  const auto also = [&](ir::Expr e) { inside = inside ? arena.make(ir::Op::logical_and, {inside, e}) : e; };
  const bool reads_tensor = from.scope == ir::Scope::global, guards = !copy.valid.empty() || (reads_tensor && copy.safe);
  const std::vector<ir::Expr>& bounded = reads_tensor ? source.indices : target.indices;
  for (size_t d = 0; guards && d < bounded.size(); ++d) {
    if (reads_tensor) also(arena.make(ir::Op::le, {arena.index(0), bounded[d]}));
    if (reads_tensor) also(arena.make(ir::Op::lt, {bounded[d], from.shape[d]}));
    if (d < copy.valid.size() && copy.valid[d]) also(arena.make(ir::Op::lt, {bounded[d], copy.valid[d]}));
  }
  const auto take = [&](ir::Block& body) {
    put(body, ir::Store{target, arena.cast(read_point(body, copy.src.buffer, source.indices), to.dtype)});
  };
  if (inside) {
    ir::If choice{inside, {}, {}};
    take(choice.then_body);
    if (reads_tensor) put(choice.else_body, ir::Store{target, arena.cast(copy.safe ? copy.safe : arena.number(from.dtype, 0), to.dtype)});
    put(points.loop.body, std::move(choice));
  } else {
    take(points.loop.body);
  }
  append_loop(std::move(points));
  return {};
}

// ---- transposing copies

Status Builder::do_transpose(const tilert_region* source, const tilert_region* destination, const uint32_t* order, uint32_t count) {
  TILERT_TRY(need_tile_level());
  TILERT_ASSIGN(Place from, place(source, "the source"));
  TILERT_ASSIGN(Place to, place(destination, "the destination"));
  const std::string what = fmt::format("{} to {}", text_of(from.buffer), text_of(to.buffer));
  const size_t rank = from.offsets.size();
  std::vector<uint32_t> of(rank);
  for (size_t d = 0; d < rank; ++d) of[d] = static_cast<uint32_t>(d);
  if (rank != to.offsets.size() || rank < 2)
    return make_error(Code::kInvalidProgram, "{}: ranks {} and {}: both sides have the same rank, 2 or more", what, rank, to.offsets.size());
  if (order) {
    if (count != rank) return make_error(Code::kInvalidArgument, "{}: an order of {} dims for rank {}", what, count, rank);
    of.assign(order, order + count);
  } else {
    std::swap(of[rank - 2], of[rank - 1]);
  }
  std::vector<uint32_t> sorted = of;
  std::sort(sorted.begin(), sorted.end());
  for (size_t d = 0; d < rank; ++d)
    if (sorted[d] != d) return make_error(Code::kInvalidArgument, "{}: the order does not name each of {} dims once", what, rank);
  const bool known_from = from.extents.size() == rank, known_to = to.extents.size() == rank;
  if (!known_from && !known_to) return make_error(Code::kInvalidProgram, "{}: give extents on one side", what);
  if (!known_from) from.extents.resize(rank);
  if (!known_to) to.extents.resize(rank);
  for (size_t d = 0; d < rank; ++d) {
    if (!known_from) from.extents[of[d]] = to.extents[d];
    if (!known_to) to.extents[d] = from.extents[of[d]];
    if (from.extents[of[d]] != to.extents[d])
      return make_error(Code::kInvalidProgram, "{}: dim {} of the destination has {}, dim {} of the source {}", what, d, to.extents[d],
                        of[d], from.extents[of[d]]);
  }
  if (same_memory(from.buffer, to.buffer)) return make_error(Code::kInvalidProgram, "{}: source and destination are one buffer", what);
  for (const Place* side : {&from, &to})
    if (program_->buffers[side->buffer].scope == ir::Scope::scalar)
      return make_error(Code::kInvalidProgram, "{} is a var: use load and store", text_of(side->buffer));
  TILERT_ASSIGN(const ir::Region src, region(from, what));
  TILERT_ASSIGN(const ir::Region dst, region(to, what));
  TILERT_TRY(use(src.buffer, Use::read, "the source"));
  TILERT_TRY(use(dst.buffer, Use::write, "the destination"));
  // Along the rows of device memory, where the source lies there; else along those of the destination.
  const bool by_source = !is_tile(src.buffer) && is_tile(dst.buffer);
  PointLoop points = point_loop(by_source ? src.extents : dst.extents);
  std::vector<ir::Expr> at_source(rank), at_destination(rank);
  for (size_t d = 0; d < rank; ++d) {
    at_destination[d] = points.points[by_source ? of[d] : d];
    at_source[of[d]] = at_destination[d];
  }
  ir::Arena& arena = *program_->arena;
  const ir::Expr x = read_point(points.loop.body, src.buffer, shifted(arena, src.offsets, at_source));
  put(points.loop.body, ir::Store{{dst.buffer, shifted(arena, dst.offsets, at_destination)},
                                  arena.cast(x, program_->buffers[dst.buffer].dtype)});
  append_loop(std::move(points));
  return {};
}

Code Builder::transpose(const tilert_region* source, const tilert_region* destination, const uint32_t* order, uint32_t rank) {
  return run("transpose", [&] { return do_transpose(source, destination, order, rank); });
}

}  // namespace tilert::builder
