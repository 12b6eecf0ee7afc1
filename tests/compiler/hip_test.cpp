// The real hipRTC and comgr, where this machine has them; skipped by name elsewhere. Debian 12's know gfx90a and
// gfx1030; tools/newer_rocm runs the same tests under newer ones.
#include "compiler/hip.h"
#include "compiler/code_object.h"
#include "compiler/compile_thread.h"
#include "compiler/hip_library.h"
#include "samples.h"
#include "support/files.h"
#include "target/target.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <thread>

namespace tilert {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Source as the library generates it: nothing but the compiler's own words.
const char* const kScaleHip =
    "extern \"C\" __attribute__((global)) void scale(float* a, float b) {\n"
    "  unsigned i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();\n"
    "  a[i] = a[i] * b + 1;\n"
    "}\n";

struct Way {
  const char* name;
  bool through_hiprtc;
  friend void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }
};

class RealHip : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    opened_ = open_hip({"", false, GetParam().through_hiprtc});
    if (!opened_) GTEST_SKIP() << "no hipRTC on this machine";
    compilers_.add(*opened_);
  }
  static CompileRequest request(std::string source, std::string target = "gfx90a") {
    CompileRequest request;
    request.language = Language::hip;
    request.output = BinaryKind::code_object;
    request.target = std::move(target);
    request.program_name = "sample";
    request.source = std::move(source);
    return request;
  }
  static CompileRequest foreign(std::string source, std::string target = "gfx90a") {
    CompileRequest made = request(std::move(source), std::move(target));
    made.foreign = true;
    return made;
  }
  Error failure_of(const CompileRequest& asked) {
    Result<Binary> binary = compilers_.compile(asked);
    EXPECT_FALSE(binary);
    return binary ? Error{} : binary.error();
  }

  Result<std::shared_ptr<Compiler>> opened_ = make_error(Code::kUnavailable, "not opened");
  Compilers compilers_;
};

INSTANTIATE_TEST_SUITE_P(Ways, RealHip, testing::Values(Way{"comgr", false}, Way{"hiprtc", true}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(RealHip, GeneratedTextBecomesACodeObjectThatTellsItsResources) {
  for (const char* target : {"gfx90a", "gfx90a:sramecc+:xnack-", "gfx1030"}) {
    CompileRequest asked = request(kScaleHip, target);
    asked.entry_names = {"scale"};
    Result<Binary> binary = compilers_.compile(asked);
    ASSERT_TRUE(binary) << target << ": " << binary.error().message;
    EXPECT_EQ(binary->bytes.substr(1, 3), "ELF");
    EXPECT_THAT(binary->compiler, HasSubstr("comgr"));
    ASSERT_EQ(binary->resources.size(), 1u);
    EXPECT_EQ(binary->resources[0].entry, "scale");
    EXPECT_GT(binary->resources[0].registers, 0u);
    EXPECT_TRUE(binary->is_clean()) << binary->why_not_clean();
    Result<std::vector<CodeObjectKernel>> kernels = read_code_object(binary->bytes);
    ASSERT_TRUE(kernels);
    EXPECT_EQ(kernels->at(0).wave, std::string(target) == "gfx1030" ? 32u : 64u);
    ASSERT_GE(kernels->at(0).arguments.size(), 2u);
    EXPECT_EQ(kernels->at(0).arguments[1].offset, 8u);
    EXPECT_EQ(kernels->at(0).arguments[1].bytes, 4u);
    EXPECT_FALSE(kernels->at(0).arguments[1].hidden);
  }
}

// Those rows of target.def that this comgr has: gfx90a in Debian 12.
TEST_P(RealHip, EachTargetOfTheLibraryIsCompiledOrRefusedByName) {
  size_t compiled = 0;
  for (const std::string& target : known_target_texts()) {
    if (target.substr(0, 3) != "gfx") continue;
    Result<Binary> binary = compilers_.compile(request(kScaleHip, target));
    compiled += binary ? 1 : 0;
    if (!binary) {
      EXPECT_EQ(binary.error().code, Code::kUnsupported) << binary.error().message;
      continue;
    }
    Result<Target> row = parse_target(target);
    EXPECT_EQ(static_cast<int>(read_code_object(binary->bytes)->at(0).wave), row->warp_size) << target;
    RecordProperty(target, "compiled");
  }
  EXPECT_GE(compiled, 1u);
}

TEST_P(RealHip, ForeignTextHasTheHeaderOfHiprtc) {
  CompileRequest asked = foreign(kReverse);
  asked.entry_names = {"reverse"};
  Result<Binary> binary = compilers_.compile(asked);
  ASSERT_TRUE(binary) << binary.error().message;
  EXPECT_EQ(binary->resources.at(0).static_shared, 256u);
}

TEST_P(RealHip, ABogusTargetIsRefusedWithTheKnownOnes) {
  for (const char* target : {"gfx4242", "gfx90", "gfx90aa"}) {
    const Error error = failure_of(request(kScaleHip, target));
    EXPECT_EQ(error.code, Code::kUnsupported);
    EXPECT_THAT(error.message, AllOf(HasSubstr(target), HasSubstr("gfx90a, "), HasSubstr("gfx1030")));
  }
  for (const char* target : {"gfx90a:foo+", "gfx90a:xnack", "gfx90a:", "gfx1030:sramecc+", "gfx90a:xnack+:xnack-"}) {
    const Error error = failure_of(request(kScaleHip, target));
    EXPECT_EQ(error.code, Code::kUnsupported) << target;
    EXPECT_THAT(error.message, AllOf(HasSubstr(target), HasSubstr("feature")));
  }
  EXPECT_EQ(failure_of(request(kScaleHip, "sm_90a")).code, Code::kInvalidArgument);
}

// Each way in which text can ask for what the chip has not.
TEST_P(RealHip, AnInstructionThatTheTargetLacksIsAnError) {
  const char* const types =
      "typedef _Float16 h4 __attribute__((ext_vector_type(4)));\ntypedef float f4 "
      "__attribute__((ext_vector_type(4)));\n";
  const std::string builtin = std::string(types) +
                              "extern \"C\" __attribute__((global)) void k(f4* a, h4* b) {\n"
                              "  a[0] = __builtin_amdgcn_mfma_f32_16x16x16f16(b[0], b[1], a[0], 0, 0, 0);\n}\n";
  const std::string assembler =
      "extern \"C\" __attribute__((global)) void k(float* a) { asm volatile(\"v_accvgpr_write_b32 a0, v0\"); a[0] = 1; "
      "}\n";
  const std::string label =
      std::string(types) +
      "__attribute__((device)) f4 mfma(float, float, f4, int, int, int) __asm(\"ll\" "
      "\"vm.amdgcn.mfma.f32.16x16x4f32\");\n"
      "extern \"C\" __attribute__((global)) void k(f4* a, float* b) { a[0] = mfma(b[0], b[1], a[0], 0, 0, 0); }\n";
  EXPECT_TRUE(compilers_.compile(request(builtin)));
  for (const std::string& source : {builtin, assembler}) {
    const Error error = failure_of(request(source, "gfx1030"));
    EXPECT_EQ(error.code, Code::kCompile);
    EXPECT_THAT(error.message, AllOf(HasSubstr("sample"), HasSubstr("gfx1030")));
    EXPECT_THAT(error.log, HasSubstr("error:"));
  }
  // Here LLVM would end the process: foreign text with such a label is refused before it.
  const Error error = failure_of(foreign(label, "gfx1030"));
  EXPECT_EQ(error.code, Code::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("isolate"));
}

TEST_P(RealHip, ACompileErrorCarriesSourceAndLogWithoutPaths) {
  const Error error = failure_of(request("extern \"C\" __attribute__((global)) void k(float* a) { a[0] = ; }\n"));
  EXPECT_EQ(error.code, Code::kCompile);
  EXPECT_THAT(error.log, HasSubstr("expected expression"));
  EXPECT_THAT(error.source, HasSubstr("a[0] = ;"));
  if (!GetParam().through_hiprtc) EXPECT_THAT(error.log, AllOf(HasSubstr("sample.hip:1:"), Not(HasSubstr("/"))));
}

TEST_P(RealHip, ALogOfASuccessIsNoError) {
  Result<Binary> binary = compilers_.compile(
      request("#warning one\nextern \"C\" __attribute__((global)) void k(float* a) { a[0] = 1; }\n"));
  ASSERT_TRUE(binary) << binary.error().message;
  EXPECT_THAT(binary->log, HasSubstr("one"));
}

TEST_P(RealHip, AnEntryThatIsNotThereIsNamedWithThoseThatAre) {
  CompileRequest asked = request(kScaleHip);
  asked.entry_names = {"scales"};
  const Error error = failure_of(asked);
  EXPECT_EQ(error.code, Code::kInvalidProgram);
  EXPECT_THAT(error.message, AllOf(HasSubstr("`scales`"), HasSubstr("(it has: scale)")));
}

TEST_P(RealHip, NameExpressionsAndHeadersGoThroughHiprtc) {
  CompileRequest asked = request("#include \"n.h\"\ntemplate <int N> __global__ void f(float* a) { a[0] = N + K; }\n");
  asked.foreign = true;
  asked.headers = {{"n.h", "#define K 5\n"}};
  asked.name_expressions = {"f<3>"};
  Result<Binary> binary = compilers_.compile(asked);
  ASSERT_TRUE(binary) << binary.error().message;
  ASSERT_EQ(binary->lowered_names.size(), 1u);
  EXPECT_THAT(binary->lowered_names[0].name, HasSubstr("_Z1f"));
  EXPECT_EQ(binary->resources.at(0).entry, binary->lowered_names[0].name);
}

TEST_P(RealHip, EqualRequestsGiveEqualBytesOnFourThreadsAtOnce) {
  std::vector<std::string> bytes(4);
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < bytes.size(); ++t)
      threads.emplace_back([&, t] {
        Result<Binary> binary = compilers_.compile(request(kScaleHip));
        if (binary) bytes[t] = binary->bytes;
      });
  }
  EXPECT_FALSE(bytes[0].empty());
  for (const std::string& one : bytes) EXPECT_EQ(one, bytes[0]);
}

TEST_P(RealHip, OptionsThatTheEnvironmentAddsAreRefused) {
  setenv("HIPRTC_COMPILE_OPTIONS_APPEND", "-g", 1);
  const Error error = failure_of(request(kScaleHip));
  unsetenv("HIPRTC_COMPILE_OPTIONS_APPEND");
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("HIPRTC_COMPILE_OPTIONS_APPEND=-g"));
}

TEST(HipSearch, FollowsTheOrderOptionThenEnvironmentThenPlaces) {
  setenv("TILERT_HIPRTC_PATH", "/from/environment.so", 1);
  EXPECT_THAT(hiprtc_candidates({"/from/option.so"}), testing::ElementsAre("/from/option.so"));
  EXPECT_THAT(hiprtc_candidates({}), testing::ElementsAre("/from/environment.so"));
  setenv("TILERT_HIPRTC_PATH", "/tmp", 1);
  EXPECT_EQ(hiprtc_candidates({}).front(), "/tmp/libhiprtc.so.7");
  EXPECT_EQ(hiprtc_candidates({}).back(), "/tmp/libamdhip64.so.5");
  unsetenv("TILERT_HIPRTC_PATH");
  EXPECT_EQ(hiprtc_candidates({}).front(), "libhiprtc.so.7");
}

TEST(HipSearch, UnavailableNamesEveryPathTried) {
  Result<std::shared_ptr<Compiler>> opened = open_hip({"/nowhere/libhiprtc.so.6"});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kUnavailable);
  EXPECT_THAT(opened.error().message, AllOf(HasSubstr("/nowhere/libhiprtc.so.6"), HasSubstr("TILERT_HIPRTC_PATH")));
  EXPECT_THAT(open_hip({"libm.so.6"}).error().message, HasSubstr("hiprtcGetErrorString"));
}

// comgr compiles what is generated; a user's text has no header then.
TEST(HipSearch, AFolderWithComgrAloneCompilesGeneratedTextOnly) {
  Result<HipLibrary> found = load_hip({});
  if (!found) GTEST_SKIP() << "no hipRTC on this machine";
  const std::string folder = testing::TempDir() + "comgr_alone_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const std::string name = fmt::format("libamd_comgr.so.{}", found->comgr.major);
  void* const known = found->hiprtc.find("amd_comgr_get_version");
  Dl_info info{};
  ASSERT_NE(dladdr(known ? known : reinterpret_cast<void*>(found->comgr.call.amd_comgr_get_version), &info), 0);
  std::filesystem::create_symlink(info.dli_fname, folder + "/" + name);
  Result<std::shared_ptr<Compiler>> opened = open_hip({folder});
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_THAT((*opened)->identity(), testing::StartsWith("comgr "));
  CompileRequest asked;
  asked.language = Language::hip;
  asked.output = BinaryKind::code_object;
  asked.target = "gfx90a";
  asked.source = kScaleHip;
  EXPECT_TRUE((*opened)->compile(asked, {}));
  asked.foreign = true;
  Result<Binary> refused = (*opened)->compile(asked, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
}

TEST(CodeObject, AnyBytesAreReadWithoutHarm) {
  for (const char* text :
       {"",
        "\x7f"
        "ELF",
        "not a code object at all, but long enough to hold a header of sixty-four bytes, more or less"})
    EXPECT_EQ(read_code_object(text).error().code, Code::kCorrupt);
}

TEST_P(RealHip, DamagedCodeObjectsAreErrorsOrOtherNumbersNeverFaults) {
  Result<Binary> binary = compilers_.compile(request(kScaleHip));
  ASSERT_TRUE(binary);
  for (size_t size = 0; size < binary->bytes.size(); size += 7) (void)read_code_object(binary->bytes.substr(0, size));
  for (size_t at = 0; at < binary->bytes.size(); ++at) {
    std::string damaged = binary->bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    (void)read_code_object(damaged);
  }
}

}  // namespace
}  // namespace tilert
