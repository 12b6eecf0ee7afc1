// The seeds of each fuzzer and what once crashed it, and a few changes of each, through the same functions: in every
// kind of build, without libFuzzer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <vector>

#include "fuzz/targets.h"
#include "runtime/artifact.h"

namespace tilert::fuzz {
namespace {

using Input = std::vector<uint8_t>;

std::vector<Input> seeds(const Target& target) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TILERT_FUZZ_SEEDS) + "/" + target.name))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Input> out;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return out;
}

class Seeds : public testing::TestWithParam<Target> {};

TEST_P(Seeds, ComeBack) {
  const auto all = seeds(GetParam());
  EXPECT_GE(all.size(), 3u);
  for (const Input& seed : all) GetParam().run(seed.data(), seed.size());
}

TEST_P(Seeds, ComeBackCutAndChanged) {
  uint32_t chance = 12345;
  const auto below = [&](size_t n) { return (chance = chance * 1664525 + 1013904223) / 65536 % n; };
  for (const Input& seed : seeds(GetParam())) {
    for (int round = 0; round < 60; ++round) {
      Input input = seed;
      for (size_t edits = 1 + below(3); edits > 0 && !input.empty(); --edits) {
        const size_t at = below(input.size());
        if (below(3) == 0)
          input.erase(input.begin() + static_cast<std::ptrdiff_t>(at),
                      input.begin() + static_cast<std::ptrdiff_t>(std::min(input.size(), at + 1 + below(20))));
        else
          input[at] = static_cast<uint8_t>(below(2) ? below(256) : input[below(input.size())]);
      }
      if (below(8) == 0) input.resize(below(input.size() + 1));
      GetParam().run(input.data(), input.size());
    }
  }
}

TEST(Artifacts, SeedsAreOfTheFormatThatIsRead) {
  const Target artifact = kTargets[2];
  ASSERT_STREQ(artifact.name, "artifact");
  size_t whole = 0;
  for (const Input& seed : seeds(artifact)) whole += static_cast<bool>(runtime::deserialize(seed));
  EXPECT_EQ(whole, 2u) << "all but the one that was cut in half and the one with a bool that is none";
}

// Functions that the builder's fuzzer leaves alone, and why.
struct Exempt {
  const char *function, *reason;
};
constexpr Exempt kExempt[] = {
    {"tilert_program_interpret", "a program of any calls may not end; the fuzzer of texts interprets within bounds"},
    {"tilert_program_interpret_diagnosed", "as tilert_program_interpret"},
};

// The functions of tilert.h that build programs, and those that tell of them.
std::set<std::string> functions_of_the_header() {
  std::ifstream in(TILERT_HEADER);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::set<std::string> out;
  const std::regex declared("TILERT_API[^;(]*\\b(tilert_(builder|number|program)_[a-z0-9_]+)\\(");
  for (std::sregex_iterator at(text.begin(), text.end(), declared), end; at != end; ++at) out.insert((*at)[1]);
  return out;
}

TEST(Builder, SeedsCallEveryFunctionAndEachComesOff) {
  const Target builder = kTargets[1];
  ASSERT_STREQ(builder.name, "builder");
  for (auto& [function, count] : builder_calls()) count = {};
  for (const Input& seed : seeds(builder)) builder.run(seed.data(), seed.size());
  const std::set<std::string> declared = functions_of_the_header();
  EXPECT_GT(declared.size(), 80u);
  std::set<std::string> exempt;
  for (const Exempt& one : kExempt) {
    EXPECT_TRUE(declared.count(one.function)) << one.function << " is no function of tilert.h";
    EXPECT_EQ(builder_calls()[one.function].calls, 0u) << one.function << " is called";
    exempt.insert(one.function);
  }
  for (const std::string& function : declared) {
    if (exempt.count(function)) continue;
    ASSERT_GT(builder_calls()[function].calls, 0u) << function << " is not called: add it to tests/fuzz/every_call.cpp, or to kExempt with a reason";
    EXPECT_GT(builder_calls()[function].came_off, 0u) << function << " fails with every seed: add one in which it does not";
  }
  for (const auto& [function, count] : builder_calls()) EXPECT_TRUE(declared.count(function)) << function << " is not in tilert.h";
}

INSTANTIATE_TEST_SUITE_P(Of, Seeds, testing::ValuesIn(kTargets),
                         [](const testing::TestParamInfo<Target>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tilert::fuzz
