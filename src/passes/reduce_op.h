// What each reduction means, as scalar expressions: identity, combination, what is taken of an element.
#pragma once

#include "ir/program.h"

namespace tilert::passes {

// The dtype that a reduction into `destination` runs in.
DType reduce_dtype(DType destination);
ir::Expr reduce_identity(ir::Arena& arena, ir::ReduceOp op, DType dtype);
ir::Expr reduce_combine(ir::Arena& arena, ir::ReduceOp op, ir::Expr a, ir::Expr b);
ir::Expr reduce_element(ir::Arena& arena, ir::ReduceOp op, ir::Expr x, DType dtype);

}  // namespace tilert::passes
