// Cases of blocks that loop over tiles: as many as there are, as memory counts, in the order of a plan.
#include <tuple>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// 47. Each tile exactly once, in whatever groups, by however many blocks: one launch after the other with one workspace, if any.
Scenario each_tile_once(const Values& v) {
  const int64_t rank = v["rank"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto X = b.dim("X"), Y = b.dim("Y"), Z = b.dim("Z");
    auto seen = b.inout("seen", tl::i32, {Z, Y, X}), where = b.output("where", tl::i32, {Z, Y, X});
    const tl::Hints hints = v["width"] ? tl::persistent().raster(v["width"]) : tl::persistent();
    const auto tile = [&](tl::Index x, tl::Index y, tl::Index z) {
      b.atomic_add(seen(z, y, x), 1);
      where(z, y, x) = tl::cast(tl::i32, (z * 100 + y) * 100 + x);
    };
    if (rank == 1) b.grid({X}, hints, [&](tl::Index x) { tile(x, 0, 0); });
    if (rank == 2) b.grid({X, Y}, hints, [&](tl::Index x, tl::Index y) { tile(x, y, 0); });
    if (rank == 3) b.grid({X, Y, Z}, hints, tile);
  });
  const std::vector<std::vector<int64_t>> shapes[] = {{{91, 1, 1}, {1, 1, 1}, {0, 1, 1}}, {{7, 13, 1}, {13, 7, 1}, {1, 40, 1}, {0, 3, 1}}, {{7, 3, 4}, {1, 2, 9}}};
  for (const auto& shape : shapes[rank - 1])
    for (int64_t most : {0, 1, 5}) {
      Reals where;
      for (int64_t z = 0; z < shape[2]; ++z)
        for (int64_t y = 0; y < shape[1]; ++y)
          for (int64_t x = 0; x < shape[0]; ++x) where.push_back(static_cast<Real>((z * 100 + y) * 100 + x));
      s.launch(shape).inout(tl::i32, Reals(where.size(), 3), exactly(Reals(where.size(), 4))).output(tl::i32, exactly(where)).max_blocks = most;
    }
  return s;
}

// 47. How many tiles there are is read from memory: the first ones are done, the others keep their bytes.
Scenario counted_tiles(const Values& v) {
  const tl::DType dtype = v.dtype();
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N");
    auto count = b.input("count", dtype, {2}), x = b.input("x", tl::i32, {N, 3, 32}), y = b.output("y", tl::i32, {N, 3, 32});
    b.grid({3, N}, tl::persistent(count), [&](tl::Index at, tl::Index row) {
      auto t = b.shared(tl::i32, {32});
      b.copy(x(row, at, 0), t);
      b.if_(t(5) == 7, [&] { b.return_(); });
      b.parallel({32}, [&](tl::Index i) { y(row, at, i) = t(31 - i) + 1; });
    });
  });
  const int64_t n = 6;
  for (int64_t count : {0, 1, 7, 18, 1000, -4})
    for (int64_t most : {0, 2}) {
      Reals x = whole(n * 96, -9, 9, 5);
      x[4 * 32 + 5] = 7;
      std::vector<Want> want = untouched(n * 96);
      for (int64_t tile = 0; tile < std::min(count, n * 3); ++tile)
        for (int64_t i = 0; i < 32 && x[tile * 32 + 5] != 7; ++i) want[tile * 32 + i] = {x[tile * 32 + 31 - i] + 1, 0, false, false};
      s.launch({n}).input(dtype, {static_cast<Real>(count), 99}).input(tl::i32, x).output(tl::i32, want).max_blocks = most;
    }
  return s;
}

// 47. A kernel counts the tiles of the one after it.
Scenario counted_before(const Values&) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N");
    auto x = b.input("x", tl::i32, {N}), list = b.inout("list", tl::i32, {N}), count = b.inout("count", tl::i32, {1}), y = b.inout("y", tl::i32, {N});
    b.grid({1}, [&](tl::Index) {
      b.serial(N, [&](tl::Index i) {
        b.if_(x(i) > 0, [&] {
          list(tl::cast(tl::index, count(0))) = tl::cast(tl::i32, i);
          count(0) = count(0) + 1;
        });
      });
    });
    b.grid({N}, tl::persistent(count), [&](tl::Index tile) {
      const auto at = b.let(tl::cast(tl::index, list(tile)));
      y(at) = y(at) + x(at);
    });
  });
  const int64_t n = 100;
  const Reals x = whole(n, -2, 2, 11), start = whole(n, -50, 50, 3);
  Reals y = start;
  Real count = 0;
  Reals list(n, 1);  // a tile too many would add x(1) again
  for (int64_t i = 0; i < n; ++i) {
    if (x[i] <= 0) continue;
    y[i] += x[i];
    list[static_cast<size_t>(count++)] = static_cast<Real>(i);
  }
  Launch& launch = s.launch({n});
  launch.input(tl::i32, x);
  launch.inout(tl::i32, Reals(n, 1), exactly(list)).inout(tl::i32, {0}, exactly({count})).inout(tl::i32, start, exactly(y));
  launch.max_blocks = 4;
  return s;
}

// 47. Tiles by a plan, made on either side, or by the closed form: each once; a plan for other blocks or sizes is not followed.
Scenario planned_tiles(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto X = b.dim("X"), Y = b.dim("Y");
    auto seen = b.inout("seen", tl::i32, {Y, X}), where = b.output("where", tl::i32, {Y, X});
    b.grid({X, Y}, tl::persistent(), [&](tl::Index x, tl::Index y) {
      if (v["groups"]) b.tile_cost((x * 7 + y * 5) % 13 + 1, y % 3);
      else b.tile_cost(x + 1);
      b.atomic_add(seen(y, x), 1);
      where(y, x) = tl::cast(tl::i32, y * 100 + x);
    });
  });
  using Plan = Launch::Plan;
  // A plan on the device leaves the longer one's words behind its own: as many blocks as tiles must not take them for theirs.
  const std::vector<std::tuple<int64_t, int64_t, int64_t, Plan>> launches = {
      {7, 13, 5, Plan::none},       {7, 13, 5, Plan::on_host},   {7, 13, 5, Plan::none},     {7, 13, 4, Plan::none},
      {6, 13, 5, Plan::none},       {7, 13, 40, Plan::on_host},  {7, 13, 5, Plan::on_device}, {7, 13, 91, Plan::none},
      {7, 13, 5, Plan::none},       {1, 1, 9, Plan::on_device},  {20, 3, 1, Plan::on_device}, {20, 14, 0, Plan::on_host},
      {34, 20, 600, Plan::on_device}};
  for (const auto& [columns, rows, most, plan] : launches) {
    Reals where;
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t x = 0; x < columns; ++x) where.push_back(static_cast<Real>(y * 100 + x));
    Launch& launch = s.launch({columns, rows});
    launch.inout(tl::i32, Reals(where.size(), 3), exactly(Reals(where.size(), 4))).output(tl::i32, exactly(where));
    launch.max_blocks = most;
    launch.plan = plan;
  }
  return s;
}

// 43. A pipelined product in a persistent loop, with a guard: the second tile is right too. Trips differ from tile to tile.
Scenario products_in_tiles(const Values& v) {
  const tl::DType dtype = v.dtype();
  const int64_t bm = v["rows"], bn = 64, bk = v["depth"], tiles_m = 3, tiles_n = 2;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto M = b.dim("M"), K = b.dim("K", tl::DimOptions().divisible(8)), R = b.dim("R");
    auto x = b.input("x", dtype, {M, K}), w = b.input("w", dtype, {bn * tiles_n, K});
    auto ends = b.input("ends", tl::i32, {R});
    auto y = b.output("y", v["out"] ? dtype : tl::f32, {M, bn * tiles_n});
    tl::Hints hints = tl::persistent();
    if (v["roles"] == 0) hints.roles_off();
    b.grid({tiles_n, tl::ceildiv(M, bm)}, hints, [&](tl::Index at, tl::Index row) {
      auto a = b.shared(dtype, {bm, bk}), c = b.shared(dtype, {bn, bk});
      auto sum = b.fragment(tl::f32, {bm, bn});
      const auto trips = b.let(tl::ceildiv(tl::min(tl::cast(tl::index, ends(row)), K), bk));
      b.clear(sum);
      b.pipelined(trips, tl::stages(v["stages"]), [&](tl::Index k) {
        b.copy(x(row * bm, k * bk), a);
        b.copy(w(at * bn, k * bk), c);
        b.gemm(a, c, sum, tl::trans_b);
      });
      b.parallel({bm, bn}, [&](tl::Index i, tl::Index j) { sum(i, j) = tl::max(sum(i, j), 0.f); });
      b.copy(sum, y(row * bm, at * bn));
    });
  });
  const int64_t m = bm * (tiles_m - 1) + 24, k = 3 * bk + 8, n = bn * tiles_n;
  const Reals x = whole(m * k, -2, 2, 3), w = whole(n * k, -2, 2, 4);
  for (int64_t most : {0, 1, 4}) {
    const Reals ends = {static_cast<Real>(k), static_cast<Real>(bk), static_cast<Real>(most == 1 ? 0 : 2 * bk)};
    Reals y(m * n, 0);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        Real sum = 0;
        const int64_t trips = (std::min(static_cast<int64_t>(ends[i / bm]), k) + bk - 1) / bk;
        for (int64_t l = 0; l < std::min(k, trips * bk); ++l) sum += x[i * k + l] * w[j * k + l];
        y[i * n + j] = std::max<Real>(sum, 0);
      }
    s.launch({m, k, tiles_m}).input(dtype, x).input(dtype, w).input(tl::i32, ends).output(v["out"] ? dtype : tl::f32, exactly(y)).max_blocks = most;
  }
  return s;
}

// What is not a persistent kernel's is refused.
Scenario refused_tiles(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto count = b.inout("count", v["of"] == 2 ? tl::f32 : tl::i32, {1}), y = b.inout("y", tl::i32, {8});
    b.grid({8}, tl::persistent(count), [&](tl::Index i) {
      if (v["of"] == 0) b.grid_sync();
      if (v["of"] == 1) count(0) = 3;
      y(i) = 1;
    });
  });
  const std::vector<std::vector<std::string>> words = {{"grid_sync", "persistent", "plain grid"}, {"count", "another kernel"}, {"count", "i32 or i64"}};
  s.refused = words[static_cast<size_t>(v["of"])];
  return s;
}

}  // namespace

void add_persistent_cases(std::vector<Case>& to) {
  to.push_back({"47", "each_tile_exactly_once", {{"rank", {1, 2, 3}}, {"width", {0, 1, 3, 100}}}, each_tile_once});
  to.push_back({"47", "tiles_counted_in_memory", {dtypes({tl::i32, tl::i64})}, counted_tiles});
  to.push_back({"47", "tiles_counted_by_the_kernel_before", {}, counted_before});
  to.push_back({"47", "planned_tiles", {{"groups", {0, 1}}}, planned_tiles});
  to.push_back({"43", "products_in_a_loop_over_tiles",
                {dtypes({tl::f16, tl::bf16}), {"rows", {64, 128}}, {"depth", {32, 64}}, {"stages", {1, 2, 3}}, {"roles", {0, 1}}, {"out", {0, 1}}},
                products_in_tiles});
  to.push_back({"47", "what_no_persistent_kernel_has", {{"of", {0, 1, 2}}}, refused_tiles});
}

}  // namespace tilert::conformance
