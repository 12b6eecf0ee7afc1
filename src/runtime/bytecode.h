// The launch expressions: a small verified stack code over int64, and the builder that emits it.
// Grids, strides, workspace sizes, scalar parameters and guards are written in it, so that a launch knows no IR.
// Not here: who stores an expression (artifact.h) and where its inputs come from (launch.cpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "support/result.h"

namespace tilert::runtime {

// Numbers are part of the artifact format; never reuse one (bytecode.def has a row each).
enum class Op : uint8_t {
#define TILERT_BYTECODE(name, number, pops, pushes) name = number,
#include "runtime/bytecode.def"
#undef TILERT_BYTECODE
};

// a, b and value by operation: constant (value), dim (a), stride (tensor a, dim b), scalar (parameter a),
// alignment (tensor a), set_local and get_local (a). All other operations take their operands from the stack.
struct Instruction {
  Op op = Op::constant;
  uint8_t reserved = 0;
  uint16_t a = 0;
  uint16_t b = 0;
  uint16_t reserved2 = 0;
  int64_t value = 0;
};

// A slice of the artifact's instruction list; count 0 means 'absent'.
struct Expr {
  uint32_t begin = 0;
  uint32_t count = 0;
  explicit operator bool() const { return count != 0; }
  bool operator==(const Expr&) const = default;
};

inline constexpr int kMaxStack = 32;                   // deepest stack of an expression
inline constexpr int kMaxLocals = 16;                  // values kept aside by set_local
inline constexpr int64_t kMaxPointerAlignment = 4096;  // what alignment() of a null or well aligned pointer gives

// What an expression may read. Parameters are counted together, in the order of the signature.
struct BytecodeLimits {
  uint32_t dims = 0;
  std::span<const int32_t>
      tensor_ranks;  // by parameter; -1 where the parameter is an integer scalar, -2 another scalar
};

// Checks indexes, stack depth, locals set before use, and that exactly one value remains.
Status verify_bytecode(std::span<const Instruction> code, Expr expr, const BytecodeLimits& limits);

// The values behind the operands. strides[p] is read only for tensors whose strides an expression reads.
struct BytecodeInputs {
  const int64_t* dims = nullptr;
  // By parameter: elements, one per dim. Of a dim with one element, or of a tensor without elements, a multiple of 4096
  // (1 where innermost), whatever the argument says: nothing steps along it.
  const int64_t* const* strides = nullptr;
  const int64_t* scalars = nullptr;       // by parameter: sign or zero extended
  const void* const* pointers = nullptr;  // by parameter
};

// The value of a verified expression. Arithmetic wraps; x/0 = 0 and x%0 = x; division floors. Allocates nothing.
int64_t evaluate(const Instruction* code, Expr expr, const BytecodeInputs& inputs);

// The meaning of an operation with two operands; evaluation and constant folding share it.
int64_t apply_binary(Op op, int64_t x, int64_t y);

// The largest power of two, up to kMaxPointerAlignment, that divides the address.
int64_t pointer_alignment(const void* pointer);

// Builds expressions as a graph with folded constants, then emits each as one slice. A value used more than once in one
// expression is computed once.
//
//   BytecodeBuilder b;
//   Expr grid_x = b.emit(b.ceildiv(b.dim(0), b.constant(128)));
//   artifact.bytecode = b.take();
class BytecodeBuilder {
 public:
  struct Value {
    int32_t index = -1;
  };

  Value constant(int64_t value);
  Value dim(uint32_t dim);
  Value stride(uint32_t parameter, uint32_t dim);  // elements
  Value scalar(uint32_t parameter);                // an integer scalar parameter
  Value alignment(uint32_t parameter);             // bytes, of the tensor's pointer
  Value unary(Op op, Value x);
  Value binary(Op op, Value x, Value y);
  Value select(Value condition, Value if_true, Value if_false);

  Value add(Value x, Value y) { return binary(Op::add, x, y); }
  Value sub(Value x, Value y) { return binary(Op::sub, x, y); }
  Value mul(Value x, Value y) { return binary(Op::mul, x, y); }
  Value floordiv(Value x, Value y) { return binary(Op::floordiv, x, y); }
  Value floormod(Value x, Value y) { return binary(Op::floormod, x, y); }
  Value ceildiv(Value x, Value y) { return binary(Op::ceildiv, x, y); }
  Value min(Value x, Value y) { return binary(Op::min, x, y); }
  Value max(Value x, Value y) { return binary(Op::max, x, y); }

  // Appends the expression to the instruction list. Reports an expression that needs more than kMaxStack.
  Result<Expr> try_emit(Value root);
  // The same for expressions known to be small; a failure is kept and reported by status().
  Expr emit(Value root);
  const Status& status() const { return status_; }

  const std::vector<Instruction>& code() const { return code_; }
  std::vector<Instruction> take() { return std::move(code_); }

 private:
  struct Node {
    Instruction instruction;
    int32_t operands[3] = {-1, -1, -1};
    bool operator==(const Node& other) const;
  };
  Value add_node(const Node& node);
  bool is_constant(Value value, int64_t* out) const;
  void count_uses(int32_t node, std::vector<int>& uses) const;
  void emit_node(int32_t node, std::vector<int>& uses, std::vector<int>& locals, int& next_local);

  std::vector<Node> nodes_;
  std::vector<Instruction> code_;
  Status status_;
};

}  // namespace tilert::runtime
