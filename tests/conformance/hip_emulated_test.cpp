// Trials of the list as HIP C++, run on emulated waves of 64 and 32 lanes. What is refused is refused by name.
#include <gtest/gtest.h>

#include <cstdlib>

#include "conformance/hip_machine.h"

namespace tilert::conformance {
namespace {

constexpr const char* kHipSchedules = "greedy,forward;random,seed=7;round_robin,backward";
constexpr const char* kHipOrder = "greedy,backward";

struct HipEmulated {
  const char* target;
  bool races;
  size_t part;  // every so many of the sample
};
void PrintTo(const HipEmulated& part, std::ostream* out) { *out << part.target << (part.races ? " races" : " outcomes"); }

// Why a case may be refused (docs/amd.md).
bool is_known_reason(const std::string& refusal) {
  for (const char* reason : {"bytes of shared memory a block, and gfx", "the halves of a wave of 64 cannot wait for each other"})
    if (refusal.find(reason) != std::string::npos) return true;
  return false;
}

class EmulatedAmd : public testing::TestWithParam<HipEmulated> {};

TEST_P(EmulatedAmd, GivesWhatTheCasesSay) {
  std::string why_not;
  const auto machine = HipMachine::open(GetParam().target, why_not);
  ASSERT_TRUE(machine) << why_not;
  const tilert_emulator_table& emulator = *machine->emulator();
  ASSERT_TRUE(emulator.set_schedules(GetParam().races ? kHipOrder : kHipSchedules));
  if (emulator.set_races(GetParam().races) != 0) GTEST_SKIP() << "this build's own thread sanitizer has the hooks";
  const char* const only = std::getenv("TILERT_EMULATED_CASES");
  std::vector<Trial> trials = only ? all_trials() : sampled_trials();
  std::erase_if(trials, [&](const Trial& t) { return t.row->heavy || (only && t.text().find(only) == std::string::npos); });
  if (!only && GetParam().part > 1) {
    size_t number = 0;
    std::erase_if(trials, [&](const Trial&) { return number++ % GetParam().part != 0; });
  }
  for (const Trial& trial : trials) machine->prepare_ahead(trial.row->make(trial.values));
  EXPECT_EQ(emulator.compile_pending(), 0);
  int refused = 0, ran = 0;
  for (const Trial& trial : trials) {
    const Outcome outcome = machine->run(trial.row->make(trial.values));
    EXPECT_TRUE(outcome.ok) << trial.text() << " on " << GetParam().target << ":\n" << outcome.message;
    ran += !outcome.apart;
    if (!outcome.apart || outcome.message.empty()) continue;
    ++refused;
    EXPECT_TRUE(is_known_reason(outcome.message)) << trial.text() << ": " << outcome.message;
    if (std::getenv("TILERT_HIP_REFUSED")) std::cout << trial.text() << ": " << outcome.message << "\n";
  }
  if (!only) EXPECT_GE(ran, 6 * refused);
}

// The text of a program's only variant for the target, or why there is none.
std::string text_for(const Scenario& scenario, const char* target) {
  auto context = test_context();
  std::string out;
  const std::string wrong = each_variant(context->get(), scenario, *scenario.programs[0], target, false, [&](const tl::Variant& variant) {
    const auto text = variant.text();
    out = text ? *text : text.error().text();
    return std::string();
  });
  return wrong + out;
}

// A barrier of the first `threads` of 96.
Scenario barrier_of(int64_t threads) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::i32, {96}), y = b.output("y", tl::i32, {96});
    b.grid({1}, tl::threads_fixed(96), [&](tl::Index) {
      auto a = b.shared(tl::i32, {96});
      b.threads([&](tl::Index t) {
        a(t) = x(t);
        b.if_(t < threads, [&] {
          b.named_barrier(1, threads);
          y(t) = a(threads - 1 - t);
        });
      });
    });
  });
  return s;
}

TEST(AmdThreads, ABarrierThatPartsAWaveIsRefusedOnWavesOf64) {
  EXPECT_NE(text_for(barrier_of(32), "gfx942").find("the halves of a wave of 64 cannot wait for each other"), std::string::npos);
  for (const char* target : {"gfx942", "gfx1100"}) EXPECT_NE(text_for(barrier_of(64), target).find("tl_named_barrier(1, 64);"), std::string::npos) << target;
  EXPECT_NE(text_for(barrier_of(32), "gfx1100").find("tl_named_barrier(1, 32);"), std::string::npos);
}

TEST(AmdThreads, AFixedNumberStaysAndAHintIsFollowedInWholeWaves) {
  EXPECT_NE(text_for(barrier_of(64), "gfx942").find("TL_KERNEL(96, "), std::string::npos);
  Scenario hinted;
  hinted.program([](tl::Builder& b) {
    auto x = b.input("x", tl::f32, {64, 64}), y = b.output("y", tl::f32, {64, 64});
    b.grid({1}, tl::threads(96), [&](tl::Index) {
      auto t = b.fragment(tl::f32, {64, 64});
      b.copy(x(0, 0), t);
      b.copy(t, y(0, 0));
    });
  });
  EXPECT_NE(text_for(hinted, "gfx942").find("TL_KERNEL(128, "), std::string::npos);
  EXPECT_NE(text_for(hinted, "gfx1100").find("TL_KERNEL(96, "), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Gpu, EmulatedAmd,
                         testing::Values(HipEmulated{"gfx90a", false, 4}, HipEmulated{"gfx942", false, 1}, HipEmulated{"gfx942", true, 3}, HipEmulated{"gfx950", false, 4},
                                         HipEmulated{"gfx1100", false, 1}, HipEmulated{"gfx1201", true, 3}),
                         [](const auto& info) { return std::string(info.param.target) + (info.param.races ? "_races" : "_outcomes"); });

}  // namespace
}  // namespace tilert::conformance
