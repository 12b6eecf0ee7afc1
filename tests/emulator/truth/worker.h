// Runs cases in child processes: a kernel that faults or hangs costs its own case only.
#pragma once

#include "emulator/truth/side.h"

namespace tilert::truth {

struct Results {
  std::string device;
  std::string wrong;  // why nothing ran
  std::vector<Outcome> outcomes;  // one for each case
};

// No case may take longer than `seconds`; the first one of a child may take ten times as long, for what must be compiled.
Results run_all(const Libraries& libraries, const std::vector<Case>& cases, int seconds);

}  // namespace tilert::truth
