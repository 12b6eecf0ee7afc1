// Compiling HIP C++: which of the two ways a request goes, and the words for what went wrong.
#include "compiler/hip.h"

#include "compiler/asm_guard.h"
#include "compiler/code_object.h"
#include "compiler/comgr.h"
#include "compiler/compile_thread.h"
#include "compiler/hip_library.h"
#include "compiler/options.h"
#include "support/refusal.h"

#include <algorithm>

namespace tilert {
namespace {

struct HipResultRow {
  int number;
  Code code;
  const char* text;
};

constexpr HipResultRow kHipResults[] = {
#define TILERT_HIPRTC_FUNCTION(...)
#define TILERT_COMGR_FUNCTION(...)
#define TILERT_COMGR_VERSION(...)
#define TILERT_HIPRTC_RESULT(number, code, text) {number, Code::code, text},
#include "compiler/hip.def"
};

// One hiprtcProgram, destroyed on every way out.
class RtcProgram {
 public:
  explicit RtcProgram(const HiprtcFunctions& call) : call_(call) {}
  RtcProgram(const RtcProgram&) = delete;
  ~RtcProgram() {
    if (handle_) call_.hiprtcDestroyProgram(&handle_);
  }

  int create(const CompileRequest& request) {
    std::vector<const char*> texts, names;
    for (const VirtualHeader& header : request.headers) {
      texts.push_back(header.text.c_str());
      names.push_back(header.name.c_str());
    }
    return call_.hiprtcCreateProgram(&handle_, request.source.c_str(), request.program_name.c_str(),
                                     static_cast<int>(texts.size()), texts.data(), names.data());
  }

  int compile(const CompileRequest& request) {
    for (const std::string& expression : request.name_expressions)
      if (int result = call_.hiprtcAddNameExpression(handle_, expression.c_str())) return result;
    std::vector<std::string> options = {"--offload-arch=" + request.target};
    for (std::string& option : effective_options(Language::hip, request.options)) options.push_back(std::move(option));
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    return call_.hiprtcCompileProgram(handle_, static_cast<int>(pointers.size()), pointers.data());
  }

  // Of a success too: a warning is no error.
  std::string log() const {
    size_t size = 0;
    if (!handle_ || call_.hiprtcGetProgramLogSize(handle_, &size) != 0 || size <= 1) return {};
    std::string text(size, '\0');
    if (call_.hiprtcGetProgramLog(handle_, text.data()) != 0) return {};
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }

  int take_code(std::string& bytes) const {
    size_t size = 0;
    if (int result = call_.hiprtcGetCodeSize(handle_, &size)) return result;
    bytes.resize(size);
    return size ? call_.hiprtcGetCode(handle_, bytes.data()) : 0;
  }

  int lowered(const std::string& expression, std::string& name) const {
    const char* text = nullptr;
    const int result = call_.hiprtcGetLoweredName(handle_, expression.c_str(), &text);
    if (result == 0 && !text) return 10;
    if (result == 0) name = text;
    return result;
  }

 private:
  const HiprtcFunctions& call_;
  void* handle_ = nullptr;
};

// ":sramecc+:xnack-": comgr lets a feature be named twice, and its compiler then fails.
bool features_are_single(std::string_view target) {
  std::vector<std::string_view> seen;
  for (size_t at = target.find(':'); at != std::string_view::npos; at = target.find(':', at + 1)) {
    const std::string_view name = target.substr(at + 1, target.find_first_of("+-:", at + 1) - at - 1);
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) return false;
    seen.push_back(name);
  }
  return true;
}

// comgr's compiles share LLVM's table of options, and parse it anew each time: two at once have been seen to end the
// process (comgr 2.4: "Option 'h' registered more than once"). Compiles that must not wait for each other go to the
// helper.
class OneAtATime {
 public:
  explicit OneAtATime(const CompileControl& control) {
    while (!control.should_stop() && !held_) held_ = turn().try_lock_for(std::chrono::milliseconds(10));
  }
  OneAtATime(const OneAtATime&) = delete;
  ~OneAtATime() {
    if (held_) turn().unlock();
  }
  bool held() const { return held_; }

 private:
  static std::timed_mutex& turn() {
    static auto& mutex = *new std::timed_mutex;  // a compile that was left behind may hold it at the process's end
    return mutex;
  }
  bool held_ = false;
};

// Registers of a thread are those of both files: they share one where the chip has accumulators apart.
KernelResources resources_of(const CodeObjectKernel& kernel) {
  KernelResources resources;
  resources.entry = kernel.name;
  resources.registers = kernel.vector_registers;
  resources.stack_bytes = kernel.scratch_bytes;
  resources.spill_stores = 4 * kernel.spilled_vectors;
  resources.static_shared = kernel.static_shared;
  return resources;
}

class Hip final : public Compiler {
 public:
  Hip(HipLibrary library, const HipOptions& options)
      : hip_(std::move(library)),
        contained_(options.contained),
        through_hiprtc_(options.through_hiprtc),
        location_(hip_.location()) {
    const std::string comgr = fmt::format("comgr {}.{}", hip_.comgr.major, hip_.comgr.minor);
    identity_ = hip_.hiprtc.is_open() ? fmt::format("hipRTC {} with {}", hip_.version, comgr) : comgr;
  }

  Language language() const override { return Language::hip; }
  const std::string& identity() const override { return identity_; }
  const std::string& location() const override { return location_; }

  Result<Binary> compile(const CompileRequest& request, const CompileControl& control) override {
    TILERT_TRY(check_environment());
    TILERT_TRY(check_target(request.target));
    if (!contained_) TILERT_TRY(check_intrinsics(request));
    const OneAtATime turn(control);
    if (!turn.held()) return stop_error(control);
    const auto start = std::chrono::steady_clock::now();
    Binary binary;
    binary.kind = BinaryKind::code_object;
    binary.compiler = identity_;
    TILERT_TRY(goes_directly(request) ? directly(request, control, binary) : by_hiprtc(request, binary));
    binary.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    TILERT_TRY(describe(request, binary));
    return binary;
  }

 private:
  static Status check_environment() {
    const std::string setting = hiprtc_environment();
    if (setting.empty()) return {};
    return make_error(
        Code::kUnavailable,
        "the environment sets {}: hipRTC and comgr would follow it in every compile unseen, and cached kernels "
        "would not match their keys. Unset it, or give the options with the source kernel",
        setting);
  }

  Status check_target(const std::string& target) const {
    if (target.substr(0, 3) != "gfx")
      return make_error(Code::kInvalidArgument, "`{}` is not an AMD target; the form is gfx942", target);
    const Comgr& comgr = hip_.comgr;
    const std::string chip = target.substr(0, target.find(':'));
    const bool listed = std::find(comgr.targets.begin(), comgr.targets.end(), chip) != comgr.targets.end();
    if (listed && features_are_single(target) && comgr_knows(comgr, target)) return {};
    if (listed)
      return refusal(
          fmt::format(
              "{} ({}) does not compile for {}, though for {}: a feature is malformed or not one of this chip's",
              identity_, location_, target, chip),
          "the features are :sramecc and :xnack, each with + or -", ". ");
    return refusal(fmt::format("{} ({}) does not compile for {}; it knows {}", identity_, location_, target,
                               fmt::join(comgr.targets, ", ")),
                   "Another version of ROCm may", ". ");
  }

  // A declaration with the label "llvm.amdgcn..." is an intrinsic, of which clang does not ask whether the target has
  // it: LLVM ends the process where it has not.
  static Status check_intrinsics(const CompileRequest& request) {
    if (!request.foreign) return {};
    bool found = names_llvm_intrinsic(request.source);
    for (const VirtualHeader& header : request.headers) found = found || names_llvm_intrinsic(header.text);
    if (!found) return {};
    return refusal(
        fmt::format("{}: the text names LLVM intrinsics (`llvm.`), which end the process where {} lacks them",
                    request.program_name, request.target),
        "call the compiler's builtins, or compile in the helper (isolate)");
  }

  // hipRTC's header is what a user's text is written for; headers and name expressions are hipRTC's too.
  bool goes_directly(const CompileRequest& request) const {
    if (!hip_.hiprtc.is_open()) return true;
    return hip_.comgr.numbers && !through_hiprtc_ && !request.foreign && request.headers.empty() &&
           request.name_expressions.empty();
  }

  Status directly(const CompileRequest& request, const CompileControl& control, Binary& binary) const {
    if (request.foreign || !request.headers.empty() || !request.name_expressions.empty())
      return make_error(Code::kUnavailable,
                        "{}: HIP source of one's own is compiled by hipRTC, and beside {} there is none; install it "
                        "(ROCm, or Debian's "
                        "libamdhip64-5) or name it by TILERT_HIPRTC_PATH or the context's options",
                        request.program_name, location_);
    std::vector<std::string> options = effective_options(Language::hip, request.options);
    for (const char* own : {"-nogpuinc", "-nogpulib"}) options.emplace_back(own);
    ComgrOutput output = comgr_compile(hip_.comgr, request, options, control);
    if (!output.compiled && control.should_stop()) return stop_error(control);
    binary.log = output.log;
    if (!output.compiled)
      return failure(Code::kCompile, "the source does not compile", output.failure, output.log, request);
    binary.bytes = std::move(output.code);
    return {};
  }

  Status by_hiprtc(const CompileRequest& request, Binary& binary) const {
    RtcProgram program(hip_.call);
    int result = program.create(request);
    if (result == 0) result = program.compile(request);
    binary.log = program.log();
    if (result == 0) result = program.take_code(binary.bytes);
    for (const std::string& expression : request.name_expressions) {
      std::string name;
      if (result == 0) result = program.lowered(expression, name);
      binary.lowered_names.push_back({expression, name});
    }
    if (result == 0) return {};
    Code code = Code::kCompile;
    std::string text = "hipRTC failed";
    for (const HipResultRow& row : kHipResults)
      if (row.number == result) code = row.code, text = row.text;
    const char* name = hip_.call.hiprtcGetErrorString(result);
    return failure(code, text, name ? name : fmt::format("result {}", result), binary.log, request);
  }

  Status describe(const CompileRequest& request, Binary& binary) const {
    Result<std::vector<CodeObjectKernel>> kernels = read_code_object(binary.bytes);
    if (!kernels)
      return make_error(Code::kInternal, "{} gave bytes that are {}; please report this with the generated source",
                        identity_, kernels.error().message);
    std::vector<std::string> names;
    for (const CodeObjectKernel& kernel : *kernels) {
      binary.resources.push_back(resources_of(kernel));
      names.push_back(kernel.name);
    }
    for (const std::string& entry : request.entry_names) {
      if (std::find(names.begin(), names.end(), entry) != names.end()) continue;
      return make_error(
          Code::kInvalidProgram,
          "the source has no kernel of the name `{}` (it has: {}); an entry must be declared extern \"C\" "
          "__global__, or its lowered name asked for by a name expression",
          entry, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    }
    return {};
  }

  Error failure(Code code, const std::string& text, const std::string& word, const std::string& log,
                const CompileRequest& request) const {
    Error error{code, {}, request.source, log};
    error.message = fmt::format("{}: {} for {}, {} ({})", request.program_name, text, request.target, identity_, word);
    if (code == Code::kInternal) error.message += "; please report this with the generated source";
    if (!log.empty()) error.message += "\n" + log;
    return error;
  }

  const HipLibrary hip_;
  const bool contained_, through_hiprtc_;
  std::string identity_;
  const std::string location_;
};

}  // namespace

Result<std::shared_ptr<Compiler>> open_hip(const HipOptions& options) {
  if (!TILERT_WITH_HIP && options.library.empty())
    return make_error(Code::kUnavailable,
                      "this build looks for no hipRTC (TILERT_HIP is off); name a library to use one");
  TILERT_ASSIGN(HipLibrary library, load_hip(options));
  return std::shared_ptr<Compiler>(std::make_shared<Hip>(std::move(library), options));
}

}  // namespace tilert
