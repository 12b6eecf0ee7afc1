// tilert_program_interpret: launch arguments on host memory, and their checks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "programs.h"

namespace {

using testing::HasSubstr;

TEST(Interpret, ScalesATensorWhoseLengthIsNoMultipleOfTheTile) {
  const tl::Program program = tilert::test::scale(tl::f32, 64);
  float x[100], y[101];
  for (int i = 0; i < 100; ++i) x[i] = static_cast<float>(i);
  y[100] = -7;
  const int64_t shape[] = {100};
  tilert_argument arguments[3] = {};
  for (int i = 0; i < 2; ++i) {
    arguments[i].kind = TILERT_ARGUMENT_TENSOR;
    arguments[i].dtype = TILERT_F32;
    arguments[i].data = i == 0 ? x : y;
    arguments[i].shape = shape;
    arguments[i].ndim = 1;
  }
  arguments[2].kind = TILERT_ARGUMENT_SCALAR;
  arguments[2].dtype = TILERT_F32;
  arguments[2].bits = 0x40400000;  // 3
  tilert_error* error = nullptr;
  ASSERT_EQ(tilert_program_interpret(program.get(), arguments, 3, nullptr, 0, &error), TILERT_OK)
      << tilert_error_message(error);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(y[i], 3.f * static_cast<float>(i));
  EXPECT_EQ(y[100], -7);
}

TEST(Interpret, WrongArgumentsAreNamed) {
  const tl::Program program = tilert::test::scale(tl::f32, 64);
  const auto refusal = [&](const tilert_argument* arguments, uint32_t count) {
    tilert_error* error = nullptr;
    EXPECT_NE(tilert_program_interpret(program.get(), arguments, count, nullptr, 0, &error), TILERT_OK);
    const std::string text = tilert_error_message(error);
    tilert_error_release(error);
    return text;
  };
  float x[4] = {};
  const int64_t shape[] = {4}, other[] = {5};
  tilert_argument tensor{};
  tensor.kind = TILERT_ARGUMENT_TENSOR;
  tensor.dtype = TILERT_F32;
  tensor.data = x;
  tensor.ndim = 1;
  tensor.shape = shape;
  tilert_argument scalar{};
  scalar.kind = TILERT_ARGUMENT_SCALAR;
  scalar.dtype = TILERT_F32;
  tilert_argument arguments[3] = {tensor, tensor, scalar};
  EXPECT_THAT(refusal(arguments, 2), HasSubstr("2 arguments; the program takes 3"));
  EXPECT_THAT(refusal(nullptr, 3), HasSubstr("0 arguments"));
  arguments[2].dtype = TILERT_INT32;
  EXPECT_THAT(refusal(arguments, 3), HasSubstr("'factor' is f32"));
  arguments[2] = scalar;
  arguments[1].shape = other;
  EXPECT_THAT(refusal(arguments, 3), HasSubstr("'y': dim 0 is 4"));
  arguments[1].shape = nullptr;
  arguments[1].ndim = 0;
  arguments[1].data = nullptr;
  EXPECT_THAT(refusal(arguments, 3), HasSubstr("'y' is NULL and has elements"));
}

}  // namespace
