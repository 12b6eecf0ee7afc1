// Expressions of .tir: nested calls, cut into definitions where they are large.
#include "ir/expr_printer.h"

#include <algorithm>

#include "ir/evaluate.h"
#include "ir/words.h"

namespace tilert::ir {
namespace {

constexpr int kMaxNodesInLine = 40;  // of one expression; what is larger is cut into definitions

bool is_identifier(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (text.empty() || !letter(text[0])) return false;
  for (char c : text)
    if (!letter(c) && !(c >= '0' && c <= '9')) return false;
  return true;
}

}  // namespace

void ExprPrinter::reference(char sigil, std::string_view name, uint32_t id) {
  line_ += sigil;
  if (names_ && is_identifier(name)) put(name, ".");
  put(static_cast<int64_t>(id));
}

void ExprPrinter::var(VarId id) {
  if (id == kNoVar) return put("_");
  reference('%', id < p_.vars.size() ? std::string_view(p_.vars[id].name) : std::string_view(), id);
}

void ExprPrinter::buffer(BufferId id) {
  if (id == kNoBuffer) return put("_");
  reference('@', id < p_.buffers.size() ? std::string_view(p_.buffers[id].name) : std::string_view(), id);
}

void ExprPrinter::odd_name(std::string_view name) {
  if (!names_ || name.empty() || is_identifier(name)) return;
  put(" ");
  quote(name);
}

// ---- expressions ----

void ExprPrinter::expr(Expr e) {
  if (!e) return put("_");
  if (e->arity) measure(e);
  spell(e);
}

// Gives every node under e a size in printed nodes, and a definition to those that would be too large.
void ExprPrinter::measure(Expr root) {
  if (sizes_.count(root)) return;
  std::vector<std::pair<Expr, int>> stack{{root, 0}};
  while (!stack.empty()) {
    auto& [e, next] = stack.back();
    if (next < e->arity) {
      const Expr operand = e->operand[next++];
      if (operand->arity && !sizes_.count(operand)) stack.emplace_back(operand, 0);
      continue;
    }
    const Expr node = e;
    stack.pop_back();
    int size = 1;
    for (int i = 0; i < node->arity; ++i) size += node->operand[i]->arity ? sizes_[node->operand[i]] : 1;
    if (size > kMaxNodesInLine) {
      define(node);
      size = 1;
    }
    sizes_[node] = size;
  }
}

void ExprPrinter::define(Expr e) {
  std::string kept;
  kept.swap(line_);
  const auto number = static_cast<int64_t>(definitions_.size());
  put("define $", number, " = ");
  spell(e);
  end_line();
  definitions_[e] = number;
  line_.swap(kept);
}

void ExprPrinter::spell(Expr e) {
  if (e->is_constant()) return constant(*e);
  if (e->is_variable()) return var(e->var());
  if (!definitions_.empty()) {
    const auto found = definitions_.find(e);
    if (found != definitions_.end()) return put("$", found->second);
  }
  put(op_row(e->op).text);
  if (op_row(e->op).rule == TypeRule::convert) put("<", dtype_text(e->dtype), ">");
  put("(");
  for (int i = 0; i < e->arity; ++i) {
    if (i) put(", ");
    spell(e->operand[i]);
  }
  put(")");
}

void ExprPrinter::constant(const Node& node) {
  if (node.dtype == DType::index) return put(node.as_int());
  if (node.dtype == DType::boolean) return put(node.bits ? "true" : "false");
  put(dtype_text(node.dtype), "(");
  if (dtype_is_float(node.dtype)) {
    hex(node.bits);
    if (names_ && can_evaluate(node.dtype)) comment(bits_to_double(node.dtype, node.bits));
  } else if (dtype_is_signed(node.dtype)) {
    put(node.as_int());
  } else {
    char buffer[24];
    line_.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, node.bits).ptr);
  }
  put(")");
}

void ExprPrinter::comment(double value) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 9).ptr;
  put(" /*");
  line_.append(buffer, end);
  put("*/");
}

void ExprPrinter::exprs(const std::vector<Expr>& items) {
  put("[");
  list(items, [&](Expr e) { expr(e); });
  put("]");
}

void ExprPrinter::region(const Region& r) {
  buffer(r.buffer);
  put("[");
  const size_t rank = std::max(r.offsets.size(), r.extents.size());
  for (size_t d = 0; d < rank; ++d) {
    if (d) put(", ");
    expr(d < r.offsets.size() ? r.offsets[d] : nullptr);
    put(":", d < r.extents.size() ? r.extents[d] : 0);
  }
  put("]");
}

void ExprPrinter::access(const Access& a) {
  buffer(a.buffer);
  exprs(a.indices);
}

void ExprPrinter::body(const Atomic& n) {
  put("atomic ");
  if (n.old != kNoVar) {
    var(n.old);
    put(" = ");
  }
  put(word(n.op), " ");
  access(n.to);
  if (n.value) {
    put(" with ");
    expr(n.value);
  }
  if (n.expected) {
    put(" expected ");
    expr(n.expected);
  }
  if (n.order != MemoryOrder::relaxed) put(" ", word(n.order));
  if (n.scope != MemoryScope::device) put(" scope ", word(n.scope));
}

void ExprPrinter::body(const Report& n) {
  put(n.failed ? "assert " : "print ");
  quote(n.message);
  put(" ");
  exprs(n.values);
  put(" at ");
  exprs(n.block);
  if (n.id) put(" id ", n.id);
  if (n.ring == kNoBuffer) return;
  put(" ring ");
  buffer(n.ring);
}

void ExprPrinter::function(const DeviceFunction& f) {
  put("function ");
  quote(f.name);
  put(" (");
  list(f.parameters, [&](const DeviceFunction::Parameter& p) {
    if (p.passing != Passing::value) put(word(p.passing), " ");
    put(dtype_text(p.dtype));
  });
  put(")");
  if (f.result != DType::none) put(" gives ", dtype_text(f.result));
  for (const auto& [language, text] : f.texts) {
    put(" text ");
    quote(language);
    put(" ");
    quote(text);
  }
}

void ExprPrinter::body(const CallDevice& n) {
  put("call_device ");
  if (n.var != kNoVar) {
    var(n.var);
    put(" = ");
  }
  quote(n.function < p_.functions.size() ? p_.functions[n.function].name : "?");
  put(" (");
  list(n.operands, [&](const DeviceOperand& operand) {
    if (operand.passing == Passing::value) return expr(operand.value);
    access(operand.at);
  });
  put(")");
}

void ExprPrinter::body(const ThreadOp& n) {
  put("together ");
  if (n.var != kNoVar) {
    var(n.var);
    put(" = ");
  }
  put(word(n.kind));
  if (n.kind == ThreadOpKind::fence) return put(" ", word(n.scope));
  if (n.value) {
    put(" ");
    expr(n.value);
  }
  if (n.lane) {
    put(" by ");
    expr(n.lane);
  }
  if (n.dst.buffer != kNoBuffer) {
    put(" ");
    access(n.dst);
    put(" = ");
    access(n.src);
  }
  if (n.number) put(" number ", n.number);
  if (n.count) put(" count ", n.count);
}

void ExprPrinter::body(const Inline& n) {
  put("inline ");
  quote(n.target);
  put(" ");
  quote(n.text);
  put(" (");
  list(n.operands, [&](const std::variant<Expr, Access>& operand) {
    if (const Expr* e = std::get_if<Expr>(&operand)) return expr(*e);
    access(std::get<Access>(operand));
  });
  put(")");
}

void ExprPrinter::body(const AsyncOp& n) {
  put("async ", word(n.kind));
  if (n.src.buffer != kNoBuffer) {
    put(" ");
    region(n.src);
    put(" -> ");
    region(n.dst);
    if (n.barrier.buffer != kNoBuffer) put(" on");
  }
  if (n.barrier.buffer != kNoBuffer) {
    put(" ");
    access(n.barrier);
  }
  if (n.value) {
    put(" phase ");
    expr(n.value);
  }
  if (n.number) put(" number ", n.number);
}

void ExprPrinter::argument(const CallArg& arg) {
  switch (arg.kind) {
    case CallArg::Kind::value: return expr(arg.value);
    case CallArg::Kind::address: put("address "); return access(arg.at);
    case CallArg::Kind::registers:
      put("registers ");
      access(arg.at);
      return put(" : ", arg.count);
    case CallArg::Kind::text: return quote(arg.text);
  }
}

void ExprPrinter::layout(const LayoutHint& l) {
  if (l.kind == TileLayout::automatic) return;
  put(" layout ", word(l.kind));
  if (l.kind == TileLayout::custom) {
    put(" (");
    list(l.vars, [&](VarId v) { var(v); });
    put(") = ");
    expr(l.place);
  }
  if (l.must) put(" must");
}

void ExprPrinter::combine(const Combine& c) {
  put(" by (");
  list(c.left, [&](VarId v) { var(v); });
  put(") (");
  list(c.right, [&](VarId v) { var(v); });
  put(") = ");
  exprs(c.result);
  put(" from ");
  exprs(c.identity);
}

}  // namespace tilert::ir
