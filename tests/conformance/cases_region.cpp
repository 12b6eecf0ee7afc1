// Cases 7, 8 and 48b: regions that leave their tile, strided regions, rows that end at run time.
#include <algorithm>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// 7. A region that leaves its tile is refused when built.
Scenario leaves_tile(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::f32, {16, 16}), y = b.output("y", tl::f32, {16, 16});
    b.grid({1}, [&](tl::Index) {
      auto tile = b.shared(tl::f32, {8, 16}, "tile");
      b.label("too far");
      if (v["operation"] == 0) b.fill(tile(6, 0).size({6, 16}), 1);
      if (v["operation"] == 1) b.copy(x(0, 0).size({6, 16}), tile(6, 0).size({6, 16}));
      if (v["operation"] == 2) b.copy(tile(0, 8).size({8, 16}), y(0, 0).size({8, 16}));
    });
  });
  s.refused = {"tile", "too far"};
  return s;
}

// 8. Every second column: as a stride of the inner dim that a launch gives, or element by element.
Scenario second_column(const Values& v) {
  const int64_t rows = 8, columns = 33;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto R = b.dim("R"), C = b.dim("C");
    auto x = b.input("x", tl::f32, {R, C}, v["stride"] ? tl::TensorOptions().strides({C * 2, 2}) : tl::TensorOptions());
    auto y = b.output("y", tl::f32, {R, C}, v["stride"] ? tl::TensorOptions() : tl::TensorOptions());
    b.grid({1}, [&](tl::Index) {
      auto t = b.shared(tl::f32, {8, 64});
      if (v["stride"]) {
        b.copy(x(0, 0), t);
        b.copy(t, y(0, 0));
      } else {
        b.parallel({8, 16}, [&](tl::Index i, tl::Index j) { y(i, j) = x(i, j * 2); });
      }
    });
  });
  for (int64_t wide : {columns, int64_t{48}}) {
    const Reals data = pattern(tl::f32, rows * wide * 2);
    if (v["stride"]) {
      Reals want;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < wide; ++j) want.push_back(data[i * wide * 2 + j * 2]);
      Launch& launch = s.launch({rows, wide}).input(tl::f32, data).placed({rows, wide}, {wide * 2, 2});
      launch.output(tl::f32, exactly(want));
    } else {
      const Reals input(data.begin(), data.begin() + rows * wide);
      std::vector<Want> want = untouched(rows * wide);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < 16; ++j) want[i * wide + j] = {input[i * wide + j * 2], 0, false};
      s.launch({rows, wide}).input(tl::f32, input).output(tl::f32, want);
    }
  }
  return s;
}

// 48b. Rows that end inside the tensor: reads beyond give the safe value, neighbours stay.
Scenario run_time_ends(const Values& v) {
  const int64_t rows = 40, columns = 80;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto R = b.dim("R"), C = b.dim("C"), E = b.dim("E"), F = b.dim("F");
    auto x = b.input("x", v.dtype(), {R, C});
    auto all = b.output("all", v.dtype(), {R, C}), part = b.output("part", v.dtype(), {R, C});
    b.grid({tl::ceildiv(C, 32), tl::ceildiv(R, 32)}, [&](tl::Index i, tl::Index j) {
      auto t = v["scope"] ? b.fragment(v.dtype(), {32, 32}) : b.shared(v.dtype(), {32, 32});
      b.copy(x(j * 32, i * 32), t, tl::CopyOptions().valid({E, F}).safe(-7));
      b.copy(t, all(j * 32, i * 32));
      b.copy(t, part(j * 32, i * 32), tl::CopyOptions().valid({E, F}));
    });
  });
  struct Ends {
    int64_t wide, row, column;
  };
  std::vector<Ends> all = {{columns, v["end_row"], v["end_column"]}, {columns - 1, v["end_row"], v["end_column"]}};
  if (v["end_row"] == 0 || v["end_column"] == 0) all.push_back({columns, 34, 41}), all.push_back({columns - 1, 34, 41});
  for (const auto& [wide, end_row, end_column] : all) {
    const Reals data = pattern(v.dtype(), rows * wide);
    Reals want;
    std::vector<Want> some = untouched(rows * wide);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < wide; ++j) {
        const bool inside = i < end_row && j < end_column;
        want.push_back(inside ? data[i * wide + j] : -7);
        if (inside) some[i * wide + j] = {data[i * wide + j], 0, false};
      }
    Launch& launch = s.launch({rows, wide, end_row, std::min(end_column, wide)}).input(v.dtype(), data);
    launch.output(v.dtype(), exactly(want)).output(v.dtype(), some);
  }
  return s;
}

// 48b. Ends that are any value: below 0 as at 0, beyond the tensor as its own.
Scenario ends_anywhere(const Values&) {
  Scenario s;
  s.program([](tl::Builder& b) {
    auto x = b.input("x", tl::f32, {8, 8}), all = b.output("all", tl::f32, {8, 8}), part = b.output("part", tl::f32, {8, 8});
    auto end = b.scalar("end", tl::i64);
    b.grid({1}, [&](tl::Index) {
      auto t = b.shared(tl::f32, {8, 8});
      const tl::Expr to = tl::cast(tl::index, end);
      b.copy(x(1, 2), t, tl::CopyOptions().valid({to, 8}).safe(-7));
      b.copy(t, all(0, 0));
      b.copy(t, part(0, 1), tl::CopyOptions().valid({8, to}));
    });
  });
  const Reals data = pattern(tl::f32, 64);
  for (int64_t end : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{5}, INT64_MAX}) {
    Reals want;
    std::vector<Want> some = untouched(64);
    for (int64_t i = 0; i < 8; ++i)
      for (int64_t j = 0; j < 8; ++j) {
        want.push_back(i + 1 < std::min<int64_t>(end, 8) && j + 2 < 8 ? data[(i + 1) * 8 + j + 2] : -7);
        if (j + 1 < std::min<int64_t>(end, 8)) some[i * 8 + j + 1] = {want.back(), 0, false};
      }
    s.launch().input(tl::f32, data).output(tl::f32, exactly(want)).output(tl::f32, some).scalar(tl::i64, static_cast<Real>(end));
  }
  return s;
}

}  // namespace

void add_region_cases(std::vector<Case>& to) {
  to.push_back({"7", "a_region_that_leaves_its_tile", {{"operation", {0, 1, 2}}}, leaves_tile});
  to.push_back({"8", "every_second_column", {{"stride", {0, 1}}}, second_column});
  to.push_back({"48b", "rows_that_end_at_run_time",
                {{"end_row", {0, 1, 33, 40}}, {"end_column", {0, 7, 64, 72}}, {"scope", {0, 1}}, dtypes({tl::f16, tl::f32, tl::i8})},
                run_time_ends});
  to.push_back({"48b", "ends_anywhere", {}, ends_anywhere});
}

}  // namespace tilert::conformance
