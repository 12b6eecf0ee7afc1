// From a CompileRequest to the plugin's request and back.
#include "compiler/llvm_compiler.h"

#include "compiler/llvm_plugin.h"
#include "support/refusal.h"

#include <charconv>

namespace tilert {
namespace {

constexpr std::string_view kVectorize = "--vectorize-loops";
constexpr std::string_view kVectorWidth = "--prefer-vector-width=";

Status read_options(const CompileRequest& request, LlvmRequest* out) {
  for (const std::string& option : request.options) {
    const std::string_view text = option;
    if (text == kVectorize) {
      out->vectorize_loops = true;
      continue;
    }
    if (text.substr(0, kVectorWidth.size()) == kVectorWidth) {
      const std::string_view bits = text.substr(kVectorWidth.size());
      const auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), out->vector_width);
      if (error == std::errc() && end == bits.data() + bits.size()) continue;
    }
    return make_error(Code::kInvalidArgument, "the option '{}' is not one of LLVM IR: {} and {}BITS are", option,
                      kVectorize, kVectorWidth);
  }
  return {};
}

Status check_form(const CompileRequest& request) {
  if (request.output != BinaryKind::object)
    return refusal(fmt::format("the LLVM IR of '{}' compiles to object bytes only", request.program_name), "ask for an object");
  if (!request.headers.empty() || !request.name_expressions.empty())
    return make_error(Code::kInvalidArgument, "LLVM IR of '{}' takes no headers and no name expressions", request.program_name);
  return {};
}

class LlvmCompiler final : public Compiler {
 public:
  explicit LlvmCompiler(const LlvmPlugin* plugin) : plugin_(plugin), identity_(plugin->build_id()) {}

  Language language() const override { return Language::llvm_ir; }
  const std::string& identity() const override { return identity_; }
  const std::string& location() const override { return plugin_->path(); }

  Result<Binary> compile(const CompileRequest& request, const CompileControl& control) override {
    TILERT_TRY(check_form(request));
    TILERT_ASSIGN(const LlvmTarget target, parse_llvm_target(request.target));
    LlvmRequest raw;
    raw.ir = request.source;
    raw.name = request.program_name;
    raw.triple = target.triple;
    raw.cpu = target.cpu;
    raw.features = target.features;
    raw.entries = request.entry_names;
    TILERT_TRY(read_options(request, &raw));
    TILERT_TRY(check_control(request, control));
    const auto start = std::chrono::steady_clock::now();
    TILERT_ASSIGN(std::string object, plugin_->compile(raw));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    TILERT_TRY(check_control(request, control));
    Binary binary;
    binary.kind = BinaryKind::object;
    binary.bytes = std::move(object);
    binary.compiler = identity_;
    binary.compile_ms = binary.total_ms = took.count();
    return binary;
  }

 private:
  static Status check_control(const CompileRequest& request, const CompileControl& control) {
    if (control.cancelled()) return make_error(Code::kCancelled, "compiling '{}' was cancelled", request.program_name);
    if (control.expired())
      return make_error(Code::kTimeout, "compiling '{}' took longer than its {} ms", request.program_name, request.deadline_ms);
    return {};
  }

  const LlvmPlugin* plugin_;
  const std::string identity_;
};

}  // namespace

Result<std::shared_ptr<Compiler>> open_llvm(const std::string& plugin_path) {
  TILERT_ASSIGN(const LlvmPlugin* plugin, LlvmPlugin::get(plugin_path));
  return std::shared_ptr<Compiler>(std::make_shared<LlvmCompiler>(plugin));
}

}  // namespace tilert
