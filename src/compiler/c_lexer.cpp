// The lexer for C-family text; see c_lexer.h for what it refuses and why.
#include "compiler/c_lexer.h"

#include <cctype>

namespace tilert {
namespace {

bool starts_identifier(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

bool continues_identifier(char c) { return starts_identifier(c) || std::isdigit(static_cast<unsigned char>(c)); }

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r'; }

bool is_raw_prefix(std::string_view text) {
  return text == "R" || text == "u8R" || text == "uR" || text == "UR" || text == "LR";
}

bool is_literal_prefix(std::string_view text) { return text == "u8" || text == "u" || text == "U" || text == "L"; }

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xc0 | code >> 6));
    out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else {
    out.push_back(static_cast<char>(0xe0 | (code >> 12 & 0xf)));
    out.push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
  }
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// Reads at most `most` digits of `base` (braces around them allowed); leaves `i` after the last.
uint32_t read_digits(std::string_view body, size_t& i, int base, int most) {
  bool braced = i < body.size() && body[i] == '{';
  if (braced) ++i;
  uint32_t value = 0;
  for (int n = 0; i < body.size() && n < most && digit_value(body[i]) < base; ++n, ++i)
    value = value * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit_value(body[i]));
  if (braced && i < body.size() && body[i] == '}') ++i;
  return value;
}

}  // namespace

std::string decode_c_escapes(std::string_view body) {
  static constexpr std::string_view kNames = "abfnrtv", kValues = "\a\b\f\n\r\t\v";
  std::string out;
  for (size_t i = 0; i < body.size();) {
    if (body[i] != '\\' || i + 1 == body.size()) {
      out.push_back(body[i++]);
      continue;
    }
    char c = body[i + 1];
    size_t name = kNames.find(c);
    if (c >= '0' && c <= '7') {
      append_utf8(out, read_digits(body, ++i, 8, 3));
    } else if (c == 'o') {
      append_utf8(out, read_digits(body, i += 2, 8, 8));
    } else if (c == 'x') {
      append_utf8(out, read_digits(body, i += 2, 16, 8));
    } else if (c == 'u' || c == 'U') {
      append_utf8(out, read_digits(body, i += 2, 16, c == 'u' ? 4 : 8));
    } else {
      out.push_back(name == std::string_view::npos ? c : kValues[name]);
      i += 2;
    }
  }
  return out;
}

CLexer::CLexer(std::string_view text, std::string what) : text_(text), what_(std::move(what)) {
  if (text_.substr(0, 3) == "\xef\xbb\xbf") position_ = 3;
}

Error CLexer::refuse(int line, std::string_view message) const {
  return make_error(Code::kInvalidProgram, "{}, line {}: {}", what_, line, message);
}

// Spellings that compilers read differently from each other, found wherever they stand, also in comments.
Status CLexer::check_ambiguities() const {
  int line = 1;
  for (size_t i = 0; i < text_.size(); ++i) {
    char c = text_[i];
    if (c == '\n') ++line;
    if (c == '\0') return refuse(line, "a zero byte; text is expected");
    if (c == '\r' && (i + 1 == text_.size() || text_[i + 1] != '\n'))
      return refuse(line, "a carriage return that is not part of a line end; end lines with \\n");
    if (c == '?' && (text_.substr(i, 3) == "?\?=" || text_.substr(i, 3) == "?\?/"))
      return refuse(line, "a trigraph; write the character itself");
    if (c != '\\') continue;
    size_t end = i + 1;
    while (end < text_.size() && is_blank(text_[end])) ++end;
    if (end > i + 1 && end < text_.size() && text_[end] == '\n')
      return refuse(line,
                    "a backslash with blanks before the end of the line; a continued line ends with the backslash");
  }
  return {};
}

void CLexer::skip_continuations(size_t& position, int* line) const {
  while (position + 1 < text_.size() && text_[position] == '\\' && text_[position + 1] == '\n') {
    position += 2;
    if (line) ++*line;
  }
}

char CLexer::peek(size_t ahead) {
  size_t position = position_;
  skip_continuations(position, nullptr);
  for (; ahead > 0 && position < text_.size(); --ahead) {
    ++position;
    skip_continuations(position, nullptr);
  }
  return position < text_.size() ? text_[position] : '\0';
}

char CLexer::take() {
  skip_continuations(position_, &line_);
  if (position_ >= text_.size()) return '\0';
  if (text_[position_] == '\n') ++line_;
  return text_[position_++];
}

Status CLexer::skip_block_comment() {
  int start = line_;
  take(), take();
  while (!(peek() == '*' && peek(1) == '/')) {
    if (peek() == '\0') return refuse(start, "a comment that never ends");
    // A directive may stand after a comment of several lines: to be safe that counts as the start of a line.
    if (take() == '\n') first_ = true;
  }
  take(), take();
  return {};
}

Status CLexer::skip_blanks_and_comments() {
  while (true) {
    char c = peek();
    if (is_blank(c)) {
      take();
    } else if (c == '/' && peek(1) == '/') {
      while (peek() != '\n' && peek() != '\0') take();
    } else if (c == '/' && peek(1) == '*') {
      TILERT_TRY(skip_block_comment());
    } else {
      return {};
    }
  }
}

CToken CLexer::lex_identifier() {
  CToken token{CTokenKind::identifier, {}, line_, first_};
  while (continues_identifier(peek())) token.text.push_back(take());
  return token;
}

// A preprocessing number: digits, letters, dots, signs after an exponent, and digit separators.
CToken CLexer::lex_number() {
  CToken token{CTokenKind::number, {}, line_, first_};
  while (true) {
    char c = peek();
    char last =
        token.text.empty() ? '\0' : static_cast<char>(std::tolower(static_cast<unsigned char>(token.text.back())));
    bool sign = (c == '+' || c == '-') && (last == 'e' || last == 'p');
    bool separator = c == '\'' && continues_identifier(peek(1)) && !token.text.empty();
    if (!continues_identifier(c) && c != '.' && !sign && !separator) return token;
    token.text.push_back(take());
  }
}

Result<CToken> CLexer::lex_quoted(char quote) {
  CToken token{quote == '"' ? CTokenKind::string : CTokenKind::character, {}, line_, first_};
  std::string body;
  take();
  // An unterminated literal ends with its line: a compiler reports it, or skips it in a group not compiled.
  while (peek() != quote && peek() != '\n' && peek() != '\0') {
    if (peek() == '\\') body.push_back(take());
    if (peek() != '\n' && peek() != '\0') body.push_back(take());
  }
  if (peek() == quote) take();
  token.text = decode_c_escapes(body);
  return token;
}

// The prefix is taken; line continuations mean nothing inside.
Result<CToken> CLexer::lex_raw_string() {
  CToken token{CTokenKind::raw_string, {}, line_, first_};
  take();
  size_t open = text_.find('(', position_);
  if (open == std::string_view::npos || open - position_ > 16) return refuse(line_, "a malformed raw string");
  std::string_view delimiter = text_.substr(position_, open - position_);
  if (delimiter.find_first_of(" \t\v\f\r\n\\)\"") != std::string_view::npos)
    return refuse(line_, "a malformed raw string");
  std::string closing = ")" + std::string(delimiter) + "\"";
  size_t close = text_.find(closing, open + 1);
  if (close == std::string_view::npos) return refuse(token.line, "a raw string that never ends");
  token.text = std::string(text_.substr(open + 1, close - open - 1));
  for (char c : token.text) line_ += c == '\n';
  position_ = close + closing.size();
  return token;
}

CToken CLexer::lex_punctuation() {
  CToken token{CTokenKind::punctuation, {}, line_, first_};
  char c = take();
  token.text = std::string(1, c);
  if (c == '%' && peek() == ':') take(), token.text = "#";  // the digraph
  if (token.text != "#") return token;
  if (peek() == '#')
    take(), token.text = "##";
  else if (peek() == '%' && peek(1) == ':')
    take(), take(), token.text = "##";
  return token;
}

Result<CToken> CLexer::next() {
  if (!checked_) {
    TILERT_TRY(check_ambiguities());
    checked_ = true;
  }
  TILERT_TRY(skip_blanks_and_comments());
  char c = peek();
  if (c == '\0') return CToken{CTokenKind::end, {}, line_, true};
  if (c == '\n') {
    CToken token{CTokenKind::newline, "\n", line_, first_};
    take();
    first_ = true;
    return token;
  }
  if (c == '\\') return refuse(line_, "a backslash outside a literal");
  Result<CToken> token = CToken{};
  if (std::isdigit(static_cast<unsigned char>(c)) || (c == '.' && std::isdigit(static_cast<unsigned char>(peek(1))))) {
    token = lex_number();
  } else if (c == '"' || c == '\'') {
    token = lex_quoted(c);
  } else if (starts_identifier(c)) {
    token = lex_identifier();
    bool first = token->first;
    if (peek() == '"' && is_raw_prefix(token->text))
      token = lex_raw_string();
    else if ((peek() == '"' || peek() == '\'') && is_literal_prefix(token->text))
      token = lex_quoted(peek());
    if (token) token->first = first;
  } else {
    token = lex_punctuation();
  }
  first_ = false;
  return token;
}

std::string_view CLexer::rest_of_line() {
  size_t end = text_.find('\n', position_);
  if (end == std::string_view::npos) end = text_.size();
  std::string_view rest = text_.substr(position_, end - position_);
  position_ = end;
  return rest;
}

}  // namespace tilert
