// Case 50: device functions, in text of every back end's language: values of all types, places, calls of the block, of points and
// of threads, functions of one name inside, and how often a call happens.
#include <string>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// The interpreter, which runs no text, has no say.
Scenario of_compiled() {
  Scenario s;
  s.of_variants = true;
  return s;
}

// What a dtype is called in the two languages.
struct Spelling {
  tl::DType dtype;
  const char *c, *llvm, *c_body, *llvm_body;
};
#define INTEGER_BODY(type) \
  "return static_cast<T>(x + 3 * y);", "  %t = mul " type " %y, 3\n  %r = add " type " %x, %t\n  ret " type " %r\n"
#define FLOAT_BODY(type) "return x + 3 * y;", "  %t = fmul " type " %y, 3.0\n  %r = fadd " type " %x, %t\n  ret " type " %r\n"
#define HALF_BODY(type)                                                                                     \
  "return tl_from_float<T>(tl_float(x) + 3 * tl_float(y));",                                           \
      "  %a = fpext " type " %x to float\n  %b = fpext " type " %y to float\n  %t = fmul float %b, 3.0\n"   \
      "  %s = fadd float %a, %t\n  %r = fptrunc float %s to " type "\n  ret " type " %r\n"
const Spelling kSpellings[] = {
    {tl::boolean, "bool", "i1", "return x && !y;", "  %n = xor i1 %y, true\n  %r = and i1 %x, %n\n  ret i1 %r\n"},
    {tl::i8, "signed char", "i8", INTEGER_BODY("i8")},
    {tl::u8, "unsigned char", "i8", INTEGER_BODY("i8")},
    {tl::i16, "short", "i16", INTEGER_BODY("i16")},
    {tl::u32, "unsigned", "i32", INTEGER_BODY("i32")},
    {tl::i64, "long long", "i64", INTEGER_BODY("i64")},
    {tl::f16, "tl_f16", "half", HALF_BODY("half")},
    {tl::bf16, "tl_bf16", "bfloat", HALF_BODY("bfloat")},
    {tl::f32, "float", "float", FLOAT_BODY("float")},
    {tl::f64, "double", "double", FLOAT_BODY("double")},
};

const Spelling& spelling(tl::DType dtype) {
  for (const Spelling& s : kSpellings)
    if (s.dtype == dtype) return s;
  return kSpellings[0];
}

// mix(x, y) = x + 3y, of bools x and not y; edges read the safe value.
Scenario values_of(const Values& v) {
  const tl::DType dtype = v.dtype();
  const Spelling& of = spelling(dtype);
  const int n = 100;
  const std::string type = of.llvm;
  const std::string c = "typedef " + std::string(of.c) + " T;\n__device__ __forceinline__ T mix(T x, T y) { " + of.c_body + " }";
  const std::string llvm = "define " + type + " @mix(" + type + " %x, " + type + " %y) {\n" + of.llvm_body + "}";
  Scenario s = of_compiled();
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", dtype, {n}), y = b.input("y", dtype, {n}), z = b.output("z", dtype, {n});
    const auto mix = b.device_function("mix", {dtype, dtype}, dtype, {{"cuda", c.c_str()}, {"hip", c.c_str()}, {"llvm", llvm.c_str()}});
    b.grid({2}, [&](tl::Index block) {
      auto held = b.fragment(dtype, {64});
      b.copy(y(block * 64), held);
      b.parallel({64}, [&](tl::Index i) { z(block * 64 + i) = b.call_device(mix, x(block * 64 + i), held(i)); });
    });
  });
  const Reals x = dtype == tl::boolean ? whole(n, 0, 1, 3) : whole(n, 0, 9, 3), y = dtype == tl::boolean ? whole(n, 0, 1, 4) : whole(n, 0, 9, 4);
  Reals z;
  for (int i = 0; i < n; ++i) z.push_back(dtype == tl::boolean ? Real(x[i] != 0 && y[i] == 0) : x[i] + 3 * y[i]);
  s.launch().input(dtype, x).input(dtype, y).output(dtype, exactly(z));
  return s;
}

const char* const kFoldCuda =
    "// The row's sum goes to where `sum` points, and a row more is counted.\n"
    "__device__ void fold(const float* row, long long stride, float* sum, int* count) {\n"
    "  float s = 0;\n"
    "  for (int i = 0; i < 4; ++i) s += row[i * stride];\n"
    "  *sum = s;\n"
    "  *count += 1;\n"
    "}";
const char* const kFoldLlvm =
    "define void @fold(ptr %row, i64 %stride, ptr %sum, ptr %count) {\n"
    "entry:\n"
    "  br label %trip\n"
    "trip:\n"
    "  %i = phi i64 [ 0, %entry ], [ %next, %trip ]\n"
    "  %s = phi float [ 0.0, %entry ], [ %t, %trip ]\n"
    "  %at = mul i64 %i, %stride\n"
    "  %p = getelementptr float, ptr %row, i64 %at\n"
    "  %x = load float, ptr %p\n"
    "  %t = fadd float %s, %x\n"
    "  %next = add i64 %i, 1\n"
    "  %again = icmp slt i64 %next, 4\n"
    "  br i1 %again, label %trip, label %done\n"
    "done:\n"
    "  store float %t, ptr %sum\n"
    "  %c = load i32, ptr %count\n"
    "  %d = add i32 %c, 1\n"
    "  store i32 %d, ptr %count\n"
    "  ret void\n"
    "}";

tl::DeviceFunction fold(tl::Builder& b) {
  return b.device_function("fold", {tl::pointer_read(tl::f32), tl::i64, tl::pointer_write(tl::f32), tl::pointer_update(tl::i32)},
                           {{"cuda", kFoldCuda}, {"hip", kFoldCuda}, {"llvm", kFoldLlvm}});
}

// Places of a tensor and of a point's own var. Behind the last row there is no call; each other row is counted once, however
// many threads hold its point.
Scenario places(const Values& v) {
  const int rows = static_cast<int>(v["rows"]);
  Scenario s = of_compiled();
  s.program([&](tl::Builder& b) {
    auto R = b.dim("R");
    auto x = b.input("x", tl::f32, {R, 4}), y = b.output("y", tl::f32, {R});
    auto count = b.inout("count", tl::i32, {R});
    const auto f = fold(b);
    b.grid({tl::ceildiv(R, 32)}, [&](tl::Index block) {
      b.parallel({32}, [&](tl::Index i) {
        const tl::Expr row = block * 32 + i;
        auto sum = b.var(tl::f32);
        sum = -1.0f;
        b.call_device(f, x(row, 0), 1, sum, count(row));
        y(row) = sum;
      });
    });
  });
  const Reals x = whole(rows * 4, -9, 9, 5), before = whole(rows, 0, 9, 6);
  Reals y(rows), after = before;
  for (int i = 0; i < rows * 4; ++i) y[i / 4] += x[i];
  for (Real& c : after) c += 1;
  s.launch({rows}).input(tl::f32, x).output(tl::f32, exactly(y)).inout(tl::i32, before, exactly(after));
  return s;
}

// The block's own calls: into a shared tile and a var at once, in a loop, under a condition, past the tensor's end.
Scenario of_the_block(const Values& v) {
  const bool shared = v["shared"] != 0;
  Scenario s = of_compiled();
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::f32, {8, 4}), y = b.output("y", tl::f32, {3, 64});
    const auto f = fold(b);
    b.grid({3}, [&](tl::Index block) {
      auto tile = b.shared(tl::i32, {2});
      auto calls = b.var(tl::i32);
      auto sum = b.var(tl::f32), total = b.var(tl::f32);
      b.parallel({2}, [&](tl::Index i) { tile(i) = (tl::cast(tl::i32, i) + 1) * 100; });
      calls = 0;
      total = 0.0f;
      b.serial(4, [&](tl::Index i) {
        b.if_(i != 1, [&] {
          sum = 1000.0f;
          if (shared) b.call_device(f, x(block * 3 + i, 0), 1, sum, tile(1));  // the last block's last row is no row of x
          else b.call_device(f, x(block * 3 + i, 0), 1, sum, calls);
          total = total + sum;
        });
      });
      b.parallel({64}, [&](tl::Index i) { y(block, i) = total + tl::cast(tl::f32, shared ? tile(0) + tile(1) : tl::Expr(calls)); });
    });
  });
  const Reals x = whole(32, -9, 9, 7);
  Reals y;
  for (int block = 0; block < 3; ++block) {
    Real total = shared ? 300 : 0;
    for (int i : {0, 2, 3}) {
      const int row = block * 3 + i;
      if (row >= 8) total += 1000;
      else total += 1 + x[row * 4] + x[row * 4 + 1] + x[row * 4 + 2] + x[row * 4 + 3];
    }
    y.insert(y.end(), 64, total);
  }
  s.launch().input(tl::f32, x).output(tl::f32, exactly(y));
  return s;
}

// Threads call with values of their own, some of them, between operations of all.
Scenario of_threads(const Values&) {
  Scenario s = of_compiled();
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::i32, {64}), y = b.output("y", tl::i32, {64});
    const auto twice = b.device_function("twice", {tl::i32}, tl::i32,
                                         {{"cuda", "__device__ int twice(int x) { return 2 * x; }"}, {"hip", "__device__ int twice(int x) { return 2 * x; }"},
                                          {"llvm", "define i32 @twice(i32 %x) {\n  %r = shl i32 %x, 1\n  ret i32 %r\n}"}});
    b.grid({1}, tl::threads_fixed(64), [&](tl::Index) {
      b.threads([&](tl::Index t) {
        const tl::Expr mine = b.call_device(twice, x(t));
        const tl::Expr other = b.shuffle(mine, 0);
        auto sum = b.var(tl::i32);
        sum = other;
        b.if_(t % 2 == 0, [&] { sum = sum + b.call_device(twice, mine); });
        b.sync_threads();
        y(t) = sum + mine;
      });
    });
  });
  const Reals x = whole(64, -99, 99, 8);
  Reals y;
  for (int t = 0; t < 64; ++t) y.push_back(2 * x[t / 32 * 32] + (t % 2 == 0 ? 4 * x[t] : Real(0)) + 2 * x[t]);
  s.launch().input(tl::i32, x).output(tl::i32, exactly(y));
  return s;
}

// Two kernels call one definition; two functions have helpers and constants of one name; a call knows what stood there when it
// was made.
Scenario of_kernels(const Values&) {
  Scenario s = of_compiled();
  s.program([&](tl::Builder& b) {
    auto x = b.inout("x", tl::i32, {40}), y = b.output("y", tl::i32, {40}), z = b.output("z", tl::i32, {40});
    const auto step = [&](const char* name, int by) {
      const std::string of = name, constant = std::to_string(by);
      const std::string c = "__device__ constexpr int k = " + constant + ";\nstruct Step { int by; };\n__device__ int add(int x, Step s) { return x + s.by; }\n" +
                            "__device__ int " + of + "(const int* x) { return add(*x, Step{k}); }";
      const std::string llvm = "%Step = type { i32 }\n@k = private constant %Step { i32 " + constant + " }  ; one of @" + of + "\n" +
                               "declare i32 @llvm.smax.i32(i32, i32)\n" +
                               "define internal i32 @add(i32 %x) {\n  %p = getelementptr %Step, ptr @k, i64 0, i32 0\n  %b = load i32, ptr %p\n"
                               "  %m = call i32 @llvm.smax.i32(i32 %b, i32 0)\n  %r = add i32 %x, %m\n  ret i32 %r\n}\n" +
                               "define i32 @" + of + "(ptr readonly %x) {\n  %v = load i32, ptr %x\n  %r = call i32 @add(i32 %v)\n  ret i32 %r\n}";
      return b.device_function(name, {tl::pointer_read(tl::i32)}, tl::i32, {{"llvm", llvm.c_str()}, {"cuda", c.c_str()}, {"hip", c.c_str()}});
    };
    const auto one = step("one", 1), ten = step("ten", 10);
    const auto kernel = [&](const tl::Tile& to, const tl::DeviceFunction& f) {
      b.grid({1}, [&](tl::Index) {
        b.parallel({40}, [&](tl::Index i) {
          const tl::Expr before = b.call_device(f, x(i));
          x(i) = 7 * before;
          to(i) = before + b.call_device(one, x(i));
        });
      });
    };
    kernel(y, ten);
    kernel(z, step("one", 1));  // declared again: the same function
  });
  Reals x = whole(40, -9, 9, 9), y, z;
  const Reals first = x;
  for (Real& e : x) {
    const Real ten = e + 10;
    y.push_back(ten + 7 * ten + 1);
    const Real one = 7 * ten + 1;
    z.push_back(one + 7 * one + 1);
    e = 7 * one;
  }
  s.launch().inout(tl::i32, first, exactly(x)).output(tl::i32, exactly(y)).output(tl::i32, exactly(z));
  return s;
}

tl::DeviceFunction thrice(tl::Builder& b) {
  return b.device_function("thrice", {tl::pointer_read(tl::f32)}, tl::f32,
                           {{"cuda", "__device__ float thrice(const float* x) { return 3 * *x; }"}, {"hip", "__device__ float thrice(const float* x) { return 3 * *x; }"},
                            {"llvm", "define float @thrice(ptr %x) {\n  %v = load float, ptr %x\n  %r = fmul float %v, 3.0\n  ret float %r\n}"}});
}

// Pointers into a tile of a ring whose copies run ahead, and into tensors that a table names, one of them without memory.
Scenario in_a_pipeline(const Values& v) {
  Scenario s = of_compiled();
  s.program([&](tl::Builder& b) {
    const tl::Expr trips = v["dynamic"] ? b.dim("T") : tl::Expr(7);
    auto x = b.input("x", tl::f32, {8, 64}), y = b.output("y", tl::f32, {64});
    auto few = b.input("few", tl::f32, {3, 4}, tl::pointer_table());
    const auto f = thrice(b);
    b.grid({1}, [&](tl::Index) {
      auto tile = b.shared(tl::f32, {64});
      auto sum = b.fragment(tl::f32, {64});
      b.clear(sum);
      b.pipelined(trips, tl::stages(3), [&](tl::Index k) {
        b.copy(x(k, 0), tile);
        b.parallel({64}, [&](tl::Index i) { sum(i) += b.call_device(f, tile(i)) + b.call_device(f, few(i % 4, k % 4)); });
      });
      b.copy(sum, y);
    });
  });
  const Reals x = whole(8 * 64, -9, 9, 10), first = whole(4, -9, 9, 11), second = whole(4, -9, 9, 12);
  for (int trips : {0, 1, 7}) {
    if (!v["dynamic"] && trips != 7) continue;
    Reals y(64);
    for (int k = 0; k < trips; ++k)
      for (int i = 0; i < 64; ++i) y[i] += 3 * x[k * 64 + i] + 3 * (i % 4 == 0 ? first[k % 4] : i % 4 == 2 ? second[k % 4] : Real(0));
    s.launch(v["dynamic"] ? std::vector<int64_t>{trips} : std::vector<int64_t>{})
        .input(tl::f32, x)
        .output(tl::f32, exactly(y))
        .input(tl::f32, first)
        .behind()
        .input(tl::f32, second)
        .behind()
        .table(tl::f32, {2, -1, 3});
  }
  return s;
}

// What a call gave outlives a meeting of the grid's blocks.
Scenario across_a_meeting(const Values&) {
  Scenario s = of_compiled();
  s.program([&](tl::Builder& b) {
    auto x = b.inout("x", tl::f32, {4}), y = b.output("y", tl::f32, {4});
    const auto f = thrice(b);
    b.grid({4}, [&](tl::Index block) {
      const tl::Expr before = b.call_device(f, x(block));
      b.grid_sync();
      x(3 - block) = before;
      b.grid_sync();
      y(block) = before + b.call_device(f, x(block));
    });
  });
  const Reals x = whole(4, -9, 9, 13);
  Reals after, y;
  for (int i = 0; i < 4; ++i) after.push_back(3 * x[3 - i]), y.push_back(3 * x[i] + 9 * x[3 - i]);
  s.launch().inout(tl::f32, x, exactly(after)).output(tl::f32, exactly(y));
  return s;
}

}  // namespace

void add_function_cases(std::vector<Case>& to) {
  Axis types{"dtype", {}};
  for (const Spelling& s : kSpellings) types.values.push_back(static_cast<int64_t>(s.dtype));
  to.push_back({"50", "device_function_values", {types}, values_of});
  to.push_back({"50", "device_function_places", {{"rows", {0, 1, 31, 33, 100}}}, places});
  to.push_back({"50", "device_function_of_the_block", {{"shared", {0, 1}}}, of_the_block});
  to.push_back({"50", "device_function_of_threads", {}, of_threads});
  to.push_back({"50", "device_function_of_two_kernels", {}, of_kernels});
  to.push_back({"50", "device_function_in_a_pipeline", {{"dynamic", {0, 1}}}, in_a_pipeline});
  to.push_back({"50", "device_function_across_a_meeting", {}, across_a_meeting});
}

}  // namespace tilert::conformance
