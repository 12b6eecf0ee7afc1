// The host side of the C++ interface: contexts, devices, kernels, launches. Use through tilert.hpp.
#ifndef TILERT_HOST_HPP_
#define TILERT_HOST_HPP_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tilert.h"
#include "tilert/result.hpp"
#include "tilert/values.hpp"

namespace tl {

class Program : public Handle<tilert_program, tilert_program_retain, tilert_program_release> {
 public:
  using Handle::Handle;
  static Result<Program> parse(std::string_view text, const char* name = nullptr, uint32_t flags = 0) {
    tilert_program* program = nullptr;
    tilert_error* error = nullptr;
    return detail::result<Program>(tilert_program_parse(text.data(), text.size(), name, flags, &program, &error),
                                   program, error);
  }
  Result<std::string> text() const {
    const char* text = nullptr;
    size_t size = 0;
    tilert_error* error = nullptr;
    const tilert_status status = tilert_program_text(get(), &text, &size, &error);
    if (status != TILERT_OK) return Error(status, error);
    return std::string(text, size);
  }
};

class Variant : public Handle<tilert_variant, tilert_variant_retain, tilert_variant_release> {
 public:
  using Handle::Handle;
  tilert_variant_info info() const {
    tilert_variant_info info{};
    info.struct_size = sizeof info;
    tilert_variant_get_info(get(), &info);
    return info;
  }
  Result<std::string> text(const char* stage = nullptr) const {
    const char* text = nullptr;
    size_t size = 0;
    tilert_error* error = nullptr;
    const tilert_status status = tilert_variant_text(get(), stage, &text, &size, &error);
    if (status != TILERT_OK) return Error(status, error);
    return std::string(text, size);
  }
  // How the variant was made, for people; TILERT_EXPLAIN_JSON: for tools.
  Result<std::string> explain(tilert_explain_format format = TILERT_EXPLAIN_TEXT) const {
    const char* text = nullptr;
    size_t size = 0;
    tilert_error* error = nullptr;
    const tilert_status status = tilert_variant_explain(get(), format, &text, &size, &error);
    if (status != TILERT_OK) return Error(status, error);
    return std::string(text, size);
  }
  // What a launch needs with dims up to these, by index of declaration (-1: of a dim that has its value).
  Result<tilert_workspace_info> workspace(const std::vector<int64_t>& max_dims) const {
    tilert_workspace_info info{};
    info.struct_size = sizeof info;
    tilert_error* error = nullptr;
    const tilert_status status = tilert_workspace(get(), max_dims.data(), static_cast<uint32_t>(max_dims.size()), &info, &error);
    if (status != TILERT_OK) return Error(status, error);
    return info;
  }
};

class Device : public Handle<tilert_device, tilert_device_retain, tilert_device_release> {
 public:
  using Handle::Handle;
  tilert_device_info info() const {
    tilert_device_info info{};
    info.struct_size = sizeof info;
    tilert_device_get_info(get(), &info);
    return info;
  }
  Result<uint32_t> trim() const {
    uint32_t count = 0;
    tilert_error* error = nullptr;
    const tilert_status status = tilert_trim(get(), &count, &error);
    if (status != TILERT_OK) return Error(status, error);
    return count;
  }
};

// A launch argument: the address of a tensor or of a table of pointers (dtype and rank are the parameter's), a described one,
// or a scalar of the parameter's dtype.
class Argument {
 public:
  template <class T>
  Argument(T* data) {  // a T** is a table of pointers
    raw_.kind = std::is_pointer<T>::value ? TILERT_ARGUMENT_POINTER_TABLE : TILERT_ARGUMENT_TENSOR;
    raw_.data = const_cast<void*>(static_cast<const void*>(data));
  }
  Argument(std::nullptr_t) { raw_.kind = TILERT_ARGUMENT_TENSOR; }
  Argument(const tilert_argument& raw) : raw_(raw) {}
  Argument(float value) { scalar(TILERT_F32, value); }
  Argument(int32_t value) { scalar(TILERT_INT32, value); }
  Argument(int64_t value) { scalar(TILERT_INT64, value); }
  Argument(bool value) { scalar(TILERT_BOOL, value); }
  // The address of a table, of whatever type: &pointers[0], or device memory.
  static Argument pointer_table(const void* data) {
    Argument out(data);
    out.raw_.kind = TILERT_ARGUMENT_POINTER_TABLE;
    return out;
  }
  static Argument scalar_bits(DType dtype, uint64_t bits) {
    Argument out(nullptr);
    out.scalar(static_cast<tilert_dtype>(dtype), bits);
    return out;
  }
  const tilert_argument& raw() const { return raw_; }

 private:
  template <class T>
  void scalar(tilert_dtype dtype, T value) {
    raw_.kind = TILERT_ARGUMENT_SCALAR;
    raw_.dtype = dtype;
    std::memcpy(&raw_.bits, &value, sizeof value);
  }
  tilert_argument raw_{};
};

// The size of one dim at launch, by its handle or its index of declaration; what is not named follows from the shapes.
struct DimValue {
  uint32_t ordinal;
  int64_t value;
  DimValue(const Dim& dim, int64_t v) : ordinal(dim.ordinal()), value(v) {}
  DimValue(uint32_t index, int64_t v) : ordinal(index), value(v) {}
};

namespace detail {
// Launch arguments and dims in their C form, on the stack.
struct Packed {
  static constexpr size_t kMax = 64;
  tilert_argument arguments[kMax];
  int64_t dims[kMax];
  uint32_t count = 0, dim_count = 0;
  // Whether they fit and name dims that exist. A dtype that an argument leaves open is the parameter's.
  bool pack(std::initializer_list<Argument> values, std::initializer_list<DimValue> sizes, uint32_t program_dims,
            const std::vector<tilert_dtype>& dtypes) {
    if (values.size() > kMax || program_dims > kMax) return false;
    for (const Argument& a : values) {
      arguments[count] = a.raw();
      if (arguments[count].dtype == 0 && count < dtypes.size()) arguments[count].dtype = dtypes[count];
      ++count;
    }
    dim_count = program_dims;
    for (uint32_t i = 0; i < dim_count; ++i) dims[i] = -1;
    for (const DimValue& d : sizes) {
      if (d.ordinal >= dim_count) return false;
      dims[d.ordinal] = d.value;
    }
    return true;
  }
};
inline std::vector<tilert_dtype> dtypes_of(const Program& program) {
  std::vector<tilert_dtype> out;
  for (uint32_t i = 0; i < tilert_program_parameter_count(program.get()); ++i) {
    tilert_parameter_info info{};
    info.struct_size = sizeof info;
    tilert_program_parameter(program.get(), i, &info);
    out.push_back(info.dtype);
  }
  return out;
}
}  // namespace detail

// Runs the program on host memory with the reference interpreter.
inline Status try_interpret(const Program& program, std::initializer_list<Argument> arguments,
                            std::initializer_list<DimValue> dims = {}) {
  detail::Packed packed;
  if (!packed.pack(arguments, dims, tilert_program_dim_count(program.get()), detail::dtypes_of(program)))
    return Error(TILERT_INVALID_ARGUMENT, std::string("too many arguments, or a dim that is not there"));
  tilert_error* error = nullptr;
  const tilert_status status =
      tilert_program_interpret(program.get(), packed.arguments, packed.count, packed.dims, packed.dim_count, &error);
  return detail::status(status, error);
}
#if TL_EXCEPTIONS
inline void interpret(const Program& program, std::initializer_list<Argument> arguments,
                      std::initializer_list<DimValue> dims = {}) {
  try_interpret(program, arguments, dims).value();
}
#endif

struct LaunchOptions {
  void* workspace = nullptr;
  uint64_t workspace_bytes = 0;
  const tilert_launch_attribute* attributes = nullptr;
  uint32_t attribute_count = 0;
  uint32_t flags = 0;
  void* record = nullptr;  // a launch record: zeroed once, aligned to 64, TILERT_RECORD_ENTRY_BYTES for each tensor map
  uint64_t record_bytes = 0;
};

class Loaded : public Handle<tilert_loaded, tilert_loaded_retain, tilert_loaded_release> {
 public:
  Loaded() = default;
  Loaded(tilert_loaded* owned, const Program& program)
      : Handle(owned), dims_(tilert_program_dim_count(program.get())), dtypes_(detail::dtypes_of(program)) {}

  // Never compiles, loads, allocates or synchronizes. Takes at most 64 arguments and 64 dims: call tilert_launch itself
  // for more.
  tilert_status try_launch(void* stream, std::initializer_list<Argument> arguments,
                           std::initializer_list<DimValue> dims = {}, const LaunchOptions& options = {},
                           tilert_launch_failure* failure = nullptr) const {
    detail::Packed packed;
    if (!packed.pack(arguments, dims, dims_, dtypes_)) return TILERT_INVALID_ARGUMENT;
    tilert_launch_info info{};
    info.struct_size = sizeof info;
    info.flags = options.flags;
    info.loaded = get();
    info.stream = stream;
    info.arguments = packed.arguments;
    info.argument_count = packed.count;
    info.dims = packed.dims;
    info.dim_count = dims_;
    info.workspace = options.workspace;
    info.workspace_bytes = options.workspace_bytes;
    info.attributes = options.attributes;
    info.attribute_count = options.attribute_count;
    info.record = options.record;
    info.record_bytes = options.record_bytes;
    info.failure = failure;
    return tilert_launch(&info);
  }
#if TL_EXCEPTIONS
  void launch(void* stream, std::initializer_list<Argument> arguments, std::initializer_list<DimValue> dims = {},
              const LaunchOptions& options = {}) const {
    tilert_launch_failure failure{};
    failure.struct_size = sizeof failure;
    const tilert_status status = try_launch(stream, arguments, dims, options, &failure);
    if (status != TILERT_OK)
      throw Exception(
          Error(status, failure.message[0] ? failure.message : "too many arguments, or a dim that is not there"));
  }
#endif

 private:
  uint32_t dims_ = 0;
  std::vector<tilert_dtype> dtypes_;
};

class Kernel : public Handle<tilert_kernel, tilert_kernel_retain, tilert_kernel_release> {
 public:
  Kernel() = default;
  Kernel(tilert_kernel* owned, Program program) : Handle(owned), program_(std::move(program)) {}
  Status try_compile() const {
    tilert_error* error = nullptr;
    return detail::status(tilert_kernel_compile(get(), &error), error);
  }
  Result<Loaded> try_prepare(const Device& device) const {
    tilert_loaded* loaded = nullptr;
    tilert_error* error = nullptr;
    const tilert_status status = tilert_prepare(get(), device.get(), nullptr, &loaded, &error);
    if (status != TILERT_OK) return Error(status, error);
    return Loaded(loaded, program_);
  }
  uint32_t variant_count() const { return tilert_kernel_variant_count(get()); }
  Variant variant(uint32_t i) const {
    tilert_variant* variant = nullptr;
    tilert_kernel_variant(get(), i, &variant);
    return Variant(variant);
  }
#if TL_EXCEPTIONS
  void compile() const { try_compile().value(); }
  Loaded prepare(const Device& device) const { return try_prepare(device).value(); }
#endif

 private:
  Program program_;
};

// A dim given a value when compiled.
struct Bind {
  const char* name;
  int64_t value;
};

class Context : public Handle<tilert_context, tilert_context_retain, tilert_context_release> {
 public:
  using Handle::Handle;
  static Result<Context> create(tilert_context_options options = {}) {
    options.struct_size = sizeof options;
    tilert_context* context = nullptr;
    tilert_error* error = nullptr;
    return detail::result<Context>(tilert_context_create(&options, &context, &error), context, error);
  }
  // target empty: that of the device prepared for.
  Result<Kernel> try_kernel(const Program& program, std::string_view target = {},
                            std::initializer_list<Bind> dims = {}) const {
    const std::string name(target);
    std::vector<tilert_dim_binding> bindings;
    for (const Bind& b : dims) bindings.push_back({b.name, b.value, nullptr, 0, 0});
    tilert_kernel_options options{};
    options.struct_size = sizeof options;
    options.target = name.empty() ? nullptr : name.c_str();
    options.dims = bindings.data();
    options.dim_count = static_cast<uint32_t>(bindings.size());
    tilert_kernel* kernel = nullptr;
    tilert_error* error = nullptr;
    const tilert_status status = tilert_kernel_create(get(), program.get(), &options, &kernel, &error);
    if (status != TILERT_OK) return Error(status, error);
    return Kernel(kernel, program);
  }
  Result<Device> try_device(tilert_device_options options) const {
    options.struct_size = sizeof options;
    tilert_device* device = nullptr;
    tilert_error* error = nullptr;
    return detail::result<Device>(tilert_device_open(get(), &options, &device, &error), device, error);
  }
  Result<Device> try_cpu() const { return try_device(device_options(TILERT_DEVICE_CPU, TILERT_BIND_PRIMARY, 0)); }
  Result<Device> try_cuda(int32_t ordinal = 0) const {
    return try_device(device_options(TILERT_DEVICE_CUDA, TILERT_BIND_PRIMARY, ordinal));
  }
  Result<Device> try_current() const { return try_device(device_options(TILERT_DEVICE_CUDA, TILERT_BIND_CURRENT, 0)); }
  void seal() const { tilert_context_seal(get()); }
  tilert_stats stats() const {
    tilert_stats stats{};
    stats.struct_size = sizeof stats;
    tilert_context_stats(get(), &stats);
    return stats;
  }
#if TL_EXCEPTIONS
  Context() : Context(create().value()) {}
  explicit Context(const tilert_context_options& options) : Context(create(options).value()) {}
  Kernel kernel(const Program& program, std::string_view target = {}, std::initializer_list<Bind> dims = {}) const {
    return try_kernel(program, target, dims).value();
  }
  Device cpu() const { return try_cpu().value(); }
  Device cuda(int32_t ordinal = 0) const { return try_cuda(ordinal).value(); }
  Device current() const { return try_current().value(); }
#else
  Context() = default;
#endif

 private:
  static tilert_device_options device_options(tilert_device_kind kind, tilert_binding binding, int32_t ordinal) {
    tilert_device_options options{};
    options.kind = kind;
    options.binding = binding;
    options.ordinal = ordinal;
    return options;
  }
};

inline std::string_view target(std::string_view name) { return name; }

}  // namespace tl

#endif  // TILERT_HOST_HPP_
