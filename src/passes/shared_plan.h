// plan_shared: gives every shared buffer its place in the block's arena.
// before: shared buffers without byte_offset; after: with one. Buffers whose lifetimes do not meet may share bytes; the
// barriers pass sees that by the bytes, not by the names.
#pragma once

#include "passes/module.h"

namespace tilert::passes {

Result<Module> plan_shared(Module module, const PassContext& context);

// Bytes of a lowered shared buffer, which is flat.
int64_t shared_bytes(const ir::Buffer& buffer);

}  // namespace tilert::passes
