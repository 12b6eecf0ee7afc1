// Every trial of the list on emulated GPUs: the text that NVRTC would get runs under several schedules, which must agree
// to the bit, and gives what the case says.
#include <gtest/gtest.h>

#include "conformance/runner.h"

namespace tilert::conformance {
namespace {

struct Device {
  const char* name;
  int ordinal;  // emulator/driver/devices.def
};
constexpr Device kDevices[] = {{"sm_80", 1}, {"sm_90a", 0}};
constexpr size_t kShards = 4;

struct Part {
  Device device;
  size_t shard;
};
void PrintTo(const Part& part, std::ostream* out) { *out << part.device.name << " part " << part.shard; }

std::vector<Part> parts() {
  std::vector<Part> out;
  for (const Device& device : kDevices)
    for (size_t shard = 0; shard < kShards; ++shard) out.push_back({device, shard});
  return out;
}

class Emulated : public testing::TestWithParam<Part> {};

TEST_P(Emulated, GivesWhatTheCasesSay) {
  std::string why_not;
  const auto machine = Machine::open(Backend::emulated, why_not, GetParam().device.ordinal);
  if (!machine) GTEST_SKIP() << why_not;
  std::vector<Trial> trials;
  const std::vector<Trial> all = all_trials();
  for (size_t i = GetParam().shard; i < all.size(); i += kShards)
    if (!all[i].row->heavy) trials.push_back(all[i]);
  for (const Trial& trial : trials) machine->prepare_ahead(trial.row->make(trial.values));
  EXPECT_EQ(machine->emulator()->compile_pending(), 0);
  for (const Trial& trial : trials) {
    const Outcome outcome = machine->run(trial.row->make(trial.values));
    EXPECT_TRUE(outcome.ok) << trial.text() << ":\n" << outcome.message;
  }
}

std::string part_name(const testing::TestParamInfo<Part>& info) {
  return std::string(info.param.device.name) + "_part_" + std::to_string(info.param.shard);
}
INSTANTIATE_TEST_SUITE_P(Gpus, Emulated, testing::ValuesIn(parts()), part_name);

}  // namespace
}  // namespace tilert::conformance
