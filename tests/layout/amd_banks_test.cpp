// Claim: lanes of AMD's waves that read an operand of a matrix instruction, 16 bytes each, from a swizzled tile with K together meet in
// no bank, with rows of 32 to 256 bytes that are powers of two. Padded rows of 80 bytes do meet, two at a time.
// An access of 16 bytes is served in groups of eight lanes: 0 to 3 with 20 to 23, 4 to 7 with 16 to 19, 8 to 11 with 28 to 31, 12 to 15
// with 24 to 27, and so the upper half (Composable Kernel's documentation, "LDS and bank conflicts", and ROCm's blog on them; 32 banks
// of 4 bytes). Of RDNA nothing is published: there groups of neighbours are asked for, on CDNA both.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "layout/address_map.h"
#include "layout/atoms.h"

namespace tilert {
namespace {

std::vector<std::vector<int64_t>> groups_of_lanes(int64_t lanes) {
  std::vector<std::vector<int64_t>> out;
  for (int64_t half = 0; lanes == 64 && half < lanes; half += 32)
    for (const auto& [low, high] : {std::pair{0, 20}, {4, 16}, {8, 28}, {12, 24}}) {
      out.emplace_back();
      for (int64_t i = 0; i < 4; ++i) out.back().push_back(half + low + i), out.back().push_back(half + high + i);
    }
  for (int64_t first = 0; first < lanes; first += 8) {
    out.emplace_back();
    for (int64_t i = 0; i < 8; ++i) out.back().push_back(first + i);
  }
  return out;
}

// The most different addresses of a group in one bank.
size_t most_in_a_bank(const AddressMap& tile, const FragmentMap& operand, int64_t first, const std::vector<int64_t>& lanes) {
  std::map<int64_t, std::set<int64_t>> banks;
  for (int64_t lane : lanes) {
    const int64_t address = tile.evaluate(operand.evaluate(first, lane));
    for (int64_t word = 0; word < 4; ++word) banks[(address / 4 + word) % 32].insert(address / 4 + word);
  }
  size_t most = 0;
  for (const auto& [bank, words] : banks) most = std::max(most, words.size());
  return most;
}

TEST(AmdBanks, ReadsOfOperandsInSwizzledTilesMeetInNone) {
  int read = 0;
  for (const Atom& atom : atoms()) {
    if ((!atom.name.starts_with("mfma_") && !atom.name.starts_with("wmma")) || atom.a == DType::f64) continue;
    const int64_t bytes = dtype_bytes(atom.a), each = 16 / bytes;
    for (const int64_t row_bytes : {32, 64, 128, 256}) {
      if (row_bytes / bytes < atom.k) continue;
      const std::vector<int64_t> shape{64, row_bytes / bytes};
      const auto swizzled = swizzled_map(shape, bytes);
      const AddressMap tile = swizzled ? *swizzled : padded_map(shape, bytes, (row_bytes / 16) % 2 == 0 ? 16 : 0);
      const FragmentMap operand({atom.m, atom.k}, atom.a_digits);
      for (int64_t e = 0; e < atom.a_registers(); e += each)
        for (const auto& lanes : groups_of_lanes(operand.threads())) {
          ++read;
          ASSERT_EQ(most_in_a_bank(tile, operand, e, lanes), 1u) << atom.name << ", rows of " << row_bytes << " bytes, lane " << lanes[0] << " and others";
        }
    }
  }
  EXPECT_GT(read, 1000);
}

// The count is of something: rows that are not swizzled do meet.
TEST(AmdBanks, PlainRowsMeet) {
  const Atom& atom = *find_atom("mfma_32x32x16_f16");
  const FragmentMap operand({32, 16}, atom.a_digits);
  EXPECT_EQ(most_in_a_bank(row_major_map({64, 64}, 2), operand, 0, groups_of_lanes(64)[0]), 8u);
}

}  // namespace
}  // namespace tilert
