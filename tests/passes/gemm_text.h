// A matrix product as text, in the shapes that tests of several passes ask for.
#pragma once

#include <fmt/format.h>

#include <string>

namespace tilert::passes {

struct GemmShape {
  int bm = 128, bn = 128, bk = 64, stages = 3;
  std::string dtype = "bf16", hints, before, between, after;  // statements in the loop ahead of its copies, in it, and behind it
  std::string place;  // of A's copy along K; empty: that of the trip
  bool trans_b = true;
};

inline std::string gemm_text(const GemmShape& g) {
  const std::string b_shape = g.trans_b ? "[%N, %K]" : "[%K, %N]";
  const std::string b_tile = g.trans_b ? fmt::format("{}, {}", g.bn, g.bk) : fmt::format("{}, {}", g.bk, g.bn);
  const std::string b_region = g.trans_b ? fmt::format("0:{}, 0:{}", g.bn, g.bk) : fmt::format("0:{}, 0:{}", g.bk, g.bn);
  const std::string b_at = g.trans_b ? fmt::format("mul(%x, {0}):{0}, mul(%k, {1}):{1}", g.bn, g.bk)
                                     : fmt::format("mul(%k, {1}):{1}, mul(%x, {0}):{0}", g.bn, g.bk);
  return fmt::format(R"(tir 1
var %M dim index
var %N dim index
var %K dim index
var %x block index
var %y block index
var %k loop index
var %p let i32
var %q let index
dim %M
dim %N
dim %K
buffer @A global {0} [%M, %K] inout argument 0
buffer @B global {0} {1} in argument 1
buffer @C global {0} [%M, %N] out argument 2
buffer @I global i32 [64] inout argument 3
buffer @a shared {0} [{2}, {3}]
buffer @b shared {0} [{4}]
buffer @acc fragment f32 [{2}, {5}]
parameter tensor @A "A"
parameter tensor @B "B"
parameter tensor @C "C"
parameter tensor @I "I"
kernel "gemm" (%x, %y) grid [div(add(%N, {6}), {5}), div(add(%M, {7}), {2})]{8} {{
  1: alloc @a
  2: alloc @b
  3: alloc @acc
  4: fill @acc[0:{2}, 0:{5}] = f32(0x0)
  8: for pipelined %k = 0 to div(add(%K, {9}), {3}) stages {10} {{
{16}    5: copy @A[mul(%y, {2}):{2}, {17}:{3}] -> @a[0:{2}, 0:{3}]
    6: copy @B[{11}] -> @b[{12}]
    7: gemm @a[0:{2}, 0:{3}], @b[{12}], @acc[0:{2}, 0:{5}]{13} accumulate true
{14}  }}
{15}  90: copy @acc[0:{2}, 0:{5}] -> @C[mul(%y, {2}):{2}, mul(%x, {5}):{5}]
}}
)",
                     g.dtype, b_shape, g.bm, g.bk, b_tile, g.bn, g.bn - 1, g.bm - 1, g.hints, g.bk - 1, g.stages, b_at, b_region,
                     g.trans_b ? " trans_b" : "", g.between, g.after, g.before,
                     g.place.empty() ? fmt::format("mul(%k, {})", g.bk) : g.place);
}

}  // namespace tilert::passes
