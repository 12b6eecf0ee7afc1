// What tilert_launch costs beyond the driver's own call: a kernel of plain pointers and one with three tensor maps, each
// beside cuLaunchKernelEx with the same parameters (exported once). Medians of batches, alternating, in one run.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tilert.hpp"

namespace {

// The part of the driver's interface that the comparison needs.
using MemAlloc = int (*)(uint64_t*, size_t);
using Synchronize = int (*)();
using LaunchKernel = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);

struct Driver {
  MemAlloc alloc;
  Synchronize synchronize;
  LaunchKernel launch;
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
  return {reinterpret_cast<MemAlloc>(dlsym(library, "cuMemAlloc_v2")), reinterpret_cast<Synchronize>(dlsym(library, "cuCtxSynchronize")),
          reinterpret_cast<LaunchKernel>(dlsym(library, "cuLaunchKernel"))};
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
double batch_us(const Driver& driver, F&& launch) {
  constexpr int kBatch = 200;
  driver.synchronize();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kBatch; ++i) launch();
  const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  driver.synchronize();
  return us / kBatch;
}

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

void compare(const Driver& driver, const tl::Context& context, const tl::Device& device, bool tensor_maps) {
  const int64_t n = 128;
  const tl::Loaded loaded = context.try_kernel(matmul(tensor_maps), {}, {{"M", n}, {"N", n}, {"K", n}}).value().try_prepare(device).value();
  int64_t shape[2] = {n, n};
  tilert_argument arguments[3] = {};
  for (tilert_argument& a : arguments) {
    uint64_t pointer = 0;
    driver.alloc(&pointer, n * n * 2);
    a.kind = TILERT_ARGUMENT_TENSOR;
    a.dtype = TILERT_BF16;
    a.data = reinterpret_cast<void*>(pointer);
    a.ndim = 2;
    a.shape = shape;
  }
  int64_t dims[3] = {n, n, n};
  tilert_launch_info info{};
  info.struct_size = sizeof info;
  info.loaded = loaded.get();
  info.arguments = arguments;
  info.argument_count = 3;
  info.dims = dims;
  info.dim_count = 3;
  tilert_launch_record record{};
  record.struct_size = sizeof record;
  alignas(64) unsigned char bytes[4096];
  record.parameters = bytes;
  record.parameter_bytes = sizeof bytes;
  tilert_launch_failure failure{};
  failure.struct_size = sizeof failure;
  info.failure = &failure;
  if (tilert_launch_export(&info, &record) != TILERT_OK) {
    std::printf("export failed: %s\n", failure.message);
    return;
  }
  std::vector<double> ours, bare;
  size_t size = record.parameter_bytes;
  void* extra[] = {reinterpret_cast<void*>(1), bytes, reinterpret_cast<void*>(2), &size, nullptr};
  for (int round = 0; round < 30; ++round) {
    ours.push_back(batch_us(driver, [&] { tilert_launch(&info); }));
    bare.push_back(batch_us(driver, [&] {
      driver.launch(record.function, record.grid[0], record.grid[1], record.grid[2], record.block[0], record.block[1], record.block[2],
                    record.shared_bytes, nullptr, nullptr, extra);
    }));
  }
  std::printf("%s: tilert_launch %.2f us, cuLaunchKernel %.2f us, beyond it %.2f us\n", tensor_maps ? "three tensor maps" : "three pointers",
              median(ours), median(bare), median(ours) - median(bare));
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
  compare(driver, context, device, false);
  compare(driver, context, device, true);
}
