// The helper process: what compiles in it, and each way in which it can fail its host.
#include "compiler/helper.h"
#include "compiler/child_process.h"
#include "compiler/compile_thread.h"
#include "compiler/helper_main.h"
#include "compiler/hip.h"
#include "compiler/nvrtc.h"
#include "support/files.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

namespace tilert {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;

size_t open_descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

class Helper : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::string> found = find_helper({});
    ASSERT_TRUE(found) << found.error().message;
    helper_ = *found;
    places_.nvrtc = std::string(TILERT_FAKE_NVRTC_DIR) + "/nvrtc_13_0.so";
    descriptors_ = open_descriptors();
  }

  // Whatever happened: no descriptor is left, and no child.
  void TearDown() override {
    EXPECT_EQ(open_descriptors(), descriptors_);
    int status = 0;
    EXPECT_EQ(waitpid(-1, &status, WNOHANG | __WALL), -1);
    EXPECT_EQ(errno, ECHILD);
    if (!script_.empty()) std::filesystem::remove(script_);
  }

  static CompileRequest request() {
    CompileRequest request;
    request.target = "sm_90a";
    request.program_name = "sample";
    request.source = "extern \"C\" __global__ void k(float* a) { a[0] = 1; }\n";
    request.entry_names = {"k"};
    return request;
  }

  // A helper that does what the shell is told, in place of ours.
  std::string script(const std::string& body) {
    script_ = testing::TempDir() + "helper_" + std::to_string(getpid()) + ".sh";
    EXPECT_TRUE(write_file(script_, "#!/bin/sh\n" + body + "\n"));
    chmod(script_.c_str(), 0700);
    return script_;
  }

  Error failure_of(const std::string& path, const CompileRequest& asked = request(),
                   const CompileControl& control = {}) {
    Result<Binary> binary = compile_in_helper(path, places_, asked, control);
    EXPECT_FALSE(binary);
    return binary ? Error{} : binary.error();
  }

  std::string helper_, script_;
  CompilerPlaces places_;
  size_t descriptors_ = 0;
};

TEST_F(Helper, CompilesCudaAsThisProcessDoes) {
  Result<Binary> there = compile_in_helper(helper_, places_, request(), {});
  ASSERT_TRUE(there) << there.error().message;
  Compilers compilers;
  compilers.add(Language::cuda, [&] { return open_nvrtc({places_.nvrtc, {}}); });
  Result<Binary> here = compilers.compile(request());
  ASSERT_TRUE(here);
  EXPECT_EQ(there->bytes, here->bytes);
  EXPECT_EQ(there->resources, here->resources);
  EXPECT_EQ(there->compiler, here->compiler);
}

TEST_F(Helper, CompileErrorsAndRefusalsComeBackAsTheyAre) {
  CompileRequest wrong = request();
  wrong.entry_names = {"kk"};
  EXPECT_EQ(failure_of(helper_, wrong).code, Code::kInvalidProgram);
  wrong = request();
  wrong.target = "sm_1";
  const Error unknown = failure_of(helper_, wrong);
  EXPECT_EQ(unknown.code, Code::kUnsupported);
  EXPECT_EQ(unknown.source, wrong.source);
  places_.nvrtc = "/nowhere/libnvrtc.so";
  EXPECT_THAT(failure_of(helper_).message, HasSubstr("/nowhere/libnvrtc.so"));
}

#ifdef TILERT_HAVE_LLVM
TEST_F(Helper, CompilesLlvmIrWithThePluginOfThisLibrary) {
  CompileRequest asked;
  asked.language = Language::llvm_ir;
  asked.output = BinaryKind::object;
  asked.target = "cpu";
  asked.source = "define void @f(ptr %a) {\n  store i32 1, ptr %a\n  ret void\n}\n";
  asked.entry_names = {"f"};
  Result<Binary> binary = compile_in_helper(helper_, places_, asked, {});
  ASSERT_TRUE(binary) << binary.error().message;
  EXPECT_EQ(binary->bytes.substr(1, 3), "ELF");
}
#endif

const char* const kAborting =
    "typedef float f4 __attribute__((ext_vector_type(4)));\n"
    "__device__ f4 mfma(float, float, f4, int, int, int) __asm(\"llvm.amdgcn.mfma.f32.16x16x4f32\");\n"
    "extern \"C\" __global__ void k(f4* a, float* b) { a[0] = mfma(b[0], b[1], a[0], 0, 0, 0); }\n";

CompileRequest hip_request(const std::string& source, const std::string& target) {
  CompileRequest asked;
  asked.language = Language::hip;
  asked.output = BinaryKind::code_object;
  asked.target = target;
  asked.program_name = "sample";
  asked.source = source;
  asked.foreign = true;
  return asked;
}

TEST_F(Helper, ABogusAmdTargetIsRefusedThere) {
  if (!open_hip()) GTEST_SKIP() << "no hipRTC on this machine";
  descriptors_ = open_descriptors();
  const Error error =
      failure_of(helper_, hip_request("extern \"C\" __global__ void k(float* a) { a[0] = 1; }\n", "gfx4242"));
  EXPECT_EQ(error.code, Code::kUnsupported);
  EXPECT_THAT(error.message, AllOf(HasSubstr("gfx4242"), HasSubstr("gfx90a")));
}

// LLVM aborts on it; the same text for a chip that has the instruction compiles.
TEST_F(Helper, AnInstructionThatEndsTheCompilerIsACompileErrorWithItsLastWords) {
  if (!open_hip()) GTEST_SKIP() << "no hipRTC on this machine";
  descriptors_ = open_descriptors();
  const std::string source = kAborting;
  const Error error = failure_of(helper_, hip_request(source, "gfx1030"));
  EXPECT_EQ(error.code, Code::kCompile);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("sample"), HasSubstr("signal 6"), HasSubstr("gfx1030"), HasSubstr("Cannot select")));
  EXPECT_EQ(error.source, source);
  EXPECT_TRUE(compile_in_helper(helper_, places_, hip_request(source, "gfx90a"), {}));
}

TEST_F(Helper, EachEndWithoutAnAnswerIsAnErrorOfItsOwn) {
  const Error aborted = failure_of(script("echo 'last words' >&2; kill -ABRT $$"));
  EXPECT_EQ(aborted.code, Code::kCompile);
  EXPECT_THAT(aborted.message, AllOf(HasSubstr("signal 6"), HasSubstr("last words")));
  EXPECT_THAT(failure_of(script("kill -SEGV $$")).message, HasSubstr("signal 11"));
  const Error killed = failure_of(script("kill -KILL $$"));
  EXPECT_EQ(killed.code, Code::kUnavailable);
  EXPECT_THAT(killed.message, HasSubstr("was killed"));
  const Error ended = failure_of(script("exit 3"));
  EXPECT_EQ(ended.code, Code::kUnavailable);
  EXPECT_THAT(ended.message, HasSubstr("status 3 after 0 bytes"));
  // Half an answer, an answer of zeros, an answer that never ends.
  EXPECT_THAT(failure_of(script("printf '\\100\\0\\0\\0\\0\\0\\0\\0TLRTANS1' >&0")).message,
              HasSubstr("after 16 bytes"));
  EXPECT_THAT(failure_of(script("printf '\\10\\0\\0\\0\\0\\0\\0\\0AAAAAAAA' >&0; exec sleep 20")).message,
              HasSubstr("none of this release"));
  EXPECT_EQ(failure_of(script("exec cat /dev/zero >&0")).code, Code::kUnavailable);
  EXPECT_THAT(failure_of("/nowhere/helper").message, HasSubstr("cannot be started"));
}

TEST_F(Helper, ADeadlineKillsWhatHangs) {
  const auto start = steady_clock::now();
  CompileControl control;
  control.deadline = start + milliseconds(200);
  EXPECT_EQ(failure_of(script("trap '' TERM; exec sleep 30"), request(), control).code, Code::kTimeout);
  EXPECT_LT(steady_clock::now() - start, milliseconds(10000));
}

TEST_F(Helper, ACancelEndsItAtOnce) {
  std::stop_source stop;
  std::jthread canceller([&] {
    std::this_thread::sleep_for(milliseconds(100));
    stop.request_stop();
  });
  const auto start = steady_clock::now();
  CompileControl control;
  control.cancel = stop.get_token();
  EXPECT_EQ(failure_of(script("exec sleep 30"), request(), control).code, Code::kCancelled);
  EXPECT_LT(steady_clock::now() - start, milliseconds(10000));
}

// Hosts that ignore their children, or wait for all of them in a handler, take the status: the helper has told before.
TEST_F(Helper, AHostThatTakesItsStatusHearsOfTheCompilersEndAllTheSame) {
  const bool has_hip = static_cast<bool>(open_hip());
  descriptors_ = open_descriptors();
  const auto reap_all = [](int) {
    const int kept = errno;
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    errno = kept;
  };
  for (void (*handler)(int) : {static_cast<void (*)(int)>(SIG_IGN), static_cast<void (*)(int)>(reap_all)}) {
    struct sigaction action {
    }, before{};
    action.sa_handler = handler;
    sigaction(SIGCHLD, &action, &before);
    EXPECT_TRUE(compile_in_helper(helper_, places_, request(), {}));
    EXPECT_EQ(failure_of(script("exit 3")).code, Code::kUnavailable);
    if (has_hip) EXPECT_THAT(failure_of(helper_, hip_request(kAborting, "gfx1030")).message, HasSubstr("signal 6"));
    sigaction(SIGCHLD, &before, nullptr);
  }
}

TEST_F(Helper, TheEnvironmentAndTheLocaleOfTheHostDoNotReachIt) {
  setenv("NVRTC_APPEND_FLAGS", "-G", 1);
  setenv("LC_ALL", "xx_YY", 1);
  setenv("LD_PRELOAD", "/nowhere.so", 1);
  Result<Binary> binary = compile_in_helper(helper_, places_, request(), {});
  EXPECT_TRUE(binary) << binary.error().message;
  const Error seen = failure_of(script("env >&2; kill -ABRT $$"));
  for (const char* name : {"NVRTC_APPEND_FLAGS", "LC_ALL", "LD_PRELOAD"}) unsetenv(name);
  EXPECT_THAT(seen.log, AllOf(HasSubstr("LC_ALL=C\n"), testing::Not(HasSubstr("NVRTC_APPEND")),
                              testing::Not(HasSubstr("LD_PRELOAD"))));
}

// A pipe's reader waits for every writer: one that the helper kept would hold the host's own pipes open for as long as a compile lasts.
TEST_F(Helper, WhatTheHostLeavesOpenIsClosedInItWhileItRuns) {
  int low[2], ends[2];
  ASSERT_EQ(pipe(low), 0);  // marked neither
  ASSERT_EQ(pipe(ends), 0);
  const int high = dup2(ends[1], 200);
  ASSERT_EQ(high, 200);
  {
    Result<ChildProcess> child = ChildProcess::start(helper_, {});
    ASSERT_TRUE(child) << child.error().message;
    for (const int writer : {low[1], ends[1], high}) close(writer);
    for (const int reader : {low[0], ends[0]}) {
      pollfd end{reader, POLLIN, 0};
      EXPECT_EQ(poll(&end, 1, 20000), 1) << "the helper holds a writer of the host's pipe";
      char byte;
      if (end.revents) EXPECT_EQ(read(reader, &byte, 1), 0);
    }
    pollfd ended{child->process(), POLLIN, 0};
    EXPECT_EQ(poll(&ended, 1, 0), 0) << "it waits for its request all the while";
  }
  for (const int reader : {low[0], ends[0]}) close(reader);
}

TEST_F(Helper, SixteenThreadsHaveOneEach) {
  std::atomic<int> compiled{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 16; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 3; ++i) compiled += compile_in_helper(helper_, places_, request(), {}) ? 1 : 0;
      });
  }
  EXPECT_EQ(compiled, 48);
}

TEST_F(Helper, ASourceOfManyMegabytesDoesNotFillThePipes) {
  CompileRequest large = request();
  large.source += "// " + std::string(size_t{12} << 20, 'x') + "\n";
  Result<Binary> binary = compile_in_helper(helper_, places_, large, {});
  EXPECT_TRUE(binary) << binary.error().message;
}

TEST_F(Helper, OnlyTheRequestsThatThePolicyNamesGoThere) {
  Compilers compilers;
  compilers.add(Language::cuda, [&] { return open_nvrtc({places_.nvrtc, {}}); });
  int isolated = 0;
  const auto helper = [&](const CompileRequest& asked, const CompileControl& control) {
    ++isolated;
    return compile_in_helper(helper_, places_, asked, control);
  };
  CompileRequest foreign = request();
  foreign.foreign = true;
  const struct {
    Isolation isolation;
    int of_own, of_foreign;
  } policies[] = {{Isolation::never, 0, 0}, {Isolation::untrusted, 0, 1}, {Isolation::always, 1, 1}};
  for (const auto& policy : policies) {
    compilers.isolate(policy.isolation, helper);
    isolated = 0;
    EXPECT_TRUE(compilers.compile(request()));
    EXPECT_EQ(isolated, policy.of_own);
    isolated = 0;
    EXPECT_TRUE(compilers.compile(foreign));
    EXPECT_EQ(isolated, policy.of_foreign);
  }
}

TEST(HelperSearch, OptionThenEnvironmentThenBesideTheLibrary) {
  setenv("TILERT_HELPER_PATH", "/from/environment", 1);
  EXPECT_THAT(find_helper("/from/option").error().message,
              AllOf(HasSubstr("/from/option"), testing::Not(HasSubstr("/from/environment"))));
  EXPECT_THAT(find_helper({}).error().message, HasSubstr("/from/environment"));
  EXPECT_THAT(find_helper("relative/helper").error().message, HasSubstr("must be absolute"));
  unsetenv("TILERT_HELPER_PATH");
  EXPECT_TRUE(find_helper({}));
}

TEST(HelperJobs, AJobOfAnotherReleaseOrDamagedIsAnAnswerNotAFault) {
  HelperJob job;
  job.request.target = "sm_90a";
  job.request.source = "x";
  job.key = "of another";
  HelperAnswer answer = parse_answer(answer_job(serialize(job)));
  EXPECT_TRUE(answer.valid);
  EXPECT_THAT(answer.binary.error().message, HasSubstr("another release"));
  const std::string whole = serialize(job);
  for (size_t size = 0; size < whole.size(); ++size) {
    answer = parse_answer(answer_job(whole.substr(0, size)));
    EXPECT_TRUE(answer.valid);
    EXPECT_FALSE(answer.binary);
  }
  for (const std::string& text : {serialize_answer(make_error(Code::kCompile, "no")), serialize_signal(6)})
    for (size_t size = 0; size < text.size(); ++size) EXPECT_FALSE(parse_answer(text.substr(0, size)).binary) << size;
  EXPECT_EQ(parse_answer(serialize_signal(6)).signal, 6);
}

}  // namespace
}  // namespace tilert
