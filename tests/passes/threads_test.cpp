// Loops over threads on their way down: whose threads they are, where barriers stand, when copies go past registers, and that
// every pass keeps their meaning.
#include <gtest/gtest.h>

#include "ir/interpreter.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/visit.h"
#include "passes/order.h"
#include "passes/planned.h"
#include "passes/specialize.h"

namespace tilert::passes {
namespace {

using ir::Primitive;

const char kThreadsHead[] = R"(tir 1
program "threads"
var %x block index
var %t loop index
var %i loop index
var %v let f32
var %w let f32
var %u let f32
var %b let u32
buffer @X global f32 [128] in argument 0
buffer @Y global f32 [128] out argument 1
buffer @s shared f32 [128]
parameter tensor @X "X"
parameter tensor @Y "Y"
kernel "threads" (%x) grid [1] hint threads_fixed 128 {
  1: alloc @s
)";

ir::Program threads_program(const std::string& body) {
  auto parsed = ir::parse(kThreadsHead + body + "}\n", "test");
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return *std::move(parsed);
}

Module lowered_threads(const ir::Program& program, const char* target, const char* stop = "") {
  const auto parsed = parse_target(target);
  auto module = specialize(program, {});
  EXPECT_TRUE(module);
  auto done = run_gpu_passes(*std::move(module), {*parsed, parsed->device_class, true}, stop);
  EXPECT_TRUE(done) << (done ? "" : done.error().message);
  return *std::move(done);
}

int primitive_calls(const Module& module, Primitive primitive) {
  int found = 0;
  ir::for_each_stmt(module.program.kernels[0].body, [&](const ir::Stmt& s) {
    const auto* c = std::get_if<ir::Call>(&s.node);
    found += c && c->primitive == primitive;
  });
  return found;
}

const char kTwoParts[] = R"(  2: threads (%t : 128) {
    3: let %v = load @X[%t]
    store @s[%t] = %v
    4: together sync
    5: let %w = load @s[sub(127, %t)]
    store @Y[%t] = %w
  }
)";

TEST(Threads, ABarrierOfTheProgramIsTheOnlyOne) {
  const Module module = lowered_threads(threads_program(kTwoParts), "sm_80");
  EXPECT_EQ(primitive_calls(module, Primitive::barrier), 1) << ir::print(module.program);
  EXPECT_EQ(module.plans[0].threads, 128);
}

TEST(Threads, WhatStandsAroundTheLoopMeetsItsFirstAndLastPart) {
  const std::string before = "  6: copy @X[0:128] -> @s[0:128]\n", behind = "  7: fill @s[0:128] = f32(0x0)\n";
  EXPECT_EQ(primitive_calls(lowered_threads(threads_program(before + kTwoParts), "sm_80"), Primitive::barrier), 2) << "the first part writes what was copied";
  EXPECT_EQ(primitive_calls(lowered_threads(threads_program(std::string(kTwoParts) + behind), "sm_80"), Primitive::barrier), 2) << "the last part reads it";
}

const char kCopied[] = R"(  2: threads (%t : 128) {
    if lt(%t, 32) {
      3: together copy @s[mul(%t, 4)] = @X[mul(%t, 4)] count 4
    }
    together commit
    together wait
    4: together sync
    5: let %w = load @s[sub(127, %t)]
    store @Y[%t] = %w
  }
)";

TEST(Threads, CopiesGoPastRegistersWhereTheTargetHasThem) {
  const Module ampere = lowered_threads(threads_program(kCopied), "sm_80"), turing = lowered_threads(threads_program(kCopied), "sm_75");
  EXPECT_EQ(primitive_calls(ampere, Primitive::cp_async), 1);
  EXPECT_EQ(primitive_calls(ampere, Primitive::cp_async_wait), 2) << "the program's, and the one at the loop's end";
  for (Primitive none : {Primitive::cp_async, Primitive::cp_async_commit, Primitive::cp_async_wait}) EXPECT_EQ(primitive_calls(turing, none), 0);
}

TEST(Threads, AFixedNumberLeavesNoneForAProducer) {
  const Module module = lowered_threads(threads_program(kTwoParts), "sm_90a");
  EXPECT_FALSE(module.plans[0].roles.on);
  EXPECT_NE(module.plans[0].roles.reason.find("number of threads is fixed"), std::string::npos) << module.plans[0].roles.reason;
}

// Y after the program at one of its stages.
std::vector<float> after_threads(const ir::Program& program, int threads) {
  std::vector<float> x(128), y(128, -1);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 31);
  ir::HostArguments arguments;
  arguments.parameters.resize(2);
  arguments.parameters[0].data = x.data();
  arguments.parameters[1].data = y.data();
  for (ir::HostArgument& a : arguments.parameters) a.bytes = 512;
  ir::InterpretOptions options;
  options.threads = threads;
  const Status status = ir::interpret(program, arguments, options);
  EXPECT_TRUE(status) << (status ? "" : status.error().message);
  return y;
}

TEST(Threads, EveryPassKeepsTheirMeaning) {
  const std::string bodies[] = {kTwoParts, kCopied, R"(  2: threads (%t : 128) {
    let %v = load @X[%t]
    3: together %w = shuffle_up %v by mod(%t, 5) number 16
    4: together %b = ballot lt(%w, %v)
    if lt(%t, 64) {
      5: together %u = shuffle_xor add(%v, %w) by 3 number 32
      store @s[%t] = %u
      6: together sync number 3 count 64
    } else {
      store @s[%t] = cast<f32>(and(%b, u32(255)))
    }
    7: together fence block
    8: together sync
    9: for serial %i = 0 to 3 {
      10: let %u = load @s[mod(add(%t, %i), 128)]
      store @Y[%t] = %u
      11: together sync
    }
  }
)"};
  for (std::string body : bodies) {
    // A let is defined once.
    const size_t again = body.find("10: let %u");
    if (again != std::string::npos) body.replace(body.find("%u", again), 2, "%z"), body.replace(body.rfind("= %u"), 4, "= %z");
    std::string text = kThreadsHead + body + "}\n";
    text.insert(text.find("var %b let"), "var %z let f32\n");
    const auto parsed = ir::parse(text, "test");
    ASSERT_TRUE(parsed) << parsed.error().message;
    const std::vector<float> wanted = after_threads(*parsed, 0);
    for (const char* target : {"sm_75", "sm_80", "sm_90a"})
      for (const Pass& pass : gpu_passes()) {
        const Module module = lowered_threads(*parsed, target, pass.name);
        EXPECT_EQ(after_threads(module.program, planned_threads(module)), wanted) << target << " after " << pass.name << "\n" << ir::print(module.program);
      }
  }
}

}  // namespace
}  // namespace tilert::passes
