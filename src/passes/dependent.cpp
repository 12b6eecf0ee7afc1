// The wait stands among the kernel's own statements, where every thread comes to it.
#include "passes/dependent.h"

#include <algorithm>

#include "ir/visit.h"
#include "passes/hints.h"

namespace tilert::passes {
namespace {

using namespace ir;

std::string why_not(const Kernel& kernel, const Target& target) {
  if (!target.has(Feature::dependent_launch)) return "programmatic dependent launch is there from sm_90 on";
  bool meets = false;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const auto* call = std::get_if<Call>(&s.node);
    meets |= call && call->primitive == Primitive::grid_barrier;
  });
  return meets ? "its blocks meet in a grid_sync, and a cooperative launch starts when the grid before it has ended" : "";
}

}  // namespace

Result<Module> wait_for_grids(Module module, const PassContext& context) {
  const Program& program = module.program;
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    Kernel& kernel = module.program.kernels[k];
    if (hint_of(kernel, HintKind::pdl) == 0) continue;
    module.plans[k].not_dependent = why_not(kernel, context.target);
    if (!module.plans[k].not_dependent.empty()) continue;
    const auto first = std::find_if(kernel.body.begin(), kernel.body.end(), [&](const StmtPtr& s) { return touches_global(program, *s); });
    const StmtPtr both[] = {make_stmt(Call{Primitive::wait_for_grids, {}}), make_stmt(Call{Primitive::launch_dependents, {}})};
    kernel.body.insert(first, std::begin(both), std::end(both));
  }
  return module;
}

}  // namespace tilert::passes
