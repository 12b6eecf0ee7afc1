// Every trial of the list on emulated GPUs: the text that NVRTC would get runs under several schedules, which must agree
// to the bit, and gives what the case says.
#include <gtest/gtest.h>

#include <cstdlib>

#include "conformance/runner.h"

namespace tilert::conformance {
namespace {

// Schedules of the first kind, outcomes and poison; of the second, every access marked, under one order.
constexpr const char* kUsual =
    "greedy,forward;greedy,backward,copies=early,products=early;greedy,forward,copies=early,tensor_copies=early;"
    "random,seed=7,tensor_copies=early;round_robin,backward,products=early";
constexpr const char* kOne = "greedy,backward";

// Both devices in one process: most texts are the same for both, and compiled once.
struct EmulatedDevice {
  const char* name;
  int ordinal;  // emulator/driver/devices.def
};
constexpr EmulatedDevice kEmulatedDevices[] = {{"sm_80", 1}, {"sm_90a", 0}};

struct EmulatedPart {
  bool races;
  size_t shard;
};
constexpr size_t kEmulatedShards = 4;
void PrintTo(const EmulatedPart& part, std::ostream* out) { *out << (part.races ? "races" : "outcomes") << " part " << part.shard; }

std::vector<EmulatedPart> emulated_parts() {
  std::vector<EmulatedPart> out;
  for (bool races : {false, true})
    for (size_t shard = 0; shard < kEmulatedShards; ++shard) out.push_back({races, shard});
  return out;
}

// All, or those whose text holds what TILERT_EMULATED_CASES says ("packed"), for a look at a few.
std::vector<Trial> emulated_trials() {
  std::vector<Trial> out = all_trials();
  if (const char* only = std::getenv("TILERT_EMULATED_CASES"))
    std::erase_if(out, [&](const Trial& trial) { return trial.text().find(only) == std::string::npos; });
  return out;
}

class Emulated : public testing::TestWithParam<EmulatedPart> {};

TEST_P(Emulated, GivesWhatTheCasesSay) {
  std::vector<std::unique_ptr<Machine>> machines;
  for (const EmulatedDevice& device : kEmulatedDevices) {
    std::string why_not;
    machines.push_back(Machine::open(Backend::emulated, why_not, device.ordinal));
    ASSERT_TRUE(machines.back()) << why_not;
  }
  const tilert_emulator_table& emulator = *machines[0]->emulator();
  ASSERT_TRUE(emulator.set_schedules(GetParam().races ? kOne : kUsual));
  if (emulator.set_races(GetParam().races) != 0) GTEST_SKIP() << "this build's own thread sanitizer has the hooks";
  std::vector<Trial> trials;
  const std::vector<Trial> all = emulated_trials();
  for (size_t i = GetParam().shard; i < all.size(); i += kEmulatedShards)
    if (!all[i].row->heavy) trials.push_back(all[i]);
  for (const auto& machine : machines)
    for (const Trial& trial : trials) machine->prepare_ahead(trial.row->make(trial.values));
  EXPECT_EQ(emulator.compile_pending(), 0);
  for (size_t m = 0; m < machines.size(); ++m)
    for (const Trial& trial : trials) {
      const Outcome outcome = machines[m]->run(trial.row->make(trial.values));
      EXPECT_TRUE(outcome.ok) << trial.text() << " on " << kEmulatedDevices[m].name << ":\n" << outcome.message;
    }
  unsigned long long launches = 0, switches = 0;
  double seconds = 0;
  emulator.counts(&launches, &switches, &seconds);
  EXPECT_GT(launches, trials.size());
  RecordProperty("launches", std::to_string(launches));
  RecordProperty("switches", std::to_string(switches));
  RecordProperty("seconds", std::to_string(seconds));
}

// A sample for a GPU without asynchronous copies and with smaller matrix instructions.
TEST(Gpu, ASampleGivesWhatTheCasesSayOnAnEmulatedTuring) {
  constexpr int kTuring = 6;
  std::string why_not;
  const std::unique_ptr<Machine> machine = Machine::open(Backend::emulated, why_not, kTuring);
  ASSERT_TRUE(machine) << why_not;
  ASSERT_TRUE(machine->emulator()->set_schedules(kOne));
  machine->emulator()->set_races(0);
  std::vector<Trial> trials = sampled_trials();
  for (const Trial& trial : emulated_trials())
    if (trial.row->number == "40" || trial.row->name == "block_sum") trials.push_back(trial);
  std::erase_if(trials, [](const Trial& trial) { return trial.row->heavy; });
  for (const Trial& trial : trials) machine->prepare_ahead(trial.row->make(trial.values));
  EXPECT_EQ(machine->emulator()->compile_pending(), 0);
  for (const Trial& trial : trials) {
    const Outcome outcome = machine->run(trial.row->make(trial.values));
    EXPECT_TRUE(outcome.ok) << trial.text() << ":\n" << outcome.message;
  }
}

std::string emulated_part_name(const testing::TestParamInfo<EmulatedPart>& info) {
  return std::string(info.param.races ? "races" : "outcomes") + "_part_" + std::to_string(info.param.shard);
}
INSTANTIATE_TEST_SUITE_P(Gpu, Emulated, testing::ValuesIn(emulated_parts()), emulated_part_name);

}  // namespace
}  // namespace tilert::conformance
