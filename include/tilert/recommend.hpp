// Recommendations of the C++ interface: how a matrix product should be computed, by the cost model. Use through tilert.hpp.
#ifndef TILERT_RECOMMEND_HPP_
#define TILERT_RECOMMEND_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "tilert.h"
#include "tilert/result.hpp"
#include "tilert/values.hpp"

namespace tl {

// What the choice depends on beside the product: a target, and how much there is of it.
struct Machine {
  std::string target = "sm_90a";
  tilert_device_class device_class{};  // struct_size 0: the target's default
};

// C[m, n] = A[m, k] B[k, n], the fields as in tilert_product.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  DType a = bf16, b = bf16, c = bf16;
  DType accumulator{};  // none: f32 of floats (f64 of f64), int32 of integers
  bool trans_a = false, trans_b = false, tf32 = false;
  bool fixed_order = false;  // a row's bits are the same whatever m is, in all kernels of a plan
  int64_t lda = 0, ldb = 0, ldc = 0;
  uint64_t epilogue_bytes = 0;

  // Points to what `machine` says, which outlives it.
  tilert_product raw(Machine&& machine) const = delete;
  tilert_product raw(const Machine& machine) const {
    tilert_product p{};
    p.struct_size = sizeof p;
    p.flags = (trans_a ? uint32_t{TILERT_PRODUCT_TRANS_A} : 0) | (trans_b ? uint32_t{TILERT_PRODUCT_TRANS_B} : 0) |
              (tf32 ? uint32_t{TILERT_PRODUCT_TF32} : 0) | (fixed_order ? uint32_t{TILERT_PRODUCT_FIXED_ORDER} : 0);
    p.m = m, p.n = n, p.k = k;
    p.a = static_cast<tilert_dtype>(a), p.b = static_cast<tilert_dtype>(b), p.c = static_cast<tilert_dtype>(c);
    p.accumulator = static_cast<tilert_dtype>(accumulator);
    p.lda = lda, p.ldb = ldb, p.ldc = ldc;
    p.epilogue_bytes = epilogue_bytes;
    p.target = machine.target.c_str();
    p.device_class = machine.device_class.struct_size ? &machine.device_class : nullptr;
    return p;
  }
};

// A choice; equal ones are the same program.
struct ProductChoice : tilert_product_choice {
  ProductChoice() : tilert_product_choice{} { struct_size = sizeof(tilert_product_choice); }
  bool swapped() const { return flags & TILERT_CHOICE_SWAPPED; }
  bool persistent() const { return flags & TILERT_CHOICE_PERSISTENT; }
  friend bool operator==(const ProductChoice& x, const ProductChoice& y) {
    return x.path == y.path && x.tile_m == y.tile_m && x.tile_n == y.tile_n && x.tile_k == y.tile_k && x.consumers == y.consumers &&
           x.threads == y.threads && x.stages == y.stages && x.cluster == y.cluster && x.split_k == y.split_k && x.raster == y.raster &&
           x.flags == y.flags;
  }
  friend bool operator!=(const ProductChoice& x, const ProductChoice& y) { return !(x == y); }
};

// The best candidates, at most `most`, the fastest as predicted first.
inline Result<std::vector<ProductChoice>> recommend_product(const Product& product, const Machine& machine = {}, uint32_t most = 1) {
  static_assert(sizeof(ProductChoice) == sizeof(tilert_product_choice), "an array of these is one of those");
  const tilert_product raw = product.raw(machine);
  tilert_error* error = nullptr;
  uint32_t count = 0;
  tilert_status status = tilert_recommend_product(&raw, nullptr, &count, &error);
  std::vector<ProductChoice> choices(count < most ? count : most);
  count = static_cast<uint32_t>(choices.size());
  if (status == TILERT_OK && count > 0) status = tilert_recommend_product(&raw, choices.data(), &count, &error);
  if (status != TILERT_OK) return Error(status, error);
  return choices;
}

}  // namespace tl

#endif  // TILERT_RECOMMEND_HPP_
