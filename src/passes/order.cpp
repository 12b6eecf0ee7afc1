// The table of GPU passes.
#include "passes/order.h"

#include "passes/barriers.h"
#include "passes/layouts.h"
#include "passes/lower.h"
#include "passes/partial_sums.h"
#include "passes/ring.h"
#include "passes/roles.h"
#include "passes/select.h"
#include "passes/shared_plan.h"

namespace tilert::passes {

const std::vector<Pass>& gpu_passes() {
  static const std::vector<Pass> table = {
      {"select", select},         {"plan_roles", plan_roles},   {"partial_sums", partial_sums}, {"infer_layouts", infer_layouts},
      {"plan_rings", plan_rings}, {"apply_rings", apply_rings}, {"lower", lower},
      {"plan_shared", plan_shared}, {"insert_barriers", insert_barriers},
  };
  return table;
}

Result<Module> run_gpu_passes(Module module, const PassContext& context, std::string_view stop_after) {
  auto current = std::make_unique<Module>(std::move(module));
  for (const Pass& pass : gpu_passes()) {
    TILERT_ASSIGN(Module next, pass.run(std::move(*current), context));
    current = std::make_unique<Module>(std::move(next));
    if (stop_after == pass.name) break;
  }
  return std::move(*current);
}

}  // namespace tilert::passes
