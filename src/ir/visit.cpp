// Walks and rewrites. What parts a statement has is in parts.h.
#include "ir/visit.h"

#include <unordered_set>

#include "ir/parts.h"

namespace tilert::ir {
namespace {

// Operands before users, without recursion, so that a very deep expression cannot exhaust the stack. `done` says
// whether a node was left already; `leave` is called once per node, after its operands.
template <class Done, class Leave>
void postorder(Expr root, Done done, Leave leave) {
  std::vector<std::pair<Expr, int>> stack{{root, 0}};
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next < node->arity) {
      const Expr operand = node->operand[next++];
      if (!done(operand)) stack.emplace_back(operand, 0);
      continue;
    }
    const Expr leaving = node;
    stack.pop_back();
    if (!done(leaving)) leave(leaving);
  }
}

struct ExprLister : PartVisitor {
  const std::function<void(Expr)>& f;
  explicit ExprLister(const std::function<void(Expr)>& f_) : f(f_) {}
  void expr(const Expr& e) { f(e); }
  void region(const Region& r, Use) {
    for (Expr e : r.offsets)
      if (e) f(e);
  }
  void access(const Access& a, Use) {
    for (Expr e : a.indices)
      if (e) f(e);
  }
};

// Maps expressions in place; `changed` tells whether any differs.
struct ExprMapper : PartVisitor {
  const std::function<Expr(Expr)>& f;
  bool changed = false;
  explicit ExprMapper(const std::function<Expr(Expr)>& f_) : f(f_) {}
  void expr(Expr& e) {
    const Expr mapped = f(e);
    changed |= mapped != e;
    e = mapped;
  }
  void each(std::vector<Expr>& list) {
    for (Expr& e : list)
      if (e) expr(e);
  }
  void region(Region& r, Use) { each(r.offsets); }
  void access(Access& a, Use) { each(a.indices); }
};

struct BlockLister : PartVisitor {
  const std::function<void(const Stmt&)>& f;
  explicit BlockLister(const std::function<void(const Stmt&)>& f_) : f(f_) {}
  void block(const Block& b) { for_each_stmt(b, f); }
};

struct HasBlock : PartVisitor {
  bool found = false;
  void block(const Block& b) { found |= !b.empty(); }
};

struct BlockRewriter : PartVisitor {
  const std::function<Block(const StmtPtr&)>& f;
  bool changed = false;
  explicit BlockRewriter(const std::function<Block(const StmtPtr&)>& f_) : f(f_) {}
  void block(Block& b) {
    Block rewritten = rewrite_block(b, f);
    changed |= rewritten != b;
    b = std::move(rewritten);
  }
};

struct PartMapper : PartVisitor {
  const PartMap& map;
  explicit PartMapper(const PartMap& map_) : map(map_) {}
  void region(Region& r, Use) {
    if (r.buffer != kNoBuffer) map.place(r.buffer, r.offsets);
  }
  void access(Access& a, Use) {
    if (a.buffer != kNoBuffer) map.place(a.buffer, a.indices);
  }
  void define(VarId& v) { map.define(v); }
  void block(Block& b) { b = map.block(b); }
};

struct UseLister : PartVisitor {
  std::vector<BufferUse>& uses;
  explicit UseLister(std::vector<BufferUse>& uses_) : uses(uses_) {}
  void add(BufferId buffer, Use use) {
    for (BufferUse& u : uses) {
      if (u.buffer != buffer) continue;
      u.read |= use.read;
      u.write |= use.write;
      return;
    }
    uses.push_back({buffer, use.read, use.write});
  }
  void region(const Region& r, Use use) { add(r.buffer, use); }
  void access(const Access& a, Use use) {
    if (a.buffer != kNoBuffer) add(a.buffer, use);
  }
  void alloc(const BufferId& b) { add(b, kNamed); }
};

Expr with_operands(Arena& arena, Expr node, const Expr* operands) {
  bool same = true;
  for (int i = 0; i < node->arity; ++i) same &= operands[i] == node->operand[i];
  if (same) return node;
  if (Expr made = arena.conversion(node->op, operands[0], node->dtype)) return made;
  return arena.make(node->op, std::span(operands, node->arity));
}

}  // namespace

void for_each_stmt(const Block& block, const std::function<void(const Stmt&)>& f) {
  BlockLister nested(f);
  for (const StmtPtr& stmt : block) {
    f(*stmt);
    each_part(*stmt, nested);
  }
}

void for_each_expr(const Stmt& stmt, const std::function<void(Expr)>& f) {
  ExprLister lister(f);
  each_part(stmt, lister);
}

void for_each_node(Expr expr, const std::function<void(Expr)>& f) {
  if (expr->arity == 0) return f(expr);
  std::unordered_set<Expr> seen;
  postorder(
      expr, [&](Expr e) { return seen.count(e) != 0; },
      [&](Expr e) {
        seen.insert(e);
        f(e);
      });
}

Expr rewrite_expr(Arena& arena, Expr expr, const std::function<Expr(Expr)>& f) {
  if (expr->arity == 0) return f(expr);
  std::unordered_map<Expr, Expr> memo;
  postorder(
      expr, [&](Expr e) { return memo.count(e) != 0; },
      [&](Expr e) {
        Expr operands[3] = {};
        for (int i = 0; i < e->arity; ++i) operands[i] = memo.find(e->operand[i])->second;
        memo.emplace(e, f(with_operands(arena, e, operands)));
      });
  return memo.find(expr)->second;
}

Expr substitute(Arena& arena, Expr expr, const std::unordered_map<VarId, Expr>& values) {
  if (values.empty()) return expr;
  return rewrite_expr(arena, expr, [&](Expr e) {
    if (!e->is_variable()) return e;
    const auto found = values.find(e->var());
    return found == values.end() ? e : found->second;
  });
}

StmtPtr map_exprs(const StmtPtr& stmt, const std::function<Expr(Expr)>& f) {
  Stmt copy = *stmt;
  ExprMapper mapper(f);
  each_part(copy, mapper);
  return mapper.changed ? std::make_shared<const Stmt>(std::move(copy)) : stmt;
}

StmtPtr map_parts(const StmtPtr& stmt, const PartMap& map) {
  Stmt copy = *stmt;
  PartMapper mapper(map);
  each_part(copy, mapper);
  return std::make_shared<const Stmt>(std::move(copy));
}

Block rewrite_block(const Block& block, const std::function<Block(const StmtPtr&)>& f) {
  Block out;
  out.reserve(block.size());
  for (const StmtPtr& stmt : block) {
    StmtPtr rewritten = stmt;
    HasBlock nested;
    each_part(*stmt, nested);
    if (nested.found) {
      Stmt copy = *stmt;
      BlockRewriter inner(f);
      each_part(copy, inner);
      if (inner.changed) rewritten = std::make_shared<const Stmt>(std::move(copy));
    }
    Block replaced = f(rewritten);
    out.insert(out.end(), std::make_move_iterator(replaced.begin()), std::make_move_iterator(replaced.end()));
  }
  return out;
}

Block map_block_exprs(const Block& block, const std::function<Expr(Expr)>& f) {
  return rewrite_block(block, [&](const StmtPtr& stmt) { return Block{map_exprs(stmt, f)}; });
}

std::vector<BufferUse> buffer_uses(const Stmt& stmt) {
  std::vector<BufferUse> uses;
  UseLister lister(uses);
  each_part(stmt, lister);
  return uses;
}

std::vector<BufferUse> buffer_uses_deep(const Stmt& stmt) {
  std::vector<BufferUse> uses;
  UseLister lister(uses);
  each_part(stmt, lister);
  const std::function<void(const Stmt&)> inner = [&](const Stmt& s) { each_part(s, lister); };
  BlockLister nested(inner);
  each_part(stmt, nested);
  return uses;
}

bool touches_global(const Program& program, const Stmt& stmt) {
  bool found = false;
  const auto own = [&](const Stmt& s) {
    for (const BufferUse& use : buffer_uses(s)) found |= program.buffer(use.buffer).scope == Scope::global;
    const auto* call = std::get_if<Call>(&s.node);
    found |= call && primitive_row(call->primitive).arguments.find('M') != std::string_view::npos;
    found |= std::holds_alternative<Inline>(s.node) || std::holds_alternative<Report>(s.node);
  };
  for_each_stmt({std::make_shared<const Stmt>(stmt)}, own);
  return found;
}

bool uses_var(Expr expr, VarId var) {
  bool found = false;
  for_each_node(expr, [&](Expr e) { found |= e->is_variable() && e->var() == var; });
  return found;
}

}  // namespace tilert::ir
