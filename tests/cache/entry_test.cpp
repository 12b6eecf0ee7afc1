// A stored row is believed whole or not at all.
#include "cache/entry.h"

#include <gtest/gtest.h>

#include <random>

namespace tilert {
namespace {

const BinaryKey kKey = binary_key({"source", {}, "target"});

TEST(Row, ComesBackAsItWasPacked) {
  Digest row = row_key("", kKey);
  for (const std::string& bytes : {std::string(), std::string("\0x\xff", 3), std::string(100000, 'a')}) {
    std::optional<CacheEntry> entry =
        unpack_row(EntryKind::binary, row, pack_row(EntryKind::binary, row, "meta", bytes));
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->bytes, bytes);
    EXPECT_EQ(entry->metadata, "meta");
  }
}

TEST(Row, AnySingleFlippedBitMakesItNoEntry) {
  Digest row = row_key("", kKey);
  std::string blob = pack_row(EntryKind::binary, row, "meta", "some bytes of a kernel");
  for (size_t bit = 0; bit < blob.size() * 8; ++bit) {
    std::string bad = blob;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(unpack_row(EntryKind::binary, row, bad)) << bit;
  }
}

TEST(Row, AnyOtherLengthMakesItNoEntry) {
  Digest row = row_key("", kKey);
  std::string blob = pack_row(EntryKind::binary, row, "meta", "bytes");
  for (size_t size = 0; size < blob.size(); ++size)
    EXPECT_FALSE(unpack_row(EntryKind::binary, row, blob.substr(0, size)));
  EXPECT_FALSE(unpack_row(EntryKind::binary, row, blob + "x"));
}

TEST(Row, OfAnotherKeyKindOrNamespaceIsNoEntry) {
  Digest row = row_key("", kKey), other = row_key("", binary_key({"other", {}, "target"}));
  std::string blob = pack_row(EntryKind::binary, row, "meta", "bytes");
  EXPECT_FALSE(unpack_row(EntryKind::binary, other, blob));
  EXPECT_FALSE(unpack_row(EntryKind::index, row, blob));
  EXPECT_FALSE(unpack_row(EntryKind::binary, row_key("a", kKey), blob));
}

TEST(Row, KeysDifferByNamespaceKindAndGenerator) {
  RequestKey request{kKey.digest};
  EXPECT_NE(row_key("a", kKey), row_key("b", kKey));
  EXPECT_NE(row_key("", kKey), row_key("", request, ""));
  EXPECT_NE(row_key("", request, "1"), row_key("", request, "2"));
  EXPECT_NE(row_key("a", request, "b"), row_key("ab", request, ""));
}

TEST(Row, RandomBytesAreNoEntry) {
  std::mt19937 random(3);
  Digest row = row_key("", kKey);
  std::string blob = pack_row(EntryKind::binary, row, "meta", "bytes");
  for (int round = 0; round < 20000; ++round) {
    std::string bad = blob.substr(0, random() % (blob.size() + 1));
    for (size_t n = random() % 40; n > 0; --n) bad.push_back(static_cast<char>(random()));
    EXPECT_TRUE(bad == blob || !unpack_row(EntryKind::binary, row, bad));
  }
}

TEST(Index, ComesBackAndRefusesWhatIsTooShort) {
  IndexEntry entry{kKey, "stages=3"};
  std::optional<IndexEntry> back = unpack_index(pack_index(entry));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->binary, kKey);
  EXPECT_EQ(back->configuration, "stages=3");
  EXPECT_FALSE(unpack_index("too short"));
}

}  // namespace
}  // namespace tilert
