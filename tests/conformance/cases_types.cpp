// Cases 4, 10, 16, 17 and 20 for every element type: arithmetic at each width, conversions among all types, copies.
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

const std::vector<tl::DType>& all_types() {
  static const std::vector<tl::DType> all = {tl::boolean, tl::i8,   tl::i16,  tl::i32,  tl::i64,  tl::u8,       tl::u16,      tl::u32, tl::u64,
                                             tl::f16,     tl::bf16, tl::f32,  tl::f64,  tl::e4m3, tl::e5m2,     tl::e4m3fnuz, tl::e5m2fnuz,
                                             tl::e8m0,    tl::i4,   tl::u4,   tl::e2m3, tl::e3m2, tl::e2m1,     tl::nf4};
  return all;
}
const std::vector<tl::DType>& packed_types() {
  static const std::vector<tl::DType> all = {tl::i4, tl::u4, tl::e2m1, tl::e2m3, tl::e3m2, tl::nf4};
  return all;
}
Axis axis_of(const std::vector<tl::DType>& types) {
  Axis axis{"dtype", {}};
  for (tl::DType d : types) axis.values.push_back(static_cast<int64_t>(d));
  return axis;
}

// 17. Every operation of integers that wraps or orders, over random patterns and the ends of the type.
Scenario integer_arithmetic(const Values& v) {
  using Binary = tl::Expr (*)(const tl::Expr&, const tl::Expr&);
  static const Binary programs[] = {
      [](const tl::Expr& a, const tl::Expr& b) { return a + b; },
      [](const tl::Expr& a, const tl::Expr& b) { return a - b; },
      [](const tl::Expr& a, const tl::Expr& b) { return a * b; },
      [](const tl::Expr& a, const tl::Expr& b) { return (a & b) ^ ~(a | b); },
      [](const tl::Expr& a, const tl::Expr& b) { return tl::min(a, b) - tl::max(-a, tl::abs(b)); },
      [](const tl::Expr& a, const tl::Expr& b) { return tl::select(a < b, a, tl::select(a == b, a + 1, b)); },
  };
  const tl::DType dtype = v.dtype();
  const auto less = [&](uint64_t x, uint64_t y) { return decode(dtype, x) < decode(dtype, y); };
  const auto exact = [&](int64_t operation, uint64_t a, uint64_t b) -> uint64_t {
    const auto kept = [&](uint64_t u) { return encode(dtype, static_cast<Real>(static_cast<int64_t>(u))); };
    switch (operation) {
      case 0: return a + b;
      case 1: return a - b;
      case 2: return a * b;
      case 3: return (a & b) ^ ~(a | b);
      case 4: {
        const uint64_t minus = kept(0 - a), size = less(b, 0) ? kept(0 - b) : b;
        return (less(b, a) ? b : a) - (less(minus, size) ? size : minus);
      }
      default: return less(a, b) ? a : a == b ? a + 1 : b;
    }
  };
  const int bits = 8 * static_cast<int>(bytes_of(dtype));
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  std::vector<uint64_t> a = {0, 0, 1, mask, mask, mask >> 1, (mask >> 1) + 1, 5}, b = {0, 1, 1, mask, 1, 1, 1, 5};
  for (uint64_t i = 1; i < 200; ++i) {
    a.push_back((i * 0x9e3779b97f4a7c15u >> 3) & mask);
    b.push_back((i * 0xbf58476d1ce4e5b9u >> 5) & mask);
  }
  Reals x, y, want;
  for (size_t i = 0; i < a.size(); ++i) {
    x.push_back(decode(dtype, a[i])), y.push_back(decode(dtype, b[i]));
    want.push_back(decode(dtype, exact(v["operation"], a[i], b[i]) & mask));
  }
  const int64_t n = static_cast<int64_t>(x.size());
  Scenario s;
  s.program([&](tl::Builder& builder) {
    auto left = builder.input("a", dtype, {n}), right = builder.input("b", dtype, {n}), out = builder.output("y", dtype, {n});
    builder.grid({1}, [&](tl::Index) {
      auto t = builder.fragment(dtype, {n}), u = builder.fragment(dtype, {n});
      builder.copy(left, t);
      builder.copy(right, u);
      builder.parallel({n}, [&](tl::Index i) { t(i) = programs[v["operation"]](t(i), u(i)); });
      builder.copy(t, out);
    });
  });
  s.launch().input(dtype, x).input(dtype, y).output(dtype, exactly(want));
  return s;
}

// Values of a type: its ends, halves between its neighbours, and where other types end.
Reals values_of(tl::DType from) {
  Reals values = {0, 1, -1, 2.5L, -2.5L, 3.5L, 0.5L, -0.5L, 1.5L, 127, 128, -128, -129, 255, 256, 32767, 32768, -32769, 65504, 65520,
                  65535, 65536, 1e6L, -1e6L, 16777217, 2147483647.0L, -2147483648.0L, 2147483648.0L, 4294967295.0L, 4294967296.0L,
                  3e9L, -3e9L, 9223372036854775807.0L, -9223372036854775808.0L, 9223372036854775808.0L, 18446744073709551615.0L,
                  1e19L, -1e19L, 1e20L, 3.3895e38L, 1e300L, 6e-8L, 1e-40L, 1e-310L, 448, 464, 464.00001L, 465, 480, 240, 248, 57344, 61440, 61441, 0.0009765625L, 0.00146484375L,
                  0.0175L, 1.5L * 0x1p-127L, 0x1.8p127L, 0x1.7fp127L, 0x1p-10L, 0x1.8p-16L, 0x1p-17L, 1.0625L, 1.1875L, 1.125L, -1.375L, 1.00390625L, 1.01171875L, 1.0009765625L,
                  1.001953126L, 1.00390625001L, -1.0014648437501L, 2049.0000001L, 1.0000000596046448L, 1.00000005960464481L};
  if (is_float(from)) values.insert(values.end(), {INFINITY, -INFINITY, NAN, -Real{0}});
  for (Real& x : values) {
    if (!is_float(from)) x = saturated(from, x);
    x = from == tl::boolean ? Real(x != 0) : rounded(from, x);
  }
  return values;
}

Real converted(tl::DType from, tl::DType to, Real x) {
  if (from == to) return x;
  if (to == tl::boolean) return x != 0 || std::isnan(x);
  if (is_float(to)) return rounded(to, x);
  return wrapped(to, is_float(from) ? saturated(to, x) : x);
}

// 20. From one type to every other, by an expression and by a copy.
Scenario casts_to_all(const Values& v) {
  const tl::DType from = v.dtype();
  const Reals in = values_of(from);
  const int64_t n = static_cast<int64_t>(in.size());
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", from, {n});
    std::vector<tl::Tile> outputs;
    for (tl::DType to : all_types())
      outputs.push_back(b.output((std::string("to_") + name_of(to)).c_str(), to, {n}));
    b.grid({1}, [&](tl::Index) {
      auto t = b.fragment(from, {n});
      b.copy(x, t);
      for (size_t i = 0; i < outputs.size(); ++i) {
        const tl::DType to = all_types()[i];
        auto u = b.fragment(to, {n});
        if (v["copy"]) b.copy(t, u);
        else b.parallel({n}, [&](tl::Index j) { u(j) = tl::cast(to, t(j)); });
        b.copy(u, outputs[i]);
      }
    });
  });
  Launch& launch = s.launch().input(from, in);
  for (tl::DType to : all_types()) {
    Reals want;
    for (Real x : in) want.push_back(converted(from, to, x));
    launch.output(to, exactly_signed(want));
  }
  return s;
}

// 20. Every code of a type of 8 bits or less to wider floats and integers, and back: the same codes, NaNs apart.
Scenario every_code(const Values& v) {
  const tl::DType dtype = v.dtype();
  const int64_t n = int64_t{1} << bits_of(dtype);
  const tl::DType wide[] = {tl::f32, tl::f16, tl::bf16, tl::f64, tl::i32, tl::u8, tl::boolean};
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", dtype, {n});
    std::vector<tl::Tile> outputs;
    for (tl::DType to : wide) outputs.push_back(b.output((std::string("to_") + name_of(to)).c_str(), to, {n}));
    auto back = b.inout("back", tl::i32, {3, n});
    b.grid({1}, [&](tl::Index) {
      auto t = b.fragment(dtype, {n}), again = b.fragment(dtype, {n});
      b.copy(x, t);
      for (size_t i = 0; i < std::size(wide); ++i) {
        auto u = b.fragment(wide[i], {n});
        b.copy(t, u);
        b.copy(u, outputs[i]);
        if (i > 2) continue;
        b.copy(u, again);
        // A 4-bit code is read as u4; one of 6 bits by its value.
        auto codes = b.fragment(tl::i32, {n});
        b.parallel({n}, [&](tl::Index j) {
          const tl::Expr one = again(j);
          if (bits_of(dtype) == 8) codes(j) = tl::cast(tl::i32, tl::reinterpret(tl::u8, one));
          else if (bits_of(dtype) == 4) codes(j) = tl::cast(tl::i32, tl::reinterpret(tl::u4, one));
          else codes(j) = tl::reinterpret(tl::i32, tl::cast(tl::f32, one));
        });
        b.copy(codes, back(static_cast<int64_t>(i), 0).size({1, n}));
      }
    });
  });
  Reals in, codes;
  for (int64_t code = 0; code < n; ++code) in.push_back(decode(dtype, static_cast<uint64_t>(code)));
  Launch& launch = s.launch().input(dtype, in);
  for (tl::DType to : wide) {
    Reals want;
    for (Real x : in) want.push_back(converted(dtype, to, x));
    launch.output(to, exactly_signed(want));
  }
  for (tl::DType through : {tl::f32, tl::f16, tl::bf16})
    for (Real x : in) {
      const uint64_t code = encode(dtype, rounded(through, x));
      codes.push_back(bits_of(dtype) == 6 ? static_cast<Real>(static_cast<int32_t>(encode(tl::f32, decode(dtype, code)))) : static_cast<Real>(code));
    }
  launch.inout(tl::i32, Reals(codes.size(), 12345678), exactly(codes));
  return s;
}

// 20. Every pattern of a 16-bit float, or many of a wider one, to each fp8 type, saturating and not: the codes.
Scenario every_pattern(const Values& v) {
  const tl::DType from = v.dtype();
  const tl::DType targets[] = {tl::e4m3, tl::e5m2, tl::e4m3fnuz, tl::e5m2fnuz, tl::e8m0};
  std::vector<uint64_t> patterns;
  const auto with_neighbours = [&](uint64_t bits) {
    for (uint64_t step = 0; step < 3; ++step) patterns.push_back(bits + step - 1);
  };
  if (bits_of(from) == 16) {
    for (uint64_t i = 0; i < 65536; ++i) patterns.push_back(i);
  } else {
    // The values of every target, the middles between them, and what lies beside those.
    for (tl::DType to : targets)
      for (uint64_t code = 0; code < 255; ++code) {
        const Real x = decode(to, code), y = decode(to, code + 1);
        if (std::isnan(x)) continue;
        with_neighbours(encode(from, x));
        if (!std::isnan(y)) with_neighbours(encode(from, (x + y) / 2));
      }
    const uint64_t mask = bits_of(from) == 64 ? ~uint64_t{0} : 0xffffffffu;
    for (uint64_t i = 1; patterns.size() < 8192; ++i) patterns.push_back((i * 0x9e3779b97f4a7c15u >> (bits_of(from) == 64 ? 1 : 17)) & mask);
  }
  const int64_t n = static_cast<int64_t>(patterns.size()), tile = 1024;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", from, {n});
    std::vector<tl::Tile> outputs;
    for (tl::DType to : targets)
      for (const char* how : {"sat_", "nonsat_"}) outputs.push_back(b.inout((std::string(how) + name_of(to)).c_str(), tl::u8, {n}));
    b.grid({tl::ceildiv(n, tile)}, [&](tl::Index block) {
      auto t = b.fragment(from, {tile});
      b.copy(x(block * tile), t);
      for (size_t i = 0; i < outputs.size(); ++i) {
        const tl::DType to = targets[i / 2];
        auto codes = b.fragment(tl::u8, {tile});
        b.parallel({tile}, [&](tl::Index j) {
          codes(j) = tl::reinterpret(tl::u8, i % 2 ? tl::cast_nonsat(to, t(j)) : tl::cast(to, t(j)));
        });
        b.copy(codes, outputs[i](block * tile));
      }
    });
  });
  Reals in;
  for (uint64_t bits : patterns) in.push_back(decode(from, bits));
  Launch& launch = s.launch().input(from, in);
  for (tl::DType to : targets)
    for (bool saturates : {true, false}) {
      Reals want, other;
      for (Real x : in) want.push_back(static_cast<Real>(encode(to, x, saturates))), other.push_back(static_cast<Real>(static_cast<int>(want.back()) ^ 255));
      launch.inout(tl::u8, other, exactly(want));
    }
  return s;
}

// 4. Outside cells take the safe value of the source's type, cast on the way.
Scenario safe_value_cast(const Values& v) {
  const tl::DType from = v.dtype(), to = v.dtype("to");
  const Real safe = v["safe"] ? 64 : 0;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", from, {20, 30}), y = b.output("y", to, {32, 32});
    b.grid({1}, [&](tl::Index) {
      auto t = v["scope"] ? b.fragment(to, {32, 32}) : b.shared(to, {32, 32});
      tl::CopyOptions options;
      if (v["safe"]) options.safe(b.constant(from, 64));
      b.copy(x(0, 0), t, options);
      b.copy(t, y);
    });
  });
  const Reals data = pattern(from, 600);
  Reals want;
  for (int64_t i = 0; i < 32; ++i)
    for (int64_t j = 0; j < 32; ++j) want.push_back(converted(from, to, i < 20 && j < 30 ? data[i * 30 + j] : rounded(from, safe)));
  s.launch().input(from, data).output(to, exactly(want));
  return s;
}

// 10, 16. A few elements of a type through each scope, and its greatest value filled in.
Scenario few_elements(const Values& v) {
  const int64_t n = v["N"];
  const tl::DType dtype = v.dtype();
  const Real most = is_float(dtype) ? rounded(dtype, dtype == tl::e8m0 ? 60000 : -60000) : saturated(dtype, 1e30L);
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", dtype, {n}), y = b.output("y", dtype, {n}), z = b.output("z", dtype, {n});
    b.grid({1}, [&](tl::Index) {
      auto t = v["scope"] == 0 ? b.shared(dtype, {n}) : v["scope"] == 1 ? b.fragment(dtype, {n}) : b.local(dtype, {n});
      b.copy(x, t);
      b.copy(t, y);
      const uint64_t bits = encode(dtype, most);
      b.fill(t, tl::Expr(b.get(), tilert_builder_constant(b.get(), static_cast<tilert_dtype>(dtype), bits)));
      b.copy(t, z);
    });
  });
  const Reals data = pattern(dtype, n);
  s.launch().input(dtype, data).output(dtype, exactly(data)).output(dtype, exactly(Reals(static_cast<size_t>(n), most)));
  return s;
}

// The neighbour that 32 random bits choose, in arithmetic that loses nothing.
Real at_random(tl::DType to, Real x, uint32_t random) {
  if (!std::isfinite(x) || x == 0) return rounded(to, x);
  const int mantissa = -std::ilogb(epsilon(to)), least = std::ilogb(ulp(to, 0)) + mantissa;
  const Real step = std::ldexp(Real{1}, std::max(std::ilogb(x), least) - mantissa);
  const Real steps = std::fabs(x) / step, whole = std::floor(steps);
  const Real part = std::floor((steps - whole) * 0x1p32L);
  return rounded(to, std::copysign((whole + (part + random >= 0x1p32L)) * step, x));
}

// 20. Rounding by given bits, of special values, both ends of the bits among them.
Scenario stochastic(const Values& v) {
  const tl::DType from = v.dtype(), to = static_cast<tl::DType>(v["to"]);
  Reals x, random, want;
  const Reals few = values_of(from), many = uniform(from, 150, 5);
  for (const Reals* list : {&few, &many})
    for (Real value : *list)
      for (uint32_t r : {0u, 1u, 0x7fffffffu, 0xffffffffu, static_cast<uint32_t>(x.size() * 2654435761u)}) {
        x.push_back(value), random.push_back(r);
        want.push_back(at_random(to, value, r));
      }
  const int64_t n = static_cast<int64_t>(x.size());
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto input = b.input("x", from, {n}), bits = b.input("bits", tl::u32, {n}), y = b.output("y", to, {n});
    b.grid({tl::ceildiv(n, 256)}, [&](tl::Index block) {
      auto t = b.fragment(from, {256});
      auto u = b.fragment(to, {256});
      b.copy(input(block * 256), t);
      b.parallel({256}, [&](tl::Index i) { u(i) = tl::cast_stochastic(to, t(i), bits(block * 256 + i)); });
      b.copy(u, y(block * 256));
    });
  });
  s.launch().input(from, x).input(tl::u32, random).output(to, exactly_signed(want));
  return s;
}

// 20. Draws of one's own: about as many go up as the value lies above its lower neighbour, and exactly those that should.
Scenario stochastic_draws(const Values&) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto up = b.inout("up", tl::i32, {1}), beside = b.inout("beside", tl::i32, {1});
    b.grid({16}, [&](tl::Index block) {
      b.parallel({256}, [&](tl::Index i) {
        const auto words = b.random_bits(11, block * 256 + i);
        const tl::Expr y = b.let(tl::cast(tl::f32, tl::cast_stochastic(tl::bf16, tl::cast(tl::f32, 1.001953125), words[0])));
        b.atomic_add(up(0), tl::cast(tl::i32, y > 1));  // a quarter of the way from 1 to 1.0078125
        b.atomic_add(beside(0), tl::cast(tl::i32, (y > 1) != (words[0] >= 0xc0000000u)));
      });
    });
  });
  s.launch().inout(tl::i32, {0}, {Want{1024, 100}}).inout(tl::i32, {0}, exactly({0}));
  return s;
}

}  // namespace

void add_type_cases(std::vector<Case>& to) {
  const Axis all = axis_of(all_types()), packed = axis_of(packed_types());
  const Axis more = dtypes({tl::u8, tl::i16, tl::u16, tl::u32, tl::u64, tl::f64, tl::e4m3, tl::e5m2, tl::e4m3fnuz, tl::e8m0});
  Axis target = dtypes({tl::f64, tl::u16, tl::u64, tl::i8, tl::e5m2});
  target.name = "to";
  to.push_back({"4", "safe_value_of_more_types", {{"safe", {1, 0}}, {"scope", {0, 1}}, more, target}, safe_value_cast});
  to.push_back({"10", "few_elements_of_more_types", {{"N", {1, 2, 3, 16, 17}}, {"scope", {0, 1, 2}}, more}, few_elements});
  to.push_back({"17", "arithmetic_at_every_width", {{"operation", {0, 1, 2, 3, 4, 5}}, dtypes({tl::i8, tl::i16, tl::i32, tl::i64, tl::u8, tl::u16, tl::u32, tl::u64})}, integer_arithmetic});
  to.push_back({"20", "casts_to_all_types", {all, {"copy", {0, 1}}}, casts_to_all});
  Axis small = dtypes({tl::e4m3, tl::e5m2, tl::e4m3fnuz, tl::e5m2fnuz, tl::e8m0});
  small.values.insert(small.values.end(), packed.values.begin(), packed.values.end());
  to.push_back({"20", "every_code", {small}, every_code});
  to.push_back({"10", "few_packed_elements", {{"N", {1, 2, 3, 16, 17}}, {"scope", {0, 1, 2}}, packed}, few_elements});
  Axis narrow = dtypes({tl::f16, tl::bf16, tl::e4m3, tl::e5m2, tl::e4m3fnuz, tl::e5m2fnuz, tl::e2m3, tl::e3m2, tl::e2m1});
  narrow.name = "to";
  to.push_back({"20", "stochastic", {dtypes({tl::f32, tl::f64}), narrow}, stochastic});
  Axis narrower = dtypes({tl::e4m3, tl::e5m2, tl::e2m1});
  narrower.name = "to";
  to.push_back({"20", "stochastic_of_halves", {dtypes({tl::f16, tl::bf16}), narrower}, stochastic});
  Axis f32 = dtypes({tl::f32});
  f32.name = "to";
  to.push_back({"20", "stochastic_of_doubles", {dtypes({tl::f64}), f32}, stochastic});
  to.push_back({"20", "stochastic_draws", {}, stochastic_draws});
  to.push_back({"20", "every_pattern_to_fp8", {dtypes({tl::f16, tl::bf16, tl::f32, tl::f64})}, every_pattern});
}

}  // namespace tilert::conformance
