// Puts .tir lines together: words, numbers, strings, with the indentation of the block. Nothing depends on the locale.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>

namespace tilert::ir {

class TextWriter {
 protected:
  explicit TextWriter(bool readable) : readable_(readable) {}

  // A line is put together, then ended; what it needs before it goes out first.
  void put(std::string_view text) { line_ += text; }
  void put(int64_t number) {
    char buffer[24];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
    line_.append(buffer, end);
  }
  template <class A, class B, class... Rest>
  void put(A a, B b, Rest... rest) {
    put_one(a);
    put_one(b);
    (put_one(rest), ...);
  }
  void put_one(std::string_view text) { put(text); }
  void put_one(const char* text) { put(std::string_view(text)); }
  template <class I>
  std::enable_if_t<std::is_integral_v<I>> put_one(I number) {
    put(static_cast<int64_t>(number));
  }

  void end_line() {
    if (readable_) out_.append(static_cast<size_t>(depth_) * 2, ' ');
    out_ += line_;
    out_ += '\n';
    line_.clear();
  }

  void hex(uint64_t bits) {
    char buffer[24];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, bits, 16).ptr;
    put("0x");
    line_.append(buffer, end);
  }

  void quote(std::string_view text) {
    static constexpr char kDigits[] = "0123456789abcdef";
    line_ += '"';
    for (char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        line_ += '\\';
        line_ += c;
      } else if (c == '\n') {
        line_ += "\\n";
      } else if (byte < 0x20 || byte == 0x7f) {
        line_ += "\\x";
        line_ += kDigits[byte >> 4];
        line_ += kDigits[byte & 15];
      } else {
        line_ += c;
      }
    }
    line_ += '"';
  }

  const bool readable_;  // indentation
  int depth_ = 0;
  std::string out_, line_;
};

}  // namespace tilert::ir
