// Refusals: what is valid and yet not done. Each says what to do instead; nothing else makes the code UNSUPPORTED, which
// tools/checks/refusals.py sees to.
#pragma once

#include <string>
#include <string_view>

#include "support/result.h"

namespace tilert {

// UNSUPPORTED: "<what>: <instead>". `instead` is what the caller can do, never empty.
inline Error refusal(std::string what, std::string_view instead, std::string_view between = ": ") {
  what.append(between).append(instead);
  return Error{Code::kUnsupported, std::move(what), {}, {}};
}
inline bool is_refusal(const Error& error) { return error.code == Code::kUnsupported; }

}  // namespace tilert
