// Makes a failing case smaller while it still fails in the same way, and stays one that must not: statements go, loops
// and branches become their bodies, sizes and shapes become smaller, expressions become their operands, hints go.
#pragma once

#include "random/campaign.h"

namespace tilert::random {

Case shrink(const Case& failing, const Finding& finding, int seconds);

}  // namespace tilert::random
