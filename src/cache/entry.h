// What a row of the store holds: a header (magic, version, kind, row key, sizes, SHA-256 of all the rest), then
// metadata, then the bytes. A row is believed only when every field of it agrees, its own key included: a row that was
// swapped, cut or flipped is no entry. Not here: the table it lies in (store.h).
#pragma once

#include "cache/cache.h"
#include "cache/keys.h"

#include <optional>
#include <string>
#include <string_view>

namespace tilert {

enum class EntryKind : uint32_t { binary = 1, index = 2 };

inline std::string_view as_text(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// The key of a row, from the kind, the namespace and the content key. Two namespaces never share a row.
Digest row_key(std::string_view name_space, const BinaryKey& key);
Digest row_key(std::string_view name_space, const RequestKey& key, std::string_view generator);

std::string pack_row(EntryKind kind, const Digest& row, std::string_view metadata, std::string_view bytes);

// Nothing when the row is not whole, of another version, or not of this kind and key.
std::optional<CacheEntry> unpack_row(EntryKind kind, const Digest& row, std::string_view blob);

std::string pack_index(const IndexEntry& entry);
std::optional<IndexEntry> unpack_index(std::string_view bytes);

}  // namespace tilert
