// Rules for assembler text inside sources: inline assembly of C-family text, and LLVM IR, where `module asm` and inline
// assembly are strings with hexadecimal escapes. NVIDIA's assembler reads no files; LLVM's does.
#pragma once

#include "compiler/c_lexer.h"
#include "compiler/compiler.h"

#include <string>
#include <vector>

namespace tilert {

// Follows the tokens of one text. Neighbouring string literals are read as the one literal they are. Where the
// assembler below can read files (HIP), the template of an asm statement must be literals alone.
class AsmRule {
 public:
  AsmRule(Language language, std::string what) : language_(language), what_(std::move(what)) {}
  Status take(const CToken& token);
  Status finish();

 private:
  enum class Within { nothing, qualifiers, text };
  Status end_of_literal();
  Status refuse(int line, const std::string& message) const;

  Language language_;
  std::string what_;
  std::string literal_;
  int literal_line_ = 0;
  bool after_dot_ = false;
  Within within_ = Within::nothing;
};

// Where the assembler can read files, macros may not stringize or paste: they could build what the rule above looks
// for.
Status check_macro_for_asm(Language language, const std::string& what, const std::vector<CToken>& body);

// Whether a string literal of C-family text, or neighbours that are one literal, holds "llvm.", as the label of a declaration
// that means an intrinsic does.
bool names_llvm_intrinsic(std::string_view text);

Status guard_llvm_text(const std::string& text);

}  // namespace tilert
