// Tile operations: copy, fill, reduce. Products are in products.cpp.
#include "builder/builder.h"

#include <algorithm>

#include "ir/semantics.h"

namespace tilert::builder {
namespace {

std::vector<int64_t> without_units(const std::vector<int64_t>& extents) {
  std::vector<int64_t> out;
  for (int64_t e : extents)
    if (e != 1) out.push_back(e);
  return out;
}

// Whether repeating what has extent 1, or is not there in front, makes one shape the other.
bool broadcasts(const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
  if (from.size() > to.size()) return false;
  const auto skipped = static_cast<std::ptrdiff_t>(to.size() - from.size());
  return std::equal(from.begin(), from.end(), to.begin() + skipped, [](int64_t x, int64_t y) { return x == y || x == 1; });
}

std::string buffer_shape_text(const ir::Program& program, ir::BufferId buffer) {
  std::vector<std::string> sizes;
  for (ir::Expr size : program.buffers[buffer].shape)
    sizes.push_back(size->is_constant()   ? fmt::format("{}", size->as_int())
                    : size->is_variable() ? program.vars[size->var()].name
                                          : "...");
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

// "x(0, 0)": how a region that starts at the first element is written.
std::string indices_text(std::string_view name, size_t rank) {
  return fmt::format("{}({})", name, fmt::join(std::vector<int>(rank, 0), ", "));
}

Result<ir::ReduceOp> reduce_op(tilert_reduce_op op) {
  switch (op) {
    case TILERT_REDUCE_SUM: return ir::ReduceOp::sum;
    case TILERT_REDUCE_MAX: return ir::ReduceOp::max;
    case TILERT_REDUCE_MIN: return ir::ReduceOp::min;
    case TILERT_REDUCE_ABSMAX: return ir::ReduceOp::absmax;
    case TILERT_REDUCE_ABSSUM: return ir::ReduceOp::abssum;
    case TILERT_REDUCE_PROD: return ir::ReduceOp::prod;
    case TILERT_REDUCE_AND: return ir::ReduceOp::bit_and;
    case TILERT_REDUCE_OR: return ir::ReduceOp::bit_or;
    case TILERT_REDUCE_XOR: return ir::ReduceOp::bit_xor;
    case TILERT_REDUCE_MAX_NAN: return ir::ReduceOp::max_nan;
    case TILERT_REDUCE_MIN_NAN: return ir::ReduceOp::min_nan;
    case TILERT_REDUCE_ARGMAX: return ir::ReduceOp::max;
    case TILERT_REDUCE_ARGMIN: return ir::ReduceOp::min;
    default: return make_error(Code::kInvalidArgument, "{} is not a reduction", op);
  }
}

bool is_bitwise(ir::ReduceOp op) {
  return op == ir::ReduceOp::bit_and || op == ir::ReduceOp::bit_or || op == ir::ReduceOp::bit_xor;
}

}  // namespace

// A write of a part of a byte would have to read the rest, which another thread may be writing.
Status Builder::covers_bytes(const ir::Region& region, std::string_view what) const {
  if (ir::covers_whole_bytes(*program_, region)) return {};
  const DType dtype = program_->buffers[region.buffer].dtype;
  const int group = dtype_group(dtype);
  return make_error(Code::kInvalidProgram,
                    "{}: {} elements of {} fill whole bytes: write from a multiple of {} on a multiple of {} elements, or to the "
                    "end of a row of constant size", what, group, dtype_text(dtype), group, group);
}

Status Builder::copy_options(const tilert_copy_options& options, ir::Copy& copy) const {
  if (options.flags & ~uint32_t{TILERT_COPY_MUST})
    return make_error(Code::kInvalidArgument, "unknown flags {:#x}", options.flags);
  if (options.prefer < TILERT_COPY_AUTO || options.prefer > TILERT_COPY_SYNC)
    return make_error(Code::kInvalidArgument, "prefer {} is none of auto, tma, async, sync", options.prefer);
  if (options.eviction > 2) return refuse(Refusal::eviction_);
  if (options.multicast > 1)
    return make_error(Code::kInvalidArgument, "multicast {} is neither 0 nor 1: how many blocks share copies is the kernel's hint cluster", options.multicast);
  copy.prefer = static_cast<ir::CopyPrefer>(options.prefer);
  copy.must = (options.flags & TILERT_COPY_MUST) != 0;
  copy.eviction = static_cast<ir::Eviction>(options.eviction);
  copy.multicast = options.multicast != 0;
  if (!is_none(options.safe_value)) {
    TILERT_ASSIGN(copy.safe, typed(options.safe_value, program_->buffers[copy.src.buffer].dtype, "the safe value"));
    if (!copy.safe->is_constant()) return make_error(Code::kInvalidProgram, "the safe value is not a constant");
  }
  if (options.valid_count == 0 && !options.valid) return {};
  const bool from = !is_tile(copy.src.buffer), to = !is_tile(copy.dst.buffer);
  if (from == to)
    return make_error(Code::kInvalidProgram, "valid bounds the side in device memory, and {} side{} there",
                      from ? "each" : "no", from ? "s are" : " is");
  const ir::Region& global = from ? copy.src : copy.dst;
  if (options.valid_count != global.offsets.size() || !options.valid)
    return make_error(Code::kInvalidArgument, "{} valid bounds for {}, which has rank {}", options.valid_count,
                      text_of(global.buffer), global.offsets.size());
  for (uint32_t i = 0; i < options.valid_count; ++i) {
    copy.valid.push_back(nullptr);
    if (is_none(options.valid[i])) continue;
    TILERT_ASSIGN(copy.valid.back(), index_value(options.valid[i], fmt::format("valid bound {}", i)));
  }
  return {};
}

// The whole of a parameter has constant extents, as every region.
Status Builder::check_whole(const Place& side, const Place& other, std::string_view what) const {
  if (!side.whole || is_tile(side.buffer)) return {};
  const std::string shape = buffer_shape_text(*program_, side.buffer), name = text_of(side.buffer);
  if (side.symbolic)
    return make_error(Code::kInvalidProgram,
                      "{}: the whole of {} is {}, which is not known when built{}: give indices, as {}", what, name, shape,
                      other.extents.empty() || other.symbolic ? "" : fmt::format(" to be {}", shape_text(other.extents)),
                      indices_text(name, side.offsets.size()));
  for (int64_t extent : side.extents)
    if (extent < 1 || extent > kMaxExtent)
      return make_error(Code::kInvalidProgram, "{}: the whole of {} is {}: a region has extents of 1 to {}", what, name,
                        shape, kMaxExtent);
  return {};
}

// The regions of an operation between two boxes of one shape, whose extents either side may give; or of a source whose dims of
// extent 1, or that it lacks in front, are repeated.
Status Builder::two_sides(const tilert_region* source, const tilert_region* destination, ir::Region& from_region,
                          ir::Region& to_region, std::string& what) {
  TILERT_TRY(need_tile_level());
  TILERT_ASSIGN(Place from, place(source, "the source"));
  TILERT_ASSIGN(Place to, place(destination, "the destination"));
  for (const Place* side : {&from, &to}) {
    if (program_->buffers[side->buffer].scope == ir::Scope::scalar)
      return make_error(Code::kInvalidProgram, "{} is a var: use load and store", text_of(side->buffer));
  }
  what = fmt::format("{} to {}", text_of(from.buffer), text_of(to.buffer));
  TILERT_TRY(check_whole(from, to, what));
  TILERT_TRY(check_whole(to, from, what));
  const bool known_from = from.extents.size() == from.offsets.size(), known_to = to.extents.size() == to.offsets.size();
  if (!known_from && !known_to) return make_error(Code::kInvalidProgram, "{}: give extents on one side", what);
  if (!known_from) TILERT_TRY(infer(from, to, what));
  if (!known_to) TILERT_TRY(infer(to, from, what));
  const auto a = without_units(from.extents), b = without_units(to.extents);
  if (a != b && !broadcasts(from.extents, to.extents))
    return make_error(Code::kInvalidProgram, "{}: the shapes {} and {} differ", what, shape_text(from.extents),
                      shape_text(to.extents));
  TILERT_ASSIGN(from_region, region(from, what));
  TILERT_ASSIGN(to_region, region(to, what));
  return {};
}

Status Builder::do_copy(const tilert_region* source, const tilert_region* destination,
                        const tilert_copy_options& options) {
  ir::Copy copy;
  std::string what;
  TILERT_TRY(two_sides(source, destination, copy.src, copy.dst, what));
  const ir::Region &from = copy.src, &to = copy.dst;
  const bool repeats = without_units(from.extents) != without_units(to.extents);
  if (repeats && same_memory(from.buffer, to.buffer))
    return make_error(Code::kInvalidProgram, "{}: a copy that repeats its source reads it while it writes: use another tile", what);
  if (!is_tile(from.buffer) && !is_tile(to.buffer)) {
    const ir::Buffer &x = program_->buffers[from.buffer], &y = program_->buffers[to.buffer];
    if (same_memory(from.buffer, to.buffer) || (x.may_alias && y.may_alias))
      return make_error(Code::kInvalidProgram, "{}: the two may overlap in device memory; copy through a shared tile",
                        what);
  }
  TILERT_TRY(covers_bytes(copy.dst, what));
  TILERT_TRY(copy_options(options, copy));
  TILERT_TRY(use(from.buffer, Use::read, "the source"));
  TILERT_TRY(use(to.buffer, Use::write, "the destination"));
  if (repeats) return repeat(copy, what);
  append(std::move(copy));
  return {};
}

Code Builder::copy(const tilert_region* source, const tilert_region* destination, const tilert_copy_options& options) {
  return run("copy", [&] { return do_copy(source, destination, options); });
}

Code Builder::fill(const tilert_region* destination, tilert_expr x) {
  return run("fill", [&]() -> Status {
    TILERT_TRY(need_tile_level());
    TILERT_ASSIGN(ir::Region dst, whole_region(destination, "the destination"));
    const DType dtype = program_->buffers[dst.buffer].dtype;
    TILERT_ASSIGN(const ir::Expr filled, typed(x, dtype, fmt::format("the value filled into {}", text_of(dst.buffer))));
    TILERT_TRY(covers_bytes(dst, text_of(dst.buffer)));
    TILERT_TRY(use(dst.buffer, Use::write, "the destination"));
    append(ir::Fill{std::move(dst), filled});
    return {};
  });
}

Code Builder::clear(const tilert_region* destination) {
  return run("clear", [&]() -> Status {
    TILERT_TRY(need_tile_level());
    TILERT_ASSIGN(ir::Region dst, whole_region(destination, "the destination"));
    const ir::Expr zero = program_->arena->number(program_->buffers[dst.buffer].dtype, 0);
    TILERT_TRY(covers_bytes(dst, text_of(dst.buffer)));
    TILERT_TRY(use(dst.buffer, Use::write, "the destination"));
    append(ir::Fill{std::move(dst), zero});
    return {};
  });
}

Status Builder::do_reduce(tilert_reduce_op op, const tilert_region* source, const tilert_region* destination,
                          uint32_t dim, const tilert_reduce_options& options) {
  TILERT_TRY(need_tile_level());
  if (options.flags & ~uint32_t{TILERT_REDUCE_ACCUMULATE})
    return make_error(Code::kInvalidArgument, "unknown flags {:#x}", options.flags);
  ir::Reduce reduce;
  TILERT_ASSIGN(reduce.op, reduce_op(op));
  TILERT_ASSIGN(reduce.src, whole_region(source, "the source"));
  TILERT_ASSIGN(reduce.dst, whole_region(destination, "the destination"));
  const std::string what = fmt::format("{} to {}", text_of(reduce.src.buffer), text_of(reduce.dst.buffer));
  const auto& from = reduce.src.extents;
  if (dim >= from.size())
    return make_error(Code::kInvalidArgument, "{}: there is no dim {} in {}", what, dim, shape_text(from));
  std::vector<int64_t> kept = from, dropped = from;
  kept[dim] = 1;
  dropped.erase(dropped.begin() + dim);
  if (reduce.dst.extents != kept && reduce.dst.extents != dropped)
    return make_error(Code::kInvalidProgram, "{}: {} reduced over dim {} is {} or {}, but the destination is {}", what,
                      shape_text(from), dim, shape_text(dropped), shape_text(kept), shape_text(reduce.dst.extents));
  if (same_memory(reduce.src.buffer, reduce.dst.buffer))
    return make_error(Code::kInvalidProgram, "{}: source and destination are one buffer", what);
  reduce.dim = static_cast<int>(dim);
  if (op == TILERT_REDUCE_ARGMAX || op == TILERT_REDUCE_ARGMIN) return do_pick(reduce, op == TILERT_REDUCE_ARGMIN, options);
  const DType x = program_->buffers[reduce.src.buffer].dtype, y = program_->buffers[reduce.dst.buffer].dtype;
  const bool same_class = dtype_is_float(x) == dtype_is_float(y) && (x == DType::boolean) == (y == DType::boolean);
  if (!same_class || (is_bitwise(reduce.op) ? dtype_is_float(x) : x == DType::boolean))
    return make_error(Code::kInvalidProgram, "{}: this reduction does not take {} to {}{}", what, dtype_text(x),
                      dtype_text(y), same_class ? "" : ": cast before");
  reduce.accumulate = (options.flags & TILERT_REDUCE_ACCUMULATE) != 0;
  TILERT_TRY(use(reduce.src.buffer, Use::read, "the source"));
  TILERT_TRY(use(reduce.dst.buffer, reduce.accumulate ? Use::update : Use::write, "the destination"));
  append(std::move(reduce));
  return {};
}

Code Builder::reduce(tilert_reduce_op op, const tilert_region* source, const tilert_region* destination, uint32_t dim,
                     const tilert_reduce_options& options) {
  return run("reduce", [&] { return do_reduce(op, source, destination, dim, options); });
}

}  // namespace tilert::builder
