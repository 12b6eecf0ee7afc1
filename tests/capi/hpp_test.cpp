// The C++ interface: what it builds, where it says calls stand, how errors come out with and without exceptions.
#include "tilert.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "programs.h"

namespace {

using testing::HasSubstr;

TEST(Hpp, TheMatmulOfTheLanguagePageBuilds) {
  const tl::Program program = tilert::test::matmul(tl::f16, 128, 128, 64);
  EXPECT_EQ(tilert_program_parameter_count(program.get()), 3u);
  EXPECT_STREQ(tilert_program_dim_name(program.get(), 2), "K");
  EXPECT_THAT(*program.text(), testing::AllOf(HasSubstr("gemm"), HasSubstr("program \"matmul\"")));
}

TEST(Hpp, AttentionBuildsAndItsTextReadsBackAsTheSameProgram) {
  const tl::Program program = tilert::test::attention(tl::bf16, 64, 64, 64);
  auto again = tl::Program::parse(*program.text());
  ASSERT_TRUE(again) << again.error().text();
  const char *a = nullptr, *b = nullptr;
  tilert_program_hash(program.get(), &a, nullptr);
  tilert_program_hash(again->get(), &b, nullptr);
  ASSERT_NE(a, nullptr);
  EXPECT_STREQ(a, b);
  EXPECT_EQ(std::string(a).size(), 64u);
}

TEST(Hpp, AttentionFitsInSixtyLines) {
  std::ifstream file(TILERT_SOURCE_DIR "/tests/capi/programs.h");
  std::string line;
  int lines = 0;
  while (std::getline(file, line) && line.find("inline tl::Program attention") == std::string::npos) {
  }
  while (file && line != "}") {
    ++lines;
    std::getline(file, line);
  }
  EXPECT_GT(lines, 20);
  EXPECT_LE(lines, 60);
}

TEST(Hpp, UnusedDeclarationsLabelsAndPlacesDoNotChangeTheHash) {
  const auto hash = [](bool extra) {
    tl::Builder b("p");
    auto N = b.dim("N");
    auto x = b.inout("x", tl::f32, {N});
    b.grid({N}, [&](tl::Index i) {
      if (extra) b.fragment(tl::f32, {64}, "unused");
      auto v = b.var(tl::f32);
      if (extra) b.label("a label");
      v = x(i);
      x(i) = v + 1;
    });
    auto program = b.finish();
    const char* text = nullptr;
    tilert_program_hash(program.get(), &text, nullptr);
    return std::string(text);
  };
  EXPECT_EQ(hash(true), hash(false));
}

TEST(Hpp, AnErrorNamesTheLineOfTheCallAndItsLabel) {
  tl::Builder b("p");
  auto x = b.input("x", tl::f32, {64});
  uint32_t line = 0;
  b.grid({1}, [&](tl::Index) {
    auto t = b.fragment(tl::f32, {64});
    line = __LINE__ + 1;
    b.label("write back").copy(t, x);
  });
  auto program = b.try_finish();
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().status(), TILERT_INVALID_PROGRAM);
  EXPECT_THAT(program.error().message(),
              testing::AllOf(HasSubstr("hpp_test.cpp:" + std::to_string(line)), HasSubstr("'write back': copy"),
                             HasSubstr("before anything was written")));
}

TEST(Hpp, AStoreNamesTheLineOfItsElement) {
  tl::Builder b("p");
  auto x = b.input("x", tl::f32, {64});
  uint32_t line = 0;
  b.grid({1}, [&](tl::Index i) {
    line = __LINE__ + 1;
    x(i) = 1.0;
  });
  auto program = b.try_finish();
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().message(), HasSubstr("hpp_test.cpp:" + std::to_string(line)));
}

TEST(Hpp, FinishThrowsWhatTryFinishReturns) {
  tl::Builder b("p");
  try {
    b.finish();
    FAIL();
  } catch (const tl::Exception& e) {
    EXPECT_EQ(e.error.status(), TILERT_INVALID_PROGRAM);
    EXPECT_THAT(e.what(), HasSubstr("has no kernel"));
  }
}

TEST(Hpp, TilesAndVarsAreHandlesThatCopiesShare) {
  tl::Builder b("p");
  auto y = b.output("y", tl::f32, {4});
  b.grid({1}, [&](tl::Index) {
    tl::Tile t;
    t = b.fragment(tl::f32, {4});  // names another tile; stores nothing
    b.fill(t, 2.0);
    auto v = b.var(tl::i32);
    v = 3;
    v += 1;
    auto w = b.var(tl::i32);
    w = v;
    b.copy(t, y);
  });
  const tl::Program program = b.finish();
  const std::string text = *program.text();
  size_t stores = 0;
  for (size_t at = text.find("store"); at != std::string::npos; at = text.find("store", at + 1)) ++stores;
  EXPECT_EQ(stores, 3u) << text;
}

}  // namespace
