// Case 67: layouts of shared tiles. Case 68: copies that repeat their source.
#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// 67. A tile's layout changes no bit: an operand, read by its rows or transposed, and copied out.
Scenario layouts(const Values& v) {
  const int64_t m = 64, n = 32, k = 64;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", tl::f16, {4 * m, k}), B = b.input("B", tl::f16, {k, n});
    auto C = b.output("C", tl::f32, {m, n}), T = b.output("T", tl::f16, {k, m});
    b.grid({1}, [&](tl::Index) {
      auto acc = b.fragment(tl::f32, {m, n});
      auto w = b.shared(tl::f16, {k, n}), last = b.shared(tl::f16, {m, k});
      const auto asked = static_cast<tl::Layout>(v["layout"]);
      const auto place = [&](const tl::Tile& t) {
        if (v["layout"] == 6)
          b.annotate_layout<2>(t, [&](tl::Index i, tl::Index j) { return i * 72 + (j / 8 + i) % 8 * 8 + j % 8; });
        else if (v["layout"] == 7)
          b.annotate_layout<2>(t, [&](tl::Index i, tl::Index j) { return j * 65 + i; });
        else
          b.annotate_layout(t, asked);
      };
      b.clear(acc);
      b.copy(B, w);
      b.pipelined(4, tl::stages(v["stages"]), [&](tl::Index t) {
        auto a = b.shared(tl::f16, {m, k});
        place(a);
        b.copy(A(t * m, 0), a);
        b.gemm(a, w, acc);
      });
      place(last);
      b.copy(A(0, 0), last);
      b.transpose(last, T);
      b.copy(acc, C);
    });
  });
  const Reals a = whole(4 * m * k, -3, 3, 1), w = whole(n * k, -3, 3, 2);
  Reals c(static_cast<size_t>(m * n), 0), turned;
  for (int64_t t = 0; t < 4; ++t) {
    const Reals part = conformance::product(Reals(a.begin() + t * m * k, a.begin() + (t + 1) * m * k), w, m, n, k);
    for (size_t i = 0; i < c.size(); ++i) c[i] += part[i];
  }
  for (int64_t j = 0; j < k; ++j)
    for (int64_t i = 0; i < m; ++i) turned.push_back(a[static_cast<size_t>(i * k + j)]);
  s.launch().input(tl::f16, a).input(tl::f16, w).output(tl::f32, exactly(c)).output(tl::f16, exactly(turned));
  return s;
}

// 67. A layout that must be met and cannot be is refused: rows that no piece divides, views of other rows.
Scenario impossible_layout(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto X = b.input("X", tl::f32, {8, 24}), Y = b.output("Y", tl::f32, {8, 24});
    b.grid({1}, [&](tl::Index) {
      auto t = b.shared(tl::f32, {8, 24});
      b.annotate_layout(t, v["view"] ? tl::Layout::padded : tl::Layout::swizzle_128, tl::must);
      b.copy(X, t);
      if (v["view"])
        b.copy(b.reshape(b.reshape(t, {192}), {8, 24}), Y);
      else
        b.copy(t, Y);
    });
  });
  s.refused = {"must be met"};
  return s;
}

// 68. A copy that repeats its source along rows, along columns, or from one element, with edges, a run-time end and a
// cast.
Scenario repeated(const Values& v) {
  const tl::DType dtype = v.dtype();
  const int64_t m = 24, n = 40;
  const int64_t columns = v["way"] == 1 ? 1 : n;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N");
    auto X = v["way"] == 0 ? b.input("X", dtype, {N}) : b.input("X", dtype, {N, columns});
    auto Y = b.output("Y", tl::f32, {m, n});
    b.grid({1}, [&](tl::Index) {
      auto y = v["out"] ? b.shared(tl::f32, {m, n}) : b.fragment(tl::f32, {m, n});
      tl::CopyOptions options;
      if (v["bounded"])
        options.safe(3).valid(v["way"] == 0 ? std::initializer_list<tl::Expr>{N - 2}
                                            : std::initializer_list<tl::Expr>{N - 2, 1});
      if (v["through"]) {
        auto x = v["way"] == 0 ? b.shared(dtype, {n}) : b.shared(dtype, {m, 1});
        if (v["way"] == 0)
          b.copy(X(0), x, options);
        else
          b.copy(X(0, 0), x, options);
        b.copy(x, y);
      } else if (v["way"] == 0) {
        b.copy(X(0).size({n}), y, options);
      } else {
        b.copy(X(0, 0).size({m, 1}), y, options);
      }
      b.copy(y, Y);
    });
  });
  // Once with fewer than the tile has, once with more.
  for (int64_t have : {v["have"], v["have"] == 17 ? int64_t{50} : int64_t{17}}) {
    const Reals x = pattern(dtype, static_cast<size_t>(v["way"] == 0 ? have : have * columns), 3);
    const int64_t end = v["bounded"] ? have - 2 : have;
    const Real beyond = v["bounded"] ? 3 : 0;
    Reals y;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const int64_t at = v["way"] == 0 ? j : i;
        y.push_back(at < end ? x[static_cast<size_t>(at * (v["way"] == 0 ? 1 : columns))] : beyond);
      }
    s.launch({have}).input(dtype, x).output(tl::f32, exactly(y));
  }
  return s;
}

}  // namespace

void add_layout_cases(std::vector<Case>& to) {
  to.push_back({"67", "layouts", {{"layout", {1, 2, 3, 4, 5, 6, 7}}, {"stages", {1, 3}}}, layouts});
  to.push_back({"67", "impossible_layout", {{"view", {0, 1}}}, impossible_layout});
  to.push_back({"68",
                "repeated",
                {dtypes({tl::f32, tl::f16, tl::i8}),
                 {"way", {0, 1}},
                 {"out", {0, 1}},
                 {"through", {0, 1}},
                 {"bounded", {0, 1}},
                 {"have", {40, 17, 50}}},
                repeated});
}

}  // namespace tilert::conformance
