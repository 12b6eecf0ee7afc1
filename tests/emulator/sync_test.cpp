// Votes, split barriers, copies that arrive on mbarriers, other blocks' shared memory, grids that meet and words that blocks
// wait for: each kernel right in every schedule, and each fault put into its text caught.
#include <gtest/gtest.h>

#include "emulator/kit.h"

namespace tilert::emulator {
namespace {

// What a kernel of this file takes: 512 ints in, 512 out, and words that start at zero.
struct Exchange {
  const char* name;
  const char* text;
  Kit::Grid grid;
  uint32_t threads;
  int (*want)(int);  // out[i]; in[i] is i * 7 % 31
  int outputs;
};
int in_at(int i) { return i * 7 % 31; }

const char kVotes[] = R"(TL_KERNEL(64, 1) k(const int* in, int* out, tl_u32* words) {
  const int x = in[tl_thread()];
  const tl_u32 mask = tl_ballot(x > 10);
  const bool any = tl_any(x > 29);
  const bool all = tl_all(x < 31);
  out[tl_thread()] = (static_cast<int>(mask >> (tl_thread() & 31)) & 1) + (any ? 2 : 0) + (all ? 4 : 0);
})";
int votes(int i) {
  bool any = false;
  for (int l = i / 32 * 32; l < i / 32 * 32 + 32; ++l) any |= in_at(l) > 29;
  return (in_at(i) > 10 ? 1 : 0) + (any ? 2 : 0) + 4;
}

// Warp 0 fills, warps 1 and 2 read; two buffers, each handed over and back by a split barrier.
const char kSplit[] = R"(TL_KERNEL(96, 1) k(const int* in, int* out, tl_u32* words) {
  int* const s = reinterpret_cast<int*>(tl_arena + 0);
  const int t = tl_thread();
  if (t < 32) {
    for (int i = 0; i < 4; i += 1) {
      tl_named_barrier(3 + (i & 1), 96);
      s[(i & 1) * 32 + t] = in[i * 32 + t];
      tl_named_barrier_arrive(1 + (i & 1), 96);
    }
    tl_named_barrier(3, 96);
    tl_named_barrier(4, 96);
  } else {
    tl_named_barrier_arrive(3, 96);
    tl_named_barrier_arrive(4, 96);
    for (int i = 0; i < 4; i += 1) {
      tl_named_barrier(1 + (i & 1), 96);
      if (t < 64) out[i * 32 + t - 32] = s[(i & 1) * 32 + 63 - t];
      tl_named_barrier_arrive(3 + (i & 1), 96);
    }
  }
})";
int split(int i) { return in_at(i / 32 * 32 + 31 - i % 32); }

// A producer warp copies by cp.async, each lane's copies arrive on the stage's mbarrier; a ring of two stages.
const char kArrivals[] = R"(TL_KERNEL(64, 1) k(const int* in, int* out, tl_u32* words) {
  int* const s = reinterpret_cast<int*>(tl_arena + 0);
  tl_u64* const full = reinterpret_cast<tl_u64*>(tl_arena + 1024);
  tl_u64* const empty = reinterpret_cast<tl_u64*>(tl_arena + 1040);
  const int t = tl_thread();
  if (t == 0) {
    for (int i = 0; i < 2; i += 1) {
      tl_mbarrier_init(full + i, 32);
      tl_mbarrier_init(empty + i, 1);
    }
  }
  tl_barrier();
  if (t < 32) {
    for (int i = 0; i < 4; i += 1) {
      tl_mbarrier_wait(empty + (i & 1), 1 - ((i >> 1) & 1));
      tl_cp_async<16>(s + (i & 1) * 128 + t * 4, in + i * 128 + t * 4, 16);
      tl_cp_async_arrive(full + (i & 1));
    }
    tl_cp_async_commit();
    tl_cp_async_wait<0>();
  } else {
    for (int i = 0; i < 4; i += 1) {
      tl_mbarrier_wait(full + (i & 1), (i >> 1) & 1);
      for (int j = 0; j < 4; j += 1) {
        out[i * 128 + (t - 32) * 4 + j] = s[(i & 1) * 128 + 127 - (t - 32) * 4 - j];
      }
      tl_warp_sync();
      if (t == 32) tl_mbarrier_arrive(empty + (i & 1));
    }
  }
})";
int arrivals(int i) { return in_at(i / 128 * 128 + 127 - i % 128); }

// Each block writes into the other's memory, reads it by pointer and by load, and stays until the other has done so.
const char kCluster[] = R"(TL_KERNEL(32, 1) k(const int* in, int* out, tl_u32* words) {
  int* const s = reinterpret_cast<int*>(tl_arena + 0);
  tl_u64* const bar = reinterpret_cast<tl_u64*>(tl_arena + 512);
  const int t = tl_thread();
  const int other = 1 - tl_cluster_rank();
  if (t == 0) {
    tl_mbarrier_init(bar, 32);
    tl_mbarrier_init_fence();
  }
  s[t] = in[tl_block_x() * 32 + t];
  tl_cluster_barrier();
  tl_cluster_store(s + 32 + t, other, s[t] + 100);
  tl_mbarrier_arrive_cluster(bar, other);
  tl_mbarrier_wait_cluster(bar, 0);
  const int sum = s[63 - t] + tl_cluster_load(s + t, other) + *tl_cluster_pointer(s + 31 - t, other);
  tl_cluster_barrier();
  out[tl_block_x() * 32 + t] = sum;
})";
int cluster(int i) {
  const int other = (i / 32 ^ 1) * 32, t = i % 32;
  return in_at(other + 31 - t) + 100 + in_at(other + t) + in_at(other + 31 - t);
}

// A block sends its registers to the other, which adds them to its own, twice: the second time once the first ones were read.
const char kParts[] = R"(TL_KERNEL(32, 1) k(const int* in, int* out, tl_u32* words) {
  int* const s = reinterpret_cast<int*>(tl_arena + 0);
  tl_u64* const come = reinterpret_cast<tl_u64*>(tl_arena + 1024);
  tl_u64* const taken = reinterpret_cast<tl_u64*>(tl_arena + 1032);
  const int t = tl_thread();
  const int rank = tl_cluster_rank();
  if (t == 0) {
    tl_mbarrier_init(come, 1);
    tl_mbarrier_init(taken, 1);
    tl_mbarrier_init_fence();
  }
  tl_cluster_arrive();
  int x[8];
  for (int r = 0; r < 8; ++r) x[r] = in[rank * 256 + r * 32 + t];
  tl_cluster_wait();
  for (int i = 0; i < 2; ++i) {
    if (rank == 0) {
      tl_mbarrier_wait(taken, 1 - i);
      tl_send_part<32>(x, s + 4 * t, come, 1);
    } else {
      if (t == 0) tl_mbarrier_expect(come, 1024);
      tl_mbarrier_wait(come, i);
      for (int r = 0; r < 8; ++r) out[i * 256 + r * 32 + t] = s[r / 4 * 128 + 4 * t + r % 4] + x[r];
      tl_warp_sync();
      if (t == 0) tl_mbarrier_free_cluster(taken, 0);
    }
    for (int r = 0; r < 8; ++r) x[r] += 1;
  }
  if (rank == 0) tl_mbarrier_wait(taken, 1);
})";
int parts(int i) { return in_at(i % 256) + in_at(256 + i % 256) + 2 * (i / 256); }

// Every block writes, all meet, every block reads what another wrote; twice, with one counter.
const char kGrid[] = R"(TL_KERNEL(64, 1) k(const int* in, int* out, tl_u32* words) {
  const int i = tl_block_x() * 64 + tl_thread();
  out[i] = in[i];
  tl_grid_barrier(words);
  const int x = out[255 - i];
  tl_grid_barrier(words);
  out[i] = x + 1;
})";
int grid(int i) { return in_at(255 - i) + 1; }

// A running sum over blocks: each waits for the flag of the one before it, and sets its own.
const char kLookBack[] = R"(TL_KERNEL(32, 1) k(const int* in, int* out, tl_u32* words) {
  const int b = tl_block_x();
  const int t = tl_thread();
  int before = 0;
  if (b > 0) {
    if (t == 0) tl_wait_at_least(words + b - 1, 1);
    tl_warp_sync();
    before = out[b * 32 - 32 + t];
  }
  out[b * 32 + t] = before + in[b * 32 + t];
  tl_warp_sync();
  if (t == 0) tl_set_word(words + b, 1);
})";
int look_back(int i) {
  int sum = 0;
  for (int b = 0; b <= i / 32; ++b) sum += in_at(b * 32 + i % 32);
  return sum;
}

// A grid that may start before those before it have ended.
const char kDependent[] = R"(TL_KERNEL(32, 1) k(const int* in, int* out, tl_u32* words) {
  int* const s = reinterpret_cast<int*>(tl_arena + 0);
  const int i = tl_block_x() * 32 + tl_thread();
  s[tl_thread()] = i;
  tl_wait_for_grids();
  tl_launch_dependents();
  int x[1];
  tl_move<1>(x, in + s[tl_thread()]);
  out[i] = x[0];
})";
int dependent(int i) { return in_at(i); }

const Exchange kExchanges[] = {
    {"votes", kVotes, {1}, 64, votes, 64},
    {"split_barriers", kSplit, {1}, 96, split, 128},
    {"arrivals_of_copies", kArrivals, {1}, 64, arrivals, 512},
    {"clusters", kCluster, {4, 1, 1, 2}, 32, cluster, 128},
    {"clusters_together", kCluster, {4, 1, 1, 2, true}, 32, cluster, 128},
    {"grids", kGrid, {4, 1, 1, 1, true}, 64, grid, 256},
    {"look_back", kLookBack, {8}, 32, look_back, 256},
    {"look_back_together", kLookBack, {8, 1, 1, 1, true}, 32, look_back, 256},
    {"dependent", kDependent, {4, 1, 1, 1, false, true}, 32, dependent, 128},
    {"parts", kParts, {2, 1, 1, 2}, 32, parts, 512},
};
void PrintTo(const Exchange& exchange, std::ostream* out) { *out << exchange.name; }

// Empty, or what went wrong.
std::string run_exchange(Kit& kit, const Exchange& exchange, const Schedule& schedule) {
  static Kit::Guarded in(512 * 4, "in"), out(512 * 4, "out");
  std::vector<uint32_t> words(64, 0);
  for (int i = 0; i < 512; ++i) static_cast<int*>(in.data())[i] = in_at(i);
  std::memset(out.data(), 0xff, 512 * 4);
  const Report report = kit.run(exchange.grid, exchange.threads, 2048, schedule, static_cast<const int*>(in.data()), static_cast<int*>(out.data()), words.data());
  if (!report.ok()) return report.text;
  for (int i = 0; i < exchange.outputs; ++i)
    if (const int got = static_cast<int*>(out.data())[i]; got != exchange.want(i))
      return "element " + std::to_string(i) + " is " + std::to_string(got) + ", not " + std::to_string(exchange.want(i));
  return {};
}

UnitOptions with_marks() {
  UnitOptions options;
  options.races = true;
  return options;
}

class Exchanges : public testing::TestWithParam<Exchange> {};

TEST_P(Exchanges, AreRightInEveryScheduleAndRaceFree) {
  Kit kit(GetParam().text);
  for (const Schedule& schedule : all_schedules()) ASSERT_EQ(run_exchange(kit, GetParam(), schedule), "") << schedule.text();
#if !defined(__SANITIZE_THREAD__)
  Kit marked(GetParam().text, with_marks());
  // Blocks that run one after the other have no order that marks could see.
  if (GetParam().want == look_back && !GetParam().grid.together) return;
  for (const Schedule& schedule : usual_schedules()) ASSERT_EQ(run_exchange(marked, GetParam(), schedule), "") << schedule.text();
#endif
}
INSTANTIATE_TEST_SUITE_P(Kernels, Exchanges, testing::ValuesIn(kExchanges), [](const auto& info) { return std::string(info.param.name); });

struct ExchangeFault {
  const char* name;
  int exchange;           // in kExchanges
  const char *from, *to;
  bool by_marks;          // seen by who marks accesses, as a race
  const char* says;       // part of some report; null: the outcome shows it
};
const ExchangeFault kExchangeFaults[] = {
    {"vote_of_some_lanes", 0, "const bool any = tl_any(x > 29);", "bool any = true; if (tl_thread() != 3) any = tl_any(x > 29);", false, "a vote"},
    {"wrong_vote", 0, "tl_ballot(x > 10)", "tl_ballot(x > 11)", false, nullptr},
    {"no_arrival_of_the_filled", 1, "tl_named_barrier_arrive(1 + (i & 1), 96);", "", false, "named barrier"},
    {"arrival_for_wait_of_readers", 1, "      tl_named_barrier(1 + (i & 1), 96);", "      tl_named_barrier_arrive(1 + (i & 1), 96);", true, "race"},
    {"no_wait_before_filling", 1, "      tl_named_barrier(3 + (i & 1), 96);", "      tl_named_barrier_arrive(3 + (i & 1), 96);", true, "race"},
    {"wrong_count_of_threads", 1, "tl_named_barrier_arrive(1 + (i & 1), 96);", "tl_named_barrier_arrive(1 + (i & 1), 64);", false, "named barrier"},
    {"no_wait_for_full", 2, "tl_mbarrier_wait(full + (i & 1), (i >> 1) & 1);", "", false, nullptr},
    {"no_wait_for_empty", 2, "tl_mbarrier_wait(empty + (i & 1), 1 - ((i >> 1) & 1));", "", false, "mbarrier"},
    {"arrival_that_follows_no_copy", 2, "tl_cp_async_arrive(full + (i & 1));", "tl_mbarrier_arrive(full + (i & 1));", false, nullptr},
    {"arrival_before_the_copy", 2, "tl_cp_async<16>(s + (i & 1) * 128 + t * 4, in + i * 128 + t * 4, 16);\n      tl_cp_async_arrive(full + (i & 1));",
     "tl_cp_async_arrive(full + (i & 1));\n      tl_cp_async<16>(s + (i & 1) * 128 + t * 4, in + i * 128 + t * 4, 16);", false, nullptr},
    {"constant_phase", 2, "tl_mbarrier_wait(full + (i & 1), (i >> 1) & 1);", "tl_mbarrier_wait(full + (i & 1), 0);", false, nullptr},
    {"no_arrival", 2, "tl_cp_async_arrive(full + (i & 1));", "", false, "mbarrier_wait"},
    {"no_barrier_before_the_first_access", 3, "  s[t] = in[tl_block_x() * 32 + t];\n  tl_cluster_barrier();", "  s[t] = in[tl_block_x() * 32 + t];\n  tl_barrier();", false, "mbarrier"},
    {"no_wait_for_the_other_block", 3, "  tl_mbarrier_wait_cluster(bar, 0);\n", "", true, "race"},
    {"exit_before_the_other_has_read", 3, "  tl_cluster_barrier();\n  out", "  out", false, "whose threads have ended"},
    {"wrong_block", 3, "tl_cluster_load(s + t, other)", "tl_cluster_load(s + t, 1 - other)", false, nullptr},
    {"block_that_is_not", 3, "tl_cluster_load(s + t, other)", "tl_cluster_load(s + t, other + 1)", false, "of its cluster"},
    {"no_first_grid_barrier", 5, "  tl_grid_barrier(words);\n  const", "  const", false, nullptr},
    {"no_second_grid_barrier", 5, "  tl_grid_barrier(words);\n  out", "  out", false, nullptr},
    {"block_barrier_for_the_grids", 5, "  tl_grid_barrier(words);\n  out", "  tl_barrier();\n  out", true, "race"},
    {"grid_barrier_in_a_branch", 5, "  tl_grid_barrier(words);\n  out", "  if (tl_block_x() > 0) {\n    tl_grid_barrier(words);\n  }\n  out", false, "the grid's barrier"},
    {"no_wait_for_the_flag", 7, "if (t == 0) tl_wait_at_least(words + b - 1, 1);", "", false, nullptr},
    {"flag_set_too_early", 7, "  out[b * 32 + t] = before + in[b * 32 + t];\n  tl_warp_sync();\n  if (t == 0) tl_set_word(words + b, 1);",
     "  if (t == 0) tl_set_word(words + b, 1);\n  tl_warp_sync();\n  out[b * 32 + t] = before + in[b * 32 + t];", true, "race"},
    {"flag_never_set", 7, "if (t == 0) tl_set_word(words + b, 1);", "", false, "wait_at_least"},
    {"vector_before_the_wait_for_grids", 8, "  tl_wait_for_grids();\n", "  int y[1];\n  tl_move<1>(y, in + i);\n  tl_wait_for_grids();\n", false, "touched global memory"},
    {"read_before_the_wait_for_grids", 8, "  tl_wait_for_grids();\n", "  s[tl_thread()] += in[i] > 99;\n  tl_wait_for_grids();\n", true, "touched global memory"},
    {"no_wait_for_grids", 8, "  tl_wait_for_grids();\n", "", false, "never waited for the grids"},
    {"wait_for_grids_of_one_thread", 8, "  tl_wait_for_grids();\n", "  if (tl_thread() == 0) tl_wait_for_grids();\n", false, "never waited for the grids"},
    {"wait_for_grids_of_one_block", 8, "  tl_wait_for_grids();\n", "  if (tl_block_x() > 0) return;\n  tl_wait_for_grids();\n", false, "without a wait for the grids"},
    {"send_before_the_other_has_barriers", 9, "  tl_cluster_wait();\n", "", false, "mbarrier"},
    {"wait_for_a_cluster_without_arrival", 9, "  tl_cluster_arrive();\n", "", false, "has not arrived"},
    {"arrival_of_one_block", 9, "  tl_cluster_arrive();\n", "  if (rank == 0) tl_cluster_arrive();\n", false, "has not arrived"},
    {"two_arrivals_for_a_wait", 9, "  tl_cluster_arrive();\n", "  tl_cluster_arrive();\n  tl_cluster_arrive();\n", false, "arrives at the cluster's barrier again"},
    {"parts_over_others_that_were_not_read", 9, "      tl_mbarrier_wait(taken, 1 - i);\n", "", true, "race"},
    {"told_before_all_lanes_have_read", 9, "      tl_warp_sync();\n", "", true, "race"},
    {"parts_read_before_they_come", 9, "      tl_mbarrier_wait(come, i);\n", "", true, "race"},
    {"fewer_bytes_than_come", 9, "tl_mbarrier_expect(come, 1024)", "tl_mbarrier_expect(come, 1008)", false, "mbarrier"},
    {"exit_before_it_is_told", 9, "  if (rank == 0) tl_mbarrier_wait(taken, 1);\n", "", false, "whose threads have ended"},
    {"part_to_no_block", 9, "come, 1);\n    } else", "come, 2);\n    } else", false, "of its cluster"},
    {"part_to_a_barrier_without_fence", 9, "    tl_mbarrier_init_fence();\n", "", false, "was not fenced"},
    {"parts_too_near_each_other", 9, "tl_send_part<32>", "tl_send_part<31>", false, nullptr},
    {"flag_by_a_plain_store", 7, "if (t == 0) tl_set_word(words + b, 1);", "if (t == 0) words[b] = 1;", true, "race"},
};
void PrintTo(const ExchangeFault& fault, std::ostream* out) { *out << fault.name; }

class ExchangeFaults : public testing::TestWithParam<ExchangeFault> {};

TEST_P(ExchangeFaults, AreCaught) {
  const ExchangeFault& fault = GetParam();
#if defined(__SANITIZE_THREAD__)
  if (fault.by_marks) GTEST_SKIP() << "the hooks are the thread sanitizer's own in this build";
#endif
  const Exchange& exchange = kExchanges[fault.exchange];
  std::string text = exchange.text;
  const size_t at = text.find(fault.from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::strlen(fault.from), fault.to);
  Kit kit(text, fault.by_marks ? with_marks() : UnitOptions());
  std::string said;
  size_t caught = 0;
  for (const Schedule& schedule : usual_schedules()) {
    const std::string wrong = run_exchange(kit, exchange, schedule);
    caught += !wrong.empty();
    said += wrong + "\n";
  }
  EXPECT_GE(caught, fault.by_marks ? usual_schedules().size() : 1u) << said;
  if (fault.says) {
    EXPECT_NE(said.find(fault.says), std::string::npos) << said;
  }
}
INSTANTIATE_TEST_SUITE_P(Injected, ExchangeFaults, testing::ValuesIn(kExchangeFaults), [](const auto& info) { return std::string(info.param.name); });

TEST(Grids, ABarrierNeedsALaunchOfBlocksTogetherAndAZeroedCounter) {
  Kit kit(kGrid);
  std::vector<int> in(512), out(512);
  std::vector<uint32_t> words(2, 0);
  const Report alone = kit.run({4}, 64, 0, {}, in.data(), out.data(), words.data());
  EXPECT_NE(alone.text.find("not cooperative"), std::string::npos) << alone.text;
  EXPECT_TRUE(kit.run({3, 1, 1, 1, true}, 64, 0, {}, in.data(), out.data(), words.data()).ok());
  EXPECT_EQ(words[0] & 0x7fffffff, 0u);  // left for the next launch
  EXPECT_TRUE(kit.run({4, 1, 1, 1, true}, 64, 0, {}, in.data(), out.data(), words.data()).ok());
  words[0] = 5;
  const Report used = kit.run({4, 1, 1, 1, true}, 64, 0, {}, in.data(), out.data(), words.data());
  EXPECT_NE(used.text.find("was not zero: it is 5"), std::string::npos) << used.text;
}

}  // namespace
}  // namespace tilert::emulator
