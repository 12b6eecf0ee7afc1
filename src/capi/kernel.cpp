// Kernels, variants, preparing; the job functions that this version refuses.
#include "builder/refusals.h"
#include "builder/bounds.h"
#include "capi/guard.h"

using namespace tilert;

namespace {

Result<std::vector<ir::Bucket>> buckets_of(const tilert_dim_binding& binding) {
  std::vector<ir::Bucket> out;
  if (binding.bucket_count > 64 || !binding.buckets)
    return make_error(Code::kInvalidArgument, "dim '{}': bucket_count is {}: give up to 64 buckets, and their array",
                      binding.name, binding.bucket_count);
  for (uint32_t i = 0; i < binding.bucket_count; ++i) {
    const tilert_bucket& b = binding.buckets[i];
    if (b.kind == TILERT_BUCKET_RANGE && b.a >= 0 && b.a <= b.b) {
      out.push_back({ir::Bucket::Kind::range, b.a, b.b, 1});
    } else if (b.kind == TILERT_BUCKET_DIVISOR && b.a >= 1 && b.b == 0) {
      out.push_back({ir::Bucket::Kind::divisor, 0, 0, b.a});
    } else {
      return make_error(Code::kInvalidArgument,
                        "dim '{}': bucket {} is neither a range 0 <= a <= b nor a divisor a >= 1 with b 0",
                        binding.name, i);
    }
  }
  return out;
}

Result<jit::DimBinding> binding_of(const ir::Program& program, const tilert_dim_binding& binding) {
  if (!binding.name) return make_error(Code::kInvalidArgument, "a dim binding's name is NULL");
  jit::DimBinding out;
  std::string known;
  bool found = false;
  for (uint32_t d = 0; d < program.dims.size(); ++d) {
    const std::string& name = program.vars[program.dims[d].var].name;
    known += known.empty() ? name : ", " + name;
    if (name != binding.name) continue;
    out.dim = d;
    found = true;
  }
  if (!found)
    return make_error(Code::kInvalidArgument, "the program '{}' has no dim '{}'; it has: {}", program.name,
                      binding.name, known);
  if (binding.bucket_count != 0) {
    TILERT_ASSIGN(out.buckets, buckets_of(binding));
    return out;
  }
  const int64_t divisible = program.dims[out.dim].divisible;
  if (binding.value < 0 || binding.value % divisible != 0)
    return make_error(Code::kInvalidArgument, "dim '{}' is given {}: it is 0 or positive and a multiple of {}",
                      binding.name, binding.value, divisible);
  out.value = binding.value;
  return out;
}

Result<jit::KernelOptions> kernel_options(const ir::Program& program, const tilert_kernel_options& o) {
  jit::KernelOptions out;
  if (o.flags & ~uint32_t{TILERT_KERNEL_DEBUG})
    return make_error(Code::kInvalidArgument, "unknown flags {:#x}", o.flags);
  if (o.dim_count > 256 || (o.dim_count && !o.dims))
    return make_error(Code::kInvalidArgument, "dim_count is {}: give up to 256 bindings, and their array", o.dim_count);
  for (uint32_t i = 0; i < o.dim_count; ++i) {
    TILERT_ASSIGN(jit::DimBinding binding, binding_of(program, o.dims[i]));
    for (const jit::DimBinding& other : out.dims)
      if (other.dim == binding.dim)
        return make_error(Code::kInvalidArgument, "dim '{}' is bound twice", o.dims[i].name);
    out.dims.push_back(std::move(binding));
  }
  out.target = capi::text_or_empty(o.target);
  if (o.device_class) {
    tilert_device_class c;
    TILERT_TRY(capi::take(o.device_class, c, "tilert_device_class"));
    out.device_class =
        DeviceClass{c.multiprocessors, static_cast<int64_t>(c.shared_bytes), static_cast<int64_t>(c.l2_bytes)};
  }
  return out;
}

DeviceClass class_of(const runtime::DeviceFacts& facts) {
  return {facts.multiprocessors, static_cast<int64_t>(facts.shared_bytes), static_cast<int64_t>(facts.l2_bytes)};
}

// The jit kernel for a target; made at the first call. Call with the handle's mutex held.
Result<std::shared_ptr<jit::Kernel>> kernel_for(tilert_kernel& handle, const std::string& target,
                                                const std::optional<DeviceClass>& device_class) {
  jit::KernelOptions options = handle.options;
  options.target = target;
  if (!options.device_class) options.device_class = device_class;
  const std::string key = target + "/" + (options.device_class ? options.device_class->text() : std::string());
  auto& made = handle.kernels[key];
  if (!made) {
    auto kernel = jit::Kernel::create(handle.context, handle.program, options);
    if (!kernel) {
      handle.kernels.erase(key);
      return std::move(kernel).error();
    }
    made = *std::move(kernel);
  }
  return made;
}

// The one that introspection means: of the given target, or the first prepared for.
std::shared_ptr<jit::Kernel> known_kernel(tilert_kernel* handle) {
  const std::lock_guard lock(handle->mutex);
  return handle->kernels.empty() ? nullptr : handle->kernels.begin()->second;
}

}  // namespace

tilert_status tilert_kernel_create(tilert_context* context, tilert_program* program, const tilert_kernel_options* in,
                                   tilert_kernel** out, tilert_error** error) noexcept {
  if (out) *out = nullptr;
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(context, "context"));
    TILERT_TRY(capi::check(program, "program"));
    if (!out) return make_error(Code::kInvalidArgument, "kernel is NULL");
    tilert_kernel_options o;
    TILERT_TRY(capi::take(in, o, "tilert_kernel_options"));
    if (program->has_source && !context->context->options().allow_source)
      return make_error(Code::kSourceRefused,
                        "the program '{}' holds source text: create the context with TILERT_ALLOW_SOURCE "
                        "where it may be trusted",
                        program->program->name);
    auto handle = std::make_unique<tilert_kernel>();
    handle->context = context->context;
    handle->program = program->program;
    TILERT_ASSIGN(handle->options, kernel_options(*program->program, o));
    if (o.flags & TILERT_KERNEL_DEBUG) {
      TILERT_ASSIGN(handle->program, builder::with_bounds_checks(*program->program));
    }
    if (!handle->options.target.empty()) {
      const std::lock_guard lock(handle->mutex);
      TILERT_ASSIGN(const auto made, kernel_for(*handle, handle->options.target, std::nullopt));
    }
    *out = handle.release();
    return {};
  });
}
void tilert_kernel_retain(tilert_kernel* kernel) noexcept { capi::retain(kernel); }
void tilert_kernel_release(tilert_kernel* kernel) noexcept { capi::release(kernel); }

tilert_status tilert_kernel_compile(tilert_kernel* kernel, tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(kernel, "kernel"));
    const auto known = known_kernel(kernel);
    if (!known)
      return make_error(Code::kInvalidArgument,
                        "the kernel has no target: give one when it is created, or prepare it for a device");
    return known->compile();
  });
}

uint32_t tilert_kernel_variant_count(tilert_kernel* kernel) noexcept {
  uint32_t count = 0;
  capi::guard(nullptr, [&]() -> Status {
    TILERT_TRY(capi::check(kernel, "kernel"));
    const auto known = known_kernel(kernel);
    if (known) count = static_cast<uint32_t>(known->variant_count());
    return {};
  });
  return count;
}

tilert_status tilert_kernel_variant(tilert_kernel* kernel, uint32_t index, tilert_variant** out) noexcept {
  if (out) *out = nullptr;
  return capi::guard(nullptr, [&]() -> Status {
    TILERT_TRY(capi::check(kernel, "kernel"));
    if (!out) return make_error(Code::kInvalidArgument, "variant is NULL");
    const auto known = known_kernel(kernel);
    auto variant = known ? known->variant(index) : nullptr;
    if (!variant) return make_error(Code::kInvalidArgument, "there is no variant {}", index);
    auto handle = std::make_unique<tilert_variant>();
    handle->kernel = known;
    handle->variant = std::move(variant);
    *out = handle.release();
    return {};
  });
}
void tilert_variant_retain(tilert_variant* variant) noexcept { capi::retain(variant); }
void tilert_variant_release(tilert_variant* variant) noexcept { capi::release(variant); }

tilert_status tilert_variant_get_info(tilert_variant* variant, tilert_variant_info* out) noexcept {
  return capi::guard(nullptr, [&]() -> Status {
    TILERT_TRY(capi::check(variant, "variant"));
    const jit::Variant::Info& info = variant->variant->info();
    tilert_variant_info c{};
    c.compiled = info.compiled;
    c.target = info.target.c_str();
    c.request_key = info.request_key.c_str();
    c.binary_key = info.binary_key.c_str();
    c.conditions = info.conditions.c_str();
    c.configuration = info.configuration.c_str();
    c.log = info.log.c_str();
    c.compile_nanoseconds = info.compile_nanoseconds;
    c.binary_bytes = info.binary_bytes;
    c.registers = info.registers;
    c.spill_bytes = info.spill_bytes;
    c.threads = info.threads;
    c.shared_bytes = info.shared_bytes;
    return capi::put(out, c, "tilert_variant_info");
  });
}

tilert_status tilert_variant_text(tilert_variant* variant, const char* stage, const char** text, size_t* size,
                                  tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(variant, "variant"));
    if (!text || !size) return make_error(Code::kInvalidArgument, "{} is NULL", text ? "size" : "text");
    const std::string name = stage ? stage : "source";
    const std::lock_guard lock(variant->mutex);
    auto found = variant->texts.find(name);
    if (found == variant->texts.end()) {
      TILERT_ASSIGN(std::string made, variant->variant->text(name));
      found = variant->texts.emplace(name, std::move(made)).first;
    }
    *text = found->second.c_str();
    *size = found->second.size();
    return {};
  });
}

tilert_status tilert_variant_explain(tilert_variant* variant, tilert_explain_format format, const char** text, size_t* size,
                                     tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(variant, "variant"));
    if (!text || !size) return make_error(Code::kInvalidArgument, "{} is NULL", text ? "size" : "text");
    if (format != TILERT_EXPLAIN_TEXT && format != TILERT_EXPLAIN_JSON)
      return make_error(Code::kInvalidArgument, "format {} is neither text nor JSON", format);
    const std::lock_guard lock(variant->mutex);
    TILERT_ASSIGN(std::string made, variant->variant->explain(format == TILERT_EXPLAIN_JSON));
    const std::string& kept = variant->explanations[format] = std::move(made);
    *text = kept.c_str();
    *size = kept.size();
    return {};
  });
}

tilert_status tilert_variant_binary(tilert_variant* variant, const void** data, size_t* size,
                                    tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(variant, "variant"));
    if (!data || !size) return make_error(Code::kInvalidArgument, "{} is NULL", data ? "size" : "data");
    const std::lock_guard lock(variant->mutex);
    if (!variant->artifact) variant->artifact = variant->variant->artifact();
    if (!variant->artifact) return make_error(Code::kNotReady, "the variant is not compiled: tilert_kernel_compile");
    *data = variant->artifact->code.data();
    *size = variant->artifact->code.size();
    return {};
  });
}

tilert_status tilert_prepare(tilert_kernel* kernel, tilert_device* device, const tilert_prepare_options* in,
                             tilert_loaded** out, tilert_error** error) noexcept {
  if (out) *out = nullptr;
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(kernel, "kernel"));
    TILERT_TRY(capi::check(device, "device"));
    if (!out) return make_error(Code::kInvalidArgument, "loaded is NULL");
    tilert_prepare_options o;
    TILERT_TRY(capi::take(in, o, "tilert_prepare_options"));
    if (o.flags) return make_error(Code::kInvalidArgument, "unknown flags {:#x}", o.flags);
    if (o.dims && o.dim_count != kernel->program->dims.size())
      return make_error(Code::kInvalidArgument, "{} dims; the program has {}", o.dim_count,
                        kernel->program->dims.size());
    auto handle = std::make_unique<tilert_loaded>();
    handle->program = kernel->program;
    {
      const std::lock_guard lock(kernel->mutex);
      const bool given = !kernel->options.target.empty();
      std::optional<DeviceClass> device_class;
      if (!given && !device->device->is_cpu()) device_class = class_of(device->device->facts());
      TILERT_ASSIGN(handle->kernel, kernel_for(*kernel, given ? kernel->options.target : device->target, device_class));
    }
    TILERT_ASSIGN(handle->loaded,
                  handle->kernel->prepare(device->device, {o.dims, o.dims ? static_cast<size_t>(o.dim_count) : 0}));
    *out = handle.release();
    return {};
  });
}
void tilert_loaded_retain(tilert_loaded* loaded) noexcept { capi::retain(loaded); }
void tilert_loaded_release(tilert_loaded* loaded) noexcept { capi::release(loaded); }

tilert_status tilert_prepare_submit(tilert_kernel* kernel, tilert_device* device, const tilert_prepare_options*,
                                    tilert_job** job, tilert_error** error) noexcept {
  if (job) *job = nullptr;
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(kernel, "kernel"));
    TILERT_TRY(capi::check(device, "device"));
    return builder::refuse(builder::Refusal::background_compile_);
  });
}

// No function of this version makes a job, so that every job is NULL.
tilert_status tilert_job_poll(tilert_job*) noexcept { return TILERT_INVALID_ARGUMENT; }
tilert_status tilert_job_wait(tilert_job*, uint64_t) noexcept { return TILERT_INVALID_ARGUMENT; }
tilert_status tilert_job_cancel(tilert_job*) noexcept { return TILERT_INVALID_ARGUMENT; }
tilert_status tilert_job_result(tilert_job*, tilert_loaded** loaded, tilert_error** error) noexcept {
  if (loaded) *loaded = nullptr;
  return capi::guard(error, []() -> Status {
    return make_error(Code::kInvalidArgument, "job is NULL: this version makes none, see tilert_prepare_submit");
  });
}
void tilert_job_retain(tilert_job*) noexcept {}
void tilert_job_release(tilert_job*) noexcept {}
