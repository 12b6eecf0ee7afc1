// Arithmetic of device/hip that needs no GPU, compiled by clang 19 for the host and run: each code of the 8-bit floats that are widened, and
// the functions of f64 against the longer floats of the host's library. Skipped where there is no such clang.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "codegen/device_text.h"

namespace tilert::conformance {
namespace {

constexpr const char* kHostClang = "/usr/bin/clang-19";

const char kBefore[] = R"(
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
static unsigned perm(unsigned high, unsigned low, unsigned which) {
  unsigned out = 0;
  const unsigned long long both = (unsigned long long)high << 32 | low;
  for (int i = 0; i < 4; ++i) {
    const unsigned s = which >> (8 * i) & 0xff;
    if (s < 8) out |= unsigned(both >> (8 * s) & 0xff) << (8 * i);
  }
  return out;
}
#define __builtin_amdgcn_perm perm
#define TL_KERNEL(threads, blocks) static void
)";

// All pairs of codes: the value, or the same kind of what is no number.
const char kWidened[] = R"(
template <class To, class From>
int wrong_pairs(void (*load)(tl_u32 (&)[2], const unsigned char*), int infinity, int first_nan) {
  int wrong = 0;
  for (int code = 0; code < 65536; ++code) {
    alignas(4) const unsigned char bytes[4] = {(unsigned char)code, (unsigned char)(code >> 8), (unsigned char)(code >> 8), (unsigned char)code};
    tl_u32 words[2];
    load(words, bytes);
    To wide[4];
    memcpy(wide, words, 8);
    for (int i = 0; i < 4; ++i) {
      const int size = bytes[i] & 0x7f;
      const int exponent = tl_small<From>::mantissa == 3 ? size >> 3 : size >> 2, mantissa = size & (tl_small<From>::mantissa == 3 ? 7 : 3);
      const double step = std::ldexp(1.0, (exponent ? exponent : 1) - tl_small<From>::bias - tl_small<From>::mantissa);
      const double value = (exponent ? (1 << tl_small<From>::mantissa) + mantissa : mantissa) * step, got = tl_float(wide[i]);
      const bool good = size >= first_nan ? got != got : std::fabs(got) == (size == infinity ? HUGE_VAL : value) && std::signbit(got) == (bytes[i] >> 7 != 0);
      wrong += !good;
    }
  }
  return wrong;
}
int main() {
  const int wrong = wrong_pairs<tl_f16, tl_e4m3>([](tl_u32 (&r)[2], const unsigned char* b) { tl_load_e4m3_as_f16(r, b); }, -1, 0x7f) +
                    wrong_pairs<tl_bf16, tl_e4m3>([](tl_u32 (&r)[2], const unsigned char* b) { tl_load_e4m3_as_bf16(r, b); }, -1, 0x7f) +
                    wrong_pairs<tl_f16, tl_e5m2>([](tl_u32 (&r)[2], const unsigned char* b) { tl_load_e5m2_as_f16(r, b); }, 0x7c, 0x7d) +
                    wrong_pairs<tl_bf16, tl_e5m2>([](tl_u32 (&r)[2], const unsigned char* b) { tl_load_e5m2_as_bf16(r, b); }, 0x7c, 0x7d);
  std::printf("%d codes are wrong\n", wrong);
  return wrong != 0;
}
)";

// Bounds below those of the table of functions, by what was seen and a little more.
const char kWide[] = R"(
static std::mt19937_64 random_bits(1);
static double between(double low, double high) { return low + (high - low) * (random_bits() >> 11) * 0x1p-53; }
static double sized(int low, int high) { return std::ldexp(between(1, 2), low + int(random_bits() % (high - low + 1))) * (random_bits() & 1 ? 1 : -1); }
static int failures = 0;
static double ulps(double got, long double want) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) == std::isnan(want) ? 0 : HUGE_VAL;
  if ((long double)got == want || std::fabs(want) > 0x1.fffffffffffffp1023L) return std::isinf(got) == std::isinf((double)want) ? 0 : HUGE_VAL;
  int e = 0;
  std::frexp(want, &e);
  return std::fabs(got - want) / std::ldexp(1.0L, std::max(e - 53, -1074));
}
template <class F, class G>
void check(const char* name, double most, F function, G truth, double low, double high, int least, int greatest, bool positive = false) {
  double worst = 0, at = 0;
  static const double kEnds[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, NAN, 0x1p-1074, -0x1p-1074, 0x1.8p-1023, 1.0, -1.0, 1e300, -1e300};
  for (int i = 0; i < 60000; ++i) {
    double x = i < 12 ? kEnds[i] : i % 3 == 0 ? between(low, high) : i % 3 == 1 ? between(-1.5, 1.5) : sized(least, greatest);
    if (positive && i >= 12) x = std::fabs(x);
    const double got = function(x), error = ulps(got, truth(x));
    if (error > worst || error != error) worst = error, at = x;
    if (x == 0.0 && std::signbit(got) != std::signbit((double)truth(x))) worst = HUGE_VAL, at = x;
  }
  if (!(worst <= most)) ++failures, std::printf("%s: %g ulp at %a, %g allowed\n", name, worst, at, most);
}
int main() {
  check("exp", 1, tl_f64_exp, [](long double x) { return std::exp(x); }, -750, 710, -60, 9);
  check("exp2", 1, tl_f64_exp2, [](long double x) { return std::exp2(x); }, -1080, 1024, -60, 10);
  check("log", 1, tl_f64_log, [](long double x) { return std::log(x); }, 0.5, 2, -1074, 1023, true);
  check("log2", 1, tl_f64_log2, [](long double x) { return std::log2(x); }, 0.5, 2, -1074, 1023, true);
  check("sin", 1, tl_f64_sin, [](long double x) { return std::sin(x); }, -1e5, 1e5, -40, 1023);
  check("cos", 1, tl_f64_cos, [](long double x) { return std::cos(x); }, -1e5, 1e5, -40, 1023);
  check("tanh", 2.5, tl_f64_tanh, [](long double x) { return std::tanh(x); }, -25, 25, -1000, 5);
  check("erf", 2, tl_f64_erf, [](long double x) { return std::erf(x); }, -7, 7, -1000, 3);
  check("sigmoid", 2, tl_f64_sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }, -740, 40, -60, 9);
  double worst = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = i % 2 ? std::fabs(sized(-1074, 1022)) : between(0.0, 4.0), y = i % 3 ? between(-745, 710) / std::log(x) : sized(-5, 6);
    worst = std::max(worst, ulps(tl_f64_pow(x, y), std::pow((long double)x, (long double)y)));
  }
  if (!(worst <= 1.25)) ++failures, std::printf("pow: %g ulp\n", worst);
  static const double kEnds[] = {0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, HUGE_VAL, -HUGE_VAL, NAN, 1e300, -1e300, 0x1p-1074};
  for (double x : kEnds)
    for (double y : kEnds) {
      const double got = tl_f64_pow(x, y), want = std::pow(x, y);
      if (ulps(got, want) > 1 || (got == 0.0 && std::signbit(got) != std::signbit(want))) ++failures, std::printf("pow(%a, %a) = %a\n", x, y, got);
    }
  return failures != 0;
}
)";

// What the program says, which ends well where it has nothing to say.
std::string said_by(const std::string& body) {
  namespace fs = std::filesystem;
  const fs::path base = fs::temp_directory_path() / ("tilert_hip_text_" + std::to_string(getpid()));
  const std::string source = base.string() + ".cpp", program = base.string() + ".run", log = base.string() + ".log";
  std::ofstream(source) << kBefore << codegen::device_text("hip", body) << body;
  const std::string command = std::string(kHostClang) + " -std=c++17 -O2 -ffp-contract=off -w " + source + " -o " + program + " -lstdc++ -lm > " + log +
                              " 2>&1 && " + program + " > " + log + " 2>&1 || echo failed >> " + log;
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream in(log);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (const std::string& file : {source, program, log}) fs::remove(file);
  return text.substr(0, 4000);
}

TEST(HipText, WidenedCodesAreTheirValuesInEveryPair) {
  if (!std::filesystem::exists(kHostClang)) GTEST_SKIP() << "no " << kHostClang << " on this machine";
  EXPECT_EQ(said_by(kWidened), "0 codes are wrong\n");
}

TEST(HipText, FunctionsOfF64AreWithinTheirBounds) {
  if (!std::filesystem::exists(kHostClang)) GTEST_SKIP() << "no " << kHostClang << " on this machine";
  if (sizeof(long double) == sizeof(double)) GTEST_SKIP() << "this host has no longer floats";
  EXPECT_EQ(said_by(kWide), "");
}

}  // namespace
}  // namespace tilert::conformance
