// Case 40, sparse products: A keeps two of each four elements along K, and metadata says which.
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

struct Product {
  int64_t m, n, k;
  bool trans_b;
};

bool sums_in_i32(tl::DType dtype) { return !is_float(dtype); }
tl::DType sum_of(tl::DType dtype) { return dtype == tl::f64 ? tl::f64 : sums_in_i32(dtype) ? tl::i32 : tl::f32; }

// A sparse operand of which two elements of each four are given.
struct Sparse {
  Reals kept, metadata;  // [m, k / 2], [m, k / the bits of an element]
  Reals dense;           // [m, k]
};

// Places of all kinds; `halves`: one in each two.
Sparse sparse_of(const Reals& kept, int64_t m, int64_t k, tl::DType metadata, bool halves, uint64_t seed) {
  const int64_t bits = bits_of(metadata), columns = (k + bits - 1) / bits;
  Sparse s{kept, Reals(static_cast<size_t>(m * columns)), Reals(static_cast<size_t>(m * k))};
  static constexpr int kPairs[] = {4, 8, 9, 12, 13, 14}, kHalves[] = {8, 9, 12, 13};
  const Reals choices = whole(static_cast<size_t>(m * (k / 4)), 0, halves ? 3 : 5, seed);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t q = 0; q < k / 4; ++q) {
      const auto choice = static_cast<size_t>(choices[static_cast<size_t>(i * (k / 4) + q)]);
      const int places = halves ? kHalves[choice] : kPairs[choice];
      Real& word = s.metadata[static_cast<size_t>(i * columns + 4 * q / bits)];
      word += std::ldexp(static_cast<Real>(places), static_cast<int>(4 * q % bits));
      s.dense[static_cast<size_t>(i * k + 4 * q + places % 4)] = kept[static_cast<size_t>(i * k / 2 + 2 * q)];
      s.dense[static_cast<size_t>(i * k + 4 * q + places / 4)] = kept[static_cast<size_t>(i * k / 2 + 2 * q + 1)];
    }
  return s;
}

void multiply(const Product& p, const Reals& a, const Reals& b, Reals& c, Reals& sizes) {
  c.assign(static_cast<size_t>(p.m * p.n), 0), sizes.assign(static_cast<size_t>(p.m * p.n), 0);
  for (int64_t k = 0; k < p.k; ++k)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        const Real x = a[static_cast<size_t>(i * p.k + k)] * b[static_cast<size_t>(p.trans_b ? j * p.k + k : k * p.n + j)];
        c[static_cast<size_t>(i * p.n + j)] += x, sizes[static_cast<size_t>(i * p.n + j)] += std::fabs(x);
      }
}

Reals values(tl::DType dtype, int64_t count, uint64_t seed) {
  const int64_t low = is_unsigned(dtype) ? 0 : dtype == tl::i8 ? -128 : -3, high = is_float(dtype) ? 3 : dtype == tl::i8 ? 127 : 7;
  return whole(static_cast<size_t>(count), low, high, seed);
}

tl::GemmFlag flags_of(const Product& p) { return p.trans_b ? tl::trans_b : tl::GemmFlag{}; }

// One block, one product; where A and its metadata stand: 0 shared, 1 A a fragment, 2 the metadata, 3 both.
Scenario one_block(const Product& p, tl::DType dtype, tl::DType places, int64_t where, bool random, bool tf32) {
  const tl::DType out = sum_of(dtype);
  const int64_t columns = (p.k + bits_of(places) - 1) / bits_of(places);
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", dtype, {p.m, p.k / 2}), P = b.input("P", places, {p.m, columns});
    auto B = p.trans_b ? b.input("B", dtype, {p.n, p.k}) : b.input("B", dtype, {p.k, p.n});
    auto C = b.output("C", out, {p.m, p.n});
    b.grid({1}, [&](tl::Index) {
      auto a = where % 2 ? b.fragment(dtype, {p.m, p.k / 2}) : b.shared(dtype, {p.m, p.k / 2});
      auto w = p.trans_b ? b.shared(dtype, {p.n, p.k}) : b.shared(dtype, {p.k, p.n});
      auto e = where / 2 ? b.fragment(places, {p.m, columns}) : b.shared(places, {p.m, columns});
      auto acc = b.fragment(out, {p.m, p.n});
      b.copy(A, a);
      b.copy(B, w);
      b.copy(P, e);
      b.clear(acc);
      b.gemm(a, w, acc, tl::sparse(e) | flags_of(p) | (tf32 ? tl::tf32 : tl::GemmFlag{}));
      b.copy(acc, C);
    });
  });
  const Reals kept = random ? uniform(dtype, static_cast<size_t>(p.m * p.k / 2), 1) : values(dtype, p.m * p.k / 2, 1);
  const Reals w = random ? uniform(dtype, static_cast<size_t>(p.k * p.n), 2) : values(dtype, p.k * p.n, 2);
  const Sparse a = sparse_of(kept, p.m, p.k, places, tf32, 3);
  Reals c, sizes;
  multiply(p, a.dense, w, c, sizes);
  s.launch().input(dtype, a.kept).input(places, a.metadata).input(dtype, w).output(out, random ? nearly(out, c, sizes, static_cast<Real>(p.k)) : exactly(c));
  return s;
}

constexpr tl::DType kPlaces[] = {tl::u8, tl::u16, tl::u32};

Scenario sizes(const Values& v) {
  return one_block({v["M"], v["N"], v["K"], v["trans_b"] == 1}, v.dtype(), kPlaces[v["places"]], v["where"], v["random"] == 1, false);
}
Scenario in_tf32(const Values& v) { return one_block({v["M"], v["N"], v["K"], v["trans_b"] == 1}, tl::f32, kPlaces[v["places"]], v["where"], false, true); }

// Whole matrices over a grid, in a pipelined loop; sizes that end inside tiles, and K inside of what an element of metadata speaks of.
Scenario over_a_grid(const Values& v) {
  const bool trans_b = v["trans_b"] == 1;
  const tl::DType dtype = v.dtype(), out = sum_of(dtype), places = kPlaces[v["places"]];
  const int64_t bm = 64, bn = 64, bk = v["block_k"], bits = bits_of(places);
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto M = b.dim("M"), N = b.dim("N"), K = b.dim("K"), H = b.dim("H"), W = b.dim("W");
    auto A = b.input("A", dtype, {M, H}), P = b.input("P", places, {M, W});
    auto B = trans_b ? b.input("B", dtype, {N, K}) : b.input("B", dtype, {K, N});
    auto C = b.output("C", out, {M, N});
    b.grid({tl::ceildiv(N, bn), tl::ceildiv(M, bm)}, [&](tl::Index x, tl::Index y) {
      auto a = b.shared(dtype, {bm, bk / 2});
      auto w = trans_b ? b.shared(dtype, {bn, bk}) : b.shared(dtype, {bk, bn});
      auto e = b.shared(places, {bm, bk / bits});
      auto acc = b.fragment(out, {bm, bn});
      b.pipelined(tl::ceildiv(K, bk), tl::stages(static_cast<uint32_t>(v["stages"])), [&](tl::Index k) {
        b.copy(A(y * bm, k * (bk / 2)), a);
        b.copy(P(y * bm, k * (bk / bits)), e);
        if (trans_b) b.copy(B(x * bn, k * bk), w);
        else b.copy(B(k * bk, x * bn), w);
        b.gemm(a, w, acc, (tl::sparse(e) | (trans_b ? tl::trans_b : tl::GemmFlag{})).accumulate_if(k != 0));
      });
      b.copy(acc, C(y * bm, x * bn));
    });
  });
  for (const Product& q : {Product{70, 72, 400, trans_b}, Product{64, 64, 256, trans_b}, Product{37, 71, 100, trans_b}}) {
    const Reals kept = values(dtype, q.m * q.k / 2, 1), w = values(dtype, q.k * q.n, 2);
    const Sparse a = sparse_of(kept, q.m, q.k, places, false, 3);
    Reals c, magnitudes;
    multiply(q, a.dense, w, c, magnitudes);
    s.launch({q.m, q.n, q.k, q.k / 2, (q.k + bits - 1) / bits}).input(dtype, a.kept).input(places, a.metadata).input(dtype, w).output(out, exactly(c));
  }
  return s;
}

// What is no sparse product is refused by name.
Scenario refused(const Values& v) {
  Scenario s;
  const int64_t of = v["of"];
  static const std::vector<std::vector<std::string>> words = {{"i8", "uint8, uint16 or uint32"}, {"8 x 8", "8 x 4 in u8"}, {"two of each four"}, {"transposed", "trans_a"},
                                                              {"the metadata", "copy it to a tile first"}, {"8 x 64 (sparse)", "32 x 16"}};
  s.program([&](tl::Builder& b) {
    auto P = b.input("P", tl::u8, {8, 4});
    b.grid({1}, [&](tl::Index) {
      auto a = of == 2 ? b.shared(tl::f16, {8, 15}) : of == 3 ? b.shared(tl::f16, {16, 8}) : of == 5 ? b.shared(tl::f16, {8, 32}) : b.shared(tl::f16, {8, 16});
      auto w = of == 2 ? b.shared(tl::f16, {30, 16}) : b.shared(tl::f16, {32, 16});
      auto e = of == 0 ? b.shared(tl::i8, {8, 4}) : of == 1 || of == 5 ? b.shared(tl::u8, {8, 8}) : b.shared(tl::u8, {8, 4});
      auto acc = b.fragment(tl::f32, {8, 16});
      b.clear(a), b.clear(w), b.clear(e), b.clear(acc);
      b.gemm(a, w, acc, tl::sparse(of == 4 ? P : e) | (of == 3 ? tl::trans_a : tl::GemmFlag{}));
    });
  });
  s.refused = words[static_cast<size_t>(of)];
  return s;
}

}  // namespace

void add_sparse_cases(std::vector<Case>& to) {
  const Axis trans{"trans_b", {0, 1}}, places{"places", {0, 1, 2}}, where{"where", {0, 1, 2, 3}};
  to.push_back({"40", "sparse_sizes",
                {{"M", {16, 64, 17, 40, 96}}, {"N", {64, 8, 24}}, {"K", {64, 128, 4, 20, 100, 96}}, trans, places, where, {"random", {0, 1}}, dtypes({tl::f16, tl::bf16})}, sizes});
  to.push_back({"40", "sparse_int8", {{"M", {64, 17}}, {"N", {64, 8}}, {"K", {64, 256, 20, 100}}, trans, places, where, {"random", {0}}, dtypes({tl::i8})}, sizes});
  to.push_back({"40", "sparse_tf32", {{"M", {64, 17}}, {"N", {64, 8}}, {"K", {32, 64, 20}}, trans, places, where}, in_tf32});
  to.push_back({"40", "sparse_of_other_types",
                {{"M", {32, 17}}, {"N", {24}}, {"K", {64, 20}}, trans, places, {"where", {0, 3}}, {"random", {0}},
                 dtypes({tl::f32, tl::f64, tl::u8, tl::i16, tl::i4, tl::e4m3, tl::e5m2, tl::e2m1})}, sizes});
  to.push_back({"40", "sparse_over_a_grid", {{"block_k", {64, 128}}, trans, places, {"stages", {3, 1}}, dtypes({tl::f16, tl::bf16, tl::i8, tl::e4m3})}, over_a_grid});
  to.push_back({"40", "sparse_refused", {{"of", {0, 1, 2, 3, 4, 5}}}, refused});
}

}  // namespace tilert::conformance
