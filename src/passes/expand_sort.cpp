// Sorts as loops over keys (ir/semantics.h: integers that grow with the values) and the places that the values had.
#include <bit>

#include "ir/semantics.h"
#include "passes/expansion.h"

namespace tilert::passes {

using namespace ir;

namespace {

constexpr int64_t kFew = 16;  // taken one by one up to here: each costs two reductions, a network costs log2^2 / 2 passes
constexpr int32_t kNowhere = INT32_MAX;

Expr greatest(Arena& arena, DType key) {
  return arena.constant(key, key == DType::int64 ? static_cast<uint64_t>(INT64_MAX) : static_cast<uint64_t>(INT32_MAX));
}

}  // namespace

void Expansion::sort(const Sort& n) {
  const auto d = static_cast<size_t>(n.dim);
  if (!on_cpu() && n.dst.extents[d] <= kFew && n.dst.extents[d] < n.src.extents[d]) sort_few(n);
  else sort_all(n);
}

// `point` lies in the destination.
void Expansion::store_sorted(const Sort& n, const Exprs& point, Expr key, Expr place_in_line) {
  const DType dtype = program_.buffer(n.dst.buffer).dtype;
  store(n.dst.buffer, place(n.dst, point), sort_value(arena(), key, dtype, n.descending));
  if (n.index.buffer != kNoBuffer) store(n.index.buffer, place(n.index, point), place_in_line);
}

// Element `at` of each line. A fragment's place must not be computed: there every element asks whether it is the one.
void Expansion::store_taken(const Region& dst, int dim, Expr at, const std::function<Expr(const Exprs&)>& value) {
  const bool registers = program_.buffer(dst.buffer).scope == Scope::fragment;
  parallel(registers ? dst.extents : resized(dst.extents, dim, 1), [&](const Exprs& p) {
    const Expr x = value(with(p, dim, index(0)));
    if (!registers) return store(dst.buffer, place(dst, with(p, dim, at)), x);
    when(arith::eq(arena(), p[static_cast<size_t>(dim)], at), [&] { store(dst.buffer, place(dst, p), x); });
  });
}

// As often as elements are kept: the least key, and the first place that has it and was not taken.
void Expansion::sort_few(const Sort& n) {
  const Extents& extents = n.src.extents;
  const auto d = static_cast<size_t>(n.dim);
  const Extents line = resized(extents, n.dim, 1);
  const DType key = sort_key_dtype(program_.buffer(n.src.buffer).dtype);
  const Expr none = greatest(arena(), key), nowhere = arena().constant(DType::int32, kNowhere);
  const BufferId keys = tile(Scope::fragment, key, extents, "keys"), places = tile(Scope::fragment, DType::int32, extents, "places");
  const BufferId candidates = tile(Scope::fragment, DType::int32, extents, "candidates");
  const BufferId least = tile(Scope::fragment, key, line, "least"), first = tile(Scope::fragment, DType::int32, line, "first");
  parallel(extents, [&](const Exprs& p) {
    store(keys, p, sort_key(arena(), read(n.src.buffer, place(n.src, p)), n.descending));
    store(places, p, p[d]);
  });
  serial(n.dst.extents[d], [&](Expr taken) {
    emit(Reduce{ReduceOp::min, whole(keys), whole(least), n.dim, false});
    parallel(extents, [&](const Exprs& p) {
      const Expr here = arena().make(Op::eq, {read(keys, p), read(least, with(p, n.dim, index(0)))});
      store(candidates, p, arena().make(Op::select, {here, read(places, p), nowhere}));
    });
    emit(Reduce{ReduceOp::min, whole(candidates), whole(first), n.dim, false});
    const DType dtype = program_.buffer(n.dst.buffer).dtype;
    store_taken(n.dst, n.dim, taken, [&](const Exprs& p) { return sort_value(arena(), read(least, p), dtype, n.descending); });
    if (n.index.buffer != kNoBuffer) store_taken(n.index, n.dim, taken, [&](const Exprs& p) { return read(first, p); });
    parallel(extents, [&](const Exprs& p) {
      const Expr here = arena().make(Op::eq, {read(places, p), read(first, with(p, n.dim, index(0)))});
      store(keys, p, arena().make(Op::select, {here, none, read(keys, p)}));
      store(places, p, arena().make(Op::select, {here, nowhere, read(places, p)}));
    });
  });
}

// A bitonic network (Batcher 1968) in shared memory over the next power of two: round r merges runs of 2^(r+1), in steps
// that compare elements 2^r, 2^(r-1), ... 1 apart. Places break ties, so that it is stable.
void Expansion::sort_all(const Sort& n) {
  const Extents& extents = n.src.extents;
  const auto d = static_cast<size_t>(n.dim);
  const auto size = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extents[d])));
  const DType key = sort_key_dtype(program_.buffer(n.src.buffer).dtype);
  const Extents padded = resized(extents, n.dim, size);
  const BufferId keys = tile(Scope::shared, key, padded, "keys"), places = tile(Scope::shared, DType::int32, padded, "places");
  parallel(padded, [&](const Exprs& p) {
    const BufferId own = tile(Scope::scalar, key, {}, "key");
    store(own, {}, greatest(arena(), key));
    const auto take = [&] { store(own, {}, sort_key(arena(), read(n.src.buffer, place(n.src, p)), n.descending)); };
    if (size == extents[d]) take();
    else when(arith::lt(arena(), p[d], extents[d]), take);
    store(keys, p, read(own, {}));
    store(places, p, p[d]);
  });
  const auto shifted = [&](Expr by) { return let(arena().make(Op::shl, {index(1), by})); };
  const int64_t rounds = std::countr_zero(static_cast<uint64_t>(size));
  if (size > 1)
    serial(rounds, [&](Expr round) {
      For steps;
      steps.var = program_.add_var(VarKind::loop, DType::index, "step");
      steps.begin = round;
      steps.end = index(-1);
      steps.step = -1;
      steps.body = collect([&] {
        const Expr apart = shifted(program_.var(steps.var)), run = shifted(arith::add(arena(), round, 1));
        parallel(resized(extents, n.dim, size / 2), [&](const Exprs& p) {
          const Expr within = arith::mod(arena(), p[d], apart);
          const Expr low = let(arith::add(arena(), arith::mul(arena(), arith::sub(arena(), p[d], within), 2), within));
          const Expr high = let(arith::add(arena(), low, apart));
          const Exprs a{read(keys, with(p, n.dim, low)), read(places, with(p, n.dim, low))};
          const Exprs b{read(keys, with(p, n.dim, high)), read(places, with(p, n.dim, high))};
          const Expr equal = arena().make(Op::logical_and, {arena().make(Op::eq, {a[0], b[0]}), arena().make(Op::lt, {b[1], a[1]})});
          const Expr greater = arena().make(Op::logical_or, {arena().make(Op::lt, {b[0], a[0]}), equal});
          const Expr down = arith::le(arena(), run, arith::mod(arena(), low, arith::mul(arena(), run, 2)));
          const Expr swaps = let(arena().make(Op::ne, {arena().cast(greater, DType::int32), arena().cast(down, DType::int32)}));
          when(swaps, [&] {
            store_all({keys, places}, with(p, n.dim, low), b);
            store_all({keys, places}, with(p, n.dim, high), a);
          });
        });
      });
      emit(std::move(steps));
    });
  parallel(n.dst.extents, [&](const Exprs& p) {
    const Expr key = read(keys, p);
    store_sorted(n, p, key, read(places, p));
  });
}

}  // namespace tilert::passes
