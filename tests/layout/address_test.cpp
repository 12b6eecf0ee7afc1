// Address maps: bijections, TMA's swizzles, vector widths, and known bank conflicts.
#include "layout/address_map.h"

#include <gtest/gtest.h>

#include <set>

#include "layout/atoms.h"
#include "layout/banks.h"
#include "layout/fragment_builders.h"
#include "layout/random_maps.h"

namespace tilert {
namespace {

using namespace test;

void for_each_coordinate(const std::vector<int64_t>& shape, const std::function<void(const std::vector<int64_t>&)>& f) {
  std::vector<int64_t> coords(shape.size());
  for (int64_t index = 0; index < product(shape); index++) {
    int64_t rest = index;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) coords[d] = rest % shape[d];
    f(coords);
  }
}

// No two elements overlap, all lie in the tile and are aligned to themselves.
void expect_injective(const AddressMap& map) {
  std::set<int64_t> seen;
  for_each_coordinate(map.shape(), [&](const std::vector<int64_t>& coords) {
    const int64_t address = map.evaluate(coords);
    ASSERT_EQ(address % map.element_bytes(), 0);
    ASSERT_GE(address, 0);
    ASSERT_LE(address + map.element_bytes(), map.tile_bytes()) << map.text();
    ASSERT_TRUE(seen.insert(address).second) << map.text();
    ASSERT_EQ(map.evaluate(coords, 3), address + 3 * map.stage_stride());
  });
  ASSERT_EQ(map.stage_stride() % map.alignment(), 0);
}

TEST(AddressMap, AllBuildersAreInjectiveAndStayInTheirTile) {
  for (int64_t rows : {1, 3, 8, 24, 64, 97}) {
    for (int64_t cols : {1, 8, 16, 24, 32, 64, 96, 97, 128, 192}) {
      for (int64_t bytes : {1, 2, 4}) {
        expect_injective(row_major_map({rows, cols}, bytes));
        expect_injective(padded_map({rows, cols}, bytes, 16));
        if (auto swizzled = swizzled_map({rows, cols}, bytes)) expect_injective(*swizzled);
      }
    }
  }
  expect_injective(*swizzled_map({2, 3, 16, 64}, 2));
  expect_injective(*swizzled_map({64}, 2));
}

TEST(AddressMap, PlainMapsAreRowMajor) {
  AddressMap map = row_major_map({3, 5, 7}, 4), padded = padded_map({5, 7}, 2, 6);
  EXPECT_EQ(map.evaluate({2, 4, 6}), ((2 * 5 + 4) * 7 + 6) * 4);
  EXPECT_EQ(map.tile_bytes(), 3 * 5 * 7 * 4);
  EXPECT_EQ(padded.evaluate({3, 2}), 3 * 20 + 4);
  EXPECT_EQ(padded.tile_bytes(), 4 * 20 + 14);
  EXPECT_EQ(map.bytes(2), map.stage_stride() + map.tile_bytes());
}

// TMA: the 16-byte chunk of a row is XORed with the row (mod 8 for 128 B, half and quarter of it below).
TEST(AddressMap, SwizzlesAreTmas) {
  for (int64_t span : {128, 64, 32}) {
    for (int64_t rows : {8, 64, 20}) {
      const int64_t cols = 192;  // 384 bytes: sub-tiles for each span
      AddressMap map = *swizzled_map({rows, cols}, 2, span);
      const int64_t chunks = span / 16, sub_tile = (rows + 7) / 8 * 8 * span;
      for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < cols; c++) {
          const int64_t byte = c * 2, piece = byte / span, chunk = byte % span / 16;
          const int64_t line = r * span / 128;  // the pattern advances once per 128 bytes
          const int64_t expected = piece * sub_tile + r * span + (chunk ^ (line % chunks)) * 16 + byte % 16;
          ASSERT_EQ(map.evaluate({r, c}), expected) << map.text();
        }
      }
      EXPECT_EQ(map.span_bytes(), span);
      EXPECT_EQ(map.sub_tile_bytes(), sub_tile);
      EXPECT_EQ(map.alignment(), std::max<int64_t>(span * 8, 128));
    }
  }
}

TEST(AddressMap, The128ByteSwizzleXorsTheChunkWithTheRow) {
  AddressMap map = *swizzled_map({64, 64}, 2);
  for (int64_t r = 0; r < 64; r++) {
    for (int64_t chunk = 0; chunk < 8; chunk++) ASSERT_EQ(map.evaluate({r, chunk * 8}), r * 128 + (chunk ^ r % 8) * 16);
  }
}

// Lanes read 16 bytes each of a column of rows: the pieces that a cycle serves, 8 of 32 banks or 16 of 64, are in banks of their own.
TEST(AddressMap, AColumnOfPiecesHasEveryBankOnce) {
  for (const int banks : {32, 64})
    for (const int64_t span : {128, 64, 32}) {
      const AddressMap map = *swizzled_map({32, 2 * span}, 2, span, banks);
      const int64_t lanes = banks / 4;
      for (int64_t chunk = 0; chunk < 4 * span / 16; ++chunk)
        for (int64_t first = 0; first < 32; first += lanes) {
          std::set<int64_t> seen;
          for (int64_t lane = 0; lane < lanes; ++lane) seen.insert(map.evaluate({first + lane, chunk * 8}) % (banks * 4));
          ASSERT_EQ(static_cast<int64_t>(seen.size()), lanes) << map.text() << " chunk " << chunk;
        }
      std::set<int64_t> places;
      for (int64_t row = 0; row < 32; ++row)
        for (int64_t column = 0; column < 2 * span; ++column) places.insert(map.evaluate({row, column}));
      ASSERT_EQ(static_cast<int64_t>(places.size()), 64 * span) << map.text();
    }
}

TEST(AddressMap, TheSpanIsTheLargestThatDividesTheRow) {
  EXPECT_EQ(swizzle_span(128), 128);
  EXPECT_EQ(swizzle_span(512), 128);
  EXPECT_EQ(swizzle_span(192), 64);
  EXPECT_EQ(swizzle_span(96), 32);
  EXPECT_EQ(swizzle_span(80), 0);
  EXPECT_EQ(swizzled_map({64, 96}, 2)->span_bytes(), 64);
  auto refused = swizzled_map({64, 97}, 2);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("194"), std::string::npos);
  EXPECT_FALSE(swizzled_map({64, 64}, 2, 48));
  EXPECT_FALSE(swizzled_map({64, 48}, 2, 128));
}

// The vector width's claim by enumeration: contiguous and aligned from each multiple of itself, and no wider one is.
bool vectors_hold(const AddressMap& map, int dim, int64_t width) {
  bool ok = map.shape()[static_cast<size_t>(dim)] % width == 0;
  for_each_coordinate(map.shape(), [&](std::vector<int64_t> coords) {
    if (!ok || coords[static_cast<size_t>(dim)] % width != 0) return;
    const int64_t first = map.evaluate(coords);
    ok = first % (width * map.element_bytes()) == 0;
    for (int64_t i = 1; ok && i < width; i++) {
      coords[static_cast<size_t>(dim)]++;
      ok = map.evaluate(coords) == first + i * map.element_bytes();
    }
  });
  return ok;
}

TEST(AddressMap, SwizzledRowsPutEachByteByItsRowMajorPlaceAlone) {
  for (int64_t row_bytes : {32, 64, 128, 256, 512, 96}) {
    const AddressMap rows = swizzled_rows_map({64, row_bytes / 2}, 2, row_bytes), flat = swizzled_rows_map({16 * row_bytes}, 4, row_bytes);
    EXPECT_EQ(rows.tile_bytes(), flat.tile_bytes());
    EXPECT_EQ(rows.stage_stride(), flat.stage_stride());
    std::set<int64_t> places;
    for (int64_t i = 0; i < 64; i++)
      for (int64_t j = 0; j < row_bytes / 2; j += 2) {
        const int64_t word = (i * row_bytes + j * 2) / 4;
        EXPECT_EQ(rows.evaluate({i, j}, 3), flat.evaluate({word}, 3));
        places.insert(flat.evaluate({word}));
      }
    EXPECT_EQ(static_cast<int64_t>(places.size()), 16 * row_bytes);
    EXPECT_EQ(rows.vector_width(1), 8);
    if (row_bytes < 128 || row_bytes == 96) continue;
    std::set<int64_t> banks;  // eight rows of one column: 16 bytes each, all on different banks
    for (int64_t i = 0; i < 8; i++) banks.insert(rows.evaluate({i, 0}) / 16 % 8);
    EXPECT_EQ(banks.size(), 8u) << row_bytes;
  }
}

TEST(AddressMap, ACustomMapHasTheWidthOfItsRuns) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < 4; i++)
    for (int64_t j = 0; j < 16; j++) places.push_back(i * 20 + j);
  const AddressMap map = AddressMap::custom({4, 16}, 2, places);
  EXPECT_EQ(map.evaluate({2, 3}), 86);
  EXPECT_EQ(map.evaluate({2, 3}, 1), 86 + map.stage_stride());
  EXPECT_EQ(map.tile_bytes(), 152);
  EXPECT_EQ(map.vector_width(1), 4);
  EXPECT_EQ(map.vector_width(0), 1);
}

TEST(AddressMap, VectorWidthIsTheWidestAlignedRun) {
  std::vector<AddressMap> maps;
  for (int64_t cols : {8, 12, 24, 64, 97, 192}) {
    for (int64_t bytes : {1, 2, 4}) {
      maps.push_back(row_major_map({8, cols}, bytes));
      maps.push_back(padded_map({8, cols}, bytes, 4));
      maps.push_back(padded_map({8, cols}, bytes, 16).permute({1, 0}));
      if (auto swizzled = swizzled_map({16, cols}, bytes)) maps.push_back(*swizzled);
    }
  }
  for (const AddressMap& map : maps) {
    for (int dim : {0, 1}) {
      const int64_t width = map.vector_width(dim);
      ASSERT_TRUE(vectors_hold(map, dim, width)) << map.text() << " dim " << dim << " width " << width;
      if (width * 2 * map.element_bytes() <= 16) {
        ASSERT_FALSE(vectors_hold(map, dim, width * 2)) << map.text() << " dim " << dim;
      }
    }
  }
}

TEST(AddressMap, PermuteRenamesCoordinates) {
  AddressMap map = *swizzled_map({16, 64}, 2), permuted = map.permute({1, 0});
  for_each_coordinate(map.shape(), [&](const std::vector<int64_t>& c) { ASSERT_EQ(permuted.evaluate({c[1], c[0]}), map.evaluate(c)); });
  EXPECT_EQ(permuted.sub_tile_bytes(), map.sub_tile_bytes());
}

std::vector<int64_t> strided(int64_t count, int64_t stride) {
  std::vector<int64_t> addresses;
  for (int64_t i = 0; i < count; i++) addresses.push_back(i * stride);
  return addresses;
}

TEST(Banks, KnownPatternsCostWhatTheHardwareTakes) {
  EXPECT_EQ(bank_conflicts(strided(32, 4), 4).wavefronts, 1);
  EXPECT_EQ(bank_conflicts(strided(32, 8), 4).wavefronts, 2);
  EXPECT_EQ(bank_conflicts(strided(32, 128), 4).wavefronts, 32);
  EXPECT_EQ(bank_conflicts(strided(32, 132), 4).wavefronts, 1);
  EXPECT_EQ(bank_conflicts(strided(32, 0), 4).wavefronts, 1);   // broadcast
  EXPECT_EQ(bank_conflicts(strided(32, 2), 2).wavefronts, 1);   // two lanes share a word
  EXPECT_EQ(bank_conflicts(strided(32, 16), 16).wavefronts, 4);
  EXPECT_EQ(bank_conflicts(strided(32, 16), 16).ratio(), 1.0);
  EXPECT_EQ(bank_conflicts(strided(32, 8), 8).wavefronts, 2);
  EXPECT_EQ(bank_conflicts(strided(32, 128), 16).ratio(), 8.0);
  EXPECT_EQ(bank_conflicts(std::vector<int64_t>(32, -1), 4).wavefronts, 0);
}

TEST(Banks, LdmatrixRowsOf128BytesConflictEightWaysAndSwizzledNotAtAll) {
  AddressMap plain = row_major_map({64, 64}, 2), swizzled = *swizzled_map({64, 64}, 2), padded = padded_map({64, 64}, 2, 16);
  EXPECT_EQ(ldmatrix_conflicts(plain, {0, 0}, 0).ratio(), 8.0);
  EXPECT_EQ(ldmatrix_conflicts(padded, {0, 0}, 0).ratio(), 1.0);
  for (int64_t row = 0; row < 64; row += 8) {
    for (int64_t col = 0; col < 64; col += 8) ASSERT_EQ(ldmatrix_conflicts(swizzled, {row, col}, 0).ratio(), 1.0);
  }
  for (int64_t cols : {16, 32, 96, 256}) {
    AddressMap map = *swizzled_map({16, cols}, 2);
    for (int64_t col = 0; col < cols; col += 8) ASSERT_EQ(ldmatrix_conflicts(map, {8, col}, 0).ratio(), 1.0) << map.text();
  }
}

TEST(Banks, AFragmentsAccessesAreSummedOverItsRegisters) {
  FragmentMap rows = blocked_map({64, 64}, 128, 8, 32);
  AddressMap plain = row_major_map({64, 64}, 2);
  EXPECT_EQ(fragment_vector_width(rows, plain), 8);
  const BankCost cost = fragment_conflicts(rows, plain, 8);
  EXPECT_EQ(cost.wavefronts, 16);  // 32 elements a thread in 4 accesses of 16 bytes, 4 passes each
  EXPECT_EQ(cost.ratio(), 1.0);
  FragmentMap accumulator = accumulator_map(*find_atom("mma_m16n8k16_f16"), 64, 64, {.m = 4});
  EXPECT_EQ(fragment_vector_width(accumulator, plain), 2);
  EXPECT_EQ(fragment_conflicts(accumulator, plain, 2).ratio(), 8.0);   // 8 rows of 128 bytes
  EXPECT_EQ(fragment_conflicts(accumulator, padded_map({64, 64}, 2, 16), 2).ratio(), 1.0);
  EXPECT_EQ(fragment_vector_width(accumulator, plain.permute({1, 0})), 1);
}

}  // namespace
}  // namespace tilert
