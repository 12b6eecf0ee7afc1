// Opening, compiling, launching.
#include "emulator/truth/side.h"

#include <dlfcn.h>

#include <cstdlib>

#include "codegen/device_text.h"
#include "codegen/product_text.h"
#include "emulator/driver/control.h"

namespace tilert::truth {
namespace {

void* open_first(const std::vector<std::string>& names, std::string& wrong) {
  wrong.clear();
  for (const std::string& name : names) {
    if (void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    wrong += std::string(wrong.empty() ? "" : "; ") + dlerror();
  }
  return nullptr;
}

// The names to try for NVRTC: the one that was given, else the environment's file or folder, else the loader's search.
std::vector<std::string> nvrtc_names(const std::string& given) {
  std::vector<std::string> out;
  const char* const variable = std::getenv("TILERT_NVRTC_PATH");
  const std::string chosen = !given.empty() ? given : variable ? variable : "";
  if (!chosen.empty()) out.push_back(chosen);
  const std::string folders[] = {chosen.empty() ? "" : chosen + "/", chosen.empty() ? "/usr/local/cuda/lib64/" : ""};
  for (const std::string& folder : folders)
    if (chosen.empty() || !folder.empty())
      for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) out.push_back(folder + name);
  return out;
}

constexpr const char* kOptions[] = {"--device-as-default-execution-space", "--std=c++17", "--fmad=false"};  // as tilert compiles

// Device memory for as long as one launch.
struct Memory {
  CuResult (*release)(CuDevicePtr);
  CuDevicePtr address = 0;
  ~Memory() {
    if (address) release(address);
  }
};

}  // namespace

std::string source(const Case& one, const char* language) {
  return codegen::device_text(language, one.text) + codegen::product_forms(one.text) + "\n" + one.text;
}

std::string Side::open_compiler(const Libraries& libraries) {
  std::string wrong;
  void* const nvrtc = open_first(nvrtc_names(libraries.nvrtc), wrong);
  if (!nvrtc) return "no NVRTC: " + wrong;
#define TILERT_NVRTC_FUNCTION(name, required, ...)                                            \
  nvrtc_.name = reinterpret_cast<std::add_pointer_t<__VA_ARGS__>>(dlsym(nvrtc, #name)); \
  if ((required) && !nvrtc_.name) return "this NVRTC lacks " #name;
#define TILERT_NVRTC_RESULT(...)
#define TILERT_NVRTC_OPTION(...)
#include "compiler/nvrtc.def"
  return {};
}

std::string Side::open(const Libraries& libraries) {
  std::string wrong = open_compiler(libraries);
  if (!wrong.empty()) return wrong;
  void* const driver = open_first({libraries.driver}, wrong);
  if (!driver) return "no CUDA driver: " + wrong;
#define TRUTH_DRIVER(name, symbol, parameters)                                        \
  driver_.name = reinterpret_cast<CuResult(*) parameters>(dlsym(driver, #symbol)); \
  if (!driver_.name) return "this CUDA driver lacks " #symbol;
#include "emulator/truth/entries.def"
  if (const auto control = reinterpret_cast<const tilert_emulator_table* (*)()>(dlsym(driver, "tilert_emulator_control"))) emulator_ = control();
  CuDevice device = 0;
  CuContext context = nullptr;
  int major = 0, minor = 0;
  char name[256] = {};
  if (wrong = check(driver_.init(0), "start the driver"); !wrong.empty()) return wrong;
  if (wrong = check(driver_.device(&device, 0), "find device 0"); !wrong.empty()) return wrong;
  if (wrong = check(driver_.retain(&context, device), "make a context"); !wrong.empty()) return wrong;
  if (wrong = check(driver_.make_current(context), "take the context"); !wrong.empty()) return wrong;
  driver_.device_name(name, sizeof name, device);
  driver_.attribute(&major, kCuDeviceMajor, device);
  driver_.attribute(&minor, kCuDeviceMinor, device);
  lanes_ = libraries.lanes;
  name_ = name + (lanes_ ? ", waves of " + std::to_string(lanes_) : std::string());
  target_ = "sm_" + std::to_string(major * 10 + minor) + (major == 9 ? "a" : "");
  if (lanes_ && !emulator_) return "only the emulator has waves";
  return major == 9 ? std::string() : name_ + " is no GPU of compute capability 9.0, whose instructions the cases are over";
}

std::string Side::check(CuResult code, const std::string& what) const {
  if (code == kCuSuccess) return {};
  const char* text = nullptr;
  driver_.error_name(code, &text);
  std::string out = "cannot " + what + ": " + (text ? text : "?") + " (" + std::to_string(code) + ")";
  if (emulator_) out += std::string(": ") + emulator_->report();
  return out;
}

std::string Side::compile(const Case& one, const std::string& target, std::string& image) {
  void* program = nullptr;
  const std::string text = source(one), arch = "--gpu-architecture=" + target;
  std::vector<const char*> options = {arch.c_str()};
  options.insert(options.end(), std::begin(kOptions), std::end(kOptions));
  if (nvrtc_.nvrtcCreateProgram(&program, text.c_str(), "truth.cu", 0, nullptr, nullptr) != 0) return "NVRTC takes no program";
  std::string wrong;
  size_t bytes = 0;
  if (nvrtc_.nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data()) != 0) {
    nvrtc_.nvrtcGetProgramLogSize(program, &bytes);
    wrong.resize(bytes);
    nvrtc_.nvrtcGetProgramLog(program, wrong.data());
    wrong = "does not compile: " + wrong;
  } else {
    nvrtc_.nvrtcGetCUBINSize(program, &bytes);
    image.resize(bytes);
    nvrtc_.nvrtcGetCUBIN(program, image.data());
  }
  nvrtc_.nvrtcDestroyProgram(&program);
  return wrong;
}

std::string Side::load(const Case& one, Function& out) {
  std::string image, wrong = compile(one, target_, image);
  if (!wrong.empty()) return wrong;
  char log[4096] = {};
  int32_t options[] = {kCuJitErrorLogBuffer, kCuJitErrorLogBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CuModule module = nullptr;
  if (wrong = check(driver_.load(&module, image.data(), 2, options, values), "load"); !wrong.empty()) return wrong + " " + log;
  return check(driver_.function(&out.handle, module, "truth"), "find the kernel");
}

const Side::Function& Side::function(const Case& one) {
  const auto [at, fresh] = functions_.try_emplace(one.text);
  if (fresh && lanes_) emulator_->add_text(source(one, "hip").c_str());
  else if (fresh) at->second.wrong = load(one, at->second);
  return at->second;
}

void Side::prepare(const std::vector<Case>& cases) {
  if (!emulator_) return;
  for (const Case& one : cases) function(one);
  emulator_->compile_pending();
}

std::string Side::launch_wave(const Case& one, CuDevicePtr in, CuDevicePtr out, CuDevicePtr arguments) const {
  CuTensorMap map = {};
  void* parameters[] = {&map, &in, &out, &arguments};
  tilert_emulator_launch of = {};
  of.text = emulator_->add_text(source(one, "hip").c_str());
  of.name = "truth";
  for (int d = 0; d < 3; ++d) of.grid[d] = one.grid[d];
  of.threads = one.threads;
  of.shared_bytes = one.shared_bytes;
  of.lanes = lanes_;
  of.together = one.cooperative;
  of.parameters = parameters;
  return emulator_->run(&of) == 0 ? std::string() : std::string("cannot run: ") + emulator_->report();
}

std::string Side::launch(const Case& one, CuFunction function, CuDevicePtr in, CuDevicePtr out, CuDevicePtr arguments) {
  CuTensorMap map = {};
  const Map& of = one.map;
  std::string wrong;
  if (of.rank) {
    void* const address = reinterpret_cast<void*>((of.of_output ? out : in) + of.offset);
    wrong = check(driver_.encode(&map, of.type, static_cast<uint32_t>(of.rank), address, of.dims, of.strides, of.box, of.steps, 0, of.swizzle, 0,
                                 of.fill_nan), "encode the tensor map");
    if (!wrong.empty()) return wrong;
  }
  if (one.shared_bytes) {
    wrong = check(driver_.set_attribute(function, kCuFunctionMaxDynamicSharedBytes, static_cast<int>(one.shared_bytes)), "take shared memory");
    if (!wrong.empty()) return wrong;
  }
  CuLaunchAttribute attribute = {};  // no case has both
  if (one.cluster > 1) attribute.id = kCuAttributeCluster, attribute.value.cluster[0] = one.cluster, attribute.value.cluster[1] = attribute.value.cluster[2] = 1;
  if (one.cooperative) attribute.id = kCuAttributeCooperative, attribute.value.flag = 1;
  CuLaunchConfig config = {{one.grid[0], one.grid[1], one.grid[2]}, {one.threads, 1, 1}, one.shared_bytes, nullptr, &attribute, attribute.id ? 1u : 0u};
  void* parameters[] = {&map, &in, &out, &arguments};
  if (wrong = check(driver_.launch(&config, function, parameters, nullptr), "launch"); !wrong.empty()) return wrong;
  return check(driver_.synchronize(), "run");
}

Outcome Side::run(const Case& one) {
  Outcome out;
  const Function& of = function(one);
  if (!of.wrong.empty()) return {{}, of.wrong};
  Memory memory[3] = {{driver_.release, 0}, {driver_.release, 0}, {driver_.release, 0}};
  const std::pair<const void*, size_t> contents[3] = {
      {one.input.data(), one.input.size()}, {one.output.data(), one.output.size()}, {one.arguments.data(), one.arguments.size() * 8}};
  for (int i = 0; i < 3; ++i) {
    if (contents[i].second == 0) continue;
    out.wrong = check(driver_.allocate(&memory[i].address, contents[i].second), "allocate");
    if (out.wrong.empty()) out.wrong = check(driver_.upload(memory[i].address, contents[i].first, contents[i].second), "copy");
    if (!out.wrong.empty()) return out;
  }
  out.wrong = lanes_ ? launch_wave(one, memory[0].address, memory[1].address, memory[2].address) : launch(one, of.handle, memory[0].address, memory[1].address, memory[2].address);
  if (!out.wrong.empty()) return out;
  out.output.resize(one.output.size());
  out.wrong = check(driver_.download(out.output.data(), memory[1].address, out.output.size()), "copy back");
  return out;
}

}  // namespace tilert::truth
