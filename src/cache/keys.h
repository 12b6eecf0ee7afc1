// Keys: what a kernel is, as a digest. A key is pure content: no clock, path, label, address, compiler version or
// environment ever enters it, so any process anywhere computes the same one.
// Not here: where the canonical texts come from (src/ir, src/jit); how a store names its rows (entry.h).
#pragma once

#include "support/sha256.h"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilert {

// Changes when the meaning of a key's fields changes; part of every key.
inline constexpr uint32_t kKeyFormat = 1;

// Asked with: which program, for which device, with which options. Known without any compiler.
struct RequestKey {
  Digest digest{};
  auto operator<=>(const RequestKey&) const = default;
};

// Stored under: which source text, with which compiler options, for which target.
struct BinaryKey {
  Digest digest{};
  auto operator<=>(const BinaryKey&) const = default;
};

// SHA-256 over tagged fields, each tag and value with its length in front: no two different sequences of fields run
// into the same bytes. `kind` separates the kinds of key from each other.
class KeyBuilder {
 public:
  explicit KeyBuilder(std::string_view kind);
  KeyBuilder& text(std::string_view tag, std::string_view value);
  KeyBuilder& number(std::string_view tag, uint64_t value);
  KeyBuilder& signed_number(std::string_view tag, int64_t value);
  KeyBuilder& list(std::string_view tag, const std::vector<std::string>& values);  // order counts
  Digest finish();                                                                 // once

 private:
  KeyBuilder& field(uint8_t type, std::string_view tag, std::string_view value);
  Sha256 hash_;
};

struct RequestFields {
  std::string program;                                       // canonical .tir text
  std::vector<std::pair<std::string, int64_t>> bound_dims;   // in any order; the key sorts them by name
  std::string target;                                        // the full string, "sm_90a"
  std::string device_class;                                  // serialized; the target's default class when not given
  std::vector<std::pair<std::string, std::string>> options;  // normalised name and value, in any order
};

struct BinaryFields {
  std::string source;                // generated text, virtual headers included where there are any
  std::vector<std::string> options;  // the compiler's, fixed ones included; order counts
  std::string target;
};

RequestKey request_key(const RequestFields& fields);
BinaryKey binary_key(const BinaryFields& fields);

}  // namespace tilert

template <>
struct std::hash<tilert::RequestKey> {
  size_t operator()(const tilert::RequestKey& key) const { return tilert::DigestHash{}(key.digest); }
};
template <>
struct std::hash<tilert::BinaryKey> {
  size_t operator()(const tilert::BinaryKey& key) const { return tilert::DigestHash{}(key.digest); }
};
