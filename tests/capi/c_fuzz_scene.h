// A kernel for garbage to meet: declarations, tiles, and random steps that are right, so that a builder comes far before the
// first error. What was accepted is counted for each function.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tilert.h"

#define TILERT_FUZZ_CALLS(X)                                                                                              \
  X(dim) X(tensor) X(scalar) X(buffer) X(index) X(constant) X(literal) X(dim_value) X(scalar_value) X(op) X(cast)        \
  X(reinterpret) X(let) X(load) X(store) X(copy) X(fill) X(clear) X(gemm) X(reduce) X(begin_kernel) X(end_kernel)        \
  X(begin_parallel) X(end_parallel) X(begin_serial) X(end_serial) X(begin_pipelined) X(end_pipelined) X(begin_if)        \
  X(begin_else) X(end_if) X(inline_source)
enum class FuzzCall : uint8_t {
#define X(name) name,
  TILERT_FUZZ_CALLS(X)
#undef X
};
inline constexpr const char* kFuzzCalls[] = {
#define X(name) #name,
    TILERT_FUZZ_CALLS(X)
#undef X
};

struct FuzzReach {
  std::array<size_t, std::size(kFuzzCalls)> accepted{};
  size_t total() const { return std::accumulate(accepted.begin(), accepted.end(), size_t{0}); }
};

class FuzzScene {
 public:
  // Parameters x, y [N, 64] f16 and w [N] f32, a scalar, an open kernel, tiles that were cleared.
  FuzzScene(tilert_builder* b, std::mt19937_64& random, FuzzReach& reach) : b_(b), random_(random), reach_(reach) {
    const tilert_dim n = took(FuzzCall::dim, tilert_builder_dim(b_, "N", nullptr));
    size_ = took(FuzzCall::dim_value, tilert_builder_dim_value(b_, n));
    const tilert_expr shape[2] = {size_, index(64)};
    x_ = tensor("x", TILERT_IN, TILERT_F16, shape, 2);
    y_ = tensor("y", TILERT_OUT, TILERT_F16, shape, 2);
    w_ = tensor("w", TILERT_INOUT, TILERT_F32, shape, 1);
    const tilert_scalar s = took(FuzzCall::scalar, tilert_builder_scalar(b_, "s", TILERT_F32));
    floats_.push_back(took(FuzzCall::scalar_value, tilert_builder_scalar_value(b_, s)));
    tilert_grid grid{};
    grid.struct_size = sizeof grid;
    grid.rank = 1;
    grid.extents = &size_;
    tilert_expr block{};
    took(FuzzCall::begin_kernel, tilert_builder_begin_kernel(b_, &grid, &block));
    indices_ = {size_, block};
    buffers_ = {tile(TILERT_SHARED, TILERT_F16, {16, 32}), tile(TILERT_SHARED, TILERT_F16, {32, 16}),
                tile(TILERT_FRAGMENT, TILERT_F32, {16, 16}), tile(TILERT_FRAGMENT, TILERT_F32, {16}), tile(TILERT_VAR, TILERT_F32, {})};
    for (size_t i = 0; i < 4; ++i) took(FuzzCall::clear, clear(buffers_[i]));
    store(at(buffers_[4]), float_value());
  }

  const std::vector<tilert_expr>& indices() const { return indices_; }
  const std::vector<tilert_buffer>& buffers() const { return buffers_; }

  // One more call that is right, or an id in it is not.
  void step() {
    const bool element_wise = parallel_depth_ != 0;
    if (below(3) == 0) return value_step();
    if (!scopes_.empty() && below(4) == 0) return end_scope();
    if (below(4) == 0 && scopes_.size() < 5) return begin_scope();
    element_wise ? element_step() : tile_step();
  }
  void close() {
    while (!scopes_.empty() && tilert_builder_status(b_) == TILERT_OK) end_scope();
    if (tilert_builder_status(b_) == TILERT_OK) took(FuzzCall::end_kernel, tilert_builder_end_kernel(b_));
  }

 private:
  enum class Kind { parallel, serial, pipelined, then, otherwise };
  struct Scope {
    Kind kind;
    size_t indices, floats;  // known before it
  };

  uint64_t below(uint64_t n) { return random_() % n; }
  template <class T>
  T took(FuzzCall call, T result) {
    reach_.accepted[static_cast<size_t>(call)] += tilert_builder_status(b_) == TILERT_OK;
    return result;
  }
  // The id, or seldom another.
  template <class Id>
  Id bent(Id id) {
    if (below(400)) return id;
    const uint64_t bit = uint64_t{1} << below(64);
    id.serial ^= static_cast<uint32_t>(bit);
    id.index ^= static_cast<uint32_t>(bit >> 32);
    return id;
  }
  tilert_expr index(int64_t value) { return took(FuzzCall::index, tilert_builder_index(b_, value)); }
  tilert_expr an_index() { return bent(indices_[below(indices_.size())]); }
  tilert_expr float_value() { return bent(floats_[below(floats_.size())]); }
  tilert_tensor tensor(const char* name, tilert_access access, tilert_dtype dtype, const tilert_expr* shape, uint32_t rank) {
    return took(FuzzCall::tensor, tilert_builder_tensor(b_, name, access, dtype, shape, rank, nullptr));
  }
  tilert_buffer tile(tilert_scope scope, tilert_dtype dtype, std::vector<int64_t> sizes) {
    std::vector<tilert_expr> shape;
    for (int64_t n : sizes) shape.push_back(index(n));
    return took(FuzzCall::buffer, tilert_builder_buffer(b_, scope, dtype, shape.data(), static_cast<uint32_t>(shape.size()), nullptr));
  }
  tilert_region at(tilert_buffer buffer) {
    tilert_region region{};
    region.buffer = bent(buffer);
    return region;
  }
  template <size_t N>
  tilert_region at(tilert_tensor tensor, const tilert_expr (&offsets)[N]) {
    tilert_region region{};
    region.tensor = bent(tensor);
    region.offsets = offsets;
    region.rank = N;
    return region;
  }
  tilert_status clear(tilert_buffer buffer) {
    const tilert_region region = at(buffer);
    return tilert_builder_clear(b_, &region);
  }
  void store(const tilert_region& to, tilert_expr value) { took(FuzzCall::store, tilert_builder_store(b_, &to, value)); }
  void load(const tilert_region& from) {
    const tilert_expr value = took(FuzzCall::load, tilert_builder_load(b_, &from));
    if (value.serial) floats_.push_back(value);
  }
  void keep(std::vector<tilert_expr>& pool, tilert_expr value) {
    if (value.serial) pool.push_back(value);
  }
  tilert_expr op(tilert_op kind, tilert_expr a, tilert_expr b) {
    const tilert_expr operands[2] = {a, b};
    return took(FuzzCall::op, tilert_builder_op(b_, kind, operands, 2));
  }
  tilert_expr literal(int64_t value) {
    return took(FuzzCall::literal, tilert_builder_literal(b_, TILERT_INT64, static_cast<uint64_t>(value)));
  }
  tilert_expr one() { return took(FuzzCall::constant, tilert_builder_constant(b_, TILERT_F32, 0x3f800000)); }

  void value_step() {
    static constexpr tilert_op kOps[] = {TILERT_OP_ADD, TILERT_OP_SUB, TILERT_OP_MUL, TILERT_OP_DIV, TILERT_OP_MIN, TILERT_OP_MAX};
    const tilert_op kind = kOps[below(std::size(kOps))];
    switch (below(7)) {
      case 0: return keep(indices_, op(kind, an_index(), literal(static_cast<int64_t>(below(9)))));
      case 1: return keep(indices_, op(kind, an_index(), an_index()));
      case 2: return keep(floats_, op(kind, float_value(), float_value()));
      case 3: return keep(floats_, one());
      case 4: return keep(floats_, took(FuzzCall::cast, tilert_builder_cast(b_, TILERT_F32, an_index(), 0)));
      case 5: {
        const tilert_expr bits = took(FuzzCall::reinterpret, tilert_builder_reinterpret(b_, TILERT_INT32, float_value()));
        return keep(indices_, took(FuzzCall::cast, tilert_builder_cast(b_, TILERT_INDEX, bits, 0)));
      }
      default: return keep(floats_, took(FuzzCall::let, tilert_builder_let(b_, float_value())));
    }
  }

  void tile_step() {
    const tilert_region a = at(buffers_[0]), w = at(buffers_[1]), c = at(buffers_[2]), row = at(buffers_[3]), var = at(buffers_[4]);
    const tilert_expr here[2] = {an_index(), an_index()}, first[1] = {an_index()};
    switch (below(10)) {
      case 0:
      case 1: {
        const tilert_region from = at(x_, here);
        took(FuzzCall::copy, tilert_builder_copy(b_, &from, below(2) ? &a : &w, nullptr));
        return;
      }
      case 2: {
        const tilert_region to = at(y_, here);
        took(FuzzCall::copy, tilert_builder_copy(b_, below(2) ? &a : &c, &to, nullptr));
        return;
      }
      case 3: took(FuzzCall::fill, tilert_builder_fill(b_, &c, float_value())); return;
      case 4: took(FuzzCall::clear, tilert_builder_clear(b_, &row)); return;
      case 5: took(FuzzCall::gemm, tilert_builder_gemm(b_, &a, &w, &c, nullptr)); return;
      case 6: took(FuzzCall::reduce, tilert_builder_reduce(b_, TILERT_REDUCE_SUM, &c, &row, below(2) ? 1 : 0, nullptr)); return;
      case 7: return below(2) ? store(at(w_, first), float_value()) : store(var, float_value());
      case 8: {
        tilert_inline_source source{};
        source.struct_size = sizeof source;
        source.language = "cuda";
        source.text = "$0 = 1;";
        source.places = &var;
        source.place_count = 1;
        took(FuzzCall::inline_source, tilert_builder_inline_source(b_, &source));
        return;
      }
      default: return load(below(2) ? at(w_, first) : var);
    }
  }

  void element_step() {
    tilert_region c = at(buffers_[2]);
    c.offsets = points_;
    c.rank = 2;
    const tilert_expr first[1] = {an_index()};
    if (below(2)) return store(c, float_value());
    load(below(2) ? c : at(w_, first));
  }

  void begin_scope() {
    Scope scope{Kind::serial, indices_.size(), floats_.size()};
    tilert_expr made[2] = {};
    const tilert_expr none{};
    switch (below(parallel_depth_ ? 2 : 4)) {
      case 0:
        took(FuzzCall::begin_serial,
             tilert_builder_begin_serial(b_, TILERT_LOOP_SERIAL, none, below(2) ? an_index() : index(4), none, made));
        break;
      case 1:
        scope.kind = Kind::then;
        took(FuzzCall::begin_if, tilert_builder_begin_if(b_, op(TILERT_OP_LT, an_index(), an_index())));
        break;
      case 2:
        scope.kind = Kind::pipelined;
        took(FuzzCall::begin_pipelined, tilert_builder_begin_pipelined(b_, an_index(), static_cast<uint32_t>(below(5)), made));
        break;
      default: {
        scope.kind = Kind::parallel;
        const tilert_expr extents[2] = {index(16), index(16)};
        took(FuzzCall::begin_parallel, tilert_builder_begin_parallel(b_, extents, 2, made));
        points_[0] = made[0], points_[1] = made[1];
        ++parallel_depth_;
      }
    }
    for (tilert_expr e : made) keep(indices_, e);
    scopes_.push_back(scope);
  }

  void end_scope() {
    if (scopes_.empty()) return;
    const Scope scope = scopes_.back();
    indices_.resize(scope.indices);  // what it made ends with it
    floats_.resize(scope.floats);
    if (scope.kind == Kind::then && below(2)) {
      scopes_.back().kind = Kind::otherwise;
      took(FuzzCall::begin_else, tilert_builder_begin_else(b_));
      return;
    }
    scopes_.pop_back();
    switch (scope.kind) {
      case Kind::parallel: --parallel_depth_, took(FuzzCall::end_parallel, tilert_builder_end_parallel(b_)); return;
      case Kind::serial: took(FuzzCall::end_serial, tilert_builder_end_serial(b_)); return;
      case Kind::pipelined: took(FuzzCall::end_pipelined, tilert_builder_end_pipelined(b_)); return;
      case Kind::then:
      case Kind::otherwise: took(FuzzCall::end_if, tilert_builder_end_if(b_)); return;
    }
  }

  tilert_builder* b_;
  std::mt19937_64& random_;
  FuzzReach& reach_;
  tilert_expr size_{}, points_[2] = {};
  tilert_tensor x_{}, y_{}, w_{};
  std::vector<tilert_expr> indices_, floats_;  // typed values that are alive
  std::vector<tilert_buffer> buffers_;
  std::vector<Scope> scopes_;
  int parallel_depth_ = 0;
};
