// Kernel plans as JSON.
#include "codegen/configuration.h"

#include "passes/hints.h"

namespace tilert::codegen {
namespace {

using passes::GemmPlan;
using passes::KernelPlan;

Json product(uint32_t ordinal, const GemmPlan& plan) {
  Json out{{"operation", ordinal}, {"tile", Json::list(plan.m, plan.n, plan.k)}};
  if (plan.path == GemmPlan::Path::fma) {
    out["instruction"] = "fma";
    if (!plan.reason.empty()) out["reason"] = plan.reason;
    return out;
  }
  out["instruction"] = plan.atom->name;
  out[plan.path == GemmPlan::Path::wgmma ? "warpgroups" : "warps"] = Json::list(plan.warps_m, plan.warps_n);
  if (plan.a_registers) out["a"] = "registers";
  if (plan.path == GemmPlan::Path::mma && plan.atom->a != DType::f64) out["ldmatrix"] = Json::list(plan.a_ldmatrix, plan.b_ldmatrix);
  return out;
}

Json pipeline(uint32_t ordinal, const passes::RingPlan& ring) {
  Json out{{"operation", ordinal}, {"stages", ring.stages}, {"copies_ahead", Json::of(ring.copies)}};
  if (!ring.reason.empty()) out["not_ahead"] = ring.reason;
  return out;
}

Json roles(const passes::RolePlan& plan) {
  Json out{{"operation", plan.loop}, {"stages", plan.stages}, {"consumer_warpgroups", plan.consumers},
           {"producer_registers", plan.producer_registers}, {"consumer_registers", plan.consumer_registers}};
  for (const auto& [ordinal, part] : plan.shared_loads) out["shared_copies"].push_back(Json{{"operation", ordinal}, {"part", Json::list(part.rows, part.columns)}});
  for (const auto& [ordinal, reason] : plan.by_threads) out["copied_by_threads"].push_back(Json{{"operation", ordinal}, {"reason", reason}});
  return out;
}

Json hints(const KernelPlan& plan) {
  Json out = Json::array();
  for (const passes::HintOutcome& h : plan.hints) {
    Json one{{"hint", passes::text_of(h)}, {"taken", h.taken}};
    if (h.ordinal) one["operation"] = h.ordinal;
    if (!h.taken) one["reason"] = h.reason;
    out.push_back(std::move(one));
  }
  return out;
}

Json kernel(const KernelPlan& plan, int cluster) {
  Json out{{"threads", plan.threads + (plan.roles.on ? 128 : 0)}, {"shared_bytes", plan.shared_bytes}, {"min_blocks", plan.min_blocks}};
  if (cluster > 1) out["cluster"] = cluster;
  if (plan.parts > 1) out["split"] = Json{{"parts", plan.parts}, {"meet_in", plan.meeting.sums.empty() ? "workspace" : "cluster"}};
  if (plan.parts > 1 && plan.meeting.sums.empty()) out["split"]["reason"] = plan.meeting.reason;
  for (const auto& [ordinal, gemm] : plan.gemms) out["products"].push_back(product(ordinal, gemm));
  for (const auto& [ordinal, ring] : plan.rings) out["pipelines"].push_back(pipeline(ordinal, ring));
  if (plan.roles.on) out["roles"] = roles(plan.roles);
  else if (!plan.roles.reason.empty()) out["no_roles"] = plan.roles.reason;
  for (const auto& [ordinal, copy] : plan.copies)
    out["copies"].push_back(Json{{"operation", ordinal}, {"engine", name_of(copy.engine)}, {"bytes", copy.bytes}});
  for (const passes::Conversion& c : plan.conversions)
    out["conversions"].push_back(Json{{"operation", c.ordinal}, {"fragment", c.fragment}, {"bytes", c.bytes}, {"written", c.written}, {"reason", c.reason}});
  if (!plan.hints.empty()) out["hints"] = hints(plan);
  return out;
}

}  // namespace

const char* name_of(passes::CopyPlan::Engine engine) {
  switch (engine) {
    case passes::CopyPlan::Engine::registers: return "registers";
    case passes::CopyPlan::Engine::asynchronous: return "asynchronous";
    case passes::CopyPlan::Engine::tensor: return "tensor";
  }
  return "?";
}

Json configuration(const passes::Module& module) {
  Json out;
  for (size_t k = 0; k < module.plans.size(); ++k) out["kernels"].push_back(kernel(module.plans[k], module.program.kernels[k].cluster));
  return out;
}

Json configuration(const passes::CpuProgram& program, int lanes) {
  Json out{{"vector_lanes", lanes}, {"product_depth", passes::kCpuProductDepth}};
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    Json one{{"tile_bytes", program.kernels[k].tile_bytes}, {"notes", Json::of(program.kernels[k].notes)}};
    if (!program.module.plans[k].hints.empty()) one["hints"] = hints(program.module.plans[k]);
    out["kernels"].push_back(std::move(one));
  }
  return out;
}

}  // namespace tilert::codegen
