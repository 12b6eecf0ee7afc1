// The verifier on device functions and their calls.
#include <gtest/gtest.h>

#include "ir/parser.h"
#include "ir/verifier.h"

namespace tilert::ir {
namespace {

const char kDeclared[] = R"(tir 1
var %N dim index
var %x block index
var %i loop index
var %v let f32
var %h let f16
dim %N
buffer @A global f32 [%N, 64] in argument 0
buffer @C global f32 [64] inout argument 1
buffer @a shared f16 [32, 16]
buffer @row fragment f32 [32]
buffer @s shared f32 [64]
buffer @one var f32 []
parameter tensor @A "A"
parameter tensor @C "C"
kernel "k" (%x) grid [%N] {
)";

std::string of_text(const std::string& text, Stage stage = Stage::tile) {
  auto p = parse(text, "t", {.allow_source = true});
  EXPECT_TRUE(p) << (p ? "" : p.error().message) << "\n" << text;
  if (!p) return "";
  const Status status = verify(*p, stage);
  return status ? "right" : status.error().message;
}

// Device functions: what a program may declare, and how it may call them.
TEST(VerifyFunctions, CallsOfDeviceFunctionsAreAsDeclared) {
  const std::string f = "function \"f\" (f32, read f32, write f32) gives f32 text \"cuda\" \"f\" ";
  const std::string g = "function \"g\" (update f16) text \"llvm\" \"g\" ";
  const std::string start = kDeclared, kernel = start.substr(start.rfind("kernel")), before = start.substr(0, start.rfind("kernel"));
  const auto call = [&](const std::string& body, Stage stage = Stage::tile) { return of_text(before + f + g + kernel + std::string("alloc @a alloc @row alloc @s alloc @one ") + body + "}", stage); };
  EXPECT_EQ(call("call_device %v = \"f\" (f32(0.0), @C[%x], @one[]) store @s[0] = %v"), "right");
  EXPECT_EQ(call("parallel (%i : 64) { call_device %v = \"f\" (f32(0.0), @A[0, %i], @s[%i]) store @C[%i] = %v }"), "right");
  const struct {
    const char *body, *message;
  } wrong[] = {
      {"call_device %h = \"f\" (f32(0.0), @C[%x], @one[])", "the result of a call of 'f' is f32"},
      {"call_device \"f\" (f16(0.0), @C[%x], @one[])", "operand 0 of 'f' is f16, f32 is needed; write a cast"},
      {"call_device \"f\" (f32(0.0), @C[%x])", "a call of 'f' has 2 operands; it takes 3"},
      {"fill @a[0:32, 0:16] = f16(0.0) call_device %v = \"g\" (@a[0, 0])", "a call of 'g' is asked for a value; it gives none"},
      {"call_device \"f\" (f32(0.0), @a[0, 0], @one[])", "operand 1 of 'f' points to 'a', which holds f16; f32 is needed"},
      {"call_device \"f\" (f32(0.0), @C[%x], @row[0])",
       "operand 2 of 'f' points to an element of the fragment 'row', which lies in one thread's registers; pass its value, or copy it to a var or a shared tile"},
      {"call_device \"f\" (f32(0.0), @C[%x], @A[0, 0])", "'A' is declared in and is written; declare it out or inout"},
      {"parallel (%i : 64) { call_device \"f\" (f32(0.0), @C[%i], @s[0]) }",
       "store to 's': all 64 points along 'i' write the same element; use reduce, or a serial loop"},
      {"parallel (%i : 64) { call_device %v = \"f\" (f32(0.0), @C[%i], @s[%i]) } store @C[0] = %v",
       "'v' is used where it has no value; a let is known after it is made, inside the block where it was made"},
  };
  for (const auto& row : wrong) EXPECT_NE(call(row.body).find(row.message), std::string::npos) << call(row.body) << "\n" << row.message;
  const auto declared = [&](const std::string& declaration) { return of_text(before + declaration + kernel + "}"); };
  EXPECT_NE(declared("function \"tl_f\" () text \"cuda\" \"tl_f\" ").find("does not start with tl_"), std::string::npos);
  EXPECT_NE(declared("function \"f\" () ").find("has no text"), std::string::npos);
  EXPECT_NE(declared("function \"f\" () text \"metal\" \"f\" ").find("takes cuda, hip and llvm"), std::string::npos);
  EXPECT_NE(declared("function \"f\" () text \"cuda\" \"f\" text \"cuda\" \"f\" ").find("has two texts in \"cuda\""), std::string::npos);
  EXPECT_NE(declared("function \"f\" (index) text \"cuda\" \"f\" ").find("parameter 0 is index by value"), std::string::npos);
}

}  // namespace
}  // namespace tilert::ir
