// Every way in which NVRTC can disappoint, on a scripted look-alike.
#include "compiler/compile_thread.h"
#include "compiler/nvrtc.h"
#include "compiler/nvrtc_library.h"
#include "fake_nvrtc/fake_nvrtc.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace tilert {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string fake_path(const std::string& name) { return std::string(TILERT_FAKE_NVRTC_DIR) + "/" + name + ".so"; }

const char* const kSource = "extern \"C\" __global__ void k(float* a) { a[0] = 1; }\n";

class FakeNvrtc : public testing::Test {
 protected:
  void SetUp() override { open("nvrtc_13_0"); }
  void TearDown() override { control_->set(nullptr); }

  void open(const std::string& name) {
    Result<std::shared_ptr<Compiler>> compiler = open_nvrtc({fake_path(name), {}});
    ASSERT_TRUE(compiler) << compiler.error().message;
    compilers_.add(*compiler);
    void* library = dlopen(fake_path(name).c_str(), RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(library, nullptr);
    auto control = reinterpret_cast<const fake_nvrtc_control_table* (*)()>(dlsym(library, "fake_nvrtc_control"));
    control_ = control();
    control_->set(nullptr);
  }

  static CompileRequest request() {
    CompileRequest request;
    request.target = "sm_90a";
    request.program_name = "sample";
    request.source = kSource;
    request.entry_names = {"k"};
    return request;
  }

  Error failure_of(const fake_nvrtc_script& script) {
    control_->set(&script);
    Result<Binary> binary = compilers_.compile(request());
    EXPECT_FALSE(binary);
    return binary ? Error{} : binary.error();
  }

  Compilers compilers_;
  const fake_nvrtc_control_table* control_ = nullptr;
};

TEST_F(FakeNvrtc, GivesACubinWithResourcesAndIdentity) {
  Result<Binary> binary = compilers_.compile(request());
  ASSERT_TRUE(binary) << binary.error().message;
  EXPECT_EQ(binary->kind, BinaryKind::cubin);
  EXPECT_EQ(binary->compiler, "NVRTC 13.0");
  EXPECT_THAT(binary->bytes, HasSubstr("sm_90a"));
  EXPECT_THAT(binary->resources, ElementsAre(KernelResources{"k", 24, 0, 0, 0, 16, 1}));
  EXPECT_TRUE(binary->is_clean());
  EXPECT_EQ(control_->take().live_programs, 0);
}

TEST_F(FakeNvrtc, IsCalledOnceWithTheFixedOptionsOnADeepStack) {
  ASSERT_TRUE(compilers_.compile(request()));
  fake_nvrtc_record record = control_->take();
  EXPECT_EQ(record.compiles, 1);
  EXPECT_THAT(record.last_options,
              AllOf(HasSubstr("--gpu-architecture=sm_90a\n"), HasSubstr("--std=c++17\n"), HasSubstr("--fmad=false\n"),
                    HasSubstr("--device-as-default-execution-space\n"), HasSubstr("--no-cache\n")));
  EXPECT_STREQ(record.last_source_name, "sample");
  EXPECT_GE(record.last_stack_bytes, kCompileStackBytes);
}

TEST_F(FakeNvrtc, PtxIsForTheVirtualArchitecture) {
  CompileRequest ptx = request();
  ptx.output = BinaryKind::ptx;
  Result<Binary> binary = compilers_.compile(ptx);
  ASSERT_TRUE(binary) << binary.error().message;
  EXPECT_THAT(control_->take().last_options, HasSubstr("--gpu-architecture=compute_90a\n"));
  EXPECT_THAT(binary->bytes, HasSubstr(".entry k("));
}

TEST_F(FakeNvrtc, OlderVersionsAreNotGivenOptionsTheyDoNotKnow) {
  open("nvrtc_12_4");
  ASSERT_TRUE(compilers_.compile(request()));
  EXPECT_THAT(control_->take().last_options, testing::Not(HasSubstr("--no-cache")));
}

TEST_F(FakeNvrtc, ACompileErrorCarriesSourceAndLog) {
  Error error = failure_of({.compile_result = 6, .log = "sample(1): error: expected a \";\""});
  EXPECT_EQ(error.code, Code::kCompile);
  EXPECT_THAT(error.message, AllOf(HasSubstr("sample"), HasSubstr("sm_90a"), HasSubstr("expected a")));
  EXPECT_THAT(error.log, HasSubstr("expected a"));
  EXPECT_EQ(error.source, kSource);
  EXPECT_EQ(control_->take().live_programs, 0);
}

TEST_F(FakeNvrtc, EachResultHasItsCode) {
  EXPECT_EQ(failure_of({.compile_result = 1}).code, Code::kOutOfMemory);
  EXPECT_EQ(failure_of({.create_result = 1}).code, Code::kOutOfMemory);
  EXPECT_EQ(failure_of({.create_result = 2}).code, Code::kCompile);
  EXPECT_EQ(failure_of({.compile_result = 5}).code, Code::kUnsupported);
  EXPECT_EQ(failure_of({.compile_result = 11}).code, Code::kCompile);
  EXPECT_EQ(failure_of({.compile_result = 99}).code, Code::kCompile);
  EXPECT_EQ(failure_of({.cubin_result = 4}).code, Code::kInternal);
  EXPECT_EQ(control_->take().live_programs, 0);
}

TEST_F(FakeNvrtc, MissingBuiltinsAreNamedWithVersionAndPlace) {
  Error error = failure_of({.compile_result = 7, .log = "nvrtc: error: failed to open libnvrtc-builtins.so.13.0"});
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_THAT(error.message, AllOf(HasSubstr("libnvrtc-builtins.so.13.0"), HasSubstr(fake_path("nvrtc_13_0"))));
}

TEST_F(FakeNvrtc, LoweredNamesComeBackInOrder) {
  CompileRequest named = request();
  named.name_expressions = {"f<3>", "g"};
  Result<Binary> binary = compilers_.compile(named);
  ASSERT_TRUE(binary) << binary.error().message;
  EXPECT_THAT(binary->lowered_names, ElementsAre(LoweredName{"f<3>", "_Zf<3>"}, LoweredName{"g", "_Zg"}));
  fake_nvrtc_script script{.lowered_result = 10};
  control_->set(&script);
  Result<Binary> wrong = compilers_.compile(named);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::kInvalidProgram);
}

TEST_F(FakeNvrtc, AnEntryThatIsNotThereIsNamedWithThoseThatAre) {
  CompileRequest wrong = request();
  wrong.entry_names = {"kk"};
  Result<Binary> binary = compilers_.compile(wrong);
  ASSERT_FALSE(binary);
  EXPECT_EQ(binary.error().code, Code::kInvalidProgram);
  EXPECT_THAT(binary.error().message, AllOf(HasSubstr("`kk`"), HasSubstr("(it has: k)")));
}

TEST_F(FakeNvrtc, UnknownTargetsAreRefusedWithTheKnownOnes) {
  CompileRequest old = request();
  old.target = "sm_70";
  Result<Binary> binary = compilers_.compile(old);
  ASSERT_FALSE(binary);
  EXPECT_EQ(binary.error().code, Code::kUnsupported);
  EXPECT_THAT(binary.error().message, HasSubstr("sm_80, sm_86"));
  old.target = "gfx942";
  EXPECT_EQ(compilers_.compile(old).error().code, Code::kInvalidArgument);
  EXPECT_EQ(control_->take().compiles, 0);
}

TEST_F(FakeNvrtc, GuardedSourceNeverReachesTheCompiler) {
  CompileRequest attack = request();
  attack.source = "#include \"/etc/passwd\"\n";
  EXPECT_EQ(compilers_.compile(attack).error().code, Code::kInvalidProgram);
  attack = request();
  attack.options = {"--pre-include=/etc/passwd"};
  EXPECT_EQ(compilers_.compile(attack).error().code, Code::kInvalidArgument);
  EXPECT_EQ(control_->take().compiles, 0);
}

TEST_F(FakeNvrtc, ADeadlineInterruptsThroughTheCallback) {
  fake_nvrtc_script slow{.sleep_ms = 20000};
  control_->set(&slow);
  CompileRequest hurried = request();
  hurried.deadline_ms = 500;  // long enough to have begun on a busy machine
  auto start = steady_clock::now();
  Result<Binary> binary = compilers_.compile(hurried);
  ASSERT_FALSE(binary);
  EXPECT_EQ(binary.error().code, Code::kTimeout);
  EXPECT_LT(steady_clock::now() - start, milliseconds(15000));
  EXPECT_GT(control_->take().flow_asked, 0);
  EXPECT_EQ(abandoned_compiles(), 0);
}

TEST_F(FakeNvrtc, ACancelInterruptsThroughTheCallback) {
  fake_nvrtc_script slow{.sleep_ms = 5000};
  control_->set(&slow);
  std::stop_source stop;
  std::jthread canceller([&] {
    while (control_->take().flow_asked == 0) std::this_thread::yield();
    stop.request_stop();
  });
  Result<Binary> binary = compilers_.compile(request(), stop.get_token());
  ASSERT_FALSE(binary);
  EXPECT_EQ(binary.error().code, Code::kCancelled);
}

TEST_F(FakeNvrtc, ACompileThatWasCancelledBeforeItBeganCallsNothing) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(compilers_.compile(request(), stop.get_token()).error().code, Code::kCancelled);
  EXPECT_EQ(control_->take().compiles, 0);
}

TEST_F(FakeNvrtc, ACompilerThatCannotBeInterruptedIsLeftBehind) {
  fake_nvrtc_script deaf{.sleep_ms = 5000, .ignore_flow = 1};
  control_->set(&deaf);
  CompileRequest hurried = request();
  hurried.deadline_ms = 500;
  auto start = steady_clock::now();
  EXPECT_EQ(compilers_.compile(hurried).error().code, Code::kTimeout);
  EXPECT_LT(steady_clock::now() - start, milliseconds(4500));
  EXPECT_EQ(abandoned_compiles(), 1);
  while (abandoned_compiles() > 0) std::this_thread::sleep_for(milliseconds(5));
  control_->set(nullptr);
  EXPECT_TRUE(compilers_.compile(request())) << "the next compile works";
}

TEST_F(FakeNvrtc, NoMoreThanTheAllowedWorkersAreLeftBehind) {
  fake_nvrtc_script deaf{.sleep_ms = 3000, .ignore_flow = 1};
  control_->set(&deaf);
  CompileRequest hurried = request();
  hurried.deadline_ms = 500;  // long enough for every worker to be inside the compiler when it passes
  std::vector<std::jthread> threads;
  for (int i = 0; i < kMaxAbandonedCompiles; ++i)
    threads.emplace_back([&] { EXPECT_EQ(compilers_.compile(hurried).error().code, Code::kTimeout); });
  threads.clear();
  EXPECT_EQ(compilers_.compile(hurried).error().code, Code::kUnavailable);
  while (abandoned_compiles() > 0) std::this_thread::sleep_for(milliseconds(5));
}

TEST_F(FakeNvrtc, ThirtyTwoThreadsCompileAtOnce) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 32; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        CompileRequest own = request();
        own.source = fmt::format("extern \"C\" __global__ void k{}_{}(float* a) {{}}\n", t, i);
        own.entry_names = {fmt::format("k{}_{}", t, i)};
        Result<Binary> binary = compilers_.compile(own);
        EXPECT_TRUE(binary);
      }
    });
  threads.clear();
  EXPECT_EQ(control_->take().compiles, 640);
  EXPECT_EQ(control_->take().live_programs, 0);
}

TEST_F(FakeNvrtc, OptionsFromTheEnvironmentAreRefusedNotIgnored) {
  setenv("NVRTC_APPEND_FLAGS", "-G", 1);
  Result<Binary> binary = compilers_.compile(request());
  unsetenv("NVRTC_APPEND_FLAGS");
  ASSERT_FALSE(binary);
  EXPECT_EQ(binary.error().code, Code::kUnavailable);
  EXPECT_THAT(binary.error().message, HasSubstr("NVRTC_APPEND_FLAGS=-G"));
}

TEST(NvrtcSearch, UnavailableNamesEveryPathTried) {
  Result<std::shared_ptr<Compiler>> compiler = open_nvrtc({"/nowhere/libnvrtc.so.13", {}});
  ASSERT_FALSE(compiler);
  EXPECT_EQ(compiler.error().code, Code::kUnavailable);
  EXPECT_THAT(compiler.error().message, AllOf(HasSubstr("/nowhere/libnvrtc.so.13"), HasSubstr("TILERT_NVRTC_PATH")));
}

TEST(NvrtcSearch, ALibraryThatIsTooOldOrIncompleteIsRefusedByName) {
  EXPECT_THAT(open_nvrtc({fake_path("nvrtc_11_8"), {}}).error().message, HasSubstr("NVRTC 11.8; 12.0 or newer"));
  EXPECT_THAT(open_nvrtc({fake_path("nvrtc_broken"), {}}).error().message, HasSubstr("nvrtcGetCUBINSize"));
}

TEST(NvrtcSearch, FollowsTheOrderOptionThenEnvironmentThenPlaces) {
  setenv("TILERT_NVRTC_PATH", "/from/environment.so", 1);
  EXPECT_THAT(nvrtc_candidates({"/from/option.so", {}}), ElementsAre("/from/option.so"));
  EXPECT_THAT(nvrtc_candidates({}), ElementsAre("/from/environment.so"));
  setenv("TILERT_NVRTC_PATH", "/tmp", 1);
  EXPECT_THAT(nvrtc_candidates({}), ElementsAre("/tmp/libnvrtc.so.13", "/tmp/libnvrtc.so.12", "/tmp/libnvrtc.so"));
  unsetenv("TILERT_NVRTC_PATH");
  std::vector<std::string> all = nvrtc_candidates({"", {"/site"}});
  ASSERT_GE(all.size(), 9u);
  EXPECT_EQ(all[0], "libnvrtc.so.13");
  EXPECT_EQ(all[2], "libnvrtc.so");
  EXPECT_EQ(all.back(), "/site/nvidia/cuda_nvrtc/lib/libnvrtc.so");
}

TEST(NvrtcSearch, ALaterCandidateIsTakenWhenAnEarlierOneIsTooOld) {
  std::string folder = testing::TempDir() + "nvrtc_search_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(fake_path("nvrtc_11_8"), folder + "/libnvrtc.so.13");
  std::filesystem::copy_file(fake_path("nvrtc_12_4"), folder + "/libnvrtc.so.12");
  setenv("TILERT_NVRTC_PATH", folder.c_str(), 1);
  Result<std::shared_ptr<Compiler>> compiler = open_nvrtc();
  unsetenv("TILERT_NVRTC_PATH");
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(compiler) << compiler.error().message;
  EXPECT_EQ((*compiler)->identity(), "NVRTC 12.4");
}

TEST(Registry, AFailureIsRememberedUntilRetry) {
  Compilers compilers;
  int opened = 0;
  compilers.add(Language::cuda, [&]() -> Result<std::shared_ptr<Compiler>> {
    ++opened;
    return make_error(Code::kUnavailable, "not here");
  });
  EXPECT_EQ(compilers.find(Language::cuda).error().message, "not here");
  EXPECT_FALSE(compilers.find(Language::cuda));
  EXPECT_EQ(opened, 1);
  compilers.retry(Language::cuda);
  EXPECT_FALSE(compilers.find(Language::cuda));
  EXPECT_EQ(opened, 2);
  EXPECT_EQ(compilers.find(Language::hip).error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace tilert
