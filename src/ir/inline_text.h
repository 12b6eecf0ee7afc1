// The text of inline source in pieces: $0, $1, ... name operands, $$ is a dollar, anything else stands for itself.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilert::ir {

// The text with each operand's name put in its place: spell(i) spells operand i.
template <class F>
std::string splice(std::string_view text, F&& spell) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (text[at] != '$' || (next != '$' && (next < '0' || next > '9'))) {
      out += text[at++];
    } else if (next == '$') {
      out += '$';
      at += 2;
    } else {
      size_t operand = 0;
      for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
        operand = operand < 1'000'000 ? operand * 10 + static_cast<size_t>(text[at] - '0') : operand;
      out += spell(operand);
    }
  }
  return out;
}

}  // namespace tilert::ir
