// The pass `tables`: where addresses are read, and that each stage of a program with tables means what it says.
#include <gtest/gtest.h>

#include "ir/interpreter.h"
#include "passes/lowered.h"

namespace tilert::passes {
namespace {

using namespace ir;

const char kHead[] = R"(tir 1
var %N dim index
var %x block index
var %k loop index
var %i loop index
var %j loop index
var %e let i32
var %p let i32
var %v let f32
dim %N
buffer @W global f32 [4, 8, 8] in argument 0 table
buffer @Z global f32 [4, 8, 8] inout argument 1 table
buffer @id global i32 [%N] in argument 2
buffer @t shared f32 [8, 8]
parameter tensor @W "W"
parameter tensor @Z "Z"
parameter tensor @id "id"
kernel "k" (%x) grid [%N] {
  1: alloc @t
  2: let %e = load @id[%x]
)";

// Reads of tables, and how many loops of any kind stand around each.
std::vector<int> depths(const Program& program, const Block& block, int depth = 0) {
  std::vector<int> out;
  for (const StmtPtr& s : block) {
    std::vector<int> inner;
    if (const auto* let = std::get_if<Let>(&s->node); let && !let->value && program.buffer(let->read.buffer).name.ends_with("_table")) inner = {depth};
    if (const auto* loop = std::get_if<For>(&s->node)) inner = depths(program, loop->body, depth + 1);
    if (const auto* loop = std::get_if<Parallel>(&s->node)) inner = depths(program, loop->body, depth + 1);
    if (const auto* branch = std::get_if<If>(&s->node)) inner = depths(program, branch->then_body, depth);
    out.insert(out.end(), inner.begin(), inner.end());
  }
  return out;
}

std::vector<int> reads(const std::string& body) {
  const Module module = lowered(kHead + body + "}\n", "sm_80", "tables", 3);
  return depths(module.program, module.program.kernels[0].body);
}

TEST(Tables, AnAddressIsReadOnceWhereItsPlaceIsKnown) {
  const std::string in_loop = "for serial %k = 0 to 8 { copy @W[cast<index>(%e):1, 0:8, 0:8] -> @t[0:8, 0:8] } ";
  EXPECT_EQ(reads(in_loop), std::vector<int>{0});
  EXPECT_EQ(reads(in_loop + "copy @W[cast<index>(%e):1, 0:8, 0:8] -> @t[0:8, 0:8]"), std::vector<int>{0});
  EXPECT_EQ(reads("for serial %k = 0 to 8 { copy @W[%k:1, 0:8, 0:8] -> @t[0:8, 0:8] }"), std::vector<int>{1});
  EXPECT_EQ(reads("parallel (%i : 8, %j : 8) { let %v = load @W[%x, %i, %j] store @Z[%x, %i, %j] = %v }"), (std::vector<int>{0, 0}));
  EXPECT_EQ(reads("parallel (%i : 8, %j : 8) { if lt(%i, 4) { let %v = load @W[%i, %j, 0] } }"), std::vector<int>{1});
}

const char* const kBodies[] = {
    "11: copy @W[cast<index>(%e):1, 0:8, 0:8] -> @t[0:8, 0:8] safe f32(0x40400000) 12: copy @t[0:8, 0:8] -> @Z[sub(3, %x):1, 0:8, 0:8]",
    "13: copy @W[cast<index>(%e):1, 0:8, 0:8] -> @t[0:8, 0:8] valid [2, 5, _] 14: copy @t[0:8, 0:8] -> @Z[sub(3, %x):1, 0:8, 0:8]",
    "15: parallel (%i : 8, %j : 8) { 16: let %v = load @W[sub(%i, 2), %i, %j] 17: store @Z[sub(add(%i, %x), 3), %i, %j] = %v }",
    "18: for pipelined %k = 0 to 4 stages 2 { 19: copy @W[cast<index>(%e):1, mul(%k, 2):8, 0:8] -> @t[0:8, 0:8] 20: copy @t[0:8, 0:8] -> "
    "@Z[%x:1, 0:8, 0:8] }",
    "21: for pipelined %k = 0 to 4 stages 3 { 22: copy @W[sub(%k, 1):1, 0:8, 0:8] -> @t[0:8, 0:8] 23: parallel (%i : 8, %j : 8) { 24: let "
    "%v = load @t[%i, %j] 25: store @Z[%x, %i, %j] = add(%v, cast<f32>(%k)) } }",
    "26: for pipelined %k = 0 to 3 stages 2 { 27: let %p = load @id[%k] 28: copy @W[cast<index>(%p):1, 0:8, 0:8] -> @t[0:8, 0:8] 29: parallel "
    "(%i : 8, %j : 8) { 30: let %v = load @t[%i, %j] 31: store @Z[%x, %i, %j] = add(%v, cast<f32>(%p)) } }",
};

TEST(Tables, EveryStageMeansTheSame) {
  for (const char* body : kBodies) {
    std::vector<float> first;
    const auto run = [&](const Program& program, int threads, const std::string& where) {
      std::vector<float> w(4 * 64), z(4 * 64, -1);
      for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i + 1);
      int32_t id[] = {2, 7, 0};
      float* from[] = {&w[0], nullptr, &w[64], &w[128]};
      float* to[] = {&z[0], &z[64], nullptr, &z[128]};
      HostArguments arguments;
      arguments.parameters = {{from, sizeof from, {}, 0}, {to, sizeof to, {}, 0}, {id, sizeof id, {}, 0}};
      arguments.dims = {3};
      const Status ran = interpret(program, arguments, {.threads = threads});
      EXPECT_TRUE(ran) << where << ": " << (ran ? "" : ran.error().message);
      if (first.empty()) first = z;
      EXPECT_EQ(z, first) << where << " of " << body;
    };
    run(*parse(kHead + std::string(body) + "}\n", "tables"), 0, "the program");
    EXPECT_NE(first, std::vector<float>(4 * 64, -1)) << body;
    for (const char* target : {"sm_80", "sm_90a"})
      for (const Pass& pass : gpu_passes()) {
        const Module module = lowered(kHead + std::string(body) + "}\n", target, pass.name, 3);
        run(module.program, planned_threads(module), pass.name);
      }
  }
}

// Elements of the tensors lie apart, and lowered code names them by their offset.
TEST(Tables, EveryStageReadsAStridedRowOfATable) {
  const char text[] = R"(tir 1
var %x block index
var %i loop index
var %j loop index
var %v let f32
var %u let f32
buffer @W global f32 [3, 8] strides [0, 3] strided in argument 0 table
buffer @R global f32 [8] strides [2] strided in argument 1
buffer @Z global f32 [3, 8] out argument 2
buffer @Y global f32 [8] strides [4] strided out argument 3
parameter tensor @W "W"
parameter tensor @R "R"
parameter tensor @Z "Z"
parameter tensor @Y "Y"
kernel "k" (%x) grid [3] {
  1: parallel (%i : 8) { 2: let %v = load @W[sub(2, %x), %i] 3: store @Z[%x, %i] = %v }
  4: parallel (%j : 8) { 5: let %u = load @R[%j] 6: store @Y[%j] = %u }
}
)";
  for (const char* target : {"sm_80", "sm_90a"})
    for (const Pass& pass : gpu_passes()) {
      const Module module = lowered(text, target, pass.name);
      std::vector<float> w(2 * 22), r(15), z(24), y(29, -1);
      for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i);
      for (size_t i = 0; i < r.size(); ++i) r[i] = static_cast<float>(i + 100);
      float* from[] = {&w[0], nullptr, &w[22]};
      const auto bytes = [](const std::vector<float>& v) { return static_cast<int64_t>(v.size() * sizeof v[0]); };
      HostArguments arguments;
      arguments.parameters = {{from, sizeof from, {}, 0}, {r.data(), bytes(r), {}, 0}, {z.data(), bytes(z), {}, 0}, {y.data(), bytes(y), {}, 0}};
      const Status ran = interpret(module.program, arguments, {.threads = planned_threads(module)});
      ASSERT_TRUE(ran) << pass.name << ": " << ran.error().message;
      for (size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(z[i], w[22 + 3 * i]) << pass.name;
        EXPECT_EQ(z[8 + i], 0) << pass.name;
        EXPECT_EQ(z[16 + i], w[3 * i]) << pass.name;
        EXPECT_EQ(y[4 * i], r[2 * i]) << pass.name;
      }
    }
}

}  // namespace
}  // namespace tilert::passes
