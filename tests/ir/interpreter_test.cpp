// The interpreter against direct computations, and every error that it can tell.
#include "ir/interpreter.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <random>

#include "ir/evaluate.h"
#include "ir/interpreter_support.h"
#include "ir/sample_programs.h"

namespace tilert::ir {
namespace {

using samples::error_of;
using samples::program;
using samples::tensor;

// One f32 tensor A [n] in and one B [m] out, a block; `body` may name %i %j loops, %v %w lets, @s shared [16], @f
// fragment [4, 4].
std::string with_body(const std::string& body) {
  return "var %N dim index\nvar %M dim index\nvar %x block index\nvar %i loop index\nvar %j loop index\nvar %v let "
         "f32\nvar %w let f32\n"
         "dim %N\ndim %M\n"
         "buffer @A global f32 [%N] in argument 0\nbuffer @B global f32 [%M] inout argument 1\nbuffer @s shared f32 "
         "[16]\n"
         "buffer @f fragment f32 [4, 4]\nbuffer @r fragment f32 [4]\nbuffer @acc var f32 []\n"
         "parameter tensor @A \"A\"\nparameter tensor @B \"B\"\nkernel \"k\" (%x) grid [1] {\n" +
         body + "\n}\n";
}

struct Outcome {
  std::string error;
  std::vector<float> out;
};
Outcome run(const std::string& body, std::vector<float> in, std::vector<float> out) {
  const Program p = program(with_body(body));
  HostArguments arguments{{tensor(in), tensor(out)},
                          {static_cast<int64_t>(in.size()), static_cast<int64_t>(out.size())}};
  return {error_of(p, arguments), out};
}
std::vector<float> ramp(size_t n) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = static_cast<float>(i + 1);
  return v;
}

TEST(Interpreter, GemmWithRaggedEdgesEqualsTheDirectSum) {
  const int64_t m = 70, n = 33, k = 50;
  std::mt19937 random(1);
  std::vector<uint16_t> a(m * k), b(k * n);
  for (auto& v : a) v = f32_to_f16(static_cast<float>(static_cast<int>(random() % 9) - 4));
  for (auto& v : b) v = f32_to_f16(static_cast<float>(static_cast<int>(random() % 9) - 4));
  std::vector<float> c(m * n, -77);
  HostArguments arguments{{tensor(a), tensor(b), tensor(c)}, {m, n, k}};
  ASSERT_EQ(error_of(samples::gemm(DType::f16, 32, 16, 16), arguments), "no error");
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t s = 0; s < k; ++s) sum += f16_to_f32(a[i * k + s]) * f16_to_f32(b[s * n + j]);
      ASSERT_EQ(c[i * n + j], std::max(sum, 0.f)) << i << " " << j;
    }
}

TEST(Interpreter, IntegerGemmIsExactAndWraps) {
  const int64_t m = 16, n = 16, k = 64;
  std::mt19937 random(2);
  std::vector<int8_t> a(m * k), b(k * n);
  for (auto& v : a) v = static_cast<int8_t>(random());
  for (auto& v : b) v = static_cast<int8_t>(random());
  std::vector<int32_t> c(m * n);
  HostArguments arguments{{tensor(a), tensor(b), tensor(c)}, {m, n, k}};
  ASSERT_EQ(error_of(samples::gemm(DType::int8, 16, 16, 32), arguments), "no error");
  for (int64_t i = 0; i < m * n; ++i) {
    int32_t sum = 0;
    for (int64_t s = 0; s < k; ++s) sum += a[i / n * k + s] * b[s * n + i % n];
    ASSERT_EQ(c[i], std::max(sum, 0));
  }
}

TEST(Interpreter, AnEmptyGridAndAnEmptySumAreSuccesses) {
  std::vector<uint16_t> none;
  std::vector<float> c(4 * 4, 5);
  HostArguments empty{{tensor(none), tensor(none), tensor(c)}, {0, 0, 7}};
  EXPECT_EQ(error_of(samples::gemm(DType::f16, 16, 16, 16), empty), "no error");
  HostArguments no_k{{tensor(none), tensor(none), tensor(c)}, {4, 4, 0}};
  EXPECT_EQ(error_of(samples::gemm(DType::f16, 16, 16, 16), no_k), "no error");
  EXPECT_EQ(c, std::vector<float>(16, 0.f));
}

TEST(Interpreter, CopiesPadWithTheSafeValueAndDropWhatIsOutside) {
  EXPECT_EQ(
      run("alloc @s copy @A[2:16] -> @s[0:16] safe f32(9.0) copy @s[0:16] -> @B[-1:16]", ramp(5), std::vector<float>(6))
          .out,
      (std::vector<float>{4, 5, 9, 9, 9, 9}));
  EXPECT_EQ(run("alloc @s copy @A[0:16] -> @s[0:16] valid [2] copy @s[0:16] -> @B[0:16] valid [3]", ramp(16),
                std::vector<float>(5, -1))
                .out,
            (std::vector<float>{1, 2, 0, -1, -1}));
}

TEST(Interpreter, ACopyWithinATileReadsBeforeItWrites) {
  EXPECT_EQ(run("alloc @s copy @A[0:16] -> @s[0:16] copy @s[0:15] -> @s[1:15] copy @s[0:4] -> @B[0:4]", ramp(16),
                std::vector<float>(4))
                .out,
            (std::vector<float>{1, 1, 2, 3}));
}

TEST(Interpreter, ReductionsFoldEachElementOnceAndASeedOnce) {
  const std::string load =
      "alloc @s alloc @f alloc @r copy @A[0:16] -> @s[0:16] "
      "parallel (%i : 4, %j : 4) { let %v = load @s[add(mul(%i, 4), %j)] store @f[%i, %j] = %v } ";
  EXPECT_EQ(
      run(load + "reduce sum @f[0:4, 0:4] -> @r[0:4] dim 1 copy @r[0:4] -> @B[0:4]", ramp(16), std::vector<float>(4))
          .out,
      (std::vector<float>{10, 26, 42, 58}));
  EXPECT_EQ(
      run(load + "reduce sum @f[0:4, 0:4] -> @r[0:4] dim 0 copy @r[0:4] -> @B[0:4]", ramp(16), std::vector<float>(4))
          .out,
      (std::vector<float>{28, 32, 36, 40}));
  EXPECT_EQ(
      run(load +
              "fill @r[0:4] = f32(100.0) reduce max @f[0:4, 0:2] -> @r[0:4] dim 1 accumulate copy @r[0:4] -> @B[0:4]",
          ramp(16), std::vector<float>(4))
          .out,
      (std::vector<float>(4, 100)));
  EXPECT_EQ(
      run(load + "reduce min @f[0:4, 0:0] -> @r[0:4] dim 1 copy @r[0:4] -> @B[0:4]", ramp(16), std::vector<float>(4))
          .out,
      (std::vector<float>(4, INFINITY)));
}

TEST(Interpreter, HalfReductionsAccumulateInSinglePrecision) {
  const Program p = program(
      "var %x block index\nbuffer @A global f16 [4096] in argument 0\nbuffer @B global f16 [1] out argument 1\n"
      "buffer @f fragment f16 [4096]\nbuffer @r fragment f16 [1]\nparameter tensor @A\nparameter tensor @B\n"
      "kernel \"k\" (%x) grid [1] { alloc @f alloc @r copy @A[0:4096] -> @f[0:4096] reduce sum @f[0:4096] -> @r[0:1] "
      "dim 0 "
      "copy @r[0:1] -> @B[0:1] }");
  std::vector<uint16_t> a(4096, f32_to_f16(1)), b(1);
  ASSERT_EQ(error_of(p, {{tensor(a), tensor(b)}, {}}), "no error");
  EXPECT_EQ(f16_to_f32(b[0]), 4096.f) << "in half precision it would stop at 2048";
}

TEST(Interpreter, LoopsCountUpAndDownAndRunZeroTimes) {
  const std::string start = "alloc @acc fill @acc[] = f32(0.0) ";
  const std::string end = " let %w = load @acc[] store @B[0] = %w";
  const auto sum = [&](const std::string& loop) {
    return run(start + "for " + loop + " { let %v = load @acc[] store @acc[] = fma(%v, f32(10.0), cast<f32>(%i)) }" +
                   end,
               ramp(1), {0})
        .out[0];
  };
  EXPECT_EQ(sum("serial %i = 1 to 4"), 123);
  EXPECT_EQ(sum("serial %i = 4 to 1 step -1"), 432);
  EXPECT_EQ(sum("serial %i = 5 to 0 step -2"), 531);
  EXPECT_EQ(sum("pipelined %i = 1 to 3 stages 3"), 12);
  EXPECT_EQ(sum("serial %i = 4 to 4"), 0);
  EXPECT_EQ(sum("serial %i = 4 to 1"), 0);
}

TEST(Interpreter, ALetKeepsTheOldValue) {
  EXPECT_EQ(run("let %v = load @A[0] store @B[0] = f32(7.0) let %w = load @B[0] store @B[0] = f32(0.0) store @B[1] = "
                "add(%v, %w)",
                {1}, {0, 0})
                .out,
            (std::vector<float>{0, 8}));
}

TEST(Interpreter, ElementsOutsideOfATensorReadZeroAndStoresThereAreDropped) {
  EXPECT_EQ(
      run("let %v = load @A[5] let %w = load @A[-1] store @B[2] = f32(9.0) store @B[0] = add(%v, %w)", {1}, {3, 4}).out,
      (std::vector<float>{0, 4}));
}

TEST(Interpreter, StridesOfTheProgramAndOfTheArgumentAreFollowed) {
  const Program p = program(
      "var %x block index\nbuffer @A global f32 [2, 3] strides [1, 2] strided in argument 0\nbuffer @B global f32 [2, "
      "3] out argument 1\n"
      "buffer @s shared f32 [2, 3]\nparameter tensor @A\nparameter tensor @B\n"
      "kernel \"k\" (%x) grid [1] { alloc @s copy @A[0:2, 0:3] -> @s[0:2, 0:3] copy @s[0:2, 0:3] -> @B[0:2, 0:3] }");
  std::vector<float> a = ramp(6), b(6);
  ASSERT_EQ(error_of(p, {{tensor(a), tensor(b)}, {}}), "no error");
  EXPECT_EQ(b, (std::vector<float>{1, 3, 5, 2, 4, 6}));
  HostArguments overridden{{tensor(a), tensor(b)}, {}};
  overridden.parameters[0].strides = {3, 1};
  ASSERT_EQ(error_of(p, overridden), "no error");
  EXPECT_EQ(b, ramp(6));
}

TEST(Interpreter, ReadingWhatWasNeverWrittenNamesBufferAndOperation) {
  Outcome r = run("1: alloc @s 2: fill @s[0:15] = f32(1.0) 3: copy @s[0:16] -> @B[0:16]", {1}, {0});
  EXPECT_EQ(
      r.error,
      "operation 3: element 15 of 's' is read, but nothing was ever written there; fill, clear or copy into it first");
  r =
      run("alloc @acc for serial %i = 0 to 2 { alloc @acc if eq(%i, 0) { store @acc[] = f32(1.0) } 9: let %v = load "
          "@acc[] }",
          {1}, {0});
  EXPECT_NE(r.error.find("operation 9: element 0 of 'acc' is read"), std::string::npos)
      << "alloc makes it undefined again: " << r.error;
}

TEST(Interpreter, LeavingATileNamesTheElement) {
  EXPECT_EQ(run("4: fill @s[4:16] = f32(0.0)", {1}, {0}).error, "operation 4: [16] is outside of 's'");
  EXPECT_EQ(run("alloc @s fill @s[0:16] = f32(0.0) 5: let %v = load @s[-1]", {1}, {0}).error,
            "operation 5: [-1] is outside of 's'");
}

TEST(Interpreter, PointsOfAParallelMayNotTouchEachOthersElements) {
  EXPECT_NE(run("alloc @s parallel (%i : 4) { store @s[div(%i, 2)] = f32(1.0) }", {1}, {0})
                .error.find("write each element from one point"),
            std::string::npos);
  EXPECT_NE(
      run("alloc @s fill @s[0:16] = f32(0.0) parallel (%i : 4) { let %v = load @s[add(%i, 1)] store @s[%i] = %v }", {1},
          {0})
          .error.find("'s'"),
      std::string::npos);
  EXPECT_EQ(run("alloc @s fill @s[0:16] = f32(0.0) parallel (%i : 4) { let %v = load @s[%i] store @s[%i] = %v let %w = "
                "load @s[9] }",
                {1}, {0})
                .error,
            "no error");
}

TEST(Interpreter, PrivateStorageInsideAParallelStartsAnew) {
  EXPECT_EQ(run("parallel (%i : 3) { alloc @acc store @acc[] = cast<f32>(%i) let %v = load @acc[] store @B[%i] = %v }",
                {1}, {0, 0, 0})
                .out,
            (std::vector<float>{0, 1, 2}));
}

TEST(Interpreter, ArgumentsAreCheckedBeforeAnythingRuns) {
  const Program p = samples::gemm(DType::f16, 16, 16, 16);
  std::vector<uint16_t> small(10), b(64 * 64);
  std::vector<float> c(64 * 64);
  EXPECT_EQ(error_of(p, {{tensor(small), tensor(b), tensor(c)}, {64, 64, 64}}),
            "'A' needs 8192 bytes, the argument has 20");
  EXPECT_EQ(error_of(p, {{tensor(small)}, {64, 64, 64}}),
            "the program has 3 parameters and 3 dims, 1 and 3 were given");
  EXPECT_EQ(error_of(p, {{tensor(b), tensor(b), tensor(c)}, {64, -1, 64}}), "dim 'N' is -1");
}

TEST(Interpreter, ALoopThatNeverEndsIsStopped) {
  const Program p = program(with_body("for serial %i = 0 to 1000000000000 { store @B[0] = f32(0.0) }"));
  std::vector<float> a(1), b(1);
  const HostArguments arguments{{tensor(a), tensor(b)}, {1, 1}};
  const Status status = interpret(p, arguments, {.max_statements = 10000});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kTimeout);
}

TEST(Interpreter, ALoopOfLargeTilesIsStoppedByWhatItGoesOver) {
  std::vector<uint16_t> a(64 * 64, f32_to_f16(1)), b(64 * 64, f32_to_f16(2));
  std::vector<float> c(64 * 64);
  const HostArguments arguments{{tensor(a), tensor(b), tensor(c)}, {64, 64, 64}};
  const Program p = samples::gemm(DType::f16, 64, 64, 64);
  EXPECT_TRUE(interpret(p, arguments, {.max_elements = 64 * 64 * 64 + 12 * 64 * 64}));
  const Status status = interpret(p, arguments, {.max_elements = 64 * 64 * 64});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kTimeout);
}

TEST(Interpreter, TheCallersRoundingModeChangesNothing) {
  const std::string body = "parallel (%i : 4) { let %v = load @A[%i] store @B[%i] = div(exp(%v), f32(3.0)) }";
  const auto want = run(body, {0.1f, 0.2f, 0.3f, 0.7f}, std::vector<float>(4)).out;
  std::fesetround(FE_UPWARD);
  const auto got = run(body, {0.1f, 0.2f, 0.3f, 0.7f}, std::vector<float>(4)).out;
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(got, want);
}

TEST(Interpreter, GemmCastsMixedOperandsAndSkipsCWhenItOverwrites) {
  const Program p = program(
      "var %x block index\nbuffer @A global f32 [2, 2] in argument 0\nbuffer @B global f16 [2, 2] in argument "
      "1\nbuffer @C global f32 [2, 2] out argument 2\n"
      "buffer @a fragment f32 [2, 2]\nbuffer @b shared f16 [2, 2]\nbuffer @c fragment f32 [1, 2, 2]\nparameter tensor "
      "@A\nparameter tensor @B\nparameter tensor @C\n"
      "kernel \"k\" (%x) grid [1] { alloc @a alloc @b alloc @c copy @A[0:2, 0:2] -> @a[0:2, 0:2] copy @B[0:2, 0:2] -> "
      "@b[0:2, 0:2] "
      "gemm @a[0:2, 0:2], @b[0:2, 0:2], @c[0:1, 0:2, 0:2] trans_b accumulate false copy @c[0:1, 0:2, 0:2] -> @C[0:2, "
      "0:2] }");
  std::vector<float> a = {1.0001f, 2, 3, 4}, c(4);
  std::vector<uint16_t> b = {f32_to_f16(1), f32_to_f16(10), f32_to_f16(100), f32_to_f16(1000)};
  ASSERT_EQ(error_of(p, {{tensor(a), tensor(b), tensor(c)}, {}}), "no error");
  EXPECT_EQ(c, (std::vector<float>{21, 2100, 43, 4300})) << "1.0001 is 1 in half precision";
}

TEST(Interpreter, ABlockOf64CubedIsFast) {
  std::vector<uint16_t> a(64 * 64, f32_to_f16(1)), b(64 * 64, f32_to_f16(2));
  std::vector<float> c(64 * 64);
  const HostArguments arguments{{tensor(a), tensor(b), tensor(c)}, {64, 64, 64}};
  // Statements are what costs: one each for the tile operations, two for a point of the loop over the result.
  const Status status = interpret(samples::gemm(DType::f16, 64, 64, 64), arguments, {.max_statements = 9000});
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(c, std::vector<float>(64 * 64, 128.f));
}

}  // namespace
}  // namespace tilert::ir
