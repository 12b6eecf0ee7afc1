// The layout of a row, little-endian:
//   0 magic (8)   8 version (4)   12 kind (4)   16 row key (32)   48 metadata size (8)   56 bytes size (8)
//   64 SHA-256 of everything else (32)   96 metadata   then bytes
#include "cache/entry.h"

#include <cstring>

namespace tilert {
namespace {

constexpr std::string_view kMagic = "TLRTBLOB";
constexpr uint32_t kVersion = 1;
constexpr size_t kDigestAt = 64;
constexpr size_t kHeaderSize = 96;

void append_number(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

uint64_t load_number(std::string_view blob, size_t at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(blob[at + static_cast<size_t>(i)]);
  return value;
}

Digest content_digest(std::string_view header, std::string_view body) {
  return Sha256().update(header.substr(0, kDigestAt)).update(body).finish();
}

}  // namespace

Digest row_key(std::string_view name_space, const BinaryKey& key) {
  return KeyBuilder("row binary").text("namespace", name_space).text("key", as_text(key.digest)).finish();
}

Digest row_key(std::string_view name_space, const RequestKey& key, std::string_view generator) {
  return KeyBuilder("row index")
      .text("namespace", name_space)
      .text("key", as_text(key.digest))
      .text("generator", generator)
      .finish();
}

std::string pack_row(EntryKind kind, const Digest& row, std::string_view metadata, std::string_view bytes) {
  std::string blob;
  blob.reserve(kHeaderSize + metadata.size() + bytes.size());
  blob.append(kMagic);
  append_number(blob, kVersion, 4);
  append_number(blob, static_cast<uint32_t>(kind), 4);
  blob.append(as_text(row));
  append_number(blob, metadata.size(), 8);
  append_number(blob, bytes.size(), 8);
  blob.append(32, '\0');
  blob.append(metadata).append(bytes);
  Digest digest = content_digest(blob, std::string_view(blob).substr(kHeaderSize));
  std::memcpy(blob.data() + kDigestAt, digest.data(), digest.size());
  return blob;
}

std::optional<CacheEntry> unpack_row(EntryKind kind, const Digest& row, std::string_view blob) {
  if (blob.size() < kHeaderSize || blob.substr(0, 8) != kMagic) return std::nullopt;
  if (load_number(blob, 8, 4) != kVersion || load_number(blob, 12, 4) != static_cast<uint32_t>(kind))
    return std::nullopt;
  if (blob.substr(16, 32) != as_text(row)) return std::nullopt;
  uint64_t metadata_size = load_number(blob, 48, 8), size = load_number(blob, 56, 8);
  uint64_t body_size = blob.size() - kHeaderSize;
  if (metadata_size > body_size || size != body_size - metadata_size) return std::nullopt;
  std::string_view body = blob.substr(kHeaderSize);
  if (as_text(content_digest(blob, body)) != blob.substr(kDigestAt, 32)) return std::nullopt;
  return CacheEntry{std::string(body.substr(metadata_size)), std::string(body.substr(0, metadata_size))};
}

std::string pack_index(const IndexEntry& entry) {
  return std::string(as_text(entry.binary.digest)) + entry.configuration;
}

std::optional<IndexEntry> unpack_index(std::string_view bytes) {
  IndexEntry entry;
  if (bytes.size() < entry.binary.digest.size()) return std::nullopt;
  std::memcpy(entry.binary.digest.data(), bytes.data(), entry.binary.digest.size());
  entry.configuration = std::string(bytes.substr(entry.binary.digest.size()));
  return entry;
}

}  // namespace tilert
