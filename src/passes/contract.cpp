// One rewrite, applied to each addition and subtraction bottom up.
#include "passes/contract.h"

#include "ir/visit.h"

namespace tilert::passes {
namespace {

using ir::Expr;
using ir::Op;

Expr fuse(ir::Arena& arena, Expr e) {
  if (e->dtype != DType::f32 && e->dtype != DType::f64) return e;
  if (e->op != Op::add && e->op != Op::sub) return e;
  const Expr x = e->operand[0], y = e->operand[1];
  const auto negated = [&](Expr v) { return arena.make(Op::neg, {v}); };
  if (x->op == Op::mul) {
    return arena.make(Op::fma, {x->operand[0], x->operand[1], e->op == Op::add ? y : negated(y)});
  }
  if (y->op == Op::mul) {
    return arena.make(Op::fma, {e->op == Op::add ? y->operand[0] : negated(y->operand[0]), y->operand[1], x});
  }
  return e;
}

}  // namespace

Expr contract(ir::Arena& arena, Expr e) {
  return ir::rewrite_expr(arena, e, [&](Expr node) { return fuse(arena, node); });
}

Result<Module> contract(Module module, const PassContext&) {
  ir::Arena& arena = *module.program.arena;
  for (ir::Kernel& kernel : module.program.kernels)
    kernel.body = ir::rewrite_block(kernel.body, [&](const ir::StmtPtr& stmt) -> ir::Block {
      const auto* loop = std::get_if<ir::Parallel>(&stmt->node);
      if (!loop || !loop->contract) return {stmt};
      ir::Parallel out = *loop;
      out.body = ir::map_block_exprs(loop->body, [&](Expr e) { return contract(arena, e); });
      return {ir::make_stmt(std::move(out), stmt->ordinal, stmt->location)};
    });
  return module;
}

}  // namespace tilert::passes
