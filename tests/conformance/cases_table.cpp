// Cases 74: parameters that are tables of pointers: products of experts whose weights lie apart, tensors without memory, places
// out of the table, writes to tensors that each point picks.
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// A tile of rows that one expert has: [first, last). Experts out of range, and those without weights, give zeros.
struct RowsOfExpert {
  int64_t expert, first, last;
};
constexpr RowsOfExpert kTiles[] = {{2, 0, 32}, {0, 32, 45}, {2, 45, 46}, {4, 46, 60}, {-1, 60, 70}, {1, 70, 75}};
constexpr int kRows = 75, kExperts = 4;  // expert 1 has no weights, 3 no rows

void launch_experts(Scenario& s, tl::DType dtype, int64_t k, int64_t n) {
  const Reals a = whole(kRows * k, -3, 3, 1);
  std::vector<Reals> weights;
  for (int e = 0; e < kExperts; ++e) weights.push_back(whole(k * n, -3, 3, 10 + e));
  Reals want(kRows * n, 0), experts, ends;
  for (const auto& [expert, first, last] : kTiles) {
    experts.push_back(expert), ends.push_back(first), ends.push_back(last);
    if (expert < 0 || expert >= kExperts || expert == 1) continue;
    for (int64_t i = first; i < last; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t p = 0; p < k; ++p) want[i * n + j] += a[i * k + p] * weights[expert][p * n + j];
  }
  Launch& launch = s.launch({kExperts, static_cast<int64_t>(experts.size()), kRows, k, n}).input(dtype, a);
  for (int e : {0, 2, 3}) launch.input(dtype, weights[e]).behind();
  launch.table(dtype, {1, -1, 2, 3}).input(tl::i32, experts).input(tl::i64, ends).output(tl::f32, exactly(want));
}

// Rows of both operands that are whole vectors, ragged, and of any length.
Scenario product_of_experts(const Values& v) {
  const int bm = 32, bn = 32, bk = 32;
  Scenario s;
  s.same_bits = true;
  for (uint32_t stages : {1u, 3u})
    s.program([&](tl::Builder& b) {
      auto E = b.dim("E"), T = b.dim("T"), M = b.dim("M"), K = b.dim("K"), N = b.dim("N");
      auto A = b.input("A", v.dtype(), {M, K}), W = b.input("W", v.dtype(), {E, K, N}, tl::pointer_table());
      auto expert = b.input("expert", tl::i32, {T}), ends = b.input("ends", tl::i64, {T, 2});
      auto C = b.output("C", tl::f32, {M, N});
      b.grid({tl::ceildiv(N, bn), T}, [&](tl::Index x, tl::Index y) {
        auto a = b.shared(v.dtype(), {bm, bk}), w = b.shared(v.dtype(), {bk, bn});
        auto acc = b.fragment(tl::f32, {bm, bn});
        const tl::Expr e = expert(y), first = ends(y, 0), last = ends(y, 1);
        b.clear(acc);
        b.pipelined(tl::ceildiv(K, bk), tl::stages(stages), [&](tl::Index i) {
          b.copy(A(first, i * bk), a, tl::CopyOptions().valid({last, K}));
          b.copy(W(e, i * bk, x * bn), w);
          b.gemm(a, w, acc);
        });
        b.copy(acc, C(first, x * bn), tl::CopyOptions().valid({last, N}));
      });
    });
  constexpr int64_t kSizes[][2] = {{32, 64}, {72, 40}, {71, 37}, {32, 37}, {71, 64}};
  for (const auto& [k, n] : kSizes) launch_experts(s, v.dtype(), k, n);
  return s;
}

void launch_exchange(Scenario& s, tl::DType dtype, int64_t count, int64_t rows, int64_t n, int64_t gap) {
  Launch& launch = s.launch({count, rows});
  std::vector<int> from, to;
  const int64_t row = n + gap;
  std::vector<Reals> all;
  for (int64_t g = 0; g < count; ++g) {
    all.push_back(rows ? pattern(dtype, rows * row, g) : Reals());
    from.push_back(rows ? static_cast<int>(g) : -1);
    if (rows) launch.input(dtype, all.back()).behind();
  }
  launch.table(dtype, from);
  if (gap) launch.placed({count, rows, n}, {0, row, 1});
  for (int64_t g = 0; g < count && rows; ++g) {
    Reals want;
    const int64_t source = count - 2 - g;  // y(g) is x(count - 1 - g - 1)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < n; ++j) want.push_back(source >= 0 ? all[source][i * row + j] : Real{3});
    to.push_back(static_cast<int>(launch.arguments.size()));
    launch.output(dtype, exactly(want)).behind();
  }
  to.resize(count, -1);
  launch.table(dtype, to);
}

// Whole tensors from one table to the other in another order, their rows `gap` apart, a row more than there is asked for.
Scenario tensors_change_places(const Values& v) {
  const int64_t n = 40, gap = v["gap"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto G = b.dim("G"), R = b.dim("R");
    const auto apart = gap ? tl::pointer_table().strides({n + gap, 1}) : tl::pointer_table();
    auto x = b.input("x", v.dtype(), {G, R, n}, apart);
    auto y = b.output("y", v.dtype(), {G, R, n}, tl::pointer_table().alignment(32));
    b.grid({G, tl::ceildiv(R + 1, 16)}, [&](tl::Index g, tl::Index r) {
      auto t = v["scope"] ? b.fragment(v.dtype(), {16, n}) : b.shared(v.dtype(), {16, n});
      b.copy(x(g - 1, r * 16, 0), t, tl::CopyOptions().safe(3).eviction(v["scope"] ? 1 : 0));
      b.copy(t, y(G - 1 - g, r * 16, 0), tl::CopyOptions().eviction(v["scope"] ? 2 : 0));
    });
  });
  constexpr int64_t kSizes[][2] = {{0, 16}, {1, 0}, {1, 16}, {3, 0}, {3, 16}, {3, 19}};
  for (const auto& [count, rows] : kSizes) launch_exchange(s, v.dtype(), count, rows, n, gap);
  return s;
}

constexpr int kGroups = 5, kSlots = 7;

void launch_rows(Scenario& s, int64_t points, int64_t wide, int64_t how) {
  const Reals x = whole(points * wide, -4, 4, 5);
  Reals groups, slots;
  std::vector<std::vector<Want>> want(kGroups, untouched(kSlots * wide));
  std::vector<Reals> held(kGroups, whole(kSlots * wide, 10, 20, 6));
  for (int64_t p = 0; p < points; ++p) {
    const int64_t in = p % (kGroups + 2), g = in - 1;                // -1 and 5 are out of the table
    const int64_t slot = (p / (kGroups + 2) * 2 + in) % (kSlots + 2);  // 7 and 8 are out of the tensor
    groups.push_back(g), slots.push_back(slot);
    if (g < 0 || g >= kGroups || g == 3) continue;
    const int64_t at = how == 2 ? slot % 2 : slot;
    for (int64_t j = 0; j < wide && at < kSlots; ++j) {
      Want& one = want[g][at * wide + j];
      const Real before = held[g][at * wide + j], add = x[p * wide + j] * static_cast<Real>(g + 2);
      one = {how == 0 ? add : how == 2 && !one.untouched ? one.value + add : before + add, 0, false};
    }
  }
  Launch& launch = s.launch({points, kGroups, kSlots}).input(tl::f32, x).input(tl::i32, groups).input(tl::i32, slots);
  std::vector<int> tensors, scales;
  for (int g = 0; g < kGroups; ++g) {
    tensors.push_back(g == 3 ? -1 : static_cast<int>(launch.arguments.size()));
    if (g != 3) launch.inout(tl::f32, held[g], want[g]).behind();
  }
  launch.table(tl::f32, tensors);
  for (int g = 0; g < kGroups; ++g) {
    scales.push_back(static_cast<int>(launch.arguments.size()));
    launch.input(tl::f32, {static_cast<Real>(g + 2)}).behind();
  }
  launch.table(tl::f32, scales);
}

// Each point picks its tensor: rows out of the table, out of the tensor and without memory are dropped.
Scenario scattered_rows(const Values& v) {
  const int64_t wide = v["wide"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto P = b.dim("P"), G = b.dim("G"), S = b.dim("S");
    auto x = b.input("x", tl::f32, {P, wide});
    auto group = b.input("group", tl::i32, {P}), slot = b.input("slot", tl::i32, {P});
    auto y = b.inout("y", tl::f32, {G, S, wide}, tl::pointer_table());
    auto scale = b.input("scale", tl::f32, {G}, tl::pointer_table());
    b.grid({tl::ceildiv(P, 16)}, [&](tl::Index block) {
      b.parallel({16, wide}, [&](tl::Index i, tl::Index j) {
        const tl::Index p = block * 16 + i;
        b.if_(p < P, [&] {
          const tl::Expr g = group(p), value = x(p, j) * scale(g);
          if (v["how"] == 0) y(g, slot(p), j) = value;
          if (v["how"] == 1) y(g, slot(p), j) = y(g, slot(p), j) + value;
          if (v["how"] == 2) b.atomic_add(y(g, slot(p) % 2, j), value);
        });
      });
    });
  });
  for (const int64_t points : {0, 33, 48}) launch_rows(s, points, wide, v["how"]);
  return s;
}

// Each trip of a pipelined loop takes its tile from a tensor of its own (blocks of a paged cache).
Scenario tile_of_each_trip(const Values& v) {
  const int64_t rows = 16, n = 32;
  Scenario s;
  s.same_bits = true;
  for (uint32_t stages : {1u, 3u})
    s.program([&](tl::Builder& b) {
      auto P = b.dim("P"), G = b.dim("G");
      auto x = b.input("x", v.dtype(), {G, rows, n}, tl::pointer_table()), q = b.input("q", v.dtype(), {rows, n});
      auto order = b.input("order", tl::i32, {P});
      auto y = b.output("y", tl::f32, {rows, rows});
      b.grid({1}, [&](tl::Index) {
        auto t = b.shared(v.dtype(), {rows, n}), of = b.shared(v.dtype(), {rows, n});
        auto sum = b.fragment(tl::f32, {rows, rows});
        b.clear(sum);
        b.copy(q, of);
        b.pipelined(P, tl::stages(stages), [&](tl::Index i) {
          if (v["indirect"]) b.copy(x(order(i), 0, 0), t);
          else b.copy(x(i, 0, 0), t);
          b.gemm(of, t, sum, tl::trans_b);
        });
        b.copy(sum, y);
      });
    });
  const int kPages = 3;
  const Reals q = whole(rows * n, -2, 2, 3);
  std::vector<Reals> all;
  for (int g = 0; g < kPages; ++g) all.push_back(whole(rows * n, -3, 3, 20 + g));
  const int64_t of_trip[] = {2, 0, 1, 3, 1, 4, 2};  // 3 and 4 are out of the table
  for (int64_t pages : {0, 1, 7}) {
    Reals order, want(rows * rows, 0);
    for (int64_t i = 0; i < pages; ++i) {
      order.push_back(static_cast<Real>(of_trip[i]));
      const int64_t page = v["indirect"] ? of_trip[i] : i;
      for (int64_t r = 0; r < rows && page < kPages; ++r)
        for (int64_t c = 0; c < rows; ++c)
          for (int64_t k = 0; k < n; ++k) want[r * rows + c] += q[r * n + k] * all[page][c * n + k];
    }
    Launch& launch = s.launch({pages, kPages});
    for (const Reals& page : all) launch.input(v.dtype(), page).behind();
    launch.table(v.dtype(), {0, 1, 2}).input(v.dtype(), q).input(tl::i32, order).output(tl::f32, exactly(want));
  }
  return s;
}

// Threads copy ahead from tensors of their own: 16 of them each, of which the first and the last have none; the others end among
// the elements of one copy.
Scenario threads_copy_ahead(const Values& v) {
  const int64_t wide = v["wide"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto G = b.dim("G"), N = b.dim("N");
    auto x = b.input("x", tl::f32, {G, N}, tl::pointer_table()), y = b.output("y", tl::f32, {256});
    b.grid({1}, tl::threads_fixed(64), [&](tl::Index) {
      auto tile = b.shared(tl::f32, {256});
      b.threads([&](tl::Index t) {
        b.copy_async(x(t / 16 - 1, t % 16 * 4), tile(t * 4), 4);
        b.commit_copies();
        b.wait_copies(0);
        b.sync_threads();
        b.serial(4, [&](tl::Index i) { y(i * 64 + t) = tile(255 - (i * 64 + t)); });
      });
    });
  });
  const Reals first = counting(wide, 1), second = counting(wide, 500);
  Reals want;
  for (int64_t i = 255; i >= 0; --i) want.push_back(i / 64 == 1 && i % 64 < wide ? first[i % 64] : i / 64 == 2 && i % 64 < wide ? second[i % 64] : Real{0});
  s.launch({2, wide}).input(tl::f32, first).behind().input(tl::f32, second).behind().table(tl::f32, {0, 1}).output(tl::f32, exactly(want));
  return s;
}

enum Fault : int64_t { several_entries, reshaped, first_dim_moved, no_count };

Scenario no_meaning(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = v["fault"] == no_count ? b.input("x", tl::f32, {}, tl::pointer_table()) : b.input("x", tl::f32, {4, 8, 8}, tl::pointer_table());
    if (v["fault"] == reshaped) b.reshape(x, {4, 64});
    if (v["fault"] == first_dim_moved) b.transposed(x, {1, 0, 2});
    b.grid({1}, [&](tl::Index) {
      auto t = b.shared(tl::f32, {2, 8, 8});
      if (v["fault"] == several_entries) b.copy(x(0, 0, 0).size({2, 8, 8}), t);
    });
  });
  s.refused = {"table"};
  return s;
}

// A tensor is no table, nor is nothing one with entries; the pointers of a table are aligned.
Scenario no_table(const Values& v) {
  Scenario s;
  s.program([](tl::Builder& b) {
    auto x = b.input("pages", tl::f32, {2, 8}, tl::pointer_table()), y = b.output("y", tl::f32, {8});
    b.grid({1}, [&](tl::Index) { b.parallel({8}, [&](tl::Index i) { y(i) = x(1, i); }); });
  });
  Launch& launch = s.launch();
  if (v["fault"] == 0) launch.input(tl::f32, counting(16));
  if (v["fault"] == 1) launch.table(tl::f32, {-1, -1}).null();
  if (v["fault"] == 2) launch.table(tl::f32, {-1, -1}).placed({3, 8}, {});
  launch.output(tl::f32, untouched(8));
  s.fails = v["fault"] == 2 ? TILERT_SHAPE : TILERT_INVALID_ARGUMENT;
  s.words = {"pages"};
  return s;
}

}  // namespace

void add_table_cases(std::vector<Case>& to) {
  to.push_back({"74", "products_of_experts", {dtypes({tl::f16, tl::f32, tl::bf16})}, product_of_experts});
  to.push_back({"74", "tensors_of_a_table_change_places", {dtypes({tl::f16, tl::i4, tl::i8}), {"gap", {0, 8}}, {"scope", {0, 1}}}, tensors_change_places});
  to.push_back({"74", "points_pick_their_tensors", {{"wide", {1, 8}}, {"how", {0, 1, 2}}}, scattered_rows});
  to.push_back({"74", "each_trip_takes_its_tensor", {dtypes({tl::f16, tl::f32}), {"indirect", {0, 1}}}, tile_of_each_trip});
  to.push_back({"74", "threads_copy_ahead_from_a_table", {{"wide", {64, 62, 7}}}, threads_copy_ahead});
  to.push_back({"74", "tables_without_a_meaning", {{"fault", {several_entries, reshaped, first_dim_moved, no_count}}}, no_meaning});
  to.push_back({"74", "arguments_that_are_no_table", {{"fault", {0, 1, 2}}}, no_table});
}

}  // namespace tilert::conformance
