// SHA-256, incremental and at once: the digest of keys and of stored blobs. The arithmetic is libsodium's.
// Not here: what goes into a key (src/cache) and signatures.
#pragma once

#include <sodium/crypto_hash_sha256.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilert {

using Digest = std::array<uint8_t, 32>;

// Feeds bytes in any division; the digest depends on their concatenation alone. Fields that could run into one
// another are fed with update_field, which puts the length (8 bytes, little-endian) before the bytes.
class Sha256 {
 public:
  Sha256();
  Sha256& update(const void* data, size_t size);
  Sha256& update(std::string_view bytes) { return update(bytes.data(), bytes.size()); }
  Sha256& update_u64(uint64_t value);  // 8 bytes, little-endian
  Sha256& update_field(std::string_view bytes) { return update_u64(bytes.size()).update(bytes); }
  Digest finish();  // once; the object is spent afterwards

 private:
  crypto_hash_sha256_state state_;
};

Digest sha256(std::string_view bytes);
std::string to_hex(const Digest& digest);                      // 64 lower-case digits
std::optional<Digest> digest_from_hex(std::string_view text);  // exactly 64 lower-case digits
inline std::string sha256_hex(std::string_view bytes) { return to_hex(sha256(bytes)); }

// For hash tables keyed by digest: the first 8 bytes are as good as any.
struct DigestHash {
  size_t operator()(const Digest& digest) const;
};

}  // namespace tilert
