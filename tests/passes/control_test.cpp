// Jumps and atomic operations on their way through the passes: what becomes branches, when copies still run ahead, where
// barriers stand, what is added in one access.
#include <gtest/gtest.h>

#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/visit.h"
#include "passes/order.h"
#include "passes/specialize.h"

namespace tilert::passes {
namespace {

using ir::Primitive;

Module passed(const std::string& text, const char* target, const char* stop = "") {
  auto program = ir::parse("tir 1\n" + text, "test");
  EXPECT_TRUE(program) << (program ? "" : program.error().message);
  auto parsed = parse_target(target);
  EXPECT_TRUE(parsed);
  auto module = specialize(*program, std::vector<DimChoice>(program->dims.size(), DimChoice{}));
  EXPECT_TRUE(module);
  auto done = run_gpu_passes(*std::move(module), {*parsed, parsed->device_class, true}, stop);
  EXPECT_TRUE(done) << (done ? "" : done.error().message);
  return *std::move(done);
}

int calls(const Module& module, Primitive primitive) {
  int found = 0;
  ir::for_each_stmt(module.program.kernels[0].body, [&](const ir::Stmt& s) {
    const auto* c = std::get_if<ir::Call>(&s.node);
    found += c && c->primitive == primitive;
  });
  return found;
}

template <class T>
int statements(const Module& module) {
  int found = 0;
  ir::for_each_stmt(module.program.kernels[0].body, [&](const ir::Stmt& s) { found += std::holds_alternative<T>(s.node); });
  return found;
}

// Trips of a loop over rows of X, with `guard` before or behind the copy of a row.
std::string rows(const std::string& before, const std::string& behind, const std::string& kind = "pipelined") {
  return R"(var %T dim index
var %x block index
var %t loop index
var %i loop index
var %w let i32
var %v let f32
dim %T
buffer @W global i32 [%T] in argument 0
buffer @X global f32 [%T, 128] in argument 1
buffer @Y global f32 [%T, 128] out argument 2
buffer @a shared f32 [128]
parameter tensor @W "W"
parameter tensor @X "X"
parameter tensor @Y "Y"
kernel "k" (%x) grid [1] {
  1: alloc @a
  2: for )" + kind + R"( %t = 0 to %T stages 3 {
    let %w = load @W[%t]
)" + before + R"(
    3: copy @X[%t:1, 0:128] -> @a[0:128]
)" + behind + R"(
    4: parallel (%i : 128) {
      let %v = load @a[%i]
      store @Y[%t, %i] = %v
    }
  }
}
)";
}

TEST(Jumps, OnlyThoseThatLeaveALoopAreLeftAfterTheFirstPass) {
  const std::string next = "if eq(%w, i32(1)) {\n continue\n }", finish = "if eq(%w, i32(2)) {\n return\n }", leave = "if eq(%w, i32(3)) {\n break\n }";
  for (const std::string& text : {rows(next, ""), rows(finish, next), rows(leave, finish), rows(next, leave)}) {
    const Module module = passed(text, "sm_80", "structure");
    bool other = false;
    ir::for_each_stmt(module.program.kernels[0].body, [&](const ir::Stmt& s) {
      const auto* jump = std::get_if<ir::Jump>(&s.node);
      other |= jump && jump->kind != ir::JumpKind::leave;
    });
    EXPECT_FALSE(other) << ir::print(module.program);
  }
}

TEST(Jumps, AnEndOfATripThatNothingSurroundsNeedsNoFlag) {
  const Module module = passed(rows("", "if eq(%w, i32(1)) {\n continue\n }"), "sm_80", "structure");
  EXPECT_EQ(statements<ir::Store>(module), 1) << ir::print(module.program);
  const Module deep = passed(rows("", "if eq(%w, i32(1)) {\n if lt(%t, 3) {\n continue\n }\n }"), "sm_80", "structure");
  EXPECT_EQ(statements<ir::Store>(deep), 3) << ir::print(deep.program);
}

TEST(Jumps, CopiesRunAheadOfALoopThatIsLeftEarly) {
  const Module module = passed(rows("", "if eq(%w, i32(3)) {\n break\n }"), "sm_80");
  EXPECT_EQ(module.plans[0].rings.at(2).stages, 3) << module.plans[0].rings.at(2).reason;
  EXPECT_GT(calls(module, Primitive::cp_async), 0);
}

TEST(Jumps, CopiesThatMayBePassedOverDoNotRunAheadAndThePlanSaysWhy) {
  const Module module = passed(rows("if eq(%w, i32(1)) {\n continue\n }", ""), "sm_80");
  EXPECT_EQ(module.plans[0].rings.at(2).stages, 1);
  EXPECT_EQ(module.plans[0].rings.at(2).reason, "its copies stand under a condition");
}

std::string atomics(const std::string& dtype, const std::string& body) {
  return "var %x block index\nvar %i loop index\nvar %j loop index\nvar %k loop index\nvar %v let " + dtype + "\nvar %o let " + dtype + "\nbuffer @X global " + dtype +
         " [64, 64] in argument 0\nbuffer @Y global " + dtype + " [64, 64] inout argument 1\nbuffer @f fragment " + dtype +
         " [64, 64]\nbuffer @s shared " + dtype + R"( [64]
parameter tensor @X "X"
parameter tensor @Y "Y"
kernel "k" (%x) grid [4] {
  1: alloc @f
  2: alloc @s
  3: copy @X[0:64, 0:64] -> @f[0:64, 0:64]
  4: copy @X[0:1, 0:64] -> @s[0:64]
)" + body + "}\n";
}

const char kAddAll[] = R"(  5: parallel (%i : 64, %j : 64) {
    let %v = load @f[%i, %j]
    atomic add @Y[%i, %j] with %v
  }
)";

TEST(Atomics, NeighboursAreAddedInOneAccessWhereTheTargetCan) {
  EXPECT_GT(calls(passed(atomics("f32", kAddAll), "sm_90a"), Primitive::red_add_vector), 0);
  EXPECT_EQ(calls(passed(atomics("f32", kAddAll), "sm_80"), Primitive::red_add_vector), 0);
  EXPECT_GT(calls(passed(atomics("f16", kAddAll), "sm_80"), Primitive::red_add_vector), 0);
  EXPECT_EQ(calls(passed(atomics("bf16", kAddAll), "sm_80"), Primitive::red_add_vector), 0);
  EXPECT_EQ(calls(passed(atomics("i32", kAddAll), "sm_90a"), Primitive::red_add_vector), 0);
}

// Barriers behind those of the copies.
int barriers(const std::string& body) {
  return calls(passed(atomics("i32", body), "sm_80"), Primitive::barrier) - calls(passed(atomics("i32", ""), "sm_80"), Primitive::barrier);
}

std::string update(const char* number, const char* what) {
  const std::string i = *number == '5' ? "%i" : "%j";
  return std::string("  ") + number + ": parallel (" + i + " : 64) {\n    atomic " + what + " @s[mod(mul(" + i +
         ", 7), 64)] with i32(3)\n  }\n";
}

TEST(Atomics, OfOneKindNeedNoBarrierBetweenThem) {
  EXPECT_EQ(barriers(update("5", "add")), 1);
  EXPECT_EQ(barriers(update("5", "add") + update("6", "add")), 1);
  EXPECT_EQ(barriers(update("5", "add") + update("6", "max")), 2);
  EXPECT_EQ(barriers(update("5", "exchange") + update("6", "exchange")), 2);
}

TEST(Atomics, APlainReadComesBehindABarrier) {
  const std::string read = "  6: parallel (%k : 64) {\n    let %o = load @s[%k]\n    store @Y[0, %k] = %o\n  }\n";
  EXPECT_EQ(barriers(update("5", "add") + read), 2);
}

TEST(Atomics, WhatReleasesStandsBehindABarrierAndWhatAcquiresBeforeOne) {
  EXPECT_EQ(barriers("  5: atomic store @Y[0, 0] with i32(1) release\n"), 1);
  EXPECT_EQ(barriers("  5: atomic store @Y[0, 0] with i32(1)\n"), 0);
  EXPECT_EQ(barriers("  5: atomic add @Y[0, 0] with i32(1) acquire\n"), 1);
  EXPECT_EQ(barriers("  5: atomic add @Y[0, 0] with i32(1) acq_rel\n"), 2);
}

TEST(Atomics, ALoopThatAcquiresHasNoRing) {
  std::string text = rows("atomic %w = load @W[%t] acquire", "");
  const size_t plain = text.find("    let %w = load @W[%t]\n");
  text.erase(plain, std::string("    let %w = load @W[%t]\n").size());
  const Module module = passed(text, "sm_80");
  EXPECT_EQ(module.plans[0].rings.at(2).stages, 1);
  EXPECT_NE(module.plans[0].rings.at(2).reason.find("waits for other blocks"), std::string::npos);
}

}  // namespace
}  // namespace tilert::passes
