// Which parts of device/cuda have a truth case.
#pragma once

#include "emulator/truth/case.h"

namespace tilert::truth {

// The first primitive that a case calls and device/cuda does not have; empty where it has all.
std::string missing_part(const Case& one);
// Prints every part that holds asm or a builtin and that no case calls by name nor exempt.def excuses, and every excuse that
// is not needed; 0 where there is none.
int report_coverage(const std::vector<Case>& cases);

}  // namespace tilert::truth
