// What the GPU passes decide for kernels that reduce rows: who works on a row, how many barriers that takes, how many blocks
// may share a multiprocessor. That meaning is kept is meaning_test.cpp's claim.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "passes/lowered.h"

namespace tilert::passes {
namespace {

using ir::Primitive;

// Two reductions of rows, each over all of the tile; the second of what the first's result changed.
std::string rows_text(int rows, int columns, const char* dtype, const char* hints = "") {
  return fmt::format(R"(tir 1
var %R dim index
var %b block index
var %i loop index
var %j loop index
var %x let {2}
var %t let {2}
dim %R
buffer @X global {2} [%R, {1}] in argument 0
buffer @Y global {2} [%R] out argument 1
buffer @v fragment {2} [{0}, {1}]
buffer @top fragment {2} [{0}]
parameter tensor @X "X"
parameter tensor @Y "Y"
kernel "rows" (%b) grid [div(add(%R, {3}), {0})]{4} {{
  1: alloc @v
  2: alloc @top
  3: copy @X[mul(%b, {0}):{0}, 0:{1}] -> @v[0:{0}, 0:{1}]
  4: reduce max @v[0:{0}, 0:{1}] -> @top[0:{0}] dim 1
  5: parallel (%i : {0}, %j : {1}) {{
    6: let %x = load @v[%i, %j]
    7: let %t = load @top[%i]
    8: store @v[%i, %j] = sub(%x, %t)
  }}
  9: reduce min @v[0:{0}, 0:{1}] -> @top[0:{0}] dim 1
  10: copy @top[0:{0}] -> @Y[mul(%b, {0}):{0}]
}}
)",
                     rows, columns, dtype, rows - 1, hints);
}

TEST(Rows, SeveralRowsAreReducedByOneWarpEachWithoutABarrier) {
  const Module module = lowered(rows_text(8, 256, "f32"), "sm_90a");
  EXPECT_EQ(count(module.program.kernels[0].body, Primitive::barrier), 0);
  EXPECT_EQ(module.plans[0].shared_bytes, 0);
}

TEST(Rows, OneRowTakesOneBarrierForEachReduction) {
  const Module module = lowered(rows_text(1, 8192, "f32"), "sm_90a");
  EXPECT_EQ(count(module.program.kernels[0].body, Primitive::barrier), 2);
}

TEST(Rows, IntegersOfAWarpAreReducedByOneInstruction) {
  const Module module = lowered(rows_text(8, 256, "i32", " hint threads 256"), "sm_80");
  EXPECT_EQ(count(module.program.kernels[0].body, Primitive::redux_max), 1);
  EXPECT_EQ(count(module.program.kernels[0].body, Primitive::redux_min), 1);
  EXPECT_EQ(count(module.program.kernels[0].body, Primitive::shuffle_xor), 0);
  EXPECT_EQ(count(lowered(rows_text(8, 256, "f32", " hint threads 256"), "sm_80").program.kernels[0].body, Primitive::redux_max), 0);
}

TEST(Rows, AsManyBlocksShareAMultiprocessorAsTheTilesRegistersAllow) {
  const auto blocks = [](const char* hints) { return lowered(rows_text(1, 8192, "f32", hints), "sm_90a").plans[0].min_blocks; };
  EXPECT_EQ(blocks(""), 4);  // 32 elements a thread of 256, and as many again for all else
  EXPECT_EQ(blocks(" hint threads 512"), 2);
  EXPECT_EQ(blocks(" hint threads 128"), 1);  // 64 elements a thread: they need more registers
  EXPECT_EQ(blocks(" hint min_blocks 1"), 1);
  EXPECT_EQ(blocks(" hint max_registers 128"), 2);
}

}  // namespace
}  // namespace tilert::passes
