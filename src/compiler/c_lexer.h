// Tokens of C-family text, as far as a guard must know them: comments and line continuations are gone, literals are
// whole and decoded, new lines are tokens. Where compilers disagree on how to read a text (trigraphs, a backslash and
// blanks before a new line, lone carriage returns, escapes outside literals), the lexer refuses it: what it cannot read
// as every compiler would, it must not wave through.
// Not here: what is allowed (source_guard.h).
#pragma once

#include "support/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tilert {

enum class CTokenKind : uint8_t { end, newline, identifier, number, string, raw_string, character, punctuation };

struct CToken {
  CTokenKind kind = CTokenKind::end;
  std::string text;    // the spelling; of a string its decoded contents
  int line = 1;        // where it starts
  bool first = false;  // nothing but blanks and comments before it on its line

  bool is(CTokenKind k, std::string_view t) const { return kind == k && text == t; }
  bool is_identifier(std::string_view t) const { return is(CTokenKind::identifier, t); }
  bool is_punctuation(std::string_view t) const { return is(CTokenKind::punctuation, t); }
};

class CLexer {
 public:
  // `text` must live as long as the lexer. `what` names it in errors ("the source", "header a.h").
  CLexer(std::string_view text, std::string what);

  // INVALID_PROGRAM naming the line, where the text can be read in two ways or never ends.
  Result<CToken> next();
  // The rest of the current physical line, new line excluded; the lexer goes on after it. For `#include`.
  std::string_view rest_of_line();
  const std::string& what() const { return what_; }

 private:
  char peek(size_t ahead = 0);  // past line continuations; 0 at the end
  char take();
  void skip_continuations(size_t& position, int* line) const;
  Status skip_blanks_and_comments();
  Status skip_block_comment();
  CToken lex_identifier();
  CToken lex_number();
  Result<CToken> lex_quoted(char quote);
  Result<CToken> lex_raw_string();
  CToken lex_punctuation();
  Status check_ambiguities() const;
  Error refuse(int line, std::string_view message) const;

  std::string_view text_;
  std::string what_;
  size_t position_ = 0;
  int line_ = 1;
  bool first_ = true;
  bool checked_ = false;
};

// Escapes of a string or character literal's body, resolved to bytes (code points above 127 as UTF-8).
std::string decode_c_escapes(std::string_view body);

}  // namespace tilert
