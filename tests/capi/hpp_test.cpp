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

// The error of a program whose kernel is `body`, or what it stores to y[0] in the interpreter.
template <class F>
std::string stored(tl::DType dtype, F&& body) {
  tl::Builder b("p");
  auto y = b.output("y", dtype, {8});
  b.grid({1}, [&](tl::Index) { body(b, y); });
  auto program = b.try_finish();
  if (!program) return program.error().message();
  float f[8] = {};
  int32_t i[8] = {};
  tl::interpret(*program, {dtype == tl::f32 ? static_cast<void*>(f) : static_cast<void*>(i)});
  return dtype == tl::f32 ? std::to_string(f[0]) : std::to_string(i[0]);
}

TEST(Hpp, NumbersAmongThemselvesAreNumbers) {
  using tl::Expr;
  const auto f = [](const Expr& e) { return stored(tl::f32, [&](tl::Builder&, tl::Tile& y) { y(0) = e; }); };
  const auto i = [](const Expr& e) { return stored(tl::i32, [&](tl::Builder&, tl::Tile& y) { y(0) = e; }); };
  EXPECT_EQ(f(Expr(2) * 3), "6.000000");
  EXPECT_EQ(i(Expr(2) * 3 - 7), "-1");
  EXPECT_EQ(f(tl::max(1.f, 2.f)), "2.000000");
  EXPECT_EQ(f(tl::cast(tl::f32, 1)), "1.000000");
  EXPECT_EQ(f(tl::cast(tl::f32, 1) / tl::cast(tl::f32, 4)), "0.250000");
  EXPECT_EQ(i(tl::cast(tl::i32, 7) / 2), "3");
  EXPECT_EQ(i(tl::cast(tl::i32, INT32_MAX) + tl::cast(tl::i32, 1)), "-2147483648");  // a constant wraps at its width
  EXPECT_EQ(i(tl::reinterpret(tl::i32, tl::cast(tl::f32, 1))), "1065353216");
  EXPECT_EQ(f(-Expr(1.0)), "-1.000000");
  EXPECT_EQ(f(-Expr(tl::inf)), "-inf");
  EXPECT_EQ(f(tl::select(Expr(true) && Expr(false), 1.f, 2.f)), "2.000000");
  EXPECT_EQ(f(tl::select(Expr(3) < 4, 1, 2)), "1.000000");
  EXPECT_EQ(f(tl::sqrt(2.25) + 1), "2.500000");
  EXPECT_EQ(i(tl::ceildiv(Expr(9), 2)), "5");
  EXPECT_EQ(stored(tl::f32, [](tl::Builder& b, tl::Tile& y) {
    auto t = b.fragment(tl::f32, {Expr(4) * 2});
    b.fill(t, Expr(1) / 4.0);
    b.copy(t, y);
  }), "0.250000");
}

TEST(Hpp, NumbersThatDoNotFoldAreTheErrorOfTheirBuilder) {
  using tl::Expr;
  const auto f = [](const Expr& e) { return stored(tl::f32, [&](tl::Builder&, tl::Tile& y) { y(0) = e; }); };
  EXPECT_THAT(f(Expr(INT64_MAX) + 1), HasSubstr("ADD of 9223372036854775807 and 1 leaves int64"));
  EXPECT_THAT(f((Expr(INT64_MAX) + 1) * 2 - 5), HasSubstr("leaves int64"));
  EXPECT_THAT(f(tl::exp(1.0)), HasSubstr("EXP of literals only"));
  EXPECT_THAT(f(Expr(1) / 0), HasSubstr("the divisor is 0"));
  EXPECT_THAT(f(tl::cast(tl::i8, 300)), HasSubstr("the literal 300 is outside i8"));
  EXPECT_THAT(f(tl::reinterpret(tl::i32, 1)), HasSubstr("a literal has no bits of its own"));
  EXPECT_THAT(f(Expr() + 1), HasSubstr("operand 0 of ADD is none"));
  EXPECT_THAT(f(Expr(uint64_t{1} << 63)), HasSubstr("the literal 9223372036854775808 is beyond int64"));
  EXPECT_EQ(f(Expr(uint64_t{1} << 62)), "4611686018427387904.000000");
}

TEST(Hpp, ASizeHasOneExtentForEachDim) {
  const auto copied = [](auto part) {
    return stored(tl::f32, [&](tl::Builder& b, tl::Tile&) {
      auto t = b.fragment(tl::f32, {8, 8}), u = b.fragment(tl::f32, {8, 8});
      b.clear(t);
      b.copy(part(t), u(0, 0));
    });
  };
  EXPECT_THAT(copied([](tl::Tile& t) { return t(0, 0).size({8}); }), HasSubstr("1 extent for 2 offsets of "));
  EXPECT_THAT(copied([](tl::Tile& t) { return t(0, 0).size({4, 4, 4}); }), HasSubstr("3 extents for 2 offsets of "));
  EXPECT_THAT(copied([](tl::Tile& t) { return t(0, 0).size({1, 1, 1, 1, 1, 1, 1, 1, 1}); }), HasSubstr("9 extents for 2 offsets"));
  EXPECT_THAT(copied([](tl::Tile& t) { return t.size({8}); }), HasSubstr("a region of rank 1"));
  EXPECT_EQ(copied([](tl::Tile& t) { return t(0, 0).size({8}).size({8, 8}); }), "0.000000");  // the last one holds
  EXPECT_EQ(copied([](tl::Tile& t) { return t.size({4, 8}); }), "0.000000");
}

TEST(Hpp, NineExtentsOfAWholeAreAnError) {
  tl::Builder b("p");
  auto x = b.input("x", tl::f32, {8});
  b.grid({1}, [&](tl::Index) {
    auto t = b.fragment(tl::f32, {8});
    b.copy(x.size({1, 1, 1, 1, 1, 1, 1, 1, 1}), t);
  });
  auto program = b.try_finish();
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().message(), HasSubstr("rank 9"));
}

TEST(Numbers, NullAndTooManyOperandsAreRefused) {
  const tilert_number one{TILERT_INT64, 0, 1};
  tilert_number out{};
  EXPECT_EQ(tilert_number_op(TILERT_OP_NEG, &one, 1, nullptr), TILERT_INVALID_ARGUMENT);
  EXPECT_EQ(tilert_number_op(TILERT_OP_NEG, nullptr, 1, &out), TILERT_INVALID_ARGUMENT);
  EXPECT_EQ(tilert_number_op(TILERT_OP_NEG, &one, 4, &out), TILERT_INVALID_ARGUMENT);
  EXPECT_EQ(tilert_number_op(1000, &one, 1, &out), TILERT_INVALID_ARGUMENT);
  EXPECT_EQ(tilert_number_cast(TILERT_F32, nullptr, &out), TILERT_INVALID_ARGUMENT);
  EXPECT_EQ(tilert_number_cast(TILERT_TF32, &one, &out), TILERT_UNSUPPORTED);
  EXPECT_EQ(tilert_number_reinterpret(TILERT_F32, &one, nullptr), TILERT_INVALID_ARGUMENT);
  ASSERT_EQ(tilert_number_cast(TILERT_F32, &one, &out), TILERT_OK);
  EXPECT_EQ(out.dtype, TILERT_F32);
  EXPECT_EQ(out.typed, 1u);
  EXPECT_EQ(out.bits, 0x3f800000u);
}

}  // namespace
