// The loop over tiles, and their order.
#include "passes/persist.h"

#include <algorithm>

#include "arith/build.h"
#include "ir/visit.h"
#include "passes/hints.h"
#include "passes/structure.h"

namespace tilert::passes {
namespace {

using namespace ir;

constexpr int64_t kMostTiles = INT32_MAX;  // what a launch takes along x

class Persistence {
 public:
  Persistence(Module& module, size_t index)
      : module_(module), program_(module.program), arena_(*module.program.arena), kernel_(module.program.kernels[index]),
        plan_(module.plans[index]) {}

  void loop() {
    const Expr tiles = product();
    const VarId block = program_.add_var(VarKind::block_index, DType::index, "block");
    kernel_.blocks = program_.add_var(VarKind::blocks, DType::index, "blocks");
    const Expr blocks = program_.var(kernel_.blocks);
    const int64_t high = module_.facts.range(tiles).high;
    module_.facts.define(program_.var(block), arith::Range::between(0, std::max<int64_t>(0, std::min(high, kMostTiles) - 1)));
    module_.facts.define(blocks, arith::Range::between(1, kMostTiles));
    Block top, trip;
    Expr total = let(top, tiles, "tiles", {0, kMostTiles});
    const bool counted = kernel_.tile_count != kNoBuffer;
    if (counted) total = let(top, arith::max(arena_, arith::min(arena_, total, count(top)), 0), "tiles", {0, kMostTiles});
    const Expr behind = arith::max(arena_, arith::sub(arena_, arith::sub(arena_, total, 1), program_.var(block)), 0);
    Expr rounds = arith::select(arena_, arith::lt(arena_, program_.var(block), total), arith::add(arena_, arith::floordiv(arena_, behind, blocks), 1),
                                arena_.index(0));
    plan_.tile_round = program_.add_var(VarKind::loop, DType::index, "round");
    const Expr round = program_.var(plan_.tile_round);
    Expr number = arith::add(arena_, program_.var(block), arith::mul(arena_, round, blocks));
    if (kernel_.cost) follow_list(top, trip, tiles, total, program_.var(block), rounds, number);
    rounds = let(top, rounds, "rounds", {0, kMostTiles});
    number = let(trip, number, "tile", {0, kMostTiles - 1});
    const auto moved = coordinates(trip, number, counted);
    Block tile = map_block_exprs(end_inside(program_, kernel_.body), [&](Expr e) { return substitute(arena_, e, moved); });
    trip.insert(trip.end(), tile.begin(), tile.end());
    top.push_back(make_stmt(For{ForKind::serial, plan_.tile_round, arena_.index(0), rounds, 1, 0, std::move(trip)}));
    kernel_.body = std::move(top);
    kernel_.grid = {tiles};
    kernel_.block_vars = {block};
    plan_.schedule.counted = kernel_.tile_count;
    kernel_.tile_count = kNoBuffer;
  }

  // Blocks that are tiles: only those whose number is counted do anything.
  void guard() {
    kernel_.cost = kernel_.locality = nullptr;  // a CPU's threads take blocks as they come
    if (kernel_.tile_count == kNoBuffer) return;
    Block top;
    const Expr limit = count(top);
    Expr number = arena_.index(0);
    for (size_t d = kernel_.grid.size(); d-- > 0;)
      number = arith::add(arena_, arith::mul(arena_, number, kernel_.grid[d]), program_.var(kernel_.block_vars[d]));
    top.push_back(make_stmt(If{arith::lt(arena_, number, limit), end_inside(program_, kernel_.body), {}}));
    kernel_.body = std::move(top);
    kernel_.tile_count = kNoBuffer;
  }

 private:
  // The list that stands in the workspace, where one was planned for so many blocks and tiles: where each block's tiles start
  // and, behind that, their numbers. The header is 0 where there is none; the closed form holds then.
  void follow_list(Block& top, Block& trip, Expr tiles, Expr total, Expr block, Expr& rounds, Expr& number) {
    SchedulePlan& schedule = plan_.schedule;
    schedule.cost = kernel_.cost;
    schedule.locality = kernel_.locality;
    schedule.vars = kernel_.block_vars;
    schedule.extents = kernel_.grid;
    kernel_.cost = kernel_.locality = nullptr;
    schedule.header = program_.add_workspace("schedule", DType::int32, {arena_.index(kScheduleHeader)}, true);
    schedule.list = program_.add_workspace("tiles", DType::int32, {arith::add(arena_, arith::mul(arena_, tiles, 2), 1)}, false);
    const auto read = [&](Block& to, BufferId from, Expr at) {
      const VarId var = program_.add_var(VarKind::let, DType::int32, "entry");
      to.push_back(make_stmt(Let{var, nullptr, {from, {at}}}));
      return arena_.cast(program_.var(var), DType::index);
    };
    const Expr for_blocks = arith::eq(arena_, read(top, schedule.header, arena_.index(0)), program_.var(kernel_.blocks));
    const Expr for_tiles = arith::eq(arena_, read(top, schedule.header, arena_.index(1)), total);
    const VarId planned_var = program_.add_var(VarKind::let, DType::boolean, "planned");
    top.push_back(make_stmt(Let{planned_var, arith::logical_and(arena_, for_blocks, for_tiles), {}}));
    const Expr planned = program_.var(planned_var), none = arena_.index(0);
    const auto at = [&](Expr place) { return arith::select(arena_, planned, place, none); };
    const Expr first = let(top, read(top, schedule.list, at(block)), "first", {0, kMostTiles});
    const Expr end = read(top, schedule.list, at(arith::add(arena_, block, 1)));
    rounds = arith::select(arena_, planned, arith::sub(arena_, end, first), rounds);
    const Expr place = arith::add(arena_, arith::add(arena_, arith::add(arena_, tiles, 1), first), plan_round());
    number = arith::select(arena_, planned, read(trip, schedule.list, at(place)), number);
  }
  Expr plan_round() const { return program_.var(plan_.tile_round); }

  Expr let(Block& to, Expr value, const char* name, std::pair<int64_t, int64_t> range) {
    const VarId var = program_.add_var(VarKind::let, DType::index, name);
    const arith::Range known = module_.facts.range(value);
    module_.facts.define(program_.var(var), arith::Range::between(std::max(range.first, known.low), std::min(range.second, known.high)));
    to.push_back(make_stmt(Let{var, value, {}}));
    return program_.var(var);
  }

  Expr product() {
    Expr tiles = arena_.index(1);
    for (Expr extent : kernel_.grid)
      tiles = arith::mul(arena_, tiles, module_.facts.range(extent).low >= 0 ? extent : arith::max(arena_, extent, 0));
    return tiles;
  }

  Expr count(Block& to) {
    const Buffer& b = program_.buffer(kernel_.tile_count);
    const VarId var = program_.add_var(VarKind::let, b.dtype, "count");
    to.push_back(make_stmt(Let{var, nullptr, {kernel_.tile_count, std::vector<Expr>(b.shape.size(), arena_.index(0))}}));
    return arena_.cast(program_.var(var), DType::index);
  }

  std::unordered_map<VarId, Expr> coordinates(Block& to, Expr number, bool counted) {
    const std::vector<Expr>& extents = kernel_.grid;
    const size_t rank = extents.size();
    const auto range = [&](size_t d) {
      const arith::Range r = module_.facts.range(program_.var(kernel_.block_vars[d]));
      return std::pair<int64_t, int64_t>(r.low, r.high);
    };
    std::unordered_map<VarId, Expr> moved;
    const int64_t asked = hint_of(kernel_, HintKind::raster);
    const bool planned = plan_.schedule.cost != nullptr;  // a plan numbers tiles in grid order
    plan_.raster = rank < 2 || counted || planned ? 0 : asked ? asked : kTileGroup;
    if (plan_.raster > 0) {
      const Expr layer = arith::mul(arena_, extents[0], extents[1]);
      const Expr within = rank < 3 ? number : let(to, arith::mod(arena_, number, layer), "within_layer", {0, kMostTiles});
      if (rank == 3) moved[kernel_.block_vars[2]] = let(to, arith::floordiv(arena_, number, layer), "z", range(2));
      const RasterPoint at = raster_point(module_, to, within, extents[0], extents[1], plan_.raster);
      define(at.column, 0), define(at.row, 1);
      moved[kernel_.block_vars[0]] = at.column;
      moved[kernel_.block_vars[1]] = at.row;
      return moved;
    }
    static constexpr const char* kNames[] = {"x", "y", "z"};
    for (size_t d = 0; d < rank; ++d) {
      const bool last = d + 1 == rank;
      moved[kernel_.block_vars[d]] = rank == 1 ? number : let(to, last ? number : arith::mod(arena_, number, extents[d]), kNames[d], range(d));
      if (!last) number = arith::floordiv(arena_, number, extents[d]);
    }
    return moved;
  }

  void define(Expr var, size_t d) { module_.facts.define(var, module_.facts.range(program_.var(kernel_.block_vars[d]))); }

  static constexpr int64_t kTileGroup = 8;  // columns, where no hint says otherwise

  Module& module_;
  Program& program_;
  Arena& arena_;
  Kernel& kernel_;
  KernelPlan& plan_;
};

}  // namespace

Result<Module> persist(Module module, const PassContext& context) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    if (!module.program.kernels[k].persistent) continue;
    {
      Persistence pass(module, k);
      if (context.target.is_cpu()) pass.guard();
      else pass.loop();
    }
    if (module.plans[k].schedule.cost) add_planner(module, k);
  }
  return module;
}

const Stmt* tile_loop(const Kernel& kernel, const KernelPlan& plan) {
  if (plan.tile_round == kNoVar) return nullptr;
  for (const StmtPtr& s : kernel.body)
    if (const auto* loop = std::get_if<For>(&s->node); loop && loop->var == plan.tile_round) return s.get();
  return nullptr;
}

const Block& tile_body(const Kernel& kernel, const KernelPlan& plan) {
  const Stmt* loop = tile_loop(kernel, plan);
  return loop ? std::get<For>(loop->node).body : kernel.body;
}

// Every extent of a tile that is computed is at least 1, and what a group holds is no more than there are tiles: divisions of 32 bits.
RasterPoint raster_point(Module& module, Block& to, Expr n, Expr columns, Expr rows, int64_t width) {
  Program& p = module.program;
  Arena& a = *p.arena;
  const auto let = [&](Expr value, const char* name, int64_t low, int64_t high) {
    const VarId var = p.add_var(VarKind::let, DType::index, name);
    const arith::Range known = module.facts.range(value);
    module.facts.define(p.var(var), arith::Range::between(std::max(low, known.low), std::min(high, known.high)));
    to.push_back(make_stmt(Let{var, value, {}}));
    return p.var(var);
  };
  const int64_t most = std::clamp<int64_t>(module.facts.range(columns).high, 1, kMostTiles);
  const Expr usual = module.facts.range(columns).low >= width ? a.index(width) : arith::min(a, columns, a.index(width));
  const Expr group = let(arith::mul(a, rows, usual), "group", 1, kMostTiles);
  const Expr first = let(arith::mul(a, arith::floordiv(a, n, group), usual), "first_column", 0, most - 1);
  const Expr wide = let(arith::min(a, arith::sub(a, columns, first), usual), "group_width", 1, std::min(most, width));
  const Expr within = let(arith::mod(a, n, group), "within", 0, kMostTiles - 1);
  const Expr column = let(arith::add(a, first, arith::mod(a, within, wide)), "column", 0, most - 1);
  return {column, let(arith::floordiv(a, within, wide), "row", 0, kMostTiles - 1)};
}

}  // namespace tilert::passes
