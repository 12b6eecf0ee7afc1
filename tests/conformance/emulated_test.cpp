// Every trial of the list on emulated GPUs: the text that NVRTC would get runs under several schedules, which must agree
// to the bit, and gives what the case says.
#include <gtest/gtest.h>

#include "conformance/runner.h"

namespace tilert::conformance {
namespace {

// Schedules of the first kind, outcomes and poison; of the second, every access marked, under one order.
constexpr const char* kUsual =
    "greedy,forward;greedy,backward,copies=early,products=early;greedy,forward,copies=early,tensor_copies=early;"
    "random,seed=7,tensor_copies=early;round_robin,backward,products=early";
constexpr const char* kOne = "greedy,backward";

struct EmulatedPart {
  const char* name;
  int ordinal;  // emulator/driver/devices.def
  bool races;
  size_t shard;
};
constexpr size_t kEmulatedShards = 4;
void PrintTo(const EmulatedPart& part, std::ostream* out) { *out << part.name << " part " << part.shard; }

std::vector<EmulatedPart> emulated_parts() {
  std::vector<EmulatedPart> out;
  for (const EmulatedPart& device : {EmulatedPart{"sm_80", 1, false, 0}, {"sm_90a", 0, false, 0}, {"sm_80_races", 1, true, 0}, {"sm_90a_races", 0, true, 0}})
    for (size_t shard = 0; shard < kEmulatedShards; ++shard) out.push_back({device.name, device.ordinal, device.races, shard});
  return out;
}

class Emulated : public testing::TestWithParam<EmulatedPart> {};

TEST_P(Emulated, GivesWhatTheCasesSay) {
  std::string why_not;
  const auto machine = Machine::open(Backend::emulated, why_not, GetParam().ordinal);
  if (!machine) GTEST_SKIP() << why_not;
  ASSERT_TRUE(machine->emulator()->set_schedules(GetParam().races ? kOne : kUsual));
  machine->emulator()->set_races(GetParam().races);
  std::vector<Trial> trials;
  const std::vector<Trial> all = all_trials();
  for (size_t i = GetParam().shard; i < all.size(); i += kEmulatedShards)
    if (!all[i].row->heavy) trials.push_back(all[i]);
  for (const Trial& trial : trials) machine->prepare_ahead(trial.row->make(trial.values));
  EXPECT_EQ(machine->emulator()->compile_pending(), 0);
  for (const Trial& trial : trials) {
    const Outcome outcome = machine->run(trial.row->make(trial.values));
    EXPECT_TRUE(outcome.ok) << trial.text() << ":\n" << outcome.message;
  }
  unsigned long long launches = 0, switches = 0;
  double seconds = 0;
  machine->emulator()->counts(&launches, &switches, &seconds);
  EXPECT_GT(launches, trials.size() / 2);
  RecordProperty("launches", std::to_string(launches));
  RecordProperty("switches", std::to_string(switches));
  RecordProperty("seconds", std::to_string(seconds));
}

std::string emulated_part_name(const testing::TestParamInfo<EmulatedPart>& info) {
  return std::string(info.param.name) + "_part_" + std::to_string(info.param.shard);
}
INSTANTIATE_TEST_SUITE_P(Gpus, Emulated, testing::ValuesIn(emulated_parts()), emulated_part_name);

}  // namespace
}  // namespace tilert::conformance
