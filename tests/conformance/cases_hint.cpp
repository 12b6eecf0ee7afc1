// Cases 60 to 62: hints change no meaning; one that must be met and is not is refused; roles around values made before
// the loop.
#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// 60. Blocks in any raster: each tile once, and every block knows which it is.
Scenario raster(const Values& v) {
  Scenario s;
  s.same_bits = true;
  for (int64_t width : {int64_t{0}, v["width"]})
    s.program([&](tl::Builder& b) {
      auto X = b.dim("X"), Y = b.dim("Y");
      auto y = b.inout("y", tl::i32, {Y, X});
      const auto body = [&](tl::Index i, tl::Index j) { y(j, i) = y(j, i) + tl::cast(tl::i32, j * 1000 + i); };
      tl::Hints hints;
      if (width) hints.raster(width);
      b.grid({X, Y}, hints, body);
    });
  Reals before, after;
  for (int64_t j = 0; j < v["Y"]; ++j)
    for (int64_t i = 0; i < v["X"]; ++i) {
      before.push_back(static_cast<Real>(7 * i - j));
      after.push_back(before.back() + static_cast<Real>(j * 1000 + i));
    }
  s.launch({v["X"], v["Y"]}).inout(tl::i32, before, exactly(after));
  return s;
}

// 60. All that a kernel can be asked for, for any target: the same bits.
Scenario hints(const Values& v) {
  const int64_t deep = 16, depth = 5 * deep;  // the ring goes round
  Scenario s;
  s.same_bits = true;
  for (int64_t hinted = 0; hinted < 2; ++hinted)
    s.program([&](tl::Builder& b) {
      auto A = b.input("A", tl::f16, {128, depth}), B = b.input("B", tl::f16, {64, depth}), C = b.output("C", tl::f32, {128, 64});
      const auto body = [&](tl::Index) {
        auto a = b.shared(tl::f16, {128, deep}), w = b.shared(tl::f16, {64, deep});
        auto acc = b.fragment(tl::f32, {128, 64});
        b.clear(acc);
        b.pipelined(depth / deep, tl::stages(hinted ? 2 : 3), [&](tl::Index k) {
          b.copy(A(0, k * deep), a, hinted ? tl::CopyOptions().eviction(1) : tl::CopyOptions());
          b.copy(B(0, k * deep), w);
          b.gemm(a, w, acc, tl::trans_b);
        });
        b.copy(acc, C);
      };
      tl::Hints all = tl::threads(128);
      if (hinted) all.min_blocks(2).max_registers(static_cast<int64_t>(v["registers"])).raster(3).cluster(2).pdl().split_k(1).threads(256).for_target("sm_86");
      b.grid({1}, all, body);
    });
  const Reals a = whole(128 * depth, -3, 3, 1), w = whole(64 * depth, -3, 3, 2);
  Reals c(128 * 64, 0);
  for (int64_t i = 0; i < 128; ++i)
    for (int64_t j = 0; j < 64; ++j)
      for (int64_t k = 0; k < depth; ++k) c[i * 64 + j] += a[i * depth + k] * w[j * depth + k];
  s.launch().input(tl::f16, a).input(tl::f16, w).output(tl::f32, exactly(c));
  s.launches.back().overlaps = true;
  return s;
}

// A kernel of the chain below: y = x (x for the first) through `kind` of code, plus 1.
void add_link(tl::Builder& b, const tl::Tile& x, const tl::Tile& y, int64_t kind, tl::Hints hints) {
  const auto plus_one = [&](const auto& t) { b.parallel({64, 64}, [&](tl::Index i, tl::Index j) { t(i, j) += tl::cast(tl::f16, 1); }); };
  if (kind == 0) {  // threads' own accesses
    b.grid({4, 1}, hints, [&](tl::Index at, tl::Index) {
      b.parallel({16, 64}, [&](tl::Index i, tl::Index j) { y(at * 16 + i, j) = x(at * 16 + i, j) + tl::cast(tl::f16, 1); });
    });
  } else if (kind == 1) {  // copies that run ahead to a product with the identity
    b.grid({1, 1}, hints, [&](tl::Index, tl::Index) {
      auto a = b.shared(tl::f16, {64, 16}), one = b.shared(tl::f16, {16, 64});
      auto sum = b.fragment(tl::f32, {64, 64});
      auto out = b.fragment(tl::f16, {64, 64});
      b.clear(sum);
      b.pipelined(4, tl::stages(3), [&](tl::Index k) {
        b.copy(x(0, k * 16), a);
        b.parallel({16, 64}, [&](tl::Index i, tl::Index j) { one(i, j) = tl::cast(tl::f16, tl::select(k * 16 + i == j, tl::cast(tl::i32, 1), 0)); });
        b.gemm(a, one, sum);
      });
      b.copy(sum, out);
      plus_one(out);
      b.copy(out, y);
    });
  } else {  // blocks that loop over tiles, through shared memory
    b.grid({4, 4}, hints.persistent(), [&](tl::Index i, tl::Index j) {
      auto t = b.shared(tl::f16, {16, 16});
      b.copy(x(j * 16, i * 16), t);
      b.parallel({16, 16}, [&](tl::Index r, tl::Index c) { y(j * 16 + r, i * 16 + c) = t(r, c) + tl::cast(tl::f16, 1); });
    });
  }
}

// 60. Kernels of one program, each of which reads what the one before wrote and writes what it read: with overlap or without.
Scenario dependent(const Values& v) {
  Scenario s;
  s.same_bits = true;
  for (int64_t hinted = 0; hinted < 2; ++hinted)
    s.program([&](tl::Builder& b) {
      auto x = b.inout("x", tl::f16, {64, 64}), y = b.inout("y", tl::f16, {64, 64});
      const tl::Hints hints = hinted ? tl::threads(128).pdl() : tl::threads(128);
      add_link(b, x, y, v["first"], hints);
      add_link(b, y, x, v["second"], hints);
    });
  const Reals before = whole(64 * 64, -9, 9, 5);
  Reals after, between;
  for (Real r : before) between.push_back(r + 1), after.push_back(r + 2);
  s.launch().inout(tl::f16, before, exactly(after)).inout(tl::f16, Reals(64 * 64, 0), exactly(between));
  s.launches.back().overlaps = true;
  return s;
}

// 60. A chain of kernels each of whose blocks reads what another block of the kernel before wrote, after a time of its own:
// what is read before the grid has ended shows. On a GPU ten thousand of them.
Scenario chain(const Values& v) {
  const int64_t blocks = v["blocks"], kernels = v["kernels"], n = blocks * 64;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.inout("x", tl::i32, {n}), y = b.inout("y", tl::i32, {n});
    for (int64_t k = 0; k < kernels; ++k) {
      const tl::Tile& from = k % 2 ? y : x;
      const tl::Tile& to = k % 2 ? x : y;
      b.grid({blocks}, tl::threads(64).pdl(), [&](tl::Index at) {
        auto t = b.fragment(tl::i32, {64});
        b.copy(from((blocks - 1 - at) * 64), t);
        b.serial((at * 5 + k) % 7 * v["trips"], [&](tl::Index trip) {
          b.parallel({64}, [&](tl::Index i) { t(i) = (t(i) ^ tl::cast(tl::i32, trip + i)) * 3; });
        });
        b.copy(t, to(at * 64));
      });
    }
  });
  std::vector<uint32_t> now(static_cast<size_t>(n)), last;
  for (size_t i = 0; i < now.size(); ++i) now[i] = static_cast<uint32_t>(i * 7 % 1000);
  const auto reals = [](const std::vector<uint32_t>& values) {
    Reals out;
    for (const uint32_t value : values) out.push_back(static_cast<int32_t>(value));
    return out;
  };
  const Reals before = reals(now), nothing(now.size());
  for (int64_t k = 0; k < kernels; ++k) {
    last = now;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = i / 64;
      uint32_t value = last[static_cast<size_t>((blocks - 1 - at) * 64 + i % 64)];
      for (int64_t trip = 0; trip < (at * 5 + k) % 7 * v["trips"]; ++trip) value = (value ^ static_cast<uint32_t>(trip + i % 64)) * 3;
      now[static_cast<size_t>(i)] = value;
    }
  }
  const bool back_in_x = kernels % 2 == 0;
  for (int64_t l = 0; l < v["launches"]; ++l) {
    s.launch()
        .inout(tl::i32, before, exactly(reals(back_in_x ? now : last)))
        .inout(tl::i32, nothing, exactly(reals(back_in_x ? last : now)));
    s.launches.back().overlaps = true;
  }
  return s;
}

// 61. What must be met and cannot be is refused, with the reason.
Scenario must_be_met(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::f32, {64}), y = b.output("y", tl::f32, {64});
    tl::Hints hints;
    if (v["what"] == 0) hints.cluster(2).must();
    if (v["what"] == 3) hints.pdl().must();
    b.grid({1}, hints, [&](tl::Index) {
      auto t = b.shared(tl::f32, {64});
      tl::CopyOptions options;
      if (v["what"] == 1) options.prefer(TILERT_COPY_TMA).must();
      if (v["what"] == 2) options.prefer(TILERT_COPY_ASYNC).must();
      b.copy(x, t, options);
      if (v["what"] == 3) b.grid_sync();
      b.copy(t, y);
    });
  });
  s.refused = {"must be met", v["what"] == 0 ? "cluster 2" : v["what"] == 1 ? "prefer tma" : v["what"] == 2 ? "prefer async" : "pdl 1"};
  return s;
}

// 62. A loop's bounds and its copies' places come from memory, before the loop: whoever copies knows them too.
Scenario places_before_the_loop(const Values& v) {
  constexpr int64_t kRows = 3, kDepth = 512;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", tl::bf16, {kRows * 64, kDepth}), B = b.input("B", tl::bf16, {64, kDepth});
    auto row = b.input("row", tl::i32, {2}), depth = b.input("depth", tl::i32, {2}), C = b.output("C", tl::f32, {2, 64, 64});
    b.grid({2}, tl::Hints().raster(1), [&](tl::Index z) {
      auto a = b.shared(tl::bf16, {64, 64}), w = b.shared(tl::bf16, {64, 64});
      auto acc = b.fragment(tl::f32, {64, 64});
      b.clear(acc);
      const tl::Expr at = row(z), trips = depth(z);
      const tl::Expr first = b.let(tl::cast(tl::index, at) * 64);
      b.pipelined(tl::cast(tl::index, trips), tl::stages(static_cast<uint32_t>(v["stages"])), [&](tl::Index k) {
        b.copy(A(first, k * 64), a);
        b.copy(B(0, k * 64), w);
        b.gemm(a, w, acc, tl::trans_b);
      });
      b.copy(acc, C(z, 0, 0));
    });
  });
  const Reals a = whole(kRows * 64 * kDepth, -2, 2, 3), w = whole(64 * kDepth, -2, 2, 4);
  const int64_t rows[] = {2, 1}, depths[] = {v["trips"], 8};
  Reals c;
  for (int z = 0; z < 2; ++z)
    for (int64_t i = 0; i < 64; ++i)
      for (int64_t j = 0; j < 64; ++j) {
        Real sum = 0;
        for (int64_t k = 0; k < depths[z] * 64; ++k) sum += a[(rows[z] * 64 + i) * kDepth + k] * w[j * kDepth + k];
        c.push_back(sum);
      }
  const auto reals = [](const int64_t (&list)[2]) { return Reals{static_cast<Real>(list[0]), static_cast<Real>(list[1])}; };
  s.launch().input(tl::bf16, a).input(tl::bf16, w).input(tl::i32, reals(rows)).input(tl::i32, reals(depths)).output(tl::f32, exactly(c));
  return s;
}

// 60. Copies that ask for a priority in caches, whole rows and ragged ones, in and out, of accesses of every width.
Scenario priorities(const Values& v) {
  const tl::DType dtype = v.dtype();
  const auto priority = static_cast<uint32_t>(v["priority"]);
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto M = b.dim("M"), N = b.dim("N", tl::DimOptions().divisible(v["divisor"]));
    auto x = b.input("x", dtype, {M, N}), y = b.output("y", dtype, {M, N}), z = b.output("z", dtype, {M, N});
    b.grid({tl::ceildiv(N, 64), tl::ceildiv(M, 16)}, [&](tl::Index j, tl::Index i) {
      auto t = b.fragment(dtype, {16, 64});
      auto tile = b.shared(dtype, {16, 64});
      b.copy(x(i * 16, j * 64), t, tl::CopyOptions().eviction(priority));
      b.copy(t, y(i * 16, j * 64), tl::CopyOptions().eviction(3 - priority));
      b.copy(x(i * 16, j * 64), tile, tl::CopyOptions().eviction(3 - priority));
      b.copy(tile, z(i * 16, j * 64), tl::CopyOptions().eviction(priority));
    });
  });
  const int64_t d = v["divisor"];
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{16, 64}, {33, 7 * d}, {1, 80}}) {
    const Reals x = pattern(dtype, static_cast<size_t>(m * n));
    s.launch({m, n}).input(dtype, x).output(dtype, exactly(x)).output(dtype, exactly(x));
  }
  return s;
}

}  // namespace

void add_hint_cases(std::vector<Case>& to) {
  to.push_back({"60", "raster", {{"X", {1, 5, 13}}, {"Y", {1, 7}}, {"width", {1, 3, 4, 64}}}, raster});
  to.push_back({"60", "hints", {{"registers", {168, 255}}}, hints});
  to.push_back({"60", "priorities", {dtypes({tl::f16, tl::f32, tl::i8, tl::i64}), {"priority", {1, 2}}, {"divisor", {1, 2, 8, 16}}}, priorities});
  to.push_back({"60", "dependent", {{"first", {0, 1, 2}}, {"second", {0, 1, 2}}}, dependent});
  to.push_back({"60", "chain_of_dependents", {{"blocks", {5}}, {"kernels", {7}}, {"trips", {3}}, {"launches", {2}}}, chain});
  to.push_back({"60", "ten_thousand_dependents", {{"blocks", {300}}, {"kernels", {64}}, {"trips", {40}}, {"launches", {160}}}, chain, true});
  to.push_back({"61", "must_be_met", {{"what", {0, 1, 2, 3}}}, must_be_met});
  to.push_back({"62", "places_before_the_loop", {{"trips", {0, 1, 5}}, {"stages", {2, 4}}}, places_before_the_loop});
}

}  // namespace tilert::conformance
