// Flash attention, forward, causal: bf16, one block per head and tile of queries, running maximum and sum.
#include "common.hpp"

namespace {

tl::Program attention(int bm, int bn, int d) {
  tl::Builder b("attention");
  auto S = b.dim("S"), H = b.dim("H");
  auto Q = b.input("Q", tl::bf16, {H, S, d}), K = b.input("K", tl::bf16, {H, S, d}),
       V = b.input("V", tl::bf16, {H, S, d});
  auto O = b.output("O", tl::bf16, {H, S, d});
  auto scale = b.scalar("scale", tl::f32);  // 1 / sqrt(d) * log2(e)
  b.grid({tl::ceildiv(S, bm), H}, [&](tl::Index y, tl::Index z) {
    auto q = b.shared(tl::bf16, {bm, d}), k = b.shared(tl::bf16, {bn, d}), v = b.shared(tl::bf16, {bn, d});
    auto s = b.fragment(tl::f32, {bm, bn}), p = b.fragment(tl::f32, {bm, bn}), o = b.fragment(tl::f32, {bm, d});
    auto m = b.fragment(tl::f32, {bm}), m_old = b.fragment(tl::f32, {bm});
    auto l = b.fragment(tl::f32, {bm}), f = b.fragment(tl::f32, {bm});
    auto m0 = y * bm;
    b.copy(Q(z, m0, 0), q);
    b.clear(o);
    b.clear(l);
    b.fill(m, -tl::inf);
    b.pipelined(tl::ceildiv(tl::min(S, m0 + bm), bn), tl::stages(2), [&](tl::Index j) {
      b.copy(K(z, j * bn, 0), k);
      b.gemm(q, k, s, tl::trans_b | tl::overwrite);
      b.parallel({bm, bn}, [&](auto r, auto c) { s(r, c) = tl::select(j * bn + c <= m0 + r, s(r, c), -tl::inf); });
      b.copy(m, m_old);
      b.reduce(tl::max, s, m, 1, tl::accumulate);
      b.parallel({bm, bn}, [&](auto r, auto c) { p(r, c) = tl::exp2(s(r, c) * scale - m(r) * scale); });
      b.parallel({bm}, [&](auto r) {
        f(r) = tl::exp2((m_old(r) - m(r)) * scale);
        l(r) *= f(r);
      });
      b.reduce(tl::sum, p, l, 1, tl::accumulate);  // stays partial until l is read whole, after the loop
      b.parallel({bm, d}, [&](auto r, auto c) { o(r, c) *= f(r); });
      b.copy(V(z, j * bn, 0), v);
      b.gemm(p, v, o);
    });
    b.parallel({bm, d}, [&](auto r, auto c) { o(r, c) /= l(r); });
    b.copy(o, O(z, m0, 0));
  });
  return b.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return sample::run([&] {
    const int64_t heads = 2, length = 300, d = 64;  // no multiple of the tiles
    sample::Machine machine(argc, argv);
    sample::Random random;
    auto q = random.bf16s(heads * length * d), k = random.bf16s(heads * length * d),
         v = random.bf16s(heads * length * d);
    std::vector<uint16_t> o(heads * length * d, 0x7fc0);
    const double scale = 1 / std::sqrt(double(d));

    auto* to = machine.put(o);
    machine.launch(attention(64, 64, d),
                   {machine.put(q), machine.put(k), machine.put(v), to, static_cast<float>(scale / std::log(2.0))},
                   {{0u, length}, {1u, heads}});
    machine.get(o, to);

    sample::Check check;
    const auto at = [&](const std::vector<uint16_t>& x, int64_t h, int64_t i, int64_t e) {
      return sample::value_of(x[(h * length + i) * d + e]);
    };
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t i = 0; i < length; ++i) {
        std::vector<double> weight(i + 1);
        double top = -INFINITY, sum = 0;
        for (int64_t j = 0; j <= i; ++j) {
          for (int64_t e = 0; e < d; ++e) weight[j] += at(q, h, i, e) * at(k, h, j, e) * scale;
          top = std::fmax(top, weight[j]);
        }
        for (double& w : weight) sum += w = std::exp(w - top);
        for (int64_t e = 0; e < d; ++e) {
          double wanted = 0, size = 0;
          for (int64_t j = 0; j <= i; ++j) {
            wanted += weight[j] / sum * at(v, h, j, e);
            size += weight[j] / sum * std::fabs(at(v, h, j, e));
          }
          // p is rounded to bf16 on its way into the second product.
          check.add(at(o, h, i, e), wanted, sample::kBf16 * (std::fabs(wanted) + 0.6 * size));
        }
      }
    }
    return check.report("causal flash attention");
  });
}
