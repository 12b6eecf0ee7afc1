// Expansion's means: tiles, loops, element accesses.
#include "passes/expansion.h"

#include "ir/visit.h"
#include "passes/region.h"

namespace tilert::passes {

using namespace ir;

Expansion::Chunks Expansion::chunks_of(int64_t lines, int64_t extent) const {
  Chunks c{1, extent, extent};
  while (c.count * lines < threads_ && c.count * 2 <= extent) c.count *= 2;
  if (c.count == 1) return c;
  c.length = ((extent + c.count - 1) / c.count) | 1;
  c.count = (extent + c.length - 1) / c.length;
  return c;
}

Block Expansion::collect(const std::function<void()>& f) {
  blocks_.emplace_back();
  f();
  Block body = std::move(blocks_.back());
  blocks_.pop_back();
  return body;
}

BufferId Expansion::tile(Scope scope, DType dtype, const Extents& shape, const char* name) {
  Buffer b;
  b.name = name;
  b.dtype = dtype;
  b.scope = scope;
  for (int64_t extent : shape) b.shape.push_back(index(extent));
  const BufferId id = program_.add_buffer(std::move(b));
  blocks_.back().push_back(make_stmt(Alloc{id}, 0, stmt_.location));
  return id;
}

void Expansion::parallel(const Extents& extents, const Body& body) {
  Parallel loop;
  loop.contract = false;
  Exprs point;
  for (int64_t extent : extents) {
    loop.vars.push_back(program_.add_var(VarKind::loop, DType::index, "p"));
    loop.extents.push_back(extent);
    point.push_back(program_.var(loop.vars.back()));
  }
  loop.body = collect([&] { body(point); });
  emit(std::move(loop));
}

void Expansion::serial(int64_t trips, const std::function<void(Expr)>& body) {
  For loop;
  loop.var = program_.add_var(VarKind::loop, DType::index, "i");
  loop.begin = index(0);
  loop.end = index(trips);
  loop.body = collect([&] { body(program_.var(loop.var)); });
  emit(std::move(loop));
}

void Expansion::when(Expr condition, const std::function<void()>& body) {
  If branch;
  branch.condition = condition;
  branch.then_body = collect(body);
  emit(std::move(branch));
}

Expr Expansion::read(BufferId buffer, Exprs at) {
  const VarId x = program_.add_var(VarKind::let, program_.buffer(buffer).dtype, "x");
  emit(Let{x, nullptr, {buffer, std::move(at)}});
  return program_.var(x);
}

void Expansion::store(BufferId buffer, Exprs at, Expr value) {
  emit(Store{{buffer, std::move(at)}, arena().cast(value, program_.buffer(buffer).dtype)});
}

Expr Expansion::let(Expr value) {
  const VarId x = program_.add_var(VarKind::let, value->dtype, "v");
  emit(Let{x, value, {}});
  return program_.var(x);
}

Expansion::Exprs Expansion::place(const Region& region, const Exprs& point) const {
  Exprs at;
  for (size_t d = 0; d < region.offsets.size(); ++d) at.push_back(arith::add(*program_.arena, region.offsets[d], point[d]));
  return at;
}

Expansion::Exprs Expansion::with(Exprs point, int dim, Expr at) {
  point[static_cast<size_t>(dim)] = at;
  return point;
}

Expansion::Exprs Expansion::without(Exprs point, int dim) {
  point.erase(point.begin() + dim);
  return point;
}

// `point` has 0 at dim.
Expansion::Exprs Expansion::place_of_line(const Region& region, const Exprs& point, int dim) const {
  return place(region, region.offsets.size() == point.size() ? point : without(point, dim));
}

Region Expansion::whole(BufferId buffer) { return whole_region(program_, buffer); }

Expansion::Exprs Expansion::combined(const Combine& combine, const Exprs& left, const Exprs& right) {
  std::unordered_map<VarId, Expr> values;
  for (size_t c = 0; c < left.size(); ++c) {
    values[combine.left[c]] = left[c];
    values[combine.right[c]] = right[c];
  }
  Exprs out;
  for (Expr e : combine.result) out.push_back(let(substitute(arena(), e, values)));
  return out;
}

Expansion::Exprs Expansion::combined_in_order(const Combine& combine, const Exprs& before, const Exprs& after, bool reverse) {
  return reverse ? combined(combine, after, before) : combined(combine, before, after);
}

Expansion::Exprs Expansion::read_all(const std::vector<BufferId>& buffers, const Exprs& at) {
  Exprs values;
  for (BufferId b : buffers) values.push_back(read(b, at));
  return values;
}

void Expansion::store_all(const std::vector<BufferId>& buffers, const Exprs& at, const Exprs& values) {
  for (size_t c = 0; c < buffers.size(); ++c) store(buffers[c], at, values[c]);
}

std::vector<BufferId> Expansion::tiles_of(const Combine& combine, Scope scope, const Extents& shape, const char* name) {
  std::vector<BufferId> tiles;
  for (Expr e : combine.identity) tiles.push_back(tile(scope, e->dtype, shape, name));
  return tiles;
}

}  // namespace tilert::passes
