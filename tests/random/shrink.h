// Makes a failing case smaller while it still fails in the same way, and stays one that must not: statements go, loops
// and branches become their bodies, sizes and shapes become smaller, expressions become their operands, hints go.
#pragma once

#include "random/campaign.h"

namespace tilert::random {

// Each try may take `seconds`, all of them `budget`.
Case shrink(const Case& failing, const Finding& finding, int seconds, int budget = 240);

// Which fault a finding is, not where: what is kept while a case shrinks.
std::string kind_of(const Finding& finding);

}  // namespace tilert::random
