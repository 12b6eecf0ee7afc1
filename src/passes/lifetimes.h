// From where to where in a lowered kernel the buffers of a scope are in use, by the position of statements. A buffer used in
// a loop but declared outside it lives through the whole loop; a use of a view is one of what it is a view of. For shared
// buffers a group is one position: no barrier stands inside.
#pragma once

#include <vector>

#include "passes/module.h"

namespace tilert::passes {

struct Life {
  ir::BufferId buffer;
  int first = -1, last = -1;  // positions: the declaration, the last use
};

// Those that are used, in the order of their ids.
std::vector<Life> lifetimes(const ir::Program& program, const ir::Block& body, ir::Scope scope);

}  // namespace tilert::passes
