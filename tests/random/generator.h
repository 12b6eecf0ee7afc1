// Makes valid tile programs from a seed: everything that the language takes, in odd sizes, nested, several uses of what
// a pipelined loop copies, with data for which every order of evaluation is exact.
#pragma once

#include "random/random_case.h"

namespace tilert::random {

struct GeneratorOptions {
  int statements = 12;    // at most about so many tile operations outside loops
  int64_t work = 400000;  // about so many scalar operations in all
};

Case generate(uint64_t seed, const GeneratorOptions& options = {});

}  // namespace tilert::random
