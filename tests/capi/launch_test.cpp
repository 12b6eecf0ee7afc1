// From a program to a launch on this machine's CPU through the C interface: acts, errors before launch, introspection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <thread>
#include <vector>

#include "programs.h"

#ifdef TILERT_HAVE_LLVM

namespace {

using testing::HasSubstr;

tl::Context cpu_context(bool seal = false) {
  tilert_context_options options{};
  options.cache_mode = TILERT_CACHE_MEMORY;
  options.plugin_path = TILERT_BINARY_DIR "/lib/libtilert_llvm.so";
  options.seal = seal;
  return *tl::Context::create(options);
}

// Tests that need code for this machine's CPU are left out, saying so, where the build makes none for tile programs.
class OnCpu : public testing::Test {
 protected:
  void SetUp() override {
    static const std::string why = [] {
      const tl::Context context = cpu_context();
      const auto loaded = context.kernel(tilert::test::scale(tl::f32, 64)).try_prepare(context.cpu());
      return loaded.error().status() == TILERT_UNSUPPORTED ? loaded.error().text() : std::string();
    }();
    if (!why.empty()) GTEST_SKIP() << why;
  }
};
using Launch = OnCpu;
using Variants = OnCpu;
using Released = OnCpu;
using Events = OnCpu;
using Executors = OnCpu;

// One prepared kernel for all tests of launches.
struct Scale {
  tl::Context context = cpu_context();
  tl::Device device = context.cpu();
  tl::Kernel kernel = context.kernel(tilert::test::scale(tl::f32, 64));
  tl::Loaded loaded = kernel.prepare(device);
  static Scale& get() {
    static Scale* scale = new Scale;
    return *scale;
  }
};

std::string refusal(std::initializer_list<tl::Argument> arguments, std::initializer_list<tl::DimValue> dims,
                    tilert_status wanted) {
  tilert_launch_failure failure{};
  failure.struct_size = sizeof failure;
  const tilert_status status = Scale::get().loaded.try_launch(nullptr, arguments, dims, {}, &failure);
  EXPECT_EQ(status, wanted) << failure.message;
  EXPECT_EQ(failure.status, wanted);
  return failure.message;
}

TEST_F(Launch, EveryLengthRunsThroughOneBinary) {
  for (int64_t n : {0, 1, 63, 64, 65, 1000, 4096}) {
    std::vector<float> x(n + 1), y(n + 1, -7);
    for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(i);
    Scale::get().loaded.launch(nullptr, {x.data(), y.data(), 3.f}, {{0u, n}});
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y[i], 3 * x[i]);
    EXPECT_EQ(y[n], -7);
  }
  EXPECT_LE(Scale::get().context.stats().compiles, Scale::get().kernel.variant_count());
}

TEST_F(Launch, WrongArgumentsAreErrorsBeforeAnythingRuns) {
  float x[64] = {}, y[64] = {};
  EXPECT_THAT(refusal({x, y}, {{0u, 64}}, TILERT_INVALID_ARGUMENT), HasSubstr("the kernel takes 3"));
  EXPECT_THAT(refusal({x, y, x}, {{0u, 64}}, TILERT_INVALID_ARGUMENT), HasSubstr("'factor'"));
  EXPECT_THAT(refusal({x, y, int32_t{1}}, {{0u, 64}}, TILERT_SHAPE), HasSubstr("'factor' is f32"));
  EXPECT_THAT(refusal({nullptr, y, 1.f}, {{0u, 64}}, TILERT_INVALID_ARGUMENT), HasSubstr("'x'"));
  EXPECT_THAT(refusal({reinterpret_cast<char*>(x) + 2, y, 1.f}, {{0u, 8}}, TILERT_ALIGNMENT), HasSubstr("'x'"));
  EXPECT_THAT(refusal({x, y, 1.f}, {{0u, -5}}, TILERT_SHAPE), HasSubstr("-5"));
  tilert_argument described{};
  const int64_t shape[] = {63};
  described.kind = TILERT_ARGUMENT_TENSOR;
  described.dtype = TILERT_F32;
  described.data = x;
  described.shape = shape;
  described.ndim = 1;
  EXPECT_THAT(refusal({described, y, 1.f}, {{0u, 64}}, TILERT_SHAPE), HasSubstr("'x'"));
  described.ndim = 2;
  EXPECT_THAT(refusal({described, y, 1.f}, {{0u, 64}}, TILERT_SHAPE), HasSubstr("rank"));
}

TEST_F(Launch, OfANullPointerToATensorWithoutElementsIsANoOp) {
  Scale::get().loaded.launch(nullptr, {nullptr, nullptr, 1.f}, {{0u, 0}});
}

TEST_F(Launch, ManyThreadsMayLaunchAndPrepareAtOnce) {
  Scale& scale = Scale::get();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t, &scale] {
      std::vector<float> x(300, static_cast<float>(t)), y(300);
      for (int i = 0; i < 50; ++i) {
        const tl::Loaded again = scale.kernel.prepare(scale.device);
        again.launch(nullptr, {x.data(), y.data(), 2.f}, {{0u, 300}});
        ASSERT_EQ(y[299], 2.f * static_cast<float>(t));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(Variants, TellWhatTheyAreAndShowTheirText) {
  const tl::Variant variant = Scale::get().kernel.variant(0);
  const tilert_variant_info info = variant.info();
  EXPECT_EQ(info.compiled, 1u);
  EXPECT_GT(info.binary_bytes, 0u);
  EXPECT_EQ(std::string(info.binary_key).size(), 64u);
  EXPECT_THAT(*variant.text(), HasSubstr("define"));
  EXPECT_FALSE(variant.text("no such stage"));
  const void* data = nullptr;
  size_t size = 0;
  EXPECT_EQ(tilert_variant_binary(variant.get(), &data, &size, nullptr), TILERT_OK);
  EXPECT_EQ(size, info.binary_bytes);
  const int64_t dims[] = {1000};
  tilert_workspace_info need{};
  need.struct_size = sizeof need;
  EXPECT_EQ(tilert_workspace(variant.get(), dims, 1, &need, nullptr), TILERT_OK);
  EXPECT_EQ(need.bytes, 0u);
}

// A copy of a tensor of three dims, the last two given.
tl::Kernel copy_of(const tl::Context& context, int64_t divisible, int64_t columns) {
  tl::Builder b("copy");
  auto N = b.dim("N"), S = b.dim("S", tl::DimOptions().divisible(divisible));
  auto X = b.input("X", tl::f16, {N, S, columns}), Y = b.output("Y", tl::f16, {N, S, columns});
  b.grid({N, S}, [&](tl::Index n, tl::Index s) {
    auto t = b.fragment(tl::f16, {1, 1, columns});
    b.copy(X(n, s, 0), t);
    b.copy(t, Y(n, s, 0));
  });
  return context.kernel(b.finish(), "sm_80");
}

TEST(Rows, ADimIsTakenApartOnlyWhereItsRowsMayLackAlignment) {
  const tl::Context context = cpu_context();
  EXPECT_EQ(copy_of(context, 1, 64).variant_count(), 1u) << "64 elements of 2 bytes: every row starts on 16 bytes";
  EXPECT_EQ(copy_of(context, 1, 4).variant_count(), 2u);
  EXPECT_EQ(copy_of(context, 2, 4).variant_count(), 1u) << "two rows of 8 bytes";
  EXPECT_EQ(copy_of(context, 2, 2).variant_count(), 2u);
}

TEST(Sealed, AContextCompilesNothingMore) {
  const tl::Context context = cpu_context(true);
  auto loaded = context.kernel(tilert::test::scale(tl::f32, 32)).try_prepare(context.cpu());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().status(), TILERT_SEALED);
  EXPECT_EQ(context.stats().sealed_misses, 1u);
}

TEST_F(Released, ChildrenOutliveTheirParents) {
  tl::Context context = cpu_context();
  tl::Device device = context.cpu();
  tl::Loaded loaded = context.kernel(tilert::test::scale(tl::f32, 16)).prepare(device);
  context = cpu_context();
  device = {};
  float x[16] = {1}, y[16] = {};
  loaded.launch(nullptr, {x, y, 5.f}, {{0u, 16}});
  EXPECT_EQ(y[0], 5.f);
}

void count_events(void* user, const tilert_event* event) {
  auto* counts = static_cast<std::vector<int>*>(user);
  ASSERT_LT(event->kind, 8);
  ++(*counts)[static_cast<size_t>(event->kind)];
}

TEST_F(Events, ACompileIsToldWhenItBeginsAndEnds) {
  std::vector<int> counts(8);
  tilert_context_options options{};
  options.cache_mode = TILERT_CACHE_MEMORY;
  options.plugin_path = TILERT_BINARY_DIR "/lib/libtilert_llvm.so";
  options.on_event = count_events;
  options.on_event_user = &counts;
  const tl::Context context = *tl::Context::create(options);
  context.kernel(tilert::test::scale(tl::f32, 48)).prepare(context.cpu());
  EXPECT_GE(counts[TILERT_EVENT_COMPILE_BEGIN], 1);
  EXPECT_EQ(counts[TILERT_EVENT_COMPILE_BEGIN], counts[TILERT_EVENT_COMPILE_END]);
}

struct Serial {
  int calls = 0;
  static void run(void* user, uint32_t count, void (*body)(void*, uint32_t), void* arg) {
    ++static_cast<Serial*>(user)->calls;
    for (uint32_t i = 0; i < count; ++i) body(arg, i);
  }
};

// Buckets, what is declared of all values, both at once, and neither.
TEST_F(Launch, OfADimIsRefusedWhereItsInterpretationIs) {
  const tl::Context context = cpu_context();
  const tl::Device device = context.cpu();
  const tl::DimOptions options[] = {tl::DimOptions().range(0, 8).multiple(12), tl::DimOptions().divisible(4),
                                    tl::DimOptions().range(3, 40).divisible(8), tl::DimOptions().multiple(6).divisible(4),
                                    tl::DimOptions().range(5, 9).range(20, 40).multiple(16).divisible(2), tl::DimOptions()};
  for (size_t which = 0; which < std::size(options); ++which) {
    const tl::Program program = tilert::test::copy_of_rows(options[which]);
    const tl::Loaded loaded = context.kernel(program).prepare(device);
    int taken = 0;
    for (int64_t n = 0; n <= 50; ++n) {
      std::vector<float> x(static_cast<size_t>(3 * n), 2), y(x.size(), -1), z(x.size(), -1);
      const int64_t shape[] = {3, n};
      tilert_argument arguments[2] = {};
      for (int i = 0; i < 2; ++i) {
        arguments[i].kind = TILERT_ARGUMENT_TENSOR;
        arguments[i].dtype = TILERT_F32;
        arguments[i].data = i == 0 ? x.data() : y.data();
        arguments[i].shape = shape;
        arguments[i].ndim = 2;
      }
      const tilert_status said = tilert_program_interpret(program.get(), arguments, 2, nullptr, 0, nullptr);
      const tilert_status launched = loaded.try_launch(nullptr, {x.data(), z.data()}, {{0u, n}}, {}, nullptr);
      EXPECT_EQ(launched, said) << n << " of options " << which;
      EXPECT_EQ(y, z) << n << " of options " << which;
      EXPECT_TRUE(said == TILERT_OK || said == TILERT_NOT_READY) << said;
      taken += said == TILERT_OK;
    }
    EXPECT_EQ(taken, (std::array{13, 13, 5, 5, 16, 51})[which]) << which;
  }
}

TEST_F(Executors, TheCallersThreadsDoTheWork) {
  Serial serial;
  const tilert_executor executor{Serial::run, &serial, 1, 0};
  const tl::Context context = cpu_context();
  tilert_device_options options{};
  options.kind = TILERT_DEVICE_CPU;
  options.executor = &executor;
  const tl::Device device = *context.try_device(options);
  const tl::Loaded loaded = context.kernel(tilert::test::matmul(tl::f32, 64, 64, 32)).prepare(device);
  const int64_t n = 256;
  std::vector<float> a(n * n, 1), b(n * n, 1), c(n * n, -1);
  loaded.launch(nullptr, {a.data(), b.data(), c.data()}, {{0u, n}, {1u, n}, {2u, n}});
  EXPECT_EQ(c[0], 256.f);
  EXPECT_EQ(c[n * n - 1], 256.f);
}

}  // namespace

#endif  // TILERT_HAVE_LLVM
