// The seeds of each fuzzer and what once crashed it, and a few changes of each, through the same functions: in every
// kind of build, without libFuzzer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
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

INSTANTIATE_TEST_SUITE_P(Of, Seeds, testing::ValuesIn(kTargets),
                         [](const testing::TestParamInfo<Target>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tilert::fuzz
