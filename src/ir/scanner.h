// Splits .tir text into tokens, with the place of each. Sticky: after the first error there is only the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "support/result.h"

namespace tilert::ir {

enum class Token : uint8_t {
  end,
  word,      // letters, digits and _
  number,    // -?digits, 0x..., decimal fractions, -inf
  string,    // quoted
  variable,  // %...: `text` after the sigil
  buffer,    // @...
  defined,   // $...
  arrow,     // ->
  mark,      // one of ( ) [ ] { } < > , : = ! _
};

class Scanner {
 public:
  Scanner(std::string_view text, std::string_view name) : text_(text), name_(name) { advance(); }

  Token kind() const { return kind_; }
  std::string_view text() const { return token_; }  // without sigil; a string's raw inside
  std::string unquoted() const;                     // of a string token
  size_t place() const { return start_; }           // byte offset, for fail_at
  void advance();
  bool is(std::string_view mark_or_word) const {
    return (kind_ == Token::mark || kind_ == Token::word) && token_ == mark_or_word;
  }
  // Steps over it when it is there.
  bool accept(std::string_view mark_or_word);
  void expect(std::string_view mark_or_word);

  // "line:column: expected X, found Y"; the first one stays.
  void fail(std::string_view expected);
  // "line:column: message" about the text at `place`.
  void fail_at(size_t place, std::string message, Code code = Code::kInvalidProgram);
  void fail_at(size_t place, Error error) { fail_at(place, std::move(error.message), error.code); }
  bool failed() const { return error_.has_value(); }
  Error take_error() { return std::move(*error_); }

 private:
  void skip_blank();
  void scan_string();
  void scan_number();
  void take(Token kind, size_t length, size_t skip = 0);

  std::string_view text_, name_, token_;
  size_t position_ = 0, start_ = 0;
  Token kind_ = Token::end;
  std::optional<Error> error_;
};

}  // namespace tilert::ir
