// What needs no GPU: each pass leaves a legal program of every case, and no source declares a tile in vain; and a sample of all cases compiles for every GPU
// target with nothing for ptxas to complain of: no spill, no stack frame, no serialized product. The second needs NVRTC
// and is skipped by name without it.
#include <gtest/gtest.h>

#include <cctype>
#include <regex>

#include "compiler/compiler.h"
#include "compiler/nvrtc.h"
#include "compiler/ptxas_log.h"
#include "conformance/runner.h"

namespace tilert::conformance {
namespace {

constexpr int kShards = 4;

struct Part {
  const char* target;
  int shard;
};

void PrintTo(const Part& part, std::ostream* out) { *out << part.target << " part " << part.shard; }

std::vector<Part> parts() {
  std::vector<Part> out;
  for (const char* target : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"})
    for (int shard = 0; shard < kShards; ++shard) out.push_back({target, shard});
  return out;
}

// Empty, or what ptxas complains of.
std::string unclean(const tl::Variant& variant) {
  const tilert_variant_info info = variant.info();
  if (info.compile_nanoseconds == 0) return {};  // fetched: an earlier variant gave the same source
  PtxasReport report = parse_ptxas_log(info.log);
  Binary binary;
  binary.resources = std::move(report.resources);
  binary.performance_notes = std::move(report.notes);
  if (binary.resources.empty()) return "ptxas said nothing";
  return binary.is_clean() ? std::string() : binary.why_not_clean();
}

// Whether the text names it from there on. Names are a letter and a number.
bool names(const std::string& text, const std::string& name, size_t from) {
  for (size_t at = text.find(name, from); at != text.npos; at = text.find(name, at + 1))
    if (!std::isalnum(static_cast<unsigned char>(text[at - 1])) && !std::isdigit(static_cast<unsigned char>(text[at + name.size()]))) return true;
  return false;
}

// Empty, or the declaration of a tile that nothing in its kernel names again: "float* const s4 = reinterpret_cast...;" or
// "float r5[8];", a line each.
std::string unused_tile(const std::string& source) {
  static const std::regex kTile(R"( *[\w ]+(?:\* const)? ([rs]\d+)(?:\[\d+\];| = reinterpret_cast<.*;))");
  for (size_t kernel = source.find("\nTL_KERNEL("); kernel != source.npos;) {
    const size_t end = std::min(source.find("\nTL_KERNEL(", kernel + 1), source.size());
    const std::string text = source.substr(kernel, end - kernel);
    for (size_t line = 0, next = 0; line < text.size(); line = next) {
      next = std::min(text.find('\n', line), text.size() - 1) + 1;
      const std::string_view whole = std::string_view(text).substr(line, next - 1 - line);
      const bool may = whole.find('=') == whole.npos ? whole.ends_with("];") : whole.find("(tl_arena + ") != whole.npos;
      std::cmatch m;
      if (may && std::regex_match(whole.data(), whole.data() + whole.size(), m, kTile) && !names(text, m[1], next)) return m[0];
    }
    kernel = end == source.size() ? source.npos : end;
  }
  return {};
}

// Empty, or what is not as it must be: a pass left something illegal (a text of a stage comes from verified passes), or the
// source declares what it does not use.
std::string illegal(const tl::Variant& variant) {
  const auto lowered = variant.text("insert_barriers");
  if (!lowered) return lowered.error().text();
  const auto source = variant.text();
  if (!source) return source.error().text();
  return lowered->empty() ? "no text" : unused_tile(*source);
}

class EveryPass : public testing::TestWithParam<const char*> {};

TEST_P(EveryPass, LeavesALegalProgramWithoutUnusedTiles) {
  auto context = test_context();
  ASSERT_TRUE(context) << context.error().text();
  int programs = 0;
  for (const Trial& trial : all_trials()) {
    const Scenario scenario = trial.row->make(trial.values);
    if (!refusal_on(scenario, GetParam()).empty() || scenario.language == "llvm") continue;
    for (auto program : scenario.programs) {
      ASSERT_TRUE(program) << trial.text() << ": " << program.error().text();
      EXPECT_EQ(each_variant(context->get(), scenario, *program, GetParam(), false, illegal), "") << trial.text();
      ++programs;
    }
  }
  EXPECT_GE(programs, 700);
}
INSTANTIATE_TEST_SUITE_P(Gpu, EveryPass, testing::Values("sm_80", "sm_90a"));

class EveryTarget : public testing::TestWithParam<Part> {};

TEST_P(EveryTarget, CompilesTheSampleWithACleanLog) {
  if (auto nvrtc = open_nvrtc(); !nvrtc) GTEST_SKIP() << nvrtc.error().message;
  auto context = test_context();
  ASSERT_TRUE(context) << context.error().text();
  const std::vector<Trial> trials = sampled_trials();
  int compiled = 0;
  for (size_t i = static_cast<size_t>(GetParam().shard); i < trials.size(); i += kShards) {
    const Scenario scenario = trials[i].row->make(trials[i].values);
    if (!refusal_on(scenario, GetParam().target).empty() || scenario.language == "llvm") continue;
    // Of programs that differ by their depth alone the last is the hardest.
    auto built = scenario.programs.back();
    ASSERT_TRUE(built) << trials[i].text() << ": " << built.error().text();
    const std::string wrong = each_variant(context->get(), scenario, *built, GetParam().target, true, unclean);
    EXPECT_EQ(wrong, "") << trials[i].text() << " for " << GetParam().target;
    ++compiled;
  }
  EXPECT_GE(compiled, 10);
}

std::string part_name(const testing::TestParamInfo<Part>& info) {
  return std::string(info.param.target) + "_part_" + std::to_string(info.param.shard);
}
INSTANTIATE_TEST_SUITE_P(Nvrtc, EveryTarget, testing::ValuesIn(parts()), part_name);

}  // namespace
}  // namespace tilert::conformance
