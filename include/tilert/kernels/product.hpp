// What the programs of products share: hints of a choice, the loop over K, the result's way out. Use through kernels/gemm.hpp.
#ifndef TILERT_KERNELS_PRODUCT_HPP_
#define TILERT_KERNELS_PRODUCT_HPP_

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "tilert/kernels/epilogue.hpp"

namespace tl::kernels {

namespace detail {
inline bool is_cpu(const Machine& machine) { return machine.target.compare(0, 3, "cpu") == 0; }
inline Error no_candidate(const Machine& machine) {
  return Error(TILERT_UNSUPPORTED, "no tile of this product fits a block's shared memory on " + machine.target +
                                       (machine.device_class.struct_size ? ", of which its device class has " + std::to_string(machine.device_class.shared_bytes) + " bytes" : std::string()) +
                                       ": give the class of a device, or a choice of your own");
}
}  // namespace detail

// The choice for a product on a machine: the cost model's first, for CPUs a tile that serves them all.
inline Result<ProductChoice> choose(const Product& product, const Machine& machine = {}) {
  if (detail::is_cpu(machine)) {
    ProductChoice c;
    c.path = TILERT_PATH_WARP;
    c.tile_m = c.tile_n = c.tile_k = 64;
    c.threads = 128;
    c.stages = 2;
    c.cluster = c.split_k = 1;
    c.flags = TILERT_CHOICE_PERSISTENT;
    return c;
  }
  auto best = recommend_product(product, machine, 1);
  if (!best) return best.error();
  if (best->empty()) return detail::no_candidate(machine);
  return (*best)[0];
}

namespace detail {

inline bool is_integer(DType d) {
  const int32_t v = static_cast<int32_t>(d);
  return v >= TILERT_INT4 && v <= TILERT_UINT64;
}

// In which the products are summed, and in which the epilogue works. Operands of f64 beside wider floats than 8 bits are cast to these.
inline DType sum_type(const Product& p) {
  if (p.accumulator != DType{}) return p.accumulator;
  const auto narrows = [](DType d) { return d == f32 || d == f16 || d == bf16; };
  if ((p.a == f64 || p.b == f64) && !narrows(p.a) && !narrows(p.b)) return f64;
  return is_integer(p.a) && is_integer(p.b) ? i32 : f32;
}
template <class E>
DType work_type(const Product& p) {
  const DType sum = sum_type(p);
  if (sum == f32 || sum == f64) return sum;
  return is_integer(sum) && is_integer(p.c) && std::is_same<E, Plain>::value ? sum : f32;
}

// What no program of a product takes, whose first operand's rows have `row_a` elements as they are stored, the second one's `row_b` (0:
// a dim); success where all is well. A leading dimension below a row would make rows overlap.
inline Status check(const char* who, const Product& p, const ProductChoice& c, int64_t row_a, int64_t row_b) {
  constexpr int64_t kMostExtent = int64_t{1} << 40;
  constexpr uint32_t kMostTile = 1u << 16;
  const auto wrong = [&](const std::string& text) { return Error(TILERT_INVALID_ARGUMENT, who + (": " + text)); };
  const auto number = [](int64_t v) { return std::to_string(v); };
  for (const auto& [name, value] : {std::pair<const char*, int64_t>("m", p.m), {"n", p.n}, {"k", p.k}})
    if (value < 0 || value > kMostExtent) return wrong(name + (" is " + number(value)) + ": give 1 to 2^40, or 0 for a dim");
  struct Leading {
    const char* name;
    int64_t given, row;
  };
  for (const Leading& l : {Leading{"lda", p.lda, row_a}, Leading{"ldb", p.ldb, row_b}, Leading{"ldc", p.ldc, p.n}})
    if (l.given < 0 || l.given > kMostExtent || (l.given != 0 && l.given < l.row))
      return wrong(l.name + (" is " + number(l.given)) + ": give a row's elements or more, here " + number(std::max<int64_t>(l.row, 1)) + " to 2^40, or 0 for rows side by side");
  if (c.path < TILERT_PATH_WARPGROUP || c.path > TILERT_PATH_VECTOR) return wrong("the choice's path is " + number(c.path) + ": take a choice of recommend_product");
  for (const uint32_t extent : {c.tile_m, c.tile_n, c.tile_k})
    if (extent == 0 || extent > kMostTile)
      return wrong("the choice's tile is " + number(c.tile_m) + " x " + number(c.tile_n) + " x " + number(c.tile_k) + ": take a choice of recommend_product");
  if (c.stages == 0 || c.stages > 16) return wrong("the choice's stages are " + number(c.stages) + ": give 1 to 16, or take a choice of recommend_product");
  return Done{};
}
inline Status check(const char* who, const Product& p, const ProductChoice& c) {
  return check(who, p, c, p.trans_a ? p.m : p.k, p.trans_b ? p.k : p.n);
}

inline constexpr int64_t kMostGroups = 1024;
inline Error wrong_groups(const char* who, int64_t groups) {
  return Error(TILERT_INVALID_ARGUMENT, who + (": " + std::to_string(groups)) + " groups: give 1 to " + std::to_string(kMostGroups));
}

// A size of a product: constant where it is given, else a dim.
inline Expr size(Builder& b, const char* name, int64_t value) { return value > 0 ? Expr(value) : Expr(b.dim(name)); }

inline TensorOptions rows_apart(int64_t leading) {
  TensorOptions o;
  if (leading > 0) o.strides({leading, 1});
  return o;
}

inline Hints hints_of(const Product& p, const ProductChoice& c) {
  Hints h;
  if (p.fixed_order) h.fixed_order();
  if (c.persistent()) h.persistent();
  if (c.raster > 0) h.raster(c.raster);
  if (c.cluster > 1) h.cluster(c.cluster);
  if (c.split_k > 1) h.split_k(c.split_k);
  if (c.path != TILERT_PATH_WARPGROUP) h.roles_off().threads(c.threads);
  else h.consumers(c.consumers);
  // Kernels of one plan are those of one instruction, or there are none; whole numbers have one sum by any.
  if (p.fixed_order && c.path == TILERT_PATH_WARPGROUP && !is_integer(sum_type(p))) h.roles_on().must().for_target("sm_90a");
  return h;
}

// The loop over K: load_a(k, tile) and load_b(k, tile) fill the operands' tiles from place k of K. The tile of sums holds C's
// rows and columns, swapped where the choice says so.
template <class LoadA, class LoadB>
Tile multiply(Builder& b, const Product& p, const ProductChoice& c, const Expr& trips, LoadA&& load_a, LoadB&& load_b) {
  const int64_t m = c.tile_m, n = c.tile_n, depth = c.tile_k;
  const Tile a = p.trans_a ? b.shared(p.a, {depth, m}) : b.shared(p.a, {m, depth});
  const Tile w = p.trans_b ? b.shared(p.b, {n, depth}) : b.shared(p.b, {depth, n});
  const Tile sum = c.swapped() ? b.fragment(sum_type(p), {n, m}) : b.fragment(sum_type(p), {m, n});
  GemmFlag flags = p.tf32 ? tf32 : GemmFlag{};
  if (c.swapped() ? !p.trans_b : p.trans_a) flags = flags | trans_a;
  if (c.swapped() ? !p.trans_a : p.trans_b) flags = flags | trans_b;
  b.clear(sum);
  b.pipelined(trips, stages(c.stages), [&](const Index& k) {
    load_a(k * depth, a);
    load_b(k * depth, w);
    if (c.swapped()) b.gemm(w, a, sum, flags);
    else b.gemm(a, w, sum, flags);
  });
  return sum;
}

// The epilogue over a tile of sums whose first element is C's (row, column); the tile to store.
template <class E>
Tile finish(Builder& b, const Product& p, const ProductChoice& c, const Tile& sum, const E& epilogue, const Index& row, const Index& column,
            const Index& group = 0) {
  const int64_t m = c.tile_m, n = c.tile_n;
  const DType work = work_type<E>(p), from = sum_type(p);
  if (std::is_same<E, Plain>::value && work == from) return sum;
  const Tile out = work == from ? sum : c.swapped() ? b.fragment(work, {n, m}) : b.fragment(work, {m, n});
  const auto value = [&](const Index& i, const Index& j) { return work == from ? Expr(sum(i, j)) : cast(work, sum(i, j)); };
  if (c.swapped()) b.parallel({n, m}, [&](const Index& j, const Index& i) { out(j, i) = apply(epilogue, value(j, i), row + i, column + j, group); });
  else b.parallel({m, n}, [&](const Index& i, const Index& j) { out(i, j) = apply(epilogue, value(i, j), row + i, column + j, group); });
  return out;
}

}  // namespace detail
}  // namespace tl::kernels

#endif  // TILERT_KERNELS_PRODUCT_HPP_
