// Folds, scans and picks as loops. Sorts are in expand_sort.cpp, sparse products in expand_sparse.cpp.
#include "passes/expand.h"

#include <algorithm>

#include "ir/visit.h"
#include "passes/expansion.h"
#include "passes/hints.h"
#include "passes/region.h"

namespace tilert::passes {

using namespace ir;

namespace {

int64_t lines_of(const std::vector<int64_t>& extents, int dim) {
  int64_t lines = 1;
  for (size_t d = 0; d < extents.size(); ++d)
    if (d != static_cast<size_t>(dim)) lines *= extents[d];
  return lines;
}

}  // namespace

// Each chunk of a line by one thread, then neighbours in twos, fours, ...: the order of the elements is kept.
void Expansion::fold(const Fold& n) {
  const Extents& extents = n.src[0].extents;
  const Chunks chunks = chunks_of(lines_of(extents, n.dim), extents[static_cast<size_t>(n.dim)]);
  const Extents shape = resized(extents, n.dim, chunks.count);
  const auto parts = tiles_of(n.combine, Scope::shared, shape, "parts");
  parallel(shape, [&](const Exprs& p) {
    const auto sums = tiles_of(n.combine, Scope::scalar, {}, "sum");
    store_all(sums, {}, n.combine.identity);
    serial(chunks.length, [&](Expr i) {
      const Expr at = arith::add(arena(), arith::mul(arena(), p[static_cast<size_t>(n.dim)], chunks.length), i);
      const auto take = [&] {
        Exprs next;
        for (size_t c = 0; c < n.src.size(); ++c)
          next.push_back(let(arena().cast(read(n.src[c].buffer, place(n.src[c], with(p, n.dim, at))), n.combine.identity[c]->dtype)));
        store_all(sums, {}, combined(n.combine, read_all(sums, {}), next));
      };
      if (chunks.count * chunks.length == chunks.extent) take();
      else when(arith::lt(arena(), at, chunks.extent), take);
    });
    store_all(parts, p, read_all(sums, {}));
  });
  for (int64_t step = 1; step < chunks.count; step *= 2) {
    const int64_t pairs = (chunks.count - step + 2 * step - 1) / (2 * step);
    parallel(resized(extents, n.dim, pairs), [&](const Exprs& p) {
      const Expr at = arith::mul(arena(), p[static_cast<size_t>(n.dim)], 2 * step);
      const Exprs left = read_all(parts, with(p, n.dim, at)), right = read_all(parts, with(p, n.dim, arith::add(arena(), at, step)));
      store_all(parts, with(p, n.dim, at), combined(n.combine, left, right));
    });
  }
  parallel(resized(extents, n.dim, 1), [&](const Exprs& p) {
    const Exprs line = with(p, n.dim, index(0));
    Exprs totals = read_all(parts, line);
    if (n.accumulate) {
      Exprs before;
      for (size_t c = 0; c < n.dst.size(); ++c)
        before.push_back(let(arena().cast(read(n.dst[c].buffer, place_of_line(n.dst[c], line, n.dim)), n.combine.identity[c]->dtype)));
      totals = combined(n.combine, before, totals);
    }
    for (size_t c = 0; c < n.dst.size(); ++c) store(n.dst[c].buffer, place_of_line(n.dst[c], line, n.dim), totals[c]);
  });
}

void Expansion::scan(const Scan& n) {
  const Extents& extents = n.src[0].extents;
  const Chunks chunks = chunks_of(lines_of(extents, n.dim), extents[static_cast<size_t>(n.dim)]);
  if (n.exclusive && chunks.extent == 1)
    parallel(extents, [&](const Exprs& p) {
      for (size_t c = 0; c < n.dst.size(); ++c) store(n.dst[c].buffer, place(n.dst[c], p), n.combine.identity[c]);
    });
  else if (chunks.count > 1 && chunks.length == 1) scan_elements(n);
  else scan_chunks(n, chunks);
}

// A thread for each element: the elements are the totals.
void Expansion::scan_elements(const Scan& n) {
  const Extents& extents = n.src[0].extents;
  const auto d = static_cast<size_t>(n.dim);
  // From a place in the line to one in the order of the scan, and back.
  const auto turned = [&](const Exprs& p) {
    return n.reverse ? with(p, n.dim, arith::sub(arena(), index(extents[d] - 1), p[d])) : p;
  };
  auto totals = tiles_of(n.combine, Scope::shared, extents, "totals");
  parallel(extents, [&](const Exprs& p) {
    Exprs own;
    for (size_t c = 0; c < n.src.size(); ++c)
      own.push_back(let(arena().cast(read(n.src[c].buffer, place(n.src[c], turned(p))), n.combine.identity[c]->dtype)));
    store_all(totals, p, combined_in_order(n.combine, n.combine.identity, own, n.reverse));
  });
  scan_totals(n, totals, extents, n.exclusive ? extents[d] - 1 : extents[d]);
  parallel(extents, [&](const Exprs& p) {
    const Exprs own = turned(p);
    Exprs values;
    if (n.exclusive) {
      const auto kept = tiles_of(n.combine, Scope::scalar, {}, "value");
      store_all(kept, {}, n.combine.identity);
      when(arith::lt(arena(), index(0), own[d]),
           [&] { store_all(kept, {}, read_all(totals, with(own, n.dim, arith::sub(arena(), own[d], 1)))); });
      values = read_all(kept, {});
    } else {
      values = read_all(totals, own);
    }
    for (size_t c = 0; c < n.dst.size(); ++c) store(n.dst[c].buffer, place(n.dst[c], p), values[c]);
  });
}

// In a copy in shared memory: each chunk by one thread, in place; the totals of the chunks; then what lies before each
// chunk is combined into it on the way out.
void Expansion::scan_chunks(const Scan& n, const Chunks& chunks) {
  const Extents& extents = n.src[0].extents;
  const auto d = static_cast<size_t>(n.dim);
  const Extents shape = resized(extents, n.dim, chunks.count);
  const auto copies = tiles_of(n.combine, Scope::shared, extents, "scanned");
  parallel(extents, [&](const Exprs& p) {
    for (size_t c = 0; c < n.src.size(); ++c) store(copies[c], p, read(n.src[c].buffer, place(n.src[c], p)));
  });
  std::vector<BufferId> totals;
  if (chunks.count > 1) totals = tiles_of(n.combine, Scope::shared, shape, "totals");
  parallel(shape, [&](const Exprs& p) {
    const auto sums = tiles_of(n.combine, Scope::scalar, {}, "sum");
    store_all(sums, {}, n.combine.identity);
    serial(chunks.length, [&](Expr i) {
      const Expr step = arith::add(arena(), arith::mul(arena(), p[d], chunks.length), i);
      const Expr at = n.reverse ? arith::sub(arena(), index(chunks.extent - 1), step) : step;
      const auto take = [&] {
        const Exprs before = read_all(sums, {});
        const Exprs after = combined_in_order(n.combine, before, read_all(copies, with(p, n.dim, at)), n.reverse);
        store_all(copies, with(p, n.dim, at), n.exclusive ? before : after);
        store_all(sums, {}, after);
      };
      if (chunks.count * chunks.length == chunks.extent) take();
      else when(arith::lt(arena(), step, chunks.extent), take);
    });
    store_all(totals, p, read_all(sums, {}));
  });
  // Nobody asks for the last chunk's.
  if (chunks.count > 1) scan_totals(n, totals, shape, chunks.count - 1);
  parallel(extents, [&](const Exprs& p) {
    Exprs values = read_all(copies, p);
    if (chunks.count > 1) {
      const Expr step = n.reverse ? arith::sub(arena(), index(chunks.extent - 1), p[d]) : p[d];
      const Expr chunk = let(arith::floordiv(arena(), step, chunks.length));
      const auto kept = tiles_of(n.combine, Scope::scalar, {}, "value");
      store_all(kept, {}, values);
      when(arith::lt(arena(), index(0), chunk), [&] {
        const Exprs before = read_all(totals, with(p, n.dim, arith::sub(arena(), chunk, 1)));
        store_all(kept, {}, combined_in_order(n.combine, before, values, n.reverse));
      });
      values = read_all(kept, {});
    }
    for (size_t c = 0; c < n.dst.size(); ++c) store(n.dst[c].buffer, place(n.dst[c], p), values[c]);
  });
}

// Sums of the first `needed` beginnings in log2 steps, from one set of tiles into the other.
void Expansion::scan_totals(const Scan& n, std::vector<BufferId>& totals, const Extents& shape, int64_t needed) {
  if (needed < 2) return;
  auto others = tiles_of(n.combine, Scope::shared, shape, "totals");
  const auto d = static_cast<size_t>(n.dim);
  for (int64_t step = 1; step < needed; step *= 2) {
    parallel(shape, [&](const Exprs& p) {
      const Exprs own = read_all(totals, p);
      store_all(others, p, own);
      when(arith::le(arena(), index(step), p[d]), [&] {
        const Exprs before = read_all(totals, with(p, n.dim, arith::sub(arena(), p[d], step)));
        store_all(others, p, combined_in_order(n.combine, before, own, n.reverse));
      });
    });
    std::swap(totals, others);
  }
}

// The greatest, then the least place where it stands: two reductions.
void Expansion::pick(const Pick& n) {
  constexpr int32_t kNowhere = INT32_MAX;
  const Extents& extents = n.src.extents;
  const Extents line = resized(extents, n.dim, 1);
  if (extents[static_cast<size_t>(n.dim)] == 1)  // one element has one place
    return parallel(line, [&](const Exprs& p) {
      store(n.dst.buffer, place_of_line(n.dst, p, n.dim), arena().constant(DType::int32, 0));
    });
  const DType dtype = program_.buffer(n.src.buffer).dtype;
  const BufferId values = tile(Scope::fragment, dtype, extents, "values");
  parallel(extents, [&](const Exprs& p) { store(values, p, read(n.src.buffer, place(n.src, p))); });
  const BufferId best = tile(Scope::fragment, dtype, line, "best");
  emit(Reduce{n.least ? ReduceOp::min : ReduceOp::max, whole(values), whole(best), n.dim, false});
  const BufferId places = tile(Scope::fragment, DType::int32, extents, "places");
  parallel(extents, [&](const Exprs& p) {
    const Expr here = arena().make(Op::eq, {read(values, p), read(best, with(p, n.dim, index(0)))});
    const Expr at = arena().cast(p[static_cast<size_t>(n.dim)], DType::int32);
    store(places, p, arena().make(Op::select, {here, at, arena().constant(DType::int32, kNowhere)}));
  });
  const BufferId first = tile(Scope::fragment, DType::int32, line, "first");
  emit(Reduce{ReduceOp::min, whole(places), whole(first), n.dim, false});
  parallel(line, [&](const Exprs& p) {
    const Exprs at = with(p, n.dim, index(0));
    const Expr found = read(first, at), nowhere = arena().constant(DType::int32, kNowhere);
    const Expr value = arena().make(Op::select, {arena().make(Op::eq, {found, nowhere}), arena().constant(DType::int32, 0), found});
    store(n.dst.buffer, place_of_line(n.dst, at, n.dim), value);
  });
}

Result<Module> expand(Module module, const PassContext& context) {
  uint32_t next = next_ordinal(module.program);
  for (Kernel& kernel : module.program.kernels) {
    const int64_t fixed = hint_of(kernel, HintKind::threads_fixed);
    const auto asked = static_cast<int>(fixed ? fixed : hint_of(kernel, HintKind::threads));
    const int threads = context.target.is_cpu() ? 1 : asked ? asked : 128;
    kernel.body = rewrite_block(kernel.body, [&](const StmtPtr& s) -> Block {
      Expansion expansion(module.program, *s, threads, next);
      return std::visit(Overload{[&](const Fold& n) { return expansion.fold(n), expansion.take(); },
                                 [&](const Scan& n) { return expansion.scan(n), expansion.take(); },
                                 [&](const Pick& n) { return expansion.pick(n), expansion.take(); },
                                 [&](const Sort& n) { return expansion.sort(n), expansion.take(); },
                                 [&](const Gemm& n) {
                                   if (!n.sparse() || takes_sparse(context.target, module.program, n)) return Block{s};
                                   return expansion.sparse_product(n), expansion.take();
                                 },
                                 [&](const auto&) { return Block{s}; }},
                        s->node);
    });
  }
  return module;
}

}  // namespace tilert::passes
