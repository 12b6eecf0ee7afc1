// Calls of device functions, as statements of the block and of a point of an element-wise loop. Where a place lies outside its
// tensor there is no call, and what it gives is 0.
#include <fmt/format.h>

#include "arith/build.h"
#include "passes/element_wise.h"

namespace tilert::passes {

using namespace ir;

// A call that writes no memory is every thread's own, with the same operands. One that does is made by one thread; what it
// gives, and what it writes to the block's variables, reaches the others through shared memory.
Status Lower::uniform_call(const CallDevice& n) {
  const DeviceFunction& f = program().functions[n.function];
  const DType result = f.result;
  CallDevice one = n;
  Expr condition = nullptr;
  for (DeviceOperand& operand : one.operands) {
    if (operand.passing == Passing::value) {
      operand.value = simplify(operand.value);
      continue;
    }
    const Access at = operand.at;
    if (program().buffer(at.buffer).scope == Scope::global)
      condition = arith::logical_and(arena(), condition, inside(at.buffer, at.indices, {}));
    operand.at = memory_access(at.buffer, at.indices);
  }
  const bool asked = n.var != kNoVar, once = writes_memory(program(), n);
  if (!once && (!condition || !asked)) {
    when(condition, [&] { emit(std::move(one)); });
    return {};
  }
  const Access place = !asked ? Access{} : once ? Access{scratch(result, 1, "result"), {index(0)}} : Access{scalar(result, "result"), {}};
  const auto call = [&] {
    if (asked && condition) store(place, arena().constant(result, 0));
    when(condition, [&] {
      if (asked) one.var = program().add_var(VarKind::let, result, "result");
      emit(one);
      if (asked) store(place, program().var(one.var));
    });
  };
  if (!once) {
    call();
    emit(Let{n.var, nullptr, place});
    return {};
  }
  std::vector<std::pair<Access, Access>> shared;  // a variable of the block that is written, and where all find its value
  for (const DeviceOperand& operand : one.operands) {
    const Buffer& b = program().buffer(operand.at.buffer);
    if (!writes_through(operand.passing) || b.scope == Scope::global || b.scope == Scope::shared) continue;
    const DType dtype = b.dtype;
    shared.emplace_back(operand.at, Access{scratch(dtype, 1, "written"), {index(0)}});
  }
  group(fmt::format("{}: call of {}", ordinal_, f.name), [&] {
    when(arith::eq(arena(), thread(), 0), [&] {
      call();
      for (const auto& [own, box] : shared) store(box, read(own, "x"));
    });
  });
  for (const auto& [own, box] : shared) store(own, read(box, "x"));
  if (asked) emit(Let{n.var, nullptr, place});
  return {};
}

void ElementWise::call_device(const CallDevice& n) {
  CallDevice one = n;
  Expr condition = nullptr;
  for (DeviceOperand& operand : one.operands) {
    if (operand.passing == Passing::value) {
      operand.value = value(operand.value);
      continue;
    }
    const Access at = operand.at;
    const auto indices = values(at.indices);
    condition = arith::logical_and(low_.arena(), condition, bounds_condition(at, indices));
    operand.at = low_.memory_access(at.buffer, indices);
  }
  give(condition, one, one.var, "result");
}

}  // namespace tilert::passes
