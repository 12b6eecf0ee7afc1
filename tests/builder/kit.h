// A short notation for builder tests: plain ids, lists of values, one region per call.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <initializer_list>
#include <vector>

#include "builder/builder.h"

namespace tilert::builder {

struct Kit {
  Builder b{"test"};
  std::vector<std::vector<tilert_expr>> kept;  // arrays that regions point into

  tilert_expr i(int64_t value) { return b.index(value); }
  tilert_expr lit(int64_t value) { return b.literal(TILERT_INT64, static_cast<uint64_t>(value)); }
  tilert_expr num(double value) { return b.literal(TILERT_F64, std::bit_cast<uint64_t>(value)); }
  tilert_expr op(tilert_op o, std::initializer_list<tilert_expr> x) {
    return b.op(o, x.begin(), static_cast<uint32_t>(x.size()));
  }
  tilert_dim dim(const char* name) { return b.dim(name, {}); }
  tilert_expr dv(tilert_dim d) { return b.dim_value(d); }
  tilert_tensor tensor(const char* name, tilert_access access, tilert_dtype dtype,
                       std::initializer_list<tilert_expr> shape) {
    return b.tensor(name, access, dtype, shape.begin(), static_cast<uint32_t>(shape.size()), {});
  }
  tilert_buffer tile(tilert_scope scope, tilert_dtype dtype, const std::vector<int64_t>& shape,
                     const char* name = nullptr) {
    std::vector<tilert_expr> sizes;
    for (int64_t n : shape) sizes.push_back(i(n));
    tilert_buffer_options options{};
    options.name = name;
    return b.buffer(scope, dtype, sizes.data(), static_cast<uint32_t>(sizes.size()), options);
  }
  const tilert_expr* keep(std::initializer_list<tilert_expr> values) {
    kept.emplace_back(values);
    return kept.back().data();
  }
  tilert_region at(tilert_buffer buffer) { return {buffer, {}, nullptr, nullptr, 0, 0}; }
  tilert_region at(tilert_tensor tensor) { return {{}, tensor, nullptr, nullptr, 0, 0}; }
  template <class Id>
  tilert_region at(Id id, std::initializer_list<tilert_expr> offsets, std::initializer_list<tilert_expr> extents = {}) {
    tilert_region region = at(id);
    region.rank = static_cast<uint32_t>(offsets.size());
    region.offsets = keep(offsets);
    if (extents.size()) region.extents = keep(extents);
    return region;
  }
  Code copy(tilert_region from, tilert_region to, tilert_copy_options options = {}) {
    return b.copy(&from, &to, options);
  }
  Code gemm(tilert_region x, tilert_region y, tilert_region z, uint32_t flags = 0) {
    tilert_gemm_options options{};
    options.flags = flags;
    return b.gemm(&x, &y, &z, options);
  }
  Code store(tilert_region to, tilert_expr value) { return b.store(&to, value); }
  tilert_expr load(tilert_region from) { return b.load(&from); }
  Code clear(tilert_region to) { return b.clear(&to); }
  Code fill(tilert_region to, tilert_expr value) { return b.fill(&to, value); }
  Code reduce(tilert_reduce_op o, tilert_region from, tilert_region to, uint32_t d, uint32_t flags = 0) {
    tilert_reduce_options options{};
    options.flags = flags;
    return b.reduce(o, &from, &to, d, options);
  }
  tilert_expr block[3] = {};
  void kernel(std::initializer_list<tilert_expr> grid, std::initializer_list<tilert_hint> hints = {}) {
    tilert_grid g{};
    g.rank = static_cast<uint32_t>(grid.size());
    g.extents = keep(grid);
    b.begin_kernel(g, {hints.begin(), hints.size()}, block);
  }
  tilert_expr p[6] = {};
  void parallel(std::initializer_list<int64_t> extents) {
    std::vector<tilert_expr> sizes;
    for (int64_t n : extents) sizes.push_back(i(n));
    b.begin_parallel(sizes.data(), static_cast<uint32_t>(sizes.size()), p);
  }
  std::string message() {
    auto result = b.finish();
    return result ? std::string("no error")
                  : std::string(code_name(result.error().code)) + ": " + result.error().message;
  }
};

}  // namespace tilert::builder
