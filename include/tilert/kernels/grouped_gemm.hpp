// Products of experts: rows of A belong to groups, each with a matrix B of its own. How many rows a group has stands in device
// memory only, so that a launch can be captured. Use through kernels/gemm.hpp.
#ifndef TILERT_KERNELS_GROUPED_GEMM_HPP_
#define TILERT_KERNELS_GROUPED_GEMM_HPP_

#include <utility>

#include "tilert/kernels/product.hpp"

namespace tl::kernels {

// contiguous: rows sorted by group, group g having rows offsets[g] to offsets[g + 1] - 1 of A[rows, k] and C[rows, n];
// offsets: int32, groups + 1 of them. Rows of no group keep their bytes in C.
// masked: group g has the first counts[g] rows of A[g] and C[g]; A[groups, rows, k], C[groups, rows, n], counts: int32, groups of
// them, none above rows. Rows beyond the count keep their bytes in C.
enum class GroupForm { contiguous, masked };

// The most tiles of rows that groups of so many rows (contiguous: of all; masked: of each) can have in all: the first size of the
// parameter "tiles". 0 for a choice without rows, which no program takes.
inline int64_t grouped_tiles(GroupForm form, int64_t groups, int64_t rows, const ProductChoice& c) {
  const int64_t m = c.tile_m;
  if (m == 0) return 0;
  return form == GroupForm::masked ? groups * ((rows + m - 1) / m) : rows / m + (rows < groups ? rows : groups);
}

namespace detail {

// The kernel before the product's: which tile of rows belongs to which group, {group, first row, end of the group's rows}.
struct GroupSchedule {
  const ProductChoice& choice;
  GroupForm form;
  int64_t groups;
  Tile sizes, tiles, tile_count;  // sizes: offsets or counts
  Expr rows, columns, table;      // A's rows of a group (masked), C's columns, tiles' first size

  void build(Builder& b) const {
    constexpr int64_t kSlots = 32;
    const int64_t m = choice.tile_m;
    b.grid({ceildiv(table, kSlots) + 1}, threads(128), [&](const Index& block) {
      const Tile taken = b.fragment(i32, {groups}), ends = b.fragment(i32, {groups});
      b.parallel({groups}, [&](const Index& g) { taken(g) = (rows_of(g) + (m - 1)) / m; });
      b.scan(sum, taken, ends, 0);
      const Tile all_ends = b.shared(i32, {groups}), all_taken = b.shared(i32, {groups});
      b.copy(ends, all_ends);
      b.copy(taken, all_taken);
      const Tile passed = b.fragment(i32, {kSlots, groups}), group = b.fragment(i32, {kSlots});
      b.parallel({kSlots, groups}, [&](const Index& s, const Index& g) {
        passed(s, g) = select(Index(all_ends(g)) <= block * kSlots + s, b.constant(i32, 1), b.constant(i32, 0));
      });
      b.reduce(sum, passed, group, 1);
      b.parallel({kSlots}, [&](const Index& s) {
        const Expr g = group(s);
        b.if_(g < static_cast<int32_t>(groups), [&] {
          const Index slot = block * kSlots + s;
          const Index within = slot - (Index(all_ends(g)) - Index(all_taken(g)));
          const Index first = form == GroupForm::contiguous ? Index(sizes(g)) : g * rows;
          tiles(slot, 0) = g;
          tiles(slot, 1) = cast(i32, first + within * m);
          tiles(slot, 2) = cast(i32, first + Index(rows_of(g)));
        });
      });
      b.if_(block == 0, [&] { tile_count(0) = cast(i32, Index(all_ends(groups - 1)) * ceildiv(columns, choice.tile_n)); });
    });
  }
  Expr rows_of(const Index& g) const {
    const Expr count = form == GroupForm::contiguous ? sizes(g + 1) - sizes(g) : Expr(sizes(g));
    return max(count, 0);
  }
};

}  // namespace detail

// C = epilogue(A B[group of the row]), B[groups, n, k] with p.trans_b, else [groups, k, n]. p.m: rows of A (of a group in the
// masked form), 0: the dim "M"; p.n and p.k as try_gemm's; p.lda, p.ldb, p.ldc and p.trans_a are not taken. Parameters: A, B, C;
// "sizes", the offsets or counts; "tiles" {T, 3} and "tile_count" {1}, int32 scratch that one launch at a time uses, T a dim of
// at least grouped_tiles(); then those of the epilogue, whose rows are A's, of all groups one after the other (in the masked form
// a dim "rows" of groups times M).
template <class E = Plain>
Result<Program> try_grouped_gemm(const Product& p, const ProductChoice& c, GroupForm form, int64_t groups, E epilogue = {}) {
  if (p.trans_a || p.lda || p.ldb || p.ldc)
    return Error(TILERT_UNSUPPORTED, std::string("grouped_gemm: A is row-major and all tensors are contiguous: copy, or call try_gemm for each group"));
  if (groups < 1 || groups > detail::kMostGroups) return detail::wrong_groups("grouped_gemm", groups);
  if (c.path == TILERT_PATH_VECTOR) return Error(TILERT_INVALID_ARGUMENT, std::string("grouped_gemm: the choice is one of tiles: take one of another path"));
  if (const Status ok = detail::check("grouped_gemm", p, c); !ok) return ok.error();
  Builder b("grouped_gemm");
  const Expr M = detail::size(b, "M", p.m), N = detail::size(b, "N", p.n), K = detail::size(b, "K", p.k), T = b.dim("T");
  const bool masked = form == GroupForm::masked;
  Tile A = masked ? b.input("A", p.a, {groups, M, K}) : b.input("A", p.a, {M, K});
  Tile B = p.trans_b ? b.input("B", p.b, {groups, N, K}) : b.input("B", p.b, {groups, K, N});
  Tile C = masked ? b.output("C", p.c, {groups, M, N}) : b.output("C", p.c, {M, N});
  const Tile sizes = b.input("sizes", i32, {masked ? groups : groups + 1}, TensorOptions().alignment(4));
  const Tile tiles = b.inout("tiles", i32, {T, 3}), tile_count = b.inout("tile_count", i32, {1});
  if constexpr (detail::declares<E>::value) detail::declare(epilogue, b, masked ? Expr(b.dim("rows")) : M, N);
  if (masked) A = b.reshape(A, {M * groups, K}), C = b.reshape(C, {M * groups, N});
  if (p.trans_b) B = b.reshape(B, {N * groups, K});
  detail::GroupSchedule{c, form, groups, sizes, tiles, tile_count, M, N, T}.build(b);
  const int64_t n = c.tile_n, depth = c.tile_k;
  // The tensor copy engine reads matrices, not experts' [k, n]: products of warps are what each choice comes to.
  ProductChoice made = c;
  if (p.fixed_order && !p.trans_b) made.path = TILERT_PATH_WARP;
  made.cluster = 1, made.raster = 0;  // blocks whose tiles are counted in memory make no clusters, and come in the grid's order
  Hints hints = detail::hints_of(p, made);
  b.grid({ceildiv(N, n), T}, hints.persistent(tile_count), [&](const Index& x, const Index& y) {
    const Index group = tiles(y, 0), row = tiles(y, 1), end = tiles(y, 2);
    const Tile sum = detail::multiply(
        b, p, c, ceildiv(K, depth), [&](const Index& k, const Tile& a) { b.copy(A(row, k), a); },
        [&](const Index& k, const Tile& w) {
          if (p.trans_b) b.copy(B(group * N + x * n, k), w);
          else b.copy(B(group, k, x * n).size({1, depth, n}), w);
        });
    const Tile out = detail::finish(b, p, c, sum, epilogue, row, x * n, group);
    if (c.swapped()) b.copy(out, b.transposed(C)(x * n, row), CopyOptions().valid({N, end}));
    else b.copy(out, C(row, x * n), CopyOptions().valid({end, N}));
  });
  return b.try_finish();
}

#if TL_EXCEPTIONS
template <class E = Plain>
Program grouped_gemm(const Product& p, const ProductChoice& c, GroupForm form, int64_t groups, E epilogue = {}) {
  return try_grouped_gemm(p, c, form, groups, std::move(epilogue)).value();
}
#endif

}  // namespace tl::kernels

#endif  // TILERT_KERNELS_GROUPED_GEMM_HPP_
