// The option table, names of a request, flat messages, and the text that goes into keys.
#include "compiler/options.h"

#include "compiler/message.h"

#include <gmock/gmock.h>

#include <random>
#include <set>

namespace tilert {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CompileRequest full_request() {
  CompileRequest request;
  request.target = "sm_90a";
  request.program_name = "gemm";
  request.source = std::string("int a;\n\0b", 9);
  request.headers = {{"a.h", "int a;"}, {"b.h", ""}};
  request.options = {"-DN=3", "--maxrregcount=128"};
  request.name_expressions = {"f<3>", "g"};
  request.entry_names = {"k"};
  request.deadline_ms = 1234;
  return request;
}

TEST(Options, OnlyRowsOfTheTablePass) {
  for (const char* good : {"-DN", "-DN=3", "-D_x9=a b(c)", "-UN", "--maxrregcount=255", "--std=c++20", "--fmad=true",
                           "--use_fast_math", "--diag-suppress=177,20012", "--ptxas-options=-O2"})
    EXPECT_TRUE(check_options(Language::cuda, {good})) << good;
  for (const char* bad : {"",
                          "-I/etc",
                          "-I",
                          "-include=x",
                          "--pre-include=/etc/passwd",
                          "-D",
                          "-D3",
                          "-DN=#x",
                          "-DN=a\nb",
                          "-DN=\\",
                          "-DF(x)=x",
                          "-DN=%:",
                          "--maxrregcount=8",
                          "--maxrregcount=256",
                          "--maxrregcount=",
                          "--maxrregcount=1e2",
                          "--maxrregcount=-16",
                          "--std=c++11",
                          "--std=",
                          "--fmad=",
                          "--use_fast_mathx",
                          "--diag-suppress=",
                          "--diag-suppress=1,",
                          "--diag-suppress=a",
                          "--time=/tmp/x",
                          "--pch",
                          "--fdevice-time-trace=/tmp/x",
                          "-arch=sm_80",
                          "--gpu-architecture=sm_80",
                          "-dlto",
                          "-rdc=true",
                          "@file",
                          "--ptxas-options=-O9",
                          "--ptxas-options=--include-path=/etc"})
    EXPECT_FALSE(check_options(Language::cuda, {bad})) << bad;
}

TEST(Options, AnErrorSaysWhatWouldBeRight) {
  Status near = check_options(Language::cuda, {"--maxrregcount=8"});
  EXPECT_THAT(near.error().message, HasSubstr("--maxrregcount=16..255"));
  Status unknown = check_options(Language::cuda, {"-I/usr/include"});
  EXPECT_EQ(unknown.error().code, Code::kInvalidArgument);
  EXPECT_THAT(unknown.error().message, HasSubstr("--use_fast_math"));
}

TEST(Options, OptionsOfOneLanguageAreRefusedForAnother) {
  EXPECT_FALSE(check_options(Language::hip, {"--fmad=true"}));
  EXPECT_FALSE(check_options(Language::llvm_ir, {"-DN"}));
  EXPECT_TRUE(check_options(Language::llvm_ir, {"--vectorize-loops", "--prefer-vector-width=256"}));
}

TEST(Options, FixedOptionsYieldToTheRequests) {
  EXPECT_THAT(effective_options(Language::cuda, {}),
              ElementsAre("--device-as-default-execution-space", "--std=c++17", "--fmad=false", "--ptxas-options=-v"));
  EXPECT_THAT(
      effective_options(Language::cuda, {"--std=c++20", "--use_fast_math"}),
      ElementsAre("--device-as-default-execution-space", "--ptxas-options=-v", "--std=c++20", "--use_fast_math"));
}

TEST(Request, MalformedNamesAreRefused) {
  auto check = [](auto change) {
    CompileRequest request;
    request.target = "sm_90a";
    request.source = "int a;";
    change(request);
    return static_cast<bool>(check_request(request));
  };
  EXPECT_TRUE(check([](auto&) {}));
  EXPECT_FALSE(check([](auto& r) { r.source.clear(); }));
  EXPECT_FALSE(check([](auto& r) { r.target.clear(); }));
  EXPECT_FALSE(check([](auto& r) { r.target = "sm_90a -I/etc"; }));
  EXPECT_FALSE(check([](auto& r) { r.program_name = "a\"\n#include"; }));
  EXPECT_FALSE(check([](auto& r) { r.program_name = "/etc/passwd"; }));
  EXPECT_FALSE(check([](auto& r) { r.headers = {{"/etc/passwd", ""}}; }));
  EXPECT_FALSE(check([](auto& r) { r.headers = {{"a/../../b", ""}}; }));
  EXPECT_FALSE(check([](auto& r) { r.headers = {{"a.h", ""}, {"a.h", "x"}}; }));
  EXPECT_FALSE(check([](auto& r) { r.entry_names = {"a b"}; }));
  EXPECT_FALSE(check([](auto& r) { r.output = BinaryKind::object; }));
  EXPECT_FALSE(check([](auto& r) { r.language = static_cast<Language>(9); }));
}

TEST(Message, RequestsAndBinariesSurviveTheWay) {
  CompileRequest request = full_request();
  Result<CompileRequest> back = parse_compile_request(serialize(request));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, request);

  Binary binary;
  binary.kind = BinaryKind::ptx;
  binary.bytes = std::string("\0\1\2", 3);
  binary.log = "log";
  binary.compiler = "NVRTC 13.0";
  binary.lowered_names = {{"f<3>", "_Z1f"}};
  binary.resources = {{"k", 32, 8, 1, 2, 1024, 3}};
  binary.performance_notes = {"note"};
  binary.compile_ms = 12.5;
  Result<Binary> binary_back = parse_binary(serialize(binary));
  ASSERT_TRUE(binary_back);
  EXPECT_EQ(serialize(*binary_back), serialize(binary));
  EXPECT_EQ(binary_back->resources, binary.resources);
  EXPECT_EQ(binary_back->compile_ms, 12.5);
}

TEST(Message, DamagedMessagesAreRefusedOrReadAsAnotherMessage) {
  std::string good = serialize(full_request());
  for (size_t size = 0; size < good.size(); ++size) {
    Result<CompileRequest> cut = parse_compile_request(good.substr(0, size));
    EXPECT_TRUE(!cut || serialize(*cut) != good) << size;
  }
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string bad = good;
    bad[random() % bad.size()] ^= static_cast<char>(1 << random() % 8);
    Result<CompileRequest> parsed = parse_compile_request(bad);
    refused += !parsed;
    EXPECT_TRUE(parsed || parsed.error().code == Code::kCorrupt);
  }
  EXPECT_GT(refused, 2000);
}

TEST(KeyText, EveryFieldThatChangesBytesChangesIt) {
  CompileRequest base = full_request();
  std::set<std::string> texts = {compile_key_text(base)};
  size_t count = 1;
  auto differs = [&](auto change) {
    CompileRequest request = base;
    change(request);
    texts.insert(compile_key_text(request));
    EXPECT_EQ(texts.size(), ++count);
  };
  differs([](auto& r) { r.language = Language::hip; });
  differs([](auto& r) { r.output = BinaryKind::ptx; });
  differs([](auto& r) { r.target = "sm_90"; });
  differs([](auto& r) { r.source += " "; });
  differs([](auto& r) { r.headers[0].text += " "; });
  differs([](auto& r) { r.headers[0].name = "c.h"; });
  differs([](auto& r) { r.headers.pop_back(); });
  differs([](auto& r) { r.options.push_back("-DM"); });
  differs([](auto& r) { std::swap(r.options[0], r.options[1]); });
  differs([](auto& r) { r.name_expressions.pop_back(); });
}

TEST(KeyText, LabelsAndDeadlinesDoNotChangeIt) {
  CompileRequest base = full_request(), other = full_request();
  other.program_name = "other";
  other.deadline_ms = 1;
  other.entry_names.clear();
  EXPECT_EQ(compile_key_text(base), compile_key_text(other));
}

}  // namespace
}  // namespace tilert
