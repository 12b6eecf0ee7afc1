// Cases 12, 34, 38 and 66: views of tiles and fragments, reshaped and transposed parameters.
#include <cmath>
#include <cstring>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// The 32 bits of two bf16 numbers whose low half comes first, as f32.
Real joined(Real low, Real high) {
  const auto upper = [](Real x) {
    const auto f = static_cast<float>(x);
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    return bits >> 16;
  };
  const uint32_t bits = upper(high) << 16 | upper(low);
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}

// 12. A shared operand tile of bf16 is read as f32, then serves as f32 scratch: the view addresses the right bytes.
Scenario operand_as_scratch(const Values& v) {
  const int64_t m = 64, n = 32, k = v["K"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", tl::bf16, {m, k}), B = b.input("B", tl::bf16, {k, n});
    auto C = b.output("C", tl::f32, {m, n}), words = b.output("words", tl::f32, {m, k / 2}),
         D = b.output("D", tl::f32, {m, k / 2});
    b.grid({1}, [&](tl::Index) {
      auto a = b.shared(tl::bf16, {m, k}), w = b.shared(tl::bf16, {k, n});
      auto acc = b.fragment(tl::f32, {m, n}), f = b.fragment(tl::f32, {m, k / 2});
      auto scratch = b.view(a, tl::f32);
      b.copy(A, a);
      b.copy(B, w);
      b.gemm(a, w, acc, tl::overwrite);
      b.copy(acc, C);
      b.copy(scratch, words);
      b.copy(scratch, f);
      b.parallel({m, k / 2}, [&](tl::Index i, tl::Index j) {
        scratch(i, j) = tl::select(f(i, j) > 1, tl::cast(tl::f32, i * (k / 2) + j), -1);
      });
      b.copy(scratch, D);
    });
  });
  const Reals a = whole(m * k, -3, 3, 1), w = whole(n * k, -3, 3, 2);
  Reals words, d;
  for (size_t i = 0; i < a.size(); i += 2) {
    words.push_back(joined(a[i], a[i + 1]));
    d.push_back(words.back() > 1 ? static_cast<Real>(i / 2) : -1);
  }
  s.launch()
      .input(tl::bf16, a)
      .input(tl::bf16, w)
      .output(tl::f32, exactly(product(a, w, m, n, k)))
      .output(tl::f32, exactly(words))
      .output(tl::f32, exactly(d));
  return s;
}

// 34. A reduction after a reshape, of a fragment or a shared tile, along either dim.
Scenario reduce_after_reshape(const Values& v) {
  const int64_t n = v["N"], rows = v["rows"], columns = n / rows;
  const auto dim = static_cast<uint32_t>(v["dim"]);
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto X = b.input("X", tl::f32, {n}), Y = b.output("Y", tl::f32, {dim ? rows : columns});
    b.grid({1}, tl::threads(v["threads"]), [&](tl::Index) {
      auto x = v["shared"] ? b.shared(tl::f32, {n}) : b.fragment(tl::f32, {n});
      auto y = b.fragment(tl::f32, {dim ? rows : columns});
      b.copy(X, x);
      b.reduce(tl::absmax, b.reshape(x, {rows, columns}), y, dim);
      b.copy(y, Y);
    });
  });
  // The greatest of a line alone, in another place for each line and trial, and no line's like another's.
  static const int64_t kPlaces[] = {2, 37, 11, 99, 62, 85, 24, 49};  // in percent
  const int64_t lines = dim ? rows : columns, extent = n / lines;
  for (int64_t trial = 0; trial < 8; ++trial) {
    Reals x = whole(n, -1000, 1000, static_cast<uint64_t>(7 + trial));
    for (int64_t line = 0; line < lines; ++line) {
      const int64_t place = extent * kPlaces[(trial + 3 * line) % 8] / 100;
      x[static_cast<size_t>(dim ? line * columns + place : place * columns + line)] = static_cast<Real>(line % 2 ? -2000 - line : 2000 + line);
    }
    Reals y(static_cast<size_t>(lines), 0);
    for (int64_t i = 0; i < n; ++i) {
      Real& best = y[static_cast<size_t>(dim ? i / columns : i % columns)];
      best = std::fmax(best, std::fabs(x[static_cast<size_t>(i)]));
    }
    s.launch().input(tl::f32, x).output(tl::f32, exactly(y));
  }
  return s;
}

// 38. Reshaped one-dimensional tiles as operands of a product in a pipelined loop: rings of the tiles, read through
// views.
Scenario reshaped_operands(const Values& v) {
  const int64_t m = 64, n = 64, k = 32, trips = v["trips"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto A = b.input("A", tl::f16, {trips * m * k}), B = b.input("B", tl::f16, {trips * k, n}),
         C = b.output("C", tl::f32, {m, n});
    auto blocks = b.reshape(A, {trips, m, k});
    b.grid({1}, [&](tl::Index) {
      auto acc = b.fragment(tl::f32, {m, n});
      b.clear(acc);
      b.pipelined(trips, tl::stages(v["stages"]), [&](tl::Index t) {
        auto a = b.shared(tl::f16, {m * k}), w = b.shared(tl::f16, {k * n});
        auto a2 = b.reshape(a, {m, k}), w2 = b.reshape(w, {k, n});
        if (v["by_view"])
          b.copy(blocks(t, 0, 0), a2);
        else
          b.copy(A(t * (m * k)), a);
        b.copy(B(t * k, 0), w2);
        b.gemm(a2, w2, acc);
      });
      b.copy(acc, C);
    });
  });
  const Reals a = whole(trips * m * k, -3, 3, 1), w = whole(trips * k * n, -3, 3, 2);
  Reals c(static_cast<size_t>(m * n), 0);
  for (int64_t t = 0; t < trips; ++t) {
    const Reals part = product(Reals(a.begin() + t * m * k, a.begin() + (t + 1) * m * k),
                               Reals(w.begin() + t * k * n, w.begin() + (t + 1) * k * n), m, n, k);
    for (size_t i = 0; i < c.size(); ++i) c[i] += part[i];
  }
  s.launch().input(tl::f16, a).input(tl::f16, w).output(tl::f32, exactly(c));
  return s;
}

// 66. A fragment and its views are one: what is written through one is read through the others, also around and inside
// loops and branches.
Scenario fragment_views(const Values& v) {
  const int64_t m = 16, n = 24, trips = v["trips"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto X = b.input("X", tl::f32, {m, n}), Y = b.output("Y", tl::f32, {m, n});
    auto bytes = b.output("bytes", tl::u8, {m, n * 4});
    b.grid({1}, tl::threads(v["threads"]), [&](tl::Index) {
      auto x = b.fragment(tl::f32, {m, n});
      auto flat = b.reshape(x, {m * n}), wide = b.reshape(x, {m / 2, 2 * n}), bits = b.view(x, tl::u32),
           octets = b.view(x, tl::u8);
      b.copy(X, x);
      b.serial(trips, [&](tl::Index t) {
        b.parallel({m * n}, [&](tl::Index i) { flat(i) = flat(i) + tl::cast(tl::f32, i % 5); });
        b.if_(t % 2 == 0, [&] {
          b.parallel({m / 2, 2 * n}, [&](tl::Index i, tl::Index j) { wide(i, j) = wide(i, j) * 2; });
        });
        b.parallel({m, n}, [&](tl::Index i, tl::Index j) { x(i, j) = x(i, j) + tl::cast(tl::f32, i); });
      });
      b.serial(2, [&](tl::Index) {
        b.parallel({m, n}, [&](tl::Index i, tl::Index j) { bits(i, j) = bits(i, j) ^ 0x80000000u; });
      });
      b.parallel({m, n}, [&](tl::Index i, tl::Index j) { bits(i, j) = bits(i, j) ^ tl::cast(tl::u32, j < 3) << 31; });
      b.copy(x, Y);
      b.copy(octets, bytes);
    });
  });
  const Reals x = whole(m * n, -8, 8, 3);
  Reals y = x, bytes;
  for (int64_t t = 0; t < trips; ++t)
    for (int64_t i = 0; i < m * n; ++i) {
      Real& e = y[static_cast<size_t>(i)];
      e += static_cast<Real>(i % 5);
      if (t % 2 == 0) e *= 2;
      e += static_cast<Real>(i / n);
    }
  for (int64_t i = 0; i < m * n; ++i) {
    Real& e = y[static_cast<size_t>(i)];
    if (i % n < 3) e = -e;
    const auto f = static_cast<float>(e);
    uint8_t four[4];
    std::memcpy(four, &f, 4);
    for (uint8_t byte : four) bytes.push_back(byte);
  }
  s.launch().input(tl::f32, x).output(tl::f32, exactly(y)).output(tl::u8, exactly(bytes));
  return s;
}

// 66. Elements of a fragment packed into words and taken apart again, of every width.
Scenario packed_fragments(const Values& v) {
  const tl::DType narrow = v.dtype("narrow"), wide = v.dtype("wide");
  const int64_t ratio = v["ratio"], m = 8, n = 16 * ratio;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto X = b.input("X", narrow, {m, n}), W = b.input("W", wide, {m, n / ratio});
    auto words = b.output("words", wide, {m, n / ratio}), parts = b.output("parts", narrow, {m, n});
    b.grid({1}, tl::threads(v["threads"]), [&](tl::Index) {
      auto x = b.fragment(narrow, {m, n});
      auto w = b.fragment(wide, {m, n / ratio});
      b.copy(X, x);
      b.copy(W, w);
      b.copy(b.view(x, wide), words);
      b.copy(b.view(w, narrow), parts);
    });
  });
  Reals x = whole(m * n, 0, 100, 5), w = whole(m * n / ratio, 0, 100, 6), words, parts;
  const int64_t bits = (ratio == 8 ? 64 : 32) / ratio;
  for (int64_t i = 0; i < m * n / ratio; ++i) {
    uint64_t word = 0;
    for (int64_t j = 0; j < ratio; ++j) word |= encode(narrow, x[static_cast<size_t>(i * ratio + j)]) << (j * bits);
    words.push_back(decode(wide, word));
    const uint64_t held = encode(wide, w[static_cast<size_t>(i)]);
    for (int64_t j = 0; j < ratio; ++j)
      parts.push_back(decode(narrow, held >> (j * bits) & ((uint64_t{1} << bits) - 1)));
  }
  s.launch().input(narrow, x).input(wide, w).output(wide, exactly(words)).output(narrow, exactly(parts));
  return s;
}

// 66. Shared tiles and their views: integers of other widths, little-endian; a copy between a tile and its view.
Scenario tile_views(const Values& v) {
  const int64_t m = 8, n = v["N"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto X = b.input("X", tl::u32, {m, n}), halves = b.output("halves", tl::u16, {m, 2 * n});
    auto turned = b.output("turned", tl::u32, {m * n});
    b.grid({1}, [&](tl::Index) {
      auto x = b.shared(tl::u32, {m, n});
      auto half = b.view(x, tl::u16), flat = b.reshape(x, {m * n});
      b.copy(X, x);
      b.copy(half, halves);
      b.parallel({m, n}, [&](tl::Index i, tl::Index j) {
        auto low = b.let(half(i, 2 * j));
        half(i, 2 * j) = half(i, 2 * j + 1);
        half(i, 2 * j + 1) = low;
      });
      b.copy(b.reshape(flat, {n, m}), b.reshape(x, {n, m}));
      b.copy(flat, turned);
    });
  });
  Reals x, halves, turned;
  for (int64_t i = 0; i < m * n; ++i) {
    const auto value = static_cast<uint32_t>(i * 2654435761u);
    x.push_back(value);
    halves.push_back(value & 0xffff);
    halves.push_back(value >> 16);
    turned.push_back(value << 16 | value >> 16);
  }
  s.launch().input(tl::u32, x).output(tl::u16, exactly(halves)).output(tl::u32, exactly(turned));
  return s;
}

// 66. Parameters under other shapes and orders of their dims, read and written, with dynamic dims.
Scenario parameter_views(const Values& v) {
  const int64_t t = v["T"], h = 3, d = 16;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto T = b.dim("T");
    auto X = b.input("X", tl::f16, {T, h * d}), Y = b.output("Y", tl::f16, {h, T, d}),
         Z = b.output("Z", tl::f16, {h * d, T});
    auto heads = b.transposed(b.reshape(X, {T, h, d}), {1, 0, 2});
    auto columns = b.transposed(Z);
    b.grid({tl::ceildiv(T, 32), h}, [&](tl::Index block, tl::Index head) {
      auto x = b.fragment(tl::f16, {1, 32, d});
      b.copy(heads(head, block * 32, 0), x);
      b.copy(x, Y(head, block * 32, 0));
      b.copy(x, columns(block * 32, head * d));
    });
  });
  const Reals x = pattern(tl::f16, t * h * d, 5);
  Reals y(x.size()), z(x.size());
  for (int64_t i = 0; i < t; ++i)
    for (int64_t j = 0; j < h; ++j)
      for (int64_t e = 0; e < d; ++e) {
        const Real value = x[static_cast<size_t>((i * h + j) * d + e)];
        y[static_cast<size_t>((j * t + i) * d + e)] = value;
        z[static_cast<size_t>((j * d + e) * t + i)] = value;
      }
  s.launch({t}).input(tl::f16, x).output(tl::f16, exactly(y)).output(tl::f16, exactly(z));
  return s;
}

}  // namespace

void add_view_cases(std::vector<Case>& to) {
  to.push_back({"12", "operand_as_scratch", {{"K", {16, 32, 48, 64, 128, 256}}}, operand_as_scratch});
  to.push_back(
      {"34",
       "reduce_after_reshape",
       {{"N", {576, 1024}}, {"rows", {2, 32, 64}}, {"dim", {0, 1}}, {"shared", {0, 1}}, {"threads", {64, 128}}},
       reduce_after_reshape});
  to.push_back(
      {"38", "reshaped_operands", {{"trips", {1, 5}}, {"stages", {1, 3}}, {"by_view", {0, 1}}}, reshaped_operands});
  to.push_back({"66", "fragment_views", {{"trips", {0, 3}}, {"threads", {32, 128}}}, fragment_views});
  const auto dtype = [](tl::DType d) { return static_cast<int64_t>(d); };
  const Axis threads{"threads", {32, 128}};
  to.push_back({"66",
                "words_of_two",
                {{"narrow", {dtype(tl::bf16), dtype(tl::f16), dtype(tl::i16)}},
                 {"wide", {dtype(tl::u32), dtype(tl::i32)}},
                 {"ratio", {2}},
                 threads},
                packed_fragments});
  to.push_back({"66",
                "words_of_four",
                {{"narrow", {dtype(tl::u8), dtype(tl::i8), dtype(tl::e4m3)}},
                 {"wide", {dtype(tl::u32)}},
                 {"ratio", {4}},
                 threads},
                packed_fragments});
  to.push_back({"66",
                "words_of_eight",
                {{"narrow", {dtype(tl::u8)}}, {"wide", {dtype(tl::u64), dtype(tl::f64)}}, {"ratio", {8}}, threads},
                packed_fragments});
  to.push_back({"66", "tile_views", {{"N", {8, 12}}}, tile_views});
  to.push_back({"66", "parameter_views", {{"T", {1, 32, 45, 64}}}, parameter_views});
}

}  // namespace tilert::conformance
