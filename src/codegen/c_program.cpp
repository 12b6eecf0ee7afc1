// Kernel frames and parameters of CUDA and HIP sources.
#include "codegen/c_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "arith/build.h"
#include "arith/prover.h"
#include "codegen/c_text.h"
#include "codegen/configuration.h"
#include "codegen/device_text.h"
#include "codegen/product_text.h"
#include "codegen/workspace.h"
#include "ir/visit.h"
#include "support/refusal.h"

namespace tilert::codegen {
namespace {

using namespace ir;
using passes::KernelPlan;

class KernelText {
 public:
  KernelText(const passes::Module& module, const Kernel& kernel, const KernelPlan& plan, size_t index, bool hip)
      : program_(module.program), kernel_(kernel), plan_(plan), hip_(hip), prover_(*module.program.arena, module.facts),
        text_(module.program, [this](Expr e) { return narrow(e); }, [this](Expr e) { return prover_.bounds(e); }), entry_(entry_name(index)) {}

  std::string run(GeneratedKernel& out) {
    collect_uses();
    out.entry = entry_;
    out.planner = kernel_.planner;
    out.persistent = kernel_.blocks != kNoVar && !kernel_.planner;
    out.tile_cost = plan_.schedule.cost;
    out.tile_locality = plan_.schedule.locality;
    out.tile_vars = plan_.schedule.vars;
    out.tile_extents = plan_.schedule.extents;
    out.threads = plan_.threads + (plan_.roles.on ? 128 : 0);
    out.shared_bytes = plan_.shared_bytes;
    out.cluster[0] = kernel_.cluster;
    for (size_t d = 0; d < 3; ++d) out.grid.push_back(d < kernel_.grid.size() ? kernel_.grid[d] : program_.arena->index(1));
    if (kernel_.cluster > 1) out.grid[0] = arith::mul(*program_.arena, out.grid[0], kernel_.cluster);
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      const auto* c = std::get_if<Call>(&s.node);
      out.cooperative |= c && c->primitive == Primitive::grid_barrier;
      out.dependent |= c && c->primitive == Primitive::wait_for_grids;
      meets_in_part_ |= c && c->primitive == Primitive::named_barrier;
    });
    const std::string parameters = parameter_list(out);
    text_.open(fmt::format("TL_KERNEL({}, {}) {}({}) {{", out.threads, plan_.min_blocks, entry_, parameters));
    // Blocks of a cluster are neighbours along x, where its first dim's points are clusters.
    const std::string points = kernel_.cluster > 1 ? fmt::format(" / {}", kernel_.cluster) : "";
    const std::string block[] = {"tl_block_x()" + points, "tl_block_y()", "tl_block_z()"};
    for (size_t d = 0; d < kernel_.block_vars.size(); ++d)
      if (vars_.count(kernel_.block_vars[d]))
        text_.line(fmt::format("const int {} = {};", text_.var(kernel_.block_vars[d]), block[d]));
    if (kernel_.rank != kNoVar) text_.line(fmt::format("const int {} = tl_cluster_rank();", text_.var(kernel_.rank)));
    if (kernel_.blocks != kNoVar && !kernel_.planner) text_.line(fmt::format("const int {} = tl_grid_x(){};", text_.var(kernel_.blocks), points));
    if (meets_in_part_ && hip_) text_.line("tl_open_named_barriers();");
    if (plan_.roles.on) text_.line(fmt::format("const int {} = tl_thread();", text_.var(plan_.roles.thread)));
    if (plan_.thread != kNoVar) text_.line(fmt::format("const int {} = tl_thread();", text_.var(plan_.thread)));
    text_.block(kernel_.body);
    text_.close();
    return text_.take();
  }

 private:
  // Block and thread indices are int in hardware; other index values by proof.
  bool narrow(Expr e) {
    if (e->is_variable()) {
      const VarKind kind = program_.vars[e->var()].kind;
      if (kind == VarKind::block_index || kind == VarKind::thread || kind == VarKind::blocks) return true;
      if (kind == VarKind::dim) return false;
    }
    const auto found = narrow_.find(e);
    if (found != narrow_.end()) return found->second;
    bool all = true;
    for (int i = 0; i < e->arity && all; ++i)
      all = e->operand[i]->dtype != DType::index || narrow(e->operand[i]);
    return narrow_[e] = all && prover_.bounds(e).within(INT32_MIN, INT32_MAX);
  }

  void collect_uses() {
    const auto note = [&](Expr e) {
      for_each_node(e, [&](Expr n) { if (n->is_variable()) vars_.insert(n->var()); });
    };
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      for_each_expr(s, note);
      for (const BufferUse& use : buffer_uses(s)) buffers_.insert(use.buffer);
    });
  }

  std::string parameter_list(GeneratedKernel& out) {
    std::string list;
    const auto add = [&](const std::string& item) { list += (list.empty() ? "" : ", ") + item; };
    for (const Parameter& p : program_.parameters) {
      if (p.kind == Parameter::Kind::scalar) {
        if (!vars_.count(p.var)) continue;
        add(fmt::format("const {} {}", c_type(program_.vars[p.var].dtype), text_.var(p.var)));
        out.parameters.push_back({KernelParameter::Kind::value, kNoBuffer, program_.var(p.var), {}});
      }
    }
    for (BufferId id : buffers_) {
      const Buffer& b = program_.buffer(id);
      if (b.scope != Scope::global || is_addressed(b)) continue;
      if (is_workspace(b)) {
        add(fmt::format("{}* {}", c_type(b.dtype), text_.buffer(id)));
        out.parameters.push_back({KernelParameter::Kind::workspace, id, nullptr, {}});
        continue;
      }
      // In a dependent kernel no promise that nobody writes it: a read could then be made before the wait.
      const bool read_only = b.direction == Direction::in && !b.may_alias && !out.dependent;
      add(fmt::format("{}{}*{} {}", b.direction == Direction::in ? "const " : "", dtype_is_packed(b.dtype) ? "unsigned char" : c_type(b.dtype), read_only ? " __restrict__" : "", text_.buffer(id)));
      out.parameters.push_back({KernelParameter::Kind::pointer, id, nullptr, {}});
    }
    for (size_t i = 0; i < plan_.roles.maps.size(); ++i) {
      add(fmt::format("const __grid_constant__ tl_tensor_map map{}", i));
      out.parameters.push_back({KernelParameter::Kind::tensor_map, kNoBuffer, nullptr, tensor_map(plan_.roles.maps[i])});
    }
    for (const Dim& d : program_.dims) {
      if (!vars_.count(d.var)) continue;
      add(fmt::format("const tl_i64 {}", text_.var(d.var)));
      out.parameters.push_back({KernelParameter::Kind::value, kNoBuffer, program_.var(d.var), {}});
    }
    if (kernel_.planner) {
      add(fmt::format("const int {}", text_.var(kernel_.blocks)));
      out.parameters.push_back({KernelParameter::Kind::blocks, kNoBuffer, nullptr, {}});
    }
    return list;
  }

  TensorMap tensor_map(const passes::TensorMapPlan& plan) const {
    const Buffer& b = program_.buffer(plan.buffer);
    TensorMap map;
    map.buffer = plan.buffer;
    map.dims.assign(b.shape.rbegin(), b.shape.rend());
    for (size_t d = b.strides.size() - 1; d-- > 0;) map.strides.push_back(b.strides[d]);
    map.box = plan.box;
    map.swizzle = plan.swizzle;
    map.tf32 = plan.tf32;
    return map;
  }

  const Program& program_;
  const Kernel& kernel_;
  const KernelPlan& plan_;
  const bool hip_;
  bool meets_in_part_ = false;  // some of its warps
  arith::Prover prover_;
  CText text_;
  std::string entry_;
  std::set<VarId> vars_;
  std::set<BufferId> buffers_;
  std::unordered_map<Expr, bool> narrow_;
};

}  // namespace

Result<GeneratedProgram> generate_c_program(const passes::Module& module, const passes::PassContext& context) {
  GeneratedProgram out;
  const char* const language = context.target.language();
  out.language = context.target.is_hip() ? Language::hip : Language::cuda;
  out.target = context.target.text;
  std::string body;
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    GeneratedKernel kernel;
    body += "\n" + KernelText(module, module.program.kernels[k], module.plans[k], k, context.target.is_hip()).run(kernel);
    out.kernels.push_back(std::move(kernel));
  }
  const std::string functions = c_functions(module.program, language);
  if (const std::string missing = missing_primitive(language, body); !missing.empty())
    return refusal(fmt::format("program '{}' needs the primitive {}, which this version does not have for {}", module.program.name, missing, context.target.text),
                   "write it without the operation that this belongs to, or compile for another target");
  out.source = device_text(language, functions + body) + product_forms(body) + functions + body;
  const auto planned = std::find_if(module.plans.begin(), module.plans.end(), [](const KernelPlan& p) { return p.schedule.cost != nullptr; });
  out.workspace = lay_out_workspace(module.program, out.kernels, planned == module.plans.end() ? nullptr : &planned->schedule);
  out.configuration = configuration(module).dump();
  out.program = module.program;
  return out;
}

}  // namespace tilert::codegen
