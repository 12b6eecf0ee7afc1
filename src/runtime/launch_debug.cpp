// What TILERT_LAUNCH_DEBUG_POINTERS adds: where each pointer's memory is, and whether written parameters overlap
// others.
#include "runtime/launch_state.h"

namespace tilert::runtime {
namespace {

struct Extent {
  uintptr_t begin = 0;
  uintptr_t end = 0;  // begin == end: no elements, or a scalar
};

Extent extent_of(const LaunchState& state, uint32_t index) {
  const PreparedParam& param = state.variant->params[index];
  const tilert_argument& argument = state.info.arguments[index];
  if (param.kind == ParamKind::scalar) return {};
  const auto begin = reinterpret_cast<uintptr_t>(argument.data);
  if (param.kind == ParamKind::pointer_table)
    return {begin, begin + 8 * static_cast<uint64_t>(state.value(state.variant->tensor_dims[param.first_dim].size))};
  uint64_t last = 0;
  int64_t dense = 1;
  for (int d = param.rank - 1; d >= 0; --d) {
    const int64_t size = state.value(state.variant->tensor_dims[param.first_dim + static_cast<uint32_t>(d)].size);
    if (size == 0) return {};
    const int64_t stride = argument.strides != nullptr ? argument.strides[d] : dense;
    last += static_cast<uint64_t>(size - 1) * static_cast<uint64_t>(stride);
    dense = wrapping_product(dense, size);
  }
  return {begin, begin + ((last + 1) * static_cast<uint64_t>(param.bits) + 7) / 8};
}

Code check_overlap(const LaunchState& state, uint32_t index, const Extent* extents) {
  const Param& param = state.param(index);
  for (uint32_t other = 0; other < index; ++other) {
    const Param& second = state.param(other);
    const bool overlap = extents[index].begin < extents[other].end && extents[other].begin < extents[index].end;
    const bool written = param.access != Access::in || second.access != Access::in;
    if (!overlap || !written || (param.may_alias && second.may_alias)) continue;
    return refuse(state.info, Code::kInvalidArgument, static_cast<int32_t>(index), -1,
                  "'{}' and '{}' overlap and one of them is written: declare both may_alias", second.name, param.name);
  }
  return Code::kOk;
}

Code check_place(const LaunchState& state, uint32_t index) {
  const Device& device = state.loaded.device();
  int ordinal = -1;
  const auto address = reinterpret_cast<uintptr_t>(state.info.arguments[index].data);
  if (device.is_hip() && device.hip()->hipPointerGetAttribute == nullptr) return Code::kOk;
  const int32_t code = device.is_hip() ? device.hip()->hipPointerGetAttribute(&ordinal, kCuPointerDeviceOrdinal, reinterpret_cast<void*>(address))
                                       : device.driver()->cuPointerGetAttribute(&ordinal, kCuPointerDeviceOrdinal, address);
  if (code == kCuSuccess && ordinal == device.facts().ordinal) return Code::kOk;
  return refuse(state.info, Code::kInvalidArgument, static_cast<int32_t>(index), -1,
                "'{}' is {}; the kernel runs on {} device {}", state.param(index).name,
                code != kCuSuccess ? "no memory that the driver knows" : "memory of another device",
                device.is_hip() ? "HIP" : "CUDA", device.facts().ordinal);
}

}  // namespace

Code check_pointers(const LaunchState& state) {
  Extent extents[kMaxParams];
  const auto count = static_cast<uint32_t>(state.variant->params.size());
  for (uint32_t i = 0; i < count; ++i) {
    extents[i] = extent_of(state, i);
    if (extents[i].begin == extents[i].end) continue;
    if (const Code code = check_overlap(state, i, extents); code != Code::kOk) return code;
    if (state.loaded.device().is_cpu()) continue;
    if (const Code code = check_place(state, i); code != Code::kOk) return code;
  }
  return Code::kOk;
}

}  // namespace tilert::runtime
