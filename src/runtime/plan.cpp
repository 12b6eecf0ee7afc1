// Costs by the artifact's bytecode, then a queue of blocks by load.
#include "runtime/plan.h"

#include <algorithm>
#include <numeric>
#include <queue>

namespace tilert::runtime {
namespace {

bool takes(const Artifact& artifact, std::span<const int64_t> dims) {
  for (size_t i = 0; i < dims.size(); ++i) {
    const Dim& rule = artifact.dims[i];
    const bool fits = rule.kind == DimKind::dynamic    ? true
                      : rule.kind == DimKind::constant ? dims[i] == rule.first
                      : rule.kind == DimKind::range    ? dims[i] >= rule.first && dims[i] <= rule.last
                                                       : dims[i] % rule.first == 0;
    if (!fits) return false;
  }
  return true;
}

int64_t value(const Artifact& artifact, Expr expr, const int64_t* dims) {
  BytecodeInputs inputs;
  inputs.dims = dims;
  return evaluate(artifact.bytecode.data(), expr, inputs);
}

const Kernel* planned_kernel(const Artifact& artifact) {
  for (const Kernel& kernel : artifact.kernels)
    if (kernel.tile_cost) return &kernel;
  return nullptr;
}

struct Extents {
  int64_t extent[3] = {1, 1, 1}, tiles = 1;
};

Result<Extents> extents_of(const Artifact& artifact, const Kernel& kernel, const int64_t* dims) {
  Extents out;
  for (int d = 0; d < 3; ++d) {
    if (kernel.tiles[d]) out.extent[d] = std::max<int64_t>(value(artifact, kernel.tiles[d], dims), 0);
    if (__builtin_mul_overflow(out.tiles, out.extent[d], &out.tiles) || out.tiles > INT32_MAX)
      return make_error(Code::kShape, "kernel '{}' has more tiles than a launch takes", kernel.entry);
  }
  return out;
}

Status check_count(const Artifact& artifact, std::span<const int64_t> dims) {
  if (dims.size() != artifact.dims.size())
    return make_error(Code::kInvalidArgument, "{} dims; the program has {}", dims.size(), artifact.dims.size());
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] < 0) return make_error(Code::kInvalidArgument, "dim '{}' is {}: a plan is for given sizes", artifact.dims[i].name, dims[i]);
  return {};
}

}  // namespace

TileLists balance(std::span<const int64_t> costs, std::span<const int64_t> groups, int64_t blocks) {
  std::vector<int32_t> sorted(costs.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  const auto at = [](int32_t tile) { return static_cast<size_t>(tile); };
  std::sort(sorted.begin(), sorted.end(), [&](int32_t a, int32_t b) {
    if (groups[at(a)] != groups[at(b)]) return groups[at(a)] < groups[at(b)];
    if (costs[at(a)] != costs[at(b)]) return costs[at(a)] > costs[at(b)];
    return a < b;
  });
  using Load = std::pair<int64_t, int64_t>;  // of a block
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (int64_t b = 0; b < blocks; ++b) loads.emplace(0, b);
  std::vector<std::vector<int32_t>> lists(static_cast<size_t>(blocks));
  for (int32_t tile : sorted) {
    const auto [load, block] = loads.top();
    loads.pop();
    lists[static_cast<size_t>(block)].push_back(tile);
    loads.emplace(static_cast<int64_t>(static_cast<uint64_t>(load) + static_cast<uint64_t>(costs[at(tile)])), block);
  }
  TileLists out;
  for (const auto& list : lists) {
    out.starts.push_back(static_cast<int32_t>(out.order.size()));
    out.order.insert(out.order.end(), list.begin(), list.end());
  }
  out.starts.push_back(static_cast<int32_t>(out.order.size()));
  return out;
}

Result<PlanPlace> plan_place(const Artifact& artifact, std::span<const int64_t> dims) {
  const Kernel* kernel = planned_kernel(artifact);
  if (!kernel) return PlanPlace{};
  std::vector<int64_t> sizes(dims.begin(), dims.end());
  for (size_t i = 0; i < sizes.size() && i < artifact.dims.size(); ++i)
    if (sizes[i] < 0 && artifact.dims[i].kind == DimKind::constant) sizes[i] = artifact.dims[i].first;
  TILERT_TRY(check_count(artifact, sizes));
  TILERT_ASSIGN(const Extents extents, extents_of(artifact, *kernel, sizes.data()));
  const auto zeroed = static_cast<uint64_t>(value(artifact, artifact.workspace.zero_bytes, sizes.data()));
  return PlanPlace{zeroed - kScheduleHeaderBytes, kScheduleHeaderBytes + 4 * (2 * static_cast<uint64_t>(extents.tiles) + 1)};
}

Result<std::vector<int32_t>> plan(const Loaded& loaded, std::span<const int64_t> dims, int64_t max_blocks) {
  for (const auto& variant : loaded.table().variants) {
    const Artifact& artifact = *variant->artifact;
    TILERT_TRY(check_count(artifact, dims));
    if (!takes(artifact, dims)) continue;
    const Kernel* kernel = planned_kernel(artifact);
    if (!kernel) return std::vector<int32_t>{};
    TILERT_ASSIGN(const Extents extents, extents_of(artifact, *kernel, dims.data()));
    std::vector<int64_t> point(dims.begin(), dims.end());
    point.resize(dims.size() + 3);
    std::vector<int64_t> costs, groups;
    for (int64_t tile = 0; tile < extents.tiles; ++tile) {
      int64_t* const index = point.data() + dims.size();
      index[0] = tile % extents.extent[0];
      index[1] = tile / extents.extent[0] % extents.extent[1];
      index[2] = tile / extents.extent[0] / extents.extent[1];
      costs.push_back(value(artifact, kernel->tile_cost, point.data()));
      groups.push_back(kernel->tile_locality ? value(artifact, kernel->tile_locality, point.data()) : 0);
    }
    int64_t blocks = std::min(extents.tiles, kMostPlannedBlocks);
    for (const PreparedKernel& prepared : variant->kernels)
      if (prepared.kernel == kernel && prepared.resident > 0) blocks = std::min(blocks, prepared.resident);
    if (max_blocks > 0) blocks = std::min(blocks, max_blocks);
    const TileLists lists = balance(costs, groups, blocks);
    std::vector<int32_t> words(kScheduleHeaderBytes / 4 + 2 * static_cast<size_t>(extents.tiles) + 1, 0);
    words[0] = static_cast<int32_t>(blocks);
    words[1] = static_cast<int32_t>(extents.tiles);
    std::copy(lists.starts.begin(), lists.starts.end(), words.begin() + kScheduleHeaderBytes / 4);
    std::copy(lists.order.begin(), lists.order.end(), words.end() - extents.tiles);
    return words;
  }
  return make_error(Code::kNotReady, "no loaded variant takes these dims: tilert_prepare");
}

}  // namespace tilert::runtime
