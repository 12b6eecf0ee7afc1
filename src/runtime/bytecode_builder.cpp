// BytecodeBuilder: a graph of launch expressions with folded constants, emitted in postfix order.
#include <algorithm>

#include "runtime/bytecode.h"
#include "support/refusal.h"

namespace tilert::runtime {

namespace {

constexpr size_t kMaxCode = 1 << 16;  // instructions of one builder; an artifact holds no more

bool same(const Instruction& x, const Instruction& y) {
  return x.op == y.op && x.a == y.a && x.b == y.b && x.value == y.value;
}

bool is_leaf(Op op) {
  return op == Op::constant || op == Op::dim || op == Op::stride || op == Op::scalar || op == Op::alignment;
}

Instruction make(Op op, uint32_t a = 0, uint32_t b = 0, int64_t value = 0) {
  Instruction instruction;
  instruction.op = op;
  instruction.a = static_cast<uint16_t>(a);
  instruction.b = static_cast<uint16_t>(b);
  instruction.value = value;
  return instruction;
}

}  // namespace

bool BytecodeBuilder::Node::operator==(const Node& other) const {
  return same(instruction, other.instruction) && std::equal(operands, operands + 3, other.operands);
}

BytecodeBuilder::Value BytecodeBuilder::add_node(const Node& node) {
  const auto found = std::find(nodes_.begin(), nodes_.end(), node);
  if (found != nodes_.end()) return {static_cast<int32_t>(found - nodes_.begin())};
  nodes_.push_back(node);
  return {static_cast<int32_t>(nodes_.size() - 1)};
}

bool BytecodeBuilder::is_constant(Value value, int64_t* out) const {
  if (value.index < 0 || nodes_[value.index].instruction.op != Op::constant) return false;
  *out = nodes_[value.index].instruction.value;
  return true;
}

BytecodeBuilder::Value BytecodeBuilder::constant(int64_t value) { return add_node({make(Op::constant, 0, 0, value)}); }
BytecodeBuilder::Value BytecodeBuilder::dim(uint32_t dim) { return add_node({make(Op::dim, dim)}); }
BytecodeBuilder::Value BytecodeBuilder::stride(uint32_t parameter, uint32_t dim) {
  return add_node({make(Op::stride, parameter, dim)});
}
BytecodeBuilder::Value BytecodeBuilder::scalar(uint32_t parameter) { return add_node({make(Op::scalar, parameter)}); }
BytecodeBuilder::Value BytecodeBuilder::alignment(uint32_t parameter) {
  return add_node({make(Op::alignment, parameter)});
}

BytecodeBuilder::Value BytecodeBuilder::unary(Op op, Value x) {
  int64_t value = 0;
  if (op == Op::logical_not && is_constant(x, &value)) return constant(value == 0);
  return add_node({make(op), {x.index, -1, -1}});
}

BytecodeBuilder::Value BytecodeBuilder::binary(Op op, Value x, Value y) {
  int64_t a = 0, b = 0;
  const bool know_x = is_constant(x, &a), know_y = is_constant(y, &b);
  if (know_x && know_y) return constant(apply_binary(op, a, b));
  if (know_y && b == 0 && (op == Op::add || op == Op::sub)) return x;
  if (know_x && a == 0 && op == Op::add) return y;
  if (know_y && b == 1 && (op == Op::mul || op == Op::floordiv || op == Op::ceildiv)) return x;
  if (know_x && a == 1 && op == Op::mul) return y;
  if (x.index == y.index && (op == Op::min || op == Op::max)) return x;
  return add_node({make(op), {x.index, y.index, -1}});
}

BytecodeBuilder::Value BytecodeBuilder::select(Value condition, Value if_true, Value if_false) {
  int64_t value = 0;
  if (is_constant(condition, &value)) return value != 0 ? if_true : if_false;
  if (if_true.index == if_false.index) return if_true;
  return add_node({make(Op::select), {condition.index, if_true.index, if_false.index}});
}

void BytecodeBuilder::count_uses(int32_t node, std::vector<int>& uses) const {
  if (++uses[node] > 1) return;
  for (const int32_t operand : nodes_[node].operands) {
    if (operand >= 0) count_uses(operand, uses);
  }
}

void BytecodeBuilder::emit_node(int32_t node, std::vector<int>& uses, std::vector<int>& locals, int& next_local) {
  if (code_.size() > kMaxCode) return;  // try_emit refuses it
  if (locals[node] >= 0) {
    code_.push_back(make(Op::get_local, static_cast<uint32_t>(locals[node])));
    return;
  }
  for (const int32_t operand : nodes_[node].operands) {
    if (operand >= 0) emit_node(operand, uses, locals, next_local);
  }
  code_.push_back(nodes_[node].instruction);
  if (uses[node] > 1 && !is_leaf(nodes_[node].instruction.op) && next_local < kMaxLocals) {
    locals[node] = next_local++;
    code_.push_back(make(Op::set_local, static_cast<uint32_t>(locals[node])));
  }
}

Result<Expr> BytecodeBuilder::try_emit(Value root) {
  if (root.index < 0) return make_error(Code::kInternal, "a launch expression was never built; please send the dump");
  std::vector<int> uses(nodes_.size(), 0), locals(nodes_.size(), -1);
  int next_local = 0;
  count_uses(root.index, uses);
  const auto begin = static_cast<uint32_t>(code_.size());
  emit_node(root.index, uses, locals, next_local);
  const auto count = static_cast<uint32_t>(code_.size()) - begin;
  if (code_.size() > kMaxCode) {
    code_.resize(begin);
    return refusal(fmt::format("the launch expressions (grids, strides, sizes) need more than {} operations", kMaxCode),
                   "compute sizes on the host and pass them as dims");
  }
  int depth = 0, deepest = 0;
  for (uint32_t i = begin; i < begin + count; ++i) {
    const Op op = code_[i].op;
    if (is_leaf(op) || op == Op::get_local)
      ++depth;
    else if (op == Op::select)
      depth -= 2;
    else if (op != Op::set_local && op != Op::logical_not)
      --depth;
    deepest = std::max(deepest, depth);
  }
  if (deepest > kMaxStack) {
    code_.resize(begin);
    return refusal(fmt::format("a launch expression (grid, stride or size) nests {} values deep; at most {} are supported", deepest,
                               kMaxStack),
                   "write it with fewer right-nested operations");
  }
  // An equal slice that exists already serves as well: most grids and dims repeat.
  const auto same_at = [&](uint32_t at) {
    return std::equal(code_.begin() + at, code_.begin() + at + count, code_.begin() + begin, same);
  };
  for (uint32_t at = 0; at + count <= begin; ++at) {
    if (same_at(at)) {
      code_.resize(begin);
      return Expr{at, count};
    }
  }
  return Expr{begin, count};
}

Expr BytecodeBuilder::emit(Value root) {
  auto expr = try_emit(root);
  if (expr) return *expr;
  if (status_) status_ = std::move(expr).error();
  return {};
}

}  // namespace tilert::runtime
