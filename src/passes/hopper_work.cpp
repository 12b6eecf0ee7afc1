// Element-wise work on the products of a trip: what it reads ahead of them, and when the slot is given back.
#include <algorithm>
#include <set>

#include "ir/visit.h"
#include "passes/element_wise.h"
#include "passes/hopper.h"
#include "passes/roles.h"

namespace tilert::passes {

using namespace ir;

namespace {

constexpr int64_t kMostEarly = 16;  // registers of one read

std::set<VarId> variables(const std::vector<Expr>& exprs) {
  std::set<VarId> out;
  for (Expr e : exprs) for_each_node(e, [&](Expr n) { if (n->is_variable()) out.insert(n->var()); });
  return out;
}

// Element-wise work with another buffer in place of one.
Block with_buffer(const Block& block, BufferId from, BufferId to) {
  const auto renamed = [&](Access at) {
    if (at.buffer == from) at.buffer = to;
    return at;
  };
  return rewrite_block(block, [&](const StmtPtr& s) -> Block {
    if (const auto* let = std::get_if<Let>(&s->node); let && !let->value) return {make_stmt(Let{let->var, nullptr, renamed(let->read)}, s->ordinal, s->location)};
    if (const auto* store = std::get_if<Store>(&s->node)) return {make_stmt(Store{renamed(store->to), store->value}, s->ordinal, s->location)};
    return {s};
  });
}

}  // namespace

// The work waits for the trip's products, while other warpgroups multiply. What it reads beside them it reads before: then the
// slot is free as soon as they are done. Each warp gives it back for itself: its lanes have read the tiles too, and a copy that
// follows without a proxy fence between overtakes such reads on an H200.
Status RoleLowering::work_loop() {
  if (!tiles_) place_ = enter_ring(0);
  if (roles_.in_order) return in_order_loop();
  const std::vector<Work> works = split_works();
  const bool reads_late = reads_ring(works);
  TILERT_TRY(each_read(works, [&](const EarlyRead& r) { return r.following == kNoBuffer ? Status() : read_early(r, r.values, nullptr, loop().begin); }));
  if (roles_.alternates) return alternate_loop(works);
  Status status;
  loop_over(roles_.consumer_lets, [&] {
    status = [&]() -> Status {
      const auto [slot, parity] = read_place(place_);
      low_.call(Primitive::mbarrier_wait, {barrier_arg(full_, slot), value_arg(parity)});
      for (const StmtPtr& s : loop().body)
        if (const auto* gemm = std::get_if<Gemm>(&s->node)) multiply(*s, *gemm, slot);
      TILERT_TRY(read_ahead(works, slot, low_.program().var(loop().var)));
      low_.call(Primitive::wgmma_wait, {text_arg("0")});
      for (const StmtPtr& s : loop().body)
        if (const auto* gemm = std::get_if<Gemm>(&s->node)) hold(gemm->c.buffer);
      if (!reads_late) give_slot_back(slot);
      for (const Work& work : works) TILERT_TRY(low_.statement(with_slot(work.loop, slot)));
      if (reads_late) give_slot_back(slot);
      keep_following(works);
      advance(place_, slot, parity);
      return {};
    }();
  });
  TILERT_TRY(std::move(status));
  return before_last_wait();
}

// Pairs of trips, then the odd one. No product is under way from one pair to the next: where its sums are read in another block
// of instructions than it was issued in, ptxas makes all products wait for each other (its remark C7514). Two warpgroups issue their
// pairs in turns: when both do at once, both work on their last sums at once, and nobody multiplies (4096x28672x4096 with a scale for
// each block: 811 us without turns, 761 with).
Status RoleLowering::alternate_loop(const std::vector<Work>& works) {
  const auto product = std::find_if(loop().body.begin(), loop().body.end(), [](const StmtPtr& s) { return std::holds_alternative<Gemm>(s->node); });
  const BufferId sum = std::get<Gemm>((*product)->node).c.buffer;
  const BufferId other = low_.new_fragment(low_.program().buffer(sum).dtype, low_.fragment_map(sum), "other");
  const Alternation all{product->get(), works, reads_ring(works), {sum, other}, {low_.scalar(DType::index, "slot"), low_.scalar(DType::index, "slot")}};
  const int64_t step = loop().step;
  const Expr span = arith::add(arena_, arith::sub(arena_, loop().end, loop().begin), step - 1);
  const Expr trips = low_.let(low_.simplify(arith::max(arena_, arith::floordiv(arena_, span, step), low_.index(0))), "trips");
  const auto at = [&](Expr pair) { return arith::add(arena_, loop().begin, arith::mul(arena_, pair, 2 * step)); };
  For f;
  f.var = low_.program().add_var(VarKind::loop, DType::index, "pair");
  f.begin = low_.index(0), f.end = low_.let(low_.simplify(arith::floordiv(arena_, trips, 2)), "pairs");
  Status status;
  f.body = low_.collect([&] {
    const Expr first = at(low_.program().var(f.var));
    if (takes_turns()) meet_turn(Primitive::named_barrier, warpgroup());
    issue(all, 0);
    issue(all, 1);
    if (takes_turns()) meet_turn(Primitive::named_barrier_arrive, arith::sub(arena_, low_.index(1), warpgroup()));
    status = at_trip(first, [&](Expr trip) { return finish(all, 0, trip, "1"); });
    if (status) status = at_trip(arith::add(arena_, first, step), [&](Expr trip) { return finish(all, 1, trip, "0"); });
  });
  const Expr last = at(f.end);
  low_.emit(std::move(f));
  TILERT_TRY(std::move(status));
  low_.when(low_.simplify(arith::eq(arena_, arith::mod(arena_, trips, 2), 1)), [&] {
    issue(all, 0);
    status = at_trip(last, [&](Expr trip) { return finish(all, 0, trip, "0"); });
  });
  TILERT_TRY(std::move(status));
  return before_last_wait();
}

void RoleLowering::meet_turn(Primitive how, Expr whose) {
  low_.call(how, {value_arg(arith::add(arena_, whose, kTurnBarrier)), value_arg(low_.index(256))});
}

Status RoleLowering::at_trip(Expr value, const std::function<Status(Expr)>& f) {
  const arith::FactsScope scope(low_.facts());
  For one = loop();
  one.var = low_.program().add_var(VarKind::let, DType::index, "trip");
  low_.emit(Let{one.var, value, {}});
  low_.bound_loop(one);
  return f(low_.program().var(one.var));
}

// Waits for a slot and starts its product.
void RoleLowering::issue(const Alternation& all, int sum) {
  const auto [slot, parity] = read_place(place_);
  low_.call(Primitive::mbarrier_wait, {barrier_arg(full_, slot), value_arg(parity)});
  Gemm gemm = std::get<Gemm>(all.product->node);
  gemm.c.buffer = all.sums[sum];
  multiply(*all.product, gemm, slot);
  low_.store({all.slots[sum], {}}, slot);
  advance(place_, slot, parity);
}

// The work on a sum whose product is done once no more than `left` are under way.
Status RoleLowering::finish(const Alternation& all, int sum, Expr trip, const char* left) {
  const Expr slot = low_.read({all.slots[sum], {}}, "slot");
  low_.facts().define(slot, arith::Range::between(0, roles_.stages - 1));
  TILERT_TRY(read_ahead(all.works, slot, trip));
  low_.call(Primitive::wgmma_wait, {text_arg(left)});
  hold(all.sums[sum]);
  if (!all.reads_late) give_slot_back(slot);
  for (const Work& work : all.works) {
    const Block body = map_block_exprs({with_slot(work.loop, slot)}, [&](Expr e) { return substitute(arena_, e, {{loop().var, trip}}); });
    for (const StmtPtr& s : with_buffer(body, all.sums[0], all.sums[sum])) TILERT_TRY(low_.statement(s));
  }
  if (all.reads_late) give_slot_back(slot);
  keep_following(all.works);
  return {};
}

// What no product has to be waited for: of the trip's slot, and of tensors what the next trip needs.
Status RoleLowering::read_ahead(const std::vector<Work>& works, Expr slot, Expr trip) {
  const Expr next = arith::add(arena_, trip, loop().step);
  return each_read(works, [&](const EarlyRead& r) { return r.following == kNoBuffer ? read_early(r, r.values, slot, trip) : read_early(r, r.following, nullptr, next); });
}

void RoleLowering::keep_following(const std::vector<Work>& works) {
  for (const Work& work : works)
    for (const EarlyRead& r : work.reads) {
      if (r.following == kNoBuffer) continue;
      const BufferId from = low_.fragment_registers(r.following), to = low_.fragment_registers(r.values);
      low_.unrolled(r.map.registers(), [&](Expr i) { low_.store({to, {i}}, low_.read({from, {i}}, "following")); });
    }
}

Status RoleLowering::each_read(const std::vector<Work>& works, const std::function<Status(const EarlyRead&)>& f) const {
  for (const Work& work : works)
    for (const EarlyRead& read : work.reads) TILERT_TRY(f(read));
  return {};
}

std::vector<RoleLowering::Work> RoleLowering::split_works() {
  std::vector<Work> works;
  for (const StmtPtr& s : loop().body)
    if (std::holds_alternative<Parallel>(s->node)) works.push_back(split_work(s));
  return works;
}

bool RoleLowering::reads_ring(const std::vector<Work>& works) const {
  return std::any_of(works.begin(), works.end(), [&](const Work& work) {
    const auto uses = buffer_uses_deep(*work.loop);
    return std::any_of(uses.begin(), uses.end(), [&](const BufferUse& u) { return roles_.plain_tiles.count(u.buffer) != 0; });
  });
}

void RoleLowering::give_slot_back(Expr slot) {
  bool overtaken = false;
  for_each_load(low_.program(), trip(), [&](const StmtPtr& s, const Copy& copy, Expr) { overtaken |= roles_.loads.count(s->ordinal) && roles_.plain_tiles.count(copy.dst.buffer); });
  if (overtaken) low_.call(Primitive::proxy_fence, {});
  low_.call(Primitive::warp_sync, {});
  give_back(slot, nullptr, 32);
}

// The loop with those of its reads that need no product replaced by reads of registers.
RoleLowering::Work RoleLowering::split_work(const StmtPtr& s) {
  const auto& loop = std::get<Parallel>(s->node);
  const auto planned = low_.plan().loops.find(s->ordinal);
  if (planned == low_.plan().loops.end()) return {s, {}};
  Work out;
  Parallel rest = loop;
  for (StmtPtr& inner : rest.body) {
    const auto* let = std::get_if<Let>(&inner->node);
    if (!let || let->value) continue;
    std::vector<Expr> place;
    auto read = early_read(loop, planned->second, *let, &place);
    if (!read) continue;
    inner = make_stmt(Let{let->var, nullptr, {read->values, std::move(place)}}, inner->ordinal, inner->location);
    out.reads.push_back(std::move(*read));
  }
  out.loop = make_stmt(std::move(rest), s->ordinal, s->location);
  return out;
}

// Null for what reads neither the ring nor a tensor, or depends on what the body computes, or takes many registers. `place`: of the
// value among those read, by the loop's variables.
std::optional<RoleLowering::EarlyRead> RoleLowering::early_read(const Parallel& loop, const FragmentMap& map, const Let& let, std::vector<Expr>* place) {
  Program& program = low_.program();
  const Buffer& from = program.buffer(let.read.buffer);
  if (from.scope != Scope::global && !roles_.plain_tiles.count(let.read.buffer)) return {};
  if (dtype_is_packed(from.dtype)) return {};
  Let read{kNoVar, nullptr, let.read};
  {
    const arith::FactsScope scope(low_.facts());
    for (size_t d = 0; d < loop.vars.size(); ++d) low_.facts().define(program.var(loop.vars[d]), arith::Range::between(0, loop.extents[d] - 1));
    for (Expr& e : read.read.indices) e = low_.simplify(e);
  }
  const std::set<VarId> used = variables(read.read.indices);
  for (const StmtPtr& s : loop.body)
    if (const auto* other = std::get_if<Let>(&s->node); other && used.count(other->var)) return {};
  EarlyRead out;
  std::vector<int> dims;
  std::vector<Expr> to;
  for (size_t d = 0; d < loop.vars.size(); ++d) {
    if (!used.count(loop.vars[d])) continue;
    dims.push_back(static_cast<int>(d));
    out.loop.vars.push_back(loop.vars[d]);
    out.loop.extents.push_back(loop.extents[d]);
    to.push_back(program.var(loop.vars[d]));
  }
  out.map = map.project(dims);
  if (dims.empty()) {  // one value for all
    out.loop.vars.push_back(program.add_var(VarKind::loop, DType::index, "one"));
    out.loop.extents.push_back(1);
    to.push_back(low_.index(0));
    out.map = out.map.with_unit_dim(0);
  }
  out.map = out.map.trimmed();
  if (out.map.registers() > kMostEarly) return {};
  out.values = low_.new_fragment(from.dtype, out.map, "early");
  if (from.scope == Scope::global) out.following = low_.new_fragment(from.dtype, out.map, "following");
  *place = std::move(to);
  out.loop.body.push_back(make_stmt(std::move(read)));
  return out;
}

// Of trip `trip`, from `slot` where it reads the ring.
Status RoleLowering::read_early(const EarlyRead& read, BufferId to, Expr slot, Expr trip) {
  Let let = std::get<Let>(read.loop.body.front()->node);
  let.var = low_.program().add_var(VarKind::let, low_.program().buffer(let.read.buffer).dtype, "early");
  for (Expr& e : let.read.indices) e = substitute(arena_, e, {{loop().var, trip}});
  if (slot) let.read.indices.insert(let.read.indices.begin(), slot);
  Parallel loop = read.loop;
  std::vector<Expr> at;
  for (size_t d = 0; d < loop.vars.size(); ++d) at.push_back(low_.program().var(loop.vars[d]));
  if (loop.extents == std::vector<int64_t>{1}) at = {low_.index(0)};
  const Expr value = low_.program().var(let.var);
  loop.body = {make_stmt(std::move(let)), make_stmt(Store{{to, std::move(at)}, value})};
  return ElementWise(low_, loop, read.map, low_.comment("read ahead"), {}).run();
}

// The statement with the slot as first index of the tiles that it reads itself.
StmtPtr RoleLowering::with_slot(const StmtPtr& s, Expr slot) const {
  return rewrite_block({s}, [&](const StmtPtr& inner) -> Block {
    if (const auto* copy = std::get_if<Copy>(&inner->node); copy && roles_.plain_tiles.count(copy->src.buffer)) {
      Copy read = *copy;
      read.src.offsets.insert(read.src.offsets.begin(), slot);
      read.src.extents.insert(read.src.extents.begin(), 1);
      return {make_stmt(std::move(read), inner->ordinal, inner->location)};
    }
    const auto* let = std::get_if<Let>(&inner->node);
    if (!let || let->value || !roles_.plain_tiles.count(let->read.buffer)) return {inner};
    Let read = *let;
    read.read.indices.insert(read.read.indices.begin(), slot);
    return {make_stmt(std::move(read), inner->ordinal, inner->location)};
  }).front();
}

}  // namespace tilert::passes
