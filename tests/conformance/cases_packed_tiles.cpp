// Case 75: shared tiles whose elements share bytes: weights of less than a byte in pipelined products, tiles seen as bytes, what
// is written in parts of bytes.
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

int64_t group_of(tl::DType dtype) { return bits_of(dtype) == 6 ? 4 : 2; }

// Values of any codes, finite, row after row; with zeros where a row of the tensor is longer than its elements.
Reals codes(tl::DType dtype, int64_t rows, int64_t columns, uint64_t seed) {
  const int64_t stride = (columns + group_of(dtype) - 1) / group_of(dtype) * group_of(dtype);
  Reals out = whole(static_cast<size_t>(rows * stride), 0, (1 << bits_of(dtype)) - 1, seed);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<int64_t>(i) % stride < columns ? decode(dtype, static_cast<uint64_t>(out[i])) : decode(dtype, dtype == tl::nf4 ? 7 : 0);
  return out;
}

// 75. c = a · wᵀ with w in less than a byte an element, staged in a ring, made f16 by a loop, a copy or the product itself. K ends
// inside a tile, a word and a byte, after more trips than the ring has stages; a K given at launch is of each kind.
const int64_t kDepths[] = {256, 232, 228, 225};

Scenario packed_weights(const Values& v) {
  const int64_t m = 32, n = 48, bk = 64;
  const tl::DType dtype = v.dtype();
  Scenario s;
  for (uint32_t stages : {1u, 3u})
    s.program([&](tl::Builder& b) {
      const tl::Expr K = v["dynamic"] ? b.dim("K") : tl::Expr(v["K"]);
      auto A = b.input("A", tl::f16, {m, K}), W = b.input("W", dtype, {n, K}), C = b.output("C", tl::f32, {m, n});
      b.grid({tl::ceildiv(n, 32)}, [&](tl::Index x) {
        auto a = b.shared(tl::f16, {m, bk}), w = b.shared(dtype, {32, bk});
        auto wide = v["how"] == 0 ? b.shared(tl::f16, {32, bk}) : b.fragment(tl::f16, {32, bk});
        auto acc = b.fragment(tl::f32, {m, 32});
        b.clear(acc);
        b.pipelined(tl::ceildiv(K, bk), tl::stages(stages), [&](tl::Index i) {
          b.copy(A(0, i * bk), a);
          b.copy(W(x * 32, i * bk), w);
          if (v["how"] == 0) b.parallel({32, bk}, [&](tl::Index r, tl::Index c) { wide(r, c) = tl::cast(tl::f16, w(r, c)); });
          if (v["how"] == 1) b.copy(w, wide);
          if (v["how"] == 2) b.gemm(a, w, acc, tl::trans_b);
          else b.gemm(a, wide, acc, tl::trans_b);
        });
        b.copy(acc, C(0, x * 32));
      });
    });
  for (int64_t k : kDepths) {
    if (!v["dynamic"] && k != v["K"]) continue;
    const int64_t stride = (k + group_of(dtype) - 1) / group_of(dtype) * group_of(dtype);
    const Reals a = whole(static_cast<size_t>(m * k), -3, 3, 1), w = codes(dtype, n, k, 2);
    Reals c(static_cast<size_t>(m * n), 0), sizes = c;
    for (int64_t i = 0; i < m * n; ++i)
      for (int64_t t = 0; t < k; ++t) {
        const Real x = a[static_cast<size_t>(i / n * k + t)] * rounded(tl::f16, w[static_cast<size_t>(i % n * stride + t)]);
        c[static_cast<size_t>(i)] += x, sizes[static_cast<size_t>(i)] += std::fabs(x);
      }
    s.launch(v["dynamic"] ? std::vector<int64_t>{k} : std::vector<int64_t>{})
        .input(tl::f16, a)
        .input(dtype, w)
        .output(tl::f32, dtype == tl::nf4 ? nearly(tl::f32, c, sizes, static_cast<Real>(k)) : exactly(c));
  }
  return s;
}

// 75. The tile's bytes are those of the tensor: read, turned over and written as bytes, then seen as elements, summed, filled in
// part and written from a fragment. And a tile of bytes whose elements are the smaller ones.
Scenario packed_views(const Values& v) {
  const int64_t rows = 16, columns = 32, bytes = columns * bits_of(v.dtype()) / 8;
  const tl::DType dtype = v.dtype(), wide = is_float(dtype) ? tl::f32 : tl::i32;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto X = b.input("X", dtype, {rows, columns}), B = b.output("B", tl::u8, {rows, bytes}), Y = b.output("Y", dtype, {rows, columns});
    auto sums = b.output("sums", wide, {rows}), Z = b.output("Z", dtype, {rows, columns}), F = b.output("F", wide, {rows, columns});
    b.grid({1}, [&](tl::Index) {
      auto t = b.shared(dtype, {rows, columns});
      auto octets = b.view(t, tl::u8), flat = b.reshape(t, {rows * columns});
      b.copy(X, t);
      b.copy(octets, B);
      b.parallel({rows, bytes}, [&](tl::Index i, tl::Index j) { octets(i, j) = octets(i, j) ^ 255; });
      b.copy(t, Y);
      auto r = b.fragment(wide, {rows}), f = b.fragment(wide, {rows, columns});
      b.reduce(tl::sum, t, r, 1);
      b.copy(r, sums);
      b.fill(t(2, 8).size({3, 8}), b.constant(dtype, 1));
      auto u = b.fragment(dtype, {columns});
      b.copy(flat(0).size({columns}), u);  // the first row becomes the last, too
      b.copy(u, t(rows - 1, 0).size({1, columns}));
      b.copy(t, Z);
      auto w = b.shared(tl::u8, {rows * bytes});
      b.copy(b.reshape(octets, {rows * bytes}), w);
      b.fill(t, b.constant(dtype, 1));  // from here on the bytes are those of w alone
      auto small = b.view(w, dtype, {rows, columns});
      b.parallel({rows, columns}, [&](tl::Index i, tl::Index j) { f(i, j) = tl::cast(wide, small(i, j)); });
      b.copy(f, F);
    });
  });
  const uint64_t mask = (uint64_t{1} << bits_of(dtype)) - 1;
  const Reals x = codes(dtype, rows, columns, 3);
  Reals octets(static_cast<size_t>(rows * bytes), 0), y, z, total(static_cast<size_t>(rows), 0), sizes = total;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const uint64_t code = encode(dtype, x[static_cast<size_t>(i)]) & mask;
    for (int bit = 0; bit < bits_of(dtype); ++bit) {
      const auto at = static_cast<size_t>(i * bits_of(dtype) + bit);
      octets[at / 8] += static_cast<Real>((code >> bit & 1) << at % 8);
    }
    y.push_back(decode(dtype, ~code & mask));
    total[static_cast<size_t>(i / columns)] += y.back(), sizes[static_cast<size_t>(i / columns)] += std::fabs(y.back());
  }
  z = y;
  for (int64_t i = 2; i < 5; ++i)
    for (int64_t j = 8; j < 16; ++j) z[static_cast<size_t>(i * columns + j)] = 1;
  for (int64_t j = 0; j < columns; ++j) z[static_cast<size_t>((rows - 1) * columns + j)] = z[static_cast<size_t>(j)];
  s.launch()
      .input(dtype, x)
      .output(tl::u8, exactly(octets))
      .output(dtype, exactly(y))
      .output(wide, dtype == tl::nf4 ? nearly(tl::f32, total, sizes, columns) : exactly(total))
      .output(dtype, exactly(z))
      .output(wide, exactly(z));
  return s;
}

// 75. What stands beyond a tensor whose rows end inside a tile: the safe value (0 where none is given), also in the second half of a byte; and bytes that
// come as such and are seen as smaller elements in a ring.
Scenario packed_edges(const Values& v) {
  const int64_t rows = 8, columns = v["columns"], tile = 64;
  const tl::DType dtype = v.dtype();
  const bool given = v["safe"] != 2;
  const Real safe = given ? static_cast<Real>(v["safe"]) : 0;
  Scenario s;
  for (uint32_t stages : {1u, 2u})
    s.program([&](tl::Builder& b) {
      auto X = b.input("X", dtype, {rows, columns});
      auto Q = b.input("Q", tl::u8, {rows, 3 * tile * bits_of(dtype) / 8});
      auto Y = b.output("Y", tl::f32, {rows, 2 * tile}), S = b.output("S", tl::f32, {rows, tile});
      b.grid({1}, [&](tl::Index) {
        auto t = b.shared(dtype, {rows, tile});
        auto u = b.fragment(tl::f32, {rows, tile}), sum = b.fragment(tl::f32, {rows, tile});
        b.pipelined(2, tl::stages(stages), [&](tl::Index i) {
          b.copy(X(0, i * tile), t, given ? tl::CopyOptions().safe(b.constant(dtype, v["safe"])) : tl::CopyOptions());
          b.copy(t, u);
          b.copy(u, Y(0, i * tile));
        });
        b.clear(sum);
        b.pipelined(3, tl::stages(stages), [&](tl::Index i) {
          auto q = b.shared(tl::u8, {rows, tile * bits_of(dtype) / 8});
          b.copy(Q(0, i * (tile * bits_of(dtype) / 8)), q);
          auto small = b.view(q, dtype);
          b.parallel({rows, tile}, [&](tl::Index r, tl::Index c) { sum(r, c) = sum(r, c) + tl::cast(tl::f32, small(r, c)); });
        });
        b.copy(sum, S);
      });
    });
  const int64_t stride = (columns + group_of(dtype) - 1) / group_of(dtype) * group_of(dtype);
  const Reals x = codes(dtype, rows, columns, 5), q = whole(static_cast<size_t>(rows * 3 * tile * bits_of(dtype) / 8), 0, 255, 6);
  Reals y, sums(static_cast<size_t>(rows * tile), 0), sizes = sums;
  for (int64_t i = 0; i < rows * 2 * tile; ++i)
    y.push_back(i % (2 * tile) < columns ? x[static_cast<size_t>(i / (2 * tile) * stride + i % (2 * tile))] : safe);
  for (int64_t i = 0; i < rows * 3 * tile; ++i) {
    uint64_t code = 0;
    for (int bit = 0; bit < bits_of(dtype); ++bit) {
      const auto at = static_cast<size_t>(i * bits_of(dtype) + bit);
      code |= (static_cast<uint64_t>(q[at / 8]) >> at % 8 & 1) << bit;
    }
    const auto to = static_cast<size_t>(i / (3 * tile) * tile + i % tile);
    sums[to] += decode(dtype, code), sizes[to] += std::fabs(decode(dtype, code));
  }
  s.launch().input(dtype, x).input(tl::u8, q).output(tl::f32, exactly(y)).output(tl::f32, dtype == tl::nf4 ? nearly(tl::f32, sums, sizes, 3) : exactly(sums));
  return s;
}

// 75. Single elements are stored in a tile whose bytes nobody asks for.
Scenario element_writes(const Values& v) {
  const int64_t rows = 16, columns = 40;
  const tl::DType dtype = v.dtype();
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto X = b.input("X", dtype, {rows, columns}), Y = b.output("Y", dtype, {rows, columns});
    b.grid({1}, [&](tl::Index) {
      auto t = b.shared(dtype, {rows, columns}), u = b.shared(dtype, {columns, rows});
      b.copy(X, t);
      b.parallel({rows, columns}, [&](tl::Index i, tl::Index j) { u(j, i) = t(i, j); });  // turned: neighbours come from other threads
      b.parallel({rows, columns}, [&](tl::Index i, tl::Index j) { t(i, j) = tl::select((i + j) % 3 == 0, b.constant(dtype, 1), u(j, i)); });
      b.copy(t, Y);
    });
  });
  const Reals x = codes(dtype, rows, columns, 4);
  Reals y = x;
  for (int64_t i = 0; i < rows * columns; ++i)
    if ((i / columns + i % columns) % 3 == 0) y[static_cast<size_t>(i)] = 1;
  s.launch().input(dtype, x).output(dtype, exactly(y));
  return s;
}

// 75. In a tile that is seen as bytes a write takes whole bytes, whichever came first, the view or the write.
Scenario parts_of_tile_bytes(const Values& v) {
  const tl::DType dtype = v.dtype();
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto Y = b.output("Y", tl::u8, {4, 8 * bits_of(dtype) / 8});
    b.grid({1}, [&](tl::Index block) {
      auto t = b.shared(dtype, {4, v["how"] == 4 ? 9 : 8});
      auto u = b.fragment(dtype, {4, 3});
      b.fill(t, b.constant(dtype, 1));
      b.clear(u);
      if (v["how"] == 1) b.parallel({4, 8}, [&](tl::Index i, tl::Index j) { t(i, j) = b.constant(dtype, 1); });
      auto bytes = b.view(t, tl::u8);
      if (v["how"] == 0) t(block, 0) = b.constant(dtype, 1);
      if (v["how"] == 2) b.copy(u, t(0, 0).size({4, 3}));
      if (v["how"] == 3) b.copy(u(0, 0).size({4, 2}), t(0, 1).size({4, 2}));
      b.copy(bytes, Y);
    });
  });
  static const char* const kWords[] = {"share bytes", "share bytes", "fill whole bytes", "fill whole bytes", "whole"};
  s.refused = {v["how"] < 2 ? "copy" : "byte", kWords[v["how"]]};
  return s;
}

}  // namespace

void add_packed_tile_cases(std::vector<Case>& to) {
  const Axis small = dtypes({tl::i4, tl::u4, tl::e2m1, tl::nf4, tl::e2m3, tl::e3m2});
  to.push_back({"75", "packed_weights", {{"K", {256, 232, 228, 225}}, {"how", {0, 1, 2}}, {"dynamic", {0, 1}}, small}, packed_weights});
  to.push_back({"75", "packed_views", {small}, packed_views});
  to.push_back({"75", "packed_edges", {{"columns", {128, 100, 97, 34}}, {"safe", {0, 1, 2}}, dtypes({tl::i4, tl::u4, tl::e2m1, tl::nf4, tl::e3m2})}, packed_edges});
  to.push_back({"75", "element_writes", {dtypes({tl::i4, tl::e2m1, tl::e2m3})}, element_writes});
  to.push_back({"75", "parts_of_tile_bytes", {{"how", {0, 1, 2, 3, 4}}, dtypes({tl::i4, tl::e2m3})}, parts_of_tile_bytes});
}

}  // namespace tilert::conformance
