// The back ends that a case runs on: one list, one function each. A new one is a row in all_backends.
// Not here: what is right (judge.h).
#pragma once

#include <functional>
#include <memory>

#include "random/coverage.h"
#include "random/judge.h"

namespace tilert::random {

class Backend {
 public:
  virtual ~Backend() = default;
  // Empty where this machine has it, else why not.
  virtual std::string why_not() { return {}; }
  // These are the cases that run next: who compiles many at once cheaper than one by one does so now.
  virtual void ahead(const std::vector<Case>&) {}
  // Runs the case; empty where it gives what is wanted. Where the case is refused, or fails, that is said too: a valid
  // program that a back end refuses is a fault.
  virtual std::string run(const Case& c, const Outputs& want, Coverage& coverage) = 0;
};

struct BackendRow {
  std::string name;
  bool usual;  // run unless others are named
  std::function<std::unique_ptr<Backend>()> make;
};

// text: printed and parsed again. passes:T: interpreted after the GPU passes for target T. source:T: the text for T is
// generated. nvrtc:T: and compiled. cpu, cuda, emulated:T: compiled, launched with poisoned outputs between canaries.
// races:T: as emulated, under one schedule, with all accesses marked.
const std::vector<BackendRow>& all_backends();
void add_backend(BackendRow row);

// The text that is generated for a target, all variants of it, or after a pass ("sm_80/lower"); or why there is none.
std::string source_of(const Case& c, const std::string& target_and_stage);

}  // namespace tilert::random
