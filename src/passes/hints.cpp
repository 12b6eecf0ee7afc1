// Hints in, outcomes out: one rule for each kind of hint says why it was not taken.
#include "passes/hints.h"

#include <fmt/format.h>

#include <algorithm>

#include "arith/build.h"
#include "ir/visit.h"
#include "ir/words.h"
#include "passes/lifetimes.h"
#include "passes/persist.h"
#include "support/refusal.h"

namespace tilert::passes {
namespace {

using namespace ir;
using Of = HintOutcome::Of;

// A kernel's hints for one target: those that name it win.
Hints for_target(const Hints& hints, const Target& target) {
  Hints out;
  const auto names = [&](const Hint& h) { return h.target == target.text || (h.target == "cpu" && target.is_cpu()); };
  for (const HintRow& row : hint_rows()) {
    const Hint* found = nullptr;
    for (const Hint& h : hints.all)
      if (h.kind == row.kind && (names(h) || (h.target.empty() && !found))) found = &h;
    if (found) out.all.push_back({found->kind, found->value, found->must, {}});
  }
  return out;
}

void collect(const Program& program, const Kernel& kernel, std::vector<HintOutcome>& out) {
  for (const Hint& h : kernel.hints.all) out.push_back({Of::kernel, h.kind, 0, 0, h.value, h.must, false, {}});
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const auto asked = [&](Of of, int64_t value, bool must) {
      out.push_back({of, {}, s.ordinal, s.location, value, must, false, {}});
    };
    const auto* alloc = std::get_if<Alloc>(&s.node);
    if (const LayoutHint* hint = alloc ? &program.buffer(alloc->buffer).layout : nullptr; hint && hint->kind != TileLayout::automatic) {
      asked(Of::layout, static_cast<int64_t>(hint->kind), hint->must);
      out.back().tile = alloc->buffer;
    }
    const auto* loop = std::get_if<For>(&s.node);
    if (loop && loop->kind == ForKind::pipelined && loop->stages > 0) asked(Of::stages, loop->stages, false);
    if (const auto* copy = std::get_if<Copy>(&s.node)) {
      if (copy->prefer != CopyPrefer::any) asked(Of::prefer, static_cast<int64_t>(copy->prefer), copy->must);
      if (copy->eviction != Eviction::normal) asked(Of::eviction, static_cast<int64_t>(copy->eviction), false);
      if (copy->multicast) asked(Of::multicast, 1, copy->must);
    }
    const auto* gemm = std::get_if<Gemm>(&s.node);
    if (gemm && gemm->split != WarpSplit::automatic) asked(Of::split, static_cast<int64_t>(gemm->split), false);
  });
}

// Whether the program adds up floats in an order that threads and layouts decide.
bool rounds_across_threads(const Program& program, const Kernel& kernel) {
  bool found = false;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    if (const auto* r = std::get_if<Reduce>(&s.node)) {
      const bool sums = r->op == ReduceOp::sum || r->op == ReduceOp::abssum || r->op == ReduceOp::prod;
      found |= sums && dtype_is_float(program.buffer(r->dst.buffer).dtype);
    }
    found |= std::holds_alternative<Fold>(s.node) || std::holds_alternative<Scan>(s.node);
  });
  return found;
}

bool multiplies_floats(const Program& program, const Kernel& kernel) {
  bool found = false;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const auto* gemm = std::get_if<Gemm>(&s.node);
    found |= gemm && dtype_is_float(program.buffer(gemm->c.buffer).dtype);
  });
  return found;
}

// A fixed order is the one that is recommended: hints that could change it are not followed. Whole numbers have one sum.
void keep_order(const Program& program, Kernel& kernel) {
  const bool rounds = rounds_across_threads(program, kernel), products = multiplies_floats(program, kernel);
  std::erase_if(kernel.hints.all, [&](const Hint& h) {
    return (h.kind == HintKind::threads && rounds) || (h.kind == HintKind::consumers && (rounds || products));
  });
}

// ---- why not: empty where the hint was taken ----

std::string why_not_on_cpu(const HintOutcome& h) {
  switch (h.of) {
    case Of::stages: return h.asked == 1 ? "" : "copies do not run ahead on a CPU: its caches and prefetchers do that";
    case Of::prefer: return h.asked == static_cast<int64_t>(CopyPrefer::sync) ? "" : "a CPU has no copy engine";
    case Of::eviction: return "a CPU's copies carry no eviction priority";
    case Of::multicast: return "blocks of a CPU run on their own";
    case Of::split: return "one thread of a CPU runs the whole block";
    case Of::layout: return h.asked == static_cast<int64_t>(TileLayout::row_major) ? "" : "a CPU's tiles are row-major: its caches have no banks";
    case Of::kernel: break;
  }
  switch (h.kind) {
    case HintKind::roles: return h.asked < 2 ? "" : "one thread of a CPU runs the whole block";
    case HintKind::cluster:
    case HintKind::split_k: return h.asked == 1 ? "" : "blocks of a CPU run on their own";
    case HintKind::pdl: return h.asked == 0 ? "" : "a launch on a CPU runs to completion";
    case HintKind::threads_fixed: return "";  // a loop over threads has that many points
    case HintKind::raster: return "a CPU's blocks go to its threads in grid order";
    case HintKind::min_blocks:
    case HintKind::max_registers: return "registers of a CPU are not shared among blocks";
    default: return "one thread of a CPU runs the whole block";
  }
}

std::string why_not_stages(const HintOutcome& h, const KernelPlan& plan) {
  if (plan.roles.on && plan.roles.loop == h.ordinal)
    return plan.roles.stages == h.asked ? "" : fmt::format("the ring of a kernel with roles has {} slots here", plan.roles.stages);
  const auto ring = plan.rings.find(h.ordinal);
  if (ring == plan.rings.end()) return h.asked == 1 ? "" : "it is not a pipelined loop of this kernel";
  if (ring->second.stages == h.asked) return "";
  return ring->second.reason.empty() ? fmt::format("shared memory holds {} slots", ring->second.stages) : ring->second.reason;
}

std::string why_not_prefer(const HintOutcome& h, const KernelPlan& plan) {
  using Engine = CopyPlan::Engine;
  const auto found = plan.copies.find(h.ordinal);
  const Engine engine = found == plan.copies.end() ? Engine::registers : found->second.engine;
  const auto asked = static_cast<CopyPrefer>(h.asked);
  if (asked == CopyPrefer::sync) return engine == Engine::registers ? "" : "it runs ahead of the loop";
  if (engine == Engine::tensor || (asked == CopyPrefer::async && engine == Engine::asynchronous)) return "";
  if (const auto threads = plan.roles.by_threads.find(h.ordinal); asked == CopyPrefer::tma && threads != plan.roles.by_threads.end()) return threads->second;
  if (asked == CopyPrefer::tma)
    return "the tensor copy engine serves the loop of a kernel with roles" + (plan.roles.on ? std::string() : ", and " + plan.roles.reason);
  std::string reason = "asynchronous copies are those that run ahead in a pipelined loop";
  for (const auto& [loop, ring] : plan.rings)
    if (!ring.reason.empty()) reason += fmt::format("; loop {}: {}", loop, ring.reason);
  return reason;
}

std::string why_not_evict(const HintOutcome& h, const KernelPlan& plan, const Target& target) {
  const auto copy = plan.copies.find(h.ordinal);
  if (copy != plan.copies.end() && copy->second.hinted) return "";
  if (!target.has(Feature::cache_hint)) return fmt::format("{} has no {}", target.text, feature_text(Feature::cache_hint));
  if (copy != plan.copies.end() && copy->second.engine == CopyPlan::Engine::asynchronous)
    return fmt::format("it runs ahead, and {} has no {}", target.text, feature_text(Feature::async_cache_hint));
  if (copy != plan.copies.end() && copy->second.engine == CopyPlan::Engine::tensor) return "the tensor copy engine carries no priority here";
  return "its elements of global memory go one by one, or there are none";
}

std::string why_not_multicast(const HintOutcome& h, const KernelPlan& plan, const Kernel& kernel) {
  if (plan.roles.shared_loads.count(h.ordinal)) return "";
  if (hint_of(kernel, HintKind::cluster) < 2) return "the kernel asks for no cluster";
  if (!plan.not_clustered.empty()) return plan.not_clustered;
  return plan.roles.loads.count(h.ordinal) ? "blocks of the cluster copy different tiles here, or such as have no parts for each" : "it is no tensor copy of the kernel's loop";
}

std::string why_not_split(const HintOutcome& h, const KernelPlan& plan) {
  const auto gemm = plan.gemms.find(h.ordinal);
  if (gemm == plan.gemms.end() || gemm->second.path == GemmPlan::Path::fma) return "no matrix instruction takes it: threads split it evenly";
  const GemmPlan& g = gemm->second;
  const auto asked = static_cast<WarpSplit>(h.asked);
  if (asked == WarpSplit::rows ? g.warps_n == 1 : asked == WarpSplit::columns ? g.warps_m == 1 : g.warps_m == g.warps_n) return "";
  return fmt::format("its warps are {} x {}", g.warps_m, g.warps_n);
}

std::string why_not_on_gpu(const HintOutcome& h, const KernelPlan& plan, const Kernel& kernel, const Target& target) {
  switch (h.of) {
    case Of::stages: return why_not_stages(h, plan);
    case Of::prefer: return why_not_prefer(h, plan);
    case Of::eviction: return why_not_evict(h, plan, target);
    case Of::multicast: return why_not_multicast(h, plan, kernel);
    case Of::split: return why_not_split(h, plan);
    case Of::layout: return plan.not_placed.count(h.tile) ? plan.not_placed.at(h.tile) : "";
    case Of::kernel: break;
  }
  const int64_t threads = plan.threads + (plan.roles.on ? 128 : 0);
  switch (h.kind) {
    case HintKind::threads:
      if (hint_of(kernel, HintKind::threads_fixed)) return plan.threads == h.asked ? "" : "its number of threads is fixed";
      if (plan.threads == h.asked) return "";
      if (kernel.fixed_order && !hint_of(kernel, HintKind::threads)) return fmt::format("its order of sums is fixed, that of {} threads", plan.threads);
      if (target.warp_size == 64 && h.asked % 64 != 0) return fmt::format("{} has waves of 64 lanes: {} threads", target.text, plan.threads);
      return fmt::format("{} consumer warpgroups have {} threads", plan.roles.consumers, plan.threads);
    case HintKind::min_blocks: return plan.min_blocks >= h.asked ? "" : "more blocks than a multiprocessor has threads for";
    case HintKind::max_registers:
      if (plan.roles.on) return "roles move registers between warpgroups";
      return registers_for(target, threads, plan.min_blocks) <= h.asked ? "" : "its blocks are too few to bound them";
    case HintKind::raster:
      return plan.raster == h.asked ? "" : kernel.persistent && plan.raster == 0 ? "its tiles come in their order" : "its grid has one dim";
    case HintKind::roles: return h.asked < 2 || plan.roles.on ? "" : plan.roles.reason;
    case HintKind::consumers:
      if (!plan.roles.on) return "the kernel has no roles: " + plan.roles.reason;
      if (plan.roles.consumers == h.asked) return "";
      return kernel.fixed_order && !hint_of(kernel, HintKind::consumers) ? fmt::format("its order of sums is fixed, that of {} warpgroups", plan.roles.consumers) : fmt::format("its tile is one of {} warpgroups", plan.roles.consumers);
    case HintKind::cluster: return h.asked == 1 ? "" : plan.not_clustered;
    case HintKind::pdl: return h.asked == 0 ? "" : plan.not_dependent;
    case HintKind::split_k: return h.asked == 1 ? "" : plan.not_split;
    case HintKind::threads_fixed: return "";
  }
  return "this version does not know it";
}

int64_t blocks_for_registers(const Target& target, int64_t threads, int64_t cap) {
  int64_t blocks = 1;
  while (registers_for(target, threads, blocks) > cap && threads * (blocks + 1) <= target.max_threads_per_sm) ++blocks;
  return blocks;
}

}  // namespace

int64_t registers_for(const Target& target, int64_t threads, int64_t blocks) {
  return std::min(target.registers_per_sm / (threads * blocks) / 8 * 8, target.max_registers_per_thread);
}

int64_t hint_of(const Kernel& kernel, HintKind kind) { return kernel.hints.value(kind); }

std::string text_of(const HintOutcome& hint) {
  switch (hint.of) {
    case Of::stages: return fmt::format("stages {}", hint.asked);
    case Of::prefer: return fmt::format("prefer {}", word(static_cast<CopyPrefer>(hint.asked)));
    case Of::multicast: return "multicast";
    case Of::eviction: return fmt::format("evict {}", word(static_cast<Eviction>(hint.asked)));
    case Of::split: return fmt::format("split {}", word(static_cast<WarpSplit>(hint.asked)));
    case Of::layout: return fmt::format("layout {}", word(static_cast<TileLayout>(hint.asked)));
    case Of::kernel: break;
  }
  return fmt::format("{} {}", hint_row(hint.kind)->name, hint.asked);
}

Result<Module> take_hints(Module module, const PassContext& context) {
  module.plans.resize(module.program.kernels.size());
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    Kernel& kernel = module.program.kernels[k];
    kernel.hints = for_target(kernel.hints, context.target);
    collect(module.program, kernel, module.plans[k].hints);
    module.plans[k].fixed_order = kernel.fixed_order;
    if (kernel.fixed_order) keep_order(module.program, kernel);
  }
  return module;
}

Result<Module> judge_hints(Module module, const PassContext& context) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    const Kernel& kernel = module.program.kernels[k];
    for (HintOutcome& h : module.plans[k].hints) {
      h.reason = context.target.is_cpu() ? why_not_on_cpu(h) : why_not_on_gpu(h, module.plans[k], kernel, context.target);
      h.taken = h.reason.empty();
      if (h.taken || !h.must) continue;
      const std::string where = h.of == Of::kernel ? fmt::format("kernel '{}'", kernel.name)
                                                   : describe(module.program, Stmt{{}, h.ordinal, h.location});
      return refusal(fmt::format("{}: '{}' must be met for {} and is not: {}", where, text_of(h), context.target.text, h.reason),
                     "without must it is only asked for", "; ");
    }
  }
  return module;
}

// Warpgroup products are not compiled for fewer registers than they need: two blocks of one consumer with small
// accumulators fit on a multiprocessor, of two consumers, who are given a producer's registers, one.
static int64_t most_blocks_of_roles(const KernelPlan& plan) {
  int64_t accumulators = 0;
  for (const auto& [ordinal, gemm] : plan.gemms)
    if (gemm.a_registers) return 1;
    else if (gemm.path == GemmPlan::Path::wgmma) accumulators += gemm.m * gemm.n / (plan.roles.consumers * 128);
  return plan.roles.consumers == 1 && accumulators <= 64 ? 2 : 1;
}

Result<Module> bound_registers(Module module, const PassContext& context) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    const Kernel& kernel = module.program.kernels[k];
    KernelPlan& plan = module.plans[k];
    const int64_t threads = plan.threads + (plan.roles.on ? 128 : 0);
    const int64_t cap = plan.roles.on ? 0 : hint_of(kernel, HintKind::max_registers);
    int64_t most = std::max<int64_t>(1, context.target.max_threads_per_sm / threads);
    if (plan.roles.on) most = std::min(most, most_blocks_of_roles(plan));
    plan.min_blocks = static_cast<int>(std::min(most, std::max<int64_t>(1, hint_of(kernel, HintKind::min_blocks))));
    if (cap) plan.min_blocks = std::max(plan.min_blocks, static_cast<int>(blocks_for_registers(context.target, threads, cap)));
  }
  return module;
}

// 32-bit registers of a thread that tiles take where most of them live.
static int64_t most_words(const Program& program, const Kernel& kernel) {
  const auto lives = lifetimes(program, kernel.body, Scope::registers);
  int64_t most = 0;
  for (const Life& at : lives) {
    int64_t words = 0;
    for (const Life& other : lives) {
      const Buffer& b = program.buffer(other.buffer);
      if (other.first <= at.first && at.first <= other.last) words += (b.shape[0]->as_int() * dtype_bytes(b.dtype) + 3) / 4;
    }
    most = std::max(most, words);
  }
  return most;
}

Result<Module> recommend_blocks(Module module, const PassContext& context) {
  // Half of a multiprocessor's threads. Fewer registers made kernels spill that have less to keep than their tiles.
  constexpr int64_t kRegisters = 64, kOther = 24;  // addresses, coordinates, temporaries beside the tiles
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    const Kernel& kernel = module.program.kernels[k];
    KernelPlan& plan = module.plans[k];
    if (plan.roles.on || !plan.gemms.empty() || hint_of(kernel, HintKind::min_blocks) || hint_of(kernel, HintKind::max_registers)) continue;
    if (!plan.rows_over_warps || most_words(module.program, kernel) + kOther > kRegisters) continue;
    const int64_t blocks = std::min<int64_t>(context.target.registers_per_sm / (kRegisters * plan.threads), context.target.max_threads_per_sm / plan.threads);
    plan.min_blocks = static_cast<int>(std::max<int64_t>(plan.min_blocks, blocks));
  }
  return module;
}

Result<Module> raster(Module module, const PassContext&) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    Kernel& kernel = module.program.kernels[k];
    const int64_t width = hint_of(kernel, HintKind::raster);
    if (width == 0 || kernel.persistent || kernel.grid.size() < 2) continue;
    Program& p = module.program;
    Arena& a = *p.arena;
    const Expr columns = kernel.grid[0], rows = kernel.grid[1];
    const Expr x = p.var(kernel.block_vars[0]), y = p.var(kernel.block_vars[1]);
    Block top;
    const VarId number = p.add_var(VarKind::let, DType::index, "number");
    top.push_back(make_stmt(Let{number, arith::add(a, arith::mul(a, y, columns), x), {}}));
    const RasterPoint at = raster_point(module, top, p.var(number), columns, rows, width);
    module.facts.define(at.column, module.facts.range(x));
    module.facts.define(at.row, module.facts.range(y));
    const std::unordered_map<VarId, Expr> moved{{x->var(), at.column}, {y->var(), at.row}};
    kernel.body = map_block_exprs(kernel.body, [&](Expr e) { return substitute(a, e, moved); });
    kernel.body.insert(kernel.body.begin(), top.begin(), top.end());
    module.plans[k].raster = width;
  }
  return module;
}

}  // namespace tilert::passes
