// The explanation as JSON: the configuration of codegen, and beside it what only the passes' own results show.
#include "jit/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/configuration.h"
#include "codegen/generated.h"
#include "codegen/llvm_text.h"
#include "ir/fast.h"
#include "ir/printer.h"
#include "ir/visit.h"
#include "ir/words.h"
#include "passes/hints.h"
#include "passes/order.h"
#include "passes/shared_plan.h"
#include "support/float_environment.h"

namespace tilert::jit {
namespace {

using namespace ir;
using passes::KernelPlan;

constexpr int64_t kCorner = 8;  // rows and columns that a tile's table shows

std::string buffer_name(const Program& program, BufferId id) {
  const std::string& name = program.buffer(id).name;
  return name.empty() ? fmt::format("#{}", id) : name;
}

std::vector<BufferId> allocated(const Program& program, const ir::Kernel& kernel, Scope scope) {
  std::vector<BufferId> all;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const auto* a = std::get_if<Alloc>(&s.node);
    if (a && program.buffer(a->buffer).scope == scope) all.push_back(a->buffer);
  });
  return all;
}

// Cells of the first rows and columns; what is left out of a tile of more than two dims is at 0.
template <class F>
Json corner(const std::vector<int64_t>& shape, F&& cell) {
  Json rows = Json::array();
  const size_t rank = shape.size();
  const int64_t height = rank > 1 ? std::min(kCorner, shape[rank - 2]) : 1, width = rank > 0 ? std::min(kCorner, shape[rank - 1]) : 1;
  for (int64_t r = 0; r < height; ++r) {
    Json row = Json::array();
    for (int64_t c = 0; c < width; ++c) {
      std::vector<int64_t> at(rank, 0);
      if (rank > 1) at[rank - 2] = r;
      if (rank > 0) at[rank - 1] = c;
      row.push_back(cell(at));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json fragment(const Program& program, BufferId id, const FragmentMap& map) {
  Json out{{"name", buffer_name(program, id)}, {"scope", "fragment"}, {"dtype", dtype_text(program.buffer(id).dtype)}, {"shape", Json::of(map.shape())},
           {"layout", map.text()}, {"registers", map.registers()}, {"replicated", map.is_replicated()}};
  out["cells"] = "thread.register";
  out["corner"] = corner(map.shape(), [&](const std::vector<int64_t>& at) {
    const std::vector<Holder> holders = map.holders(at);
    if (holders.empty()) return std::string("-");
    return fmt::format("{}.{}{}", holders[0].thread, holders[0].register_index, holders.size() > 1 ? "+" : "");
  });
  return out;
}

// Of elements that share bytes the map is that of their bytes.
Json shared_tile(const Program& program, BufferId id, const AddressMap& map, const KernelPlan& plan) {
  const Buffer& b = program.buffer(id);
  Json out{{"name", buffer_name(program, id)}, {"scope", "shared"}, {"dtype", dtype_text(b.dtype)}, {"shape", Json::of(map.shape())},
           {"layout", map.text()}, {"bytes", map.tile_bytes()}, {"swizzle_bytes", map.span_bytes()}};
  const bool small = dtype_is_packed(b.dtype), packed = small && !plan.unpacked.count(id);
  if (small) out["packed"] = packed;
  if (small && !packed) out["why_not_packed"] = plan.unpacked.at(id);
  if (packed) {
    std::vector<int64_t> shape = map.shape();
    shape.back() = b.shape.back()->as_int();
    out["shape"] = Json::of(shape);
    out["cells"] = "byte.bit";
    out["corner"] = corner(shape, [&](std::vector<int64_t> at) {
      const int64_t bit = at.back() * dtype_bits(b.dtype);
      at.back() = bit / 8;
      return fmt::format("{}.{}", map.evaluate(at), bit % 8);
    });
    return out;
  }
  out["cells"] = "byte";
  out["corner"] = corner(map.shape(), [&](const std::vector<int64_t>& at) { return std::to_string(map.evaluate(at)); });
  return out;
}

// Where each buffer of the block's arena lies. `tiles` names the flat buffers of the program's tiles.
Json shared_map(const Program& lowered, const Program& program, const ir::Kernel& kernel, const KernelPlan& plan) {
  Json out = Json::array();
  std::map<BufferId, BufferId> tiles;
  for (const auto& [tile, flat] : plan.flat) tiles[flat] = tile;
  for (BufferId id : allocated(lowered, kernel, Scope::shared)) {
    const Buffer& b = lowered.buffer(id);
    if (b.byte_offset < 0 || b.view_of != ir::kNoBuffer) continue;
    const auto tile = tiles.find(id);
    const bool named = tile != tiles.end() && tile->second < program.buffers.size();
    out.push_back(Json{{"name", named ? buffer_name(program, tile->second) : b.name}, {"offset", b.byte_offset},
                   {"bytes", passes::shared_bytes(b)}, {"of_the_program", named},
                   {"slots", tile == tiles.end() ? 1 : lowered.buffer(tile->second).stages}});
  }
  std::sort(out.elements().begin(), out.elements().end(), [](const Json& a, const Json& b) { return a["offset"].as_int() < b["offset"].as_int(); });
  return out;
}

const KernelResources* resources_of(size_t kernel, const std::vector<KernelResources>& all) {
  const std::string entry = codegen::entry_name(kernel);
  const auto found = std::find_if(all.begin(), all.end(), [&](const KernelResources& r) { return r.entry == entry; });
  return found == all.end() ? nullptr : &*found;
}

// What bounds the blocks that share a multiprocessor, and with them the warps that hide latency.
Json limits(const KernelPlan& plan, const Target& target, const KernelResources* resources) {
  const int64_t threads = plan.threads + (plan.roles.on ? 128 : 0);
  const int64_t registers = resources && resources->registers ? resources->registers : 0;
  Json out{{"registers_allowed", passes::registers_for(target, threads, plan.min_blocks)}};
  std::vector<std::pair<std::string, int64_t>> bounds{{"threads", target.max_threads_per_sm / threads}};
  const int64_t reserved = 1024;  // of each block's shared memory, by the system
  bounds.emplace_back("shared memory", target.shared_bytes_per_sm / (plan.shared_bytes + reserved));
  if (registers) {
    const int64_t per_warp = (registers * target.warp_size + target.registers_unit - 1) / target.registers_unit * target.registers_unit;
    bounds.emplace_back("registers", target.registers_per_sm / (per_warp * ((threads + target.warp_size - 1) / target.warp_size)));
    out["registers"] = registers;
    out["spill_bytes"] = resources->spill_stores;
  }
  const auto least = std::min_element(bounds.begin(), bounds.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& [what, blocks] : bounds) out["blocks_by"][what] = blocks;
  out["blocks"] = least->second;
  out["bound_by"] = least->first;
  out["warps"] = least->second * ((threads + target.warp_size - 1) / target.warp_size);
  return out;
}

// Per trip of a pipelined loop: bytes from global memory and multiply-adds of products, and their ratio.
Json loops(const Program& program, const ir::Kernel& kernel) {
  Json out = Json::array();
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const auto* loop = std::get_if<For>(&s.node);
    if (!loop || loop->kind != ForKind::pipelined) return;
    int64_t bytes = 0, multiply_adds = 0;
    for_each_stmt(loop->body, [&](const Stmt& inner) {
      if (const auto* copy = std::get_if<Copy>(&inner.node); copy && program.buffer(copy->src.buffer).scope == Scope::global) {
        int64_t elements = 1;
        for (int64_t extent : copy->src.extents) elements *= extent;
        bytes += elements * dtype_bits(program.buffer(copy->src.buffer).dtype) / 8;
      }
      if (const auto* gemm = std::get_if<Gemm>(&inner.node)) {
        const size_t rank = gemm->a.extents.size();
        multiply_adds += gemm->c.extents[gemm->c.extents.size() - 2] * gemm->c.extents.back() * gemm->a.extents[gemm->trans_a ? rank - 2 : rank - 1];
      }
    });
    Json one{{"operation", s.ordinal}, {"bytes_a_trip", bytes}, {"multiply_adds_a_trip", multiply_adds}};
    if (bytes) one["multiply_adds_a_byte"] = static_cast<double>(multiply_adds) / static_cast<double>(bytes);
    out.push_back(std::move(one));
  });
  return out;
}

// Statements with fast forms, and which these are.
Json fast_forms(const ir::Kernel& kernel) {
  Json out = Json::array();
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    std::set<std::string> forms;
    for_each_expr(s, [&](Expr e) {
      for_each_node(e, [&](Expr node) {
        if (is_fast(node->op)) forms.insert(op_row(exact_op(node->op)).text);
      });
    });
    if (!forms.empty()) out.push_back(Json{{"operation", s.ordinal}, {"forms", Json::of(forms)}});
  });
  return out;
}

Json grid(const Program& program, const ir::Kernel& kernel) {
  Json out = Json::array();
  for (Expr e : kernel.grid) out.push_back(print_expr(program, e));
  return out;
}

// "operation" becomes also "where": the place in the program's own source.
void name_operations(Json& value, const std::map<uint32_t, std::string>& places, const Program& program) {
  if (value.is_array())
    for (Json& inner : value.elements()) name_operations(inner, places, program);
  if (!value.is_object()) return;
  if (const Json* operation = value.find("operation"); operation && operation->is_integer()) {
    const auto found = places.find(static_cast<uint32_t>(operation->as_int()));
    if (found != places.end()) value["where"] = found->second;
  }
  if (const Json* fragment = value.find("fragment"); fragment && fragment->is_integer()) {
    const auto id = static_cast<BufferId>(fragment->as_int());
    value["fragment"] = id < program.buffers.size() ? buffer_name(program, id) : "a temporary";
  }
  for (auto& [key, inner] : value.members()) name_operations(inner, places, program);
}

std::map<uint32_t, std::string> places_of(const Program& program) {
  std::map<uint32_t, std::string> places;
  for (const ir::Kernel& k : program.kernels)
    for_each_stmt(k.body, [&](const Stmt& s) {
      if (s.ordinal && s.location) places.emplace(s.ordinal, describe(program, s));
    });
  return places;
}

// How blocks come to their tiles, and whether they meet; nothing of a plain grid in its order.
Json order(const Program& program, const ir::Kernel& kernel, int64_t raster) {
  Json out = Json::object();
  if (kernel.persistent) out["persistent"] = true;
  if (kernel.fixed_order) out["fixed_sums"] = true;
  if (raster > 0) out["columns_together"] = raster;
  if (kernel.tile_count != kNoBuffer) out["counted_in"] = buffer_name(program, kernel.tile_count);
  if (kernel.cost) out["cost"] = print_expr(program, kernel.cost);
  if (kernel.locality) out["locality"] = print_expr(program, kernel.locality);
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    if (std::holds_alternative<GridSync>(s.node)) out["meets"] = true;
  });
  return out;
}

Result<Json> explain_gpu(const passes::Module& module, const passes::PassContext& context, const std::vector<KernelResources>& resources) {
  const Program& program = module.program;
  TILERT_ASSIGN(const passes::Module lowered, passes::run_gpu_passes(module, context));
  Json out = codegen::configuration(lowered);
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    Json& one = out["kernels"].elements()[k];
    const KernelPlan& plan = lowered.plans[k];
    one["name"] = program.kernels[k].name;
    one["grid"] = grid(program, program.kernels[k]);
    one["order"] = order(program, program.kernels[k], plan.raster);
    one["limits"] = limits(plan, context.target, resources_of(k, resources));
    for (BufferId id : allocated(program, program.kernels[k], Scope::fragment))
      if (const auto map = plan.fragments.find(id); map != plan.fragments.end()) one["tiles"].push_back(fragment(program, id, map->second));
    for (BufferId id : allocated(program, program.kernels[k], Scope::shared))
      if (const auto map = plan.shared.find(id); map != plan.shared.end()) one["tiles"].push_back(shared_tile(program, id, map->second, plan));
    one["shared_map"] = shared_map(lowered.program, program, lowered.program.kernels[k], plan);
    one["loops"] = loops(program, program.kernels[k]);
    one["approximate"] = fast_forms(program.kernels[k]);
  }
  for (size_t k = program.kernels.size(); k < lowered.plans.size(); ++k) {  // what passes added
    Json& one = out["kernels"].elements()[k];
    one["name"] = lowered.program.kernels[k].name;
    one["grid"] = grid(lowered.program, lowered.program.kernels[k]);
    one["planner"] = lowered.program.kernels[k].planner;
  }
  return out;
}

Result<Json> explain_cpu(const passes::Module& module, const passes::PassContext& context) {
  const int lanes = codegen::cpu_isa(context.target).lanes;
  TILERT_ASSIGN(const passes::CpuProgram lowered, passes::cpu_lower(module, context, lanes));
  const Program& program = module.program;
  Json out = codegen::configuration(lowered, lanes);
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    Json& one = out["kernels"].elements()[k];
    one["name"] = program.kernels[k].name;
    one["grid"] = grid(program, program.kernels[k]);
    one["order"] = order(program, program.kernels[k], 0);
    for (const auto& [id, offset] : lowered.kernels[k].scratch) {
      const Buffer& b = lowered.module.program.buffer(id);
      int64_t bytes = dtype_bytes(b.dtype);
      for (Expr e : b.shape) bytes *= e->as_int();
      const bool named = id < program.buffers.size();
      one["scratch_map"].push_back(Json{{"name", named ? buffer_name(program, id) : b.name}, {"offset", offset}, {"bytes", bytes}, {"of_the_program", named}});
    }
    one["loops"] = loops(program, program.kernels[k]);
    one["exact"] = fast_forms(program.kernels[k]);
  }
  return out;
}

}  // namespace

Result<Json> explain(const Program& program, const std::vector<passes::DimChoice>& dims, const Target& target, const DeviceClass& device,
                     const std::vector<KernelResources>& resources) {
  const FloatEnvironment environment;
  TILERT_ASSIGN(const passes::Module module, passes::specialize(program, dims));
  Json out;
  const bool is_source = std::any_of(module.program.kernels.begin(), module.program.kernels.end(), [](const ir::Kernel& k) { return k.source != nullptr; });
  if (is_source) {
    out["kernels"] = Json::array();
    for (const ir::Kernel& k : module.program.kernels) out["kernels"].push_back(Json{{"name", k.name}, {"source", k.source->language}, {"grid", grid(module.program, k)}});
  } else if (target.is_cpu()) {
    TILERT_ASSIGN(out, explain_cpu(module, {target, device}));
  } else {
    TILERT_ASSIGN(out, explain_gpu(module, {target, device}, resources));
  }
  out["program"] = program.name;
  out["target"] = target.text;
  out["device_class"] = device.text();
  name_operations(out, places_of(module.program), module.program);
  return out;
}

}  // namespace tilert::jit
