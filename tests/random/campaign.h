// Runs cases on back ends: one here, or many in children, so that a crash or a hang is a finding and not the end.
#pragma once

#include <optional>

#include "random/backends.h"

namespace tilert::random {

struct Finding {
  uint64_t seed = 0;
  std::string backend;  // or "generator", where the case itself is at fault
  std::string message;
  bool crashed = false;  // or ran too long: look at it in a child only
};

// The back ends of these names, opened when they are first used. Names that no row has, and what this machine lacks,
// are said in `why_not`.
class Bench {
 public:
  explicit Bench(const std::vector<std::string>& names);
  std::string why_not();
  // The first fault, or nothing.
  std::optional<Finding> check(const Case& c, Coverage& coverage);
  // Before several are checked, in any order.
  void ahead(const std::vector<Case>& cases);

 private:
  struct Seat {
    const BackendRow* row;
    std::unique_ptr<Backend> backend;
  };
  std::vector<Seat> seats_;
  std::string unknown_;
};

std::vector<std::string> usual_backends();

struct Campaign {
  uint64_t first = 0;
  uint64_t count = 1;
  std::vector<std::string> backends;
  int seconds = 60;  // that one case may take
  size_t max_findings = 10;
  int limit = 0;     // seconds for all: no case starts after; 0 is none
  size_t batch = 1;  // cases that back ends may compile together
};
struct CampaignResult {
  uint64_t done = 0;
  std::vector<Finding> findings;
  Coverage coverage;
  std::string why_not;  // a back end that is not here
};
CampaignResult run_campaign(const Campaign& campaign);

// One case in a child of its own.
std::optional<Finding> check_in_child(const Case& c, const std::vector<std::string>& backends, int seconds);

}  // namespace tilert::random
