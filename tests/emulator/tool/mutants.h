// Mutants of a kernel's text: one statement deleted or weakened, one offset shifted; and the text that holds all of them,
// of which one at a time is alive. Not here: running them (tearing.h).
#pragma once

#include <string>
#include <vector>

namespace tilert::emulator {

struct Mutant {
  std::string kind;      // "delete", "weaken", "shift"
  int line = 0;          // of the body, from 1
  std::string from, to;  // the line as it is, and changed
};

struct Torn {
  std::vector<Mutant> mutants;  // by number
  // The body, line for line, where each place asks tlemu_mutant(number) whether it is to be changed.
  std::string body;
};

Torn tear_text(const std::string& body);

}  // namespace tilert::emulator
