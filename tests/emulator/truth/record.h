// Records of a side: a JSON file of each case's digest, and its bytes where asked for. Differences in words.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "emulator/truth/worker.h"

namespace tilert::truth {

struct Recorded {
  bool known = false;
  bool unseen = false;  // its row says that no GPU has run it
  std::string digest, wrong;
  Bytes output;  // empty where the file has digests only
};
struct Record {
  std::string device;
  std::vector<Recorded> cases;  // one for each case of the list
  std::vector<std::string> unknown;  // names in the file that are no case
};

Record record_of(const std::vector<Case>& cases, const Results& results);
// Empty, or why the file is none. `skipped`: names that may be in the file too.
std::string read_record(const std::string& path, const std::vector<Case>& cases, const std::set<std::string>& skipped, Record& out);
std::string write_record(const std::string& path, const std::vector<Case>& cases, const Record& record, bool with_bytes);

// Empty where both are the same; else what differs, with at most `most` elements where both have bytes.
std::string difference(const Case& of, const Recorded& a, const Recorded& b, size_t most);

}  // namespace tilert::truth
