// Rates of f32 products on the CPU, one thread, beside OpenBLAS on the same machine and in the same rounds.
// taskset -c 0 cpu_gemm [seconds per shape]: our pool has as many threads as the process may use processors. OpenBLAS is opened at run time (libopenblas.so.0); without it only our rates are shown.
// Unset OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE for a fair comparison.
#include <dlfcn.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tilert.hpp"

namespace {

using Sgemm = void(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a, int lda, const float* b,
                   int ldb, float beta, float* c, int ldc);
using Clock = std::chrono::steady_clock;

tl::Program gemm(int bm, int bn, int bk) {
  tl::Builder b("gemm");
  auto M = b.dim("M"), N = b.dim("N"), K = b.dim("K");
  auto A = b.input("A", tl::f32, {M, K}), B = b.input("B", tl::f32, {K, N});
  auto C = b.output("C", tl::f32, {M, N});
  b.grid({tl::ceildiv(N, bn), tl::ceildiv(M, bm)}, [&](tl::Index x, tl::Index y) {
    auto a = b.shared(tl::f32, {bm, bk}), w = b.shared(tl::f32, {bk, bn});
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

template <class F>
void time_once(F work, double& best) {
  const auto start = Clock::now();
  work();
  best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
}

struct Blas {
  Sgemm* sgemm = nullptr;
  Blas() {
    void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    sgemm = reinterpret_cast<Sgemm*>(dlsym(library, "cblas_sgemm"));
    if (auto* threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"))) threads(1);
    if (auto* name = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_corename"))) std::printf("OpenBLAS kernel: %s\n", name());
  }
};

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const Blas blas;
  tl::Context context;
  tl::Device device = context.cpu();
  tl::Loaded loaded = context.kernel(gemm(128, 128, 32)).prepare(device);
  const int64_t shapes[][3] = {{512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}, {1000, 1000, 1000}, {4096, 4096, 64}, {127, 255, 513}, {16, 1024, 1024}, {4, 1024, 1024}};
  for (const auto& s : shapes) {
    const int64_t m = s[0], n = s[1], k = s[2];
    std::vector<float> a(m * k), b(k * n), c(m * n), d(m * n);
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 7919 % 1000) / 500 - 1;
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 104729 % 1000) / 500 - 1;
    double ours = 1e9, theirs = 1e9;
    for (const auto start = Clock::now(); Clock::now() - start < std::chrono::duration<double>(seconds);) {
      time_once([&] { loaded.launch(nullptr, {a.data(), b.data(), c.data()}, {{0u, m}, {1u, n}, {2u, k}}); }, ours);
      if (blas.sgemm) {
        time_once([&] { blas.sgemm(101, 111, 111, int(m), int(n), int(k), 1, a.data(), int(k), b.data(), int(n), 0, d.data(), int(n)); }, theirs);
      }
    }
    double worst = 0;
    for (size_t i = 0; blas.sgemm && i < c.size(); ++i) worst = std::max(worst, std::fabs(double(c[i]) - d[i]));
    const double flops = 2.0 * double(m) * double(n) * double(k);
    std::printf("%5ld x %5ld x %5ld: %7.1f GFLOP/s, OpenBLAS %7.1f, ratio %.2f (largest difference %.1e)\n", long(m), long(n), long(k),
                flops / ours * 1e-9, blas.sgemm ? flops / theirs * 1e-9 : 0, blas.sgemm ? theirs / ours : 0, worst);
  }
  return 0;
}
