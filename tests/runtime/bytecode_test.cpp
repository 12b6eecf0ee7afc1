// Launch expressions: meaning, folding, sharing, verification, random expressions and garbage.
#include "runtime/bytecode.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace tilert::runtime {
namespace {

using Value = BytecodeBuilder::Value;

// Evaluates a builder's expression on given dims.
int64_t on_dims(BytecodeBuilder& b, Value root, std::vector<int64_t> dims) {
  auto expr = b.try_emit(root);
  EXPECT_TRUE(expr) << (expr ? "" : expr.error().message);
  BytecodeLimits limits;
  limits.dims = static_cast<uint32_t>(dims.size());
  EXPECT_TRUE(verify_bytecode(b.code(), *expr, limits));
  BytecodeInputs inputs;
  inputs.dims = dims.data();
  return evaluate(b.code().data(), *expr, inputs);
}

Instruction instruction(Op op, uint16_t a = 0, uint16_t b = 0, int64_t value = 0) {
  Instruction out;
  out.op = op;
  out.a = a;
  out.b = b;
  out.value = value;
  return out;
}

Status verify(std::vector<Instruction> code, uint32_t dims = 1, std::vector<int32_t> ranks = {}) {
  BytecodeLimits limits;
  limits.dims = dims;
  limits.tensor_ranks = ranks;
  return verify_bytecode(code, {0, static_cast<uint32_t>(code.size())}, limits);
}

TEST(Bytecode, DivisionFloorsAndNeverTraps) {
  const auto div = [](int64_t x, int64_t y) { return apply_binary(Op::floordiv, x, y); };
  const auto mod = [](int64_t x, int64_t y) { return apply_binary(Op::floormod, x, y); };
  const auto ceil = [](int64_t x, int64_t y) { return apply_binary(Op::ceildiv, x, y); };
  EXPECT_EQ(div(7, 2), 3);
  EXPECT_EQ(div(-7, 2), -4);
  EXPECT_EQ(div(7, -2), -4);
  EXPECT_EQ(div(-8, 2), -4);
  EXPECT_EQ(div(5, 0), 0);
  EXPECT_EQ(div(INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(mod(-7, 4), 1);
  EXPECT_EQ(mod(7, -4), -1);
  EXPECT_EQ(mod(7, 0), 7);
  EXPECT_EQ(mod(INT64_MIN, -1), 0);
  EXPECT_EQ(ceil(7, 2), 4);
  EXPECT_EQ(ceil(-7, 2), -3);
  EXPECT_EQ(ceil(8, 2), 4);
  EXPECT_EQ(ceil(8, 0), 0);
  EXPECT_EQ(ceil(INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(apply_binary(Op::mul, INT64_MAX, 2), -2);
}

TEST(Bytecode, QuotientAndRemainderAgreeEverywhere) {
  for (int64_t x = -20; x <= 20; ++x) {
    for (int64_t y = -6; y <= 6; ++y) {
      const int64_t q = apply_binary(Op::floordiv, x, y), r = apply_binary(Op::floormod, x, y);
      EXPECT_EQ(q * y + r, x) << x << " / " << y;
      if (y > 0) {
        EXPECT_TRUE(r >= 0 && r < y) << x << " % " << y;
      }
      if (y != 0) {
        EXPECT_EQ(apply_binary(Op::ceildiv, x, y), q + (r != 0)) << x << " / " << y;
      }
    }
  }
}

TEST(Bytecode, EveryOperandIsRead) {
  BytecodeBuilder b;
  const Expr expr = b.emit(
      b.add(b.add(b.stride(1, 1), b.mul(b.scalar(2), b.constant(1000))), b.mul(b.alignment(1), b.constant(1000000))));
  const int64_t strides1[] = {64, 3};
  const int64_t* strides[] = {nullptr, strides1, nullptr};
  const int64_t scalars[] = {0, 0, -5};
  const void* pointers[] = {nullptr, reinterpret_cast<void*>(0x1010), nullptr};
  EXPECT_EQ(evaluate(b.code().data(), expr, {nullptr, strides, scalars, pointers}), 3 - 5000 + 16000000);
}

TEST(Bytecode, PointerAlignmentIsCapped) {
  EXPECT_EQ(pointer_alignment(nullptr), kMaxPointerAlignment);
  EXPECT_EQ(pointer_alignment(reinterpret_cast<void*>(0x100000)), kMaxPointerAlignment);
  EXPECT_EQ(pointer_alignment(reinterpret_cast<void*>(0x1008)), 8);
  EXPECT_EQ(pointer_alignment(reinterpret_cast<void*>(0x1001)), 1);
}

TEST(Bytecode, SelectAndLogic) {
  BytecodeBuilder b;
  const Value small = b.binary(Op::lt, b.dim(0), b.constant(128));
  const Value root =
      b.select(b.binary(Op::logical_and, small, b.unary(Op::logical_not, b.binary(Op::eq, b.dim(1), b.constant(0)))),
               b.constant(1),
               b.select(b.binary(Op::logical_or, small, b.binary(Op::ne, b.dim(1), b.constant(9))), b.constant(2),
                        b.constant(3)));
  EXPECT_EQ(on_dims(b, root, {5, 7}), 1);
  EXPECT_EQ(on_dims(b, root, {5, 0}), 2);
  EXPECT_EQ(on_dims(b, root, {500, 7}), 2);
  EXPECT_EQ(on_dims(b, root, {500, 9}), 3);
}

TEST(Bytecode, ConstantsFoldAndEqualSlicesAreShared) {
  BytecodeBuilder b;
  const Expr folded = b.emit(b.ceildiv(b.mul(b.constant(6), b.constant(100)), b.constant(128)));
  EXPECT_EQ(folded.count, 1u);
  EXPECT_EQ(b.code()[folded.begin].value, 5);
  const Expr first = b.emit(b.ceildiv(b.dim(0), b.constant(128)));
  const Expr second = b.emit(b.ceildiv(b.dim(0), b.constant(128)));
  EXPECT_EQ(first, second);
}

TEST(Bytecode, SharedValuesAreComputedOnce) {
  BytecodeBuilder b;
  Value x = b.add(b.dim(0), b.constant(1));
  for (int i = 0; i < 14; ++i) x = b.mul(x, b.add(x, b.constant(i + 1)));
  const auto expr = b.try_emit(x);
  ASSERT_TRUE(expr);
  EXPECT_LT(expr->count, 120u);  // a tree would have over 2^14 instructions
}

TEST(Bytecode, TooDeepAnExpressionIsRefused) {
  BytecodeBuilder b;
  Value x = b.dim(0);
  for (uint32_t i = 0; i < 40; ++i) x = b.sub(b.dim(i % 2), x);
  const auto expr = b.try_emit(x);
  ASSERT_FALSE(expr);
  EXPECT_EQ(expr.error().code, Code::kUnsupported);
}

TEST(Bytecode, ExponentialExpressionsAreRefusedNotBuilt) {
  BytecodeBuilder b;
  Value x = b.dim(0);
  for (int i = 0; i < 60; ++i) x = b.add(b.mul(x, b.constant(i + 3)), b.max(x, b.constant(i)));
  const auto expr = b.try_emit(x);
  ASSERT_FALSE(expr);
  EXPECT_EQ(expr.error().code, Code::kUnsupported);
  EXPECT_TRUE(b.code().empty());
}

TEST(Bytecode, VerifierRefusesWhatIsNotWellFormed) {
  EXPECT_TRUE(verify({instruction(Op::dim, 0)}));
  EXPECT_FALSE(verify({}));
  EXPECT_FALSE(verify({instruction(Op::dim, 1)}));                                       // index
  EXPECT_FALSE(verify({instruction(Op::add)}));                                          // operands
  EXPECT_FALSE(verify({instruction(Op::dim), instruction(Op::dim)}));                    // two values left
  EXPECT_FALSE(verify({instruction(static_cast<Op>(99))}));                              // operation
  EXPECT_FALSE(verify({instruction(Op::get_local, 0)}));                                 // local not set
  EXPECT_FALSE(verify({instruction(Op::dim), instruction(Op::set_local, kMaxLocals)}));  // local out of range
  EXPECT_TRUE(verify({instruction(Op::stride, 0, 1)}, 1, {2}));
  EXPECT_FALSE(verify({instruction(Op::stride, 0, 2)}, 1, {2}));
  EXPECT_FALSE(verify({instruction(Op::stride, 1, 0)}, 1, {2}));
  EXPECT_TRUE(verify({instruction(Op::scalar, 0)}, 1, {-1}));
  EXPECT_FALSE(verify({instruction(Op::scalar, 0)}, 1, {-2}));  // a float scalar
  EXPECT_FALSE(verify({instruction(Op::alignment, 0)}, 1, {-1}));
  std::vector<Instruction> deep(kMaxStack + 1, instruction(Op::dim));
  deep.resize(2 * kMaxStack + 1, instruction(Op::add));
  EXPECT_FALSE(verify(deep));
  BytecodeLimits limits;
  const std::vector<Instruction> code = {instruction(Op::constant)};
  EXPECT_FALSE(verify_bytecode(code, {1, 1}, limits));
  EXPECT_FALSE(verify_bytecode(code, {0, 2}, limits));
  EXPECT_FALSE(verify_bytecode(code, {UINT32_MAX, 2}, limits));
}

// Builds a random expression and evaluates it beside; the emitted code must agree.
struct Random {
  explicit Random(uint32_t seed) : engine(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(engine() % static_cast<uint64_t>(n)); }
  std::mt19937_64 engine;
  std::vector<int64_t> dims;

  std::pair<Value, int64_t> make(BytecodeBuilder& b, int depth) {
    if (depth == 0 || below(5) == 0) {
      if (below(2) == 0) {
        const int64_t c = below(41) - 20;
        return {b.constant(c), c};
      }
      const auto d = static_cast<uint32_t>(below(static_cast<int64_t>(dims.size())));
      return {b.dim(d), dims[d]};
    }
    static constexpr Op kOps[] = {Op::add,     Op::sub, Op::mul,         Op::floordiv,  Op::floormod,
                                  Op::ceildiv, Op::min, Op::max,         Op::eq,        Op::ne,
                                  Op::lt,      Op::le,  Op::logical_and, Op::logical_or};
    if (below(6) == 0) {
      const auto c = make(b, depth - 1), x = make(b, depth - 1), y = make(b, depth - 1);
      return {b.select(c.first, x.first, y.first), c.second != 0 ? x.second : y.second};
    }
    const Op op = kOps[below(std::size(kOps))];
    const auto x = make(b, depth - 1);
    const auto y = below(4) == 0 ? x : make(b, depth - 1);
    return {b.binary(op, x.first, y.first), apply_binary(op, x.second, y.second)};
  }
};

TEST(Bytecode, EmittedCodeAgreesWithTheGraphOnRandomExpressions) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    random.dims = {random.below(100), random.below(1 << 20) - 500, -random.below(9)};
    BytecodeBuilder b;
    const auto [value, expected] = random.make(b, 6);
    EXPECT_EQ(on_dims(b, value, random.dims), expected) << "seed " << seed;
  }
}

TEST(Bytecode, VerifiedGarbageEvaluatesWithoutFault) {
  std::mt19937 engine(7);
  int accepted = 0;
  const int32_t ranks[] = {2, -1, -2};
  const int64_t strides0[] = {8, 1};
  const int64_t* strides[] = {strides0, nullptr, nullptr};
  const int64_t scalars[] = {0, 3, 0}, dims[] = {5, 0};
  const void* pointers[] = {nullptr, nullptr, nullptr};
  for (int round = 0; round < 200000; ++round) {
    std::vector<Instruction> code(1 + engine() % 6);
    for (Instruction& each : code) {
      each =
          instruction(static_cast<Op>(engine() % 33), engine() % 4, engine() % 3, static_cast<int64_t>(engine()) - 5);
    }
    BytecodeLimits limits;
    limits.dims = 2;
    limits.tensor_ranks = ranks;
    const Expr all{0, static_cast<uint32_t>(code.size())};
    if (!verify_bytecode(code, all, limits)) continue;
    ++accepted;
    evaluate(code.data(), all, {dims, strides, scalars, pointers});
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace tilert::runtime
