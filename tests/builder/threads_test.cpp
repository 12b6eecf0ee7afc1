// Loops over threads in the builder: what they become, and misuse that shows at the call.
#include "ir/printer.h"
#include "misuse.h"

namespace tilert::builder {
namespace {

tilert_hint fixed(int64_t threads) { return {sizeof(tilert_hint), TILERT_HINT_THREADS_FIXED, threads, 0, 0, nullptr}; }

// A kernel of 64 threads with the loop over them open.
struct InThreads : Kit {
  tilert_tensor A = tensor("A", TILERT_IN, TILERT_F32, {i(64)});
  tilert_tensor C = tensor("C", TILERT_OUT, TILERT_F32, {i(64)});
  tilert_expr t{};
  tilert_buffer s{};
  InThreads() {
    kernel({i(4)}, {fixed(64)});
    s = tile(TILERT_SHARED, TILERT_F32, {64}, "s");
    clear(at(s));
    b.begin_threads(&t);
    b.at("user.cc", 42, "here");
  }
};

TEST(ThreadCalls, BecomeOneLoopWithTheirOperations) {
  InThreads k;
  const tilert_expr got = k.b.shuffle(TILERT_SHUFFLE_DOWN, k.load(k.at(k.A, {k.b.thread_id()})), k.lit(4), 16);
  k.store(k.at(k.C, {k.t}), got);
  k.b.vote(TILERT_VOTE_BALLOT, k.op(TILERT_OP_LT, {k.t, k.lit(3)}));
  k.b.sync_threads(0, 7);
  k.b.sync_threads(2, 64);
  k.b.fence(TILERT_ORDER_SYSTEM);
  const tilert_region from = k.at(k.A, {k.i(8)}), to = k.at(k.s, {k.t});
  k.b.copy_async(&from, &to, 1);
  k.b.commit_copies();
  k.b.wait_copies(3);
  k.b.end_threads();
  k.b.end_kernel();
  const auto program = k.b.finish();
  ASSERT_TRUE(program) << program.error().message;
  const std::string text = ir::print(**program);
  for (const char* line : {"threads (", " : 64) {", "= shuffle_down ", " by 4 number 16", "= ballot lt(", "together sync\n", "together sync number 2 count 64",
                           "together fence system", "together copy @s", " count 1\n", "together commit\n", "together wait number 3"})
    EXPECT_THAT(text, HasSubstr(line)) << text;
}

struct ThreadRow {
  const char* name;
  std::vector<const char*> says;
  std::function<void(InThreads&)> misuse;
};
void PrintTo(const ThreadRow& row, std::ostream* out) { *out << row.name; }

class MisusedThreads : public testing::TestWithParam<ThreadRow> {};
TEST_P(MisusedThreads, SaysWhatIsWrong) {
  InThreads scene;
  ASSERT_EQ(scene.b.status(), Code::kOk);
  GetParam().misuse(scene);
  EXPECT_NE(scene.b.status(), Code::kOk);
  const std::string message = scene.message();
  for (const char* part : GetParam().says) EXPECT_THAT(message, HasSubstr(part));
  EXPECT_THAT(message, HasSubstr("user.cc:42"));
}

INSTANTIATE_TEST_SUITE_P(
    Calls, MisusedThreads,
    testing::Values(
        ThreadRow{"closed_as_parallel", {"end of parallel", "innermost open scope is the threads"}, [](InThreads& k) { k.b.end_parallel(); }},
        ThreadRow{"closes_a_parallel",
                  {"end of threads", "innermost open scope is the parallel opened at"},
                  [](InThreads& k) {
                    k.b.end_threads();
                    k.parallel({4});
                    k.b.at("user.cc", 42, nullptr);
                    k.b.end_threads();
                  }},
        ThreadRow{"twice", {"'here': threads: this cannot stand inside threads: move it out"}, [](InThreads& k) { k.b.begin_threads(&k.t); }},
        ThreadRow{"parallel_inside", {"parallel inside threads"}, [](InThreads& k) { k.parallel({4}); }},
        ThreadRow{"returns", {"return", "a thread of threads ends with the loop's body"}, [](InThreads& k) { k.b.jump(ir::JumpKind::finish); }},
        ThreadRow{"leaves_no_loop", {"break", "no loop is open here inside threads"}, [](InThreads& k) { k.b.jump(ir::JumpKind::leave); }},
        ThreadRow{"blocks_meet_inside", {"grid_sync", "meet outside threads"}, [](InThreads& k) { k.b.grid_sync(); }},
        ThreadRow{"tile_inside", {"tiles are declared outside threads"}, [](InThreads& k) { k.tile(TILERT_FRAGMENT, TILERT_F32, {4}, "f"); }},
        ThreadRow{"one_element_by_all", {"two threads write the same element"}, [](InThreads& k) { k.store(k.at(k.C, {k.i(3)}), k.num(1)); }},
        ThreadRow{"nowhere_to_put_the_number",
                  {"thread is NULL"},
                  [](InThreads& k) {
                    k.b.end_threads();
                    k.b.at("user.cc", 42, nullptr);
                    k.b.begin_threads(nullptr);
                  }},
        ThreadRow{"number_after_the_loop",
                  {"inside threads only", "begin_threads"},
                  [](InThreads& k) {
                    k.b.end_threads();
                    k.b.at("user.cc", 42, nullptr);
                    k.b.thread_id();
                  }},
        ThreadRow{"index_after_the_loop",
                  {"offset 0 of C is used after the loop"},
                  [](InThreads& k) {
                    k.b.end_threads();
                    k.parallel({64});
                    k.b.at("user.cc", 42, nullptr);
                    k.store(k.at(k.C, {k.t}), k.num(1));
                  }},
        ThreadRow{"no_such_shuffle", {"5 is none of the shuffles"}, [](InThreads& k) { k.b.shuffle(5, k.t, k.lit(1), 0); }},
        ThreadRow{"shuffled_literal", {"the value is a literal", "give it a dtype"}, [](InThreads& k) { k.b.shuffle(1, k.num(1), k.lit(1), 0); }},
        ThreadRow{"no_such_vote", {"4 is none of the votes"}, [](InThreads& k) { k.b.vote(4, k.op(TILERT_OP_LT, {k.t, k.lit(3)})); }},
        ThreadRow{"vote_on_a_number", {"what is voted on"}, [](InThreads& k) { k.b.vote(1, k.t); }},
        ThreadRow{"no_such_scope", {"scope 9 is none"}, [](InThreads& k) { k.b.fence(9); }},
        ThreadRow{"copy_leaves_the_tile",
                  {"dim 0 of s has 64 elements"},
                  [](InThreads& k) {
                    const tilert_region from = k.at(k.A, {k.t}), to = k.at(k.s, {k.op(TILERT_OP_ADD, {k.t, k.lit(1)})});
                    k.b.copy_async(&from, &to, 4);
                  }},
        ThreadRow{"copy_to_an_input",
                  {"A is an input"},
                  [](InThreads& k) {
                    const tilert_region at = k.at(k.A, {k.t});
                    k.b.copy_async(&at, &at, 1);
                  }},
        ThreadRow{"tile_operation_inside", {"copy"}, [](InThreads& k) { k.copy(k.at(k.A), k.at(k.s)); }}),
    [](const auto& row) { return std::string(row.param.name); });

// What only the whole program shows is told by finish: at its statement.
TEST(ThreadCalls, ABarrierOfNoNumberAndWaitsWithoutEndAreRefused) {
  InThreads barrier;
  barrier.b.sync_threads(16, 64);
  barrier.b.end_threads();
  barrier.b.end_kernel();
  EXPECT_THAT(barrier.message(), HasSubstr("user.cc:42 'here': sync_threads at barrier 16; a block has barriers 0 to 15"));
  InThreads wait;
  wait.b.wait_copies(17);
  wait.b.end_threads();
  wait.b.end_kernel();
  EXPECT_THAT(wait.message(), HasSubstr("user.cc:42 'here': wait_copies leaves 17 groups under way; 0 to 16"));
}

// Each with its own name, place and label, whoever finds it.
TEST(ThreadCalls, WhatThreadsDoTogetherIsNamedWhereItCannotBeDone) {
  struct Row {
    const char* says;
    std::function<void(InThreads&)> call;
  };
  const auto few = [](InThreads& k) { return k.op(TILERT_OP_LT, {k.t, k.lit(3)}); };
  const Row rows[] = {
      {"shuffle_down among 12 lanes", [](InThreads& k) { k.b.shuffle(TILERT_SHUFFLE_DOWN, k.t, k.lit(1), 12); }},
      {"shuffle_xor by 40 leaves", [](InThreads& k) { k.b.shuffle(TILERT_SHUFFLE_XOR, k.t, k.lit(40), 0); }},
      {"sync_threads: barrier 3 is of 32 threads, but 64 come to it", [](InThreads& k) { k.b.sync_threads(3, 32); }},
      {"copy_async of 0 elements",
       [](InThreads& k) {
         const tilert_region from = k.at(k.A, {k.i(0)}), to = k.at(k.s, {k.t});
         k.b.copy_async(&from, &to, 0);
       }},
      {"vote any under a condition",
       [&](InThreads& k) {
         k.b.begin_if(few(k));
         k.b.at("user.cc", 42, "here");
         k.b.vote(TILERT_VOTE_ANY, few(k));
         k.b.end_if();
       }},
      {"sync_threads under a condition",
       [&](InThreads& k) {
         k.b.begin_if(few(k));
         k.b.at("user.cc", 42, "here");
         k.b.sync_threads(0, 0);
         k.b.end_if();
       }},
  };
  for (const Row& row : rows) {
    InThreads k;
    row.call(k);
    k.b.end_threads();
    k.b.end_kernel();
    EXPECT_THAT(k.message(), HasSubstr(std::string("user.cc:42 'here': ") + row.says));
  }
}

}  // namespace
}  // namespace tilert::builder
