// The plugin through the core's eyes: what compiles runs, what is wrong comes back as text, and nothing kills the
// process.
#include "compiler/llvm_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <thread>
#include <vector>

namespace tilert {
namespace {

using ::testing::HasSubstr;

const LlvmPlugin& plugin() {
  static const Result<const LlvmPlugin*> found = LlvmPlugin::get();
  if (!found) {
    ADD_FAILURE() << found.error().message;
    std::exit(1);
  }
  return **found;
}

class LlvmPluginTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef TILERT_HAVE_LLVM
    GTEST_SKIP() << "built without the CPU back end";
#endif
  }
};

constexpr const char* kAddOne = "define i32 @f(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n";

LlvmRequest request(std::string_view ir) {
  LlvmRequest r;
  r.ir = ir;
  r.name = "test";
  return r;
}

Error refusal(const LlvmRequest& r) {
  auto result = plugin().compile(r);
  EXPECT_FALSE(result);
  return result ? Error{} : result.error();
}

LoadedObject load(const LlvmRequest& r) {
  auto object = plugin().compile(r);
  EXPECT_TRUE(object) << object.error().message;
  auto loaded = plugin().load_object(*object);
  EXPECT_TRUE(loaded) << loaded.error().message;
  return *std::move(loaded);
}

template <class F>
F* get(const LoadedObject& object, const char* name) {
  auto f = object.function<F>(name);
  EXPECT_TRUE(f) << f.error().message;
  return *f;
}

TEST_F(LlvmPluginTest, CompiledTextRuns) {
  const LoadedObject object = load(request(kAddOne));
  EXPECT_EQ(get<int(int)>(object, "f")(41), 42);
  EXPECT_EQ(object.entry("g"), nullptr);
}

TEST_F(LlvmPluginTest, TheSameRequestGivesTheSameBytes) {
  auto first = plugin().compile(request(kAddOne)), second = plugin().compile(request(kAddOne));
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_EQ(*first, *second);
}

TEST_F(LlvmPluginTest, ASyntaxErrorNamesTheLine) {
  const Error error = refusal(request("define i32 @f(i32 %x) {\n  %y = bogus i32 %x, 1\n  ret i32 %y\n}\n"));
  EXPECT_EQ(error.code, Code::kCompile);
  EXPECT_THAT(error.message, HasSubstr("test:2:"));
  EXPECT_THAT(error.source, HasSubstr("bogus"));
}

TEST_F(LlvmPluginTest, AnInvalidModuleIsRefusedBeforeCodeGeneration) {
  const Error error = refusal(request("define i32 @f(i1 %c, i32 %x) {\n  br i1 %c, label %a, label %b\na:\n"
                                      "  %y = add i32 %x, 1\n  br label %b\nb:\n  ret i32 %y\n}\n"));
  EXPECT_EQ(error.code, Code::kCompile);
  EXPECT_THAT(error.message, HasSubstr("not valid LLVM IR"));
}

TEST_F(LlvmPluginTest, AnInstructionThatTheTargetLacksIsAnErrorNotAnAbort) {
  auto r = request("declare <16 x float> @llvm.x86.avx512.rcp14.ps.512(<16 x float>, <16 x float>, i16)\n"
                   "define <16 x float> @f(<16 x float> %x) {\n"
                   "  %y = call <16 x float> @llvm.x86.avx512.rcp14.ps.512(<16 x float> %x, <16 x float> %x, i16 -1)\n"
                   "  ret <16 x float> %y\n}\n");
  r.triple = "x86_64-unknown-linux-gnu";
  const Error error = refusal(r);
  EXPECT_EQ(error.code, Code::kCompile);
  EXPECT_THAT(error.message, HasSubstr("code generation gave up"));
  const LoadedObject after = load(request(kAddOne));
  EXPECT_EQ(get<int(int)>(after, "f")(1), 2);
}

TEST_F(LlvmPluginTest, AnImportThatIsNotListedIsRefusedByName) {
  const Error error = refusal(request("declare i32 @system(ptr)\ndefine i32 @f(ptr %x) {\n"
                                      "  %y = call i32 @system(ptr %x)\n  ret i32 %y\n}\n"));
  EXPECT_EQ(error.code, Code::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("@system"));
}

TEST_F(LlvmPluginTest, ALibraryCallThatCodeGenerationInventsIsRefusedByName) {
  const Error error = refusal(request("define i128 @f(i128 %x, i128 %y) {\n  %z = udiv i128 %x, %y\n"
                                      "  ret i128 %z\n}\n"));
  EXPECT_EQ(error.code, Code::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("__udivti3"));
}

TEST_F(LlvmPluginTest, ListedHelpersResolveToTheLibrary) {
  const LoadedObject object = load(request(
      "declare float @tanhf(float)\ndeclare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
      "define float @f(float %x, ptr %a, ptr %b, i64 %n) {\n"
      "  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %b, i64 %n, i1 false)\n"
      "  %y = call float @tanhf(float %x)\n  ret float %y\n}\n"));
  char to[8] = {}, from[8] = "tilert";
  EXPECT_EQ(get<float(float, char*, const char*, int64_t)>(object, "f")(0.5f, to, from, 7), std::tanh(0.5f));
  EXPECT_STREQ(to, "tilert");
}

TEST_F(LlvmPluginTest, MultiplyAddIsNotContracted) {
  auto r = request("define float @f(float %x, float %y, float %z) {\n  %m = fmul float %x, %y\n"
                   "  %s = fadd float %m, %z\n  ret float %s\n}\n");
  r.cpu = "native";
  const LoadedObject object = load(r);
  const float x = 1.0f + 0x1p-12f;
  EXPECT_EQ(get<float(float, float, float)>(object, "f")(x, x, -(1.0f + 0x1p-11f)), 0.0f);
}

TEST_F(LlvmPluginTest, UnknownCpuFeatureAndTargetAreRefusedByName) {
  auto r = request(kAddOne);
  r.cpu = "pentium9000";
  EXPECT_THAT(refusal(r).message, HasSubstr("pentium9000"));
  r.cpu.clear();
  r.features = "+warpdrive";
  EXPECT_THAT(refusal(r).message, HasSubstr("+warpdrive"));
  r.features.clear();
  r.triple = "riscv64-unknown-linux-gnu";
  EXPECT_THAT(refusal(r).message, HasSubstr("riscv64"));
}

TEST_F(LlvmPluginTest, TheOtherArchitectureCompilesButDoesNotLoad) {
  auto r = request(kAddOne);
#if defined(__x86_64__)
  r.triple = "aarch64-unknown-linux-gnu";
#else
  r.triple = "x86_64-unknown-linux-gnu";
#endif
  auto object = plugin().compile(r);
  ASSERT_TRUE(object) << object.error().message;
  auto loaded = plugin().load_object(*object);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kCorrupt);
}

TEST_F(LlvmPluginTest, AssemblyTextComesOnRequest) {
  auto r = request(kAddOne);
  r.assembly = true;
  auto text = plugin().compile(r);
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, HasSubstr("f:"));
}

TEST_F(LlvmPluginTest, AlwaysInlineFunctionsDisappear) {
  const LoadedObject object = load(request("define internal i32 @g(i32 %x) alwaysinline {\n  %y = add i32 %x, 1\n"
                                           "  ret i32 %y\n}\ndefine i32 @f(i32 %x) {\n"
                                           "  %y = call i32 @g(i32 %x)\n  ret i32 %y\n}\n"));
  EXPECT_EQ(object.entry("g"), nullptr);
  EXPECT_EQ(get<int(int)>(object, "f")(1), 2);
}

TEST_F(LlvmPluginTest, DamagedObjectsAreErrors) {
  auto object = plugin().compile(request(kAddOne));
  ASSERT_TRUE(object);
  EXPECT_FALSE(plugin().load_object(""));
  EXPECT_FALSE(plugin().load_object("garbage"));
  for (size_t cut = 1; cut < object->size(); cut += 37) {
    auto loaded = plugin().load_object(std::string_view(*object).substr(0, cut));
    EXPECT_FALSE(loaded) << cut;
  }
}

TEST_F(LlvmPluginTest, AMissingPluginIsUnavailableAndNamesThePath) {
  auto missing = LlvmPlugin::get("/nonexistent/libtilert_llvm.so");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kUnavailable);
  EXPECT_THAT(missing.error().message, HasSubstr("/nonexistent/libtilert_llvm.so"));
}

TEST_F(LlvmPluginTest, ThreadsCompileAndLoadSideBySide) {
  std::vector<std::thread> threads;
  std::vector<int> right(8, 0);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t, &right] {
      for (int i = 0; i < 8; ++i) {
        const int constant = t * 100 + i;
        const std::string ir = fmt::format("define i32 @f(i32 %x) {{\n  %y = add i32 %x, {}\n  ret i32 %y\n}}\n", constant);
        auto object = plugin().compile(request(ir));
        if (!object) return;
        auto loaded = plugin().load_object(*object);
        if (!loaded) return;
        right[t] += reinterpret_cast<int (*)(int)>(loaded->entry("f"))(1) == constant + 1;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(right, ::testing::Each(8));
}

TEST_F(LlvmPluginTest, AChildOfForkCompilesAndRunsOnItsOwn) {
  const LoadedObject parent = load(request(kAddOne));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto object = plugin().compile(request(kAddOne));
    auto loaded = object ? plugin().load_object(*object) : Result<LoadedObject>(object.error());
    const bool fine = loaded && reinterpret_cast<int (*)(int)>(loaded->entry("f"))(1) == 2;
    _exit(fine ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(LlvmPluginTest, WhereMemoryMayNotBecomeExecutableLoadingIsAnError) {
  constexpr int kSetMdwe = 65, kRefuseExecGain = 1;  // PR_SET_MDWE, Linux 6.3
  enum { kRefused = 0, kWrongCode = 1, kLoaded = 2, kKernelTooOld = 3 };
  const auto object = plugin().compile(request(kAddOne));
  ASSERT_TRUE(object);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (prctl(kSetMdwe, kRefuseExecGain, 0, 0, 0) != 0) _exit(kKernelTooOld);
    auto loaded = plugin().load_object(*object);
    _exit(loaded ? kLoaded : loaded.error().code == Code::kUnavailable ? kRefused : kWrongCode);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kKernelTooOld) GTEST_SKIP() << "this kernel has no memory-deny-write-execute";
  EXPECT_EQ(WEXITSTATUS(status), kRefused);
}

TEST_F(LlvmPluginTest, TheHostRunsItsOwnTargetAndNotAnotherMachines) {
  auto host = plugin().host_target();
  ASSERT_TRUE(host);
  EXPECT_TRUE(plugin().host_runs(*host));
#if defined(__x86_64__)
  EXPECT_TRUE(plugin().host_runs({"x86_64-unknown-linux-gnu", "x86-64", ""}));
  const Status other = plugin().host_runs({"aarch64-unknown-linux-gnu", "", ""});
  const Status newer = plugin().host_runs({"x86_64-unknown-linux-gnu", "x86-64", "+avx2,+sm4,+tbm"});
#else
  const Status other = plugin().host_runs({"x86_64-unknown-linux-gnu", "", ""});
  const Status newer = plugin().host_runs({"aarch64-unknown-linux-gnu", "", "+sme"});
#endif
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kUnsupported);
  ASSERT_FALSE(newer);
  EXPECT_THAT(newer.error().message, HasSubstr("lacks"));
}

TEST(LlvmTargetText, ComesBackAsItWas) {
  for (const char* text : {"x86_64-unknown-linux-gnu", "x86_64-unknown-linux-gnu:x86-64-v3",
                           "x86_64-unknown-linux-gnu::+avx2,+fma", "aarch64-unknown-linux-gnu:neoverse-v2:+sve"}) {
    auto target = parse_llvm_target(text);
    ASSERT_TRUE(target) << text;
    EXPECT_EQ(llvm_target_text(*target), text);
  }
  for (const char* text : {"", ":x86-64", "a:b:c:d", "x86_64 linux", "x86_64;rm"}) EXPECT_FALSE(parse_llvm_target(text));
}

TEST(LlvmTargetText, ATargetOfTheTableIsReadToo) {
  auto target = parse_llvm_target("cpu:x86-64-v4+avx512vnni");
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(*target, (LlvmTarget{"x86_64-unknown-linux-gnu", "x86-64-v4", "+avx512vnni"}));
  EXPECT_EQ(parse_llvm_target("cpu:armv8-a")->triple, "aarch64-unknown-linux-gnu");
  EXPECT_FALSE(parse_llvm_target("cpu:z80"));
}

TEST_F(LlvmPluginTest, EveryTargetOfTheTableCompiles) {
  for (const char* text : {"cpu:x86-64", "cpu:x86-64-v2", "cpu:x86-64-v3+avxvnni", "cpu:x86-64-v4+avx512bf16+avx512vnni",
                           "cpu:armv8-a", "cpu:armv8-a+dotprod", "cpu:native"}) {
    auto target = parse_llvm_target(text);
    ASSERT_TRUE(target) << text;
    auto r = request(kAddOne);
    r.triple = target->triple;
    r.cpu = target->cpu;
    r.features = target->features;
    auto object = plugin().compile(r);
    EXPECT_TRUE(object) << text << ": " << (object ? "" : object.error().message);
  }
}

TEST_F(LlvmPluginTest, TheHostHasATripleAndFeatures) {
  auto host = plugin().host_target();
  ASSERT_TRUE(host);
  EXPECT_FALSE(host->cpu.empty());
  EXPECT_THAT(host->triple, HasSubstr("linux"));
}

}  // namespace
}  // namespace tilert
