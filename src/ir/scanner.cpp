// Tokens of .tir text.
#include "ir/scanner.h"

#include <algorithm>

namespace tilert::ir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c); }
int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string shown(std::string_view token) {
  std::string out;
  for (char c : token.substr(0, 40)) out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return out + (token.size() > 40 ? "..." : "");
}

}  // namespace

void Scanner::take(Token kind, size_t length, size_t skip) {
  kind_ = kind;
  token_ = text_.substr(position_ + skip, length - skip);
  position_ += length;
}

void Scanner::skip_blank() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    const std::string_view rest = text_.substr(position_);
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++position_;
    } else if (rest.substr(0, 2) == "//") {
      position_ = std::min(text_.size(), text_.find('\n', position_));
    } else if (rest.substr(0, 2) == "/*") {
      const size_t close = text_.find("*/", position_ + 2);
      if (close == std::string_view::npos) return fail_at(position_, "this comment does not end");
      position_ = close + 2;
    } else {
      return;
    }
  }
}

void Scanner::advance() {
  skip_blank();
  start_ = position_;
  if (position_ >= text_.size()) return take(Token::end, 0);
  const char c = text_[position_];
  if (c == '"') return scan_string();
  if (text_.substr(position_, 2) == "->") return take(Token::arrow, 2);
  if (is_digit(c) || c == '-') return scan_number();
  const bool sigil = c == '%' || c == '@' || c == '$';
  size_t length = sigil ? 1 : 0;
  while (position_ + length < text_.size() &&
         (is_word(text_[position_ + length]) || (sigil && text_[position_ + length] == '.')))
    ++length;
  if (sigil && length > 1)
    return take(c == '%' ? Token::variable : c == '@' ? Token::buffer : Token::defined, length, 1);
  if (!sigil && length == 1 && c == '_') return take(Token::mark, 1);
  if (!sigil && length > 0) return take(Token::word, length);
  if (std::string_view("()[]{}<>,:=!").find(c) != std::string_view::npos) return take(Token::mark, 1);
  fail_at(start_, fmt::format("'{}' starts nothing that .tir knows", shown(text_.substr(start_, 1))));
}

void Scanner::scan_number() {
  size_t length = text_[position_] == '-' ? 1 : 0;
  const auto at = [&](size_t i) { return position_ + i < text_.size() ? text_[position_ + i] : '\0'; };
  // An exponent's sign belongs to the number; so does every letter, which the reader of the number then refuses.
  while (is_word(at(length)) || at(length) == '.' ||
         ((at(length) == '-' || at(length) == '+') && (at(length - 1) == 'e' || at(length - 1) == 'E') && at(1) != 'x'))
    ++length;
  take(Token::number, length);
}

void Scanner::scan_string() {
  size_t end = position_ + 1;
  while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size() || text_[end] != '"') return fail_at(start_, "this string does not end on its line");
  const std::string_view inside = text_.substr(position_ + 1, end - position_ - 1);
  for (size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\') continue;
    const char c = inside[++i];
    if (c == '\\' || c == '"' || c == 'n') continue;
    if (c == 'x' && i + 2 < inside.size() && hex_value(inside[i + 1]) >= 0 && hex_value(inside[i + 2]) >= 0) continue;
    return fail_at(start_, "unknown escape in a string: expected \\\\, \\\", \\n or \\x and two hexadecimal digits");
  }
  kind_ = Token::string;
  token_ = inside;
  position_ = end + 1;
}

std::string Scanner::unquoted() const {
  std::string out;
  for (size_t i = 0; i < token_.size(); ++i) {
    if (token_[i] != '\\') {
      out += token_[i];
    } else if (token_[++i] == 'n') {
      out += '\n';
    } else if (token_[i] == 'x') {
      out += static_cast<char>(hex_value(token_[i + 1]) * 16 + hex_value(token_[i + 2]));
      i += 2;
    } else {
      out += token_[i];
    }
  }
  return out;
}

bool Scanner::accept(std::string_view mark_or_word) {
  if (!is(mark_or_word)) return false;
  advance();
  return true;
}

void Scanner::expect(std::string_view mark_or_word) {
  if (!accept(mark_or_word)) fail(fmt::format("'{}'", mark_or_word));
}

void Scanner::fail(std::string_view expected) {
  const std::string found = kind_ == Token::end ? "the end of the text" : fmt::format("'{}'", shown(token_));
  fail_at(start_, fmt::format("expected {}, found {}", expected, found));
}

void Scanner::fail_at(size_t place, std::string message, Code code) {
  if (!error_) {
    const std::string_view before = text_.substr(0, place);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const size_t start = before.rfind('\n');
    const size_t column = place - (start == std::string_view::npos ? 0 : start + 1) + 1;
    error_ = make_error(code, "{}:{}:{}: {}", name_, line, column, message);
  }
  position_ = text_.size();
  kind_ = Token::end;
  token_ = {};
}

}  // namespace tilert::ir
