// Which types are multiplied, and in what they are summed: the cost model, the programs and the compiler agree. Values are in
// tests/conformance.
#include <gtest/gtest.h>

#include "tilert/kernels/gemm.hpp"

namespace {

namespace kernels = tl::kernels;

constexpr tl::DType kTypes[] = {tl::i8, tl::u8, tl::i16, tl::i32, tl::i64, tl::i4, tl::f16, tl::bf16, tl::f32, tl::f64, tl::e4m3, tl::e5m2, tl::e2m1, tl::e8m0};

TEST(Types, EveryPairThatIsPricedIsBuiltWithEveryEpilogue) {
  int priced = 0;
  for (const tl::DType a : kTypes)
    for (const tl::DType b : kTypes)
      for (const int64_t m : {1, 64}) {
        tl::Product p;
        p.a = a, p.b = b, p.c = tl::f32;
        p.m = m, p.n = p.k = 128, p.trans_b = true;
        const auto c = kernels::choose(p);
        if (!c) continue;
        ++priced;
        const auto plain = kernels::try_gemm(p, *c);
        EXPECT_TRUE(plain) << tilert_dtype_name(static_cast<tilert_dtype>(a)) << " " << tilert_dtype_name(static_cast<tilert_dtype>(b)) << ": " << plain.error().text();
        const auto with = kernels::try_gemm(p, *c, kernels::chain(kernels::alpha(), kernels::bias(tl::bf16), kernels::residual(tl::f64), kernels::row_scale(), kernels::gelu(), kernels::relu()));
        EXPECT_TRUE(with) << tilert_dtype_name(static_cast<tilert_dtype>(a)) << " " << tilert_dtype_name(static_cast<tilert_dtype>(b)) << ": " << with.error().text();
      }
  EXPECT_GT(priced, 200);
}

// No roles multiply sparse weights by uint8: whole numbers have the same sums without.
TEST(Types, SparseWeightsOfBytesAreBuiltInAFixedOrder) {
  tilert_context_options options{};
  options.cache_mode = TILERT_CACHE_OFF;
  const tl::Context context = tl::Context::create(options).value();
  for (const tl::DType a : {tl::i8, tl::u8})
    for (const tl::DType b : {tl::i8, tl::u8}) {
      tl::Product p;
      p.a = a, p.b = b, p.c = tl::i32;
      p.m = 256, p.n = 128, p.k = 1024, p.trans_b = true, p.fixed_order = true;
      const auto c = kernels::choose(p).value();
      ASSERT_EQ(c.path, TILERT_PATH_WARPGROUP);
      const auto explained = context.kernel(kernels::try_sparse_gemm(p, c).value(), "sm_90a").variant(0).explain();
      EXPECT_TRUE(explained) << explained.error().text();
    }
}

}  // namespace
