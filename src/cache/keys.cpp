// Field by field into SHA-256.
#include "cache/keys.h"

#include <algorithm>

namespace tilert {
namespace {

enum FieldType : uint8_t { kText = 1, kNumber = 2, kSignedNumber = 3, kListStart = 4, kListItem = 5 };

std::string eight_bytes(uint64_t value) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>(value >> shift & 0xff));
  return bytes;
}

}  // namespace

KeyBuilder::KeyBuilder(std::string_view kind) { field(kText, "tilert key", kind).number("format", kKeyFormat); }

KeyBuilder& KeyBuilder::field(uint8_t type, std::string_view tag, std::string_view value) {
  hash_.update_u64(type).update_field(tag).update_field(value);
  return *this;
}

KeyBuilder& KeyBuilder::text(std::string_view tag, std::string_view value) { return field(kText, tag, value); }

KeyBuilder& KeyBuilder::number(std::string_view tag, uint64_t value) { return field(kNumber, tag, eight_bytes(value)); }

KeyBuilder& KeyBuilder::signed_number(std::string_view tag, int64_t value) {
  return field(kSignedNumber, tag, eight_bytes(static_cast<uint64_t>(value)));
}

KeyBuilder& KeyBuilder::list(std::string_view tag, const std::vector<std::string>& values) {
  field(kListStart, tag, eight_bytes(values.size()));
  for (const std::string& value : values) field(kListItem, tag, value);
  return *this;
}

Digest KeyBuilder::finish() { return hash_.finish(); }

RequestKey request_key(const RequestFields& fields) {
  auto dims = fields.bound_dims;
  auto options = fields.options;
  std::sort(dims.begin(), dims.end());
  std::sort(options.begin(), options.end());
  KeyBuilder builder("request");
  builder.text("program", fields.program).text("target", fields.target).text("device class", fields.device_class);
  builder.number("bound dims", dims.size());
  for (const auto& [name, value] : dims) builder.text("dim", name).signed_number("value", value);
  builder.number("options", options.size());
  for (const auto& [name, value] : options) builder.text("option", name).text("value", value);
  return RequestKey{builder.finish()};
}

BinaryKey binary_key(const BinaryFields& fields) {
  return BinaryKey{KeyBuilder("binary")
                       .text("source", fields.source)
                       .list("options", fields.options)
                       .text("target", fields.target)
                       .finish()};
}

}  // namespace tilert
