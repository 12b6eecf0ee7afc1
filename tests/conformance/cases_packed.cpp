// Cases 10 and 32 for types of less than a byte: rows, pieces and ends of packed tensors, sums.
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// 10. Rows of packed elements: each starts on a byte, the bits behind its end stay. Through a cast and back. Run-time
// sizes come once more, with rows that start on 16 bytes if these do not, and that do not if these do.
Scenario packed_rows(const Values& v) {
  const int64_t rows = v["rows"], tile_rows = 16, tile_columns = 32;
  const tl::DType dtype = v.dtype();
  Scenario s;
  s.program([&](tl::Builder& b) {
    const bool dynamic = v["dynamic"];
    const tl::Expr R = dynamic ? b.dim("R") : tl::Expr(rows), C = dynamic ? b.dim("C") : tl::Expr(v["columns"]);
    auto x = b.input("x", dtype, {R, C}), y = b.inout("y", dtype, {R, C});
    b.grid({tl::ceildiv(C, tile_columns), tl::ceildiv(R, tile_rows)}, [&](tl::Index i, tl::Index j) {
      auto t = v["scope"] ? b.fragment(dtype, {tile_rows, tile_columns}) : b.shared(dtype, {tile_rows, tile_columns});
      auto u = b.fragment(tl::f32, {tile_rows, tile_columns});
      b.copy(x(j * tile_rows, i * tile_columns), t);
      b.copy(t, u);
      b.copy(u, y(j * tile_rows, i * tile_columns));
    });
  });
  std::vector<int64_t> widths = {v["columns"]};
  if (v["dynamic"]) widths.push_back(v["columns"] == 64 ? 50 : 64);
  for (int64_t columns : widths) {
    // The storage's rows are longer than the tensor's where a byte is left over.
    const int64_t group = bits_of(dtype) == 6 ? 4 : 2, stride = (columns + group - 1) / group * group;
    const size_t count = static_cast<size_t>((rows - 1) * stride + columns);
    const Reals data = pattern(dtype, count), other = pattern(dtype, count, 1);
    std::vector<Want> want = untouched(count);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) want[static_cast<size_t>(r * stride + c)] = {data[static_cast<size_t>(r * stride + c)], 0, false, true};
    s.launch(v["dynamic"] ? std::vector<int64_t>{rows, columns} : std::vector<int64_t>{}).input(dtype, data).inout(dtype, other, want);
  }
  return s;
}

// 10, 6. Pieces of a row at whole bytes, elements by themselves, a run-time bound within a byte, a fill in part written over.
Scenario packed_pieces(const Values& v) {
  const tl::DType dtype = v.dtype();
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto E = b.dim("E");
    auto x = b.input("x", dtype, {64}), y = b.inout("y", dtype, {64}), z = b.output("z", tl::f32, {64});
    b.grid({1}, [&](tl::Index) {
      auto t = b.shared(dtype, {16});
      auto w = b.fragment(tl::f32, {64});
      b.copy(x(4), t);                                         // from the middle of the row
      b.copy(t, y(8));
      b.copy(t, y(32), tl::CopyOptions().valid({E}));          // up to E
      b.fill(t, b.constant(dtype, 1));
      b.copy(x(20).size({4}), t(4).size({4}));
      b.copy(t(0).size({8}), y(52));
      b.parallel({64}, [&](tl::Index i) { w(i) = tl::cast(tl::f32, x(i)); });
      b.copy(w, z);
    });
  });
  const int64_t end = 37;
  const Reals data = pattern(dtype, 64), other = pattern(dtype, 64, 2);
  std::vector<Want> want = untouched(64);
  for (int64_t i = 0; i < 16; ++i) {
    want[static_cast<size_t>(8 + i)] = {data[static_cast<size_t>(4 + i)], 0, false};
    if (32 + i < end) want[static_cast<size_t>(32 + i)] = {data[static_cast<size_t>(4 + i)], 0, false};
  }
  for (int64_t i = 0; i < 8; ++i) want[static_cast<size_t>(52 + i)] = {i < 4 ? 1 : data[static_cast<size_t>(16 + i)], 0, false};
  s.launch({end}).input(dtype, data).inout(dtype, other, want).output(tl::f32, exactly(data));
  return s;
}

// 10. A write that would share a byte with another one is refused.
Scenario parts_of_bytes(const Values& v) {
  const tl::DType dtype = v.dtype();
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N");
    auto y = b.output("y", dtype, {N});
    b.grid({4}, [&](tl::Index block) {
      auto t = b.fragment(dtype, {8}), u = b.fragment(dtype, {3});
      b.clear(t);
      b.clear(u);
      if (v["how"] == 0) b.copy(t, y(block * 8 + 1));
      if (v["how"] == 1) b.copy(u, y(block * 8));
      if (v["how"] == 2) y(block) = b.constant(dtype, 1);
      if (v["how"] == 3) b.copy(t(0).size({4}), y(block * 3).size({4}));
    });
  });
  s.refused = {"y", v["how"] == 2 ? "share bytes" : "fill whole bytes"};
  return s;
}

// 32. Sums and maxima of narrow types, in a type that holds them, and rounded or wrapped to their own.
Scenario narrow_sums(const Values& v) {
  const tl::DType dtype = v.dtype(), wide = is_float(dtype) ? tl::f32 : tl::i32;
  const int64_t rows = 8, columns = 24;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", dtype, {rows, columns}), sums = b.output("sums", wide, {rows}), own = b.output("own", dtype, {rows}),
         most = b.output("most", dtype, {rows});
    b.grid({1}, [&](tl::Index) {
      auto t = b.fragment(dtype, {rows, columns}), q = b.fragment(dtype, {rows}), m = b.fragment(dtype, {rows});
      auto r = b.fragment(wide, {rows});
      b.copy(x, t);
      b.reduce(tl::sum, t, r, 1);
      b.reduce(tl::sum, t, q, 1);
      b.reduce(tl::max, t, m, 1);
      b.copy(r, sums);
      b.copy(q, own);
      b.copy(m, most);
    });
  });
  // Any codes, so that no lane's part of a sum is another's. One element is the greatest of its row, in another place in
  // each: the type's greatest, and 4 in every second row.
  Reals data = whole(rows * columns, 0, (1 << bits_of(dtype)) - 1, 3);
  Real greatest = -1000;
  for (Real& x : data) {
    x = decode(dtype, static_cast<uint64_t>(x));
    if (std::isnan(x)) x = 0;
    greatest = std::fmax(greatest, x);
  }
  for (size_t i = 0; i < data.size(); ++i)
    if (data[i] == greatest || (i / columns % 2 == 0 && data[i] > 3)) data[i] = 1;
  static const int64_t kPlaces[] = {0, 8, 2, 23, 14, 20, 5, 11};
  for (int64_t i = 0; i < rows; ++i) data[static_cast<size_t>(i * columns + kPlaces[i])] = i % 2 == 0 ? 4 : greatest;
  Reals sum(rows, 0), own, most(rows, -1000);
  for (int64_t i = 0; i < rows * columns; ++i)
    sum[static_cast<size_t>(i / columns)] += data[static_cast<size_t>(i)],
        most[static_cast<size_t>(i / columns)] = std::fmax(most[static_cast<size_t>(i / columns)], data[static_cast<size_t>(i)]);
  for (Real x : sum) own.push_back(is_float(dtype) ? rounded(dtype, x) : wrapped(dtype, x));
  s.launch().input(dtype, data).output(wide, exactly(sum)).output(dtype, exactly(own)).output(dtype, exactly(most));
  return s;
}

}  // namespace

void add_packed_cases(std::vector<Case>& to) {
  const Axis packed = dtypes({tl::i4, tl::u4, tl::e2m1, tl::e2m3, tl::e3m2, tl::nf4});
  to.push_back({"10", "packed_rows", {{"rows", {1, 5, 33}}, {"columns", {8, 17, 64, 70}}, {"scope", {0, 1}}, {"dynamic", {0, 1}}, packed}, packed_rows});
  to.push_back({"10", "packed_pieces", {packed}, packed_pieces});
  to.push_back({"10", "parts_of_bytes", {{"how", {0, 1, 2, 3}}, dtypes({tl::i4, tl::e2m3})}, parts_of_bytes});
  to.push_back({"32", "sums_of_packed_elements", {dtypes({tl::i4, tl::u4, tl::e2m1, tl::e3m2, tl::e4m3})}, narrow_sums});
}

}  // namespace tilert::conformance
