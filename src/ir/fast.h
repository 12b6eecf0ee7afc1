// Fast forms: operations that a program lets be approximate, f32 and narrower, within the bounds of fast.def. The
// interpreter and CPUs compute them exactly; GPUs by their special functions. Each is an operation of its own, so that
// text, keys and hashes tell it from the exact one. Not here: which instruction a back end takes (device/*).
#pragma once

#include "ir/expr.h"

namespace tilert::ir {

Op fast_op(Op op);   // the approximate form; the operation itself where it has none
Op exact_op(Op op);  // what a fast form approximates; any other operation itself
inline bool is_fast(Op op) { return exact_op(op) != op; }

// The expression with every operation that has a fast form in it; f64 and integers stay.
Expr as_fast(Arena& arena, Expr e);

}  // namespace tilert::ir
