// The registry of compilers, the checks before them, and the words of the request.
#include "compiler/compiler.h"

#include "compiler/compile_thread.h"
#include "compiler/message.h"
#include "compiler/options.h"
#include "compiler/source_guard.h"
#include "support/immortal.h"

#include <algorithm>
#include <cctype>

namespace tilert {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct LanguageRow {
  Language language;
  const char* name;
  std::vector<BinaryKind> outputs;
};

const std::vector<LanguageRow>& languages() {
  static const auto& rows = immortal(std::vector<LanguageRow>{
      {Language::cuda, "CUDA C++", {BinaryKind::cubin, BinaryKind::ptx}},
      {Language::hip, "HIP C++", {BinaryKind::code_object}},
      {Language::llvm_ir, "LLVM IR", {BinaryKind::object}},
  });
  return rows;
}

const LanguageRow* language_row(Language language) {
  for (const LanguageRow& row : languages())
    if (row.language == language) return &row;
  return nullptr;
}

// Names that end up in logs, in #line directives and in option strings.
bool is_plain_text(std::string_view text, std::string_view extra, size_t longest) {
  return !text.empty() && text.size() <= longest && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || extra.find(c) != std::string_view::npos;
  });
}

Status check_names(const CompileRequest& request) {
  if (!is_plain_text(request.program_name, "_.+-", 256))
    return make_error(Code::kInvalidArgument, "the program name `{}` must be letters, digits, and _ . + -",
                      request.program_name);
  if (!is_plain_text(request.target, "_.+-:,=", 4096))
    return make_error(Code::kInvalidArgument, "the target `{}` is malformed", request.target);
  for (const std::string& entry : request.entry_names)
    if (!is_plain_text(entry, "_$", 4096))
      return make_error(Code::kInvalidArgument, "the entry name `{}` must be an extern \"C\" identifier", entry);
  for (size_t i = 0; i < request.headers.size(); ++i) {
    const std::string& name = request.headers[i].name;
    if (!is_plain_text(name, "_.+-/", 256) || name[0] == '/' || name.find("..") != std::string::npos)
      return make_error(Code::kInvalidArgument,
                        "the virtual header's name `{}` must be a relative path of letters, digits, and _ . + - /",
                        name);
    for (size_t j = 0; j < i; ++j)
      if (request.headers[j].name == name)
        return make_error(Code::kInvalidArgument, "two virtual headers are named `{}`", name);
  }
  return {};
}

}  // namespace

const char* language_name(Language language) {
  const LanguageRow* row = language_row(language);
  return row ? row->name : "an unknown language";
}

const char* binary_kind_name(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::cubin: return "cubin";
    case BinaryKind::ptx: return "PTX";
    case BinaryKind::object: return "object";
    case BinaryKind::code_object: return "code object";
  }
  return "unknown";
}

Status check_request(const CompileRequest& request) {
  const LanguageRow* row = language_row(request.language);
  if (!row)
    return make_error(Code::kInvalidArgument, "language {} is unknown", static_cast<uint32_t>(request.language));
  if (std::find(row->outputs.begin(), row->outputs.end(), request.output) == row->outputs.end())
    return make_error(Code::kInvalidArgument, "{} does not compile to a {}", row->name,
                      binary_kind_name(request.output));
  if (request.source.empty()) return make_error(Code::kInvalidArgument, "the source text is empty");
  TILERT_TRY(check_names(request));
  TILERT_TRY(check_options(request.language, request.options));
  return guard_source(request);
}

std::string compile_key_text(const CompileRequest& request) {
  CompileRequest content = request;
  content.program_name.clear();
  content.deadline_ms = 0;
  content.entry_names.clear();
  content.foreign = request.foreign && request.language == Language::hip;  // elsewhere one compiler takes both alike
  content.options = effective_options(request.language, request.options);
  return serialize(content);
}

std::string Binary::why_not_clean() const {
  std::vector<std::string> reasons = performance_notes;
  for (const KernelResources& r : resources) {
    if (r.spill_stores || r.spill_loads)
      reasons.push_back(
          fmt::format("{}: {} bytes of spill stores, {} of spill loads", r.entry, r.spill_stores, r.spill_loads));
    if (r.stack_bytes) reasons.push_back(fmt::format("{}: a stack frame of {} bytes", r.entry, r.stack_bytes));
  }
  return fmt::format("{}", fmt::join(reasons, "\n"));
}

bool Binary::is_clean() const { return why_not_clean().empty(); }

void Compilers::add(std::shared_ptr<Compiler> compiler) {
  Language language = compiler->language();
  add(language, [compiler]() -> Result<std::shared_ptr<Compiler>> { return compiler; });
}

void Compilers::add(Language language, Factory open) {
  std::lock_guard lock(mutex_);
  std::erase_if(slots_, [&](const auto& slot) { return slot.first == language; });
  slots_.emplace_back(language, Slot{std::move(open), nullptr, std::nullopt});
}

void Compilers::retry(Language language) {
  std::lock_guard lock(mutex_);
  for (auto& [slot_language, slot] : slots_)
    if (slot_language == language) slot.failure.reset();
}

void Compilers::isolate(Isolation isolation, Isolated helper) {
  isolation_ = isolation;
  isolated_ = std::move(helper);
}

Result<std::shared_ptr<Compiler>> Compilers::find(Language language) const {
  std::lock_guard lock(mutex_);  // held while opening, so that two threads do not open twice
  for (auto& [slot_language, slot] : slots_) {
    if (slot_language != language) continue;
    if (slot.failure) return *slot.failure;
    if (slot.compiler) return slot.compiler;
    Result<std::shared_ptr<Compiler>> opened = slot.open();
    if (opened)
      slot.compiler = *opened;
    else
      slot.failure = opened.error();
    return opened;
  }
  return make_error(Code::kUnavailable, "no compiler for {} is part of this context", language_name(language));
}

Result<Binary> Compilers::compile(const CompileRequest& request, std::stop_token cancel) const {
  Clock::time_point start = Clock::now();
  TILERT_TRY(check_request(request));
  CompileControl control{std::move(cancel), std::nullopt};
  if (request.deadline_ms)
    control.deadline = start + std::chrono::milliseconds(std::min<uint64_t>(request.deadline_ms, 1u << 30));
  if (isolation_ == Isolation::always || (isolation_ == Isolation::untrusted && request.foreign)) {
    Result<Binary> binary = isolated_(request, control);
    if (binary) binary->total_ms = ms_since(start);
    return binary;
  }
  TILERT_ASSIGN(std::shared_ptr<Compiler> compiler, find(request.language));
  // The worker may outlive this call: it owns copies of all it needs.
  Result<Binary> binary = run_on_compile_thread(
      control, [compiler, control, request]() -> Result<Binary> { return compiler->compile(request, control); });
  if (binary) binary->total_ms = ms_since(start);
  return binary;
}

}  // namespace tilert
