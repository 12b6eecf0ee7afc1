// Launching on the CPU: blocks, scratch, executors, plugin objects.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "compiler/llvm_plugin.h"
#include "runtime/cpu_kernels.h"
#include "runtime/fake_device.h"

namespace tilert::runtime {
namespace {

using namespace testing;

std::shared_ptr<Device> open_cpu(CpuLoader loader, uint32_t threads = 4, std::optional<tilert_executor> executor = {}) {
  DeviceOptions options;
  options.threads = threads;
  options.cpu_loader = std::move(loader);
  options.executor = executor;
  auto device = Device::open(std::move(options));
  EXPECT_TRUE(device) << (device ? "" : device.error().message);
  return device ? *device : nullptr;
}

LoadedPtr load(const std::shared_ptr<Device>& device, const Artifact& artifact) {
  auto loaded = device->load(std::vector<ArtifactPtr>{share(artifact)});
  EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
  return loaded ? *loaded : nullptr;
}

struct Vectors {
  explicit Vectors(size_t n) : x(n), y(n, 1.f) { std::iota(x.begin(), x.end(), 0.f); }
  Call call() {
    Call call;
    const auto n = static_cast<int64_t>(x.size());
    call.tensor(DType::f32, x.data(), {n}).tensor(DType::f32, y.data()).scalar(DType::f32, 2.f);
    call.dims = {n};
    return call;
  }
  bool right() const {
    for (size_t i = 0; i < x.size(); ++i) {
      if (y[i] != 2.f * static_cast<float>(i) + 1.f) return false;
    }
    return true;
  }
  alignas(16) std::vector<float> x, y;
};

TEST(LaunchCpu, EveryBlockRunsOnce) {
  const auto device = open_cpu(host_loader({{"saxpy", saxpy_blocks}}));
  const auto loaded = load(device, cpu_saxpy());
  for (const size_t n : {size_t{1}, size_t{255}, size_t{256}, size_t{257}, size_t{100000}}) {
    Vectors vectors(n);
    Call call = vectors.call();
    EXPECT_EQ(call.launch(*loaded), Code::kOk) << call.message();
    EXPECT_TRUE(vectors.right()) << n;
  }
}

TEST(LaunchCpu, FactsAreThoseOfThePool) {
  const auto device = open_cpu({}, 3);
  EXPECT_TRUE(device->is_cpu());
  EXPECT_EQ(device->facts().multiprocessors, 3u);
  EXPECT_EQ(device->context(), nullptr);
  EXPECT_FALSE(device->facts().name.empty());
}

TEST(LaunchCpu, AStreamAndDeviceMemoryAreRefused) {
  const auto device = open_cpu(host_loader({{"saxpy", saxpy_blocks}}));
  const auto loaded = load(device, cpu_saxpy());
  Vectors vectors(10);
  Call call = vectors.call();
  EXPECT_EQ(call.on(address(64)).launch(*loaded), Code::kInvalidArgument);
  call.on(nullptr).arguments[0].device_type = TILERT_MEMORY_CUDA;
  EXPECT_EQ(call.launch(*loaded), Code::kInvalidArgument);
  EXPECT_NE(call.message().find("'x' lies on device cuda:0, the kernel is loaded on cpu"), std::string::npos)
      << call.message();
}

TEST(LaunchCpu, AGpuArtifactOrAMissingEntryIsRefused) {
  const auto device = open_cpu(host_loader({{"other", saxpy_blocks}}));
  const auto gpu = device->load(std::vector<ArtifactPtr>{share(saxpy())});
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.error().code, Code::kInvalidArgument);
  const auto missing = device->load(std::vector<ArtifactPtr>{share(cpu_saxpy())});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kCorrupt);
}

// Each range of blocks owns its scratch: what it stamps there is there when it comes back to it.
void stamp_scratch(const uint64_t* params, int64_t first, int64_t last, const int64_t* grid, void* scratch) {
  auto* clashes = reinterpret_cast<std::atomic<int64_t>*>(params[0]);
  auto* words = static_cast<volatile int64_t*>(scratch);
  if (scratch == nullptr || reinterpret_cast<uintptr_t>(scratch) % 4096 != 0 || grid[0] != 64 || grid[1] != 2)
    ++*clashes;
  for (int64_t block = first; block < last; ++block) {
    for (int i = 0; i < 512; ++i) words[i] = block;
    std::this_thread::yield();
    for (int i = 0; i < 512; ++i) {
      if (words[i] != block) ++*clashes;
    }
  }
}

Artifact scratch_artifact(uint32_t bytes) {
  BytecodeBuilder b;
  Artifact artifact;
  artifact.kind = CodeKind::cpu_object;
  artifact.target = "x86_64";
  artifact.code = {1};
  artifact.params = {tensor("clashes", DType::int64, {sized(b.emit(b.constant(1)))}, Access::inout)};
  artifact.params[0].alignment = 8;
  Kernel kernel;
  kernel.entry = "stamp";
  kernel.grid[0] = b.emit(b.constant(64));
  kernel.grid[1] = b.emit(b.constant(2));
  kernel.grid[2] = b.emit(b.constant(1));
  kernel.shared_bytes = bytes;
  kernel.slots = {pointer_slot(0)};
  artifact.kernels = {kernel};
  artifact.bytecode = b.take();
  return artifact;
}

TEST(LaunchCpu, ScratchIsPrivateAlsoBetweenLaunchesOfManyThreads) {
  const auto device = open_cpu(host_loader({{"stamp", stamp_scratch}}));
  const auto small = load(device, scratch_artifact(4096));
  const auto large = load(device, scratch_artifact(100000));
  std::atomic<int64_t> clashes{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        Call call;
        call.tensor(DType::int64, &clashes);
        if (call.launch(t % 2 == 0 ? *small : *large) != Code::kOk) ++clashes;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clashes, 0);
}

struct CountingExecutor {
  std::atomic<int> calls{0};
  static void parallel_for(void* user, uint32_t count, void (*body)(void*, uint32_t), void* arg) {
    ++static_cast<CountingExecutor*>(user)->calls;
    std::thread second([&] {
      for (uint32_t i = 1; i < count; i += 2) body(arg, i);
    });
    for (uint32_t i = 0; i < count; i += 2) body(arg, i);
    second.join();
  }
};

TEST(LaunchCpu, TheCallersExecutorRunsTheBlocks) {
  CountingExecutor counting;
  const auto device = open_cpu(host_loader({{"saxpy", saxpy_blocks}}), 0,
                               tilert_executor{CountingExecutor::parallel_for, &counting, 2, 0});
  const auto loaded = load(device, cpu_saxpy());
  Vectors vectors(100000);
  Call call = vectors.call();
  EXPECT_EQ(call.launch(*loaded), Code::kOk);
  EXPECT_TRUE(vectors.right());
  EXPECT_EQ(counting.calls, 1);
  EXPECT_EQ(device->facts().multiprocessors, 2u);
  DeviceOptions options;
  options.executor = tilert_executor{};
  const auto refused = Device::open(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
}

TEST(LaunchCpu, TrimFreesReleasedObjects) {
  const auto device = open_cpu(host_loader({{"saxpy", saxpy_blocks}}));
  const int before = HostObject::alive();
  auto loaded = load(device, cpu_saxpy());
  EXPECT_EQ(HostObject::alive(), before + 1);
  loaded.reset();
  EXPECT_EQ(HostObject::alive(), before + 1) << "release only marks";
  const auto trimmed = device->trim();
  ASSERT_TRUE(trimmed);
  EXPECT_EQ(*trimmed, 1u);
  EXPECT_EQ(HostObject::alive(), before);
}

#ifdef TILERT_HAVE_LLVM
TEST(LaunchCpu, AnObjectOfThePluginRuns) {
  const auto plugin = LlvmPlugin::get(std::string(TILERT_BINARY_DIR) + "/lib/libtilert_llvm.so");
  ASSERT_TRUE(plugin) << plugin.error().message;
  LlvmRequest request;
  request.entries = {"saxpy"};
  request.ir = R"(
define void @saxpy(ptr %params, i64 %first, i64 %last, ptr %grid, ptr %scratch) nounwind {
  %px = load ptr, ptr %params
  %py.at = getelementptr i64, ptr %params, i64 1
  %py = load ptr, ptr %py.at
  %a.at = getelementptr i64, ptr %params, i64 2
  %a = load float, ptr %a.at
  %n.at = getelementptr i64, ptr %params, i64 3
  %n = load i64, ptr %n.at
  %begin = mul i64 %first, 256
  %stop = mul i64 %last, 256
  %less = icmp slt i64 %stop, %n
  %end = select i1 %less, i64 %stop, i64 %n
  br label %head
head:
  %i = phi i64 [ %begin, %0 ], [ %next, %body ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %body, label %done
body:
  %x.at = getelementptr float, ptr %px, i64 %i
  %y.at = getelementptr float, ptr %py, i64 %i
  %x = load float, ptr %x.at
  %y = load float, ptr %y.at
  %ax = fmul float %a, %x
  %r = fadd float %ax, %y
  store float %r, ptr %y.at
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}
)";
  const auto object = (*plugin)->compile(request);
  ASSERT_TRUE(object) << object.error().message << object.error().log;
  const auto host = (*plugin)->host_target();
  ASSERT_TRUE(host);
  Artifact artifact = cpu_saxpy();
  artifact.code.assign(object->begin(), object->end());
  artifact.target = host->triple;
  DeviceOptions options;
  options.plugin_path = (*plugin)->path();
  const auto device = Device::open(options);
  ASSERT_TRUE(device);
  const auto loaded = load(*device, artifact);
  ASSERT_NE(loaded, nullptr);
  Vectors vectors(10000);
  Call call = vectors.call();
  EXPECT_EQ(call.launch(*loaded), Code::kOk) << call.message();
  EXPECT_TRUE(vectors.right());
  artifact.target = "aarch64-unknown-linux-gnu:neoverse-v2";
  const auto foreign = (*device)->load(std::vector<ArtifactPtr>{share(artifact)});
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, Code::kUnsupported) << foreign.error().message;
}
#endif

}  // namespace
}  // namespace tilert::runtime
