// What became of mutants: a line of JSON each, the sums of files of them, and the table of reasons for which some
// survive. Not here: how a mutant is judged (tearing.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tilert::emulator {

struct Verdict {
  std::string trial;       // "case 36 sizes M=8 ..."
  std::string arch;        // sm_80, sm_90a, both: whose text it is
  std::string text;        // digest of the text
  int number = 0;          // of the mutant in its text
  int line = 0;            // of the text, from 1
  std::string kind, from, to;
  // outcome, race, hang, crash: caught by it. survives; redundant: an order whose loss makes no race in any case that runs
  // it; unreached: no case runs the line.
  std::string outcome;
  std::string how;         // what the case or the report said
  int milliseconds = 0;

  bool caught() const { return outcome == "outcome" || outcome == "race" || outcome == "hang" || outcome == "crash"; }
  std::string key() const { return text + ":" + std::to_string(number); }
};

std::string verdict_line(const Verdict& verdict);  // with its newline
// Adds the lines of a file; false where it cannot be read. Lines cut short are passed over.
bool read_verdicts(const std::string& file, std::map<std::string, Verdict>& by_key);

// A row "case 35 scan op=1,2 n=31 | kind | line | why". The case must be of that number and name, and of each axis that
// stands there have one of the values; the line (without `to`) must be that one, where N is any number and ... anything. Kind
// "unreached" is of every change of a line that no case runs.
struct Reason {
  std::string trial, kind, line, why;
  bool holds(const Verdict& verdict) const;
};
struct Reasons {
  std::vector<Reason> rows;
  const Reason* of(const Verdict& verdict) const;  // of what survives or is not reached; null: none
};
bool read_reasons(const std::string& file, Reasons& out);  // false where the file is not there

struct Sum {
  size_t caught = 0, survive = 0, redundant = 0, unreached = 0, unexplained = 0;  // the last: of those that survive
  double percent() const { return caught + survive ? 100.0 * static_cast<double>(caught) / static_cast<double>(caught + survive) : 100.0; }
};

// Prints sums by architecture and by operation, survivors by reason; writes the same to `json`, where given. The sum of all.
Sum print_sums(const std::map<std::string, Verdict>& by_key, const Reasons& reasons, const std::string& json);

}  // namespace tilert::emulator
