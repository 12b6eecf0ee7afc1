// An allocator for tests: this program's malloc and its kin, of which one call, or each from one on, can be made to
// fail.
#pragma once

#include <cstdint>

namespace tilert::hosts {

enum class Failing { one, two, from };  // the call of that number, it and the next, it and all after it

// Starts counting, and failing at the call `number` (from 0; negative: none). Calls of any thread count.
void arm(int64_t number, Failing mode);
// Ends it; how many calls there were.
int64_t disarm();
// Bytes handed out and not given back.
int64_t bytes_in_use();

}  // namespace tilert::hosts
