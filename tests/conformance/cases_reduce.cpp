// Cases 30 to 34: reductions over every dim and width, seeds, NaN, results read as scalars.
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

struct Operation {
  tl::ReduceOp op;
  Real identity;
  Real (*combine)(Real, Real);
};
const Operation kOperations[] = {
    {tl::sum, 0, [](Real a, Real x) { return a + x; }},
    {tl::max, -INFINITY, [](Real a, Real x) { return std::fmax(a, x); }},
    {tl::min, INFINITY, [](Real a, Real x) { return std::fmin(a, x); }},
    {tl::absmax, 0, [](Real a, Real x) { return std::fmax(a, std::fabs(x)); }},
    {tl::abssum, 0, [](Real a, Real x) { return a + std::fabs(x); }},
    {tl::max_nan, -INFINITY, [](Real a, Real x) { return std::isnan(a) || std::isnan(x) ? Real(NAN) : std::fmax(a, x); }},
    {tl::min_nan, INFINITY, [](Real a, Real x) { return std::isnan(a) || std::isnan(x) ? Real(NAN) : std::fmin(a, x); }},
    {tl::all_bits, -1, [](Real a, Real x) { return Real(int64_t(a) & int64_t(x)); }},
    {tl::any_bits, 0, [](Real a, Real x) { return Real(int64_t(a) | int64_t(x)); }},
    {tl::xor_bits, 0, [](Real a, Real x) { return Real(int64_t(a) ^ int64_t(x)); }},
};

// 30. A matrix of any width along either dim; `data` small integers, so that every order of summation is exact.
Scenario matrix(const Values& v) {
  const int64_t rows = v["rows"], columns = v["columns"], dim = v["dim"], kept = dim == 0 ? columns : rows;
  const tl::DType dtype = v.dtype();
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", dtype, {rows, columns}), y = b.output("y", dtype, {kept});
    b.grid({1}, tl::threads(v["threads"]), [&](tl::Index) {
      auto t = v["scope"] ? b.fragment(dtype, {rows, columns}) : b.shared(dtype, {rows, columns});
      auto r = b.fragment(dtype, {kept});
      b.copy(x, t);
      b.reduce(tl::sum, t, r, static_cast<uint32_t>(dim));
      b.copy(r, y);
    });
  });
  const Reals data = whole(rows * columns, -2, 5, 1);  // sums that are not 0
  Reals want(kept, 0);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) want[dim == 0 ? j : i] += data[i * columns + j];
  for (Real& w : want) w = dtype == tl::i8 ? wrapped(dtype, w) : w;
  s.launch().input(dtype, data).output(dtype, exactly(want));
  return s;
}

// 30. The middle dim of three, and a dim kept with extent 1.
Scenario middle(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::f32, {6, 20, 10});
    auto y = v["kept"] ? b.output("y", tl::f32, {6, 1, 10}) : b.output("y", tl::f32, {6, 10});
    b.grid({1}, [&](tl::Index) {
      auto t = b.fragment(tl::f32, {6, 20, 10});
      auto r = v["kept"] ? b.fragment(tl::f32, {6, 1, 10}) : b.fragment(tl::f32, {6, 10});
      b.copy(x, t);
      b.reduce(tl::sum, t, r, 1);
      b.copy(r, y);
    });
  });
  const Reals data = whole(1200, -9, 9, 2);
  Reals want(60, 0);
  for (int i = 0; i < 1200; ++i) want[i / 200 * 10 + i % 10] += data[i];
  s.launch().input(tl::f32, data).output(tl::f32, exactly(want));
  return s;
}

// 30. Random floats by the error rule: sums in f32, rounded once.
Scenario random_sums(const Values& v) {
  const int64_t rows = 32, columns = v["columns"];
  const tl::DType dtype = v.dtype();
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", dtype, {rows, columns}), y = b.output("y", dtype, {rows});
    b.grid({1}, [&](tl::Index) {
      auto t = b.fragment(dtype, {rows, columns}), r = b.fragment(dtype, {rows});
      b.copy(x, t);
      b.reduce(tl::sum, t, r, 1);
      b.copy(r, y);
    });
  });
  const Reals data = uniform(dtype, rows * columns, 3);
  Reals want(rows, 0), sizes(rows, 0);
  for (int64_t i = 0; i < rows * columns; ++i) want[i / columns] += data[i], sizes[i / columns] += std::fabs(data[i]);
  s.launch().input(dtype, data).output(dtype, nearly(dtype, want, sizes, static_cast<Real>(columns)));
  return s;
}

constexpr int kRaised = 9;  // extrema of unsigned types lie so much higher

// Extrema, ands and ors hang on one element of a row, in another place in each, so that no part of a reduction can be lost
// unseen; in one row on the seed, where there is one.
Reals data_of(int64_t operation, tl::DType dtype, int64_t rows, int64_t columns) {
  const bool bits = operation >= 7, boolean = dtype == tl::boolean;
  if (operation == 0 || operation == 4 || operation == 9) return whole(rows * columns, bits ? 0 : -5, boolean ? 1 : bits ? 63 : 5, 5);
  Reals data = whole(rows * columns, -5, 5, 5);
  const Real usual = operation == 7 ? (boolean ? 1 : 63) : 0;
  static const int64_t kPlaces[] = {2, 37, 11, 99, 62, 85, 24, 49};  // in percent: no lane's or register's bit is the same in all
  for (Real& x : data) x = bits ? usual : x;
  for (int64_t i = 0; i < rows; ++i) {
    Real& one = data[i * columns + columns * kPlaces[i] / 100];
    const bool least = operation == 2 || operation == 6 || (operation == 3 && i % 2 && !is_unsigned(dtype));
    const bool alone = boolean ? i == 1 || i == 2 || i == 5 || i == 7 : i != 3;  // a bool of every second row alone differs
    if (!alone) continue;
    if (bits) one = boolean ? 1 - usual : usual + (operation == 7 ? -1 : 1) * static_cast<Real>(1 << i % 6);
    else one = least ? -9 : 9;
  }
  return data;
}

// 31, 32, 34. Every operation, seeded or not, NaN among the data of floats; the seed counts once.
Scenario operations(const Values& v) {
  const tl::DType dtype = v.dtype();
  const Operation& operation = kOperations[v["operation"]];
  const int64_t rows = 8, columns = v["columns"];
  const bool seeded = v["seeded"], bits = v["operation"] >= 7;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", dtype, {rows, columns}), seed = b.input("seed", dtype, {rows}), y = b.output("y", dtype, {rows});
    b.grid({1}, tl::threads(128), [&](tl::Index) {
      auto t = b.fragment(dtype, {rows, columns}), r = b.fragment(dtype, {rows});
      b.copy(x, t);
      if (seeded) b.copy(seed, r);
      else b.fill(r, 1);  // of which nothing is to be seen
      b.reduce(operation.op, t, r, 1, seeded ? tl::accumulate : tl::ReduceFlag::none);
      b.copy(r, y);
    });
  });
  // Floats come once more with NaN among them.
  const bool with_nans = is_float(dtype) && v["operation"] != 0 && v["operation"] != 4;
  for (bool nans : {false, true}) {
    if (nans && !with_nans) break;
    Reals data = data_of(v["operation"], dtype, rows, columns);
    const bool raised = is_unsigned(dtype) && v["operation"] >= 1 && v["operation"] <= 3;
    if (is_unsigned(dtype))
      for (Real& x : data) x = raised ? x + kRaised : std::fabs(x);
    if (nans) data[3] = data[columns + 1] = NAN;
    for (int64_t i = 0; nans && i < 2 * columns; ++i) data[2 * columns + i] = NAN;  // two rows of nothing else
    // The seed of a sum or maximum of magnitudes is one itself.
    const bool magnitudes = v["operation"] == 3 || v["operation"] == 4;
    Reals seed = whole(rows, bits || magnitudes || (is_unsigned(dtype) && !raised) ? 0 : -7, dtype == tl::boolean ? 1 : bits ? 63 : 7, 6);
    for (Real& x : seed) x += raised ? kRaised : 0;
    const int64_t op = v["operation"];
    for (int64_t i = 0; (op == 7 || op == 8) && i < rows; ++i) {
      const Real usual = op == 8 ? 0 : dtype == tl::boolean ? 1 : 63;
      seed[i] = i == 3 ? (dtype == tl::boolean ? 1 - usual : 32) : usual;
    }
    if (raised && op == 2) seed[3] = kRaised - 7;  // less than the row
    if (nans) seed[2] = NAN;
    Reals want;
    for (int64_t i = 0; i < rows; ++i) {
      Real value = operation.identity;
      if (!is_float(dtype) && std::isinf(value)) value = saturated(dtype, value);
      for (int64_t j = 0; j < columns; ++j) value = operation.combine(value, data[i * columns + j]);
      if (seeded) value = operation.combine(value, seed[i]);
      if (dtype == tl::boolean) value = int64_t(value) & 1;
      want.push_back(is_float(dtype) ? rounded(dtype, value) : wrapped(dtype, value));
    }
    s.launch().input(dtype, data).input(dtype, seed).output(dtype, exactly(want));
  }
  return s;
}

// 32. Sums of int64 that do not fit into 32 bits.
Scenario wide_sums(const Values&) {
  Scenario s;
  s.program([](tl::Builder& b) {
    auto x = b.input("x", tl::i64, {4, 64}), y = b.output("y", tl::i64, {4});
    b.grid({1}, [&](tl::Index) {
      auto t = b.fragment(tl::i64, {4, 64}), r = b.fragment(tl::i64, {4});
      b.copy(x, t);
      b.reduce(tl::sum, t, r, 1);
      b.copy(r, y);
    });
  });
  Reals data = whole(256, 0, int64_t{1} << 40, 7), want(4, 0);
  for (int i = 0; i < 256; ++i) want[i / 64] += data[i];
  s.launch().input(tl::i64, data).output(tl::i64, exactly(want));
  return s;
}

// 33, 44. A scalar result that steers an if for the whole block: the two blocks' sums are on either side of the bound.
Scenario scalar_result(const Values& v) {
  Reals data = whole(96, 1, 9, 8), want;
  Real sum = 0;
  for (int i = 0; i < 96; ++i) sum += data[i] += 20 - i / 32 * 10;  // sums of warps that no other stands for
  for (int i = 0; i < 96; ++i) data.push_back(data[i] - (i == 41));
  for (int i = 0; i < 192; ++i) want.push_back(i < 96 ? data[i] * 2 : -1);
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::f32, {2, 96}), y = b.output("y", tl::f32, {2, 96});
    b.grid({2}, tl::threads(v["threads"]), [&](tl::Index block) {
      auto t = b.fragment(tl::f32, {1, 96}), r = b.fragment(tl::f32, {1});
      b.copy(x(block, 0), t);
      b.reduce(tl::sum, t, r, 1);
      b.if_(r(0) >= static_cast<double>(sum), [&] { b.parallel({96}, [&](tl::Index j) { t(0, j) = t(0, j) * 2; }); },
            [&] { b.fill(t, -1); });
      b.copy(t, y(block, 0));
    });
  });
  s.launch().input(tl::f32, data).output(tl::f32, exactly(want));
  return s;
}

}  // namespace

void add_reduce_cases(std::vector<Case>& to) {
  const Axis columns{"columns", {1, 16, 31, 32, 33, 48, 64, 96, 100, 256}};
  const Axis floats = dtypes({tl::f32, tl::f16, tl::bf16});
  to.push_back({"30", "sum_of_a_matrix",
                {columns, {"rows", {128, 17}}, {"dim", {1, 0}}, {"threads", {128, 256}}, {"scope", {1, 0}}, dtypes({tl::f32, tl::i32, tl::i8})}, matrix});
  to.push_back({"30", "middle_dim", {{"kept", {0, 1}}}, middle});
  to.push_back({"30", "random_sums", {{"columns", {33, 256, 1000}}, floats}, random_sums});
  to.push_back({"31", "every_operation_on_floats", {{"operation", {0, 1, 2, 3, 4, 5, 6}}, {"seeded", {0, 1}}, {"columns", {40, 576}}, floats}, operations});
  to.push_back({"32", "every_operation_on_integers", {{"operation", {0, 1, 2, 3, 4, 7, 8, 9}}, {"seeded", {0, 1}}, {"columns", {40, 100}}, dtypes({tl::i32, tl::i8, tl::i64})}, operations});
  to.push_back({"32", "every_operation_on_f64", {{"operation", {0, 1, 2, 3, 4, 5, 6}}, {"seeded", {0, 1}}, {"columns", {40}}, dtypes({tl::f64})}, operations});
  to.push_back({"32", "every_operation_on_more_integers", {{"operation", {0, 1, 2, 3, 4, 7, 8, 9}}, {"seeded", {0, 1}}, {"columns", {40}}, dtypes({tl::u8, tl::i16, tl::u16, tl::u32, tl::u64})}, operations});
  to.push_back({"32", "logic_of_bools", {{"operation", {7, 8, 9}}, {"seeded", {0, 1}}, {"columns", {40}}, dtypes({tl::boolean})}, operations});
  to.push_back({"32", "sums_above_32_bits", {}, wide_sums});
  to.push_back({"33", "a_scalar_result_in_an_if", {{"threads", {64, 128}}}, scalar_result});
}

}  // namespace tilert::conformance
