// Conversions between f32 and the 16-bit floats as LLVM IR text, for any number of lanes. The 16-bit values travel as
// i16. Results are those of support/dtype.h bit for bit: half to even, subnormals kept, NaNs quiet with their payload.
// Not here: integer and saturating casts (the CPU lowering).
#pragma once

#include "codegen/llvm_text.h"

namespace tilert::codegen {

// Each takes and returns a value: <lanes x i16> to <lanes x float> or back; one lane: i16 and float.
std::string widen_f16(LlvmText& t, const CpuIsa& isa, int lanes, const std::string& value);
std::string widen_bf16(LlvmText& t, int lanes, const std::string& value);
std::string narrow_f16(LlvmText& t, const CpuIsa& isa, int lanes, const std::string& value);
std::string narrow_bf16(LlvmText& t, int lanes, const std::string& value);

}  // namespace tilert::codegen
