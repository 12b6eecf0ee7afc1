// The table of GPU passes.
#include "passes/order.h"

#include "passes/barriers.h"
#include "passes/contract.h"
#include "passes/expand.h"
#include "passes/hints.h"
#include "passes/layouts.h"
#include "passes/lower.h"
#include "passes/partial_sums.h"
#include "passes/ring.h"
#include "passes/roles.h"
#include "passes/select.h"
#include "passes/shared_plan.h"
#include "support/immortal.h"

namespace tilert::passes {

const std::vector<Pass>& gpu_passes() {
  using ir::Stage;
  static const auto& table = immortal(std::vector<Pass>{
      {"take_hints", take_hints, Stage::specialized},
      {"raster", raster, Stage::specialized},
      {"expand", expand, Stage::specialized},
      {"select", select, Stage::specialized},
      {"plan_roles", plan_roles, Stage::specialized},
      {"bound_registers", bound_registers, Stage::specialized},
      {"partial_sums", partial_sums, Stage::specialized},
      {"contract", contract, Stage::specialized},
      {"infer_layouts", infer_layouts, Stage::specialized},
      {"plan_rings", plan_rings, Stage::specialized},
      {"apply_rings", apply_rings, Stage::lowered},
      {"lower", lower, Stage::lowered},
      {"plan_shared", plan_shared, Stage::lowered},
      {"insert_barriers", insert_barriers, Stage::synchronized},
      {"judge_hints", judge_hints, Stage::synchronized},
  });
  return table;
}

Result<Module> run_gpu_passes(Module module, const PassContext& context, std::string_view stop_after) {
  auto current = std::make_unique<Module>(std::move(module));
  for (const Pass& pass : gpu_passes()) {
    TILERT_ASSIGN(Module next, pass.run(std::move(*current), context));
    current = std::make_unique<Module>(std::move(next));
    if (context.verify)
      if (const Status legal = ir::verify(current->program, pass.stage); !legal)
        return make_error(Code::kInternal, "after the pass '{}': {}", pass.name, legal.error().message);
    if (stop_after == pass.name) break;
  }
  return std::move(*current);
}

}  // namespace tilert::passes
