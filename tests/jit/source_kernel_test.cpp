// Source kernels: what a launch works out of grid, block, cluster and shared bytes, on a driver that keeps the driver's rules.
#include <gtest/gtest.h>

#include "compiler/compiler.h"
#include "compiler/nvrtc.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "jit/artifact_builder.h"
#include "jit/generate.h"
#include "runtime/fake_device.h"
#include "runtime/test_artifacts.h"

namespace tilert::jit {
namespace {

using runtime::testing::Call;
using runtime::testing::address;

// N and T are dims, s a scalar parameter; $0 to $3: what stands for grid, block, cluster and shared bytes.
std::string text_of(const std::string& grid, const std::string& block, const std::string& cluster, const std::string& shared) {
  std::string text = R"(tir 1
program "own"
var %N dim index
var %T dim index
var %s scalar i64
dim %N
dim %T
buffer @x global f32 [%N] in argument 0
parameter tensor @x "x"
parameter scalar %s "s"
kernel "own" () grid )" + grid + R"( source "cuda" entry "k" block )" + block;
  if (!cluster.empty()) text += " cluster " + cluster;
  if (!shared.empty()) text += " shared " + shared;
  return text + " text \"extern \\\"C\\\" __global__ void k(const float* x, long long s, long long n, long long t) {}\"\n";
}

ir::Program program(const std::string& text) {
  Result<ir::Program> parsed = ir::parse(text, "program", ir::ParseOptions{.allow_source = true});
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message) << "\n" << text;
  return parsed ? *std::move(parsed) : ir::Program{};
}

class SourceKernel : public runtime::testing::FakeCudaTest {
 protected:
  runtime::LoadedPtr loaded(const std::string& text) {
    const ir::Program source = program(text);
    const std::vector<passes::DimChoice> dims(2);
    const Target target = *parse_target("sm_90a");
    Result<codegen::GeneratedProgram> generated = generate(source, dims, target, target.device_class);
    EXPECT_TRUE(generated) << (generated ? "" : generated.error().message);
    Result<runtime::Artifact> made = build_artifact(source, *generated, dims);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    made->code = runtime::testing::image("k 8 8 8 8\n");
    made->kind = runtime::CodeKind::cubin;
    // As it comes from a cache.
    const auto bytes = runtime::serialize(*made);
    EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().message);
    const auto again = runtime::deserialize(*bytes);
    EXPECT_TRUE(again) << (again ? "" : again.error().message);
    device_ = open();
    stream_ = stream_of(device_);
    return load(device_, std::vector<runtime::ArtifactPtr>{*again});
  }
  Call call(int64_t n, int64_t t, int64_t s) {
    Call made;
    made.tensor(DType::f32, address(0x10000)).scalar(DType::int64, s).on(stream_);
    made.dims = {n, t};
    return made;
  }

  std::shared_ptr<runtime::Device> device_;
  void* stream_ = nullptr;
};

TEST_F(SourceKernel, EveryLaunchExpressionFollowsTheDims) {
  const auto kernel = loaded(text_of("[mul(2, %N), 4]", "[mul(32, %T), 2, 1]", "[2, %T, 1]", "add(mul(%N, 4), cast<index>(%s))"));
  for (const auto& [n, t, s] : {std::tuple<int64_t, int64_t, int64_t>{100, 1, 16}, {7, 4, 0}, {12000, 2, 96}}) {
    FAKE(fake_forget_calls)();
    Call one = call(n, t, s);
    ASSERT_EQ(one.launch(*kernel), Code::kOk) << one.message();
    const FakeLaunch launch = launched();
    EXPECT_EQ(launch.grid[0], 2 * n);
    EXPECT_EQ(launch.grid[1], 4u);
    EXPECT_EQ(launch.block[0], 32 * t);
    EXPECT_EQ(launch.block[1], 2u);
    EXPECT_EQ(launch.cluster[0], 2u);
    EXPECT_EQ(launch.cluster[1], t);
    EXPECT_EQ(launch.shared_bytes, 4 * n + s);
    EXPECT_EQ(runtime::testing::parameter<int64_t>(launch, 8), s);
    EXPECT_EQ(runtime::testing::parameter<int64_t>(launch, 24), t);
    EXPECT_EQ(FAKE(fake_calls)(nullptr), 2) << "a launch is one driver call and the capture query";
  }
}

TEST_F(SourceKernel, WhatNoDeviceTakesIsRefusedBeforeTheDriver) {
  const auto kernel = loaded(text_of("[%N]", "[mul(32, %T), 1, 1]", "[%T, 1, 1]", "mul(%N, 1024)"));
  const auto refused = [&](int64_t n, int64_t t, const char* words) {
    FAKE(fake_forget_calls)();
    Call one = call(n, t, 0);
    EXPECT_EQ(one.launch(*kernel), Code::kShape);
    EXPECT_NE(one.message().find(words), std::string::npos) << one.message();
    EXPECT_EQ(FAKE(fake_calls)("cuLaunchKernelEx"), 0);
  };
  refused(64, 64, "2048 threads along axis 0");
  refused(64, 0, "0 threads along axis 0");
  refused(68, 17, "17 blocks along axis 0 of a cluster");
  refused(63, 2, "in clusters of 2");
  refused(400, 1, "409600 bytes of shared memory");
  Call nothing = call(0, 0, 0);
  EXPECT_EQ(nothing.launch(*kernel), Code::kOk) << "a grid of no blocks needs none";
}

TEST_F(SourceKernel, ConstantsAreInTheArtifactAndNothingIsWorkedOut) {
  const auto kernel = loaded(text_of("[%N]", "[64, 2, 1]", "", "2048"));
  EXPECT_FALSE(kernel->table().variants[0]->kernels[0].sized);
  Call one = call(5, 1, 0);
  ASSERT_EQ(one.launch(*kernel), Code::kOk) << one.message();
  EXPECT_EQ(launched().block[0] * launched().block[1], 128u);
  EXPECT_EQ(launched().shared_bytes, 2048u);
}

// A tile kernel, then one of the user's own text, then a tile kernel again.
std::string mixed(const std::string& more = "") {
  return R"(tir 1
program "mixed"
var %N dim index
var %x block index
var %i loop index
var %v let f32
var %y block index
var %j loop index
var %w let f32
dim %N
buffer @x global f32 [%N] inout argument 0
parameter tensor @x "x"
kernel "first" (%x) grid [div(add(%N, 255), 256)] {
  1: parallel (%i : 256) {
    let %v = load @x[add(mul(%x, 256), %i)]
    store @x[add(mul(%x, 256), %i)] = mul(%v, f32(0x40000000))
  }
}
kernel "own" () grid [%N] source "cuda" entry "own" block [mul(32, 2), 1, 1] )" + more + R"( header "one.h" "#define ONE 1" text "#include \"one.h\"\nextern \"C\" __global__ void own(float* x, long long n) { x[blockIdx.x] += ONE; }\n"
kernel "last" (%y) grid [1] {
  2: parallel (%j : 16) {
    let %w = load @x[%j]
    store @x[%j] = neg(%w)
  }
}
)";
}

Result<codegen::GeneratedProgram> generated(const std::string& text, const char* target) {
  const Target parsed = *parse_target(target);
  return generate(program(text), std::vector<passes::DimChoice>(1), parsed, parsed.device_class);
}

TEST_F(SourceKernel, StandsAmongTileKernelsInTheirOrder) {
  const ir::Program source = program(mixed());
  const auto made = generated(mixed(), "sm_90a");
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->kernels.size(), 3u);
  EXPECT_EQ(made->kernels[1].entry, "own");
  EXPECT_NE(made->source.find(") " + made->kernels[0].entry + "("), std::string::npos);
  EXPECT_NE(made->source.find("void own("), std::string::npos);
  EXPECT_EQ(made->headers.size(), 1u);
  Result<runtime::Artifact> artifact = build_artifact(source, *made, std::vector<passes::DimChoice>(1));
  ASSERT_TRUE(artifact) << artifact.error().message;
  std::string lines;
  for (const runtime::Kernel& k : artifact->kernels) {
    lines += k.entry;
    for (const runtime::Slot& slot : k.slots) lines += " " + std::to_string(slot.bytes);
    lines += "\n";
  }
  artifact->code = runtime::testing::image(lines);
  artifact->kind = runtime::CodeKind::cubin;
  device_ = open();
  const auto kernel = load(device_, *artifact);
  Call call;
  call.tensor(DType::f32, address(0x10000)).on(stream_of(device_));
  call.dims = {1000};
  ASSERT_EQ(call.launch(*kernel), Code::kOk) << call.message();
  EXPECT_EQ(launched(0).grid[0], 4u);
  EXPECT_STREQ(launched(1).kernel, "own");
  EXPECT_EQ(launched(1).grid[0], 1000u);
  EXPECT_EQ(launched(1).block[0], 64u);
  EXPECT_EQ(launched(2).grid[0], 1u);
}

TEST(MixedSource, IsOneTextForTheCompiler) {
  if (auto nvrtc = open_nvrtc(); !nvrtc) GTEST_SKIP() << nvrtc.error().message;
  Compilers compilers;
  compilers.add(Language::cuda, [] { return open_nvrtc(); });
  for (const char* target : {"sm_75", "sm_90a"}) {
    const auto made = generated(mixed(), target);
    ASSERT_TRUE(made) << made.error().message;
    CompileRequest request;
    request.target = target;
    request.source = made->source;
    for (const auto& [name, text] : made->headers) request.headers.push_back({name, text});
    for (const codegen::GeneratedKernel& kernel : made->kernels) request.entry_names.push_back(kernel.entry);
    const Result<Binary> binary = compilers.compile(request);
    ASSERT_TRUE(binary) << target << ": " << binary.error().message;
    EXPECT_EQ(binary->resources.size(), 3u) << target;
  }
}

TEST(MixedSource, WhatWouldReachTheOtherKernelsIsRefused) {
  const auto message = [](const Result<codegen::GeneratedProgram>& r) { return r ? std::string("was made") : r.error().message; };
  EXPECT_NE(message(generated(mixed("option \"--use_fast_math\""), "sm_80")).find("compiler options"), std::string::npos);
  EXPECT_NE(message(generated(mixed(), "cpu")).find("cannot be compiled for cpu"), std::string::npos);
}

TEST(SourceKernelKeys, EveryLaunchExpressionIsInTheCanonicalText) {
  const std::string base = ir::canonical_text(program(text_of("[%N]", "[%T, 1, 1]", "[1, 1, 1]", "%N")));
  EXPECT_EQ(base, ir::canonical_text(program(text_of("[%N]", "[%T, 1, 1]", "[1, 1, 1]", "%N"))));
  for (const std::string& other :
       {text_of("[%T]", "[%T, 1, 1]", "[1, 1, 1]", "%N"), text_of("[%N]", "[%T, 1, 2]", "[1, 1, 1]", "%N"),
        text_of("[%N]", "[%T, 1, 1]", "[1, 2, 1]", "%N"), text_of("[%N]", "[%T, 1, 1]", "[1, 1, 1]", "%T"),
        text_of("[%N]", "[%T, 1, 1]", "", "%N"), text_of("[%N]", "[%T, 1, 1]", "[1, 1, 1]", "")})
    EXPECT_NE(base, ir::canonical_text(program(other)));
}

}  // namespace
}  // namespace tilert::jit
