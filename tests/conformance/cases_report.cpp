// Case 66: print and assert. The values of programs do not show them; what is told is compared as text.
#include <algorithm>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

std::string at(int64_t x, int64_t y = 0, int64_t z = 0) {
  return "[" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + "] ";
}

Scenario& in_order(Scenario& s) {
  std::sort(s.told.begin(), s.told.end());
  return s;
}

// Once a block: values of every width, sign and kind, braces, and none at all.
Scenario values_of_a_block(const Values& v) {
  Scenario s;
  const int64_t width = v["width"];
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N");
    auto x = b.input("x", tl::f32, {N});
    auto half = b.scalar("half", tl::f16);
    auto y = b.output("y", tl::f32, {N});
    b.grid({tl::ceildiv(N, width), 2, 1}, [&](tl::Index i, tl::Index j, tl::Index) {
      auto t = b.fragment(tl::f32, {width});
      b.copy(x(i * width), t);
      b.if_(j == 0, [&] { b.copy(t, y(i * width)); });
      auto last = b.var(tl::f32);
      last = t(width - 1);
      b.print("first ", t(0), ", last ", last, " of {", N, "}");
      b.print("", tl::cast(tl::u8, i - 1), tl::cast(tl::i8, i - 1), i == 0, half, tl::cast(tl::f64, half), -7);
      b.print("here");
    });
  });
  for (int64_t n : {2 * width, width, int64_t{0}}) {
    s.launch({n}).input(tl::f32, counting(static_cast<size_t>(n))).scalar(tl::f16, -0.5).output(tl::f32, exactly(counting(static_cast<size_t>(n))));
    for (int64_t i = 0; i < n / width; ++i)
      for (int64_t j = 0; j < 2; ++j) {
        const auto number = [](int64_t value) { return std::to_string(value); };
        s.told.push_back(at(i, j) + "first " + number(i * width) + ", last " + number(i * width + width - 1) + " of {" + number(n) + "}");
        s.told.push_back(at(i, j) + number(i == 0 ? 255 : i - 1) + number(i - 1) + (i == 0 ? "true" : "false") + "-0.5-0.5-7");
        s.told.push_back(at(i, j) + "here");
      }
  }
  return std::move(in_order(s));
}

// Each point once, whoever holds copies of it; an assertion where it does not hold.
Scenario points(const Values& v) {
  Scenario s;
  const int64_t rows = v["rows"], columns = v["columns"];
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::i32, {rows, columns}), y = b.output("y", tl::i32, {rows});
    b.grid({1}, tl::threads(128), [&](tl::Index) {
      auto t = b.fragment(tl::i32, {rows, columns});
      auto sum = b.fragment(tl::i32, {rows});
      b.copy(x(0, 0), t);
      b.reduce(tl::sum, t, sum, 1);
      b.parallel({rows, columns}, [&](tl::Index i, tl::Index j) { b.assert_(t(i, j) % 5 != 0, "t(", i, ", ", j, ") = ", t(i, j)); });
      b.parallel({rows}, [&](tl::Index i) { b.print("sum ", sum(i), " of row ", i); });
      b.copy(sum, y(0));
    });
  });
  const Reals x = counting(static_cast<size_t>(rows * columns));
  Reals sums(static_cast<size_t>(rows), 0);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t value = i * columns + j;
      sums[static_cast<size_t>(i)] += static_cast<Real>(value);
      if (value % 5 == 0)
        s.told.push_back(at(0) + "assertion failed: t(" + std::to_string(i) + ", " + std::to_string(j) + ") = " + std::to_string(value));
    }
    s.told.push_back(at(0) + "sum " + std::to_string(static_cast<int64_t>(sums[static_cast<size_t>(i)])) + " of row " + std::to_string(i));
  }
  s.launch().input(tl::i32, x).output(tl::i32, exactly(sums));
  return std::move(in_order(s));
}

// Every element of a region, by its place in the tile; storage of each kind.
Scenario tiles(const Values& v) {
  Scenario s;
  const tl::DType dtype = v.dtype();
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", dtype, {6, 8}), y = b.output("y", dtype, {6, 8});
    b.grid({1}, [&](tl::Index) {
      auto t = v["shared"] ? b.shared(dtype, {6, 8}) : b.fragment(dtype, {6, 8});
      b.copy(x(0, 0), t);
      b.print("t", t(2, 4).size({3, 4}));
      b.print("x", x(5, 6).size({1, 2}));
      b.copy(t, y(0, 0));
    });
  });
  Reals x;
  for (int i = 0; i < 48; ++i) x.push_back(i % 7);
  const auto element = [&](const char* name, int i, int j) {
    s.told.push_back(at(0) + name + "[" + std::to_string(i) + ", " + std::to_string(j) + "] = " + std::to_string((i * 8 + j) % 7));
  };
  for (int i = 2; i < 5; ++i)
    for (int j = 4; j < 8; ++j) element("t", i, j);
  element("x", 5, 6), element("x", 5, 7);
  s.launch().input(dtype, x).output(dtype, exactly(x));
  return std::move(in_order(s));
}

// What a trip of a pipelined loop tells is of that trip, whatever runs ahead.
Scenario trips(const Values& v) {
  Scenario s;
  const int64_t trips = v["trips"];
  s.program([&](tl::Builder& b) {
    auto K = b.dim("K");
    auto x = b.input("x", tl::f16, {64, K}), w = b.input("w", tl::f16, {K, 64});
    auto y = b.output("y", tl::f32, {64, 64});
    b.grid({1}, [&](tl::Index) {
      auto a = b.shared(tl::f16, {64, 32}), c = b.shared(tl::f16, {32, 64});
      auto acc = b.fragment(tl::f32, {64, 64});
      b.clear(acc);
      b.pipelined(tl::ceildiv(K, 32), tl::stages(static_cast<uint32_t>(v["stages"])), [&](tl::Index k) {
        b.copy(x(0, k * 32), a);
        b.copy(w(k * 32, 0), c);
        b.gemm(a, c, acc);
        b.print("trip ", k, ": ", a(1, 3), ", so far ", acc(0, 0));
        b.assert_(a(0, 0) != 2, "trip ", k);
      });
      b.print("all ", acc(63, 63));
      b.copy(acc, y(0, 0));
    });
  });
  std::vector<int64_t> depths = {trips * 32};
  if (trips) depths.push_back(trips * 32 - 3);  // a row that no vector divides
  for (int64_t depth : depths) {
    Reals x, w, y;
    for (int64_t i = 0; i < 64; ++i)
      for (int64_t k = 0; k < depth; ++k) x.push_back(static_cast<Real>((i + k / 32 + k % 32 % 3) % 5));
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t j = 0; j < 64; ++j) w.push_back(static_cast<Real>((k + j) % 4));
    const auto sum = [&](int64_t i, int64_t j, int64_t terms) {
      Real out = 0;
      for (int64_t k = 0; k < std::min(terms, depth); ++k) out += x[static_cast<size_t>(i * depth + k)] * w[static_cast<size_t>(k * 64 + j)];
      return out;
    };
    for (int64_t i = 0; i < 64; ++i)
      for (int64_t j = 0; j < 64; ++j) y.push_back(sum(i, j, depth));
    for (int64_t k = 0; k < trips; ++k) {
      s.told.push_back(at(0) + "trip " + std::to_string(k) + ": " + std::to_string((1 + k) % 5) + ", so far " +
                       std::to_string(static_cast<int64_t>(sum(0, 0, (k + 1) * 32))));
      if (k % 5 == 2) s.told.push_back(at(0) + "assertion failed: trip " + std::to_string(k));
    }
    s.told.push_back(at(0) + "all " + std::to_string(static_cast<int64_t>(y.back())));
    s.launch({depth}).input(tl::f16, x).input(tl::f16, w).output(tl::f32, exactly(y));
  }
  return std::move(in_order(s));
}

// What finds no room is counted.
Scenario more_than_fit(const Values&) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto y = b.output("y", tl::i32, {4, 500});
    b.grid({4}, [&](tl::Index i) {
      b.parallel({500}, [&](tl::Index j) {
        b.print("", i * 500 + j);
        y(i, j) = tl::cast(tl::i32, j);
      });
    });
  });
  Reals y;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 500; ++j) {
      y.push_back(j);
      s.told.push_back(at(i) + std::to_string(i * 500 + j));
    }
  s.lost = 2000 - 1024;
  s.launch().output(tl::i32, exactly(y));
  return std::move(in_order(s));
}

// A sum that stays in parts while it is accumulated is whole where it is told.
Scenario sums_in_a_loop(const Values&) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::f32, {4, 16, 64}), y = b.output("y", tl::f32, {16});
    b.grid({1}, [&](tl::Index) {
      auto t = b.fragment(tl::f32, {16, 64}), sum = b.fragment(tl::f32, {16});
      b.clear(sum);
      b.serial(4, [&](tl::Index k) {
        b.copy(x(k, 0, 0), t);
        b.reduce(tl::sum, t, sum, 1, tl::accumulate);
        b.parallel({16}, [&](tl::Index i) { b.print("", k, " ", i, " ", sum(i)); });
      });
      b.copy(sum, y(0));
    });
  });
  Reals x, y(16, 0);
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 64; ++j) {
        x.push_back((k + i + j) % 3);
        y[static_cast<size_t>(i)] += x.back();
      }
      s.told.push_back(at(0) + std::to_string(k) + " " + std::to_string(i) + " " + std::to_string(static_cast<int>(y[static_cast<size_t>(i)])));
    }
  s.launch().input(tl::f32, x).output(tl::f32, exactly(y));
  return std::move(in_order(s));
}

// In a kernel made for that: what leaves its tile is told, a store is dropped, a region is moved inside.
Scenario out_of_tiles(const Values& v) {
  Scenario s;
  s.debug = true;
  s.program([&](tl::Builder& b) {
    auto at = b.input("at", tl::i32, {8}), x = b.input("x", tl::f32, {8});
    auto y = b.output("y", tl::f32, {8}), z = b.output("z", tl::f32, {4});
    b.grid({1}, [&](tl::Index) {
      auto t = v["shared"] ? b.shared(tl::f32, {8}, "t") : b.fragment(tl::f32, {8}, "t");
      auto u = b.shared(tl::f32, {8}, "u");
      b.copy(x(0), t);
      b.parallel({8}, [&](tl::Index i) { y(i) = t(tl::cast(tl::index, at(i))); });
      b.copy(x(0), u);
      b.atomic_add(u(tl::cast(tl::index, at(1))), 100);
      b.copy(u(tl::cast(tl::index, at(0))).size({4}), z(0));
    });
  });
  const Reals at_ = {5, 1, 7, 8, -1, 0, 2, 3}, x = {10, 11, 12, 13, 14, 15, 16, 17};
  const Reals y = {15, 11, 17, 10, 10, 10, 12, 13}, z = {14, 15, 16, 17};
  for (const char* place : {"t[8]", "t[-1]"}) s.told.push_back(at(0) + "assertion failed: " + place + " leaves t, which is [8]");
  s.told.push_back(at(0) + "assertion failed: u[5:4] leaves u, which is [8]");
  s.launch().input(tl::i32, at_).input(tl::f32, x).output(tl::f32, exactly(y)).output(tl::f32, exactly(z));
  return std::move(in_order(s));
}

Scenario misused(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::f32, {64}), y = b.output("y", tl::f32, {64});
    if (v["of"] == 0) b.print("outside of any kernel");
    b.grid({1}, [&](tl::Index i) {
      auto t = b.shared(tl::f32, {64});
      if (v["of"] == 1) b.print("t", t);
      b.copy(x(0), t);
      if (v["of"] == 2) b.print("", i, i, i, i, i, i, i);
      if (v["of"] == 3) b.assert_(t(0), "no bool");
      if (v["of"] == 4) b.parallel({64}, [&](tl::Index) { b.print("t", t); });
      if (v["of"] == 5) b.print("y", y(0).size({4}));
      b.copy(t, y(0));
    });
  });
  const std::vector<std::vector<std::string>> words = {{"print", "kernel"}, {"print", "written"},      {"print", "at most 6"},
                                                       {"assert", "bool"},  {"print", "parallel"}, {"print", "output"}};
  s.refused = words[static_cast<size_t>(v["of"])];
  return s;
}

}  // namespace

void add_report_cases(std::vector<Case>& to) {
  to.push_back({"66", "values_of_a_block", {{"width", {64, 200}}}, values_of_a_block});
  to.push_back({"66", "points", {{"rows", {1, 16}}, {"columns", {24, 32, 33}}}, points});
  to.push_back({"66", "tiles", {{"shared", {0, 1}}, dtypes({tl::f32, tl::bf16, tl::e4m3, tl::u8, tl::i4, tl::i64, tl::f64})}, tiles});
  to.push_back({"66", "trips", {{"trips", {0, 1, 7}}, {"stages", {0, 2, 3}}}, trips});
  to.push_back({"66", "more_than_fit", {}, more_than_fit});
  to.push_back({"66", "sums_in_a_loop", {}, sums_in_a_loop});
  to.push_back({"66", "out_of_tiles", {{"shared", {0, 1}}}, out_of_tiles});
  to.push_back({"66", "misused", {{"of", {0, 1, 2, 3, 4, 5}}}, misused});
}

}  // namespace tilert::conformance
