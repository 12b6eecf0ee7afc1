// Operations along a dim: argmax and argmin, scans, sorts, and reductions and scans by an operation of the program's own.
#include "builder/builder.h"
#include "ir/semantics.h"

namespace tilert::builder {
namespace {

constexpr uint32_t kMaxComponents = 8;
constexpr uint32_t kScanFlags = TILERT_SCAN_REVERSE | TILERT_SCAN_EXCLUSIVE;
constexpr uint32_t kCombineFlags =
    TILERT_COMBINE_ACCUMULATE | TILERT_COMBINE_SCAN | TILERT_COMBINE_REVERSE | TILERT_COMBINE_EXCLUSIVE;

struct ScanRow {
  tilert_reduce_op number;
  ir::ReduceOp op;
};
constexpr ScanRow kScans[] = {
    {TILERT_REDUCE_SUM, ir::ReduceOp::sum},         {TILERT_REDUCE_PROD, ir::ReduceOp::prod},
    {TILERT_REDUCE_MAX, ir::ReduceOp::max},         {TILERT_REDUCE_MIN, ir::ReduceOp::min},
    {TILERT_REDUCE_MAX_NAN, ir::ReduceOp::max_nan}, {TILERT_REDUCE_MIN_NAN, ir::ReduceOp::min_nan},
    {TILERT_REDUCE_AND, ir::ReduceOp::bit_and},     {TILERT_REDUCE_OR, ir::ReduceOp::bit_or},
    {TILERT_REDUCE_XOR, ir::ReduceOp::bit_xor}};

bool is_places(DType dtype) { return dtype == DType::int32 || dtype == DType::int64; }

}  // namespace

Status Builder::do_pick(const ir::Reduce& reduce, bool least, const tilert_reduce_options& options) {
  if (options.flags & TILERT_REDUCE_ACCUMULATE)
    return make_error(Code::kInvalidArgument, "argmax and argmin do not accumulate: reduce with max, and compare");
  const DType x = program_->buffers[reduce.src.buffer].dtype, places = program_->buffers[reduce.dst.buffer].dtype;
  if (!dtype_computes(x))
    return make_error(Code::kInvalidProgram, "{} to {}: {} is stored and converted only: copy it to {} before",
                      text_of(reduce.src.buffer), text_of(reduce.dst.buffer), dtype_text(x), dtype_is_float(x) ? "f32" : "int32");
  if (!is_places(places) || x == DType::boolean)
    return make_error(Code::kInvalidProgram, "{} to {}: places of {} in {}; places are int32 or int64, and bool has no order: cast before",
                      text_of(reduce.src.buffer), text_of(reduce.dst.buffer), dtype_text(x), dtype_text(places));
  TILERT_TRY(use(reduce.src.buffer, Use::read, "the source"));
  TILERT_TRY(use(reduce.dst.buffer, Use::write, "the destination"));
  append(ir::Pick{reduce.src, reduce.dst, reduce.dim, least});
  return {};
}

// Of one component, without its combination.
Result<ir::Scan> Builder::scan_of(const tilert_region* source, const tilert_region* destination, uint32_t dim, uint32_t flags) {
  ir::Scan scan;
  TILERT_ASSIGN(ir::Region src, whole_region(source, "the source"));
  TILERT_ASSIGN(ir::Region dst, whole_region(destination, "the destination"));
  if (dim >= src.extents.size())
    return make_error(Code::kInvalidArgument, "there is no dim {} in {}", dim, shape_text(src.extents));
  const DType x = program_->buffers[src.buffer].dtype, y = program_->buffers[dst.buffer].dtype;
  if (dtype_is_float(x) != dtype_is_float(y) || (x == DType::boolean) != (y == DType::boolean))
    return make_error(Code::kInvalidProgram, "{} to {}: {} does not become {} here: cast before", text_of(src.buffer),
                      text_of(dst.buffer), dtype_text(x), dtype_text(y));
  scan.dim = static_cast<int>(dim);
  scan.reverse = (flags & TILERT_SCAN_REVERSE) != 0;
  scan.exclusive = (flags & TILERT_SCAN_EXCLUSIVE) != 0;
  scan.src.push_back(std::move(src));
  scan.dst.push_back(std::move(dst));
  return scan;
}

Status Builder::do_scan(tilert_reduce_op op, const tilert_region* source, const tilert_region* destination, uint32_t dim,
                        const tilert_scan_options& options) {
  TILERT_TRY(need_tile_level());
  if (options.flags & ~kScanFlags) return make_error(Code::kInvalidArgument, "unknown flags {:#x}", options.flags);
  const ScanRow* row = nullptr;
  for (const ScanRow& r : kScans)
    if (r.number == op) row = &r;
  if (!row) return make_error(Code::kInvalidArgument, "{} is not an operation of scan", op);
  TILERT_ASSIGN(ir::Scan scan, scan_of(source, destination, dim, options.flags));
  if (scan.src[0].extents != scan.dst[0].extents)
    return make_error(Code::kInvalidProgram, "a scan of {} is as large, but the destination is {}", shape_text(scan.src[0].extents),
                      shape_text(scan.dst[0].extents));
  const DType sum = ir::reduce_accumulator(program_->buffers[scan.dst[0].buffer].dtype);
  if (!ir::reduce_takes(row->op, sum))
    return make_error(Code::kInvalidProgram, "this scan does not take {}: cast before", dtype_text(sum));
  const ir::VarId left = program_->add_var(ir::VarKind::let, sum, "left"), right = program_->add_var(ir::VarKind::let, sum, "right");
  scan.combine.left = {left};
  scan.combine.right = {right};
  scan.combine.result = {program_->arena->make(ir::reduce_combine(row->op), {program_->var(left), program_->var(right)})};
  scan.combine.identity = {program_->arena->constant(sum, ir::reduce_identity(row->op, sum))};
  TILERT_TRY(use(scan.src[0].buffer, Use::read, "the source"));
  TILERT_TRY(use(scan.dst[0].buffer, Use::write, "the destination"));
  append(std::move(scan));
  return {};
}

Code Builder::scan(tilert_reduce_op op, const tilert_region* source, const tilert_region* destination, uint32_t dim,
                   const tilert_scan_options& options) {
  return run("scan", [&] { return do_scan(op, source, destination, dim, options); });
}

Status Builder::do_sort(const tilert_region* source, const tilert_region* destination, const tilert_region* index, uint32_t dim,
                        const tilert_sort_options& options) {
  TILERT_TRY(need_tile_level());
  if (options.flags & ~uint32_t{TILERT_SORT_DESCENDING})
    return make_error(Code::kInvalidArgument, "unknown flags {:#x}", options.flags);
  ir::Sort sort;
  TILERT_ASSIGN(sort.src, whole_region(source, "the source"));
  TILERT_ASSIGN(sort.dst, whole_region(destination, "the destination"));
  if (dim >= sort.src.extents.size())
    return make_error(Code::kInvalidArgument, "there is no dim {} in {}", dim, shape_text(sort.src.extents));
  std::vector<int64_t> most = sort.src.extents;
  const int64_t kept = sort.dst.extents.size() == most.size() ? sort.dst.extents[dim] : 0;
  if (kept >= 1 && kept <= most[dim]) most[dim] = kept;
  if (sort.dst.extents != most)
    return make_error(Code::kInvalidProgram, "{} sorted over dim {} does not fit {}: only that dim may be smaller",
                      shape_text(sort.src.extents), dim, shape_text(sort.dst.extents));
  const DType x = program_->buffers[sort.src.buffer].dtype, y = program_->buffers[sort.dst.buffer].dtype;
  if (!dtype_computes(x))
    return make_error(Code::kInvalidProgram, "sort of {}: the type is stored and converted only: copy it to {} before", dtype_text(x),
                      dtype_is_float(x) ? "f32" : "int32");
  if (x != y || x == DType::boolean)
    return make_error(Code::kInvalidProgram, "sort of {} into {}: both sides have one dtype, and bool has no order: cast before",
                      dtype_text(x), dtype_text(y));
  sort.dim = static_cast<int>(dim);
  sort.descending = (options.flags & TILERT_SORT_DESCENDING) != 0;
  TILERT_TRY(use(sort.src.buffer, Use::read, "the source"));
  TILERT_TRY(use(sort.dst.buffer, Use::write, "the destination"));
  if (index) {
    TILERT_ASSIGN(sort.index, whole_region(index, "the index"));
    const DType places = program_->buffers[sort.index.buffer].dtype;
    if (sort.index.extents != sort.dst.extents || !is_places(places))
      return make_error(Code::kInvalidProgram, "the index is {} {}: it is int32 or int64, and as large as the destination, {}",
                        dtype_text(places), shape_text(sort.index.extents), shape_text(sort.dst.extents));
    if (same_memory(sort.index.buffer, sort.dst.buffer))
      return make_error(Code::kInvalidProgram, "{} is destination and index at once", text_of(sort.dst.buffer));
    TILERT_TRY(use(sort.index.buffer, Use::write, "the index"));
  }
  append(std::move(sort));
  return {};
}

Code Builder::sort(const tilert_region* source, const tilert_region* destination, const tilert_region* index, uint32_t dim,
                   const tilert_sort_options& options) {
  return run("sort", [&] { return do_sort(source, destination, index, dim, options); });
}

Status Builder::do_begin_combine(const tilert_combine& what, tilert_expr* left, tilert_expr* right) {
  TILERT_TRY(need_tile_level());
  if (what.flags & ~kCombineFlags) return make_error(Code::kInvalidArgument, "unknown flags {:#x}", what.flags);
  if (what.count < 1 || what.count > kMaxComponents || !what.sources || !what.destinations || !what.identities || !left || !right)
    return make_error(Code::kInvalidArgument, "count is {}: give 1 to {} sources, destinations and identities, and room for their values",
                      what.count, kMaxComponents);
  const bool scans = (what.flags & TILERT_COMBINE_SCAN) != 0;
  if (scans ? (what.flags & TILERT_COMBINE_ACCUMULATE) != 0 : (what.flags & (TILERT_COMBINE_REVERSE | TILERT_COMBINE_EXCLUSIVE)) != 0)
    return make_error(Code::kInvalidArgument, "accumulate is of reductions, reverse and exclusive are of scans");
  uint32_t flags = 0;
  if (what.flags & TILERT_COMBINE_REVERSE) flags |= TILERT_SCAN_REVERSE;
  if (what.flags & TILERT_COMBINE_EXCLUSIVE) flags |= TILERT_SCAN_EXCLUSIVE;
  ir::Scan all;
  for (uint32_t c = 0; c < what.count; ++c) {
    TILERT_ASSIGN(ir::Scan one, scan_of(&what.sources[c], &what.destinations[c], what.dim, flags));
    std::vector<int64_t> kept = one.src[0].extents, dropped = kept;
    if (!scans) kept[what.dim] = 1, dropped.erase(dropped.begin() + what.dim);
    if (one.dst[0].extents != kept && one.dst[0].extents != dropped)
      return make_error(Code::kInvalidProgram, "component {}: {} over dim {} becomes {}, but the destination is {}", c,
                        shape_text(one.src[0].extents), what.dim, shape_text(kept), shape_text(one.dst[0].extents));
    if (c > 0 && one.src[0].extents != all.src[0].extents)
      return make_error(Code::kInvalidProgram, "component {} is {}, and the first is {}", c, shape_text(one.src[0].extents),
                        shape_text(all.src[0].extents));
    const DType sum = ir::reduce_accumulator(program_->buffers[one.dst[0].buffer].dtype);
    TILERT_ASSIGN(const ir::Expr identity, typed(what.identities[c], sum, fmt::format("identity {}", c)));
    if (!identity->is_constant()) return make_error(Code::kInvalidProgram, "identity {} is not a constant", c);
    const bool updates = (what.flags & TILERT_COMBINE_ACCUMULATE) != 0;
    TILERT_TRY(use(one.src[0].buffer, Use::read, "a source"));
    TILERT_TRY(use(one.dst[0].buffer, updates ? Use::update : Use::write, "a destination"));
    for (uint32_t other = 0; other < c; ++other)
      if (same_memory(all.dst[other].buffer, one.dst[0].buffer))
        return make_error(Code::kInvalidProgram, "{} is the destination of two components", text_of(one.dst[0].buffer));
    all.combine.identity.push_back(identity);
    all.src.push_back(std::move(one.src[0]));
    all.dst.push_back(std::move(one.dst[0]));
    all.dim = one.dim, all.reverse = one.reverse, all.exclusive = one.exclusive;
  }
  TILERT_TRY(open(ScopeKind::combine));
  for (uint32_t c = 0; c < what.count; ++c)
    for (const bool first : {true, false}) {
      ir::VarId var;
      const DType dtype = all.combine.identity[c]->dtype;
      TILERT_ASSIGN((first ? left : right)[c], add_variable(ir::VarKind::let, dtype, first ? "left" : "right", {}, &var));
      (first ? all.combine.left : all.combine.right).push_back(var);
    }
  top().tuple = std::move(all);
  top().folds = !scans;
  top().accumulates = (what.flags & TILERT_COMBINE_ACCUMULATE) != 0;
  return {};
}

Code Builder::begin_combine(const tilert_combine& what, tilert_expr* left, tilert_expr* right) {
  return run("combine", [&] { return do_begin_combine(what, left, right); });
}

Status Builder::do_end_combine(const tilert_expr* results, uint32_t count) {
  TILERT_TRY(close(ScopeKind::combine));
  if (!results || count != top().tuple.src.size())
    return make_error(Code::kInvalidArgument, "{} results of {} components", count, top().tuple.src.size());
  for (uint32_t c = 0; c < count; ++c) {
    TILERT_ASSIGN(const ir::Expr result, typed(results[c], top().tuple.combine.identity[c]->dtype, fmt::format("result {}", c)));
    top().tuple.combine.result.push_back(result);
  }
  OpenScope scope = std::move(scopes_.back());
  scopes_.pop_back();
  ir::Scan& t = scope.tuple;
  ir::Stmt::Node node = scope.folds ? ir::Stmt::Node(ir::Fold{std::move(t.src), std::move(t.dst), std::move(t.combine), t.dim, scope.accumulates})
                                    : ir::Stmt::Node(std::move(t));
  top().body.push_back(ir::make_stmt(std::move(node), scope.ordinal, scope.location));
  return {};
}

Code Builder::end_combine(const tilert_expr* results, uint32_t count) {
  return run("end of combine", [&] { return do_end_combine(results, count); });
}

}  // namespace tilert::builder
