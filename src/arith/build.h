// Small constructors that fold as they build: what passes write index expressions with. Constants fold, 0 and 1
// vanish, constants stand right. Everything further is the simplifier's.
#pragma once

#include <concepts>

#include "ir/expr.h"

namespace tilert::arith {

ir::Expr add(ir::Arena& arena, ir::Expr a, ir::Expr b);
ir::Expr sub(ir::Arena& arena, ir::Expr a, ir::Expr b);
ir::Expr mul(ir::Arena& arena, ir::Expr a, ir::Expr b);
ir::Expr floordiv(ir::Arena& arena, ir::Expr a, ir::Expr b);  // floats: the quotient
ir::Expr mod(ir::Arena& arena, ir::Expr a, ir::Expr b);
ir::Expr min(ir::Arena& arena, ir::Expr a, ir::Expr b);
ir::Expr max(ir::Arena& arena, ir::Expr a, ir::Expr b);
ir::Expr eq(ir::Arena& arena, ir::Expr a, ir::Expr b);
ir::Expr lt(ir::Arena& arena, ir::Expr a, ir::Expr b);
ir::Expr le(ir::Arena& arena, ir::Expr a, ir::Expr b);
ir::Expr ge(ir::Arena& arena, ir::Expr a, ir::Expr b);  // as b <= a
ir::Expr bit_xor(ir::Arena& arena, ir::Expr a, ir::Expr b);
// A null operand stands for true: conditions can be collected into a null start.
ir::Expr logical_and(ir::Arena& arena, ir::Expr a, ir::Expr b);
ir::Expr logical_or(ir::Arena& arena, ir::Expr a, ir::Expr b);
ir::Expr logical_not(ir::Arena& arena, ir::Expr a);
ir::Expr select(ir::Arena& arena, ir::Expr condition, ir::Expr a, ir::Expr b);
ir::Expr ceildiv(ir::Arena& arena, ir::Expr a, ir::Expr b);  // b > 0

ir::Expr constant_like(ir::Arena& arena, ir::Expr like, int64_t value);  // of like's dtype

// The right side as a constant of the left side's dtype.
#define TILERT_BUILD_WITH_CONSTANT(name)                              \
  template <std::integral Integer>                                    \
  ir::Expr name(ir::Arena& arena, ir::Expr a, Integer b) {            \
    return name(arena, a, constant_like(arena, a, static_cast<int64_t>(b))); \
  }
TILERT_BUILD_WITH_CONSTANT(add)
TILERT_BUILD_WITH_CONSTANT(sub)
TILERT_BUILD_WITH_CONSTANT(mul)
TILERT_BUILD_WITH_CONSTANT(floordiv)
TILERT_BUILD_WITH_CONSTANT(mod)
TILERT_BUILD_WITH_CONSTANT(min)
TILERT_BUILD_WITH_CONSTANT(max)
TILERT_BUILD_WITH_CONSTANT(eq)
TILERT_BUILD_WITH_CONSTANT(lt)
TILERT_BUILD_WITH_CONSTANT(le)
TILERT_BUILD_WITH_CONSTANT(ceildiv)
TILERT_BUILD_WITH_CONSTANT(bit_xor)
TILERT_BUILD_WITH_CONSTANT(ge)
#undef TILERT_BUILD_WITH_CONSTANT

}  // namespace tilert::arith
