// Trials in a child process: one that hangs is killed at its limit, one that crashes costs its own result alone. The
// parent makes no driver call and no handle, so that each child may.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conformance/runner.h"

namespace tilert::conformance {

struct Report {
  bool ran = false;
  Outcome outcome;
};

struct Machines {
  std::string device, target;
  std::string why_not;  // no such back end here
};

// One report per trial. `seconds` is the limit of each; `told` hears of each as it ends.
std::vector<Report> run_in_children(const std::vector<Trial>& trials, Backend backend, int seconds, Machines& machine,
                                    const std::function<void(size_t, const Report&)>& told);

}  // namespace tilert::conformance
