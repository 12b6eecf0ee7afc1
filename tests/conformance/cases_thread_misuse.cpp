// Case 71: loops over threads that no device could run.
#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// Misuse that is known when building.
Scenario misused_threads(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::i32, {64}), y = b.output("y", tl::i32, {64});
    b.grid({1}, v["of"] == 0 ? tl::threads(64) : tl::threads_fixed(64), [&](tl::Index) {
      auto block = b.var(tl::i32);
      auto a = b.shared(tl::f16, {64});
      block = 0;
      if (v["of"] == 1) b.parallel({64}, [&](tl::Index i) { y(i) = b.shuffle_down(x(i), 1); });
      b.threads([&](tl::Index t) {
        const tl::Expr own = x(t);
        switch (v["of"]) {
          case 2: b.if_(t % 32 < 8, [&] { y(t) = b.shuffle_down(own, 1); }); break;
          case 3: b.if_(own > 3, [&] { y(t) = tl::cast(tl::i32, b.ballot(own > 1)); }); break;
          case 4: b.if_(t < 32, [&] { b.sync_threads(); }); break;
          case 5: b.if_(t < 32, [&] { b.named_barrier(1, 64); }); break;
          case 6: y(t) = b.shuffle_xor(own, 8, 8); break;
          case 7: y(t) = b.shuffle_up(own, 1, 12); break;
          case 8: b.serial(tl::cast(tl::index, own), [&](tl::Index) { b.sync_threads(); }); break;
          case 9: block = own; break;
          case 10: b.copy_async(x(t), a(t), 1); break;
          case 11: b.if_(t < 32, [&] { b.named_barrier(1, 32); }, [&] { b.named_barrier(1, 32); }); break;
          case 12: b.serial(4, [&](tl::Index k) { b.if_(k == 2, [&] { b.break_(); }); b.sync_threads(); }); break;
          case 13: b.if_(tl::cast(tl::index, own) + t < 32, [&] { b.named_barrier(1, 32); }); break;
          default: y(t) = own;
        }
      });
    });
  });
  const std::vector<std::vector<std::string>> words = {
      {"threads_fixed"},         {"inside threads only"},  {"shuffle_down", "part the threads of a warp"},
      {"ballot", "part the threads"}, {"block's barrier"}, {"of 64 threads", "32 come"},
      {"leaves a group of 8"},   {"among 12 lanes", "power of two"}, {"bounds are computed inside"},
      {"make it a var inside"},     {"moves bytes"},          {"met by other threads"},
      {"some may leave"},        {"part the threads"}};
  s.refused = words[static_cast<size_t>(v["of"])];
  return s;
}

}  // namespace

void add_thread_misuse_cases(std::vector<Case>& to) {
  to.push_back({"71", "misused_threads", {{"of", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}}}, misused_threads});
}

}  // namespace tilert::conformance
