// c = a · bᵀ with int8 operands and int32 results: exact.
#include "common.hpp"

namespace {

tl::Program gemm_int8(int bm, int bn, int bk) {
  tl::Builder b("gemm_int8");
  auto M = b.dim("M"), N = b.dim("N"), K = b.dim("K");
  auto A = b.input("A", tl::i8, {M, K}), B = b.input("B", tl::i8, {N, K});
  auto C = b.output("C", tl::i32, {M, N});
  b.grid({tl::ceildiv(N, bn), tl::ceildiv(M, bm)}, [&](tl::Index x, tl::Index y) {
    auto a = b.shared(tl::i8, {bm, bk}), w = b.shared(tl::i8, {bn, bk});
    auto acc = b.fragment(tl::i32, {bm, bn});
    b.clear(acc);
    b.pipelined(tl::ceildiv(K, bk), tl::stages(3), [&](tl::Index k) {
      b.copy(A(y * bm, k * bk), a);
      b.copy(B(x * bn, k * bk), w);
      b.gemm(a, w, acc, tl::trans_b);
    });
    b.copy(acc, C(y * bm, x * bn));
  });
  return b.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return sample::run([&] {
    const int64_t m = 130, n = 72, k = 208;
    sample::Machine machine(argc, argv);
    sample::Random random;
    auto a = random.int8s(m * k), w = random.int8s(n * k);
    a[0] = -128;
    w[0] = -128;
    std::vector<int32_t> c(m * n, 77777);

    auto* to = machine.put(c);
    machine.launch(gemm_int8(64, 64, 64), {machine.put(a), machine.put(w), to}, {{0u, m}, {1u, n}, {2u, k}});
    machine.get(c, to);

    sample::Check check;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        int64_t wanted = 0;
        for (int64_t p = 0; p < k; ++p) wanted += int64_t{a[i * k + p]} * w[j * k + p];
        check.add(c[i * n + j], static_cast<double>(wanted), 0);
      }
    }
    return check.report("int8 gemm");
  });
}
