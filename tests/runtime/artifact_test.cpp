// The artifact format: round trips, damage of every kind, and what the verifier refuses.
#include "runtime/artifact.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <functional>
#include <random>

#include "runtime/test_artifacts.h"

namespace tilert::runtime {
namespace {

using namespace testing;

std::vector<uint8_t> bytes_of(const Artifact& artifact) {
  auto bytes = serialize(artifact);
  EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().message);
  return bytes ? *bytes : std::vector<uint8_t>{};
}

// Puts the right length and checksum on changed bytes, so that what lies behind them is reached.
void seal(std::vector<uint8_t>& bytes) {
  const uint64_t total = bytes.size();
  std::memcpy(bytes.data() + 16, &total, sizeof total);
  crypto_hash_sha256(bytes.data() + bytes.size() - 32, bytes.data(), bytes.size() - 32);
}

TEST(Artifact, RoundTripGivesTheSameBytesAndFields) {
  for (const Artifact& artifact : {saxpy(), tma_gemm()}) {
    const auto bytes = bytes_of(artifact);
    auto again = deserialize(bytes);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(bytes_of(**again), bytes);
    EXPECT_EQ((*again)->code, artifact.code);
    EXPECT_EQ((*again)->configuration, artifact.configuration);
    EXPECT_EQ((*again)->kernels[0].slots.size(), artifact.kernels[0].slots.size());
    EXPECT_EQ(signature_hash(**again), signature_hash(artifact));
  }
}

TEST(Artifact, EveryTruncationIsCorrupt) {
  const auto bytes = bytes_of(tma_gemm());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto result = deserialize(std::span(bytes).first(size));
    ASSERT_FALSE(result) << size;
    EXPECT_EQ(result.error().code, Code::kCorrupt);
  }
}

TEST(Artifact, EveryFlippedBitIsCorrupt) {
  auto bytes = bytes_of(saxpy());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    const auto result = deserialize(bytes);
    ASSERT_FALSE(result) << "bit " << bit;
    EXPECT_EQ(result.error().code, Code::kCorrupt);
    bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
  }
}

TEST(Artifact, HostileBytesBehindARightChecksumNeverCrash) {
  std::mt19937 engine(11);
  const auto gemm = bytes_of(tma_gemm()), simple = bytes_of(saxpy());
  int refused = 0;
  for (int round = 0; round < 60000; ++round) {
    auto bytes = round % 2 == 0 ? gemm : simple;
    const int edits = 1 + static_cast<int>(engine() % 4);
    for (int i = 0; i < edits; ++i) {
      const size_t at = 24 + engine() % (bytes.size() - 56);
      switch (engine() % 4) {
        case 0: bytes[at] = static_cast<uint8_t>(engine()); break;
        case 1: bytes[at] = 0xff; break;
        case 2: bytes.erase(bytes.begin() + static_cast<long>(at)); break;
        default: bytes.insert(bytes.begin() + static_cast<long>(at), static_cast<uint8_t>(engine())); break;
      }
    }
    seal(bytes);
    const auto result = deserialize(bytes);
    if (!result) {
      ++refused;
      ASSERT_EQ(result.error().code, Code::kCorrupt);
    } else {
      ASSERT_TRUE(verify(**result));
    }
  }
  EXPECT_GT(refused, 20000);
}

TEST(Artifact, AForeignVersionSaysSo) {
  auto bytes = bytes_of(saxpy());
  bytes[8] = 200;
  seal(bytes);
  const auto result = deserialize(bytes);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kCorrupt);
  EXPECT_NE(result.error().message.find("version 200"), std::string::npos) << result.error().message;
}

TEST(Artifact, SignatureIsSharedByVariantsOfOneProgram) {
  Artifact other = saxpy();
  other.dims[0] = {DimKind::constant, "N", 1024, 0};
  other.params[0].alignment = 4;
  other.kernels[0].threads[0] = 128;
  EXPECT_EQ(signature_hash(other), signature_hash(saxpy()));
  other.params[0].dtype = DType::f16;
  EXPECT_NE(signature_hash(other), signature_hash(saxpy()));
  Artifact renamed = saxpy();
  renamed.dims[0].name = "M";
  EXPECT_NE(signature_hash(renamed), signature_hash(saxpy()));
}

struct Damage {
  const char* name;
  std::function<void(Artifact&)> apply;
};

class ArtifactVerify : public ::testing::TestWithParam<Damage> {};

TEST_P(ArtifactVerify, IsRefused) {
  Artifact artifact = tma_gemm();
  artifact.params.push_back(scalar("alpha", DType::f32));
  ASSERT_TRUE(verify(artifact));
  GetParam().apply(artifact);
  const Status status = verify(artifact);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kCorrupt);
  EXPECT_FALSE(serialize(artifact));
}

Kernel& kernel(Artifact& a) { return a.kernels[0]; }

INSTANTIATE_TEST_SUITE_P(
    Each, ArtifactVerify,
    ::testing::
        Values(
            Damage{"NoTarget", [](Artifact& a) { a.target.clear(); }},
            Damage{"NoCode", [](Artifact& a) { a.code.clear(); }},
            Damage{"UnknownKind", [](Artifact& a) { a.kind = static_cast<CodeKind>(9); }},
            Damage{"NoKernel", [](Artifact& a) { a.kernels.clear(); }},
            Damage{"TooManyParams", [](Artifact& a) { a.params.resize(kMaxParams + 1, a.params[0]); }},
            Damage{"TooManyStrides", [](Artifact& a) { a.params.resize(kMaxStrideSlots, a.params[0]); }},
            Damage{"UnknownDtype", [](Artifact& a) { a.params[0].dtype = static_cast<DType>(200); }},
            Damage{"RankTooGreat", [](Artifact& a) { a.params[0].dims.resize(kMaxRank + 1, a.params[0].dims[0]); }},
            Damage{"AlignmentNoPowerOfTwo", [](Artifact& a) { a.params[0].alignment = 24; }},
            Damage{"AccessUnknown", [](Artifact& a) { a.params[0].access = static_cast<Access>(7); }},
            Damage{"ScalarWithDims", [](Artifact& a) { a.params[3].dims = a.params[0].dims; }},
            Damage{"SizeMissing", [](Artifact& a) { a.params[0].dims[0].size = {}; }},
            Damage{"SizeReadsStride", [](Artifact& a) { a.params[0].dims[0].size = kernel(a).slots[4].expr; }},
            Damage{"StrideMissing", [](Artifact& a) { a.params[0].dims[0].rule = StrideRule::given; }},
            Damage{"StrideRuleUnknown", [](Artifact& a) { a.params[0].dims[0].rule = static_cast<StrideRule>(0); }},
            Damage{"DimKindUnknown", [](Artifact& a) { a.dims[0].kind = static_cast<DimKind>(8); }},
            Damage{"DivisorZero", [](Artifact& a) { a.dims[2].first = 0; }},
            Damage{"RangeReversed",
                   [](Artifact& a) {
                     a.dims[0] = {DimKind::range, "M", 5, 4};
                   }},
            Damage{"ConstantNegative", [](Artifact& a) { a.dims[1].first = -1; }},
            Damage{"EntryEmpty", [](Artifact& a) { kernel(a).entry.clear(); }},
            Damage{"EntryWithNul", [](Artifact& a) { kernel(a).entry = std::string("a\0b", 3); }},
            Damage{"GridMissing", [](Artifact& a) { kernel(a).grid[2] = {}; }},
            Damage{
                "GridOutOfCode",
                [](Artifact& a) {
                  kernel(a).grid[0] = {1000000, 1};
                }},
            Damage{"NoThreads", [](Artifact& a) { kernel(a).threads[1] = 0; }},
            Damage{"TooManyThreads", [](Artifact& a) { kernel(a).threads[1] = 4; }},
            Damage{"ClusterTooGreat", [](Artifact& a) { kernel(a).cluster[1] = 16; }},
            Damage{"SlotOfNoParam", [](Artifact& a) { kernel(a).slots[2].index = 99; }},
            Damage{"PointerOfScalar", [](Artifact& a) { kernel(a).slots[2].index = 3; }},
            Damage{"ScalarWidth", [](Artifact& a) { kernel(a).slots[2] = scalar_slot(3, 8); }},
            Damage{"ScalarOfTensor", [](Artifact& a) { kernel(a).slots[2] = scalar_slot(0, 2); }},
            Damage{"ExpressionWidth", [](Artifact& a) { kernel(a).slots[3].bytes = 2; }},
            Damage{"ExpressionMissing", [](Artifact& a) { kernel(a).slots[3].expr = {}; }},
            Damage{"MapOutOfRange", [](Artifact& a) { kernel(a).slots[1].index = 2; }},
            Damage{"MapOfScalar", [](Artifact& a) { kernel(a).tensor_maps[0].param = 3; }},
            Damage{"MapRank", [](Artifact& a) { kernel(a).tensor_maps[0].rank = 6; }},
            Damage{"MapBox", [](Artifact& a) { kernel(a).tensor_maps[0].box[0] = 257; }},
            Damage{"MapSubByte", [](Artifact& a) { kernel(a).tensor_maps[0].dtype = DType::int4; }},
            Damage{"MapElementStride", [](Artifact& a) { kernel(a).tensor_maps[0].element_strides[1] = 9; }},
            Damage{"TooManyParameterBytes",
                   [](Artifact& a) { kernel(a).slots.insert(kernel(a).slots.end(), 32, map_slot(0)); }},
            Damage{"WorkspaceAlignment", [](Artifact& a) { a.workspace.alignment = 3; }},
            Damage{"WorkspaceReadsStride", [](Artifact& a) { a.workspace.bytes = kernel(a).slots[4].expr; }},
            Damage{"CpuWithMaps", [](Artifact& a) { a.kind = CodeKind::cpu_object; }}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tilert::runtime
