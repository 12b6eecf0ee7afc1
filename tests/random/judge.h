// What is right: the interpreter's results, and whether a case is one whose results every back end must share.
#pragma once

#include "random/random_case.h"

namespace tilert::random {

using Outputs = std::vector<std::vector<uint8_t>>;  // the bytes of each parameter afterwards

// Interpreted; an error for what only running shows.
Result<Outputs> reference(const Case& c);

// Whether the results depend on nothing but the program: it is valid, it gives the same when its blocks run in the
// opposite order (no races between them), and the same with every float widened to f64 (nothing is rounded). What the
// generator makes passes by construction; what the shrinker makes need not.
Status judge(const Case& c, const Outputs& want);

// The first difference, or nothing: bytes, but for zeros of either sign and NaNs.
std::string difference(const Case& c, const Outputs& want, const Outputs& got);

}  // namespace tilert::random
