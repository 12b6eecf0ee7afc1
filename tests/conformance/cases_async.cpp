// Case 72: barriers that count phases and tensor copies that a program places itself: boxes at every edge of a matrix, rings
// of slots, stores that clip, tiles that are used again.
#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

constexpr tl::Layout kTileLayouts[] = {tl::Layout::automatic, tl::Layout::row_major, tl::Layout::swizzle_32, tl::Layout::swizzle_64, tl::Layout::swizzle_128};

uint32_t engine_bytes(tl::DType dtype) { return dtype == tl::f32 ? 4 : dtype == tl::bf16 ? 2 : 1; }

void needs_copies(Scenario& s) {
  s.needs = Scenario::Needs::tensor_copies;
  s.refused_without = {"which has none", "use copy"};
}

// The element of a matrix of `rows` x `columns`, 0 beyond it.
Real element_or_zero(const Reals& x, int64_t rows, int64_t columns, int64_t r, int64_t c) {
  return r < 0 || c < 0 || r >= rows || c >= columns ? 0 : x[static_cast<size_t>(r * columns + c)];
}

// Boxes that begin before the first row and end beyond the last row and column, each tile written out whole.
Scenario tensor_boxes(const Values& v) {
  const tl::DType dtype = v.dtype();
  const int64_t bm = v["bm"], bn = 128 / engine_bytes(dtype) * v["spans"], rows = v["rows"], columns = bn + 16, before = 3;
  const int64_t down = (rows + before + bm - 1) / bm + 1;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", dtype, {rows, columns});
    auto B = b.output("B", dtype, {down * bm, 2 * bn});
    b.grid({2, down}, [&](tl::Index x, tl::Index y) {
      auto tile = b.shared(dtype, {bm, bn});
      auto full = b.barriers(1);
      if (v["layout"]) b.annotate_layout(tile, kTileLayouts[v["layout"]]);
      b.arrive_expect(full, static_cast<uint32_t>(bm * bn) * engine_bytes(dtype));
      b.load_tensor(A(y * bm - before, x * bn), tile, full);
      b.wait_barrier(full, 0);
      b.copy(tile, B(y * bm, x * bn));
    });
  });
  const Reals a = pattern(dtype, static_cast<size_t>(rows * columns));
  Reals want;
  for (int64_t r = 0; r < down * bm; ++r)
    for (int64_t c = 0; c < 2 * bn; ++c) want.push_back(element_or_zero(a, rows, columns, r - before, c));
  s.launch().input(dtype, a).output(dtype, exactly(want));
  needs_copies(s);
  return s;
}

// Slots that are filled again while others are read: the sum of the matrix's column tiles. No slot is ahead of its phase.
Scenario ring_of_copies(const Values& v) {
  const int64_t slots = v["slots"], bm = 64, bn = 64;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto K = b.dim("K", tl::DimOptions().divisible(8));
    auto A = b.input("A", tl::bf16, {bm, K});
    auto B = b.output("B", tl::f32, {bm, bn});
    b.grid({1}, tl::threads(v["threads"]), [&](tl::Index) {
      auto a = b.shared(tl::bf16, {slots, bm, bn});
      auto full = b.barriers(static_cast<uint32_t>(slots));
      auto sum = b.fragment(tl::f32, {bm, bn});
      const tl::Expr trips = tl::ceildiv(K, bn);
      const auto load = [&](const tl::Expr& k) {
        b.if_(k < trips, [&] {
          b.arrive_expect(full(k % slots), static_cast<uint32_t>(bm * bn * 2));
          b.load_tensor(A(0, k * bn), a(k % slots, 0, 0), full(k % slots));
        });
      };
      b.clear(sum);
      b.serial(slots - 1, [&](tl::Index k) { load(k); });
      b.serial(trips, [&](tl::Index k) {
        load(k + (slots - 1));
        b.wait_barrier(full(k % slots), k / slots);
        b.parallel({bm, bn}, [&](tl::Index i, tl::Index j) { sum(i, j) = sum(i, j) + tl::cast(tl::f32, a(k % slots, i, j)); });
      });
      b.copy(sum, B);
    });
  });
  for (int64_t k : {0, 8, 64, 200, 640}) {
    const Reals a = whole(static_cast<size_t>(bm * k), -8, 8, 3);
    Reals want(static_cast<size_t>(bm * bn), 0);
    for (int64_t r = 0; r < bm; ++r)
      for (int64_t c = 0; c < k; ++c) want[static_cast<size_t>(r * bn + c % bn)] += a[static_cast<size_t>(r * k + c)];
    s.launch({k}).input(tl::bf16, a).output(tl::f32, exactly(want));
  }
  needs_copies(s);
  return s;
}

// Two tiles' worth of results through one tile, whose rows and columns end beyond the tensor; then the block reads what it stored.
Scenario tensor_stores(const Values& v) {
  const tl::DType dtype = v.dtype();
  const int64_t bm = 32, bn = 128 / engine_bytes(dtype), rows = 50, columns = bn + 16;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", dtype, {2 * bm, 2 * bn});
    auto B = b.inout("B", dtype, {rows, columns});
    auto C = b.output("C", dtype, {2 * bm, 2 * bn});
    b.grid({1}, [&](tl::Index) {
      auto tile = b.shared(dtype, {bm, bn});
      if (v["layout"]) b.annotate_layout(tile, kTileLayouts[v["layout"]]);
      b.serial(2, [&](tl::Index y) {
        b.serial(2, [&](tl::Index x) {
          b.parallel({bm, bn}, [&](tl::Index i, tl::Index j) { tile(i, j) = A(y * bm + i, x * bn + j); });
          b.store_tensor(tile, B(y * bm, x * bn));
          b.commit_stores();
          b.wait_stores(0, TILERT_STORES_READ);
        });
      });
      b.wait_stores();
      b.serial(2, [&](tl::Index y) {
        b.serial(2, [&](tl::Index x) { b.copy(B(y * bm, x * bn).size({bm, bn}), C(y * bm, x * bn)); });
      });
    });
  });
  const Reals a = pattern(dtype, static_cast<size_t>(4 * bm * bn));
  Reals inside, out;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) inside.push_back(element_or_zero(a, 2 * bm, 2 * bn, r, c));
  for (int64_t r = 0; r < 2 * bm; ++r)
    for (int64_t c = 0; c < 2 * bn; ++c) out.push_back(r < rows && c < columns ? element_or_zero(a, 2 * bm, 2 * bn, r, c) : 0);
  s.launch().input(dtype, a).inout(dtype, Reals(inside.size(), 0), exactly(inside)).output(dtype, exactly(out));
  needs_copies(s);
  return s;
}

// A phase of two arrivals, and one that is waited for long before: who waits sees what came before each arrival.
Scenario barrier_arrivals(const Values&) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", tl::i32, {256});
    auto B = b.output("B", tl::i32, {4, 256});
    b.grid({4}, tl::threads(64), [&](tl::Index x) {
      auto a = b.shared(tl::i32, {256}), c = b.shared(tl::i32, {256});
      auto both = b.barriers(2, 2, "both");
      b.wait_barrier(both(1), -1);
      b.serial(3, [&](tl::Index k) {
        b.parallel({256}, [&](tl::Index i) { a(i) = A(i) + tl::cast(tl::i32, k); });
        b.arrive(both(k % 2));
        b.parallel({256}, [&](tl::Index i) { c(i) = a(255 - i); });
        b.arrive(both(k % 2));
        b.wait_barrier(both(k % 2), k / 2);
        b.parallel({256}, [&](tl::Index i) { B(x, i) = c(i) + a(i); });
      });
    });
  });
  const Reals a = whole(256, -1000, 1000, 5);
  Reals want;
  for (int x = 0; x < 4; ++x)
    for (size_t i = 0; i < 256; ++i) want.push_back(a[i] + a[255 - i] + 4);
  s.launch().input(tl::i32, a).output(tl::i32, exactly(want));
  s.needs = Scenario::Needs::tensor_copies;
  s.refused_without = {"barriers that count phases", "which has none"};
  return s;
}

// Misuse that is known when building, or when compiling for any GPU.
Scenario misused_barriers(const Values& v) {
  const int64_t of = v["of"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", tl::bf16, {64, 64}), V = b.input("V", tl::bf16, {4, 8, 64});
    auto B = b.output("B", tl::u64, {2}), C = b.output("C", tl::f32, {64, 64});
    b.grid({1}, of == 1 ? tl::persistent() : tl::threads(64), [&](tl::Index) {
      auto a = b.shared(tl::bf16, {64, 64}), ring = b.shared(tl::bf16, {2, 64, 64});
      auto f = b.shared(tl::f32, {64, 64});
      if (of == 0) b.serial(2, [&](tl::Index) { b.barriers(1); });
      auto full = b.barriers(2, of == 2 ? 0 : 1, "full");
      switch (of) {
        case 3: b.wait_barrier(full(0), 0); break;
        case 4: b.arrive(full(2)); break;
        case 5: b.arrive(full); break;
        case 6: b.arrive(a(0, 0)); break;
        case 7: b.copy(full, B); break;
        case 8: b.arrive_expect(full(0), 0); break;
        case 9: b.load_tensor(A(0, 0), f, full(0)); break;
        case 10: b.load_tensor(V(0, 0, 0), a, full(0)); break;
        case 11: b.load_tensor(A(0, 0), ring, full(0)); break;
        case 12: b.clear(a), b.store_tensor(a, A(0, 0)); break;
        case 13: b.store_tensor(a, C(0, 0)); break;
        case 14: b.parallel({64}, [&](tl::Index) { b.arrive(full(0)); }); break;
        case 15: b.wait_stores(17); break;
        case 16: b.load_tensor(A(0, 0).size({32, 64}), a, full(0)); break;
        case 17: b.arrive(full(0).size({2})); break;
        default: break;
      }
    });
  });
  const std::vector<std::vector<std::string>> words = {
      {"outside of loops"}, {"persistent"}, {"0 arrivals", "1 to 1024", "cases_async.cpp:"}, {"nothing arrives at 'full'", "arrive_expect"}, {"has 2 elements"}, {"say which"},
      {"make some with barriers"}, {"full", "no memory"}, {"0 bytes"}, {"moves bytes", "use copy"}, {"3 dims", "view"}, {"which of its matrices"},
      {"input and cannot be written"}, {"read before anything was written"}, {"cannot stand inside parallel"}, {"17 groups", "0 to 16"}, {"the box is the tile's matrix"}, {"2 of full are named", "say which one"}};
  s.refused = words[static_cast<size_t>(of)];
  return s;
}

// Misuse that the layout of a tile or tensor makes, and a phase that never completes, which the interpreter finds.
Scenario no_box(const Values& v) {
  const int64_t of = v["of"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", tl::bf16, {64, of == 0 ? 63 : 512});
    auto B = b.output("B", tl::bf16, {64, 512});
    b.grid({1}, [&](tl::Index) {
      auto a = b.shared(tl::bf16, {64, of == 2 ? 300 : 64});
      auto full = b.barriers(1);
      if (of == 1) b.annotate_layout(a, tl::Layout::padded);
      if (of == 2) b.annotate_layout(a, tl::Layout::row_major);
      b.arrive_expect(full, 64 * (of == 2 ? 300 : 64) * 2);
      b.load_tensor(A(0, of == 3 ? 4 : 0), a, full);
      b.wait_barrier(full, 0);
      b.copy(a, B(0, 0));
    });
  });
  const std::vector<std::vector<std::string>> words = {{"rows do not start on 16 bytes"}, {"padded", "ask for row_major"}, {"rows of 300 elements"}, {"columns do not start on 16 bytes"}};
  const int64_t columns = of == 2 ? 300 : 64, of_a = of == 0 ? 63 : 512, from = of == 3 ? 4 : 0;
  const Reals a = pattern(tl::bf16, static_cast<size_t>(64 * of_a));
  std::vector<Want> want;
  for (int64_t r = 0; r < 64; ++r)
    for (int64_t c = 0; c < 512; ++c) want.push_back(c < columns ? Want{element_or_zero(a, 64, of_a, r, from + c)} : Want{0, 0, true});
  s.launch().input(tl::bf16, a).output(tl::bf16, want);
  s.needs = Scenario::Needs::no_gpu;
  s.refused_without = words[static_cast<size_t>(of)];
  return s;
}

}  // namespace

void add_async_cases(std::vector<Case>& to) {
  to.push_back({"72", "boxes", {dtypes({tl::f32, tl::bf16, tl::i8}), {"layout", {0, 1, 2, 3, 4}}, {"bm", {8, 64, 320}}, {"spans", {1, 2}}, {"rows", {1, 100}}}, tensor_boxes});
  to.push_back({"72", "ring", {{"slots", {1, 2, 4}}, {"threads", {64, 256}}}, ring_of_copies});
  to.push_back({"72", "stores", {dtypes({tl::f32, tl::bf16, tl::i8}), {"layout", {0, 2, 4}}}, tensor_stores});
  to.push_back({"72", "arrivals", {}, barrier_arrivals});
  to.push_back({"72", "misused", {{"of", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}}}, misused_barriers});
  to.push_back({"72", "no_box", {{"of", {0, 1, 2, 3}}}, no_box});
}

}  // namespace tilert::conformance
