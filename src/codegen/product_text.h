// Warpgroup products in CUDA text: one form of the primitive for each width and type in use, since the instruction names
// every register of its accumulator. Not here: the other primitives (device_text.h).
#pragma once

#include <string>
#include <string_view>

namespace tilert::codegen {

// The forms that `body` calls, in a fixed order; they go behind the device text and before the body.
std::string product_forms(std::string_view body);

}  // namespace tilert::codegen
