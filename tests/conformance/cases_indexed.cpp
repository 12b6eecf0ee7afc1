// Cases 8, 26 and 55: gather, scatter, transposing copies; random draws.
#include <algorithm>
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// 26. Rows of a table by indices, in and out of range, along either dim; the table in memory or in a tile. The table's rows
// start on 16 bytes or do not.
Scenario gathered_rows(const Values& v) {
  const int64_t n = 40, width = 24, count = 50;
  const tl::DType dtype = v.dtype(), index = v["wide"] ? tl::i64 : tl::i32;
  const auto dim = static_cast<uint32_t>(v["dim"]);
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N");
    auto table = dim ? b.input("table", dtype, {width, N}) : b.input("table", dtype, {N, width});
    auto at = b.input("at", index, {count});
    auto y = dim ? b.output("y", tl::f32, {width, count}) : b.output("y", tl::f32, {count, width});
    b.grid({1}, [&](tl::Index) {
      auto out = v["out"] ? (dim ? b.shared(tl::f32, {width, count}) : b.shared(tl::f32, {count, width}))
                          : (dim ? b.fragment(tl::f32, {width, count}) : b.fragment(tl::f32, {count, width}));
      const auto copied = [&] {
        auto where = b.shared(index, {count});
        b.copy(at, where);
        return tl::Region(where);
      };
      if (v["tile"]) {
        const tl::Region where = copied();
        auto t = dim ? b.shared(dtype, {width, n}) : b.shared(dtype, {n, width});
        b.copy(table(0, 0), t);
        b.gather(t, where, out, dim);
      } else {
        b.gather(table(0, 0), v["out"] ? tl::Region(at) : copied(), out, dim);
      }
      b.copy(out, y);
    });
  });
  for (int64_t wide : {n, n + 1, n + 8}) {
    const int64_t known = v["tile"] ? n : wide;
    const Reals table = pattern(dtype, static_cast<size_t>(wide * width), 3);
    Reals at = whole(count, 0, n - 1, 5), y(count * width);
    at[0] = -1, at[1] = known, at[2] = known - 1, at[3] = -2147483648.0L, at[4] = 2147483647;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < width; ++j) {
        const auto k = static_cast<int64_t>(at[i]);
        const Real value = k < 0 || k >= known ? 0 : table[static_cast<size_t>(dim ? j * wide + k : k * width + j)];
        y[static_cast<size_t>(dim ? j * count + i : i * width + j)] = value;
      }
    s.launch({wide}).input(dtype, table).input(index, at).output(tl::f32, exactly(y));
  }
  return s;
}

// 26. Scatter: what is out of range is dropped; equal indices add up where that is asked for.
Scenario scattered(const Values& v) {
  const int64_t n = 40, width = 12, count = 30;
  const tl::DType dtype = v.dtype();
  const bool adds = v["add"] != 0;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", dtype, {count, width});
    auto at = b.input("at", tl::i32, {count});
    auto y = b.inout("y", dtype, {n, width});
    b.grid({1}, [&](tl::Index) {
      auto f = b.fragment(dtype, {count, width});
      b.copy(x, f);
      const tilert_atomic_op op = adds ? TILERT_ATOMIC_ADD : 0;
      if (v["tile"]) {
        auto t = b.shared(dtype, {n, width});
        b.copy(y, t);
        b.scatter(f, at, t, 0, op);
        b.copy(t, y);
      } else {
        b.scatter(f, at, y(0, 0), 0, op);
      }
    });
  });
  const Reals x = whole(count * width, -4, 4, 3), start = whole(n * width, -4, 4, 4);
  Reals at, y = start;
  for (int64_t i = 0; i < count; ++i) at.push_back(static_cast<Real>(adds ? i * 7 % 11 : i * 11 % 40));
  at[3] = -1, at[7] = n;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < width; ++j) {
      const auto k = static_cast<int64_t>(at[i]);
      if (k < 0 || k >= n) continue;
      Real& place = y[static_cast<size_t>(k * width + j)];
      place = (adds ? place : 0) + x[static_cast<size_t>(i * width + j)];
    }
  s.launch().input(dtype, x).input(tl::i32, at).inout(dtype, start, exactly(y));
  return s;
}

// 8. Transposing copies between any two kinds of storage, with a cast; edges give 0 and are dropped. Rows that start on 16
// bytes and rows that do not, on either side.
Scenario transposed(const Values& v) {
  const tl::DType dtype = v.dtype();
  const int64_t rows = v["rows"], columns = 50;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto M = b.dim("M"), N = b.dim("N");
    auto x = b.input("x", dtype, {M, N}), y = b.output("y", tl::f32, {N, M});
    b.grid({tl::ceildiv(M, 32)}, [&](tl::Index block) {
      if (v["way"] == 0) {
        auto t = b.shared(dtype, {64, 32});
        b.transpose(x(block * 32, 0), t);
        b.copy(t, y(0, block * 32));
      } else if (v["way"] == 1) {
        auto f = b.fragment(dtype, {32, 64});
        b.copy(x(block * 32, 0), f);
        b.transpose(f, y(0, block * 32));
      } else {
        auto t = b.shared(dtype, {32, 64});
        auto f = b.fragment(tl::f32, {64, 32});
        b.copy(x(block * 32, 0), t);
        b.transpose(t, f, {1, 0});
        b.copy(f, y(0, block * 32));
      }
    });
  });
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{rows, columns}, {48, 64}, {33, 48}, {48, 50}}) {
    const Reals x = pattern(dtype, static_cast<size_t>(m * n), 2);
    Reals y(x.size());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) y[static_cast<size_t>(j * m + i)] = x[static_cast<size_t>(i * n + j)];
    s.launch({m, n}).input(dtype, x).output(tl::f32, exactly(y));
  }
  return s;
}

// 8. Any order of three dims.
Scenario reordered(const Values& v) {
  const std::vector<std::vector<uint32_t>> orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  const auto& order = orders[static_cast<size_t>(v["order"])];
  const int64_t shape[] = {6, 10, 24};
  const int64_t to[] = {shape[order[0]], shape[order[1]], shape[order[2]]};
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::f16, {6, 10, 24}), y = b.output("y", tl::f16, {to[0], to[1], to[2]});
    b.grid({1}, [&](tl::Index) {
      auto t = b.shared(tl::f16, {to[0], to[1], to[2]});
      b.transpose(x(0, 0, 0), t, {order[0], order[1], order[2]});
      b.copy(t, y);
    });
  });
  const Reals x = pattern(tl::f16, 6 * 10 * 24, 2);
  Reals y(x.size());
  int64_t at[3];
  for (at[0] = 0; at[0] < 6; ++at[0])
    for (at[1] = 0; at[1] < 10; ++at[1])
      for (at[2] = 0; at[2] < 24; ++at[2])
        y[static_cast<size_t>((at[order[0]] * to[1] + at[order[1]]) * to[2] + at[order[2]])] =
            x[static_cast<size_t>((at[0] * 10 + at[1]) * 24 + at[2])];
  s.launch().input(tl::f16, x).output(tl::f16, exactly(y));
  return s;
}

// Written apart from the library's own.
std::vector<uint32_t> drawn(uint64_t seed, uint64_t counter, uint64_t stream) {
  uint32_t x = static_cast<uint32_t>(counter), y = static_cast<uint32_t>(counter >> 32), z = static_cast<uint32_t>(stream),
           w = static_cast<uint32_t>(stream >> 32), k = static_cast<uint32_t>(seed), l = static_cast<uint32_t>(seed >> 32);
  for (int i = 0; i < 10; ++i) {
    const unsigned __int128 p = static_cast<unsigned __int128>(0xD2511F53) * x, q = static_cast<unsigned __int128>(0xCD9E8D57) * z;
    const auto a = static_cast<uint32_t>(q >> 32) ^ y ^ k, b = static_cast<uint32_t>(q);
    const auto c = static_cast<uint32_t>(p >> 32) ^ w ^ l, d = static_cast<uint32_t>(p);
    x = a, y = b, z = c, w = d;
    k += 0x9E3779B9, l += 0xBB67AE85;
  }
  return {x, y, z, w};
}

// 55. The same draws everywhere: the known answers, and those of every point. Uniform ones to the bit, normal ones nearly.
Scenario random_draws(const Values& v) {
  const int64_t n = 100;
  const int64_t seed = v["seed"] == 0 ? 0 : v["seed"] == 1 ? -1 : 0x299f31d0a4093822;
  const int64_t stream = v["seed"] == 0 ? 0 : v["seed"] == 1 ? -1 : 0x0370734413198a2e;
  const int64_t first = v["seed"] == 0 ? 0 : v["seed"] == 1 ? -1 : static_cast<int64_t>(0x85a308d3243f6a88u);
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto key = b.scalar("key", tl::i64);
    auto u = b.output("u", tl::f32, {n, 4}), g = b.output("g", tl::f32, {n, 4}), one = b.output("one", tl::f32, {4});
    b.grid({1}, [&](tl::Index) {
      b.parallel({n}, [&](tl::Index i) {
        const auto words = b.random_uniform(key, tl::cast(tl::i64, i) + first, stream);
        for (int k = 0; k < 4; ++k) {
          u(i, k) = words[k];
          if (!v["normal"]) g(i, k) = words[k];
        }
      });
      if (v["normal"])
        b.parallel({n}, [&](tl::Index i) {
          const auto bells = b.random_normal(key, tl::cast(tl::i64, i) + first, stream);
          for (int k = 0; k < 4; ++k) g(i, k) = bells[k];
        });
      const auto words = b.random_uniform(key, first, stream);
      for (int k = 0; k < 4; ++k) one(k) = words[k];
    });
  });
  Reals u, g;
  for (int64_t i = 0; i < n; ++i) {
    const auto words = drawn(static_cast<uint64_t>(seed), static_cast<uint64_t>(first + i), static_cast<uint64_t>(stream));
    Reals own;
    for (uint32_t word : words) own.push_back(static_cast<Real>(word >> 8) * 0x1p-24L);
    for (Real r : own) u.push_back(r);
    for (int k = 0; k < 4; k += 2) {
      const Real radius = std::sqrt(-2 * std::log(1 - own[k])), angle = 6.283185307179586L * own[k + 1];
      g.push_back(radius * std::cos(angle));
      g.push_back(radius * std::sin(angle));
    }
  }
  std::vector<Want> bells;
  for (size_t i = 0; i < g.size(); ++i) bells.push_back(v["normal"] ? Want{g[i], 1e-5L} : Want{u[i]});
  s.launch().scalar(tl::i64, static_cast<Real>(seed)).output(tl::f32, exactly(u)).output(tl::f32, bells).output(tl::f32, exactly(Reals(u.begin(), u.begin() + 4)));
  return s;
}

// 55. The words themselves, of a block and of points.
Scenario random_words(const Values& v) {
  const int64_t n = 70, seed = v["seed"] ? 0x299f31d0a4093822 : 3;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto key = b.scalar("key", tl::i64);
    auto y = b.output("y", tl::u32, {n, 4}), one = b.output("one", tl::u32, {4});
    b.grid({1}, [&](tl::Index) {
      b.parallel({n}, [&](tl::Index i) {
        const auto words = b.random_bits(key, i, 7);
        for (int k = 0; k < 4; ++k) y(i, k) = words[k];
      });
      const auto words = b.random_bits(key, n, 7);
      for (int k = 0; k < 4; ++k) one(k) = words[k];
    });
  });
  Reals y, one;
  for (int64_t i = 0; i <= n; ++i)
    for (uint32_t word : drawn(static_cast<uint64_t>(seed), static_cast<uint64_t>(i), 7)) (i < n ? y : one).push_back(word);
  s.launch().scalar(tl::i64, static_cast<Real>(seed)).output(tl::u32, exactly(y)).output(tl::u32, exactly(one));
  return s;
}

}  // namespace

void add_indexed_cases(std::vector<Case>& to) {
  to.push_back({"26", "gathered_rows", {dtypes({tl::f32, tl::f16, tl::i8}), {"dim", {0, 1}}, {"tile", {0, 1}}, {"out", {0, 1}}, {"wide", {0, 1}}}, gathered_rows});
  to.push_back({"26", "scattered", {dtypes({tl::f32, tl::f16, tl::i32}), {"add", {0, 1}}, {"tile", {0, 1}}}, scattered});
  to.push_back({"55", "random_draws", {{"normal", {0, 1}}, {"seed", {0, 1, 2}}}, random_draws});
  to.push_back({"55", "random_words", {{"seed", {0, 1}}}, random_words});
  to.push_back({"8", "transposed", {dtypes({tl::f32, tl::f16, tl::i8}), {"way", {0, 1, 2}}, {"rows", {64, 70, 9}}}, transposed});
  to.push_back({"8", "reordered", {{"order", {0, 1, 2, 3, 4, 5}}}, reordered});
}

}  // namespace tilert::conformance
