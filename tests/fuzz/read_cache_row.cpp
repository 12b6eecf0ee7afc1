// Rows of the cache: bytes as they are, and once more with the key and digest that make them whole.
#include <cstring>
#include <string>

#include "cache/entry.h"
#include "fuzz/targets.h"

namespace tilert::fuzz {
namespace {

constexpr size_t kKeyAt = 16, kDigestAt = 64, kHeaderSize = 96;

void read(EntryKind kind, const Digest& key, const std::string& row) {
  const auto entry = unpack_row(kind, key, row);
  if (!entry) return;
  promise(pack_row(kind, key, entry->metadata, entry->bytes) == row, "a row has one form");
  const auto index = unpack_index(entry->bytes);
  promise(index ? pack_index(*index) == entry->bytes : entry->bytes.size() < key.size(), "an index entry has one form");
}

}  // namespace

void read_cache_row(const uint8_t* data, size_t size) {
  std::string row(reinterpret_cast<const char*>(data), size);
  Digest key{};
  for (EntryKind kind : {EntryKind::binary, EntryKind::index}) read(kind, key, row);
  if (size < kHeaderSize) return;
  std::memcpy(key.data(), row.data() + kKeyAt, key.size());
  const Digest digest = Sha256()
                            .update(std::string_view(row).substr(0, kDigestAt))
                            .update(std::string_view(row).substr(kHeaderSize))
                            .finish();
  std::memcpy(row.data() + kDigestAt, digest.data(), digest.size());
  for (EntryKind kind : {EntryKind::binary, EntryKind::index}) read(kind, key, row);
}

}  // namespace tilert::fuzz
