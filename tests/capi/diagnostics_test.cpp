// print and assert as a host meets them: places and words, the interpreter's entries and the ring's, keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tilert.hpp"

namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

// Two blocks; with `unused` the numbers of what it is made of are others.
tl::Program told(const char* word, bool unused = false) {
  tl::Builder b("told");
  auto x = b.input("x", tl::f32, {2});
  b.grid({2}, [&](tl::Index i) {
    if (unused) b.shared(tl::f32, {8});
    b.label("first").print(word, x(i), " of {", i, "}");
    b.assert_(x(i) < 2, "too great");
  });
  return b.finish();
}

std::vector<tl::Diagnostic> interpreted(const tl::Program& program) {
  float x[] = {1.5f, 2.5f};
  std::vector<tl::Diagnostic> out;
  tl::interpret(program, {x}, {}, out);
  return out;
}

TEST(Diagnostics, NamePlaceLabelBlockAndValues) {
  const auto entries = interpreted(told("x is "));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_THAT(entries[0].message, AllOf(HasSubstr("diagnostics_test.cpp:"), HasSubstr("'first'"), EndsWith(": x is 1.5 of {0}")));
  EXPECT_THAT(entries[0].file, EndsWith("diagnostics_test.cpp"));
  EXPECT_EQ(entries[0].values, (std::vector<uint64_t>{0x3fc00000, 0}));
  EXPECT_FALSE(entries[0].failed);
  EXPECT_EQ(entries[1].block[0], 1u);
  EXPECT_TRUE(entries[2].failed);
  EXPECT_THAT(entries[2].message, EndsWith(": assertion failed: too great"));
  EXPECT_EQ(entries[2].line, entries[0].line + 1);
}

TEST(Diagnostics, WordsAreNoPartOfKeysButValuesAre) {
  const auto hash = [](const tl::Program& program) {
    const char* text = nullptr;
    EXPECT_EQ(tilert_program_hash(program.get(), &text, nullptr), TILERT_OK);
    return std::string(text);
  };
  EXPECT_EQ(hash(told("x is ")), hash(told("another word: ")));
  EXPECT_EQ(hash(told("x is ")), hash(told("x is ", true)));
  tl::Builder b("told");
  auto x = b.input("x", tl::f32, {2});
  b.grid({2}, [&](tl::Index i) {
    b.print("x is ", x(i));
    b.assert_(x(i) < 2, "too great");
  });
  EXPECT_NE(hash(told("x is ")), hash(b.finish()));
}

TEST(Diagnostics, OrdinalsAreTheSameWhateverIsDeclaredBesides) {
  const auto plain = interpreted(told("")), more = interpreted(told("", true));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(plain.at(i).ordinal, more.at(i).ordinal);
  EXPECT_NE(plain[0].ordinal, plain[2].ordinal);
}

TEST(Diagnostics, WhatWasToldBeforeAnErrorIsRead) {
  tl::Builder b("p");
  auto y = b.output("y", tl::f32, {4});
  b.grid({1}, [&](tl::Index i) {
    auto t = b.shared(tl::f32, {4});
    b.print("before");
    b.if_(i < 0, [&] { b.clear(t); });
    b.copy(t, y(0));
  });
  float data[4];
  std::vector<tl::Diagnostic> out;
  EXPECT_FALSE(tl::try_interpret(b.finish(), {data}, {}, out));
  ASSERT_EQ(out.size(), 1u);
}

// The interpreter runs loops over threads in another form, whose reports are still the program's.
TEST(Diagnostics, ThreadsTellWhichStatementOfTheProgramTheyAreAt) {
  tl::Builder b("p");
  auto x = b.input("x", tl::f32, {2});
  b.grid({1}, tl::threads_fixed(64), [&](tl::Index) {
    b.label("before").print("x is ", x(0));
    b.threads([&](tl::Index t) {
      b.if_(t > 61, [&] { b.label("within").print("thread ", t); });
      b.sync_threads();
      b.if_(t > 62, [&] { b.label("behind").assert_(t < 63, "too far"); });
    });
  });
  const auto entries = interpreted(b.finish());
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_THAT(entries[0].message, AllOf(HasSubstr("'before'"), EndsWith(": x is 1.5")));
  EXPECT_THAT(entries[1].message, AllOf(HasSubstr("'within'"), EndsWith(": thread 62")));
  EXPECT_THAT(entries[2].message, EndsWith(": thread 63"));
  EXPECT_THAT(entries[3].message, AllOf(HasSubstr("'behind'"), EndsWith(": assertion failed: too far")));
}

TEST(Diagnostics, ABraceAloneAndTooFewValuesAreRefused) {
  for (const char* message : {"{", "}", "{0}", "{} {}"}) {
    tilert_builder* builder = nullptr;
    ASSERT_EQ(tilert_builder_create("p", &builder), TILERT_OK);
    const tilert_expr one = tilert_builder_index(builder, 1);
    tilert_grid grid{};
    grid.struct_size = sizeof grid;
    grid.rank = 1;
    grid.extents = &one;
    tilert_expr block{};
    ASSERT_EQ(tilert_builder_begin_kernel(builder, &grid, &block), TILERT_OK);
    EXPECT_EQ(tilert_builder_print(builder, message, &block, 1), TILERT_INVALID_ARGUMENT) << message;
    tilert_builder_release(builder);
  }
}

}  // namespace
