// RMSNorm with residual: r = x + residual (kept), y = r / sqrt(mean(r²) + eps) * weight; bf16 in and out, f32 between.
#include "common.hpp"

namespace {

tl::Program rmsnorm(int64_t hidden, int width) {
  tl::Builder b("rmsnorm");
  auto T = b.dim("T");
  auto x = b.input("x", tl::bf16, {T, hidden}), weight = b.input("weight", tl::bf16, {hidden});
  auto residual = b.inout("residual", tl::bf16, {T, hidden});
  auto y = b.output("y", tl::bf16, {T, hidden});
  auto eps = b.scalar("eps", tl::f32);
  b.grid({T}, [&](tl::Index token) {
    auto r = b.fragment(tl::f32, {1, width}), add = b.fragment(tl::f32, {1, width}),
         square = b.fragment(tl::f32, {1, width});
    auto mean = b.fragment(tl::f32, {1});
    b.copy(x(token, 0), r);
    b.copy(residual(token, 0), add);
    b.parallel({1, width}, [&](tl::Index i, tl::Index j) { r(i, j) = r(i, j) + add(i, j); });
    b.copy(r, residual(token, 0));
    b.parallel({1, width}, [&](tl::Index i, tl::Index j) { square(i, j) = r(i, j) * r(i, j); });
    b.reduce(tl::sum, square, mean, 1);
    b.parallel({1, width}, [&](tl::Index i, tl::Index j) {
      auto scale = tl::rsqrt(mean(i) / static_cast<double>(hidden) + eps);
      r(i, j) = r(i, j) * scale * tl::cast(tl::f32, weight(j));
    });
    b.copy(r, y(token, 0));
  });
  return b.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return sample::run([&] {
    const int64_t tokens = 19, hidden = 1000;
    sample::Machine machine(argc, argv);
    sample::Random random;
    auto x = random.bf16s(tokens * hidden), weight = random.bf16s(hidden), residual = random.bf16s(tokens * hidden);
    const auto before = residual;
    std::vector<uint16_t> y(tokens * hidden, 0x7fc0);

    auto* to = machine.put(y);
    auto* sum = machine.put(residual);
    machine.launch(rmsnorm(hidden, 1024), {machine.put(x), machine.put(weight), sum, to, 1e-5f}, {{0u, tokens}});
    machine.get(y, to);
    machine.get(residual, sum);

    sample::Check check;
    for (int64_t t = 0; t < tokens; ++t) {
      double squares = 0;
      for (int64_t j = 0; j < hidden; ++j) {
        const double r = sample::value_of(x[t * hidden + j]) + sample::value_of(before[t * hidden + j]);
        squares += r * r;
        check.add(sample::value_of(residual[t * hidden + j]), r, sample::kBf16 * std::fabs(r));
      }
      const double scale = 1 / std::sqrt(squares / hidden + 1e-5);
      for (int64_t j = 0; j < hidden; ++j) {
        const double r = sample::value_of(x[t * hidden + j]) + sample::value_of(before[t * hidden + j]);
        const double wanted = r * scale * sample::value_of(weight[j]);
        check.add(sample::value_of(y[t * hidden + j]), wanted, 1.01 * sample::kBf16 * std::fabs(wanted));
      }
    }
    return check.report("RMSNorm with residual");
  });
}
