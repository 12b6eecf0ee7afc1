// Elementary functions on f32 as LLVM IR text: branch-free polynomials over any number of lanes.
//   <N x float> @tl_<name>_v<N>(<N x float>)     N lanes, N >= 2
//   float @tl_<name>_v1(float)                   one lane
// The functions are internal and alwaysinline; write one per name and number of lanes that a module uses. Bounds in ulp
// are in ulp.def; subnormal arguments and results are kept, infinities and NaNs are as in C. They need the default
// rounding mode (support/float_environment.h).
// sin and cos send lanes beyond their range (see kernel text) to libm one by one; pow is libm's for every lane.
// Not here: f64, and functions that are one instruction (sqrt, floor, ...).
#pragma once

#include "codegen/llvm_text.h"

#include <string>
#include <string_view>

namespace tilert::codegen {

// One per row of ulp.def.
enum class MathFunction : uint8_t {
#define TILERT_ULP(name, dtype, bound) name,
#include "codegen/ulp.def"
};

std::string math_name(MathFunction function, int lanes);  // "tl_exp2_v8"
// The definition. `isa` says whether fused multiply-adds are there; without them the bounds are the same.
std::string emit_math(const CpuIsa& isa, MathFunction function, int lanes);

}  // namespace tilert::codegen
