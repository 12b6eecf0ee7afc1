// The real NVRTC, where this machine has one; skipped by name elsewhere.
#include "compiler/nvrtc.h"
#include "compiler/ptxas_log.h"
#include "samples.h"

#include <gmock/gmock.h>

#include <thread>

namespace tilert {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Compilers& compilers() {
  static Compilers* instance = [] {
    auto* made = new Compilers;
    made->add(Language::cuda, [] { return open_nvrtc(); });
    return made;
  }();
  return *instance;
}

class RealNvrtc : public testing::Test {
 protected:
  void SetUp() override {
    if (!compilers().find(Language::cuda)) GTEST_SKIP() << "no NVRTC on this machine";
  }
  static CompileRequest request(std::string source, std::string target = "sm_90a") {
    CompileRequest request;
    request.target = std::move(target);
    request.source = std::move(source);
    return request;
  }
};

class RealNvrtcTarget : public RealNvrtc, public testing::WithParamInterface<const char*> {};

TEST_P(RealNvrtcTarget, CompilesToACleanCubin) {
  CompileRequest asked = request(kReverse, GetParam());
  asked.entry_names = {"reverse"};
  Result<Binary> binary = compilers().compile(asked);
  ASSERT_TRUE(binary) << binary.error().message;
  EXPECT_EQ(binary->bytes.substr(1, 3), "ELF");
  ASSERT_EQ(binary->resources.size(), 1u);
  EXPECT_EQ(binary->resources[0].entry, "reverse");
  EXPECT_GT(binary->resources[0].registers, 0u);
  EXPECT_GE(binary->resources[0].static_shared, 256u);
  EXPECT_EQ(binary->resources[0].barriers, 1u);
  EXPECT_TRUE(binary->is_clean()) << binary->why_not_clean();
}

INSTANTIATE_TEST_SUITE_P(Targets, RealNvrtcTarget,
                         testing::Values("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(RealNvrtc, PtxIsTextForTheTarget) {
  CompileRequest asked = request(kReverse);
  asked.output = BinaryKind::ptx;
  asked.entry_names = {"reverse"};
  Result<Binary> binary = compilers().compile(asked);
  ASSERT_TRUE(binary) << binary.error().message;
  EXPECT_THAT(binary->bytes, AllOf(HasSubstr(".target sm_90a"), HasSubstr(".entry reverse(")));
}

TEST_F(RealNvrtc, MultiplyAddIsNotContractedUnlessAsked) {
  const char* source = "extern \"C\" __global__ void k(float* a) { a[0] = a[1] * a[2] + a[3]; }\n";
  CompileRequest asked = request(source);
  asked.output = BinaryKind::ptx;
  Result<Binary> plain = compilers().compile(asked);
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_THAT(plain->bytes, AllOf(HasSubstr("mul.rn.f32"), testing::Not(HasSubstr("fma.rn.f32"))));
  asked.options = {"--fmad=true"};
  Result<Binary> fused = compilers().compile(asked);
  ASSERT_TRUE(fused) << fused.error().message;
  EXPECT_THAT(fused->bytes, HasSubstr("fma.rn.f32"));
}

TEST_F(RealNvrtc, SpillsAndStackFramesAreSeen) {
  const char* source =
      "extern \"C\" __global__ void __launch_bounds__(1024) k(float* a, int n) {\n"
      "  float b[100];\n"
      "#pragma unroll\n"
      "  for (int i = 0; i < 100; i++) b[i] = a[i * n];\n"
      "  __syncthreads();\n"
      "#pragma unroll\n"
      "  for (int i = 0; i < 100; i++) a[i * n + i] = b[i] * b[99 - i] + n;\n"
      "}\n";
  CompileRequest asked = request(source);
  asked.options = {"--maxrregcount=32"};
  Result<Binary> binary = compilers().compile(asked);
  ASSERT_TRUE(binary) << binary.error().message;
  EXPECT_FALSE(binary->is_clean());
  EXPECT_GT(binary->resources[0].spill_stores, 0u);
  EXPECT_THAT(binary->why_not_clean(), AllOf(HasSubstr("k: "), HasSubstr("spill"), HasSubstr("stack frame")));
}

TEST_F(RealNvrtc, ErrorsCarryTheCompilersLog) {
  Result<Binary> binary = compilers().compile(request("extern \"C\" __global__ void k() { undeclared = 1; }\n"));
  ASSERT_FALSE(binary);
  EXPECT_EQ(binary.error().code, Code::kCompile);
  EXPECT_THAT(binary.error().log, AllOf(HasSubstr("kernel(1)"), HasSubstr("undeclared")));
}

TEST_F(RealNvrtc, VirtualHeadersMacrosAndTemplatesWork) {
  CompileRequest asked = request("#include \"scale.h\"\n__device__ int unused;\n");
  asked.headers = {{"scale.h",
                    "#include \"deep/type.h\"\n"
                    "template <int N> __global__ void scale(Real* a) { a[threadIdx.x] *= N * FACTOR; }\n"},
                   {"deep/type.h", "using Real = float;\n"}};
  asked.options = {"-DFACTOR=3"};
  asked.name_expressions = {"scale<4>"};
  Result<Binary> binary = compilers().compile(asked);
  ASSERT_TRUE(binary) << binary.error().message;
  ASSERT_EQ(binary->lowered_names.size(), 1u);
  EXPECT_THAT(binary->lowered_names[0].name, HasSubstr("scale"));
  EXPECT_EQ(binary->resources.at(0).entry, binary->lowered_names[0].name);
}

TEST_F(RealNvrtc, ANameExpressionThatNamesNothingIsTheUsersMistake) {
  CompileRequest asked = request(kReverse);
  asked.name_expressions = {"nothing<3>"};
  Result<Binary> binary = compilers().compile(asked);
  ASSERT_FALSE(binary);
  EXPECT_TRUE(binary.error().code == Code::kInvalidProgram || binary.error().code == Code::kCompile);
  EXPECT_THAT(binary.error().log, HasSubstr("nothing"));
}

TEST_F(RealNvrtc, TheSameRequestGivesTheSameBytes) {
  Result<Binary> first = compilers().compile(request(kReverse));
  ASSERT_TRUE(first);
  for (int i = 0; i < 3; ++i) {
    CompileRequest again = request(kReverse);
    Result<Binary> binary = compilers().compile(again);
    ASSERT_TRUE(binary);
    EXPECT_EQ(binary->bytes, first->bytes);
  }
}

TEST_F(RealNvrtc, ThreadsCompileDifferentKernelsAtOnce) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([t] {
      CompileRequest asked = request(fmt::format("extern \"C\" __global__ void k{}(int* a) {{ a[0] = {}; }}\n", t, t));
      asked.entry_names = {fmt::format("k{}", t)};
      Result<Binary> binary = compilers().compile(asked);
      EXPECT_TRUE(binary) << binary.error().message;
    });
}

TEST_F(RealNvrtc, ACancelledCompileStops) {
  std::stop_source stop;
  std::jthread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
    stop.request_stop();
  });
  std::string body;
  for (int i = 0; i < 3000; ++i)
    body += fmt::format("  a[{}] = a[{}] * a[{}] + sinf(a[{}]);\n", i, i + 1, i * 7, i + 3);
  Result<Binary> binary =
      compilers().compile(request("extern \"C\" __global__ void k(float* a) {\n" + body + "}\n"), stop.get_token());
  ASSERT_FALSE(binary);
  EXPECT_EQ(binary.error().code, Code::kCancelled);
}

TEST(PtxasLog, EntriesFunctionsAndNotesAreRead) {
  PtxasReport report = parse_ptxas_log(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to x in "
      "function 'k2'\n"
      "ptxas info    : Compiling entry function 'k2' for 'sm_90a'\n"
      "ptxas info    : Function properties for k2\n"
      "ptxas         .     64 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 31 registers, used 2 barriers, 64 bytes cumulative stack size, 128 bytes smem, 360 bytes "
      "cmem[0]\n"
      "ptxas info    : Compile time = 9.330 ms\n"
      "ptxas info    : Function properties for _Z1fPfi\n"
      "ptxas         .     0 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas info    : Function properties for k\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, used 0 barriers\n"
      "ptxas warning : Registers are spilled to local memory in function 'k2', 12 bytes spill stores\n");
  EXPECT_THAT(report.resources, testing::ElementsAre(KernelResources{"k2", 31, 64, 12, 16, 128, 2},
                                                     KernelResources{"k", 8, 0, 0, 0, 0, 0}));
  EXPECT_THAT(report.notes, testing::ElementsAre(HasSubstr("C7510"), HasSubstr("spilled")));
}

TEST(PtxasLog, AnyTextIsReadWithoutHarm) {
  for (const char* text : {"", "\n\n", "Compiling entry function '", "Used registers", "bytes stack frame",
                           "Compiling entry function 'a'\nUsed 99999999999999999999 registers", "\0x"})
    EXPECT_LE(parse_ptxas_log(text).resources.size(), 1u);
}

}  // namespace
}  // namespace tilert
