// Argument checks and the choice of the variant. First what holds for every variant (signature, dims), then each
// variant in the order of loading: the first that takes dims, shapes, strides, alignments and whose guard holds.
#include "runtime/launch_state.h"

namespace tilert::runtime {
namespace {

// Why a variant does not take the launch; of several variants the greatest is reported.
enum class Miss : uint8_t { none, dims, unresolved, null, shape, stride, negative, row, alignment };

struct Mismatch {
  Miss miss = Miss::none;
  int32_t argument = -1;
  int32_t dim = -1;
  int64_t got = 0;
  int64_t wanted = 0;
};

Code check_tensor(const LaunchState& state, const PreparedParam& param, uint32_t index) {
  const tilert_launch_info& info = state.info;
  const tilert_argument& argument = info.arguments[index];
  const auto name = [&]() -> const std::string& { return state.param(index).name; };
  const auto at = static_cast<int32_t>(index);
  const bool described = argument.shape != nullptr || argument.strides != nullptr || argument.ndim != 0;
  if (described && argument.ndim != param.rank) {
    return refuse(info, Code::kShape, at, -1, "'{}' has rank {}, the argument {}", name(), param.rank, argument.ndim);
  }
  if (argument.device_type == TILERT_MEMORY_UNKNOWN) return Code::kOk;
  const Device& device = state.loaded.device();
  struct Place {
    int32_t own, host, managed;
    const char* name;
  };
  constexpr Place kCpu{TILERT_MEMORY_CPU, 0, 0, "cpu"};
  constexpr Place kCuda{TILERT_MEMORY_CUDA, TILERT_MEMORY_CUDA_HOST, TILERT_MEMORY_CUDA_MANAGED, "cuda"};
  constexpr Place kHip{TILERT_MEMORY_ROCM, TILERT_MEMORY_ROCM_HOST, 0, "rocm"};
  const int32_t type = argument.device_type;
  const Place& place = device.is_cpu() ? kCpu : device.is_hip() ? kHip : kCuda;
  const bool here = type == place.own && (device.is_cpu() || argument.device_id == device.facts().ordinal);
  // Both sides reach pinned memory, and managed memory is the GPU's to fetch.
  const bool pinned = type == TILERT_MEMORY_CUDA_HOST || type == TILERT_MEMORY_ROCM_HOST;
  if (here || (device.is_cpu() ? pinned : type == place.host || (place.managed != 0 && type == place.managed))) return Code::kOk;
  const char* kind = "kind ";
  for (const Place& known : {kCpu, kCuda, kHip})
    if (type == known.own) kind = known.name;
  const bool named = type == TILERT_MEMORY_CPU || type == TILERT_MEMORY_CUDA || type == TILERT_MEMORY_ROCM;
  return refuse(info, Code::kInvalidArgument, at, -1, "'{}' lies on device {}{}:{}, the kernel is loaded on {}:{}", name(), kind,
                named ? "" : fmt::format_int(type).c_str(), argument.device_id, place.name, device.facts().ordinal);
}

// Counts, kinds, dtypes, ranks, devices: the same for every variant.
Code check_signature(const LaunchState& state) {
  const tilert_launch_info& info = state.info;
  const auto& params = state.variant->params;
  if (info.argument_count != params.size()) {
    return refuse(info, Code::kInvalidArgument, -1, -1, "{} arguments; the kernel takes {}", info.argument_count,
                  params.size());
  }
  if (info.arguments == nullptr && !params.empty()) {
    return refuse(info, Code::kInvalidArgument, -1, -1, "arguments is NULL; the kernel takes {}", params.size());
  }
  for (uint32_t i = 0; i < info.argument_count; ++i) {
    const tilert_argument& argument = info.arguments[i];
    const PreparedParam& param = params[i];
    if (argument.kind != static_cast<int32_t>(param.kind)) {
      return refuse(info, Code::kInvalidArgument, static_cast<int32_t>(i), -1,
                    "'{}' is a parameter of kind {} (1 tensor, 2 scalar, 3 pointer table), the argument of kind {}",
                    state.param(i).name, static_cast<int>(param.kind), argument.kind);
    }
    if (argument.dtype != static_cast<int32_t>(param.dtype)) {
      return refuse(info, Code::kShape, static_cast<int32_t>(i), -1, "'{}' is {}, the argument {}", state.param(i).name,
                    dtype_text(param.dtype), dtype_text(static_cast<DType>(argument.dtype)));
    }
    if (param.kind == ParamKind::scalar) continue;
    if (const Code code = check_tensor(state, param, i); code != Code::kOk) return code;
  }
  return Code::kOk;
}

// A dim that the caller left open is the size of the first described tensor dim that names it.
Code infer_dims(LaunchState& state) {
  const auto& params = state.variant->params;
  for (uint32_t i = 0; i < params.size(); ++i) {
    const int64_t* const shape = params[i].kind == ParamKind::scalar ? nullptr : state.info.arguments[i].shape;
    if (shape == nullptr) continue;
    for (int d = 0; d < params[i].rank; ++d) {
      const int32_t dim = state.variant->tensor_dims[params[i].first_dim + static_cast<uint32_t>(d)].size.dim;
      if (dim < 0 || state.dims[dim] >= 0) continue;
      if (shape[d] < 0) {
        return refuse(state.info, Code::kShape, static_cast<int32_t>(i), d, "'{}' has size {} in dim {}",
                      state.param(i).name, shape[d], d);
      }
      state.dims[dim] = shape[d];
    }
  }
  return Code::kOk;
}

Code resolve_dims(LaunchState& state) {
  const tilert_launch_info& info = state.info;
  const auto& dims = state.variant->artifact->dims;
  const size_t count = dims.size();
  if (info.dims != nullptr && info.dim_count != count) {
    return refuse(info, Code::kInvalidArgument, -1, -1, "{} dims; the program has {}", info.dim_count, count);
  }
  bool open = info.dims == nullptr && count > 0;
  for (size_t i = 0; info.dims != nullptr && i < count; ++i) {
    if (info.dims[i] < -1) {
      return refuse(info, Code::kShape, -1, static_cast<int32_t>(i), "dim '{}' is {}", dims[i].name, info.dims[i]);
    }
    open |= info.dims[i] < 0;
  }
  state.inputs.dims = open ? state.dims : info.dims;
  if (!open) return Code::kOk;
  for (size_t i = 0; i < count; ++i) state.dims[i] = info.dims != nullptr ? info.dims[i] : -1;
  if (const Code code = infer_dims(state); code != Code::kOk) return code;
  for (size_t i = 0; i < count; ++i) {
    if (state.dims[i] < 0) state.unresolved[state.unresolved_count++] = static_cast<uint16_t>(i);
  }
  return Code::kOk;
}

// Dims that nothing tells take the variant's constants.
bool match_dims(LaunchState& state, const LoadedVariant& variant, Mismatch* mismatch) {
  for (uint32_t i = 0; i < state.unresolved_count; ++i) {
    const uint16_t dim = state.unresolved[i];
    const bool constant = variant.dims[dim].kind == DimKind::constant;
    state.dims[dim] = constant ? variant.dims[dim].first : -1;
    if (constant) continue;
    *mismatch = {Miss::unresolved, -1, dim, 0, 0};
    return false;
  }
  for (size_t i = 0; i < variant.dims.size(); ++i) {
    const Dim& rule = variant.dims[i];
    const int64_t value = state.inputs.dims[i];
    const bool takes = rule.kind == DimKind::dynamic    ? true
                       : rule.kind == DimKind::constant ? value == rule.first
                       : rule.kind == DimKind::range    ? value >= rule.first && value <= rule.last
                                                        : value % rule.first == 0;
    if (takes) continue;
    *mismatch = {Miss::dims, -1, static_cast<int32_t>(i), value, rule.first};
    return false;
  }
  return true;
}

// The stride that expressions read of a dim that is never stepped along: any would do, so it is one that every guard on
// alignment likes.
int64_t free_stride(int64_t dense, bool innermost) {
  const int64_t rounded = (dense & ~(kMaxPointerAlignment - 1)) | kMaxPointerAlignment;  // non-zero, near the dense one
  return innermost ? 1 : rounded;
}

// The sizes of one tensor; true where they are those of the argument's shape.
bool match_shape(const LaunchState& state, const PreparedParam& param, int32_t index, int64_t* sizes, bool* empty,
                 Mismatch* mismatch) {
  const int64_t* const shape = state.info.arguments[index].shape;
  const PreparedDim* const dims = state.variant->tensor_dims.data() + param.first_dim;
  *empty = false;
  for (int d = 0; d < param.rank; ++d) {
    sizes[d] = state.value(dims[d].size);
    *empty |= sizes[d] == 0;
    if (shape == nullptr || shape[d] == sizes[d]) continue;
    *mismatch = {Miss::shape, index, d, shape[d], sizes[d]};
    return false;
  }
  return true;
}

// Strides against the rules, all of them. Dims of one element may have any stride; a tensor without elements any at
// all.
bool match_strides(LaunchState& state, const PreparedParam& param, int32_t index, const int64_t* sizes, bool empty,
                   Mismatch* mismatch) {
  const tilert_argument& argument = state.info.arguments[index];
  const PreparedDim* const dims = state.variant->tensor_dims.data() + param.first_dim;
  int64_t* const kept = state.variant->reads_strides ? state.stride_values + param.first_dim : nullptr;
  if (kept != nullptr) state.strides[index] = kept;
  int64_t dense = 1;  // the stride of a contiguous tensor
  for (int d = param.rank - 1; d >= 0; --d) {
    const bool single = sizes[d] <= 1 || empty;
    const int64_t given = argument.strides != nullptr && !single ? argument.strides[d] : dense;
    const StrideRule rule = dims[d].rule;
    const int64_t wanted = rule == StrideRule::given && !single ? state.value(dims[d].stride) : dense;
    if (given < 0) {
      *mismatch = {Miss::negative, index, d, given, 0};
      return false;
    }
    if (!single && rule != StrideRule::free && given != wanted) {
      *mismatch = {Miss::stride, index, d, given, wanted};
      return false;
    }
    if (param.bits < 8 && !single &&
        (d == param.rank - 1 ? given != 1 : wrapping_product(given, param.bits) % 8 != 0)) {
      *mismatch = {Miss::row, index, d, given, param.bits};
      return false;
    }
    if (kept != nullptr) kept[d] = single ? free_stride(dense, d == param.rank - 1) : given;
    dense = single ? dense : wrapping_product(given, sizes[d]);
    // Where nothing is said of a packed tensor, its rows start on bytes, as the program's do; one that is described
    // without strides is compact.
    if (d == param.rank - 1 && argument.ndim == 0) dense = dtype_round_up(param.dtype, dense);
  }
  return true;
}

// True where the strides are those of a dense tensor, plainly; what it does not see, match_strides decides.
bool is_plainly_dense(const int64_t* strides, const int64_t* sizes, int rank) {
  int64_t dense = 1;
  for (int d = rank - 1; strides != nullptr && d >= 0; --d) {
    if (strides[d] != dense) return false;
    dense = wrapping_product(dense, sizes[d]);
  }
  return true;
}

// Shape, strides and alignment of one tensor. A tensor without elements may have any pointer.
bool match_tensor(LaunchState& state, const PreparedParam& param, int32_t index, Mismatch* mismatch) {
  const tilert_argument& argument = state.info.arguments[index];
  int64_t sizes[kMaxRank];
  bool empty = false;
  if (!match_shape(state, param, index, sizes, &empty, mismatch)) return false;
  const bool plain =
      param.dense && !state.variant->reads_strides && is_plainly_dense(argument.strides, sizes, param.rank);
  if (!plain && !match_strides(state, param, index, sizes, empty, mismatch)) return false;
  // The kernel reads a table whatever its tensors hold.
  if (param.kind == ParamKind::pointer_table ? sizes[0] == 0 : empty) return true;
  if (argument.data == nullptr) {
    *mismatch = {Miss::null, index, -1, 0, 0};
    return false;
  }
  const auto address = reinterpret_cast<uintptr_t>(argument.data);
  if ((address & param.alignment_mask) == 0) return true;
  *mismatch = {Miss::alignment, index, -1, pointer_alignment(argument.data), int64_t{param.alignment_mask} + 1};
  return false;
}

int64_t extended_scalar(uint64_t bits, const PreparedParam& param) {
  const int shift = 64 - param.bits;
  return dtype_is_signed(param.dtype) ? static_cast<int64_t>(bits << shift) >> shift
                                      : static_cast<int64_t>(bits << shift >> shift);
}

bool match(LaunchState& state, const LoadedVariant& variant, Mismatch* mismatch) {
  state.variant = &variant;
  if (!match_dims(state, variant, mismatch)) return false;
  const auto count = static_cast<int32_t>(variant.params.size());
  for (int32_t i = 0; i < count; ++i) {
    const PreparedParam& param = variant.params[i];
    if (variant.reads_alignments) state.pointers[i] = state.info.arguments[i].data;
    if (param.kind == ParamKind::scalar) {
      if (variant.reads_scalars) state.scalars[i] = extended_scalar(state.info.arguments[i].bits, param);
    } else if (!match_tensor(state, param, i, mismatch)) {
      return false;
    }
  }
  if (!variant.has_guard || state.value(variant.guard) != 0) return true;
  *mismatch = {Miss::dims, -1, -1, 0, 0};
  return false;
}

// No variant takes the dims; but do the shapes agree with them, and with each other?
bool find_conflict(LaunchState& state, const LoadedVariant& variant, Mismatch* mismatch) {
  state.variant = &variant;
  for (size_t i = 0; i < variant.params.size(); ++i) {
    const PreparedParam& param = variant.params[i];
    const int64_t* const shape = param.kind == ParamKind::scalar ? nullptr : state.info.arguments[i].shape;
    for (int d = 0; shape != nullptr && d < param.rank; ++d) {
      const int32_t dim = variant.tensor_dims[param.first_dim + static_cast<uint32_t>(d)].size.dim;
      if (dim < 0 || state.inputs.dims[dim] < 0 || state.inputs.dims[dim] == shape[d]) continue;
      *mismatch = {Miss::shape, static_cast<int32_t>(i), d, shape[d], state.inputs.dims[dim]};
      return true;
    }
  }
  return false;
}

// "N % 64 == 0", what a dim must be for the variant.
char* put_rule(char* at, char* end, const Dim& dim) {
  const auto put = [&](auto format, const auto&... values) {
    return std::min(end, fmt::format_to_n(at, end - at, format, dim.name, values...).out);
  };
  switch (dim.kind) {
    case DimKind::constant: return put(FMT_STRING(" {} = {}"), dim.first);
    case DimKind::divisible: return put(FMT_STRING(" {} % {} == 0"), dim.first);
    case DimKind::range: return put(FMT_STRING(" {} in {} to {}"), dim.first, dim.last);
    case DimKind::dynamic: break;
  }
  return at;
}

Code refuse_dims(const LaunchState& state, size_t variants) {
  char given[96], rules[96];
  char *at = given, *rule = rules;
  const std::vector<Dim>& dims = state.loaded.table().variants.back()->dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    at = std::min(given + sizeof given - 1,
                  fmt::format_to_n(at, given + sizeof given - 1 - at, " {}={}", dims[i].name, state.inputs.dims[i]).out);
    rule = put_rule(rule, rules + sizeof rules - 1, dims[i]);
  }
  *at = *rule = '\0';
  return refuse(state.info, Code::kNotReady, -1, -1,
                "none of {} loaded variants takes{}{}{}: tilert_prepare loads others where buckets and declared divisors allow",
                variants, at == given ? " these arguments" : given, rule == rules ? "" : "; the last takes", rules);
}

Code report(const LaunchState& state, const Mismatch& why, size_t variants) {
  const tilert_launch_info& info = state.info;
  const auto& name = [&]() -> const std::string& { return state.param(static_cast<uint32_t>(why.argument)).name; };
  switch (why.miss) {
    case Miss::unresolved:
      return refuse(info, Code::kInvalidArgument, -1, why.dim,
                    "dim '{}' is neither given nor in the shape of an argument",
                    state.variant->dims[static_cast<size_t>(why.dim)].name);
    case Miss::null:
      return refuse(info, Code::kInvalidArgument, why.argument, -1, "'{}' is NULL but has elements", name());
    case Miss::shape:
      return refuse(info, Code::kShape, why.argument, why.dim, "'{}' has size {} in dim {}; the dims say {}", name(),
                    why.got, why.dim, why.wanted);
    case Miss::stride:
      return refuse(info, Code::kShape, why.argument, why.dim, "'{}' has stride {} in dim {}; the kernel takes {}{}",
                    name(), why.got, why.dim, why.wanted,
                    info.arguments[why.argument].strides ? "" : ": an argument without strides is contiguous, describe it by its shape and strides");
    case Miss::negative:
      return refuse(info, Code::kShape, why.argument, why.dim,
                    "'{}' has stride {} in dim {}: strides are 0 or positive", name(), why.got, why.dim);
    case Miss::row:
      return refuse(info, Code::kShape, why.argument, why.dim,
                    "'{}' has stride {} in dim {}: rows of {}-bit elements start on a byte and are dense", name(),
                    why.got, why.dim, why.wanted);
    case Miss::alignment:
      return refuse(info, Code::kAlignment, why.argument, -1,
                    "'{}' is aligned to {} bytes; the loaded kernel needs {} (declare a smaller alignment, or move it)",
                    name(), why.got, why.wanted);
    case Miss::none:
    case Miss::dims: break;
  }
  return refuse_dims(state, variants);
}

}  // namespace

Code resolve(LaunchState& state) {
  const auto& variants = state.loaded.table().variants;
  state.variant = variants.front().get();
  state.inputs.strides = state.strides;
  state.inputs.scalars = state.scalars;
  state.inputs.pointers = state.pointers;
  if (const Code code = check_signature(state); code != Code::kOk) return code;
  if (const Code code = resolve_dims(state); code != Code::kOk) return code;
  Mismatch worst;
  for (const auto& variant : variants) {
    Mismatch mismatch;
    if (match(state, *variant, &mismatch)) return Code::kOk;
    if (mismatch.miss > worst.miss) worst = mismatch;
  }
  if (worst.miss == Miss::dims) find_conflict(state, *variants.front(), &worst);
  return report(state, worst, variants.size());
}

}  // namespace tilert::runtime
