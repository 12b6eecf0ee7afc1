// tilert_emulate FILE.tir: runs a program on an emulated GPU under several schedules, on small whole numbers, and says
// what went wrong where: faults of the generated kernel, races, outcomes that differ between schedules or from the
// interpreter's.
//   --target sm_90a     sm_80, sm_86, sm_89, sm_90a
//   --dim NAME=VALUE    a dim's value; others get 136
//   --schedule LIST     schedules separated by ';' ("greedy,backward,copies=early"), or usual, or all
//   --races             marks every access as well
//   --seed N            of the inputs
//   --source            prints the kernel's text first
#include <CLI/CLI.hpp>
#include <dlfcn.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>

#include "capi/handles.h"
#include "emulator/core/schedule.h"
#include "emulator/driver/control.h"
#include "ir/evaluate.h"
#include "ir/interpreter.h"
#include "tilert.hpp"

extern "C" {
int cuMemAlloc_v2(uint64_t* address, size_t bytes);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxSetCurrent(void* context);
}

namespace {

using namespace tilert;

struct Options {
  std::string file, target = "sm_90a", schedule = "usual";
  std::vector<std::string> dims;
  bool races = false, source = false;
  uint64_t seed = 1;
};

// One parameter's place on the host and, of a tensor, on the emulated device.
struct Tensor {
  const ir::Buffer* buffer = nullptr;
  std::vector<int64_t> shape, strides;
  std::vector<uint8_t> host;  // before; then what the interpreter leaves
  uint8_t* device = nullptr;
  uint64_t scalar = 0;
};

std::string emulator_path() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(&tilert_emulator_control), &info);
  char* const path = realpath(info.dli_fname, nullptr);
  std::string out = path ? path : "";
  std::free(path);
  return out;
}

class Run {
 public:
  explicit Run(const Options& options) : options_(options) {}

  int run() {
    read();
    open();
    make_arguments();
    const std::string fault = launch();
    if (!fault.empty()) return std::cout << fault << "\n", 1;
    return compare();
  }

 private:
  void read() {
    std::ifstream file(options_.file, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read '" + options_.file + "'");
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    program_ = tl::Program::parse(text, options_.file.c_str(), TILERT_ALLOW_SOURCE).value();
    const ir::Program& ir = *program_.get()->program;
    for (const ir::Dim& d : ir.dims) dims_.push_back(d.value ? *d.value : 136);
    for (const std::string& text_of : options_.dims) {
      const size_t at = text_of.find('=');
      size_t found = ir.dims.size();
      for (size_t i = 0; i < ir.dims.size(); ++i)
        if (at != std::string::npos && ir.vars[ir.dims[i].var].name == text_of.substr(0, at)) found = i;
      if (found == ir.dims.size()) throw std::runtime_error("--dim " + text_of + ": the program has no such dim; write NAME=VALUE");
      dims_[found] = std::stoll(text_of.substr(at + 1));
    }
  }

  void open() {
    const tilert_emulator_table& emulator = *tilert_emulator_control();
    std::string list = options_.schedule;
    if (list == "usual" || list == "all") {
      std::string texts;
      for (const emulator::Schedule& s : list == "all" ? emulator::all_schedules() : emulator::usual_schedules()) texts += s.text() + ";";
      list = texts;
    }
    if (!emulator.set_schedules(list.c_str())) throw std::runtime_error("--schedule " + options_.schedule + ": not understood");
    if (emulator.set_races(options_.races)) throw std::runtime_error("--races: this build has the thread sanitizer's own hooks");
    const std::string path = emulator_path();
    tilert_context_options context{};
    context.cache_mode = TILERT_CACHE_MEMORY;
    context.nvrtc_path = path.c_str();
    context.flags = TILERT_ALLOW_SOURCE;
    context_ = tl::Context::create(context).value();
    for (int ordinal = 0; !device_; ++ordinal) {
      tilert_device_options device{};
      device.struct_size = sizeof device;
      device.kind = TILERT_DEVICE_CUDA;
      device.ordinal = ordinal;
      device.driver_path = path.c_str();
      tilert_device* raw = nullptr;
      tilert_error* error = nullptr;
      if (const tilert_status status = tilert_device_open(context_.get(), &device, &raw, &error))
        throw std::runtime_error("no emulated device for " + options_.target + ": " + tl::Error(status, error).text());
      tl::Device opened(raw);
      if (options_.target != opened.info().target) continue;
      device_ = opened;
      void* native = nullptr;
      cuDevicePrimaryCtxRetain(&native, ordinal);
      cuCtxSetCurrent(native);
    }
  }

  int64_t value(ir::Expr e) const {
    const ir::Program& ir = *program_.get()->program;
    if (e->is_constant()) return e->as_int();
    if (e->is_variable()) {
      for (size_t i = 0; i < ir.dims.size(); ++i)
        if (ir.dims[i].var == e->var()) return dims_[i];
      return 0;
    }
    uint64_t operands[3] = {};
    for (int i = 0; i < e->arity; ++i) operands[i] = static_cast<uint64_t>(value(e->operand[i]));
    return static_cast<int64_t>(ir::evaluate(*e, {operands, e->arity}).value_or(0));
  }

  void make_arguments() {
    const ir::Program& ir = *program_.get()->program;
    std::mt19937_64 random(options_.seed);
    const auto number = [&](DType dtype) {
      const auto small = static_cast<int64_t>(random() % 7) - 3;
      return dtype_is_float(dtype) ? ir::double_to_bits(dtype, static_cast<double>(small)) : static_cast<uint64_t>(dtype == DType::boolean ? small & 1 : small);
    };
    for (const ir::Parameter& p : ir.parameters) {
      Tensor& t = tensors_.emplace_back();
      if (p.kind == ir::Parameter::Kind::scalar) {
        t.scalar = number(ir.vars[p.var].dtype);
        continue;
      }
      t.buffer = &ir.buffer(p.buffer);
      const auto width = static_cast<size_t>(dtype_bytes(t.buffer->dtype));
      int64_t last = 0;
      bool empty = false;
      for (size_t d = 0; d < t.buffer->shape.size(); ++d) {
        t.shape.push_back(value(t.buffer->shape[d]));
        t.strides.push_back(value(t.buffer->strides[d]));
        last += (t.shape[d] - 1) * t.strides[d];
        empty |= t.shape[d] == 0;
      }
      const size_t count = empty ? 0 : static_cast<size_t>(last) + 1;
      t.host.assign(count * width, 0xff);
      if (t.buffer->direction != ir::Direction::out)
        for (size_t i = 0; i < count; ++i) ir::store_element(t.buffer->dtype, &t.host[i * width], number(t.buffer->dtype));
      uint64_t address = 0;
      cuMemAlloc_v2(&address, std::max<size_t>(t.host.size(), 1));
      t.device = reinterpret_cast<uint8_t*>(address);
      if (count) std::memcpy(t.device, t.host.data(), t.host.size());
    }
  }

  // Empty, or what is wrong with the kernel.
  std::string launch() {
    tilert_kernel_options options{};
    options.struct_size = sizeof options;
    options.target = options_.target.c_str();
    tilert_kernel* kernel = nullptr;
    tilert_error* error = nullptr;
    if (const tilert_status status = tilert_kernel_create(context_.get(), program_.get(), &options, &kernel, &error))
      throw tl::Exception(tl::Error(status, error));
    tilert_loaded* loaded = nullptr;
    if (const tilert_status status = tilert_prepare(kernel, device_.get(), nullptr, &loaded, &error)) throw tl::Exception(tl::Error(status, error));
    if (options_.source)
      for (uint32_t i = 0; i < tilert_kernel_variant_count(kernel); ++i) {
        tilert_variant* raw = nullptr;
        if (tilert_kernel_variant(kernel, i, &raw) == TILERT_OK) std::cout << tl::Variant(raw).text().value() << "\n";
      }
    const tl::Loaded owner(loaded, program_);
    std::vector<tilert_argument> arguments(tensors_.size());
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const Tensor& t = tensors_[i];
      const ir::Parameter& p = program_.get()->program->parameters[i];
      arguments[i].kind = t.buffer ? TILERT_ARGUMENT_TENSOR : TILERT_ARGUMENT_SCALAR;
      arguments[i].dtype = static_cast<tilert_dtype>(t.buffer ? t.buffer->dtype : program_.get()->program->vars[p.var].dtype);
      arguments[i].bits = t.scalar;
      arguments[i].data = t.device;
    }
    tilert_launch_failure failure{};
    failure.struct_size = sizeof failure;
    tilert_launch_info info{};
    info.struct_size = sizeof info;
    info.loaded = loaded;
    info.arguments = arguments.data();
    info.argument_count = static_cast<uint32_t>(arguments.size());
    info.dims = dims_.data();
    info.dim_count = static_cast<uint32_t>(dims_.size());
    info.failure = &failure;
    workspace(kernel, info);
    const tilert_status status = tilert_launch(&info);
    tilert_kernel_release(kernel);
    if (status == TILERT_OK) return {};
    const std::string report = tilert_emulator_control()->report();
    return report.empty() ? std::string(tilert_status_name(status)) + ": " + failure.message : report;
  }

  // As tilert_workspace asks for it.
  void workspace(tilert_kernel* kernel, tilert_launch_info& info) {
    tilert_workspace_info need{};
    for (uint32_t i = 0; i < tilert_kernel_variant_count(kernel); ++i) {
      tilert_variant* raw = nullptr;
      if (tilert_kernel_variant(kernel, i, &raw) != TILERT_OK) continue;
      const tilert_workspace_info own = tl::Variant(raw).workspace(dims_).value();
      need.bytes = std::max(need.bytes, own.bytes);
      need.zero_bytes = std::max(need.zero_bytes, own.zero_bytes);
    }
    if (need.bytes == 0) return;
    uint64_t address = 0;
    if (cuMemAlloc_v2(&address, need.bytes) != 0) throw std::runtime_error("no memory for the workspace");
    std::memset(reinterpret_cast<void*>(address), 0, need.zero_bytes);
    info.workspace = reinterpret_cast<void*>(address);
    info.workspace_bytes = need.bytes;
  }

  int compare() {
    ir::HostArguments host;
    host.dims = dims_;
    for (Tensor& t : tensors_) host.parameters.push_back({t.host.data(), static_cast<int64_t>(t.host.size()), {}, t.scalar});
    if (Status done = ir::interpret(*program_.get()->program, host); !done)
      return std::cout << "the interpreter: " << done.error().message << "\n", 1;
    size_t wrong = 0;
    for (size_t i = 0; i < tensors_.size(); ++i) wrong += compare_tensor(i);
    if (!wrong) std::cout << "right: as the interpreter has it, under every schedule\n";
    return wrong ? 1 : 0;
  }

  // The tolerance is loose: small whole numbers are exact, so that what is wrong is far off.
  size_t compare_tensor(size_t index) const {
    const Tensor& t = tensors_[index];
    if (!t.buffer) return 0;
    const DType dtype = t.buffer->dtype;
    const auto width = static_cast<size_t>(dtype_bytes(dtype));
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < t.host.size() / width; ++i) {
      const uint64_t want = ir::load_element(dtype, &t.host[i * width]), got = ir::load_element(dtype, &t.device[i * width]);
      if (want == got) continue;
      const double x = ir::bits_to_double(dtype, want), y = ir::bits_to_double(dtype, got);
      if (std::isnan(x) && std::isnan(y)) continue;
      if (dtype_is_float(dtype) && std::fabs(x - y) <= 0.02 * std::fabs(x) + 1e-3) continue;
      if (wrong++ == 0) first = i;
    }
    if (!wrong) return 0;
    std::cout << "tensor '" << program_.get()->program->parameters[index].name << "': " << wrong << " of " << t.host.size() / width
              << " elements wrong, the first at " << first << ": "
              << ir::bits_to_double(dtype, ir::load_element(dtype, &t.device[first * width])) << ", not "
              << ir::bits_to_double(dtype, ir::load_element(dtype, &t.host[first * width])) << "\n";
    return wrong;
  }

  const Options& options_;
  tl::Program program_;
  tl::Context context_{static_cast<tilert_context*>(nullptr)};
  tl::Device device_;
  std::vector<int64_t> dims_;
  std::vector<Tensor> tensors_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs a tile program on an emulated GPU and says what went wrong where.");
  Options options;
  app.add_option("file", options.file, "a .tir file")->required();
  app.add_option("--target", options.target, "sm_80, sm_86, sm_89, sm_90a");
  app.add_option("--dim", options.dims, "NAME=VALUE; others get 136");
  app.add_option("--schedule", options.schedule, "schedules separated by ';', or usual, or all");
  app.add_option("--seed", options.seed, "of the inputs");
  app.add_flag("--races", options.races, "marks every access as well");
  app.add_flag("--source", options.source, "prints the kernels' text first");
  try {
    app.parse(argc, argv);
    return Run(options).run();
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 2;
  }
}
