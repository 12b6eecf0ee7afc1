// Case 88: kernels of a fixed order of sums. Two kernels of one program give the same rows: with another number of rows, another
// leading dimension, other hints of class B, another choice of a plan; a third one compares their bits. Sums are not exact, so that
// another order is seen.
#include <array>
#include <cmath>

#include "conformance/scenario.h"
#include "tilert/kernels/gemm.hpp"

namespace tilert::conformance {
namespace {

namespace kernels = tl::kernels;

tl::ProductChoice choice(tilert_product_path path, uint32_t m, uint32_t n, uint32_t k, uint32_t flags = 0) {
  tl::ProductChoice c;
  c.path = path;
  c.tile_m = m, c.tile_n = n, c.tile_k = k;
  c.threads = 128;
  c.stages = 2;
  c.cluster = c.split_k = 1;
  c.flags = flags;
  return c;
}

// Two choices of a plan: tiles of other rows, columns and depths, the weights on either side, blocks that loop over tiles.
std::pair<tl::ProductChoice, tl::ProductChoice> pair_of(int64_t which) {
  constexpr auto kGroup = TILERT_PATH_WARPGROUP, kWarp = TILERT_PATH_WARP;
  switch (which) {
    case 0: return {choice(kWarp, 16, 64, 32), choice(kWarp, 64, 32, 64, TILERT_CHOICE_PERSISTENT)};
    case 1: return {choice(kWarp, 64, 32, 32), choice(kWarp, 32, 64, 64, TILERT_CHOICE_SWAPPED)};
    case 2: return {choice(kGroup, 64, 64, 64, TILERT_CHOICE_PERSISTENT), choice(kGroup, 128, 32, 128)};
    default: return {choice(kGroup, 16, 64, 64, TILERT_CHOICE_SWAPPED | TILERT_CHOICE_PERSISTENT), choice(kGroup, 64, 96, 128)};
  }
}

// What a kernel of the program is asked for: nothing, hints of class B, which change nothing here, or what a plan's choice says.
enum class Asked { nothing, hints, choice };

void product_of_rows(tl::Builder& b, const tl::Product& p, const tl::ProductChoice& c, const tl::Tile& A, const tl::Tile& B, const tl::Tile& C, const tl::Expr& M, Asked asked) {
  tl::Hints hints = asked == Asked::choice ? kernels::detail::hints_of(p, c) : tl::fixed_order();
  if (asked != Asked::choice && c.persistent()) hints.persistent();
  if (asked != Asked::choice && c.path != TILERT_PATH_WARPGROUP) hints.roles_off();
  if (asked == Asked::hints) hints.threads(256).consumers(1).split_k(3);
  const int64_t m = c.tile_m, n = c.tile_n;
  b.grid({tl::ceildiv(p.n, n), tl::ceildiv(M, m)}, hints, [&](const tl::Index& x, const tl::Index& y) {
    const tl::Tile sum = kernels::detail::multiply(
        b, p, c, tl::ceildiv(p.k, c.tile_k),
        [&](const tl::Index& k, const tl::Tile& a) { p.trans_a ? b.copy(A(k, y * m), a) : b.copy(A(y * m, k), a); },
        [&](const tl::Index& k, const tl::Tile& w) { p.trans_b ? b.copy(B(x * n, k), w) : b.copy(B(k, x * n), w); });
    // Elements beyond the operands are looked at: a CPU multiplies whole tiles in another way than those at the end.
    const tl::Tile shown = c.swapped() ? b.fragment(p.c, {n, m}) : b.fragment(p.c, {m, n});
    b.parallel({c.swapped() ? n : m, c.swapped() ? m : n}, [&](tl::Index i, tl::Index j) { shown(i, j) = tl::select(sum(i, j) == sum(i, j), sum(i, j), b.constant(p.c, 0)); });
    if (c.swapped()) b.copy(shown, b.transposed(C)(x * n, y * m));
    else b.copy(shown, C(y * m, x * n));
  });
}

// same(i, j) is 1 where both matrices have the same bits.
void compare_bits(tl::Builder& b, const tl::Tile& one, const tl::Tile& other, const tl::Tile& same, const tl::Expr& rows, int64_t columns) {
  b.grid({rows}, [&](tl::Index row) {
    b.parallel({columns}, [&](tl::Index j) {
      const tl::Expr equal = tl::reinterpret(tl::i32, tl::Expr(one(row, j))) == tl::reinterpret(tl::i32, tl::Expr(other(row, j)));
      same(row, j) = tl::select(equal, b.constant(tl::i32, 1), b.constant(tl::i32, 0));
    });
  });
}

// Rows 0 to few - 1 of A[many, k] once as a matrix of few rows, by the first choice, and once among all of them by the second.
struct Rows {
  tl::Product p;
  tl::ProductChoice first, second;
  Asked asked_first, asked_second;

  void build(Scenario& s) const {
    s.program([&](tl::Builder& b) {
      const tl::Expr Few = b.dim("Few"), Many = b.dim("Many");
      const auto operand = [&](const char* name, const tl::Expr& M) { return p.trans_a ? b.input(name, p.a, {p.k, M}) : b.input(name, p.a, {M, p.k}); };
      const tl::Tile A1 = operand("few", Few), A2 = operand("many", Many);
      const tl::Tile B = p.trans_b ? b.input("B", p.b, {p.n, p.k}) : b.input("B", p.b, {p.k, p.n});
      const tl::Tile C1 = b.inout("C1", tl::f32, {Few, p.n}), C2 = b.inout("C2", tl::f32, {Many, p.n}), same = b.output("same", tl::i32, {Few, p.n});
      product_of_rows(b, p, first, A1, B, C1, Few, asked_first);
      product_of_rows(b, p, second, A2, B, C2, Many, asked_second);
      compare_bits(b, C1, C2, same, Few, p.n);
    });
  }

  void launch(Scenario& s, int64_t few, int64_t many) const {
    const Reals a = uniform(p.a, many * p.k, 1), w = uniform(p.b, p.n * p.k, 2);
    Reals values(many * p.n, 0), sizes = values;
    for (int64_t i = 0; i < many; ++i)
      for (int64_t j = 0; j < p.n; ++j)
        for (int64_t e = 0; e < p.k; ++e) {
          const Real term = a[i * p.k + e] * w[p.trans_b ? j * p.k + e : e * p.n + j];
          values[i * p.n + j] += term, sizes[i * p.n + j] += std::fabs(term);
        }
    const auto stored = [&](int64_t rows) {
      Reals out(rows * p.k);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t e = 0; e < p.k; ++e) out[p.trans_a ? e * rows + i : i * p.k + e] = a[i * p.k + e];
      return out;
    };
    // Of fp8 an H200 adds up about 13 bits behind the leading one of a product's largest term.
    const Real accumulator = is_small(p.a) ? 0x1p-13L : 0;
    const std::vector<Want> want = nearly(tl::f32, values, sizes, static_cast<Real>(p.k), accumulator), head(want.begin(), want.begin() + few * p.n);
    s.launch({few, many}).input(p.a, stored(few)).input(p.a, stored(many)).input(p.b, w).inout(tl::f32, Reals(few * p.n, 0), head)
        .inout(tl::f32, Reals(many * p.n, 0), want).output(tl::i32, exactly(Reals(few * p.n, 1)));
  }
};

Scenario fixed_products(const Values& v) {
  tl::Product p;
  p.a = p.b = v.dtype(), p.c = tl::f32;
  p.trans_a = v["trans"] % 2 == 1, p.trans_b = v["trans"] / 2 == 0;
  p.n = 72, p.k = v["K"];
  const auto [first, second] = pair_of(v["pair"]);
  const Rows rows{p, first, second, Asked::nothing, Asked::hints};
  Scenario s;
  rows.build(s);
  for (const auto& [few, many] : {std::pair<int64_t, int64_t>{1, 130}, {5, 64}, {72, 136}}) rows.launch(s, few, many);
  return s;
}

// Kernels of one plan for the H200: the one for a row and one for more of them.
Scenario fixed_plan(const Values& v) {
  tl::Product p;
  p.a = p.b = v.dtype(), p.c = tl::f32;
  p.trans_b = true, p.fixed_order = true;
  p.n = 136, p.k = 208;
  Scenario s;
  const auto made = kernels::plan_gemm(p);
  if (!made) return s.programs.push_back(made.error()), s;
  const Rows rows{p, made->programs[made->program_for(1)], made->programs[made->program_for(v["rows"])], Asked::choice, Asked::choice};
  rows.build(s);
  rows.launch(s, 3, 150);
  return s;
}

// Sums of rows: of a fragment that copies fill, where the rows' distance is dims that are multiples of 16 bytes or not; of memory;
// by a scan; beside a product's. Hints that would deal them to other threads are not followed.
Scenario fixed_rows(const Values& v) {
  const int64_t columns = v["columns"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    const tl::Expr M = b.dim("M");
    const tl::Expr strides[] = {b.dim("S1"), b.dim("S2")};
    tl::Tile x[2], out[2];
    for (int i = 0; i < 2; ++i) x[i] = b.input(i ? "x2" : "x1", tl::f32, {M, columns}, tl::TensorOptions().strides({strides[i], 1}));
    for (int i = 0; i < 2; ++i) out[i] = b.inout(i ? "y2" : "y1", tl::f32, {M, 3});
    const tl::Tile same = b.output("same", tl::i32, {M, 3});
    for (int i = 0; i < 2; ++i)
      b.grid({tl::ceildiv(M, 4)}, i ? tl::fixed_order().threads(v["threads"]) : tl::fixed_order(), [&](tl::Index y) {
        const tl::Tile tile = b.fragment(tl::f32, {4, columns}), scanned = b.fragment(tl::f32, {4, columns}), held = b.shared(tl::f32, {4, columns});
        const tl::Tile sums = b.fragment(tl::f32, {4}), squares = b.fragment(tl::f32, {4}), last = b.fragment(tl::f32, {4});
        b.copy(x[i](y * 4, 0), tile);
        b.reduce(tl::sum, tile, sums, 1);
        b.parallel({4, columns}, [&](tl::Index r, tl::Index c) { held(r, c) = tile(r, c) * tile(r, c); });
        b.reduce(tl::sum, held, squares, 1);
        b.scan(tl::sum, tile, scanned, 1);
        b.parallel({4}, [&](tl::Index r) { out[i](y * 4 + r, 0) = sums(r); });
        b.parallel({4}, [&](tl::Index r) { out[i](y * 4 + r, 1) = squares(r); });
        b.parallel({4, columns}, [&](tl::Index r, tl::Index c) {
          b.if_(c == columns - 1, [&] { out[i](y * 4 + r, 2) = scanned(r, c); });
        });
      });
    compare_bits(b, out[0], out[1], same, M, 3);
  });
  for (const auto& [m, first, second] : {std::array<int64_t, 3>{5, 256, 257}, {1, 258, 260}, {9, 257, 264}}) {
    const Reals data = uniform(tl::f32, m * columns, 3);
    const auto apart = [&](int64_t stride) {
      Reals out((m - 1) * stride + columns, 0);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t c = 0; c < columns; ++c) out[i * stride + c] = data[i * columns + c];
      return out;
    };
    Reals values, sizes;
    for (int64_t i = 0; i < m; ++i) {
      Real sum = 0, size = 0, square = 0;
      for (int64_t c = 0; c < columns; ++c) {
        const Real e = data[i * columns + c];
        sum += e, size += std::fabs(e), square += e * e;
      }
      values.insert(values.end(), {sum, square, sum}), sizes.insert(sizes.end(), {size, square, size});
    }
    const std::vector<Want> want = nearly(tl::f32, values, sizes, static_cast<Real>(columns));
    Launch& launch = s.launch({m, first, second});
    launch.input(tl::f32, apart(first)).placed({m, columns}, {first, 1}).input(tl::f32, apart(second)).placed({m, columns}, {second, 1});
    launch.inout(tl::f32, Reals(m * 3, 0), want).inout(tl::f32, Reals(m * 3, 0), want).output(tl::i32, exactly(Reals(m * 3, 1)));
  }
  return s;
}

// Whole numbers have one sum in any order: parts of K are as good, and adding them up by atomics.
Scenario fixed_integers(const Values&) {
  const int64_t k = 192;
  Scenario s;
  s.same_bits = true;
  for (int64_t parts : {1, 3})
    s.program([&](tl::Builder& b) {
      const tl::Expr M = b.dim("M");
      auto A = b.input("A", tl::i8, {M, k}), B = b.input("B", tl::i8, {32, k}), C = b.output("C", tl::i32, {M, 32}), all = b.inout("all", tl::i32, {1});
      b.grid({tl::ceildiv(M, 32)}, tl::fixed_order().split_k(parts).must().for_target("sm_80"), [&](tl::Index y) {
        auto a = b.shared(tl::i8, {32, 32}), w = b.shared(tl::i8, {32, 32});
        auto sum = b.fragment(tl::i32, {32, 32});
        b.clear(sum);
        b.pipelined(k / 32, tl::stages(2), [&](tl::Index i) {
          b.copy(A(y * 32, i * 32), a);
          b.copy(B(0, i * 32), w);
          b.gemm(a, w, sum, tl::trans_b);
        });
        b.parallel({32, 32}, [&](tl::Index i, tl::Index j) { b.atomic_add(all(0), sum(i, j)); });
        b.copy(sum, C(y * 32, 0));
      });
    });
  const int64_t m = 40;
  const Reals a = whole(m * k, -128, 127, 4), w = whole(32 * k, -128, 127, 5);
  Reals c(m * 32, 0);
  Real total = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < 32; ++j) {
      for (int64_t e = 0; e < k; ++e) c[i * 32 + j] += a[i * k + e] * w[j * k + e];
      total += c[i * 32 + j];
    }
  s.launch({m}).input(tl::i8, a).input(tl::i8, w).output(tl::i32, exactly(c)).inout(tl::i32, {0}, exactly({wrapped(tl::i32, total)}));
  return s;
}

// What has no order that could be fixed, and hints that must be followed and would change it.
Scenario fixed_refused(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", tl::f16, {64, 64}), C = b.inout("C", tl::f32, {64, 64});
    tl::Hints hints = tl::fixed_order();
    if (v["what"] == 1) hints.split_k(2).must();
    if (v["what"] == 2) hints.threads(256).must();
    b.grid({1}, hints, [&](tl::Index) {
      auto a = b.shared(tl::f16, {64, 16});
      auto sum = b.fragment(tl::f32, {64, 64});
      auto row = b.fragment(tl::f32, {64});
      b.clear(sum);
      b.pipelined(4, tl::stages(2), [&](tl::Index i) {
        b.copy(A(0, i * 16), a);
        b.gemm(a, a, sum, tl::trans_b);
      });
      b.reduce(tl::sum, sum, row, 1);
      b.parallel({64, 64}, [&](tl::Index i, tl::Index j) {
        if (v["what"] == 0) b.atomic_add(C(i, j), sum(i, j) + row(i));
        else C(i, j) = sum(i, j) + row(i);
      });
    });
  });
  s.launch().input(tl::f16, Reals(64 * 64, 1)).inout(tl::f32, Reals(64 * 64, 0), {});
  s.refused = v["what"] == 0 ? std::vector<std::string>{"order of sums is fixed", "come to C", "reduce a tile"}
                             : std::vector<std::string>{v["what"] == 1 ? "split_k 2" : "threads 256", "must be met"};
  s.of_variants = v["what"] != 0;
  return s;
}

}  // namespace

void add_fixed_cases(std::vector<Case>& to) {
  to.push_back({"88", "fixed_products", {{"pair", {0, 1, 2, 3}}, {"K", {64, 328}}, {"trans", {0, 1, 2, 3}}, dtypes({tl::f16, tl::bf16, tl::f32})}, fixed_products});
  to.push_back({"88", "fixed_plan", {{"rows", {16, 128, 512, 4096, 16384}}, dtypes({tl::bf16, tl::e4m3})}, fixed_plan});
  to.push_back({"88", "fixed_rows", {{"columns", {31, 256}}, {"threads", {32, 64, 256}}}, fixed_rows});
  to.push_back({"88", "fixed_integers", {}, fixed_integers});
  to.push_back({"88", "fixed_refused", {{"what", {0, 1, 2}}}, fixed_refused});
}

}  // namespace tilert::conformance
