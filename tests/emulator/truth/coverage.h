// Which parts of device/cuda have a truth case.
#pragma once

#include "emulator/truth/case.h"

namespace tilert::truth {

// Prints every part that holds asm or a builtin and that no case calls by name nor exempt.def excuses, and every excuse that
// is not needed; 0 where there is none.
int report_coverage(const std::vector<Case>& cases);

}  // namespace tilert::truth
