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

WorkspaceLayout lay_out_workspace(const Program& program, const std::vector<GeneratedKernel>& kernels,
                                  const passes::SchedulePlan* schedule) {
  std::set<BufferId> regions;
  for (BufferId id = 0; id < program.buffers.size(); ++id)
    if (program.buffer(id).zeroed) regions.insert(id);
  for (const GeneratedKernel& kernel : kernels)
    for (const KernelParameter& p : kernel.parameters)
      if (p.kind == KernelParameter::Kind::workspace) regions.insert(p.buffer);
  WorkspaceLayout out;
  if (regions.empty()) return out;
  out.bytes = program.arena->index(0);
  const auto place = [&](BufferId id) {
    out.offsets[id] = out.bytes;
    out.bytes = arith::add(*program.arena, out.bytes, rounded_bytes(program, program.buffer(id)));
  };
  const auto place_all = [&](bool zeroed) {
    for (BufferId id : regions)
      if (program.buffer(id).zeroed == zeroed && out.offsets.count(id) == 0 && (!schedule || id != schedule->header)) place(id);
  };
  place_all(true);
  if (schedule) place(schedule->header);
  out.zero_bytes = out.bytes;
  if (schedule) place(schedule->list);
  place_all(false);
  return out;
}

}  // namespace tilert::codegen
