// What random programs were made of and what the compiler did with them, as counts by name: operations by dtype and
// scope, decisions of passes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "passes/module.h"
#include "random/random_case.h"

namespace tilert::random {

class Coverage {
 public:
  void note_case(const Case& c);
  // The plans of a program's kernels.
  void note_plans(const std::string& target, const std::vector<passes::KernelPlan>& plans);
  void add(const std::string& what, int64_t times = 1) { counts_[what] += times; }
  void merge(const Coverage& other);
  int64_t count(const std::string& what) const;
  const std::map<std::string, int64_t>& counts() const { return counts_; }
  // A table for people: a line for each operation, scopes and dtypes behind it.
  std::string report() const;

 private:
  static std::string grouped(const std::string& reason);
  void note_plan(const std::string& target, const passes::KernelPlan& plan);
  void note_entries(const Case& c, const ir::Stmt& s, std::vector<const char*>& made);
  std::map<std::string, int64_t> counts_;
};

// Whether a pipelined loop of the case uses twice or more what a copy of its body brings.
bool uses_copies_twice(const Case& c);

}  // namespace tilert::random
