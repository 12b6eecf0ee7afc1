// A sample of all cases as HIP C++ for AMD GPUs, compiled by clang 19, where the machine has it: no instruction that the target
// lacks, and spills in few. What is refused is refused by name.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <set>

#include "conformance/hip_assembly.h"
#include "conformance/runner.h"

namespace tilert::conformance {
namespace {

constexpr int kHipShards = 4;

struct HipPart {
  const char* target;
  int shard;
};
void PrintTo(const HipPart& part, std::ostream* out) { *out << part.target << " part " << part.shard; }

std::string why_no_text(const tl::Error& error) { return (error.status() == TILERT_UNSUPPORTED ? "refused: " : "") + error.text(); }

// What is wrong with a text, by text; those that were looked at are not looked at again.
class Looked {
 public:
  explicit Looked(const char* target) : target_(target) {}
  std::string operator()(const tl::Variant& variant) {
    const auto text = variant.text();
    if (!text) return why_no_text(text.error());
    return seen_.insert(*text).second ? hip_fault(*text, target_) : std::string();
  }

 private:
  const char* target_;
  std::set<std::string> seen_;
};

class EveryAmdTarget : public testing::TestWithParam<HipPart> {};

TEST_P(EveryAmdTarget, CompilesTheSampleByClang) {
  if (const std::string missing = missing_hip_tool(); !missing.empty()) GTEST_SKIP() << "no " << missing << " on this machine";
  auto context = test_context();
  ASSERT_TRUE(context) << context.error().text();
  const char* const only = std::getenv("TILERT_HIP_CASES");  // all cases whose text holds that
  const std::vector<Trial> trials = only ? all_trials() : sampled_trials();
  Looked looked(GetParam().target);
  int compiled = 0, refused = 0, spilled = 0;
  for (size_t i = static_cast<size_t>(GetParam().shard); i < trials.size(); i += kHipShards) {
    if (only && trials[i].text().find(only) == std::string::npos) continue;
    const Scenario scenario = trials[i].row->make(trials[i].values);
    if (!refusal_on(scenario, GetParam().target).empty() || !scenario.language.empty()) continue;
    auto built = scenario.programs.back();
    ASSERT_TRUE(built) << trials[i].text() << ": " << built.error().text();
    const std::string wrong = each_variant(context->get(), scenario, *built, GetParam().target, false, std::ref(looked));
    const bool is_refused = wrong.starts_with("refused: ");
    if (is_refused && std::getenv("TILERT_HIP_REFUSED")) std::cout << trials[i].text() << ": " << wrong << "\n";
    if (wrong == kSpills && std::getenv("TILERT_HIP_REFUSED")) std::cout << trials[i].text() << ": " << kSpills << "\n";
    spilled += wrong == kSpills;
    EXPECT_TRUE(wrong.empty() || is_refused || wrong == kSpills) << trials[i].text() << " for " << GetParam().target << ": " << wrong;
    (is_refused ? refused : compiled) += 1;
  }
  if (only) return;
  EXPECT_GE(compiled, 4 * refused);
  EXPECT_LE(6 * spilled, compiled);
}

// Chips of one instruction set: what is another text for the second than for the first is compiled for it, of the rest every sixteenth.
struct Sister {
  const char *target, *like;
};
void PrintTo(const Sister& sister, std::ostream* out) { *out << sister.target; }
class SisterChips : public testing::TestWithParam<Sister> {};

TEST_P(SisterChips, CompileByClangWhatTheirSistersDo) {
  if (const std::string missing = missing_hip_tool(); !missing.empty()) GTEST_SKIP() << "no " << missing << " on this machine";
  auto context = test_context();
  ASSERT_TRUE(context) << context.error().text();
  Looked looked(GetParam().target);
  size_t compiled = 0, same = 0, spilled = 0;
  for (const Trial& trial : sampled_trials()) {
    const Scenario scenario = trial.row->make(trial.values);
    if (!refusal_on(scenario, GetParam().target).empty() || !scenario.language.empty()) continue;
    auto built = scenario.programs.back();
    ASSERT_TRUE(built) << trial.text() << ": " << built.error().text();
    std::set<std::string> like;
    const auto note = [&](const tl::Variant& variant) {
      const auto text = variant.text();
      if (text) like.insert(*text);
      return std::string();
    };
    each_variant(context->get(), scenario, *built, GetParam().like, false, note);
    const auto look = [&](const tl::Variant& variant) {
      const auto text = variant.text();
      if (text && like.count(*text) && ++same % 16 != 0) return std::string();
      compiled += text ? 1 : 0;
      return looked(variant);
    };
    const std::string wrong = each_variant(context->get(), scenario, *built, GetParam().target, false, look);
    spilled += wrong == kSpills;
    EXPECT_TRUE(wrong.empty() || wrong.starts_with("refused: ") || wrong == kSpills) << trial.text() << " for " << GetParam().target << ": " << wrong;
  }
  EXPECT_GE(compiled, 4u);
  EXPECT_LE(4 * spilled, compiled);
  RecordProperty("compiled", std::to_string(compiled));
  RecordProperty("same", std::to_string(same));
}
INSTANTIATE_TEST_SUITE_P(Clang, SisterChips,
                         testing::Values(Sister{"gfx1102", "gfx1100"}, Sister{"gfx1150", "gfx1100"}, Sister{"gfx1151", "gfx1100"},
                                         Sister{"gfx1200", "gfx1201"}),
                         [](const auto& info) { return std::string(info.param.target); });

std::vector<HipPart> hip_parts() {
  std::vector<HipPart> out;
  for (const char* target : {"gfx942", "gfx1100"})
    for (int shard = 0; shard < kHipShards; ++shard) out.push_back({target, shard});
  for (const char* target : {"gfx90a", "gfx1201"}) out.push_back({target, 1});
  return out;
}
std::string hip_part_name(const testing::TestParamInfo<HipPart>& info) {
  return std::string(info.param.target) + "_part_" + std::to_string(info.param.shard);
}
INSTANTIATE_TEST_SUITE_P(Clang, EveryAmdTarget, testing::ValuesIn(hip_parts()), hip_part_name);

}  // namespace
}  // namespace tilert::conformance
