// Case 71: loops over threads. Shuffles, votes, barriers of all and of some, fences, asynchronous copies, and what is a thread's own.
#include <algorithm>

#include "conformance/scenario.h"

namespace tilert::conformance {
namespace {

// The thread whose value a shuffle gives.
int shuffled_from(int64_t kind, int thread, int lane, int width) {
  const int place = thread % width, first = thread - place;
  if (kind == TILERT_SHUFFLE_INDEX) return first + ((lane % width) + width) % width;
  const int at = kind == TILERT_SHUFFLE_UP ? place - lane : kind == TILERT_SHUFFLE_DOWN ? place + lane : place ^ lane;
  return at < 0 || at >= width ? thread : first + at;
}

tl::Expr shuffle(tl::Builder& b, int64_t kind, const tl::Expr& value, const tl::Expr& lane, uint32_t width) {
  if (kind == TILERT_SHUFFLE_INDEX) return b.shuffle(value, lane, width);
  if (kind == TILERT_SHUFFLE_UP) return b.shuffle_up(value, lane, width);
  return kind == TILERT_SHUFFLE_DOWN ? b.shuffle_down(value, lane, width) : b.shuffle_xor(value, lane, width);
}

// Constant lanes, and lanes that differ from thread to thread and leave the group.
Scenario shuffles(const Values& v) {
  const int64_t kind = v["kind"];
  const auto width = static_cast<uint32_t>(v["width"]);
  const int lane = static_cast<int>(width) / 2;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", v.dtype(), {96}), at = b.input("at", tl::i32, {96});
    auto y = b.output("y", v.dtype(), {96}), z = b.output("z", v.dtype(), {96});
    b.grid({1}, tl::threads_fixed(96), [&](tl::Index) {
      b.threads([&](tl::Index t) {
        const tl::Expr own = x(t);
        y(t) = shuffle(b, kind, own, lane, width);
        z(t) = shuffle(b, kind, own, tl::cast(tl::index, at(t)), width);
      });
    });
  });
  const Reals x = pattern(v.dtype(), 96), at = whole(96, -3, 35, 7);
  Reals y, z;
  for (int t = 0; t < 96; ++t) {
    y.push_back(x[static_cast<size_t>(shuffled_from(kind, t, lane, static_cast<int>(width)))]);
    z.push_back(x[static_cast<size_t>(shuffled_from(kind, t, static_cast<int>(at[static_cast<size_t>(t)]), static_cast<int>(width)))]);
  }
  s.launch().input(v.dtype(), x).input(tl::i32, at).output(v.dtype(), exactly(y)).output(v.dtype(), exactly(z));
  return s;
}

// An index travels too.
Scenario shuffled_indices(const Values&) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::i32, {64}), y = b.output("y", tl::i32, {64});
    b.grid({1}, tl::threads_fixed(64), [&](tl::Index) {
      b.threads([&](tl::Index t) {
        const tl::Expr other = b.shuffle_xor(b.thread_id() + 0, 5);
        y(t) = x(b.shuffle_down(other * 1, 3));
      });
    });
  });
  const Reals x = pattern(tl::i32, 64);
  Reals y;
  for (int t = 0; t < 64; ++t) y.push_back(x[static_cast<size_t>(shuffled_from(TILERT_SHUFFLE_DOWN, t, 3, 32) ^ 5)]);
  s.launch().input(tl::i32, x).output(tl::i32, exactly(y));
  return s;
}

// The sum of N values: each thread's own, a warp's by shuffles, the block's by the first warp.
Scenario block_sum(const Values& v) {
  const int64_t threads = v["threads"], warps = threads / 32;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto N = b.dim("N"), R = b.dim("R");
    auto x = b.input("x", tl::f32, {R, N}), y = b.output("y", tl::f32, {R});
    b.grid({R}, tl::threads_fixed(threads), [&](tl::Index r) {
      auto parts = b.shared(tl::f32, {32});
      b.threads([&](tl::Index t) {
        auto sum = b.var(tl::f32);
        sum = 0;
        b.serial(t, N, threads, [&](tl::Index i) { sum = sum + x(r, i); });
        for (int step = 16; step > 0; step /= 2) sum = sum + b.shuffle_down(sum, step);
        b.if_(t % 32 == 0, [&] { parts(t / 32) = sum; });
        b.sync_threads();
        b.if_(t < 32, [&] {
          auto total = b.var(tl::f32);
          total = 0;
          b.if_(t < warps, [&] { total = parts(t); });
          b.unroll(5, [&](tl::Index k) { total = total + b.shuffle_xor(total, tl::cast(tl::index, 16) >> k); });
          b.if_(t == 0, [&] { y(r) = total; });
        });
      });
    });
  });
  for (int64_t n : {0, 1, 31, 100, 1000}) {
    const Reals x = whole(static_cast<size_t>(3 * n), -50, 50, 11);
    Reals y;
    for (int64_t r = 0; r < 3; ++r) {
      Real sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += x[static_cast<size_t>(r * n + i)];
      y.push_back(sum);
    }
    s.launch({n, 3}).input(tl::f32, x).output(tl::f32, exactly(y));
  }
  return s;
}

// A tree in shared memory: threads meet in a loop.
Scenario tree(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::i32, {256}), y = b.output("y", tl::i32, {2});
    b.grid({1}, tl::threads_fixed(256), [&](tl::Index) {
      auto a = b.shared(tl::i32, {256});
      b.copy(x, a);
      b.threads([&](tl::Index t) {
        auto mine = b.var(tl::i32);
        mine = tl::cast(tl::i32, t);
        const auto trip = [&](tl::Index k) {
          const tl::Expr half = tl::cast(tl::index, 128) >> k;
          const tl::Expr before = mine;
          b.if_(t < half, [&] { a(t) = a(t) + a(t + half); });
          mine = before + 1;
          b.sync_threads();
        };
        if (v["unroll"]) b.unroll(8, trip);
        else b.serial(8, trip);
        b.if_(t == 0, [&] { y(0) = a(0); });
        b.if_(t == 255, [&] { y(1) = mine; });
      });
    });
  });
  const Reals x = whole(256, -1000, 1000, 5);
  Real sum = 0;
  for (Real r : x) sum += r;
  s.launch().input(tl::i32, x).output(tl::i32, exactly({sum, 263}));
  return s;
}

// Votes: of all threads, and of one warp under a condition that its threads share.
Scenario votes(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto x = b.input("x", tl::i32, {128});
    auto bits = b.output("bits", tl::u32, {128});
    auto some = b.output("some", tl::i32, {128});
    b.grid({1}, tl::threads_fixed(128), [&](tl::Index) {
      b.threads([&](tl::Index t) {
        const tl::Expr own = x(t);
        const auto vote = [&] {
          bits(t) = b.ballot(own > 3);
          const tl::Expr all = b.vote_all(own > 0), any = b.vote_any(own == 9);
          some(t) = tl::select(all, tl::Expr(own * 0 + 1), own * 0) + tl::select(any, tl::Expr(own * 0 + 2), own * 0);
        };
        if (v["part"] == 0) return vote();
        b.if_(t / 32 == v["part"], [&] { vote(); }, [&] {
          bits(t) = tl::cast(tl::u32, 7);
          some(t) = 9;
        });
      });
    });
  });
  Reals x = whole(128, 0, 8, 21);
  for (size_t i = 32; i < 64; ++i) x[i] = std::max<Real>(x[i], 1);
  x[70] = 9;
  Reals bits(128), some(128);
  for (size_t t = 0; t < 128; ++t) {
    const size_t first = t / 32 * 32;
    uint32_t word = 0;
    bool all = true, any = false;
    for (size_t l = 0; l < 32; ++l) {
      word |= static_cast<uint32_t>(x[first + l] > 3) << l;
      all &= x[first + l] > 0;
      any |= x[first + l] == 9;
    }
    const bool here = v["part"] == 0 || static_cast<int64_t>(t / 32) == v["part"];
    bits[t] = here ? static_cast<Real>(word) : 7;
    some[t] = here ? (all ? 1 : 0) + (any ? 2 : 0) : 9;
  }
  s.launch().input(tl::i32, x).output(tl::u32, exactly(bits)).output(tl::i32, exactly(some));
  return s;
}

// Two halves of the block that each have a barrier of their own, then all.
Scenario barriers_of_some(const Values&) {
  Scenario s;
  s.program([](tl::Builder& b) {
    auto x = b.input("x", tl::i32, {192}), y = b.output("y", tl::i32, {192});
    b.grid({1}, tl::threads_fixed(192), [&](tl::Index) {
      auto a = b.shared(tl::i32, {192}), c = b.shared(tl::i32, {192});
      b.threads([&](tl::Index t) {
        b.if_(t < 64, [&] {
          a(t) = x(t) * 2;
          b.named_barrier(1, 64);
          c(t) = a(63 - t);
        }, [&] {
          b.serial(3, [&](tl::Index k) {
            a(t) = x(t) + tl::cast(tl::i32, k);
            b.named_barrier(2, 128);
            c(t) = a(255 - t);
            b.named_barrier(2, 128);
          });
        });
        b.fence(TILERT_ORDER_BLOCK);
        b.sync_threads();
        y(t) = c(191 - t);
      });
    });
  });
  const Reals x = whole(192, -100, 100, 2);
  Reals c(192), y(192);
  for (size_t t = 0; t < 192; ++t) c[t] = t < 64 ? x[63 - t] * 2 : x[255 - t] + 2;
  for (size_t t = 0; t < 192; ++t) y[t] = c[191 - t];
  s.launch().input(tl::i32, x).output(tl::i32, exactly(y));
  return s;
}

// Copies two tiles ahead; rows end among the elements of one copy, and where rows are not aligned each element goes by itself.
Scenario copies(const Values& v) {
  const int64_t count = v["count"], columns = 64 * count;
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto R = b.dim("R"), N = b.dim("N");
    auto x = b.input("x", tl::f32, {R, N}), y = b.output("y", tl::f32, {R, columns});
    b.grid({1}, tl::threads_fixed(64), [&](tl::Index) {
      auto tile = b.shared(tl::f32, {2, columns});
      b.threads([&](tl::Index t) {
        const auto fetch = [&](const tl::Expr& r) {
          b.copy_async(x(r, t * count), tile(r % 2, t * count), static_cast<uint32_t>(count));
          b.commit_copies();
        };
        fetch(tl::cast(tl::index, 0));
        b.serial(R, [&](tl::Index r) {
          b.if_(r + 1 < R, [&] { fetch(r + 1); }, [&] { b.commit_copies(); });
          b.wait_copies(1);
          b.sync_threads();
          b.serial(count, [&](tl::Index i) { y(r, i * 64 + t) = tile(r % 2, columns - 1 - (i * 64 + t)); });
          b.sync_threads();
        });
      });
    });
  });
  for (const auto& [r, n] : {std::pair<int64_t, int64_t>{1, columns}, {5, columns}, {3, columns - 4}, {4, columns - 5}, {3, 7}}) {
    const Reals x = whole(static_cast<size_t>(r * n), -99, 99, static_cast<uint64_t>(n));
    Reals y;
    for (int64_t i = 0; i < r; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t at = columns - 1 - j;
        y.push_back(at < n ? x[static_cast<size_t>(i * n + at)] : 0);
      }
    s.launch({r, n}).input(tl::f32, x).output(tl::f32, exactly(y));
  }
  return s;
}

// What a copy brings is there for what follows the loop, waited for or not.
Scenario copies_into_tiles(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto T = b.dim("T");
    auto x = b.input("x", tl::f16, {T, 1024}), y = b.output("y", tl::f32, {1024});
    b.grid({1}, tl::threads_fixed(128), [&](tl::Index) {
      auto a = b.shared(tl::f16, {1024});
      auto sum = b.fragment(tl::f32, {1024});
      b.clear(sum);
      b.serial(T, [&](tl::Index k) {
        b.threads([&](tl::Index t) {
          b.copy_async(x(k, t * 8), a(t * 8), 8);
          if (v["waits"]) {
            b.commit_copies();
            b.wait_copies();
          }
        });
        b.parallel({1024}, [&](tl::Index i) { sum(i) = sum(i) + tl::cast(tl::f32, a(1023 - i)); });
      });
      b.copy(sum, y);
    });
  });
  for (int64_t n : {0, 1, 3}) {
    const Reals x = whole(static_cast<size_t>(n * 1024), -9, 9, 31);
    Reals y(1024, 0);
    for (int64_t k = 0; k < n; ++k)
      for (int64_t i = 0; i < 1024; ++i) y[static_cast<size_t>(i)] += x[static_cast<size_t>(k * 1024 + 1023 - i)];
    s.launch({n}).input(tl::f16, x).output(tl::f32, exactly(y));
  }
  return s;
}

// A thread's own values: from loop to loop in a fragment, across barriers in vars and locals; among tile operations.
Scenario own_values(const Values&) {
  Scenario s;
  s.program([](tl::Builder& b) {
    auto x = b.input("x", tl::i32, {64, 64}), y = b.output("y", tl::i32, {64, 64}), z = b.output("z", tl::i32, {64});
    b.grid({1}, tl::threads_fixed(64), [&](tl::Index) {
      auto a = b.shared(tl::i32, {64, 64});
      auto kept = b.fragment(tl::i32, {64}), total = b.fragment(tl::i32, {64});
      b.copy(x, a);
      b.clear(kept);
      b.serial(3, [&](tl::Index k) {
        b.threads([&](tl::Index t) { kept(t) = kept(t) + a(t, k) * tl::cast(tl::i32, k + 1); });
      });
      b.threads([&](tl::Index t) {
        auto row = b.local(tl::i32, {4});
        auto first = b.var(tl::i32);
        b.serial(4, [&](tl::Index i) { row(i) = a(t, i * 7); });
        first = row(3) + kept(t);
        b.sync_threads();
        a(t, 0) = first;
        b.sync_threads();
        row(1) = row(1) + a((t + 1) % 64, 0);
        b.sync_threads();
        a(t, 0) = row(1) + row(2);
      });
      b.reduce(tl::sum, a, total, 1);
      b.copy(a, y);
      b.copy(total, z);
    });
  });
  const Reals x = whole(64 * 64, -20, 20, 8);
  Reals y = x, z(64, 0);
  const auto at = [&](size_t r, size_t c) { return x[r * 64 + c]; };
  for (size_t t = 0; t < 64; ++t) {
    const size_t next = (t + 1) % 64;
    const Real first = at(next, 21) + at(next, 0) + 2 * at(next, 1) + 3 * at(next, 2);
    y[t * 64] = at(t, 7) + first + at(t, 14);
  }
  for (size_t t = 0; t < 64; ++t)
    for (size_t c = 0; c < 64; ++c) z[t] += y[t * 64 + c];
  s.launch().input(tl::i32, x).output(tl::i32, exactly(y)).output(tl::i32, exactly(z));
  return s;
}

// In a pipelined loop, between copies that run ahead and a tile that the threads add to; in a loop over tiles, or alone.
Scenario among_copies(const Values& v) {
  Scenario s;
  s.program([&](tl::Builder& b) {
    auto R = b.dim("R"), K = b.dim("K");
    auto x = b.input("x", tl::f32, {R, K}), y = b.output("y", tl::f32, {R, 64});
    b.grid({R}, v["persistent"] ? tl::persistent().threads_fixed(64) : tl::threads_fixed(64), [&](tl::Index r) {
      auto a = b.shared(tl::f32, {64});
      auto f = b.fragment(tl::f32, {64});
      b.clear(f);
      b.pipelined(tl::ceildiv(K, 64), tl::stages(v["stages"]), [&](tl::Index k) {
        b.copy(x(r, k * 64), a);
        b.threads([&](tl::Index t) {
          const tl::Expr own = a(63 - t);
          const tl::Expr other = b.shuffle_xor(own, 1), one = b.shuffle(own, k);
          f(t) = f(t) * 2 + other + one;
        });
      });
      b.copy(f, y(r, 0));
    });
  });
  for (const auto& [rows, n] : {std::pair<int64_t, int64_t>{1, 64}, {5, 300}, {4, 301}, {7, 0}, {300, 130}}) {
    const Reals x = whole(static_cast<size_t>(rows * n), -30, 30, static_cast<uint64_t>(n));
    Reals y;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t t = 0; t < 64; ++t) {
        const auto of = [&](int64_t k, int64_t thread) {
          const int64_t at = k * 64 + 63 - thread;
          return at < n ? x[static_cast<size_t>(r * n + at)] : Real{0};
        };
        Real f = 0;
        for (int64_t k = 0; k < (n + 63) / 64; ++k) f = f * 2 + of(k, t ^ 1) + of(k, t / 32 * 32 + k);
        y.push_back(f);
      }
    s.launch({rows, n}).input(tl::f32, x).output(tl::f32, exactly(y));
  }
  return s;
}

}  // namespace

void add_thread_cases(std::vector<Case>& to) {
  const Axis kinds{"kind", {TILERT_SHUFFLE_INDEX, TILERT_SHUFFLE_UP, TILERT_SHUFFLE_DOWN, TILERT_SHUFFLE_XOR}};
  to.push_back({"71", "shuffles", {dtypes({tl::f32, tl::i8, tl::boolean, tl::bf16, tl::u16, tl::i64, tl::f64}), kinds, {"width", {32, 16, 2}}}, shuffles});
  to.push_back({"71", "shuffled_indices", {}, shuffled_indices});
  to.push_back({"71", "block_sum", {{"threads", {32, 128, 1024}}}, block_sum});
  to.push_back({"71", "tree", {{"unroll", {0, 1}}}, tree});
  to.push_back({"71", "votes", {{"part", {0, 1, 2}}}, votes});
  to.push_back({"71", "barriers_of_some", {}, barriers_of_some});
  to.push_back({"71", "copies", {{"count", {1, 2, 4}}}, copies});
  to.push_back({"71", "copies_into_tiles", {{"waits", {0, 1}}}, copies_into_tiles});
  to.push_back({"71", "own_values", {}, own_values});
  to.push_back({"71", "among_copies", {{"persistent", {0, 1}}, {"stages", {0, 2, 4}}}, among_copies});
}

}  // namespace tilert::conformance
