// Cases 42 and 44: while, break, continue, return and steps down, as the block's and as a point's own.
#include <algorithm>
#include <cmath>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// 44. A while of the block: steps of 3n + 1 until 1; the condition reads a variable, or memory.
Scenario collatz(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N");
    auto x = b.input("x", tl::i64, {N}), y = b.output("y", tl::i64, {N});
    b.grid({N}, [&](tl::Index i) {
      auto steps = b.var(tl::i64);
      steps = 0;
      if (v["memory"]) {
        auto n = b.shared(tl::i64, {1});
        n(0) = x(i);
        b.while_([&] { return n(0) != 1; }, [&] {
          n(0) = tl::select(n(0) % 2 == 0, n(0) / 2, n(0) * 3 + 1);
          steps = steps + 1;
        });
      } else {
        auto n = b.var(tl::i64);
        n = x(i);
        b.while_([&] { return n != 1; }, [&] {
          n = tl::select(n % 2 == 0, n / 2, n * 3 + 1);
          steps = steps + 1;
        });
      }
      y(i) = tl::Expr(steps);
    });
  });
  const Reals x = {1, 2, 3, 7, 27, 97};
  Reals y;
  for (Real r : x) {
    int steps = 0;
    for (auto n = static_cast<int64_t>(r); n != 1; n = n % 2 ? n * 3 + 1 : n / 2) ++steps;
    y.push_back(steps);
  }
  s.launch({6}).input(tl::i64, x).output(tl::i64, exactly(y));
  return s;
}

// 44. A point's own loops: while, break, continue, steps down.
Scenario loops_of_a_point(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::i32, {100}), y = b.output("y", tl::i32, {100});
    b.grid({1}, [&](tl::Index) {
      b.parallel({100}, [&](tl::Index i) {
        auto sum = b.var(tl::i32);
        sum = 0;
        const tl::Expr own = x(i);
        if (v["kind"] == 0) {
          b.serial(20, [&](tl::Index k) {
            const tl::Expr n = tl::cast(tl::i32, k);
            b.if_(n % 3 == own % 3, [&] { b.continue_(); });
            b.if_(n > own, [&] { b.break_(); });
            sum = sum + n;
          });
        } else if (v["kind"] == 1) {
          auto n = b.var(tl::i32);
          n = own;
          b.while_([&] { return n > 0; }, [&] {
            n = n - 1;
            b.if_(n == 13, [&] { b.break_(); }, [&] { b.if_(n % 2 == 0, [&] { b.continue_(); }); sum = sum + 100; });
            sum = sum + n;
          });
        } else {
          b.serial(own, -3, -2, [&](tl::Index k) {
            b.if_(k == 4, [&] { b.continue_(); });
            b.serial(5, [&](tl::Index j) {
              b.if_(j > k, [&] { b.break_(); });
              sum = sum + tl::cast(tl::i32, k * 10 + j);
            });
          });
        }
        y(i) = tl::Expr(sum);
      });
    });
  });
  const Reals x = whole(100, 0, 25, 4);
  Reals y;
  for (Real r : x) {
    const int own = static_cast<int>(r);
    int sum = 0;
    if (v["kind"] == 0) {
      for (int n = 0; n < 20; ++n) {
        if (n % 3 == own % 3) continue;
        if (n > own) break;
        sum += n;
      }
    } else if (v["kind"] == 1) {
      for (int n = own; n > 0;) {
        --n;
        if (n == 13) break;
        if (n % 2 == 0) continue;
        sum += 100 + n;
      }
    } else {
      for (int k = own; k > -3; k -= 2) {
        if (k == 4) continue;
        for (int j = 0; j < 5 && j <= k; ++j) sum += k * 10 + j;
      }
    }
    y.push_back(sum);
  }
  s.launch().input(tl::i32, x).output(tl::i32, exactly(y));
  return s;
}

// 42. A loop of copies that skips trips and ends early, pipelined to any depth; a step down, where it is not.
Scenario jumps_among_copies(const Values& v) {
  Scenario s;
  s.same_bits = true;
  for (uint32_t stages = 0; stages <= 4; ++stages)
    s.program([&](tl::Builder& b) {
      auto T = b.dim("T");
      auto what = b.input("what", tl::i32, {T}), x = b.input("x", tl::f32, {T, 128});
      auto y = b.inout("y", tl::f32, {T, 128}), z = b.output("z", tl::f32, {128});
      b.grid({1}, [&](tl::Index) {
        auto a = b.shared(tl::f32, {128});
        auto sum = b.fragment(tl::f32, {128});
        b.clear(sum);
        const auto body = [&](tl::Index t) {
          if (v["first"]) b.copy(x(t, 0), a);
          b.if_(what(t) == 2, [&] { b.break_(); });
          b.if_(what(t) == 1, [&] {
            if (v["deep"]) b.if_(t % 2 == 0, [&] { b.continue_(); });
            else b.continue_();
            b.fill(sum, 1);
          });
          if (!v["first"]) b.copy(x(t, 0), a);
          b.parallel({128}, [&](tl::Index i) {
            sum(i) = sum(i) + a(127 - i);
            y(t, i) = sum(i);
          });
        };
        if (stages == 0) b.serial(T, body);
        else b.pipelined(T, tl::stages(stages), body);
        b.copy(sum, z);
      });
    });
  for (const Reals& what : {Reals{}, Reals{0}, Reals{2, 0}, Reals{1, 1, 0, 0, 1, 0, 0, 2, 0, 0}, Reals{0, 0, 1, 1, 0, 0}}) {
    const auto trips = static_cast<int64_t>(what.size());
    const Reals x = whole(trips * 128, -9, 9, 3);
    Reals y(trips * 128, 77), sum(128, 0);
    for (int64_t t = 0; t < trips && what[t] != 2; ++t) {
      if (what[t] == 1) {
        if (!v["deep"] || t % 2 == 0) continue;
        sum.assign(128, 1);
      }
      for (int i = 0; i < 128; ++i) y[t * 128 + i] = sum[i] += x[t * 128 + 127 - i];
    }
    s.launch({trips}).input(tl::i32, what).input(tl::f32, x).inout(tl::f32, Reals(trips * 128, 77), exactly(y)).output(tl::f32, exactly(sum));
  }
  return s;
}

// 44. A block that returns from inside two loops leaves the rest of its tile, and the other blocks theirs.
Scenario early_return(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::i32, {5, 4, 4}), y = b.inout("y", tl::i32, {5, 4, 4}), done = b.inout("done", tl::i32, {5, 64});
    b.grid({5}, [&](tl::Index block) {
      auto t = b.shared(tl::i32, {64});
      if (v["at_once"]) b.if_(block == 3, [&] { b.return_(); });
      b.serial(4, [&](tl::Index i) {
        const auto inner = [&](tl::Index j) {
          b.if_(x(block, i, j) == 7, [&] {
            y(block, i, j) = -1;
            b.return_();
          });
          b.fill(t, tl::cast(tl::i32, i));
          y(block, i, j) = x(block, i, j) + t(63);
        };
        if (v["while"]) {
          auto j = b.var(tl::i64);
          j = 0;
          b.while_([&] { return j < 4; }, [&] {
            inner(tl::cast(tl::index, j));
            j = j + 1;
          });
        } else {
          b.serial(4, inner);
        }
      });
      b.copy(t, done(block, 0));
    });
  });
  Reals x = whole(80, 0, 6, 3);
  x[4 + 2] = 7, x[2 * 16] = 7, x[4 * 16 + 15] = 7;
  Reals y(80, 99), done(5 * 64, 99);
  for (int block = 0; block < 5; ++block) {
    if (v["at_once"] && block == 3) continue;
    bool left = false;
    for (int k = 0; k < 16 && !left; ++k) {
      left = x[block * 16 + k] == 7;
      y[block * 16 + k] = left ? -1 : x[block * 16 + k] + k / 4;
    }
    for (int i = 0; i < 64 && !left; ++i) done[block * 64 + i] = 3;
  }
  s.launch().input(tl::i32, x).inout(tl::i32, Reals(80, 99), exactly(y)).inout(tl::i32, Reals(5 * 64, 99), exactly(done));
  return s;
}

// 44. A loop of the block that counts down, with a tile that each trip writes again.
Scenario counting_down(const Values& v) {
  Scenario s;
  const int64_t step = v["step"];
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N");
    auto y = b.inout("y", tl::i32, {64}), last = b.output("last", tl::i32, {32});
    b.grid({1}, [&](tl::Index) {
      auto t = b.shared(tl::i32, {32});
      b.fill(t, -5);
      b.serial(N, 2, -step, [&](tl::Index i) {
        b.fill(t, tl::cast(tl::i32, i));
        y(i) = t(31);
      });
      b.copy(t, last);
    });
  });
  for (int64_t n : {50, 3, 2, 0}) {
    Reals y(64, 1), last(32, -5);
    for (int64_t i = n; i > 2; i -= step) y[i] = static_cast<Real>(i), last.assign(32, static_cast<Real>(i));
    s.launch({n}).inout(tl::i32, Reals(64, 1), exactly(y)).output(tl::i32, exactly(last));
  }
  return s;
}

// 44. Loops whose last step leaves 32 or 64 bits, the block's and a point's; and loops without trips that begin beyond them.
Scenario steps_past_the_end(const Values& v) {
  struct Loop {
    int64_t begin, end, step;
  };
  const bool wide = v["wide"];
  const tl::DType dtype = wide ? tl::i64 : tl::i32;
  const int64_t most = wide ? INT64_MAX : INT32_MAX, least = wide ? INT64_MIN : INT32_MIN, part = wide ? most / 5 : 0;
  // None gives the same with its neighbour's end.
  const Loop loops[] = {{part, most, most / 7}, {-part, least, -(most / 9)}, {most - 5, most, 3}, {least + 1, least, -2},
                        {0, most, most}, {least + 3, least, -1}, {most - 1, most, 1}, {INT64_C(5000000000), 2, 1 << 20}};
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto ends = b.input("ends", dtype, {8});
    auto trips = b.output("trips", tl::i32, {8}), sums = b.output("sums", tl::i32, {8});
    b.grid({1}, [&](tl::Index) {
      int64_t at = 0;
      for (const Loop& loop : loops) {
        const auto count = [&] {
          auto n = b.var(tl::i32), sum = b.var(tl::i32);
          n = 0, sum = 0;
          b.serial(loop.begin, tl::cast(tl::index, ends(at)), loop.step, [&](tl::Index i) {
            n = n + 1, sum = sum + tl::cast(tl::i32, i);
            b.if_(n >= 100, [&] { b.break_(); });
          });
          trips(at) = n, sums(at) = sum;
        };
        if (v["point"]) b.parallel({1}, [&](tl::Index) { count(); });
        else count();
        ++at;
      }
    });
  });
  Reals ends, trips, sums;
  for (const Loop& loop : loops) {
    int64_t n = 0, i = loop.begin;
    int32_t sum = 0;
    for (bool more = true; more && (loop.step > 0 ? i < loop.end : i > loop.end); more = !__builtin_add_overflow(i, loop.step, &i))
      ++n, sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(i));
    ends.push_back(static_cast<Real>(loop.end)), trips.push_back(static_cast<Real>(n)), sums.push_back(sum);
  }
  s.launch().input(dtype, ends).output(tl::i32, exactly(trips)).output(tl::i32, exactly(sums));
  return s;
}

// 44. Index values that fit 32 bits: what is beyond them on the way, and operations that 32 bits have otherwise.
Scenario narrow_indices(const Values&) {
  Scenario s;
  s.program([](tl::Builder& b) {
    auto x = b.input("x", tl::i32, {2}), y = b.output("y", tl::i64, {7});
    b.grid({1}, [&](tl::Index) {
      const auto most = tl::cast(tl::index, x(0)), least = tl::cast(tl::index, x(1));
      const tl::Expr values[] = {~least, ~(least * 2), least / (INT64_C(1) << 40), most / (INT64_C(1) << 32), least % (INT64_C(1) << 40), -least, most * most};
      for (int i = 0; i < 7; ++i) y(i) = tl::cast(tl::i64, values[i]);
    });
  });
  const int64_t most = INT32_MAX, least = INT32_MIN;
  Reals want;
  for (int64_t value : {~least, ~(least * 2), int64_t{-1}, int64_t{0}, (INT64_C(1) << 40) + least, -least, most * most}) want.push_back(static_cast<Real>(value));
  s.launch().input(tl::i32, {static_cast<Real>(most), static_cast<Real>(least)}).output(tl::i64, exactly(want));
  return s;
}

Scenario misplaced_jumps(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto y = b.output("y", tl::i32, {64});
    b.grid({1}, [&](tl::Index) {
      if (v["of"] == 0) b.break_();
      if (v["of"] == 1) b.serial(4, [&](tl::Index) { b.parallel({64}, [&](tl::Index) { b.continue_(); }); });
      if (v["of"] == 2) b.parallel({64}, [&](tl::Index) { b.return_(); });
      if (v["of"] == 3) b.while_([&] { b.break_(); return tl::Expr(true); }, [&] {});
      if (v["of"] == 4) {
        auto t = b.shared(tl::i32, {8});
        b.serial(9, [&](tl::Index i) { t(i) = 1; });
      }
    });
  });
  const std::vector<std::vector<std::string>> words = {{"break", "no loop"}, {"continue", "parallel"}, {"return", "parallel"}, {"break", "condition"}, {"shrink"}};
  s.refused = words[static_cast<size_t>(v["of"])];
  return s;
}

// 44. A loop that would leave its tile does not, where it is left before.
Scenario left_in_time(const Values&) {
  Scenario s;
  s.program([](tl::Builder& b) {
    auto y = b.output("y", tl::i32, {8});
    b.grid({1}, [&](tl::Index) {
      auto t = b.shared(tl::i32, {8});
      b.serial(20, [&](tl::Index i) {
        t(i) = tl::cast(tl::i32, i);
        b.if_(i == 7, [&] { b.break_(); });
      });
      b.copy(t, y);
    });
  });
  s.launch().output(tl::i32, exactly(counting(8)));
  return s;
}

}  // namespace

void add_control_cases(std::vector<Case>& to) {
  to.push_back({"44", "a_while_of_the_block", {{"memory", {0, 1}}}, collatz});
  to.push_back({"44", "loops_of_a_point", {{"kind", {0, 1, 2}}}, loops_of_a_point});
  to.push_back({"44", "a_return_from_loops", {{"while", {0, 1}}, {"at_once", {0, 1}}}, early_return});
  to.push_back({"44", "counting_down", {{"step", {1, 3}}}, counting_down});
  to.push_back({"44", "steps_past_the_end", {{"wide", {0, 1}}, {"point", {0, 1}}}, steps_past_the_end});
  to.push_back({"44", "narrow_indices", {}, narrow_indices});
  to.push_back({"44", "misplaced_jumps", {{"of", {0, 1, 2, 3, 4}}}, misplaced_jumps});
  to.push_back({"44", "left_in_time", {}, left_in_time});
  to.push_back({"42", "jumps_among_copies", {{"first", {0, 1}}, {"deep", {0, 1}}}, jumps_among_copies});
}

}  // namespace tilert::conformance
