// Cases 24 to 28: indices that are negative, large, read from memory or out of range; sizes known only at launch.
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// 24. A literal -1 is the last element.
Scenario last_element(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N");
    auto x = b.input("x", tl::f32, {N}), y = b.inout("y", tl::f32, {N});
    b.grid({1}, [&](tl::Index) { y(-1) = x(-v["back"]) * 2; });
  });
  const Reals data = counting(70, 3);
  std::vector<Want> want = exactly(Reals(70, 1));
  want[69].value = data[70 - v["back"]] * 2;
  s.launch({70}).input(tl::f32, data).inout(tl::f32, Reals(70, 1), want);
  return s;
}

// 24. An index that turns negative at run time reads 0, and a write there is dropped.
Scenario negative_at_run_time(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N");
    auto x = b.input("x", v.dtype(), {N}), y = b.output("y", v.dtype(), {N}), z = b.output("z", v.dtype(), {N});
    b.grid({1}, [&](tl::Index) {
      b.parallel({64}, [&](tl::Index i) {
        y(i) = x(i - 20);
        z(i - 20) = x(i);
      });
    });
  });
  const Reals data = whole(50, 1, 50, 3);
  Reals y(50, 0);
  std::vector<Want> z = untouched(50);
  for (int i = 0; i < 50; ++i) y[i] = i >= 20 ? data[i - 20] : 0;
  for (int i = 20; i < 64; ++i) z[i - 20] = {i < 50 ? data[i] : 0, 0, false};
  s.launch({50}).input(v.dtype(), data).output(v.dtype(), exactly(y)).output(v.dtype(), z);
  return s;
}

// 25. Addresses above 2^31: constant, and a product of row and width. One-byte elements; most of the tensor is never
// touched, so its stride makes it large and its elements few.
Scenario large_offsets(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto R = b.dim("R"), C = b.dim("C"), S = b.dim("S");
    auto x = b.input("x", tl::i8, {R, C}, tl::TensorOptions().strides({S, 1})), y = b.output("y", tl::i8, {64});
    b.grid({1}, [&](tl::Index) {
      auto t = v["scope"] ? b.shared(tl::i8, {64}) : b.fragment(tl::i8, {64});
      b.copy(x(R - 1, 0).size({1, 64}), t);
      b.copy(t, y);
    });
  });
  const int64_t stride = (int64_t{1} << 31) / 2 + 32, rows = 3;
  const Reals data = pattern(tl::i8, 64, 3);
  s.launch({rows, 64, stride}).input(tl::i8, data).placed({rows, 64}, {stride, 1}).output(tl::i8, exactly(data));
  s.launches[0].arguments[0].leading = static_cast<size_t>(2 * stride);
  return s;
}

// 25, 26. Indices read from memory, in and out of range.
Scenario gather(const Values& v) {
  const tl::DType index = v.dtype();
  const int64_t n = 100;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N");
    auto a = b.input("a", tl::f32, {N}), y = b.output("y", tl::f32, {128});
    auto at = b.input("at", index, {128});
    b.grid({1}, [&](tl::Index) {
      if (v["staged"]) {
        auto where = b.shared(index, {128});
        b.copy(at, where);
        b.parallel({128}, [&](tl::Index i) { y(i) = a(tl::cast(tl::index, where(i))); });
      } else {
        b.parallel({128}, [&](tl::Index i) { y(i) = a(tl::cast(tl::index, at(i))); });
      }
    });
  });
  const Reals data = whole(n, 1, 1000, 7);
  Reals where = whole(128, 0, n - 1, 8), want;
  where[0] = -1, where[1] = n, where[2] = n - 1, where[3] = 0, where[4] = index == tl::i64 ? 4294967296.0L : 2147483647, where[5] = -2147483648.0L;
  for (Real w : where) want.push_back(w >= 0 && w < n ? data[static_cast<size_t>(w)] : 0);
  s.launch({n}).input(tl::f32, data).output(tl::f32, exactly(want)).input(index, where);
  return s;
}

// 26. Two points that add into one element without an atomic are refused.
Scenario colliding_writes(const Values&) {
  Scenario s;
  s.program([](tl::Builder& b) {
    auto B = b.input("B", tl::f32, {16, 448}), A = b.inout("A", tl::f32, {16, 14}, {});
    b.grid({1}, [&](tl::Index) {
      b.label("collide");
      b.parallel({16, 448}, [&](tl::Index i, tl::Index j) { A(i, j / 32) += B(i, j); });
    });
  });
  s.refused = {"A", "parallel"};
  return s;
}

// 27, 28. One binary for every size, 0 included; a product over no terms is 0.
Scenario dynamic_product(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto M = b.dim("M"), K = b.dim("K");
    auto A = b.input("A", tl::f16, {M, K}), B = b.input("B", tl::f16, {K, 64}), C = b.output("C", tl::f32, {M, 64});
    b.grid({tl::ceildiv(M, 128)}, [&](tl::Index y) {
      auto a = b.shared(tl::f16, {128, 32}), w = b.shared(tl::f16, {32, 64});
      auto acc = b.fragment(tl::f32, {128, 64});
      b.clear(acc);
      b.pipelined(tl::ceildiv(K, 32), tl::stages(2), [&](tl::Index k) {
        b.copy(A(y * 128, k * 32), a);
        b.copy(B(k * 32, 0), w);
        b.gemm(a, w, acc);
      });
      b.copy(acc, C(y * 128, 0));
    });
  });
  const int64_t k = v["K"];
  for (int64_t m : {0, 1, 3, 17, 128, 129, 300}) {
    const Reals a = whole(m * k, -3, 3, 1 + m), w = whole(k * 64, -3, 3, 2);
    Reals c(m * 64, 0);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t p = 0; p < k; ++p)
        for (int64_t j = 0; j < 64; ++j) c[i * 64 + j] += a[i * k + p] * w[p * 64 + j];
    s.launch({m, k}).input(tl::f16, a).input(tl::f16, w).output(tl::f32, exactly(c));
  }
  return s;
}

// 28. A reduction over a dim of 0 gives the identity: each of its terms is the safe value of the copy.
Scenario empty_reduction(const Values&) {
  Scenario s;
  s.program([](tl::Builder& b) {
    auto N = b.dim("N");
    auto x = b.input("x", tl::f32, {N}), y = b.output("y", tl::f32, {2});
    b.grid({1}, [&](tl::Index) {
      auto sum = b.var(tl::f32), top = b.var(tl::f32);
      sum = 0;
      top = -tl::inf;
      b.serial(N, [&](tl::Index i) {
        sum = sum + x(i);
        top = tl::max(top, x(i));
      });
      y(0) = tl::Expr(sum);
      y(1) = tl::Expr(top);
    });
  });
  s.launch({0}).input(tl::f32, {}).output(tl::f32, exactly({0, -INFINITY}));
  s.launch({3}).input(tl::f32, {5, -2, 9}).output(tl::f32, exactly({12, 9}));
  return s;
}

}  // namespace

void add_index_cases(std::vector<Case>& to) {
  to.push_back({"24", "minus_one_is_the_last", {{"back", {1, 2, 70}}}, last_element});
  to.push_back({"24", "negative_at_run_time", {dtypes({tl::f32, tl::i8, tl::f16})}, negative_at_run_time});
  to.push_back({"25", "offsets_above_2_to_31", {{"scope", {0, 1}}}, large_offsets, true});
  to.push_back({"26", "indices_from_memory", {dtypes({tl::i32, tl::i64}), {"staged", {0, 1}}}, gather});
  to.push_back({"26", "colliding_writes", {}, colliding_writes});
  to.push_back({"27", "one_binary_for_every_size", {{"K", {96, 40, 37, 0}}}, dynamic_product});
  to.push_back({"28", "nothing_to_reduce", {}, empty_reduction});
}

}  // namespace tilert::conformance
