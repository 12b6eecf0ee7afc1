// Folding constructors: one local step each, over operands that are folded already.
#include "arith/build.h"

#include "ir/evaluate.h"

namespace tilert::arith {
namespace {

using ir::Arena;
using ir::Expr;
using ir::Op;

bool is(Expr e, int64_t value) { return e->is_constant() && !dtype_is_float(e->dtype) && e->as_int() == value; }
bool commutes(Op op) {
  return op == Op::add || op == Op::mul || op == Op::bit_xor || op == Op::min || op == Op::max || op == Op::eq || op == Op::logical_and ||
         op == Op::logical_or;
}

Expr make(Arena& arena, Op op, Expr a, Expr b) {
  if (commutes(op) && a->is_constant() && !b->is_constant()) std::swap(a, b);
  const Expr e = arena.make(op, {a, b});
  if (!a->is_constant() || !b->is_constant()) return e;
  const uint64_t bits[2] = {a->bits, b->bits};
  const auto value = ir::evaluate(*e, bits);
  return value ? arena.constant(e->dtype, *value) : e;
}

}  // namespace

Expr constant_like(Arena& arena, Expr like, int64_t value) {
  return dtype_is_float(like->dtype) ? arena.number(like->dtype, static_cast<double>(value))
                                     : arena.constant(like->dtype, static_cast<uint64_t>(value));
}

Expr add(Arena& arena, Expr a, Expr b) {
  if (is(a, 0)) return b;
  if (is(b, 0)) return a;
  if (a->op == Op::add && a->operand[1]->is_constant() && b->is_constant() && dtype_is_integer(a->dtype)) {
    return add(arena, a->operand[0], add(arena, a->operand[1], b));
  }
  return make(arena, Op::add, a, b);
}

Expr sub(Arena& arena, Expr a, Expr b) {
  if (is(b, 0)) return a;
  if (a == b && dtype_is_integer(a->dtype)) return constant_like(arena, a, 0);
  return make(arena, Op::sub, a, b);
}

Expr mul(Arena& arena, Expr a, Expr b) {
  if (is(a, 0) || is(b, 1)) return a;
  if (is(b, 0) || is(a, 1)) return b;
  return make(arena, Op::mul, a, b);
}

Expr floordiv(Arena& arena, Expr a, Expr b) { return is(b, 1) ? a : make(arena, Op::div, a, b); }
Expr mod(Arena& arena, Expr a, Expr b) { return is(b, 1) ? constant_like(arena, a, 0) : make(arena, Op::mod, a, b); }
Expr min(Arena& arena, Expr a, Expr b) { return a == b ? a : make(arena, Op::min, a, b); }
Expr max(Arena& arena, Expr a, Expr b) { return a == b ? a : make(arena, Op::max, a, b); }

Expr eq(Arena& arena, Expr a, Expr b) {
  return a == b && !dtype_is_float(a->dtype) ? arena.boolean(true) : make(arena, Op::eq, a, b);
}
Expr lt(Arena& arena, Expr a, Expr b) { return a == b ? arena.boolean(false) : make(arena, Op::lt, a, b); }
Expr le(Arena& arena, Expr a, Expr b) {
  return a == b && !dtype_is_float(a->dtype) ? arena.boolean(true) : make(arena, Op::le, a, b);
}

Expr ge(Arena& arena, Expr a, Expr b) { return le(arena, b, a); }

Expr bit_xor(Arena& arena, Expr a, Expr b) {
  if (is(b, 0)) return a;
  if (is(a, 0)) return b;
  return make(arena, Op::bit_xor, a, b);
}

Expr logical_and(Arena& arena, Expr a, Expr b) {
  if (!a || !b) return a ? a : b;
  if (is(a, 1) || is(b, 0)) return b;
  if (is(b, 1) || is(a, 0) || a == b) return a;
  return make(arena, Op::logical_and, a, b);
}

Expr logical_or(Arena& arena, Expr a, Expr b) {
  if (is(a, 0) || is(b, 1)) return b;
  if (is(b, 0) || is(a, 1) || a == b) return a;
  return make(arena, Op::logical_or, a, b);
}

Expr logical_not(Arena& arena, Expr a) {
  if (a->is_constant()) return arena.boolean(a->as_int() == 0);
  return a->op == Op::logical_not ? a->operand[0] : arena.make(Op::logical_not, {a});
}

Expr select(Arena& arena, Expr condition, Expr a, Expr b) {
  if (condition->is_constant()) return condition->as_int() ? a : b;
  return a == b ? a : arena.make(Op::select, {condition, a, b});
}

Expr ceildiv(Arena& arena, Expr a, Expr b) {
  const Expr up = b->is_constant() ? add(arena, a, b->as_int() - 1) : sub(arena, add(arena, a, b), 1);
  return floordiv(arena, up, b);
}

}  // namespace tilert::arith
