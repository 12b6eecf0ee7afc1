// Runs mutants: which texts the cases of the conformance list have, and what becomes of each change of one of them.
// Not here: what is changed (mutants.h), what is made of the verdicts (results.h), processes (mutate.cpp).
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "conformance/runner.h"
#include "emulator/tool/mutants.h"
#include "emulator/tool/results.h"

namespace tilert::conformance {

// A text, and who launches it: machine and trial, by index.
struct TornText {
  std::string body, digest;
  std::vector<std::pair<size_t, size_t>> users;
  emulator::Torn torn;
};

// Some of a text's mutants: what one process does at a time.
struct TornPart {
  size_t text = 0, begin = 0, end = 0;
};

class Tearing {
 public:
  // Null and why. `targets`: of emulated devices ("sm_80", "gfx942"); `filter`: of cases, empty: all.
  static std::unique_ptr<Tearing> open(const std::vector<std::string>& targets, const std::string& filter, std::string& why_not);

  // In an order that mixes cases; the same in every process.
  const std::vector<TornPart>& parts() const { return parts_; }
  const std::vector<TornText>& texts() const { return texts_; }
  std::set<std::string> digests() const;  // of its texts

  // Judges the part's mutants that are not in `done`. `begins` is told each verdict as it will be if the run never ends, and
  // how many seconds the case took unchanged, compiling included; `ends` each one that is reached. `stop` is asked between runs. False: the text fails as it stands, `why` says how.
  struct Ears {
    std::function<void(const emulator::Verdict&, double seconds)> begins;
    std::function<void(const emulator::Verdict&)> ends;
    std::function<bool()> stop;
  };
  bool tear(const TornPart& part, const std::set<std::string>& done, const Ears& ears, std::string& why);

 private:
  void read_texts();
  struct Open;  // a mutant that nothing has caught yet
  bool run_user(const TornText& text, size_t user, bool races, std::vector<Open>& open, const Ears& ears, std::string& why);
  std::string arch(const TornText& text) const;

  std::vector<std::unique_ptr<EmulatedGpu>> machines_;
  std::vector<Trial> trials_;
  std::vector<TornText> texts_;
  std::vector<TornPart> parts_;
};

}  // namespace tilert::conformance
