// specialize: a program becomes one variant's: dims given when compiled are constants, what is known of the others
// (divisors, ranges) is kept as facts, expressions are simplified.
// before: a frozen program. after: a copy with an arena of its own; Module::facts know dims and block indices.
#pragma once

#include <optional>

#include "passes/module.h"

namespace tilert::passes {

// What a variant assumes of one dim. `value` binds it; else it is a multiple of `divisor` and within [low, high].
struct DimChoice {
  std::optional<int64_t> value;
  int64_t divisor = 1;
  int64_t low = 0;
  int64_t high = int64_t{1} << 40;

  bool is_range() const { return low > 0 || high < DimChoice{}.high; }
};

// `dims` has an entry per dim of the program, in its order.
Result<Module> specialize(const ir::Program& program, const std::vector<DimChoice>& dims);

void learn(const DimFact& known, arith::Facts& facts);

// What the variant assumes of dims, where a kernel's order of sums is fixed: until here it is in no fact, so that instructions,
// layouts and fused operations are those of every variant.
// before: Module::withheld; after: Module::facts know it.
Result<Module> learn_dims(Module module, const PassContext& context);

}  // namespace tilert::passes
