// A case: a program, sizes for its dims, and a seed of its data. As text it is a .tir file whose first comment holds
// the sizes and the seed, so that a person can run it again. Not here: how programs are made (generator.h), what is
// right (judge.h), how they are run (backends.h).
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace tilert::random {

struct Case {
  ir::Program program;
  std::vector<int64_t> dims;
  std::vector<bool> bound;  // dims given when compiled
  uint64_t seed = 0;        // of the data
};

Case copy_of(const Case& original);

std::string to_text(const Case& c);
Result<Case> from_text(const std::string& text);

// What data may be: small integers, exact in every dtype.
inline constexpr int64_t kDataBound = 3;

// The bytes of each parameter: tensors in storage order, a scalar's bits in 8 bytes. Inputs depend on seed and name
// alone; outputs hold a pattern that no float has.
std::vector<std::vector<uint8_t>> make_data(const Case& c);

// A size of a buffer, or any other expression of dims, under the case's sizes; scalars by their data.
int64_t value_of(const Case& c, ir::Expr expr);
int64_t elements_of(const Case& c, const ir::Buffer& tensor);  // that its strides reach

}  // namespace tilert::random
