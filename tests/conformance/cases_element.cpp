// Cases 13 to 16, 18, 19, 22 and 23: element-wise loops, broadcasts, odd widths, private variables.
#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// 13. One operand is indexed modulo its width.
Scenario modulo_broadcast(const Values&) {
  Scenario s;
  s.program([](tl::Builder& b) {
    auto A = b.input("A", tl::f32, {16, 64}), B = b.input("B", tl::f32, {7}), C = b.output("C", tl::f32, {16, 64});
    b.grid({1}, [&](tl::Index) { b.parallel({16, 64}, [&](tl::Index i, tl::Index j) { C(i, j) = A(i, j) + B(j % 7); }); });
  });
  const Reals a = whole(16 * 64, -100, 100, 1), c = whole(7, -9, 9, 2);
  Reals want;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 64; ++j) want.push_back(a[i * 64 + j] + c[j % 7]);
  s.launch().input(tl::f32, a).input(tl::f32, c).output(tl::f32, exactly(want));
  return s;
}

// 14. A column vector broadcast over rows of any width.
Scenario column_broadcast(const Values& v) {
  const int64_t width = v["width"], rows = 16;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto d = b.input("d", v.dtype(), {width}), x = b.output("x", v.dtype(), {rows, width});
    b.grid({1}, [&](tl::Index) {
      auto column = b.fragment(v.dtype(), {width}), t = b.fragment(v.dtype(), {rows, width});
      b.copy(d, column);
      b.parallel({rows, width}, [&](tl::Index i, tl::Index j) { t(i, j) = column(j) * 2; });
      b.copy(t, x);
    });
  });
  const Reals d = whole(width, -50, 50, 1);
  Reals want;
  for (int64_t i = 0; i < rows * width; ++i) want.push_back(d[i % width] * 2);
  s.launch().input(v.dtype(), d).output(v.dtype(), exactly(want));
  return s;
}

// 15. Fragments of widths that are no powers of two, with few and many threads.
Scenario odd_fragments(const Values& v) {
  const int64_t width = v["width"], rows = 4;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", v.dtype(), {rows, width}), y = b.output("y", v.dtype(), {rows, width});
    b.grid({1}, tl::threads(v["threads"]), [&](tl::Index) {
      auto t = b.fragment(v.dtype(), {rows, width}), u = b.fragment(v.dtype(), {rows, width});
      b.copy(x, t);
      b.parallel({rows, width}, [&](tl::Index i, tl::Index j) { u(i, j) = t(i, j) + t(i, j) + 1; });
      b.copy(u, y);
    });
  });
  const Reals data = whole(rows * width, -60, 60, 3);
  Reals want;
  for (Real x : data) want.push_back(x + x + 1);
  s.launch().input(v.dtype(), data).output(v.dtype(), exactly(want));
  return s;
}

// 16. A negative constant stored everywhere.
Scenario constant_store(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto y = b.output("y", v.dtype(), {8192});
    b.grid({2}, [&](tl::Index block) {
      if (v["fill"]) {
        auto t = b.fragment(v.dtype(), {4096});
        b.fill(t, v["value"]);
        b.copy(t, y(block * 4096));
      } else {
        b.parallel({4096}, [&](tl::Index i) { y(block * 4096 + i) = b.constant(v.dtype(), v["value"]); });
      }
    });
  });
  s.launch().output(v.dtype(), exactly(Reals(8192, static_cast<Real>(v["value"]))));
  return s;
}

// 18. Serial loops that begin elsewhere, count down, and end between two steps.
Scenario loop_bounds(const Values& v) {
  const int64_t begin = v["begin"], end = v["end"], step = v["step"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto E = b.dim("E");
    auto y = b.inout("y", tl::i32, {64});
    b.grid({1}, [&](tl::Index) {
      auto count = b.var(tl::i32);
      count = 0;
      const auto body = [&](tl::Index i) {
        count = count + 1;
        b.parallel({8}, [&](tl::Index j) { y((i * 8 + j) % 64) = y((i * 8 + j) % 64) + tl::Expr(count); });
      };
      b.serial(begin, v["dynamic"] ? tl::Expr(E) : tl::Expr(end), step, body);
    });
  });
  for (int64_t last : {end, step > 0 ? end + 4 : end - 4}) {
    if (last != end && !v["dynamic"]) break;
    Reals data(64, 0), want(64, 0);
    int count = 0;
    for (int64_t i = begin; step > 0 ? i < last : i > last; i += step) {
      ++count;
      for (int64_t j = 0; j < 8; ++j) want[(((i * 8 + j) % 64) + 64) % 64] += count;
    }
    s.launch({v["dynamic"] ? last : 0}).inout(tl::i32, data, exactly(want));
  }
  return s;
}

// 19. A variable made inside parallel is private to its iteration; outside it has one value for the block.
Scenario private_variables(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::f32, {256}), y = b.output("y", tl::f32, {256});
    b.grid({2}, [&](tl::Index block) {
      auto common = b.var(tl::f32);
      common = tl::cast(tl::f32, block) + 1;
      auto t = b.fragment(tl::f32, {128});
      b.parallel({128}, [&](tl::Index i) {
        auto mine = b.var(tl::f32);
        mine = x(block * 128 + i);
        if (v["loop"]) b.serial(3, [&](tl::Index) { mine = mine + tl::Expr(common); });
        b.if_(tl::Expr(mine) > 0, [&] { mine = mine * 2; });
        t(i) = tl::Expr(mine);
      });
      b.copy(t, y(block * 128));
    });
  });
  const Reals data = whole(256, -50, 50, 4);
  Reals want;
  for (int i = 0; i < 256; ++i) {
    Real mine = data[i] + (v["loop"] ? 3 * (i / 128 + 1) : 0);
    want.push_back(mine > 0 ? mine * 2 : mine);
  }
  s.launch().input(tl::f32, data).output(tl::f32, exactly(want));
  return s;
}

// 22. The arm that is not chosen would read far outside.
Scenario guarded_read(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N");
    auto x = b.input("x", tl::f32, {N}), y = b.output("y", tl::f32, {128});
    b.grid({1}, [&](tl::Index) {
      b.parallel({128}, [&](tl::Index i) {
        const tl::Expr far = i + v["far"];
        y(i) = tl::select(i < N, x(i), tl::select(far < N, x(far), 5));
      });
    });
  });
  const Reals data = whole(100, -50, 50, 5);
  Reals want = data;
  want.resize(128, 5);
  s.launch({100}).input(tl::f32, data).output(tl::f32, exactly(want));
  return s;
}

// 23. A loop over many points, and two loops over one fragment, the second over a part of it.
Scenario many_points(const Values&) {
  Scenario s;
  s.program([](tl::Builder& b) {
    auto y = b.output("y", tl::i8, {64, 8192});
    b.grid({1}, [&](tl::Index) {
      b.parallel({64, 8192}, [&](tl::Index i, tl::Index j) { y(i, j) = tl::cast(tl::i8, (i * 3 + j) % 100); });
    });
  });
  Reals want;
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 8192; ++j) want.push_back((i * 3 + j) % 100);
  s.launch().output(tl::i8, exactly(want));
  return s;
}

Scenario two_extents(const Values&) {
  Scenario s;
  s.program([](tl::Builder& b) {
    auto y = b.output("y", tl::f32, {256});
    b.grid({1}, [&](tl::Index) {
      auto t = b.fragment(tl::f32, {256});
      b.parallel({256}, [&](tl::Index i) { t(i) = tl::cast(tl::f32, i); });
      b.parallel({100}, [&](tl::Index i) { t(i) = t(i) + 1000; });
      b.copy(t, y);
    });
  });
  Reals want;
  for (int i = 0; i < 256; ++i) want.push_back(i < 100 ? i + 1000 : i);
  s.launch().output(tl::f32, exactly(want));
  return s;
}

}  // namespace

void add_element_cases(std::vector<Case>& to) {
  to.push_back({"13", "modulo_broadcast", {}, modulo_broadcast});
  to.push_back({"14", "column_broadcast", {{"width", {16, 24, 32, 40, 48, 96, 97}}, dtypes({tl::f32, tl::f16})}, column_broadcast});
  to.push_back({"15", "odd_fragments", {{"width", {192, 229, 257, 576}}, {"threads", {64, 128}}, dtypes({tl::f32, tl::f16, tl::i8})}, odd_fragments});
  to.push_back({"16", "constant_store_int32", {{"value", {-7}}, {"fill", {0, 1}}, dtypes({tl::i32})}, constant_store});
  to.push_back({"16", "constant_store_int8", {{"value", {-3}}, {"fill", {0, 1}}, dtypes({tl::i8})}, constant_store});
  to.push_back({"18", "loops_up", {{"begin", {0, 3}}, {"end", {3, 8, 11}}, {"step", {1, 3}}, {"dynamic", {0, 1}}}, loop_bounds});
  to.push_back({"18", "loops_down", {{"begin", {7}}, {"end", {0, -1, 2}}, {"step", {-1, -2}}, {"dynamic", {0}}}, loop_bounds});
  to.push_back({"19", "private_variables", {{"loop", {0, 1}}}, private_variables});
  to.push_back({"22", "a_guarded_read", {{"far", {1 << 20, 1 << 30}}}, guarded_read});
  to.push_back({"23", "many_points", {}, many_points});
  to.push_back({"23", "two_extents_on_one_fragment", {}, two_extents});
}

}  // namespace tilert::conformance
