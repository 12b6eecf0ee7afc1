// Softmax of each row: f32, rows of 1000 in tiles of 4 x 1024; what lies beyond a row is minus infinity and adds
// nothing.
#include "common.hpp"

namespace {

tl::Program softmax(int64_t columns, int rows_per_block, int width) {
  tl::Builder b("softmax");
  auto R = b.dim("R");
  auto x = b.input("x", tl::f32, {R, columns});
  auto y = b.output("y", tl::f32, {R, columns});
  b.grid({tl::ceildiv(R, rows_per_block)}, [&](tl::Index block) {
    auto t = b.fragment(tl::f32, {rows_per_block, width});
    auto top = b.fragment(tl::f32, {rows_per_block}), sum = b.fragment(tl::f32, {rows_per_block});
    b.copy(x(block * rows_per_block, 0), t, tl::CopyOptions().safe(-tl::inf));
    b.reduce(tl::max, t, top, 1);
    b.parallel({rows_per_block, width}, [&](tl::Index i, tl::Index j) {
      t(i, j) = tl::exp(t(i, j) - tl::select(top(i) == -tl::inf, 0, top(i)));  // a row of minus infinity has no maximum
    });
    b.reduce(tl::sum, t, sum, 1);
    b.parallel({rows_per_block, width},
               [&](tl::Index i, tl::Index j) { t(i, j) = tl::select(sum(i) == 0, 0, t(i, j) / sum(i)); });
    b.copy(t, y(block * rows_per_block, 0));
  });
  return b.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return sample::run([&] {
    const int64_t rows = 37, columns = 1000;
    sample::Machine machine(argc, argv);
    sample::Random random;
    auto x = random.floats(rows * columns);
    for (float& value : x) value *= 20;
    for (int64_t j = 0; j < columns; ++j) x[5 * columns + j] = -INFINITY;  // a row that is masked whole
    std::vector<float> y(rows * columns, NAN);

    auto* to = machine.put(y);
    machine.launch(softmax(columns, 4, 1024), {machine.put(x), to}, {{0u, rows}});
    machine.get(y, to);

    sample::Check check;
    for (int64_t i = 0; i < rows; ++i) {
      const float* row = &x[i * columns];
      double top = -INFINITY, sum = 0;
      for (int64_t j = 0; j < columns; ++j) top = std::fmax(top, row[j]);
      if (std::isinf(top)) top = 0;
      for (int64_t j = 0; j < columns; ++j) sum += std::exp(row[j] - top);
      for (int64_t j = 0; j < columns; ++j) {
        const double wanted = sum == 0 ? 0 : std::exp(row[j] - top) / sum;
        // An argument of -40 is rounded by 40 eps / 2 before exp sees it.
        check.add(y[i * columns + j], wanted, 64 * sample::kF32 * wanted + 1e-37);
      }
    }
    return check.report("row softmax");
  });
}
