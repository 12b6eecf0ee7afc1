// Many threads through the C interface at once: they build the same and different programs, compile, load, launch, ask,
// trim and release, in one context. The thread sanitizer's build runs it too.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "programs.h"

#ifdef TILERT_HAVE_LLVM

namespace {

constexpr int kThreads = 32;

tl::Context context_with_disk(const std::string& folder) {
  tilert_context_options options{};
  options.cache_mode = TILERT_CACHE_DEFAULT;
  options.cache_path = folder.c_str();
  options.plugin_path = TILERT_BINARY_DIR "/lib/libtilert_llvm.so";
  return *tl::Context::create(options);
}

// Elements that came out wrong.
int scale_once(const tl::Context& context, const tl::Device& device, int tile, float factor) {
  const tl::Kernel kernel = context.kernel(tilert::test::scale(tl::f32, tile));
  const tl::Loaded loaded = kernel.prepare(device);
  const int64_t n = 3 * tile + 1;
  std::vector<float> x(n), y(n, -7);
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(i);
  loaded.launch(nullptr, {x.data(), y.data(), factor}, {{0u, n}});
  int wrong = 0;
  for (int64_t i = 0; i < n; ++i) wrong += y[i] != factor * x[i];
  return wrong;
}

int multiply_once(const tl::Context& context, const tl::Device& device, int block) {
  const tl::Loaded loaded = context.kernel(tilert::test::matmul(tl::f32, block, block, 16)).prepare(device);
  const int64_t n = 40;
  std::vector<float> a(n * n, 1), b(n * n, 2), c(n * n, -7);
  loaded.launch(nullptr, {a.data(), b.data(), c.data()}, {{0u, n}, {1u, n}, {2u, n}});
  int wrong = 0;
  for (const float e : c) wrong += e != static_cast<float>(2 * n);
  return wrong;
}

// What thread t does in one round.
int wrong_in_round(const tl::Context& context, const tl::Device& device, int t, int round) {
  // Every fourth thread asks for the same program at the same time; the others' differ.
  int wrong = scale_once(context, device, 16 << (t % 4), static_cast<float>(t + 1));
  if (t % 4 == round) wrong += multiply_once(context, device, t % 8 < 4 ? 16 : 32);
  return wrong;
}

uint64_t compiles_one_after_the_other(const std::string& folder) {
  const tl::Context context = context_with_disk(folder);
  const tl::Device device = context.cpu();
  for (int t = 0; t < kThreads; ++t)
    for (int round = 0; round < 3; ++round) EXPECT_EQ(wrong_in_round(context, device, t, round), 0);
  return context.stats().compiles;
}

TEST(Threads, CompileLoadAndLaunchAtOnce) {
  const std::string folder = testing::TempDir() + "/threads_cache", other = folder + "_serial";
  std::filesystem::remove_all(folder);
  std::filesystem::remove_all(other);
  const tl::Context context = context_with_disk(folder);
  const tl::Device device = context.cpu();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 3; ++round) {
        wrong += wrong_in_round(context, device, t, round);
        if (t % 8 == 0) {
          uint32_t unloaded = 0;
          tilert_trim(device.get(), &unloaded, nullptr);
        }
        if (t % 8 == 1) (void)context.stats();
        tl::Builder bad("bad");
        wrong += bad.try_finish() ? 1 : 0;  // no kernel: an error, on this thread alone
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  // Four sizes of one program and two of the other. Each generated source is compiled once, whoever asks for it first:
  // variants of one program whose sources are equal share it, and so do threads that come while it is made.
  EXPECT_EQ(context.stats().compiles, 4u + 2u);
  EXPECT_EQ(compiles_one_after_the_other(other), 4u + 2u);
}

}  // namespace

#endif
