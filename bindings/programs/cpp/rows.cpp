// Programs that work along rows.
#include <array>

#include "programs.h"

namespace programs {

// y = factor x, a block's part in a loop over four tiles.
tl::Program scale() {
  tl::Builder b("scale");
  auto N = b.dim("N", tl::DimOptions().divisible(8));
  auto x = b.input("x", tl::f32, {N}), y = b.output("y", tl::f32, {N});
  auto factor = b.scalar("factor", tl::f32);
  b.grid({tl::ceildiv(N, 512)}, [&](tl::Index block) {
    auto t = b.fragment(tl::f32, {128});
    b.serial(4, [&](tl::Index k) {
      const auto at = b.let(block * 512 + k * 128);
      b.copy(x(at), t);
      b.parallel({128}, [&](tl::Index i) { t(i) = t(i) * factor; });
      b.copy(t, y(at));
    });
  });
  return b.finish();
}

// Rows of 100 in tiles of 4 x 128; what lies beyond a row is minus infinity and adds nothing.
tl::Program softmax() {
  const int rows = 4, width = 128;
  tl::Builder b("softmax");
  auto R = b.dim("R");
  auto x = b.input("x", tl::f32, {R, 100}), y = b.output("y", tl::f32, {R, 100});
  b.grid({tl::ceildiv(R, rows)}, [&](tl::Index block) {
    auto t = b.fragment(tl::f32, {rows, width});
    auto top = b.fragment(tl::f32, {rows}), sum = b.fragment(tl::f32, {rows});
    b.copy(x(block * rows, 0), t, tl::CopyOptions().safe(-tl::inf));
    b.reduce(tl::max, t, top, 1);
    b.parallel({rows, width}, [&](tl::Index i, tl::Index j) {
      const tl::Expr v = t(i, j), most = top(i);
      t(i, j) = tl::exp(v - most);
    });
    b.reduce(tl::sum, t, sum, 1);
    b.parallel({rows, width}, [&](tl::Index i, tl::Index j) {
      const tl::Expr v = t(i, j), all = sum(i);
      t(i, j) = v / all;
    });
    b.copy(t, y(block * rows, 0));
  });
  return b.finish();
}

// f16 rows, computed in f32.
tl::Program rmsnorm() {
  const int n = 256;
  tl::Builder b("rmsnorm");
  auto T = b.dim("T");
  auto x = b.input("x", tl::f16, {T, n}), w = b.input("w", tl::f32, {n}), y = b.output("y", tl::f16, {T, n});
  auto eps = b.scalar("eps", tl::f32);
  b.grid({T}, [&](tl::Index t) {
    auto row = b.fragment(tl::f32, {n}), squares = b.fragment(tl::f32, {n}), sum = b.fragment(tl::f32, {1});
    b.copy(x(t, 0), row);
    b.parallel({n}, [&](tl::Index i) {
      const tl::Expr v = row(i);
      squares(i) = v * v;
    });
    b.reduce(tl::sum, squares, sum, 0);
    b.parallel({n}, [&](tl::Index i) {
      const tl::Expr v = row(i), all = sum(0), weight = w(i);
      row(i) = v * tl::rsqrt(all / n + eps) * weight;
    });
    b.copy(row, y(t, 0));
  });
  return b.finish();
}

// Through shared tiles whose columns lie on 32 banks. M is a stride, so there are two variants: rows on 16 bytes, and any.
tl::Program transposed() {
  tl::Builder b("transposed");
  auto M = b.dim("M"), N = b.dim("N");
  auto x = b.input("x", tl::f32, {M, N}), y = b.output("y", tl::f32, {N, M});
  b.grid({tl::ceildiv(N, 32), tl::ceildiv(M, 32)}, [&](tl::Index column, tl::Index row) {
    auto t = b.shared(tl::f32, {32, 32});
    b.annotate_layout<2>(t, [](tl::Index i, tl::Index j) { return i * 32 + (j + i) % 32; });
    b.copy(x(row * 32, column * 32), t);
    b.transpose(t, y(column * 32, row * 32));
  });
  return b.finish();
}

// Rows that lie S elements apart, columns from `limit` on taken for -1; two ranges of M, a variant for each.
tl::Program strided_copy() {
  tl::Builder b("strided_copy");
  auto M = b.dim("M", tl::DimOptions().range(1, 64).range(65, 4096)), N = b.dim("N"), S = b.dim("S");
  auto x = b.input("x", tl::f32, {M, N}, tl::TensorOptions().strides({S, 1})), y = b.output("y", tl::f32, {M, N});
  auto limit = b.scalar("limit", tl::i32);
  b.grid({tl::ceildiv(M, 16)}, tl::threads(128), [&](tl::Index block) {
    auto t = b.shared(tl::f32, {16, 64});
    b.annotate_layout(t, tl::Layout::padded);
    b.pipelined(tl::ceildiv(N, 64), tl::stages(2), [&](tl::Index k) {
      const auto options = tl::CopyOptions().valid({M, tl::cast(tl::index, limit)}).safe(-1).prefer(TILERT_COPY_ASYNC).eviction(1);
      b.copy(x(block * 16, k * 64), t, options);
      b.copy(t, y(block * 16, k * 64));
    });
  });
  return b.finish();
}

// Rows of a table by index, and for each row of the table the sum of what was taken. Indices out of range give 0.
tl::Program embed() {
  tl::Builder b("embed");
  auto T = b.dim("T"), V = b.dim("V");
  auto table = b.input("table", tl::f16, {V, 32}), ids = b.input("ids", tl::i32, {T});
  auto y = b.output("y", tl::f32, {T, 32}), sums = b.inout("sums", tl::f32, {V, 32});
  b.grid({tl::ceildiv(T, 16)}, [&](tl::Index block) {
    auto id = b.fragment(tl::i32, {16});
    auto rows = b.fragment(tl::f32, {16, 32});
    b.copy(ids(block * 16), id, tl::CopyOptions().safe(-1));
    b.gather(table(0, 0), id, rows, 0);
    b.copy(rows, y(block * 16, 0));
    b.scatter(rows, id, sums(0, 0), 0, TILERT_ATOMIC_ADD);
  });
  return b.finish();
}

// The eight greatest of each row, what lies before each element, the place of the greatest, and how many are as great.
tl::Program ranked() {
  const int rows = 4, n = 48;
  tl::Builder b("ranked");
  auto R = b.dim("R");
  auto x = b.input("x", tl::f32, {R, n}), best = b.output("best", tl::f32, {R, 8}), before = b.output("before", tl::f32, {R, n});
  auto places = b.output("places", tl::i32, {R, 8}), first = b.output("first", tl::i32, {R}), equal = b.output("equal", tl::i32, {R});
  b.grid({tl::ceildiv(R, rows)}, [&](tl::Index block) {
    const auto row = b.let(block * rows);
    auto t = b.fragment(tl::f32, {rows, n}), sums = b.fragment(tl::f32, {rows, n}), eight = b.fragment(tl::f32, {rows, 8});
    auto place = b.fragment(tl::i32, {rows, 8}), at = b.fragment(tl::i32, {rows});
    b.copy(x(row, 0), t);
    b.top_k(t, eight, place, 1);
    b.scan(tl::sum, t, sums, 1, tl::exclusive);
    b.reduce(tl::argmax, t, at, 1);
    auto ones = b.fragment(tl::i32, {rows, n}), count = b.fragment(tl::i32, {rows});
    auto greatest = b.fragment(tl::f32, {rows});
    b.fill(ones, 1);
    using Pair = std::array<tl::Expr, 2>;
    b.combine({t, ones}, {greatest, count}, 1, {-tl::inf, 0}, [](const Pair& l, const Pair& r) {
      const auto both = l[1] + r[1];
      return Pair{tl::max(l[0], r[0]), tl::select(l[0] == r[0], both, tl::select(l[0] < r[0], r[1], l[1]))};
    });
    b.copy(eight, best(row, 0));
    b.copy(sums, before(row, 0));
    b.copy(place, places(row, 0));
    b.copy(at, first(row));
    b.copy(count, equal(row));
  });
  return b.finish();
}

}  // namespace programs
