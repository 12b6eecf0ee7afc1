// A program with checks of its tiles' bounds, for kernels made with TILERT_KERNEL_DEBUG. Not here: what the language says of
// elements of parameters, which may be out of range.
#pragma once

#include <memory>

#include "ir/program.h"

namespace tilert::builder {

// The program, where every element and region of a tile that is not certainly inside is checked first: outside, an assertion
// is reported, a store is dropped, and anything else uses the nearest place inside (an element: the first along that dim).
Result<std::shared_ptr<const ir::Program>> with_bounds_checks(const ir::Program& program);

}  // namespace tilert::builder
