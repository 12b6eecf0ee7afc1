// Elementary functions as LLVM IR text, over any number of lanes: on f32 branch-free polynomials, on f64 calls of libm.
//   <N x float> @tl_<name>_v<N>(<N x float>)     N lanes, N >= 2
//   float @tl_<name>_v1(float)                   one lane
//   <N x double> @tl_<name>_d<N>(<N x double>)   the same of f64
// The functions are internal and alwaysinline; write one per name and number of lanes that a module uses. Bounds in ulp
// are in ulp.def; subnormal arguments and results are kept, infinities and NaNs are as in C. They need the default
// rounding mode (support/float_environment.h).
// sin and cos send lanes beyond their range (see kernel text) to libm one by one; pow is libm's for every lane.
// Not here: functions that are one instruction (sqrt, floor, ...).
#pragma once

#include "codegen/llvm_text.h"

#include <string>
#include <string_view>
#include <vector>

#include "support/dtype.h"

namespace tilert::codegen {

// One per row of ulp.def.
enum class MathFunction : uint8_t {
#define TILERT_ULP(name, f32_bound, f64_bound) name,
#include "codegen/ulp.def"
};

std::string math_name(MathFunction function, int lanes);  // "tl_exp2_v8"
// The definition. `isa` says whether fused multiply-adds are there; without them the bounds are the same.
std::string emit_math(const CpuIsa& isa, MathFunction function, int lanes);

// The same on f64 (`dtype` of the name: f32 or f64), and the declarations of libm's functions that they call.
std::string math_name(MathFunction function, DType dtype, int lanes);
const char* math_symbol(MathFunction function);  // "exp2"
std::string emit_math64(MathFunction function, int lanes);
std::string math64_declarations(const std::vector<MathFunction>& functions);

// A function that a module calls.
struct MathUse {
  MathFunction function;
  bool f64;
  int lanes;
  auto operator<=>(const MathUse&) const = default;
};

}  // namespace tilert::codegen
