// Device functions and their calls: names, types, how each operand is passed, and who may write where.
#include <set>

#include "ir/verifier_impl.h"
#include "ir/words.h"

namespace tilert::ir {
namespace {

constexpr size_t kMaxFunctions = 1024, kMaxFunctionOperands = 64, kMaxFunctionName = 255;

// An identifier of C that is none of ours.
bool is_function_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxFunctionName || (name[0] >= '0' && name[0] <= '9')) return false;
  for (char c : name)
    if (!(c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
  return !name.starts_with("tl_") && !name.starts_with("TL_");
}

bool holds_word(std::string_view text, std::string_view word) {
  const auto is_part = [](char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

}  // namespace

bool Verifier::functions() {
  if (p_.functions.size() > kMaxFunctions) return fail(fmt::format("{} device functions; {} are the limit", p_.functions.size(), kMaxFunctions));
  std::set<std::string_view> names;
  for (const DeviceFunction& f : p_.functions) {
    if (!names.insert(f.name).second) return fail(fmt::format("the device function '{}' is declared twice", f.name));
    if (Status fits = check_function(f); !fits) return fail_with(fits.error().code, fits.error().message);
  }
  return true;
}

Status check_function(const DeviceFunction& f) {
  static constexpr std::string_view kValues = "take bool, an integer of 8 bits or more, f16, bf16, f32 or f64, and cast or reinterpret";
  const std::string what = fmt::format("the device function '{}'", f.name);
  const auto wrong = [&](std::string message) { return make_error(Code::kInvalidProgram, "{}{}", what, message); };
  if (!is_function_name(f.name))
    return wrong(fmt::format(": a name is an identifier of at most {} letters, digits and _ that does not start with tl_", kMaxFunctionName));
  if (f.parameters.size() > kMaxFunctionOperands)
    return wrong(fmt::format(" has {} parameters; {} are the limit", f.parameters.size(), kMaxFunctionOperands));
  for (size_t i = 0; i < f.parameters.size(); ++i) {
    const DeviceFunction::Parameter& p = f.parameters[i];
    if (p.passing == Passing::value && !device_value_takes(p.dtype))
      return refusal(fmt::format("{}: parameter {} is {} by value", what, i, dtype_text(p.dtype)), kValues);
    if (p.passing != Passing::value && !device_pointer_takes(p.dtype))
      return refusal(fmt::format("{}: parameter {} is a pointer to {}", what, i, dtype_text(p.dtype)), "point to elements of whole bytes");
  }
  if (f.result != DType::none && !device_value_takes(f.result))
    return refusal(fmt::format("{} gives {}", what, dtype_text(f.result)), kValues);
  if (f.texts.empty()) return wrong(" has no text; give its definition in at least one of cuda, hip and llvm");
  std::set<std::string_view> languages;
  for (const auto& [language, text] : f.texts) {
    if (!is_source_language(language)) return refusal(fmt::format("{}: a text in '{}'", what, language), "this version takes cuda, hip and llvm");
    if (!languages.insert(language).second) return wrong(fmt::format(" has two texts in \"{}\"", language));
    if (!holds_word(text, f.name)) return wrong(fmt::format(": its text in \"{}\" does not define '{}'", language, f.name));
  }
  return {};
}

bool Verifier::check(const CallDevice& n) {
  if (n.function >= p_.functions.size()) return fail("a call names no device function");
  const DeviceFunction& f = p_.functions[n.function];
  const std::string what = fmt::format("a call of '{}'", f.name);
  if (n.operands.size() != f.parameters.size())
    return fail(fmt::format("{} has {} operands; it takes {}", what, n.operands.size(), f.parameters.size()));
  Dependence all = made_inside();
  for (size_t i = 0; i < n.operands.size(); ++i) {
    const DeviceOperand& given = n.operands[i];
    if (!operand(given, f, i)) return false;
    if (given.passing == Passing::value) all |= dependence(given.value);
    else all |= private_[storage_of(p_, given.at.buffer)] ? ~Dependence{0} : dependence(given.at.indices);
  }
  if (!writes_once(n, f)) return false;
  if (n.var == kNoVar) return true;
  if (f.result == DType::none) return fail(fmt::format("{} is asked for a value; it gives none", what));
  if (n.var >= p_.vars.size() || p_.vars[n.var].dtype != f.result)
    return fail(fmt::format("the result of {} is {}", what, dtype_text(f.result)));
  return define(n.var, VarKind::let, all);
}

bool Verifier::operand(const DeviceOperand& given, const DeviceFunction& f, size_t number) {
  const DeviceFunction::Parameter& p = f.parameters[number];
  const std::string what = fmt::format("operand {} of '{}'", number, f.name);
  if (given.passing != p.passing) return fail(fmt::format("{} is passed by {}, the function takes it by {}", what, word(given.passing), word(p.passing)));
  if (p.passing == Passing::value) return expr(given.value, p.dtype, what.c_str());
  if (!access(given.at, what.c_str())) return false;
  const BufferId b = given.at.buffer;
  const Buffer& buffer = p_.buffers[b];
  if (buffer.dtype != p.dtype)
    return fail(fmt::format("{} points to {}, which holds {}; {} is needed", what, name(b), dtype_text(buffer.dtype), dtype_text(p.dtype)));
  if (buffer.scope == Scope::fragment)
    return fail(fmt::format("{} points to an element of the fragment {}, which lies in one thread's registers; pass its value, or copy "
                            "it to a var or a shared tile", what, name(b)));
  const bool own = buffer.scope == Scope::scalar || buffer.scope == Scope::local;
  if (own && !device_value_takes(p.dtype))
    return unsupported(fmt::format("{} points to {}, a var or local of {}", what, name(b), dtype_text(p.dtype)), "point to a shared tile");
  if (own && (p.dtype == DType::f16 || p.dtype == DType::bf16))
    return unsupported(fmt::format("{} points to {}, a var or local of {}, which may be held in f32", what, name(b), dtype_text(p.dtype)),
                       "declare it f32, or point to a shared tile");
  if (reads_through(p.passing) && !reads(b)) return false;
  return !writes_through(p.passing) || (injective(given.at) && writes(b));
}

// Outside Parallel one thread writes memory for all, and could not write the others' arrays.
bool Verifier::writes_once(const CallDevice& n, const DeviceFunction& f) {
  if (parallel_ || lowered() || !writes_memory(p_, n)) return true;
  for (size_t i = 0; i < n.operands.size(); ++i) {
    if (!writes_through(n.operands[i].passing) || p_.buffers[n.operands[i].at.buffer].scope != Scope::local) continue;
    return unsupported(fmt::format("operand {} of '{}', {}, is an array of the block beside memory that the call writes", i, f.name,
                                   name(n.operands[i].at.buffer)), "use a shared tile, or call it in parallel");
  }
  return true;
}

}  // namespace tilert::ir
