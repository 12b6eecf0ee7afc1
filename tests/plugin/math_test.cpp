// The elementary functions against float64 libm: over all exponents, near their joints, and at the ends.
#include "codegen/llvm_math.h"

#include "plugin/run_text.h"

#include <bit>
#include <cmath>
#include <limits>

namespace tilert::codegen {
namespace {

using test::Machine;

struct Row {
  MathFunction function;
  const char* name;
  double bound;
  double (*exact)(double);
};

double rsqrt(double x) { return 1 / std::sqrt(x); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
constexpr auto kNoReference = static_cast<double (*)(double)>(nullptr);

namespace exact {
double exp(double x) { return std::exp(x); }
double exp2(double x) { return std::exp2(x); }
double log(double x) { return std::log(x); }
double log2(double x) { return std::log2(x); }
double tanh(double x) { return std::tanh(x); }
double erf(double x) { return std::erf(x); }
double sin(double x) { return std::sin(x); }
double cos(double x) { return std::cos(x); }
constexpr auto rsqrt = codegen::rsqrt;
constexpr auto sigmoid = codegen::sigmoid;
constexpr auto pow = kNoReference;  // two arguments: has a test of its own
}  // namespace exact

const Row kRows[] = {
#define TILERT_ULP(name, bound, f64_bound) {MathFunction::name, #name, bound, exact::name},
#include "codegen/ulp.def"
};

// @map_<name>_<lanes>(in, out, n); n a multiple of the lanes. Two arguments: x and y alternate in blocks of n.
std::string map_text(const CpuIsa& isa, MathFunction function, int lanes) {
  LlvmText t;
  const std::string v = vector_type(lanes, "float"), name = math_name(function, lanes);
  t.begin(fmt::format("define void @map_{}(ptr noalias %in, ptr noalias %out, i64 %n)", name));
  emit_loop(t, "0", "%n", lanes, [&](const std::string& i) {
    const std::string x = t.let("load {}, ptr {}, align 4", v, t.let("getelementptr inbounds float, ptr %in, i64 {}", i));
    std::string second;
    if (function == MathFunction::pow) {
      const std::string j = t.let("add i64 {}, %n", i);
      const std::string y = t.let("load {}, ptr {}, align 4", v, t.let("getelementptr inbounds float, ptr %in, i64 {}", j));
      second = fmt::format(", {} {}", v, y);
    }
    const std::string y = t.let("call {0} @{1}({0} {2}{3})", v, name, x, second);
    t.put("store {} {}, ptr {}, align 4", v, y, t.let("getelementptr inbounds float, ptr %out, i64 {}", i));
  });
  t.put("ret void");
  t.end();
  return emit_math(isa, function, lanes) + t.take();
}

// The error of `got` in ulp of f32 at `exact`; infinity where a special value is wrong.
double ulp_error(float got, double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  if (std::fabs(exact) >= 0x1.ffffffp127) {
    return std::isinf(got) && std::signbit(got) == std::signbit(exact) ? 0 : std::numeric_limits<double>::infinity();
  }
  if (!std::isfinite(got)) return std::fabs(exact) > 0x1.fffffep127 * (1 - 0x1p-22) ? 1 : std::numeric_limits<double>::infinity();
  const int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
  return std::fabs(got - exact) / std::ldexp(1.0, exponent - 23);
}

class MathTextTest : public ::testing::TestWithParam<Machine> {
 protected:
  void build(std::initializer_list<int> lanes) {
    std::string text;
    for (const Row& row : kRows)
      for (int n : lanes) text += map_text(GetParam().isa, row.function, n);
    object_ = test::build_or_skip(GetParam(), text);
    if (object_ == nullptr && !HasFailure()) GTEST_SKIP() << "compiled; this machine cannot run it";
  }
  std::vector<float> map(MathFunction function, int lanes, const std::vector<float>& in, size_t count) {
    std::vector<float> out(count);
    auto* f = test::function<void(const float*, float*, int64_t)>(*object_, "map_" + math_name(function, lanes));
    f(in.data(), out.data(), static_cast<int64_t>(count));
    return out;
  }
  std::shared_ptr<LoadedObject> object_;
};

INSTANTIATE_TEST_SUITE_P(Machines, MathTextTest, ::testing::ValuesIn(test::machines()), test::machine_name);

// Every exponent and both signs, then the neighbourhoods where ranges meet; a multiple of 16 values.
std::vector<float> sweep() {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 2003) values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (float joint : {0.0f, 0.34657f, 0.5f, 0.625f, 0.70710678f, 0.9375f, 1.0f, 1.41421356f, 3.9375f, 4.0f, 9.0f, 16.6f,
                      87.3f, 88.72f, 103.9f, 127.99f, 126.0f, 149.5f, 4096.0f, 8192.0f, 32768.0f, 3.14159265f, 1.57079633f})
    for (int step = -200; step <= 200; ++step)
      for (float sign : {1.0f, -1.0f}) values.push_back(sign * std::bit_cast<float>(std::bit_cast<uint32_t>(joint) + static_cast<uint32_t>(step)));
  for (int i = 1; i < 20000; ++i) values.push_back(static_cast<float>(i * 1.5707963267948966));
  while (values.size() % 16 != 0) values.push_back(1);
  return values;
}

TEST_P(MathTextTest, ErrorsStayWithinTheTable) {
  build({GetParam().isa.lanes});
  if (object_ == nullptr) return;
  const std::vector<float> in = sweep();
  for (const Row& row : kRows) {
    if (row.exact == nullptr) continue;
    const std::vector<float> out = map(row.function, GetParam().isa.lanes, in, in.size());
    double worst = 0;
    float where = 0, got = 0;
    for (size_t i = 0; i < in.size(); ++i) {
      const double error = ulp_error(out[i], row.exact(in[i]));
      if (!(error <= worst)) worst = error, where = in[i], got = out[i];
    }
    EXPECT_LE(worst, row.bound) << row.name << '(' << where << ") gave " << got << ", exact " << row.exact(where);
    RecordProperty(row.name, fmt::format("{:.3f} ulp", worst));
  }
}

TEST_P(MathTextTest, PowIsWithinItsBound) {
  build({GetParam().isa.lanes});
  if (object_ == nullptr) return;
  std::vector<float> in;
  for (int i = 0; i < 4096; ++i) in.push_back(std::ldexp(1.0f + static_cast<float>(i) / 4096, i % 40 - 20));
  for (int i = 0; i < 4096; ++i) in.push_back(static_cast<float>(i - 2048) / 512);
  const auto out = map(MathFunction::pow, GetParam().isa.lanes, in, 4096);
  for (size_t i = 0; i < 4096; ++i) EXPECT_LE(ulp_error(out[i], std::pow(double{in[i]}, double{in[i + 4096]})), 2) << in[i] << ' ' << in[i + 4096];
}

TEST_P(MathTextTest, OneLaneGivesTheBitsOfMany) {
  build({1, 2, GetParam().isa.lanes});
  if (object_ == nullptr) return;
  std::vector<float> in;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 200003) in.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  in.resize(in.size() / 16 * 16);
  for (const Row& row : kRows) {
    if (row.exact == nullptr) continue;
    const auto one = map(row.function, 1, in, in.size()), two = map(row.function, 2, in, in.size());
    const auto many = map(row.function, GetParam().isa.lanes, in, in.size());
    for (size_t i = 0; i < in.size(); ++i) {
      if (std::isnan(one[i]) && std::isnan(two[i]) && std::isnan(many[i])) continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(one[i]), std::bit_cast<uint32_t>(many[i])) << row.name << ' ' << in[i];
      ASSERT_EQ(std::bit_cast<uint32_t>(two[i]), std::bit_cast<uint32_t>(many[i])) << row.name << ' ' << in[i];
    }
  }
}

TEST_P(MathTextTest, EndsAndZerosAreThoseOfC) {
  build({1});
  if (object_ == nullptr) return;
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto at = [&](MathFunction f, float x) { return map(f, 1, {x}, 1)[0]; };
  for (const Row& row : kRows) {
    if (row.exact == nullptr) continue;
    EXPECT_TRUE(std::isnan(at(row.function, nan))) << row.name;
    for (float x : {0.0f, -0.0f, inf, -inf, 1.0f, -1.0f}) {
      const float expected = static_cast<float>(row.exact(x)), got = at(row.function, x);
      EXPECT_EQ(std::isnan(expected), std::isnan(got)) << row.name << ' ' << x;
      if (expected == 0 || std::isinf(expected)) {
        EXPECT_EQ(expected, got) << row.name << ' ' << x;
        EXPECT_EQ(std::signbit(expected), std::signbit(got)) << row.name << ' ' << x;
      }
    }
  }
  EXPECT_EQ(at(MathFunction::exp, 0.0f), 1.0f);
  EXPECT_EQ(at(MathFunction::exp2, 10.0f), 1024.0f);
  EXPECT_EQ(at(MathFunction::exp2, -149.0f), 0x1p-149f);
  EXPECT_EQ(at(MathFunction::log2, 0x1p-149f), -149.0f);
  EXPECT_EQ(at(MathFunction::sigmoid, 0.0f), 0.5f);
}

}  // namespace
}  // namespace tilert::codegen
