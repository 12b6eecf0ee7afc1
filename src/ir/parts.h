// The parts of a statement, listed once: which expressions, regions, elements, nested blocks and defined variables each
// kind has. Walks and rewrites (visit.h), copies, printing order and checks stand on it; only this room includes it.
#pragma once

#include "ir/stmt.h"

namespace tilert::ir {

// How a statement uses a region or an element.
struct Use {
  bool read = false, write = false;
};
inline constexpr Use kRead{true, false}, kWrite{false, true}, kReadWrite{true, true}, kNamed{false, false};

inline Use passing_use(Passing passing) {
  return passing == Passing::read ? kRead : passing == Passing::write ? kWrite : kReadWrite;
}

// What a primitive does with the memory behind an argument, by its letter in primitives.def. A tensor map is read by
// a load and written by a store; a load is what fills shared memory asynchronously.
inline Use primitive_use(const PrimitiveRow& row, size_t argument) {
  if (argument >= row.arguments.size()) return kReadWrite;
  switch (row.arguments[argument]) {
    case 'r':
    case 'S':
    case 'G': return kRead;
    case 'w':
    case 'D':
    case 'A':
    case 'H': return kWrite;
    case 'x':
    case 'U':
    case 'B': return kReadWrite;
    case 'M': return row.arguments.find('A') != std::string_view::npos ? kRead : kWrite;
    default: return kNamed;
  }
}

inline bool is_false(Expr e) { return e && e->is_constant() && e->bits == 0; }

// Base of visitors: does nothing with any part. A visitor hides what it cares for. Null expressions are not visited.
struct PartVisitor {
  void expr(const Expr&) {}
  void region(const Region&, Use) {}
  void access(const Access&, Use) {}
  void block(const Block&) {}
  void define(const VarId&) {}
  void alloc(const BufferId&) {}  // a buffer that is named, neither read nor written
};

// Calls v on each part of the node in the order of the struct's meaning: expressions that are evaluated before a nested
// block come before it, the variables that a block sees are defined before it. N is a node type, const or not; with a
// node that is not const the visitor gets references that it may change.
template <class N, class V>
void each_expr_part(N& list, V& v) {
  for (auto& e : list)
    if (e) v.expr(e);
}

template <class C, class V>
void each_combine_part(C& combine, V& v) {
  for (auto& var : combine.left) v.define(var);
  for (auto& var : combine.right) v.define(var);
  each_expr_part(combine.identity, v);
  each_expr_part(combine.result, v);
}

template <class V, class T>
constexpr bool kIs = std::is_same_v<std::remove_const_t<V>, T>;

template <class N, class V>
void each_tile_part(N& n, V& v) {
  if constexpr (kIs<N, Alloc>) {
    v.alloc(n.buffer);
  } else if constexpr (kIs<N, Copy>) {
    v.region(n.src, kRead);
    v.region(n.dst, kWrite);
    if (n.safe) v.expr(n.safe);
    each_expr_part(n.valid, v);
  } else if constexpr (kIs<N, Fill>) {
    v.region(n.dst, kWrite);
    if (n.value) v.expr(n.value);
  } else if constexpr (kIs<N, Gemm>) {
    v.region(n.a, kRead);
    v.region(n.b, kRead);
    if (n.sparse()) v.region(n.metadata, kRead);
    v.region(n.c, is_false(n.accumulate) ? kWrite : kReadWrite);
    if (n.accumulate) v.expr(n.accumulate);
  } else if constexpr (kIs<N, Reduce>) {
    v.region(n.src, kRead);
    v.region(n.dst, n.accumulate ? kReadWrite : kWrite);
  } else if constexpr (kIs<N, Fold>) {
    for (auto& r : n.src) v.region(r, kRead);
    for (auto& r : n.dst) v.region(r, n.accumulate ? kReadWrite : kWrite);
    each_combine_part(n.combine, v);
  } else if constexpr (kIs<N, Scan>) {
    for (auto& r : n.src) v.region(r, kRead);
    for (auto& r : n.dst) v.region(r, kWrite);
    each_combine_part(n.combine, v);
  } else if constexpr (kIs<N, Pick>) {
    v.region(n.src, kRead);
    v.region(n.dst, kWrite);
  } else if constexpr (kIs<N, Sort>) {
    v.region(n.src, kRead);
    v.region(n.dst, kWrite);
    if (n.index.buffer != kNoBuffer) v.region(n.index, kWrite);
  } else if constexpr (kIs<N, Reinterpret>) {
    v.region(n.src, kRead);
    v.region(n.dst, kWrite);
  } else if constexpr (kIs<N, Parallel>) {
    for (auto& var : n.vars) v.define(var);
    v.block(n.body);
  } else if constexpr (kIs<N, For>) {
    if (n.begin) v.expr(n.begin);
    if (n.end) v.expr(n.end);
    v.define(n.var);
    v.block(n.body);
  } else if constexpr (kIs<N, If>) {
    if (n.condition) v.expr(n.condition);
    v.block(n.then_body);
    v.block(n.else_body);
  } else if constexpr (kIs<N, Roles>) {
    for (auto& body : n.issuers) v.block(body);
    v.block(n.work);
  } else if constexpr (kIs<N, While>) {
    v.block(n.head);
    if (n.condition) v.expr(n.condition);
    v.block(n.body);
  }
}

template <class N, class V>
void each_other_part(N& n, V& v) {
  if constexpr (kIs<N, Let>) {
    if (n.value) v.expr(n.value);
    if (!n.value) v.access(n.read, kRead);
    v.define(n.var);
  } else if constexpr (kIs<N, Store>) {
    v.access(n.to, kWrite);
    if (n.value) v.expr(n.value);
  } else if constexpr (kIs<N, Atomic>) {
    v.access(n.to, n.op == AtomicOp::load ? kRead : n.op == AtomicOp::store ? kWrite : kReadWrite);
    if (n.value) v.expr(n.value);
    if (n.expected) v.expr(n.expected);
    if (n.old != kNoVar) v.define(n.old);
  } else if constexpr (kIs<N, Report>) {
    each_expr_part(n.values, v);
    each_expr_part(n.block, v);
    if (n.ring != kNoBuffer) v.alloc(n.ring);
  } else if constexpr (kIs<N, ThreadOp>) {
    if (n.value) v.expr(n.value);
    if (n.lane) v.expr(n.lane);
    if (n.src.buffer != kNoBuffer) v.access(n.src, kRead);
    if (n.dst.buffer != kNoBuffer) v.access(n.dst, kWrite);
    if (n.var != kNoVar) v.define(n.var);
  } else if constexpr (kIs<N, AsyncOp>) {
    if (n.barrier.buffer != kNoBuffer) v.access(n.barrier, kReadWrite);
    if (n.value) v.expr(n.value);
    if (n.src.buffer != kNoBuffer) v.region(n.src, kRead);
    if (n.dst.buffer != kNoBuffer) v.region(n.dst, kWrite);
  } else if constexpr (kIs<N, Inline>) {
    for (auto& operand : n.operands) {
      if (auto* e = std::get_if<Expr>(&operand)) {
        if (*e) v.expr(*e);
      } else {
        v.access(*std::get_if<Access>(&operand), kReadWrite);
      }
    }
  } else if constexpr (kIs<N, CallDevice>) {
    for (auto& operand : n.operands) {
      if (operand.passing != Passing::value) v.access(operand.at, passing_use(operand.passing));
      else if (operand.value) v.expr(operand.value);
    }
    if (n.var != kNoVar) v.define(n.var);
  } else if constexpr (kIs<N, Move>) {
    v.access(n.dst, kWrite);
    v.access(n.src, kRead);
  } else if constexpr (kIs<N, Call>) {
    const PrimitiveRow& row = primitive_row(n.primitive);
    for (size_t i = 0; i < n.args.size(); ++i) {
      auto& arg = n.args[i];
      if (arg.kind == CallArg::Kind::value && arg.value) v.expr(arg.value);
      if (arg.kind == CallArg::Kind::address || arg.kind == CallArg::Kind::registers)
        v.access(arg.at, primitive_use(row, i));
    }
  } else if constexpr (kIs<N, Group>) {
    v.block(n.body);
  }
}

template <class N, class V>
void each_part_of(N& n, V& v) {
  each_tile_part(n, v);
  each_other_part(n, v);
}

template <class V>
void each_part(const Stmt& stmt, V& v) {
  std::visit([&](const auto& n) { each_part_of(n, v); }, stmt.node);
}
template <class V>
void each_part(Stmt& stmt, V& v) {
  std::visit([&](auto& n) { each_part_of(n, v); }, stmt.node);
}

}  // namespace tilert::ir
