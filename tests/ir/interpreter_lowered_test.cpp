// The interpreter on lowered code: threads in step, primitives, registers, shared memory with places.
#include <gtest/gtest.h>

#include <random>

#include "ir/interpreter_support.h"

namespace tilert::ir {
namespace {

using samples::error_of;
using samples::program;
using samples::tensor;

TEST(Interpreter, AnMmaFedByLdmatrixIsAMatrixProduct) {
  const Program p = program(R"(
var %t thread index
var %x block index
buffer @A global f16 [16, 16] in argument 0
buffer @B global f16 [8, 16] in argument 1
buffer @C global f32 [16, 8] out argument 2
buffer @as shared f16 [16, 16]
buffer @bs shared f16 [8, 16]
buffer @ra registers f16 [8]
buffer @rb registers f16 [4]
buffer @rc registers f32 [4]
parameter tensor @A
parameter tensor @B
parameter tensor @C
kernel "k" (%x) grid [1] threads 32 {
  alloc @as alloc @bs alloc @ra alloc @rb alloc @rc
  group "copies" {
    call cp_async ("16", address @as[div(%t, 2), mul(mod(%t, 2), 8)], address @A[div(%t, 2), mul(mod(%t, 2), 8)], 16)
    if lt(%t, 16) {
      call cp_async ("16", address @bs[div(%t, 2), mul(mod(%t, 2), 8)], address @B[div(%t, 2), mul(mod(%t, 2), 8)], 16)
    }
    call cp_async_commit () call cp_async_wait ("0") call barrier ()
  }
  group "product" {
    for unrolled %x = 0 to 4 { store @rc[%x] = f32(0.0) }
    call ldmatrix_x4 (registers @ra[0] : 8, address @as[mod(%t, 16), mul(div(%t, 16), 8)])
    call ldmatrix_x2 (registers @rb[0] : 4, address @bs[mod(%t, 8), mul(mod(div(%t, 8), 2), 8)])
    call mma_m16n8k16_f16 (registers @rc[0] : 4, registers @ra[0] : 8, registers @rb[0] : 4)
    move @C[div(%t, 4), mul(mod(%t, 4), 2)] = @rc[0] count 2
    move @C[add(div(%t, 4), 8), mul(mod(%t, 4), 2)] = @rc[2] count 2
  }
}
)");
  std::mt19937 random(4);
  std::vector<uint16_t> a(256), b(128);
  for (auto& v : a) v = f32_to_f16(static_cast<float>(static_cast<int>(random() % 9) - 4));
  for (auto& v : b) v = f32_to_f16(static_cast<float>(static_cast<int>(random() % 9) - 4));
  std::vector<float> c(128);
  ASSERT_EQ(error_of(p, {{tensor(a), tensor(b), tensor(c)}, {}}), "no error");
  for (size_t i = 0; i < 128; ++i) {
    float sum = 0;
    for (size_t s = 0; s < 16; ++s) sum += f16_to_f32(a[i / 8 * 16 + s]) * f16_to_f32(b[i % 8 * 16 + s]);
    ASSERT_EQ(c[i], sum) << i;
  }
}

const char kLanes[] =
    "var %t thread index\nvar %x block index\nvar %i loop index\nvar %v let f32\nbuffer @B global f32 [32] inout "
    "argument 0\n"
    "buffer @s shared f32 [32]\nbuffer @r registers f32 [1]\nbuffer @q registers f32 [1]\nparameter tensor @B\n"
    "kernel \"k\" (%x) grid [1] threads 32 { group \"g\" { ";

std::vector<float> lanes(const std::string& body, std::string* error = nullptr) {
  const Program p = program(kLanes + body + " } }");
  std::vector<float> b(32);
  const std::string message = error_of(p, {{tensor(b)}, {}});
  if (error)
    *error = message;
  else
    EXPECT_EQ(message, "no error");
  return b;
}

TEST(Interpreter, ThreadsRunStatementByStatement) {
  const auto b = lanes("store @s[%t] = cast<f32>(%t) let %v = load @s[sub(31, %t)] store @B[%t] = %v");
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(b[i], static_cast<float>(31 - i));
}

TEST(Interpreter, AShuffleMovesAnElementBetweenLanes) {
  const auto x = lanes(
      "store @r[0] = cast<f32>(%t) call shuffle_xor (registers @q[0] : 1, registers @r[0] : 1, i32(5)) move @B[%t] = "
      "@q[0] count 1");
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(x[i], static_cast<float>(i ^ 5));
}

TEST(Interpreter, LanesWithLoopBoundsOfTheirOwnWaitForEachOther) {
  const auto b = lanes(
      "store @r[0] = f32(0.0) for serial %i = 0 to %t { let %v = load @r[0] store @r[0] = add(%v, f32(1.0)) } move "
      "@B[%t] = @r[0] count 1");
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(b[i], static_cast<float>(i));
}

// Elements three apart, in a tensor and in the second one of a table.
TEST(Interpreter, AnOffsetOfFlatCodeIsNoIndex) {
  const std::string head = R"(
var %t thread index
var %x block index
var %v let f32
var %u let f32
var %w let i64
buffer @A global f32 [4] strides [3] strided in argument 0
buffer @T global f32 [2, 4] strides [0, 3] strided in argument 1 addressed
buffer @P global i64 [2] in argument 1
buffer @B global f32 [4] out argument 2
buffer @C global f32 [4] out argument 3
parameter tensor @A
parameter tensor @T
parameter tensor @B
parameter tensor @C
kernel "k" (%x) grid [1] threads 4)";
  const auto run = [&](const std::string& body, std::vector<float>& b, std::vector<float>& c) {
    std::vector<float> a(10), t(10);
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i), t[i] = static_cast<float>(100 + i);
    const float* table[] = {nullptr, t.data()};
    HostArgument pointers;
    pointers.data = table, pointers.bytes = sizeof table;
    return error_of(program(head + body), {{tensor(a), pointers, tensor(b), tensor(c)}, {}});
  };
  const std::string body = R"( {
  let %w = load @P[1]
  group "g" {
    let %v = load @A[AT] store @B[%t] = %v
  }
  group "h" {
    let %u = load @T[cast<index>(%w), AT] store @C[%t] = %u
  }
})";
  const auto at = [&](const std::string& index) {
    std::string text = body;
    for (size_t i; (i = text.find("AT")) != std::string::npos;) text.replace(i, 2, index);
    return text;
  };
  std::vector<float> b(4), c(4);
  const std::vector<float> want{0, 3, 6, 9}, behind{100, 103, 106, 109};
  ASSERT_EQ(run(" flat" + at("mul(%t, 3)"), b, c), "no error");
  EXPECT_EQ(b, want);
  EXPECT_EQ(c, behind);
  b.assign(4, 0), c.assign(4, 0);
  ASSERT_EQ(run(at("%t"), b, c), "no error");
  EXPECT_EQ(b, want);
  EXPECT_EQ(c, behind);
}

TEST(Interpreter, RegistersOfALaneThatWroteNoneAreUndefined) {
  std::string error;
  lanes("if lt(%t, 16) { store @r[0] = f32(1.0) } 5: move @B[%t] = @r[0] count 1", &error);
  EXPECT_NE(error.find("operation 5: element 0 of 'r' is read"), std::string::npos) << error;
  lanes("if lt(%t, 16) { 6: call shuffle_xor (registers @q[0] : 1, registers @r[0] : 1, i32(3)) }", &error);
  EXPECT_NE(error.find("operation 6: a collective of a warp is called by a part of its lanes"), std::string::npos)
      << error;
}

TEST(Interpreter, BuffersThatShareAPlaceInSharedMemoryOverwriteEachOther) {
  const Program p = program(
      "var %x block index\nbuffer @B global f32 [1] out argument 0\nbuffer @s shared f32 [4] offset 0\nbuffer @q "
      "shared f32 [4] offset 8\nvar %v let f32\n"
      "parameter tensor @B\nkernel \"k\" (%x) grid [1] { fill @s[0:4] = f32(1.0) fill @q[0:4] = f32(2.0) let %v = load "
      "@s[3] store @B[0] = %v }");
  std::vector<float> b(1);
  ASSERT_EQ(error_of(p, {{tensor(b)}, {}}), "no error");
  EXPECT_EQ(b[0], 2.f);
}

TEST(Interpreter, TileOperationsBesideWaitsMeanTheWholeBlock) {
  const Program p = program(R"(
var %x block index
var %old let i32
var %v let i32
buffer @O global i32 [2] inout argument 0
buffer @l local i32 [2]
buffer @v var i32 []
parameter tensor @O
kernel "k" (%x) grid [1] threads 64 {
  alloc @l alloc @v
  fill @l[0:2] = i32(3)
  call cp_async_commit () call cp_async_wait ("0")
  1: reduce sum @l[0:2] -> @v[] dim 0
  let %v = load @v[]
  2: atomic %old = add @O[0] with %v
  store @O[1] = %v
}
)");
  std::vector<int32_t> out{5, 0};
  ASSERT_EQ(error_of(p, {{tensor(out)}, {}}), "no error");
  EXPECT_EQ(out, (std::vector<int32_t>{11, 6}));
}

}  // namespace
}  // namespace tilert::ir
