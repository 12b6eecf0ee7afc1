// Grid and parameters from the artifact's recipe; TMA descriptors are encoded where the parameters lie.
#include "runtime/launch_state.h"
#include "runtime/plan.h"
#include "target/target.h"

namespace tilert::runtime {
namespace {

constexpr int64_t kMaxGridX = INT32_MAX;
constexpr int64_t kMaxGridYZ = 65535;
constexpr int kTileBytes = 16;          // what the copy engine wants of addresses and strides
constexpr uintptr_t kNoAddress = 4096;  // stands for the address of a tensor without elements; never read through

// What a tensor map is encoded from, besides the variant's own numbers.
struct MapInputs {
  uint64_t variant;
  uint64_t address;
  uint64_t dims[5];
  uint64_t strides[4];
};

// One map in a launch record. Padding is the caller's zeros.
struct alignas(kRecordAlignment) RecordEntry {
  MapInputs inputs;
  alignas(kRecordAlignment) CuTensorMap map;
};
static_assert(sizeof(RecordEntry) == TILERT_RECORD_ENTRY_BYTES);

Code read_inputs(const LaunchState& state, const PreparedMap& map, MapInputs* out) {
  const TensorMapRecipe& recipe = *map.recipe;
  const auto argument = static_cast<int32_t>(recipe.param);
  *out = {};
  out->variant = state.variant->id;
  bool empty = false;
  for (int i = 0; i < recipe.rank; ++i) {
    const int64_t size = state.value(map.dims[i]);
    empty |= size <= 0;
    if (size > kEngineEnd) {
      const int dim = recipe.rank - 1 - i;
      return refuse(state.info, Code::kShape, argument, dim,
                    "'{}' has size {} in dim {}; the copy engine counts to {}: launch on a part of it at a time, or compile with the hint roles off",
                    state.param(recipe.param).name, size, dim, kEngineEnd);
    }
    out->dims[i] = static_cast<uint64_t>(std::max<int64_t>(size, 1));
  }
  for (int i = 1; i < recipe.rank; ++i) {
    const int64_t stride = state.value(map.strides[i]);
    if (stride % kTileBytes != 0 && !empty) {
      return refuse(state.info, Code::kAlignment, argument, i,
                    "'{}': the copy engine needs strides that are multiples of {} bytes, this one is {}",
                    state.param(recipe.param).name, kTileBytes, stride);
    }
    out->strides[i - 1] = empty ? static_cast<uint64_t>(kTileBytes) : static_cast<uint64_t>(stride);
  }
  auto address = reinterpret_cast<uintptr_t>(state.info.arguments[recipe.param].data);
  address += static_cast<uintptr_t>(wrapping_product(state.value(map.offset), map.element_bytes));
  if (empty) address = kNoAddress;
  out->address = address;
  if (address % kTileBytes == 0) return Code::kOk;
  return refuse(state.info, Code::kAlignment, argument, -1,
                "'{}': the copy engine needs an address aligned to {} bytes", state.param(recipe.param).name, kTileBytes);
}

Code encode_map(const LaunchState& state, const PreparedMap& map, const MapInputs& inputs, uint8_t* out) {
  const TensorMapRecipe& recipe = *map.recipe;
  const CuResult code = state.loaded.device().driver()->cuTensorMapEncodeTiled(
      reinterpret_cast<CuTensorMap*>(out), map.element_type, recipe.rank, reinterpret_cast<void*>(inputs.address),
      inputs.dims, inputs.strides, recipe.box, recipe.element_strides, 0, static_cast<int32_t>(recipe.swizzle),
      static_cast<int32_t>(recipe.l2), 0);
  if (code == kCuSuccess) return Code::kOk;
  refuse(state.info, Code::kDriver, static_cast<int32_t>(recipe.param), -1,
         "the driver refuses the tensor map of '{}' (code {})", state.param(recipe.param).name, code);
  if (state.info.failure != nullptr) state.info.failure->driver_code = code;
  return Code::kDriver;
}

// The map, from the caller's record where it stands there.
Code put_map(const LaunchState& state, const PreparedKernel& kernel, uint32_t index, uint8_t* out) {
  MapInputs inputs;
  const PreparedMap& map = kernel.maps[index];
  if (const Code code = read_inputs(state, map, &inputs); code != Code::kOk) return code;
  const uint64_t at = kernel.first_map + index;
  if (state.info.record_bytes / sizeof(RecordEntry) <= at) return encode_map(state, map, inputs, out);
  RecordEntry& entry = static_cast<RecordEntry*>(state.info.record)[at];
  if (std::memcmp(&entry.inputs, &inputs, sizeof inputs) != 0) {
    entry.inputs = {};
    if (const Code code = encode_map(state, map, inputs, reinterpret_cast<uint8_t*>(&entry.map)); code != Code::kOk) return code;
    entry.inputs = inputs;
  }
  std::memcpy(out, &entry.map, sizeof entry.map);
  return Code::kOk;
}

// Stores of a known width each: a copy of a width known only at run time costs more than all the rest.
void store(uint8_t* to, uint64_t value, uint8_t bytes) {
  switch (bytes) {
    case 8: std::memcpy(to, &value, 8); break;
    case 4: std::memcpy(to, &value, 4); break;
    case 2: std::memcpy(to, &value, 2); break;
    default: *to = static_cast<uint8_t>(value); break;
  }
}

// Of a persistent kernel: as many as fit, or as the caller allows, in whole clusters.
int64_t most_blocks(const LaunchState& state, const PreparedKernel& kernel) {
  int64_t most = kernel.kernel->tile_cost ? std::min(kernel.resident, kMostPlannedBlocks) : kernel.resident;
  for (uint32_t i = 0; i < state.info.attribute_count; ++i) {
    const tilert_launch_attribute& attribute = state.info.attributes[i];
    if (attribute.id == TILERT_ATTRIBUTE_MAX_BLOCKS) most = std::min(most, std::max<int64_t>(attribute.value, 1));
  }
  const int64_t cluster = kernel.kernel->cluster[0];
  return std::max(most / cluster, int64_t{1}) * cluster;
}

// What the launch works out of a block, which must be what function and device allow.
Code evaluate_block(const LaunchState& state, const PreparedKernel& kernel, Grid* grid) {
  const int64_t most = kernel.most_threads, in_cluster = kernel.most_in_cluster;
  int64_t threads = 1, blocks = 1;
  for (int i = 0; i < 3; ++i) {
    const int64_t extent = state.value(kernel.threads[i]), cluster = state.value(kernel.clusters[i]);
    if (extent < 1 || extent > most || (threads *= extent) > most)
      return refuse(state.info, Code::kShape, -1, -1, "kernel '{}': {} threads along axis {} of a block; together 1 to {}",
                    kernel.kernel->entry, extent, i, most);
    if (cluster < 1 || cluster > in_cluster || (blocks *= cluster) > in_cluster)
      return refuse(state.info, Code::kShape, -1, -1, "kernel '{}': {} blocks along axis {} of a cluster; together 1 to {}",
                    kernel.kernel->entry, cluster, i, in_cluster);
    if (grid->extent[i] % cluster != 0)
      return refuse(state.info, Code::kShape, -1, -1, "kernel '{}': {} blocks along axis {} of the grid, in clusters of {}",
                    kernel.kernel->entry, grid->extent[i], i, cluster);
    grid->threads[i] = static_cast<uint32_t>(extent);
    grid->cluster[i] = static_cast<uint32_t>(cluster);
  }
  const int64_t shared = state.value(kernel.shared);
  if (shared < 0 || shared > kernel.most_shared)
    return refuse(state.info, Code::kShape, -1, -1, "kernel '{}': {} bytes of shared memory a block; 0 to {}", kernel.kernel->entry,
                  shared, kernel.most_shared);
  grid->shared_bytes = static_cast<uint32_t>(shared);
  return Code::kOk;
}

}  // namespace

Code evaluate_grid(const LaunchState& state, const PreparedKernel& kernel, Grid* grid) {
  const bool cpu = state.loaded.device().is_cpu();
  grid->blocks = 1;
  for (int i = 0; i < 3; ++i) {
    const int64_t extent = std::max<int64_t>(state.value(kernel.grid[i]), 0);
    grid->extent[i] = extent;
    const int64_t limit = cpu || i == 0 ? kMaxGridX : kMaxGridYZ;
    if (extent > limit || __builtin_mul_overflow(grid->blocks, extent, &grid->blocks)) {
      return refuse(state.info, Code::kShape, -1, -1, "kernel '{}': {} blocks along axis {} of the grid; at most {}",
                    kernel.kernel->entry, extent, i, limit);
    }
  }
  if (kernel.persistent) grid->blocks = grid->extent[0] = std::min(grid->blocks, most_blocks(state, kernel));
  if (kernel.sized && grid->blocks > 0) return evaluate_block(state, kernel, grid);
  std::copy_n(kernel.kernel->threads, 3, grid->threads);
  std::copy_n(kernel.kernel->cluster, 3, grid->cluster);
  grid->shared_bytes = kernel.kernel->shared_bytes;
  return Code::kOk;
}

uint64_t slot_value(const LaunchState& state, const PreparedSlot& slot) {
  switch (slot.kind) {
    case SlotKind::pointer: return reinterpret_cast<uintptr_t>(state.info.arguments[slot.index].data);
    case SlotKind::scalar: {
      const int shift = 64 - 8 * slot.bytes;
      return state.info.arguments[slot.index].bits << shift >> shift;
    }
    case SlotKind::workspace:
      return reinterpret_cast<uintptr_t>(state.info.workspace) + static_cast<uint64_t>(state.value(slot.term));
    case SlotKind::blocks: {
      Grid grid;  // checked before
      return evaluate_grid(state, state.variant->kernels[slot.index], &grid) == Code::kOk ? static_cast<uint64_t>(grid.blocks) : 0;
    }
    case SlotKind::expression: {
      const int64_t value = state.value(slot.term);
      return static_cast<uint64_t>(slot.bytes == 4 ? int64_t{static_cast<int32_t>(value)} : value);
    }
    case SlotKind::tensor_map: break;
  }
  return 0;
}

Code pack_parameters(const LaunchState& state, const PreparedKernel& kernel, uint8_t* bytes) {
  for (const PreparedSlot& slot : kernel.slots) {
    if (slot.kind == SlotKind::tensor_map) {
      const Code code = put_map(state, kernel, slot.index, bytes + slot.offset);
      if (code != Code::kOk) return code;
      continue;
    }
    store(bytes + slot.offset, slot_value(state, slot), slot.bytes);
  }
  return Code::kOk;
}

}  // namespace tilert::runtime
