// What the programs of products do not take: each is refused in words, before anything is computed of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tilert/kernels/gemm.hpp"

namespace {

namespace kernels = tl::kernels;
using testing::HasSubstr;

tl::Product served() {
  tl::Product p;
  p.n = p.k = 128, p.trans_b = true;
  return p;
}

tl::ProductChoice tiles() {
  tl::ProductChoice c;
  c.path = TILERT_PATH_WARP;
  c.tile_m = c.tile_n = c.tile_k = 64;
  c.threads = 128, c.stages = 2, c.cluster = c.split_k = 1;
  return c;
}

// What each program of products says of them.
std::vector<tl::Result<tl::Program>> programs(const tl::Product& p, const tl::ProductChoice& c) {
  tl::ProductChoice vector = c;
  if (vector.path == TILERT_PATH_WARP) vector.path = TILERT_PATH_VECTOR;
  return {kernels::try_gemm(p, c), kernels::try_scaled_gemm(p, c), kernels::try_sparse_gemm(p, c), kernels::try_grouped_gemm(p, c, kernels::GroupForm::masked, 4),
          kernels::try_gemv(p, vector)};
}

struct Wrong {
  const char* words;
  std::function<void(tl::Product&, tl::ProductChoice&)> make;
};

TEST(Misuse, ChoicesAndSizesThatAreNoneAreRefusedByEveryProgram) {
  const Wrong rows[] = {
      {"tile is 0 x 64 x 64: take a choice", [](auto&, auto& c) { c.tile_m = 0; }},
      {"tile is 64 x 64 x 0", [](auto&, auto& c) { c.tile_k = 0; }},
      {"tile is 64 x 4294967295 x 64", [](auto&, auto& c) { c.tile_n = 0xffffffff; }},
      {"stages are 0: give 1 to 16", [](auto&, auto& c) { c.stages = 0; }},
      {"stages are 99", [](auto&, auto& c) { c.stages = 99; }},
      {"path is 7", [](auto&, auto& c) { c.path = 7; }},
      {"n is -5: give 1 to 2^40, or 0", [](auto& p, auto&) { p.n = -5; }},
      {"m is -1", [](auto& p, auto&) { p.m = -1; }},
      {"n is 4611686018427387904", [](auto& p, auto&) { p.n = int64_t{1} << 62; }},
  };
  EXPECT_TRUE(kernels::try_gemm(served(), tiles()));
  for (const Wrong& row : rows) {
    tl::Product p = served();
    tl::ProductChoice c = tiles();
    row.make(p, c);
    for (const auto& program : programs(p, c)) {
      ASSERT_FALSE(program) << row.words;
      EXPECT_EQ(program.error().status(), TILERT_INVALID_ARGUMENT);
      EXPECT_THAT(program.error().message(), HasSubstr(row.words));
    }
  }
  for (const auto& program : programs(tl::Product(served()), tl::ProductChoice())) EXPECT_FALSE(program);
  EXPECT_EQ(kernels::grouped_tiles(kernels::GroupForm::masked, 4, 100, tl::ProductChoice()), 0);
}

TEST(Misuse, LeadingDimensionsBelowARowAreRefused) {
  const auto message = [](const std::function<void(tl::Product&)>& make) {
    tl::Product p = served();
    make(p);
    const auto program = kernels::try_gemm(p, tiles());
    return program ? std::string() : program.error().message();
  };
  EXPECT_THAT(message([](auto& p) { p.lda = 127; }), HasSubstr("lda is 127: give a row's elements or more, here 128 to 2^40"));
  EXPECT_THAT(message([](auto& p) { p.ldb = 3; }), HasSubstr("ldb is 3"));
  EXPECT_THAT(message([](auto& p) { p.ldc = -128; }), HasSubstr("ldc is -128"));
  EXPECT_THAT(message([](auto& p) { p.trans_a = true, p.m = 300, p.lda = 299; }), HasSubstr("lda is 299"));
  EXPECT_EQ(message([](auto& p) { p.trans_a = true, p.lda = 3; }), "");  // rows of "M" elements: known at launch
  EXPECT_EQ(message([](auto& p) { p.lda = 128, p.ldb = 129, p.ldc = 1000; }), "");
  tl::Product halves = served();
  halves.ldb = 64;  // of the kept elements
  EXPECT_TRUE(kernels::try_sparse_gemm(halves, tiles()));
  halves.ldb = 63;
  EXPECT_FALSE(kernels::try_sparse_gemm(halves, tiles()));
}

TEST(Misuse, APlanNeedsTheSizesOfTheWeights) {
  for (const auto& make : std::vector<std::function<void(tl::Product&)>>{[](auto& p) { p.n = 0; }, [](auto& p) { p.k = 0; }, [](auto& p) { p.n = -1; }}) {
    tl::Product p = served();
    make(p);
    for (const auto& plan : {kernels::plan_gemm(p), kernels::plan_scaled_gemm(p)}) {
      ASSERT_FALSE(plan);
      EXPECT_EQ(plan.error().status(), TILERT_INVALID_ARGUMENT);
      EXPECT_THAT(plan.error().message(), HasSubstr("n and k are given"));
    }
  }
}

TEST(Misuse, AMachineWithoutRoomForATileIsNamed) {
  tl::Machine small;
  small.device_class.struct_size = sizeof small.device_class;
  small.device_class.multiprocessors = 1, small.device_class.shared_bytes = 1000;
  tl::Product p = served();
  p.m = 64;
  for (const std::string& message : {kernels::choose(p, small).error().message(), kernels::plan_gemm(p, small).error().message()}) {
    EXPECT_THAT(message, HasSubstr("sm_90a"));
    EXPECT_THAT(message, HasSubstr("1000 bytes"));
  }
}

TEST(Misuse, SparseWeightsOfOddRowsAreNotRead) {
  const float dense[] = {1, 0};
  float kept[2] = {7, 7};
  uint16_t places[1] = {7};
  for (const int64_t k : {-4, 1, 2, 3, 6}) EXPECT_FALSE(kernels::compress_sparse(dense, 1, k, k, kept, places)) << k;
  EXPECT_EQ(kept[0], 7);
  EXPECT_EQ(places[0], 7);
}

// Rows that lie apart: an address alone does not say so.
TEST(Misuse, LeadingDimensionsAreSaidAtLaunchToo) {
  const tl::Context context = tl::Context::create().value();
  tl::Machine cpu;
  cpu.target = "cpu";
  tl::Product p;
  p.a = p.b = p.c = tl::f32;
  p.n = p.k = 8, p.trans_b = true, p.ldb = 12;
  const tl::Loaded loaded = context.kernel(kernels::try_gemm(p, *kernels::choose(p, cpu)).value(), "cpu").prepare(context.cpu());
  std::vector<float> a(8, 1), b(8 * 12), c(8, 7);
  for (size_t i = 0; i < b.size(); ++i) b[i] = i % 12 < 8 ? static_cast<float>(i / 12) : 1000.f;
  tilert_launch_failure failure{};
  failure.struct_size = sizeof failure;
  EXPECT_EQ(loaded.try_launch(nullptr, {a.data(), b.data(), c.data()}, {{0u, 1}}, {}, &failure), TILERT_SHAPE);
  EXPECT_THAT(failure.message, HasSubstr("'B' has stride 8 in dim 0; the kernel takes 12: an argument without strides is contiguous"));
  EXPECT_EQ(c[0], 7);
  const int64_t shape[] = {8, 8}, strides[] = {12, 1};
  tilert_argument apart = tl::Argument(b.data()).raw();
  apart.dtype = TILERT_F32, apart.shape = shape, apart.strides = strides, apart.ndim = 2;
  loaded.launch(nullptr, {a.data(), apart, c.data()}, {{0u, 1}});
  for (size_t j = 0; j < 8; ++j) EXPECT_EQ(c[j], 8 * static_cast<float>(j));
}

}  // namespace
