// Tile operations: copy, fill, gemm, reduce.
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

// Rows and columns of a matrix operand: its last two dims, all before of extent 1.
Result<std::pair<int64_t, int64_t>> matrix(const ir::Region& region, std::string_view what, std::string_view name) {
  const size_t rank = region.extents.size();
  bool leading_units = rank >= 2;
  for (size_t i = 0; i + 2 < rank; ++i) leading_units = leading_units && region.extents[i] == 1;
  if (!leading_units)
    return make_error(Code::kInvalidProgram, "{} {} has shape {}: a matrix has two dims", what, name,
                      shape_text(region.extents));
  return std::pair{region.extents[rank - 2], region.extents[rank - 1]};
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
  if (options.multicast) return refuse(Refusal::cluster_);
  copy.prefer = static_cast<ir::CopyPrefer>(options.prefer);
  copy.must = (options.flags & TILERT_COPY_MUST) != 0;
  copy.eviction = static_cast<ir::Eviction>(options.eviction);
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

Status Builder::gemm_dtypes(const ir::Gemm& gemm) const {
  const DType a = program_->buffers[gemm.a.buffer].dtype, b = program_->buffers[gemm.b.buffer].dtype,
              c = program_->buffers[gemm.c.buffer].dtype;
  const bool no_bool = a != DType::boolean && b != DType::boolean;
  if (gemm.tf32 && (a != DType::f32 || b != DType::f32))
    return make_error(Code::kInvalidProgram, "{} ({}) times {} ({}) in tf32: it is a mode of f32 products, leave the flag out",
                      text_of(gemm.a.buffer), dtype_text(a), text_of(gemm.b.buffer), dtype_text(b));
  const bool half_sum = c == DType::f16 || c == DType::bf16;
  if (no_bool && !half_sum && ir::gemm_takes(ir::gemm_operand_dtype(a, b), c)) return {};
  return make_error(Code::kInvalidProgram,
                    "{} ({}) times {} ({}) into {} ({}): f64 accumulates in f64, other floats in f32, integers in int32 or int64",
                    text_of(gemm.a.buffer), dtype_text(a), text_of(gemm.b.buffer), dtype_text(b),
                    text_of(gemm.c.buffer), dtype_text(c));
}

Status Builder::do_gemm(const tilert_region* a, const tilert_region* b, const tilert_region* c,
                        const tilert_gemm_options& options) {
  TILERT_TRY(need_tile_level());
  if (options.flags & ~uint32_t{TILERT_GEMM_TRANS_A | TILERT_GEMM_TRANS_B | TILERT_GEMM_OVERWRITE | TILERT_GEMM_TF32})
    return make_error(Code::kInvalidArgument, "unknown flags {:#x}", options.flags);
  if (options.warp_split < TILERT_SPLIT_AUTO || options.warp_split > TILERT_SPLIT_SQUARE)
    return make_error(Code::kInvalidArgument, "warp_split {} is none of auto, rows, columns, square",
                      options.warp_split);
  ir::Gemm gemm;
  TILERT_ASSIGN(gemm.a, whole_region(a, "A"));
  TILERT_ASSIGN(gemm.b, whole_region(b, "B"));
  TILERT_ASSIGN(gemm.c, whole_region(c, "C"));
  for (const ir::Region* operand : {&gemm.a, &gemm.b}) {
    const ir::Scope scope = program_->buffers[operand->buffer].scope;
    if (scope != ir::Scope::shared && scope != ir::Scope::fragment)
      return make_error(Code::kInvalidProgram, "operand {} is neither shared nor a fragment", text_of(operand->buffer));
  }
  if (program_->buffers[gemm.c.buffer].scope != ir::Scope::fragment)
    return make_error(Code::kInvalidProgram, "C ({}) is not a fragment: accumulate in one and copy it afterwards",
                      text_of(gemm.c.buffer));
  TILERT_ASSIGN(auto am, matrix(gemm.a, "A", text_of(gemm.a.buffer)));
  TILERT_ASSIGN(auto bm, matrix(gemm.b, "B", text_of(gemm.b.buffer)));
  TILERT_ASSIGN(const auto cm, matrix(gemm.c, "C", text_of(gemm.c.buffer)));
  gemm.trans_a = (options.flags & TILERT_GEMM_TRANS_A) != 0;
  gemm.trans_b = (options.flags & TILERT_GEMM_TRANS_B) != 0;
  gemm.tf32 = (options.flags & TILERT_GEMM_TF32) != 0;
  if (gemm.trans_a) std::swap(am.first, am.second);
  if (gemm.trans_b) std::swap(bm.first, bm.second);
  if (am.second != bm.first || cm.first != am.first || cm.second != bm.second)
    return make_error(
        Code::kInvalidProgram,
        "{} is {} x {}{}, {} is {} x {}{}, {} is {} x {}: M x K times K x N gives M x N; are trans_a, trans_b right?",
        text_of(gemm.a.buffer), am.first, am.second, gemm.trans_a ? " (transposed)" : "", text_of(gemm.b.buffer),
        bm.first, bm.second, gemm.trans_b ? " (transposed)" : "", text_of(gemm.c.buffer), cm.first, cm.second);
  if (same_memory(gemm.c.buffer, gemm.a.buffer) || same_memory(gemm.c.buffer, gemm.b.buffer))
    return make_error(Code::kInvalidProgram, "{} is result and operand at once", text_of(gemm.c.buffer));
  TILERT_TRY(gemm_dtypes(gemm));
  gemm.split = static_cast<ir::WarpSplit>(options.warp_split);
  gemm.accumulate = program_->arena->boolean((options.flags & TILERT_GEMM_OVERWRITE) == 0);
  if (!is_none(options.accumulate)) {
    if (options.flags & TILERT_GEMM_OVERWRITE)
      return make_error(Code::kInvalidArgument, "overwrite and accumulate are both given: give one");
    TILERT_ASSIGN(gemm.accumulate, typed(options.accumulate, DType::boolean, "accumulate"));
  }
  TILERT_TRY(use(gemm.a.buffer, Use::read, "A"));
  TILERT_TRY(use(gemm.b.buffer, Use::read, "B"));
  const bool surely_reads = gemm.accumulate->is_constant() && gemm.accumulate->bits == 1;
  TILERT_TRY(use(gemm.c.buffer, surely_reads ? Use::update : Use::write, "C"));
  append(std::move(gemm));
  return {};
}

Code Builder::gemm(const tilert_region* a, const tilert_region* b, const tilert_region* c,
                   const tilert_gemm_options& options) {
  return run("gemm", [&] { return do_gemm(a, b, c, options); });
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
