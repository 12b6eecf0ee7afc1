// Cases 38 and 41: where a product's operands come from: shared tiles, fragments, casts, slices, an earlier product.
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

Reals product(const Reals& a, const Reals& b, int m, int n, int k, bool trans_b) {
  Reals c(static_cast<size_t>(m) * n, 0);
  for (int i = 0; i < m; ++i)
    for (int p = 0; p < k; ++p)
      for (int j = 0; j < n; ++j) c[i * n + j] += a[i * k + p] * (trans_b ? b[j * k + p] : b[p * n + j]);
  return c;
}

// 38. Both operands from shared tiles or fragments.
Scenario places(const Values& v) {
  const tl::DType dtype = v.dtype(), out = dtype == tl::i8 ? tl::i32 : tl::f32;
  const bool trans_b = v["trans_b"] == 1;
  const int m = 64, n = 48, k = 32;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", dtype, {m, k}), B = trans_b ? b.input("B", dtype, {n, k}) : b.input("B", dtype, {k, n});
    auto C = b.output("C", out, {m, n});
    b.grid({1}, [&](tl::Index) {
      auto a = v["a"] ? b.fragment(dtype, {m, k}) : b.shared(dtype, {m, k});
      const tl::Expr rows = trans_b ? n : k, columns = trans_b ? k : n;
      auto w = v["b"] ? b.fragment(dtype, {rows, columns}) : b.shared(dtype, {rows, columns});
      auto acc = b.fragment(out, {m, n});
      b.copy(A, a);
      b.copy(B, w);
      b.gemm(a, w, acc, trans_b ? tl::trans_b | tl::overwrite : tl::overwrite);
      b.copy(acc, C);
    });
  });
  const Reals a = whole(m * k, -3, 3, 1), w = whole(n * k, -3, 3, 2);
  s.launch().input(dtype, a).input(dtype, w).output(out, exactly(product(a, w, m, n, k, trans_b)));
  return s;
}

// 38, 41. (a · b) cast, then times c, with an element-wise step between and tiles of different shapes.
Scenario chained(const Values& v) {
  const tl::DType dtype = v.dtype();
  const int m = static_cast<int>(v["M"]), n = 64, d = static_cast<int>(v["D"]), k = 32;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", dtype, {m, k}), B = b.input("B", dtype, {n, k}), V = b.input("V", dtype, {n, d});
    auto O = b.output("O", tl::f32, {m, d});
    b.grid({1}, tl::threads(v["threads"]), [&](tl::Index) {
      auto a = b.shared(dtype, {m, k}), w = b.shared(dtype, {n, k}), values = b.shared(dtype, {n, d});
      auto x = b.fragment(tl::f32, {m, n}), o = b.fragment(tl::f32, {m, d});
      b.copy(A, a);
      b.copy(B, w);
      b.copy(V, values);
      b.gemm(a, w, x, tl::trans_b | tl::overwrite);
      b.parallel({m, n}, [&](tl::Index i, tl::Index j) { x(i, j) = tl::min(tl::max(x(i, j), -4), 4); });
      if (v["cast"]) {
        auto p = b.fragment(dtype, {m, n});
        b.copy(x, p);
        b.gemm(p, values, o, tl::overwrite);
      } else {
        b.gemm(x, values, o, tl::overwrite);  // cast on the way in
      }
      b.copy(o, O);
    });
  });
  const Reals a = whole(m * k, -2, 2, 1), w = whole(n * k, -2, 2, 2), values = whole(n * d, -3, 3, 3);
  Reals x = product(a, w, m, n, k, true);
  for (Real& e : x) e = std::fmin(std::fmax(e, -4), 4);
  s.launch().input(dtype, a).input(dtype, w).input(dtype, values).output(tl::f32, exactly(product(x, values, m, d, n, false)));
  return s;
}

// 38. A part of a shared tile as an operand.
Scenario sliced(const Values& v) {
  const int m = 64, n = 32, k = 32, row = static_cast<int>(v["row"]), column = static_cast<int>(v["column"]);
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", tl::f16, {m, k}), B = b.input("B", tl::f16, {64, 64}), C = b.output("C", tl::f32, {m, n});
    b.grid({1}, [&](tl::Index) {
      auto a = b.shared(tl::f16, {m, k}), w = b.shared(tl::f16, {64, 64});
      auto acc = b.fragment(tl::f32, {m, n});
      b.copy(A, a);
      b.copy(B, w);
      b.gemm(a, w(row, column).size({n, k}), acc, tl::trans_b | tl::overwrite);
      b.copy(acc, C);
    });
  });
  const Reals a = whole(m * k, -3, 3, 1), w = whole(4096, -3, 3, 2);
  Reals part;
  for (int j = 0; j < n; ++j)
    for (int p = 0; p < k; ++p) part.push_back(w[(row + j) * 64 + column + p]);
  s.launch().input(tl::f16, a).input(tl::f16, w).output(tl::f32, exactly(product(a, part, m, n, k, true)));
  return s;
}

// 38. An operand of another type is cast on the way in: int8 weights against 16-bit rows.
Scenario cast_operand(const Values& v) {
  const int m = 64, n = 64, k = 32;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", tl::bf16, {m, k}), B = b.input("B", tl::i8, {n, k}), C = b.output("C", tl::f32, {m, n});
    b.grid({1}, [&](tl::Index) {
      auto a = b.shared(tl::bf16, {m, k}), w = b.shared(tl::i8, {n, k});
      auto acc = b.fragment(tl::f32, {m, n});
      b.copy(A, a);
      b.copy(B, w);
      if (v["explicit"]) {
        auto wide = b.fragment(tl::bf16, {n, k});
        b.copy(w, wide);
        b.gemm(a, wide, acc, tl::trans_b | tl::overwrite);
      } else {
        auto wide = b.shared(tl::bf16, {n, k});
        b.copy(w, wide);
        b.gemm(a, wide, acc, tl::trans_b | tl::overwrite);
      }
      b.copy(acc, C);
    });
  });
  const Reals a = whole(m * k, -3, 3, 1), w = whole(n * k, -128, 127, 2);
  s.launch().input(tl::bf16, a).input(tl::i8, w).output(tl::f32, exactly(product(a, w, m, n, k, true)));
  return s;
}

// 38. NaN in the padding of the sum must not leak, and NaN in a row touches that row alone.
Scenario nan_stays(const Values& v) {
  const int m = 32, n = 16, k = static_cast<int>(v["K"]);
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", tl::f16, {m, k}), B = b.input("B", tl::f16, {n, k}), C = b.output("C", tl::f32, {m, n});
    b.grid({1}, [&](tl::Index) {
      auto noise = b.shared(tl::f16, {64, 64});
      auto a = b.shared(tl::f16, {m, k}), w = b.shared(tl::f16, {n, k});
      auto acc = b.fragment(tl::f32, {m, n});
      b.fill(noise, NAN);
      b.copy(A, a);
      b.copy(B, w);
      b.gemm(a, w, acc, tl::trans_b | tl::overwrite);
      b.copy(acc, C);
    });
  });
  Reals a = whole(m * k, -3, 3, 1);
  const Reals w = whole(n * k, -3, 3, 2);
  Reals c = product(a, w, m, n, k, true);
  a[5 * k] = NAN;
  for (int j = 0; j < n; ++j) c[5 * n + j] = NAN;
  s.launch().input(tl::f16, a).input(tl::f16, w).output(tl::f32, exactly(c));
  return s;
}

// 38. Every code of an 8-bit float enters a product, alone in its row and at each place along K: times 1, 2 and 4.
Scenario every_code(const Values& v) {
  const tl::DType codes_of = v.dtype(), other = v["same"] ? codes_of : codes_of == tl::e4m3 ? tl::e5m2 : tl::e4m3;
  const int rows = 256, k = 64, columns = 16;
  const bool left = v["left"] == 1;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto codes = b.input("codes", tl::u8, {rows}), W = b.input("W", other, {columns, k});
    auto C = left ? b.output("C", tl::f32, {rows, columns}) : b.output("C", tl::f32, {columns, rows});
    b.grid({1}, [&](tl::Index) {
      auto a = b.shared(codes_of, {rows, k}), w = b.shared(other, {columns, k});
      auto acc = left ? b.fragment(tl::f32, {rows, columns}) : b.fragment(tl::f32, {columns, rows});
      b.fill(a, 0);
      b.parallel({rows}, [&](tl::Index i) { a(i, i % k) = tl::reinterpret(codes_of, codes(i)); });
      b.copy(W, w);
      if (left) b.gemm(a, w, acc, tl::trans_b | tl::overwrite);
      else b.gemm(w, a, acc, tl::trans_b | tl::overwrite);
      b.copy(acc, C);
    });
  });
  Reals codes, w, c;
  for (int i = 0; i < rows; ++i) codes.push_back(i);
  for (int j = 0; j < columns * k; ++j) w.push_back(1 << j / k % 3);
  for (int i = 0; i < rows * columns; ++i) {
    const int row = left ? i / columns : i % rows, column = left ? i % columns : i / rows;
    c.push_back(decode(codes_of, static_cast<uint64_t>(row)) * (1 << column % 3));
  }
  s.launch().input(tl::u8, codes).input(other, w).output(tl::f32, exactly(c));
  return s;
}

}  // namespace

void add_operand_cases(std::vector<Case>& to) {
  const Axis halves = dtypes({tl::f16, tl::bf16});
  to.push_back({"38", "operands_from_anywhere", {{"a", {0, 1}}, {"b", {0, 1}}, {"trans_b", {0, 1}}, dtypes({tl::f16, tl::bf16, tl::i8})}, places});
  to.push_back({"38", "a_sliced_operand", {{"row", {0, 32, 8}}, {"column", {0, 32, 16}}}, sliced});
  to.push_back({"38", "a_cast_operand", {{"explicit", {0, 1}}}, cast_operand});
  to.push_back({"38", "every_code_of_8_bits", {{"left", {0, 1}}, {"same", {0, 1}}, dtypes({tl::e4m3, tl::e5m2})}, every_code});
  to.push_back({"41", "chained_products", {{"M", {64, 128}}, {"D", {32, 64, 128}}, {"cast", {0, 1}}, {"threads", {128, 256}}, halves}, chained});
  to.push_back({"48a", "nan_stays_in_its_row", {{"K", {8, 24, 32, 1}}}, nan_stays});
}

}  // namespace tilert::conformance
