// Walking and rewriting statements and expressions, so that no pass writes its own recursion.
#pragma once

#include <functional>
#include <unordered_map>

#include "ir/program.h"

namespace tilert::ir {

// Calls f on every statement of the block, outer ones first, in order of appearance.
void for_each_stmt(const Block& block, const std::function<void(const Stmt&)>& f);

// Calls f on every expression that a statement itself holds (not its nested blocks).
void for_each_expr(const Stmt& stmt, const std::function<void(Expr)>& f);

// Calls f on every node of the expression, operands first, each distinct node once.
void for_each_node(Expr expr, const std::function<void(Expr)>& f);

// The expression with f applied bottom up: f gets a node whose operands are rewritten already and returns its
// replacement or the node itself. Memoized per call.
Expr rewrite_expr(Arena& arena, Expr expr, const std::function<Expr(Expr)>& f);

// Substitutes variables.
Expr substitute(Arena& arena, Expr expr, const std::unordered_map<VarId, Expr>& values);

// The statement with f applied to each of its own expressions.
StmtPtr map_exprs(const StmtPtr& stmt, const std::function<Expr(Expr)>& f);

// The block with f applied to each statement bottom up: nested blocks are rewritten first; f returns what replaces the
// statement (nothing, itself, or several). Unchanged statements keep their identity.
Block rewrite_block(const Block& block, const std::function<Block(const StmtPtr&)>& f);

// The block with every expression in it mapped.
Block map_block_exprs(const Block& block, const std::function<Expr(Expr)>& f);

// The statement with its parts replaced, in order of appearance: `place` may change the indices of each region and element,
// `block` gives what stands for a nested block. Before it `define` is told each variable that the statement makes.
struct PartMap {
  std::function<void(BufferId, std::vector<Expr>&)> place;
  std::function<void(VarId)> define;
  std::function<Block(const Block&)> block;
};
StmtPtr map_parts(const StmtPtr& stmt, const PartMap& map);

// Buffers that a statement itself names (not its nested blocks), and whether it reads or writes each.
struct BufferUse {
  BufferId buffer;
  bool read, write;
};
std::vector<BufferUse> buffer_uses(const Stmt& stmt);
// The same for a statement and all it contains.
std::vector<BufferUse> buffer_uses_deep(const Stmt& stmt);

// Whether the statement, or one within it, reads or writes global memory, or may: source text and what goes through a tensor map.
bool touches_global(const Program& program, const Stmt& stmt);

bool uses_var(Expr expr, VarId var);

}  // namespace tilert::ir
