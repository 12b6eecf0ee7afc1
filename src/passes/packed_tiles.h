// Shared tiles whose elements are less than a byte.
// Not here: what an access of such a tile looks like (lower_packed.cpp, Lower::packed_access), nor what is_packed means.
#pragma once

#include "passes/module.h"

namespace tilert::passes {

// before: products and reductions may read tiles whose elements share bytes. after: they read a tile or fragment into which
// a copy brought the elements, cast as the operation casts them; only copies, fills and reads by element touch packed tiles.
Result<Module> unpack_operands(Module module, const PassContext& context);

// GPUs. before: elements of less than a byte have one each in shared tiles, but where the program shows a tile's bytes.
// after: a tile that is filled by copies of whole bytes, and otherwise only written by whole bytes and read, has a view of
// bytes, which makes it packed; copies between tensors and packed tiles that move whole bytes alone are copies of bytes:
// what has no other form in memory on its way, as fast as bytes are. KernelPlan::unpacked says why other tiles are not.
Result<Module> pack_tiles(Module module, const PassContext& context);

// Where the bytes of a packed tile lie: row-major, as its elements do.
AddressMap packed_bytes_map(const ir::Program& program, ir::BufferId tile);

}  // namespace tilert::passes
