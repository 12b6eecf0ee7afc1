// Programs compiled for AMD GPUs by the hipRTC of this machine; skipped by name where there is none. Nothing is
// launched.
#include <gmock/gmock.h>

#include <tilert.hpp>

#include "capi/programs.h"
#include "compiler/hip.h"

namespace tilert::test {
namespace {

using testing::HasSubstr;

class CompiledForAmd : public testing::Test {
 protected:
  void SetUp() override {
    if (!open_hip()) GTEST_SKIP() << "no hipRTC on this machine";
  }
  static tl::Context context(uint32_t flags = 0) {
    tilert_context_options options{};
    options.struct_size = sizeof options;
    options.cache_mode = TILERT_CACHE_OFF;
    options.flags = flags;
    return tl::Context(options);
  }
};

TEST_F(CompiledForAmd, ATileProgramBecomesACodeObject) {
  tl::Context own = context();
  tl::Kernel kernel = own.kernel(scale(tl::f32, 64), "gfx90a");
  auto compiled = kernel.try_compile();
  ASSERT_TRUE(compiled) << compiled.error().message();
  const tilert_variant_info info = kernel.variant(0).info();
  EXPECT_EQ(info.compiled, 1u);
  EXPECT_STREQ(info.target, "gfx90a");
  EXPECT_GT(info.registers, 0u);
  EXPECT_EQ(info.spill_bytes, 0u);
  EXPECT_GT(info.binary_bytes, 1000u);
}

// Its text sees hipRTC's own header: threadIdx, __shared__, __syncthreads.
TEST_F(CompiledForAmd, ASourceKernelIsWrittenForHiprtc) {
  const char* const text = R"(tir 1
program "own"
var %N dim index
dim %N
buffer @x global f32 [%N] in argument 0
parameter tensor @x "x"
kernel "own" () grid [1] source "hip" entry "k" block [64, 1, 1] text "extern \"C\" __global__ void k(float* x, long long n) { __shared__ float s[64]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[63 - threadIdx.x] = s[threadIdx.x]; }\n"
)";
  auto program = tl::Program::parse(text, nullptr, TILERT_ALLOW_SOURCE);
  ASSERT_TRUE(program) << program.error().message();
  tl::Context own = context(TILERT_ALLOW_SOURCE);
  tl::Kernel kernel = own.kernel(*program, "gfx90a");
  auto compiled = kernel.try_compile();
  ASSERT_TRUE(compiled) << compiled.error().message();
  EXPECT_GT(kernel.variant(0).info().registers, 0u);
}

TEST_F(CompiledForAmd, ATargetThatThisHiprtcLacksIsRefusedWithItsName) {
  tl::Context own = context();
  tl::Kernel kernel = own.kernel(scale(tl::f32, 64), "gfx1201");
  auto compiled = kernel.try_compile();
  if (compiled) GTEST_SKIP() << "this hipRTC knows gfx1201";
  EXPECT_EQ(compiled.error().status(), TILERT_UNSUPPORTED);
  EXPECT_THAT(compiled.error().message(), HasSubstr("does not compile for gfx1201; it knows"));
}

}  // namespace
}  // namespace tilert::test
