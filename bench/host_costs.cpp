// What the host pays: building and keying a program, a hit in memory, a hit on disk, a cold compile. Medians.
// host_costs [target]: sm_90a by default; give "cpu" for ORC.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tilert.hpp"

namespace {

tl::Program matmul(int bm, int bn, int bk) {
  tl::Builder b("matmul");
  auto M = b.dim("M"), N = b.dim("N"), K = b.dim("K");
  auto A = b.input("A", tl::f16, {M, K}), B = b.input("B", tl::f16, {K, N});
  auto C = b.output("C", tl::f16, {M, N});
  b.grid({tl::ceildiv(N, bn), tl::ceildiv(M, bm)}, [&](tl::Index x, tl::Index y) {
    auto a = b.shared(tl::f16, {bm, bk}), w = b.shared(tl::f16, {bk, bn});
    auto acc = b.fragment(tl::f32, {bm, bn});
    b.clear(acc);
    b.pipelined(tl::ceildiv(K, bk), tl::stages(3), [&](tl::Index k) {
      b.copy(A(y * bm, k * bk), a);
      b.copy(B(k * bk, x * bn), w);
      b.gemm(a, w, acc);
    });
    b.copy(acc, C(y * bm, x * bn));
  });
  return b.finish();
}

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class F>
double median_us(int times, F&& f) {
  std::vector<double> all;
  for (int i = 0; i < times; ++i) {
    const double start = now_us();
    f();
    all.push_back(now_us() - start);
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

void compile(const tl::Kernel& kernel) {
  if (tilert_kernel_compile(kernel.get(), nullptr) != TILERT_OK) std::printf("a compile failed\n");
}

tl::Kernel keyed(tl::Context& context, const std::string& target) {
  return context.try_kernel(matmul(128, 128, 32), target, {{"M", 4096}, {"N", 4096}, {"K", 4096}}).value();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string target = argc > 1 ? argv[1] : "sm_90a";
  const std::string folder = (std::filesystem::temp_directory_path() / ("tilert_host_costs_" + std::to_string(::rand()))).string();
  tilert_context_options off{};
  off.cache_mode = TILERT_CACHE_OFF;
  tl::Context cold = tl::Context::create(off).value();
  std::printf("build %.1f us\n", median_us(200, [] { matmul(128, 128, 32); }));
  std::printf("build and key %.1f us\n", median_us(200, [&] { keyed(cold, target); }));
  std::printf("cold compile, first %.1f ms\n", median_us(1, [&] { compile(keyed(cold, target)); }) / 1000);
  std::printf("cold compile, later %.1f ms\n", median_us(5, [&] { compile(keyed(cold, target)); }) / 1000);
  tilert_context_options disk{};
  disk.cache_path = folder.c_str();
  {
    tl::Context context = tl::Context::create(disk).value();
    compile(keyed(context, target));
    std::vector<tl::Kernel> kernels;
    for (int i = 0; i < 200; ++i) kernels.push_back(keyed(context, target));
    size_t i = 0;
    std::printf("memory hit %.2f us\n", median_us(200, [&] { compile(kernels[i++]); }));
  }
  std::vector<double> hits;
  for (int i = 0; i < 20; ++i) {
    tl::Context context = tl::Context::create(disk).value();
    tl::Kernel kernel = keyed(context, target);
    const double start = now_us();
    compile(kernel);
    hits.push_back(now_us() - start);
    if (context.stats().disk_hits != 1) std::printf("not a disk hit\n");
  }
  std::sort(hits.begin(), hits.end());
  std::printf("disk hit, opening the store included %.1f us\n", hits[hits.size() / 2]);
  std::filesystem::remove_all(folder);
}
