// Case 73: warps with bodies of their own. A product as one writes it by hand: a thread that keeps a ring of tensor copies full,
// warpgroups that multiply out of it and give slots back, results that leave through shared memory, tile after tile.
#include <array>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

struct RoleTypes {
  tl::DType a, b, sum, out;
};
constexpr RoleTypes kRoleTypes[] = {{tl::bf16, tl::bf16, tl::f32, tl::bf16}, {tl::f16, tl::f16, tl::f32, tl::f32}, {tl::i8, tl::u8, tl::i32, tl::i32}};

int64_t role_size(tl::DType dtype) { return dtype == tl::f32 || dtype == tl::i32 ? 4 : dtype == tl::bf16 || dtype == tl::f16 ? 2 : 1; }

void needs_roles(Scenario& s) {
  s.needs = Scenario::Needs::warpgroup_products;
  s.refused_without = {"which has none"};
}

// m x k times n x k.
Reals role_product(const Reals& a, const Reals& b, int64_t m, int64_t n, int64_t k) {
  Reals c(static_cast<size_t>(m * n), 0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t x = 0; x < k; ++x) c[static_cast<size_t>(i * n + j)] += a[static_cast<size_t>(i * k + x)] * b[static_cast<size_t>(j * k + x)];
  return c;
}

enum class Store { by_threads, by_work, by_issuer };

struct HandGemm {
  RoleTypes types;
  int64_t bm, bn, bk, slots, blocks;
  Store store;
  tl::RoleRegisters registers;
};

// Tiles x, x + blocks, ... of the result belong to block x; both roles count trips from tile to tile.
void hand_gemm(tl::Builder& b, const HandGemm& h) {
  const auto& [types, bm, bn, bk, slots, blocks, store, registers] = h;
  auto M = b.dim("M"), N = b.dim("N", tl::DimOptions().divisible(16)), K = b.dim("K", tl::DimOptions().divisible(16));
  auto A = b.input("A", types.a, {M, K}), B = b.input("B", types.b, {N, K});
  auto C = b.output("C", types.out, {M, N});
  b.grid({blocks}, tl::threads(bm % 128 == 0 ? 256 : 128), [&, bm = bm, bn = bn, bk = bk, slots = slots, blocks = blocks, types = types, store = store, registers = registers](tl::Index block) {
    auto a = b.shared(types.a, {slots, bm, bk}), w = b.shared(types.b, {slots, bn, bk});
    auto out = b.shared(types.out, {bm, bn});
    auto full = b.barriers(static_cast<uint32_t>(slots), 1, "full"), free = b.barriers(static_cast<uint32_t>(slots), 1, "free");
    auto filled = b.barriers(1, 1, "filled"), stored = b.barriers(1, 1, "stored");
    const tl::Expr across = b.let(tl::ceildiv(N, bn)), tiles = b.let(across * tl::ceildiv(M, bm)), trips = b.let(tl::ceildiv(K, bk));
    const auto bytes = static_cast<uint32_t>((bm + bn) * bk * role_size(types.a));
    const auto each_tile = [&](const std::function<void(tl::Index, tl::Expr, tl::Expr)>& f) {
      b.serial(tl::ceildiv(tiles - block, blocks), [&](tl::Index round) {
        const tl::Expr tile = b.let(round * blocks + block);
        f(round, tile / across * bm, tile % across * bn);
      });
    };
    const auto issue = [&] {
      each_tile([&](tl::Index round, const tl::Expr& row, const tl::Expr& column) {
        b.serial(trips, [&](tl::Index k) {
          const tl::Expr trip = b.let(round * trips + k), slot = b.let(trip % slots);
          b.wait_barrier(free(slot), trip / slots - 1);
          b.arrive_expect(full(slot), bytes);
          b.load_tensor(A(row, k * bk), a(slot, 0, 0), full(slot));
          b.load_tensor(B(column, k * bk), w(slot, 0, 0), full(slot));
        });
      });
    };
    const auto work = [&] {
      auto sum = b.fragment(types.sum, {bm, bn});
      each_tile([&](tl::Index round, const tl::Expr& row, const tl::Expr& column) {
        b.clear(sum);
        b.serial(trips, [&](tl::Index k) {
          const tl::Expr trip = b.let(round * trips + k), slot = b.let(trip % slots);
          b.wait_barrier(full(slot), trip / slots);
          b.gemm(a(slot, 0, 0), w(slot, 0, 0), sum, tl::trans_b | tl::issue);
          b.commit_products();
          b.wait_products(1);
          b.if_(0 < k, [&] { b.arrive(free((trip + (slots - 1)) % slots)); });  // the slot of the product before
        });
        b.wait_products();
        b.if_(0 < trips, [&] { b.arrive(free((round * trips + trips + (slots - 1)) % slots)); });
        if (store == Store::by_threads) return b.copy(sum, C(row, column));
        if (store == Store::by_work) b.wait_stores(0, TILERT_STORES_READ);
        else b.wait_barrier(stored, round - 1);
        b.copy(sum, out);
        if (store == Store::by_issuer) return b.arrive(filled);
        b.store_tensor(out, C(row, column));
        b.commit_stores();
      });
    };
    if (store != Store::by_issuer) return b.roles(issue, work, registers);
    const auto send = [&] {
      each_tile([&](tl::Index round, const tl::Expr& row, const tl::Expr& column) {
        b.wait_barrier(filled, round);
        b.store_tensor(out, C(row, column));
        b.commit_stores();
        b.wait_stores(0, TILERT_STORES_READ);
        b.arrive(stored);
      });
    };
    b.roles(issue, send, work, registers);
  });
}

Scenario gemm_by_hand(const Values& v) {
  const RoleTypes types = kRoleTypes[v["types"]];
  const HandGemm hand{types, v["bm"], v["bn"], 128 / role_size(types.a), v["slots"], 3, static_cast<Store>(v["store"]),
                      v["registers"] && v["bm"] == 128 ? tl::RoleRegisters{40, 232} : tl::RoleRegisters{}};
  Scenario s;
  s.program([&](tl::Builder& b) { hand_gemm(b, hand); });
  const int64_t bk = hand.bk;
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{3 * hand.bm - 5, 2 * hand.bn - 16, 3 * bk}, {1, 16, 5 * bk - 16}, {hand.bm, hand.bn, 0}, {0, 16, 16}}) {
    const Reals a = whole(static_cast<size_t>(m * k), -4, 4, 1), b = whole(static_cast<size_t>(n * k), types.b == tl::u8 ? 0 : -1, 1, 2);
    s.launch({m, n, k}).input(types.a, a).input(types.b, b).output(types.out, exactly(role_product(a, b, m, n, k)));
  }
  needs_roles(s);
  return s;
}

// Issuers with branches, vars and reads of tensors of their own: rows in the order of a list, some of them not at all.
Scenario listed_rows(const Values& v) {
  const int64_t bm = 8, bn = 64, slots = v["slots"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto L = b.dim("L");
    auto list = b.input("list", tl::i32, {L});
    auto A = b.input("A", tl::f32, {64, bn});
    auto C = b.output("C", tl::f32, {bm, bn});
    b.grid({1}, tl::threads(128), [&](tl::Index) {
      auto a = b.shared(tl::f32, {slots, bm, bn});
      auto full = b.barriers(static_cast<uint32_t>(slots)), free = b.barriers(static_cast<uint32_t>(slots));
      b.roles(
          [&] {
            auto taken = b.var(tl::i32);
            taken = 0;
            b.serial(L, [&](tl::Index i) {
              const tl::Expr row = b.let(tl::cast(tl::index, list(i)));
              b.if_(0 <= row, [&] {
                const tl::Expr n = b.let(tl::cast(tl::index, taken));
                b.wait_barrier(free(n % slots), n / slots - 1);
                b.arrive_expect(full(n % slots), static_cast<uint32_t>(bm * bn * 4));
                b.load_tensor(A(row, 0), a(n % slots, 0, 0), full(n % slots));
                taken = taken + 1;
              });
            });
          },
          [&] {
            auto sum = b.fragment(tl::f32, {bm, bn});
            auto n = b.var(tl::i32);
            n = 0;
            b.clear(sum);
            b.serial(L, [&](tl::Index i) {
              b.if_(tl::Expr(list(i)) >= 0, [&] {
                const tl::Expr at = b.let(tl::cast(tl::index, n));
                b.wait_barrier(full(at % slots), at / slots);
                b.parallel({bm, bn}, [&](tl::Index r, tl::Index c) { sum(r, c) = sum(r, c) * 2 + a(at % slots, r, c); });
                b.arrive(free(at % slots));
                n = n + 1;
              });
            });
            b.copy(sum, C);
          });
    });
  });
  const Reals a = whole(static_cast<size_t>(64 * bn), -8, 8, 3);
  for (const Reals& list : {Reals{}, Reals{-1, 3, 60, -1, 0, 8, 63, -1}, Reals{-1}}) {
    Reals want(static_cast<size_t>(bm * bn), 0);
    for (Real row : list)
      for (int64_t i = 0; row >= 0 && i < bm * bn; ++i) {
        const int64_t at = static_cast<int64_t>(row) * bn + i;
        Real& x = want[static_cast<size_t>(i)];
        x = x * 2 + (at < 64 * bn ? a[static_cast<size_t>(at)] : 0);
      }
    s.launch({static_cast<int64_t>(list.size())}).input(tl::i32, list).input(tl::f32, a).output(tl::f32, exactly(want));
  }
  s.needs = Scenario::Needs::tensor_copies;
  s.refused_without = {"which has none"};
  return s;
}

// Misuse that is known when building.
Scenario misused_roles(const Values& v) {
  const int64_t of = v["of"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", tl::f16, {64, 64});
    auto C = b.output("C", tl::f16, {64, 64});
    b.grid({1}, of == 0 ? tl::persistent() : of == 1 ? tl::threads_fixed(128) : tl::threads(128), [&](tl::Index) {
      auto a = b.shared(tl::f16, {64, 64});
      auto f = b.fragment(tl::f16, {64, 64});
      auto sum = b.fragment(tl::f32, {64, 64});
      if (of == 2) b.clear(f);
      if (of == 3) b.var(tl::f32);
      const auto nothing = [] {};
      const auto fill = [&] { b.copy(A, a); };
      switch (of) {
        case 0: b.roles(nothing, nothing); break;
        case 1: b.roles(nothing, [&] { b.threads([&](tl::Index t) { b.sync_threads(); b.if_(t < 64, [&] { C(0, t) = A(0, t); }); }); }); break;
        case 4: b.roles(fill, nothing); break;
        case 5: b.roles([&] { b.parallel({64}, [&](tl::Index i) { C(0, i) = A(0, i); }); }, nothing); break;
        case 6: b.roles([&] { b.commit_products(); }, nothing); break;
        case 7: b.roles(nothing, [&] { b.return_(); }); break;
        case 8: b.roles(nothing, [&] { b.grid_sync(); }); break;
        case 9: b.serial(2, [&](tl::Index) { b.roles(nothing, nothing); }); break;
        case 10: b.roles(nothing, nothing, {40, 100}); break;
        case 11: {
          auto bar = b.barriers(1);
          b.roles([&] { b.arrive(bar); }, [&] { b.arrive(bar), b.wait_barrier(bar, 0); });
          break;
        }
        case 12: b.roles(nothing, fill), b.copy(a, C); break;
        case 13: b.roles([&] { b.pipelined(4, [&](tl::Index) {}); }, nothing); break;
        case 14: b.clear(a), b.roles([&] { b.if_(tl::cast(tl::f32, a(0, 0)) > 0, [&] { b.commit_stores(); }); }, fill); break;
        case 15: b.roles(nothing, [&] { fill(), b.gemm(a, a, sum, tl::overwrite | tl::trans_b | tl::issue), b.commit_products(), b.copy(sum, C); }); break;
        default: b.roles(nothing, nothing);
      }
    });
  });
  const std::vector<std::vector<std::string>> words = {
      {"persistent"}, {"loop over threads in a role", "parallel"}, {"in front of roles"}, {"declare it in the role"}, {"issuing role", "the work does the rest"},
      {"issuing role"}, {"issuing role"}, {"return in a role"}, {"grid_sync in a role"}, {"outside of loops"}, {"40 and 100 registers", "multiples of 8"},
      {"another role arrives"}, {"last statement"}, {"issuing role"}, {"reads 'shared0'"}, {"is used while an issued gemm"}};
  s.refused = words[static_cast<size_t>(of)];
  return s;
}

}  // namespace

void add_role_cases(std::vector<Case>& to) {
  to.push_back({"73", "gemm_by_hand", {{"types", {0, 1, 2}}, {"bm", {64, 128}}, {"bn", {64, 128}}, {"slots", {2, 4}}, {"store", {0, 1, 2}}, {"registers", {0, 1}}}, gemm_by_hand});
  to.push_back({"73", "listed_rows", {{"slots", {1, 3}}}, listed_rows});
  to.push_back({"73", "misused_roles", {{"of", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}}, misused_roles});
}

}  // namespace tilert::conformance
