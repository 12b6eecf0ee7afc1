// tilert_program_interpret: launch arguments on host memory, and their checks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

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

tilert_argument tensor(std::vector<float>& data, const std::vector<int64_t>& shape) {
  tilert_argument out{};
  out.kind = TILERT_ARGUMENT_TENSOR;
  out.dtype = TILERT_F32;
  out.data = data.data();
  out.shape = shape.data();
  out.ndim = static_cast<int32_t>(shape.size());
  return out;
}

TEST(Interpret, MultipliesSmallIntegersExactlyWhateverTheSizes) {
  const tl::Program program = tilert::test::matmul(tl::f32, 16, 16, 8);
  const std::vector<int64_t> a_shape{19, 13}, b_shape{13, 21}, c_shape{19, 21};
  std::vector<float> a(19 * 13), b(13 * 21), c(19 * 21, -99);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  const tilert_argument arguments[] = {tensor(a, a_shape), tensor(b, b_shape), tensor(c, c_shape)};
  tilert_error* error = nullptr;
  ASSERT_EQ(tilert_program_interpret(program.get(), arguments, 3, nullptr, 0, &error), TILERT_OK)
      << tilert_error_message(error);
  for (size_t i = 0; i < 19; ++i) {
    for (size_t j = 0; j < 21; ++j) {
      float sum = 0;
      for (size_t k = 0; k < 13; ++k) sum += a[i * 13 + k] * b[k * 21 + j];
      EXPECT_EQ(c[i * 21 + j], std::max(sum, 0.f)) << i << ", " << j;
    }
  }
}

TEST(Interpret, AttendsCausallyAsFloat64DoesForALengthThatIsNoMultipleOfTheTile) {
  constexpr int64_t length = 37, d = 16;
  const tl::Program program = tilert::test::attention(tl::f32, 16, 8, d);
  const std::vector<int64_t> shape{1, length, d};
  std::vector<float> q(length * d), k(length * d), v(length * d), o(length * d, NAN);
  uint32_t state = 1;
  for (auto* data : {&q, &k, &v})
    for (float& x : *data) x = static_cast<float>((state = state * 1664525 + 1013904223) >> 8) / 8388608.f - 1;
  const double scale = 0.25;
  tilert_argument factor{};
  factor.kind = TILERT_ARGUMENT_SCALAR;
  factor.dtype = TILERT_F32;
  const auto wide = static_cast<float>(scale / std::log(2.0));
  std::memcpy(&factor.bits, &wide, sizeof wide);
  const tilert_argument arguments[] = {tensor(q, shape), tensor(k, shape), tensor(v, shape), tensor(o, shape), factor};
  tilert_error* error = nullptr;
  ASSERT_EQ(tilert_program_interpret(program.get(), arguments, 5, nullptr, 0, &error), TILERT_OK)
      << tilert_error_message(error);
  for (int64_t i = 0; i < length; ++i) {
    std::vector<double> weight(i + 1);
    double sum = 0;
    for (int64_t j = 0; j <= i; ++j) {
      for (int64_t e = 0; e < d; ++e) weight[j] += double{q[i * d + e]} * k[j * d + e] * scale;
      sum += weight[j] = std::exp(weight[j]);
    }
    for (int64_t e = 0; e < d; ++e) {
      double wanted = 0;
      for (int64_t j = 0; j <= i; ++j) wanted += weight[j] / sum * v[j * d + e];
      EXPECT_NEAR(o[i * d + e], wanted, 4e-6) << i << ", " << e;
    }
  }
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

TEST(Interpret, ADimInNoneOfItsBucketsIsNotReadyAndTheyAreNamed) {
  const tl::Program program = tilert::test::copy_of_rows(tl::DimOptions().range(0, 8).multiple(12));
  for (const int64_t n : {0, 1, 8, 9, 12, 13, 24}) {
    std::vector<float> x(static_cast<size_t>(3 * n), 2), y(x.size(), -1);
    const std::vector<int64_t> shape{3, n};
    const tilert_argument arguments[] = {tensor(x, shape), tensor(y, shape)};
    const bool taken = n <= 8 || n % 12 == 0;
    for (const int64_t* dims : {static_cast<const int64_t*>(nullptr), &n}) {
      tilert_error* error = nullptr;
      EXPECT_EQ(tilert_program_interpret(program.get(), arguments, 2, dims, dims ? 1 : 0, &error), taken ? TILERT_OK : TILERT_NOT_READY) << n;
      if (!taken) {
        EXPECT_THAT(tilert_error_message(error), HasSubstr("in none of its buckets: 0 to 8, multiples of 12")) << n;
      }
      tilert_error_release(error);
    }
    EXPECT_EQ(y, std::vector<float>(y.size(), taken ? 2 : -1)) << n;
  }
}

}  // namespace
