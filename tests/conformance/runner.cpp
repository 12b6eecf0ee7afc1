// Runs scenarios: prepares each program once, launches it with fresh buffers, compares.
#include "conformance/runner.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "support/sha256.h"

namespace tilert::conformance {
namespace {

constexpr size_t kCanary = 256;
constexpr uint8_t kCanaryByte = 0x5c;

// One argument's bytes with a canary on either side, aligned as device allocations are.
struct Buffer {
  Bytes storage;
  size_t offset = 0, bytes = 0;
  uint8_t* data() { return storage.data() + offset; }
  uint8_t* begin() { return data() - kCanary; }
  size_t whole() const { return bytes + 2 * kCanary; }
  bool canaries_stand() {
    return std::all_of(begin(), data(), [](uint8_t b) { return b == kCanaryByte; }) &&
           std::all_of(data() + bytes, data() + bytes + kCanary, [](uint8_t b) { return b == kCanaryByte; });
  }
};

// A table as what it is in memory: numbers of 64 bits.
Argument stored(const Argument& argument) {
  Argument out = argument;
  if (out.table) out.dtype = tl::i64;
  return out;
}

Buffer make_buffer(const Argument& argument) {
  Buffer out;
  const size_t leading = argument.leading * bytes_of(argument.dtype);
  out.bytes = leading + bytes_for(argument.dtype, argument.data.size());
  out.storage.assign(out.bytes + 3 * kCanary, kCanaryByte);
  const size_t misfit = reinterpret_cast<uintptr_t>(out.storage.data()) % kCanary;
  out.offset = kCanary + (misfit ? kCanary - misfit : 0);
  if (argument.poisoned) {
    Bytes bytes(out.bytes);
    for (size_t i = 0; i < argument.data.size(); ++i) put_bits(bytes, i, argument.dtype, poison_of(argument, i));
    if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  } else {
    Bytes bytes(out.bytes - leading);
    for (size_t i = 0; i < argument.data.size(); ++i) put(bytes, i, argument.dtype, argument.data[i]);
    if (leading) std::memset(out.data(), 0, leading);
    if (!bytes.empty()) std::memcpy(out.data() + leading, bytes.data(), bytes.size());
  }
  return out;
}

tilert_argument raw_argument(const Argument& argument, void* place) {
  tilert_argument raw{};
  raw.kind = argument.scalar ? TILERT_ARGUMENT_SCALAR : argument.table ? TILERT_ARGUMENT_POINTER_TABLE : TILERT_ARGUMENT_TENSOR;
  raw.dtype = static_cast<tilert_dtype>(argument.dtype);
  if (argument.scalar) {
    raw.bits = encode(argument.dtype, argument.data[0]);
    return raw;
  }
  raw.data = argument.data.empty() || argument.null ? nullptr : place;
  if (!argument.shape.empty()) raw.shape = argument.shape.data(), raw.ndim = static_cast<int32_t>(argument.shape.size());
  if (!argument.strides.empty()) raw.strides = argument.strides.data();
  return raw;
}

bool holds_all(const std::string& text, const std::vector<std::string>& words) {
  return std::all_of(words.begin(), words.end(), [&](const std::string& w) { return text.find(w) != std::string::npos; });
}

}  // namespace

std::string library_path(const std::string& name) {
  std::error_code ignored;
  const std::string built = TILERT_BINARY_DIR "/lib/" + name;
  if (std::filesystem::exists(built, ignored)) return built;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / name;
  return std::filesystem::exists(beside, ignored) ? beside.string() : std::string();
}

uint64_t poison_of(const Argument& argument, size_t i) {
  if (argument.dtype == tl::f32) return 0xffa5a5a5;
  if (argument.dtype == tl::f16) return 0xfda5;
  if (argument.dtype == tl::bf16) return 0xffa5;
  if (argument.dtype == tl::boolean || i >= argument.want.size()) return 0xa5a5a5a5a5a5a5a5;
  return ~encode(argument.dtype, argument.want[i].value, false);
}

const char* backend_name(Backend backend) {
  static const char* const kNames[] = {"interpreter", "cpu", "cuda", "emulated"};
  return kNames[static_cast<int>(backend)];
}

tl::Result<tl::Context> test_context(const std::string& nvrtc) {
  const std::string plugin = library_path("libtilert_llvm.so");
  tilert_context_options options{};
  options.flags = TILERT_ALLOW_SOURCE;
  options.cache_mode = TILERT_CACHE_MEMORY;
  options.plugin_path = plugin.empty() ? nullptr : plugin.c_str();
  options.nvrtc_path = nvrtc.empty() ? nullptr : nvrtc.c_str();
  return tl::Context::create(options);
}

std::unique_ptr<Machine> Machine::open(Backend backend, std::string& why_not, int ordinal) {
  std::unique_ptr<Machine> out(new Machine);
  out->backend_ = backend;
  if (backend != Backend::interpreter) why_not = out->open_device(ordinal);
  return why_not.empty() ? std::move(out) : nullptr;
}

// Empty, or why there is no device. The emulator is driver and NVRTC in one.
std::string Machine::open_device(int ordinal) {
  const std::string emulator = library_path("libtilert_emulator.so");
  const bool emulated = backend_ == Backend::emulated;
  if (on_device())
    if (std::string why = emulated ? cuda_.open(emulator, ordinal) : cuda_.open(); !why.empty()) return why;
  if (emulated) {
    void* const found = dlsym(dlopen(emulator.c_str(), RTLD_NOW), "tilert_emulator_control");
    emulator_ = reinterpret_cast<const tilert_emulator_table* (*)()>(found)();
  }
  auto context = test_context(emulated ? emulator : std::string());
  if (!context) return context.error().text();
  context_ = *context;
  tilert_device_options options{};
  options.struct_size = sizeof options;
  options.kind = on_device() ? TILERT_DEVICE_CUDA : TILERT_DEVICE_CPU;
  options.ordinal = ordinal;
  options.driver_path = emulated ? emulator.c_str() : nullptr;
  tilert_device* device = nullptr;
  tilert_error* error = nullptr;
  if (const tilert_status status = tilert_device_open(context_.get(), &options, &device, &error)) return tl::Error(status, error).text();
  device_ = tl::Device(device);
  return {};
}

std::vector<std::string> Machine::prepare_ahead(const Scenario& scenario) {
  std::vector<std::string> sources;
  if (!refusal_on(scenario, target()).empty()) return sources;
  for (auto program : scenario.programs) {
    Prepared prepared;
    Outcome ignored;
    if (program && prepare(scenario, *program, prepared, ignored)) note_variants(prepared.kernel, ignored, sources);
    tilert_kernel_release(prepared.kernel);
  }
  return sources;
}

std::string Machine::device_name() const { return device_ ? device_.info().name : "interpreter"; }
std::string Machine::target() const { return device_ ? device_.info().target : ""; }

KernelRequest::KernelRequest(const Scenario& scenario, const char* target) {
  for (const auto& [name, value] : scenario.bind) dims.push_back({name.c_str(), value, nullptr, 0, 0});
  options.struct_size = sizeof options;
  options.dims = dims.data();
  options.dim_count = static_cast<uint32_t>(dims.size());
  options.target = target, options.flags = scenario.debug ? TILERT_KERNEL_DEBUG : 0;
}

std::string each_variant(tilert_context* context, const Scenario& scenario, const tl::Program& program, const char* target, bool compiles,
                         const std::function<std::string(const tl::Variant&)>& look) {
  const KernelRequest request(scenario, target);
  tilert_kernel* kernel = nullptr;
  tilert_error* error = nullptr;
  std::string out;
  tilert_status status = tilert_kernel_create(context, program.get(), &request.options, &kernel, &error);
  if (status == TILERT_OK && compiles) status = tilert_kernel_compile(kernel, &error);
  for (uint32_t i = 0; status == TILERT_OK && out.empty() && i < tilert_kernel_variant_count(kernel); ++i) {
    tilert_variant* raw = nullptr;
    if (status = tilert_kernel_variant(kernel, i, &raw); status != TILERT_OK) break;
    const tl::Variant variant(raw);
    out = look(variant);
  }
  if (status != TILERT_OK) out = (status == TILERT_UNSUPPORTED ? "refused: " : "") + tl::Error(status, error).text();
  tilert_kernel_release(kernel);
  return out;
}

namespace {
std::string_view language_of(Backend backend) {
  switch (backend) {
    case Backend::interpreter: break;
    case Backend::cpu: return "llvm";
    case Backend::cuda:
    case Backend::emulated: return "cuda";
  }
  return "none";
}
}  // namespace

Outcome Machine::run(const Scenario& scenario) {
  Outcome out;
  if (!refusal_on(scenario, target()).empty()) {
    run_refused(scenario, out);
    return out;
  }
  out.apart = (!scenario.language.empty() && scenario.language != language_of(backend_)) ||
              ((scenario.of_variants || scenario.debug) && backend_ == Backend::interpreter);
  if (out.apart) return out;
  std::vector<std::vector<Bytes>> first;
  std::vector<std::string> sources;
  for (size_t p = 0; p < scenario.programs.size() && out.ok; ++p) {
    auto built = scenario.programs[p];
    if (!built) {
      out.fail("does not build: " + built.error().text());
      break;
    }
    Prepared prepared;
    prepared.program = *built;
    if (backend_ != Backend::interpreter) {
      const bool ready = prepare(scenario, prepared.program, prepared, out);
      if (prepared.kernel) note_variants(prepared.kernel, out, sources);
      tilert_kernel_release(prepared.kernel);
      if (!ready) break;
    }
    for (size_t l = 0; l < scenario.launches.size() && out.ok; ++l) {
      std::vector<Bytes> after;
      run_launch(scenario, scenario.launches[l], prepared, out, after);
      if (!out.ok) out.message += " (program " + std::to_string(p) + ", launch " + std::to_string(l) + ")";
      if (p == 0) first.push_back(std::move(after));
      else if (out.ok && scenario.same_bits && after != first[l])
        out.fail("program " + std::to_string(p) + " gives other bits than program 0");
    }
    if (out.ok) check_told(scenario, prepared, out);
    release_workspace(prepared);
  }
  std::string all;
  for (const std::string& source : sources) all += source;
  if (!all.empty()) out.digest = sha256_hex(all);
  return out;
}

void Machine::run_refused(const Scenario& scenario, Outcome& out) {
  for (const auto& program : scenario.programs) {
    auto built = program;
    std::string message;
    if (!built) {
      message = built.error().text();
    } else if (backend_ == Backend::interpreter) {
      continue;  // refused by a back end, not by the language
    } else {
      Outcome refusal;
      Prepared prepared;
      if (prepare(scenario, *built, prepared, refusal)) return out.fail("was not refused");
      tilert_kernel_release(prepared.kernel);
      message = refusal.message;
    }
    if (!holds_all(message, refusal_on(scenario, target()))) return out.fail("is refused with: " + message);
  }
}

bool Machine::prepare(const Scenario& scenario, const tl::Program& program, Prepared& to, Outcome& out) {
  const KernelRequest request(scenario, nullptr);
  tilert_error* error = nullptr;
  if (const tilert_status status = tilert_kernel_create(context_.get(), program.get(), &request.options, &to.kernel, &error)) {
    out.fail("kernel: " + tl::Error(status, error).text());
    return false;
  }
  tilert_loaded* loaded = nullptr;
  if (const tilert_status status = tilert_prepare(to.kernel, device_.get(), nullptr, &loaded, &error)) {
    out.fail("prepare: " + tl::Error(status, error).text());
    return false;
  }
  to.loaded = tl::Loaded(loaded, program);
  for (uint32_t i = 0; i < tilert_kernel_variant_count(to.kernel); ++i)
    if (tilert_variant* variant = nullptr; !tilert_kernel_variant(to.kernel, i, &variant)) to.variants.emplace_back(variant);
  return true;
}

void Machine::note_variants(tilert_kernel* kernel, Outcome& out, std::vector<std::string>& sources) {
  for (uint32_t i = 0; i < tilert_kernel_variant_count(kernel); ++i) {
    tilert_variant* raw = nullptr;
    if (tilert_kernel_variant(kernel, i, &raw)) continue;
    const tl::Variant variant(raw);
    const tilert_variant_info info = variant.info();
    out.registers = std::max(out.registers, info.registers);
    out.spill_bytes = std::max(out.spill_bytes, info.spill_bytes);
    out.compile_ms += static_cast<double>(info.compile_nanoseconds) / 1e6;
    if (auto source = variant.text()) sources.push_back(*source);
  }
}

tilert_status Machine::start(const Launch& launch, Prepared& prepared, const std::vector<void*>& places,
                             std::string& message) {
  std::vector<tilert_argument> raw;
  for (size_t i = 0; i < launch.arguments.size(); ++i)
    if (!launch.arguments[i].behind) raw.push_back(raw_argument(launch.arguments[i], places[i]));
  if (backend_ == Backend::interpreter) {
    tilert_error* error = nullptr;
    const tilert_status status = tilert_program_interpret_diagnosed(prepared.program.get(), raw.data(), static_cast<uint32_t>(raw.size()), launch.dims.data(),
        static_cast<uint32_t>(launch.dims.size()), tl::detail::take_diagnostic, &prepared.interpreted, &error);
    if (status != TILERT_OK) message = tl::Error(status, error).message();
    return status;
  }
  tilert_launch_failure failure{};
  failure.struct_size = sizeof failure;
  tilert_launch_info info{};
  info.struct_size = sizeof info;
  info.loaded = prepared.loaded.get();
  info.arguments = raw.data();
  info.argument_count = static_cast<uint32_t>(raw.size());
  info.dims = launch.dims.data();
  info.dim_count = static_cast<uint32_t>(launch.dims.size());
  info.failure = &failure;
  const tilert_launch_attribute attributes[] = {{TILERT_ATTRIBUTE_PDL, 0, launch.overlaps}, {TILERT_ATTRIBUTE_MAX_BLOCKS, 0, launch.max_blocks}};
  info.attributes = attributes, info.attribute_count = launch.max_blocks ? 2 : 1;
  if (!make_workspace(launch, prepared, info, message)) return TILERT_INTERNAL;
  if (launch.plan != Launch::Plan::none && !make_plan(launch, prepared, info, message)) return TILERT_INTERNAL;
  const tilert_status status = tilert_launch(&info);
  message = failure.message;
  return status;
}

void Machine::run_launch(const Scenario& scenario, const Launch& launch, Prepared& prepared, Outcome& out,
                         std::vector<Bytes>& after) {
  std::vector<Buffer> buffers;
  for (const Argument& a : launch.arguments) buffers.push_back(make_buffer(stored(a)));
  std::vector<Bytes> before;
  for (Buffer& b : buffers) before.emplace_back(b.data(), b.data() + b.bytes);
  std::vector<uint64_t> device(buffers.size(), 0);
  std::vector<void*> places;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (const int same = launch.arguments[i].same_as; same >= 0) {
      places.push_back(places[static_cast<size_t>(same)]);
      continue;
    }
    for (size_t e = 0; e < launch.arguments[i].entries.size(); ++e) {
      const int entry = launch.arguments[i].entries[e];
      const auto address = entry < 0 ? 0 : reinterpret_cast<uint64_t>(places[static_cast<size_t>(entry)]);
      std::memcpy(buffers[i].data() + e * sizeof address, &address, sizeof address);
    }
    if (launch.arguments[i].table) before[i].assign(buffers[i].data(), buffers[i].data() + buffers[i].bytes);
    if (!on_device() || launch.arguments[i].scalar) {
      places.push_back(buffers[i].data());
      continue;
    }
    // The emulator's memory ends where its buffer does, and has canaries of its own.
    const size_t margin = emulator_ ? 0 : kCanary;
    if (int code = cuda_.allocate(buffers[i].bytes + 2 * margin, device[i]);
        code || (code = cuda_.upload(device[i], buffers[i].data() - margin, buffers[i].bytes + 2 * margin)))
      return out.fail("device memory: driver code " + std::to_string(code));
    places.push_back(reinterpret_cast<void*>(device[i] + margin));
  }
  std::string message;
  const tilert_status status = start(launch, prepared, places, message);
  if (emulator_ && status != TILERT_OK && *emulator_->report()) message += "\n" + std::string(emulator_->report());
  if (on_device()) {
    if (const int code = cuda_.synchronize()) return out.fail("the kernel failed: driver code " + std::to_string(code));
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (!device[i]) continue;
      const size_t margin = emulator_ ? 0 : kCanary;
      cuda_.download(buffers[i].data() - margin, device[i], buffers[i].bytes + 2 * margin);
      cuda_.release(device[i]);
    }
  }
  if (scenario.fails != TILERT_OK) {
    if (status != scenario.fails) return out.fail("answers status " + std::to_string(status) + ": " + message);
    if (!holds_all(message, scenario.words)) return out.fail("fails with: " + message);
  } else if (status != TILERT_OK) {
    return out.fail(std::string(tilert_status_name(status)) + ": " + message);
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    after.emplace_back(buffers[i].data(), buffers[i].data() + buffers[i].bytes);
    if (!buffers[i].canaries_stand()) out.fail("wrote beside argument " + std::to_string(i));
    if (launch.arguments[i].same_as < 0) compare(stored(launch.arguments[i]), i, before[i], after[i], out);
    if (launch.arguments[i].table) after[i].clear();  // addresses, which are others in each run
  }
}

}  // namespace tilert::conformance
