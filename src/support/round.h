// Rounding of whole numbers.
#pragma once

#include <cstdint>

namespace tilert {

// How many pieces of `unit` > 0 cover `value` >= 0.
constexpr int64_t ceil_div(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }

}  // namespace tilert
