// The three entry points over the launch's parts.
#include "runtime/launch.h"

#include <algorithm>

#include "runtime/launch_state.h"

namespace tilert::runtime {
namespace {

Code check_workspace(const LaunchState& state) {
  const Workspace& recipe = state.variant->artifact->workspace;
  if (!recipe.bytes) return Code::kOk;
  const tilert_launch_info& info = state.info;
  const int64_t bytes = state.value(state.variant->workspace);
  if (bytes <= 0) return Code::kOk;
  if (info.workspace == nullptr || info.workspace_bytes < static_cast<uint64_t>(bytes)) {
    return refuse(info, Code::kInvalidArgument, -1, -1, "the launch needs a workspace of {} bytes; {} were given",
                  bytes, info.workspace == nullptr ? 0 : info.workspace_bytes);
  }
  if (reinterpret_cast<uintptr_t>(info.workspace) % recipe.alignment == 0) return Code::kOk;
  return refuse(info, Code::kAlignment, -1, -1, "the workspace is aligned to {} bytes; the kernel needs {}",
                pointer_alignment(info.workspace), recipe.alignment);
}

Code check(LaunchState& state) {
  const tilert_launch_info& info = state.info;
  if (state.loaded.device().forked()) {
    return refuse(info, Code::kForked, -1, -1, "the kernel was loaded before fork(): the child loads its own");
  }
  if ((info.flags & ~uint32_t{TILERT_LAUNCH_DEBUG_POINTERS}) != 0) {
    return refuse(info, Code::kInvalidArgument, -1, -1, "launch flags {:#x} are not known", info.flags);
  }
  if (reinterpret_cast<uintptr_t>(info.record) % kRecordAlignment != 0 || (info.record == nullptr && info.record_bytes != 0)) {
    return refuse(info, Code::kInvalidArgument, -1, -1, "a launch record is aligned to {} bytes, or NULL with record_bytes 0",
                  kRecordAlignment);
  }
  if (info.attribute_count != 0 && info.attributes == nullptr) {
    return refuse(info, Code::kInvalidArgument, -1, -1, "attributes is NULL, attribute_count {}", info.attribute_count);
  }
  if (const Code code = resolve(state); code != Code::kOk) return code;
  if ((info.flags & TILERT_LAUNCH_DEBUG_POINTERS) != 0) {
    if (const Code code = check_pointers(state); code != Code::kOk) return code;
  }
  return check_workspace(state);
}

}  // namespace

Code launch(const Loaded& loaded, const tilert_launch_info& info) {
  LaunchState state(loaded, info);
  if (const Code code = check(state); code != Code::kOk) return code;
  if (loaded.device().is_cpu()) return launch_cpu(state);
  return loaded.device().is_hip() ? launch_hip(state, false) : launch_cuda(state, false);
}

// A CPU's threads take tiles as they come.
Code launch_planner(const Loaded& loaded, const tilert_launch_info& info) {
  LaunchState state(loaded, info);
  if (const Code code = check(state); code != Code::kOk) return code;
  if (loaded.device().is_cpu()) return Code::kOk;
  return loaded.device().is_hip() ? launch_hip(state, true) : launch_cuda(state, true);
}

Code export_launch(const Loaded& loaded, const tilert_launch_info& info, tilert_launch_record& record) {
  LaunchState state(loaded, info);
  if (const Code code = check(state); code != Code::kOk) return code;
  const auto& kernels = state.variant->kernels;
  // What plans stands behind the program's own kernels.
  record.kernel_count = static_cast<uint32_t>(std::count_if(kernels.begin(), kernels.end(), [](const auto& k) { return !k.planner; }));
  if (record.kernel_index >= record.kernel_count) {
    return refuse(info, Code::kInvalidArgument, -1, -1, "kernel {} of a program of {}", record.kernel_index,
                  record.kernel_count);
  }
  const PreparedKernel& kernel = kernels[record.kernel_index];
  Grid grid;
  if (const Code code = evaluate_grid(state, kernel, &grid); code != Code::kOk) return code;
  state.variant->module->pinned.store(true, std::memory_order_release);
  record.function = kernel.function;
  for (int i = 0; i < 3; ++i) {
    record.grid[i] = static_cast<uint32_t>(grid.extent[i]);
    record.block[i] = grid.threads[i];
    record.cluster[i] = grid.cluster[i];
  }
  record.shared_bytes = grid.shared_bytes;
  record.parameter_count = static_cast<uint32_t>(kernel.slots.size());
  for (uint32_t i = 0; record.parameter_offsets != nullptr && i < kernel.slots.size(); ++i) {
    if (i < record.parameter_offset_count) record.parameter_offsets[i] = kernel.slots[i].offset;
  }
  const uint64_t room = record.parameter_bytes;
  record.parameter_bytes = kernel.parameter_bytes;
  if (record.parameters == nullptr) return Code::kOk;
  const bool aligned = reinterpret_cast<uintptr_t>(record.parameters) % 64 == 0;
  if (room < kernel.parameter_bytes || !aligned) {
    return refuse(info, Code::kInvalidArgument, -1, -1,
                  "the parameters take {} bytes aligned to 64; the buffer has {}{}", kernel.parameter_bytes, room,
                  aligned ? "" : " and is not so aligned");
  }
  return pack_parameters(state, kernel, static_cast<uint8_t*>(record.parameters));
}

Result<WorkspaceNeed> workspace(const Artifact& artifact, std::span<const int64_t> max_dims) {
  if (max_dims.size() != artifact.dims.size()) {
    return make_error(Code::kInvalidArgument, "{} dims; the program has {}", max_dims.size(), artifact.dims.size());
  }
  std::vector<int64_t> dims(max_dims.begin(), max_dims.end());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 && artifact.dims[i].kind == DimKind::constant) dims[i] = artifact.dims[i].first;
    if (dims[i] < 0) return make_error(Code::kInvalidArgument, "dim '{}' has no greatest value", artifact.dims[i].name);
  }
  BytecodeInputs inputs;
  inputs.dims = dims.data();
  const auto bytes = [&](Expr expr) {
    return expr ? static_cast<uint64_t>(std::max<int64_t>(evaluate(artifact.bytecode.data(), expr, inputs), 0)) : 0;
  };
  return WorkspaceNeed{bytes(artifact.workspace.bytes), bytes(artifact.workspace.zero_bytes),
                       artifact.workspace.alignment};
}

}  // namespace tilert::runtime
