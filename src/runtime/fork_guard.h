// Whether this process is a child of the one that made a handle. A driver context, a pool's threads and locks that were
// held do not survive fork, so what was made before it answers FORKED.
#pragma once

#include <cstdint>

namespace tilert::runtime {

// How often this process was forked into since it began: a relaxed load. The first call registers the handler.
uint32_t fork_generation();

}  // namespace tilert::runtime
