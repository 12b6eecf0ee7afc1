// The passes pack_tiles and unpack_operands: which tiles are packed and which are not, what becomes of copies, and that each stage
// of a program with packed tiles means what it says.
#include <gtest/gtest.h>

#include "ir/interpreter.h"
#include "passes/lowered.h"

namespace tilert::passes {
namespace {

using namespace ir;

std::string program(const char* columns, const std::string& body, const char* more = "") {
  return std::string(R"(tir 1
var %x block index
var %k loop index
var %i loop index
var %j loop index
var %v let i4
var %b let u8
buffer @W global i4 [16, )") + columns + R"(] in argument 0
buffer @Z global f32 [32, 64] inout argument 1
buffer @t shared i4 [16, 64]
buffer @f fragment f32 [16, 64]
buffer @a shared f16 [16, 64]
buffer @c fragment f32 [16, 16]
)" + more + R"(parameter tensor @W "W"
parameter tensor @Z "Z"
kernel "k" (%x) grid [1] {
  1: alloc @t
  2: alloc @f
  3: alloc @a
  4: alloc @c
)" + body + "}\n";
}

const std::string kWidened = "10: copy @W[0:16, mul(%k, 64):64] -> @t[0:16, 0:64] 11: copy @t[0:16, 0:64] -> @f[0:16, 0:64] "
                             "12: copy @f[0:16, 0:64] -> @Z[mul(%k, 16):16, 0:64] }";
const std::string kRing = "9: for pipelined %k = 0 to 2 stages 2 { " + kWidened;

// Why the only small tile is not packed; empty where it is.
std::string why_not(const std::string& text) {
  const Module module = lowered(text, "sm_80", "pack_tiles");
  return module.plans[0].unpacked.empty() ? "" : module.plans[0].unpacked.begin()->second;
}

TEST(PackedTiles, ACopyOfWholeBytesRunsAheadAsBytes) {
  const Module module = lowered(program("128", kRing), "sm_80");
  EXPECT_GT(count(module.program.kernels[0].body, Primitive::cp_async), 0);
  EXPECT_EQ(module.plans[0].copies.at(10).bytes, 16);
  EXPECT_EQ(module.plans[0].shared_bytes, 2 * 16 * 64 / 2 + 16 * 64 * 2);  // two slots, and the f16 tile
}

TEST(PackedTiles, ATileThatIsWrittenInPartsOfBytesKeepsAByteForEachElement) {
  EXPECT_EQ(why_not(program("128", kRing)), "");
  EXPECT_EQ(why_not(program("127", kRing)), "no copy fills it by whole bytes");
  const std::string stored = "13: parallel (%i : 16, %j : 64) { 14: store @t[%i, %j] = i4(1) }";
  EXPECT_EQ(why_not(program("128", kRing + stored)), "an element of it is stored by itself in operation 14");
  EXPECT_EQ(why_not(program("128", kRing + "13: copy @t[0:16, 1:1] -> @f[0:16, 0:1] 14: fill @t[0:16, 1:2] = i4(1)")),
            "operation 14 writes parts of bytes");
}

TEST(PackedTiles, AProductOfAStreamedTileReadsItUnpackedInItsOwnType) {
  const std::string body = "7: fill @c[0:16, 0:16] = f32(0x0) 8: fill @a[0:16, 0:64] = f16(0x3c00) 9: for pipelined %k = 0 to 2 stages 2 { 10: copy @W[0:16, mul(%k, 64):64] -> "
                           "@t[0:16, 0:64] 11: gemm @a[0:16, 0:64], @t[0:16, 0:64], @c[0:16, 0:16] trans_b accumulate true } ";
  const Module module = lowered(program("128", body), "sm_80", "unpack_operands");
  int products = 0;
  for_each_stmt(module.program.kernels[0].body, [&](const Stmt& s) {
    const auto* gemm = std::get_if<Gemm>(&s.node);
    if (!gemm) return;
    ++products;
    EXPECT_EQ(module.program.buffer(gemm->b.buffer).dtype, DType::f16);
  });
  EXPECT_EQ(products, 1);
}

TEST(PackedTiles, EveryStageMeansTheSame) {
  const char kBytes[] = "buffer @o shared u8 [16, 32] view @t\nbuffer @r fragment f32 [16]\n";
  const std::string turned = "13: parallel (%i : 16, %j : 32) { 14: let %b = load @o[%i, %j] 15: store @o[%i, %j] = xor(%b, u8(255)) } "
                             "16: fill @t[2:3, 8:8] = i4(1) 17: copy @t[0:16, 0:64] -> @f[0:16, 0:64] 18: copy @f[0:16, 0:64] -> @Z[0:16, 0:64] "
                             "19: alloc @r 20: reduce sum @t[0:16, 0:64] -> @r[0:16] dim 1 21: copy @r[0:16] -> @Z[16:16, 3:1]";
  const std::string texts[] = {program("128", kRing), program("127", kRing), program("96", "9: for serial %k = 0 to 2 { " + kWidened),
                               program("128", "9: copy @W[0:16, 64:64] -> @t[0:16, 0:64] " + turned, kBytes)};
  for (const std::string& source : texts) {
    std::vector<float> first;
    const auto run = [&](const Program& p, int threads, const std::string& where) {
      std::vector<uint8_t> w(16 * 64);
      for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<uint8_t>(i * 37 + i / 64);
      std::vector<float> z(32 * 64, -100);
      HostArguments arguments;
      arguments.parameters = {{w.data(), static_cast<int64_t>(w.size()), {}, 0}, {z.data(), static_cast<int64_t>(z.size() * 4), {}, 0}};
      const Status ran = interpret(p, arguments, {.threads = threads});
      EXPECT_TRUE(ran) << where << ": " << (ran ? "" : ran.error().message);
      if (first.empty()) first = z;
      EXPECT_EQ(z, first) << where << " of " << source;
    };
    const auto whole = parse(source, "packed");
    ASSERT_TRUE(whole) << whole.error().message;
    run(*whole, 0, "the program");
    EXPECT_NE(first, std::vector<float>(32 * 64, -100));
    for (const char* target : {"sm_75", "sm_80", "sm_90a"})
      for (const Pass& pass : gpu_passes()) {
        const Module module = lowered(source, target, pass.name);
        run(module.program, module.plans.empty() ? 0 : module.plans[0].threads, pass.name);
      }
  }
}

}  // namespace
}  // namespace tilert::passes
