// Recommendations through the C interface and the C++ one: arrays, sizes of structs, classes of devices, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tilert.hpp"

namespace {

const tl::Machine kMachine;

using testing::HasSubstr;

tl::Product served(int64_t m) {
  tl::Product p;
  p.m = m, p.n = 4096, p.k = 4096;
  p.trans_b = true;
  return p;
}

TEST(Recommend, AsManyChoicesAsAskedForTheFastestFirst) {
  const auto all = tl::recommend_product(served(256), {}, 1000000).value(), three = tl::recommend_product(served(256), {}, 3).value();
  ASSERT_GT(all.size(), 10u);
  ASSERT_EQ(three.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(three[i], all[i]);
    EXPECT_EQ(three[i].predicted, all[i].predicted);
    EXPECT_EQ(three[i].struct_size, sizeof(tilert_product_choice));
    EXPECT_GT(three[i].tile_m * three[i].tile_n * three[i].tile_k * three[i].stages * three[i].cluster * three[i].split_k, 0u);
    EXPECT_LE(three[i ? i - 1 : 0].predicted, three[i].predicted);
  }
}

TEST(Recommend, TheDefaultIsAHopperAndItsClass) {
  tilert_product p = served(512).raw(kMachine);
  tilert_product_choice named{}, plain{}, given{};
  named.struct_size = plain.struct_size = given.struct_size = sizeof named;
  uint32_t count = 1;
  ASSERT_EQ(tilert_recommend_product(&p, &named, &count, nullptr), TILERT_OK);
  p.target = nullptr;
  ASSERT_EQ(tilert_recommend_product(&p, &plain, &count, nullptr), TILERT_OK);
  const tilert_device_class device{sizeof device, 132, 227 << 10, 50 << 20};
  p.device_class = &device;
  ASSERT_EQ(tilert_recommend_product(&p, &given, &count, nullptr), TILERT_OK);
  EXPECT_EQ(named.predicted, plain.predicted);
  EXPECT_EQ(named.predicted, given.predicted);
  EXPECT_EQ(named.path, TILERT_PATH_WARPGROUP);
}

TEST(Recommend, ASmallerDeviceTakesLonger) {
  tl::Machine half;
  half.device_class = {sizeof half.device_class, 66, 227 << 10, 25 << 20};
  EXPECT_GT(tl::recommend_product(served(4096), half).value()[0].predicted, tl::recommend_product(served(4096)).value()[0].predicted);
}

TEST(Recommend, TimesThatNoCounterHoldsAreTheMost) {
  tl::Machine one;
  one.device_class = {sizeof one.device_class, 1, 227 << 10, 1 << 20};
  tl::Product p;
  p.m = p.n = p.k = int64_t{1} << 25;
  p.a = p.b = p.c = tl::f64;
  const auto all = tl::recommend_product(p, one, 1000000).value();
  for (size_t i = 1; i < all.size(); ++i) EXPECT_LE(all[i - 1].predicted, all[i].predicted);
  EXPECT_EQ(all.back().predicted, uint64_t{1} << 63);
}

TEST(Recommend, ElementsAreAsLargeAsTheFirstSays) {
  const tilert_product p = served(256).raw(kMachine);
  struct Longer {
    tilert_product_choice choice;
    uint64_t beyond[2];
  } longer[2] = {};
  longer[0].choice.struct_size = sizeof(Longer);
  longer[1].beyond[0] = 7;
  uint32_t count = 2;
  ASSERT_EQ(tilert_recommend_product(&p, &longer[0].choice, &count, nullptr), TILERT_OK);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(longer[1].choice.struct_size, sizeof(Longer));
  EXPECT_GT(longer[1].choice.predicted, 0u);
  EXPECT_EQ(longer[1].beyond[0], 7u);
  struct Shorter {
    uint32_t struct_size;
    tilert_product_path path;
  } shorter[3] = {{sizeof(Shorter), 0}, {}, {0, 99}};
  ASSERT_EQ(tilert_recommend_product(&p, reinterpret_cast<tilert_product_choice*>(shorter), &count, nullptr), TILERT_OK);
  EXPECT_EQ(shorter[1].path, TILERT_PATH_WARPGROUP);
  EXPECT_EQ(shorter[2].path, 99);
}

std::string refused(const tilert_product& p, tilert_status status) {
  uint32_t count = 0;
  tilert_error* error = nullptr;
  EXPECT_EQ(tilert_recommend_product(&p, nullptr, &count, &error), status);
  const std::string message = tilert_error_message(error);
  tilert_error_release(error);
  return message;
}

TEST(Recommend, AWrongQuestionIsAnErrorThatSaysWhatIsWrong) {
  tilert_product p = served(16).raw(kMachine);
  p.target = "sm_12";
  EXPECT_THAT(refused(p, TILERT_UNSUPPORTED), HasSubstr("sm_12"));
  p.target = "cpu:x86-64-v3";
  EXPECT_THAT(refused(p, TILERT_UNSUPPORTED), HasSubstr("no cost model"));
  p = served(16).raw(kMachine);
  p.target = nullptr;
  p.flags = 64;
  EXPECT_THAT(refused(p, TILERT_INVALID_ARGUMENT), HasSubstr("unknown flags"));
  p.flags = 0;
  p.a = 1000;
  EXPECT_THAT(refused(p, TILERT_INVALID_ARGUMENT), HasSubstr("dtype of a"));
  p.a = TILERT_BF16;
  p.struct_size = 1;
  EXPECT_THAT(refused(p, TILERT_INVALID_ARGUMENT), HasSubstr("struct_size"));
  p.struct_size = sizeof p;
  const tilert_device_class none{sizeof none, 0, 227 << 10, 50 << 20};
  p.device_class = &none;
  EXPECT_THAT(refused(p, TILERT_INVALID_ARGUMENT), HasSubstr("0 multiprocessors"));
  p.device_class = nullptr;
  tilert_product_choice unsized{};
  uint32_t count = 1;
  EXPECT_EQ(tilert_recommend_product(&p, &unsized, &count, nullptr), TILERT_INVALID_ARGUMENT);
}

}  // namespace
