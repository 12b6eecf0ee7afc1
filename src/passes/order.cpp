// The table of GPU passes.
#include "passes/order.h"

#include "passes/async_plan.h"
#include "passes/barriers.h"
#include "passes/cluster.h"
#include "passes/contract.h"
#include "passes/dependent.h"
#include "passes/expand.h"
#include "passes/fuse_loops.h"
#include "passes/hints.h"
#include "passes/layouts.h"
#include "passes/lower.h"
#include "passes/packed_tiles.h"
#include "passes/partial_sums.h"
#include "passes/persist.h"
#include "passes/ring.h"
#include "passes/roles.h"
#include "passes/select.h"
#include "passes/shared_plan.h"
#include "passes/specialize.h"
#include "passes/split_k.h"
#include "passes/structure.h"
#include "passes/tables.h"
#include "passes/views.h"
#include "support/immortal.h"
#include "support/refusal.h"

namespace tilert::passes {

const std::vector<Pass>& gpu_passes() {
  using ir::Stage;
  static const auto& table = immortal(std::vector<Pass>{
      {"tables", tables, Stage::specialized},
      {"take_hints", take_hints, Stage::specialized},
      {"cluster", cluster, Stage::specialized},
      {"raster", raster, Stage::specialized},
      {"split_k", split_k, Stage::specialized},
      {"persist", persist, Stage::specialized},
      {"expand", expand, Stage::specialized},
      {"pack_tiles", pack_tiles, Stage::specialized},
      {"unpack_operands", unpack_operands, Stage::specialized},
      {"select", select, Stage::specialized},
      {"structure", structure, Stage::specialized},
      {"split_views", split_views, Stage::specialized},
      {"plan_roles", plan_roles, Stage::specialized},
      {"plan_async", plan_async, Stage::specialized},
      {"bound_registers", bound_registers, Stage::specialized},
      {"partial_sums", partial_sums, Stage::specialized},
      {"contract", contract, Stage::specialized},
      {"fuse_loops", fuse_loops, Stage::specialized},
      {"infer_layouts", infer_layouts, Stage::specialized},
      {"learn_dims", learn_dims, Stage::specialized},
      {"plan_rings", plan_rings, Stage::specialized},
      {"apply_rings", apply_rings, Stage::lowered},
      {"lower", lower, Stage::lowered},
      {"plan_shared", plan_shared, Stage::lowered},
      {"insert_barriers", insert_barriers, Stage::synchronized},
      {"wait_for_grids", wait_for_grids, Stage::synchronized},
      {"recommend_blocks", recommend_blocks, Stage::synchronized},
      {"judge_hints", judge_hints, Stage::synchronized},
  });
  return table;
}

namespace {

Result<Module> run_once(Module module, const PassContext& context, std::string_view stop_after) {
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

// Gives up the roles that were planned for the module; false where there were none.
bool give_up_roles(Module& module, const PassContext& context) {
  const Result<Module> planned = run_once(module, context, "plan_roles");
  if (!planned) return false;
  module.plans.resize(planned->plans.size());
  bool any = false;
  for (size_t k = 0; k < planned->plans.size(); ++k)
    if (planned->plans[k].roles.on)
      any = true, module.plans[k].roles.reason = "what the rest of the kernel keeps in shared memory does not fit beside its ring";
  return any;
}

// The same of parts of sums that meet in the shared memory of a cluster.
bool give_up_meetings(Module& module, const PassContext& context) {
  const Result<Module> planned = run_once(module, context, "plan_roles");
  if (!planned) return false;
  module.plans.resize(planned->plans.size());
  bool any = false;
  for (size_t k = 0; k < planned->plans.size(); ++k)
    if (planned->plans[k].roles.on && !planned->plans[k].meeting.sums.empty())
      any = true, module.plans[k].meeting.reason = "what the rest of the kernel keeps in shared memory leaves no room for them";
  return any;
}

// Clusters are made before it is known which copies a kernel with roles makes: blocks that share none stay by themselves, and parts
// of sums that do not meet in one meet in the workspace.
Result<Module> run_clustered(const Module& module, const PassContext& context, std::string_view stop_after) {
  Module before = module;
  for (;;) {
    Result<Module> done = run_once(before, context, stop_after);
    if (!done) return done;
    before.plans.resize(done->plans.size());
    bool any = false;
    for (size_t k = 0; k < module.program.kernels.size(); ++k) {
      const KernelPlan& plan = done->plans[k];
      if (done->program.kernels[k].cluster == 1 || (plan.not_clustered.empty() && plan.meeting.reason.empty())) continue;
      if (!plan.meeting.sums.empty()) any |= !plan.meeting.reason.empty(), before.plans[k].meeting.reason = plan.meeting.reason;
      else if (!plan.not_clustered.empty()) any = true, before.plans[k].not_clustered = plan.not_clustered;
    }
    if (!any) return done;
  }
}

// Where a block's fixed number of threads ends within a wave of 64, kernels are placed in warps of 32, which halves of waves do as well as
// waves, and take no instruction of whole waves: the last wave has its lower half alone.
PassContext for_blocks(const Module& module, PassContext context) {
  Target& target = context.target;
  for (const ir::Kernel& kernel : module.program.kernels) {
    if (target.warp_size != 64 || hint_of(kernel, ir::HintKind::threads_fixed) % 64 != 32) continue;
    target.warp_size = 32;
    for (Feature of_waves : {Feature::mfma_f16, Feature::mfma_bf16, Feature::mfma_f64, Feature::mfma_i8, Feature::mfma_i8_wide, Feature::mfma_fp8_fnuz,
                             Feature::mfma_fp8, Feature::mfma_xf32, Feature::mfma_deep})
      target.features &= ~(uint64_t{1} << static_cast<int>(of_waves));
  }
  return context;
}

}  // namespace

// Roles are planned before it is known what conversions take: a kernel that does not fit with them is made without.
Result<Module> run_gpu_passes(Module module, const PassContext& given, std::string_view stop_after) {
  const PassContext context = for_blocks(module, given);
  Result<Module> done = run_clustered(module, context, stop_after);
  if (done || !is_refusal(done.error())) return done;
  if (give_up_meetings(module, context)) {
    Result<Module> apart = run_clustered(module, context, stop_after);
    if (apart || !is_refusal(apart.error())) return apart;
  }
  if (!give_up_roles(module, context)) return done;
  Result<Module> plain = run_clustered(module, context, stop_after);
  return plain ? std::move(plain) : std::move(done);
}

}  // namespace tilert::passes
