// Contexts, statistics, devices, bundles.
#include "builder/refusals.h"
#include "capi/guard.h"

using namespace tilert;

namespace {

tilert_event_kind kind_of(const jit::Event& event) {
  switch (event.kind) {
    case jit::EventKind::compile_begin: return TILERT_EVENT_COMPILE_BEGIN;
    case jit::EventKind::compile_end: return TILERT_EVENT_COMPILE_END;
    case jit::EventKind::cache: return TILERT_EVENT_CACHE_FAULT;
    case jit::EventKind::sealed_miss: return TILERT_EVENT_CACHE_MISS;
  }
  return TILERT_EVENT_NOTE;
}

Result<jit::ContextOptions> context_options(const tilert_context_options& o) {
  jit::ContextOptions out;
  if (o.flags & ~uint32_t{TILERT_ALLOW_SOURCE})
    return make_error(Code::kInvalidArgument, "unknown flags {:#x}", o.flags);
  if (o.cache_mode < TILERT_CACHE_DEFAULT || o.cache_mode > TILERT_CACHE_READ_ONLY)
    return make_error(Code::kInvalidArgument, "cache_mode {} is none of default, memory, off, read only", o.cache_mode);
  if (o.cache_mode == TILERT_CACHE_READ_ONLY) return builder::refuse(builder::Refusal::cache_read_only_);
  switch (o.isolate) {
    case TILERT_ISOLATE_NEVER: out.isolation = Isolation::never; break;
    case TILERT_ISOLATE_UNTRUSTED: out.isolation = Isolation::untrusted; break;
    case TILERT_ISOLATE_ALWAYS: out.isolation = Isolation::always; break;
    default: return make_error(Code::kInvalidArgument, "isolate is {}: it is one of never, untrusted, always", o.isolate);
  }
  if (o.seal > 1) return make_error(Code::kInvalidArgument, "seal is {}: give 0 or 1", o.seal);
  out.allow_source = (o.flags & TILERT_ALLOW_SOURCE) != 0;
  out.cache_mode = o.cache_mode == TILERT_CACHE_OFF      ? jit::CacheMode::off
                   : o.cache_mode == TILERT_CACHE_MEMORY ? jit::CacheMode::memory_only
                                                         : jit::CacheMode::on;
  out.cache_path = capi::text_or_empty(o.cache_path);
  out.cache_namespace = capi::text_or_empty(o.cache_namespace);
  out.plugin_path = capi::text_or_empty(o.plugin_path);
  out.nvrtc_path = capi::text_or_empty(o.nvrtc_path);
  out.hiprtc_path = capi::text_or_empty(o.hiprtc_path);
  out.helper_path = capi::text_or_empty(o.helper_path);
  for (const auto* path : {&out.plugin_path, &out.nvrtc_path, &out.hiprtc_path, &out.helper_path})
    if (!path->empty() && path->front() != '/')
      return make_error(Code::kInvalidArgument, "'{}' is not an absolute path", *path);
  out.seal = o.seal != 0;
  out.deadline_ms = o.compile_timeout / 1000000 + (o.compile_timeout % 1000000 != 0);
  if (o.on_event) {
    out.on_event = [callback = o.on_event, user = o.on_event_user](const jit::Event& e) {
      const tilert_event event{sizeof(tilert_event),
                               kind_of(e),
                               static_cast<tilert_status>(e.code),
                               0,
                               e.program.c_str(),
                               e.target.c_str(),
                               e.key.c_str(),
                               e.message.c_str(),
                               e.nanoseconds};
      callback(user, &event);
    };
  }
  return out;
}

Result<runtime::DeviceOptions> device_options(const tilert_device_options& o) {
  runtime::DeviceOptions out;
  if (o.kind < TILERT_DEVICE_CPU || o.kind > TILERT_DEVICE_HIP)
    return make_error(Code::kInvalidArgument, "kind {} is none of CPU, CUDA, HIP", o.kind);
  if (o.binding < TILERT_BIND_PRIMARY || o.binding > TILERT_BIND_GIVEN)
    return make_error(Code::kInvalidArgument, "binding {} is none of primary, current, given", o.binding);
  if (o.binding == TILERT_BIND_GIVEN && !o.native)
    return make_error(Code::kInvalidArgument, "binding is given, and native is NULL: give a CUcontext");
  out.kind = static_cast<runtime::DeviceKind>(o.kind);
  out.binding = static_cast<runtime::Binding>(o.binding);
  out.ordinal = o.ordinal;
  if (o.uuid) {
    out.uuid.emplace();
    std::memcpy(out.uuid->data(), o.uuid, 16);
  }
  out.native = o.native;
  out.driver_path = capi::text_or_empty(o.driver_path);
  if (o.executor) {
    if (!o.executor->parallel_for) return make_error(Code::kInvalidArgument, "executor.parallel_for is NULL");
    out.executor = *o.executor;
  }
  out.threads = o.threads;
  return out;
}

}  // namespace

tilert_status tilert_context_create(const tilert_context_options* in, tilert_context** out,
                                    tilert_error** error) noexcept {
  if (out) *out = nullptr;
  return capi::guard(error, [&]() -> Status {
    if (!out) return make_error(Code::kInvalidArgument, "context is NULL");
    tilert_context_options o;
    TILERT_TRY(capi::take(in, o, "tilert_context_options"));
    TILERT_ASSIGN(jit::ContextOptions options, context_options(o));
    TILERT_ASSIGN(auto context, jit::Context::create(std::move(options)));
    auto handle = std::make_unique<tilert_context>();
    handle->context = std::move(context);
    *out = handle.release();
    return {};
  });
}
void tilert_context_retain(tilert_context* context) noexcept { capi::retain(context); }
void tilert_context_release(tilert_context* context) noexcept { capi::release(context); }

tilert_status tilert_context_seal(tilert_context* context) noexcept {
  return capi::guard(nullptr, [&]() -> Status {
    TILERT_TRY(capi::check(context, "context"));
    context->context->seal();
    return {};
  });
}

tilert_status tilert_context_stats(tilert_context* context, tilert_stats* out) noexcept {
  return capi::guard(nullptr, [&]() -> Status {
    TILERT_TRY(capi::check(context, "context"));
    const jit::Stats s = context->context->stats();
    tilert_stats stats{};
    stats.memory_hits = s.memory_hits;
    stats.disk_hits = s.disk_hits;
    stats.misses = s.misses;
    stats.compiles = s.compiles;
    stats.compile_failures = s.compile_failures;
    stats.compile_nanoseconds = s.compile_nanoseconds;
    stats.puts = s.puts;
    stats.put_bytes = s.put_bytes;
    stats.cache_faults = s.cache_faults;
    stats.sealed_misses = s.sealed_misses;
    stats.loads = s.loads;
    return capi::put(out, stats, "tilert_stats");
  });
}

tilert_status tilert_commit(tilert_context* context, tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(context, "context"));
    return builder::refuse(builder::Refusal::commit_);
  });
}

tilert_status tilert_bundle_write(tilert_context* context, tilert_kernel* const*, uint32_t, const char*,
                                  tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(context, "context"));
    return builder::refuse(builder::Refusal::bundle_);
  });
}
tilert_status tilert_bundle_load(tilert_context* context, const char*, uint32_t, tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(context, "context"));
    return builder::refuse(builder::Refusal::bundle_);
  });
}

tilert_status tilert_device_open(tilert_context* context, const tilert_device_options* in, tilert_device** out,
                                 tilert_error** error) noexcept {
  if (out) *out = nullptr;
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(context, "context"));
    if (!in || !out) return make_error(Code::kInvalidArgument, "{} is NULL", in ? "device" : "options");
    tilert_device_options o;
    TILERT_TRY(capi::take(in, o, "tilert_device_options"));
    TILERT_ASSIGN(runtime::DeviceOptions options, device_options(o));
    options.plugin_path = context->context->options().plugin_path;
    auto handle = std::make_unique<tilert_device>();
    TILERT_ASSIGN(handle->device, runtime::Device::open(std::move(options)));
    handle->context = context->context;
    handle->target = handle->device->is_cpu() ? native_cpu_text() : handle->device->facts().target;
    *out = handle.release();
    return {};
  });
}
void tilert_device_retain(tilert_device* device) noexcept { capi::retain(device); }
void tilert_device_release(tilert_device* device) noexcept { capi::release(device); }

tilert_status tilert_device_get_info(tilert_device* device, tilert_device_info* out) noexcept {
  return capi::guard(nullptr, [&]() -> Status {
    TILERT_TRY(capi::check(device, "device"));
    const runtime::DeviceFacts& facts = device->device->facts();
    tilert_device_info info{};
    info.kind = device->device->is_cpu() ? TILERT_DEVICE_CPU : device->device->is_hip() ? TILERT_DEVICE_HIP : TILERT_DEVICE_CUDA;
    info.name = facts.name.c_str();
    info.target = device->target.c_str();
    info.driver_version = static_cast<uint32_t>(facts.driver_version);
    info.ordinal = facts.ordinal;
    info.device_class = {sizeof(tilert_device_class), facts.multiprocessors, facts.shared_bytes, facts.l2_bytes};
    return capi::put(out, info, "tilert_device_info");
  });
}

tilert_status tilert_trim(tilert_device* device, uint32_t* unloaded, tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(device, "device"));
    TILERT_ASSIGN(const uint32_t count, device->device->trim());
    if (unloaded) *unloaded = count;
    return {};
  });
}
