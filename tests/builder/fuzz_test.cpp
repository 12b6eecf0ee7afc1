// Random calls with garbage: ids of every kind and of other builders, counts, nulls, flags, scopes. Nothing crashes,
// and what finish hands out is whole. Run under the address sanitizer it also shows that nothing is read out of bounds.
#include <memory>
#include <random>

#include "kit.h"

namespace tilert::builder {
namespace {

struct Fuzzer {
  std::mt19937_64 random;
  Kit kit, other;
  std::vector<tilert_expr> exprs;
  std::vector<tilert_dim> dims;
  std::vector<tilert_tensor> tensors;
  std::vector<tilert_scalar> scalars;
  std::vector<tilert_buffer> buffers;
  bool wild;  // garbage in most calls; otherwise mostly sound ones, so that builds go deep

  Fuzzer(uint64_t seed, bool wild_) : random(seed), wild(wild_) {
    exprs.push_back(other.i(1));
    dims.push_back(other.dim("X"));
  }
  uint64_t below(uint64_t n) { return random() % n; }
  bool garbage() { return below(wild ? 4 : 200) == 0; }

  template <class Id>
  Id pick(std::vector<Id>& from) {
    if (garbage()) return Id{static_cast<uint32_t>(random()), static_cast<uint32_t>(random())};
    if (garbage()) return Id{};
    if (from.empty()) return Id{};
    Id id = from[below(from.size())];
    if (garbage()) id.index ^= 1u << below(32);
    return id;
  }
  tilert_expr expr() {
    switch (below(8)) {
      case 0: return kit.lit(static_cast<int64_t>(below(20)) - 4);
      case 1: return kit.num(static_cast<double>(below(8)));
      case 2: return kit.i(static_cast<int64_t>(below(9)));
      default: return pick(exprs);
    }
  }
  template <class Id>
  void add(std::vector<Id>& to, Id id) {
    if (!is_none(id) || garbage()) to.push_back(id);
  }
  const tilert_expr* some(uint32_t count) {
    if (garbage()) return nullptr;
    std::vector<tilert_expr> values;
    for (uint32_t i = 0; i < count; ++i)
      values.push_back(garbage() ? expr() : kit.i(static_cast<int64_t>(1 + below(9))));
    kit.kept.push_back(values);
    return kit.kept.back().data();
  }
  tilert_region region() {
    tilert_region r{};
    if (below(3) == 0)
      r.tensor = pick(tensors);
    else
      r.buffer = pick(buffers);
    r.rank = static_cast<uint32_t>(below(4));
    if (r.rank) r.offsets = some(r.rank);
    if (r.rank && below(2)) r.extents = some(r.rank);
    return r;
  }
  int32_t number(int32_t n) { return garbage() ? static_cast<int32_t>(random()) : static_cast<int32_t>(below(n)); }
  tilert_dtype dtype() { return garbage() ? number(40) : std::vector<tilert_dtype>{1, 3, 5, 6, 12, 13, 14}[below(7)]; }

  void declare() {
    static const char* kNames[] = {"a", "b", "c", "d", "", "9x", nullptr};
    const char* name = kNames[garbage() ? below(7) : below(4)];
    const auto rank = static_cast<uint32_t>(1 + below(3));
    tilert_dim_options dim{};
    tilert_tensor_options tensor{};
    tilert_buffer_options buffer{};
    if (garbage()) dim.divisible = static_cast<int64_t>(random());
    if (garbage()) tensor.flags = static_cast<uint32_t>(random());
    if (garbage()) buffer.layout = number(9);
    switch (below(5)) {
      case 4: return views(rank);
      case 0: return add(dims, kit.b.dim(name, dim));
      case 1: return add(tensors, kit.b.tensor(name, 1 + number(3), dtype(), some(rank), rank, tensor));
      case 2: return add(scalars, kit.b.scalar(name, dtype()));
      default: return add(buffers, kit.b.buffer(1 + number(4), dtype(), some(rank), rank, buffer));
    }
  }
  void views(uint32_t rank) {
    const uint32_t order[] = {static_cast<uint32_t>(below(3)), static_cast<uint32_t>(below(3)), 0};
    switch (below(4)) {
      case 0: return add(buffers, kit.b.view(pick(buffers), garbage() ? 0 : dtype(), some(rank), rank));
      case 1: return add(tensors, kit.b.tensor_reshape(pick(tensors), some(rank), rank));
      case 2: return add(tensors, kit.b.tensor_transpose(pick(tensors), order, rank));
      default: kit.b.annotate_layout(pick(buffers), number(8), expr(), static_cast<uint32_t>(below(3)));
    }
  }
  void values() {
    tilert_expr operands[3] = {expr(), expr(), expr()};
    switch (below(9)) {
      case 0: return add(exprs, kit.b.dim_value(pick(dims)));
      case 1: return add(exprs, kit.b.scalar_value(pick(scalars)));
      case 2: return add(exprs, kit.b.cast(dtype(), expr(), static_cast<uint32_t>(below(2))));
      case 3: return add(exprs, kit.b.reinterpret(dtype(), expr()));
      case 4: return add(exprs, kit.b.constant(dtype(), random()));
      case 5: return add(exprs, kit.b.let(expr()));
      case 6: return add(exprs, kit.b.fast(expr()));
      default: return add(exprs, kit.b.op(1 + number(47), operands, static_cast<uint32_t>(below(4))));
    }
  }
  void scopes() {
    tilert_expr out[6] = {};
    const auto rank = static_cast<uint32_t>(1 + below(3));
    tilert_grid grid{};
    grid.rank = rank;
    grid.extents = some(rank);
    if (garbage()) grid.flags = static_cast<uint32_t>(random());
    switch (below(11)) {
      case 0: kit.b.begin_kernel(grid, {}, out); break;
      case 1: kit.b.end_kernel(); break;
      case 2: kit.b.begin_parallel(some(rank), rank, out); break;
      case 3: kit.b.end_parallel(); break;
      case 4: kit.b.begin_serial(1 + number(2), expr(), expr(), garbage() ? expr() : tilert_expr{}, out); break;
      case 5: kit.b.end_serial(); break;
      case 6: kit.b.begin_pipelined(expr(), static_cast<uint32_t>(below(5)), out); break;
      case 7: kit.b.end_pipelined(); break;
      case 8: kit.b.begin_if(expr()); break;
      case 9: kit.b.begin_else(); break;
      default: kit.b.end_if(); break;
    }
    for (tilert_expr e : out)
      if (!is_none(e)) exprs.push_back(e);
  }
  void operations() {
    const tilert_region x = region(), y = region(), z = region();
    tilert_copy_options copy{};
    tilert_gemm_options gemm{};
    tilert_reduce_options reduce{};
    if (below(4) == 0) copy.valid = some(copy.valid_count = static_cast<uint32_t>(below(4)));
    if (below(4) == 0) copy.safe_value = expr();
    gemm.flags = static_cast<uint32_t>(below(8));
    if (below(4) == 0) gemm.accumulate = expr();
    reduce.flags = static_cast<uint32_t>(below(2));
    const bool null = garbage();
    switch (below(8)) {
      case 0: kit.b.copy(null ? nullptr : &x, &y, copy); break;
      case 1: kit.b.fill(null ? nullptr : &x, expr()); break;
      case 2: kit.b.clear(&x); break;
      case 3: kit.b.gemm(&x, null ? nullptr : &y, &z, gemm); break;
      case 4: kit.b.reduce(1 + number(13), &x, &y, static_cast<uint32_t>(below(3)), reduce); break;
      case 5: kit.b.store(null ? nullptr : &x, expr()); break;
      default: add(exprs, kit.b.load(null ? nullptr : &x)); break;
    }
  }
  void step(uint64_t seed) {
    random.seed(seed);
    kit.b.at("fuzz.cc", static_cast<uint32_t>(seed), below(2) ? "label" : nullptr);
    switch (below(6)) {
      case 0: return declare();
      case 1: return values();
      case 2: return scopes();
      default: return operations();
    }
  }
};

// Grows a program: steps that were refused are left out when it is built again, so that later steps meet deep states.
struct Growth {
  std::vector<uint64_t> taken;
  size_t refused = 0;
  std::unique_ptr<Fuzzer> fuzzer;

  void again(uint64_t seed, bool wild) {
    fuzzer = std::make_unique<Fuzzer>(seed, wild);
    for (uint64_t one : taken) fuzzer->step(one);
  }
  void grow(uint64_t seed, bool wild, size_t tries) {
    std::mt19937_64 seeds(seed);
    again(seed, wild);
    for (size_t i = 0; i < tries && taken.size() < 60; ++i) {
      const uint64_t one = seeds();
      fuzzer->step(one);
      if (fuzzer->kit.b.status() == Code::kOk) {
        taken.push_back(one);
        continue;
      }
      ++refused;
      auto result = fuzzer->kit.b.finish();
      ASSERT_FALSE(result);
      ASSERT_FALSE(result.error().message.empty());
      ASSERT_NE(result.error().code, Code::kInternal) << result.error().message;
      again(seed, wild);
    }
  }
};

TEST(Fuzz, NoSequenceOfCallsCrashesAndEachRefusalHasAMessage) {
  size_t refused = 0, taken = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Growth growth;
    growth.grow(seed, seed % 3 == 0, 400);
    refused += growth.refused;
    taken += growth.taken.size();
  }
  EXPECT_GT(refused, 5000u);
  EXPECT_GT(taken, 1000u);
}

}  // namespace
}  // namespace tilert::builder
