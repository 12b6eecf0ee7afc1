// The rules for C-family text; asm_guard.cpp has those for assembler and LLVM text.
#include "compiler/source_guard.h"

#include "compiler/asm_guard.h"
#include "compiler/c_lexer.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

namespace tilert {
namespace {

constexpr std::array kDirectives = {"define", "undef", "if",   "ifdef",   "ifndef", "elif",   "elifdef", "elifndef",
                                    "else",   "endif", "line", "warning", "error",  "pragma", "include"};

constexpr std::array kFileTests = {"__has_include", "__has_include_next", "__has_embed", "__include_macros"};

// Which macros, by what they expand to, may paste tokens together; and which macros the conditions use.
class PasteRule {
 public:
  void define(const std::string& name, const std::vector<CToken>& body) {
    Macro& macro = macros_[name];
    for (const CToken& token : body) {
      if (token.is_punctuation("##")) macro.pastes = true;
      if (token.kind == CTokenKind::identifier) macro.names.insert(token.text);
    }
  }

  void use_in_condition(const std::string& where, const std::string& name) { uses_.emplace_back(where, name); }

  Status check() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& [name, macro] : macros_)
        if (!macro.pastes && std::any_of(macro.names.begin(), macro.names.end(), [&](auto& n) { return pastes(n); }))
          macro.pastes = changed = true;
    }
    for (const auto& [where, name] : uses_)
      if (pastes(name))
        return make_error(Code::kInvalidProgram,
                          "{}: the macro `{}` pastes tokens (##) and stands in a condition; that could build "
                          "__has_include, so it is refused. Compute the condition without ##",
                          where, name);
    return {};
  }

 private:
  struct Macro {
    bool pastes = false;
    std::set<std::string> names;
  };
  bool pastes(const std::string& name) const {
    auto found = macros_.find(name);
    return found != macros_.end() && found->second.pastes;
  }
  std::map<std::string, Macro> macros_;
  std::vector<std::pair<std::string, std::string>> uses_;
};

class CGuard {
 public:
  explicit CGuard(const CompileRequest& request) : request_(request) {}

  // `embedded`: the contents of a raw string, of which only directives and file tests matter.
  Status check(std::string_view text, const std::string& what, bool embedded = false) {
    CLexer lexer(text, what);
    AsmRule asm_rule(request_.language, what);
    while (true) {
      Result<CToken> next = lexer.next();
      if (!next && embedded) return {};  // not C at all
      if (!next) return std::move(next).error();
      const CToken& token = *next;
      if (token.kind == CTokenKind::end) break;
      if (token.first && token.is_punctuation("#")) {
        TILERT_TRY(directive(lexer, embedded));
        continue;
      }
      TILERT_TRY(file_test(what, token));
      if (token.kind == CTokenKind::raw_string) TILERT_TRY(check_raw(token, what));
      if (!embedded) TILERT_TRY(asm_rule.take(token));
    }
    return embedded ? Status{} : asm_rule.finish();
  }

  Status finish() { return paste_.check(); }

 private:
  static Status file_test(const std::string& what, const CToken& token) {
    if (token.kind != CTokenKind::identifier) return {};
    if (std::find(kFileTests.begin(), kFileTests.end(), token.text) == kFileTests.end()) return {};
    return make_error(Code::kInvalidProgram,
                      "{}, line {}: `{}` asks about files of the machine that compiles; it is refused", what,
                      token.line, token.text);
  }

  // A compiler that does not know raw strings here (in a group that is skipped, say) sees their lines as code.
  Status check_raw(const CToken& token, const std::string& what) {
    return check(token.text, fmt::format("{}, raw string of line {}", what, token.line), true);
  }

  Status directive(CLexer& lexer, bool embedded) {
    Result<CToken> name = lexer.next();
    if (!name) return embedded ? Status{} : Status(std::move(name).error());
    if (name->kind == CTokenKind::newline || name->kind == CTokenKind::end) return {};
    bool known = name->kind == CTokenKind::identifier || name->kind == CTokenKind::number;
    if (name->kind == CTokenKind::identifier)
      known = std::find(kDirectives.begin(), kDirectives.end(), name->text) != kDirectives.end();
    if (!known && !(embedded && name->kind != CTokenKind::identifier))
      return make_error(Code::kInvalidProgram, "{}, line {}: the directive `#{}` is refused; allowed are #{}",
                        lexer.what(), name->line, name->text, fmt::join(kDirectives, " #"));
    if (name->is_identifier("include")) return include(lexer, name->line);
    return rest_of_directive(lexer, *name, embedded);
  }

  // The name must be spelled out on the line itself: what a macro would expand to is not looked at.
  Status include(CLexer& lexer, int line) {
    std::string_view rest = lexer.rest_of_line();
    while (!rest.empty() && std::string_view(" \t\v\f\r").find(rest.back()) != std::string_view::npos)
      rest.remove_suffix(1);
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
    char close = rest.substr(0, 1) == "<" ? '>' : '"';
    size_t end = rest.size() > 1 && (rest[0] == '<' || rest[0] == '"') ? rest.find(close, 1) : std::string_view::npos;
    std::string_view after = end == std::string_view::npos ? "" : rest.substr(end + 1);
    while (!after.empty() && (after.front() == ' ' || after.front() == '\t')) after.remove_prefix(1);
    bool comment = after.substr(0, 2) == "//" && after.find('\\') == std::string_view::npos;
    if (end == std::string_view::npos || !(after.empty() || comment))
      return make_error(
          Code::kInvalidProgram,
          "{}, line {}: `#include {}` does not spell out a name; write #include \"name\" of a virtual header",
          lexer.what(), line, rest);
    std::string_view name = rest.substr(1, end - 1);
    for (const VirtualHeader& header : request_.headers)
      if (header.name == name) return {};
    std::vector<std::string> names;
    for (const VirtualHeader& header : request_.headers) names.push_back(header.name);
    return make_error(Code::kInvalidProgram,
                      "{}, line {}: `#include {}` is not among the virtual headers of the request ({}); files of this "
                      "machine are never read: pass its text as a virtual header",
                      lexer.what(), line, rest.substr(0, end + 1),
                      names.empty() ? "there are none" : fmt::format("{}", fmt::join(names, ", ")));
  }

  Status rest_of_directive(CLexer& lexer, const CToken& name, bool embedded) {
    std::vector<CToken> tokens;
    AsmRule asm_rule(request_.language, lexer.what());
    while (true) {
      Result<CToken> token = lexer.next();
      if (!token && embedded) return {};
      if (!token) return std::move(token).error();
      if (token->kind == CTokenKind::newline || token->kind == CTokenKind::end) break;
      TILERT_TRY(file_test(lexer.what(), *token));
      if (token->kind == CTokenKind::raw_string) TILERT_TRY(check_raw(*token, lexer.what()));
      if (!embedded) TILERT_TRY(asm_rule.take(*token));
      tokens.push_back(*std::move(token));
    }
    if (name.is_identifier("define")) TILERT_TRY(define(lexer, tokens));
    if (name.is_identifier("if") || name.is_identifier("elif")) condition(lexer, tokens);
    if (name.is_identifier("pragma")) TILERT_TRY(pragma(lexer, tokens));
    return embedded ? Status{} : asm_rule.finish();
  }

  Status define(const CLexer& lexer, const std::vector<CToken>& tokens) {
    if (tokens.empty()) return {};
    std::vector<CToken> body(tokens.begin() + 1, tokens.end());
    paste_.define(tokens[0].text, body);
    return check_macro_for_asm(request_.language, lexer.what(), body);
  }

  void condition(const CLexer& lexer, const std::vector<CToken>& tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].kind != CTokenKind::identifier) continue;
      bool tested = i > 0 && (tokens[i - 1].is_identifier("defined") ||
                              (i > 1 && tokens[i - 1].is_punctuation("(") && tokens[i - 2].is_identifier("defined")));
      if (!tested) paste_.use_in_condition(fmt::format("{}, line {}", lexer.what(), tokens[i].line), tokens[i].text);
    }
  }

  // Pragmas of the languages are many; those that name files, modules or crash a compiler on purpose are few.
  static Status pragma(const CLexer& lexer, const std::vector<CToken>& tokens) {
    static constexpr std::array kRefused = {"dependency", "include_alias", "module", "__debug", "include"};
    for (size_t i = 0; i < tokens.size() && i < 2; ++i)
      if (std::find(kRefused.begin(), kRefused.end(), tokens[i].text) != kRefused.end())
        return make_error(Code::kInvalidProgram, "{}, line {}: the pragma `{}` is refused", lexer.what(),
                          tokens[i].line, tokens[i].text);
    return {};
  }

  const CompileRequest& request_;
  PasteRule paste_;
};

// A macro given as an option is checked as the directive it stands for.
std::string as_directive(const std::string& option) {
  std::string text = option.substr(2);
  size_t equal = text.find('=');
  if (equal == std::string::npos) return "#define " + text + " 1\n";
  text[equal] = ' ';
  return "#define " + text + "\n";
}

// Compilers paste a name expression into the source they were given.
Status guard_name_expression(const std::string& expression) {
  bool plain = !expression.empty() && expression.size() <= 4096;
  for (char c : expression) plain = plain && c >= ' ' && c <= '~' && c != '#' && c != '\\' && c != '"' && c != ';';
  if (plain && expression.find("%:") == std::string::npos && expression.find("__has_") == std::string::npos) return {};
  return make_error(Code::kInvalidProgram,
                    "the name expression `{}` is refused: it must be a C++ name, as in \"scale<float, 4>\"",
                    expression);
}

}  // namespace

Status guard_source(const CompileRequest& request) {
  if (request.language == Language::llvm_ir) return guard_llvm_text(request.source);
  CGuard guard(request);
  for (const std::string& option : request.options)
    if (option.substr(0, 2) == "-D") TILERT_TRY(guard.check(as_directive(option), "option " + option));
  for (const VirtualHeader& header : request.headers) TILERT_TRY(guard.check(header.text, "header " + header.name));
  TILERT_TRY(guard.check(request.source, "the source"));
  for (const std::string& expression : request.name_expressions) TILERT_TRY(guard_name_expression(expression));
  return guard.finish();
}

}  // namespace tilert
