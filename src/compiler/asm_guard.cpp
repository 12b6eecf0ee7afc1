// Assembler directives that read files, in inline assembly and in LLVM text.
#include "compiler/asm_guard.h"

#include "compiler/source_guard.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tilert {
namespace {

// The first two read files; the others build text that the assembler reads again, in which they could be hidden.
constexpr std::array kRefusedDirectives = {"incbin", "include", "macro", "irp", "irpc", "altmacro", "rept", "rep"};

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
}

bool assembler_reads_files(Language language) { return language != Language::cuda; }

bool is_asm_keyword(const CToken& token) {
  return token.is_identifier("asm") || token.is_identifier("__asm") || token.is_identifier("__asm__");
}

bool is_asm_qualifier(const CToken& token) {
  static constexpr std::array kQualifiers = {"volatile", "__volatile__", "__volatile", "inline", "__inline__", "goto"};
  return token.kind == CTokenKind::identifier &&
         std::find(kQualifiers.begin(), kQualifiers.end(), token.text) != kQualifiers.end();
}

}  // namespace

std::string forbidden_asm_directive(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (size_t dot = lower.find('.'); dot != std::string::npos; dot = lower.find('.', dot + 1)) {
    if (dot > 0 && is_name_character(lower[dot - 1])) continue;  // inside a name, as in %value.rep
    size_t end = dot + 1;
    while (end < lower.size() && is_name_character(lower[end])) ++end;
    std::string_view name = std::string_view(lower).substr(dot + 1, end - dot - 1);
    for (const char* directive : kRefusedDirectives)
      if (name == directive) return "." + std::string(name);
  }
  return {};
}

Status AsmRule::refuse(int line, const std::string& message) const {
  return make_error(Code::kInvalidProgram, "{}, line {}: {}", what_, line, message);
}

Status AsmRule::end_of_literal() {
  std::string directive = forbidden_asm_directive(literal_);
  // Without an assembler that reads files only the two directives themselves are worth a refusal.
  if (!assembler_reads_files(language_) && directive != ".incbin" && directive != ".include") directive.clear();
  literal_.clear();
  if (directive.empty()) return {};
  return refuse(literal_line_, fmt::format("a string holds the assembler directive `{}`, which is refused", directive));
}

Status AsmRule::take(const CToken& token) {
  if (token.kind == CTokenKind::newline) return {};
  if (token.kind == CTokenKind::string || token.kind == CTokenKind::raw_string) {
    if (literal_.empty()) literal_line_ = token.line;
    literal_ += token.text;
    return {};
  }
  TILERT_TRY(end_of_literal());
  bool incbin = after_dot_ && token.kind == CTokenKind::identifier && token.text == "incbin";
  after_dot_ = token.is_punctuation(".");
  if (incbin) return refuse(token.line, "`.incbin` is refused");
  if (!assembler_reads_files(language_)) return {};
  if (within_ == Within::qualifiers && token.is_punctuation("(")) {
    within_ = Within::text;
  } else if (within_ == Within::qualifiers && is_asm_qualifier(token)) {
    // goes on
  } else if (within_ == Within::text && (token.is_punctuation(":") || token.is_punctuation(")"))) {
    within_ = Within::nothing;
  } else if (within_ != Within::nothing) {
    return refuse(token.line, "the text of an asm statement must be string literals alone, not macros");
  } else if (is_asm_keyword(token)) {
    within_ = Within::qualifiers;
  }
  return {};
}

Status AsmRule::finish() {
  TILERT_TRY(end_of_literal());
  if (within_ != Within::nothing)
    return refuse(literal_line_, "an asm statement that is cut off, or hidden in a macro");
  return {};
}

Status check_macro_for_asm(Language language, const std::string& what, const std::vector<CToken>& body) {
  if (!assembler_reads_files(language)) return {};
  for (const CToken& token : body)
    if (token.is_punctuation("#") || token.is_punctuation("##"))
      return make_error(
          Code::kInvalidProgram,
          "{}, line {}: `{}` in a macro is refused: on this target it could build assembler directives that "
          "read files",
          what, token.line, token.text);
  return {};
}

bool names_llvm_intrinsic(std::string_view text) {
  CLexer lexer(text, "");
  std::string literal;
  while (true) {
    const Result<CToken> token = lexer.next();
    const bool string = token && (token->kind == CTokenKind::string || token->kind == CTokenKind::raw_string);
    if (string) literal += token->text;
    if (string || (token && token->kind == CTokenKind::newline)) continue;
    if (literal.find("llvm.") != std::string::npos) return true;
    literal.clear();
    if (!token || token->kind == CTokenKind::end) return false;
  }
}

// `\2E` in a string of LLVM text is a byte in hexadecimal. Resolving escapes everywhere can only find more.
Status guard_llvm_text(const std::string& text) {
  std::string decoded;
  auto hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 2 < text.size() && hex(text[i + 1]) && hex(text[i + 2])) {
      decoded.push_back(static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)));
      i += 2;
    } else {
      decoded.push_back(text[i]);
    }
  }
  for (const std::string& candidate : {text, decoded}) {
    std::string directive = forbidden_asm_directive(candidate);
    if (!directive.empty())
      return make_error(Code::kInvalidProgram, "the LLVM text holds the assembler directive `{}`, which is refused",
                        directive);
  }
  return {};
}

}  // namespace tilert
