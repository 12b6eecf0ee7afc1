// Copies and fills as element-wise loops, and asynchronous copies to shared memory.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/visit.h"
#include "layout/fragment_builders.h"
#include "passes/element_wise.h"
#include "passes/held_copy.h"
#include "passes/layouts.h"
#include "passes/region.h"

namespace tilert::passes {

using namespace ir;

namespace {

// Indices of a region at a point of the loop: the i-th dim that is not a unit takes the i-th such variable.
std::vector<Expr> region_indices(Arena& arena, const Region& r, const std::vector<Expr>& points) {
  std::vector<Expr> indices;
  size_t next = 0;
  for (size_t d = 0; d < r.extents.size(); ++d)
    indices.push_back(r.extents[d] == 1 ? r.offsets[d] : arith::add(arena, r.offsets[d], points[next++]));
  return indices;
}

}  // namespace

CopyLoop copy_loop(Program& program, const Copy& c) {
  // The loop runs over all dims of a whole fragment, else over those of the destination that are not units.
  CopyLoop result;
  const bool to_fragment = program.buffer(c.dst.buffer).scope == Scope::fragment && is_whole(program, c.dst);
  const bool from_fragment = program.buffer(c.src.buffer).scope == Scope::fragment && is_whole(program, c.src);
  const Region& lead = to_fragment ? c.dst : from_fragment ? c.src : c.dst;
  result.fragment = to_fragment ? c.dst.buffer : from_fragment ? c.src.buffer : kNoBuffer;
  std::vector<Expr> points;
  for (int64_t extent : lead.extents) {
    if (extent == 1 && result.fragment == kNoBuffer) continue;
    const VarId var = program.add_var(VarKind::loop, DType::index, "i");
    result.loop.vars.push_back(var);
    result.loop.extents.push_back(extent);
    if (extent != 1) points.push_back(program.var(var));
  }
  if (result.loop.vars.empty()) {
    result.loop.vars.push_back(program.add_var(VarKind::loop, DType::index, "i"));
    result.loop.extents.push_back(1);
  }
  Arena& arena = *program.arena;
  const auto indices = [&](const Region& r) {
    std::vector<Expr> out = region_indices(arena, r, points);
    // Unit dims of the leading fragment are loop variables too, so that the map covers them.
    if (r.buffer == result.fragment)
      for (size_t d = 0; d < out.size(); ++d) out[d] = program.var(result.loop.vars[d]);
    return out;
  };
  const DType from = program.buffer(c.src.buffer).dtype, to = program.buffer(c.dst.buffer).dtype;
  const VarId x = program.add_var(VarKind::let, from, "x");
  result.loop.body.push_back(make_stmt(Let{x, nullptr, {c.src.buffer, indices(c.src)}}));
  result.loop.body.push_back(make_stmt(Store{{c.dst.buffer, indices(c.dst)}, arena.cast(program.var(x), to)}));
  return result;
}

// A local holds the same in every thread: each runs the whole loop.
static bool writes_own_storage(const Program& program, const Parallel& loop) {
  std::set<BufferId> written, inner;
  for_each_stmt(loop.body, [&](const Stmt& s) {
    if (const auto* alloc = std::get_if<Alloc>(&s.node)) inner.insert(alloc->buffer);
    const auto* store = std::get_if<Store>(&s.node);
    if (!store) return;
    const Scope scope = program.buffer(store->to.buffer).scope;
    if (scope == Scope::local || scope == Scope::scalar) written.insert(store->to.buffer);
  });
  return std::any_of(written.begin(), written.end(), [&](BufferId b) { return inner.count(b) == 0; });
}

FragmentMap Lower::loop_map(const Parallel& loop) {
  const int warp = context_.target.warp_size;
  return writes_own_storage(program(), loop) ? replicated_map(loop.extents, plan_.threads, warp)
                                             : blocked_map(loop.extents, plan_.threads, vector_width(*this, loop), warp);
}

// One side is registers; the other, where it is the tensor that the copy has a priority for, is accessed with that.
void ElementWise::move_vector(Access dst, Access src) {
  const BufferId memory = low_.program().buffer(dst.buffer).scope == Scope::registers ? src.buffer : dst.buffer;
  const bool packed = dtype_is_packed(low_.program().buffer(memory).dtype);
  const Eviction eviction = bounds_.buffer == memory && !packed ? bounds_.eviction : Eviction::normal;
  if (eviction == Eviction::normal || !low_.context().target.has(Feature::cache_hint)) return low_.move(dst, src, vector_);
  hinted_ = true;
  low_.move_hinted(dst, src, vector_, eviction);
}

Status Lower::copy(const Stmt& s, const Copy& c) {
  if (plan_.partial.count(c.src.buffer)) {
    Copy whole = c;
    whole.src.buffer = completed(c.src.buffer);
    return copy(s, whole);
  }
  const Buffer src = program().buffer(c.src.buffer), dst = program().buffer(c.dst.buffer);
  if (is_packed(program(), c.dst.buffer)) return packed_copy(c);
  const CopyLoop loop = copy_loop(program(), c);
  ElementBounds bounds;
  bounds.buffer = src.scope == Scope::global ? c.src.buffer : dst.scope == Scope::global ? c.dst.buffer : kNoBuffer;
  bounds.valid = c.valid;
  bounds.safe = c.safe;
  bounds.eviction = c.eviction;
  const bool by_fragment = loop.fragment != kNoBuffer && !writes_own_storage(program(), loop.loop);
  const FragmentMap map = by_fragment ? fragment_map(loop.fragment) : loop_map(loop.loop);
  if (src.scope == Scope::shared && dst.scope == Scope::shared && same_memory(c.src.buffer, c.dst.buffer)) {
    // The source is read before the destination is written, by all threads.
    const BufferId through = new_fragment(src.dtype, map, "through");
    Parallel read_all = loop.loop, write_all = loop.loop;
    const auto point = [&] { std::vector<Expr> p; for (VarId v : loop.loop.vars) p.push_back(program().var(v)); return p; }();
    const VarId x = std::get<Let>(loop.loop.body[0]->node).var;
    read_all.body = {loop.loop.body[0], make_stmt(Store{{through, point}, program().var(x)})};
    const VarId y = program().add_var(VarKind::let, src.dtype, "y");
    write_all.body = {make_stmt(Let{y, nullptr, {through, point}}),
                      make_stmt(Store{std::get<Store>(loop.loop.body[1]->node).to, program().var(y)})};
    TILERT_TRY(ElementWise(*this, read_all, map, comment("copy, read"), {}).run());
    return ElementWise(*this, write_all, map, comment("copy, write"), {}).run();
  }
  if (plan_.held.count(c.src.buffer))
    group(comment("copy, loaded"), [&] {
      const BufferId held = fragment_registers(c.src.buffer);
      call(Primitive::keep, {registers_arg(held, index(0), map.registers())});
    });
  if ((plan_.held.count(c.src.buffer) || plan_.held.count(c.dst.buffer)) && copy_held(*this, c, loop.loop)) {
    plan_.copies[s.ordinal] = {CopyPlan::Engine::registers, 16, false};
    return {};
  }
  ElementWise moved(*this, loop.loop, map, comment("copy"), bounds);
  TILERT_TRY(moved.run());
  const int64_t most = std::max(dtype_bytes(src.dtype), dtype_bytes(dst.dtype));
  plan_.copies[s.ordinal] = {CopyPlan::Engine::registers, std::min<int64_t>(16, moved.vector() * most), moved.hinted()};
  return {};
}

Status Lower::fill(const Stmt&, const Fill& f) {
  const Expr value = simplify(f.value);
  if (is_packed(program(), f.dst.buffer)) return packed_fill(f, value);
  if (program().buffer(f.dst.buffer).scope == Scope::fragment && is_whole(program(), f.dst)) {
    const BufferId regs = fragment_registers(f.dst.buffer);
    group(comment("fill"), [&] {
      unrolled(fragment_map(f.dst.buffer).registers(), [&](Expr reg) { store({regs, {reg}}, value); });
    });
    return {};
  }
  Parallel loop;
  std::vector<Expr> indices;
  for (size_t d = 0; d < f.dst.extents.size(); ++d) {
    const VarId var = program().add_var(VarKind::loop, DType::index, "i");
    loop.vars.push_back(var);
    loop.extents.push_back(f.dst.extents[d]);
    indices.push_back(arith::add(arena(), f.dst.offsets[d], program().var(var)));
  }
  loop.body.push_back(make_stmt(Store{{f.dst.buffer, indices}, value}));
  return ElementWise(*this, loop, loop_map(loop), comment("fill"), {}).run();
}

Status Lower::parallel(const Stmt& s, const Parallel& loop) {
  if (loop.threads) return ElementWise(*this, loop, threads_map(plan_.threads, context_.target.warp_size), comment("threads"), {}).run();
  const auto planned = plan_.loops.find(s.ordinal);
  const bool by_plan = planned != plan_.loops.end() && !writes_own_storage(program(), loop);
  const FragmentMap map = by_plan ? planned->second : loop_map(loop);
  return ElementWise(*this, loop, map, comment("parallel"), {}).run();
}

// Elements along the innermost dim that every contiguous memory access of the loop can move at once.
int64_t vector_width(Lower& lower, const Parallel& loop) {
  return ElementWise(lower, loop, FragmentMap(loop.extents, {}), {}, {}).widest();
}

// Sixteen, eight or four bytes a thread, past registers; what lies outside the tensor is filled with zeros.
Status Lower::async_copy(const Stmt& s, const Copy& c) {
  const Buffer src = program().buffer(c.src.buffer);
  const int size = dtype_bytes(src.dtype);
  CopyLoop copy_of = copy_loop(program(), c);
  const Parallel& loop = copy_of.loop;
  // What lies within bounds lies there whole: a vector never crosses the tensor's end or the copy's own bound.
  const ElementBounds bounds{c.src.buffer, c.valid, c.safe};
  const int64_t widest = ElementWise(*this, loop, FragmentMap(loop.extents, {}), {}, bounds).widest();
  const int64_t width = std::min<int64_t>(widest, 16 / size);
  if (width * size < 4 || dtype_is_packed(src.dtype)) {
    Copy plain = c;
    plain.prefer = CopyPrefer::sync;
    return copy(s, plain);
  }
  // Over chunks: one point of the map is `width` elements along the innermost dim.
  std::vector<int64_t> chunks = loop.extents;
  chunks.back() /= width;
  const FragmentMap map = blocked_map(chunks, plan_.threads, 1, context_.target.warp_size);
  const Access from = std::get<Let>(loop.body[0]->node).read, to = std::get<Store>(loop.body[1]->node).to;
  const bool hinted = c.eviction != Eviction::normal && context_.target.has(Feature::async_cache_hint);
  plan_.copies[s.ordinal] = {CopyPlan::Engine::asynchronous, width * size, hinted};
  group(comment("copy, asynchronous"), [&] {
    unrolled(map.registers(), [&](Expr step) {
      std::unordered_map<VarId, Expr> env;
      Expr covered = is_first_replica(map);
      for (size_t d = 0; d < loop.vars.size(); ++d) {
        const Expr at = coordinate(map, static_cast<int>(d), step);
        env[loop.vars[d]] = d + 1 == loop.vars.size() ? simplify(arith::mul(arena(), at, width)) : at;
        if (map.padded_shape()[d] > chunks[d])
          covered = arith::logical_and(arena(), covered, arith::lt(arena(), at, chunks[d]));
      }
      std::vector<Expr> source, target, valid;
      for (Expr e : from.indices) source.push_back(simplify(substitute(arena(), e, env)));
      for (Expr e : to.indices) target.push_back(simplify(substitute(arena(), e, env)));
      for (Expr e : c.valid) valid.push_back(e ? substitute(arena(), e, env) : nullptr);
      const Expr within = inside(c.src.buffer, source, valid);
      const Expr bytes = within ? arith::select(arena(), within, index(width * size), index(0)) : index(width * size);
      when(covered, [&] {
        std::vector<CallArg> arguments{text_arg(std::to_string(width * size)), address_arg(shared_access(c.dst.buffer, target)),
                                       address_arg(global_access(c.src.buffer, source)), value_arg(simplify(bytes))};
        if (hinted) arguments.insert(arguments.begin() + 1, text_arg(std::to_string(static_cast<int>(c.eviction))));
        call(hinted ? Primitive::cp_async_hinted : Primitive::cp_async, std::move(arguments));
      });
    });
  });
  return {};
}

}  // namespace tilert::passes
