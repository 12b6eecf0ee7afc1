// Case 29: arguments that do not fit are an error before anything runs.
#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// 29. Two tensors sharing a dim with different sizes, wrong type, rank, stride; a null pointer.
Scenario bad_arguments(const Values& v) {
  Scenario s;
  s.program([](tl::Builder& b) {
    auto N = b.dim("N");
    auto x = b.input("x", tl::f32, {N, 8}), y = b.output("y", tl::f32, {N, 8});
    b.grid({N}, [&](tl::Index i) { b.parallel({8}, [&](tl::Index j) { y(i, j) = x(i, j); }); });
  });
  const Reals data = counting(32);
  Launch& launch = s.launch({v["fault"] == 1 ? -1 : 4});
  launch.input(v["fault"] == 0 ? tl::f16 : tl::f32, data);
  if (v["fault"] == 1) launch.placed({4, 8}, {});
  if (v["fault"] == 2) launch.placed({32}, {});
  if (v["fault"] == 3) launch.placed({4, 8}, {8, -1});
  launch.output(tl::f32, untouched(32));
  if (v["fault"] == 1) launch.placed({5, 8}, {});
  s.fails = TILERT_SHAPE;
  s.words = {v["fault"] == 1 ? "" : "x"};
  return s;
}

}  // namespace

void add_host_cases(std::vector<Case>& to) { to.push_back({"29", "arguments_that_do_not_fit", {{"fault", {0, 1, 2, 3}}}, bad_arguments}); }

}  // namespace tilert::conformance
