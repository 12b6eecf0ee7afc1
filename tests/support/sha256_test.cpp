// SHA-256 against the published vectors (FIPS 180-4 examples), and what the field form adds.
#include "support/sha256.h"

#include <gtest/gtest.h>

namespace tilert {
namespace {

struct Vector {
  std::string message;
  const char* digest;
};

const Vector kVectors[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {std::string(1000000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
};

TEST(Sha256, PublishedVectors) {
  for (const Vector& vector : kVectors) EXPECT_EQ(sha256_hex(vector.message), vector.digest);
}

TEST(Sha256, EveryDivisionOfTheBytesGivesTheSameDigest) {
  std::string message;
  for (int i = 0; i < 150; ++i) message += static_cast<char>(i * 31);
  const Digest whole = sha256(message);
  for (size_t cut = 0; cut <= message.size(); ++cut) {
    Sha256 hash;
    hash.update(std::string_view(message).substr(0, cut)).update(std::string_view(message).substr(cut));
    ASSERT_EQ(hash.finish(), whole) << "cut at " << cut;
  }
}

TEST(Sha256, FieldsDoNotRunIntoOneAnother) {
  EXPECT_NE(Sha256().update_field("ab").update_field("c").finish(), Sha256().update_field("a").update_field("bc").finish());
  EXPECT_NE(Sha256().update_field("").update_field("a").finish(), Sha256().update_field("a").update_field("").finish());
}

TEST(Sha256, NumbersAreFedLittleEndian) {
  EXPECT_EQ(Sha256().update_u64(0x0807060504030201).finish(), sha256("\x01\x02\x03\x04\x05\x06\x07\x08"));
}

TEST(Sha256, HexRoundTripsAndRefusesEverythingElse) {
  const Digest digest = sha256("x");
  const std::string hex = to_hex(digest);
  EXPECT_EQ(hex.size(), 64u);
  EXPECT_EQ(digest_from_hex(hex), digest);
  EXPECT_FALSE(digest_from_hex(hex.substr(1)));
  EXPECT_FALSE(digest_from_hex(hex + "0"));
  for (char wrong : {'A', 'g', ' ', '/', ':', '`'}) {
    std::string bad = hex;
    bad[10] = wrong;
    EXPECT_FALSE(digest_from_hex(bad)) << wrong;
  }
}

}  // namespace
}  // namespace tilert
