// c = gelu(a · b + bias): bf16 matrices, f32 accumulation, any M, N and K with one binary.
#include "common.hpp"

namespace {

tl::Expr gelu(const tl::Expr& x) { return 0.5 * x * (tl::erf(x * 0.7071067811865476) + 1); }

tl::Program gemm(int bm, int bn, int bk) {
  tl::Builder b("gemm_bias_gelu");
  auto M = b.dim("M"), N = b.dim("N"), K = b.dim("K");
  auto A = b.input("A", tl::bf16, {M, K}), B = b.input("B", tl::bf16, {K, N}), bias = b.input("bias", tl::f32, {N});
  auto C = b.output("C", tl::bf16, {M, N});
  b.grid({tl::ceildiv(N, bn), tl::ceildiv(M, bm)}, [&](tl::Index x, tl::Index y) {
    auto a = b.shared(tl::bf16, {bm, bk}), w = b.shared(tl::bf16, {bk, bn});
    auto acc = b.fragment(tl::f32, {bm, bn});
    b.clear(acc);
    b.pipelined(tl::ceildiv(K, bk), tl::stages(3), [&](tl::Index k) {
      b.copy(A(y * bm, k * bk), a);
      b.copy(B(k * bk, x * bn), w);
      b.gemm(a, w, acc);
    });
    b.parallel({bm, bn}, [&](tl::Index i, tl::Index j) { acc(i, j) = gelu(acc(i, j) + bias(x * bn + j)); });
    b.copy(acc, C(y * bm, x * bn));
  });
  return b.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return sample::run([&] {
    const int64_t m = 300, n = 200, k = 152;
    sample::Machine machine(argc, argv);
    sample::Random random;
    auto a = random.bf16s(m * k), w = random.bf16s(k * n);
    auto bias = random.floats(n);
    std::vector<uint16_t> c(m * n, 0x7fc0);  // poisoned with NaN

    auto* to = machine.put(c);
    machine.launch(gemm(128, 128, 32), {machine.put(a), machine.put(w), machine.put(bias), to},
                   {{0u, m}, {1u, n}, {2u, k}});
    machine.get(c, to);

    sample::Check check;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = bias[j], size = std::fabs(bias[j]);
        for (int64_t p = 0; p < k; ++p) {
          const double product = sample::value_of(a[i * k + p]) * sample::value_of(w[p * n + j]);
          sum += product;
          size += std::fabs(product);
        }
        const double wanted = 0.5 * sum * (1 + std::erf(sum / std::sqrt(2.0)));
        check.add(sample::value_of(c[i * n + j]), wanted,
                  sample::kBf16 * std::fabs(wanted) + 8 * sample::kF32 * std::sqrt(double(k)) * size);
      }
    }
    return check.report("gemm with bias and GELU");
  });
}
