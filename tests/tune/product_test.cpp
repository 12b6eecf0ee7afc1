// The cost model: what it says of products follows from their sizes and from the machine's numbers, whatever the constants of
// calibration.def are. That compilers take its candidates is tested in tests/kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tune/machine.h"
#include "tune/product.h"

namespace tilert::tune {
namespace {

Target target_of(const char* text) { return *parse_target(text); }

// y[m, n] = x[m, k] w[n, k]^T in bf16.
Product served(int64_t m, int64_t n, int64_t k) {
  Product p;
  p.m = m, p.n = n, p.k = k;
  p.a = p.b = p.c = DType::bf16;
  p.trans_b = true;
  return p;
}

std::vector<Choice> asked(const Product& p, const char* text = "sm_90a") {
  const Target target = target_of(text);
  auto all = recommend(p, target, target.device_class);
  EXPECT_TRUE(all) << (all ? "" : all.error().message);
  return all ? *all : std::vector<Choice>{};
}

double best(const Product& p, const char* text = "sm_90a") { return asked(p, text).at(0).nanoseconds; }

constexpr const char* kGpus[] = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a"};
constexpr int64_t kServed[][2] = {{6144, 4096}, {4096, 14336}, {28672, 4096}, {1280, 8192}, {2112, 7168}, {7168, 16384}, {8192, 1024}, {4104, 520}};
constexpr int64_t kTokens[] = {1, 3, 16, 64, 200, 256, 1000, 1024, 4096};

TEST(Product, TheSameQuestionHasTheSameAnswer) {
  for (const char* gpu : kGpus) {
    const auto first = asked(served(777, 4096, 4096), gpu), second = asked(served(777, 4096, 4096), gpu);
    ASSERT_EQ(first.size(), second.size());
    for (size_t i = 0; i < first.size(); ++i) {
      EXPECT_TRUE(first[i].same_program(second[i])) << gpu << " " << i;
      EXPECT_EQ(first[i].nanoseconds, second[i].nanoseconds);
    }
  }
}

TEST(Product, CandidatesComeFastestFirstAndNoneComesTwice) {
  for (const char* gpu : kGpus) {
    const auto all = asked(served(64, 4096, 4096), gpu);
    ASSERT_FALSE(all.empty()) << gpu;
    for (size_t i = 1; i < all.size(); ++i) {
      EXPECT_LE(all[i - 1].nanoseconds, all[i].nanoseconds);
      for (size_t j = 0; j < i; ++j) ASSERT_FALSE(all[i].same_program(all[j])) << gpu << " " << i << " " << j;
    }
  }
}

TEST(Product, EveryCandidateFitsSharedMemoryAndRegisters) {
  for (const char* gpu : kGpus)
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64, DType::int8, DType::e4m3})
      for (const int64_t m : kTokens) {
        Product p = served(m, 4096, 4096);
        p.a = p.b = dtype, p.c = DType::none;
        p.c = dtype == DType::f64 ? DType::f64 : dtype == DType::int8 ? DType::int32 : DType::bf16;
        const Target target = target_of(gpu);
        for (const Choice& c : asked(p, gpu)) {
          EXPECT_LE(shared_bytes(p, c), target.device_class.shared_bytes) << gpu;
          EXPECT_LE(accumulators(c), 200) << gpu;
          const bool runs_ahead = c.path != Path::vector && target.has(Feature::cp_async);
          EXPECT_EQ(c.stages > 1, runs_ahead) << gpu;
          EXPECT_EQ(c.path == Path::warpgroup, c.consumers > 0) << gpu;
          EXPECT_GT(c.nanoseconds, 0) << gpu;
        }
      }
}

TEST(Product, MoreOfKTakesLonger) {
  for (const char* gpu : kGpus)
    for (const auto& [n, k] : kServed)
      for (const int64_t m : kTokens) EXPECT_LT(best(served(m, n, k), gpu), best(served(m, n, 2 * k), gpu)) << gpu << " " << m << " " << n << " " << k;
}

TEST(Product, EachCandidateTakesLongerForMoreOfKAndNoLessForMoreRows) {
  const Target target = target_of("sm_90a");
  for (const auto& [n, k] : kServed)
    for (const int64_t m : kTokens)
      for (Choice c : candidates(served(m, n, k), target, target.device_class)) {
        Choice longer = c, taller = c;
        predict(served(m, n, k), target, target.device_class, c);
        predict(served(m, n, 3 * k), target, target.device_class, longer);
        predict(served(m + 256, n, k), target, target.device_class, taller);
        EXPECT_LT(c.nanoseconds, longer.nanoseconds);
        // Rows of a tile that lie outside A take longer than others.
        if (m >= c.tile_m) EXPECT_LE(c.nanoseconds, taller.nanoseconds * 1.001);
      }
}

// Of one tile, a wave more costs about a wave; within a wave more tiles cost little.
TEST(Product, AWaveMoreCostsAWave) {
  const Target target = target_of("sm_90a");
  Choice c;
  c.path = Path::warpgroup, c.tile_m = 128, c.tile_n = 256, c.tile_k = 64;
  c.consumers = 2, c.threads = 256, c.stages = 3, c.raster = 8, c.persistent = true;
  const auto time = [&](int64_t tiles) {
    Choice one = c;
    predict(served(tiles * 128, 256, 4096), target, target.device_class, one);
    return one.nanoseconds;
  };
  const double first = time(132), second = time(264), over = time(133), third = time(396);
  EXPECT_GT(over - first, 0.65 * (second - first));
  EXPECT_LT(time(100), 1.02 * first);
  EXPECT_NEAR(third - second, second - first, 0.05 * (second - first));
}

TEST(Product, FewTokensReadTheWeightsOnceAndAreBoundByMemory) {
  const Machine& machine = *machine_of(target_of("sm_90a"));
  for (const int64_t m : {1, 16, 64}) {
    const auto all = asked(served(m, 28672, 4096));
    EXPECT_EQ(all[0].bound, Bound::memory) << m;
    const double bytes = 28672.0 * 4096 * 2;
    EXPECT_GT(all[0].nanoseconds, bytes / machine.memory_gbs);
    EXPECT_LT(all[0].nanoseconds, bytes / machine.memory_gbs * 1.7) << m;
  }
  EXPECT_EQ(asked(served(1, 4096, 4096))[0].path, Path::vector);
  EXPECT_TRUE(asked(served(64, 28672, 4096))[0].path == Path::warpgroup);
}

TEST(Product, ManyTokensTakeWarpgroupsAndAreBoundByTheirInstructions) {
  const Choice c = asked(served(8192, 8192, 8192))[0];
  EXPECT_EQ(c.path, Path::warpgroup);
  EXPECT_EQ(c.bound, Bound::tensor);
  EXPECT_GE(c.tile_m * c.tile_n, 128 * 192);
}

TEST(Product, NoPredictionBeatsTheChip) {
  for (const char* gpu : kGpus) {
    const Target target = target_of(gpu);
    const Machine& machine = *machine_of(target);
    for (const auto& [n, k] : kServed)
      for (const int64_t m : kTokens) {
        const double work = double(m) * n * k / (machine.mma16 * double(target.device_class.sms)) * 1000 / machine.clock_mhz;
        const double bytes = 2.0 * (double(m) * k + double(n) * k + double(m) * n) / machine.memory_gbs;
        EXPECT_GT(best(served(m, n, k), gpu), std::max(work, bytes)) << gpu << " " << m << " " << n << " " << k;
      }
  }
}

TEST(Product, FewerMultiprocessorsTakeLonger) {
  const Target target = target_of("sm_90a");
  DeviceClass half = target.device_class;
  half.sms /= 2;
  for (const auto& [n, k] : kServed) EXPECT_LT(best(served(4096, n, k)), recommend(served(4096, n, k), target, half)->at(0).nanoseconds);
}

TEST(Product, OperandsThatRolesDoNotTakeGetNone) {
  const auto has_roles = [](const Product& p, const char* gpu) {
    const auto all = asked(p, gpu);
    return std::any_of(all.begin(), all.end(), [](const Choice& c) { return c.path == Path::warpgroup; });
  };
  EXPECT_TRUE(has_roles(served(256, 4096, 4096), "sm_90a"));
  EXPECT_FALSE(has_roles(served(256, 4096, 4096), "sm_90"));
  EXPECT_FALSE(has_roles(served(256, 4096, 4096), "sm_80"));
  Product p = served(256, 4096, 4096);
  p.a = p.b = DType::f32;
  EXPECT_FALSE(has_roles(p, "sm_90a"));
  p = served(256, 4096, 4100);
  EXPECT_EQ(has_roles(p, "sm_90a"), capability::group_unaligned);
  p.lda = p.ldb = 4104;
  EXPECT_TRUE(has_roles(p, "sm_90a"));
  p = served(256, 4096, 4096);
  p.trans_b = false;
  EXPECT_EQ(has_roles(p, "sm_90a"), capability::group_mn_major);
  p = served(256, 4096, 4096);
  p.a = p.b = DType::int8, p.c = DType::int32;
  EXPECT_EQ(has_roles(p, "sm_90a"), capability::group_8_bit);
}

TEST(Product, CandidatesOfAFixedOrderAreOfOnePathForEveryNumberOfRows) {
  for (const bool trans_a : {false, true})
    for (const DType dtype : {DType::bf16, DType::f32, DType::f64}) {
      Product p = served(1, 4096, 4096);
      p.a = p.b = p.c = dtype;
      p.trans_a = trans_a, p.fixed_order = true;
      std::set<Path> paths;
      for (const int64_t m : {1, 3, 8, 64, 1000, 4097}) {
        p.m = m;
        const auto all = asked(p);
        ASSERT_FALSE(all.empty()) << m;
        for (const Choice& c : all) {
          paths.insert(c.path);
          EXPECT_EQ(c.split_k, 1);
        }
      }
      EXPECT_EQ(paths.size(), 1u) << dtype_text(dtype) << trans_a;
    }
}

TEST(Product, RowsThatStartBetween16BytesCostMore) {
  EXPECT_GT(best(served(2048, 4096, 4097)), best(served(2048, 4096, 4104)));
}

TEST(Product, WhatTheEpilogueReadsCosts) {
  Product p = served(4096, 8192, 1024);
  const double without = best(p);
  p.epilogue_bytes = int64_t{4096} * 8192 * 2;
  EXPECT_GT(best(p), without);
}

TEST(Product, QuestionsWithoutAnAnswerSayWhatIsWrong) {
  const Target gpu = target_of("sm_90a");
  const auto message = [&](const Product& p, const Target& target) {
    auto all = recommend(p, target, target.device_class);
    return all ? std::string("none") : all.error().message;
  };
  Product p = served(-1, 16, 16);
  EXPECT_THAT(message(p, gpu), testing::HasSubstr("m is -1"));
  p = served(16, 16, 16);
  p.b = DType::none;
  EXPECT_THAT(message(p, gpu), testing::HasSubstr("dtype of b"));
  p = served(16, 16, 16);
  p.tf32 = true;
  EXPECT_THAT(message(p, gpu), testing::HasSubstr("tf32"));
  p = served(16, 16, 16);
  p.ldb = 8;
  EXPECT_THAT(message(p, gpu), testing::HasSubstr("ldb 8"));
  p = served(16, 16, 16);
  p.b = DType::int4, p.ldb = 17;
  EXPECT_THAT(message(p, gpu), testing::HasSubstr("ldb is 17: rows of i4 start on a byte: give a multiple of 2"));
  p = served(16, 16, 16);
  p.sum = DType::f64;
  EXPECT_THAT(message(p, gpu), testing::HasSubstr("summed in f64"));
  EXPECT_THAT(message(p, gpu), testing::HasSubstr("give f32"));
  p.sum = DType::bf16;  // instructions have such sums, fragments do not
  EXPECT_THAT(message(p, gpu), testing::HasSubstr("summed in bf16"));
  EXPECT_THAT(message(served(16, 16, 16), target_of("cpu")), testing::HasSubstr("no cost model"));
}

// What is on no device has no time; what could be has one, however large.
TEST(Product, SizesBeyondEveryDeviceAreRefusedAndOthersHaveTimes) {
  constexpr int64_t kMost = int64_t{1} << 40, kLong = int64_t{1} << 25;
  for (const char* gpu : kGpus) {
    const Target target = target_of(gpu);
    DeviceClass any = target.device_class;
    any.sms = int64_t{1} << 32, any.l2_bytes = 0;
    for (const DeviceClass& device : {target.device_class, any}) {
      for (const Product& p : {served(kMost, kMost, kMost), served(kMost, kMost, 1), served(1, kMost, kMost)}) {
        const auto all = recommend(p, target, device);
        ASSERT_FALSE(all) << gpu;
        EXPECT_THAT(all.error().message, testing::HasSubstr("at most 2^50"));
      }
      Product wide = served(kLong, kLong, kLong);
      wide.lda = wide.ldb = wide.ldc = kMost, wide.epilogue_bytes = int64_t{1} << 60;
      for (const Product& p : {wide, served(kMost, 1, 1024), served(1, kMost, 1024), served(1, 1, kMost)}) {
        const auto all = recommend(p, target, device);
        ASSERT_TRUE(all) << gpu;
        for (const Choice& c : *all) ASSERT_TRUE(c.nanoseconds > 0 && c.nanoseconds < 1e25) << gpu << " " << c.nanoseconds;
      }
      wide.lda = kMost + 1;
      EXPECT_FALSE(recommend(wide, target, device)) << gpu;
    }
  }
}

TEST(Product, ClustersAreListedWhereTilesPairUpAndShareColumns) {
  const auto listed = [](int64_t m) {
    int found = 0;
    for (const Choice& c : asked(served(m, 4096, 4096)))
      if (c.cluster > 1) {
        ++found;
        EXPECT_EQ(c.path, Path::warpgroup);
        EXPECT_GE(ceildiv(m, c.tile_m), c.cluster);
        EXPECT_TRUE(c.tile_n % (8 * c.cluster) == 0 || c.tile_k > 64) << c.tile_n;
      }
    return found;
  };
  EXPECT_GT(listed(4096), 0);
  EXPECT_EQ(listed(8), 0);
  EXPECT_EQ(asked(served(4096, 4096, 4096))[0].cluster, 1);
  EXPECT_EQ(asked(served(4096, 4096, 4104))[0].cluster, 2);  // pieces of rows that lie across lines are fetched once for both
}

TEST(Product, NothingToComputeIsALaunch) {
  for (const Product& p : {served(0, 4096, 4096), served(64, 0, 4096)}) EXPECT_EQ(asked(p)[0].bound, Bound::latency);
  EXPECT_GT(best(served(64, 64, 0)), 0);
}

TEST(Machine, EveryGpuOfTheTableHasItsNumbers) {
  for (const std::string& text : known_target_texts()) {
    const Target target = target_of(text.c_str());
    EXPECT_EQ(machine_of(target) != nullptr, target.is_cuda()) << text;
  }
}

}  // namespace
}  // namespace tilert::tune
