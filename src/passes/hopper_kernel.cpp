// Lowering of kernels whose warps have roles: the frame, the loops over tiles, the producer and what the consumers do around
// the loop, which is lowered as anywhere else, for the consumers' threads. Products: hopper_product.cpp; stores: hopper_store.cpp.
#include "passes/hopper.h"
#include "passes/roles.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/visit.h"
#include "passes/cluster.h"
#include "passes/persist.h"
#include "passes/region.h"

namespace tilert::passes {

using namespace ir;

RoleLowering::RoleLowering(Lower& low, const Kernel& kernel)
    : low_(low), arena_(low.arena()), roles_(low.plan().roles), kernel_(kernel), body_(tile_body(kernel, low.plan())),
      tiles_(tile_loop(kernel, low.plan())), sharing_(low.plan().meeting.sums.empty() ? kernel.cluster : 1) {}

Status RoleLowering::run() {
  declare_tiles();
  for (const StmtPtr& s : kernel_.body)
    if (tiles_ ? s.get() != tiles_ : is_common(*s)) TILERT_TRY(low_.statement(s));
  initialize_barriers();
  const Expr thread = low_.program().var(roles_.thread);
  const int64_t consumers = low_.plan().threads;
  Status first, second;
  Block producer = low_.collect([&] { first = produce(thread, consumers); });
  Block consumer = low_.collect([&] { second = consume(); });
  low_.emit(If{arith::le(arena_, low_.index(consumers), thread), std::move(producer), std::move(consumer)});
  // Shared memory must outlive what other blocks of the cluster write to it: copies' parts, and arrivals.
  if (sharing_ > 1) low_.call(Primitive::cluster_barrier, {});
  TILERT_TRY(std::move(first));
  return second;
}

const Stmt& RoleLowering::loop_stmt() const {
  for (const StmtPtr& s : body_)
    if (s->ordinal == roles_.loop && std::holds_alternative<For>(s->node)) return *s;
  return *body_.front();  // plan_roles found it
}

const For& RoleLowering::loop() const { return std::get<For>(loop_stmt().node); }

bool RoleLowering::is_common(const Stmt& s) const {
  const auto* let = std::get_if<Let>(&s.node);
  return let && roles_.common.count(let->var);
}

bool RoleLowering::is_of_ring(BufferId tile) const {
  bool found = false;
  for_each_stmt(trip(), [&](const Stmt& s) {
    const auto* copy = std::get_if<Copy>(&s.node);
    found |= copy && copy->dst.buffer == tile;
  });
  return found;
}

// Shared tiles are declared where both roles see them; those that the loop fills have a slot for each stage.
void RoleLowering::declare_tiles() {
  const auto declare = [&](const Block& block) {
    for (const StmtPtr& s : block) {
      const auto* a = std::get_if<Alloc>(&s->node);
      if (!a || low_.program().buffer(a->buffer).scope != Scope::shared) continue;
      Buffer& b = low_.program().buffers[a->buffer];
      if (is_of_ring(a->buffer)) b.stages = roles_.stages;
      if (roles_.plain_tiles.count(a->buffer)) b.shape.insert(b.shape.begin(), low_.index(roles_.stages));
      low_.declare_shared(a->buffer);
      if (is_of_ring(a->buffer) && !roles_.by_threads.empty()) low_.plan().roles.ring.insert(low_.plan().flat.at(a->buffer));
    }
  };
  declare(body_);
  declare(loop().body);
  full_ = low_.scratch(DType::uint64, roles_.stages, "full");
  empty_ = low_.scratch(DType::uint64, roles_.stages, "empty");
  if (meets()) declare_meeting();
}

void RoleLowering::initialize_barriers() {
  low_.group("barriers of the ring", [&] {
    low_.when(arith::eq(arena_, low_.program().var(roles_.thread), 0), [&] {
      low_.unrolled(roles_.stages, [&](Expr i) {
        low_.call(Primitive::mbarrier_init, {barrier_arg(full_, i), value_arg(low_.index(producer_arrivals()))});
        low_.call(Primitive::mbarrier_init, {barrier_arg(empty_, i), value_arg(low_.index(sharing_ * roles_.consumers * (roles_.works ? 4 : 1)))});
      });
      if (meets()) initialize_meeting();
      if (!roles_.loads.empty() || meets()) low_.call(Primitive::mbarrier_init_fence, {});  // of engines and of other blocks alone
    });
  });
  if (meets()) low_.call(Primitive::cluster_arrive, {});
  low_.call(sharing_ > 1 ? Primitive::cluster_barrier : Primitive::barrier, {});
}

RingPlace RoleLowering::enter_ring(int64_t parity) {
  const RingPlace place{low_.scalar(DType::index, "slot"), low_.scalar(DType::index, "parity")};
  low_.store({place.slot, {}}, low_.index(0));
  low_.store({place.parity, {}}, low_.index(parity));
  return place;
}

std::pair<Expr, Expr> RoleLowering::read_place(const RingPlace& place) {
  const Expr slot = low_.read({place.slot, {}}, "slot"), parity = low_.read({place.parity, {}}, "parity");
  low_.facts().define(slot, arith::Range::between(0, roles_.stages - 1));
  low_.facts().define(parity, arith::Range::between(0, 1));
  return {slot, parity};
}

void RoleLowering::advance(const RingPlace& place, Expr slot, Expr parity) {
  const Expr next = arith::add(arena_, slot, 1);
  const Expr wraps = arith::eq(arena_, next, roles_.stages);
  low_.store({place.slot, {}}, arith::select(arena_, wraps, low_.index(0), next));
  low_.store({place.parity, {}}, arith::select(arena_, wraps, arith::sub(arena_, low_.index(1), parity), parity));
}

void RoleLowering::loop_over(const std::set<VarId>& lets, const std::function<void()>& body) {
  For f = loop();
  f.kind = ForKind::serial;
  const arith::FactsScope scope(low_.facts());
  low_.bound_loop(f);
  f.body = low_.collect([&] { enter_trip(loop().body, lets, body); });
  low_.emit(std::move(f));
}

void RoleLowering::enter_trip(const Block& block, const std::set<VarId>& lets, const std::function<void()>& body) {
  for (const StmtPtr& s : block)
    if (const auto* let = std::get_if<Let>(&s->node); let && lets.count(let->var)) (void)low_.statement(s);
  const If* branch = way_in(block);
  if (!branch) return body();
  const Expr condition = low_.simplify(branch->condition);
  Block inside;
  {
    const arith::FactsScope scope(low_.facts());
    low_.facts().assume(branch->condition);
    inside = low_.collect([&] { enter_trip(branch->then_body, lets, body); });
  }
  low_.emit(If{condition, std::move(inside), {}});
}

Status RoleLowering::over_tiles(const std::unordered_set<VarId>& later, const std::function<Status()>& tile) {
  if (!tiles_) return tile();
  Status status;
  For f = std::get<For>(tiles_->node);
  const arith::FactsScope scope(low_.facts());
  low_.bound_loop(f);
  f.body = low_.collect([&] {
    for (const StmtPtr& s : body_)
      if (status && is_common(*s) && !later.count(std::get<Let>(s->node).var)) status = low_.statement(s);
    if (status) status = tile();
  });
  low_.emit(std::move(f));
  return status;
}

Status RoleLowering::produce(Expr thread, int64_t consumers) {
  if (roles_.producer_registers) low_.call(Primitive::setmaxnreg_dec, {text_arg(std::to_string(roles_.producer_registers))});
  const bool shared = !roles_.by_threads.empty();  // by all of its threads
  Status status;
  const auto fill = [&] {
    const RingPlace place = enter_ring(1);  // the first wait on an empty slot passes
    const Expr copier = shared ? enter_copies(thread, consumers) : nullptr;
    status = over_tiles({}, [&]() -> Status {
      loop_over(roles_.producer_lets, [&] {
        const auto [slot, parity] = read_place(place);
        low_.call(Primitive::mbarrier_wait, {barrier_arg(empty_, slot), value_arg(parity)});
        if (!roles_.loads.empty()) low_.when(shared ? arith::eq(arena_, copier, 0) : nullptr, [&] { issue_copies(slot); });
        if (shared) copy_by_threads(slot, copier);
        advance(place, slot, parity);
      });
      return {};
    });
    if (shared) land_all();
  };
  if (shared) fill();
  else low_.when(arith::eq(arena_, thread, consumers), fill);
  return status;
}

// The engine's copies of a trip.
void RoleLowering::issue_copies(Expr slot) {
  low_.call(Primitive::mbarrier_expect, {barrier_arg(full_, slot), value_arg(slot_bytes())});
  for_each_load(low_.program(), trip(), [&](const StmtPtr& s, const Copy& copy, Expr condition) {
    if (roles_.loads.count(s->ordinal)) low_.when(condition, [&] { load(*s, copy, slot); });
  });
}

Expr RoleLowering::slot_bytes() {
  Expr bytes = low_.index(0);
  for_each_load(low_.program(), trip(), [&](const StmtPtr& s, const Copy& copy, Expr condition) {
    if (!roles_.loads.count(s->ordinal)) return;
    const Expr own = low_.index(copy.dst.extents[0] * copy.dst.extents[1] * dtype_bytes(low_.program().buffer(copy.dst.buffer).dtype));
    bytes = arith::add(arena_, bytes, condition ? arith::select(arena_, condition, own, low_.index(0)) : own);
  });
  return low_.simplify(bytes);
}

void RoleLowering::note_tensor_copy(const Stmt& s, BufferId to, const TensorMapPlan& map) {
  const int64_t size = dtype_bytes(low_.program().buffer(to).dtype);
  low_.plan().copies[s.ordinal] = {CopyPlan::Engine::tensor, map.box[0] * map.box[1] * size};
}

// What blocks of a cluster share comes in parts, each brought by one of them to the same place of all.
void RoleLowering::load(const Stmt& s, const Copy& copy, Expr slot) {
  const size_t map = roles_.loads.at(s.ordinal);
  const int64_t width = roles_.maps[map].box[0], height = roles_.maps[map].box[1];
  note_tensor_copy(s, copy.dst.buffer, roles_.maps[map]);
  SharedLoad part{copy.dst.extents[0], copy.dst.extents[1]};
  Expr row = low_.index(0), column = low_.index(0);
  const auto shared = roles_.shared_loads.find(s.ordinal);
  if (shared != roles_.shared_loads.end()) {
    const Expr rank = low_.program().var(kernel_.rank);
    if (shared->second.rows < part.rows) row = arith::mul(arena_, rank, shared->second.rows);
    else column = arith::mul(arena_, rank, shared->second.columns);
    part = shared->second;
  }
  for (int64_t x = 0; x < part.columns; x += width)
    for (int64_t y = 0; y < part.rows; y += height) {
      const Expr at_row = arith::add(arena_, row, y), at_column = arith::add(arena_, column, x);
      std::vector<CallArg> arguments{address_arg(low_.shared_access(copy.dst.buffer, {slot, at_row, at_column})), text_arg(fmt::format("map{}", map)),
                                     barrier_arg(full_, slot), value_arg(low_.engine_place(arith::add(arena_, copy.src.offsets[1], at_column))),
                                     value_arg(low_.engine_place(arith::add(arena_, copy.src.offsets[0], at_row)))};
      if (shared != roles_.shared_loads.end()) arguments.push_back(value_arg(low_.index((1 << kernel_.cluster) - 1)));
      low_.call(shared != roles_.shared_loads.end() ? Primitive::tma_load_2d_multicast : Primitive::tma_load_2d, std::move(arguments));
    }
}

Status RoleLowering::consume() {
  if (roles_.consumer_registers) low_.call(Primitive::setmaxnreg_inc, {text_arg(std::to_string(roles_.consumer_registers))});
  if (tiles_) place_ = enter_ring(0);  // the ring goes on from tile to tile
  if (tiles_) late_ = lets_after_loop();
  from_zero_ = sums_from_zero();
  if (takes_turns()) low_.when(arith::eq(arena_, warpgroup(), 1), [&] { meet_turn(Primitive::named_barrier_arrive, low_.index(0)); });
  if (meets()) enter_meeting();
  TILERT_TRY(over_tiles(late_, [&] { return consume_tile(); }));
  if (meets()) leave_meeting();
  if (takes_turns()) low_.when(arith::eq(arena_, warpgroup(), 0), [&] { meet_turn(Primitive::named_barrier, low_.index(0)); });  // the last one
  if (!roles_.stores.empty())  // shared memory must outlive the copies that read it
    low_.when(leads_warpgroup(), [&] { low_.call(Primitive::tma_store_wait_read, {text_arg("0")}); });
  return {};
}

std::unordered_set<VarId> RoleLowering::lets_after_loop() const {
  std::unordered_set<VarId> needed, late;
  const auto need = [&](const Stmt& s) {
    for_each_expr(s, [&](Expr e) {
      for_each_node(e, [&](Expr node) {
        if (node->is_variable()) needed.insert(node->var());
      });
    });
  };
  const auto end = std::find_if(body_.begin(), body_.end(), [&](const StmtPtr& s) { return &s->node == &loop_stmt().node; });
  for (const StmtPtr& s : loop().body)
    if (!is_load(*s)) for_each_stmt({s}, need);  // those are the producer's
  need(loop_stmt());
  for (auto at = end; at != body_.begin();) {
    const Stmt& s = **--at;
    if (!is_common(s) || needed.count(std::get<Let>(s.node).var)) for_each_stmt({*at}, need);
    else late.insert(std::get<Let>(s.node).var);
  }
  return late;
}

// Those that one product of the loop adds to, which makes a trip at least, and that nothing else uses since they were cleared.
std::unordered_map<BufferId, const Stmt*> RoleLowering::sums_from_zero() const {
  std::unordered_map<BufferId, const Stmt*> cleared;
  const auto uses = [](const Stmt& s, BufferId tile) {
    const auto all = buffer_uses_deep(s);
    return std::any_of(all.begin(), all.end(), [&](const BufferUse& use) { return use.buffer == tile; });
  };
  for (const StmtPtr& s : body_) {
    if (s.get() == &loop_stmt()) break;
    std::erase_if(cleared, [&](const auto& sum) { return uses(*s, sum.first); });
    const auto* fill = std::get_if<Fill>(&s->node);
    if (fill && fill->value->is_constant() && fill->value->bits == 0 && is_whole(low_.program(), fill->dst)) cleared[fill->dst.buffer] = s.get();
  }
  const For& f = loop();
  if (f.step != 1 || low_.facts().range(arith::sub(arena_, f.end, f.begin)).low < 1) return {};
  std::erase_if(cleared, [&](const auto& sum) {
    const BufferId tile = sum.first;
    int products = 0, others = 0;
    for (const StmtPtr& s : f.body) {
      const auto* gemm = std::get_if<Gemm>(&s->node);
      const bool adds = gemm && gemm->c.buffer == tile && is_whole(low_.program(), gemm->c) && gemm->accumulate && gemm->accumulate->is_constant() && gemm->accumulate->bits;
      if (adds) ++products;
      else if (uses(*s, tile)) ++others;
    }
    return products != 1 || others != 0 || !views_of(low_.program(), tile).empty();
  });
  return cleared;
}

Status RoleLowering::before_last_wait() {
  for (const StmtPtr& s : body_)
    if (const auto* let = std::get_if<Let>(&s->node); let && late_.count(let->var)) TILERT_TRY(low_.statement(s));
  if (tiles_ && std::any_of(body_.begin(), body_.end(), [&](const StmtPtr& s) { return stages(*s); })) wait_for_staging();
  return {};
}

Status RoleLowering::consume_tile() {
  for (const StmtPtr& s : body_) {
    if (s->ordinal == roles_.loop && std::holds_alternative<For>(s->node)) {
      for (const StmtPtr& inner : loop().body)  // registers outlive the trip: its last product is still under way in the next one
        if (const auto* a = std::get_if<Alloc>(&inner->node); a && low_.program().buffer(a->buffer).scope != Scope::shared) TILERT_TRY(low_.statement(inner));
      TILERT_TRY(roles_.works ? work_loop() : multiply_loop());
    } else if (is_common(*s)) {
      continue;
    } else if (const auto* a = std::get_if<Alloc>(&s->node); a && low_.program().buffer(a->buffer).scope == Scope::shared) {
      continue;
    } else if (std::any_of(from_zero_.begin(), from_zero_.end(), [&](const auto& sum) { return sum.second == s.get(); })) {
      continue;
    } else {
      TILERT_TRY(around_loop(s));
    }
  }
  return {};
}

Status RoleLowering::around_loop(const StmtPtr& s) {
  if (low_.plan().meeting.through_memory.count(s->ordinal)) return {};
  if (is_staged(*s)) return store(*s, std::get<Copy>(s->node));
  if (is_stored_by_rows(*s)) return store_rows(*s, std::get<Copy>(s->node));
  const If* inside = guard_branch(*s, low_.plan());
  if (!inside) return low_.statement(s);
  if (meets() && s->ordinal == low_.plan().guard) meet();
  Status status;
  const auto side = [&](const Block& block, bool taken) {
    const arith::FactsScope scope(low_.facts());
    if (taken) low_.facts().assume(inside->condition);
    else low_.facts().assume_not(inside->condition);
    return low_.collect([&] {
      for (const StmtPtr& inner : block)
        if (status) status = around_loop(inner);
    });
  };
  const Expr condition = low_.simplify(inside->condition);
  Block taken = side(inside->then_body, true);
  low_.emit(If{condition, std::move(taken), side(inside->else_body, false)});
  return status;
}

Status Lower::kernel_with_roles(const Kernel& kernel) { return RoleLowering(*this, kernel).run(); }

void Lower::declare_shared(BufferId tile) {
  const Buffer b = program().buffer(tile);
  const AddressMap& map = plan_.shared.at(tile);
  const bool packed = is_packed(program(), tile);  // then all that there is are views of bytes
  const DType unit = packed ? DType::uint8 : b.dtype;
  const BufferId flat = scratch(unit, map.bytes(b.stages) / dtype_bytes(unit), "tile");
  lowered_[tile] = plan_.flat[tile] = flat;
  program().buffers[flat].alignment = map.alignment();
  std::vector<BufferId> views = views_of(program(), tile);
  if (packed) views.push_back(tile);
  for (BufferId view : views) {
    if (!plan_.shared.count(view)) continue;
    const DType dtype = program().buffer(view).dtype;
    const int64_t bits = is_packed(program(), view) ? dtype_bits(dtype) : 8 * dtype_bytes(dtype);
    lowered_[view] = scratch(dtype, plan_.shared.at(view).bytes(b.stages) * 8 / bits, "view");
    program().buffers[lowered_[view]].view_of = flat;
  }
}

}  // namespace tilert::passes
