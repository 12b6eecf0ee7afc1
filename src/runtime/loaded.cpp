// From artifacts to the tables that a launch walks.
#include "runtime/loaded.h"

#include <algorithm>

#include "runtime/load_module.h"

namespace tilert::runtime {
namespace {

Term make_term(const Artifact& artifact, Expr expr) {
  Term term;
  if (!expr) return term;
  const Instruction& first = artifact.bytecode[expr.begin];
  if (expr.count == 1 && first.op == Op::dim) {
    term.dim = first.a;
  } else if (expr.count == 1 && first.op == Op::constant) {
    term.value = first.value;
  } else {
    term.dim = Term::kGeneral;
    term.value = expr.begin;
    term.count = expr.count;
  }
  return term;
}

PreparedParam prepare_param(const Artifact& artifact, const Param& param, std::vector<PreparedDim>& tensor_dims) {
  PreparedParam out;
  out.kind = param.kind;
  out.dtype = param.dtype;
  out.bits = static_cast<uint8_t>(dtype_bits(param.dtype));
  out.rank = static_cast<uint8_t>(param.dims.size());
  // Of a table its own memory is seen, not what it points to.
  out.alignment_mask = param.kind == ParamKind::scalar ? 0 : param.kind == ParamKind::pointer_table ? 7 : param.alignment - 1;
  out.first_dim = static_cast<uint16_t>(tensor_dims.size());
  out.dense = out.bits >= 8;
  for (const TensorDim& dim : param.dims) {
    out.dense = out.dense && dim.rule == StrideRule::contiguous;
    const Expr stride = dim.rule == StrideRule::given ? dim.stride : Expr{};
    tensor_dims.push_back({make_term(artifact, dim.size), make_term(artifact, stride), dim.rule});
  }
  return out;
}

// CUtensorMapDataType; types of equal width that the copy engine only moves share one.
int32_t element_type(DType type) {
  switch (type) {
    case DType::f16: return 6;
    case DType::f32: return 7;
    case DType::f64: return 8;
    case DType::bf16: return 9;
    case DType::tf32: return 11;
    case DType::int32: return 3;
    case DType::int64: return 5;
    default: break;
  }
  const int bytes = dtype_bytes(type);
  return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 4;
}

PreparedMap prepare_map(const Artifact& artifact, const TensorMapRecipe& recipe) {
  PreparedMap out;
  out.recipe = &recipe;
  out.element_type = element_type(recipe.dtype);
  out.element_bytes = static_cast<uint32_t>(dtype_bytes(recipe.dtype));
  out.offset = make_term(artifact, recipe.offset);
  for (int i = 0; i < recipe.rank; ++i) {
    out.dims[i] = make_term(artifact, recipe.dims[i]);
    if (i > 0) out.strides[i] = make_term(artifact, recipe.strides[i]);
  }
  return out;
}

PreparedKernel prepare_kernel(const Artifact& artifact, const Kernel& kernel) {
  PreparedKernel out;
  out.kernel = &kernel;
  for (int i = 0; i < 3; ++i) out.grid[i] = make_term(artifact, kernel.grid[i]);
  out.work = make_term(artifact, kernel.work);
  out.cluster = kernel.cluster[0] * kernel.cluster[1] * kernel.cluster[2] > 1;
  out.planner = (kernel.attributes & kKernelPlanner) != 0;
  out.persistent = (kernel.attributes & kKernelPersistent) != 0;
  const auto size = [&](Expr expr, uint32_t fixed) {
    if (!expr) return Term{Term::kConstant, 0, static_cast<int64_t>(fixed)};
    out.sized = true;
    return make_term(artifact, expr);
  };
  for (int i = 0; i < 3; ++i) {
    out.threads[i] = size(kernel.thread_exprs[i], kernel.threads[i]);
    out.clusters[i] = size(kernel.cluster_exprs[i], kernel.cluster[i]);
    out.cluster |= static_cast<bool>(kernel.cluster_exprs[i]);
  }
  out.shared = size(kernel.shared_expr, kernel.shared_bytes);
  for (const TensorMapRecipe& recipe : kernel.tensor_maps) out.maps.push_back(prepare_map(artifact, recipe));
  for (const Slot& slot : kernel.slots) {
    const uint32_t alignment = parameter_alignment(slot);
    PreparedSlot prepared{slot.kind, slot.bytes, slot.index,
                          (out.parameter_bytes + alignment - 1) / alignment * alignment,
                          make_term(artifact, slot.expr)};
    out.parameter_bytes = prepared.offset + slot.bytes;
    out.slots.push_back(prepared);
  }
  return out;
}

std::shared_ptr<LoadedVariant> prepare_variant(const ArtifactPtr& artifact) {
  auto variant = std::make_shared<LoadedVariant>();
  static std::atomic<uint64_t> variants{0};
  variant->id = variants.fetch_add(1, std::memory_order_relaxed) + 1;
  variant->artifact = artifact;
  variant->code = artifact->bytecode.data();
  variant->dims = artifact->dims;
  for (const Param& param : artifact->params) {
    variant->params.push_back(prepare_param(*artifact, param, variant->tensor_dims));
  }
  uint32_t maps = 0;
  for (const Kernel& kernel : artifact->kernels) {
    variant->kernels.push_back(prepare_kernel(*artifact, kernel));
    variant->kernels.back().first_map = maps;
    maps += static_cast<uint32_t>(kernel.tensor_maps.size());
  }
  for (const Instruction& instruction : artifact->bytecode) {
    variant->reads_strides |= instruction.op == Op::stride;
    variant->reads_scalars |= instruction.op == Op::scalar;
    variant->reads_alignments |= instruction.op == Op::alignment;
  }
  variant->has_guard = static_cast<bool>(artifact->guard);
  variant->guard = make_term(*artifact, artifact->guard);
  variant->workspace = make_term(*artifact, artifact->workspace.bytes);
  return variant;
}

Status load_module(Device& device, LoadedVariant& variant) {
  if (device.is_cpu()) return load_cpu_module(device, variant);
  return device.is_hip() ? load_hip_module(device, variant) : load_cuda_module(device, variant);
}

}  // namespace

uint32_t parameter_alignment(const Slot& slot) { return slot.kind == SlotKind::tensor_map ? 64 : slot.bytes; }

Result<LoadedPtr> Loaded::make(std::shared_ptr<Device> device, std::span<const ArtifactPtr> variants) {
  if (variants.empty()) return make_error(Code::kInvalidArgument, "a kernel without variants cannot be loaded");
  LoadedPtr loaded(new Loaded(std::move(device)));
  TILERT_TRY(loaded->add(variants));
  return loaded;
}

// In a child of fork there is nothing to mark: the list belongs to the parent's device.
Loaded::~Loaded() {
  const VariantTable* const table = table_.load(std::memory_order_acquire);
  if (table == nullptr) return;
  for (const auto& variant : table->variants) variant->module->released.store(true, std::memory_order_release);
}

Status Loaded::add(std::span<const ArtifactPtr> variants) {
  TILERT_TRY(device_->check_alive());
  const std::lock_guard lock(mutex_);
  auto table = std::make_unique<VariantTable>();
  if (const VariantTable* before = table_.load(std::memory_order_acquire)) table->variants = before->variants;
  table->variants.reserve(table->variants.size() + variants.size());  // what is loaded gets into the table
  const size_t old_count = table->variants.size();
  std::string signature = signature_;
  Status status;
  for (const ArtifactPtr& artifact : variants) {
    if (artifact == nullptr) {
      status = make_error(Code::kInvalidArgument, "a variant to load is NULL");
      break;
    }
    const auto loaded_already = [&](const auto& variant) { return variant->artifact == artifact; };
    if (std::any_of(table->variants.begin(), table->variants.end(), loaded_already)) continue;
    status = verify(*artifact);
    if (!status) break;
    const std::string hash = signature_hash(*artifact);
    if (!signature.empty() && signature != hash) {
      status =
          make_error(Code::kInternal,
                     "variants of one kernel disagree about its parameters; please report it with the dump of both");
      break;
    }
    signature = hash;
    auto variant = prepare_variant(artifact);
    status = load_module(*device_, *variant);
    if (!status) break;
    table->variants.push_back(std::move(variant));
  }
  if (!status) {
    // What was loaded by this call has never been launched; trim unloads it.
    for (size_t i = old_count; i < table->variants.size(); ++i) {
      table->variants[i]->module->released.store(true, std::memory_order_release);
    }
    return status;
  }
  signature_ = std::move(signature);
  tables_.push_back(std::move(table));
  table_.store(tables_.back().get(), std::memory_order_release);
  return {};
}

bool Loaded::pinned() const {
  const auto& variants = table().variants;
  return std::any_of(variants.begin(), variants.end(),
                     [](const auto& variant) { return variant->module->pinned.load(); });
}

void Loaded::unpin() {
  for (const auto& variant : table().variants) variant->module->pinned.store(false, std::memory_order_release);
}

}  // namespace tilert::runtime
