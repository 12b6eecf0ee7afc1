// Kernel plans as JSON.
#include "codegen/configuration.h"

#include <nlohmann/json.hpp>

namespace tilert::codegen {
namespace {

using passes::GemmPlan;
using passes::KernelPlan;

nlohmann::json product(uint32_t ordinal, const GemmPlan& plan) {
  nlohmann::json out;
  out["operation"] = ordinal;
  out["tile"] = {plan.m, plan.n, plan.k};
  if (plan.path == GemmPlan::Path::fma) {
    out["instruction"] = "fma";
    return out;
  }
  out["instruction"] = plan.atom->name;
  out[plan.path == GemmPlan::Path::wgmma ? "warpgroups" : "warps"] = {plan.warps_m, plan.warps_n};
  if (plan.path == GemmPlan::Path::mma) out["ldmatrix"] = {plan.a_ldmatrix, plan.b_ldmatrix};
  return out;
}

nlohmann::json kernel(const KernelPlan& plan) {
  nlohmann::json out;
  out["threads"] = plan.threads + (plan.roles.on ? 128 : 0);
  out["shared_bytes"] = plan.shared_bytes;
  for (const auto& [ordinal, gemm] : plan.gemms) out["products"].push_back(product(ordinal, gemm));
  for (const auto& [ordinal, ring] : plan.rings) {
    nlohmann::json r{{"operation", ordinal}, {"stages", ring.stages}, {"copies_ahead", ring.copies}};
    if (!ring.reason.empty()) r["not_ahead"] = ring.reason;
    out["pipelines"].push_back(std::move(r));
  }
  if (plan.roles.on) {
    out["roles"] = {{"operation", plan.roles.loop}, {"stages", plan.roles.stages}, {"consumer_warpgroups", plan.roles.consumers},
                    {"producer_registers", plan.roles.producer_registers}, {"consumer_registers", plan.roles.consumer_registers}};
  } else if (!plan.roles.reason.empty()) {
    out["no_roles"] = plan.roles.reason;
  }
  if (!plan.notes.empty()) out["notes"] = plan.notes;
  return out;
}

}  // namespace

std::string configuration_json(const passes::Module& module) {
  nlohmann::json out;
  for (const KernelPlan& plan : module.plans) out["kernels"].push_back(kernel(plan));
  return out.dump();
}

}  // namespace tilert::codegen
