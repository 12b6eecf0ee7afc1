// Kernels: grids with their hints, and kernels of the user's own source.
#include <cstring>

#include "builder/builder.h"
#include "ir/fast.h"
#include "ir/visit.h"
#include "ir/words.h"
#include "target/target.h"

namespace tilert::builder {
namespace {

constexpr uint32_t kMaxKernels = 64;
constexpr uint32_t kMaxListed = 1024;  // headers or options of a source kernel
constexpr size_t kMaxKernelSource = size_t{64} << 20;
constexpr uint32_t kGridFlags =
    TILERT_GRID_PERSISTENT | TILERT_GRID_NO_CONTRACT | TILERT_GRID_FIXED_ORDER | TILERT_GRID_FAST_MATH;

Result<std::string> text(const char* from, std::string_view what) {
  if (!from) return make_error(Code::kInvalidArgument, "{} is NULL", what);
  const size_t size = strnlen(from, kMaxKernelSource + 1);
  if (size == 0 || size > kMaxKernelSource)
    return make_error(Code::kInvalidArgument, "{} is {}", what, size == 0 ? "empty" : "longer than 64 MiB");
  return std::string(from, size);
}

}  // namespace

Result<ir::Hints> Builder::hints_of(std::span<const tilert_hint> hints) const {
  ir::Hints out;
  for (const tilert_hint& hint : hints) {
    const ir::HintRow* row = ir::hint_row(static_cast<ir::HintKind>(hint.kind));
    if (!row || static_cast<tilert_hint_kind>(row->kind) != hint.kind)
      return make_error(Code::kInvalidArgument, "{} is not a hint", hint.kind);
    if (hint.flags & ~uint32_t{TILERT_HINT_MUST})
      return make_error(Code::kInvalidArgument, "hint {} has unknown flags {:#x}", row->name, hint.flags);
    if (!row->takes(hint.value))
      return make_error(Code::kInvalidArgument, "hint {} is {}: give {} to {}, a multiple of {}", row->name, hint.value, row->low,
                        row->high, row->multiple);
    if (row->kind == ir::HintKind::threads_fixed && hint.target)
      return make_error(Code::kInvalidArgument, "hint threads_fixed is for one target: the number is part of what the kernel "
                        "means, give it for all");
    ir::Hint made{row->kind, hint.value, (hint.flags & TILERT_HINT_MUST) != 0, {}};
    if (hint.target) {
      TILERT_ASSIGN(made.target, text(hint.target, "the hint's target"));
      const Result<Target> known = parse_target(made.target);
      if (!known) return known.error();
    }
    if (out.find(made.kind, made.target)) return make_error(Code::kInvalidArgument, "hint {} is given twice", row->name);
    out.all.push_back(std::move(made));
  }
  return out;
}

Result<std::vector<ir::Expr>> Builder::launch_exprs(const tilert_expr* exprs, uint32_t count,
                                                    std::string_view what) const {
  std::vector<ir::Expr> out;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string one = fmt::format("{} {}", what, i);
    TILERT_ASSIGN(const ir::Expr expr, index_value(exprs[i], one));
    TILERT_TRY(size_expr(expr, true, one));
    if (expr->is_constant() && expr->as_int() < 0)
      return make_error(Code::kInvalidProgram, "{} is {}: it is 0 or positive", one, expr->as_int());
    out.push_back(expr);
  }
  return out;
}

Status Builder::do_begin_kernel(const tilert_grid& grid, std::span<const tilert_hint> hints, tilert_expr* block) {
  if (scopes_.size() > 1) return make_error(Code::kInvalidProgram, "a kernel inside a kernel: end the open one first");
  if (grid.rank < 1 || grid.rank > 3 || !grid.extents || !block)
    return make_error(Code::kInvalidArgument, "the grid's rank is {}: give 1 to 3 extents and room for their indices",
                      grid.rank);
  if (program_->kernels.size() >= kMaxKernels)
    return make_error(Code::kInvalidProgram, "a program has at most {} kernels", kMaxKernels);
  if (grid.flags & ~kGridFlags) return make_error(Code::kInvalidArgument, "unknown flags {:#x}", grid.flags);
  const bool persistent = (grid.flags & TILERT_GRID_PERSISTENT) != 0;
  if (!persistent && !is_none(grid.tile_count))
    return make_error(Code::kInvalidArgument, "a tile count belongs to a persistent grid: give TILERT_GRID_PERSISTENT too");
  contract_ = !(grid.flags & TILERT_GRID_NO_CONTRACT);
  fast_ = (grid.flags & TILERT_GRID_FAST_MATH) != 0;
  kernel_ = {};
  kernel_.persistent = persistent;
  kernel_.fixed_order = (grid.flags & TILERT_GRID_FIXED_ORDER) != 0;
  if (!is_none(grid.tile_count)) {
    TILERT_ASSIGN(const uint32_t at, find(grid.tile_count, tensors_.size(), "the tile count"));
    kernel_.tile_count = tensors_[at];
    const ir::Buffer& count = program_->buffers[tensors_[at]];
    if (ir::is_table(count))
      return make_error(Code::kInvalidProgram, "the tile count {} is a table of pointers: give a tensor of one element", count.name);
    if (count.dtype != DType::int32 && count.dtype != DType::int64)
      return make_error(Code::kInvalidProgram, "the tile count {} holds {}: it is the first element of a tensor of i32 or i64", count.name,
                        dtype_text(count.dtype));
    if (count.direction == ir::Direction::out)
      return make_error(Code::kInvalidProgram, "the tile count {} is an output: declare it in or inout", count.name);
  }
  const size_t number = program_->kernels.size();
  kernel_.name = number == 0 ? program_->name : fmt::format("{}_{}", program_->name, number);
  if (grid.name) {
    TILERT_ASSIGN(kernel_.name, new_name(grid.name, "the kernel's name"));
  }
  TILERT_ASSIGN(kernel_.hints, hints_of(hints));
  TILERT_ASSIGN(kernel_.grid, launch_exprs(grid.extents, grid.rank, "grid extent"));
  TILERT_TRY(open(ScopeKind::kernel));
  static constexpr const char* kNames[] = {"bx", "by", "bz"};
  for (uint32_t i = 0; i < grid.rank; ++i) {
    const auto extent = constant_value(kernel_.grid[i]);
    Range range{0, std::nullopt};
    if (extent && *extent > 0) range.high = *extent - 1;
    ir::VarId var;
    TILERT_ASSIGN(block[i], add_variable(ir::VarKind::block_index, DType::index, kNames[i], range, &var));
    kernel_.block_vars.push_back(var);
  }
  return {};
}

Code Builder::begin_kernel(const tilert_grid& grid, std::span<const tilert_hint> hints, tilert_expr* block) {
  return run("kernel", [&] { return do_begin_kernel(grid, hints, block); });
}

Code Builder::tile_cost(tilert_expr cost, tilert_expr locality) {
  return run("tile cost", [&]() -> Status {
    if (scopes_.size() != 2 || top().kind != ScopeKind::kernel)
      return make_error(Code::kInvalidProgram, "it stands directly in a kernel, not inside its loops");
    if (!kernel_.persistent) return make_error(Code::kInvalidProgram, "the kernel is not persistent: blocks of a plain grid come in grid order");
    if (kernel_.cost) return make_error(Code::kInvalidProgram, "the kernel has a cost already");
    for (const ir::Kernel& other : program_->kernels)
      if (other.cost)
        return make_error(Code::kInvalidProgram, "the kernel '{}' has a cost, and a program plans one: build two programs", other.name);
    TILERT_ASSIGN(kernel_.cost, index_value(cost, "the cost"));
    if (!is_none(locality)) {
      TILERT_ASSIGN(kernel_.locality, index_value(locality, "the locality"));
    }
    for (ir::Expr e : {kernel_.cost, kernel_.locality}) {
      bool fits = true;
      const auto check = [&](ir::Expr n) {
        const ir::VarKind kind = n->is_variable() ? program_->vars[n->var()].kind : ir::VarKind::dim;
        fits &= kind == ir::VarKind::dim || kind == ir::VarKind::block_index;
      };
      if (e) ir::for_each_node(e, check);
      if (!fits) return make_error(Code::kInvalidProgram, "it is made of block indices, dims and constants only");
    }
    return {};
  });
}

Code Builder::end_kernel() {
  return run("end of kernel", [&]() -> Status {
    TILERT_TRY(close(ScopeKind::kernel));
    kernel_.body = std::move(top().body);
    if (fast_) kernel_.body = ir::map_block_exprs(kernel_.body, [&](ir::Expr e) { return ir::as_fast(*program_->arena, e); });
    scopes_.pop_back();
    jumps_ = 0;
    program_->kernels.push_back(std::move(kernel_));
    return {};
  });
}

Status Builder::do_source_kernel(const tilert_source_kernel& kernel) {
  if (scopes_.size() > 1)
    return make_error(Code::kInvalidProgram, "a source kernel inside a kernel: end the open one first");
  if (program_->kernels.size() >= kMaxKernels)
    return make_error(Code::kInvalidProgram, "a program has at most {} kernels", kMaxKernels);
  auto source = std::make_shared<ir::SourceKernel>();
  TILERT_ASSIGN(source->language, text(kernel.language, "language"));
  if (!ir::is_source_language(source->language))
    return make_error(Code::kInvalidArgument, "the language '{}' is none of \"cuda\", \"hip\" and \"llvm\"", source->language);
  TILERT_ASSIGN(source->text, text(kernel.text, "text"));
  TILERT_ASSIGN(source->entry, text(kernel.entry, "entry"));
  if (kernel.header_count > kMaxListed || (kernel.header_count && !kernel.headers) ||
      kernel.option_count > kMaxListed || (kernel.option_count && !kernel.options))
    return make_error(Code::kInvalidArgument, "{} headers and {} options: give at most {} of each, and their arrays",
                      kernel.header_count, kernel.option_count, kMaxListed);
  for (uint32_t i = 0; i < kernel.header_count; ++i) {
    TILERT_ASSIGN(std::string name, text(kernel.headers[i].name, fmt::format("the name of header {}", i)));
    TILERT_ASSIGN(std::string body, text(kernel.headers[i].text, fmt::format("the text of header {}", i)));
    source->headers.emplace_back(std::move(name), std::move(body));
  }
  for (uint32_t i = 0; i < kernel.option_count; ++i) {
    TILERT_ASSIGN(std::string option, text(kernel.options[i], fmt::format("option {}", i)));
    source->options.push_back(std::move(option));
  }
  if (kernel.grid_rank < 1 || kernel.grid_rank > 3 || !kernel.grid)
    return make_error(Code::kInvalidArgument, "the grid's rank is {}: give 1 to 3 extents", kernel.grid_rank);
  ir::Kernel made;
  made.name = fmt::format("source_{}", program_->kernels.size());
  TILERT_ASSIGN(made.grid, launch_exprs(kernel.grid, kernel.grid_rank, "grid extent"));
  if (kernel.block) {
    TILERT_ASSIGN(source->block, launch_exprs(kernel.block, 3, "block extent"));
  }
  if (kernel.cluster) {
    TILERT_ASSIGN(source->cluster, launch_exprs(kernel.cluster, 3, "cluster extent"));
  }
  if (!is_none(kernel.shared_bytes)) {
    TILERT_ASSIGN(const auto shared, launch_exprs(&kernel.shared_bytes, 1, "shared_bytes"));
    source->shared_bytes = shared[0];
  }
  made.source = std::move(source);
  program_->kernels.push_back(std::move(made));
  return {};
}

Code Builder::source_kernel(const tilert_source_kernel& kernel) {
  return run("source kernel", [&] { return do_source_kernel(kernel); });
}

}  // namespace tilert::builder
