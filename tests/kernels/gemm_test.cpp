// The cost model's candidates are what the compiler builds: their programs are made for the target and what came of each tile,
// ring and hint is compared with the choice. Values are in tests/conformance, plans in plan_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "kernels/made.h"

namespace {

namespace kernels = tl::kernels;
using made::configuration, made::context_without_cache, made::difference, made::json, made::served, made::text_of;

struct Asked {
  const char* target;
  tl::DType dtype;
  int64_t m, n, k;
  bool trans_a = false, trans_b = true, tf32 = false;
};
void PrintTo(const Asked& a, std::ostream* out) { *out << a.target << " dtype " << static_cast<int>(a.dtype) << " " << a.m << "x" << a.n << "x" << a.k; }

class Candidates : public testing::TestWithParam<Asked> {};

TEST_P(Candidates, AreBuiltAsTheySay) {
  const Asked& asked = GetParam();
  tl::Product p = served(asked.n, asked.k);
  p.a = p.b = asked.dtype, p.c = asked.dtype == tl::i8 ? tl::i32 : asked.dtype;
  p.m = asked.m;
  p.trans_a = asked.trans_a, p.trans_b = asked.trans_b, p.tf32 = asked.tf32;
  if (asked.dtype == tl::e4m3) p.c = tl::bf16;
  tl::Machine machine;
  machine.target = asked.target;
  const auto all = tl::recommend_product(p, machine, 1000000).value();
  ASSERT_FALSE(all.empty());
  p.m = 0;
  for (size_t i = 0; i < all.size(); i += i < 3 ? 1 : all.size() / 16 + 1) {
    const auto program = kernels::try_gemm(p, all[i]);
    ASSERT_TRUE(program) << text_of(all[i]) << ": " << program.error().text();
    EXPECT_EQ(difference(*program, all[i], asked.target), "") << i << ": " << text_of(all[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Candidates,
                         testing::Values(Asked{"sm_90a", tl::bf16, 4096, 4096, 4096}, Asked{"sm_90a", tl::f16, 64, 2112, 7168}, Asked{"sm_90a", tl::bf16, 16, 6144, 4096},
                                         Asked{"sm_90a", tl::bf16, 1, 4096, 4096}, Asked{"sm_90a", tl::bf16, 64, 4096, 4097}, Asked{"sm_80", tl::bf16, 256, 4096, 4096},
                                         Asked{"sm_90a", tl::i8, 256, 4096, 4096}, Asked{"sm_90a", tl::f32, 256, 4096, 4096},
                                         Asked{"sm_90a", tl::e4m3, 1024, 4096, 4096}, Asked{"sm_90a", tl::e4m3, 16, 7168, 2048},
                                         Asked{"sm_90a", tl::bf16, 1024, 4096, 4096, false, false}, Asked{"sm_90a", tl::f16, 64, 4096, 4096, true, false},
                                         Asked{"sm_90a", tl::bf16, 512, 2112, 4096, true, true}, Asked{"sm_90a", tl::f32, 1024, 4096, 4096, false, true, true},
                                         Asked{"sm_90a", tl::f32, 1024, 4096, 4096, false, false, true}));

// Types whose tiles lie in other bytes than theirs: rows of f64 further apart, elements of less than a byte through tiles of what they are
// multiplied in; rows that no chip runs ahead of; a result of one column.
TEST(Candidates, TakeNoMoreSharedMemoryThanTheySayOfAnyType) {
  struct Of {
    const char* target;
    tl::DType a, b, c;
    int64_t m, n, k;
    bool trans_a, trans_b;
  };
  for (const Of& of : {Of{"sm_90a", tl::f64, tl::f64, tl::f64, 100, 200, 96, false, true}, {"sm_80", tl::f64, tl::f64, tl::f32, 100, 200, 96, true, false},
                       {"sm_89", tl::f64, tl::f64, tl::f64, 31, 1024, 512, true, false}, {"sm_90a", tl::e2m1, tl::i16, tl::bf16, 256, 1024, 32, true, true},
                       {"sm_90a", tl::i4, tl::f64, tl::bf16, 100, 256, 8, true, true}, {"sm_75", tl::e2m1, tl::e2m1, tl::e2m1, 128, 256, 1000, false, true},
                       {"sm_89", tl::u8, tl::u8, tl::i4, 200, 16, 500, false, true}, {"sm_90a", tl::bf16, tl::bf16, tl::i4, 200, 256, 512, false, true},
                       {"sm_75", tl::f16, tl::f16, tl::f16, 256, 256, 256, false, true}, {"sm_90a", tl::bf16, tl::bf16, tl::bf16, 33, 1, 64, true, true}}) {
    tl::Product p;
    p.a = of.a, p.b = of.b, p.c = of.c, p.trans_a = of.trans_a, p.trans_b = of.trans_b;
    p.m = of.m, p.n = of.n, p.k = of.k;
    tl::Machine machine;
    machine.target = of.target;
    const auto all = tl::recommend_product(p, machine, 1000000).value();
    ASSERT_FALSE(all.empty());
    for (size_t i = 0; i < all.size(); i += i < 3 ? 1 : all.size() / 16 + 1) {
      const auto program = kernels::try_gemm(p, all[i], kernels::silu());
      ASSERT_TRUE(program) << text_of(all[i]) << ": " << program.error().text();
      EXPECT_EQ(difference(*program, all[i], of.target), "") << of.target << " " << i << ": " << text_of(all[i]);
    }
  }
}

TEST(Candidates, OperandsThatWarpgroupsMultiplyGetThem) {
  const auto path = [](tl::DType dtype, bool trans_a, bool trans_b, bool tf32) {
    tl::Product p;
    p.m = p.n = p.k = 4096;
    p.a = p.b = dtype, p.c = dtype == tl::i8 ? tl::i32 : tl::f32;
    p.trans_a = trans_a, p.trans_b = trans_b, p.tf32 = tf32;
    return kernels::choose(p).value().path;
  };
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      EXPECT_EQ(path(tl::bf16, a, b, false), TILERT_PATH_WARPGROUP) << a << b;
      for (const tl::DType narrow : {tl::e4m3, tl::i8}) EXPECT_EQ(path(narrow, a, b, false), !a && b ? TILERT_PATH_WARPGROUP : TILERT_PATH_WARP) << a << b;
      EXPECT_EQ(path(tl::f32, a, b, true), !a && b ? TILERT_PATH_WARPGROUP : TILERT_PATH_WARP) << a << b;
      EXPECT_EQ(path(tl::f32, a, b, false), TILERT_PATH_WARP) << a << b;
    }
}

TEST(Candidates, EpiloguesKeepTheRoles) {
  const tl::Product p = served(4096, 4096);
  for (const int64_t m : {16, 256, 4096}) {
    tl::Product one = p;
    one.m = m;
    const tl::ProductChoice c = kernels::choose(one).value();
    ASSERT_EQ(c.path, TILERT_PATH_WARPGROUP);
    const auto program = kernels::try_gemm(p, c, kernels::chain(kernels::alpha(), kernels::bias(tl::bf16), kernels::residual(tl::bf16), kernels::gelu_tanh()));
    ASSERT_TRUE(program) << program.error().text();
    EXPECT_EQ(difference(*program, c, "sm_90a"), "") << text_of(c);
  }
}

TEST(Candidates, GroupsKeepTheRoles) {
  tl::Product p = served(4096, 7168);
  p.m = 128;
  tl::ProductChoice c = kernels::choose(p).value();
  ASSERT_EQ(c.path, TILERT_PATH_WARPGROUP);
  c.split_k = 1;  // tiles whose number is read from memory have no parts
  p.m = 0;
  for (const auto form : {kernels::GroupForm::contiguous, kernels::GroupForm::masked}) {
    const auto program = kernels::try_grouped_gemm(p, c, form, 256, kernels::row_scale());
    ASSERT_TRUE(program) << program.error().text();
    EXPECT_EQ(difference(*program, c, "sm_90a"), "") << text_of(c);
  }
}

TEST(Sparse, WeightsKeepWhatTheyHadWhereItStood) {
  const std::vector<std::vector<float>> rows = {{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 2}, {0, 3, 4, 0}, {5, 0, 0, 6}, {0, 0, 7, 0}, {0, 8, 0, 9}};
  for (const bool halves : {false, true})
    for (const auto& row : rows) {
      float kept[2], back[4] = {};
      uint16_t places[1];
      ASSERT_TRUE(kernels::compress_sparse(row.data(), 1, 4, 4, kept, places, halves));
      const int first = places[0] & 3, second = places[0] >> 2 & 3;
      EXPECT_LT(first, second);
      EXPECT_EQ(places[0] >> 4, 0);
      if (halves) EXPECT_EQ(first / 2 + 2 * (second / 2), 2);
      back[first] = kept[0], back[second] = kept[1];
      EXPECT_EQ(std::vector<float>(back, back + 4), row);
    }
}

TEST(Sparse, RowsLieAsFarApartAsTheySay) {
  uint16_t dense[2 * 40] = {}, kept[2 * 18], places[2 * 3];
  dense[16] = 1, dense[33] = 2, dense[40 + 35] = 3, dense[36] = 99;
  ASSERT_TRUE(kernels::compress_sparse(dense, 2, 36, 40, kept, places));
  EXPECT_EQ(places[1] & 15, 12);
  EXPECT_EQ(places[2] & 15, 13);
  EXPECT_EQ(places[5] & 15, 14);
  EXPECT_EQ(kept[8], 1);
  EXPECT_EQ(kept[16], 2);
  EXPECT_EQ(kept[18 + 17], 3);
}

TEST(Sparse, WeightsThatAreDenseAreNotTaken) {
  float kept[2];
  uint16_t places[1];
  const float three[] = {1, 2, 0, 3}, pair[] = {1, 2, 0, 0};
  EXPECT_FALSE(kernels::compress_sparse(three, 1, 4, 4, kept, places));
  EXPECT_TRUE(kernels::compress_sparse(pair, 1, 4, 4, kept, places));
  EXPECT_FALSE(kernels::compress_sparse(pair, 1, 4, 4, kept, places, true));
}

TEST(Sparse, MatrixInstructionsTakeTheWeightsWhereThereAreSuch) {
  tl::Product p = served(4096, 4096);
  p.m = 256;
  tl::ProductChoice c = kernels::choose(p).value();
  c.path = TILERT_PATH_WARP, c.threads = 128, c.tile_m = c.tile_n = c.tile_k = 64, c.stages = 2;
  const auto instruction = [&](const char* target) { return configuration(*kernels::try_sparse_gemm(p, c), target)["products"][0]["instruction"]; };
  EXPECT_EQ(instruction("sm_80"), "mma_sp_m16n8k32_bf16");
  EXPECT_EQ(instruction("sm_90a"), "mma_sp_m16n8k32_bf16");  // roles are off
  EXPECT_EQ(instruction("sm_75"), "fma");  // it has none of bf16
  p.a = p.b = tl::f16;
  EXPECT_EQ(instruction("sm_75"), "mma_m16n8k16_f16_by_8");
}

TEST(Sparse, WarpgroupsMultiplyTheWeightsWhereTheRingTakesTheirPlaces) {
  for (const tl::DType dtype : {tl::bf16, tl::e4m3}) {
    tl::Product p = served(4096, 4096);
    p.a = p.b = dtype;
    p.m = 256;
    const tl::ProductChoice c = kernels::choose(p).value();
    ASSERT_EQ(c.path, TILERT_PATH_WARPGROUP);
    const json made = configuration(*kernels::try_sparse_gemm(p, c), "sm_90a");
    EXPECT_EQ(made["products"][0]["instruction"], dtype == tl::bf16 ? "wgmma_sp_m64k32_bf16" : "wgmma_sp_m64k64_e4m3") << made.dump();
  }
}

TEST(Sparse, WhatItDoesNotTakeIsRefusedByName) {
  tl::Product p = served(64, 64);
  tl::ProductChoice c = kernels::choose(p).value();
  EXPECT_TRUE(kernels::try_sparse_gemm(p, c));
  p.k = 62;
  EXPECT_EQ(kernels::try_sparse_gemm(p, c).error().status(), TILERT_INVALID_ARGUMENT);
  p.k = 0;
  EXPECT_EQ(kernels::try_sparse_gemm(p, c).error().status(), TILERT_INVALID_ARGUMENT);
  p.k = 64, p.trans_b = false;
  EXPECT_EQ(kernels::try_sparse_gemm(p, c).error().status(), TILERT_UNSUPPORTED);
  p.trans_b = true, c.path = TILERT_PATH_VECTOR;
  EXPECT_EQ(kernels::try_sparse_gemm(p, c).error().status(), TILERT_INVALID_ARGUMENT);
}

TEST(Grouped, TheTableHasRoomForEveryDivisionOfTheRows) {
  tl::ProductChoice c;
  c.tile_m = 16;
  const auto room = [&](int64_t rows) { return kernels::grouped_tiles(kernels::GroupForm::contiguous, 3, rows, c); };
  for (int64_t rows = 0; rows < 70; ++rows)
    for (int64_t x = 0; x <= rows; ++x)
      for (int64_t y = 0; x + y <= rows; ++y) ASSERT_LE((x + 15) / 16 + (y + 15) / 16 + (rows - x - y + 15) / 16, room(rows)) << rows;
  EXPECT_EQ(kernels::grouped_tiles(kernels::GroupForm::masked, 3, 17, c), 6);
}

TEST(Grouped, WhatItDoesNotTakeIsRefusedByName) {
  tl::Product p = served(64, 64);
  p.m = 64;
  tl::ProductChoice c = kernels::choose(p).value();
  p.m = 0;
  p.trans_a = true;
  EXPECT_EQ(kernels::try_grouped_gemm(p, c, kernels::GroupForm::masked, 4).error().status(), TILERT_UNSUPPORTED);
  p.trans_a = false;
  EXPECT_EQ(kernels::try_grouped_gemm(p, c, kernels::GroupForm::masked, 0).error().status(), TILERT_INVALID_ARGUMENT);
  c.path = TILERT_PATH_VECTOR;
  EXPECT_EQ(kernels::try_grouped_gemm(p, c, kernels::GroupForm::masked, 4).error().status(), TILERT_INVALID_ARGUMENT);
  p.trans_b = false;
  EXPECT_EQ(kernels::try_gemv(p, c).error().status(), TILERT_UNSUPPORTED);
}

}  // namespace
