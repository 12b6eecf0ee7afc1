// Case 73: products that are issued and waited for: from rings of tensor copies, from tiles that threads write, one under way
// while another's sums are read.
#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

struct IssuedTypes {
  tl::DType a, b, sum;
};
constexpr IssuedTypes kIssuedTypes[] = {{tl::bf16, tl::bf16, tl::f32}, {tl::f16, tl::f16, tl::f32}, {tl::e4m3, tl::e5m2, tl::f32}, {tl::i8, tl::u8, tl::i32}};

int64_t issued_size(tl::DType dtype) { return dtype == tl::bf16 || dtype == tl::f16 ? 2 : 1; }

void needs_products(Scenario& s) {
  s.needs = Scenario::Needs::warpgroup_products;
  s.refused_without = {"which has none"};
}

// a is m x k, or k x m; b is k x n, or n x k.
Reals issued_product(const Reals& a, const Reals& b, int64_t m, int64_t n, int64_t k, bool trans_a, bool trans_b) {
  Reals c(static_cast<size_t>(m * n), 0);
  for (int64_t x = 0; x < k; ++x)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        c[static_cast<size_t>(i * n + j)] += a[static_cast<size_t>(trans_a ? x * m + i : i * k + x)] * b[static_cast<size_t>(trans_b ? j * k + x : x * n + j)];
  return c;
}

tl::GemmFlag issue_flags(bool trans_a, bool trans_b) {
  tl::GemmFlag flags = tl::issue;
  if (trans_a) flags = flags | tl::trans_a;
  if (trans_b) flags = flags | tl::trans_b;
  return flags;
}

// A loop over K: a slot is filled again when the product that read it is done, while the next one runs.
Scenario ring_of_products(const Values& v) {
  const IssuedTypes types = kIssuedTypes[v["types"]];
  const bool wide = issued_size(types.a) == 2, trans_a = v["trans"] == 1 && wide, trans_b = v["trans"] != 1 || !wide;
  const int64_t bm = v["bm"], bn = v["bn"], slots = v["slots"], bk = 128 / issued_size(types.a), k = 4 * bk + 16, m = bm + 16, n = bn + 16;
  const int64_t bytes = (bm + bn) * bk * issued_size(types.a);
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = trans_a ? b.input("A", types.a, {k, m}) : b.input("A", types.a, {m, k});
    auto B = trans_b ? b.input("B", types.b, {n, k}) : b.input("B", types.b, {k, n});
    auto C = b.output("C", types.sum, {m, n});
    const auto hints = v["threads"] && bm * bn <= 128 * 192 ? tl::threads(v["threads"]) : tl::Hints();
    b.grid({2, 2}, hints, [&](tl::Index x, tl::Index y) {
      auto a = trans_a ? b.shared(types.a, {slots, bk, bm}) : b.shared(types.a, {slots, bm, bk});
      auto w = trans_b ? b.shared(types.b, {slots, bn, bk}) : b.shared(types.b, {slots, bk, bn});
      auto full = b.barriers(static_cast<uint32_t>(slots));
      auto sum = b.fragment(types.sum, {bm, bn});
      const int64_t trips = (k + bk - 1) / bk;
      const auto load = [&](const tl::Expr& i) {
        b.if_(i < trips, [&] {
          const tl::Expr slot = i % slots;
          b.arrive_expect(full(slot), static_cast<uint32_t>(bytes));
          if (trans_a) b.load_tensor(A(i * bk, y * bm), a(slot, 0, 0), full(slot));
          else b.load_tensor(A(y * bm, i * bk), a(slot, 0, 0), full(slot));
          if (trans_b) b.load_tensor(B(x * bn, i * bk), w(slot, 0, 0), full(slot));
          else b.load_tensor(B(i * bk, x * bn), w(slot, 0, 0), full(slot));
        });
      };
      b.serial(slots - 1, [&](tl::Index i) { load(i); });
      b.clear(sum);
      b.serial(trips, [&](tl::Index i) {
        b.wait_barrier(full(i % slots), i / slots);
        b.gemm(a(i % slots, 0, 0), w(i % slots, 0, 0), sum, issue_flags(trans_a, trans_b));
        b.commit_products();
        b.wait_products(1);
        load(i + (slots - 1));
      });
      b.wait_products();
      b.copy(sum, C(y * bm, x * bn));
    });
  });
  const Reals a = whole(static_cast<size_t>(m * k), -4, 4, 1), b = whole(static_cast<size_t>(k * n), types.b == tl::u8 ? 0 : -4, 4, 2);
  s.launch().input(types.a, a).input(types.b, b).output(types.sum, exactly(issued_product(a, b, m, n, k, trans_a, trans_b)));
  needs_products(s);
  return s;
}

// Operands that threads write, and two products: the first one's sums are read while the second is under way, then it goes on from
// nothing.
Scenario two_sums(const Values& v) {
  const int64_t bm = 64 * v["rows"], bn = 48, bk = 64;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", tl::f16, {bm, bk}), B = b.input("B", tl::f16, {2 * bn, bk});
    auto C = b.output("C", tl::f32, {3, bm, bn});
    b.grid({1}, [&](tl::Index) {
      auto a = b.shared(tl::f16, {bm, bk}), w = b.shared(tl::f16, {2, bn, bk});
      if (v["layout"]) b.annotate_layout(a, tl::Layout::swizzle_64);
      auto first = b.fragment(tl::f32, {bm, bn}), second = b.fragment(tl::f32, {bm, bn});
      b.parallel({bm, bk}, [&](tl::Index i, tl::Index j) { a(i, j) = A(i, j) + A(i, j); });
      b.copy(B(0, 0).size({bn, bk}), w(0, 0, 0).size({1, bn, bk}));
      b.copy(B(bn, 0).size({bn, bk}), w(1, 0, 0).size({1, bn, bk}));
      b.clear(second);
      b.gemm(a, w(0, 0, 0), first, tl::trans_b | tl::overwrite | tl::issue);
      b.commit_products();
      b.gemm(a, w(1, 0, 0), second, tl::trans_b | tl::issue);
      b.commit_products();
      b.wait_products(1);
      b.parallel({bm, bn}, [&](tl::Index i, tl::Index j) { C(0, i, j) = first(i, j) + 1; });
      b.wait_products();
      b.parallel({bm, bk}, [&](tl::Index i, tl::Index j) { a(i, j) = A(i, j); });
      b.serial(2, [&](tl::Index k) {
        b.gemm(a, w(k, 0, 0), first, tl::GemmOptions(tl::trans_b | tl::issue).accumulate_if(0 < k));
        b.commit_products();
      });
      b.wait_products();
      b.copy(second, C(1, 0, 0).size({1, bm, bn}));
      b.copy(first, C(2, 0, 0).size({1, bm, bn}));
    });
  });
  const Reals a = whole(static_cast<size_t>(bm * bk), -4, 4, 1), b = whole(static_cast<size_t>(2 * bn * bk), -4, 4, 2);
  const Reals one = issued_product(a, Reals(b.begin(), b.begin() + bn * bk), bm, bn, bk, false, true);
  const Reals two = issued_product(a, Reals(b.begin() + bn * bk, b.end()), bm, bn, bk, false, true);
  Reals want;
  for (Real x : one) want.push_back(2 * x + 1);
  for (Real x : two) want.push_back(2 * x);
  for (size_t i = 0; i < one.size(); ++i) want.push_back(one[i] + two[i]);
  s.launch().input(tl::f16, a).input(tl::f16, b).output(tl::f32, exactly(want));
  needs_products(s);
  return s;
}

// Misuse that is known when building.
Scenario misused_products(const Values& v) {
  const int64_t of = v["of"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", tl::f16, {64, 64});
    auto C = b.output("C", tl::f32, {64, 64});
    b.grid({1}, [&](tl::Index) {
      auto a = b.shared(tl::f16, {64, 64}), w = b.shared(tl::f16, {128, 64});
      auto f = b.shared(tl::f32, {64, 64});
      auto r = b.fragment(tl::f16, {64, 64});
      auto sum = b.fragment(tl::f32, {64, 64}), wide = b.fragment(tl::f32, {64, 128});
      b.copy(A, a), b.copy(A, r), b.clear(w), b.clear(f), b.clear(sum), b.clear(wide);
      const auto issue = [&] { b.gemm(a, a, sum, tl::trans_b | tl::issue); };
      switch (of) {
        case 0: issue(), b.commit_products(); break;
        case 1: issue(), b.wait_products(); break;
        case 2: issue(), b.commit_products(), b.wait_products(1); break;
        case 3: issue(), b.commit_products(), b.clear(a), b.wait_products(); break;
        case 4: b.serial(2, [&](tl::Index) { b.clear(sum), issue(), b.commit_products(); }), b.wait_products(); break;
        case 5: b.gemm(r, a, sum, tl::issue); break;
        case 6: b.gemm(f, f, sum, tl::issue | tl::tf32); break;
        case 7: b.gemm(a, w(0, 0).size({64, 64}), sum, tl::trans_b | tl::issue); break;
        case 8: b.gemm(a, a, wide(0, 0).size({64, 64}), tl::trans_b | tl::issue); break;
        case 9: b.wait_products(17); break;
        case 10: b.serial(4, [&](tl::Index i) { issue(), b.commit_products(), b.if_(i == 2, [&] { b.break_(); }), b.wait_products(); }); break;
        case 11: b.serial(4, [&](tl::Index i) { b.clear(sum), issue(), b.commit_products(), b.if_(i == 2, [&] { b.continue_(); }), b.wait_products(); }), b.wait_products(); break;
        default: break;
      }
      b.copy(sum, C);
    });
  });
  const std::vector<std::vector<std::string>> words = {
      {"is used while an issued gemm", "wait_products"}, {"commit_products and wait_products"}, {"is used while"}, {"is used while"}, {"is used while"},
      {"operand of an issued gemm", "must be shared"}, {"tf32", "leave the flag"}, {"a part of the tile"}, {"whole fragments"}, {"17 groups", "0 to 16"}, {"is used while"}, {"is used while"}};
  s.refused = words[static_cast<size_t>(of)];
  return s;
}

// What no warpgroup product takes.
Scenario no_product(const Values& v) {
  const int64_t of = v["of"], bm = of == 0 ? 96 : 128, bn = of == 1 ? 20 : 64, bk = of == 2 ? 24 : 64;
  Scenario s;
  s.program([&](tl::Builder& b) {
    const tl::DType dtype = of == 3 ? tl::f32 : of == 4 ? tl::i8 : tl::f16, sums = of == 4 ? tl::i32 : tl::f32;
    auto A = b.input("A", dtype, {bm, bk}), B = of == 4 ? b.input("B", dtype, {bk, bn}) : b.input("B", dtype, {bn, bk});
    auto C = b.output("C", sums, {bm, bn});
    b.grid({1}, of == 5 ? tl::threads(64) : tl::Hints(), [&](tl::Index) {
      auto a = b.shared(dtype, {bm, bk}), w = of == 4 ? b.shared(dtype, {bk, bn}) : b.shared(dtype, {bn, bk});
      if (of == 6) b.annotate_layout(a, tl::Layout::row_major);
      auto sum = b.fragment(sums, {bm, bn});
      b.copy(A, a), b.copy(B, w);
      b.gemm(a, w, sum, of == 4 ? tl::overwrite | tl::issue : tl::trans_b | tl::overwrite | tl::issue);
      b.commit_products();
      b.wait_products();
      b.copy(sum, C);
    });
  });
  const std::vector<std::vector<std::string>> words = {{"of 96 rows by 128 threads"}, {"of 20 columns"}, {"a K tile of 24"}, {"which no warpgroup product takes", "without the flag issue"},
                                                       {"not K-major", "transposed in memory"}, {"128 rows by 64 threads"}, {"row_major", "swizzled"}};
  const Reals a = whole(static_cast<size_t>(bm * bk), -4, 4, 1), b = whole(static_cast<size_t>(bn * bk), -4, 4, 2);
  const tl::DType dtype = of == 3 ? tl::f32 : of == 4 ? tl::i8 : tl::f16;
  s.launch().input(dtype, a).input(dtype, b).output(of == 4 ? tl::i32 : tl::f32, exactly(issued_product(a, b, bm, bn, bk, false, of != 4)));
  s.needs = Scenario::Needs::no_gpu;
  s.refused_without = words[static_cast<size_t>(of)];
  return s;
}

}  // namespace

void add_issued_cases(std::vector<Case>& to) {
  to.push_back({"73", "ring", {{"types", {0, 1, 2, 3}}, {"trans", {0, 1}}, {"bm", {64, 128, 192}}, {"bn", {64, 192, 256}}, {"slots", {2, 3}}, {"threads", {0, 128}}}, ring_of_products});
  to.push_back({"73", "two_sums", {{"rows", {1, 2, 3}}, {"layout", {0, 1}}}, two_sums});
  to.push_back({"73", "misused", {{"of", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}}, misused_products});
  to.push_back({"73", "no_product", {{"of", {0, 1, 2, 3, 4, 5, 6}}}, no_product});
}

}  // namespace tilert::conformance
