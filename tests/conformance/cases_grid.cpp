// Cases of the whole grid: blocks that meet.
#include <algorithm>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// 70. Rounds in which each block reads what another wrote in the round before, with a tile, a fragment, a variable and values
// computed before that outlive the meetings.
Scenario neighbours(const Values& v) {
  const int64_t blocks = v["blocks"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto T = b.dim("T");
    auto x = b.inout("x", tl::i32, {blocks, 32}), y = b.output("y", tl::i32, {blocks, 32});
    b.grid({blocks}, [&](tl::Index at) {
      auto own = b.shared(tl::i32, {32}), other = b.shared(tl::i32, {32});
      auto sum = b.fragment(tl::i32, {32});
      auto weight = b.var(tl::i32);
      const auto first = b.let(x(at, 3));
      b.copy(x(at, 0), own);
      b.clear(sum);
      weight = 1;
      b.serial(T, [&](tl::Index t) {
        const auto from = b.let((at + t + 1) % blocks);
        b.copy(x(from, 0), other);
        b.grid_sync();
        b.parallel({32}, [&](tl::Index i) { sum(i) += other(31 - i) * tl::Expr(weight); });
        b.parallel({32}, [&](tl::Index i) { x(at, i) = sum(i) - own(i); });
        weight = tl::Expr(weight) * -3 + first;
        b.grid_sync();
      });
      b.parallel({32}, [&](tl::Index i) { y(at, i) = sum(i) + own(i) * tl::Expr(weight); });
    });
  });
  for (int64_t trips : {3, 0, 1, 5}) {
    const Reals start = whole(blocks * 32, -3, 3, 7);
    Reals x = start, sums(blocks * 32, 0), weights(blocks, 1), y;
    for (int64_t t = 0; t < trips; ++t) {
      const Reals before = x;
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t from = (b + t + 1) % blocks;
        for (int64_t i = 0; i < 32; ++i) sums[b * 32 + i] += before[from * 32 + 31 - i] * weights[b];
        for (int64_t i = 0; i < 32; ++i) x[b * 32 + i] = sums[b * 32 + i] - start[b * 32 + i];
        weights[b] = weights[b] * -3 + start[b * 32 + 3];
      }
    }
    for (int64_t k = 0; k < blocks * 32; ++k) y.push_back(sums[k] + start[k] * weights[k / 32]);
    s.launch({trips}).inout(tl::i32, start, exactly(x)).output(tl::i32, exactly(y));
  }
  return s;
}

// 70. Until nothing changes any more: each block takes over its neighbours' greatest values, and a word tells all of them
// whether some block did.
Scenario until_settled(const Values& v) {
  const int64_t width = v["width"], height = v["height"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.inout("x", tl::i32, {height, width}), rounds = b.inout("rounds", tl::i32, {64});
    b.grid({width, height}, [&](tl::Index i, tl::Index j) {
      auto round = b.var(tl::i32), best = b.var(tl::i32);
      round = 0;
      b.while_([&] { return tl::Expr(round) == 0 || rounds(tl::cast(tl::index, tl::Expr(round)) - 1) != 0; }, [&] {
        best = x(j, i);
        best = tl::max(tl::Expr(best), tl::select(i > 0, x(j, i - 1), tl::Expr(best)));
        best = tl::max(tl::Expr(best), tl::select(i + 1 < width, x(j, i + 1), tl::Expr(best)));
        best = tl::max(tl::Expr(best), tl::select(j > 0, x(j - 1, i), tl::Expr(best)));
        best = tl::max(tl::Expr(best), tl::select(j + 1 < height, x(j + 1, i), tl::Expr(best)));
        b.grid_sync();
        b.if_(tl::Expr(best) > x(j, i), [&] {
          x(j, i) = tl::Expr(best);
          b.atomic_add(rounds(tl::cast(tl::index, tl::Expr(round))), 1);
        });
        round = tl::Expr(round) + 1;
        b.grid_sync();
      });
    });
  });
  Reals start = whole(width * height, -99, 99, 5);
  for (int turned = 0; turned < 2; ++turned) {  // the greatest comes from the one side, then from the other
    Reals x = start, rounds(64, 0);
    for (int64_t round = 0; round == 0 || rounds[round - 1] != 0; ++round) {
      const Reals before = x;
      for (int64_t j = 0; j < height; ++j)
        for (int64_t i = 0; i < width; ++i) {
          Real& here = x[j * width + i];
          if (i > 0) here = std::max(here, before[j * width + i - 1]);
          if (i + 1 < width) here = std::max(here, before[j * width + i + 1]);
          if (j > 0) here = std::max(here, before[(j - 1) * width + i]);
          if (j + 1 < height) here = std::max(here, before[(j + 1) * width + i]);
          rounds[round] += here > before[j * width + i];
        }
    }
    for (int again = 0; again < 2; ++again) s.launch().inout(tl::i32, start, exactly(x)).inout(tl::i32, Reals(64, 0), exactly(rounds));
    std::reverse(start.begin(), start.end());
    for (Real& value : start) value += 2000000000;  // more than what lies behind the tensor
  }
  return s;
}

// 70. Products before and after a meeting: partial sums of all blocks, then each adds up a row of them.
Scenario split_product(const Values& v) {
  const int64_t blocks = 4, m = 64, n = 64, k = v["k"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::f16, {m, blocks * k}), w = b.input("w", tl::f16, {blocks * k, n});
    auto parts = b.inout("parts", tl::f32, {blocks, m, n}), y = b.output("y", tl::f32, {m, n});
    b.grid({blocks}, [&](tl::Index at) {
      auto a = b.shared(tl::f16, {m, 16}), c = b.shared(tl::f16, {16, n});
      auto sum = b.fragment(tl::f32, {m, n}), rows = b.fragment(tl::f32, {m / blocks, n}), part = b.fragment(tl::f32, {m / blocks, n});
      b.clear(sum);
      b.pipelined(k / 16, tl::stages(3), [&](tl::Index step) {
        b.copy(x(0, at * k + step * 16), a);
        b.copy(w(at * k + step * 16, 0), c);
        b.gemm(a, c, sum);
      });
      b.copy(sum, parts(at, 0, 0));
      b.grid_sync();
      b.clear(rows);
      b.serial(blocks, [&](tl::Index p) {
        b.copy(parts(p, at * (m / blocks), 0), part);
        b.parallel({m / blocks, n}, [&](tl::Index i, tl::Index j) { rows(i, j) += part(i, j); });
      });
      b.copy(rows, y(at * (m / blocks), 0));
    });
  });
  const Reals x = whole(m * blocks * k, -2, 2, 3), w = whole(blocks * k * n, -2, 2, 4);
  Reals parts(blocks * m * n, 0), y(m * n, 0);
  for (int64_t p = 0; p < blocks; ++p)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        Real sum = 0;
        for (int64_t l = 0; l < k; ++l) sum += x[i * blocks * k + p * k + l] * w[(p * k + l) * n + j];
        parts[(p * m + i) * n + j] = sum;
        y[i * n + j] += sum;
      }
  for (int again = 0; again < 2; ++again)
    s.launch().input(tl::f16, x).input(tl::f16, w).inout(tl::f32, Reals(blocks * m * n, 7), exactly(parts)).output(tl::f32, exactly(y));
  return s;
}

// 70. More blocks than fit are refused before anything runs, with both numbers. The interpreter and CPUs hold them.
Scenario too_many(const Values&) {
  Scenario s;
  s.language = "cuda";
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N");
    auto y = b.output("y", tl::i32, {N});
    b.grid({N}, [&](tl::Index i) {
      b.grid_sync();
      y(i) = 1;
    });
  });
  s.fails = TILERT_UNSUPPORTED;
  s.words = {"its 100000 blocks", "on the device at once", "multiprocessors"};
  s.launch({100000}).output(tl::i32, untouched(100000));
  return s;
}

// 70. Meetings that not all blocks come to are refused.
Scenario not_all(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto y = b.inout("y", tl::i32, {8});
    b.grid({8}, [&](tl::Index i) {
      if (v["of"] == 0) b.if_(i > 3, [&] { b.grid_sync(); });
      if (v["of"] == 1) b.serial(i, [&](tl::Index) { b.grid_sync(); });
      if (v["of"] == 2) {
        b.if_(i == 2, [&] { b.return_(); });
        b.grid_sync();
      }
      if (v["of"] == 3) {
        const auto ticket = b.fetch_add(y(0), 1);
        b.if_(ticket == 7, [&] { b.grid_sync(); });
      }
      if (v["of"] == 4) b.parallel({8}, [&](tl::Index) { b.grid_sync(); });
      if (v["of"] == 5)
        b.serial(4, [&](tl::Index) {
          b.grid_sync();
          b.if_(i == 2, [&] { b.break_(); });
        });
    });
  });
  s.refused = v["of"] == 4 ? std::vector<std::string>{"grid_sync", "parallel"} : std::vector<std::string>{"grid_sync", "cases_grid.cpp", "not all blocks"};
  return s;
}

// 70. Blocks that leave a loop at different times meet behind it.
Scenario behind_a_loop(const Values& v) {
  const int64_t blocks = 6;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto y = b.inout("y", tl::i32, {blocks}), z = b.output("z", tl::i32, {blocks});
    b.grid({blocks}, [&](tl::Index i) {
      b.serial(blocks, [&](tl::Index trip) {
        b.if_(trip == i, [&] {
          if (v["next"]) b.continue_();
          else b.break_();
        });
        y(i) = y(i) + 1;
      });
      b.grid_sync();
      z(i) = y(blocks - 1 - i);
    });
  });
  Reals before(blocks);
  std::vector<Want> counted(blocks), read(blocks);
  for (int64_t i = 0; i < blocks; ++i) {
    before[static_cast<size_t>(i)] = 10 * i;
    counted[static_cast<size_t>(i)] = {static_cast<Real>(10 * i + (v["next"] ? blocks - 1 : i))};
  }
  for (size_t i = 0; i < counted.size(); ++i) read[i] = counted[counted.size() - 1 - i];
  Launch launch;
  launch.inout(tl::i32, before, counted).output(tl::i32, read);
  s.launches.push_back(std::move(launch));
  return s;
}

}  // namespace

void add_grid_cases(std::vector<Case>& to) {
  to.push_back({"70", "neighbours_in_rounds", {{"blocks", {1, 2, 7}}}, neighbours});
  to.push_back({"70", "until_nothing_changes", {{"width", {1, 5}}, {"height", {1, 3}}}, until_settled});
  to.push_back({"70", "a_product_split_and_added_up", {{"k", {16, 80}}}, split_product});
  to.push_back({"70", "more_blocks_than_fit", {}, too_many});
  to.push_back({"70", "behind_a_loop", {{"next", {0, 1}}}, behind_a_loop});
  to.push_back({"70", "meetings_that_not_all_come_to", {{"of", {0, 1, 2, 3, 4, 5}}}, not_all});
}

}  // namespace tilert::conformance
