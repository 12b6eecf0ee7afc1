// Single elements outside element-wise loops: values that all threads of a block have alike, and stores that happen once.
#include <fmt/format.h>

#include "passes/lower.h"
#include "support/refusal.h"

namespace tilert::passes {

using namespace ir;

// A value that every thread computes or reads alike.
Status Lower::uniform_let(const Let& l) {
  if (l.value) {
    if (l.value->dtype == DType::index) define(l.var, l.value);
    emit(Let{l.var, simplify(l.value), {}});
    return {};
  }
  const Buffer b = program().buffer(l.read.buffer);
  if (b.scope == Scope::scalar || b.scope == Scope::local || b.scope == Scope::registers) {
    emit(Let{l.var, nullptr, l.read});
  } else if (b.scope == Scope::shared) {
    emit(Let{l.var, nullptr, shared_access(l.read.buffer, l.read.indices)});
  } else if (b.scope == Scope::fragment) {
    // The thread that holds the element hands it to all.
    const FragmentMap map = fragment_map(l.read.buffer);
    const BufferId box = scratch(b.dtype, 1, "broadcast");
    group(fmt::format("{}: broadcast an element", ordinal_), [&] {
      unrolled(map.registers(), [&](Expr reg) {
        Expr here = is_first_replica(map);
        for (size_t d = 0; d < l.read.indices.size(); ++d)
          here = arith::logical_and(arena(), here, arith::eq(arena(), coordinate(map, static_cast<int>(d), reg), l.read.indices[d]));
        when(here, [&] { store({box, {index(0)}}, read({fragment_registers(l.read.buffer), {reg}}, "x")); });
      });
    });
    emit(Let{l.var, nullptr, {box, {index(0)}}});
  } else {
    const Expr condition = inside(l.read.buffer, l.read.indices, {});
    const Access at = global_access(l.read.buffer, l.read.indices);
    if (!condition) {
      emit(Let{l.var, nullptr, at});
      return {};
    }
    const BufferId value = scalar(b.dtype, "x");
    store({value, {}}, arena().number(b.dtype, 0));
    when(condition, [&] { store({value, {}}, read(at, "x")); });
    emit(Let{l.var, nullptr, {value, {}}});
  }
  return {};
}

Status Lower::uniform_store(const Store& st) {
  const Buffer b = program().buffer(st.to.buffer);
  const Expr value = simplify(st.value);
  if (b.scope == Scope::scalar || b.scope == Scope::local || b.scope == Scope::registers) {
    emit(Store{st.to, value});
    return {};
  }
  group(fmt::format("{}: store an element", ordinal_), [&] {
    if (b.scope == Scope::fragment) {
      const FragmentMap map = fragment_map(st.to.buffer);
      unrolled(map.registers(), [&](Expr reg) {
        Expr here = nullptr;
        for (size_t d = 0; d < st.to.indices.size(); ++d)
          here = arith::logical_and(arena(), here, arith::eq(arena(), coordinate(map, static_cast<int>(d), reg), st.to.indices[d]));
        when(here, [&] { store({fragment_registers(st.to.buffer), {reg}}, value); });
      });
      return;
    }
    Expr condition = arith::eq(arena(), thread(), 0);
    const bool global = b.scope == Scope::global;
    if (global) condition = arith::logical_and(arena(), inside(st.to.buffer, st.to.indices, {}), condition);
    when(condition, [&] {
      store(global ? global_access(st.to.buffer, st.to.indices) : shared_access(st.to.buffer, st.to.indices), value);
    });
  });
  return {};
}

// One counter in the workspace serves all barriers of the program, which leave it as the next one needs it.
Status Lower::grid_sync() {
  BufferId counter = 0;
  const auto is_counter = [](const Buffer& b) { return is_workspace(b) && b.name == "grid_counter"; };
  while (counter < program().buffers.size() && !is_counter(program().buffers[counter])) ++counter;
  if (counter == program().buffers.size()) counter = program().add_workspace("grid_counter", DType::uint32, {index(1)}, true);
  call(Primitive::grid_barrier, {address_arg({counter, {index(0)}})});
  return {};
}

// One thread writes the entry; who reads it comes after the launch.
Status Lower::uniform_report(const Report& n) {
  Report out = n;
  for (std::vector<Expr>* list : {&out.values, &out.block})
    for (Expr& e : *list) e = simplify(e);
  group(fmt::format("{}: {}", ordinal_, n.failed ? "assert" : "print"),
        [&] { when(arith::eq(arena(), thread(), 0), [&] { emit(std::move(out)); }); });
  return {};
}

// Every thread runs the text; its places are memory that all see, or each thread's own variable.
Status Lower::inline_source(const Inline& n) {
  const char* const language = context_.target.language();
  if (n.target != language)
    return refusal(fmt::format("operation {}: inline source for '{}' cannot be compiled for {}", ordinal_, n.target, context_.target.text),
                   fmt::format("give a text in \"{}\"", language));
  Inline out{n.target, n.text, {}};
  for (const auto& operand : n.operands) {
    if (const auto* e = std::get_if<Expr>(&operand)) {
      out.operands.emplace_back(simplify(*e));
      continue;
    }
    const Access& at = std::get<Access>(operand);
    switch (program().buffer(at.buffer).scope) {
      case Scope::global: out.operands.emplace_back(global_access(at.buffer, at.indices)); break;
      case Scope::shared: out.operands.emplace_back(shared_access(at.buffer, at.indices)); break;
      case Scope::fragment:
        return refusal(fmt::format("operation {}: inline source names an element of the fragment {}, which one thread holds",
                                   ordinal_, program().buffer(at.buffer).name),
                       "copy it to a shared tile or a var before, and back after");
      default: out.operands.emplace_back(at);
    }
  }
  emit(std::move(out));
  return {};
}

}  // namespace tilert::passes
