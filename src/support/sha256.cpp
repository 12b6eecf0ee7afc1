// SHA-256 over libsodium. Its hash functions need no sodium_init and keep no global state.
#include "support/sha256.h"

#include <cstring>

namespace tilert {

Sha256::Sha256() { crypto_hash_sha256_init(&state_); }

Sha256& Sha256::update(const void* data, size_t size) {
  if (size != 0) crypto_hash_sha256_update(&state_, static_cast<const unsigned char*>(data), size);
  return *this;
}

Sha256& Sha256::update_u64(uint64_t value) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(value >> (8 * i));
  return update(bytes, sizeof bytes);
}

Digest Sha256::finish() {
  Digest digest;
  crypto_hash_sha256_final(&state_, digest.data());
  return digest;
}

Digest sha256(std::string_view bytes) { return Sha256().update(bytes).finish(); }

std::string to_hex(const Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.size());
  for (uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::optional<Digest> digest_from_hex(std::string_view text) {
  Digest digest{};
  if (text.size() != 2 * digest.size()) return std::nullopt;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    int value;
    if (c >= '0' && c <= '9') value = c - '0';
    else if (c >= 'a' && c <= 'f') value = c - 'a' + 10;
    else return std::nullopt;
    digest[i / 2] = static_cast<uint8_t>(digest[i / 2] << 4 | value);
  }
  return digest;
}

size_t DigestHash::operator()(const Digest& digest) const {
  size_t value;
  std::memcpy(&value, digest.data(), sizeof value);
  return value;
}

}  // namespace tilert
