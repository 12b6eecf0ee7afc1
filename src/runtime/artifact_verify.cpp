// What must hold of an artifact before it may be loaded: every index, limit and expression that a launch relies on.
#include <bit>

#include "runtime/artifact.h"

namespace tilert::runtime {
namespace {

template <class... Args>
Error wrong(fmt::format_string<Args...> format, Args&&... args) {
  return Error{Code::kCorrupt, "artifact: " + fmt::format(format, std::forward<Args>(args)...), {}, {}};
}

bool is_text(const std::string& text) { return !text.empty() && text.find('\0') == std::string::npos; }

// The checks of one artifact, with the two sets of operands an expression may read.
class Verifier {
 public:
  explicit Verifier(const Artifact& artifact) : artifact_(artifact) {
    for (const Param& param : artifact.params) {
      const bool integer = param.kind == ParamKind::scalar && !dtype_is_float(param.dtype);
      ranks_.push_back(param.kind != ParamKind::scalar ? static_cast<int32_t>(param.dims.size()) : integer ? -1 : -2);
    }
    dims_only_.dims = all_.dims = static_cast<uint32_t>(artifact.dims.size());
    all_.tensor_ranks = ranks_;
    of_tiles_.dims = dims_only_.dims + 3;
  }

  Status run() {
    TILERT_TRY(check_lists());
    for (const Dim& dim : artifact_.dims) TILERT_TRY(check_dim(dim));
    for (const Param& param : artifact_.params) TILERT_TRY(check_param(param));
    for (const Kernel& kernel : artifact_.kernels) TILERT_TRY(check_kernel(kernel));
    if (artifact_.guard) TILERT_TRY(check_expr(artifact_.guard, all_));
    const Workspace& workspace = artifact_.workspace;
    if (workspace.bytes) TILERT_TRY(check_expr(workspace.bytes, dims_only_));
    if (workspace.zero_bytes) TILERT_TRY(check_expr(workspace.zero_bytes, dims_only_));
    if (artifact_.diagnostics_bytes) TILERT_TRY(check_expr(artifact_.diagnostics_bytes, dims_only_));
    if (!std::has_single_bit(workspace.alignment) || workspace.alignment > kMaxPointerAlignment) {
      return wrong("a workspace alignment of {}", workspace.alignment);
    }
    return {};
  }

 private:
  Status check_expr(Expr expr, const BytecodeLimits& limits) const {
    return verify_bytecode(artifact_.bytecode, expr, limits);
  }

  Status check_lists() const {
    const auto kind = static_cast<int>(artifact_.kind);
    if (kind < static_cast<int>(CodeKind::cubin) || kind > static_cast<int>(CodeKind::code_object))
      return wrong("code of kind {}", kind);
    if (!is_text(artifact_.target)) return wrong("no target");
    if (artifact_.code.empty()) return wrong("no code");
    if (artifact_.params.size() > kMaxParams) return wrong("{} parameters", artifact_.params.size());
    if (artifact_.dims.size() > kMaxDims) return wrong("{} dims", artifact_.dims.size());
    if (artifact_.kernels.empty() || artifact_.kernels.size() > kMaxKernels) {
      return wrong("{} kernels", artifact_.kernels.size());
    }
    size_t ranks = 0;
    for (const Param& param : artifact_.params) ranks += param.dims.size();
    if (ranks > kMaxStrideSlots) return wrong("{} strides in all", ranks);
    return {};
  }

  Status check_dim(const Dim& dim) const {
    switch (dim.kind) {
      case DimKind::constant:
        if (dim.first < 0) return wrong("dim '{}' is {}", dim.name, dim.first);
        return {};
      case DimKind::dynamic: return {};
      case DimKind::range:
        if (dim.first < 0 || dim.last < dim.first) return wrong("dim '{}' in {} to {}", dim.name, dim.first, dim.last);
        return {};
      case DimKind::divisible:
        if (dim.first < 1) return wrong("dim '{}' divisible by {}", dim.name, dim.first);
        return {};
    }
    return wrong("dim '{}' of kind {}", dim.name, static_cast<int>(dim.kind));
  }

  Status check_param(const Param& param) const {
    if (!dtype_is_known(param.dtype)) return wrong("parameter '{}' of no known type", param.name);
    if (param.kind == ParamKind::scalar) {
      const int bits = dtype_bits(param.dtype);
      if (!param.dims.empty() || bits < 8 || bits > 64) return wrong("scalar '{}'", param.name);
      return {};
    }
    if (param.kind != ParamKind::tensor && param.kind != ParamKind::pointer_table) {
      return wrong("parameter '{}' of kind {}", param.name, static_cast<int>(param.kind));
    }
    if (param.access < Access::in || param.access > Access::inout) return wrong("access of '{}'", param.name);
    if (param.dims.size() > kMaxRank) return wrong("parameter '{}' of rank {}", param.name, param.dims.size());
    if (param.kind == ParamKind::pointer_table && param.dims.empty()) return wrong("the table '{}' has no dim that counts its pointers", param.name);
    if (!std::has_single_bit(param.alignment) || param.alignment > kMaxPointerAlignment) {
      return wrong("alignment {} of '{}'", param.alignment, param.name);
    }
    for (const TensorDim& dim : param.dims) {
      TILERT_TRY(check_expr(dim.size, dims_only_));
      if (dim.rule < StrideRule::contiguous || dim.rule > StrideRule::free)
        return wrong("a stride of '{}'", param.name);
      if (dim.rule == StrideRule::given) TILERT_TRY(check_expr(dim.stride, dims_only_));
    }
    return {};
  }

  Status check_kernel(const Kernel& kernel) const {
    if (!is_text(kernel.entry)) return wrong("a kernel without entry name");
    for (const Expr& extent : kernel.grid) TILERT_TRY(check_expr(extent, all_));
    for (const Expr& expr : {kernel.tile_cost, kernel.tile_locality})
      if (expr) TILERT_TRY(check_expr(expr, of_tiles_));
    for (const Expr& extent : kernel.tiles)
      if (extent) TILERT_TRY(check_expr(extent, dims_only_));
    if (kernel.tile_cost && (!artifact_.workspace.zero_bytes || !kernel.tiles[0])) return wrong("kernel '{}' has no place for its list of tiles", kernel.entry);
    if (kernel.work) TILERT_TRY(check_expr(kernel.work, all_));
    uint64_t threads = 1, cluster = 1;
    for (int i = 0; i < 3; ++i) {
      if (kernel.threads[i] == 0 || kernel.threads[i] > 1024) return wrong("threads of '{}'", kernel.entry);
      if (kernel.cluster[i] == 0 || kernel.cluster[i] > 16) return wrong("cluster of '{}'", kernel.entry);
      threads *= kernel.threads[i];
      cluster *= kernel.cluster[i];
    }
    if (threads > 1024 || cluster > 16) return wrong("block or cluster size of '{}'", kernel.entry);
    if (kernel.slots.size() > kMaxKernelParams)
      return wrong("{} parameters of '{}'", kernel.slots.size(), kernel.entry);
    if (kernel.tensor_maps.size() > kMaxTensorMaps) return wrong("tensor maps of '{}'", kernel.entry);
    const bool cpu = artifact_.kind == CodeKind::cpu_object;
    const bool cooperative = (kernel.attributes & kKernelCooperative) != 0;
    bool sized = false;
    const auto size = [&](const Expr& e) {
      sized |= static_cast<bool>(e);
      return e ? check_expr(e, all_) : Status();
    };
    for (int i = 0; i < 3; ++i) {
      TILERT_TRY(size(kernel.thread_exprs[i]));
      TILERT_TRY(size(kernel.cluster_exprs[i]));
    }
    TILERT_TRY(size(kernel.shared_expr));
    if (cpu && sized) return wrong("kernel '{}' has sizes of a GPU's block on a CPU", kernel.entry);
    if (cpu && (kernel.attributes & kKernelPersistent) != 0) return wrong("kernel '{}' loops over tiles on a CPU", kernel.entry);
    if ((kernel.attributes & kKernelPdl) != 0 && (cpu || cooperative)) return wrong("kernel '{}' waits for the grid before it", kernel.entry);
    if (cpu && (!kernel.tensor_maps.empty() || cluster != 1)) return wrong("kernel '{}' needs tensor maps or clusters on a CPU", kernel.entry);
    if (cpu && cooperative && (kernel.slots.empty() || kernel.slots.back().kind != SlotKind::workspace))
      return wrong("kernel '{}', whose blocks meet, has no place for their state", kernel.entry);
    uint32_t bytes = 0;
    for (const Slot& slot : kernel.slots) TILERT_TRY(check_slot(slot, kernel, &bytes));
    for (const TensorMapRecipe& map : kernel.tensor_maps) TILERT_TRY(check_map(map));
    return {};
  }

  Status check_slot(const Slot& slot, const Kernel& kernel, uint32_t* bytes) const {
    const auto is_kind = [&](bool scalar) {
      return slot.index < artifact_.params.size() && (artifact_.params[slot.index].kind == ParamKind::scalar) == scalar;
    };
    uint32_t width = slot.bytes;
    bool ok = false;
    switch (slot.kind) {
      case SlotKind::pointer: ok = width == 8 && is_kind(false); break;
      case SlotKind::scalar:
        ok = is_kind(true) && static_cast<int>(width) == dtype_bytes(artifact_.params[slot.index].dtype) &&
             std::has_single_bit(width);
        break;
      case SlotKind::blocks: ok = width == 4 && slot.index < artifact_.kernels.size(); break;
      case SlotKind::expression: ok = width == 4 || width == 8; break;
      case SlotKind::workspace: ok = width == 8 && artifact_.workspace.bytes; break;
      case SlotKind::tensor_map: ok = slot.index < kernel.tensor_maps.size() && slot.bytes == kTensorMapBytes; break;
    }
    if (!ok) return wrong("a parameter of kernel '{}' is out of range", kernel.entry);
    if (slot.kind == SlotKind::expression) TILERT_TRY(check_expr(slot.expr, all_));
    if (slot.kind == SlotKind::workspace && slot.expr) TILERT_TRY(check_expr(slot.expr, dims_only_));
    const uint32_t alignment = slot.kind == SlotKind::tensor_map ? 64 : width;
    *bytes = (*bytes + alignment - 1) / alignment * alignment + width;
    if (*bytes > kMaxParameterBytes) return wrong("kernel '{}' takes over {} parameter bytes", kernel.entry, *bytes);
    return {};
  }

  Status check_map(const TensorMapRecipe& map) const {
    if (map.param >= artifact_.params.size() || artifact_.params[map.param].kind != ParamKind::tensor) {
      return wrong("a tensor map of no tensor");
    }
    const int bits = dtype_is_known(map.dtype) ? dtype_bits(map.dtype) : 0;
    if (bits < 8 || map.rank < 1 || map.rank > 5) return wrong("a tensor map of rank {} and {} bits", map.rank, bits);
    if (map.swizzle > Swizzle::b128 || map.l2 > L2Promotion::b256) return wrong("a tensor map's swizzle or promotion");
    if (map.offset) TILERT_TRY(check_expr(map.offset, all_));
    for (int i = 0; i < map.rank; ++i) {
      TILERT_TRY(check_expr(map.dims[i], all_));
      if (i > 0) TILERT_TRY(check_expr(map.strides[i], all_));
      if (map.box[i] < 1 || map.box[i] > 256) return wrong("a tensor map's box of {}", map.box[i]);
      if (map.element_strides[i] < 1 || map.element_strides[i] > 8) return wrong("a tensor map's element stride");
    }
    return {};
  }

  const Artifact& artifact_;
  std::vector<int32_t> ranks_;
  BytecodeLimits dims_only_, all_, of_tiles_;
};

}  // namespace

Status verify(const Artifact& artifact) { return Verifier(artifact).run(); }

}  // namespace tilert::runtime
