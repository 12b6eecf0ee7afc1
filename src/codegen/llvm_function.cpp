// Device functions in LLVM IR: the user's definitions, with every name that they define made the function's own, so that no
// two texts of a module meet. What they only declare keeps its name, and stands once in the module.
// Not here: whether the text is allowed to be there (the guard, src/compiler).
#include <algorithm>
#include <functional>
#include <iterator>

#include "codegen/llvm_kernel.h"

namespace tilert::codegen {
namespace {

using ir::DeviceFunction;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '$' || c == '.' || c == '_';
}

enum class Piece : uint8_t { other, space, comment, string, global, local };  // global: @name, local: %name

struct Token {
  Piece kind = Piece::other;
  std::string_view text;  // as written
  std::string_view name;  // of global and local, without sigil and quotes
};

Token next_token(std::string_view text) {
  const char c = text[0];
  size_t end = 1;
  if (c == ';') {
    while (end < text.size() && text[end] != '\n') ++end;
    return {Piece::comment, text.substr(0, end), {}};
  }
  if (c == '"') {
    end = std::min(text.find('"', 1), text.size() - 1) + 1;
    return {Piece::string, text.substr(0, end), {}};
  }
  if (c == '@' || c == '%') {
    const Piece kind = c == '@' ? Piece::global : Piece::local;
    if (end < text.size() && text[end] == '"') {
      end = std::min(text.find('"', 2), text.size() - 1) + 1;
      return {kind, text.substr(0, end), text.substr(2, end - std::min<size_t>(end, 3))};
    }
    while (end < text.size() && is_name(text[end])) ++end;
    return {kind, text.substr(0, end), text.substr(1, end - 1)};
  }
  if (c == ' ' || c == '\t' || c == '\r') {
    while (end < text.size() && (text[end] == ' ' || text[end] == '\t' || text[end] == '\r')) ++end;
    return {Piece::space, text.substr(0, end), {}};
  }
  if (is_name(c))
    while (end < text.size() && is_name(text[end])) ++end;
  return {Piece::other, text.substr(0, end), {}};
}

class FunctionText {
 public:
  FunctionText(const DeviceFunction& function, std::set<std::string>& declared) : f_(function), declared_(declared) {
    for (std::string_view rest = *ir::text_in(function, "llvm"); !rest.empty(); rest.remove_prefix(tokens_.back().text.size()))
      tokens_.push_back(next_token(rest));
  }

  Result<std::string> run() {
    TILERT_TRY(find_definitions());
    if (!defined_.count(f_.name)) return wrong("it does not define @" + f_.name);
    std::string out = "\n";
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (dropped_.count(i)) {
        while (i + 1 < tokens_.size() && tokens_[i].text != "\n") ++i;
      } else if (token.kind == Piece::global && defined_.count(token.name)) {
        out += llvm_function_name(f_, token.name);
      } else if (token.kind == Piece::local && types_.count(token.name)) {
        out += "%" + llvm_function_name(f_, token.name).substr(1);
      } else {
        out += token.text;
        if (defines_.count(i) && !has_linkage(i)) out += " internal";
      }
    }
    return out + "\n";
  }

 private:
  Error wrong(const std::string& why) const {
    return make_error(Code::kInvalidProgram, "the device function '{}', its text in \"llvm\": {}", f_.name, why);
  }

  // What begins each line outside of braces: a definition of a function, a constant or a type, or a declaration.
  Status find_definitions() {
    int depth = 0, line = 1;
    bool begins = true;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (token.text == "\n") {
        ++line;
        begins = true;
      } else if (token.kind != Piece::space && token.kind != Piece::comment) {
        if (begins && depth == 0) TILERT_TRY(top_level(i, line));
        begins = false;
        if (token.text == "{") ++depth;
        if (token.text == "}") --depth;
      }
    }
    return depth == 0 ? Status() : Status(wrong("a brace is not closed"));
  }

  Status top_level(size_t at, int line) {
    const Token& token = tokens_[at];
    if (token.kind == Piece::global) {
      defined_.insert(token.name);
    } else if (token.kind == Piece::local) {
      types_.insert(token.name);
    } else if (token.text == "define" || token.text == "declare") {
      size_t name = at;
      while (name < tokens_.size() && tokens_[name].kind != Piece::global) ++name;
      if (name == tokens_.size()) return wrong(fmt::format("line {}: '{}' names no function", line, token.text));
      if (token.text == "declare") {
        if (!declared_.insert(std::string(tokens_[name].name)).second) dropped_.insert(at);
        return {};
      }
      defines_.insert(at);
      if (!defined_.insert(tokens_[name].name).second) return wrong(fmt::format("line {}: @{} is defined twice", line, tokens_[name].name));
      if (tokens_[name].name == f_.name) return signature(name, line);
    } else if (token.text != "}") {
      return wrong(fmt::format("line {}: '{}' is neither a definition of a function, a constant or a type nor a declaration of a function; "
                               "leave targets, attribute groups and metadata out", line, token.text));
    }
    return {};
  }

  // Whether something stands behind `define` that says who sees the function. Without it nobody outside of the module does.
  bool has_linkage(size_t at) const {
    static constexpr std::string_view kLinkages[] = {"private", "internal", "external", "available_externally", "linkonce",
                                                     "linkonce_odr", "weak", "weak_odr", "extern_weak", "common", "appending"};
    while (++at < tokens_.size() && tokens_[at].kind == Piece::space) {
    }
    return at < tokens_.size() && std::find(std::begin(kLinkages), std::end(kLinkages), tokens_[at].text) != std::end(kLinkages);
  }

  // Calls through opaque pointers check no types, so that this does.
  Status signature(size_t name, int line) const {
    std::string_view result;
    for (size_t i = name; i-- > 0;)
      if (tokens_[i].kind == Piece::other) {
        result = tokens_[i].text;
        break;
      }
    std::vector<std::string_view> types;
    int depth = 0;
    bool begins = false;
    for (size_t i = name + 1; i < tokens_.size(); ++i) {
      const std::string_view text = tokens_[i].text;
      if (text == ")" && --depth == 0) break;
      if (depth == 1 && begins && tokens_[i].kind == Piece::other && text != "\n") types.push_back(text), begins = false;
      if (text == "(" && ++depth == 1) begins = true;
      if (text == "," && depth == 1) begins = true;
    }
    std::vector<std::string> wanted;
    for (const DeviceFunction::Parameter& p : f_.parameters)
      wanted.push_back(p.passing == ir::Passing::value ? llvm_value_type(p.dtype) : "ptr");
    const std::string declared = fmt::format("{} @{}({})", llvm_value_type(f_.result), f_.name, fmt::join(wanted, ", "));
    const std::string found = fmt::format("{} @{}({})", result, f_.name, fmt::join(types, ", "));
    if (declared == found) return {};
    return wrong(fmt::format("line {} defines {}, and the declaration says {}", line, found, declared));
  }

  const DeviceFunction& f_;
  std::set<std::string>& declared_;
  std::vector<Token> tokens_;
  std::set<std::string_view> defined_, types_;
  std::set<size_t> defines_;  // tokens `define`
  std::set<size_t> dropped_;  // tokens that begin declarations which the module has already
};

}  // namespace

std::string llvm_function_name(const DeviceFunction& function, std::string_view name) {
  return fmt::format("@\"user.{}.{}\"", function.name, name);
}

Result<std::string> llvm_function_text(const DeviceFunction& function, std::set<std::string>& declared) {
  return FunctionText(function, declared).run();
}

}  // namespace tilert::codegen
