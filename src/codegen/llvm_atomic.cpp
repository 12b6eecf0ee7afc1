// Atomic operations: instructions of LLVM where there is one with the language's meaning, else rounds of compare and swap
// on the element's bits.
#include "codegen/llvm_kernel.h"
#include "ir/semantics.h"

namespace tilert::codegen {

using namespace ir;

namespace {

const char* order_word(MemoryOrder order) {
  static constexpr const char* kWords[] = {"monotonic", "acquire", "release", "acq_rel"};
  return kWords[static_cast<size_t>(order)];
}

std::string bits_type(DType d) { return fmt::format("i{}", dtype_bits(d)); }
bool is_wide_float(DType d) { return d == DType::f32 || d == DType::f64; }  // in memory as in registers

// Between a value in a register and the integer that memory holds.
std::string to_bits(LlvmText& t, LlvmValues& values, DType d, const std::string& value) {
  const std::string raw = values.to_memory(d, 1, value);
  return is_wide_float(d) ? t.let("bitcast {} {} to {}", memory_type(d), raw, bits_type(d)) : raw;
}
std::string from_bits(LlvmText& t, LlvmValues& values, DType d, const std::string& bits) {
  return values.from_memory(d, 1, is_wide_float(d) ? t.let("bitcast {} {} to {}", bits_type(d), bits, memory_type(d)) : bits);
}

// The name of LLVM's own operation, where it has one on the dtype.
const char* instruction(AtomicOp op, DType d) {
  const bool is_signed = dtype_is_signed(d);
  if (op == AtomicOp::exchange) return "xchg";
  if (dtype_is_float(d)) return nullptr;
  switch (op) {
    case AtomicOp::add: return "add";
    case AtomicOp::max: return is_signed ? "max" : "umax";
    case AtomicOp::min: return is_signed ? "min" : "umin";
    case AtomicOp::bit_and: return "and";
    case AtomicOp::bit_or: return "or";
    case AtomicOp::bit_xor: return "xor";
    default: return nullptr;
  }
}

}  // namespace

// The old value.
std::string LlvmKernel::atomic_update(const Atomic& n, DType dtype, const std::string& place) {
  const std::string type = bits_type(dtype);
  const int bytes = dtype_bits(dtype) / 8;
  const char* order = order_word(n.order);
  if (n.op == AtomicOp::load)
    return from_bits(text_, values_, dtype, text_.let("load atomic {}, ptr {} {}, align {}", type, place, order, bytes));
  const std::string operand = scalar(n.value);
  if (n.op == AtomicOp::store) {
    text_.put("store atomic {} {}, ptr {} {}, align {}", type, to_bits(text_, values_, dtype, operand), place, order, bytes);
    return {};
  }
  if (n.op == AtomicOp::cas) {
    const std::string expected = to_bits(text_, values_, dtype, scalar(n.expected)), wanted = to_bits(text_, values_, dtype, operand);
    const std::string both = text_.let("cmpxchg ptr {0}, {1} {2}, {1} {3} {4} {5}", place, type, expected, wanted, order,
                                       acquires(n.order) ? "acquire" : "monotonic");
    return from_bits(text_, values_, dtype, text_.let("extractvalue {{ {}, i1 }} {}, 0", type, both));
  }
  if (const char* name = instruction(n.op, dtype))
    return from_bits(text_, values_, dtype, text_.let("atomicrmw {} ptr {}, {} {} {}", name, place, type,
                                                      to_bits(text_, values_, dtype, operand), order));
  return atomic_rounds(n, dtype, place, operand);
}

std::string LlvmKernel::atomic_rounds(const Atomic& n, DType dtype, const std::string& place, const std::string& operand) {
  const std::string type = bits_type(dtype);
  const std::string first = text_.let("load atomic {}, ptr {} monotonic, align {}", type, place, dtype_bits(dtype) / 8);
  const std::string before = text_.block(), round = text_.fresh_label("round"), done = text_.fresh_label("done");
  const std::string seen = "%" + text_.fresh_label("seen");
  text_.put("br label %{}", round);
  text_.label(round);
  const std::string held = text_.let("phi {} [ {}, %{} ], [ {}, %{} ]", type, first, before, seen, round);
  const std::string old = from_bits(text_, values_, dtype, held);
  const std::string operands[] = {old, operand};
  const std::string next = values_.operation(*atomic_combine(n.op), dtype, dtype, 1, operands);
  const std::string both = text_.let("cmpxchg weak ptr {0}, {1} {2}, {1} {3} {4} {5}", place, type, held,
                                     to_bits(text_, values_, dtype, next), order_word(n.order),
                                     acquires(n.order) ? "acquire" : "monotonic");
  text_.put("{} = extractvalue {{ {}, i1 }} {}, 0", seen, type, both);
  const std::string stored = text_.let("extractvalue {{ {}, i1 }} {}, 1", type, both);
  text_.put("br i1 {}, label %{}, label %{}", stored, done, round);
  text_.label(done);
  return old;
}

// An element out of range is left alone, and was 0.
void LlvmKernel::atomic(const Atomic& n) {
  const DType dtype = program_.buffer(n.to.buffer).dtype;
  const std::string inside = conditions(n.to, true);
  const auto update = [&] {
    Scope scope(*this);
    return atomic_update(n, dtype, lane_pointers(n.to, 1)[0]);
  };
  if (inside.empty()) {
    const std::string old = update();
    if (n.old != kNoVar) bind(n.old, old);
    return;
  }
  const std::string yes = text_.fresh_label("in"), after = text_.fresh_label("atomic"), before = text_.block();
  text_.put("br i1 {}, label %{}, label %{}", inside, yes, after);
  text_.label(yes);
  const std::string old = update(), end = text_.block();
  text_.put("br label %{}", after);
  text_.label(after);
  if (n.old == kNoVar) return;
  bind(n.old, text_.let("phi {} [ {}, %{} ], [ {}, %{} ]", register_type(dtype), old, end, values_.constant(dtype, 0, 1), before));
}

}  // namespace tilert::codegen
