// Fields of flat messages: (tag, length, bytes), numbers of 8 bytes little-endian. The reader trusts nothing.
// Not here: which tags a message has (message.cpp).
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilert::flat {

inline void append_u64(std::string& out, uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(value >> shift & 0xff));
}

inline uint64_t load_u64(std::string_view bytes) {  // exactly 8 bytes
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[static_cast<size_t>(i)]);
  return value;
}

inline uint64_t from_double(double value) { return std::bit_cast<uint64_t>(value); }
inline double to_double(uint64_t bits) { return std::bit_cast<double>(bits); }

inline void append(std::string& out, uint32_t tag, std::string_view bytes) {
  append_u64(out, tag);
  append_u64(out, bytes.size());
  out.append(bytes);
}

inline void append_number(std::string& out, uint32_t tag, uint64_t value) {
  std::string bytes;
  append_u64(bytes, value);
  append(out, tag, bytes);
}

struct Field {
  uint64_t tag = 0;
  std::string_view bytes;  // into the message
};

class Reader {
 public:
  explicit Reader(std::string_view message) : rest_(message) {}

  bool magic(std::string_view expected) {
    if (rest_.substr(0, expected.size()) != expected) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  // False at the end and on a malformed field; `failed` tells which.
  bool next(Field& field) {
    if (rest_.empty()) return false;
    if (rest_.size() < 16) return fail();
    field.tag = load_u64(rest_);
    uint64_t size = load_u64(rest_.substr(8));
    rest_.remove_prefix(16);
    if (size > rest_.size()) return fail();
    field.bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  bool failed() const { return failed_; }

 private:
  bool fail() {
    failed_ = true;
    return false;
  }
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace tilert::flat
