// Calls of device functions on CPUs: operands by value in the types of LLVM, places as pointers.
#include "codegen/llvm_kernel.h"

namespace tilert::codegen {

using namespace ir;

std::string llvm_value_type(DType dtype) {
  if (dtype == DType::none) return "void";
  return dtype == DType::f16 ? "half" : dtype == DType::bf16 ? "bfloat" : register_type(dtype);
}

namespace {

bool is_half(DType d) { return d == DType::f16 || d == DType::bf16; }  // a float in registers

}  // namespace

std::string LlvmKernel::operand(const DeviceOperand& given, DType dtype) {
  if (given.passing != Passing::value)
    return "ptr " + (is_local(given.at.buffer) ? local_pointer(given.at) : lane_pointers(given.at, 1)[0]);
  const std::string held = scalar(given.value), type = llvm_value_type(dtype);
  return type + " " + (is_half(dtype) ? text_.let("bitcast i16 {} to {}", values_.to_memory(dtype, 1, held), type) : held);
}

// What it gives, as registers hold it; empty where it gives nothing.
std::string LlvmKernel::call_function(const CallDevice& n) {
  const DeviceFunction& f = program_.functions[n.function];
  callees_.functions.insert(n.function);
  std::string operands;
  for (size_t i = 0; i < n.operands.size(); ++i)
    operands += (i ? ", " : "") + operand(n.operands[i], f.parameters[i].dtype);
  const std::string call = fmt::format("call {} {}({})", llvm_value_type(f.result), llvm_function_name(f, f.name), operands);
  if (f.result == DType::none) {
    text_.put("{}", call);
    return {};
  }
  const std::string given = text_.let("{}", call);
  return is_half(f.result) ? values_.from_memory(f.result, 1, text_.let("bitcast {} {} to i16", llvm_value_type(f.result), given)) : given;
}

// Where a place is outside its tensor there is no call, and the value is 0.
void LlvmKernel::call_device(const CallDevice& n) {
  std::string inside;
  for (const DeviceOperand& given : n.operands) {
    if (given.passing == Passing::value) continue;
    const std::string one = conditions(given.at, true);
    if (!one.empty()) inside = inside.empty() ? one : text_.let("and i1 {}, {}", inside, one);
  }
  if (inside.empty()) {
    const std::string given = call_function(n);
    if (n.var != kNoVar) bind(n.var, given);
    return;
  }
  const DType dtype = program_.functions[n.function].result;
  const std::string yes = text_.fresh_label("in"), after = text_.fresh_label("called"), before = text_.block();
  text_.put("br i1 {}, label %{}, label %{}", inside, yes, after);
  text_.label(yes);
  std::string given;
  {
    Scope scope(*this);
    given = call_function(n);
  }
  const std::string end = text_.block();
  text_.put("br label %{}", after);
  text_.label(after);
  if (n.var == kNoVar) return;
  bind(n.var, text_.let("phi {} [ {}, %{} ], [ {}, %{} ]", register_type(dtype), given, end, values_.constant(dtype, 0, 1), before));
}

}  // namespace tilert::codegen
