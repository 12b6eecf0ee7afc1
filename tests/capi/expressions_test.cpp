// Expressions that are deep, shared or private memory that is large: each is compiled in reasonable text and stack, or
// refused with the way out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "programs.h"

namespace {

using testing::HasSubstr;

// y[0] = f(x[0]).
tl::Result<tl::Program> of_one(const std::function<tl::Expr(tl::Builder&, tl::Expr)>& f) {
  tl::Builder b("one");
  auto x = b.input("x", tl::f32, {1}), y = b.output("y", tl::f32, {1});
  b.grid({1}, [&](tl::Index) { y(0) = f(b, b.let(x(0))); });
  return b.try_finish();
}

tl::Expr squares(tl::Expr e, int times) {
  for (int i = 0; i < times; ++i) e = e * e + 0.25f;
  return e;
}

TEST(Expressions, SharedPartsAreWrittenOnce) {
  auto program = of_one([](tl::Builder&, tl::Expr x) { return squares(x, 40); });
  ASSERT_TRUE(program) << program.error().text();
  const tl::Context context = *tl::Context::create();
  for (const char* target : {"sm_80", "sm_90a", "cpu"}) {
    auto kernel = context.try_kernel(*program, target);
    ASSERT_TRUE(kernel) << kernel.error().text();
    const auto text = kernel->variant(0).text();
    ASSERT_TRUE(text) << text.error().text();
    EXPECT_LT(text->size(), 20000u) << target;
  }
}

TEST(Expressions, TooDeepAChainIsRefusedWithTheWayOut) {
  const auto chain = [](int links, int let_every) {
    return of_one([=](tl::Builder& b, tl::Expr x) {
      tl::Expr e = x;
      for (int i = 0; i < links; ++i) {
        e = e * 0.5f + x;
        if (let_every && i % let_every == 0) e = b.let(e);
      }
      return e;
    });
  };
  EXPECT_TRUE(chain(100, 0));
  auto deep = chain(5000, 0);
  ASSERT_FALSE(deep);
  EXPECT_THAT(deep.error().text(), HasSubstr("bind a part of it with let"));
  EXPECT_TRUE(chain(5000, 50));
}

// The text after "store", of the program's one store.
std::string stored(const tl::Result<tl::Program>& program) {
  if (!program) return program.error().text();
  const std::string text = program->text().value();
  const size_t at = text.find("store @");
  return text.substr(at, text.find('\n', at) - at);
}

TEST(FastMath, TakesEveryOperationThatHasAFastFormDownToWhatWasBound) {
  const auto body = [](tl::Builder& b, tl::Expr x) {
    const tl::Expr bound = b.let(tl::exp(x));
    return tl::fast(tl::exp2(bound / x) + tl::pow(x, tl::sqrt(x)) - tl::sigmoid(tl::erf(x)) * 2.f) + tl::tanh(x) / 3.f;
  };
  const auto program = of_one(body);
  const std::string text = stored(program);
  for (const char* fast : {"fast_exp2(fast_div(", "pow(%", "fast_sqrt(", "fast_sigmoid(erf(", "div(tanh("}) EXPECT_THAT(text, HasSubstr(fast));
  EXPECT_EQ(text.find("fast_div(tanh"), text.npos);
  EXPECT_THAT(program->text().value(), HasSubstr(" = exp("));  // what was bound before
}

TEST(FastMath, LeavesDoublesIntegersAndLiteralsAsTheyAre) {
  const std::string doubles = stored(of_one([](tl::Builder&, tl::Expr x) {
    return tl::cast(tl::f32, tl::fast(tl::exp(tl::cast(tl::f64, x)) / 3.0)) + tl::fast(tl::Expr(2.f));
  }));
  EXPECT_EQ(doubles.find("fast_"), doubles.npos) << doubles;
  const std::string integers = stored(of_one([](tl::Builder&, tl::Expr x) { return tl::cast(tl::f32, tl::fast(tl::cast(tl::i32, x) / 3)); }));
  EXPECT_EQ(integers.find("fast_"), integers.npos) << integers;
  const std::string halves = stored(of_one([](tl::Builder&, tl::Expr x) { return tl::cast(tl::f32, tl::fast(tl::exp(tl::cast(tl::f16, x)))); }));
  EXPECT_THAT(halves, HasSubstr("fast_exp(cast<f16>"));
}

// Of a kernel: all of it, and of that kernel alone.
TEST(FastMath, OfAKernelIsThatOfEachOfItsOperations) {
  const auto made = [](bool whole) {
    tl::Builder b("p");
    auto x = b.inout("x", tl::f32, {4});
    for (int kernel = 0; kernel < 2; ++kernel)
      b.grid({1}, whole && kernel == 0 ? tl::Hints().fast_math() : tl::Hints(), [&](tl::Index) {
        const tl::Expr e = tl::log(b.let(x(0))) / x(1);
        b.if_(tl::sqrt(x(1)) > 2, [&] { x(2) = whole || kernel == 1 ? e : tl::fast(e); });
      });
    return b.finish();
  };
  const std::string whole = made(true).text().value(), each = made(false).text().value();
  const size_t second = whole.find("kernel \"p_1\"");
  ASSERT_NE(second, whole.npos);
  EXPECT_EQ(whole.find("fast_", second), whole.npos);
  EXPECT_THAT(whole.substr(0, second), HasSubstr("fast_div(fast_log("));
  EXPECT_THAT(whole.substr(0, second), HasSubstr("fast_sqrt("));
  EXPECT_THAT(each.substr(0, each.find("kernel \"p_1\"")), HasSubstr("fast_div(fast_log("));
}

TEST(FastMath, IsReadBackFromTextAndPartOfTheKey) {
  const auto of = [](bool fast) { return of_one([=](tl::Builder&, tl::Expr x) { return fast ? tl::fast(1.f / x) : 1.f / x; }); };
  const auto plain = of(false), fast = of(true);
  const std::string text = fast->text().value();
  const auto again = tl::Program::parse(text);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->text().value(), text);
  const tl::Context context = *tl::Context::create();
  const auto key = [&](const tl::Program& program, const char* target) {
    return std::string(context.kernel(program, target).variant(0).info().request_key);
  };
  for (const char* target : {"sm_90a", "cpu"})
    EXPECT_NE(key(*plain, target), key(*fast, target)) << target;
  std::string wrong = text;  // no fast form of f64
  for (size_t at; (at = wrong.find("f32")) != wrong.npos;) wrong.replace(at, 3, "f64");
  EXPECT_FALSE(tl::Program::parse(wrong));
}

#ifdef TILERT_HAVE_LLVM

// On a thread with the stack that musl and many pools give.
void on_small_stack(const std::function<void()>& body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{256} << 10);
  pthread_t thread;
  const auto run = [](void* f) -> void* { return (*static_cast<const std::function<void()>*>(f))(), nullptr; };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&body)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(Expressions, ALargePrivateArrayNeedsNoLargeStack) {
  tl::Builder b("local");
  const int n = 1 << 17;  // half a MiB
  auto x = b.input("x", tl::f32, {1}), y = b.output("y", tl::f32, {1});
  b.grid({1}, [&](tl::Index) {
    auto kept = b.local(tl::f32, {n});
    auto first = b.let(x(0));
    b.serial(n, [&](tl::Index i) { kept(i) = first + 1; });
    y(0) = b.let(kept(n - 1)) + b.let(kept(7));
  });
  auto program = b.try_finish();
  ASSERT_TRUE(program) << program.error().text();
  tilert_context_options options{};
  options.cache_mode = TILERT_CACHE_MEMORY;
  options.plugin_path = TILERT_BINARY_DIR "/lib/libtilert_llvm.so";
  const tl::Context context = *tl::Context::create(options);
  const tl::Device device = context.cpu();
  const tl::Loaded loaded = context.kernel(*program).prepare(device);
  alignas(16) float in = 2, out = 0;
  on_small_stack([&] { loaded.launch(nullptr, {&in, &out}); });
  EXPECT_EQ(out, 6);
}

#endif

}  // namespace
