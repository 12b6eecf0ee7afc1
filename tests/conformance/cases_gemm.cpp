// Cases 36, 37, 39 and 40: products of every size, transposition, element type, number of warps and split.
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

struct Product {
  int64_t m, n, k;
  bool trans_a, trans_b;
};

tl::GemmFlag flags_of(const Product& p, bool overwrite) {
  tl::GemmFlag flags{};
  if (p.trans_a) flags = flags | tl::trans_a;
  if (p.trans_b) flags = flags | tl::trans_b;
  if (overwrite) flags = flags | tl::overwrite;
  return flags;
}

// What the product gives, and the sum of its terms' magnitudes.
void multiply(const Product& p, const Reals& a, const Reals& b, Reals& c, Reals& sizes) {
  c.assign(p.m * p.n, 0), sizes.assign(p.m * p.n, 0);
  for (int64_t k = 0; k < p.k; ++k)
    for (int64_t i = 0; i < p.m; ++i) {
      const Real x = p.trans_a ? a[k * p.m + i] : a[i * p.k + k];
      for (int64_t j = 0; j < p.n; ++j) {
        const Real y = p.trans_b ? b[j * p.k + k] : b[k * p.n + j];
        c[i * p.n + j] += x * y, sizes[i * p.n + j] += std::fabs(x * y);
      }
    }
}

tl::DType sum_of(tl::DType dtype) { return dtype == tl::f64 ? tl::f64 : is_float(dtype) ? tl::f32 : tl::i32; }

// One block, one product of whole matrices of `dtype`, staged through shared tiles.
Scenario one_block(const Product& p, tl::DType dtype, bool random, int64_t threads, tilert_warp_split split) {
  const tl::DType out = sum_of(dtype);
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = p.trans_a ? b.input("A", dtype, {p.k, p.m}) : b.input("A", dtype, {p.m, p.k});
    auto B = p.trans_b ? b.input("B", dtype, {p.n, p.k}) : b.input("B", dtype, {p.k, p.n});
    auto C = b.output("C", out, {p.m, p.n});
    b.grid({1}, threads ? tl::threads(threads) : tl::Hints(), [&](tl::Index) {
      auto a = p.trans_a ? b.shared(dtype, {p.k, p.m}) : b.shared(dtype, {p.m, p.k});
      auto w = p.trans_b ? b.shared(dtype, {p.n, p.k}) : b.shared(dtype, {p.k, p.n});
      auto acc = b.fragment(out, {p.m, p.n});
      b.copy(A, a);
      b.copy(B, w);
      b.clear(acc);
      b.gemm(a, w, acc, tl::GemmOptions(flags_of(p, false)).warps(split));
      b.copy(acc, C);
    });
  });
  // Integers over the range that a byte holds.
  const int64_t low = is_float(dtype) ? -3 : is_unsigned(dtype) ? 0 : -128, high = is_float(dtype) ? 3 : low + 255;
  const Reals a = random ? uniform(dtype, p.m * p.k, 1) : whole(p.m * p.k, low, high, 1);
  const Reals w = random ? uniform(dtype, p.k * p.n, 2) : whole(p.k * p.n, low, high, 2);
  Reals c, sizes;
  multiply(p, a, w, c, sizes);
  s.launch().input(dtype, a).input(dtype, w).output(out, random ? nearly(out, c, sizes, static_cast<Real>(p.k)) : exactly(c));
  return s;
}

// 40. f32 products in tf32: operands rounded half to even to ten bits of mantissa; integers that those hold are exact.
Scenario in_tf32(const Values& v) {
  const Product p = {v["M"], v["N"], v["K"], v["trans"] % 2 == 1, v["trans"] / 2 == 1};
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = p.trans_a ? b.input("A", tl::f32, {p.k, p.m}) : b.input("A", tl::f32, {p.m, p.k});
    auto B = p.trans_b ? b.input("B", tl::f32, {p.n, p.k}) : b.input("B", tl::f32, {p.k, p.n});
    auto C = b.output("C", tl::f32, {p.m, p.n});
    b.grid({1}, [&](tl::Index) {
      auto a = p.trans_a ? b.shared(tl::f32, {p.k, p.m}) : b.shared(tl::f32, {p.m, p.k});
      auto w = p.trans_b ? b.shared(tl::f32, {p.n, p.k}) : b.shared(tl::f32, {p.k, p.n});
      auto acc = b.fragment(tl::f32, {p.m, p.n});
      b.copy(A, a);
      b.copy(B, w);
      b.gemm(a, w, acc, flags_of(p, true) | tl::tf32);
      b.copy(acc, C);
    });
  });
  // 4097 = 2^12 + 1 and 4098 lie in the middle and above it between 4096 and 4100 of ten bits: sums of integers stay exact.
  const auto ten_bits = [](Real x) {
    const Real step = x == 0 ? Real{1} : std::ldexp(Real{1}, std::ilogb(x) - 10);
    return std::nearbyint(x / step) * step;
  };
  Reals a = v["random"] ? uniform(tl::f32, p.m * p.k, 1) : whole(p.m * p.k, -4103, 4103, 1), w = whole(p.k * p.n, -3, 3, 2), rounded_a;
  for (Real x : a) rounded_a.push_back(ten_bits(x));
  Reals c, magnitudes;
  multiply(p, rounded_a, w, c, magnitudes);
  s.launch().input(tl::f32, a).input(tl::f32, w).output(tl::f32, v["random"] ? nearly(tl::f32, c, magnitudes, static_cast<Real>(p.k)) : exactly(c));
  return s;
}

// 36. Sizes of the product, most of them no multiple of any instruction.
Scenario sizes(const Values& v) {
  const Product p = {v["M"], v["N"], v["K"], v["trans"] % 2 == 1, v["trans"] / 2 == 1};
  return one_block(p, v.dtype(), v["random"] == 1, 0, TILERT_SPLIT_AUTO);
}

// 37. Numbers of warps and ways to share the product among them.
Scenario warps(const Values& v) {
  const Product p = {v["M"], v["N"], 32, false, true};
  return one_block(p, v.dtype(), false, v["warps"] * 32, static_cast<tilert_warp_split>(v["split"]));
}

// 36, 40. Whole matrices over a grid, in a pipelined loop whose ring goes round more than once with K 520; also of sizes
// for which the variants of whole 16 bytes run, and the others.
Scenario over_a_grid(const Values& v) {
  const Product p = {150, 136, v["K"], v["trans"] % 2 == 1, v["trans"] / 2 == 1};
  const tl::DType dtype = v.dtype(), out = sum_of(dtype);
  const int64_t bm = 128, bn = 64, bk = v["block_k"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto M = b.dim("M"), N = b.dim("N"), K = b.dim("K");
    auto A = p.trans_a ? b.input("A", dtype, {K, M}) : b.input("A", dtype, {M, K});
    auto B = p.trans_b ? b.input("B", dtype, {N, K}) : b.input("B", dtype, {K, N});
    auto C = b.output("C", out, {M, N});
    b.grid({tl::ceildiv(N, bn), tl::ceildiv(M, bm)}, [&](tl::Index x, tl::Index y) {
      auto a = p.trans_a ? b.shared(dtype, {bk, bm}) : b.shared(dtype, {bm, bk});
      auto w = p.trans_b ? b.shared(dtype, {bn, bk}) : b.shared(dtype, {bk, bn});
      auto acc = b.fragment(out, {bm, bn});
      b.clear(acc);
      b.pipelined(tl::ceildiv(K, bk), tl::stages(3), [&](tl::Index k) {
        if (p.trans_a) b.copy(A(k * bk, y * bm), a);
        else b.copy(A(y * bm, k * bk), a);
        if (p.trans_b) b.copy(B(x * bn, k * bk), w);
        else b.copy(B(k * bk, x * bn), w);
        b.gemm(a, w, acc, flags_of(p, false));
      });
      b.copy(acc, C(y * bm, x * bn));
    });
  });
  for (const Product& q : {p, Product{160, 80, 272, p.trans_a, p.trans_b}, Product{37, 71, 203, p.trans_a, p.trans_b}}) {
    const int64_t low = is_unsigned(dtype) ? 0 : -3;
    const Reals a = whole(q.m * q.k, low, 3, 1), w = whole(q.k * q.n, low, 3, 2);
    Reals c, magnitudes;
    multiply(q, a, w, c, magnitudes);
    s.launch({q.m, q.n, q.k}).input(dtype, a).input(dtype, w).output(out, exactly(c));
  }
  return s;
}

// 36. Tiles whose columns start anywhere in rows that start on 16 bytes: engines that copy whole chunks must not be asked to.
Scenario columns_between_chunks(const Values& v) {
  const Product p = {128, 128, 256, false, true};
  const int64_t first = v["first"], width = p.k + 16;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", v.dtype(), {p.m, width}), B = b.input("B", v.dtype(), {p.n, width}), C = b.output("C", v.dtype(), {p.m, p.n});
    b.grid({1}, [&](tl::Index) {
      auto a = b.shared(v.dtype(), {p.m, 64}), w = b.shared(v.dtype(), {p.n, 64});
      auto acc = b.fragment(tl::f32, {p.m, p.n});
      b.clear(acc);
      b.pipelined(p.k / 64, tl::stages(3), [&](tl::Index k) {
        b.copy(A(0, k * 64 + first), a);
        b.copy(B(0, k * 64 + first), w);
        b.gemm(a, w, acc, tl::trans_b);
      });
      b.copy(acc, C);
    });
  });
  const Reals x = whole(p.m * width, -1, 1, 1), y = whole(p.n * width, -1, 1, 2);
  Reals c(static_cast<size_t>(p.m * p.n), 0);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j)
      for (int64_t k = first; k < first + p.k; ++k) c[static_cast<size_t>(i * p.n + j)] += x[static_cast<size_t>(i * width + k)] * y[static_cast<size_t>(j * width + k)];
  s.launch().input(v.dtype(), x).input(v.dtype(), y).output(v.dtype(), exactly(c));
  return s;
}

// 36. A result whose rows end between 16 bytes of longer ones: what lies behind them stays.
Scenario rows_that_end_between_chunks(const Values& v) {
  const Product p = {128, v["N"], 320, false, true};  // more tiles than stages
  const int64_t stride = 136;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", v.dtype(), {p.m, p.k}), B = b.input("B", v.dtype(), {p.n, p.k});
    auto C = b.output("C", v.dtype(), {p.m, p.n}, tl::TensorOptions().strides({stride, 1}));
    b.grid({1}, [&](tl::Index) {
      auto a = b.shared(v.dtype(), {p.m, 64}), w = b.shared(v.dtype(), {128, 64});
      auto acc = b.fragment(tl::f32, {p.m, 128});
      b.clear(acc);
      b.pipelined(p.k / 64, tl::stages(2), [&](tl::Index k) {
        b.copy(A(0, k * 64), a);
        b.copy(B(0, k * 64), w);
        b.gemm(a, w, acc, tl::trans_b);
      });
      b.copy(acc, C(0, 0));
    });
  });
  const Reals a = whole(p.m * p.k, -1, 1, 1), w = whole(p.k * p.n, -1, 1, 2);
  Reals c, magnitudes;
  multiply(p, a, w, c, magnitudes);
  std::vector<Want> want = untouched(p.m * stride);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) want[static_cast<size_t>(i * stride + j)] = {c[static_cast<size_t>(i * p.n + j)], 0, false};
  Launch& launch = s.launch();
  launch.input(v.dtype(), a).input(v.dtype(), w);
  launch.output(v.dtype(), want).placed({p.m, p.n}, {stride, 1});
  return s;
}

// 39. Overwriting in the first trip only: by a flag, and by the expression k != 0.
Scenario first_trip_overwrites(const Values& v) {
  const Product p = {64, 64, 96, false, true};
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto T = b.dim("T");
    auto A = b.input("A", tl::bf16, {p.m, p.k}), B = b.input("B", tl::bf16, {p.n, p.k}), C = b.output("C", tl::f32, {p.m, p.n});
    b.grid({1}, [&](tl::Index) {
      auto a = b.shared(tl::bf16, {p.m, 32}), w = b.shared(tl::bf16, {p.n, 32});
      auto acc = b.fragment(tl::f32, {p.m, p.n});
      b.fill(acc, v["nan"] ? NAN : 1e30);
      const auto body = [&](tl::Index k) {
        b.copy(A(0, k * 32), a);
        b.copy(B(0, k * 32), w);
        b.gemm(a, w, acc, tl::GemmOptions(tl::trans_b).accumulate_if(k != 0));
      };
      if (v["pipelined"]) b.pipelined(T, tl::stages(2), body);
      else b.serial(T, body);
      b.copy(acc, C);
    });
  });
  const Reals a = whole(p.m * p.k, -3, 3, 1), w = whole(p.n * p.k, -3, 3, 2);
  Reals c, magnitudes;
  multiply(p, a, w, c, magnitudes);
  s.launch({3}).input(tl::bf16, a).input(tl::bf16, w).output(tl::f32, exactly(c));
  return s;
}

// 39. Two products that share one tile, once transposed: x · w and x · wᵀ.
Scenario shared_tile(const Values& v) {
  const tl::DType dtype = v.dtype();
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto X = b.input("X", dtype, {64, 64}), W = b.input("W", dtype, {64, 64});
    auto P = b.output("P", tl::f32, {64, 64}), Q = b.output("Q", tl::f32, {64, 64});
    b.grid({1}, [&](tl::Index) {
      auto x = b.shared(dtype, {64, 64}), w = b.shared(dtype, {64, 64});
      auto p = b.fragment(tl::f32, {64, 64}), q = b.fragment(tl::f32, {64, 64});
      b.copy(X, x);
      b.copy(W, w);
      b.gemm(x, w, p, tl::overwrite);
      b.gemm(x, w, q, tl::trans_b | tl::overwrite);
      b.copy(p, P);
      b.copy(q, Q);
    });
  });
  const Reals x = whole(4096, -3, 3, 1), w = whole(4096, -3, 3, 2);
  Reals p, q, magnitudes;
  multiply({64, 64, 64, false, false}, x, w, p, magnitudes);
  multiply({64, 64, 64, false, true}, x, w, q, magnitudes);
  s.launch().input(dtype, x).input(dtype, w).output(tl::f32, exactly(p)).output(tl::f32, exactly(q));
  return s;
}

struct OperandTypes {
  tl::DType a, b;
};
constexpr OperandTypes kMixed[] = {{tl::i8, tl::f16}, {tl::f16, tl::i8}, {tl::i8, tl::bf16},   {tl::bf16, tl::i8},
                                   {tl::i8, tl::f32}, {tl::f32, tl::i8}, {tl::f32, tl::bf16},  {tl::f16, tl::f32},
                                   {tl::f16, tl::bf16}, {tl::bf16, tl::f16}};
// Types of 8 bits and less are cast to the other's, or to f16; the sum of integers is int32.
constexpr OperandTypes kNarrow[] = {{tl::e4m3, tl::e4m3}, {tl::e4m3, tl::e5m2}, {tl::e4m3, tl::f16}, {tl::bf16, tl::e5m2},
                                    {tl::e2m1, tl::f32},  {tl::e2m3, tl::e2m1}, {tl::i4, tl::f16},   {tl::i4, tl::i8},
                                    {tl::u4, tl::i4},     {tl::u8, tl::i8},     {tl::u4, tl::e4m3fnuz}};

// 40. Operands of two types: an integer becomes the float, a wider float the narrower one. The floats are odd halves, which
// no integer type holds.
Scenario two_types(const Values& v) {
  const Product p = {v["M"], 32, 48, v["trans"] % 2 == 1, v["trans"] / 2 == 1};
  const OperandTypes types = kMixed[v["types"]];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = p.trans_a ? b.input("A", types.a, {p.k, p.m}) : b.input("A", types.a, {p.m, p.k});
    auto B = p.trans_b ? b.input("B", types.b, {p.n, p.k}) : b.input("B", types.b, {p.k, p.n});
    auto C = b.output("C", tl::f32, {p.m, p.n});
    b.grid({1}, [&](tl::Index) {
      auto a = p.trans_a ? b.shared(types.a, {p.k, p.m}) : b.shared(types.a, {p.m, p.k});
      auto w = p.trans_b ? b.shared(types.b, {p.n, p.k}) : b.shared(types.b, {p.k, p.n});
      auto acc = b.fragment(tl::f32, {p.m, p.n});
      b.copy(A, a);
      b.copy(B, w);
      b.clear(acc);
      b.gemm(a, w, acc, flags_of(p, false));
      b.copy(acc, C);
    });
  });
  const auto values = [](tl::DType dtype, int64_t count, int seed) {
    Reals x = whole(count, -3, 3, seed);
    for (Real& e : x) e = dtype == tl::i8 ? e : e + Real(0.5);
    return x;
  };
  const Reals a = values(types.a, p.m * p.k, 1), w = values(types.b, p.k * p.n, 2);
  Reals c, magnitudes;
  multiply(p, a, w, c, magnitudes);
  s.launch().input(types.a, a).input(types.b, w).output(tl::f32, exactly(c));
  return s;
}

// 40. Operands of 8 bits and less, whose values are small halves or integers: exact in every product.
Scenario narrow_types(const Values& v) {
  const Product p = {v["M"], 32, 48, v["trans"] % 2 == 1, v["trans"] / 2 == 1};
  const OperandTypes types = kNarrow[v["types"]];
  const tl::DType out = is_float(types.a) || is_float(types.b) ? tl::f32 : tl::i32;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = p.trans_a ? b.input("A", types.a, {p.k, p.m}) : b.input("A", types.a, {p.m, p.k});
    auto B = p.trans_b ? b.input("B", types.b, {p.n, p.k}) : b.input("B", types.b, {p.k, p.n});
    auto C = b.output("C", out, {p.m, p.n});
    b.grid({1}, [&](tl::Index) {
      auto a = p.trans_a ? b.shared(types.a, {p.k, p.m}) : b.shared(types.a, {p.m, p.k});
      auto w = p.trans_b ? b.shared(types.b, {p.n, p.k}) : b.shared(types.b, {p.k, p.n});
      auto acc = b.fragment(out, {p.m, p.n});
      b.copy(A, a);
      b.copy(B, w);
      b.clear(acc);
      b.gemm(a, w, acc, flags_of(p, false));
      b.copy(acc, C);
    });
  });
  const auto values = [](tl::DType dtype, int64_t count, int seed) {
    Reals x = whole(count, is_unsigned(dtype) ? 0 : -3, 3, seed);
    for (Real& e : x) e = is_float(dtype) ? e / 2 : e;
    return x;
  };
  const Reals a = values(types.a, p.m * p.k, 1), w = values(types.b, p.k * p.n, 2);
  Reals c, magnitudes;
  multiply(p, a, w, c, magnitudes);
  s.launch().input(types.a, a).input(types.b, w).output(out, exactly(c));
  return s;
}

}  // namespace

void add_gemm_cases(std::vector<Case>& to) {
  const Axis trans{"trans", {0, 1, 2, 3}};
  const Axis edges{"M", {1, 8, 16, 24, 40, 48, 56, 64, 72, 96, 128}};
  Axis columns = edges;
  columns.name = "N";
  columns.values.insert(columns.values.end(), {192, 256});
  to.push_back({"36", "blocks_of_128", {{"M", {128}}, {"N", {128}}, {"K", {16, 32, 64}}, trans, {"random", {0, 1}}, dtypes({tl::f16, tl::bf16})}, sizes});
  to.push_back({"36", "sizes", {edges, columns, {"K", {16, 24, 40, 8, 1}}, trans, {"random", {0, 1}}, dtypes({tl::f16})}, sizes});
  to.push_back({"36", "tall", {{"M", {192, 256}}, {"N", {64, 128}}, {"K", {32}}, {"trans", {0, 2}}, {"random", {1}}, dtypes({tl::f16})}, sizes});
  to.push_back({"36", "over_a_grid", {{"K", {64, 520, 1, 200}}, trans, {"block_k", {32, 64}}, dtypes({tl::f16, tl::bf16, tl::i8})}, over_a_grid});
  to.push_back({"36", "columns_between_chunks", {{"first", {0, 8, 4, 1}}, dtypes({tl::f16, tl::bf16})}, columns_between_chunks});
  to.push_back({"36", "rows_that_end_between_chunks", {{"N", {128, 120, 100, 99}}, dtypes({tl::bf16})}, rows_that_end_between_chunks});
  to.push_back({"37", "warps_and_splits",
                {{"warps", {1, 2, 4, 8}}, {"split", {0, 1, 2, 3}}, {"M", {16, 64, 128}}, {"N", {16, 64, 128}}, dtypes({tl::f16, tl::i8})}, warps});
  to.push_back({"39", "the_first_trip_overwrites", {{"pipelined", {0, 1}}, {"nan", {0, 1}}}, first_trip_overwrites});
  to.push_back({"39", "two_products_share_a_tile", {dtypes({tl::f16, tl::bf16})}, shared_tile});
  to.push_back({"40", "int8_over_its_range", {{"M", {64, 128}}, {"N", {8, 64}}, {"K", {32, 64, 40}}, trans, {"random", {0}}, dtypes({tl::i8})}, sizes});
  to.push_back({"40", "operands_of_two_types", {{"types", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}, trans, {"M", {16, 40, 64}}}, two_types});
  to.push_back({"40", "f64", {{"M", {64, 17}}, {"N", {8, 64}}, {"K", {32, 41}}, trans, {"random", {0, 1}}, dtypes({tl::f64})}, sizes});
  to.push_back({"40", "f64_over_a_grid", {{"K", {72, 1}}, {"trans", {0, 3}}, {"block_k", {32}}, dtypes({tl::f64, tl::u8})}, over_a_grid});
  to.push_back({"40", "tf32", {{"M", {64, 17}}, {"N", {8, 64}}, {"K", {32, 41}}, trans, {"random", {0, 1}}}, in_tf32});
  to.push_back({"40", "integers", {{"M", {64, 17}}, {"N", {8, 64}}, {"K", {32}}, {"trans", {0, 3}}, {"random", {0}}, dtypes({tl::u8, tl::i16, tl::u16, tl::i32})}, sizes});
  to.push_back({"40", "operands_of_8_bits_and_less", {{"types", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}, trans, {"M", {16, 40, 64}}}, narrow_types});
  to.push_back({"40", "bf16", {{"M", {64, 17}}, {"N", {8, 64}}, {"K", {32, 40}}, trans, {"random", {0, 1}}, dtypes({tl::bf16})}, sizes});
}

}  // namespace tilert::conformance
