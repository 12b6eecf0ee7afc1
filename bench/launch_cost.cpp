// What tilert_launch costs beyond the driver's own call: a kernel of plain pointers and one with three tensor maps, each
// beside cuLaunchKernelEx with the same parameters (exported once). Medians of batches, alternating, in one run.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <vector>

#include "tilert.hpp"

namespace {

// The part of the driver's interface that the comparison needs.
struct Driver {
  int (*alloc)(uint64_t*, size_t) = nullptr;
  int (*synchronize)() = nullptr;
  int (*stream_create)(void**, unsigned) = nullptr;
  int (*is_capturing)(void*, int*) = nullptr;
  int (*current_context)(void**) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**) = nullptr;
};

Driver open_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return {};
  // tilert leaves the thread's current context as it is; the driver's own calls here need one.
  void* context = nullptr;
  const auto initialize = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
  const auto retain = reinterpret_cast<int (*)(void**, int)>(dlsym(library, "cuDevicePrimaryCtxRetain"));
  const auto make_current = reinterpret_cast<int (*)(void*)>(dlsym(library, "cuCtxSetCurrent"));
  if (initialize(0) != 0 || retain(&context, 0) != 0 || make_current(context) != 0) return {};
  Driver driver;
  const auto find = [&](auto& entry, const char* name) {
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(dlsym(library, name));
  };
  find(driver.alloc, "cuMemAlloc_v2");
  find(driver.synchronize, "cuCtxSynchronize");
  find(driver.stream_create, "cuStreamCreate");
  find(driver.is_capturing, "cuStreamIsCapturing");
  find(driver.current_context, "cuCtxGetCurrent");
  find(driver.launch, "cuLaunchKernel");
  return driver;
}

tl::Program matmul(bool tensor_maps) {
  tl::Builder b("matmul");
  const int bm = 128, bn = 128, bk = 64;
  auto M = b.dim("M"), N = b.dim("N"), K = b.dim("K");
  auto A = b.input("A", tl::bf16, {M, K});
  auto B = tensor_maps ? b.input("B", tl::bf16, {N, K}) : b.input("B", tl::bf16, {K, N});
  auto C = b.output("C", tl::bf16, {M, N});
  b.grid({tl::ceildiv(N, bn), tl::ceildiv(M, bm)}, [&](tl::Index x, tl::Index y) {
    auto a = b.shared(tl::bf16, {bm, bk});
    auto w = tensor_maps ? b.shared(tl::bf16, {bn, bk}) : b.shared(tl::bf16, {bk, bn});
    auto acc = b.fragment(tl::f32, {bm, bn});
    b.clear(acc);
    b.pipelined(tl::ceildiv(K, bk), tl::stages(3), [&](tl::Index k) {
      b.copy(A(y * bm, k * bk), a);
      if (tensor_maps) {
        b.copy(B(x * bn, k * bk), w);
        b.gemm(a, w, acc, tl::trans_b);
      } else {
        b.copy(B(k * bk, x * bn), w);
        b.gemm(a, w, acc);
      }
    });
    b.copy(acc, C(y * bm, x * bn));
  });
  return b.finish();
}

template <class F>
double batch_us(const Driver& driver, F&& call) {
  constexpr int kBatch = 200;
  driver.synchronize();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kBatch; ++i) call();
  const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  driver.synchronize();
  return us / kBatch;
}

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

// The three buffers and the launch that takes them.
struct Launch {
  Launch(const Driver& driver, const tl::Loaded& loaded, void* stream) {
    for (tilert_argument& a : arguments) {
      uint64_t pointer = 0;
      driver.alloc(&pointer, kSize * kSize * 2);
      a.kind = TILERT_ARGUMENT_TENSOR;
      a.dtype = TILERT_BF16;
      a.data = reinterpret_cast<void*>(pointer);
      a.ndim = 2;
      a.shape = shape;
    }
    info.struct_size = sizeof info;
    info.loaded = loaded.get();
    info.arguments = arguments;
    info.argument_count = 3;
    info.dims = dims;
    info.dim_count = 3;
    info.stream = stream;
    info.failure = &failure;
    failure.struct_size = sizeof failure;
    record.struct_size = sizeof record;
  }

  bool export_parameters() {
    record.parameters = bytes;
    record.parameter_bytes = sizeof bytes;
    record.parameter_offsets = offsets;
    record.parameter_offset_count = 16;
    return tilert_launch_export(&info, &record) == TILERT_OK;
  }

  static constexpr int64_t kSize = 128;
  int64_t shape[2] = {kSize, kSize};
  int64_t dims[3] = {kSize, kSize, kSize};
  tilert_argument arguments[3] = {};
  tilert_launch_info info{};
  tilert_launch_failure failure{};
  tilert_launch_record record{};
  uint32_t offsets[16] = {};
  alignas(64) unsigned char bytes[4096];
};

void compare(const Driver& driver, const tl::Context& context, const tl::Device& device, bool tensor_maps, bool own_stream) {
  const int64_t n = Launch::kSize;
  const tl::Loaded loaded = context.try_kernel(matmul(tensor_maps), {}, {{"M", n}, {"N", n}, {"K", n}}).value().try_prepare(device).value();
  void* stream = nullptr;
  if (own_stream) driver.stream_create(&stream, 1);
  Launch launch(driver, loaded, stream);
  if (!launch.export_parameters()) {
    std::printf("export failed: %s\n", launch.failure.message);
    return;
  }
  const tilert_launch_record bare = launch.record;
  void* parameters[16];
  for (uint32_t i = 0; i < bare.parameter_count; ++i) parameters[i] = launch.bytes + launch.offsets[i];
  size_t bytes = bare.parameter_bytes;
  void* packed[] = {reinterpret_cast<void*>(1), launch.bytes, reinterpret_cast<void*>(2), &bytes, nullptr};
  alignas(64) static unsigned char kept[4 * TILERT_RECORD_ENTRY_BYTES];
  tilert_launch_info with_record = launch.info;
  with_record.record = kept;
  with_record.record_bytes = sizeof kept;
  std::vector<double> ours, recorded, driver_call, packed_call, export_call, capture, context_query;
  for (int round = 0; round < 40; ++round) {
    ours.push_back(batch_us(driver, [&] { tilert_launch(&launch.info); }));
    recorded.push_back(batch_us(driver, [&] { tilert_launch(&with_record); }));
    driver_call.push_back(batch_us(driver, [&] {
      driver.launch(bare.function, bare.grid[0], bare.grid[1], bare.grid[2], bare.block[0], bare.block[1], bare.block[2],
                    bare.shared_bytes, stream, parameters, nullptr);
    }));
    packed_call.push_back(batch_us(driver, [&] {
      driver.launch(bare.function, bare.grid[0], bare.grid[1], bare.grid[2], bare.block[0], bare.block[1], bare.block[2],
                    bare.shared_bytes, stream, nullptr, packed);
    }));
    int capturing = 0;
    void* current = nullptr;
    capture.push_back(batch_us(driver, [&] { driver.is_capturing(stream, &capturing); }));
    context_query.push_back(batch_us(driver, [&] { driver.current_context(&current); }));
    export_call.push_back(batch_us(driver, [&] { launch.export_parameters(); }));
  }
  std::printf("%s, %s stream: tilert_launch %.2f us, cuLaunchKernel %.2f us (parameters packed by"
              " the caller: %.2f), beyond it %.2f us (%.2f), with a launch record %.2f us"
              " (checks and parameters %.3f, cuStreamIsCapturing %.3f, cuCtxGetCurrent %.3f)\n",
              tensor_maps ? "three tensor maps" : "three pointers", own_stream ? "own" : "legacy", median(ours),
              median(driver_call), median(packed_call), median(ours) - median(driver_call), median(ours) - median(packed_call),
              median(recorded) - median(driver_call),
              median(export_call), median(capture),
              median(context_query));
}

}  // namespace

int main() {
  const Driver driver = open_driver();
  if (!driver.alloc) {
    std::printf("no CUDA driver here\n");
    return 0;
  }
  const tl::Context context = tl::Context::create().value();
  const tl::Device device = context.try_cuda().value();
  for (const bool own_stream : {false, true})
    for (const bool tensor_maps : {false, true}) compare(driver, context, device, tensor_maps, own_stream);
}
