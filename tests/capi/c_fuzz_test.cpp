// Garbage through the C functions of the builder: ids of any bits, counts, enums, struct sizes. The process lives. Most
// builders hold a kernel with tiles and loops when the garbage comes (c_fuzz_scene.h); some know nothing else.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "c_fuzz_scene.h"
#include "tilert.h"

namespace {

struct Garbage {
  std::mt19937_64 random;
  tilert_builder* b = nullptr;
  std::vector<uint64_t> ids;  // everything that was ever returned, as raw bits

  explicit Garbage(uint64_t seed) : random(seed) { tilert_builder_create("fuzz", &b); }
  Garbage(const Garbage&) = delete;
  Garbage& operator=(const Garbage&) = delete;
  ~Garbage() { tilert_builder_release(b); }
  uint64_t below(uint64_t n) { return random() % n; }
  template <class Id>
  Id id() {
    Id out{};
    uint64_t bits = ids.empty() || below(5) == 0 ? random() : ids[below(ids.size())];
    if (below(12) == 0) bits ^= uint64_t{1} << below(64);
    out.serial = static_cast<uint32_t>(bits);
    out.index = static_cast<uint32_t>(bits >> 32);
    return out;
  }
  template <class Id>
  void keep(Id id) {
    ids.push_back(id.serial | static_cast<uint64_t>(id.index) << 32);
  }
  uint32_t number() { return below(6) == 0 ? static_cast<uint32_t>(random()) : static_cast<uint32_t>(below(8)); }
  // Options with a size that is right, wrong, short or long, and noise behind it.
  template <class T>
  const T* options(T& room) {
    if (below(4) == 0) return nullptr;
    auto* bytes = reinterpret_cast<unsigned char*>(&room);
    for (size_t i = 0; i < sizeof(T); ++i) bytes[i] = below(8) == 0 ? static_cast<unsigned char>(random()) : 0;
    clear_pointers(room);
    room.struct_size = below(4) == 0 ? static_cast<uint32_t>(below(sizeof(T) + 1)) : sizeof(T);
    return &room;
  }
  static void clear_pointers(tilert_dim_options& o) { o.buckets = nullptr; }
  static void clear_pointers(tilert_tensor_options& o) { o.strides = nullptr; }
  static void clear_pointers(tilert_buffer_options& o) { o.name = nullptr; }
  static void clear_pointers(tilert_copy_options& o) { o.valid = nullptr; }
  static void clear_pointers(tilert_gemm_options& o) { o.metadata = o.a_scale = o.b_scale = nullptr; }
  static void clear_pointers(tilert_reduce_options&) {}

  void step() {
    tilert_expr exprs[8];
    for (auto& e : exprs) e = id<tilert_expr>();
    const auto count = static_cast<uint32_t>(below(9));
    tilert_region regions[3] = {};
    for (auto& r : regions) {
      if (below(2)) r.buffer = id<tilert_buffer>();
      if (below(3) == 0) r.tensor = id<tilert_tensor>();
      r.rank = static_cast<uint32_t>(below(5));
      r.offsets = below(3) ? exprs : nullptr;
      r.extents = below(3) ? nullptr : exprs;
    }
    tilert_expr out[8] = {};
    tilert_dim_options dim;
    tilert_tensor_options tensor;
    tilert_buffer_options buffer;
    tilert_copy_options copy;
    tilert_gemm_options gemm;
    tilert_reduce_options reduce;
    tilert_grid grid{};
    grid.struct_size = below(5) ? sizeof grid : number();
    if (grid.struct_size > sizeof grid) grid.struct_size = 8;
    grid.rank = static_cast<uint32_t>(below(4));
    grid.extents = exprs;
    switch (below(24)) {
      case 0: keep(tilert_builder_dim(b, "D", options(dim))); break;
      case 1:
        keep(tilert_builder_tensor(b, "T", static_cast<int32_t>(number()), static_cast<int32_t>(number()), exprs, count,
                                   options(tensor)));
        break;
      case 2: keep(tilert_builder_scalar(b, "S", static_cast<int32_t>(number()))); break;
      case 3:
        keep(tilert_builder_buffer(b, static_cast<int32_t>(number()), static_cast<int32_t>(number()), exprs, count,
                                   options(buffer)));
        break;
      case 4: keep(tilert_builder_index(b, static_cast<int64_t>(number()))); break;
      case 5: keep(tilert_builder_constant(b, static_cast<int32_t>(number()), random())); break;
      case 6: keep(tilert_builder_literal(b, static_cast<int32_t>(number()), random())); break;
      case 7: keep(tilert_builder_dim_value(b, id<tilert_dim>())); break;
      case 8: keep(tilert_builder_scalar_value(b, id<tilert_scalar>())); break;
      case 9: keep(tilert_builder_op(b, static_cast<int32_t>(number()), exprs, static_cast<uint32_t>(below(5)))); break;
      case 10: keep(tilert_builder_cast(b, static_cast<int32_t>(number()), exprs[0], number())); break;
      case 11: keep(tilert_builder_reinterpret(b, static_cast<int32_t>(number()), exprs[0])); break;
      case 12: keep(tilert_builder_let(b, exprs[0])); break;
      case 13: keep(tilert_builder_load(b, regions)); break;
      case 14: tilert_builder_store(b, regions, exprs[0]); break;
      case 15: tilert_builder_copy(b, regions, regions + 1, options(copy)); break;
      case 16: tilert_builder_fill(b, regions, exprs[0]); break;
      case 17: tilert_builder_gemm(b, regions, regions + 1, regions + 2, options(gemm)); break;
      case 18:
        tilert_builder_reduce(b, static_cast<int32_t>(number()), regions, regions + 1, number(), options(reduce));
        break;
      case 19: tilert_builder_begin_kernel(b, &grid, out); break;
      case 20: tilert_builder_begin_parallel(b, exprs, count, out); break;
      case 21: tilert_builder_begin_serial(b, static_cast<int32_t>(number()), exprs[0], exprs[1], exprs[2], out); break;
      case 22: tilert_builder_begin_if(b, exprs[0]); break;
      default: tilert_builder_dtype_of(b, exprs[0]); break;
    }
    for (tilert_expr e : out)
      if (e.serial) keep(e);
  }
};

// Reads an accepted program back from its text.
void check_program(tilert_program* program) {
  const char* text = nullptr;
  size_t size = 0;
  tilert_program* again = nullptr;
  tilert_error* error = nullptr;
  ASSERT_EQ(tilert_program_text(program, &text, &size, nullptr), TILERT_OK);
  ASSERT_EQ(tilert_program_parse(text, size, nullptr, TILERT_ALLOW_SOURCE, &again, &error), TILERT_OK)
      << tilert_error_message(error) << text;
  tilert_program_release(again);
}

TEST(CFuzz, GarbageIsAnErrorAndTheProcessLives) {
  size_t messages = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    Garbage fuzz(seed);
    for (int i = 0; i < 12; ++i) fuzz.step();
    tilert_program* program = nullptr;
    tilert_error* error = nullptr;
    const tilert_status status = tilert_builder_finish(fuzz.b, &program, &error);
    ASSERT_NE(status, TILERT_INTERNAL) << tilert_error_message(error);
    ASSERT_NE(status, TILERT_OK);  // no kernel is ever closed
    messages += tilert_error_message(error)[0] != 0;
    tilert_error_release(error);
  }
  EXPECT_EQ(messages, 5000u);
}

TEST(CFuzz, GarbageInTheMiddleOfAKernelIsAnErrorAndTheProcessLives) {
  constexpr uint64_t kBuilders = 15000;
  FuzzReach reach;
  size_t whole = 0;
  for (uint64_t seed = 0; seed < kBuilders; ++seed) {
    Garbage fuzz(seed);
    FuzzScene scene(fuzz.b, fuzz.random, reach);
    for (int i = 0; i < 24; ++i) {
      scene.step();
      if (fuzz.below(12)) continue;
      for (tilert_expr e : scene.indices()) fuzz.keep(e);
      for (tilert_buffer e : scene.buffers()) fuzz.keep(e);
      fuzz.step();
    }
    scene.close();
    const bool good = tilert_builder_status(fuzz.b) == TILERT_OK;
    tilert_program* program = nullptr;
    tilert_error* error = nullptr;
    const tilert_status status = tilert_builder_finish(fuzz.b, &program, &error);
    ASSERT_NE(status, TILERT_INTERNAL) << tilert_error_message(error);
    EXPECT_EQ(status == TILERT_OK, good) << tilert_error_message(error);
    EXPECT_EQ(status == TILERT_OK, tilert_error_message(error)[0] == 0);
    if (status == TILERT_OK) {
      ++whole;
      check_program(program);
    }
    tilert_program_release(program);
    tilert_error_release(error);
  }
  for (size_t call = 0; call < reach.accepted.size(); ++call)
    EXPECT_GT(reach.accepted[call], 0u) << "never accepted: " << kFuzzCalls[call];
  EXPECT_GT(reach.total(), 35 * kBuilders) << "calls accepted a builder: " << reach.total() / kBuilders;
  EXPECT_GT(whole, kBuilders / 20);
  EXPECT_LT(whole, kBuilders / 2);  // garbage is an error
}

}  // namespace
