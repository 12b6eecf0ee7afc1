// Compiling with NVRTC: options, one program per compile, results and logs.
#include "compiler/nvrtc.h"

#include "compiler/compile_thread.h"
#include "compiler/nvrtc_library.h"
#include "compiler/options.h"
#include "compiler/ptxas_log.h"
#include "support/refusal.h"

#include <algorithm>
#include <atomic>
#include <charconv>

namespace tilert {
namespace {

struct ResultRow {
  int number;
  Code code;
  const char* text;
};

constexpr ResultRow kResults[] = {
#define TILERT_NVRTC_FUNCTION(...)
#define TILERT_NVRTC_RESULT(number, code, text) {number, Code::code, text},
#define TILERT_NVRTC_OPTION(...)
#include "compiler/nvrtc.def"
};

struct VersionedOption {
  int least_version;
  const char* text;
};

constexpr VersionedOption kVersionedOptions[] = {
#define TILERT_NVRTC_FUNCTION(...)
#define TILERT_NVRTC_RESULT(...)
#define TILERT_NVRTC_OPTION(least_version, text) {least_version, text},
#include "compiler/nvrtc.def"
};

constexpr int kResultCancelled = 16;

// NVRTC asks this during a compile; once it was told to stop it must be told so again.
struct Flow {
  const CompileControl* control;
  std::atomic<bool> stopped{false};
  static int ask(void* payload, void*) {
    auto* flow = static_cast<Flow*>(payload);
    if (flow->control->should_stop()) flow->stopped = true;
    return flow->stopped ? 1 : 0;
  }
};

// One nvrtcProgram, destroyed on every way out.
class Program {
 public:
  explicit Program(const NvrtcFunctions& call) : call_(call) {}
  Program(const Program&) = delete;
  ~Program() {
    if (handle_) call_.nvrtcDestroyProgram(&handle_);
  }

  int create(const CompileRequest& request) {
    std::vector<const char*> texts, names;
    for (const VirtualHeader& header : request.headers) {
      texts.push_back(header.text.c_str());
      names.push_back(header.name.c_str());
    }
    return call_.nvrtcCreateProgram(&handle_, request.source.c_str(), request.program_name.c_str(),
                                    static_cast<int>(texts.size()), texts.data(), names.data());
  }

  std::string log() const {
    size_t size = 0;
    if (!handle_ || call_.nvrtcGetProgramLogSize(handle_, &size) != 0 || size <= 1) return {};
    std::string text(size, '\0');
    if (call_.nvrtcGetProgramLog(handle_, text.data()) != 0) return {};
    text.resize(size - 1);  // without the closing zero byte
    return text;
  }

  int take_bytes(BinaryKind kind, std::string& bytes) const {
    bool ptx = kind == BinaryKind::ptx;
    size_t size = 0;
    int result = (ptx ? call_.nvrtcGetPTXSize : call_.nvrtcGetCUBINSize)(handle_, &size);
    if (result != 0) return result;
    bytes.resize(size);
    result = size ? (ptx ? call_.nvrtcGetPTX : call_.nvrtcGetCUBIN)(handle_, bytes.data()) : 0;
    if (ptx && !bytes.empty()) bytes.resize(size - 1);
    return result;
  }

  void* handle() const { return handle_; }

 private:
  const NvrtcFunctions& call_;
  void* handle_ = nullptr;
};

// 90 of "sm_90a"; nothing when the target has another form.
std::optional<int> architecture(std::string_view target) {
  if (target.substr(0, 3) != "sm_") return std::nullopt;
  int number = 0;
  const char* end = target.data() + target.size();
  auto [rest, error] = std::from_chars(target.data() + 3, end, number);
  std::string_view suffix(rest, static_cast<size_t>(end - rest));
  if (error != std::errc() || !(suffix.empty() || suffix == "a" || suffix == "f")) return std::nullopt;
  return number;
}

// Whether the binary has the entry: a cubin keeps each kernel's code in a section of its own.
bool has_entry(const Binary& binary, const std::string& entry) {
  if (binary.kind == BinaryKind::ptx) return binary.bytes.find(".entry " + entry + "(") != std::string::npos;
  return binary.bytes.find(".text." + entry + '\0') != std::string::npos;
}

class Nvrtc final : public Compiler {
 public:
  explicit Nvrtc(NvrtcLibrary library)
      : nvrtc_(std::move(library)),
        identity_(fmt::format("NVRTC {}.{}", nvrtc_.major, nvrtc_.minor)),
        location_(nvrtc_.location()) {}

  Language language() const override { return Language::cuda; }
  const std::string& identity() const override { return identity_; }
  const std::string& location() const override { return location_; }

  Result<Binary> compile(const CompileRequest& request, const CompileControl& control) override {
    TILERT_TRY(check_environment());
    TILERT_TRY(check_target(request.target));
    if (control.should_stop()) return stop_error(control);
    Program program(nvrtc_.call);
    Flow flow{&control};
    if (int result = program.create(request)) return failure(result, program, request);
    if (nvrtc_.call.nvrtcSetFlowCallback) nvrtc_.call.nvrtcSetFlowCallback(program.handle(), Flow::ask, &flow);
    for (const std::string& expression : request.name_expressions)
      if (int result = nvrtc_.call.nvrtcAddNameExpression(program.handle(), expression.c_str()))
        return failure(result, program, request);
    auto start = std::chrono::steady_clock::now();
    int result = run(program, request);
    if (result == kResultCancelled) return stop_error(control);
    if (result) return failure(result, program, request);
    Binary binary;
    binary.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    TILERT_TRY(take_results(program, request, binary));
    return binary;
  }

 private:
  static Status check_environment() {
    std::string setting = nvrtc_environment();
    if (setting.empty()) return {};
    return make_error(
        Code::kUnavailable,
        "the environment sets {}: NVRTC would add these options to every compile unseen, and cached kernels "
        "would not match their keys. Unset it, or give the options with the source kernel",
        setting);
  }

  Status check_target(const std::string& target) const {
    std::optional<int> number = architecture(target);
    if (!number) return make_error(Code::kInvalidArgument, "`{}` is not a CUDA target; the form is sm_90a", target);
    if (std::find(nvrtc_.archs.begin(), nvrtc_.archs.end(), *number) != nvrtc_.archs.end()) return {};
    return refusal(fmt::format("{} ({}) does not compile for {}; it knows sm_{}", identity_, location_, target,
                               fmt::join(nvrtc_.archs, ", sm_")),
                   "Another version of CUDA may", ". ");
  }

  int run(const Program& program, const CompileRequest& request) const {
    std::string real = request.output == BinaryKind::ptx ? "compute_" + request.target.substr(3) : request.target;
    std::vector<std::string> options = {"--gpu-architecture=" + real};
    for (std::string& option : effective_options(Language::cuda, request.options)) options.push_back(std::move(option));
    for (const VersionedOption& option : kVersionedOptions)
      if (nvrtc_.major * 100 + nvrtc_.minor >= option.least_version) options.emplace_back(option.text);
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    return nvrtc_.call.nvrtcCompileProgram(program.handle(), static_cast<int>(pointers.size()), pointers.data());
  }

  Status take_results(const Program& program, const CompileRequest& request, Binary& binary) const {
    binary.kind = request.output;
    binary.compiler = identity_;
    binary.log = program.log();
    if (int result = program.take_bytes(request.output, binary.bytes)) return failure(result, program, request);
    if (binary.bytes.empty())
      return make_error(Code::kInternal, "{} gave no {}", identity_, binary_kind_name(binary.kind));
    for (const std::string& expression : request.name_expressions) {
      const char* name = nullptr;
      int result = nvrtc_.call.nvrtcGetLoweredName(program.handle(), expression.c_str(), &name);
      if (result || !name) return failure(result ? result : 10, program, request);
      binary.lowered_names.push_back({expression, name});
    }
    PtxasReport report = parse_ptxas_log(binary.log);
    binary.resources = std::move(report.resources);
    binary.performance_notes = std::move(report.notes);
    return check_entries(request, binary);
  }

  static Status check_entries(const CompileRequest& request, const Binary& binary) {
    for (const std::string& entry : request.entry_names) {
      if (has_entry(binary, entry)) continue;
      std::vector<std::string> names;
      for (const KernelResources& kernel : binary.resources) names.push_back(kernel.entry);
      return make_error(
          Code::kInvalidProgram,
          "the source has no kernel of the name `{}` (it has: {}); an entry must be declared extern \"C\" "
          "__global__, or its lowered name asked for by a name expression",
          entry, names.empty() ? "none known" : fmt::format("{}", fmt::join(names, ", ")));
    }
    return {};
  }

  Error failure(int result, const Program& program, const CompileRequest& request) const {
    Error error{Code::kCompile, "NVRTC failed", request.source, program.log()};
    for (const ResultRow& row : kResults)
      if (row.number == result) error.code = row.code, error.message = row.text;
    const char* name = nvrtc_.call.nvrtcGetErrorString(result);
    error.message = fmt::format("{}: {} for {}, {} ({})", request.program_name, error.message, request.target,
                                identity_, name ? name : fmt::format("result {}", result));
    if (error.code == Code::kUnavailable)
      error.message +=
          fmt::format("; it needs libnvrtc-builtins.so.{}.{}, which was looked for beside {} and by the loader",
                      nvrtc_.major, nvrtc_.minor, location_);
    if (error.code == Code::kInternal) error.message += "; please report this with the generated source";
    if (!error.log.empty()) error.message += "\n" + error.log;
    return error;
  }

  NvrtcLibrary nvrtc_;
  std::string identity_;
  std::string location_;
};

}  // namespace

Result<std::shared_ptr<Compiler>> open_nvrtc(const NvrtcOptions& options) {
  if (!TILERT_WITH_CUDA && options.library.empty())
    return make_error(Code::kUnavailable,
                      "this build looks for no NVRTC (TILERT_CUDA is off); name a library to use one");
  TILERT_ASSIGN(NvrtcLibrary library, load_nvrtc(options));
  return std::shared_ptr<Compiler>(std::make_shared<Nvrtc>(std::move(library)));
}

}  // namespace tilert
