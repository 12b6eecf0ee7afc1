// Cases 1 to 6 and 9 to 11: copies between parameters and tiles, their bounds, strides and offsets.
#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// 1. Parameter to shared tile and back: the last block is partial, and nothing beyond it is written.
Scenario through_shared(const Values& v) {
  const int64_t n = v["N"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N");
    auto x = b.input("x", v.dtype(), {N}), y = b.output("y", v.dtype(), {N});
    b.grid({tl::ceildiv(N, 256)}, [&](tl::Index block) {
      auto t = b.shared(v.dtype(), {256});
      b.copy(x(block * 256), t);
      b.copy(t, y(block * 256));
    });
  });
  const Reals data = pattern(v.dtype(), n);
  s.launch({n}).input(v.dtype(), data).output(v.dtype(), exactly(data));
  return s;
}

// 2. Extents that are no multiple of any vector: each element is written, none more.
Scenario shared_to_global(const Values& v) {
  const int64_t n = v["N"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto y = b.output("y", v.dtype(), {n + 5});
    b.grid({1}, [&](tl::Index) {
      auto t = b.shared(v.dtype(), {n});
      b.fill(t, 3);
      b.copy(t, y(0).size({n}));
    });
  });
  std::vector<Want> want = exactly(Reals(n, 3));
  for (const Want& w : untouched(5)) want.push_back(w);
  s.launch().output(v.dtype(), want);
  return s;
}

// 3. Tiles at the edges of a matrix.
Scenario two_dims(const Values& v) {
  const int64_t rows = v["rows"], columns = v["columns"], tile = v["tile"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto R = b.dim("R"), C = b.dim("C");
    auto x = b.input("x", v.dtype(), {R, C}), y = b.output("y", v.dtype(), {R, C});
    b.grid({tl::ceildiv(C, tile), tl::ceildiv(R, tile)}, [&](tl::Index i, tl::Index j) {
      auto t = v["scope"] ? b.fragment(v.dtype(), {tile, tile}) : b.shared(v.dtype(), {tile, tile});
      b.copy(x(j * tile, i * tile), t);
      b.copy(t, y(j * tile, i * tile));
    });
  });
  // Rows of whole 16 bytes, and others: each has a variant of its own.
  for (int64_t wide : {columns, columns % 16 ? columns / 16 * 16 + 16 : columns - 1}) {
    const Reals data = pattern(v.dtype(), rows * wide);
    s.launch({rows, wide}).input(v.dtype(), data).output(v.dtype(), exactly(data));
  }
  return s;
}

// 4. The safe value stands where the tensor ends, with a cast on the way where `to` differs.
Scenario safe_value(const Values& v) {
  const tl::DType from = v.dtype(), to = v.dtype("to");
  const int64_t safe = v["safe"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", from, {60, 60}), y = b.output("y", to, {64, 64});
    b.grid({1}, [&](tl::Index) {
      auto t = v["scope"] ? b.fragment(to, {64, 64}) : b.shared(to, {64, 64});
      tl::CopyOptions options;
      if (safe) options.safe(safe);
      b.copy(x(0, 0), t, options);
      b.copy(t, y);
    });
  });
  const Reals data = pattern(from, 3600);
  Reals want;
  for (int64_t i = 0; i < 64; ++i)
    for (int64_t j = 0; j < 64; ++j) want.push_back(i < 60 && j < 60 ? data[i * 60 + j] : static_cast<Real>(safe));
  s.launch().input(from, data).output(to, exactly(want));
  return s;
}

// 5. Rows with a stride of their own, given as a dim: what lies between them stays.
Scenario row_stride(const Values& v) {
  const int64_t rows = 37, columns = v["N"], stride = columns + v["gap"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto R = b.dim("R"), C = b.dim("C"), S = b.dim("S");
    auto x = b.input("x", v.dtype(), {R, C}, tl::TensorOptions().strides({S, 1}));
    auto y = b.output("y", v.dtype(), {R, C}, tl::TensorOptions().strides({S, 1}));
    b.grid({tl::ceildiv(C, 64), tl::ceildiv(R, 32)}, [&](tl::Index i, tl::Index j) {
      auto t = b.shared(v.dtype(), {32, 64});
      b.copy(x(j * 32, i * 64), t);
      b.copy(t, y(j * 32, i * 64));
    });
  });
  const Reals data = pattern(v.dtype(), rows * stride);
  std::vector<Want> want = untouched(rows * stride);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) want[i * stride + j] = {data[i * stride + j], 0, false};
  Launch& launch = s.launch({rows, columns, stride});
  launch.input(v.dtype(), data).placed({rows, columns}, {stride, 1});
  launch.output(v.dtype(), want).placed({rows, columns}, {stride, 1});
  return s;
}

// 6. A part of a tensor that begins inside a row, into a part of a tile and back.
Scenario inner_offset(const Values& v) {
  const int64_t offset = v["offset"], rows = 16, columns = 96, width = 40;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", v.dtype(), {rows, columns}), y = b.output("y", v.dtype(), {rows, columns});
    b.grid({1}, [&](tl::Index) {
      auto t = b.shared(v.dtype(), {rows, columns});
      b.clear(t);
      b.copy(x(0, v["tile_side"] ? 0 : offset).size({rows, width}), t(0, v["tile_side"] ? offset : 0).size({rows, width}));
      b.copy(t(0, v["tile_side"] ? offset : 0).size({rows, width}), y(0, offset).size({rows, width}));
    });
  });
  const Reals data = pattern(v.dtype(), rows * columns);
  std::vector<Want> want = untouched(rows * columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < width; ++j)
      want[i * columns + offset + j] = {data[i * columns + j + (v["tile_side"] ? 0 : offset)], 0, false};
  s.launch().input(v.dtype(), data).output(v.dtype(), want);
  return s;
}

// 9. Small tiles in a ring, whatever the alignment of a stage.
Scenario small_stages(const Values& v) {
  const int64_t width = v["width"], trips = v["trips"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto T = b.dim("T");
    auto x = b.input("x", v.dtype(), {T, width}), y = b.output("y", v.dtype(), {T, width});
    b.grid({1}, [&](tl::Index) {
      auto t = b.shared(v.dtype(), {width});
      b.pipelined(T, tl::stages(static_cast<uint32_t>(v["stages"])), [&](tl::Index i) {
        b.copy(x(i, 0), t);
        b.copy(t, y(i, 0));
      });
    });
  });
  for (int64_t rows : {trips, int64_t{4}}) {
    const Reals data = pattern(v.dtype(), static_cast<size_t>(rows * width));
    s.launch({rows}).input(v.dtype(), data).output(v.dtype(), exactly(data));
  }
  return s;
}

// 10. A few elements of each type keep their bits.
Scenario few_elements(const Values& v) {
  const int64_t n = v["N"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", v.dtype(), {n}), y = b.output("y", v.dtype(), {n});
    b.grid({1}, [&](tl::Index) {
      auto t = v["scope"] == 0 ? b.shared(v.dtype(), {n}) : v["scope"] == 1 ? b.fragment(v.dtype(), {n}) : b.local(v.dtype(), {n});
      b.copy(x, t);
      b.copy(t, y);
    });
  });
  const Reals data = pattern(v.dtype(), n);
  s.launch().input(v.dtype(), data).output(v.dtype(), exactly(data));
  return s;
}

// 11. A tile that a product reads, placed after a small buffer in shared memory.
Scenario after_small_buffer(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto head = b.input("head", tl::i8, {128}), head_out = b.output("head_out", tl::i8, {128});
    auto x = b.input("x", v.dtype(), {64, 64}), w = b.input("w", v.dtype(), {64, 64});
    auto y = b.output("y", tl::f32, {64, 64});
    b.grid({1}, [&](tl::Index) {
      auto small = b.shared(tl::i8, {128});
      auto a = b.shared(v.dtype(), {64, 64}), c = b.shared(v.dtype(), {64, 64});
      auto acc = b.fragment(tl::f32, {64, 64});
      b.copy(head, small);
      b.copy(x, a);
      b.copy(w, c);
      b.gemm(a, c, acc, tl::trans_b | tl::overwrite);
      b.copy(small, head_out);
      b.copy(acc, y);
    });
  });
  const Reals head = pattern(tl::i8, 128), x = whole(4096, -3, 3, 1), w = whole(4096, -3, 3, 2);
  Reals y(4096, 0);
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 64; ++j)
      for (int k = 0; k < 64; ++k) y[i * 64 + j] += x[i * 64 + k] * w[j * 64 + k];
  s.launch().input(tl::i8, head).output(tl::i8, exactly(head)).input(v.dtype(), x).input(v.dtype(), w);
  s.launches[0].output(tl::f32, exactly(y));
  return s;
}

}  // namespace

void add_copy_cases(std::vector<Case>& to) {
  const Axis all = dtypes({tl::f16, tl::bf16, tl::f32, tl::i8, tl::i32, tl::i64, tl::boolean});
  to.push_back({"1", "through_shared", {{"N", {1, 2, 7, 8, 15, 63, 64, 65, 255, 1000}}, dtypes({tl::f16})}, through_shared});
  to.push_back({"2", "shared_to_global", {{"N", {63, 64, 1}}, dtypes({tl::f32, tl::i8})}, shared_to_global});
  to.push_back({"3", "edges_of_a_matrix",
                {{"rows", {129, 128, 1}}, {"columns", {257, 256, 3}}, {"tile", {128, 32}}, {"scope", {0, 1}}, dtypes({tl::f16, tl::f32, tl::i8})},
                two_dims});
  to.push_back({"4", "safe_value", {{"safe", {-99, 0}}, {"scope", {0, 1}}, dtypes({tl::i32}), {"to", {static_cast<int64_t>(tl::i32)}}}, safe_value});
  to.push_back({"4", "safe_value_with_a_cast", {{"safe", {-99, 0}}, {"scope", {0, 1}}, dtypes({tl::i8}), {"to", {static_cast<int64_t>(tl::f32)}}}, safe_value});
  to.push_back({"5", "row_stride", {{"N", {61, 64, 128}}, {"gap", {0, 3, 8}}, dtypes({tl::f16, tl::f32, tl::i8})}, row_stride});
  to.push_back({"6", "inner_offset", {{"offset", {1, 3, 4, 8}}, {"tile_side", {0, 1}}, dtypes({tl::f16, tl::f32})}, inner_offset});
  to.push_back({"9", "small_tiles_in_a_ring",
                {{"stages", {2, 3}}, {"width", {32, 20, 7}}, {"trips", {0, 1, 2, 5}}, dtypes({tl::f16, tl::i8})}, small_stages});
  to.push_back({"10", "a_few_elements", {{"N", {1, 2, 3, 16, 17}}, {"scope", {0, 1, 2}}, all}, few_elements});
  to.push_back({"11", "a_swizzled_tile_after_a_small_buffer", {dtypes({tl::f16, tl::bf16})}, after_small_buffer});
}

}  // namespace tilert::conformance
