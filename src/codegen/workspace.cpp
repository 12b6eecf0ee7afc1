// One after the other, in the order of their declaration.
#include "codegen/workspace.h"

#include <set>

#include "arith/build.h"

namespace tilert::codegen {

using namespace ir;

namespace {

Expr rounded_bytes(const Program& program, const Buffer& region) {
  Arena& arena = *program.arena;
  Expr bytes = arena.index(dtype_bytes(region.dtype));
  for (Expr extent : region.shape) bytes = arith::mul(arena, extent, bytes);
  return arith::mul(arena, arith::ceildiv(arena, bytes, kWorkspaceAlignment), kWorkspaceAlignment);
}

}  // namespace

WorkspaceLayout lay_out_workspace(const Program& program, const std::vector<GeneratedKernel>& kernels) {
  std::set<BufferId> regions;
  for (const GeneratedKernel& kernel : kernels)
    for (const KernelParameter& p : kernel.parameters)
      if (p.kind == KernelParameter::Kind::workspace) regions.insert(p.buffer);
  WorkspaceLayout out;
  if (regions.empty()) return out;
  out.bytes = program.arena->index(0);
  for (const bool zeroed : {true, false}) {
    for (BufferId id : regions) {
      if (program.buffer(id).zeroed != zeroed) continue;
      out.offsets[id] = out.bytes;
      out.bytes = arith::add(*program.arena, out.bytes, rounded_bytes(program, program.buffer(id)));
    }
    if (zeroed) out.zero_bytes = out.bytes;
  }
  return out;
}

}  // namespace tilert::codegen
