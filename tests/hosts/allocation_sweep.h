// Sweeps over the allocations of one act: each made to fail in turn, alone, with the next, and with all after it.
#pragma once

#include <functional>
#include <string>

#include "tilert.h"

namespace tilert::hosts {

// One call of the library, or a few. Made in the process that runs it, since handles do not outlive a fork.
struct Act {
  std::function<void()> before = [] {};                              // with memory
  std::function<tilert_status()> act;                                // counted
  std::function<void()> after = [] {};                               // gives back what it made
  std::function<std::string()> made = [] { return std::string(); };  // what it made: the same whenever it returned OK
};

// Runs the act in children of this process, all allocations of it failing in turn (some of the later ones only, unless
// TILERT_EVERY_ALLOCATION is set): failures of the running test say which ended the process, gave another status than
// TILERT_OUT_OF_MEMORY, left bytes behind, or let something else be made.
void expect_statuses(const std::function<Act()>& make);

}  // namespace tilert::hosts
