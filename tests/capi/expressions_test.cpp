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
