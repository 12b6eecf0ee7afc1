// Verification and evaluation of launch expressions.
#include "runtime/bytecode.h"

#include <algorithm>
#include <bit>

namespace tilert::runtime {
namespace {

struct OpInfo {
  const char* name;
  int pops;
  int pushes;
};

const OpInfo* op_info(Op op) {
  switch (op) {
#define TILERT_BYTECODE(name, number, pops, pushes)    \
  case Op::name: {                                     \
    static constexpr OpInfo info{#name, pops, pushes}; \
    return &info;                                      \
  }
#include "runtime/bytecode.def"
#undef TILERT_BYTECODE
  }
  return nullptr;
}

Status bad(size_t at, const char* what) {
  return make_error(Code::kCorrupt, "launch expression: {} at instruction {}", what, at);
}

bool operand_is_valid(const Instruction& instruction, const BytecodeLimits& limits, uint32_t locals_set) {
  const auto rank = [&] {
    return instruction.a < limits.tensor_ranks.size() ? limits.tensor_ranks[instruction.a] : -2;
  };
  switch (instruction.op) {
    case Op::dim: return instruction.a < limits.dims;
    case Op::stride: return rank() > int32_t(instruction.b);
    case Op::scalar: return rank() == -1;
    case Op::alignment: return rank() >= 0;
    case Op::set_local: return instruction.a < kMaxLocals;
    case Op::get_local: return instruction.a < kMaxLocals && (locals_set >> instruction.a & 1) != 0;
    default: return true;
  }
}

int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }

int64_t floor_quotient(int64_t x, int64_t y) {
  if (y == 0) return 0;
  if (y == -1) return wrap(0 - static_cast<uint64_t>(x));
  const int64_t q = x / y;
  return q - static_cast<int64_t>(x % y != 0 && (x < 0) != (y < 0));
}

int64_t floor_remainder(int64_t x, int64_t y) {
  return wrap(static_cast<uint64_t>(x) - static_cast<uint64_t>(floor_quotient(x, y)) * static_cast<uint64_t>(y));
}

int64_t ceil_quotient(int64_t x, int64_t y) {
  if (y == 0) return 0;
  if (y == -1) return wrap(0 - static_cast<uint64_t>(x));
  const int64_t q = x / y;
  return q + static_cast<int64_t>(x % y != 0 && (x < 0) == (y < 0));
}

int64_t load(const Instruction& instruction, const BytecodeInputs& inputs) {
  switch (instruction.op) {
    case Op::constant: return instruction.value;
    case Op::dim: return inputs.dims[instruction.a];
    case Op::stride: return inputs.strides[instruction.a][instruction.b];
    case Op::scalar: return inputs.scalars[instruction.a];
    case Op::alignment: return pointer_alignment(inputs.pointers[instruction.a]);
    default: return 0;
  }
}

}  // namespace

int64_t pointer_alignment(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer) | static_cast<uintptr_t>(kMaxPointerAlignment);
  return int64_t{1} << std::countr_zero(address);
}

Status verify_bytecode(std::span<const Instruction> code, Expr expr, const BytecodeLimits& limits) {
  if (expr.begin > code.size() || expr.count > code.size() - expr.begin) return bad(expr.begin, "a slice out of range");
  if (expr.count == 0) return bad(expr.begin, "an empty expression");
  int depth = 0;
  uint32_t locals_set = 0;
  for (uint32_t i = 0; i < expr.count; ++i) {
    const Instruction& instruction = code[expr.begin + i];
    const OpInfo* info = op_info(instruction.op);
    if (info == nullptr) return bad(i, "an unknown operation");
    if (depth < info->pops) return bad(i, "a missing operand");
    if (!operand_is_valid(instruction, limits, locals_set)) return bad(i, "an index out of range");
    if (instruction.op == Op::set_local) locals_set |= 1u << instruction.a;
    depth += info->pushes - info->pops;
    if (depth > kMaxStack) return bad(i, "too deep a stack");
  }
  if (depth != 1) return bad(expr.count, "not exactly one value left");
  return {};
}

// What each operation with two operands gives, x below y on the stack.
#define TILERT_BINARY_OPERATIONS(ROW)                                 \
  ROW(add, wrap(static_cast<uint64_t>(x) + static_cast<uint64_t>(y))) \
  ROW(sub, wrap(static_cast<uint64_t>(x) - static_cast<uint64_t>(y))) \
  ROW(mul, wrap(static_cast<uint64_t>(x) * static_cast<uint64_t>(y))) \
  ROW(floordiv, floor_quotient(x, y))                                 \
  ROW(floormod, floor_remainder(x, y))                                \
  ROW(ceildiv, ceil_quotient(x, y))                                   \
  ROW(min, std::min(x, y))                                            \
  ROW(max, std::max(x, y))                                            \
  ROW(eq, x == y)                                                     \
  ROW(ne, x != y)                                                     \
  ROW(lt, x < y)                                                      \
  ROW(le, x <= y)                                                     \
  ROW(logical_and, x != 0 && y != 0)                                  \
  ROW(logical_or, x != 0 || y != 0)

int64_t apply_binary(Op op, int64_t x, int64_t y) {
  switch (op) {
#define ROW(name, result) \
  case Op::name: return result;
    TILERT_BINARY_OPERATIONS(ROW)
#undef ROW
    default: return 0;
  }
}

int64_t evaluate(const Instruction* code, Expr expr, const BytecodeInputs& inputs) {
  const Instruction* at = code + expr.begin;
  const Instruction* const end = at + expr.count;
  if (expr.count == 1) return load(*at, inputs);  // most expressions: a constant or one dim
  int64_t stack[kMaxStack];
  int64_t locals[kMaxLocals];
  int64_t* top = stack;  // one past the last value
  for (; at != end; ++at) {
    switch (at->op) {
      case Op::constant:
      case Op::dim:
      case Op::stride:
      case Op::scalar:
      case Op::alignment: *top++ = load(*at, inputs); break;
      case Op::set_local: locals[at->a] = top[-1]; break;
      case Op::get_local: *top++ = locals[at->a]; break;
      case Op::logical_not: top[-1] = top[-1] == 0; break;
      case Op::select:
        top -= 2;
        top[-1] = top[-1] != 0 ? top[0] : top[1];
        break;
#define ROW(name, result)                \
  case Op::name: {                       \
    --top;                               \
    const int64_t x = top[-1], y = *top; \
    top[-1] = result;                    \
    break;                               \
  }
        TILERT_BINARY_OPERATIONS(ROW)
#undef ROW
    }
  }
  return stack[0];
}

}  // namespace tilert::runtime
