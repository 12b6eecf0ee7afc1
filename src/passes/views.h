// split_views: a view of a fragment becomes a fragment of its own, brought up to date where it is read.
// before: fragments may be views of others (Buffer::view_of). after: none is; a Reinterpret stands wherever a fragment is
//         read whose elements were last written under another shape or element type. Views of shared tiles stay: they are
//         free. Not on CPUs, where a fragment lies in memory.
#pragma once

#include "passes/module.h"

namespace tilert::passes {

// The map of a view whose elements each thread has under `from` already, in the registers that their bytes' order gives;
// nothing where there is none.
std::optional<FragmentMap> viewed_map(const FragmentMap& from, int from_bytes, int to_bytes, const std::vector<int64_t>& shape);

Result<Module> split_views(Module module, const PassContext& context);

}  // namespace tilert::passes
