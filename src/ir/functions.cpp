// Device functions: what they take, what a call of one does, and which programs are code.
#include <algorithm>

#include "ir/program.h"
#include "ir/visit.h"

namespace tilert::ir {

const std::string* text_in(const DeviceFunction& function, std::string_view language) {
  for (const auto& [of, text] : function.texts)
    if (of == language) return &text;
  return nullptr;
}

bool device_value_takes(DType dtype) {
  if (!dtype_is_known(dtype) || dtype == DType::index || dtype == DType::tf32) return false;
  return dtype_bits(dtype) > 8 || (dtype_bits(dtype) == 8 && !dtype_is_float(dtype));
}

bool device_pointer_takes(DType dtype) {
  return dtype_is_known(dtype) && dtype != DType::index && dtype != DType::tf32 && !dtype_is_packed(dtype);
}

bool writes_memory(const Program& program, const CallDevice& call) {
  return std::any_of(call.operands.begin(), call.operands.end(), [&](const DeviceOperand& operand) {
    if (!writes_through(operand.passing)) return false;
    const Scope scope = program.buffers[operand.at.buffer].scope;
    return scope == Scope::global || scope == Scope::shared;
  });
}

bool holds_source(const Program& program) {
  bool found = !program.functions.empty();
  for (const Kernel& kernel : program.kernels) {
    found |= kernel.source != nullptr;
    for_each_stmt(kernel.body, [&](const Stmt& s) { found |= std::holds_alternative<Inline>(s.node); });
  }
  return found;
}

}  // namespace tilert::ir
