// LLVM IR as a compile request: what the request may say, and what comes back.
#include "compiler/llvm_compiler.h"

#include "compiler/llvm_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilert {
namespace {

using ::testing::HasSubstr;

class LlvmCompilerTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef TILERT_HAVE_LLVM
    GTEST_SKIP() << "built without the CPU back end";
#endif
    auto opened = open_llvm();
    ASSERT_TRUE(opened) << opened.error().message;
    compiler_ = *opened;
    request_.language = Language::llvm_ir;
    request_.output = BinaryKind::object;
    request_.target = "x86_64-unknown-linux-gnu:x86-64";
    request_.program_name = "scale";
    request_.source = "define float @scale(float %x) {\n  %y = fmul float %x, 2.0\n  ret float %y\n}\n";
    request_.entry_names = {"scale"};
  }
  Error refusal() {
    auto result = compiler_->compile(request_, {});
    EXPECT_FALSE(result);
    return result ? Error{} : result.error();
  }
  std::shared_ptr<Compiler> compiler_;
  CompileRequest request_;
};

TEST_F(LlvmCompilerTest, TellsWhoItIs) {
  EXPECT_EQ(compiler_->language(), Language::llvm_ir);
  EXPECT_THAT(compiler_->identity(), HasSubstr("llvm 19"));
  EXPECT_THAT(compiler_->location(), HasSubstr("libtilert_llvm.so"));
}

TEST_F(LlvmCompilerTest, ABinaryCarriesBytesKindAndCompiler) {
  auto binary = compiler_->compile(request_, {});
  ASSERT_TRUE(binary) << binary.error().message;
  EXPECT_EQ(binary->kind, BinaryKind::object);
  EXPECT_EQ(binary->bytes.substr(1, 3), "ELF");
  EXPECT_EQ(binary->compiler, compiler_->identity());
}

TEST_F(LlvmCompilerTest, TheBytesDoNotDependOnTheProgramsName) {
  auto first = compiler_->compile(request_, {});
  request_.program_name = "another";
  auto second = compiler_->compile(request_, {});
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_EQ(first->bytes, second->bytes);
}

TEST_F(LlvmCompilerTest, AnEntryThatIsNotThereIsNamed) {
  request_.entry_names = {"scale", "shift"};
  const Error error = refusal();
  EXPECT_EQ(error.code, Code::kCompile);
  EXPECT_THAT(error.message, HasSubstr("@shift"));
}

TEST_F(LlvmCompilerTest, BadTextGivesLogAndSource) {
  request_.source = "define float @scale(float %x) {\n  ret double 0.0\n}\n";
  const Error error = refusal();
  EXPECT_EQ(error.code, Code::kCompile);
  EXPECT_THAT(error.log, HasSubstr("scale:2:"));
  EXPECT_EQ(error.source, request_.source);
}

TEST_F(LlvmCompilerTest, OptionsOutputsAndTargetsAreChecked) {
  request_.options = {"--prefer-vector-width=512", "--vectorize-loops"};
  EXPECT_TRUE(compiler_->compile(request_, {}));
  request_.options = {"-march=native"};
  EXPECT_THAT(refusal().message, HasSubstr("-march=native"));
  request_.options.clear();
  request_.target = "z80";
  EXPECT_THAT(refusal().message, HasSubstr("z80"));
  request_.target = "not a target";
  EXPECT_EQ(refusal().code, Code::kInvalidArgument);
  request_.target = "x86_64-unknown-linux-gnu";
  request_.output = BinaryKind::cubin;
  EXPECT_EQ(refusal().code, Code::kUnsupported);
}

TEST_F(LlvmCompilerTest, ACancelledOrLateRequestIsNotCompiled) {
  CompileControl control;
  std::stop_source stop;
  stop.request_stop();
  control.cancel = stop.get_token();
  auto cancelled = compiler_->compile(request_, control);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, Code::kCancelled);
  CompileControl late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  auto timeout = compiler_->compile(request_, late);
  ASSERT_FALSE(timeout);
  EXPECT_EQ(timeout.error().code, Code::kTimeout);
}

}  // namespace
}  // namespace tilert
