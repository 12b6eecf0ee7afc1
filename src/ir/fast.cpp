// Both ways through the table.
#include "ir/fast.h"

#include "ir/visit.h"

namespace tilert::ir {
namespace {

struct Pair {
  Op exact, fast;
};
constexpr Pair kPairs[] = {
#define TILERT_FAST(name, ulps, ulps_per_argument, absolute, reach) {Op::name, Op::fast_##name},
#include "ir/fast.def"
};

}  // namespace

Op fast_op(Op op) {
  for (const Pair& pair : kPairs)
    if (pair.exact == op) return pair.fast;
  return op;
}

Op exact_op(Op op) {
  for (const Pair& pair : kPairs)
    if (pair.fast == op) return pair.exact;
  return op;
}

Expr as_fast(Arena& arena, Expr e) {
  return rewrite_expr(arena, e, [&](Expr node) {
    const Op op = fast_op(node->op);
    const std::span<const Expr> operands(node->operand, node->arity);
    return op != node->op && well_typed(op, operands) ? arena.make(op, operands) : node;
  });
}

}  // namespace tilert::ir
