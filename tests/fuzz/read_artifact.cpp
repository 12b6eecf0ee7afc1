// Artifacts: bytes as they are, and once more with the length and checksum that they should have, so that what lies
// behind them is reached. What is read is verified, and written again as the same bytes.
#include <sodium.h>

#include <cstring>
#include <vector>

#include "fuzz/targets.h"
#include "runtime/artifact.h"

namespace tilert::fuzz {
namespace {

void read(std::span<const uint8_t> bytes) {
  const auto artifact = runtime::deserialize(bytes);
  if (!artifact) {
    promise(artifact.error().code == Code::kCorrupt, "bytes that are no artifact are corrupt");
    return;
  }
  promise(static_cast<bool>(runtime::verify(**artifact)), "what was read is verified");
  const auto again = runtime::serialize(**artifact);
  promise(static_cast<bool>(again), "what was read can be written");
  promise(again->size() == bytes.size() && std::memcmp(again->data(), bytes.data(), bytes.size()) == 0,
          "an artifact has one form");
}

}  // namespace

void read_artifact(const uint8_t* data, size_t size) {
  read({data, size});
  if (size < 56) return;
  std::vector<uint8_t> sealed(data, data + size);
  const uint64_t total = size;
  std::memcpy(sealed.data() + 16, &total, sizeof total);
  crypto_hash_sha256(sealed.data() + size - 32, sealed.data(), size - 32);
  read(sealed);
}

}  // namespace tilert::fuzz
