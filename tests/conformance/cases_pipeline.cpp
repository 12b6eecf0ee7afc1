// Cases 42, 44 and 45: pipelined loops of any depth give the same bits; guards in order; shared memory used again.
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

constexpr uint32_t kMostStages = 4;

// Builds the program with stages 0 (as written, serial) to 4: all must agree to the bit.
template <class F>
void for_each_depth(Scenario& s, F body) {
  s.same_bits = true;
  for (uint32_t stages = 0; stages <= kMostStages; ++stages) s.program([&](tl::Builder& b) { body(b, stages); });
}

template <class F>
void looped(tl::Builder& b, const tl::Expr& trips, uint32_t stages, F body) {
  if (stages == 0) b.serial(trips, body);
  else b.pipelined(trips, tl::stages(stages), body);
}

// 42. Copies and a product; random floats, so that another order of summation would show.
Scenario copy_and_gemm(const Values& v) {
  const int m = 64, n = 64, bk = 32;
  Scenario s;
  for_each_depth(s, [&](tl::Builder& b, uint32_t stages) {
    auto K = b.dim("K");
    auto A = b.input("A", v.dtype(), {m, K}), B = b.input("B", v.dtype(), {n, K}), C = b.output("C", tl::f32, {m, n});
    b.grid({1}, [&](tl::Index) {
      auto a = b.shared(v.dtype(), {m, bk}), w = b.shared(v.dtype(), {n, bk});
      auto acc = b.fragment(tl::f32, {m, n});
      b.clear(acc);
      looped(b, tl::ceildiv(K, bk), stages, [&](tl::Index k) {
        b.copy(A(0, k * bk), a);
        b.copy(B(0, k * bk), w);
        b.gemm(a, w, acc, tl::trans_b);
      });
      b.copy(acc, C);
    });
  });
  for (int64_t k : {v["trips"] * bk, v["trips"] * bk + v["rest"]}) {
    const Reals a = uniform(v.dtype(), m * k, 1), w = uniform(v.dtype(), n * k, 2);
    Reals c(m * n, 0), sizes(m * n, 0);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j)
        for (int64_t p = 0; p < k; ++p) {
          const Real x = a[i * k + p] * w[j * k + p];
          c[i * n + j] += x, sizes[i * n + j] += std::fabs(x);
        }
    s.launch({k}).input(v.dtype(), a).input(v.dtype(), w).output(tl::f32, nearly(tl::f32, c, sizes, static_cast<Real>(k + 1)));
  }
  return s;
}

// 42. Two copies whose last uses differ, a body that reads a tile and then overwrites it.
Scenario reads_then_overwrites(const Values& v) {
  const int64_t trips = v["trips"];
  Scenario s;
  for_each_depth(s, [&](tl::Builder& b, uint32_t stages) {
    auto T = b.dim("T");
    auto x = b.input("x", tl::f32, {T, 128}), z = b.input("z", tl::f32, {T, 128}), y = b.output("y", tl::f32, {T, 128});
    b.grid({1}, [&](tl::Index) {
      auto a = b.shared(tl::f32, {128}), c = b.shared(tl::f32, {128});
      auto sum = b.fragment(tl::f32, {128});
      b.clear(sum);
      looped(b, T, stages, [&](tl::Index t) {
        b.copy(x(t, 0), a);
        b.copy(z(t, 0), c);
        b.parallel({128}, [&](tl::Index i) { sum(i) = sum(i) + a(i); });
        if (v["overwrite"]) b.parallel({128}, [&](tl::Index i) { a(i) = a(i) * 2 + c(i); });
        b.parallel({128}, [&](tl::Index i) { sum(i) = sum(i) + c(i) * a(127 - i); });
        b.copy(sum, y(t, 0));
      });
    });
  });
  const Reals x = whole(trips * 128, -4, 4, 1), z = whole(trips * 128, -4, 4, 2);
  Reals sum(128, 0), want;
  for (int64_t t = 0; t < trips; ++t) {
    const Real *a = &x[t * 128], *c = &z[t * 128];
    Reals later(a, a + 128);
    if (v["overwrite"])
      for (int i = 0; i < 128; ++i) later[i] = a[i] * 2 + c[i];
    for (int i = 0; i < 128; ++i) sum[i] += a[i] + c[i] * later[127 - i];
    want.insert(want.end(), sum.begin(), sum.end());
  }
  s.launch({trips}).input(tl::f32, x).input(tl::f32, z).output(tl::f32, exactly(want));
  return s;
}

// 42. The next copy's place is read from memory inside the loop, under a guard.
Scenario gather_in_a_loop(const Values& v) {
  const int64_t trips = v["trips"], pages = 6;
  Scenario s;
  for_each_depth(s, [&](tl::Builder& b, uint32_t stages) {
    auto T = b.dim("T"), P = b.dim("P");
    auto x = b.input("x", tl::f16, {P, 64}), table = b.input("table", tl::i32, {T}), y = b.output("y", tl::f16, {T, 64});
    b.grid({1}, [&](tl::Index) {
      auto tile = b.shared(tl::f16, {64});
      looped(b, T, stages, [&](tl::Index t) {
        const tl::Expr page = table(t);
        const auto body = [&] {
          b.copy(x(tl::cast(tl::index, page), 0), tile);
          b.copy(tile, y(t, 0));
        };
        if (v["guarded"]) b.if_(page != 3, body);
        else body();
      });
    });
  });
  const Reals x = pattern(tl::f16, pages * 64), table = whole(trips, 0, pages - 1, 4);
  std::vector<Want> want = untouched(trips * 64);
  for (int64_t t = 0; t < trips; ++t)
    for (int i = 0; i < 64; ++i)
      if (!v["guarded"] || table[t] != 3) want[t * 64 + i] = {x[static_cast<size_t>(table[t]) * 64 + i], 0, false};
  s.launch({trips, pages}).input(tl::f16, x).input(tl::i32, table).output(tl::f16, want);
  return s;
}

// 42. The body updates in place what its own copies read in the next trip.
Scenario updates_its_source(const Values& v) {
  const int64_t trips = v["trips"];
  Scenario s;
  for_each_depth(s, [&](tl::Builder& b, uint32_t stages) {
    auto T = b.dim("T");
    auto x = b.inout("x", tl::f32, {T, 64});
    b.grid({1}, [&](tl::Index) {
      auto tile = b.shared(tl::f32, {64});
      looped(b, T - 1, stages, [&](tl::Index t) {
        b.copy(x(t, 0), tile);
        b.parallel({64}, [&](tl::Index i) { x(t + 1, i) = x(t + 1, i) + tile(63 - i); });
      });
    });
  });
  Reals x = whole(trips * 64, -3, 3, 5), after = x;
  for (int64_t t = 0; t + 1 < trips; ++t)
    for (int i = 0; i < 64; ++i) after[(t + 1) * 64 + i] += after[t * 64 + 63 - i];
  s.launch({trips}).inout(tl::f32, x, exactly(after));
  return s;
}

// 44. Two guards that look alike, the first body changing what they test; guards on different tiles.
Scenario guards(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::i32, {4}), y = b.output("y", tl::i32, {4, 64});
    b.grid({4}, [&](tl::Index block) {
      auto flag = b.var(tl::i32);
      auto t = v["scope"] ? b.shared(tl::i32, {64}) : b.fragment(tl::i32, {64});
      flag = x(block);
      b.parallel({64}, [&](tl::Index i) { t(i) = tl::cast(tl::i32, i); });
      b.if_(tl::Expr(flag) > 0, [&] {
        b.parallel({64}, [&](tl::Index i) { t(i) = t(i) + 10; });
        flag = 0;
      });
      b.if_(tl::Expr(flag) > 0, [&] { b.fill(t, 99); });
      b.if_(t(5) == 5, [&] { b.parallel({64}, [&](tl::Index i) { t(i) = t(i) + 5; }); });
      b.copy(t, y(block, 0));
    });
  });
  Reals want;
  for (int i = 0; i < 256; ++i) want.push_back(i % 64 + (i / 64 % 2 == 0 ? 10 : 5));
  s.launch().input(tl::i32, {1, 0, 5, -2}).output(tl::i32, exactly(want));
  return s;
}

// 45. Tiles of different types whose lifetimes do not meet may share memory; the values may not.
Scenario disjoint_lifetimes(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::f32, {64, 64}), z = b.input("z", tl::i8, {64, 64});
    auto y = b.output("y", tl::f32, {64, 64}), w = b.output("w", tl::i8, {64, 64});
    b.grid({1}, tl::threads(v["threads"]), [&](tl::Index) {
      auto wide = b.shared(tl::f32, {64, 64});
      b.copy(x, wide);
      b.parallel({64, 64}, [&](tl::Index i, tl::Index j) { y(i, j) = wide(j, i); });
      auto narrow = b.shared(tl::i8, {64, 64});
      b.copy(z, narrow);
      b.parallel({64, 64}, [&](tl::Index i, tl::Index j) { w(i, j) = narrow(j, i); });
    });
  });
  const Reals x = whole(4096, -999, 999, 1), z = whole(4096, -99, 99, 2);
  Reals y(4096), w(4096);
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 64; ++j) y[i * 64 + j] = x[j * 64 + i], w[i * 64 + j] = z[j * 64 + i];
  s.launch().input(tl::f32, x).input(tl::i8, z).output(tl::f32, exactly(y)).output(tl::i8, exactly(w));
  return s;
}

}  // namespace

void add_pipeline_cases(std::vector<Case>& to) {
  to.push_back({"42", "copy_and_gemm", {{"trips", {0, 1, 3, 5}}, {"rest", {1, 8, 17}}, dtypes({tl::f16, tl::bf16})}, copy_and_gemm});
  to.push_back({"42", "reads_then_overwrites", {{"trips", {0, 1, 2, 3, 7}}, {"overwrite", {0, 1}}}, reads_then_overwrites});
  to.push_back({"42", "gather_in_a_loop", {{"trips", {0, 1, 5, 8}}, {"guarded", {0, 1}}}, gather_in_a_loop});
  to.push_back({"42", "updates_its_source", {{"trips", {1, 2, 6}}}, updates_its_source});
  to.push_back({"44", "guards_in_order", {{"scope", {0, 1}}}, guards});
  to.push_back({"45", "disjoint_lifetimes", {{"threads", {64, 128, 256}}}, disjoint_lifetimes});
}

}  // namespace tilert::conformance
