// split_views: a view of a fragment becomes a fragment of its own, brought up to date where it is read.
// before: fragments may be views of others (Buffer::view_of). after: none is; a Reinterpret stands wherever a fragment is
//         read whose elements were last written under another shape or element type. Views of shared tiles stay: they are
//         free. Not on CPUs, where a fragment lies in memory.
#pragma once

#include "passes/module.h"

namespace tilert::passes {

Result<Module> split_views(Module module, const PassContext& context);

}  // namespace tilert::passes
