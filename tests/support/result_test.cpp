// Results, statuses and the macros that pass errors up.
#include "support/result.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tilert {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return make_error(Code::kInvalidArgument, "{} is odd", value);
  return value / 2;
}

Status check(int value) {
  if (value < 0) return make_error(Code::kShape, "{} is negative", value);
  return {};
}

Result<int> quarter(int value) {
  TILERT_TRY(check(value));
  TILERT_ASSIGN(const int first, half(value));
  TILERT_ASSIGN(const int second, half(first));
  return second;
}

TEST(Result, HoldsAValueOrAnError) {
  auto good = half(8);
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, 4);
  auto bad = half(7);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Code::kInvalidArgument);
  EXPECT_EQ(bad.error().message, "7 is odd");
}

TEST(Result, MacrosReturnTheFirstErrorUnchanged) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(-4).error().code, Code::kShape);
  EXPECT_EQ(quarter(-4).error().message, "-4 is negative");
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
}

TEST(Result, CarriesWhatCanOnlyBeMoved) {
  auto make = [](int value) -> Result<std::unique_ptr<int>> { return std::make_unique<int>(value); };
  auto take = [&]() -> Result<int> {
    TILERT_ASSIGN(std::unique_ptr<int> pointer, make(5));
    return *pointer;
  };
  EXPECT_EQ(*take(), 5);
}

TEST(Result, KeepsSourceAndLogOfAnErrorOnTheWayUp) {
  auto fail = []() -> Status { return Error{Code::kCompile, "refused", "the source", "the log"}; };
  auto outer = [&]() -> Result<int> {
    TILERT_TRY(fail());
    return 1;
  };
  const auto result = outer();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().source, "the source");
  EXPECT_EQ(result.error().log, "the log");
}

TEST(Result, AResultOfAStringIsNotMistakenForAnError) {
  const Result<std::string> result = std::string("text");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->size(), 4u);
}

TEST(Status, IsSuccessByDefault) {
  EXPECT_TRUE(Status());
  EXPECT_FALSE(check(-1));
}

TEST(Code, EveryValueHasItsOwnName) {
  std::set<std::string> names;
  for (int value = 0; value <= 17; ++value) {
    const std::string name = code_name(static_cast<Code>(value));
    EXPECT_NE(name, "UNKNOWN") << value;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_STREQ(code_name(static_cast<Code>(18)), "UNKNOWN");
  EXPECT_STREQ(code_name(static_cast<Code>(-1)), "UNKNOWN");
}

}  // namespace
}  // namespace tilert
