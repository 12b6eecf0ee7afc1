// Each rule of the verifier has a program that breaks it, and the words that its user reads; what is right passes.
#include "ir/verifier.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "ir/interpreter.h"
#include "ir/parser.h"
#include "ir/random_program.h"
#include "ir/sample_programs.h"

namespace tilert::ir {
namespace {

const char kDeclarations[] = R"(tir 1
var %N dim index
var %n scalar i32
var %x block index
var %i loop index
var %j loop index
var %k loop index
var %v let f32
var %h let f16
var %b let bool
var %w let f32
dim %N
buffer @A global f32 [%N, 64] in argument 0
buffer @B global f32 [%N, 64] out argument 1
buffer @C global f32 [64] inout argument 2
buffer @a shared f16 [32, 16]
buffer @b shared f16 [16, 8]
buffer @acc fragment f32 [32, 8]
buffer @row fragment f32 [32]
buffer @s shared f32 [64]
buffer @one var f32 []
buffer @few local f32 [4]
buffer @ints fragment i32 [32, 8]
parameter tensor @A "A"
parameter tensor @B "B"
parameter tensor @C "C"
parameter scalar %n "n"
kernel "k" (%x) grid [%N] {
)";

std::string verdict(const std::string& text, Stage stage = Stage::tile) {
  auto p = parse(text, "t", {.allow_source = true});
  EXPECT_TRUE(p) << (p ? "" : p.error().message) << "\n" << text;
  if (!p) return "";
  const Status status = verify(*p, stage);
  return status ? "right" : status.error().message;
}

struct Case {
  const char* body;
  const char* message;
};

const char kAll[] = "alloc @a alloc @b alloc @acc alloc @row alloc @s alloc @one alloc @few alloc @ints ";
const char kFilled[] =
    "fill @a[0:32, 0:16] = f16(0.0) fill @b[0:16, 0:8] = f16(0.0) fill @acc[0:32, 0:8] = f32(0.0) fill @s[0:64] = "
    "f32(0.0) ";

class Statements : public testing::TestWithParam<Case> {};

TEST_P(Statements, BreakOneRuleEach) {
  EXPECT_EQ(verdict(std::string(kDeclarations) + kAll + GetParam().body + "}"), GetParam().message) << GetParam().body;
}

const Case kBroken[] = {
    // names
    {"7: store @s[%i] = f32(0.0)",
     "operation 7: 'i' is used where it has no value; a loop's variable is known in the loop's body"},
    {"store @s[0] = %v",
     "operation 0: 'v' is used where it has no value; a let is known after it is made, inside the block where it was "
     "made"},
    {"for serial %i = 0 to 3 { let %v = load @C[0] } store @s[0] = %v",
     "operation 0: 'v' is used where it has no value; a let is known after it is made, inside the block where it was "
     "made"},
    {"let %v = load @C[0] let %v = load @C[1]", "operation 0: 'v' is defined twice"},
    {"for serial %v = 0 to 3 { }", "operation 0: 'v' is not a loop variable"},
    {"parallel (%i : 4) { alloc @one } let %v = load @one[]",
     "operation 0: 'one' is read, but nothing was written to it before; fill, clear or copy into it first"},
    // copy
    {"1: copy @A[0:32, 0:16] -> @a[0:16, 0:16]",
     "operation 1: copy of 'A' [32, 16] to 'a' [16, 16]: the extents differ; a copy moves a box of one shape"},
    {"1: copy @A[0:32] -> @row[0:32]",
     "operation 1: copy: a region of 'A' needs 2 offsets and extents, one a dim; 1 and 1 are given"},
    {"1: copy @C[0:64] -> @s[1:64]",
     "operation 1: copy: the region leaves 's' along dim 0: 64 elements from 1 on, of 64"},
    {"1: copy @C[0:65] -> @s[mul(%x, 8):65]",
     "operation 1: copy: the region leaves 's' along dim 0: 65 elements from 0 on, of 64"},
    {"1: copy @B[0:1, 0:64] -> @s[0:64]", "operation 1: 'B' is declared out and is read; declare it inout"},
    {"1: copy @s[0:64] -> @C[0:64]",
     "operation 1: 's' is read, but nothing was written to it before; fill, clear or copy into it first"},
    {"fill @s[0:64] = f32(0.0) 1: copy @s[0:64] -> @A[0:1, 0:64]",
     "operation 1: 'A' is declared in and is written; declare it out or inout"},
    {"1: copy @C[0:32] -> @C[32:32]",
     "operation 1: copy from 'C' to 'C', which may overlap; copy through a shared tile"},
    {"1: copy @C[0:64] -> @s[0:64] safe f16(0.0)", "operation 1: the safe value is f16, f32 is needed; write a cast"},
    {"1: copy @C[0:64] -> @s[0:64] valid [1, 2]", "operation 1: copy: 2 valid bounds for 1 dims"},
    {"fill @s[0:64] = f32(0.0) 1: copy @s[0:32] -> @row[0:32] valid [1]",
     "operation 1: valid bounds belong to a tensor, and neither side of this copy is one"},
    {"1: copy @one[] -> @C[0:1]",
     "operation 1: a side of copy is 'one', a var buffer; it must be global or shared or fragment or local"},
    {"1: copy @A[0:100000, 0:100000] -> @B[0:100000, 0:100000]",
     "operation 1: copy: the region of 'A' has more than 2147483648 elements"},
    {"1: parallel (%i : 100000, %j : 100000) { }", "operation 1: parallel over more than 2147483648 points"},
    {"1: copy @C[0:0] -> @s[0:0]", "operation 1: copy: the region of 'C' has an extent of 0"},
    // fill
    {"1: fill @s[0:64] = f16(0.0)", "operation 1: the value of fill is f16, f32 is needed; write a cast"},
    {"1: fill @A[0:1, 0:1] = f32(0.0)", "operation 1: 'A' is declared in and is written; declare it out or inout"},
    // gemm
    {"1: gemm @a[0:32, 0:16], @b[0:16, 0:8], @acc[0:32, 0:8] accumulate false",
     "operation 1: 'a' is read, but nothing was written to it before; fill, clear or copy into it first"},
    {"1: gemm @a[0:32, 0:16], @b[0:16, 0:8], @acc[0:32, 0:8] trans_b accumulate false",
     "operation 1: gemm of 'a' [32, 16] by 'b' [8, 16] into 'acc' [32, 8]: [m, k] by [k, n] gives [m, n]; is a "
     "transposition missing?"},
    {"1: gemm @a[0:32, 0:16], @s[0:8], @acc[0:32, 0:8]",
     "operation 1: b of gemm is 's' [8]; it must be a matrix, with leading extents of 1"},
    {"1: gemm @a[0:32, 0:16], @b[0:16, 0:8], @a[0:32, 0:8]",
     "operation 1: c of gemm is 'a', a shared buffer; it must be fragment"},
    {"1: gemm @A[0:32, 0:16], @b[0:16, 0:8], @acc[0:32, 0:8]",
     "operation 1: a of gemm is 'A', a global buffer; it must be shared or fragment"},
    {"1: gemm @a[0:32, 0:16], @b[0:16, 0:8], @ints[0:32, 0:8]",
     "operation 1: gemm of f16 into i32; f64 adds up in f64, other floats in f32, f16 or bf16, integers in int32 or "
     "int64"},
    {"1: gemm @a[0:32, 0:16], @b[0:16, 0:8], @acc[0:32, 0:8] accumulate %x",
     "operation 1: accumulate of gemm is index, bool is needed; write a cast"},
    {"1: gemm @a[0:32, 0:16], @b[0:16, 0:8], @acc[0:32, 0:8] sparse @b[0:16, 0:8]",
     "operation 1: metadata of gemm is 'b', which is f16; it is uint8, uint16 or uint32"},
    {"1: gemm @a[0:32, 0:16], @b[0:16, 0:8], @acc[0:32, 0:8] trans_a sparse @b[0:16, 0:8]",
     "operation 1: gemm of 'a', which is sparse and transposed; keep its rows along k"},
    {"1: gemm @a[0:32, 0:9], @b[0:15, 0:8], @acc[0:32, 0:8] sparse @b[0:16, 0:8]",
     "operation 1: sparse gemm over 15 elements of k, which come in fours"},
    {"1: gemm @a[0:32, 0:8], @b[0:16, 0:8], @acc[0:32, 0:8] sparse @A[0:16, 0:8]",
     "operation 1: metadata of gemm is 'A', a global buffer; it must be shared or fragment"},
    // reduce
    {"1: reduce sum @acc[0:32, 0:8] -> @row[0:32] dim 2", "operation 1: reduce over dim 2 of 'acc', which has 2"},
    {"1: reduce sum @acc[0:32, 0:8] -> @row[0:32] dim 0",
     "operation 1: reduce of 'acc' [32, 8] over dim 0 into 'row' [32]: the destination must be [8] or [1, 8]"},
    {"1: reduce bit_or @acc[0:32, 0:8] -> @row[0:32] dim 1", "operation 1: reduce bit_or of f32 into f32; bits reduce into integers, the other operations into numbers; cast before"},
    {"1: reduce sum @A[0:32, 0:8] -> @row[0:32] dim 1",
     "operation 1: the source of reduce is 'A', a global buffer; it must be fragment or shared or local"},
    {"fill @acc[0:32, 0:8] = f32(0.0) 1: reduce sum @acc[0:32, 0:8] -> @row[0:32] dim 1 accumulate",
     "operation 1: 'row' is read, but nothing was written to it before; fill, clear or copy into it first"},
    // print and assert
    {"1: print \"\" [%x, %x, %x, %x, %x, %x, %x] at [%x]",
     "operation 1: 7 values are reported at once; 6 are the limit, so report the others by themselves"},
    {"1: print \"\" [f16(0x0)] at [%x]", "operation 1: a reported value is f16; cast it to f32 or int32"},
    {"1: assert \"\" [%x] at []", "operation 1: 0 coordinates of a block; a grid has 1 to 3"},
    {"1: assert \"\" [] at [true]", "operation 1: a coordinate of the block is bool, index is needed; write a cast"},
    // parallel
    {"parallel (%i : 4) { 2: copy @C[0:64] -> @s[0:64] }",
     "operation 2: copy inside parallel, whose body holds loads, stores, atomic operations, if, serial and while loops, "
     "var and local"},
    {"parallel (%i : 4) { 2: parallel (%j : 4) { } }",
     "operation 2: parallel inside parallel, whose body holds loads, stores, atomic operations, if, serial and while loops, "
     "var and local"},
    {"parallel (%i : 4) { 2: alloc @s }",
     "operation 2: 's' is declared inside parallel; only var and local are private to a point, declare others before"},
    {"parallel (%i : 4) { 2: for pipelined %j = 0 to 4 { } }",
     "operation 2: a pipelined loop inside parallel; use a serial one"},
    {"parallel (%i : 4, %j : 8) { 2: store @s[%i] = f32(0.0) }",
     "operation 2: store to 's': all 8 points along 'j' write the same element; use reduce, or a serial loop"},
    {"1: parallel (%i : 0) { }", "operation 1: parallel over an extent of 0; extents are at least 1"},
    // control
    {"1: if %x { }", "operation 1: the condition of if is index, bool is needed; write a cast"},
    {"1: for serial %i = 0 to 4 step 0 { }", "operation 1: a loop's step is 0"},
    {"1: for pipelined %i = 0 to 4 stages 100 { }",
     "operation 1: 100 stages; 0 leaves the choice to the compiler, 64 is the limit"},
    {"1: for serial %i = 0 to %n { }", "operation 1: a loop's end is i32, index is needed; write a cast"},
    // elements
    {"1: store @s[0] = f16(0.0)", "operation 1: the stored value is f16, f32 is needed; write a cast"},
    {"1: store @s[64] = f32(0.0)", "operation 1: store: index 64 leaves 's' along dim 0, which has 64"},
    {"1: store @s[0, 0] = f32(0.0)", "operation 1: store: 's' has 1 dims, 2 indices are given"},
    {"1: store @A[0, 0] = f32(0.0)", "operation 1: 'A' is declared in and is written; declare it out or inout"},
    {"1: let %v = load @B[0, 0]", "operation 1: 'B' is declared out and is read; declare it inout"},
    {"1: let %h = load @C[0]", "operation 1: load: 'C' holds f32, f16 was expected"},
    {"1: let %b = lt(%x, 3) let %v = cast<f32>(cast<tf32>(%x))",
     "operation 0: an expression is tf32, which is a mode of gemm and no element type; use f32"},
    {"1: inline \"metal\" \"\" ()", "operation 1: inline source for 'metal'; this version takes cuda, hip and llvm"},
    // stages
    {"1: group \"g\" { }", "operation 1: group has no place at this stage"},
    {"1: move @s[0] = @s[1] count 1", "operation 1: move has no place at this stage"},
    {"1: call barrier ()", "operation 1: call has no place at this stage"},
};
INSTANTIATE_TEST_SUITE_P(Rules, Statements, testing::ValuesIn(kBroken));

std::string of_buffer(const std::string& line) {
  return verdict("tir 1\nvar %x block index\nvar %i loop index\nbuffer @t shared f32 [8, 8]\n" + line + "\nkernel \"k\" (%x) grid [1] {\n}\n");
}

TEST(Verifier, AViewShowsAllOfATileOfItsScope) {
  EXPECT_EQ(of_buffer("buffer @v shared u16 [128] view @t"), "right");
  EXPECT_NE(of_buffer("buffer @v shared u16 [64] view @t").find("has 1024 bits, 't' has 2048"), std::string::npos);
  EXPECT_NE(of_buffer("buffer @v shared bool [256] view @t").find("bytes are not bools"), std::string::npos);
  EXPECT_NE(of_buffer("buffer @v fragment f32 [64] view @t").find("views are of shared tiles and fragments"), std::string::npos);
  EXPECT_NE(of_buffer("buffer @v shared f32 [64] view @t\nbuffer @w shared f32 [64] view @v").find("a view of a view"), std::string::npos);
}

TEST(Verifier, ACustomLayoutGivesEachElementAPlaceOfItsOwn) {
  EXPECT_EQ(of_buffer("buffer @l shared f32 [64] layout custom (%i) = sub(63, %i)"), "right");
  EXPECT_NE(of_buffer("buffer @l shared f32 [64] layout custom (%i) = div(%i, 2)").find("element [1] lies at 0, where another does"), std::string::npos);
  EXPECT_NE(of_buffer("buffer @l shared f32 [64] layout custom (%i) = sub(62, %i)").find("lies at -1"), std::string::npos);
  EXPECT_NE(of_buffer("buffer @l shared f32 [64] layout custom (%i) = %x").find("made of more than"), std::string::npos);
}

TEST(Verifier, ATileIsUsedInsideTheBlockThatDeclaresIt) {
  EXPECT_EQ(verdict(std::string(kDeclarations) + "1: fill @s[0:64] = f32(0.0) }"),
            "operation 1: 's' is used outside of the block that declares it; declare it further out");
  EXPECT_EQ(verdict(std::string(kDeclarations) + "for serial %i = 0 to 2 { alloc @s } 1: fill @s[0:64] = f32(0.0) }"),
            "operation 1: 's' is used outside of the block that declares it; declare it further out");
}

class Declarations : public testing::TestWithParam<Case> {};
TEST_P(Declarations, BreakOneRuleEach) {
  EXPECT_EQ(verdict("tir 1\nvar %N dim index\nvar %x block index\ndim %N\n" + std::string(GetParam().body)),
            GetParam().message)
      << GetParam().body;
}
const Case kBrokenDeclarations[] = {
    {"kernel \"k\" () grid [] { }", "kernel 'k': a grid has 1 to 3 extents, this one 0"},
    {"kernel \"k\" () grid [1] { }", "kernel 'k': the grid has 1 extents and 0 block indices"},
    {"kernel \"k\" (%x, %x) grid [1, 1] { }", "kernel 'k': 'x' is defined twice"},
    {"kernel \"k\" (%N) grid [1] { }", "kernel 'k': 'N' is not a block variable"},
    {"kernel \"k\" (%x) grid [%x] { }", "kernel 'k': a grid extent depends on more than dims and scalar parameters"},
    {"kernel \"k\" (%x) grid [true] { }", "kernel 'k': a grid extent is not an index expression"},
    {"kernel \"k\" (%x) grid [1] threads 2048 { }", "kernel 'k': a block has 1 to 1024 threads, not 2048"},
    {"kernel \"k\" (%x) grid [1] hint threads 100 { }",
     "kernel 'k': hint threads is 100: give 32 to 1024, a multiple of 32"},
    {"kernel \"k\" (%x) grid [1] hint raster 4 hint raster 8 { }", "kernel 'k': hint raster is given twice"},
    {"var %d dim f32 kernel \"k\" (%x) grid [1] { }", "the dim variable 'd' is f32, not index"},
    {"var %s scalar tf32 kernel \"k\" (%x) grid [1] { }",
     "'s' is tf32, which is a mode of gemm and no element type; use f32"},
    {"buffer @T global f32 [%N, 8] strides [8, 1] strided in argument 0 table parameter tensor @T \"T\" kernel \"k\" (%x) grid [1] { }",
     "'T' is a table of pointers, and its first dim has a stride; its tensors lie apart: give 0 there"},
    {"buffer @T global f32 [] in argument 0 table parameter tensor @T \"T\" kernel \"k\" (%x) grid [1] { }",
     "'T' is a table of pointers: a parameter whose first dim counts them"},
    {"buffer @T global f32 [%N, 8] in argument 0 addressed parameter tensor @T \"T\" kernel \"k\" (%x) grid [1] { }",
     "'T' is addressed, which only passes make of a table"},
    {"buffer @T global f32 [%N, 8] in argument 0 table buffer @t shared f32 [2, 8] parameter tensor @T \"T\" kernel \"k\" (%x) "
     "grid [1] { alloc @t 1: copy @T[0:2, 0:8] -> @t[0:2, 0:8] }",
     "operation 1: copy: the region takes 2 tensors of the table 'T'; a region lies in one of them"},
    {"buffer @T global i32 [%N] in argument 0 table parameter tensor @T \"T\" kernel \"k\" (%x) grid [1] persistent count @T { }",
     "kernel 'k': the tile count 'T' is a table of pointers; make it a tensor of one element"},
    {"dim %x kernel \"k\" (%x) grid [1] { }", "a dim names no variable of its kind"},
    {"dim %N divisible 0 kernel \"k\" (%x) grid [1] { }",
     "dim 'N' is declared divisible by 0; a divisor is at least 1"},
    {"dim %N = 7 divisible 2 kernel \"k\" (%x) grid [1] { }", "dim 'N' is 7; it must be at least 0 and divisible by 2"},
    {"dim %N range 8 2 kernel \"k\" (%x) grid [1] { }",
     "dim 'N' has a bucket that holds nothing: ranges go from a least to a greatest size, divisors are at least 1"},
    {"buffer @A global f32 [%N] argument 0 parameter tensor @A kernel \"k\" (%x) grid [1] { }",
     "'A' is neither in, out nor inout"},
    {"buffer @A global f32 [%N] in kernel \"k\" (%x) grid [1] { }", "'A' belongs to no tensor parameter"},
    {"buffer @A global f32 [%x] in argument 0 parameter tensor @A kernel \"k\" (%x) grid [1] { }",
     "the shape of 'A' depends on more than dims"},
    {"buffer @A global f32 [-3] in argument 0 parameter tensor @A kernel \"k\" (%x) grid [1] { }",
     "'A' has a size of -3"},
    {"buffer @A global f32 [4] strides [-1] strided in argument 0 parameter tensor @A kernel \"k\" (%x) grid [1] { }",
     "'A' has a stride of -1; strides are never negative"},
    {"buffer @A global f32 [4] strides [1, 1] in argument 0 parameter tensor @A kernel \"k\" (%x) grid [1] { }",
     "'A' has 2 strides for 1 dims"},
    {"buffer @A global f32 [4] in argument 0 align 3 parameter tensor @A kernel \"k\" (%x) grid [1] { }",
     "'A' is declared aligned to 3 bytes, which is no power of two"},
    {"buffer @A global f32 [4] in argument 1 parameter tensor @A parameter tensor @A kernel \"k\" (%x) grid [1] { }",
     "parameter 0 '' and its buffer do not name each other"},
    {"parameter scalar %N kernel \"k\" (%x) grid [1] { }", "parameter 0 '' names no scalar variable"},
    {"buffer @s shared tf32 [4] kernel \"k\" (%x) grid [1] { }",
     "'s' is tf32, which is a mode of gemm and no element type; use f32"},
    {"buffer @s shared f32 [%N] kernel \"k\" (%x) grid [1] { }",
     "the shape of 's' is not constant; tile shapes are numbers when the program is built"},
    {"buffer @s shared f32 [0] kernel \"k\" (%x) grid [1] { }", "'s' has an extent of 0; extents are at least 1"},
    {"buffer @s shared f32 [100000, 100000] kernel \"k\" (%x) grid [1] { }", "'s' is larger than 1073741824 bytes"},
    {"buffer @s var f32 [2] kernel \"k\" (%x) grid [1] { }", "'s' is a var and has a shape; use local for an array"},
    {"buffer @s registers f32 [2] kernel \"k\" (%x) grid [1] { }",
     "'s' is of scope registers, which has no place at this stage"},
    {"buffer @s shared f32 [1, 1, 1, 1, 1, 1, 1, 1, 1] kernel \"k\" (%x) grid [1] { }",
     "'s' has 9 dims; 8 is the limit"},
    {"kernel \"k\" () grid [1] source \"metal\" entry \"e\" text \"\"", "kernel 'k': source in 'metal'; use cuda, hip or llvm"},
    {"kernel \"k\" () grid [1] source \"cuda\" entry \"\" text \"\"",
     "kernel 'k': a source kernel names its entry point"},
    {"kernel \"k\" () grid [1] source \"cuda\" entry \"e\" block [1] text \"\"",
     "kernel 'k': block and cluster have 3 extents each, or none"},
};
INSTANTIATE_TEST_SUITE_P(Rules, Declarations, testing::ValuesIn(kBrokenDeclarations));

class RightBodies : public testing::TestWithParam<const char*> {};
TEST_P(RightBodies, Pass) {
  EXPECT_EQ(verdict(std::string(kDeclarations) + kAll + kFilled + GetParam() + "}"), "right") << GetParam();
}
INSTANTIATE_TEST_SUITE_P(
    Programs, RightBodies,
    testing::Values(
        "gemm @a[0:32, 0:16], @b[0:16, 0:8], @acc[0:32, 0:8] accumulate lt(0, %x)",
        "for serial %i = 5 to -1 step -1 { let %v = load @s[%i] store @C[%i] = %v }",
        "reduce max @acc[0:32, 0:8] -> @row[0:32] dim 1 reduce sum @acc[0:32, 0:8] -> @acc[0:1, 0:8] dim 0",
        "parallel (%i : 32, %j : 8) { let %v = load @acc[%i, %j] if lt(%j, 3) { store @acc[%i, %j] = neg(%v) } }",
        "parallel (%i : 32) { if eq(%i, 3) { store @s[0] = f32(1.0) } }",
        "parallel (%i : 32) { alloc @one store @one[] = f32(0.0) for serial %j = 0 to 8 { let %v = load @acc[%i, %j] "
        "let %w = load @one[] "
        "store @one[] = add(%v, %w) } }",
        "copy @A[mul(%x, 32):32, 16:16] -> @a[0:32, 0:16] valid [add(%x, 3), _] safe f32(1.0)",
        "let %v = load @acc[3, 4] if lt(%v, f32(0.0)) { store @one[] = %v }",
        "for pipelined %k = 0 to %N { if lt(0, %k) { let %v = load @one[] } store @one[] = f32(0.0) }"));

TEST(Verifier, SamplesAreRight) {
  for (DType dtype : {DType::f16, DType::bf16, DType::f32, DType::int8}) {
    const Status status = verify(samples::gemm(dtype, 32, 16, 16));
    EXPECT_TRUE(status) << status.error().message;
  }
}

TEST(Verifier, LoweredFaultsAreOurOwn) {
  std::ifstream file(std::string(TILERT_SOURCE_DIR) + "/tests/ir/golden/lowered.tir");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(verdict(text.str(), Stage::lowered), "right");
  EXPECT_EQ(verdict(text.str(), Stage::synchronized), "right");
  EXPECT_EQ(verdict("tir 1\nvar %x block index\nkernel \"k\" (%x) grid [1] flat { }", Stage::tile),
            "kernel 'k': planners, numbers of blocks and flat elements are made by passes; a program says persistent and gives a cost");
  auto p = parse(text.str() + "kernel \"more\" (%x) grid [1] { 1: call shuffle_xor (\"16\") }");
  ASSERT_TRUE(p) << p.error().message;
  const Status status = verify(*p, Stage::lowered);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInternal);
  EXPECT_EQ(status.error().message, "operation 1: shuffle_xor takes 3 arguments, 1 are given");
  EXPECT_EQ(verdict(text.str() + "kernel \"more\" (%x) grid [1] { 9: gemm @as[0:1, 0:1], @as[0:1, 0:1], @acc[0:1] }",
                    Stage::synchronized),
            "operation 9: gemm has no place at this stage");
}

// A kernel that waits for the grids before it does so with all threads, once, and touches no global memory before.
TEST(Verifier, DependentKernelsWaitBeforeTheirFirstAccess) {
  const auto body = [](const std::string& statements) {
    return verdict(std::string(kDeclarations) + "alloc @one alloc @s " + statements + "}", Stage::synchronized);
  };
  const std::string wait = "call wait_for_grids () ", read = "let %v = load @A[%x, 0] ", own = "store @one[] = f32(0.0) store @s[%x] = f32(0.0) ";
  EXPECT_EQ(body(own + wait + "call launch_dependents () " + read), "right");
  EXPECT_EQ(body(own + wait), "right");
  EXPECT_EQ(body(own + read), "right") << "it waits for nothing, and is not started early";
  const char* const touched = "global memory is touched before the wait for the grids that may still write it";
  for (const std::string& access : {read, std::string("store @C[%x] = f32(0.0) "), "if lt(%x, 1) { " + read + "} ",
                                    std::string("atomic add @C[%x] with f32(1.0) "), std::string("group \"1: copy\" { move @s[0] = @C[%x] count 1 } "),
                                    std::string("call cp_async (\"4\", address @s[0], address @C[0], i32(4)) "), std::string("inline \"cuda\" \"f();\" () ")})
    EXPECT_NE(body(access + wait).find(touched), std::string::npos) << body(access + wait) << access;
  EXPECT_NE(body("if lt(%x, 1) { " + wait + "} " + read).find(touched), std::string::npos);
  EXPECT_NE(body("if lt(%x, 1) { " + wait + "} " + own).find("where not all threads come to it"), std::string::npos);
  EXPECT_NE(body(wait + wait).find("more than once"), std::string::npos);
}

// Whatever the parser returns, the verifier answers and the interpreter survives what passed.
TEST(Verifier, AnswersOnAnyProgram) {
  int right = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const Program p = samples::RandomProgram(seed).make();
    for (Stage stage : {Stage::tile, Stage::specialized, Stage::lowered, Stage::synchronized})
      right += static_cast<bool>(verify(p, stage));
  }
  EXPECT_LT(right, 100) << "random statements rarely mean anything";
}

TEST(Verifier, MutantsThatPassAreInterpretedWithoutHarm) {
  std::mt19937_64 random(5);
  std::ifstream file(std::string(TILERT_SOURCE_DIR) + "/tests/ir/golden/gemm.tir");
  std::stringstream stream;
  stream << file.rdbuf();
  const std::string seed = stream.str();
  ASSERT_FALSE(seed.empty());
  std::vector<uint16_t> a(40 * 40), b(40 * 40);
  std::vector<float> c(40 * 40);
  int ran = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = seed;
    for (uint64_t edits = 1 + random() % 2; edits > 0; --edits)
      text[random() % text.size()] = "0123456789ABCMNKxyijk"[random() % 21];
    auto p = parse(text);
    if (!p || !verify(*p)) continue;
    HostArguments arguments;
    for (const Parameter& parameter : p->parameters) {
      if (parameter.kind == Parameter::Kind::scalar)
        arguments.parameters.push_back({});
      else if (p->buffer(parameter.buffer).dtype == DType::f32)
        arguments.parameters.push_back({c.data(), 6400, {}, 0});
      else
        arguments.parameters.push_back({a.data(), 3200, {}, 0});
    }
    arguments.dims.assign(p->dims.size(), 8);
    ran += static_cast<bool>(interpret(*p, arguments, {.max_statements = 30000, .max_tile_bytes = 1 << 22}));
  }
  EXPECT_GT(ran, 10);
}

}  // namespace
}  // namespace tilert::ir
