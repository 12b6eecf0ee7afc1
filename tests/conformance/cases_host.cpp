// Cases 29 and 51 to 54: what a launch hands over: arguments that do not fit, scalars of every type, dims with buckets and
// divisors, parameters that share memory.
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

enum Fault : int64_t { wrong_dtype, shapes_differ, wrong_rank, negative_stride, null_pointer };

// 29. Two tensors sharing a dim with different sizes, wrong type, rank, stride; a null pointer.
Scenario bad_arguments(const Values& v) {
  Scenario s;
  s.program([](tl::Builder& b) {
    auto N = b.dim("N");
    auto x = b.input("x", tl::f32, {N, 8}), y = b.output("y", tl::f32, {N, 8});
    b.grid({N}, [&](tl::Index i) { b.parallel({8}, [&](tl::Index j) { y(i, j) = x(i, j); }); });
  });
  const int64_t fault = v["fault"];
  const Reals data = counting(32);
  Launch& launch = s.launch({fault == shapes_differ ? -1 : 4});
  launch.input(fault == wrong_dtype ? tl::f16 : tl::f32, data);
  if (fault == shapes_differ) launch.placed({4, 8}, {});
  if (fault == wrong_rank) launch.placed({32}, {});
  if (fault == negative_stride) launch.placed({4, 8}, {8, -1});
  if (fault == null_pointer) launch.null();
  launch.output(tl::f32, untouched(32));
  if (fault == shapes_differ) launch.placed({5, 8}, {});
  s.fails = fault == null_pointer ? TILERT_INVALID_ARGUMENT : TILERT_SHAPE;
  s.words = {fault == shapes_differ ? "y" : "x"};
  return s;
}

// 51. A scalar parameter of every type arrives as it was given, its sign included: stored, and halved (a bool: negated).
Scenario scalars(const Values& v) {
  const tl::DType dtype = v.dtype();
  const int bits = 8 * static_cast<int>(bytes_of(dtype));
  const Real greatest = is_float(dtype) ? Real{60000} : std::ldexp(Real{1}, is_unsigned(dtype) ? bits : bits - 1) - 1;
  Real choices[] = {-1, -6, is_float(dtype) ? -greatest : -greatest - 1, greatest, 0, 7};
  for (Real& choice : choices)
    if (is_unsigned(dtype)) choice = wrapped(dtype, choice);
  const Real value = dtype == tl::boolean ? Real(v["value"] % 2) : rounded(dtype, choices[v["value"]]);
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto before = b.scalar("before", tl::i8), given = b.scalar("given", dtype), after = b.scalar("after", tl::i32);
    auto y = b.output("y", dtype, {2});
    auto z = b.output("z", tl::i32, {2});
    b.grid({1}, [&](tl::Index) {
      y(0) = given;
      y(1) = dtype == tl::boolean ? !given : is_float(dtype) ? given * 0.5 : given / 2;
      z(0) = tl::cast(tl::i32, before);
      z(1) = after;
    });
  });
  const Real half = dtype == tl::boolean ? Real{1} - value : is_float(dtype) ? value / 2 : std::floor(value / 2);
  s.launch()
      .scalar(tl::i8, -3)
      .scalar(dtype, value)
      .scalar(tl::i32, -70000)
      .output(dtype, exactly({value, half}))
      .output(tl::i32, exactly({-3, -70000}));
  return s;
}

void copy_of_rows(Scenario& s, const tl::DimOptions& options) {
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N", options);
    auto x = b.input("x", tl::f32, {3, N}), y = b.output("y", tl::f32, {3, N});
    b.grid({tl::ceildiv(N, 32), 3}, [&](tl::Index i, tl::Index row) {
      auto t = b.fragment(tl::f32, {32});
      b.copy(x(row, i * 32), t);
      b.copy(t, y(row, i * 32));
    });
  });
}

void launch_rows(Scenario& s, int64_t n) {
  const Reals data = counting(static_cast<size_t>(3 * n), 1);
  s.launch({n}).input(tl::f32, data).output(tl::f32, s.fails ? untouched(data.size()) : exactly(data));
}

// 52. A dim with buckets, a range and a divisor: each launch takes a variant that has its size; one in none is refused.
Scenario buckets(const Values& v) {
  Scenario s;
  const int64_t n = v["N"];
  const bool taken = n <= 64 || n % 48 == 0;
  if (!taken) s.fails = TILERT_NOT_READY;
  copy_of_rows(s, tl::DimOptions().range(0, 64).multiple(48));
  launch_rows(s, n);
  return s;
}

// 52. A bucket of a dim declared divisible takes multiples alone, and code that counts on both is right for them.
Scenario bucket_of_multiples(const Values& v) {
  Scenario s;
  const int64_t n = v["N"];
  if (n < 16 || n > 160 || n % 8) s.fails = TILERT_NOT_READY;
  copy_of_rows(s, tl::DimOptions().range(16, 160).divisible(8));
  launch_rows(s, n);
  return s;
}

// 53. A dim declared divisible: its multiples run, 0 included; another size is refused.
Scenario divisible(const Values& v) {
  Scenario s;
  if (v["N"] % 8) s.fails = TILERT_NOT_READY;
  copy_of_rows(s, tl::DimOptions().divisible(8));
  launch_rows(s, v["N"]);
  return s;
}

// 54. Parameters that share memory and say so: what is written through one is read through the other afterwards.
Scenario aliases(const Values& v) {
  const int64_t n = v["N"];
  Scenario s;
  s.program([&](tl::Builder& b) {
    const auto shares = tl::TensorOptions().may_alias();
    auto N = b.dim("N");
    auto y = b.inout("y", tl::f32, {N}, shares), x = b.input("x", tl::f32, {N}, shares), z = b.output("z", tl::f32, {N});
    b.grid({tl::ceildiv(N, 64)}, [&](tl::Index block) {
      auto t = b.fragment(tl::f32, {64}), u = b.fragment(tl::f32, {64});
      b.copy(x(block * 64), t);
      b.parallel({64}, [&](tl::Index i) { t(i) = t(i) + 1; });
      if (v["copy"]) b.copy(t, y(block * 64));
      else b.parallel({64}, [&](tl::Index i) { y(block * 64 + i) = t(i); });
      b.copy(x(block * 64), u);
      b.copy(u, z(block * 64));
    });
  });
  const Reals data = counting(static_cast<size_t>(n), 5), more = counting(static_cast<size_t>(n), 6);
  s.launch({n}).inout(tl::f32, data, exactly(more)).again(0).output(tl::f32, exactly(more));
  return s;
}

}  // namespace

void add_host_cases(std::vector<Case>& to) {
  to.push_back({"29", "arguments_that_do_not_fit",
                {{"fault", {wrong_dtype, shapes_differ, wrong_rank, negative_stride, null_pointer}}}, bad_arguments});
  to.push_back({"51", "scalars_of_every_type",
                {dtypes({tl::i8, tl::i32, tl::i64, tl::f32, tl::f16, tl::bf16, tl::boolean}), {"value", {0, 1, 2, 3, 4, 5}}}, scalars});
  to.push_back({"51", "scalars_of_more_types", {dtypes({tl::u8, tl::i16, tl::u16, tl::u32, tl::u64, tl::f64}), {"value", {0, 1, 2, 3, 4, 5}}}, scalars});
  to.push_back({"52", "dims_with_buckets", {{"N", {0, 1, 48, 64, 65, 96, 100, 480}}}, buckets});
  to.push_back({"52", "a_bucket_of_multiples", {{"N", {8, 16, 20, 160, 168}}}, bucket_of_multiples});
  to.push_back({"53", "dims_that_are_divisible", {{"N", {0, 8, 12, 64, 1001, 1000}}}, divisible});
  to.push_back({"54", "parameters_that_share_memory", {{"N", {0, 1, 64, 200}}, {"copy", {0, 1}}}, aliases});
}

}  // namespace tilert::conformance
