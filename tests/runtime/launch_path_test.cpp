// What a launch must never do: allocate, lock, read the environment. And that it may be done from anywhere at once.
#include <gtest/gtest.h>

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "runtime/cpu_kernels.h"
#include "runtime/fake_device.h"
#include "runtime/forbidden_calls.h"

namespace tilert::runtime {
namespace {

using namespace testing;

class LaunchPath : public FakeCudaTest {
 protected:
  // Launches `calls` once before and then counted; each must answer `code`.
  static void expect_clean(const Loaded& loaded, std::vector<Call> calls, Code code) {
    if (!kCounting) GTEST_SKIP() << "a sanitizer has these functions for itself";
    for (Call& call : calls) EXPECT_EQ(call.launch(loaded), code) << call.message();
    int allocations = 0, locks = 0, environment = 0, wrong = 0;
    {
      const ForbiddenCalls counted;
      for (Call& call : calls) wrong += runtime::launch(loaded, call.info) != code;
      allocations = counted.allocations();
      locks = counted.locks();
      environment = counted.environment_reads();
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(allocations, 0);
    EXPECT_EQ(locks, 0);
    EXPECT_EQ(environment, 0);
  }
};

TEST_F(LaunchPath, CountersCount) {
  if (!kCounting) GTEST_SKIP() << "a sanitizer has these functions for itself";
  std::mutex mutex;
  std::shared_mutex shared;
  void* memory = nullptr;
  const auto counts = [](auto&& act) {
    const ForbiddenCalls counted;
    act();
    return std::array{counted.allocations(), counted.locks(), counted.environment_reads()};
  };
  using Counts = std::array<int, 3>;
  const Counts allocation{1, 0, 0}, lock{0, 1, 0}, environment{0, 0, 1};
  EXPECT_EQ(counts([] {}), Counts{});
  auto* volatile number = static_cast<int*>(nullptr);
  EXPECT_EQ(counts([&] { number = new int(1); }), allocation);
  EXPECT_EQ(counts([&] { delete number; }), allocation);
  for (void* (*make)() : {+[] { return malloc(16); }, +[] { return calloc(2, 8); }, +[] { return realloc(nullptr, 16); },
                          +[] { return aligned_alloc(64, 64); }}) {
    EXPECT_EQ(counts([&] { memory = make(); }), allocation);
    EXPECT_EQ(counts([&] { free(memory); }), allocation);
  }
  EXPECT_EQ(counts([&] { (void)posix_memalign(&memory, 64, 64); }), allocation);
  free(memory);
  EXPECT_EQ(counts([&] { const std::lock_guard held(mutex); }), lock);
  EXPECT_EQ(counts([&] { const std::unique_lock held(mutex, std::try_to_lock); }), lock);
  EXPECT_EQ(counts([&] { const std::lock_guard held(shared); }), lock);
  EXPECT_EQ(counts([&] { const std::shared_lock held(shared); }), lock);
  EXPECT_EQ(counts([&] { const std::unique_lock held(shared, std::try_to_lock); }), lock);
  EXPECT_EQ(counts([&] { const std::shared_lock held(shared, std::try_to_lock); }), lock);
  pthread_spinlock_t spin;
  ASSERT_EQ(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE), 0);
  EXPECT_EQ(counts([&] { pthread_spin_lock(&spin); }), lock);
  EXPECT_EQ(counts([] { (void)getenv("HOME"); }), environment);
  EXPECT_EQ(counts([] { (void)secure_getenv("HOME"); }), environment);
}

TEST_F(LaunchPath, ACudaLaunchIsClean) {
  const auto device = open();
  const auto loaded = load(device, tma_gemm());
  void* const stream = stream_of(device);
  FAKE(fake_record)(0);
  Call inferred = gemm_call(300, 128, 192, stream);
  inferred.dims.clear();
  Call with_pdl = gemm_call(300, 128, 192, stream).attribute(TILERT_ATTRIBUTE_PDL, 1);
  expect_clean(*loaded, {gemm_call(300, 128, 192, stream), gemm_call(1, 64, 9, nullptr), inferred, with_pdl},
               Code::kOk);
}

TEST_F(LaunchPath, ARefusedLaunchIsCleanToo) {
  const auto device = open();
  const auto loaded = load(device, saxpy());
  void* const stream = stream_of(device);
  FAKE(fake_record)(0);
  Call misaligned = saxpy_call(10, stream);
  misaligned.arguments[0].data = address(0x10004);
  expect_clean(*loaded, {misaligned}, Code::kAlignment);
  Artifact bucket = saxpy();
  bucket.dims[0] = {DimKind::constant, "N", 7, 0};
  const auto constant = load(device, bucket);
  expect_clean(*constant, {saxpy_call(10, stream)}, Code::kNotReady);
}

TEST_F(LaunchPath, ACpuLaunchIsClean) {
  DeviceOptions options;
  options.threads = 3;
  options.cpu_loader = host_loader({{"saxpy", saxpy_blocks}});
  const auto device = Device::open(options);
  ASSERT_TRUE(device);
  Artifact artifact = cpu_saxpy();
  artifact.kernels[0].shared_bytes = 8192;
  const auto loaded = load(*device, artifact);
  std::vector<float> x(10000), y(10000);
  Call call;
  call.tensor(DType::f32, x.data(), {10000}).tensor(DType::f32, y.data()).scalar(DType::f32, 1.f);
  call.dims = {10000};
  expect_clean(*loaded, {call}, Code::kOk);
}

TEST_F(LaunchPath, ThirtyTwoThreadsLaunchWhileOthersLoadReleaseAndTrim) {
  const auto device = open();
  FAKE(fake_record)(0);
  Artifact small = saxpy();
  small.dims[0] = {DimKind::range, "N", 0, 1000};
  const auto shared = load(device, small);
  const auto wide = share(saxpy());
  std::atomic<int> failures{0}, not_ready{0};
  std::atomic<bool> added{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 24; ++t) {
    threads.emplace_back([&, t] {
      void* const stream = stream_of(device);
      for (int i = 0; i < 2000; ++i) {
        const bool must = added.load();
        const Code small_code = saxpy_call(i % 1000, stream).launch(*shared);
        const Code wide_code = saxpy_call(1001 + i, t % 2 == 0 ? stream : nullptr).launch(*shared);
        failures += small_code != Code::kOk;
        failures += wide_code != Code::kOk && (must || wide_code != Code::kNotReady);
        not_ready += wide_code == Code::kNotReady;
      }
    });
  }
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        auto own = device->load(std::vector<ArtifactPtr>{share(tma_gemm())});
        if (!own) {
          ++failures;
          continue;
        }
        failures += gemm_call(i + 1, 64, 64, stream_of(device)).launch(**own) != Code::kOk;
        *own = nullptr;
        if (t == 0 && i == 100) {
          failures += !shared->add(std::vector<ArtifactPtr>{wide});
          added = true;
        }
        if (t % 2 == 0) failures += !device->trim();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_TRUE(device->trim());
  EXPECT_EQ(device->counts().modules, 2u);
  EXPECT_EQ(FAKE(fake_loaded_modules)(), 2);
}

}  // namespace
}  // namespace tilert::runtime
