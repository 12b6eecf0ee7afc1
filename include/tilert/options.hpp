// Options, flags and hints of tl::Builder's calls. Use through tilert.hpp.
#ifndef TILERT_OPTIONS_HPP_
#define TILERT_OPTIONS_HPP_

#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "tilert/values.hpp"

namespace tl {

// Flags of gemm and reduce, and their rarer options.
enum class GemmFlag : uint32_t {};
inline constexpr GemmFlag trans_a{TILERT_GEMM_TRANS_A}, trans_b{TILERT_GEMM_TRANS_B}, overwrite{TILERT_GEMM_OVERWRITE}, issue{TILERT_GEMM_ISSUE},
    tf32{TILERT_GEMM_TF32}, trans_a_scale{TILERT_GEMM_TRANS_A_SCALE}, trans_b_scale{TILERT_GEMM_TRANS_B_SCALE};
inline constexpr GemmFlag operator|(GemmFlag a, GemmFlag b) {
  return static_cast<GemmFlag>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}
struct GemmOptions {
  uint32_t flags = 0;
  Expr accumulate;  // bool: false overwrites
  bool has_accumulate = false;
  tilert_warp_split split = TILERT_SPLIT_AUTO;
  GemmOptions() = default;
  GemmOptions(GemmFlag f) : flags(static_cast<uint32_t>(f)) {}
  GemmOptions& accumulate_if(const Expr& e) { return accumulate = e, has_accumulate = true, *this; }
  GemmOptions& warps(tilert_warp_split s) { return split = s, *this; }
  // A keeps two of each four elements along K; `places` says which (tilert_gemm_options).
  GemmOptions& sparse(const Region& places) { return metadata = std::make_shared<const Region>(places), *this; }
  // Sums of blocks of K times the blocks' scales.
  GemmOptions& scaled_a(const Region& scales) { return a_scale = std::make_shared<const Region>(scales), *this; }
  GemmOptions& scaled_b(const Region& scales) { return b_scale = std::make_shared<const Region>(scales), *this; }
  std::shared_ptr<const Region> metadata, a_scale, b_scale;

  // The C form, with regions of its own.
  struct Raw {
    Region::Raw metadata, a_scale, b_scale;
    tilert_gemm_options options{};
    Raw(const GemmOptions& from, tilert_builder* builder) : metadata(of(from.metadata)), a_scale(of(from.a_scale)), b_scale(of(from.b_scale)) {
      options.struct_size = sizeof options;
      options.flags = from.flags;
      options.warp_split = from.split;
      if (from.has_accumulate) options.accumulate = from.accumulate.in(builder);
      if (from.metadata) options.metadata = &metadata.region;
      if (from.a_scale) options.a_scale = &a_scale.region;
      if (from.b_scale) options.b_scale = &b_scale.region;
    }
    static Region of(const std::shared_ptr<const Region>& region) { return region ? *region : Region(); }
  };
};
inline GemmOptions sparse(const Region& places) { return GemmOptions().sparse(places); }
inline GemmOptions scaled(const Region& a, const Region& b) { return GemmOptions().scaled_a(a).scaled_b(b); }
inline GemmOptions operator|(GemmOptions options, GemmFlag flag) { return options.flags |= static_cast<uint32_t>(flag), options; }
inline GemmOptions operator|(GemmFlag flag, GemmOptions options) { return std::move(options) | flag; }
enum class ScanFlag : uint32_t { none = 0 };
inline constexpr ScanFlag reverse{TILERT_SCAN_REVERSE}, exclusive{TILERT_SCAN_EXCLUSIVE};
constexpr ScanFlag operator|(ScanFlag a, ScanFlag b) { return static_cast<ScanFlag>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b)); }
enum class SortFlag : uint32_t { none = 0 };
inline constexpr SortFlag descending{TILERT_SORT_DESCENDING};
enum class ReduceFlag : uint32_t { none = 0 };
inline constexpr ReduceFlag accumulate{TILERT_REDUCE_ACCUMULATE};

struct CopyOptions {
  std::vector<Expr> valid_;
  Expr safe_;
  bool has_safe = false;
  tilert_copy_prefer prefer_ = TILERT_COPY_AUTO;
  uint32_t flags_ = 0, eviction_ = 0, multicast_ = 0;
  CopyOptions& valid(std::initializer_list<Expr> ends) { return valid_ = ends, *this; }
  CopyOptions& safe(const Expr& e) { return safe_ = e, has_safe = true, *this; }
  CopyOptions& prefer(tilert_copy_prefer p) { return prefer_ = p, *this; }
  CopyOptions& must() { return flags_ |= TILERT_COPY_MUST, *this; }
  CopyOptions& eviction(uint32_t e) { return eviction_ = e, *this; }
  CopyOptions& multicast() { return multicast_ = 1, *this; }
};

// Orders of atomic operations and whom they reach: tl::acquire, tl::release.at(TILERT_ORDER_SYSTEM).
struct Order {
  tilert_order order = TILERT_ORDER_RELAXED;
  tilert_order_scope scope = TILERT_ORDER_DEVICE;
  constexpr Order at(tilert_order_scope s) const { return {order, s}; }
};
inline constexpr Order relaxed{}, acquire{TILERT_ORDER_ACQUIRE}, release{TILERT_ORDER_RELEASE}, acq_rel{TILERT_ORDER_ACQ_REL};

// Of shared tiles.
enum class Layout : int32_t {
  automatic = TILERT_LAYOUT_AUTO,
  row_major = TILERT_LAYOUT_ROW_MAJOR,
  padded = TILERT_LAYOUT_PADDED,
  swizzle_32 = TILERT_LAYOUT_SWIZZLE_32,
  swizzle_64 = TILERT_LAYOUT_SWIZZLE_64,
  swizzle_128 = TILERT_LAYOUT_SWIZZLE_128,
};
struct Must {
  uint32_t flag = 0;
};
inline constexpr Must must{TILERT_LAYOUT_MUST};

struct Stages {
  uint32_t count = 0;
};
inline constexpr Stages stages(uint32_t count) { return {count}; }

// Hints and flags of a kernel: tl::threads(128).min_blocks(2). must() and for_target() speak of the hint before them:
// tl::threads(128).must().max_registers(96).for_target("sm_90a").
struct Hints {
  std::vector<tilert_hint> list;
  uint32_t flags = 0;
  Hints& add(tilert_hint_kind kind, int64_t value) {
    tilert_hint hint{};
    hint.struct_size = sizeof hint;
    hint.kind = kind;
    hint.value = value;
    list.push_back(hint);
    return *this;
  }
  Hints& threads(int64_t n) { return add(TILERT_HINT_THREADS, n); }
  Hints& threads_fixed(int64_t n) { return add(TILERT_HINT_THREADS_FIXED, n); }
  Hints& min_blocks(int64_t n) { return add(TILERT_HINT_MIN_BLOCKS, n); }
  Hints& max_registers(int64_t n) { return add(TILERT_HINT_MAX_REGISTERS, n); }
  Hints& roles_off() { return add(TILERT_HINT_ROLES, 1); }
  Hints& roles_on() { return add(TILERT_HINT_ROLES, 2); }
  Hints& consumers(int64_t warpgroups) { return add(TILERT_HINT_CONSUMERS, warpgroups); }
  Hints& raster(int64_t width) { return add(TILERT_HINT_RASTER, width); }
  Hints& cluster(int64_t blocks) { return add(TILERT_HINT_CLUSTER, blocks); }
  Hints& pdl() { return add(TILERT_HINT_PDL, 1); }
  Hints& split_k(int64_t parts) { return add(TILERT_HINT_SPLIT_K, parts); }
  Hints& must() {
    if (!list.empty()) list.back().flags |= TILERT_HINT_MUST;
    return *this;
  }
  Hints& for_target(const char* target) {  // a string that lives until the grid is made
    if (!list.empty()) list.back().target = target;
    return *this;
  }
  Hints& no_contract() { return flags |= TILERT_GRID_NO_CONTRACT, *this; }
  Hints& fast_math() { return flags |= TILERT_GRID_FAST_MATH, *this; }  // every value of the kernel as tl::fast makes it
  // An element's bits depend on the values that enter it alone: not on dynamic dims, variants and hints of class B.
  Hints& fixed_order() { return flags |= TILERT_GRID_FIXED_ORDER, *this; }
  // The grid's points are tiles, over which as many blocks loop as fit; only the first ones, where `count` says how many.
  Hints& persistent() { return flags |= TILERT_GRID_PERSISTENT, *this; }
  Hints& persistent(const Tile& count) { return tile_count = count.tensor(), persistent(); }
  tilert_tensor tile_count{};
};
inline Hints persistent() { return Hints().persistent(); }
inline Hints persistent(const Tile& count) { return Hints().persistent(count); }
inline Hints fixed_order() { return Hints().fixed_order(); }
inline Hints threads(int64_t n) { return Hints().threads(n); }
inline Hints threads_fixed(int64_t n) { return Hints().threads_fixed(n); }

struct TensorOptions {
  std::vector<Expr> strides_;
  uint32_t alignment_ = 0, flags_ = 0;
  TensorOptions& strides(std::initializer_list<Expr> s) { return strides_ = s, *this; }
  TensorOptions& alignment(uint32_t bytes) { return alignment_ = bytes, *this; }
  TensorOptions& may_alias() { return flags_ |= TILERT_TENSOR_MAY_ALIAS, *this; }
  // The shape's first dim counts pointers, each to a tensor of the other dims, of which strides() and alignment() speak.
  TensorOptions& pointer_table() { return flags_ |= TILERT_TENSOR_POINTER_TABLE, *this; }
};
inline TensorOptions pointer_table() { return TensorOptions().pointer_table(); }
struct DimOptions {
  std::vector<tilert_bucket> buckets_;
  int64_t divisible_ = 0;
  DimOptions& divisible(int64_t by) { return divisible_ = by, *this; }
  DimOptions& range(int64_t low, int64_t high) {
    return buckets_.push_back({TILERT_BUCKET_RANGE, 0, low, high}), *this;
  }
  DimOptions& multiple(int64_t of) { return buckets_.push_back({TILERT_BUCKET_DIVISOR, 0, of, 0}), *this; }
};

}  // namespace tl

#endif  // TILERT_OPTIONS_HPP_
