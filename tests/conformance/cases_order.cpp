// Cases 48a and 48c: order of effects, products that do not run, rows that are masked whole.
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// 48a. A value read before a store is the old one, in parameters, tiles and variables.
Scenario old_values(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto a = b.inout("a", tl::f32, {64}), c = b.output("c", tl::f32, {64});
    b.grid({1}, [&](tl::Index) {
      if (v["place"] == 0) {
        b.parallel({64}, [&](tl::Index i) {
          const tl::Expr x = a(i);
          a(i) = 0;
          c(i) = x;
        });
      } else {
        auto t = v["place"] == 1 ? b.fragment(tl::f32, {64}) : b.shared(tl::f32, {64});
        b.copy(a, t);
        b.parallel({64}, [&](tl::Index i) {
          const tl::Expr x = t(i);
          t(i) = 0;
          c(i) = x;
        });
        b.copy(t, a);
      }
    });
  });
  const Reals data = counting(64, 1);
  s.launch().inout(tl::f32, data, exactly(Reals(64, 0))).output(tl::f32, exactly(data));
  return s;
}

// 48a. A product with `overwrite` in a loop of no trips leaves its result; with NaN there, nothing leaks into a product.
Scenario no_trip(const Values& v) {
  const int64_t trips = v["trips"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto T = b.dim("T");
    auto A = b.input("A", tl::f16, {64, 32}), C = b.output("C", tl::f32, {64, 64});
    b.grid({1}, [&](tl::Index) {
      auto a = b.shared(tl::f16, {64, 32});
      auto acc = b.fragment(tl::f32, {64, 64});
      b.fill(acc, NAN);
      b.serial(T, [&](tl::Index) {
        b.copy(A, a);
        b.gemm(a, a, acc, tl::trans_b | tl::overwrite);
      });
      b.copy(acc, C);
    });
  });
  const Reals a = whole(64 * 32, -3, 3, 1);
  Reals c(4096, trips ? 0 : NAN);
  for (int i = 0; i < 64 && trips; ++i)
    for (int j = 0; j < 64; ++j)
      for (int k = 0; k < 32; ++k) c[i * 64 + j] += a[i * 32 + k] * a[j * 32 + k];
  s.launch({trips}).input(tl::f16, a).output(tl::f32, exactly(c));
  return s;
}

// 48c. Softmax of rows, one of them masked whole: 0 with the idiom, NaN without.
Scenario masked_row(const Values& v) {
  const int rows = 16, columns = static_cast<int>(v["columns"]);
  const bool idiom = v["idiom"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::f32, {rows, columns}), y = b.output("y", tl::f32, {rows, columns});
    b.grid({1}, [&](tl::Index) {
      auto t = b.fragment(tl::f32, {rows, columns});
      auto top = b.fragment(tl::f32, {rows}), sum = b.fragment(tl::f32, {rows});
      b.copy(x, t);
      b.reduce(tl::max, t, top, 1);
      b.parallel({rows, columns}, [&](tl::Index i, tl::Index j) {
        const tl::Expr m = top(i);
        t(i, j) = tl::exp(t(i, j) - (idiom ? tl::select(m == -tl::inf, 0, m) : m));
      });
      b.reduce(tl::sum, t, sum, 1);
      b.parallel({rows, columns}, [&](tl::Index i, tl::Index j) {
        const tl::Expr l = sum(i);
        t(i, j) = idiom ? tl::select(l == 0, 0, t(i, j) / l) : t(i, j) / l;
      });
      b.copy(t, y);
    });
  });
  Reals x = uniform(tl::f32, rows * columns, 3);
  for (int j = 0; j < columns; ++j) x[3 * columns + j] = -INFINITY;
  std::vector<Want> want;
  for (int i = 0; i < rows; ++i) {
    Real sum = 0;
    for (int j = 0; j < columns; ++j) sum += std::exp(x[i * columns + j]);
    for (int j = 0; j < columns; ++j) {
      const Real y = i == 3 ? (idiom ? Real(0) : Real(NAN)) : std::exp(x[i * columns + j]) / sum;
      want.push_back({y, 32 * epsilon(tl::f32) * std::fabs(y), false});
    }
  }
  s.launch().input(tl::f32, x).output(tl::f32, want);
  return s;
}

// 50. Source text amid operations: it reads a shared tile and a value, and changes a var.
Scenario source_text(const Values& v) {
  const bool cuda = v["cuda"];
  Scenario s;
  s.language = cuda ? "cuda" : "llvm";
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::f32, {8, 4}), y = b.output("y", tl::f32, {8});
    b.grid({8}, [&](tl::Index block) {
      auto tile = b.shared(tl::f32, {1, 4});
      b.copy(x(block, 0), tile);
      auto sum = b.var(tl::f32);
      sum = 0.5f;
      b.serial(4, [&](tl::Index i) {
        b.inline_source(cuda ? "cuda" : "llvm",
                        cuda ? "{ const float before = $0; $0 = before + $1 * $2; }  // $$"
                             : "%before$2 = load float, ptr $0\n%taken$2 = load float, ptr $1\n"
                               "%scaled$2 = fmul float %taken$2, 4.0\n%after$2 = fadd float %before$2, %scaled$2\n"
                               "store float %after$2, ptr $0",
                        {sum, tile(0, i)}, {b.constant(cuda ? tl::f32 : tl::i32, 4)});
      });
      y(block) = sum;
    });
  });
  const Reals x = whole(32, -9, 9, 4);
  Reals y(8, Real(0.5));
  for (int i = 0; i < 32; ++i) y[i / 4] += 4 * x[i];
  s.launch().input(tl::f32, x).output(tl::f32, exactly(y));
  return s;
}

// 48a. A loop reads a tile, keeps what it read in a fragment, and overwrites the tile: threads that hold copies of the
// fragment read what was there before.
Scenario reads_then_updates_beside_a_fragment(const Values& v) {
  const int n = static_cast<int>(v["n"]);
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::i32, {n}), y = b.output("y", tl::i32, {2, n});
    b.grid({1}, tl::threads(128), [&](tl::Index) {
      auto tile = b.shared(tl::i32, {n});
      auto kept = b.fragment(tl::i32, {n});
      b.copy(x, tile);
      b.parallel({n}, [&](tl::Index i) {
        const tl::Expr old = tile(i);
        tile(i) = old + 100;
        kept(i) = old * 2 + tile(i);
      });
      b.copy(kept, y(0, 0));
      b.copy(tile, y(1, 0));
    });
  });
  const Reals x = whole(static_cast<size_t>(n), -50, 50, 7);
  Reals y;
  for (const Real value : x) y.push_back(value * 3 + 100);
  for (const Real value : x) y.push_back(value + 100);
  s.launch().input(tl::i32, x).output(tl::i32, exactly(y));
  return s;
}

}  // namespace

void add_order_cases(std::vector<Case>& to) {
  to.push_back({"48a", "old_values", {{"place", {0, 1, 2}}}, old_values});
  to.push_back({"48a", "a_product_that_does_not_run", {{"trips", {0, 1, 2}}}, no_trip});
  to.push_back({"48c", "a_row_masked_whole", {{"columns", {64, 100}}, {"idiom", {0, 1}}}, masked_row});
  to.push_back({"50", "source_text", {{"cuda", {0, 1}}}, source_text});
  to.push_back({"48a", "reads_then_updates_beside_a_fragment", {{"n", {1, 8, 33, 128, 300}}}, reads_then_updates_beside_a_fragment});
}

}  // namespace tilert::conformance
