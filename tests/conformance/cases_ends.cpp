// Case 44 at the ends of 64 bits: loops whose way is longer than they can tell.
#include <cstdint>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// 44. Loops whose way from begin to end is longer than 64 bits can tell, and such without trips: the block's, a point's, and
// with all blocks meeting in each trip. Begin, end or both are known only when it runs.
Scenario ways_past_64_bits(const Values& v) {
  struct Loop {
    int64_t begin, end, step;
  };
  const int64_t most = INT64_MAX, least = INT64_MIN, half = INT64_C(1) << 62;
  // None but those without trips, the last four, gives the same from its neighbour's begin or to its end.
  const Loop loops[] = {{least, most, most}, {0, least, -most},   {least, most, half}, {most, least, -most}, {least, most - 1, half + 3}, {most, least, least},
                        {most - 1, most, 1}, {most, -2, -half}, {5, least, 3},       {most, least, 1},     {-5, most, -3},              {least, most, -1}};
  constexpr int64_t kLoops = std::size(loops);
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto begins = b.input("begins", tl::i64, {kLoops}), ends = b.input("ends", tl::i64, {kLoops});
    auto trips = b.inout("trips", tl::i32, {kLoops}), sums = b.inout("sums", tl::i32, {kLoops});
    b.grid({1}, [&](tl::Index) {
      for (int64_t at = 0; at < kLoops; ++at) {
        const Loop& loop = loops[at];
        const auto count = [&] {
          const tl::Expr begin = v["known"] == 1 ? tl::Expr(loop.begin) : tl::cast(tl::index, begins(at));
          const tl::Expr end = v["known"] == 2 ? tl::Expr(loop.end) : tl::cast(tl::index, ends(at));
          b.serial(begin, end, loop.step, [&](tl::Index i) {
            if (v["of"] == 2) b.grid_sync();
            trips(at) = trips(at) + 1;
            sums(at) = sums(at) + tl::cast(tl::i32, i);
          });
        };
        if (v["of"] == 1) b.parallel({1}, [&](tl::Index) { count(); });
        else count();
      }
    });
  });
  Reals begins, ends, trips, sums, trips_before, sums_before;
  for (const Loop& loop : loops) {
    trips_before.push_back(static_cast<Real>(100 * begins.size())), sums_before.push_back(static_cast<Real>(7000 + 13 * begins.size()));
    int64_t n = static_cast<int64_t>(trips_before.back()), i = loop.begin;
    auto sum = static_cast<int32_t>(sums_before.back());
    for (bool more = true; more && (loop.step > 0 ? i < loop.end : i > loop.end); more = !__builtin_add_overflow(i, loop.step, &i))
      ++n, sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(i));
    begins.push_back(static_cast<Real>(loop.begin)), ends.push_back(static_cast<Real>(loop.end));
    trips.push_back(static_cast<Real>(n)), sums.push_back(sum);
  }
  s.launch().input(tl::i64, begins).input(tl::i64, ends).inout(tl::i32, trips_before, exactly(trips)).inout(tl::i32, sums_before, exactly(sums));
  return s;
}

// 44. Products in a loop whose end lies far before its beginning: it has no trips. Others have one, or so many that the ring goes round.
Scenario products_without_trips(const Values& v) {
  const int64_t depth = 5 * 32;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::f32, {16, depth}), y = b.input("y", tl::f32, {depth, 16}), z = b.output("z", tl::f32, {16, 16});
    auto end = b.scalar("end", tl::i64);
    b.grid({1}, [&](tl::Index) {
      auto a = b.shared(tl::f32, {16, 32}), w = b.shared(tl::f32, {32, 16});
      auto c = b.fragment(tl::f32, {16, 16});
      b.clear(c);
      const auto product = [&](tl::Index k) {
        b.copy(x(0, k * 32), a);
        b.copy(y(k * 32, 0), w);
        b.gemm(a, w, c);
      };
      const tl::Expr last = tl::cast(tl::index, end);
      if (v["pipelined"]) b.pipelined(last, product);
      else b.serial(v["begin"], last, 1, product);
      b.copy(c, z);
    });
  });
  for (int64_t end : {INT64_MIN, -(INT64_C(1) << 58) - 1, INT64_MIN + 1, INT64_C(-1), INT64_C(0), INT64_C(1), INT64_C(5)}) {
    const Reals x = whole(16 * depth, -3, 3, 1), y = whole(depth * 16, -3, 3, 2);
    Reals z(256, 0);
    for (int64_t i = 0; i < 16; ++i)
      for (int64_t k = v["pipelined"] ? 0 : 32 * v["begin"]; end > 0 && k < 32 * end; ++k)
        for (int64_t j = 0; j < 16; ++j) z[static_cast<size_t>(i * 16 + j)] += x[static_cast<size_t>(i * depth + k)] * y[static_cast<size_t>(k * 16 + j)];
    s.launch().input(tl::f32, x).input(tl::f32, y).output(tl::f32, exactly(z)).scalar(tl::i64, static_cast<Real>(end));
  }
  return s;
}

}  // namespace

void add_ends_cases(std::vector<Case>& to) {
  to.push_back({"44", "ways_past_64_bits", {{"of", {0, 1, 2}}, {"known", {0, 1, 2}}}, ways_past_64_bits});
  to.push_back({"44", "products_without_trips", {{"pipelined", {0, 1}}, {"begin", {0, 1}}}, products_without_trips});
}

}  // namespace tilert::conformance
