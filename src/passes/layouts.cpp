// Layout inference: products, then loops and reductions until nothing changes, then the largest free fragment; and again.
#include "passes/layouts.h"

#include <algorithm>

#include "ir/semantics.h"
#include "ir/visit.h"
#include "layout/fragment_builders.h"
#include "layout/reduce_plan.h"
#include "passes/element_wise.h"
#include "passes/packed_tiles.h"
#include "passes/select.h"
#include "passes/views.h"
#include "passes/wave_product.h"

namespace tilert::passes {
namespace {

using namespace ir;

std::vector<int64_t> constant_shape(const Buffer& b) {
  std::vector<int64_t> shape;
  for (Expr e : b.shape) shape.push_back(e->as_int());
  return shape;
}

class Inference {
 public:
  Inference(Module& module, const Kernel& kernel, KernelPlan& plan, const PassContext& context)
      : module_(module), program_(module.program), kernel_(kernel), plan_(plan), context_(context) {}

  Status run() {
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      const auto* a = std::get_if<Alloc>(&s.node);
      if (a && program_.buffer(a->buffer).scope == Scope::fragment) fragments_.push_back(a->buffer);
    });
    demand_accumulators();
    place_threads(kernel_, plan_, context_.target.warp_size);
    do {
      while (propagate()) {
      }
    } while (place_free());
    place_tiles();
    return {};
  }

 private:
  bool known(BufferId id) const { return plan_.fragments.count(id) != 0; }
  bool assign(BufferId id, const FragmentMap& map) {
    if (known(id) || map.shape() != constant_shape(program_.buffer(id))) return false;
    plan_.fragments.emplace(id, map);
    return true;
  }

  void demand_accumulators() {
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      const auto* g = std::get_if<Gemm>(&s.node);
      if (g && program_.buffer(g->c.buffer).scope == Scope::fragment)
        assign(g->c.buffer, gemm_accumulator_map(plan_.gemms.at(s.ordinal), plan_.threads, context_.target.warp_size));
    });
  }

  bool propagate() {
    bool changed = false;
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      if (const auto* p = std::get_if<Parallel>(&s.node)) changed |= through_loop(s.ordinal, *p);
      if (const auto* r = std::get_if<Reduce>(&s.node)) changed |= through_reduce(*r);
      if (const auto* c = std::get_if<Copy>(&s.node)) changed |= through_copy(*c);
      if (const auto* r = std::get_if<Reinterpret>(&s.node)) changed |= through_reinterpret(*r);
    });
    return changed;
  }

  // Loop dims of an access: one per dim of the fragment, -1 for a constant; nothing where an index is computed.
  static std::optional<std::vector<int>> access_dims(const Parallel& loop, const Access& access) {
    std::vector<int> dims;
    for (Expr e : access.indices) {
      const auto at = e->is_variable() ? std::find(loop.vars.begin(), loop.vars.end(), e->var()) : loop.vars.end();
      if (at != loop.vars.end()) dims.push_back(static_cast<int>(at - loop.vars.begin()));
      else if (e->is_constant()) dims.push_back(-1);
      else return std::nullopt;
    }
    return dims;
  }

  std::vector<Access> fragment_accesses(const Parallel& loop) const {
    std::vector<Access> all;
    for_each_stmt(loop.body, [&](const Stmt& s) {
      if (const auto* l = std::get_if<Let>(&s.node); l && !l->value && program_.buffer(l->read.buffer).scope == Scope::fragment)
        all.push_back(l->read);
      if (const auto* t = std::get_if<Store>(&s.node); t && program_.buffer(t->to.buffer).scope == Scope::fragment)
        all.push_back(t->to);
    });
    return all;
  }

  // The loop's map from a fragment that it goes through point by point.
  std::optional<FragmentMap> loop_map(const Parallel& loop, const Access& access) const {
    const auto dims = access_dims(loop, access);
    if (!dims || !known(access.buffer) || plan_.partial.count(access.buffer)) return std::nullopt;
    const FragmentMap& map = plan_.fragments.at(access.buffer);
    std::vector<int> order(loop.vars.size(), -1);
    for (size_t d = 0; d < dims->size(); ++d) {
      if ((*dims)[d] < 0) {
        if (map.shape()[d] != 1) return std::nullopt;
        continue;
      }
      if (order[static_cast<size_t>((*dims)[d])] >= 0) return std::nullopt;
      order[static_cast<size_t>((*dims)[d])] = static_cast<int>(d);
    }
    if (std::count(order.begin(), order.end(), -1)) return std::nullopt;
    for (size_t k = 0; k < order.size(); ++k)
      if (loop.extents[k] > map.shape()[static_cast<size_t>(order[k])]) return std::nullopt;
    return map.project(order).with_shape(loop.extents);
  }

  bool through_loop(uint32_t ordinal, const Parallel& loop) {
    const auto accesses = fragment_accesses(loop);
    bool changed = false;
    for (const Access& a : accesses) {
      if (plan_.loops.count(ordinal)) break;
      if (const auto map = loop_map(loop, a)) {
        plan_.loops.emplace(ordinal, *map);
        changed = true;
      }
    }
    const auto found = plan_.loops.find(ordinal);
    if (found == plan_.loops.end()) return changed;
    for (const Access& a : accesses) changed |= carry(loop, found->second, a);
    return changed;
  }

  // Gives a free fragment the loop's map along the dims by which it is accessed.
  bool carry(const Parallel& loop, const FragmentMap& map, const Access& access) {
    if (known(access.buffer) || plan_.partial.count(access.buffer)) return false;
    const auto dims = access_dims(loop, access);
    if (!dims) return false;
    std::vector<int> kept;
    for (int d : *dims) {
      if (d < 0) continue;
      if (std::count(kept.begin(), kept.end(), d)) return false;
      kept.push_back(d);
    }
    FragmentMap own = map.project(kept);
    for (size_t d = 0; d < dims->size(); ++d)
      if ((*dims)[d] < 0) own = own.with_unit_dim(static_cast<int>(d));
    return assign(access.buffer, own);
  }

  bool through_reduce(const Reduce& r) {
    if (program_.buffer(r.src.buffer).scope != Scope::fragment || program_.buffer(r.dst.buffer).scope != Scope::fragment) return false;
    if (!known(r.src.buffer) || known(r.dst.buffer)) return false;
    const ReducePlan reduction = plan_reduce(plan_.fragments.at(r.src.buffer), r.dim);
    // Parts in different warps would have to meet in shared memory anyway.
    if (reduction.parts > 1) plan_.partial.erase(r.dst.buffer);
    FragmentMap result = plan_.partial.count(r.dst.buffer) ? reduction.partial : reduction.result;
    if (r.dst.extents.size() == r.src.extents.size()) result = result.with_unit_dim(r.dim);
    return assign(r.dst.buffer, result);
  }

  bool through_copy(const Copy& c) {
    const BufferId a = c.src.buffer, b = c.dst.buffer;
    if (program_.buffer(a).scope != Scope::fragment || program_.buffer(b).scope != Scope::fragment) return false;
    if (known(a) && !known(b)) return assign(b, plan_.fragments.at(a).completed());
    if (known(b) && !known(a) && !plan_.partial.count(a)) return assign(a, plan_.fragments.at(b));
    return false;
  }

  // Elements stay where they are if the map has a form in the other shape and type.
  bool through_reinterpret(const Reinterpret& r) {
    const BufferId a = r.src.buffer, b = r.dst.buffer;
    if (known(a) == known(b)) return false;
    const BufferId from = known(a) ? a : b, to = known(a) ? b : a;
    if (plan_.partial.count(to)) return false;
    const auto map = viewed_map(plan_.fragments.at(from).completed(), dtype_bytes(program_.buffer(from).dtype),
                                dtype_bytes(program_.buffer(to).dtype), constant_shape(program_.buffer(to)));
    return map && assign(to, *map);
  }

  // An operand in registers, else the largest free fragment; false when none is free.
  bool place_free() {
    bool placed = false;
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      const auto* g = std::get_if<Gemm>(&s.node);
      if (!g || placed) return;
      const GemmPlan& plan = plan_.gemms.at(s.ordinal);
      if (plan.path != GemmPlan::Path::mma && !plan.a_registers) return;
      const WarpGrid grid{plan.warps_m, plan.warps_n, 1};
      if (program_.buffer(g->a.buffer).scope == Scope::fragment && !g->trans_a)
        placed |= assign(g->a.buffer, a_operand_map(*plan.atom, plan.m, plan.k, grid));
      if (program_.buffer(g->b.buffer).scope == Scope::fragment && !g->trans_b)
        placed |= assign(g->b.buffer, b_operand_map(*plan.atom, plan.k, plan.n, grid));
    });
    if (placed) return true;
    BufferId largest = kNoBuffer;
    int64_t most = -1;
    for (BufferId id : fragments_) {
      int64_t elements = 1;
      for (int64_t extent : constant_shape(program_.buffer(id))) elements *= extent;
      if (!known(id) && !plan_.partial.count(id) && elements > most) {
        most = elements;
        largest = id;
      }
    }
    if (largest == kNoBuffer) return place_parts();
    const auto shape = constant_shape(program_.buffer(largest));
    if (place_beside(largest)) return true;
    assign(largest, blocked_map(shape, plan_.threads, copy_width(largest), context_.target.warp_size, reduced_dim(shape)));
    return true;
  }

  // A fragment that a loop goes through together with a known one of fewer dims: its lines go where the known one's
  // elements are, spread over the threads that hold copies of them. False where there is none, and where an even spread
  // of the fragment would take fewer registers.
  bool place_beside(BufferId id) {
    bool placed = false;
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      const auto* loop = std::get_if<Parallel>(&s.node);
      if (!loop || placed || plan_.loops.count(s.ordinal)) return;
      const auto accesses = fragment_accesses(*loop);
      const auto own = std::find_if(accesses.begin(), accesses.end(), [&](const Access& a) { return a.buffer == id; });
      if (own == accesses.end()) return;
      const int64_t widest = copy_width(id);
      const int64_t most = blocked_map(loop->extents, plan_.threads, widest, context_.target.warp_size).registers();
      for (const Access& a : accesses)
        for (int64_t width = widest; width > 0 && !placed; width /= 2) {
          const auto map = spread_over_copies(*loop, a, width);
          if (!map || map->registers() > most || !carry(*loop, *map, *own)) continue;
          plan_.loops.emplace(s.ordinal, *map);
          placed = true;
        }
    });
    return placed;
  }

  // A map of the loop in which the known fragment's elements stay where they are, and the one dim that it lacks goes over
  // the threads that hold copies of them: `width` elements to each, then the rest in registers.
  std::optional<FragmentMap> spread_over_copies(const Parallel& loop, const Access& access, int64_t width) const {
    const auto dims = access_dims(loop, access);
    if (!dims || !known(access.buffer) || plan_.partial.count(access.buffer)) return std::nullopt;
    const FragmentMap& map = plan_.fragments.at(access.buffer);
    std::vector<int> free(loop.vars.size());
    for (size_t k = 0; k < free.size(); ++k) free[k] = static_cast<int>(k);
    for (size_t d = 0; d < dims->size(); ++d) {
      const int k = (*dims)[d];
      if (k < 0 ? map.shape()[d] != 1 : map.shape()[d] < loop.extents[static_cast<size_t>(k)] || std::erase(free, k) == 0) return std::nullopt;
    }
    if (free.size() != 1 || free[0] + 1 != static_cast<int>(loop.vars.size())) return std::nullopt;
    return beside_map(map, *dims, loop.extents, width);
  }

  // The dim along which fragments of that shape are reduced; -1 for none and for several.
  int reduced_dim(const std::vector<int64_t>& shape) const {
    std::set<int> dims;
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      const auto* r = std::get_if<Reduce>(&s.node);
      if (!r) return;
      const Buffer& src = program_.buffer(r->src.buffer);
      if (src.scope == Scope::fragment && constant_shape(src) == shape) dims.insert(r->dim);
    });
    return dims.size() == 1 ? *dims.begin() : -1;
  }

  // Parts whose sum never met a known source: they become ordinary fragments.
  bool place_parts() {
    const size_t before = plan_.partial.size();
    std::erase_if(plan_.partial, [&](BufferId id) { return !known(id); });
    return plan_.partial.size() != before;
  }

  // Elements that copies of the fragment to and from memory can move at once; loops over it count as copies.
  int64_t copy_width(BufferId id) {
    Lower low(module_, plan_, context_);
    int64_t width = 0;
    const auto take = [&](const Parallel& loop) {
      const int64_t own = vector_width(low, loop);
      if (own > 1) width = width == 0 ? own : std::min(width, own);
    };
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      if (const auto* c = std::get_if<Copy>(&s.node); c && (c->src.buffer == id || c->dst.buffer == id)) {
        const size_t vars = program_.vars.size();
        take(copy_loop(program_, *c).loop);
        program_.vars.resize(vars);
      }
      const auto* p = std::get_if<Parallel>(&s.node);
      const auto accesses = p ? fragment_accesses(*p) : std::vector<Access>();
      if (std::any_of(accesses.begin(), accesses.end(), [&](const Access& a) { return a.buffer == id; })) take(*p);
    });
    return std::max<int64_t>(width, 1);
  }

  void place_tiles() {
    std::set<BufferId> matrices;
    for (const auto& s : gemm_stmts()) {
      const auto& g = std::get<Gemm>(s->node);
      const GemmPlan& plan = plan_.gemms.at(s->ordinal);
      if (plan.a_ldmatrix) matrices.insert(g.a.buffer);
      if (plan.b_ldmatrix) matrices.insert(g.b.buffer);
    }
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      const auto* a = std::get_if<Alloc>(&s.node);
      if (!a || program_.buffer(a->buffer).scope != Scope::shared) return;
      if (const auto views = views_of(program_, a->buffer); !views.empty()) return place_views(a->buffer, views, matrices);
      plan_.shared.emplace(a->buffer, tile_map(a->buffer, matrices.count(a->buffer) != 0));
    });
  }

  AddressMap tile_map(BufferId tile, bool matrix) {
    const Buffer& b = program_.buffer(tile);
    const auto shape = constant_shape(b);
    const int64_t bytes = dtype_bytes(b.dtype);
    if (const auto role = plan_.roles.tiles.find(tile); role != plan_.roles.tiles.end())
      if (const auto swizzled = swizzled_map({role->second.rows, shape[1]}, bytes, role->second.span)) return *swizzled;
    if (const auto copied = plan_.async.spans.find(tile); copied != plan_.async.spans.end()) {
      if (copied->second == 0) return row_major_map(shape, bytes);
      if (auto swizzled = swizzled_map(shape, bytes, copied->second)) return std::move(*swizzled);
    }
    if (b.layout.kind != TileLayout::automatic) {
      if (auto asked = asked_map(b)) return std::move(*asked);
      else plan_.not_placed[tile] = asked.error().message;
    }
    if (matrix && b.dtype == DType::f64) {
      // Lanes read 32 bytes of four rows at a time: rows an odd number of 32 bytes apart are on different banks.
      return padded_map(shape, bytes, shape.back() * bytes % 64 == 0 ? 32 : 0);
    } else if (matrix) {
      if (const auto turned = turned_tile_map(program_, kernel_, tile, shape, context_.target.shared_banks); turned && context_.target.is_hip()) return *turned;
      if (const auto swizzled = swizzled_map(shape, bytes, 0, context_.target.shared_banks)) return *swizzled;
      // A pitch of an odd number of 16-byte chunks keeps eight rows on different banks.
      return padded_map(shape, bytes, (shape.back() * bytes / 16) % 2 == 0 ? 16 : 0);
    }
    return row_major_map(shape, bytes);
  }

  // The layout that the program asks for, or why the tile cannot have it.
  Result<AddressMap> asked_map(const Buffer& b) {
    const auto shape = constant_shape(b);
    const int64_t bytes = dtype_bytes(b.dtype);
    switch (b.layout.kind) {
      case TileLayout::padded: return padded_map(shape, bytes, 16);
      case TileLayout::swizzle_32: return swizzled_map(shape, bytes, 32);
      case TileLayout::swizzle_64: return swizzled_map(shape, bytes, 64);
      case TileLayout::swizzle_128: return swizzled_map(shape, bytes, 128);
      case TileLayout::custom: {
        TILERT_ASSIGN(std::vector<int64_t> places, layout_places(program_, b));
        return AddressMap::custom(shape, bytes, std::move(places));
      }
      case TileLayout::automatic:
      case TileLayout::row_major: break;
    }
    return row_major_map(shape, bytes);
  }

  // A tile and its views: one order of bytes, by the rows of the one that a product reads, or as the program asks.
  void place_views(BufferId tile, std::vector<BufferId> all, const std::set<BufferId>& matrices) {
    all.push_back(tile);
    const Buffer& b = program_.buffer(tile);
    const auto row_bytes_of = [&](BufferId id) { return program_.buffer(id).shape.back()->as_int() * dtype_bytes(program_.buffer(id).dtype); };
    const bool packed = std::any_of(all.begin(), all.end(), [&](BufferId id) { return is_packed(program_, id); });
    int64_t row_bytes = 0;
    for (BufferId id : all)
      if (matrices.count(id) && !packed) row_bytes = row_bytes_of(id);
    const int64_t span = b.layout.kind == TileLayout::swizzle_32 ? 32 : b.layout.kind == TileLayout::swizzle_64 ? 64 : b.layout.kind == TileLayout::swizzle_128 ? 128 : 0;
    if (b.layout.kind == TileLayout::row_major) row_bytes = 0;
    else if (span != 0 && row_bytes_of(tile) == span && !packed) row_bytes = span;
    else if (b.layout.kind != TileLayout::automatic)
      plan_.not_placed[tile] = packed ? "its elements share bytes, which are row-major" : "its views show row-major bytes: row_major, or a swizzle of as many bytes as its rows have";
    for (BufferId id : all)
      plan_.shared.emplace(id, is_packed(program_, id) ? packed_bytes_map(program_, id) : swizzled_rows_map(constant_shape(program_.buffer(id)), dtype_bytes(program_.buffer(id).dtype), row_bytes));
  }

  std::vector<StmtPtr> gemm_stmts() const {
    std::vector<StmtPtr> all;
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      if (std::holds_alternative<Gemm>(s.node)) all.push_back(std::make_shared<const Stmt>(s));
    });
    return all;
  }

  Module& module_;
  Program& program_;
  const Kernel& kernel_;
  KernelPlan& plan_;
  const PassContext& context_;
  std::vector<BufferId> fragments_;
};

}  // namespace

Result<Module> infer_layouts(Module module, const PassContext& context) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    const Kernel kernel = module.program.kernels[k];
    TILERT_TRY(Inference(module, kernel, module.plans[k], context).run());
    TILERT_TRY(check_fragments(module.program, module.plans[k]));
  }
  return module;
}

}  // namespace tilert::passes
