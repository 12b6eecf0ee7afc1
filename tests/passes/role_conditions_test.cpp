// Loops of kernels with roles of which conditions let trips pass over, or do a part of what others do.
#include <gtest/gtest.h>

#include <set>

#include "passes/gemm_text.h"
#include "passes/lowered.h"
#include "passes/role_trips.h"

namespace tilert::passes {
namespace {

using ir::Primitive;

// The loop's body; the program's declarations and what stands around it as in gemm_text.
std::string loop_of(const std::string& body, const std::string& declarations = "", const std::string& before = "") {
  GemmShape g;
  g.hints = "";
  std::string text = gemm_text(g);
  const size_t from = text.find("    5: copy"), to = text.find("  }\n", from);
  text.replace(from, to - from, body);
  text.insert(text.find("dim %M"), "var %i loop index\nvar %j loop index\nvar %s let f32\nvar %r let i32\n");
  text.insert(text.find("buffer @a shared"), "buffer @d shared bf16 [128, 64]\nbuffer @n var i32 []\n" + declarations);
  text.insert(text.find("  4: fill"), "  60: alloc @d\n  61: alloc @n\n" + before);
  text.replace(text.find("i32 [64] inout"), 14, "i32 [64] in");
  return text;
}

const char kCopyA[] = "    5: copy @A[mul(%y, 128):128, mul(%k, 64):64] -> @a[0:128, 0:64]\n";
const char kCopyB[] = "    6: copy @B[mul(%x, 128):128, mul(%k, 64):64] -> @b[0:128, 0:64]\n";
const char kMultiply[] = "    7: gemm @a[0:128, 0:64], @b[0:128, 0:64], @acc[0:128, 0:128] trans_b accumulate true\n";
const char kReadMark[] = "    20: let %p = load @I[%k]\n";
const std::string kWholeTrip = std::string(kCopyA) + kCopyB + kMultiply;

std::string in_branch(const std::string& condition, const std::string& body) { return "    21: if " + condition + " {\n" + body + "    }\n"; }

std::string reason_for(const std::string& text) { return lowered(text, "sm_90a", "plan_roles").plans[0].roles.reason; }

// The waits of each role's trip: in branches, and outside of them.
std::pair<int, int> waits_of(const Module& module) {
  int inside = 0, all = 0;
  ir::for_each_stmt(module.program.kernels[0].body, [&](const ir::Stmt& s) {
    const auto* loop = std::get_if<ir::For>(&s.node);
    if (!loop || count(loop->body, Primitive::mbarrier_wait) == 0) return;
    all += count(loop->body, Primitive::mbarrier_wait);
    for (const ir::StmtPtr& inner : loop->body)
      if (const auto* branch = std::get_if<ir::If>(&inner->node)) inside += count(branch->then_body, Primitive::mbarrier_wait);
  });
  return {inside, all - inside};
}

TEST(RoleConditions, ATripThatIsPassedOverTakesNoSlotOfTheRing) {
  const std::string mark = "lt(i32(0), %p)";
  for (const std::string& body : {kReadMark + in_branch(mark, kWholeTrip), kReadMark + std::string(kCopyA) + kCopyB + in_branch(mark, kMultiply), std::string(kCopyA) + kReadMark + in_branch(mark, std::string(kCopyB) + kMultiply),
                                  kReadMark + std::string("    21: if ") + mark + " {\n    } else {\n" + kWholeTrip + "    }\n", in_branch("lt(%k, 5)", kReadMark + in_branch(mark, kWholeTrip)), in_branch("lt(%k, 5)", kWholeTrip)}) {
    const Module module = lowered(loop_of(body), "sm_90a");
    ASSERT_TRUE(module.plans[0].roles.on) << module.plans[0].roles.reason << "\n" << body;
    EXPECT_EQ(waits_of(module), (std::pair{2, 0})) << body;
    EXPECT_FALSE(module.plans[0].roles.works) << body;
    EXPECT_EQ(count(module.program.kernels[0].body, Primitive::tma_load_2d), 2) << body;
  }
  EXPECT_EQ(waits_of(lowered(loop_of(kWholeTrip), "sm_90a")), (std::pair{0, 2}));
}

// Its first trip need not be the loop's.
TEST(RoleConditions, SumsOfTripsThatMayBePassedOverAreCleared) {
  const auto fills = [](const std::string& body) {
    int found = 0;
    ir::for_each_stmt(lowered(loop_of(body), "sm_90a").program.kernels[0].body, [&](const ir::Stmt& s) {
      const auto* group = std::get_if<ir::Group>(&s.node);
      found += group && group->comment.find("4: fill") == 0;
    });
    return found;
  };
  EXPECT_EQ(fills(kWholeTrip), 0);
  EXPECT_EQ(fills(in_branch("lt(%k, 5)", kWholeTrip)), 1);
}

TEST(RoleConditions, EachRoleReadsWhatItNeedsForItself) {
  const auto lets = [](const std::string& body) {
    const RolePlan roles = lowered(loop_of(body), "sm_90a", "plan_roles").plans[0].roles;
    EXPECT_TRUE(roles.on) << roles.reason;
    return std::pair{roles.producer_lets.size(), roles.consumer_lets.size()};
  };
  EXPECT_EQ(lets(kReadMark + in_branch("lt(i32(0), %p)", kWholeTrip)), (std::pair<size_t, size_t>{1, 1}));
  const std::string listed = "    5: copy @A[mul(%y, 128):128, mul(%q, 64):64] -> @a[0:128, 0:64]\n";
  const std::string place = kReadMark + std::string("    22: let %q = cast<index>(%p)\n");
  EXPECT_EQ(lets(place + listed + kCopyB + kMultiply), (std::pair<size_t, size_t>{2, 0}));
  EXPECT_EQ(lets(place + in_branch("le(0, %q)", listed + kCopyB + kMultiply)), (std::pair<size_t, size_t>{2, 2}));
  const std::string work = "    30: parallel (%i : 128, %j : 128) {\n      let %s = load @acc[%i, %j]\n      store @acc[%i, %j] = mul(%s, cast<f32>(%p))\n    }\n";
  EXPECT_EQ(lets(kReadMark + kWholeTrip + work), (std::pair<size_t, size_t>{0, 1}));
  std::string within = work;
  within.insert(within.find("      store"), "      let %p = load @I[%k]\n");
  EXPECT_EQ(lets(kWholeTrip + within), (std::pair<size_t, size_t>{0, 0}));
}

// Whose products another copy's would wait for, were it made: the slot's bytes say what comes.
TEST(RoleConditions, ASlotWaitsForTheCopiesThatItsTripMakes) {
  const std::string more = "    24: copy @B[mul(%q, 128):128, mul(%k, 64):64] -> @d[0:128, 0:64]\n    25: gemm @a[0:128, 0:64], @d[0:128, 0:64], @acc[0:128, 0:128] trans_b accumulate true\n";
  const Module module = lowered(loop_of(kWholeTrip + in_branch("eq(mod(%k, 2), 0)", kReadMark + std::string("    22: let %q = cast<index>(%p)\n") + more)), "sm_90a");
  ASSERT_TRUE(module.plans[0].roles.on) << module.plans[0].roles.reason;
  EXPECT_TRUE(module.plans[0].roles.in_order);
  EXPECT_EQ(waits_of(module), (std::pair{0, 2}));
  std::vector<ir::Expr> bytes;
  int conditional = 0;
  ir::for_each_stmt(module.program.kernels[0].body, [&](const ir::Stmt& s) {
    if (const auto* c = std::get_if<ir::Call>(&s.node); c && c->primitive == Primitive::mbarrier_expect) bytes.push_back(c->args[1].value);
    if (const auto* branch = std::get_if<ir::If>(&s.node); branch && branch->then_body.size() == 1) conditional += count(branch->then_body, Primitive::tma_load_2d);
  });
  ASSERT_EQ(bytes.size(), 1u);
  EXPECT_FALSE(bytes[0]->is_constant());
  EXPECT_EQ(conditional, 1);
}

TEST(RoleConditions, WhatBothRolesCannotTellIsSaid) {
  const std::string known = ": its copies depend on what only the consumers know: let the condition be of indices, dims, scalars and tensors that the kernel does not write";
  const std::string sum = "    26: let %s = load @acc[0, 0]\n";
  EXPECT_EQ(reason_for(loop_of(sum + in_branch("lt(f32(0x0), %s)", kWholeTrip))), "operation 26: it is computed by the consumers alone, before a condition that the producer needs too");
  EXPECT_EQ(reason_for(loop_of(kWholeTrip + sum + in_branch("lt(f32(0x0), %s)", "    27: copy @B[0:128, 0:64] -> @d[0:128, 0:64]\n    28: gemm @a[0:128, 0:64], @d[0:128, 0:64], @acc[0:128, 0:128] trans_b accumulate true\n"))), "operation 21" + known);
  EXPECT_EQ(reason_for(loop_of(kWholeTrip + sum + in_branch("lt(f32(0x0), %s)", "    29: fill @acc[0:128, 0:128] = f32(0x0)\n"))), "");
  std::string written = loop_of(kReadMark + in_branch("lt(i32(0), %p)", kWholeTrip));
  written.replace(written.find("i32 [64] in"), 11, "i32 [64] inout");
  EXPECT_EQ(reason_for(written), "");
  written.insert(written.find("  90: copy"), "  91: fill @I[0:64] = i32(1)\n");
  EXPECT_EQ(reason_for(written), "operation 20: it is computed by the consumers alone, before a condition that the producer needs too");
  const std::string counted = "    20: let %p = load @n[]\n";
  EXPECT_EQ(reason_for(loop_of(counted + in_branch("lt(i32(0), %p)", kWholeTrip), "", "  62: store @n[] = i32(0)\n")), "operation 20: it is computed by the consumers alone, before a condition that the producer needs too");
  const std::string place = counted + "    22: let %q = cast<index>(%p)\n    5: copy @A[mul(%y, 128):128, mul(%q, 64):64] -> @a[0:128, 0:64]\n";
  EXPECT_EQ(reason_for(loop_of(place + kCopyB + kMultiply, "", "  62: store @n[] = i32(0)\n")), "operation 5: its place depends on what only the consumers compute");
  EXPECT_EQ(reason_for(loop_of(in_branch("lt(%k, 5)", kCopyA) + kCopyB + kMultiply)), "operation 5: its tile is used in trips that do not copy it");
  EXPECT_EQ(reason_for(loop_of(kWholeTrip + "    27: store @C[0, 0] = bf16(0x0)\n")), "operation 27: its loop does more than copy, multiply and work on fragments");
}

TEST(RoleConditions, BlocksOfAClusterMakeTheSameTrips) {
  const auto plan = [](const std::string& mark) {
    std::string text = loop_of("    20: let %p = load @I[" + mark + "]\n" + in_branch("lt(i32(0), %p)", kWholeTrip));
    text.insert(text.find("] {\n") + 1, " hint cluster 2");
    return lowered(text, "sm_90a").plans[0];
  };
  for (const char* mark : {"%k", "%y", "%x"}) {  // %x: copies along the other dim
    const KernelPlan of = plan(mark);
    EXPECT_TRUE(of.roles.on) << of.roles.reason;
    EXPECT_EQ(of.not_clustered, "") << mark;
    EXPECT_EQ(of.roles.shared_loads.size(), 1u) << mark;
  }
  const KernelPlan both = plan("add(%x, %y)");
  EXPECT_TRUE(both.roles.on) << both.roles.reason;
  EXPECT_EQ(both.not_clustered, "no copy of its loop is the same for neighbouring blocks");
}

// The loop's text with all that stands before and after it in a branch; `first` stands at its beginning.
std::string whole_branch(const std::string& first, const std::string& place = "mul(%y, 128)", const std::string& declarations = "", const std::string& before = "") {
  std::string text = loop_of(kWholeTrip, declarations, before);
  const size_t from = text.find("  4: fill"), to = text.rfind("}\n");
  text.insert(to, "  } else {\n    92: fill @C[0:128, 0:128] = bf16(0x0)\n  }\n");
  text.insert(from, "  70: if lt(%x, 3) {\n" + first);
  for (size_t at = text.find("mul(%y, 128)"); at != std::string::npos && place != "mul(%y, 128)"; at = text.find("mul(%y, 128)")) text.replace(at, 12, place);
  return text;
}

TEST(RoleConditions, ALoopComesOutOfItsBranch) {
  const std::string place = "    71: let %p = load @I[%y]\n    72: let %q = mul(cast<index>(%p), 128)\n";
  for (const std::string& text : {whole_branch(""), whole_branch(place, "%q")}) {
    const Module module = lowered(text, "sm_90a", "plan_roles");
    const RolePlan& roles = module.plans[0].roles;
    ASSERT_TRUE(roles.on) << roles.reason;
    std::vector<std::string> order;
    for (const ir::StmtPtr& s : module.program.kernels[0].body) {
      const auto* branch = std::get_if<ir::If>(&s->node);
      const auto* loop = std::get_if<ir::For>(&s->node);
      if (loop) order.push_back(loop->end->op == ir::Op::select ? "loop" : "endless loop");
      if (branch) order.push_back(branch->else_body.empty() ? "branch" : "two branches");
    }
    EXPECT_EQ(order, (std::vector<std::string>{"branch", "loop", "two branches"}));
    EXPECT_EQ(roles.behind.size(), 1u);
  }
  const auto stores = [](std::string text) {
    const size_t fill = text.find("    92: fill");
    text.erase(fill, text.find('\n', fill) + 1 - fill);
    return lowered(text, "sm_90a").plans[0].roles.stores.size();
  };
  EXPECT_EQ(stores(whole_branch("")), 1u);
}

TEST(RoleConditions, ALoopStaysInABranchWhoseValuesMayChangeBefore) {
  const std::string counted = "    71: let %p = load @n[]\n    72: let %q = mul(cast<index>(%p), 128)\n";
  EXPECT_EQ(reason_for(whole_branch(counted, "%q", "", "  62: store @n[] = i32(0)\n")), "it has no pipelined loop");
  std::string outside = whole_branch("");  // the condition, of what the consumers alone know
  outside.replace(outside.find("lt(%x, 3)"), 9, "lt(%p, i32(3))");
  outside.insert(outside.find("  70: if"), "  62: store @n[] = i32(0)\n  63: let %p = load @n[]\n");
  EXPECT_EQ(reason_for(outside), "operation 63: a place in the loop depends on what the consumers read");
}

TEST(RoleConditions, ClustersAndPartsAreOfLoopsThatStandInNoBranch) {
  for (const char* hint : {" hint cluster 2", " hint split_k 2"}) {
    std::string text = whole_branch("");
    text.insert(text.find("] {\n") + 1, hint);
    const Module module = lowered(text, "sm_90a");
    EXPECT_TRUE(module.plans[0].roles.on) << module.plans[0].roles.reason;
    int asked = 0;
    for (const HintOutcome& h : module.plans[0].hints) {
      if (h.of != HintOutcome::Of::kernel) continue;
      ++asked;
      EXPECT_FALSE(h.taken);
      EXPECT_EQ(h.reason, "it has no pipelined loop outside of other loops and branches") << hint;
    }
    EXPECT_EQ(asked, 1) << hint;
  }
}

// The engine's coordinates have 32 bits; what dims bound needs no care.
TEST(RoleConditions, PlacesThatAreReadAreHeldWhereTheEngineCounts) {
  const auto held = [](const std::string& text) {
    std::set<ir::Expr> found;
    const Module module = lowered(text, "sm_90a");
    EXPECT_TRUE(module.plans[0].roles.on) << module.plans[0].roles.reason;
    ir::for_each_stmt(module.program.kernels[0].body, [&](const ir::Stmt& s) {
      ir::for_each_expr(s, [&](ir::Expr e) {
        ir::for_each_node(e, [&](ir::Expr n) {
          for (int i = 0; n->op == ir::Op::min && i < n->arity; ++i)
            if (n->operand[i]->is_constant() && n->operand[i]->as_int() == kEngineEnd) found.insert(n);
        });
      });
    });
    return !found.empty();
  };
  EXPECT_FALSE(held(loop_of(kWholeTrip)));
  const std::string place = "  62: let %p = load @I[%y]\n  63: let %q = mul(cast<index>(%p), 128)\n";
  std::string before = loop_of(kWholeTrip, "", place);
  before.replace(before.find("copy @A[mul(%y, 128)") + 8, 12, "%q");
  EXPECT_TRUE(held(before));
  EXPECT_TRUE(held(whole_branch("    71: let %p = load @I[%y]\n    72: let %q = mul(cast<index>(%p), 128)\n", "%q")));
}

// The general path, whose rings are planned by other rules, gets the loop as it was.
TEST(RoleConditions, ALoopWithoutRolesKeepsItsForm) {
  const std::string body = std::string(kCopyA) + kCopyB + kReadMark + in_branch("lt(i32(0), %p)", kMultiply);
  const auto branch_of = [&](const char* hints) {
    std::string text = loop_of(body);
    text.insert(text.find("] {\n") + 1, hints);
    const Module module = lowered(text, "sm_90a", "plan_roles");
    int copies = 0;
    ir::for_each_stmt(module.program.kernels[0].body, [&](const ir::Stmt& s) {
      const auto* branch = std::get_if<ir::If>(&s.node);
      if (!branch) return;
      for (const ir::StmtPtr& inner : branch->then_body) copies += is_load(module.program, *inner);
    });
    return copies;
  };
  EXPECT_EQ(branch_of(""), 2);
  EXPECT_EQ(branch_of(" hint roles 1"), 0);
}

}  // namespace
}  // namespace tilert::passes
