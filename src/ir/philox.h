// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3"
// (SC 2011), with that paper's constants: four words of 32 bits from a key of two and a counter of four. Every back end makes
// the same bits; their texts spell out what stands here.
#pragma once

#include <array>
#include <cstdint>

namespace tilert::ir {

inline constexpr uint32_t kPhiloxMultiply[] = {0xD2511F53u, 0xCD9E8D57u};
inline constexpr uint32_t kPhiloxKey[] = {0x9E3779B9u, 0xBB67AE85u};  // what a round adds to the key
inline constexpr int kPhiloxRounds = 10;

// The key is `seed`, the counter's low half `counter`, its high half `stream`, low words first.
inline std::array<uint32_t, 4> philox(uint64_t seed, uint64_t counter, uint64_t stream) {
  const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  const auto high = [](uint64_t x) { return static_cast<uint32_t>(x >> 32); };
  std::array<uint32_t, 4> c = {low(counter), high(counter), low(stream), high(stream)};
  uint32_t key[] = {low(seed), high(seed)};
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t a = uint64_t{kPhiloxMultiply[0]} * c[0], b = uint64_t{kPhiloxMultiply[1]} * c[2];
    c = {high(b) ^ c[1] ^ key[0], low(b), high(a) ^ c[3] ^ key[1], low(a)};
    key[0] += kPhiloxKey[0];
    key[1] += kPhiloxKey[1];
  }
  return c;
}

}  // namespace tilert::ir
