// Programs compiled for AMD GPUs by the hipRTC of this machine; skipped by name where there is none. Nothing is
// launched.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <tilert.hpp>

#include "capi/programs.h"
#include "compiler/hip.h"
#include "fake/fake_hip.h"

namespace tilert::test {
namespace {

using testing::HasSubstr;

class CompiledForAmd : public testing::Test {
 protected:
  void SetUp() override {
    if (!open_hip()) GTEST_SKIP() << "no hipRTC on this machine";
  }
  static tl::Context context(uint32_t flags = 0, tilert_isolate isolate = TILERT_ISOLATE_NEVER) {
    tilert_context_options options{};
    options.isolate = isolate;
    options.struct_size = sizeof options;
    options.cache_mode = TILERT_CACHE_OFF;
    options.flags = flags;
    return tl::Context(options);
  }
  // Of one source kernel "k" of 64 threads over "x"; `source` as it stands between quotes.
  static tl::Result<tl::Program> own_program(const std::string& source) {
    return tl::Program::parse(R"(tir 1
program "own"
var %N dim index
dim %N
buffer @x global f32 [%N] in argument 0
parameter tensor @x "x"
kernel "own" () grid [1] source "hip" entry "k" block [64, 1, 1] text ")" + source + "\"\n",
                              nullptr, TILERT_ALLOW_SOURCE);
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
  auto program = own_program(R"(extern \"C\" __global__ void k(float* x, long long n) { __shared__ float s[64]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[63 - threadIdx.x] = s[threadIdx.x]; }\n)");
  ASSERT_TRUE(program) << program.error().message();
  tl::Context own = context(TILERT_ALLOW_SOURCE);
  tl::Kernel kernel = own.kernel(*program, "gfx90a");
  auto compiled = kernel.try_compile();
  ASSERT_TRUE(compiled) << compiled.error().message();
  EXPECT_GT(kernel.variant(0).info().registers, 0u);
}

// An intrinsic that a chip lacks ends LLVM: refused here, an error of the helper where source text is isolated.
TEST_F(CompiledForAmd, SourceThatEndsTheCompilerIsAnErrorInEachMode) {
  auto program = own_program(R"(typedef float f4 __attribute__((ext_vector_type(4)));\n__device__ f4 mfma(float, float, f4, int, int, int) __asm(\"llvm.amdgcn.mfma.f32.16x16x4f32\");\nextern \"C\" __global__ void k(f4* x, long long n) { x[0] = mfma(1, 2, x[0], 0, 0, 0); }\n)");
  ASSERT_TRUE(program) << program.error().message();
  const auto compile = [&](tilert_isolate isolate, const char* target) {
    tl::Context own = context(TILERT_ALLOW_SOURCE, isolate);
    return own.kernel(*program, target).try_compile();
  };
  const auto refused = compile(TILERT_ISOLATE_NEVER, "gfx90a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status(), TILERT_UNSUPPORTED);
  EXPECT_THAT(refused.error().message(), HasSubstr("isolate"));
  for (const tilert_isolate isolate : {TILERT_ISOLATE_UNTRUSTED, TILERT_ISOLATE_ALWAYS}) {
    auto compiled = compile(isolate, "gfx90a");
    EXPECT_TRUE(compiled) << compiled.error().message();
    EXPECT_FALSE(compile(isolate, "gfx1100"));
  }
}

// From the program to the launch: the compiler is real, the GPU is not.
TEST_F(CompiledForAmd, AKernelIsPreparedForAHipDeviceAndLaunchedOnItsStream) {
  const std::string path = std::string(TILERT_BINARY_DIR) + "/lib/libtilert_fake_hip6.so";
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const FakeHipControl* const fake =
      reinterpret_cast<const FakeHipControl* (*)()>(dlsym(library, "fake_hip_control"))();
  fake->reset();
  tl::Context own = context();
  tilert_device_options options{};
  options.kind = TILERT_DEVICE_HIP;
  options.driver_path = path.c_str();
  auto device = own.try_device(options);
  ASSERT_TRUE(device) << device.error().message();
  EXPECT_EQ(device->info().kind, TILERT_DEVICE_HIP);
  EXPECT_STREQ(device->info().target, "gfx90a");
  EXPECT_EQ(device->info().device_class.multiprocessors, 104u);
  tl::Loaded loaded = own.kernel(scale(tl::f32, 64)).prepare(*device);
  int stream = 0;
  loaded.launch(&stream, {reinterpret_cast<void*>(0x10000), reinterpret_cast<void*>(0x20000), 2.f}, {{0, 1000}});
  FakeHipLaunch launch{};
  ASSERT_EQ(fake->launch(0, &launch), 1);
  EXPECT_EQ(launch.grid[0], 16u);
  EXPECT_EQ(launch.stream, &stream);
  for (const uintptr_t tensor : {0x10000, 0x20000}) EXPECT_THAT(launch.parameters, testing::Contains(reinterpret_cast<void*>(tensor)));
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
