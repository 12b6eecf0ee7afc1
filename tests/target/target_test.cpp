// Claims about the target table, its text forms and host detection.
#include "target/target.h"

#include <gtest/gtest.h>

namespace tilert {
namespace {

Target target(std::string_view text) {
  auto parsed = parse_target(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Target{};
}

TEST(Target, EveryKnownTextParsesToItself) {
  for (const std::string& text : known_target_texts()) EXPECT_EQ(target(text).text, text);
  EXPECT_GE(known_target_texts().size(), 12u);
}

TEST(Target, HopperRowHasItsFiguresAndInstructions) {
  Target hopper = target("sm_90a");
  EXPECT_EQ(hopper.capability, 90);
  EXPECT_EQ(hopper.warp_size, 32);
  EXPECT_EQ(hopper.shared_bytes_per_block, 227 * 1024);
  EXPECT_EQ(hopper.device_class, (DeviceClass{132, 232448, 52428800}));
  for (Feature feature : {Feature::wgmma, Feature::tma, Feature::setmaxnreg, Feature::stmatrix, Feature::cluster,
                          Feature::cp_async, Feature::ldmatrix, Feature::mma_bf16, Feature::named_barriers}) {
    EXPECT_TRUE(hopper.has(feature)) << feature_name(feature);
  }
  EXPECT_FALSE(hopper.has(Feature::tcgen05));
}

TEST(Target, AmdRowsHaveTheirWavesBanksAndInstructions) {
  for (const char* text : {"gfx90a", "gfx942", "gfx950"}) {
    EXPECT_EQ(target(text).warp_size, 64) << text;
    EXPECT_TRUE(target(text).has(Feature::mfma_bf16)) << text;
    EXPECT_EQ(target(text).max_registers_per_thread, 512) << text;
  }
  for (const char* text : {"gfx1100", "gfx1101", "gfx1102", "gfx1150", "gfx1151", "gfx1200", "gfx1201"}) {
    EXPECT_EQ(target(text).warp_size, 32) << text;
    EXPECT_NE(target(text).has(Feature::wmma), target(text).has(Feature::wmma_gfx12)) << text;
    EXPECT_EQ(target(text).shared_bytes_per_block, 64 * 1024) << text;
  }
  EXPECT_TRUE(target("gfx942").is_hip());
  EXPECT_FALSE(target("sm_90a").is_hip());
  EXPECT_EQ(target("gfx950").shared_banks, 64);
  EXPECT_EQ(target("gfx950").shared_bytes_per_block, 160 * 1024);
  EXPECT_EQ(target("gfx942").shared_banks, 32);
  EXPECT_FALSE(target("gfx90a").has(Feature::mfma_fp8_fnuz));
  EXPECT_TRUE(target("gfx942").has(Feature::mfma_fp8_fnuz));
  EXPECT_FALSE(target("gfx942").has(Feature::mfma_fp8));
  EXPECT_TRUE(target("gfx90a").has(Feature::flushes_products));
  EXPECT_TRUE(target("gfx1201").has(Feature::wmma_gfx12));
  EXPECT_NE(parse_target("gfx941").error().message.find("gfx942"), std::string::npos);
}

TEST(Target, FeaturesAppearWithTheirGeneration) {
  EXPECT_TRUE(target("sm_75").has(Feature::mma_f16));
  EXPECT_FALSE(target("sm_75").has(Feature::cp_async));
  EXPECT_FALSE(target("sm_75").has(Feature::mma_bf16));
  EXPECT_TRUE(target("sm_80").has(Feature::cp_async));
  EXPECT_FALSE(target("sm_89").has(Feature::tma));
  EXPECT_FALSE(target("sm_90").has(Feature::wgmma));
  EXPECT_FALSE(target("sm_100a").has(Feature::wgmma));
  EXPECT_TRUE(target("sm_120a").has(Feature::tma));
  EXPECT_FALSE(target("cpu:x86-64-v3").has(Feature::ldmatrix));
}

TEST(Target, CpuTextNamesExtensionsInOneOrder) {
  EXPECT_EQ(target("cpu:x86-64-v4+avx512bf16+avx512vnni").text, "cpu:x86-64-v4+avx512vnni+avx512bf16");
  EXPECT_EQ(target("cpu:x86-64-v4+avx512bf16+avx512vnni").llvm_features, "+avx512vnni,+avx512bf16");
  EXPECT_TRUE(target("cpu:x86-64-v3+avxvnni").has(Feature::vnni));
  EXPECT_EQ(target("cpu:x86-64-v3").vector_bits, 256);
  EXPECT_EQ(target("cpu:x86-64-v3").warp_size, 1);
}

TEST(Target, NativeResolvesToAnExplicitTextThatParsesToItself) {
  Target native = target("cpu:native");
  EXPECT_EQ(native.text, native_cpu_text());
  EXPECT_EQ(target("cpu").text, native.text);
  EXPECT_EQ(target(native.text).text, native.text);
  EXPECT_EQ(native.text.find("native"), std::string::npos);
}

TEST(Target, UnknownTextsAreUnsupportedAndNameWhatIsKnown) {
  for (const char* text : {"", "sm_91", "sm_90b", "cpu:", "cpu:x86-64-v9", "cpu:x86-64-v3+foo", "gfx941", "gfx942:xnack+", "GFX942", "SM_80",
                           "cpu:x86-64-v3+avx512bf16", "cpu:armv8-a+avxvnni", "cpu:x86-64-v3+", "cpu:x86-64-v3++"}) {
    auto parsed = parse_target(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::kUnsupported);
    EXPECT_NE(parsed.error().message.find(text), std::string::npos);
  }
  EXPECT_NE(parse_target("sm_91").error().message.find("sm_90a"), std::string::npos);
}

TEST(Target, AnOlderGpuIsRefusedByNameWithTheFirstSupportedOne) {
  for (const char* text : {"sm_72", "sm_70", "sm_61"}) {
    auto parsed = parse_target(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::kUnsupported);
    EXPECT_NE(parsed.error().message.find(std::string("'") + text + "' is older than sm_75"), std::string::npos);
    EXPECT_NE(parsed.error().message.find("sm_90a"), std::string::npos);
  }
  EXPECT_EQ(parse_target("sm_72x").error().message.find("older"), std::string::npos);
}

TEST(DeviceClass, TextRoundTripsAndAnythingElseIsRefused) {
  DeviceClass device{114, 101376, 1 << 20};
  auto parsed = parse_device_class(device.text());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, device);
  for (const char* text : {"", "sms=1", "sms=1,shared=2", "sms=1,shared=2,l2=", "sms=1,shared=2,l2=3 ", "sms=01,shared=2,l2=3",
                           "sms=-1,shared=2,l2=3", "shared=2,sms=1,l2=3", "sms=1,shared=2,l2=99999999999999999999"}) {
    EXPECT_FALSE(parse_device_class(text)) << text;
  }
}

}  // namespace
}  // namespace tilert
