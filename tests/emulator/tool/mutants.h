// Mutants of a kernel's text: one statement deleted or weakened, one offset shifted.
#pragma once

#include <string>
#include <vector>

namespace tilert::emulator {

struct Mutant {
  std::string kind;  // "delete", "weaken", "shift"
  int line = 0;      // of the body, from 1
  std::string from, to;
  std::string body;
};

// The body with a note of its line before each statement, to see which ones a launch comes to.
std::string with_notes(const std::string& body);

std::vector<Mutant> mutants_of(const std::string& body);

}  // namespace tilert::emulator
