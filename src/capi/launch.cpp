// Launch, export, workspace, plans. Diagnostics are in diagnostics.cpp.
#include "runtime/launch.h"
#include "runtime/plan.h"
#include "builder/refusals.h"
#include "capi/guard.h"

using namespace tilert;

namespace {

// Says why in the caller's memory, without allocating.
tilert_status refuse_launch(tilert_launch_failure* failure, tilert_status status, const char* why) noexcept {
  if (!failure || failure->struct_size < sizeof(tilert_launch_failure)) return status;
  failure->status = status;
  failure->argument = failure->dim = -1;
  failure->driver_code = 0;
  std::strncpy(failure->message, why, sizeof failure->message - 1);
  failure->message[sizeof failure->message - 1] = 0;
  return status;
}

// A struct that is not exactly the library's own, in that form. Nothing is allocated on the way to a launch.
template <class T>
const char* normalize(const T* in, T& copy) noexcept {
  const uint32_t size = in->struct_size;
  if (size < sizeof(uint32_t) || size > capi::kMaxStruct) return "struct_size is not sizeof the struct";
  const auto* bytes = reinterpret_cast<const unsigned char*>(in);
  for (size_t i = sizeof(T); i < size; ++i)
    if (bytes[i] != 0) return "a field beyond those that this library knows is not zero";
  copy = T{};
  std::memcpy(&copy, in, size < sizeof(T) ? size : sizeof(T));
  copy.struct_size = sizeof(T);
  return nullptr;
}

// What the runtime takes for granted.
tilert_status check_launch(const tilert_launch_info& info) noexcept {
  tilert_launch_failure* const failure = info.failure;
  if (failure && failure->struct_size < sizeof(tilert_launch_failure)) return TILERT_INVALID_ARGUMENT;
  if (!info.loaded) return refuse_launch(failure, TILERT_INVALID_ARGUMENT, "loaded is NULL: tilert_prepare makes one");
  return TILERT_OK;
}

// Calls f with the launch in the library's form, after the checks.
template <class F>
tilert_status with_launch(const tilert_launch_info* info, F&& f) noexcept {
  if (!info) return TILERT_INVALID_ARGUMENT;
  tilert_launch_info copy;
  const tilert_launch_info* known = info;
  if (info->struct_size != sizeof(tilert_launch_info)) {
    if (normalize(info, copy)) return TILERT_INVALID_ARGUMENT;
    known = &copy;
  }
  const tilert_status status = check_launch(*known);
  if (status != TILERT_OK) return status;
  try {
    return static_cast<tilert_status>(f(*known));
  } catch (...) {
    return refuse_launch(known->failure, TILERT_INTERNAL, "an exception");
  }
}

}  // namespace

tilert_status tilert_launch(const tilert_launch_info* info) noexcept {
  return with_launch(info,
                     [](const tilert_launch_info& known) { return runtime::launch(*known.loaded->loaded, known); });
}

tilert_status tilert_launch_export(const tilert_launch_info* info, tilert_launch_record* record) noexcept {
  if (!record) return TILERT_INVALID_ARGUMENT;
  return with_launch(info, [&](const tilert_launch_info& known) {
    if (record->struct_size < sizeof(tilert_launch_record)) {
      refuse_launch(known.failure, TILERT_INVALID_ARGUMENT, "tilert_launch_record.struct_size is less than its size");
      return Code::kInvalidArgument;
    }
    return runtime::export_launch(*known.loaded->loaded, known, *record);
  });
}

tilert_status tilert_unpin(tilert_loaded* loaded, tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(loaded, "loaded"));
    loaded->loaded->unpin();
    return {};
  });
}

tilert_status tilert_workspace(tilert_variant* variant, const int64_t* max_dims, uint32_t dim_count,
                               tilert_workspace_info* out, tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(variant, "variant"));
    if (dim_count && !max_dims) return make_error(Code::kInvalidArgument, "max_dims is NULL");
    const runtime::ArtifactPtr artifact = variant->variant->artifact();
    if (!artifact) return make_error(Code::kNotReady, "the variant is not compiled: tilert_kernel_compile");
    TILERT_ASSIGN(const runtime::WorkspaceNeed need, runtime::workspace(*artifact, {max_dims, dim_count}));
    TILERT_ASSIGN(const runtime::PlanPlace plan, runtime::plan_place(*artifact, {max_dims, dim_count}));
    return capi::put(out, tilert_workspace_info{0, need.alignment, need.bytes, need.zero_bytes, plan.offset, plan.bytes},
                     "tilert_workspace_info");
  });
}

tilert_status tilert_plan(tilert_loaded* loaded, const int64_t* dims, uint32_t dim_count, uint32_t max_blocks, void* buffer,
                          uint64_t* bytes, tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(loaded, "loaded"));
    if ((dim_count && !dims) || !bytes) return make_error(Code::kInvalidArgument, "dims or bytes is NULL");
    TILERT_ASSIGN(const std::vector<int32_t> words, runtime::plan(*loaded->loaded, {dims, dim_count}, max_blocks));
    const uint64_t room = *bytes;
    *bytes = words.size() * sizeof(int32_t);
    if (!buffer) return {};
    if (room < *bytes) return make_error(Code::kInvalidArgument, "the plan takes {} bytes; the buffer has {}", *bytes, room);
    std::memcpy(buffer, words.data(), *bytes);
    return {};
  });
}

tilert_status tilert_plan_launch(const tilert_launch_info* info) noexcept {
  return with_launch(info,
                     [](const tilert_launch_info& known) { return runtime::launch_planner(*known.loaded->loaded, known); });
}
