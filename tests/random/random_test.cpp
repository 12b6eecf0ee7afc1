// Random programs in CI: a fixed set of seeds on every back end that is built here, what was found before, and the
// generator's and the shrinker's own claims.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/nvrtc.h"
#include "ir/visit.h"
#include "passes/order.h"
#include "passes/specialize.h"
#include "random/campaign.h"
#include "random/generator.h"
#include "random/shrink.h"

namespace tilert::random {
namespace {

constexpr uint64_t kSeeds = 11;  // of each part

std::vector<std::string> built_backends() {
  std::vector<std::string> out = usual_backends();
#ifndef TILERT_HAVE_LLVM
  std::erase(out, "cpu");
#endif
  return out;
}

std::string told(const Finding& finding) {
  return "seed " + std::to_string(finding.seed) + " on " + finding.backend + ": " + finding.message + "\n" +
         to_text(shrink(generate(finding.seed), finding, 60));
}

class Seeds : public testing::TestWithParam<uint64_t> {};

TEST_P(Seeds, GiveTheSameOnEveryBackEnd) {
  const CampaignResult result = run_campaign({GetParam() * kSeeds, kSeeds, built_backends()});
  ASSERT_EQ(result.why_not, "");
  for (const Finding& finding : result.findings) ADD_FAILURE() << told(finding);
  EXPECT_EQ(result.done, kSeeds);
}
INSTANTIATE_TEST_SUITE_P(Part, Seeds, testing::Range<uint64_t>(0, 4));

class Emulated : public testing::TestWithParam<const char*> {};

TEST_P(Emulated, DevicesGiveTheSame) {
  const CampaignResult result = run_campaign({200, 6, {GetParam()}, 60, 10, 0, 6});
  ASSERT_EQ(result.why_not, "");
  for (const Finding& finding : result.findings) ADD_FAILURE() << told(finding);
}
INSTANTIATE_TEST_SUITE_P(Device, Emulated, testing::Values("emulated:sm_80", "emulated:sm_90a", "emulated:gfx942", "emulated:gfx1100"));

TEST(Nvrtc, CompilesRandomPrograms) {
  if (auto nvrtc = open_nvrtc(); !nvrtc) GTEST_SKIP() << nvrtc.error().message;
  const CampaignResult result = run_campaign({100, 4, {"nvrtc:sm_80", "nvrtc:sm_90a"}});
  ASSERT_EQ(result.why_not, "");
  for (const Finding& finding : result.findings) ADD_FAILURE() << told(finding);
}

struct FoundCase {
  std::string file;
  Case c;
};

std::vector<FoundCase> found_cases() {
  std::vector<FoundCase> out;
  for (const auto& entry : std::filesystem::directory_iterator(TILERT_FOUND_CASES)) {
    if (entry.path().extension() != ".tir") continue;
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    auto c = from_text(text.str());
    EXPECT_TRUE(c) << entry.path() << ": " << c.error().message;
    if (c) out.push_back({entry.path().filename().string(), std::move(*c)});
  }
  return out;
}

TEST(Found, CasesStayRight) {
  const std::vector<FoundCase> all = found_cases();
  EXPECT_GE(all.size(), 24u);
  for (const FoundCase& one : all) {
    const auto found = check_in_child(one.c, built_backends(), 60);
    EXPECT_FALSE(found) << one.file << " on " << found->backend << ": " << found->message;
  }
}

TEST(Nvrtc, CompilesFoundCases) {
  if (auto nvrtc = open_nvrtc(); !nvrtc) GTEST_SKIP() << nvrtc.error().message;
  for (const FoundCase& one : found_cases()) {
    const auto found = check_in_child(one.c, {"nvrtc:sm_90a"}, 60);
    EXPECT_FALSE(found) << one.file << ": " << found->message;
  }
}

// Roles run nowhere else without a GPU.
TEST(Found, CasesStayRightOnAnEmulatedDevice) {
  Bench bench({"emulated:sm_90a"});
  ASSERT_EQ(bench.why_not(), "");
  std::vector<Case> cases;
  for (FoundCase& one : found_cases()) cases.push_back(std::move(one.c));
  bench.ahead(cases);
  Coverage ignored;
  for (const Case& c : cases) {
    const auto found = bench.check(c, ignored);
    EXPECT_FALSE(found) << found->message << "\n" << to_text(c);
  }
}

TEST(Generator, MakesTheSameProgramOfTheSameSeed) {
  for (uint64_t seed : {0u, 7u, 123456789u}) EXPECT_EQ(to_text(generate(seed)), to_text(generate(seed)));
  EXPECT_NE(to_text(generate(1)), to_text(generate(2)));
}

TEST(Generator, TextHoldsTheWholeCase) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Case c = generate(seed);
    const auto again = from_text(to_text(c));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->dims, c.dims);
    EXPECT_EQ(again->bound, c.bound);
    EXPECT_EQ(again->seed, c.seed);
    EXPECT_EQ(make_data(*again), make_data(c));
  }
}

TEST(Generator, CoversTheLanguage) {
  Coverage coverage;
  const int programs = 5000;
  for (uint64_t seed = 0; seed < programs; ++seed) coverage.note_case(generate(seed));
  EXPECT_GE(coverage.count("programs with a pipelined loop that uses a copy twice or more"), programs * 30 / 100);
  EXPECT_GE(coverage.count("programs with infinite and undefined data"), programs / 10);
  EXPECT_GE(coverage.count("programs of several kernels"), programs / 10);
  for (const char* what : {"statement copy",     "statement fill",
                           "statement gemm",     "statement reduce",
                           "statement parallel", "statement if",
                           "for serial",         "for unrolled",
                           "for pipelined",      "for serial by another step",
                           "copy with safe",     "copy with valid",
                           "copy prefer tma",    "copy prefer async",
                           "gemm trans ab",      "gemm accumulates by a condition",
                           "gemm split columns", "reduce accumulates",
                           "parallel of 3 dims", "load local i32",
                           "store var f32",      "op fma f32",
                           "op select f16",      "op shr i8",
                           "op mod index",       "op isnan bf16",
                           "op cast f32 -> i32", "op bits f32",
                           "op exp f32",         "op erf f16",
                           "op pow bf16", "op fast_div f32", "parameters that share another's memory",
                           "statement while",    "statement fold",
                           "statement scan",     "scan in place",
                           "statement pick",     "statement sort",
                           "statement atomic",   "break",
                           "continue",           "return",
                           "op philox0 i64",     "op div u32",
                           "op bits f16",        "op mul f64",
                           "op cast f32 -> e4m3", "op cast_nonsat f32 -> e5m2",
                           "atomic order acq_rel", "gemm in tf32",
                           "reshaped shared tile", "reshaped fragment tile",
                           "view as other integers of shared tile", "layout swizzle_64",
                           "statement grid_sync", "statement report",
                           "programs with persistent kernels", "programs with tiles counted in memory", "programs with a fixed order of sums",
                           "programs with costs of tiles", "threads: sync",
                           "threads: shuffle_xor of f16", "threads: ballot of bool",
                           "threads: copy",      "entry of a table by constant",
                           "entry of a table by dim", "entry of a table by block",
                           "entry of a table by trip of a pipelined loop", "entry of a table by point",
                           "entry of a table by value", "table of tensors of 0 dims, in",
                           "table of tensors of 2 dims, in, with gaps", "table of tensors of 2 dims, inout",
                           "table of tensors of 3 dims, out", "load table f32",
                           "store table f16",    "copy table f16 -> shared f16",
                           "copy fragment f32 -> table f32", "atomic add table i32"})
    EXPECT_GT(coverage.count(what), 0) << what;
  const auto any_of = [&](const std::string& begin, const std::string& part) {
    return std::any_of(coverage.counts().begin(), coverage.counts().end(), [&](const auto& count) {
      return count.first.rfind(begin, 0) == 0 && count.first.find(part) != std::string::npos;
    });
  };
  for (const char* kind : {"add", "max", "min", "bit_and", "bit_or", "bit_xor", "exchange", "cas", "load", "store"})
    EXPECT_TRUE(any_of(std::string("atomic ") + kind + " ", "")) << kind;
  for (const char* dtype : {"i4", "u4", "e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0", "e2m3", "e3m2", "e2m1", "nf4"}) {
    EXPECT_TRUE(any_of("copy ", std::string("global ") + dtype + " -> ")) << dtype;
    EXPECT_TRUE(any_of("copy ", std::string(" -> global ") + dtype)) << dtype;
  }
  for (const char* dtype : {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"})
    for (const char* statement : {"reduce ", "scan of ", "sort of ", "gemm ", "load "})
      EXPECT_TRUE(any_of(statement, std::string(" ") + dtype)) << statement << dtype;
  for (const char* dtype : {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"})
    for (const char* scope : {"shared", "fragment"}) {
      const std::string to = std::string(" -> ") + scope + " " + dtype;
      const bool copied = std::any_of(coverage.counts().begin(), coverage.counts().end(), [&](const auto& count) {
        return count.first.rfind("copy ", 0) == 0 && count.first.find(to) != std::string::npos;
      });
      EXPECT_TRUE(copied) << "no copy" << to;
    }
}

TEST(Generator, ReachesRingsAndRoles) {
  const Target target = *parse_target("sm_90a");
  const passes::PassContext context{target, target.device_class};
  Coverage coverage;
  const int programs = 200;
  for (uint64_t seed = 0; seed < programs; ++seed) {
    const Case c = generate(seed);
    auto module = passes::specialize(c.program, std::vector<passes::DimChoice>(c.dims.size()));
    ASSERT_TRUE(module) << module.error().message;
    const auto planned = passes::run_gpu_passes(std::move(*module), context, "plan_rings");
    ASSERT_TRUE(planned) << "seed " << seed << ": " << planned.error().message;
    coverage.note_plans("sm_90a", planned->plans);
  }
  EXPECT_GE(coverage.count("programs with a ring on sm_90a"), programs * 35 / 100);
  EXPECT_GE(coverage.count("programs with roles on sm_90a"), programs * 5 / 100);
}

// Fails for each program that has a reduction over a shared tile.
class NoReductions : public Backend {
 public:
  std::string run(const Case& c, const Outputs&, Coverage&) override {
    bool found = false;
    for (const ir::Kernel& k : c.program.kernels)
      ir::for_each_stmt(k.body, [&](const ir::Stmt& s) {
        const auto* reduce = std::get_if<ir::Reduce>(&s.node);
        found |= reduce && c.program.buffer(reduce->src.buffer).scope == ir::Scope::shared;
      });
    return found ? "a reduction is refused" : "";
  }
};

TEST(Shrinker, LeavesWhatMakesACaseFail) {
  add_backend({"test:reductions", false, [] { return std::make_unique<NoReductions>(); }});
  int shrunk = 0;
  for (uint64_t seed = 0; seed < 40 && shrunk < 3; ++seed) {
    const Case c = generate(seed);
    Bench bench({"test:reductions"});
    Coverage coverage;
    const auto found = bench.check(c, coverage);
    if (!found) continue;
    ++shrunk;
    const Case small = shrink(c, *found, 10);
    size_t statements = 0;
    for (const ir::Kernel& k : small.program.kernels) ir::for_each_stmt(k.body, [&](const ir::Stmt&) { ++statements; });
    EXPECT_LE(statements, 6u) << to_text(small);
    const auto again = bench.check(small, coverage);
    ASSERT_TRUE(again) << to_text(small);
    EXPECT_EQ(again->message, found->message);
  }
  EXPECT_EQ(shrunk, 3);
}

// Crashes where a program multiplies.
class NoProducts : public Backend {
 public:
  std::string run(const Case& c, const Outputs&, Coverage&) override {
    for (const ir::Kernel& k : c.program.kernels)
      ir::for_each_stmt(k.body, [&](const ir::Stmt& s) {
        if (std::holds_alternative<ir::Gemm>(s.node)) std::_Exit(9);
      });
    return {};
  }
};

TEST(Campaign, SurvivesBackEndsThatDoNot) {
  add_backend({"test:products", false, [] { return std::make_unique<NoProducts>(); }});
  const CampaignResult result = run_campaign({0, 12, {"test:products"}, 60, 20});
  EXPECT_EQ(result.done, 12u);
  EXPECT_GE(result.findings.size(), 4u);
  for (const Finding& finding : result.findings) {
    EXPECT_TRUE(finding.crashed);
    EXPECT_EQ(finding.backend, "test:products");
    EXPECT_EQ(finding.message, "exited with 9");
  }
}

TEST(Campaign, SaysWhichBackEndIsNotThere) {
  EXPECT_EQ(run_campaign({0, 1, {"no such thing"}}).why_not, "there is no back end 'no such thing'");
}

}  // namespace
}  // namespace tilert::random
